"""What every app has: a server of one port, pictures kept up to a bound, routers that are mounted, methods
that are allowed.
"""

from __future__ import annotations

import asyncio
import io
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import made
from faultscape.errors import OptionError
from faultscape.web import server
from faultscape.web.headers import Guard
from faultscape.web.photos import Picture, Pictures, shrink
from refusals import refused

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")


def test_a_port_that_is_taken_gives_way_to_the_next_that_is_free() -> None:
    with server.bind(port=0) as first:
        port = first.getsockname()[1]
        with server.bind(port=port) as second:
            assert port < (other := second.getsockname()[1]) < port + server.TRIES
            assert (
                server.port_note(second, port)
                == f"note: port {port} is in use; this server listens on {other}"
            )


def test_what_is_sent_waits_for_nothing() -> None:
    """asyncio turns the delay of small packets (Nagle) off of sockets alone that name their protocol; with it
    an answer takes 40 ms more.
    """
    with server.bind(port=0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_ten_ports_that_are_taken_end_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "TRIES", 1)
    with (
        server.bind(port=0) as first,
        refused(OptionError, "are in use; give another, or 0 for any free one"),
    ):
        server.bind(port=first.getsockname()[1])


def test_only_this_machine_is_listened_to_unless_told() -> None:
    with server.bind(port=0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
        assert server.is_private(listener)
    with server.bind("0.0.0.0", 0) as listener:
        assert not server.is_private(listener)
        # the line that is printed says so
        assert server.names_of(listener, "0.0.0.0") == ["0.0.0.0", socket.gethostname()]
        assert socket.gethostname() in server.address_of(listener)


def test_pictures_are_kept_up_to_a_bound_and_the_last_used_stay() -> None:
    pictures, made_ = Pictures(most=30), []

    def get(key: str) -> bytes:
        return pictures.get(key, lambda: (made_.append(key) or key.encode() * 10, "image/png")).data

    for key in ("a", "b", "c", "a", "d", "a", "b"):
        assert get(key) == key.encode() * 10
    assert made_ == ["a", "b", "c", "d", "b"]  # b was used before a, and went for d
    assert get("x" * 4) == b"xxxx" * 10  # larger than all that is kept
    assert len(pictures) == 0


@pytest.mark.parametrize(
    ("shape", "longest", "want"),
    [
        ((40, 80, 3), 20, (10, 20)),
        ((80, 40, 3), 20, (20, 10)),
        ((3, 5, 3), 20, (3, 5)),
        ((1, 4000, 3), 20, (1, 20)),
    ],
)
def test_a_photo_is_made_no_larger_than_asked_and_never_larger_than_it_is(
    shape: tuple[int, int, int], longest: int, want: tuple[int, int]
) -> None:
    data, media = shrink(np.full(shape, 120, np.uint8), longest)
    found = Image.open(io.BytesIO(data))
    assert found.size[::-1] == want
    assert media == f"image/{found.format.lower()}"
    assert np.abs(np.asarray(found.convert("RGB"), int) - 120).max() < 6


def test_a_router_of_another_app_is_mounted_beside_and_its_methods_are_answered() -> None:
    from fastapi import APIRouter
    from fastapi.testclient import TestClient

    from faultscape.web.app import make_app

    one, other = APIRouter(), APIRouter()
    one.add_api_route("/one", lambda: "one", methods=["GET"])
    other.add_api_route("/other", lambda: "other", methods=["POST"])
    whole = TestClient(
        make_app([one, other], methods=("GET", "POST"), names=["Studio.local"]),
        base_url="http://studio.local",
    )
    assert whole.get("/one").json() == "one"
    assert whole.post("/other").json() == "other"
    assert whole.get("/other").status_code == 405
    assert whole.delete("/other").status_code == 405
    assert TestClient(make_app([one]), base_url="http://studio.local").get("/one").status_code == 421


@pytest.mark.slow
def test_a_study_is_served_until_interrupted_and_the_line_says_where(tmp_path: Path) -> None:
    root = made.collected(made.corpus(tmp_path / "corpus", images=2, models=1), tmp_path / "study", 8)
    line = [sys.executable, "-m", "faultscape", "view", str(root), "--port", "0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = process.stdout.readline()
            assert said.startswith(f"{root}: viewing at http://127.0.0.1:")
            address = said.split(" at ")[1].split()[0]
            with urllib.request.urlopen(address, timeout=20) as answer:
                assert answer.status == 200
                assert answer.headers["server"] is None
                assert b"2 images" in answer.read()
            with pytest.raises(urllib.error.HTTPError, match="421"):
                urllib.request.urlopen(
                    urllib.request.Request(address, headers={"Host": "evil.example"}), timeout=20
                )
            process.send_signal(2)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0
    assert out == f"{root}: server stopped; nothing was changed\n"
    assert err == ""


def test_a_request_that_names_two_hosts_is_refused() -> None:
    sent: list[Any] = []

    async def app(*_: Any) -> None:
        raise AssertionError("the app was asked")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "headers": [(b"host", b"evil.example"), (b"Host", b"127.0.0.1")],
        "raw_path": b"/",
        "query_string": b"",
    }
    asyncio.run(Guard(app)(scope, app, send))
    assert sent[0]["status"] == 400


def test_a_picture_that_another_made_while_one_waited_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pictures = Pictures()

    class Waited:
        def __enter__(self) -> None:
            pictures._held["one"] = Picture(b"x", "image/png", "")

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(pictures, "_at_work", Waited())
    assert pictures.get("one", lambda: (b"y", "image/png")).data == b"x"
