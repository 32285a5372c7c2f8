"""What an agent does, measured: cases, repeated trials, and pass^k with its uncertainty.

    from course_kit import Case, load_cases, run_trials      what is said and what must have happened; the trials
    from course_kit import pass_hat_k, over_tasks            from trials to pass^k, of one task and over tasks

`help("course_kit.evaluation.cases")` shows a file of cases, `help("course_kit.evaluation.agents")` how your own agent
is called, `help("course_kit.evaluation.plugin")` the marker and the fixture for pytest.
"""
