"""Fixtures of the tests: a fresh workspace for each, the shared data, and a network that ends at this machine."""

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that belongs to this test alone."""
    folder = tmp_path / "workspace"
    monkeypatch.setenv("COURSE_WORKSPACE", str(folder))
    return folder


@pytest.fixture(scope="session")
def shared_data(pytestconfig: pytest.Config) -> Path:
    """The folder of public data sets, read in place."""
    named = pytestconfig.getoption("--shared-data") or os.environ.get("COURSE_SHARED_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent; name the folder with --shared-data or COURSE_SHARED_DATA")
    return folder


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    """No test reaches the network: connections and look-ups outside this machine fail at once."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse_unless_local(address[0])
        return connect(self, address)

    def guarded_look_up(host, *args, **kwargs):
        if host is not None:
            _refuse_unless_local(host.decode() if isinstance(host, bytes) else host)
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield


def _refuse_unless_local(host: str) -> None:
    try:
        local = ipaddress.ip_address(host).is_loopback or host in ("0.0.0.0", "::")
    except ValueError:
        local = host in ("localhost", "")
    if not local:
        raise RuntimeError(f"a test tried to reach {host}; tests talk to the mock, on this machine")
