"""`course lab`: bring the lessons into the learner's workspace and start JupyterLab on them.

    workspace/notebooks/NN_name.ipynb    lessons
    workspace/exercises/NN_name.ipynb    exercises
    workspace/.course/                   what was shipped last, and this course's defaults for JupyterLab

What the learner wrote always stays. A notebook counts as changed when the text of its cells differs from what was
shipped last; running cells changes nothing. When both sides changed, the new version is put beside the learner's as
`NN_name.new.ipynb`. Solutions are not copied. Where the workspace lies is `classroom/workspace.py`'s business.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from course_kit.errors import SetupError

__all__ = ["environment", "first_lesson", "lab_command", "start", "sync"]

FOLDERS = ("notebooks", "exercises")
ENDINGS = (".ipynb", ".md")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    # On a laptop the list of files leaves room for 92 letters: a longer line of code wraps instead of being cut.
    "@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineNumbers": False, "lineWrap": True}},
}


def sync(workspace: Path, shipped: Path) -> list[str]:
    """Copy what is new from `shipped` into `workspace`; return a sentence for each thing the learner should know."""
    record_file = workspace / ".course" / "shipped.json"
    record = _read_record(record_file)
    news: list[str] = []
    try:
        for folder in FOLDERS:
            for source in sorted(file for file in (shipped / folder).glob("*") if file.suffix in ENDINGS):
                _sync_file(source, workspace / folder / source.name, f"{folder}/{source.name}", record, news)
        _replace(record_file, json.dumps(record, indent=1, sort_keys=True).encode())
    except OSError as problem:
        raise SetupError(
            f"The lessons could not be copied to {workspace} ({problem.strerror or problem}); "
            "free some space there or choose another folder with `course lab --workspace DIR`."
        ) from None
    return news


def first_lesson(workspace: Path) -> str:
    """The notebook to open: `notebooks/00_start_here.ipynb`."""
    lessons = sorted(file.name for file in (workspace / "notebooks").glob("[0-9]*.ipynb") if ".new" not in file.name)
    if not lessons:
        raise SetupError(f"There is no lesson in {workspace / 'notebooks'}; install course-kit again.")
    return f"notebooks/{lessons[0]}"


def lab_command(workspace: Path, *, port: int | None = None, browser: bool = True) -> list[str]:
    """The command that serves the workspace, on this machine only."""
    command = [sys.executable, "-m", "jupyterlab", "--ip=127.0.0.1", f"--ServerApp.root_dir={workspace}"]
    command += [f"--LabApp.default_url=/lab/tree/{first_lesson(workspace)}", "--LabApp.extension_manager=readonly"]
    command += ["--log-level=ERROR", "--LabApp.log_level=ERROR", "--ServerApp.answer_yes=True"]
    if _kernels_can_encrypt():
        command += ["--KernelManager.transport_encryption=auto"]  # else each kernel warns of it in the terminal
    command += [] if port is None else [f"--port={port}", "--ServerApp.port_retries=0"]
    command += [] if browser else ["--no-browser"]
    return command + (["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else [])


def environment(workspace: Path) -> dict[str, str]:
    """What JupyterLab and its kernels run with: this workspace, and the course's own defaults."""
    configuration = workspace / ".course" / "jupyter"
    defaults = configuration / "labconfig" / "default_setting_overrides.json"
    _replace(defaults, json.dumps(SETTINGS, indent=1).encode())
    paths = filter(None, (str(configuration), os.environ.get("JUPYTER_CONFIG_PATH")))
    return dict(os.environ, COURSE_WORKSPACE=str(workspace), JUPYTER_CONFIG_PATH=os.pathsep.join(paths))


def start(
    workspace: Path,
    shipped: Path,
    *,
    port: int | None = None,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Sync, start JupyterLab and stay until it is stopped with Ctrl-C."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise SetupError('JupyterLab is not installed here; run `pip install "course-kit[lab]"`, then `course lab`.')
    if port is not None:
        _refuse_taken_port(port)
    workspace = workspace.resolve()
    for sentence in sync(workspace, shipped):
        say(sentence)
    if not _is_served(workspace):
        for folder in FOLDERS:
            for notebook in sorted((workspace / folder).glob("*.ipynb")):
                _drop_dead_widgets(notebook)
    say(f"Your workspace is {workspace}. JupyterLab is starting; Ctrl-C stops it.")
    command = lab_command(workspace, port=port, browser=browser)
    with subprocess.Popen(command, cwd=workspace, env=environment(workspace)) as server:
        with contextlib.suppress(ValueError):  # outside the main thread
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # or JupyterLab would be left behind
        try:
            code = server.wait()
        except KeyboardInterrupt:
            code = _stop(server)
    if code > 0:
        raise SetupError("JupyterLab stopped with an error, shown above; `course doctor` looks for the cause.")
    say(f"JupyterLab has stopped. Your work is kept in {workspace}; `course lab` opens it again.")


def _sync_file(source: Path, target: Path, name: str, record: dict[str, str], news: list[str]) -> None:
    new = _fingerprint(source)
    last, mine = record.get(name), _fingerprint(target) if target.exists() else None
    if mine is None or (mine == last and new != last):
        _replace(target, _for_this_python(source))
        if mine is not None:
            news.append(f"{name} was updated to its new version: you had not changed it.")
    elif mine != new and new != last:
        beside = _unused(target, new)
        _replace(beside, _for_this_python(source))
        news.append(f"{name} has a new version: yours is kept, and the new one is beside it as {beside.name}.")
    record[name] = new


def _for_this_python(source: Path) -> bytes:
    """A shipped file as JupyterLab would save it; else a notebook is "unsaved" as soon as its kernel runs."""
    content = source.read_bytes()
    if source.suffix == ".ipynb":
        with contextlib.suppress(ImportError, ValueError, KeyError, TypeError):
            from ipykernel.ipkernel import IPythonKernel

            whole = json.loads(content)
            whole["metadata"]["language_info"] = IPythonKernel.language_info
            content = (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()
    return content


def _is_served(workspace: Path) -> bool:
    """Whether a JupyterLab shows this workspace already; its widgets are alive."""
    from jupyter_server.serverapp import list_running_servers

    return any(Path(server["root_dir"]) == workspace for server in list_running_servers())


def _drop_dead_widgets(notebook: Path) -> None:
    """Take out views whose kernel is gone: JupyterLab would show an error in place of the text kept beside them."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        content = notebook.read_text(encoding="utf-8")
        if WIDGET_VIEW not in content:
            return
        whole = json.loads(content)
        for cell in whole["cells"]:
            for output in cell.get("outputs", ()):
                if len(output.get("data", ())) > 1:
                    output["data"].pop(WIDGET_VIEW, None)
        _replace(notebook, (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode())


def _unused(target: Path, new: str) -> Path:
    """A name beside the target for the new version: `01_x.new.ipynb`, or a numbered one where that is in use."""
    number = 1
    while True:
        beside = target.with_name(f"{target.stem}.new{number if number > 1 else ''}{target.suffix}")
        if not beside.exists() or _fingerprint(beside) == new:
            return beside
        number += 1


def _fingerprint(file: Path) -> str:
    """A digest of the text of a file's cells, without outputs, counts and metadata."""
    content = file.read_bytes()
    if file.suffix == ".ipynb":
        with contextlib.suppress(ValueError, KeyError, TypeError):
            cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(content)["cells"]]
            content = json.dumps(cells).encode()
    return hashlib.sha256(content).hexdigest()


def _read_record(file: Path) -> dict[str, str]:
    """What was shipped last; without a readable record every difference counts as the learner's."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _replace(target: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.part")
    partial.write_bytes(content)
    partial.replace(target)


def _kernels_can_encrypt() -> bool:
    """Whether the messages between JupyterLab and its kernels can be encrypted on this machine."""
    try:
        import zmq
    except ImportError:
        return False
    return bool(zmq.has("curve"))


def _refuse_taken_port(port: int) -> None:
    with socket.socket() as probe:
        if os.name == "posix":  # a port that a stopped server left a moment ago is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            raise SetupError(
                f"Port {port} is taken or not allowed: give another with --port, or leave --port out."
            ) from None


def _stop(server: subprocess.Popen[bytes]) -> int:
    """End JupyterLab and its kernels; a second Ctrl-C does not wait."""
    try:
        if os.name == "posix":
            server.terminate()
        server.wait(20)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        server.kill()
        server.wait()
    return 0
