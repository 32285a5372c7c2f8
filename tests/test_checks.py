"""The engine of exercises: three outcomes, one sentence each, the same answer every time, and nothing that hangs."""

import asyncio
import itertools
import json
import linecache
import random
import signal
import textwrap
import threading
from types import SimpleNamespace

import pytest

from course_kit.classroom import checks, progress
from course_kit.classroom.checks import (
    check,
    exercise,
    exercise_ids,
    find_exercise,
    hint,
    judge_case,
    observe_case,
    solution,
    untouched,
)
from course_kit.classroom.guarded import stretched
from course_kit.errors import CourseKitError, Incorrect, NotAttempted, SetupError

cells = itertools.count(1)


def cell(source: str) -> dict:
    """Run source as a notebook cell would: in a file of its own that `linecache` knows."""
    source, name = textwrap.dedent(source).lstrip("\n"), f"<cell {next(cells)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict = {}
    exec(compile(source, name, "exec"), names)
    return names


def function(source: str):
    return next(value for value in reversed(cell(source).values()) if callable(value))


def load_lessons(monkeypatch, import_module):
    monkeypatch.setattr(checks, "importlib", SimpleNamespace(import_module=import_module))


@pytest.fixture(autouse=True)
def double(monkeypatch):
    """Exercise 1.2: double every number of a list."""
    monkeypatch.setattr(checks, "_registry", {})
    load_lessons(monkeypatch, lambda name: None)  # the course's own exercises stay out of these tests

    @exercise(
        "1.2", title="Double", hints=["Which operator?", "Try `*`.", "Each item, not the list."], minutes=5, seconds=5
    )
    class Double:
        def cases(seed):
            draw = random.Random(seed)
            return [{"numbers": [draw.randrange(100) for _ in range(3)]} for _ in range(4)]

        def observe(double, case):
            numbers = case["numbers"]
            return {"returned": double(numbers), "numbers": numbers}

        def judge(case, observation):
            expected = [2 * n for n in case["numbers"]]
            if observation["returned"] != expected:
                raise Incorrect(f"`double({case['numbers']})` gave {observation['returned']}, expected {expected}.")
            if observation["numbers"] != case["numbers"]:
                raise Incorrect("`double` changed the list that it was given.")

    return Double


RIGHT = "def double(numbers):\n    return [2 * n for n in numbers]"


def no_progress(*arguments):
    raise SetupError("The disk is read-only.")


# Three outcomes


def test_passed():
    outcome = check("1.2", function(RIGHT))
    assert outcome.ok and repr(outcome) == "Exercise 1.2: passed. All 4 cases hold."
    assert outcome._repr_html_() == (
        '<div class="check-passed"><p><b>✓ Exercise 1.2: passed.</b> All 4 cases hold.</p></div>'
    )


def test_not_yet_is_the_judges_sentence():
    outcome = check("1.2", function("def double(numbers):\n    return numbers"))
    assert not outcome.ok and outcome.status == "not yet"
    assert repr(outcome) == (
        "Exercise 1.2: not yet. `double([49, 97, 53])` gave [49, 97, 53], expected [98, 194, 106]."
    )
    assert "<code>double([49, 97, 53])</code> gave" in outcome._repr_html_()


@pytest.mark.parametrize(
    "stub",
    [
        None,
        ...,
        [None, ...],
        {"a": None, "b": {"c": ...}},
        (None,),
        function("def double(numbers):\n    raise NotImplementedError('1.2: your code here')"),
        function("def double(numbers):\n    '''Double them.'''\n    raise NotImplementedError('1.2: your code here')"),
        function("def double(numbers):\n    doubled = sorted(numbers)\n    raise NotImplementedError"),
        function("class Double:\n    def __init__(self, numbers):\n        raise NotImplementedError"),
    ],
    ids=["None", "ellipsis", "list", "nested", "tuple", "function", "docstring", "half a function", "class"],
)
def test_fr30_an_untouched_stub_is_not_attempted(stub):
    outcome = check("1.2", stub)
    assert repr(outcome) == (
        "Exercise 1.2: not attempted. Write your answer above, run its cell, then run this one again."
    )
    assert progress.attempts("1.2")[-1].outcome == "not attempted"


@pytest.mark.parametrize("answer", [0, "", [], {}, [None, 1], {"a": None, "b": False}], ids=repr)
def test_an_empty_or_half_filled_answer_is_attempted(answer):
    assert not untouched(answer)


def test_a_check_may_say_not_attempted_itself(double):
    def observe(obj, case):
        raise NotAttempted

    object.__setattr__(double, "observe", observe)
    assert check("1.2", function(RIGHT)).status == "not attempted"


def test_fr30_a_check_gives_the_same_answer_in_any_order_and_twice(double):
    exercise("1.3", title="Double again")(
        type("Again", (), {p: getattr(double, p) for p in ("cases", "observe", "judge")})
    )
    notebook = cell("t = lambda numbers: [2 * n for n in numbers]\nfirst = t\nt = lambda numbers: numbers\nsecond = t")
    in_place = [repr(check("1.2", notebook["first"])), repr(check("1.3", notebook["second"]))]
    afterwards = [repr(check("1.3", notebook["second"])), repr(check("1.2", notebook["first"]))]
    assert in_place == afterwards[::-1]
    assert "passed" in in_place[0] and "not yet" in in_place[1]


def test_another_seed_draws_other_cases_of_the_same_exercise():
    remembered = function(
        "def double(numbers):\n    return [98, 194, 106] if numbers == [49, 97, 53] else [2 * n for n in numbers]"
    )
    assert check("1.2", remembered, seed=7).ok
    only = function("def double(numbers):\n    return {49: [98, 194, 106]}.get(numbers[0], [])")
    assert check("1.2", only, seed=0).message != check("1.2", only, seed=1).message


# What the learner's code does


def test_forgot_to_return_has_its_own_sentence():
    outcome = check("1.2", function("def double(numbers):\n    [2 * n for n in numbers]"))
    assert outcome.message == (
        "`double` returned None: is a `return` missing? `double([49, 97, 53])` gave None, expected [98, 194, 106]."
    )
    assert outcome.key == "returned None"


@pytest.mark.parametrize(
    "observe", [lambda obj, case: obj(case["numbers"]), lambda obj, case: {"returned": obj(case["numbers"])}]
)
def test_forgot_to_return_is_said_even_when_the_judge_stumbles_over_none(double, observe):
    object.__setattr__(double, "observe", observe)
    object.__setattr__(double, "judge", lambda case, seen: len(seen["returned"]))
    assert (
        check("1.2", function("def double(numbers):\n    pass")).message
        == "`double` returned None: is a `return` missing?"
    )


def test_an_exception_is_type_message_and_line_and_no_traceback():
    outcome = check("1.2", function("def double(numbers):\n\n    return numbers['a']"))
    assert repr(outcome) == (
        "Exercise 1.2: not yet. `double` raised TypeError: list indices must be integers or slices, not str "
        "(line 3: `return numbers['a']`)"
    )
    assert outcome.key == "raised TypeError"


def test_the_line_is_the_learners_even_when_a_library_raises():
    outcome = check("1.2", function("import json\ndef double(numbers):\n    x = 1\n    return json.loads('{')"))
    assert "raised JSONDecodeError: " in outcome.message and outcome.message.endswith(
        "(line 4: `return json.loads('{')`)"
    )


def test_addresses_and_very_long_messages_are_kept_out():
    outcome = check("1.2", function("def double(numbers):\n    raise ValueError(object())"))
    assert "raised ValueError: <object object> (line 2" in outcome.message
    outcome = check("1.2", function("def double(numbers):\n    raise ValueError('x' * 5000)"))
    assert len(outcome.message) < 400 and "x…" in outcome.message


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("double = 3\ndef f(): pass", "Your code raised TypeError: 'int' object is not callable"),
        ("def double(): return []", "`double` raised TypeError: double() takes 0 positional arguments but 1 was given"),
        (
            "def double(a, b): return []",
            "`double` raised TypeError: double() missing 1 required positional argument: 'b'",
        ),
    ],
    ids=["no function", "too few inputs", "too many inputs"],
)
def test_an_object_of_the_wrong_form_is_not_yet(source, expected):
    assert check("1.2", cell(source)["double"]).message == expected


def test_a_sentence_begins_with_what_the_case_is_about(double):
    object.__setattr__(double, "cases", lambda seed: [{"about": "no numbers", "numbers": []}])
    failing = function("def double(numbers):\n    return {}['total']")
    expected = "With no numbers, `double` raised KeyError: 'total' is not among the keys (line 2: `return {}['total']`)"
    assert check("1.2", failing).message == expected
    bare = function("def double(numbers):\n    raise StopIteration")
    assert "`double` raised StopIteration without a message" in check("1.2", bare).message
    object.__setattr__(double, "cases", lambda seed: [{"about": "With 2 numbers", "numbers": [1, 2]}])
    assert check("1.2", failing).message.startswith("With 2 numbers, `double` raised")
    assert judge_case(double, double.cases(0)[0], {"timed_out": 3.0}).message.startswith(
        "With 2 numbers, your code did"
    )


def test_an_address_is_left_out(double):
    def judge(case, seen):
        raise Incorrect(f"It is {case!r}, not {double!r} at 0x7f00ab.")

    object.__setattr__(double, "judge", judge)
    assert " at 0x" not in check("1.2", function(RIGHT)).message


def test_what_is_of_no_use_is_not_called_none(double):
    object.__setattr__(double, "observe", lambda obj, case: {"returned": None, "shown": repr(obj(case["numbers"]))})
    object.__setattr__(double, "judge", lambda case, seen: wrong(seen["shown"]))

    def wrong(shown):
        raise Incorrect(f"It is {shown}.")

    assert check("1.2", function("def double(numbers):\n    return 'x'")).message == "It is 'x'."
    assert "is a `return` missing?" in check("1.2", function("def double(numbers):\n    pass")).message


def test_an_exit_is_no_way_out():
    assert "raised SystemExit" in check("1.2", function("def double(numbers):\n    raise SystemExit")).message


def test_an_interrupt_by_the_learner_goes_through():
    with pytest.raises(KeyboardInterrupt):
        check("1.2", function("def double(numbers):\n    raise KeyboardInterrupt"))


@pytest.mark.parametrize(
    ("load", "cores", "seconds"), [(0.3, 2, 3.0), (2.0, 2, 3.0), (5.0, 2, 7.5), (90.0, 2, 15.0), (5.0, None, 15.0)]
)
def test_a_check_waits_longer_on_a_busy_machine(monkeypatch, load, cores, seconds):
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert stretched(3.0) == seconds


def test_the_time_of_a_busy_machine_is_the_time_of_the_sentence(double, monkeypatch):
    monkeypatch.setattr("course_kit.classroom.checks.stretched", lambda seconds: 2 * seconds)
    object.__setattr__(double, "seconds", 0.1)
    endless = function("def double(numbers):\n    while True:\n        pass")
    assert check("1.2", endless).message.startswith("`double` did not finish within 0.2 seconds")


def test_a_system_that_does_not_tell_its_load_has_none(monkeypatch):
    monkeypatch.delattr("os.getloadavg", raising=False)
    assert stretched(3.0) == 3.0


def test_a_loop_without_an_end_is_stopped(double, monkeypatch):
    monkeypatch.setattr("course_kit.classroom.checks.stretched", float)  # in the time of a quiet machine
    object.__setattr__(double, "seconds", 0.1)
    source = """
        def double(numbers):
            while True:
                try:
                    numbers.append(numbers.pop())
                except Exception:
                    pass
    """
    endless = function(source)
    expected = "`double` did not finish within 0.1 seconds: look for a loop that never ends."
    assert check("1.2", endless).message == expected
    box = []
    thread = threading.Thread(target=lambda: box.append(check("1.2", endless)))  # no signals outside the main thread
    thread.start()
    thread.join(20)
    assert box[0].message == expected
    assert check("1.2", function(RIGHT)).ok


def test_the_clock_leaves_signals_as_they_were():
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("this system has no alarm signal")
    before = signal.getsignal(signal.SIGALRM)
    check("1.2", function(RIGHT))
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_the_code_printed_is_shown_after_the_message(capsys):
    outcome = check("1.2", function("def double(numbers):\n    print('here', len(numbers))\n    return numbers"))
    assert repr(outcome).splitlines()[1:] == ["Your code printed:", "    here 3"]
    assert "<p>Your code printed:</p><pre>here 3\n</pre>" in outcome._repr_html_()
    assert capsys.readouterr().out == ""


def test_printing_without_an_end_is_bounded():
    outcome = check("1.2", function("def double(numbers):\n    print('x' * 100_000)\n    return numbers"))
    assert outcome.printed == "x" * 2000 + "\n… and 98,001 characters more"


def test_fr29_a_warning_is_shown_without_its_file():
    source = "import warnings\ndef double(numbers):\n    warnings.warn('deprec')\n    return numbers"
    assert check("1.2", function(source)).printed == "UserWarning: deprec\n"


def test_the_learner_gets_copies_and_changing_them_is_noticed(double):
    outcome = check(
        "1.2", function("def double(numbers):\n    numbers[:] = [2 * n for n in numbers]\n    return numbers")
    )
    assert outcome.message == "`double` changed the list that it was given."
    object.__setattr__(double, "observe", lambda obj, case: obj.clear())
    object.__setattr__(double, "judge", lambda case, seen: None)
    mine = {"a": 1}
    assert check("1.2", mine).ok and mine == {"a": 1}


def test_a_value_that_is_no_json_becomes_its_type_and_a_knot_is_said():
    assert "gave <set>, expected" in check("1.2", function("def double(numbers):\n    return {1}")).message
    knot = function("def double(numbers):\n    numbers.append(numbers)\n    return numbers")
    assert check("1.2", knot).message == "`double` gave a dict that cannot be written as JSON: use plain data."


def test_fr27_a_check_works_inside_a_running_event_loop():
    async def notebook():
        return check("1.2", function(RIGHT))

    assert asyncio.run(notebook()).ok


# Faults of the check itself surface


def test_a_bug_of_observe_surfaces(double):
    object.__setattr__(double, "observe", lambda obj, case: case["no such key"])
    with pytest.raises(
        CourseKitError, match="^The check of exercise 1.2 itself failed .KeyError: 'no such key'.: please report"
    ):
        check("1.2", function(RIGHT))


def test_a_bug_of_judge_surfaces(double):
    object.__setattr__(double, "judge", lambda case, seen: seen["no such key"])
    with pytest.raises(KeyError):
        check("1.2", function(RIGHT))


def test_a_check_without_cases_passes_nobody(double):
    object.__setattr__(double, "cases", lambda seed: [])
    with pytest.raises(CourseKitError, match="has no cases and proves nothing"):
        check("1.2", function(RIGHT))


# The three parts apart, as marking uses them


def test_observations_are_plain_json_and_are_judged_elsewhere(double):
    case = double.cases(3)[0]
    for source, status in [
        (RIGHT, "passed"),
        ("def double(n):\n    return n", "not yet"),
        ("def double(n):\n    return n[9]", "not yet"),
    ]:
        seen = json.loads(json.dumps(observe_case(double, function(source), case)))
        assert judge_case(double, case, seen).status == status
    assert seen == {
        "raised": {"type": "IndexError", "message": "list index out of range", "line": 2, "code": "return n[9]"}
    }
    assert (
        judge_case(double, case, seen).message
        == "Your code raised IndexError: list index out of range (line 2: `return n[9]`)"
    )


# Attempts


def test_attempts_are_kept_with_a_key_for_counting():
    check("1.2", None)
    check("1.2", function("def double(numbers):\n    return 1 / 0"))
    check("01.2", function(RIGHT))
    kept = [(attempt.outcome, attempt.message_key) for attempt in progress.attempts("1.2")]
    assert kept == [("not attempted", "untouched"), ("not yet", "raised ZeroDivisionError"), ("passed", "passed")]


def test_an_attempt_that_cannot_be_kept_is_still_checked(monkeypatch):
    monkeypatch.setattr(progress, "record_attempt", no_progress)
    outcome = check("1.2", function(RIGHT))
    assert outcome.ok and repr(outcome).endswith("\nThis attempt was not kept. The disk is read-only.")


# The registry


def test_an_unknown_exercise_names_the_nearest():
    with pytest.raises(CourseKitError, match="^There is no exercise '1.22': the nearest is '1.2'.$"):
        find_exercise("1.22")


def test_a_lesson_is_loaded_when_it_is_asked_for(monkeypatch):
    asked = []
    load_lessons(monkeypatch, asked.append)
    assert find_exercise("01.2").title == "Double"
    assert asked == ["course_kit.classroom.exercises.lesson_01"]


def test_a_module_that_a_lesson_misses_is_not_hidden(monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'numpyy'", name="numpyy")

    load_lessons(monkeypatch, broken)
    with pytest.raises(ModuleNotFoundError, match="numpyy"):
        find_exercise("1.2")


def test_ids_come_in_the_order_of_the_lessons(double):
    parts = {p: getattr(double, p) for p in ("cases", "observe", "judge")}
    for id in ("901.1", "900.2", "900.1"):
        exercise(id, title="x")(type("X", (), parts))
    assert [id for id in exercise_ids() if id.startswith("90")] == ["900.2", "900.1", "901.1"]


# Hints and solutions


def test_hints_climb_and_are_remembered():
    said = [repr(hint("1.2")) for _ in range(4)]
    last = 'Each item, not the list. That was the last one: solution("1.2") shows an answer.'
    assert said == [
        "Hint 1 of 3 for exercise 1.2: Which operator?",
        "Hint 2 of 3 for exercise 1.2: Try `*`.",
        *[f"Hint 3 of 3 for exercise 1.2: {last}"] * 2,
    ]
    assert progress.hints_opened("1.2") == [1, 2, 3]


def test_a_given_hint_is_the_same_every_time():
    assert [hint("1.2", 2), hint("1.2", 2)] == ["Hint 2 of 3 for exercise 1.2: Try `*`."] * 2
    assert hint("1.2", 2)._repr_html_() == "<p>Hint 2 of 3 for exercise 1.2: Try <code>*</code>.</p>"
    assert hint("1.2", 9) == "Exercise 1.2 has no hint 9: choose from 1 to 3."


def test_hints_climb_without_progress_too(monkeypatch):
    monkeypatch.setattr(progress, "record_hint", no_progress)
    monkeypatch.setattr(progress, "hints_opened", no_progress)
    monkeypatch.setattr(checks, "_hints_here", {})
    assert [hint("1.2")[:6] for _ in range(3)] == ["Hint 1", "Hint 2", "Hint 3"]


SOLUTIONS = '''
# %% [markdown]
# # Lesson 1

# %% tags=["exercise-1.1"]
first = 1

# %% tags=["exercise-1.2"]
def double(numbers):
    """Double them."""
    # BEGIN SOLUTION
    return [2 * n for n in numbers]
    # END SOLUTION

# %%
check("1.2", double)

# %% [markdown] tags=["solution"]
# A list comprehension makes a **new** list.

# %% tags=["exercise-1.3"]
third = 3

# %% [markdown] tags=["solution"]
# Of the third.
'''


@pytest.fixture
def solutions(monkeypatch, tmp_path):
    folder = tmp_path / "solutions" / "src"
    folder.mkdir(parents=True)
    (folder / "01_round_trip.py").write_text(SOLUTIONS, encoding="utf-8")
    monkeypatch.setattr(checks, "course_files", lambda: tmp_path)


ANSWER = '''```python
def double(numbers):
    """Double them."""
    return [2 * n for n in numbers]
```

A list comprehension makes a **new** list.'''
CLOSED = (
    "The solution of exercise 1.2 opens after 2 tries or when all hints are seen; "
    'to see it now: `solution("1.2", now=True)`.'
)


def test_a_solution_opens_after_two_tries(solutions):
    for answer in (None, None, 1):
        check("1.2", answer)
    assert repr(solution("1.2")) == CLOSED
    check("1.2", 2)
    assert repr(solution("1.2")) == solution("1.2")._repr_markdown_() == ANSWER


@pytest.mark.parametrize("form", ["", " none", " raise"])
def test_a_solution_shows_nothing_of_the_marks_around_it(solutions, tmp_path, form):
    file = tmp_path / "solutions" / "src" / "01_round_trip.py"
    file.write_text(SOLUTIONS.replace("BEGIN SOLUTION\n", f"BEGIN SOLUTION{form}\n"), encoding="utf-8")
    assert solution("1.2", now=True) == ANSWER


def test_a_solution_opens_when_all_hints_are_seen(solutions):
    for _ in range(2):
        hint("1.2")
    assert solution("1.2") == CLOSED
    hint("1.2")
    assert solution("1.2") == ANSWER


def test_a_solution_opens_once_passed_or_when_asked_for(solutions):
    assert solution("1.2", now=True) == ANSWER
    assert solution("1.2") == CLOSED
    check("1.2", function(RIGHT))
    assert solution("1.2") == ANSWER


def test_a_missing_solution_is_one_sentence(solutions, double):
    exercise("2.1", title="x")(type("X", (), {p: getattr(double, p) for p in ("cases", "observe", "judge")}))
    with pytest.raises(SetupError, match="^The solution of exercise 2.1 is missing here: install course-kit again.$"):
        solution("2.1", now=True)
