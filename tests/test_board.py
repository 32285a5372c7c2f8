"""The board: nothing but a nickname and counts on the wire, bad posts refused, lessons never held up by it."""

import http.client
import json
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

import course_kit
from course_kit.classroom import progress
from course_kit.classroom.board import joining, page
from course_kit.classroom.board.counts import NOTHING, clean_nickname, fits, read_counts
from course_kit.classroom.board.room import Refusal, Room, Row, Trouble, new_code
from course_kit.classroom.board.serving import MOST_BYTES, BoardServer
from course_kit.cli import main
from course_kit.errors import CourseKitError, SetupError

CODE, KEY = "4K7-QX2", "k" * 22


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def counts(lesson="01", at="", quizzes=(), **tries: int) -> dict:
    """`counts(e1_2=3)`: exercise 1.2 tried three times; a negative number of tries ended well."""
    exercises = {id[1:].replace("_", "."): {"passed": n < 0, "tries": abs(n)} for id, n in tries.items()}
    return {"lesson": lesson, "at": at, "quizzes": dict(quizzes), "exercises": exercises}


def told(nickname: str = "heron", **parts) -> dict:
    return {"nickname": nickname, **(parts or counts())}


def eventually(holds, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def room():
    return Room(CODE, clock=Clock())


@pytest.fixture
def server(room):
    with BoardServer(room) as running:
        yield running


@pytest.fixture(autouse=True)
def fresh_teller(monkeypatch):
    """The one thread of a process remembers boards that were away; here each test has its own."""
    monkeypatch.setattr(joining, "_teller", joining._Teller())


def request(server, method="GET", path="/", body: bytes = b"", headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    with closing(connection):
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, dict(reply.headers), reply.read().decode()


def post(server, body, code=CODE, key=KEY):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return request(server, "POST", "/learner", content, {"Authorization": f"Bearer {code}", "X-Course-Key": key})


class Eavesdropper:
    """Stands where the board should be, writes down every byte and answers like a board."""

    def __init__(self):
        heard = self.heard = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                heard.append((self.command, self.path, dict(self.headers), json.loads(body)))
                self.send_response(204)
                self.send_header("X-Course-Board", "1")
                self.end_headers()

            do_DELETE = do_POST

            def log_message(self, *arguments):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def eavesdropper():
    ear = Eavesdropper()
    yield ear
    ear.server.shutdown()
    ear.server.server_close()


# ── What is told ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_counts_of_a_progress_file():
    progress.record_lesson("01", "opened")
    progress.record_answer("01.1", ["a"], False)
    progress.record_answer("01.1", ["b"], True)
    progress.record_answer("01.1", ["b"], True)
    progress.record_answer("02.recall.1", ["b"], True)
    progress.record_attempt("1.1", "not attempted")
    progress.record_attempt("1.2", "not yet", "raised KeyError")
    progress.record_attempt("1.2", "passed")
    progress.record_attempt("1.3", "not yet")
    assert read_counts(progress.progress_file()) | {"at": ""} == {
        "lesson": "01",
        "at": "",
        "quizzes": {"01": 1, "02": 1},
        "exercises": {"1.2": {"passed": True, "tries": 2}, "1.3": {"passed": False, "tries": 1}},
    }


def test_the_last_event_says_where_a_learner_is(workspace):
    progress.record_attempt("1.2", "not yet")
    progress.record_answer("02.3", ["a"], False)
    with closing(sqlite3.connect(progress.progress_file())) as connection, connection:
        connection.execute("UPDATE quiz_answers SET at = '2999-01-01T00:00:00+00:00'")
    assert (read_counts(progress.progress_file())["lesson"], read_counts(progress.progress_file())["at"]) == (
        "02",
        "02.3",
    )


def test_no_progress_yet_is_nothing_and_makes_no_file(tmp_path):
    assert read_counts(tmp_path / "progress.sqlite3") == NOTHING
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_none(tmp_path):
    (tmp_path / "progress.sqlite3").write_bytes(b"not a database, but long enough to be looked at " * 50)
    assert read_counts(tmp_path / "progress.sqlite3") is None
    assert read_counts(tmp_path) is None


def test_a_view_that_never_ends_is_given_up(tmp_path):
    file = tmp_path / "progress.sqlite3"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(
            f"CREATE VIEW quiz_answers AS SELECT i AS question_id, 1 AS is_right, i AS at FROM ({endless})"
        )
        connection.execute("CREATE TABLE exercise_attempts (exercise_id, outcome, at)")
        connection.execute("CREATE TABLE lesson_events (lesson, at)")
        connection.commit()
    began = time.monotonic()
    assert read_counts(file) is None
    assert time.monotonic() - began < 20


def test_what_a_file_holds_besides_is_not_told(tmp_path):
    """Ids are the only words in a file that could carry a message; one that is no id makes the file unreadable."""
    file = tmp_path / "progress.sqlite3"
    progress.record_attempt("1.<script>", "passed")
    assert read_counts(progress.progress_file()) is None
    assert not file.exists()


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ({}, True),
        ({"lesson": "1"}, False),
        ({"lesson": "<b>"}, False),
        ({"at": "05.recall.1"}, True),
        ({"at": "my secret"}, False),
        ({"quizzes": {"01": -1}}, False),
        ({"quizzes": {"01": 10_000}}, False),
        ({"quizzes": {"01": True}}, False),
        ({"quizzes": {"one": 1}}, False),
        ({"quizzes": {f"{n:02d}": 1 for n in range(41)}}, False),
        ({"exercises": {"1.2": {"passed": True, "tries": 1}}}, True),
        ({"exercises": {"1.2": {"passed": True}}}, False),
        ({"exercises": {"1.2": {"passed": True, "tries": 1, "code": "import os"}}}, False),
        ({"exercises": {f"1.{n}": {"passed": True, "tries": 1} for n in range(201)}}, False),
        ({"answers": ["a"]}, False),
    ],
)
def test_the_shape_takes_counts_and_nothing_else(change, good):
    assert fits({**NOTHING, **change}) is good


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("heron", "heron"),
        ("  calm   otter 41 ", "calm otter 41"),
        ("小鹤", "小鹤"),
        ("Zoë", "Zoë"),
        ("a" * 24, "a" * 24),
        ("a" * 25, None),
        ("", None),
        ("<b>x</b>", None),
        ("a\u202eb", None),
        ("a\nb", "a b"),
        ("-x", None),
        (7, None),
        ("a" * 10_000, None),
    ],
)
def test_nicknames(given, shown):
    assert clean_nickname(given) == shown


def test_a_drawn_nickname_is_one_and_leaves_a_seeded_generator_alone():
    import random

    random.seed(1)
    state = random.getstate()
    assert clean_nickname(name := joining.drawn_nickname()) == name
    assert random.getstate() == state


# ── The room ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_post_is_a_row_and_the_next_replaces_it(room):
    room.take("10.0.0.1", CODE, KEY, told(**counts(e1_2=2)))
    room.clock.now = 30.0
    room.take("10.0.0.1", CODE, KEY, told("Heron", **counts(e1_2=3)))
    assert room.rows() == [Row("Heron", counts(e1_2=3), 0.0)]


def test_stuck_is_three_tries_without_passing():
    row = Row("heron", counts(e1_1=2, e1_2=3, e1_3=-9, e2_1=7))
    assert row.stuck == (Trouble("1.2", 3), Trouble("2.1", 7))


def refusal(call) -> tuple[int, str]:
    with pytest.raises(Refusal) as caught:
        call()
    return caught.value.status, str(caught.value)


def test_a_wrong_code_is_one_clear_sentence(room):
    assert refusal(lambda: room.take("a", "WRONG1", KEY, told())) == (
        403,
        "This is not the join code of this board: ask your instructor for it.",
    )
    assert room.rows() == []


@pytest.mark.parametrize("typed", ["4K7-QX2", "4k7qx2", " 4k7 qx2 "])
def test_a_code_may_be_typed_in_any_way(room, typed):
    room.take("a", typed, KEY, told())
    assert len(room.rows()) == 1


def test_codes_cannot_be_guessed_in_a_row(room):
    for _ in range(10):
        assert refusal(lambda: room.take("a", "WRONG1", KEY, told()))[0] == 403
    assert refusal(lambda: room.take("a", CODE, KEY, told()))[0] == 429
    room.take("b", CODE, KEY, told())  # another machine is not held up
    room.clock.now = 61.0
    room.take("a", CODE, KEY, told())


def test_a_nickname_belongs_to_who_came_first(room):
    room.take("a", CODE, KEY, told("heron"))
    other = refusal(lambda: room.take("b", CODE, "x" * 22, told("HERON")))
    assert other == (409, "Somebody else here is called HERON: choose another nickname.")
    assert refusal(lambda: room.drop("b", CODE, "x" * 22, {"nickname": "heron"}))[0] == 409
    assert len(room.rows()) == 1


def test_a_learner_may_leave(room):
    room.take("a", CODE, KEY, told())
    room.drop("a", CODE, KEY, {"nickname": "heron"})
    assert room.rows() == []


def test_posts_of_one_learner_are_bounded(room):
    for _ in range(60):
        room.take("a", CODE, KEY, told())
    assert refusal(lambda: room.take("a", CODE, KEY, told()))[0] == 429
    room.take("a", CODE, KEY, told("fox"))
    room.clock.now = 61.0
    room.take("a", CODE, KEY, told())


def test_a_full_room_says_so_and_keeps_who_is_there():
    room = Room(CODE, most_learners=2, clock=Clock())
    room.take("a", CODE, KEY, told("one"))
    room.take("a", CODE, KEY, told("two"))
    assert refusal(lambda: room.take("a", CODE, KEY, told("three"))) == (
        409,
        "The board is full (2 learners): tell your instructor.",
    )
    room.take("a", CODE, KEY, told("one"))
    assert [row.nickname for row in room.rows()] == ["one", "two"]


@pytest.mark.parametrize("body", [None, [], "x", {}, {"nickname": 7}, told("<b>"), {"nickname": "a", "code": "x"}])
def test_what_is_no_post_is_refused(room, body):
    assert refusal(lambda: room.take("a", CODE, KEY, body))[0] == 400
    assert room.rows() == []


@pytest.mark.parametrize("code", ["", "---", "a-b"])
def test_a_room_needs_a_code(code):
    with pytest.raises(CourseKitError, match="at least 4 letters or digits"):
        Room(code)


def test_codes_are_drawn_and_can_be_read_aloud():
    codes = {new_code() for _ in range(50)}
    assert len(codes) == 50
    assert all(re.fullmatch(r"[A-HJ-NP-RT-Z2346-9]{3}-[A-HJ-NP-RT-Z2346-9]{3}", code) for code in codes)


def test_counters_of_many_addresses_do_not_pile_up(room):
    for number in range(1500):
        refusal(lambda number=number: room.take(f"a{number}", "WRONG1", KEY, told()))
    assert len(room._wrong.times) == 1000


def test_folders_on_a_hub_are_read(tmp_path, monkeypatch):
    for name in ("ada", "bo", "bad"):
        monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path / "learners" / name))
        for _ in range(3 if name == "ada" else 1):
            progress.record_attempt("1.2", "not yet")
    (tmp_path / "learners" / "bad" / "progress.sqlite3").write_bytes(b"x" * 4096)
    (tmp_path / "learners" / "empty" / "workspace").mkdir(parents=True)
    room = Room(CODE, str(tmp_path / "learners" / "*"), clock=Clock())
    assert room.rows() == [
        Row("ada", counts(at="1.2", e1_2=3)),
        Row("bad", None),
        Row("bo", counts(at="1.2", e1_2=1)),
        Row("empty", NOTHING),
    ]
    inner = Room(CODE, str(tmp_path / "learners" / "*" / "workspace"), clock=Clock())
    assert [row.nickname for row in inner.rows()] == ["empty"]


def test_folders_are_not_read_at_every_glance(tmp_path):
    (tmp_path / "ada").mkdir()
    room = Room(CODE, str(tmp_path / "*"), clock=Clock())
    assert len(room.rows()) == 1
    (tmp_path / "bo").mkdir()
    assert len(room.rows()) == 1
    room.clock.now = 2.5
    assert len(room.rows()) == 2


# ── The page ─────────────────────────────────────────────────────────────────────────────────────────────────────────

ROWS = [
    Row("ada & co", counts("05", "05.3", {"05": 4}, e5_1=-1), 5.0),
    Row("bo", counts("05", "5.2", {"05": 1}, e5_2=4), 400.0),
    Row("cy", None),
]


def test_the_board_as_text():
    assert page.as_text(ROWS) == "\n".join(
        [
            "3 learners: 2 in lesson 05. Stuck: exercise 5.2 (1 learner).",
            "nickname                  lesson  questions right  exercises passed  working on",
            "ada & co                  05                    4                 1  question 05.3; "
            "4. At the same time, with a limit; just now",
            "bo                        05                    1                 0  stuck at 5.2 (4 tries); minutes ago",
            "cy                        -                                          progress cannot be read",
        ]
    )
    assert page.as_text([]) == "Nobody has joined yet."


def test_the_page_is_an_accessible_table_and_stuck_stands_out_in_words():
    shown = page.page(ROWS)
    assert shown.startswith('<!DOCTYPE html><html lang="en">')
    assert shown.count('<th scope="col">') == 7 and shown.count('<th scope="row">') == 3 and "<caption>" in shown
    assert '<tr class="stuck"><th scope="row"><bdi>bo</bdi></th>' in shown and "stuck at 5.2 (4 tries)" in shown
    assert "ada &amp; co" in shown and "ada & co" not in shown
    assert "prefers-reduced-motion" in shown and "prefers-color-scheme: dark" in shown and "<noscript>" in shown


def test_the_page_names_no_address_outside_itself():
    shown = page.page(ROWS)
    assert re.findall(r"https?:|//\w|src=|href=|url\(|@import", shown) == []


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        digits = colour.lstrip("#")
        digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
        parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_read_in_light_and_dark():
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w+)", part)) for part in page.STYLE.split("@media", 2)[:2])
    for colours in (light, dark):
        assert contrast(colours["ink"], colours["paper"]) >= 7
        assert contrast(colours["amber"], colours["stuck"]) >= 7
        assert contrast(colours["line"], colours["paper"]) >= 3


# ── Over HTTP ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_post_appears_on_the_page(server):
    assert post(server, told("heron", **counts("02", e2_1=5)))[0] == 204
    status, headers, shown = request(server)
    assert status == 200 and headers["content-type"] == "text/html; charset=utf-8"
    assert "<bdi>heron</bdi>" in shown and "stuck at 2.1 (5 tries)" in shown
    assert request(server, path="/table")[2] in shown
    assert "default-src 'none'" in headers["content-security-policy"] and headers["cache-control"] == "no-store"
    assert CODE not in shown and KEY not in shown


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"not json", 400),
        (b"\xff\xfe", 400),
        (b"[" * 30_000, 400),
        (b'{"nickname": "a", "lesson": NaN}', 400),
        (json.dumps({"nickname": "a" * MOST_BYTES}).encode(), 413),
    ],
    ids=["empty", "no_json", "no_text", "deep", "nan", "too_long"],
)
def test_bad_posts_are_refused_and_the_board_lives(server, body, status):
    assert post(server, body)[0] == status
    assert post(server, told())[0] == 204


def test_a_post_that_never_ends_is_not_waited_for(server, monkeypatch):
    from course_kit.classroom.board import serving

    monkeypatch.setattr(serving, "SECONDS_TO_READ", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as slow:
        slow.sendall(b"POST /learner HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert slow.recv(100).startswith(b"HTTP/1.1 408")


def test_other_addresses_and_methods_are_not_found(server):
    assert request(server, path="/learner")[0] == 404
    assert request(server, "POST", "/")[0] == 404
    assert request(server, path="/../etc/passwd")[0] == 404


def test_a_port_in_use_is_one_sentence(server):
    with pytest.raises(
        SetupError, match=rf"cannot listen on 127.0.0.1 port {server.port} \(.*\): choose another --port"
    ):
        BoardServer(Room(CODE), port=server.port)


# ── The learner's side ───────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_but_nickname_and_counts_goes_over_the_wire(eavesdropper, workspace, monkeypatch):
    """Every byte after joining: a known set of headers, and a body of the agreed form."""
    monkeypatch.setenv("USER", "Ada Lovelace")
    course_kit.join(eavesdropper.url, CODE, nickname="heron")
    progress.record_answer("01.1", ["b"], True)
    progress.record_attempt("1.2", "not yet", "raised KeyError: my private words")
    eventually(lambda: "1.2" in eavesdropper.heard[-1][3]["exercises"])
    course_kit.leave()
    for method, path, headers, body in eavesdropper.heard:
        assert path == "/learner"
        assert set(headers) == {
            *("Host", "Accept-Encoding", "Content-Length"),
            *("Content-Type", "Authorization", "X-Course-Key"),
        }
        assert headers["Authorization"] == f"Bearer {CODE}"
        assert body.pop("nickname") == "heron"
        assert body == {} if method == "DELETE" else fits(body)
    everything = json.dumps(eavesdropper.heard)
    assert not [
        word for word in ("Lovelace", "private", "KeyError", str(workspace), socket.gethostname()) if word in everything
    ]
    assert [entry[0] for entry in eavesdropper.heard][-1] == "DELETE"


def test_what_is_done_after_joining_shows_on_the_board(server, room):
    said = course_kit.join(server.url, CODE, nickname="heron")
    assert repr(said).startswith("You are on the board as heron. It gets counts only")
    for _ in range(3):
        progress.record_attempt("1.2", "not yet")
    eventually(lambda: room.rows()[0].stuck == (Trouble("1.2", 3),))
    assert course_kit.leave() == "You have left the board: nothing more is sent."
    assert room.rows() == []
    progress.record_attempt("1.2", "not yet")
    time.sleep(0.2)
    assert room.rows() == []


def test_joining_again_keeps_the_key(server):
    course_kit.join(server.url, CODE, nickname="heron")
    course_kit.join(server.url, CODE, nickname="heron")
    assert joining.joined().nickname == "heron"


def test_a_wrong_code_is_said_and_nothing_is_kept(server, workspace):
    with pytest.raises(CourseKitError, match="^This is not the join code of this board: ask your instructor for it.$"):
        course_kit.join(server.url, "WRONG1")
    assert not (workspace / "board.json").exists()


def test_a_taken_nickname_is_said(server, tmp_path, monkeypatch):
    course_kit.join(server.url, CODE, nickname="heron")
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path / "another"))
    with pytest.raises(CourseKitError, match="Somebody else here is called heron"):
        course_kit.join(server.url, CODE, nickname="heron")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def test_no_board_is_one_sentence():
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(SetupError, match=f"^No board answers at {url} .*: check the address"):
        course_kit.join(url, CODE)


def test_something_else_at_the_address_is_one_sentence():
    from course_kit import MockProvider, Simulated

    with MockProvider(Simulated()).serve() as other:
        with pytest.raises(CourseKitError, match="is not a course board: check the address"):
            course_kit.join(other.url, CODE)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ftp://x", CODE), "is not a board's address"),
        (("", CODE), "is not a board's address"),
        (("http://x:port", CODE), "is not a board's address"),
        (("http://127.0.0.1:1", ""), "not a join code"),
        (("http://127.0.0.1:1", "a\r\nX: y"), "not a join code"),
        (("http://127.0.0.1:1", "码码码码"), "not a join code"),
        (("http://127.0.0.1:1", CODE, "<b>"), "A nickname has 1 to 24 letters"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments, sentence):
    with pytest.raises(CourseKitError, match=sentence):
        course_kit.join(*arguments)


def test_a_board_that_hangs_holds_nothing_up(workspace):
    """The board takes connections and never answers: recording goes on at its own pace."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        board = joining.Joined(f"http://127.0.0.1:{deaf.getsockname()[1]}", CODE, "heron", KEY)
        workspace.mkdir()
        (workspace / "board.json").write_text(json.dumps(vars(board)), encoding="utf-8")
        began = time.monotonic()
        for _ in range(10):
            progress.record_attempt("1.2", "not yet")
        assert time.monotonic() - began < 20  # ten time-outs would be 40
    assert len(progress.attempts("1.2")) == 10


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"url": 1}', '{"url": "x", "code": "", "nickname": "", "key": ""}']
)
def test_a_broken_note_of_the_board_breaks_no_lesson(workspace, content):
    workspace.mkdir()
    (workspace / "board.json").write_text(content, encoding="utf-8")
    progress.record_attempt("1.2", "not yet")
    assert len(progress.attempts("1.2")) == 1
    assert "board" in course_kit.leave()
    assert not (workspace / "board.json").exists()


def test_a_board_that_is_away_is_found_again(room, workspace, monkeypatch):
    monkeypatch.setattr(joining, "SECONDS_OF_PEACE", 0.1)
    monkeypatch.setattr(joining, "_teller", joining._Teller())
    with BoardServer(room) as first:
        course_kit.join(first.url, CODE, nickname="heron")
    progress.record_attempt("1.2", "not yet")
    time.sleep(0.2)
    again = Room(CODE)
    with BoardServer(again, port=first.port):
        eventually(
            lambda: [row.counts["exercises"] for row in again.rows()] == [{"1.2": {"passed": False, "tries": 1}}]
        )


def test_a_late_word_to_the_board_comes_from_the_workspace_of_its_event(room, workspace, tmp_path, monkeypatch):
    """The current folder, and with it the workspace, may be another one when the board answers again."""
    monkeypatch.setattr(joining, "SECONDS_OF_PEACE", 0.1)
    monkeypatch.setattr(joining, "_teller", joining._Teller())
    with BoardServer(room) as first:
        course_kit.join(first.url, CODE, nickname="heron")
    progress.record_attempt("1.2", "not yet")
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path / "another"))
    again = Room(CODE)
    with BoardServer(again, port=first.port):
        eventually(lambda: [row.nickname for row in again.rows()] == ["heron"])
    assert not (tmp_path / "another").exists()


def test_a_short_program_ends_after_its_post(server, room, workspace):
    course_kit.join(server.url, CODE, nickname="heron")
    code = "from course_kit.classroom import progress; progress.record_attempt('1.2', 'passed')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert room.rows()[0].counts["exercises"] == {"1.2": {"passed": True, "tries": 1}}


def test_without_a_board_nothing_of_it_is_loaded(workspace):
    code = """
import sys
from course_kit.classroom import progress
progress.record_attempt("1.2", "passed")
print([name for name in sys.modules if ".board" in name or name == "http.client"])"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "[]\n"


# ── In a terminal ────────────────────────────────────────────────────────────────────────────────────────────────────


def course(*arguments: str):
    return CliRunner().invoke(main, arguments)


def test_join_and_leave_in_a_terminal(server, room, tmp_path, monkeypatch):
    monkeypatch.delenv("COURSE_WORKSPACE")
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path / "mine"))
    assert course("join", server.url, CODE, "--nickname", "fox").output.startswith("You are on the board as fox.")
    assert [row.nickname for row in room.rows()] == ["fox"]
    assert course("leave").output == "You have left the board: nothing more is sent.\n"
    wrong = course("join", server.url, "WRONG1")
    assert (wrong.exit_code, wrong.stderr) == (
        1,
        "This is not the join code of this board: ask your instructor for it.\n",
    )


def test_the_board_once_in_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path / "room" / "ada"))
    progress.record_lesson("01", "opened")
    shown = course("board", "--once", "--workspaces", str(tmp_path / "room" / "*"))
    assert shown.output.splitlines() == [
        "1 learner: 1 in lesson 01.",
        "nickname                  lesson  questions right  exercises passed  working on",
        "ada                       01                    0                 0",
    ]


def test_the_board_once_says_where_it_looked(tmp_path):
    there = str(tmp_path / "none" / "*")
    advice = ": say where with --workspaces, such as 'room/learners/*'.\n"
    assert course("board", "--once", "--workspaces", there).output == f"No folder is at {there!r}{advice}"
    assert course("board", "--once").output == f"--once shows only folders{advice}"


@pytest.mark.parametrize(
    ("host", "said"),
    [("127.0.0.1", "Only this machine can reach it."), ("0.0.0.0", "It is OPEN to this network")],
)
def test_the_board_says_who_can_reach_it(host, said):
    command = [sys.executable, "-u", "-m", "course_kit.cli", "board", "--port", "0", "--host", host]
    command[2:4] = ["-c", "from course_kit.cli import main; main()"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            lines = [running.stdout.readline() for _ in range(3)]
        finally:
            running.terminate()
    assert Path(lines[0].split()[4].rstrip(".")).name and lines[0].startswith("The board is at http://")
    assert lines[1].startswith(said)
