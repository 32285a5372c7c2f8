"""The parts of marking that need no process: what travels, what is read, what is counted."""

import ast
import json
import os
import pickle
import shlex
import sqlite3
from pathlib import Path

import pytest

from course_kit.classroom.checks import Verdict, exercise_ids, find_exercise
from course_kit.classroom.marking.isolation import Isolation, command, environment, limits_alone
from course_kit.classroom.marking.judge_process import BY_HAND, verdict_of
from course_kit.classroom.marking.keys import find_keys, without_keys
from course_kit.classroom.marking.learner_process import checks_in
from course_kit.classroom.marking.observers import observer_of, observing_part, parsed, shown_part, without_answers
from course_kit.classroom.marking.plain import NotPlain, decoded, encoded
from course_kit.classroom.marking.statistics import Question, first_answers, items, questions
from course_kit.classroom.marking.submissions import (
    answers_as_data,
    expressions,
    learner_of,
    one_line,
    read_submissions,
)
from course_kit.errors import CourseKitError
from course_kit.evaluation.cases import Case

# Plain data


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        1.5,
        "å",
        [1, [2]],
        (1, (2,)),
        {"a": ("messages.1", "two results"), "b": None},
        {(1, "x"): [float("inf")]},
        {"dict": 1, "tuple": [2]},
        {1, 2, 3},
        ...,
    ],
    ids=repr,
)
def test_plain_data_crosses_as_it_is(value):
    there = decoded(json.loads(json.dumps(encoded(value))))
    assert (there, type(there)) == (value, type(value))


def test_a_record_of_ours_crosses_as_its_dict():
    case = Case("one", "negative", "Thanks.")
    assert decoded(encoded([case])) == [case.to_dict()]


def nested() -> list:
    deep: list = []
    deep.append(deep)
    return deep


@pytest.mark.parametrize(
    "value", [print, {"f": print}, object(), Case, nested()], ids=["function", "inside", "object", "class", "deep"]
)
def test_what_is_no_plain_data_does_not_cross(value):
    with pytest.raises(NotPlain):
        encoded(value)


@pytest.mark.parametrize(
    "forged",
    [{"tuple": 1}, {"dict": [[1]]}, {"dict": [[[], 1]]}, {"set": [{"dict": []}]}, {"float": "1"}, {"x": 1}],
    ids=str,
)
def test_what_nobody_encoded_is_refused(forged):
    with pytest.raises(NotPlain):
        decoded(forged)


# What travels of a check

ANSWERS = {  # of lesson → names that hold answers, and must not travel
    "00": "WHO", "01": "BROKEN RULES BAR WHY", "02": "FAULTY REQUIRED WRONG LONGEST", "06": "MUST REFUSED DONE",
    "07": "NAMES", "08": "CONCLUSIONS", "09": "_judge_end", "11": "LOST WHY_LOST LOOK WHY_LOOK",
    "12": "KEY _counts _blamed",
}  # fmt: skip


@pytest.mark.parametrize("id", exercise_ids())
def test_the_observing_part_stands_alone_and_judges_nothing(id):
    source = observing_part(find_exercise(id))
    tree = ast.parse(source)
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    defined |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert "judge" not in defined
    assert not defined & set(ANSWERS.get(id.split(".")[0].zfill(2), "").split())
    space: dict = {"__name__": "observing"}
    exec(compile(source, "<test>", "exec"), space)
    assert callable(space["observe"])


@pytest.mark.parametrize(
    ("id", "gone"),
    [
        ("3.2", {"becomes"}),
        ("3.4", {"value"}),
        ("4.1", {"faults"}),
        ("4.2", {"error", "says", "gives"}),
        ("7.1", {"gold", "meant"}),
        ("9.1", {"same", "words"}),
        ("9.3", {"names"}),
        ("10.3", {"right"}),
    ],
)
def test_what_is_expected_stays_here(id, gone):
    observer = observer_of(id, 3)
    cases, inputs = pickle.loads(observer.cases), pickle.loads(observer.inputs)
    assert len(cases) == len(inputs)
    assert gone <= set().union(*cases)
    assert not (gone | {"about"}) & set().union(*inputs)
    for case, given in zip(cases, inputs, strict=True):
        assert given == {key: case[key] for key in given}


def test_a_case_keeps_what_the_observing_part_mentions():
    assert without_answers({"input": 1, "wanted": 2}, "def observe(f, case):\n    return f(case['input'])") == {
        "input": 1
    }
    assert without_answers([1, 2], "") == [1, 2]


def test_tables_that_a_notebook_imports_travel_alone():
    cell = "from course_kit.classroom.exercises.lesson_07 import ASK_USER, SEARCH"
    names = {node.targets[0].id for node in ast.parse(shown_part("07", [cell])).body if isinstance(node, ast.Assign)}
    assert names == {"ASK_USER", "SEARCH"}
    assert shown_part("07", ["1 + 1", "%magic"]) == ""


def test_which_answers_are_data():
    assert (answers_as_data("02"), answers_as_data("06"), answers_as_data("09")) == (
        {"2.1", "2.2", "2.3", "2.4"},
        {"6.3"},
        frozenset(),
    )
    assert expressions("09")["9.1"] == "{'key': refund_key, 'a': against_a, 'b': against_b, 'c': against_c}"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('check("1.1", talk)', [("1.1", "talk")]),
        ('x = kit.check("1.2", {"a": (1, b)})', [("1.2", "{'a': (1, b)}")]),
        ('for _ in "ab":\n    check("1.1", f, seed=3)', [("1.1", "f")]),
        ("check(name, talk)", []),
        ('# check("1.1", talk)', []),
        ("def broken(:", []),
        ("(" * 5000, []),
    ],
    ids=["plain", "attribute", "in_a_loop", "id_not_written", "comment", "broken", "deep"],
)
def test_the_calls_of_check_are_read_from_the_text(source, found):
    assert checks_in(source) == found


# The verdict


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ({"name": "add", "seen": [{"returned": 5}]}, BY_HAND),
        ({"name": "add", "seen": [{"returned": 5}, {"returned": 1}]}, "`add("),
        ({"name": "add", "seen": [{"returned": 6}]}, "`add(2, 3)` should return 5; it returned 6."),
        ({"name": "add", "seen": [{"timed_out": 3.0}]}, "`add` did not finish within 3 seconds"),
        ({"name": "x" * 61, "seen": [{"timed_out": 3.0}]}, "Your code did not finish"),
        ({"name": "add", "seen": [{"timed_out": "long"}]}, BY_HAND),
        ({"name": "add", "seen": [17]}, BY_HAND),
        ({"name": "add", "seen": "passed"}, BY_HAND),
        ({"name": "add", "status": "passed"}, BY_HAND),
        ({"plain": {"x": 1}}, BY_HAND),
        ({"plain": 5}, "Your code raised TypeError"),
        ({"seen": [{"not_attempted": True}]}, "Write your answer above"),
    ],
    ids=str,
)
def test_reports_are_judged_whatever_they_hold(report, expected):
    exercise = find_exercise("0.1")
    verdict = verdict_of(exercise, report, exercise.cases(0))
    assert verdict.status != "passed"
    assert verdict == expected if isinstance(expected, Verdict) else verdict.message.startswith(expected)


# Submissions


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("Ada Åberg_4711_assignsubmission_file_", "Ada Åberg"),
        ("Ada Åberg_4711_assignsubmission_file_01_round_trip (1)", "Ada Åberg"),
        ("aberg_ada_20931", "aberg_ada"),
        ("Bo-01_Round_Trip", "Bo"),
        ("01_round_trip", "01_round_trip"),
        ("李雷", "李雷"),
        ("x\x1b[31m\u202ey", "x?[31m?y"),
    ],
)
def test_the_learner_is_read_from_a_name(name, learner):
    assert learner_of(name) == learner


def notebook(*sources: str) -> str:
    cells = [{"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": []} for source in sources]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "x"}, *cells], "nbformat": 4, "nbformat_minor": 5})


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_folder_as_a_learning_platform_packs_it(tmp_path):
    put(tmp_path / "Ada_1_assignsubmission_file_" / "work" / "Copy of 01_round_trip.ipynb", notebook("a = 1\nb = 2"))
    put(tmp_path / "Ada_1_assignsubmission_file_" / ".ipynb_checkpoints" / "02_x.ipynb", notebook("1"))
    put(tmp_path / "Ada_2_assignsubmission_file_" / "answers.ipynb", notebook('check("2.1", x)', 'check("2.2", y)'))
    put(tmp_path / "Bo_3_assignsubmission_file_03_strict_mode.ipynb", notebook("1"))
    put(tmp_path / "Bo_3_assignsubmission_file_04_errors.ipynb", notebook("2"))
    put(tmp_path / "Cy" / "holiday.ipynb", notebook("1 + 1"))
    put(tmp_path / "Cy" / "05.ipynb", "[]")
    put(tmp_path / "Cy" / "06 mine.ipynb", notebook("6"))
    put(tmp_path / "Dee.zip", "")
    put(tmp_path / "Eli_7_assignsubmission_file_" / "mine" / "work.ZIP", "")
    put(tmp_path / "Fay" / "answers.docx", "")
    put(tmp_path / "Fay" / "notes.txt", "")
    put(tmp_path / ".DS_Store", "")
    put(tmp_path / "readme.txt", "")
    found = {
        one.learner: ({lesson: book.cells for lesson, book in one.notebooks.items()}, one.problems)
        for one in read_submissions(tmp_path)
    }
    assert found == {
        "Ada": ({"01": ("a = 1\nb = 2",)}, []),
        "Ada (2)": ({"02": ('check("2.1", x)', 'check("2.2", y)')}, []),
        "Bo": ({"03": ("1",), "04": ("2",)}, []),
        "Cy": (
            {"06": ("6",)},
            [
                "05.ipynb cannot be read as a notebook: it has no cells (or a format from before 2015).",
                "holiday.ipynb matches no lesson: neither its name nor its checks name one.",
            ],
        ),
        "Dee": ({}, ["Dee.zip is an archive: unpack it, then mark again."]),
        "Eli": ({}, ["mine/work.ZIP is an archive: unpack it, then mark again."]),
        "Fay": ({}, ["There is no notebook in this submission, only answers.docx, notes.txt."]),
    }


def test_of_two_notebooks_the_newer_counts(tmp_path):
    put(tmp_path / "Ada" / "01_round_trip (1).ipynb", notebook("old"))
    put(tmp_path / "Ada" / "01_round_trip.ipynb", notebook("new"))
    os.utime(tmp_path / "Ada" / "01_round_trip (1).ipynb", (1, 1))
    [one] = read_submissions(tmp_path)
    assert one.notebooks["01"].cells == ("new",)
    assert one.problems == [
        "There are two notebooks for lesson 01; the newer, 01_round_trip.ipynb, is marked, and 01_round_trip (1).ipynb "
        "is not."
    ]


def test_a_class_in_one_folder_is_told_apart_from_two_attempts(tmp_path):
    put(tmp_path / "class A" / "Ada" / "01_round_trip.ipynb", notebook("hers"))
    put(tmp_path / "class A" / "Bo" / "01_round_trip.ipynb", notebook("his"))
    os.utime(tmp_path / "class A" / "Ada" / "01_round_trip.ipynb", (1, 1))
    [one] = read_submissions(tmp_path)
    assert one.problems == [
        "There are two notebooks for lesson 01; the newer, Bo/01_round_trip.ipynb, is marked, and "
        "Ada/01_round_trip.ipynb is not. If their folders are learners, mark the folder class A by itself."
    ]


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_link_is_not_followed(tmp_path):
    put(tmp_path / "secret" / "01_round_trip.ipynb", notebook("1"))
    put(tmp_path / "in" / "Bo" / "00_start_here.ipynb", notebook("1"))
    (tmp_path / "in" / "Bo" / "01_round_trip.ipynb").symlink_to(tmp_path / "secret" / "01_round_trip.ipynb")
    (tmp_path / "in" / "Eve").symlink_to(tmp_path / "secret")
    assert {one.learner: (list(one.notebooks), one.problems) for one in read_submissions(tmp_path / "in")} == {
        "Bo": (["00"], ["01_round_trip.ipynb is a link and is not followed."]),
        "Eve": ([], ["Eve is a link and is not followed."]),
    }


def test_no_folder_is_one_sentence(tmp_path):
    with pytest.raises(CourseKitError, match="is not a folder: name the one that holds the submissions"):
        read_submissions(tmp_path / "missing")


def test_one_line_takes_what_a_terminal_would_obey():
    assert one_line("a\nb\x1b[2Jc\u202e" + "x" * 200, 12) == "a b?[2Jc?xx…"


# Keys


def test_keys_are_found_and_never_shown(tmp_path):
    anthropic, aws = "sk-ant-" + "api03-" + "A1b2" * 8, "AKIA" + "ABCDEFGHIJKLMNOP"
    github, private = "ghp_" + "a1" * 18, "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
    put(tmp_path / "Ada" / "01_x.ipynb", notebook("1", f'client = Anthropic(api_key="{anthropic}")', f"'{anthropic}'"))
    put(tmp_path / "Ada" / ".env", f"A=1\nAWS={aws}\nGIT={github}")
    put(tmp_path / "Ada" / "id_rsa", private)
    put(tmp_path / "Ada" / "known.py", "sk-ant-" + "api03-from-the-lesson-itself")
    [one] = read_submissions(tmp_path)
    found = find_keys(one, known="say sk-ant-" + "api03-from-the-lesson-itself")
    assert sorted((key.file, key.place, key.kind, key.masked) for key in found) == [
        (".env", "line 2", "an AWS key", "AKIA… (20 characters)"),
        (".env", "line 3", "a GitHub token", "ghp_… (40 characters)"),
        ("01_x.ipynb", "cell 3", "an Anthropic key", "sk-ant-… (45 characters)"),
        ("id_rsa", "the file", "a private key", f"-----BEGIN… ({len(private)} characters)"),
    ]
    assert anthropic not in repr(found) and "MIIE" not in repr(found)
    assert without_keys(f"it returned {anthropic}!") == "it returned [secret]!"


# Statistics


def test_mistakes_are_grouped_by_their_key():
    wrong = [Verdict("not yet", f"said {n}", key) for n, key in enumerate(["b", "a", "b"])]
    [item] = items(["0.1"], [{"0.1": one} for one in (*wrong, Verdict("passed"))] + [{}])
    assert (dict(item.statuses), item.mistakes) == ({"not yet": 3, "passed": 1}, ((2, "said 0"), (1, "said 1")))


def progress_file(path: Path, *rows: tuple[object, object]) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE quiz_answers (id INTEGER PRIMARY KEY, question_id, option_ids)")
    connection.executemany("INSERT INTO quiz_answers (question_id, option_ids) VALUES (?, ?)", rows)
    connection.commit()
    connection.close()
    return path


def test_first_answers_count_with_the_wrong_options_text(tmp_path):
    files = [
        progress_file(tmp_path / "1", ("01.recall.1", '["a"]'), ("01.recall.1", '["c"]')),
        progress_file(tmp_path / "2", ("01.recall.1", '["a"]'), ("never.1", '["a"]')),
        progress_file(tmp_path / "3", ("01.recall.1", '["c"]'), ("01.recall.1", '["a"]')),
    ]
    assert questions(files) == [Question("01.recall.1", 3, 1, ((2, "A small language model on this machine"),))]


def test_a_progress_file_may_be_anything(tmp_path):
    (tmp_path / "text").write_bytes(b"this is no database" * 100)
    endless = tmp_path / "view"
    connection = sqlite3.connect(endless)
    connection.execute(
        "CREATE VIEW quiz_answers AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS id, 'q' AS question_id, '[]' AS option_ids FROM n WHERE i < 0"
    )
    connection.close()
    odd = progress_file(tmp_path / "odd", (b"\xff", '["a"]'), (1, "[]"), ("01.1", "no JSON"))
    assert [first_answers(file) for file in (tmp_path / "text", endless, odd, tmp_path / "missing")] == [{}] * 4


# Walls


def test_the_environment_holds_nothing_of_ours(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-x")
    monkeypatch.setenv("SOMEBODYS_PASSWORD", "x")
    found = environment("/notebook")
    assert not {"ANTHROPIC_API_KEY", "SOMEBODYS_PASSWORD"} & set(found)
    assert (found["HOME"], found["COURSE_WORKSPACE"]) == ("/notebook", os.path.join("/notebook", "workspace"))


def test_limits_alone_change_no_command():
    walls = limits_alone("it is a test")
    assert command(walls, ["python", "x"], Path("/nowhere")) == ["python", "x"]
    assert "Namespaces are not used: it is a test." in walls.sentence and "read this user's files" in walls.sentence


@pytest.mark.skipif(os.name != "posix", reason="namespaces exist on Linux only")
def test_behind_walls_nothing_of_the_clone_but_the_package():
    argv = command(Isolation("namespaces", ""), ["python", "-c", "1"], Path("/tmp/a b"))
    script = argv[-1]
    assert argv[:4] == ["setpriv", "--pdeathsig", "KILL", "unshare"] and "--kill-child" in argv
    assert "chroot '/tmp/a b' setpriv" in script and "--no-new-privs --bounding-set=-all" in script
    root = Path(__file__).resolve().parents[1]
    hidden = shlex.quote(f".{root}/course_kit/classroom/exercises")
    assert f"size=4k,mode=755 tmpfs {hidden}\n" in script
    mounted = [shlex.split(line)[2] for line in script.splitlines() if line.startswith("mount --rbind")]
    assert str(root / "course_kit") in mounted
    assert not {str(path) for path in (root, *root.parents, root / "tests", root / "solutions", Path.home())} & set(
        mounted
    )


def test_a_parser_that_another_thread_disturbs_is_asked_again(monkeypatch):
    answers = iter([SystemError("AST constructor recursion depth mismatch"), SystemError("again"), ast.parse("a = 1")])

    def disturbed(source):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.unparse(parsed("a = 1")) == "a = 1"
    with pytest.raises(StopIteration):
        next(answers)
