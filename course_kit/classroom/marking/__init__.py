"""Marking a folder of submissions: `course grade DIR`.

submissions.py      who handed in what                     observers.py      what may travel of a check
running.py          one notebook, its clock and its limits  isolation.py      namespaces, or limits alone
learner_process.py  runs the cells, holds no answer        judge_process.py  holds the answers, runs no cell
plain.py            answers that are data, as JSON         keys.py           keys that were handed in
grading.py          all of them: parallel, kept, resumed   statistics.py     which mistake, which option, how often
pages.py            table, CSV and HTML
"""

__all__: list[str] = []
