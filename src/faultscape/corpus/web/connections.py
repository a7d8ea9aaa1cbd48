"""HTTP connections that verify the peer address and enforce a deadline.

Conventions: a name may resolve differently by the time of connecting, so the address reached is checked
before anything is sent; connections through a proxy are left to the proxy. Neither headers nor body are read
once an answer's `Pace` has no seconds left.
"""

from __future__ import annotations

import functools
import http.client
import io
import socket
import ssl
import urllib.request
from collections.abc import Callable
from typing import Any

from faultscape.corpus.web.addresses import names_private, private, proxied
from faultscape.errors import WebError

PATIENCE = 300.0  # seconds for one answer
# seconds in which nothing need arrive, and the bytes that must arrive in each second after that
GRACE = 30.0
LOWEST = 1000


class SlowError(WebError):
    """An answer that did not finish in time."""


class Pace:
    """How long an answer may still take: longer the more of it has arrived, up to PATIENCE."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._start = clock, clock()
        self.bytes = 0

    def left(self) -> float:
        """Return the seconds left; SlowError if there are none."""
        most = min(PATIENCE, GRACE + self.bytes / LOWEST)
        if (left := self._start + most - self._clock()) > 0:
            return left
        slow = f"sends fewer than {LOWEST:,} bytes a second"
        raise SlowError(
            slow if most < PATIENCE else f"takes longer than {PATIENCE:.0f} seconds for one answer"
        )


def opener(named: str, tls: ssl.SSLContext | None, pace: Pace) -> urllib.request.OpenerDirector:
    """Return an opener only for http, or for https with ``tls``, that does not follow redirects: the caller
    checks where they lead. ``named`` is a server as for `check`.
    """
    made = urllib.request.OpenerDirector()
    rest = (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    )
    for handler in (_Https(named, tls, pace) if tls else _Http(named, pace), *rest):
        made.add_handler(handler)
    return made


class _Http(urllib.request.HTTPHandler):
    def __init__(self, named: str, pace: Pace) -> None:
        super().__init__()
        self._named = named
        self._pace = pace

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_connecting(http.client.HTTPConnection, req, self._named, self._pace), req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, named: str, tls: ssl.SSLContext, pace: Pace) -> None:
        super().__init__(context=tls)
        self._named = named
        self._tls = tls
        self._pace = pace

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(
            _connecting(http.client.HTTPSConnection, req, self._named, self._pace), req, context=self._tls
        )


def _connecting(
    kind: type[http.client.HTTPConnection], req: urllib.request.Request, named: str, pace: Pace
) -> Any:
    """Return a connection factory for a request: only a connection to a proxy, or to the server that the user
    named, may reach a private address.
    """
    meant = named != "" and names_private(req.full_url) == named

    class Looking(kind):  # type: ignore[misc, valid-type]
        def connect(self) -> None:
            super().connect()
            reached = self.sock.getpeername()[0]
            if private(reached) and not meant and not proxied(req.full_url):
                self.close()
                raise WebError(f"{req.host} resolves to {reached} on a private network")

    def made(host: str, **about: Any) -> http.client.HTTPConnection:
        connection = Looking(host, **about)
        connection.response_class = functools.partial(_Bounded, pace=pace)  # type: ignore[assignment]
        return connection

    return made


class _Bounded(http.client.HTTPResponse):
    """An answer whose every read, from the status line on, ends in time."""

    def __init__(self, sock: socket.socket, *about: Any, pace: Pace, **more: Any) -> None:
        super().__init__(sock, *about, **more)
        self.fp = io.BufferedReader(_Timed(self.fp.detach(), sock, pace))


class _Timed(io.RawIOBase):
    """The bytes of a socket, where each read waits no longer than the time left."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, pace: Pace) -> None:
        self._raw = raw
        self._socket = sock
        self._pace = pace
        self._pause = sock.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._pace.left()
        self._socket.settimeout(left if self._pause is None else min(left, self._pause))
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError:
            self._pace.left()
            raise
        self._pace.bytes += count or 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
