"""The crash button: real processes, really killed, and what the ledger says afterwards."""

import signal
import subprocess
import sys

import ipywidgets
import pytest

from course_kit.classroom import crash as module
from course_kit.classroom import crash_process
from course_kit.classroom.crash import PROGRAMS, Crash, CrashButton, crash_button, crashes, everywhere, numbered
from course_kit.errors import CourseKitError
from course_kit.shop import Shop, open_shop

PRINTS_AND_PAYS_THREE_TIMES = """
def program(shop, notes):
    print("hello")
    for number in range(3):
        shop.refund_order(ORDER, 100, "other")
    return number
"""
FAILS = """
def program(shop, notes):
    raise ToolError("NOT_FOUND", "no such order")
"""


@pytest.fixture(scope="module")
def found():
    """All that is asked of real processes here, in one go: starting Python takes longest."""
    jobs = [(text, line) for text in PROGRAMS.values() for line in range(1, 7)]
    jobs += [(PRINTS_AND_PAYS_THREE_TIMES, 6), (FAILS, 9), ("def program(shop, notes: pass", 1)]
    return dict(zip(jobs, crashes(jobs), strict=True))


@pytest.fixture
def no_processes(monkeypatch):
    """The button without its processes: notes the jobs."""
    jobs = []

    def fake(asked):
        asked = list(asked)
        jobs.extend(asked)
        return [Crash(line, "the <code>", line > 1, 1, 2, "'done'") for _, line in asked]

    monkeypatch.setattr(module, "crashes", fake)
    return jobs


@pytest.mark.parametrize(
    ("name", "refunds"),
    [("note afterwards", [1, 1, 1, 2, 1]), ("note before", [1, 1, 1, 0, 1]), ("with a key", [1, 1, 1, 1, 1])],
)
def test_fr23_killed_before_each_line_the_key_alone_pays_once(found, name, refunds):
    lives = [found[PROGRAMS[name], line] for line in range(2, 7)]
    assert [one.refunds for one in lives] == refunds
    assert all(one.killed and one.said == "'done'" for one in lives)


def test_the_ledger_at_death_tells_which_side_of_the_payment_it_was(found):
    assert [found[PROGRAMS["with a key"], line].at_death for line in range(2, 7)] == [0, 0, 0, 1, 1]


def test_a_line_that_is_never_reached_kills_nobody(found):
    one = found[PROGRAMS["with a key"], 1]
    assert (one.killed, one.at_death, one.refunds, one.said) == (False, 1, 1, "'done'")
    assert repr(one).startswith("Not killed: line 1 was never reached.\n")


def test_a_program_of_ones_own_may_print_and_fail(found):
    one = found[PRINTS_AND_PAYS_THREE_TIMES, 6]
    assert repr(one) == (
        "Killed before line 6: return number\n  the ledger when it died   3 refunds\n"
        "  begun again, it said      2\n  the ledger in the end     6 refunds: the money left 6 times"
    )
    failed = found[FAILS, 9]
    assert (failed.killed, failed.said, failed.code) == (False, "ToolError: no such order", "")
    assert found["def program(shop, notes: pass", 1].said.startswith("SyntaxError: ")


def test_money_that_never_left_is_said_so():
    assert repr(Crash(5, "x", True, 0, 0, "'done'")).endswith("0 refunds: the money never left")
    assert repr(Crash(5, "x", True, 1, 1, "'done'")).endswith("1 refund: the money left once")


def test_notes_outlive_their_owner(tmp_path):
    notes = crash_process.Notes(tmp_path / "notes")
    assert "refund" not in notes and notes.get("refund") is None and notes.get("refund", 0) == 0
    notes["refund"] = "key\n1"
    notes["mail"] = {"to": "Tomás"}
    notes["refund"] = "paid"
    again = crash_process.Notes(tmp_path / "notes")
    assert (again["refund"], again.get("mail"), "ref" in again) == ("paid", {"to": "Tomás"}, False)
    with pytest.raises(KeyError, match="ref"):
        again["ref"]
    with pytest.raises(TypeError):
        again["mail"] = {1, 2}
    assert again["mail"] == {"to": "Tomás"}, "what cannot be noted leaves the notes as they were"


def test_where_there_is_no_fork_every_life_is_a_new_python(tmp_path, monkeypatch):
    shop = Shop(open_shop(tmp_path / "shop.sqlite3").path)
    monkeypatch.delattr(crash_process.os, "fork", raising=False)
    monkeypatch.setattr(signal, "SIGTERM", -signal.SIGKILL)  # how this system reports it
    monkeypatch.setattr(crash_process, "SECONDS", 60)
    assert crash_process.process(PROGRAMS["with a key"], tmp_path, 5) is True
    assert len(shop.ledger(crash_process.ORDER)) == 1
    assert crash_process.process(PROGRAMS["with a key"], tmp_path, 0) is False
    assert len(shop.ledger(crash_process.ORDER)) == 1
    assert (tmp_path / "said").read_text(encoding="utf-8") == "'done'"


def test_a_life_that_does_not_end_is_ended_and_is_no_kill(tmp_path, monkeypatch):
    monkeypatch.setattr(crash_process, "SECONDS", 1)
    if not hasattr(crash_process.os, "fork"):
        pytest.skip("os.fork is missing here")
    assert crash_process.process("def program(shop, notes):\n    while True:\n        pass\n", tmp_path, 0) is False
    assert (tmp_path / "said").read_text(encoding="utf-8") == "nothing: it did not end within 1 seconds"


def test_processes_that_cannot_start_are_told_in_one_sentence(monkeypatch):
    broken = subprocess.CompletedProcess([], 1, "", "Traceback\nModuleNotFoundError: No module named 'course_kit'\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: broken)
    with pytest.raises(CourseKitError, match=r"could not be started \(ModuleNotFoundError: .*restart the kernel"):
        crashes([("with a key", 5)])


# The button


def test_the_plain_calls(no_processes):
    button = CrashButton("note before")
    assert button.kill(5).refunds == 2
    assert no_processes == [(PROGRAMS["note before"], 5)]
    assert button.everywhere("note afterwards") == {2: 2, 3: 2, 4: 2, 5: 2, 6: 2}
    assert [line for text, line in no_processes[1:] if text == PROGRAMS["note afterwards"]] == [2, 3, 4, 5, 6]


def test_lines_are_numbered_as_the_button_counts_them():
    assert numbered("note before").splitlines()[3] == '  4          notes["refund"] = "paid"'
    assert numbered("x = 1") == "  1  x = 1"


def test_several_programs_are_killed_in_one_go(no_processes):
    short = "def program(shop, notes):\n\n    return 1\n"
    assert everywhere({"one": "note before", "two": short}) == {"one": dict.fromkeys(range(2, 7), 2), "two": {3: 2}}
    assert len(no_processes) == 6


def test_a_function_will_do_as_a_program(no_processes):
    def mine(shop, notes):
        return "mine"

    CrashButton().kill(2, mine)
    assert no_processes == [('def program(shop, notes):\n    return "mine"\n', 2)]


def test_what_is_no_program_or_no_line_is_refused(no_processes):
    with pytest.raises(ValueError, match="no `def program.*by name there are note afterwards, note before, with a key"):
        crash_button("no such program")
    for line in (0, 7):
        with pytest.raises(ValueError, match=f"There is no line {line}: the program has the lines 1 to 6"):
            crash_button().kill(line)
    assert no_processes == []


def test_as_text_and_html_without_widgets(no_processes, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widget.cache_clear()
    button = crash_button("note before")
    module._widget.cache_clear()
    assert type(button) is CrashButton
    assert repr(button).splitlines()[:3] == [
        "Crash button",
        "  1  def program(shop, notes):",
        '  2      if "refund" not in notes:',
    ]
    assert "button.kill(5), button.everywhere()" in repr(button)
    button.kill(5)
    assert "Killed before line 5: the <code>" in repr(button)
    assert "Killed before line 5: the &lt;code&gt;" in button._repr_mimebundle_()["text/html"]


def test_the_widget_kills_what_is_written(no_processes):
    button = crash_button()
    assert isinstance(button, ipywidgets.VBox)
    assert (button.choice.value, button.line.value, button.line.max) == ("with a key", 5, 6)
    button.choice.value = "note before"
    assert button.text.value == PROGRAMS["note before"]
    button.text.value = PROGRAMS["note before"].replace("order = shop", "found = shop")
    button.line.value = 3
    button.button.click()
    assert no_processes == [(button.text.value, 3)] and "found = shop" in button.text.value
    assert "Killed before line 3: the &lt;code&gt;" in button.result.value and button.button.disabled is False
    button.text.value = "def program(shop, notes):\n    return 1"
    assert (button.line.max, button.line.value) == (2, 2)


def test_the_plain_call_moves_the_widget_along(no_processes):
    button = crash_button()
    button.kill(4, "note before")
    assert (button.text.value, button.line.value) == (PROGRAMS["note before"], 4)
    assert "Killed before line 4" in button.result.value


def test_an_error_is_shown_in_the_widget(no_processes):
    button = crash_button()
    button.text.value = "nothing"
    button.button.click()
    assert "✗ This could not be run: " in button.result.value and button.button.disabled is False


def test_every_part_has_a_name():
    button = crash_button()
    for part in (button.choice, button.text, button.line, button.button):
        assert part.tooltip
