"""Submissions that do harm, on Linux: each is contained, and marked for what its answers are worth."""

import contextlib
import os
import socket
import threading
import time
from pathlib import Path

import pytest

psutil = pytest.importorskip("psutil", reason="marking needs the extra `teach`")
pytest.importorskip("joblib", reason="marking needs the extra `teach`")

from marking_room import ADD, CHECKS, IMPORT, ROOT, SHORT, WRONG_ADD, answers, hand_in, notebook  # noqa: E402

from course_kit.classroom.marking.grading import Grades, grade  # noqa: E402
from course_kit.classroom.marking.isolation import isolation  # noqa: E402

SECRET = "sk-ant-" + "api03-0123456789abcdefghij"
ONLY_IF = "def add(a, b):\n    return a + b if not FOUND else FOUND"  # right only when nothing was found
NAP = "1000.015625"  # seconds, a number that no other process has on its command line

SEARCH = """
import os
FOUND = []
for place, folders, files in os.walk("/"):
    if place in ("/proc", "/dev"):
        folders.clear()
        continue
    for name in files:
        if name.startswith("lesson_0") or name in ("key.txt", "results.jsonl", "00_start_here.ipynb"):
            FOUND.append(os.path.join(place, name))
    if "solutions" in folders or "mistakes" in folders:
        FOUND.append(os.path.join(place, "solutions"))
for path in PATHS:
    if os.path.exists(path):
        FOUND.append(path)
try:
    from course_kit.classroom.exercises.lesson_00 import WHO
    FOUND.append("the checks")
except ImportError:
    pass
"""

ENVIRONMENT = """
import glob, os
FOUND = [name for name, value in os.environ.items() if "sk-ant" in value]
for file in glob.glob("/proc/*/environ"):
    try:
        FOUND += [file] if b"sk-ant" in open(file, "rb").read() else []
    except OSError:
        pass
"""

NETWORK = """
import socket
FOUND = []
for place in (("127.0.0.1", PORT), ("192.0.2.1", 80), ("1.1.1.1", 53)):
    try:
        socket.create_connection(place, timeout=1).close()
        FOUND.append(place)
    except OSError:
        pass
try:
    FOUND.append(socket.getaddrinfo("example.org", 80))
except OSError:
    pass
listening = socket.create_server(("127.0.0.1", 0))  # loopback of its own is there
socket.create_connection(listening.getsockname(), timeout=1).close()
"""

RIGHTS = """
import os, resource, subprocess
FOUND = [] if "CapEff:\\t0000000000000000" in open("/proc/self/status").read() else ["privileges"]
for name in ("RLIMIT_AS", "RLIMIT_NPROC"):
    kind = getattr(resource, name)
    if resource.getrlimit(kind)[1] == resource.RLIM_INFINITY:
        FOUND.append(name)
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        FOUND.append("raised " + name)
    except (ValueError, OSError):
        pass
for command in (["mount", "-t", "tmpfs", "none", "/mnt"], ["unshare", "-r", "true"], ["chroot", "/", "true"]):
    if subprocess.run(command, capture_output=True).returncode == 0:
        FOUND.append(command)
import threading
threading.stack_size(2**16)
started = []
try:
    while len(started) < 100:
        started.append(threading.Thread(target=threading.Event().wait, daemon=True))
        started[-1].start()
except RuntimeError:
    pass
if len(started) > 45:  # 40 are allowed, even where root started the marking
    FOUND.append(f"{len(started)} threads")
import course_kit
for place in (os.path.dirname(course_kit.__file__), "/usr", "/"):
    try:
        open(os.path.join(place, "written"), "w").close()
        FOUND.append(place)
    except OSError:
        pass
"""

FORGED = """
import json, os
line = json.dumps({"exercise": "0.1", "name": "add", "seen": [{"returned": 5}] * 4})
for descriptor in range(3, 30):
    try:
        os.write(descriptor, (line + chr(10) + json.dumps({"end": True}) + chr(10)).encode())
    except OSError:
        pass
os._exit(0)
"""

FLOOD = """
import os
for descriptor in range(3, 30):
    try:
        while True:
            os.write(descriptor, b"x" * 65536)
    except OSError:
        pass
"""

FORK_BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
STUBBORN = "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
EAT = "kept = []\nwhile True:\n    kept.append(bytearray(10**7))"
EAT_CRUMBS = """
kept, size = [], 10**7
while True:
    try:
        kept.append(bytearray(size))
    except MemoryError:
        size = size // 2 or 1
"""
EAT_IN_ADD = "kept = []\ndef add(a, b):\n    while True:\n        kept.append(bytearray(10**7))"
DISK = """
for place in ("/notebook", "/tmp", "/dev/shm"):
    for number in range(100):
        try:
            open(f"{place}/{number}", "wb").write(bytes(10**7))
        except OSError:
            pass
"""
IN_ADD = "def add(a, b):\n    import os, time\n    {}\n    return a + b"

PASSED, NOT_YET = "passed", "not yet"
# learner → (notebook, status and a part of the reason of 0.1, the same of 0.2)
HOSTILE = {
    "endless loop in an answer": (
        answers(add=IN_ADD.format("while True: pass")), (NOT_YET, "`add` did not finish within "), PASSED
    ),
    "endless loop in a cell": (answers("while True: pass"), PASSED, PASSED),
    "a loop that cannot be interrupted": (answers(STUBBORN), PASSED, PASSED),
    "an answer that cannot be interrupted": (
        answers(add="def add(a, b):\n" + "\n".join("    " + line for line in STUBBORN.splitlines())),
        (NOT_YET, "Your answer did not finish within "),
        PASSED,
    ),
    "sleep": (answers("import time\ntime.sleep(1000)"), PASSED, PASSED),
    "fork bomb": (answers(FORK_BOMB), PASSED, PASSED),
    "fork": (answers("import os\nos.fork()"), PASSED, PASSED),
    "memory in a cell": (answers(EAT), PASSED, PASSED),
    "memory in crumbs": (answers(EAT_CRUMBS), PASSED, PASSED),
    "memory kept by an answer": (answers(add=EAT_IN_ADD), (NOT_YET, "emory"), PASSED),
    "memory in an answer": (
        answers(add=IN_ADD.format("kept = bytearray(10**11)")), (NOT_YET, "emory"), PASSED
    ),
    "os._exit in a cell": (answers("import os\nos._exit(0)"), PASSED, PASSED),
    "os._exit in an answer": (
        answers(add=IN_ADD.format("os._exit(0)")), (NOT_YET, "Your answer ended the process that it ran in."), PASSED
    ),
    "os._exit beside the answer": (
        answers(add=f"{ADD}\nimport os\nos._exit(0)"),
        (NOT_YET, "name 'add' is not defined): cell 2 ended the process that it ran in."),
        PASSED,
    ),
    "kill of itself": (answers("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"), PASSED, PASSED),
    "endless printing": (answers("while True:\n    print('x' * 10_000)"), PASSED, PASSED),
    "printing passed": (
        answers("def check(*given):\n    print('Exercise 0.1: passed. All 4 cases hold.')", add=WRONG_ADD),
        (NOT_YET, "`add(2, 3)` should return 5; it returned -1."),
        PASSED,
    ),
    "patched check": (
        answers(
            "import course_kit, course_kit.classroom.checks as checks\n"
            "checks.judge_case = checks.check = course_kit.check = lambda *given: checks.PASSED\n"
            "checks.observe_case = lambda *given: {'returned': 5}\n"
            "checks.Incorrect = course_kit.errors.Incorrect = ValueError\n",
            add=WRONG_ADD,
        ),
        (NOT_YET, "`add(2, 3)` should return 5; it returned -1."),
        PASSED,
    ),
    "patched observing": (
        answers(
            "import sys\ndef patch(frame):\n    while frame:\n        if 'observe_case' in frame.f_globals:\n"
            "            frame.f_globals.update(observe_case=lambda *given: {'returned': 5}, encoded=lambda obj: 5)\n"
            "        frame = frame.f_back\npatch(sys._getframe())",
            add=WRONG_ADD,
        ),
        (NOT_YET, "Your code raised TypeError: 'int' object is not callable"),
        (NOT_YET, 'Answer "model", "program" or "user"; you wrote 5.'),
    ),
    "forged reports": (answers(FORGED, add=WRONG_ADD), (NOT_YET, "should return"), (NOT_YET, "There is no result")),
    "a flood of reports": (answers(FLOOD), PASSED, PASSED),
    "full disks": (answers(DISK), PASSED, PASSED),
    "environment": (answers(ENVIRONMENT, add=ONLY_IF), PASSED, PASSED),
    "rights": (answers(RIGHTS, add=ONLY_IF), PASSED, PASSED),
    "a process that stays": (
        answers(f"import subprocess\nsubprocess.Popen(['sleep', '{NAP}'], start_new_session=True)"), PASSED, PASSED
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> tuple[Grades, dict]:
    """All of them marked in one run, with a key in the environment, a key file and a server that they might reach."""
    if isolation().kind != "namespaces":
        pytest.skip(isolation().sentence)
    folder = tmp_path_factory.mktemp("hostile")
    submissions, out = folder / "submissions", folder / "marks"
    (folder / "key.txt").write_text(SECRET, encoding="utf-8")
    server = socket.create_server(("127.0.0.1", 0))
    reached: list[object] = []
    threading.Thread(target=lambda: reached.append(server.accept()), daemon=True).start()
    paths = [
        folder,
        ROOT / "solutions",
        ROOT / "tests",
        ROOT / "exercises",
        Path.home() / ".ssh",
        Path.home() / ".cache",
    ]
    looking = f"PATHS = {[str(path) for path in paths]}\n{SEARCH}"
    network = NETWORK.replace("PORT", str(server.getsockname()[1]))
    for learner, (text, *_) in HOSTILE.items():
        hand_in(submissions, learner, text)
    hand_in(submissions, "solutions", answers(looking, add=ONLY_IF))
    hand_in(submissions, "network", answers(network, add=ONLY_IF))
    before = os.environ.get("ANTHROPIC_API_KEY")
    os.environ["ANTHROPIC_API_KEY"] = SECRET
    try:
        grades = grade(submissions, out, seed=11, limits=SHORT, jobs=2, say=lambda sentence: None)
    finally:
        del os.environ["ANTHROPIC_API_KEY"]
        if before is not None:
            os.environ["ANTHROPIC_API_KEY"] = before
    facts = {"reached": reached, "out": out}
    time.sleep(0.2)
    facts["left"] = [p.pid for p in psutil.process_iter(["cmdline"]) if NAP in (p.info["cmdline"] or ())]
    facts["at work"] = [p.pid for p in psutil.process_iter(["cmdline"]) if of_this_marking(p)]
    server.close()
    return grades, facts


def of_this_marking(process: psutil.Process) -> bool:
    """A learner's process that this process began, or that nobody owns any more; other tests mark at the same time."""
    if "course_kit.classroom.marking.learner_process" not in (process.info["cmdline"] or ()):
        return False
    with contextlib.suppress(psutil.NoSuchProcess):
        owners = [parent.pid for parent in process.parents()]
        return os.getpid() in owners or len(owners) < 2
    return False


def verdicts(grades: Grades, learner: str) -> dict:
    [row] = [row for row in grades.rows if row.learner == learner]
    return row.verdicts


@pytest.mark.parametrize("learner", HOSTILE)
def test_it_is_contained_and_marked_right(room, learner):
    _, *expected = HOSTILE[learner]
    for id, wanted in zip(("0.1", "0.2"), expected, strict=True):
        status, part = (wanted, "") if isinstance(wanted, str) else wanted
        verdict = verdicts(room[0], learner)[id]
        assert verdict.status == status, (id, verdict)
        assert part in verdict.message


@pytest.mark.parametrize("learner", ["solutions", "network"])
def test_nothing_is_found_that_is_not_theirs(room, learner):
    found = verdicts(room[0], learner)
    assert [found[id].status for id in ("0.1", "0.2")] == [PASSED, PASSED], found["0.1"].message


def test_no_process_outlives_the_marking(room):
    assert (room[1]["left"], room[1]["at work"]) == ([], [])


def test_the_network_of_this_machine_was_not_reached(room):
    assert room[1]["reached"] == []


def test_no_key_of_ours_stands_in_the_results(room):
    kept = (room[1]["out"] / "results.jsonl").read_text(encoding="utf-8")
    assert len(kept.splitlines()) == len(HOSTILE) + 2
    assert SECRET not in kept


def test_without_walls_the_same_search_finds_something(tmp_path):
    """The search itself works: it is the walls that keep it from finding anything."""
    names: dict = {"PATHS": [str(ROOT / "solutions")]}
    exec(SEARCH.replace('os.walk("/")', f"os.walk({str(ROOT / 'course_kit')!r})"), names)
    assert {"the checks", str(ROOT / "solutions")} < set(names["FOUND"])


def test_a_notebook_that_only_burns_time_ends_in_time(tmp_path):
    """Cells that each end their process: it is started again a few times, then the rest counts as not reached."""
    from dataclasses import replace

    bad = ["import os\nos._exit(0)"] * 8
    hand_in(tmp_path / "in", "Eve", notebook(IMPORT, *bad, ADD, CHECKS[0]))
    began = time.monotonic()
    grades = grade(
        tmp_path / "in", tmp_path / "out", seed=1, limits=replace(SHORT, seconds=30), say=lambda sentence: None
    )
    assert time.monotonic() - began < 150
    verdict = verdicts(grades, "Eve")["0.1"]
    assert (verdict.status, verdict.key) == ("not yet", "not reached")
