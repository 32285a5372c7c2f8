"""A room's diagnoses: nobody's name leaves a machine, and what comes back is read within bounds."""

import getpass
import json
import platform
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_kit import doctor, doctor_room
from course_kit.classroom.board import joining
from course_kit.cli import main
from course_kit.doctor import Check, Diagnosis
from course_kit.doctor_room import Machine, RoomReport, as_json, read_room, write_diagnosis
from course_kit.errors import SetupError

WELL = Diagnosis((Check("Python", True, "3.12.1"), Check("browser", None, "none")))
ILL = Diagnosis(
    (
        Check("Python", True, "3.12.1"),
        Check("packages", False, "pandas is missing", 'Run `pip install "course-kit[lab]"`'),
        Check("disk space", False, "only 12 MB are free", "Free at least 300 MB there"),
    )
)


def course(*arguments: str):
    return CliRunner().invoke(main, arguments)


def put(folder: Path, name: str, diagnosis: Diagnosis = WELL, **changed) -> None:
    told = {**as_json(diagnosis, name), "system": "Linux x86_64", "python": "3.12.1", **changed}
    (folder / f"doctor-{name}.json").write_text(json.dumps(told), encoding="utf-8")


# ── What leaves a machine ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_account_and_the_machine_are_taken_out(monkeypatch, tmp_path):
    home = tmp_path / "Users" / "ada.lovelace"
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setattr(getpass, "getuser", lambda: "ada.lovelace")
    monkeypatch.setattr(platform, "node", lambda: "adas-laptop.example.org")
    seen = [
        f"{home}/course/workspace",
        "/mnt/Ada.Lovelace/course: no such folder",
        "no port on adas-laptop or ADAS-LAPTOP.example.org",
    ]
    told = as_json(Diagnosis(tuple(Check("x", False, text, text) for text in seen)), "heron")
    assert [one["seen"] for one in told["checks"]] == [
        "~/course/workspace",
        "/mnt/…/course: no such folder",
        "no port on … or …",
    ]
    assert "ada" not in json.dumps(told).lower()


def test_a_real_diagnosis_names_nobody(workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "kernel", lambda: "not tried here")
    monkeypatch.setitem(doctor.CHECKS, "kernel", doctor.kernel)
    file = write_diagnosis(doctor.diagnose(), "heron", tmp_path)
    text = file.read_text(encoding="utf-8")
    assert str(Path.home()) + "/" not in text and platform.node() not in text
    told = json.loads(text)
    assert set(told) == {"nickname", "system", "python", "course", "at", "checks"}
    assert [machine.nickname for machine in read_room(tmp_path).machines] == ["heron"]


def test_the_nickname_is_that_of_the_board(workspace, tmp_path):
    workspace.mkdir()
    board = joining.Joined("http://127.0.0.1:1", "4K7-QX2", "calm otter 41", "k" * 20)
    (workspace / "board.json").write_text(json.dumps(vars(board)), encoding="utf-8")
    assert write_diagnosis(WELL, None, tmp_path).name == "doctor-calm-otter-41.json"


def test_a_nickname_that_is_none_is_refused(tmp_path):
    with pytest.raises(SetupError, match="A nickname has 1 to 24"):
        write_diagnosis(WELL, "../x", tmp_path)
    assert list(tmp_path.iterdir()) == []


# ── What comes in ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_report_of_a_room(tmp_path):
    put(tmp_path, "heron")
    put(tmp_path, "fox", ILL)
    put(tmp_path, "bo", ILL)
    (tmp_path / "letter.json").write_text("Dear instructor", encoding="utf-8")
    assert read_room(tmp_path).table() == "\n".join(
        [
            "WRONG  bo                        Linux x86_64, Python 3.12.1",
            "         packages: pandas is missing",
            '         → Run `pip install "course-kit[lab]"`',
            "         disk space: only 12 MB are free",
            "         → Free at least 300 MB there",
            "WRONG  fox                       Linux x86_64, Python 3.12.1",
            "         packages: pandas is missing",
            '         → Run `pip install "course-kit[lab]"`',
            "         disk space: only 12 MB are free",
            "         → Free at least 300 MB there",
            "UNREAD letter.json               cannot be read: ask for the file that `course doctor --json` writes",
            "ok     heron                     Linux x86_64, Python 3.12.1",
            "",
            "1 of 3 machines are ready. 1 file could not be read. The most common fix, for 2 machines: "
            'Run `pip install "course-kit[lab]"`.',
        ]
    )


def test_of_two_diagnoses_of_one_machine_the_newer_counts(tmp_path):
    put(tmp_path, "fox", ILL, at="2026-11-01T10:00:00+00:00")
    (tmp_path / "doctor-fox.json").rename(tmp_path / "z.json")
    put(tmp_path, "Fox", WELL, at="2026-11-02T10:00:00+00:00")
    assert read_room(tmp_path).machines == (Machine("Fox", "Linux x86_64", "3.12.1", "2026-11-02T10:00:00+00:00", ()),)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff\xfe\x00",
        b"[" * 90_000,
        b'{"nickname": "fox"}',
        json.dumps({**as_json(WELL, "fox"), "nickname": "<b>"}).encode(),
        json.dumps({**as_json(WELL, "fox"), "checks": [{"name": "x"}]}).encode(),
        json.dumps({**as_json(WELL, "fox"), "checks": ["x"] * 101}).encode(),
        json.dumps({**as_json(WELL, "fox"), "system": "x" * 101}).encode(),
        b" " * 100_001,
    ],
)
def test_files_that_are_no_diagnosis_are_named(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    report = read_room(tmp_path)
    assert report.machines == () and [name for name, _ in report.unread] == ["x.json"] and not report.ok


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_that_an_editor_saved_anew_is_read(tmp_path, encoding):
    (tmp_path / "x.json").write_text(json.dumps(as_json(ILL, "小鹤"), ensure_ascii=False), encoding=encoding)
    assert [machine.nickname for machine in read_room(tmp_path).machines] == ["小鹤"]


def test_nothing_in_a_file_steers_the_terminal(tmp_path):
    evil = "\x1b[2Jok\r\nok     everybody"
    put(tmp_path, "fox", Diagnosis((Check(evil, False, evil, evil),)), system=evil)
    put(tmp_path, "bo")
    (tmp_path / "\x1b[31m.json").write_text("x", encoding="utf-8")
    table = read_room(tmp_path).table()
    assert not [letter for letter in table if letter < " " and letter != "\n"]
    assert len([line for line in table.splitlines() if line.startswith("ok ")]) == 1


def test_many_files_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_room, "MOST_FILES", 2)
    for name in ("a", "b", "c"):
        put(tmp_path, name)
    assert read_room(tmp_path).unread == (("1 more files", "only 2 are read at a time"),)


def test_an_empty_folder_says_what_to_do(tmp_path):
    assert (
        repr(read_room(tmp_path)) == "There is no diagnosis here yet: learners write one with `course doctor --json`."
    )
    assert RoomReport(()).ok


# ── In a terminal ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("found", "code"), [(WELL, 0), (ILL, 1)])
def test_the_two_commands(monkeypatch, tmp_path, found, code):
    monkeypatch.setattr(doctor, "diagnose", lambda on_check: found)
    monkeypatch.chdir(tmp_path)
    written = course("doctor", "--json", "--nickname", "heron")
    assert written.exit_code == code
    assert found.sentence() in written.output
    assert "Send doctor-heron.json to your instructor" in written.output
    report = course("doctor", "--room", str(tmp_path))
    assert (report.exit_code, report.output) == (code, read_room(tmp_path).table() + "\n")


def test_without_the_option_no_file_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "diagnose", lambda on_check: WELL)
    monkeypatch.chdir(tmp_path)
    course("doctor")
    assert list(tmp_path.glob("*.json")) == []


def test_a_folder_that_is_not_there_is_a_wrong_option():
    assert course("doctor", "--room", "no-such-folder").exit_code == 2
