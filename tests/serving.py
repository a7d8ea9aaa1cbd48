"""A server on loopback that says what a test wants, and a clock that nobody waits for."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from PIL import Image

Reply = tuple[int, dict[str, str], bytes]


class Server:
    """``paths`` maps a path to a reply, a list of replies (one a request, the last for good), or a function
    of the parameters; ``asked`` is what came in.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.paths: dict[str, Any] = {}
        self.asked: list[tuple[str, dict[str, str], dict[str, str]]] = []
        # paths whose replies do not end before `release`; `held` when one is under way
        self.hold: set[str] = set()
        self.held, self.release = threading.Event(), threading.Event()

    @property
    def place(self) -> str:
        """Host and port: what a person named."""
        return self.url.removeprefix("http://")

    def times(self, path: str) -> int:
        return sum(asked == path for asked, _, _ in self.asked)

    def picture(self, path: str, data: bytes, kind: str = "image/png") -> str:
        self.paths[path] = (200, {"Content-Type": kind}, data)
        return f"{self.url}{path}"


@contextmanager
def serving() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            about = {name: values[0] for name, values in parse_qs(parts.query).items()}
            held.asked.append((parts.path, about, dict(self.headers)))
            reply = held.paths.get(self.path, held.paths.get(parts.path, (404, {}, b"")))
            if callable(reply):
                reply = reply(about)
            if isinstance(reply, list):
                reply = reply.pop(0) if len(reply) > 1 else reply[0]
            status, headers, body = reply
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            with suppress(ConnectionError):  # who asked may have heard enough
                self.end_headers()
                self.wfile.write(body)
            if parts.path in held.hold:
                self.wfile.flush()
                held.held.set()
                held.release.wait(60)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    held = Server(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield held
    finally:
        held.release.set()
        server.shutdown()
        thread.join()
        server.server_close()


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.time += seconds


def picture(
    seed: int, size: tuple[int, int] = (64, 48), *, alpha: float | None = None, kind: str = "PNG"
) -> bytes:
    """The bytes of a picture of blocks of its own; ``alpha`` is the share of columns that are transparent."""
    width, height = size
    blocks = np.random.default_rng(seed).integers(0, 256, (8, 9, 3), np.uint8)
    pixels = np.asarray(Image.fromarray(blocks).resize(size, Image.Resampling.NEAREST))
    if alpha is not None:
        opacity = np.full((height, width, 1), 255, np.uint8)
        opacity[:, : round(width * alpha)] = 0
        pixels = np.concatenate([pixels, opacity], axis=2)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format=kind)
    return out.getvalue()
