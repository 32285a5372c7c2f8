"""The client side: it runs the tools that a model calls, and guards the calls.

    from course_kit import tool, ToolError                   a function as a tool, and how it fails
    from course_kit import run_agent, resume_agent           the loop, and continuing a stored run
    from course_kit import allow, deny, edit, wait           what an approver says about a call
    from course_kit import ask_at_prompt, decide_later       approvers: `ask_at_prompt`, or `decide_later()` to wait
    from course_kit import RunStore, KeyStore                runs, and writes, that survive a crash

`help(Run)` says what `run_agent` returns; `help(Trace)`, how a run is printed, exported or sent to OpenTelemetry.
"""
