"""The only HTTP client here: rate-limited, with an identifying user agent, backing off on refusals, and with
bounded bodies.

Conventions: ``rate`` is requests per second to one host. After 429 and 5xx, a request is repeated after the
Retry-After time, or 1, 2, 4, ... seconds. A host that asks for more than ``PATIENCE`` seconds is not
contacted again in this run, and an answer that takes longer than that (headers and body), or trickles, is
abandoned. A host that failed ``FAILURES`` times in a row is dropped too; after the first failure, its
requests are tried only once. Bodies are bounded in bytes. Clock and sleep are arguments, so that tests do not
wait. Threads may send requests in parallel. Messages name the host and never the URL, which may hold a key. A
name may resolve differently by the time of connecting, so the address reached is checked before anything is
sent; connections through a proxy are left to the proxy. Neither headers nor body are read once an answer's
`Pace` has no seconds left.
"""

from __future__ import annotations

import functools
import http.client
import io
import json
import re
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from faultscape import __version__
from faultscape.corpus.web.addresses import (
    Resolve,
    check,
    clean,
    look_up,
    names_private,
    private,
    proxied,
)
from faultscape.errors import OptionError, WebError

HOPS = 5
TRIES = 5
FAILURES = 5
ANSWER_BYTES = 20_000_000
PATIENCE = 300.0  # seconds for one answer
# seconds in which nothing need arrive, and the bytes that must arrive in each second after that
GRACE = 30.0
LOWEST = 1000
_AGAIN = (429, 500, 502, 503, 504)
_MOVED = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class Answer:
    """The answer of a server."""

    status: int
    headers: dict[str, str]
    body: bytes


class ClosedError(WebError):
    """A host that is no longer contacted in this run: it asks for a long pause, or cannot be reached."""


class Web:
    """A polite HTTP client; one instance serves a whole run, so that the rate limit applies to all of it."""

    def __init__(
        self,
        *,
        contact: str = "",
        rate: float = 1.0,
        timeout: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.time,
        resolve: Resolve = look_up,
    ) -> None:
        self._agent = agent(contact)
        self._pause = 1 / rate
        self._timeout = timeout
        self._clock = clock
        self._sleep = sleep
        self._now = now
        self._resolve = resolve
        self._free: dict[str, float] = {}
        self._closed: dict[str, str] = {}
        self._failures: dict[str, int] = {}  # by host, since its last answer
        self._lock = threading.Lock()

    @functools.cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def get(self, url: str, *, limit: int, named: str = "") -> Answer:
        """Return the content of a URL, at most ``limit`` bytes; WebError otherwise. ``named`` is the private
        server that the user named, if any.
        """
        here = clean(url)
        hops = 0
        tries = 0
        while True:
            host = urlsplit(here).netloc
            if host in self._closed:
                raise ClosedError(self._closed[host])
            # once redirected away from that server, another cannot lead back to it
            named = named if names_private(here) == named else ""
            check(here, named, self._resolve)
            self._wait(host)
            again = None
            try:
                answer = self._once(here, limit, named)
            except SlowError as slow:
                raise self._failed(host, f"{host}: {slow}") from None
            except (urllib.error.URLError, OSError, http.client.HTTPException, ValueError) as fault:
                reason = getattr(fault, "reason", None) or fault
                words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
                what = f"{host}: {'took too long' if isinstance(reason, TimeoutError) else words}"
                if isinstance(fault, urllib.error.URLError) and tries + 1 >= TRIES:
                    # the host cannot even be reached
                    self._closed[host] = f"{what} (tried {TRIES} times)"
                    raise ClosedError(self._closed[host]) from None
            else:
                if answer.status not in _AGAIN:
                    self._failures.pop(host, None)
                if 200 <= answer.status < 300:
                    return answer
                if answer.status in _MOVED and answer.headers.get("location"):
                    hops += 1
                    if hops > HOPS:
                        raise WebError(f"{host}: redirected more than {HOPS} times")
                    here = clean(urljoin(here, answer.headers["location"]))
                    continue
                what = f"{host}: HTTP {answer.status} {http.client.responses.get(answer.status, '')}".rstrip()
                if answer.status not in _AGAIN:
                    raise WebError(what)
                again = self._retry_after(answer)
            tries += 1
            self.back_off(host, tries, what, again)

    def json(
        self,
        url: str,
        parameters: Mapping[str, str | int],
        *,
        named: str = "",
        busy: Callable[[Any], bool] = lambda _: False,
    ) -> Any:
        """Return the JSON answer of an API, repeating the request while it reports that it is ``busy``."""
        whole = f"{url}?{urlencode(parameters)}"
        host = urlsplit(whole).netloc
        tries = 0
        while True:
            answer = self.get(whole, limit=ANSWER_BYTES, named=named)
            try:
                said = json.loads(answer.body)
            except (ValueError, RecursionError):
                raise WebError(f"{host}: its answer is not JSON") from None
            if not busy(said):
                return said
            tries += 1
            self.back_off(host, tries, f"{host}: is busy", self._retry_after(answer))

    def back_off(self, host: str, tries: int, what: str, again: float | None) -> None:
        """Wait before the next request to a host; WebError after too many tries, ClosedError if it asks for
        too long a pause.
        """
        if again is not None and again > PATIENCE:
            self._closed[host] = (
                f"{what} and asks to wait {again:.0f} seconds; run the same command again later"
            )
            raise ClosedError(self._closed[host])
        if tries >= TRIES or self._failures.get(host):
            raise self._failed(host, what if tries == 1 else f"{what} (tried {tries} times)")
        self._sleep(again if again is not None else float(2 ** (tries - 1)))

    def _failed(self, host: str, what: str) -> WebError:
        """Return the error for a host that did not answer, and close the host after too many failures in a
        row.
        """
        self._failures[host] = self._failures.get(host, 0) + 1
        if self._failures[host] < FAILURES:
            return WebError(what)
        self._closed[host] = (
            f"{what}; it failed {FAILURES} times in a row and is skipped; run the same command again later"
        )
        return ClosedError(self._closed[host])

    def _wait(self, host: str) -> None:
        with self._lock:
            now = self._clock()
            free = max(now, self._free.get(host, now))
            self._free[host] = free + self._pause
        if free > now:
            self._sleep(free - now)

    def _once(self, url: str, limit: int, named: str) -> Answer:
        headers = {"User-Agent": self._agent, "Accept-Encoding": "identity"}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - `clean` lets http and https pass, nothing else
        asking = opener(named, self._tls if url.startswith("https:") else None, Pace(self._clock))
        try:
            answer = asking.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, b"")
        with answer:
            headers = {k.lower(): v for k, v in answer.headers.items()}
            size = headers.get("content-length", "")
            if size.isdecimal() and int(size) > limit:
                raise WebError(f"it has {int(size):,} bytes; at most {limit:,} are downloaded")
            body = bytearray()
            while piece := answer.read1(65536):
                body += piece
                if len(body) > limit:
                    raise WebError(f"it is larger than {limit:,} bytes, the most that is downloaded")
            if size.isdecimal() and len(body) < int(size):
                raise http.client.IncompleteRead(bytes(body))
            return Answer(answer.status, headers, bytes(body))

    def _retry_after(self, answer: Answer) -> float | None:
        """Return the seconds that a server asks to wait, or None if it does not say."""
        text = answer.headers.get("retry-after", "").strip()
        if re.fullmatch(r"\d{1,9}", text):
            return float(text)
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError):
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.fromtimestamp(self._now(), UTC)).total_seconds())


def agent(contact: str) -> str:
    """Return the User-Agent that identifies us to servers.

    >>> agent("me@example.org").partition("/")[0]
    'Faultscape'
    """
    if contact and not re.fullmatch(r"[!-'*-~]*[@/][!-'*-~]+", contact):
        raise OptionError(f"--contact {contact!r}: expected an e-mail address or a web page, without spaces")
    about = "+https://github.com/faultscape/faultscape" + (f"; {contact}" if contact else "")
    return f"Faultscape/{__version__} ({about})"


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
