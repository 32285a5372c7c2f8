"""The server side: a stand-in for the Messages API that reads requests, refuses what the API refuses, and answers.

    from course_kit import MockProvider, Simulated, call     the provider, and the model behind it
    from course_kit.mock import faults                       errors, time-outs and broken streams, on purpose

`help(MockProvider)` says how it is set up, `help(faults)` which faults there are, `help(Scripted)` what a script holds.
"""
