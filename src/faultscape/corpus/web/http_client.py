"""The only HTTP client here: rate-limited, with an identifying user agent, backing off on refusals, and with
bounded bodies.

Conventions: ``rate`` is requests per second to one host. After 429 and 5xx, a request is repeated after the
Retry-After time, or 1, 2, 4, ... seconds. A host that asks for more than ``PATIENCE`` seconds is not
contacted again in this run, and an answer that takes longer than that (headers and body), or trickles, is
abandoned. A host that failed ``FAILURES`` times in a row is dropped too; after the first failure, its
requests are tried only once. Bodies are bounded in bytes. Clock and sleep are arguments, so that tests do not
wait. Threads may send requests in parallel. Messages name the host and never the URL, which may hold a key.
"""

from __future__ import annotations

import functools
import http.client
import json
import re
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
from faultscape.corpus.web.addresses import Resolve, check, clean, look_up, names_private
from faultscape.corpus.web.connections import PATIENCE, Pace, SlowError, opener
from faultscape.errors import OptionError, WebError

HOPS = 5
TRIES = 5
FAILURES = 5
ANSWER_BYTES = 20_000_000
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
