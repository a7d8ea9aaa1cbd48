"""Who may enter, and as whom: invite tokens, signed cookies, a token in every request that changes something,
and rate limits.

Conventions: a cookie contains a pseudonym and its invite link, signed with a key that only the server has
(`.serve-key` in the study, readable by its owner alone), so that people stay signed in when the server
restarts. If the server can be reached only from this machine, anyone who opens the page may enter a name and
start; otherwise people need an invite link. A token in a header (CSRF) shows that a request comes from a page
of this server.
"""

from __future__ import annotations

import hmac
import os
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import Request, Response
from itsdangerous import BadSignature, Signer, URLSafeTimedSerializer

from faultscape.errors import LabellingError, OptionError, StudyError
from faultscape.study.answers.annotators import ORGANISER, Annotator, Annotators
from faultscape.web.headers import host_name
from faultscape.web.words import plain_text

COOKIE = "faultscape"
HEADER = "x-faultscape"
_KEY = ".serve-key"
_DAY = 86400
_MONTH = 30 * _DAY
_KNOWN_FOR = 5.0  # seconds that a person stays cached before the database is queried again
_LONGEST_NAME = 80
PER_SECOND, BURST = 40.0, 400.0  # requests per person that change something, or ask for items
TRIES_PER_MINUTE, TRIES = 10.0, 20.0  # failed tokens, or new names, per address


class NoEntryError(OptionError):
    """The visitor has not signed in."""

    status = 401


class RefusedError(OptionError):
    """The visitor may not do that."""

    status = 403


class TooOftenError(OptionError):
    """The visitor sends too many requests."""

    status = 429


def server_key(root: Path) -> bytes:
    """Return the key that signs the cookies of a study, created if there is none; StudyError if it cannot be
    stored.
    """
    path = root / _KEY
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
    except FileExistsError:
        pass
    except OSError as error:
        raise StudyError(
            f"{path}: {error.strerror}; `label serve` stores its cookie signing key there"
        ) from None
    key = path.read_bytes()
    if len(key) < 32:
        raise StudyError(f"{path} is damaged; delete it, and everyone must sign in again")
    return key


class Limits:
    """Rate limits for many clients: so many requests a second, and a burst. The clients that asked longest
    ago are forgotten first.
    """

    def __init__(self, per_second: float, burst: float, most: int = 10_000) -> None:
        self._rate = per_second
        self._burst = burst
        self._most = most
        self._held, self._lock = OrderedDict[str, tuple[float, float]](), threading.Lock()

    def allow(self, who: str, now: float | None = None) -> bool:
        """Return whether a client may send one more request, and count it.

        >>> limits = Limits(1, 2)
        >>> [limits.allow("ann", now) for now in (0.0, 0.0, 0.0, 1.5)]
        [True, True, False, True]
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            left, before = self._held.pop(who, (self._burst, now))
            left = min(self._burst, left + (now - before) * self._rate)
            self._held[who] = (left - 1 if left >= 1 else left, now)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return left >= 1


@dataclass
class Gate:
    """Lets people in; ``open_`` if anyone who opens the page may enter a name, because only this machine can
    reach it; ``address`` is what people open if the server runs behind a proxy.
    """

    people: Annotators
    key: bytes
    open_: bool
    address: str | None = None

    def __post_init__(self) -> None:
        self._cookies = URLSafeTimedSerializer(self.key, salt="faultscape cookie")
        self._signer = Signer(self.key, salt="faultscape csrf")
        self._writes, self._asks = Limits(PER_SECOND, BURST), Limits(PER_SECOND, BURST)
        self._tries = Limits(TRIES_PER_MINUTE / 60, TRIES)
        self._known: dict[str, Annotator] = {}
        self._asked = float("-inf")

    def annotator(self, request: Request) -> Annotator:
        """Return the annotator who asks; NoEntryError for visitors who have not signed in, or were
        removed.
        """
        who = self._signed_in(request.cookies.get(COOKIE, ""))
        found = self._everybody().get(who) if isinstance(who, str) else None
        if found is None:
            raise NoEntryError(
                "you are not signed in; open the link that you were sent"
                if not self.open_
                else "enter your name first"
            )
        return found

    def _signed_in(self, cookie: str) -> object:
        """Return what a cookie of ours holds; '' for any other, and for one older than a month. One that was
        signed before the clock was set back, by up to a day, is valid.
        """
        try:
            who, made = self._cookies.loads(cookie, return_timestamp=True)
        except BadSignature:
            return ""
        return who if -_DAY <= time.time() - made.timestamp() <= _MONTH else ""

    def organiser(self, request: Request) -> Annotator:
        """Return the organiser who asks; RefusedError for anyone else."""
        found = self.annotator(request)
        if found.role != ORGANISER:
            raise RefusedError("only organisers can see this page")
        return found

    def writer(self, request: Request, *, organiser: bool = False, token: str | None = None) -> Annotator:
        """Return the annotator who wants to change something; RefusedError without the token of our pages, in
        the header or in a form, TooOftenError beyond the limit.
        """
        found = self.organiser(request) if organiser else self.annotator(request)
        self.refuse_elsewhere(request)
        given = request.headers.get(HEADER, "") if token is None else token
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token(found).encode()):
            raise RefusedError("this request did not come from a page of this server; reload the page")
        if not self._writes.allow(found.pseudonym):
            raise TooOftenError("too many requests; wait a second")
        return found

    def asker(self, request: Request) -> Annotator:
        """Return the annotator who asks for items; TooOftenError beyond the limit."""
        found = self.annotator(request)
        if not self._asks.allow(found.pseudonym):
            raise TooOftenError("too many requests; wait a second")
        return found

    @property
    def name(self) -> str:
        """The name of the address that people open behind a proxy, or ''."""
        return (urlsplit(self.address).hostname or "") if self.address else ""

    def here(self, request: Request) -> str:
        """Return the address of our pages as browsers know it, without a trailing slash."""
        if self.name and host_name(request.headers.get("host", "")) == self.name:
            return str(self.address)
        return f"{request.url.scheme}://{request.headers.get('host', '')}"

    def refuse_elsewhere(self, request: Request) -> None:
        """RefusedError for a form sent by a page of another site."""
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site", "same-origin")
        if origin not in (None, self.here(request)) or site not in ("same-origin", "none"):
            raise RefusedError("this request came from another site; only pages of this server may send it")

    def forget(self) -> None:
        """Look people up again from now on."""
        self._asked = float("-inf")

    def token(self, annotator: Annotator) -> str:
        """Return the token that the pages of an annotator send with each request."""
        return self._signer.get_signature(annotator.pseudonym).decode()

    def enter(self, request: Request, response: Response, token: str) -> Annotator:
        """Let a person in by an invite token; RefusedError for an unknown token, TooOftenError after too many
        of them from one address. Only those count, so that nobody blocks the links of others behind the same
        address; a token is too long to be guessed.
        """
        found = self.people.by_token(token) if 0 < len(token) < 200 else None
        if found is None:
            self._charge(request)
            raise RefusedError(
                "this invitation is unknown, or was replaced by a newer one; ask the sender for a new one"
            )
        self.admit(request, response, found)
        return found

    def enter_by_name(self, request: Request, response: Response, name: str) -> Annotator:
        """Let a person on this machine in, under a new or known name; RefusedError if invitations are
        required.
        """
        if not self.open_:
            raise RefusedError("this server needs an invite link; open the link that you were sent")
        name = plain_text(name)
        if not 0 < len(name) <= _LONGEST_NAME:
            raise LabellingError(f"a name must have 1 to {_LONGEST_NAME} characters")
        known = next((one for one in self.people.everybody() if one.name == name), None)
        if known is None:
            self._charge(request)
        found = known or self.people.invite(name, ORGANISER)[0]
        self.admit(request, response, found)
        return found

    def admit(self, request: Request, response: Response, found: Annotator) -> None:
        """Sign a person in with a cookie in the response."""
        self.forget()
        value = self._cookies.dumps(_cookie_of(found))
        secure = self.here(request).startswith("https:")
        response.set_cookie(
            COOKIE, value, max_age=_MONTH, httponly=True, samesite="strict", secure=secure, path="/"
        )

    def _charge(self, request: Request) -> None:
        """Count one more failed token, or new name, of an address; TooOftenError if there were too many."""
        if not self._tries.allow(request.client.host if request.client else ""):
            raise TooOftenError("too many tries from your address; wait a minute")

    def _everybody(self) -> dict[str, Annotator]:
        if time.monotonic() - self._asked > _KNOWN_FOR:
            self._known = {_cookie_of(one): one for one in self.people.everybody()}
            self._asked = time.monotonic()
        return self._known


def _cookie_of(one: Annotator) -> str:
    """Return the contents of a person's cookie; that of an earlier link differs."""
    return f"{one.pseudonym}:{one.link}"
