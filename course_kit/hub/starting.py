"""`course hub`: start a workshop server for a room, and say how learners get in.

JupyterHub's settings are in `jupyterhub_config.py`; this module makes sure that everything is installed, that the
room's folder belongs to the instructor alone, and that the hub ends with this command.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_kit.errors import SetupError

__all__ = ["Hub", "missing", "new_password", "start_hub"]

CONFIGURATION = Path(__file__).with_name("jupyterhub_config.py")
WORDS = (
    "amber anchor apple basket beacon bridge candle canyon cedar clover cobalt copper coral cotton dune ember fable "
    "falcon fern forest garden ginger glacier harbor hazel indigo island ivory jasmine kettle lantern laurel lemon "
    "linen lotus maple marble meadow mirror nutmeg ocean olive orchid paper pebble pepper prairie quartz river saddle "
    "saffron sail silver sparrow spruce thistle thunder timber tulip velvet violet walnut willow zephyr"
).split()
SECONDS_TO_START = 60.0


def missing(proxy: str | None = None) -> list[str]:
    """One sentence for each thing that a hub needs and this machine lacks, with the way to get it."""
    if os.name == "nt":
        return ["JupyterHub does not run on Windows: use WSL, or a Linux or macOS machine."]
    lacking = []
    if _command("jupyterhub-singleuser") is None:
        lacking.append('JupyterHub is missing: run `pip install "course-kit[hub,lab]"`.')
    if shutil.which("node") is None:
        lacking.append("Node.js, which the hub's proxy runs on, is missing: install your system's `nodejs` package.")
    if _proxy_command(proxy) is None:
        lacking.append(
            "The hub's proxy is missing: run `npm install -g configurable-http-proxy`, or install it in a folder with "
            "`npm install --prefix DIR configurable-http-proxy` and give `--proxy DIR`."
        )
    return lacking


def new_password() -> str:
    """A password for the room that can be read aloud and typed: four words of a list of 64."""
    return "-".join(secrets.choice(WORDS) for _ in range(4))


@dataclass(frozen=True)
class Hub:
    """A running hub. `url` is where learners go."""

    url: str
    password: str
    learners: Path
    process: subprocess.Popen[bytes]

    def stop(self, seconds: float = 30.0) -> None:
        """End the hub, its proxy and all learners' servers."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def start_hub(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    password: str | None = None,
    most_learners: int = 40,
    megabytes: int = 2048,
    idle_minutes: int = 60,
    proxy: str | None = None,
    say: Callable[[str], Any] = print,
) -> Hub:
    """Start a hub whose files lie in `folder`, and return when learners may sign in."""
    if lacking := missing(proxy):
        raise SetupError("\n".join(lacking))
    if password is not None and len(password) < 8:
        raise SetupError(
            "The room's password needs at least 8 characters: choose a longer one, or none for a random one."
        )
    folder = folder.absolute()
    hub, learners = folder / "hub", folder / "learners"
    try:
        for part in (hub, learners):
            part.mkdir(parents=True, exist_ok=True, mode=0o700)
            part.chmod(0o700)
    except OSError as problem:
        raise SetupError(f"{folder} cannot be written ({problem.strerror}): choose another folder.") from None
    port = _free(host, port)
    password = password or new_password()
    settings = {
        "host": host,
        "port": port,
        "hub_port": _free("127.0.0.1", 0),
        "proxy_port": _free("127.0.0.1", 0),
        "password": password,
        "most_learners": most_learners,
        "megabytes": megabytes,
        "idle_seconds": idle_minutes * 60,
        "proxy_command": [shutil.which("node"), _proxy_command(proxy)],
        "single_user_command": _command("jupyterhub-singleuser"),
    }
    _write_private(hub / "settings.json", json.dumps(settings, indent=1))
    log = os.open(hub / "hub.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(CONFIGURATION)],
            cwd=hub,
            env=dict(_without_keys(), COURSE_HUB=str(hub)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is answered here, and the hub is ended in order
        )
    finally:
        os.close(log)
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    started = Hub(f"http://{shown}:{port}", password, learners, process)
    try:
        _wait_until_up(started, hub / "hub.log")
    except BaseException:
        started.stop(5)
        raise
    for sentence in _announcement(started, host, port, most_learners, megabytes):
        say(sentence)
    return started


def _announcement(hub: Hub, host: str, port: int, most_learners: int, megabytes: int) -> list[str]:
    said = [f"The workshop server is at {hub.url}. Ctrl-C stops it; the learners' files stay in {hub.learners}."]
    if host in ("127.0.0.1", "localhost", "::1"):
        said.append("Only this machine can reach it. `--host 0.0.0.0` opens it to everybody in this network.")
    else:
        said.append(f"It is OPEN to this network on port {port}, and traffic to it is not encrypted.")
        said.append(f"Learners go to http://ADDRESS:{port}, where ADDRESS is this machine's address in the network.")
    said += [
        f"Learners sign in with a nickname of small letters and digits, and the room's password: {hub.password}",
        "Folders are separate, users are not: all servers run under your account, and one learner's code can read "
        "another's files and yours. Use it for people who trust each other, best on a machine that holds nothing else.",
        f"At most {most_learners} servers at once; plan 0.4 GB of memory per learner. No process may use more than "
        f"{megabytes:,} MB.",
        f"Who is where: course board --workspaces '{hub.learners}/*'",
    ]
    return said


def _wait_until_up(hub: Hub, log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        if hub.process.poll() is not None:
            break
        try:
            with opener.open(f"{hub.url}/hub/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SetupError(f"The hub did not start; the end of {log} says why:\n{_tail(log)}")


def _tail(file: Path) -> str:
    try:
        return "\n".join(file.read_text(encoding="utf-8", errors="replace").splitlines()[-5:])
    except OSError:
        return "(it is empty)"


def _without_keys() -> dict[str, str]:
    """The environment without anything that spends: a hub is for the mock."""
    return {
        name: value for name, value in os.environ.items() if not name.endswith("_API_KEY") and name != "COURSE_LIVE"
    }


def _command(name: str) -> str | None:
    """A command of this Python's installation, or one on the path."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.is_file() else shutil.which(name)


def _proxy_command(proxy: str | None) -> str | None:
    """The proxy's script: `proxy` is the script itself, or a folder that npm installed it into."""
    if proxy is None:
        return shutil.which("configurable-http-proxy")
    given = Path(proxy).absolute()
    places = (given, given / "node_modules" / ".bin" / "configurable-http-proxy", given / "configurable-http-proxy")
    return next((str(place) for place in places if place.is_file()), None)


def _write_private(file: Path, text: str) -> None:
    """Write a file that only this account can read, from its first byte on."""
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as target:
        target.write(text)


def _free(host: str, port: int) -> int:
    """The port if it is free, or any free one for 0."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SetupError(f"The hub cannot listen on {host} port {port} ({reason}): choose another --port.") from None
