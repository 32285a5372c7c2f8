"""`course doctor`: a healthy machine gives one sentence that is the same everywhere, a sick one gives a cure."""

import contextlib
import importlib.metadata
import shutil
import socket
import sqlite3
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from course_kit import doctor
from course_kit.doctor import Check, Diagnosis, Ill, diagnose


def failing(name: str) -> str:
    """What a check says when it fails."""
    with pytest.raises(Ill) as ill:
        getattr(doctor, name)()
    return str(ill.value)


def test_this_machine_is_well(workspace):
    diagnosis = diagnose()
    assert diagnosis.failed == ()
    assert repr(diagnosis) == f"All {len(doctor.CHECKS)} checks passed."
    assert [check.name for check in diagnosis.checks] == [*doctor.CHECKS, *doctor.NOTES]
    assert sorted(path.name for path in workspace.iterdir()) == [".course-workspace"]  # nothing is left behind


def test_a_diagnosis_as_text_and_as_a_table():
    diagnosis = Diagnosis(
        (
            Check("Python", True, "3.12.1"),
            Check("loopback", False, "no port opens", "Allow Python in the firewall"),
            Check("browser", None, "none"),
        )
    )
    assert not diagnosis.ok
    assert repr(diagnosis) == "1 of 2 checks failed.\n  loopback: no port opens. Allow Python in the firewall."
    assert diagnosis.table().splitlines() == [
        "ok     Python    3.12.1",
        "WRONG  loopback  no port opens",
        "                 → Allow Python in the firewall",
        "note   browser   none",
        "",
        "1 of 2 checks failed.",
    ]


def test_a_healthy_diagnosis_shows_nothing_of_the_machine():
    checks = (Check("Python", True, "3.12.1"), Check("workspace", True, "a path"), Check("browser", None, "none"))
    assert repr(Diagnosis(checks)) == "All 2 checks passed."


def test_an_old_python(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 4, "final", 0))
    assert failing("python_version") == (
        "Python 3.10.4 is too old. Install Python 3.11 or newer and set the course up again with it."
    )


def test_packages_missing_or_out_of_range(monkeypatch):
    wanted = [
        "click>=8",
        "pandas>=99",
        'no-such-package>=1; extra == "lab"',
        'not-asked-for; extra == "test"',
        'other-system; sys_platform == "none"',
    ]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: wanted)
    pandas = importlib.metadata.version("pandas")
    assert failing("packages") == (
        f'pandas is {pandas}; >=99 is needed; no-such-package is missing. Run `pip install "course-kit[lab]"`.'
    )


def test_a_kernel_that_cannot_import(monkeypatch):
    monkeypatch.setattr(doctor, "IMPORTS", "no_such_module")
    assert "cannot import what the lessons need (ModuleNotFoundError: No module named 'no_such_module')" in failing(
        "kernel"
    )


def test_a_workspace_that_cannot_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path / "file" / "workspace"))
    monkeypatch.setattr(
        doctor, "CHECKS", {name: doctor.CHECKS[name] for name in ("workspace", "disk space", "database")}
    )
    diagnosis = diagnose()
    assert [check.ok for check in diagnosis.checks if check.ok is not None] == [False, False, False]
    assert diagnosis.failed[0].cure == "Choose another folder with `course lab --workspace DIR`"


def test_a_full_disk(monkeypatch, tmp_path):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(2**40, 2**40, 5 * 2**20))
    with pytest.raises(Ill, match="only 5 MB are free at the workspace. Free at least 300 MB there."):
        doctor.space(tmp_path)


def test_a_network_drive_without_a_write_ahead_log(monkeypatch, tmp_path):
    class Drive:
        def execute(self, statement):
            return self

        def fetchone(self):
            return ("delete",)

        def commit(self):
            pass

        def close(self):
            pass

    monkeypatch.setattr(sqlite3, "connect", lambda path: Drive())
    with pytest.raises(Ill, match="usual on a network drive. Choose a folder on a local disk"):
        doctor.sqlite(tmp_path)


def test_an_old_sqlite(monkeypatch, tmp_path):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 7, 17))
    with pytest.raises(Ill, match="is too old. Install a current Python"):
        doctor.sqlite(tmp_path)


def test_a_blocked_loopback(monkeypatch):
    def refuse(address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)
    assert failing("loopback") == (
        "no port can be opened and reached on 127.0.0.1 (Permission denied). "
        "Allow Python in the firewall or security software of this machine."
    )


def test_a_console_without_the_letters(monkeypatch, tmp_path):
    with open(tmp_path / "out", "w", encoding="cp1252") as console, contextlib.redirect_stdout(console):
        assert failing("text") == "this console writes cp1252, which cannot show all of the course. Set PYTHONUTF8=1."


@pytest.mark.parametrize(
    ("variables", "seen"),
    [
        pytest.param({}, "off: everything runs on the mock", id="off"),
        pytest.param(
            {"ANTHROPIC_API_KEY": "secret-key"},
            "off: everything runs on the mock; your key is not used",
            id="a_key_alone_never_spends",
        ),
        pytest.param(
            {"ANTHROPIC_API_KEY": "secret-key", "COURSE_LIVE": "1"},
            "ON: lessons may spend tokens of the key in ANTHROPIC_API_KEY",
            id="on",
        ),
    ],
)
def test_the_live_switch_is_told_and_the_key_is_not(monkeypatch, variables, seen):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert doctor.live() == seen
    assert "secret" not in doctor.live()


def test_live_without_a_key(monkeypatch):
    monkeypatch.setenv("COURSE_LIVE", "1")
    assert (
        failing("live")
        == "COURSE_LIVE is on, but there is no key. Set ANTHROPIC_API_KEY, or unset COURSE_LIVE to use the mock."
    )


def test_a_check_that_breaks_is_a_finding(monkeypatch):
    def broken() -> str:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(doctor, "CHECKS", {"broken": broken})
    [check, _] = diagnose().checks
    assert check == Check("broken", False, "ZeroDivisionError: oh", 'Install again: `pip install "course-kit[lab]"`')


def test_no_browser_fails_nothing(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor, "CHECKS", {})
    [check] = diagnose().checks
    assert (check.ok, check.seen) == (None, "no Chromium or Chrome found; only the browser tests need one")


def test_the_workspace_may_be_named(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "CHECKS", {"workspace": doctor.writable})
    assert diagnose(tmp_path).checks[0] == Check("workspace", True, str(Path(tmp_path)))
