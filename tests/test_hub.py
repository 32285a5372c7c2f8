"""The workshop server: a real JupyterHub on loopback, learners who sign in at once and run lesson 01, and its limits.

`COURSE_HUB_LEARNERS` says how many (3 without it); `COURSE_HUB_PROXY` where npm put configurable-http-proxy.
"""

import asyncio
import importlib.util
import json
import os
import re
import stat
import sys
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from course_kit.classroom.board.room import Room
from course_kit.classroom.sections import code_cells, lesson_file
from course_kit.cli import main
from course_kit.errors import SetupError
from course_kit.hub import jupyterhub_config, starting
from course_kit.hub.starting import Hub, missing, start_hub

PROXY = os.environ.get("COURSE_HUB_PROXY")
LEARNERS = int(os.environ.get("COURSE_HUB_LEARNERS") or 3)
SECONDS = 60 + 30 * LEARNERS  # for all of them, on a small machine
LACKING = missing(PROXY) if importlib.util.find_spec("jupyterhub") else ["jupyterhub is not installed"]
needs_hub = pytest.mark.skipif(bool(LACKING), reason=" ".join(LACKING))


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory):
    running = start_hub(
        tmp_path_factory.mktemp("room"), port=0, proxy=PROXY, most_learners=LEARNERS + 2, say=lambda line: None
    )
    yield running
    running.stop()


class Browser:
    """As much of a browser as signing in takes: cookies, forms, the header against forged requests."""

    def __init__(self, hub: Hub):
        self.hub, self.cookies = hub, {}

    async def ask(self, method: str, path: str, body: object = None, form: dict | None = None, **headers: str):
        from urllib.parse import urlencode

        from tornado.httpclient import AsyncHTTPClient, HTTPRequest

        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        content = urlencode(form) if form is not None else None if body is None else json.dumps(body)
        headers["Content-Type"] = "application/x-www-form-urlencoded" if form is not None else "application/json"
        request = HTTPRequest(
            self.hub.url + path,
            method,
            headers,
            content,
            follow_redirects=False,
            allow_nonstandard_methods=True,
            request_timeout=SECONDS,
            connect_timeout=SECONDS,
        )
        client = AsyncHTTPClient(force_instance=True)
        try:
            reply = await client.fetch(request, raise_error=False)
        finally:
            client.close()
        for line in reply.headers.get_list("Set-Cookie"):
            name, _, rest = line.partition("=")
            self.cookies[name] = rest.split(";")[0]
        return reply

    async def sign_in(self, nickname: str, password: str) -> int:
        await self.ask("GET", "/hub/login")
        form = {"username": nickname, "password": password, "_xsrf": self.cookies["_xsrf"]}
        return (await self.ask("POST", "/hub/login", form=form)).code


@dataclass
class Learner:
    """Signs in, gets a server, and runs code in a kernel as JupyterLab would: over REST and a WebSocket."""

    nickname: str
    hub: Hub
    ran: int = 0
    again: int = 0
    errors: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    async def comes_in(self) -> int:
        self.browser = Browser(self.hub)
        began = time.monotonic()
        code = await self.browser.sign_in(self.nickname, self.hub.password)
        await self.browser.ask("GET", "/hub/home")  # signed in, one gets another mark against forged requests
        xsrf = {"X-XSRFToken": self.browser.cookies["_xsrf"], "Referer": self.hub.url + "/hub/home"}
        token = await self.browser.ask("POST", f"/hub/api/users/{self.nickname}/tokens", {"note": "test"}, **xsrf)
        self.token = json.loads(token.body)["token"]
        self.seconds["sign in"] = time.monotonic() - began
        return code

    async def api(self, method: str, path: str, body: object = None):
        browser = Browser(self.hub)  # a token, and no cookie
        reply = await browser.ask(method, path, body, Authorization=f"token {self.token}")
        return reply.code, json.loads(reply.body) if reply.body else None

    async def starts_server(self) -> None:
        began = time.monotonic()
        code, said = await self.api("POST", f"/hub/api/users/{self.nickname}/server")
        assert code in (201, 202), said
        while not (await self.api("GET", f"/hub/api/users/{self.nickname}"))[1]["servers"].get("", {}).get("ready"):
            assert time.monotonic() - began < SECONDS
            await asyncio.sleep(0.5)
        self.seconds["server"] = time.monotonic() - began

    async def runs(self, sources: list[str], path: str = "notebooks/01_round_trip.ipynb") -> None:
        began = time.monotonic()
        session = {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}}
        code, made = await self.api("POST", f"/user/{self.nickname}/api/sessions", session)
        assert code == 201, made
        address = self.hub.url.replace("http", "ws", 1)
        # under one session's id, the server keeps what it could not deliver for the next connection
        self.channels = f"{address}/user/{self.nickname}/api/kernels/{made['kernel']['id']}/channels?session_id=s"
        await self._connect()
        for source in sources:
            await self._run(source)
        self.socket.close()
        while await self.socket.read_message() is not None:
            pass  # until the other side has closed, too
        self.seconds["lesson"] = time.monotonic() - began

    async def _connect(self) -> None:
        from tornado.httpclient import HTTPRequest
        from tornado.websocket import websocket_connect

        slow = {"connect_timeout": SECONDS, "request_timeout": SECONDS}
        request = HTTPRequest(self.channels, headers={"Authorization": f"token {self.token}"}, **slow)
        self.socket = await websocket_connect(request)

    async def _run(self, source: str) -> None:
        id = uuid.uuid4().hex
        header = {"msg_id": id, "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"}
        content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": False}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        await self.socket.write_message(json.dumps(message))
        async for heard in self._answers(id):
            if heard["msg_type"] == "error":
                self.errors.append(f"{heard['content']['ename']}: {heard['content']['evalue']} in {source[:80]!r}")
            if heard["msg_type"] == "status" and heard["content"]["execution_state"] == "idle":
                self.ran += 1
                return

    async def _answers(self, id: str) -> AsyncIterator[dict]:
        while True:
            text = await asyncio.wait_for(self.socket.read_message(), SECONDS)
            if text is None:  # a busy server has let go: connect again, as JupyterLab does
                self.again += 1
                assert self.again < 20, (
                    f"the kernel's connection was closed {self.again} times: {self.socket.close_reason}"
                )
                await self._connect()
            elif isinstance(text, str) and (message := json.loads(text))["parent_header"].get("msg_id") == id:
                yield message


# ── A room at work ───────────────────────────────────────────────────────────────────────────────────────────────────


@needs_hub
def test_a_room_of_learners_runs_lesson_01_at_once(hub, capsys):
    """All sign in together, get servers, run the lesson and answer: in separate workspaces, and all on the board."""
    sources = [cell.source for cell in code_cells(lesson_file("01"))]
    learners = [Learner(f"learner{number:02d}", hub) for number in range(LEARNERS)]

    async def lives(number: int, learner: Learner) -> None:
        assert await learner.comes_in() == 302
        await learner.starts_server()
        mine = f"progress.record_attempt('1.{number % 3 + 1}', 'not yet')"
        answered = 'quiz("01.1").answer("a")'
        await learner.runs([*sources, answered, f"from course_kit.classroom import progress; {mine}; {mine}; {mine}"])

    async def room() -> None:
        all_of_them = (lives(number, learner) for number, learner in enumerate(learners))
        for ended in await asyncio.gather(*all_of_them, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended

    began = time.monotonic()
    asyncio.run(asyncio.wait_for(room(), SECONDS))
    whole = time.monotonic() - began
    assert [error for learner in learners for error in learner.errors] == []
    assert {learner.ran for learner in learners} == {len(sources) + 2}
    told = Room("CODE", str(hub.learners / "*")).rows()
    rows = [row for row in told if row.nickname.startswith("learner")]  # other tests sign in here, too
    assert [(row.nickname, row.counts["lesson"], [one.exercise for one in row.stuck]) for row in rows] == [
        (learner.nickname, "01", [f"1.{number % 3 + 1}"]) for number, learner in enumerate(learners)
    ]
    with capsys.disabled():
        slowest = {part: max(learner.seconds[part] for learner in learners) for part in ("sign in", "server", "lesson")}
        told = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in slowest.items())
        again = sum(learner.again for learner in learners)
        print(f"\nhub: {LEARNERS} learners at once, {len(sources)} cells each, {whole:.0f} s; the slowest: {told}")
        print(f"connections that were let go and made again: {again}")


@needs_hub
def test_each_workspace_has_the_lessons_and_no_key(hub, monkeypatch):
    learner = Learner("fox", hub)
    code = """
import os
assert os.environ["COURSE_WORKSPACE"].endswith("learners/fox"), os.environ["COURSE_WORKSPACE"]
assert not [name for name in os.environ if name.endswith("_API_KEY") or name == "COURSE_LIVE"]
from course_kit.classroom.workspace import workspace
assert workspace().name == "fox"
import resource
limit = resource.getrlimit(resource.RLIMIT_DATA if __import__("sys").platform == "linux" else resource.RLIMIT_AS)
assert limit[0] == 2048 * 2**20, limit"""
    greedy = """
try:
    taken = bytearray(3 * 2**30)
except MemoryError:
    pass
else:
    raise AssertionError("took 3 GB")"""

    async def live() -> None:
        await learner.comes_in()
        await learner.starts_server()
        await learner.runs([code, greedy] if sys.platform == "linux" else [code])

    asyncio.run(asyncio.wait_for(live(), SECONDS))
    assert learner.errors == []
    assert (hub.learners / "fox" / "notebooks" / "00_start_here.ipynb").is_file()
    assert (hub.learners / "fox" / "exercises" / "01_round_trip.ipynb").is_file()


@needs_hub
@pytest.mark.parametrize(
    ("nickname", "password", "code"),
    [
        ("ada", "wrong-password", 403),
        ("ada", "", 403),
        ("../ada", None, 403),
        ("ada/../../bo", None, 403),
        ("ada bo", None, 403),
        ("a" * 25, None, 403),
        ("ada", None, 302),
    ],
)
def test_who_may_sign_in(hub, nickname, password, code):
    async def come() -> int:
        return await Browser(hub).sign_in(nickname, hub.password if password is None else password)

    assert asyncio.run(come()) == code


@needs_hub
def test_without_signing_in_nothing_is_shown(hub):
    async def look() -> list[int]:
        stranger = Browser(hub)
        return [
            (await stranger.ask("GET", path)).code for path in ("/hub/api/users", "/user/fox/api/contents", "/hub/home")
        ]

    # To a server that runs the hub redirects, to sign in; to one that does not it says no.
    assert asyncio.run(look()) in ([403, 403, 302], [403, 302, 302])


@needs_hub
def test_the_hubs_own_files_are_the_instructors_alone(hub):
    folder = hub.learners.parent / "hub"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(hub.learners.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "settings.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "cookie_secret").stat().st_mode) == 0o600


@needs_hub
def test_a_hub_that_is_stopped_leaves_nothing_behind(tmp_path):
    hub = start_hub(tmp_path / "room", port=0, proxy=PROXY, password="long-enough", say=lambda line: None)
    learner = Learner("fox", hub)

    async def come() -> int:
        await learner.comes_in()
        await learner.starts_server()
        return json.loads((hub.learners.parent / "hub" / "settings.json").read_text(encoding="utf-8"))["proxy_port"]

    ports = [asyncio.run(come()), int(hub.url.rsplit(":", 1)[1])]
    hub.stop()
    assert hub.process.returncode is not None
    for port in ports:
        assert starting._free("127.0.0.1", port) == port
    if Path("/proc").is_dir():
        lines = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.exists()]
        assert [line for line in lines if str(tmp_path).encode() in line] == []


# ── Without a hub ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_missing_is_said_with_its_cure(monkeypatch):
    monkeypatch.setattr(starting, "_command", lambda name: None)
    monkeypatch.setattr(starting.shutil, "which", lambda name: None)
    said = missing()
    if os.name == "nt":
        assert said == ["JupyterHub does not run on Windows: use WSL, or a Linux or macOS machine."]
    else:
        assert [sentence.split(":")[0] for sentence in said] == [
            "JupyterHub is missing",
            "Node.js, which the hub's proxy runs on, is missing",
            "The hub's proxy is missing",
        ]


def test_the_command_says_what_is_missing_and_makes_no_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(starting, "missing", lambda proxy=None: ["One is missing: get it.", "Another, too: get it."])
    result = CliRunner().invoke(main, ["hub", "--room", str(tmp_path / "room")])
    assert (result.exit_code, result.stderr) == (1, "One is missing: get it.\nAnother, too: get it.\n")
    assert not (tmp_path / "room").exists()


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(starting, "missing", lambda proxy=None: [])


def test_a_short_password_is_refused(installed, tmp_path):
    with pytest.raises(SetupError, match="at least 8 characters"):
        start_hub(tmp_path, password="short")


def test_a_port_in_use_is_one_sentence(installed, tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            SetupError, match=rf"The hub cannot listen on 127.0.0.1 port {port} \(.*\): choose another --port"
        ):
            start_hub(tmp_path, port=port)


def test_the_proxy_is_found_where_npm_put_it(tmp_path):
    script = tmp_path / "node_modules" / ".bin" / "configurable-http-proxy"
    script.parent.mkdir(parents=True)
    script.touch()
    assert starting._proxy_command(str(tmp_path)) == str(script)
    assert starting._proxy_command(str(script)) == str(script)
    assert starting._proxy_command(str(tmp_path / "elsewhere")) is None


def test_passwords_are_drawn_from_many():
    drawn = {starting.new_password() for _ in range(50)}
    assert len(drawn) == 50 and all(re.fullmatch(r"[a-z]+(-[a-z]+){3}", one) for one in drawn)
    assert len(set(starting.WORDS)) == len(starting.WORDS) == 64


class Anything(dict):
    """A configuration object that takes whatever is set, as JupyterHub's does."""

    def __getattr__(self, name):
        return self.setdefault(name, Anything())

    def __setattr__(self, name, value):
        self[name] = value


@pytest.mark.skipif(os.name == "nt", reason="JupyterHub does not run on Windows")
def test_the_configuration_says_what_it_should(tmp_path):
    settings = {
        **{"host": "127.0.0.1", "port": 8000, "hub_port": 1, "proxy_port": 2, "password": "a-long-password"},
        **{"most_learners": 12, "megabytes": 512, "idle_seconds": 600, "proxy_command": ["node", "p"]},
        "single_user_command": "/x/jupyterhub-singleuser",
    }
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    c = Anything()
    jupyterhub_config.configure(c, tmp_path / "hub")
    assert c.JupyterHub.bind_url == "http://127.0.0.1:8000"
    assert c.JupyterHub.active_server_limit == 12
    assert c.Authenticator.allow_all is True and c.SharedPasswordAuthenticator.user_password == "a-long-password"
    assert (
        c.Spawner.notebook_dir
        == str(tmp_path / "learners" / "{username}")
        == c.SimpleLocalProcessSpawner.home_dir_template
    )
    assert "--MappingKernelManager.cull_idle_timeout=600" in c.Spawner.args
    assert c.Spawner.mem_limit == "512M"
    assert c.Spawner.environment["COURSE_WORKSPACE"](SimpleNamespace(home_dir="learners/fox")) == "learners/fox"


def test_a_learners_folder_keeps_what_she_changed(tmp_path):
    spawner = SimpleNamespace(home_dir=str(tmp_path / "fox"))
    jupyterhub_config.prepare(spawner)
    exercise = tmp_path / "fox" / "exercises" / "01_round_trip.ipynb"
    mine = exercise.read_text(encoding="utf-8").replace("NotImplementedError", "MyOwnAnswer")
    exercise.write_text(mine, encoding="utf-8")
    jupyterhub_config.prepare(spawner)
    assert exercise.read_text(encoding="utf-8") == mine


def test_keys_and_the_live_switch_stay_out_of_the_hub(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    monkeypatch.setenv("COURSE_LIVE", "1")
    assert {"ANTHROPIC_API_KEY", "COURSE_LIVE"} & set(starting._without_keys()) == set()
    assert "PATH" in starting._without_keys()
