"""What the mock costs beside a constant answer, in process and over HTTP; writes a dated results file.

    python tests/benchmarks/mock_overhead.py [ROUNDS]

In process the SDK's client calls a transport that always gives the same bytes, and the mock, which reads the request,
holds it against every rule, asks its model (a function that returns a text), counts tokens and builds the reply. Over
HTTP the same server answers with the same bytes at once, or asks the mock; a bare sender drives it from four
connections, and the SDK's client from one, which is what a program meets. The variants take turns within one run,
since other work on the machine changes from second to second; ratios are of the fastest rounds, medians stand beside.
"""

import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import anthropic
import httpx2

from course_kit.mock.provider import MockProvider
from course_kit.mock.wire import Answer

RESULTS = Path(__file__).parent / "results" / "mock_overhead.json"
WORDS = "Your parcel left the warehouse this morning and should be with you on Thursday."
TOOLS = [
    {
        "name": name,
        "description": f"Looks up one {name.partition('_')[2]} of the shop. Use it when the customer names one.",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string", "description": "Such as ORD-20260917."}},
            "required": ["order_id"],
        },
    }
    for name in ("query_order", "track_parcel", "query_refund", "query_invoice", "query_customer")
]
CASES = {"question": 0, "3 round trips": 3, "20 round trips": 20}
CONNECTIONS = 4


def request(round_trips: int, stream: bool = False) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": "Where is my order ORD-20260917?"}]
    for i in range(round_trips):
        call = {"type": "tool_use", "id": f"toolu_{i}", "name": "query_order", "input": {"order_id": "ORD-20260917"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": '{"status": "shipped"}' * 5}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    fields = {"model": "claude-haiku-5-5", "max_tokens": 1000, "tools": TOOLS, "messages": messages}
    return {**fields, "stream": True} if stream else fields


def provider() -> MockProvider:
    return MockProvider(lambda request: WORDS)


def recorded(body: dict[str, Any]) -> Answer:
    headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
    return provider().handle("POST", "/v1/messages", headers, json.dumps(body).encode())


# In process


def in_process(rounds: int) -> Iterator[dict[str, Any]]:
    for case, round_trips in CASES.items():
        for stream in (False, True):
            body = request(round_trips, stream)
            answer, mock = recorded(body), provider()
            constant = httpx2.MockTransport(
                lambda _, a=answer: httpx2.Response(a.status, headers=a.headers, content=a.body)  # noqa: B023
            )
            http_client = anthropic.DefaultHttpxClient(transport=constant)
            clients = {
                "constant": anthropic.Anthropic(api_key="k", http_client=http_client),
                "mock": mock.client(),
            }
            spent: dict[str, list[float]] = {name: [] for name in clients}
            for _ in range(rounds):
                for name, client in clients.items():
                    spent[name].append(processor_time(lambda c=client, b=body: ask(c, b), calls=10))  # noqa: B023
                mock.requests.clear()
            yield {"case": case, "stream": stream, **compared(spent, 1e6, "us")}


def ask(client: anthropic.Anthropic, body: dict[str, Any]) -> None:
    reply = client.messages.create(**body)
    if body.get("stream"):
        for _ in reply:
            pass


def processor_time(work: Callable[[], None], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start) / calls


def compared(spent: dict[str, list[float]], scale: float, unit: str) -> dict[str, Any]:
    best = {name: min(values) for name, values in spent.items()}
    middle = {name: statistics.median(values) for name, values in spent.items()}
    return {
        **{f"{name}_{unit}": round(value * scale, 1) for name, value in best.items()},
        "ratio": round(best["mock"] / best["constant"], 2),
        "ratio_of_medians": round(middle["mock"] / middle["constant"], 2),
    }


# Over HTTP


def over_http(rounds: int, rate: Callable[[int, dict[str, Any]], float]) -> Iterator[dict[str, Any]]:
    for case, round_trips in CASES.items():
        for stream in (False, True):
            body = request(round_trips, stream)
            with server("constant", body) as constant, server("mock", {}) as mock:
                rates: dict[str, list[float]] = {"constant": [], "mock": []}
                for _ in range(rounds):
                    for name, port in (("constant", constant), ("mock", mock)):
                        rates[name].append(rate(port, body))
            best = {name: max(values) for name, values in rates.items()}
            middle = {name: statistics.median(values) for name, values in rates.items()}
            yield {
                "case": case,
                "stream": stream,
                **{f"{name}_per_second": round(value) for name, value in best.items()},
                "ratio": round(best["mock"] / best["constant"], 2),
                "ratio_of_medians": round(middle["mock"] / middle["constant"], 2),
            }


@contextmanager
def server(kind: str, body: dict[str, Any]) -> Iterator[int]:
    """A server in a process of its own; the constant one is told for which request to record its answer."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(body) + "\n")
    process.stdin.flush()
    try:
        yield int(process.stdout.readline().rpartition(":")[2])
    finally:
        process.terminate()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def serve(kind: str) -> None:
    body = sys.stdin.readline().strip()
    if kind == "mock":
        from course_kit.mock.server import serve as serve_mock

        serve_mock(provider().handle)
        return
    answer = recorded(json.loads(body))
    headers = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    if len(answer.chunks) == 1:
        headers.append((b"content-length", str(len(answer.body)).encode()))

    async def app(scope: dict[str, Any], receive: Callable, send: Callable) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for chunk in answer.chunks[:-1]:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": answer.chunks[-1]})

    import uvicorn

    # With the protocol named, asyncio switches off Nagle's algorithm, as it does for the mock.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        app, ws="none", lifespan="off", log_config=None, log_level="warning", access_log=False, server_header=False
    )
    uvicorn.Server(config).run(sockets=[listener])


def sdk_rate(port: int, body: dict[str, Any], count: int = 40) -> float:
    """How many of these requests one client of the SDK gets answered in a second."""
    with anthropic.Anthropic(api_key="k", base_url=f"http://127.0.0.1:{port}", max_retries=0) as client:
        ask(client, body)
        start = time.perf_counter()
        for _ in range(count):
            ask(client, body)
        return count / (time.perf_counter() - start)


def bare_rate(port: int, request: dict[str, Any], count: int = 100) -> float:
    """The same for requests without a client, sent one after the other on each of a few connections."""
    body = json.dumps(request).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nhost: mock\r\ncontent-length: {len(body)}\r\n"
    head += "x-api-key: k\r\nanthropic-version: 2026-10-21\r\ncontent-type: application/json\r\n\r\n"
    wire = head.encode() + body

    def send_all() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(count):
                connection.sendall(wire)
                read_answer(connection)

    workers = [threading.Thread(target=send_all) for _ in range(CONNECTIONS)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return CONNECTIONS * count / (time.perf_counter() - start)


def read_answer(connection: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, rest = data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    if b"chunked" in head:
        while not rest.endswith(b"0\r\n\r\n"):
            rest += connection.recv(65536)
        return
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(rest) < length:
        rest += connection.recv(65536)


# The table


def main(rounds: int) -> None:
    versions = {name: version(name) for name in ("anthropic", "httpx2", "pydantic", "uvicorn")}
    result: dict[str, Any] = {"date": date.today().isoformat(), "versions": {"python": python_version(), **versions}}
    result |= {"in_process": [], "over_http": [], "over_http_by_the_sdk": []}
    print("in process: the SDK's client, microseconds of processor time a call (aim: at most 1.5 times the constant)")
    for row in in_process(rounds):
        result["in_process"].append(row)
        print(line(row, "constant_us", "mock_us"), flush=True)
    for key, sender, rate in (
        ("over_http", "a bare sender, four connections", bare_rate),
        ("over_http_by_the_sdk", "the SDK's client, one connection", sdk_rate),
    ):
        print(f"over HTTP: {sender}, requests a second (aim: at least 0.5 of the constant)")
        for row in over_http(max(3, rounds // 6), rate):
            result[key].append(row)
            print(line(row, "constant_per_second", "mock_per_second"), flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def line(row: dict[str, Any], constant: str, mock: str) -> str:
    name = f"  {row['case']}, {'streamed' if row['stream'] else 'plain'}"
    ratios = f"ratio {row['ratio']:.2f} (medians {row['ratio_of_medians']:.2f})"
    return f"{name:28}constant {row[constant]:8}   mock {row[mock]:8}   {ratios}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 30)
