"""The offline bundle: its installer on a small wheel made here, and, where a network and time are given, the real one.

`COURSE_BUNDLE=1` runs the real one: it downloads what the course needs and installs it with no index. The installer
itself is tested in every run.
"""

import ast
import base64
import ensurepip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_kit import cli_teaching
from course_kit.bundle import making
from course_kit.bundle.making import make_bundle, this_system
from course_kit.cli import main
from course_kit.errors import SetupError

INSTALLER = Path(making.__file__).with_name("install.py")
PIP = next(iter(sorted((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))), None)
HERE = f"{this_system()}, Python {sys.version_info[0]}.{sys.version_info[1]}"
SCRIPTS, EXE = ("Scripts", ".exe") if os.name == "nt" else ("bin", "")


def wheel(folder: Path, name: str, code: str, needs: tuple[str, ...] = ()) -> None:
    """A wheel of one module and one command of the same name."""
    package, info = name.replace("-", "_"), f"{name.replace('-', '_')}-0.1.0.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\nProvides-Extra: lab", *needs]
    files = {
        f"{package}.py": code,
        f"{info}/METADATA": "\n".join([*metadata, ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\ncourse = {package}:main\n" if "def main" in code else "",
    }
    lines = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={digest},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""])
    with zipfile.ZipFile(folder / f"{package}-0.1.0-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.fixture
def bundle(tmp_path) -> Path:
    """A bundle of a very small course that needs one other package for its extra."""
    if PIP is None:
        pytest.skip("this Python came without the wheel of pip that the installer is tried with")
    folder = tmp_path / "my bundle"
    (folder / "wheels").mkdir(parents=True)
    wheel(folder / "wheels", "small-part", "WORD = 'small'\n")
    code = "def main():\n    import small_part, sys\n    print(small_part.WORD, *sys.argv[1:])\n"
    wheel(folder / "wheels", "course-kit", code, ('Requires-Dist: small-part; extra == "lab"',))
    shutil.copy(PIP, folder / "wheels")
    shutil.copy(INSTALLER, folder)
    files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (folder / "wheels").iterdir()}
    told = {"install": "course-kit[lab]", "made_for": [HERE], "files": files}
    (folder / "bundle.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


def install(bundle: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    # nothing is reached from here: whatever asks an index or a proxy fails at once
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_NO_INDEX": "0", "HTTPS_PROXY": "http://127.0.0.1:9"}
    return subprocess.run(
        [sys.executable, str(bundle / "install.py"), *arguments],
        cwd=bundle.parent,
        env={**os.environ, **nowhere, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


# ── On a learner's machine ───────────────────────────────────────────────────────────────────────────────────────────


def test_it_installs_without_a_network_and_says_how_to_start(bundle, tmp_path):
    done = install(bundle, str(tmp_path / "my course"))
    command = tmp_path / "my course" / "venv" / SCRIPTS / f"course{EXE}"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"Start the course with:\n\n    {command.with_suffix('')} lab\n\n")
    ran = subprocess.run([str(command), "lab"], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "small lab\n"
    assert install(bundle, str(tmp_path / "my course")).returncode == 0  # a second time is no harm


def test_a_damaged_copy_is_found_before_anything_is_made(bundle, tmp_path):
    (bundle / "wheels" / "small_part-0.1.0-py3-none-any.whl").write_bytes(b"half")
    done = install(bundle, str(tmp_path / "course"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "This copy of the bundle is damaged (small_part-0.1.0-py3-none-any.whl): copy the whole folder again.\n"
    )
    assert not (tmp_path / "course").exists()


def test_what_is_missing_is_a_damaged_copy_too(bundle):
    (bundle / "wheels" / "small_part-0.1.0-py3-none-any.whl").unlink()
    assert "damaged (small_part" in install(bundle).stderr


def test_a_bundle_for_another_machine_says_so(bundle, tmp_path):
    """Pip finds no wheel that fits; the sentence after it says what the bundle is for."""
    told = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    name = "small_part-0.1.0-py3-none-any.whl"
    other = "small_part-0.1.0-cp27-cp27m-win32.whl"
    (bundle / "wheels" / name).rename(bundle / "wheels" / other)
    told["files"][other] = told["files"].pop(name)
    told["made_for"] = ["windows, Python 2.7"]
    (bundle / "bundle.json").write_text(json.dumps(told), encoding="utf-8")
    done = install(bundle, str(tmp_path / "course"))
    assert done.returncode == 1
    assert "This bundle is for: windows, Python 2.7. This machine: " in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [("--help",), ("a", "b")])
def test_wrong_use_is_one_sentence(bundle, arguments):
    done = install(bundle, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "Usage: python install.py [FOLDER]\n")


def test_a_folder_that_cannot_be_made_is_one_sentence(bundle, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = install(bundle, str(tmp_path / "file" / "course"))
    assert done.returncode == 1
    assert done.stderr.startswith("No virtual environment could be made in ") and "Traceback" not in done.stderr


def test_an_old_python_can_read_the_installer():
    ast.parse(INSTALLER.read_text(encoding="utf-8"), feature_version=(3, 7))


def test_an_old_python_is_told_it_is_too_old(bundle, monkeypatch, capsys):
    import importlib.util

    spec = importlib.util.spec_from_file_location("bundle_install", bundle / "install.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.sys, "version_info", (3, 9, 2))
    assert module.main([]) == 1
    assert capsys.readouterr().err.startswith("This Python is too old: the course needs 3.11 or later.")


# ── On the instructor's ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def downloads(monkeypatch) -> list[list[str]]:
    """The commands that would be run; each leaves what it would make."""
    commands: list[list[str]] = []

    def run(command: list[str], what: str) -> None:
        commands.append(command)
        if "build" in command:
            (Path(command[command.index("--out-dir") + 1]) / "course_kit-0.1.0-py3-none-any.whl").write_bytes(b"w")
        if "compile" in command:
            Path(command[command.index("--output-file") + 1]).write_text("click==8.1\n", encoding="utf-8")
        if "download" in command:
            needed = Path(command[command.index("-r") + 1]).read_text(encoding="utf-8")
            assert needed == "click==8.1\npip\n"
            (Path(command[command.index("--dest") + 1]) / "pip-26.0-py3-none-any.whl").write_bytes(b"p")

    monkeypatch.setattr(making, "_run", run)
    monkeypatch.setattr(making.shutil, "which", lambda name: name)
    return commands


def test_what_a_bundle_holds(downloads, tmp_path):
    said = []
    make_bundle(tmp_path / "b", ["windows", "macos"], ["3.12"], said.append)
    assert sorted(entry.name for entry in (tmp_path / "b").iterdir()) == [
        *("READ_ME.txt", "bundle.json", "exercises", "install.py", "notebooks", "wheels")
    ]
    told = json.loads((tmp_path / "b" / "bundle.json").read_text(encoding="utf-8"))
    assert told == {
        "install": "course-kit[lab]",
        "made_for": ["windows, Python 3.12", "macos, Python 3.12"],
        "files": {
            "course_kit-0.1.0-py3-none-any.whl": hashlib.sha256(b"w").hexdigest(),
            "pip-26.0-py3-none-any.whl": hashlib.sha256(b"p").hexdigest(),
        },
    }
    assert "windows, Python 3.12; macos, Python 3.12" in (tmp_path / "b" / "READ_ME.txt").read_text(encoding="utf-8")
    assert (tmp_path / "b" / "notebooks" / "00_start_here.ipynb").is_file()
    assert not (tmp_path / "b" / "notebooks" / "src").exists() and not (tmp_path / "b" / "solutions").exists()
    assert len(said) == 4


def test_each_system_is_asked_for_with_its_own_markers_and_tags(downloads, tmp_path):
    make_bundle(tmp_path / "b", ["windows"], ["3.11", "3.13"], lambda line: None)
    resolved = [command for command in downloads if "compile" in command]
    assert [command[command.index("--python-platform") + 1] for command in resolved] == 2 * ["x86_64-pc-windows-msvc"]
    assert [command[command.index("--python-version") + 1] for command in resolved] == ["3.11", "3.13"]
    fetched = [command for command in downloads if "download" in command]
    assert all("win_amd64" in command and "--no-deps" in command for command in fetched)


def test_without_options_it_is_for_this_machine(downloads, tmp_path):
    make_bundle(tmp_path / "b", say=lambda line: None)
    assert json.loads((tmp_path / "b" / "bundle.json").read_text(encoding="utf-8"))["made_for"] == [HERE]


def test_a_folder_with_something_else_is_left_alone(downloads, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(SetupError, match="holds other files: name an empty folder"):
        make_bundle(tmp_path, say=lambda line: None)
    assert [entry.name for entry in tmp_path.glob("*.txt")] == ["thesis.txt"] and downloads == []


def test_an_older_bundle_is_made_anew(downloads, tmp_path):
    make_bundle(tmp_path / "b", say=lambda line: None)
    (tmp_path / "b" / "wheels" / "old-1.0-py3-none-any.whl").write_bytes(b"old")
    make_bundle(tmp_path / "b", say=lambda line: None)
    assert "old-1.0-py3-none-any.whl" not in json.loads((tmp_path / "b" / "bundle.json").read_text())["files"]


def test_a_bundle_that_was_stopped_is_made_again_and_does_not_install(downloads, monkeypatch, tmp_path):
    with monkeypatch.context() as patched:
        patched.setattr(making, "_download", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            make_bundle(tmp_path / "b", say=lambda line: None)
    shutil.copy(INSTALLER, tmp_path / "b")
    assert "This copy of the bundle is damaged (it was not finished)" in install(tmp_path / "b").stderr
    make_bundle(tmp_path / "b", say=lambda line: None)
    assert "it was not finished" not in (tmp_path / "b" / "bundle.json").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_one_sentence(downloads, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SetupError, match=r"file.b cannot be written \(.+\): name another folder\.$"):
        make_bundle(tmp_path / "file" / "b", say=lambda line: None)


def test_an_installed_course_makes_no_bundle(monkeypatch, tmp_path):
    monkeypatch.setattr(making, "clone", lambda: None)
    with pytest.raises(SetupError, match="in a clone of the course"):
        make_bundle(tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_without_uv_it_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(making.shutil, "which", lambda name: None)
    with pytest.raises(SetupError, match="Making a bundle needs uv: run `pip install uv`."):
        make_bundle(tmp_path / "b")


def test_a_download_that_fails_is_one_sentence_and_what_was_said(tmp_path):
    command = [sys.executable, "-c", "import sys; sys.exit('1\\n2\\n3\\n4')"]
    with pytest.raises(SetupError) as caught:
        making._run(command, "the wheels for windows")
    assert str(caught.value) == (
        "The bundle was not made: could not get the wheels for windows. Is there a network?\n2\n3\n4"
    )


def test_the_command_offers_the_systems_there_are(downloads, tmp_path):
    assert set(cli_teaching.SYSTEMS) == set(making.SYSTEMS)
    result = CliRunner().invoke(main, ["bundle", str(tmp_path / "b"), "--for", "linux", "--python", "3.12"])
    assert (result.exit_code, result.stdout.splitlines()[1]) == (
        0,
        "Downloading what linux with Python 3.12 needs.",
    )
    assert CliRunner().invoke(main, ["bundle", str(tmp_path / "b"), "--for", "toaster"]).exit_code == 2


@pytest.mark.skipif(not os.environ.get("COURSE_BUNDLE"), reason="downloads 130 MB: set COURSE_BUNDLE=1 to run it")
def test_the_real_bundle_installs_with_no_index_and_its_course_is_well(tmp_path):
    make_bundle(tmp_path / "bundle", say=print)
    assert install(tmp_path / "bundle", str(tmp_path / "course")).returncode == 0
    course = tmp_path / "course" / "venv" / SCRIPTS / f"course{EXE}"
    ran = subprocess.run([str(course), "doctor"], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert ran.stdout.splitlines()[-1].endswith("checks passed."), ran.stdout
