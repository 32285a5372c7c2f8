"""The capstone: a suite that judges a whole desk agent by what it does, a report to keep, all cards as an interview.

    job.py       what an agent is given for one customer, and what is written down about it
    models.py    the models that answer: the simulated one, and three functions that go astray on purpose
    stages/      the cases, a file for each of the five stages
    suite.py     the cases drawn from a seed
    judging.py   what was wrong with a trial, in one sentence
    playing.py   an agent, a case and a trial → what was seen; all cases and trials → `Results`
    desk.py      the course's own agent, from which each guard can be taken away
    report.py    one page on how an agent did: text and HTML
    interview.py the cards of all lessons, answers folded

The suite is no secret: it is here in the package, and you may read it. What it asks changes with each seed.
"""

__all__: list[str] = []
