"""Connections that say nothing, or hardly anything, are closed, and keep nobody out."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import uvicorn

import made
from faultscape.web import server

GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n"
MOST = 5 << 20  # bytes, more than the system keeps of what nobody reads


async def app(scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
    """Read the body of a request, and answer; to /large, with more than the client will take."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        more = message["more_body"]
    body = b"x" * 8 * MOST if scope["path"] == "/large" else str(size).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """Where the app is served."""
    with server.bind(port=0) as listener:
        held = server.Server(server.configured(app))
        thread = threading.Thread(target=lambda: asyncio.run(held.serve(sockets=[listener])))
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            held.should_exit = True
            thread.join()


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=20) as made_socket:
        yield made_socket


def until_closed(client: socket.socket) -> bytes:
    """Return what a server sends until it closes the connection."""
    out = b""
    try:
        while part := client.recv(1 << 20):
            out += part
    except ConnectionError:
        pass
    return out


def is_closed_after(client: socket.socket, data: bytes) -> bool:
    """Send data, and return whether the server has closed the connection."""
    try:
        client.sendall(data)
        return client.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "said",
    [b"", b"GET / HTTP/1.1\r\nHost: 127", GET + GET[:9]],
    ids=["nothing", "half a head", "half of a second head"],
)
def test_a_head_that_does_not_come_is_not_waited_for(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    with connected(address) as client:
        client.sendall(said)
        assert until_closed(client).count(b"200 OK") == said.count(b"\r\n\r\n")


def test_a_head_that_comes_byte_by_byte_is_not_waited_for_either(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    with connected(address) as client:
        client.settimeout(0.05)
        for _ in range(400):  # twenty seconds
            if is_closed_after(client, b"G"):
                return
    pytest.fail("the connection is still open")


@pytest.mark.parametrize("said", [b"", b"x" * 500], ids=["no body", "a little of it"])
def test_a_body_that_comes_too_slowly_is_not_waited_for(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(server, "BODY_SECONDS", 0.2)
    with connected(address) as client:
        client.sendall(POST + said)
        assert until_closed(client) == b""


def test_a_body_that_comes_fast_enough_takes_as_long_as_it_takes() -> None:
    class Transport(asyncio.Transport):
        aborted = False

        def abort(self) -> None:
            self.aborted = True

        def get_extra_info(self, name: str, default: Any = None) -> Any:
            return ("127.0.0.1", 5) if name in ("peername", "sockname") else default

        def is_closing(self) -> bool:
            return self.aborted

        def pause_reading(self) -> None:
            pass

        resume_reading = pause_reading

    async def pass_time() -> list[bool]:
        about = server.configured(app)
        one = server.Connection(about, uvicorn.Server(about).server_state, {})
        transport = Transport()
        one.connection_made(transport)
        one.data_received(POST)
        aborted = []
        for size in (20_000, 20_000, 40_000, 19_999):  # bytes of the body before the next look
            one.data_received(b"x" * size)
            await asyncio.sleep(0)  # the app reads
            one._judge_body()
            aborted.append(transport.aborted)
        return aborted

    assert asyncio.run(pass_time()) == [False, False, False, True]


def test_who_does_not_read_is_not_waited_for(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "READ_SECONDS", 0.2)
    ended = threading.Event()
    lost = server.Connection.connection_lost
    monkeypatch.setattr(
        server.Connection, "connection_lost", lambda self, error: (lost(self, error), ended.set())[0]
    )
    with connected(address) as client:
        client.sendall(GET.replace(b"/ ", b"/large ", 1))
        assert ended.wait(20)
        assert len(until_closed(client)) < 8 * MOST


def test_of_those_that_wait_the_longest_makes_room_for_the_next(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_WAITING", 3)
    with ExitStack() as stack:
        first, *others = [stack.enter_context(connected(address)) for _ in range(4)]
        assert until_closed(first) == b""
        for client in others:
            client.sendall(GET)
            assert client.recv(15) == b"HTTP/1.1 200 OK"


def test_no_more_connections_are_open_than_files_may_be(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "most_open", lambda: 2)
    with ExitStack() as stack:
        busy = [stack.enter_context(connected(address)) for _ in range(2)]
        for client in busy:
            client.sendall(POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))
            assert client.recv(100).startswith(b"HTTP/1.1 100")  # the app reads the body
        with connected(address) as late:
            assert until_closed(late) == b""
        for client in busy:
            client.sendall(b"x" * 100_000)
            assert client.recv(15) == b"HTTP/1.1 200 OK"


@pytest.mark.slow
def test_three_hundred_connections_that_say_nothing_lock_nobody_out(tmp_path: Path) -> None:
    root = made.collected(made.corpus(tmp_path / "corpus", images=2, models=1), tmp_path / "study", 8)
    begin = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256));"
        " from faultscape.cli import main; sys.exit(main())"
    )
    line = [sys.executable, "-c", begin, "view", str(root), "--port", "0"]
    with (
        ExitStack() as stack,
        subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split(" at ")[1].split()[0]
            host, port = address.removeprefix("http://").rstrip("/").split(":")
            process.send_signal(signal.SIGSTOP)  # all of them are there when it looks again
            for _ in range(300):
                client = stack.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex((host, int(port)))
            process.send_signal(signal.SIGCONT)
            with urllib.request.urlopen(address, timeout=20) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert err == ""


def test_that_no_more_files_can_be_opened_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    handle, others = server.said_once(), []

    class Loop(asyncio.AbstractEventLoop):
        def default_exception_handler(self, context: dict[str, Any]) -> None:
            others.append(context)

    for _ in range(100):
        handle(Loop(), {"exception": OSError(24, "Too many open files")})
    handle(Loop(), {"message": "another error"})
    said = capsys.readouterr().err
    assert said.startswith("faultscape: Too many open files: new connections wait until others are closed")
    assert said.count("\n") == 1
    assert others == [{"message": "another error"}]
