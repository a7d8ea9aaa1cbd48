"""What every test may use: the real data where it is there, and a word on what was skipped."""

from __future__ import annotations

import os
import socket
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

import loopback
from faultscape import engine

hypothesis.settings.register_profile("faultscape", derandomize=True, deadline=None, database=None, print_blob=False)
hypothesis.settings.load_profile("faultscape")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data: FAULTSCAPE_DATA, or shared/data beside the checkout."""
    folder = Path(os.environ.get("FAULTSCAPE_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no real data: set FAULTSCAPE_DATA to its folder")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _one_core() -> Iterator[None]:
    """Verbs do their work in this process where nobody says how many workers, as on a machine of one core; who tests engines says how many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "cores", lambda: 1)
        yield


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches beyond this machine fails."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with what was skipped and why."""
    reasons = Counter(
        str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        for report in terminalreporter.getreports("skipped")
    )
    terminalreporter.section("skipped, and why")
    for reason, times in sorted(reasons.items()):
        terminalreporter.write_line(f"{times:>4}  {reason.removeprefix('Skipped: ')}")
    if not reasons:
        terminalreporter.write_line("nothing was skipped")


@pytest.fixture(scope="session")
def _loopback() -> Iterator[loopback.Server]:
    server = loopback.Server()
    yield server
    server.stop()


@pytest.fixture
def bucket(
    _loopback: loopback.Server, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[loopback.Bucket]:
    """A bucket of a store on this machine, which the environment says is the store."""
    for name, value in {
        "ENDPOINT_URL": _loopback.url,
        "ACCESS_KEY_ID": "key",
        "SECRET_ACCESS_KEY": "secret",
        "REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield loopback.Bucket(_loopback, f"b{zlib.crc32(request.node.nodeid.encode())}")
    _loopback.refusing = None
