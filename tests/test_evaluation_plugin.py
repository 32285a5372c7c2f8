"""Cases in pytest: one test for each case of a file, run in a pytest of its own."""

import json
import os
import subprocess
import sys

TESTS = """
import pytest


def connect(seed):
    return {"seed": seed}


@pytest.mark.course_cases("cases.jsonl")
def test_desk(case, check_case):
    results = check_case(case, connect, agent=lambda client, seed: f"It is {client == {'seed': seed}}.", trials=2)
    assert len(results) == 2


@pytest.mark.course_cases("cases.jsonl")
def test_at_least(case, check_case):
    tried = []
    check_case(case, agent=lambda: tried.append(1) or ("True" if len(tried) > 1 else "no"), trials=3, at_least=2,
               workers=1)


@pytest.mark.course_cases("cases.jsonl")
def test_all_must_pass(case, check_case):
    tried = []
    check_case(case, agent=lambda: tried.append(1) or ("True" if len(tried) > 1 else "no"), trials=3, workers=1)


def test_without_cases(check_case):
    assert callable(check_case)
"""


def test_each_case_is_a_test_that_says_what_was_wrong(tmp_path):
    cases = [
        {"id": "good", "prompt": "a", "expect": {"says": ["true"]}},
        {"id": "bad", "prompt": "b", "expect": {"says": ["splendid"]}},
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    (tmp_path / "test_agent.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = run_pytest(tmp_path)
    lines = done.stdout.splitlines()
    passed = sorted(line.split("::")[1].split()[0] for line in lines if "::" in line and "PASSED" in line)
    assert passed == ["test_at_least[good]", "test_desk[good]", "test_without_cases"]
    failed = done.stdout.partition("= FAILURES =")[2]
    assert "0 of 2 trials passed.\n   2 × bad: [text] The answer does not say 'splendid'." in failed
    assert "Traceback" not in failed and "plugin.py" not in failed
    (tmp_path / "cases.jsonl").write_text("{", encoding="utf-8")
    said = run_pytest(tmp_path).stdout
    assert "line 1: this is not JSON" in said and "_caller.py" not in said and "plugin.py" not in said


def run_pytest(folder):
    command = [sys.executable, "-m", "pytest", "-v", "-p", "course_kit.evaluation.plugin", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTHONUTF8": "1"}
    return subprocess.run(
        [*command, "--rootdir", str(folder), "--strict-markers", str(folder)],
        cwd=folder, capture_output=True, text=True, encoding="utf-8", env=environment,
    )  # fmt: skip
