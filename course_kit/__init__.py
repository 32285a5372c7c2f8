"""A course on LLM tool calling, and the kit it stands on.

    contract/    the wire as facts and pure functions        harness/   the client side: tools, the loop, its guards
    mock/        the server side: a stand-in provider        classroom/ quizzes, checks, pictures, progress
    shop.py      the world of the examples                   client.py   the client that a lesson gets

The names below load when they are first used, so `import course_kit` costs nothing.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

__version__ = "1.0.0"

_WHERE = {
    "catalogue": "catalogue_requests",
    "contract.definitions": "lint_tools",
    "contract.index": "Hit SearchError ToolIndex",
    "contract.messages": (
        "STOP_REASONS assistant content_blocks merge_turns text text_of tool_result tool_result_blocks "
        "tool_use tool_use_blocks user"
    ),
    "contract.models": "DEFAULT_MODEL MODELS",
    "contract.protocol": "RULES Violation check_request",
    "contract.shapes": (
        "Definition api_error definition_from definition_to reply_from reply_to request_from request_to result_error"
    ),
    "contract.schema": "CheckedInput check_tool_input",
    "contract.streaming": "EventDecoder encode_stream message_from_events stream_events",
    "contract.strict_transform": "StrictSchema to_strict",
    "evaluation.agents": "loop_agent program",
    "evaluation.batches": "run_batch",
    "evaluation.cases": "Case load_cases save_cases",
    "evaluation.compare": "compare",
    "evaluation.confusion": "confusion",
    "evaluation.golden": "GOLDENS diff_golden golden load_golden",
    "evaluation.intervals": (
        "pass_interval pooled_interval tasks_needed tasks_to_tell_apart trials_without_failure wilson"
    ),
    "evaluation.metrics": "by_tool metrics weighted",
    "evaluation.passk": "expected_value naive_pass_hat_k over_tasks pass_at_k pass_curve pass_hat_k",
    "evaluation.results": "Results",
    "evaluation.trials": "run_trials",
    "harness.agent": "resume_agent resume_agent_async run_agent run_agent_async",
    "harness.approval": "ask_at_prompt decide_later decisions_from",
    "harness.decisions": "Decision allow deny edit wait",
    "harness.failures": "FAILURES",
    "harness.large": "LargeObjects",
    "harness.loop": "Loop Run",
    "harness.masking": "Masker mask",
    "harness.mending": "repair_messages trim_messages",
    "harness.outside": "from_outside suspect_passages",
    "harness.retries": "KeyStore idempotency_key repeated",
    "harness.running": "current_call",
    "harness.spending": "over_budget spent",
    "harness.store": "AlreadyDecided NotApproved NotFound RunStore RunTaken",
    "harness.repairs": "repair_input",
    "harness.results": "cut_text encode_result envelope",
    "harness.trace": "Trace",
    "harness.trace_steps": "tools_hash",
    "harness.tools": "Tool definitions run_tool tool",
    "mock.local": "LocalModel",
    "mock.provider": "MockProvider",
    "mock.scripted": "Scripted call search",
    "mock.simulated": "Simulated",
    "providers.mcp": "mcp_tools open_mcp",
    "providers.openai": "openai_chat openai_responses",
    "client": "announce connect live",
    "example_tools": "desk_tools file_tools get_weather",
    "shop": "open_shop",
    "classroom.approval_panel": "approval_panel",
    "classroom.before_after": "post_test pre_test",
    "classroom.board.joining": "join leave",
    "classroom.broken_traces": "broken_traces",
    "classroom.capstone.interview": "interview",
    "classroom.capstone.playing": "run_suite",
    "classroom.capstone.report": "report",
    "classroom.catching_up": "jump_to",
    "classroom.checks": "check hint solution",
    "classroom.completion": "completion_page",
    "classroom.crash": "crash_button",
    "classroom.decision_trees": "walk",
    "classroom.differences": "differences_table",
    "classroom.error_texts": "error_texts recover story",
    "classroom.laboratory": "measure",
    "classroom.lessons": "lesson_map",
    "classroom.plots": (
        "plot_accuracy plot_by_tool plot_cache plot_confusion plot_cumulative_tokens plot_damage plot_endings "
        "plot_golden plot_growth plot_guards plot_layers plot_ledger plot_mask plot_messages plot_naive plot_parts "
        "plot_pass_curves plot_pass_k plot_recall plot_recovery plot_releases plot_similarity plot_speed_up "
        "plot_strategies plot_timeline plot_trials show"
    ),
    "classroom.quiz": "quiz",
    "classroom.recall": "recall",
    "classroom.search_box": "search_box",
    "classroom.side_by_side": "side_by_side",
    "classroom.strict_table": "strict_table",
    "classroom.token_meter": "token_meter",
    "classroom.timeline": "Recorder timeline",
    "classroom.trace_stepper": "look trace_stepper",
    "classroom.transcript": "transcript",
    "classroom.trials": "trials_and_k",
    "classroom.workbench": "workbench",
    "errors": "CourseKitError ToolError",
}
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> _Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
