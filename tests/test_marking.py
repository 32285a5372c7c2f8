"""Marking a folder: right answers score, untouched ones do not count, and what is done is kept."""

import csv
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

psutil = pytest.importorskip("psutil", reason="marking needs the extra `teach`")
pytest.importorskip("joblib", reason="marking needs the extra `teach`")

from click.testing import CliRunner  # noqa: E402
from marking_room import ADD, CHECKS, IMPORT, SHORT, WHO, WRONG_ADD, answers, hand_in, notebook  # noqa: E402

from course_kit.classroom.marking import grading  # noqa: E402
from course_kit.classroom.marking.grading import Grades, grade  # noqa: E402
from course_kit.classroom.marking.isolation import isolation, limits_alone  # noqa: E402
from course_kit.classroom.marking.pages import as_text, time_told, write_files  # noqa: E402
from course_kit.classroom.marking.running import Limits  # noqa: E402
from course_kit.cli import main  # noqa: E402
from course_kit.errors import CourseKitError, SetupError  # noqa: E402

WALLS = limits_alone("this test does without")


def quiet(sentence: str) -> None:
    pass


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Grades]:
    """A small room of lesson 00, marked once."""
    folder = tmp_path_factory.mktemp("room")
    handed = folder / "in"
    wrong_who = WHO | {"booked the refund": "model"}
    hand_in(handed, "Ada Åberg_4711_assignsubmission_file_", answers())
    hand_in(handed, "Bo", answers(add=WRONG_ADD, who=wrong_who))
    hand_in(handed, "Cy", answers(add="def add(a, b):\n    a + b"))
    hand_in(handed, "Dee", answers(add="def add(a, b)\n    return a + b"))
    hand_in(handed, "Ed", answers(after=()))
    hand_in(
        handed,
        "Flo",
        notebook(IMPORT, WRONG_ADD, CHECKS[0], ADD, CHECKS[0], "%time 1 + 1\nawait __import__('asyncio').sleep(0)"),
    )
    hand_in(handed, "Gus", answers(after=('hint("0.1")\nsolution("0.1")\n' + CHECKS[0], CHECKS[1])))
    hand_in(handed, "Hal", "{ this is no notebook")
    (handed / "Ida").mkdir()
    hand_in(handed, "=Jo <b>", answers(add=WRONG_ADD))
    hand_in(
        handed, "Kim", answers(add="def add(a, b):\n    raise KeyError('sk-ant-' + 'api03-aaaaaaaaaaaaaaaaaaaaaa')")
    )
    (handed / "Lou_99_assignsubmission_file_00_start_here (1).ipynb").write_text(answers(), encoding="utf-8")
    return folder, grade(handed, folder / "out", seed=5, limits=SHORT, jobs=2, say=quiet)


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        ("Ada Åberg", [("passed", "All 4 cases hold."), ("passed", "All 4 cases hold.")]),
        ("Bo", [("not yet", "`add(2, 3)` should return 5; it returned -1."), ("not yet", "Who booked the refund?")]),
        ("Cy", [("not yet", "`add` returned None: is a `return` missing?"), ("passed", "")]),
        ("Dee", [("not yet", "cell 2 raised SyntaxError: expected ':' (line 1)."), ("passed", "")]),
        ("Ed", [("passed", ""), ("not attempted", "name 'chose_the_tool' is not defined")]),
        ("Flo", [("passed", ""), ("not attempted", "")]),
        ("Gus", [("passed", ""), ("passed", "")]),
        ("Hal", [("no notebook", ""), ("no notebook", "")]),
        ("Ida", [("no notebook", ""), ("no notebook", "")]),
        ("Kim", [("not yet", "`add` raised KeyError: '[secret]'"), ("passed", "")]),
        ("Lou", [("passed", ""), ("passed", "")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_answer_gets_its_sentence(room, learner, expected):
    [row] = [row for row in room[1].rows if row.learner == learner]
    for id, (status, part) in zip(("0.1", "0.2"), expected, strict=True):
        assert (row.verdicts[id].status, part in row.verdicts[id].message) == (status, True), row.verdicts[id]


def test_what_cannot_be_read_is_one_sentence(room):
    assert {row.learner: row.problems for row in room[1].rows if row.problems} == {
        "Hal": [
            "00_start_here.ipynb cannot be read as a notebook: it is damaged or was not saved completely; "
            "ask for it again."
        ],
        "Ida": ["There is no notebook in this submission."],
    }


def test_mistakes_are_counted(room):
    first, second = room[1].items
    assert dict(first.statuses) == {"passed": 5, "not yet": 5, "no notebook": 2}
    assert first.mistakes[0] == (2, "`add(2, 3)` should return 5; it returned -1.")
    assert second.mistakes == (
        (1, "Who booked the refund? Not the model. The model cannot reach the database. Who can?"),
    )


def test_the_table_and_the_sheet(room, tmp_path):
    text = as_text(room[1])
    assert text.splitlines()[1].split() == [
        "=Jo",
        "<b>",
        "1",
        "of",
        "2",
        "1",
        "0",
        "0",
        f"{room[1].rows[0].seconds:.1f}",
    ]
    assert "0.1            5        5  2 × `add(2, 3)` should return 5; it returned -1." in text
    sheet, _ = write_files(room[1], tmp_path)
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbf")
    rows = {row["learner"]: row for row in csv.DictReader(sheet.read_text(encoding="utf-8-sig").splitlines())}
    assert [rows["Ada Åberg"][name] for name in ("passed", "of", "0.1", "0.2")] == ["2", "2", "passed", "passed"]
    assert "'=Jo <b>" in rows


class Page(HTMLParser):
    """What an accessibility check would look at first."""

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.scopes = [], [], 0

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.links += [attrs[name] for name in ("href", "src") if name in attrs]
        self.scopes += tag == "th" and attrs.get("scope") in ("row", "col")


def test_the_page_stands_alone_and_is_labelled(room, tmp_path):
    _, file = write_files(room[1], tmp_path)
    text = file.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert (
        page.tags.count("table") == page.tags.count("caption") == 2 + len(room[1].rows) - 2
    )  # Hal's and Ida's are empty
    assert page.scopes == page.tags.count("th") > 20
    assert all(link.startswith("#learner-") for link in page.links) and "script" not in page.tags
    assert "://" not in text and '<html lang="en">' in text
    assert "=Jo &lt;b&gt;" in text and "<b>" not in text
    assert text.index("There is no notebook in this submission.") < text.index("Exercises and mistakes")
    assert text.count("<p>No notebook was handed in for: 00.</p>") == 2
    assert "<code>add(2, 3)</code> should return 5; it returned -1." in text


def test_every_row_of_the_table_adds_up_and_stands_under_its_heading(room):
    wide = grading.Row("李小龙", {"0.1": grading.NO_NOTEBOOK, "0.2": grading.AS_GIVEN}, seconds=3.0)
    lines = as_text(replace(room[1], rows=[wide, *room[1].rows])).splitlines()
    assert lines[0] == "learner    passed   not yet  not attempted  no notebook  seconds"
    assert lines[1] == "李小龙     0 of 2         0              1            1      3.0"


def test_a_submission_without_a_notebook_took_no_time(room):
    marked = sorted(row.seconds for row in room[1].rows if row.seconds)
    assert len(marked) == len(room[1].rows) - 2
    assert f"a submission took {marked[len(marked) // 2]:.1f} s (median)" in time_told(room[1])


def test_a_second_run_marks_nothing_and_writes_the_same(room, tmp_path, monkeypatch):
    folder, first = room
    before = [path.read_bytes() for path in write_files(first, folder / "out")]
    monkeypatch.setattr(grading, "mark", lambda task: pytest.fail("this was marked before"))
    said: list[str] = []
    again = grade(folder / "in", folder / "out", limits=SHORT, say=said.append)  # the seed comes from the results
    assert said[0] == "Seed 5: `--seed 5` gives the same marks again."
    assert again.marked_now == 0
    assert [path.read_bytes() for path in write_files(again, tmp_path)] == before


def test_a_result_that_was_cut_is_marked_anew(room, tmp_path, monkeypatch):
    folder, first = room
    kept = (folder / "out" / "results.jsonl").read_bytes()
    (tmp_path / "results.jsonl").write_bytes(kept[: len(kept) - 40])
    asked = []

    def mark(task):
        asked.append(task)
        return grading.Marked(task.key, {}, 0.0)

    monkeypatch.setattr(grading, "mark", mark)
    grade(folder / "in", tmp_path, seed=5, limits=SHORT, jobs=1, say=quiet)
    assert len(asked) == 1
    lines = (tmp_path / "results.jsonl").read_bytes().splitlines()
    assert json.loads(lines[-1])["key"] == asked[0].key


@pytest.mark.parametrize("change", ["seed", "limits", "content"])
def test_what_was_marked_otherwise_is_marked_again(room, tmp_path, monkeypatch, change):
    folder, _ = room
    (tmp_path / "in").mkdir()
    hand_in(tmp_path / "in", "Ada", answers() if change != "content" else answers("1 + 1"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.jsonl").write_bytes((folder / "out" / "results.jsonl").read_bytes())
    monkeypatch.setattr(grading, "mark", lambda task: grading.Marked(task.key, {}, 0.0))
    limits = Limits(seconds=61) if change == "limits" else SHORT
    grades = grade(tmp_path / "in", tmp_path / "out", seed=6 if change == "seed" else 5, limits=limits, say=quiet)
    assert grades.marked_now == 1


def test_what_the_judge_could_not_settle_is_asked_again(tmp_path, monkeypatch):
    hand_in(tmp_path / "in", "Ada", answers())
    by_hand = {"0.1": grading.BY_HAND, "0.2": grading.BY_HAND}
    monkeypatch.setattr(grading, "mark", lambda task: grading.Marked(task.key, by_hand, 0.0))
    for _ in range(2):
        grades = grade(tmp_path / "in", tmp_path / "out", seed=1, limits=SHORT, say=quiet)
        assert grades.marked_now == 1
    assert as_text(grades).endswith("\nTo be judged by hand: Ada, 0.1; Ada, 0.2.")


def test_the_same_marks_with_the_same_seed_and_on_another_backend(tmp_path):
    joblib = pytest.importorskip("joblib")
    hand_in(tmp_path / "in", "Ada", answers(add="def add(a, b):\n    return a + b if a > -50 else 0"))
    hand_in(tmp_path / "in", "Bo", answers(add="def add(a, b):\n    print(a)\n    return a - b if a < 0 else a + b"))
    verdicts = []
    for seed, backend in ((8, "threading"), (8, "loky"), (9, "threading")):
        with joblib.parallel_config(backend=backend):
            grades = grade(tmp_path / "in", tmp_path / f"{seed}-{backend}", seed=seed, limits=SHORT, jobs=2, say=quiet)
        verdicts.append([row.verdicts for row in grades.rows])
    assert verdicts[0] == verdicts[1]
    assert verdicts[0] != verdicts[2]


@pytest.mark.skipif(os.name != "posix", reason="Windows sends no SIGINT to one process")
def test_ctrl_c_keeps_what_is_done_and_leaves_no_process(tmp_path):
    hand_in(tmp_path / "in", "Ada", answers())
    for number in range(4):
        hand_in(tmp_path / "in", f"Slow {number}", answers(f"import time\ntime.sleep(100 + {number})"))
    code = "from course_kit.cli import main; main()"
    command = [sys.executable, "-c", code, "grade", "in", "--jobs", "2", "--seed", "3"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip
    kept = tmp_path / "in-marks" / "results.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (kept.exists() and kept.read_text(encoding="utf-8").count("\n")):
        time.sleep(0.2)
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "Stopped. The marks so far are kept: run the same command again to continue." in said
    assert "Traceback" not in said
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 1
    psutil.wait_procs(children, timeout=5)
    assert children and [one for one in children if one.is_running() and one.status() != "zombie"] == []


@pytest.mark.skipif(os.name != "posix", reason="the limits are those of POSIX")
def test_without_namespaces_limits_remain(tmp_path):
    nap = "1001.015625"
    escape = f"import subprocess\nsubprocess.Popen(['sleep', '{nap}'], start_new_session=True)"
    hand_in(tmp_path / "in", "Ada", answers(escape))
    hand_in(tmp_path / "in", "Bo", answers(add="def add(a, b):\n    while True:\n        pass"))
    hand_in(tmp_path / "in", "Cy", answers("import os\nos._exit(0)"))
    hand_in(tmp_path / "in", "Dee", answers("kept = []\nwhile True:\n    kept.append(bytearray(10**7))"))
    hand_in(
        tmp_path / "in",
        "Ed",
        answers(add="import os\ndef add(a, b):\n    return a + b if 'ANTHROPIC_API_KEY' not in os.environ else 0"),
    )
    said: list[str] = []
    os.environ["ANTHROPIC_API_KEY"] = "sk-ant-none"
    try:
        grades = grade(tmp_path / "in", tmp_path / "out", seed=1, limits=SHORT, jobs=2, walls=WALLS, say=said.append)
    finally:
        del os.environ["ANTHROPIC_API_KEY"]
    assert said[1].startswith("Namespaces are not used: this test does without. Each notebook runs in its own process")
    statuses = {row.learner: [one.status for one in row.verdicts.values()] for row in grades.rows}
    assert statuses == {"Ada": ["passed"] * 2, "Bo": ["not yet", "passed"], "Cy": ["passed"] * 2, "Dee": ["passed"] * 2,
                        "Ed": ["passed"] * 2}  # fmt: skip
    assert [p for p in psutil.process_iter(["cmdline"]) if nap in (p.info["cmdline"] or ())] == []


def test_the_command(tmp_path):
    hand_in(tmp_path / "in", "Ada", answers())
    hand_in(tmp_path / "in", "Ada", answers(), "01_round_trip.ipynb")
    hand_in(tmp_path / "in", "Ada", 'key = "sk-ant-api03-' + "b" * 24 + '"', "notes.txt")
    file = tmp_path / "in" / "Ada" / "progress.sqlite3"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE quiz_answers (id INTEGER PRIMARY KEY, question_id, option_ids, is_right, at)")
        rows = [("01.1", '["b"]'), ("01.1", '["a"]'), ("01.recall.1", '["c"]'), ("nonsense", '["a"]')]
        connection.executemany("INSERT INTO quiz_answers (question_id, option_ids) VALUES (?, ?)", rows)
    connection.close()
    result = CliRunner().invoke(main, ["grade", str(tmp_path / "in"), "--seed", "4", "--lesson", "0"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Seed 4: `--seed 4` gives the same marks again.\n" + isolation().sentence)
    assert re.search(r"^Ada      2 of 2         0              0            0 +\d", result.output, re.MULTILINE)
    assert "Question 01.1: 0 of 1 right at first; 1 × " in result.output
    assert (
        "Ada: notes.txt, line 1, holds an Anthropic key, sk-ant-… (37 characters). Tell them to revoke it."
        in result.output
    )
    assert "bbbb" not in result.output
    assert re.search(r"1 submissions, 1 notebooks marked now, in [\d.]+ s; a submission took [\d.]+ s", result.output)
    page = (tmp_path / "in-marks" / "marks.html").read_text(encoding="utf-8")
    assert "sk-ant-… (37 characters)" in page and "bbbb" not in page
    assert page.index("Keys that were handed in") < page.index("Exercises and mistakes")
    sheet = (tmp_path / "in-marks" / "marks.csv").read_text(encoding="utf-8-sig")
    assert "notes.txt holds an Anthropic key, to be revoked." in sheet and "bbbb" not in sheet


def test_an_empty_folder_and_marks_among_submissions_are_refused(tmp_path):
    result = CliRunner().invoke(main, ["grade", str(tmp_path)])
    assert (result.exit_code, result.stderr) == (
        1,
        f"{tmp_path} holds no submissions: each learner is a folder with notebooks in it, or one notebook.\n",
    )
    hand_in(tmp_path, "Ada", answers())
    with pytest.raises(CourseKitError, match="marks would be written among the submissions"):
        grade(tmp_path, tmp_path / "marks", say=quiet)


def test_a_lesson_without_exercises_is_refused_before_anything_is_written(tmp_path):
    hand_in(tmp_path / "in", "Ada", answers())
    result = CliRunner().invoke(main, ["grade", str(tmp_path / "in"), "--lesson", "77"])
    assert result.exit_code == 1
    assert result.stderr.startswith("There are no exercises of a lesson 77: choose from 00, 01, 02, ")
    assert not (tmp_path / "in-marks").exists()


def test_a_place_that_cannot_be_written_is_told_before_the_marking(tmp_path):
    hand_in(tmp_path / "in", "Ada", answers())
    (tmp_path / "file").write_text("", encoding="utf-8")
    said = []
    with pytest.raises(SetupError, match=r"^The marks cannot be written to .+: name another folder with --out"):
        grade(tmp_path / "in", tmp_path / "file" / "marks", say=said.append)
    assert said == []


def test_a_sheet_that_is_open_elsewhere_is_one_sentence_and_the_marks_are_kept(tmp_path):
    hand_in(tmp_path / "in", "Ada", notebook(IMPORT))
    (tmp_path / "in-marks" / "marks.csv").mkdir(parents=True)  # as good as locked
    for _ in range(2):
        result = CliRunner().invoke(main, ["grade", str(tmp_path / "in" / ".." / "in"), "--seed", "4"])
        assert result.exit_code == 1
        wanted = f"{tmp_path / 'in-marks' / 'marks.csv'} could not be written ("
        assert result.stderr.startswith(wanted), result.stderr
        assert result.stderr.endswith(
            "): close it where it is open, then run the same command again. What was marked is kept.\n"
        )
    assert len((tmp_path / "in-marks" / "results.jsonl").read_text(encoding="utf-8").splitlines()) == 1
