"""Cases in pytest: a marker that gives a test each case of a file, and a fixture that runs one.

    @pytest.mark.course_cases("cases.jsonl")
    def test_desk(case, check_case):
        check_case(case, lambda seed: MockProvider(Simulated(seed=seed)), world=world, trials=4)

The file is looked for beside the test. `check_case` takes what `run_trials` takes, fails with what was wrong, trial by
trial, and returns the results; `at_least` says how many trials must pass (by default all of them: what
cannot be undone is judged by pass^k).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .cases import Case, load_cases
from .results import Results
from .trials import run_trials

__all__ = ["check_case", "pytest_configure", "pytest_generate_tests"]


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known to pytest."""
    config.addinivalue_line("markers", "course_cases(file): run this test once for each case of a JSONL file")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each case, named after it."""
    marker = metafunc.definition.get_closest_marker("course_cases")
    if marker is None or "case" not in metafunc.fixturenames:
        return
    given = marker.args[0] if marker.args else "cases.jsonl"
    try:
        cases = (
            list(given) if not isinstance(given, str | Path) else load_cases(metafunc.definition.path.parent / given)
        )
    except ValueError as error:
        raise pytest.Collector.CollectError(str(error)) from None  # one sentence, without pytest's own stack
    metafunc.parametrize("case", cases, ids=[case.id for case in cases])


@pytest.fixture
def check_case() -> Callable[..., Results]:
    """Run a case and fail unless enough of its trials pass."""

    def check(case: Case, connect: Any = None, *, trials: int = 1, at_least: int | None = None, **how: Any) -> Results:
        __tracebackhide__ = True
        results = run_trials([case], connect, trials=trials, **{"progress": False, **how})
        passed = sum(record["passed"] for record in results)
        if passed < (trials if at_least is None else at_least):
            pytest.fail(f"{passed} of {trials} trials passed.\n{results.problems()}", pytrace=False)
        return results

    return check
