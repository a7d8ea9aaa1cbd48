"""Who may come in, and as whom: invite tokens, signed cookies, a token in every request that changes
something, and limits of how often one may ask.

Conventions: a cookie names a pseudonym and which link of theirs it came with, signed with a key that only the
server has (`.serve-key` in the study, readable by its owner alone), so that people stay in when the server is
started again. On this machine alone whoever opens the page may give a name and begin; where others can reach
the server, only who has an invite link comes in. A token in a header (CSRF) shows that a request comes from a
page of this server.
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

COOKIE, HEADER = "faultscape", "x-faultscape"
_KEY = ".serve-key"
_MONTH = 30 * 86400
_KNOWN_FOR = 5.0  # seconds that who is known stays known, before the database is asked again
_LONGEST_NAME = 80
PER_SECOND, BURST = 40.0, 400.0  # requests of one person that change something, or ask for items
TRIES_PER_MINUTE, TRIES = 10.0, 20.0  # tokens that one address may try in vain, or names that it may make


class NoEntryError(OptionError):
    """Who asks has not come in."""

    status = 401


class RefusedError(OptionError):
    """Who asks may not do that."""

    status = 403


class TooOftenError(OptionError):
    """Who asks, asks too often."""

    status = 429


def server_key(root: Path) -> bytes:
    """Return the key that cookies of a study are signed with, made where there is none; StudyError where it
    cannot be kept.
    """
    path = root / _KEY
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
    except FileExistsError:
        pass
    except OSError as error:
        raise StudyError(
            f"{path}: {error.strerror}; `label serve` keeps the key there that cookies are signed with"
        ) from None
    key = path.read_bytes()
    if len(key) < 32:
        raise StudyError(f"{path} is damaged; delete it, and everybody comes in anew")
    return key


class Limits:
    """How often each of many may ask: so many a second, and a burst of some more. Those who asked longest ago
    are forgotten first.
    """

    def __init__(self, per_second: float, burst: float, most: int = 10_000) -> None:
        self._rate, self._burst, self._most = per_second, burst, most
        self._held, self._lock = OrderedDict[str, tuple[float, float]](), threading.Lock()

    def allow(self, who: str, now: float | None = None, *, charge: bool = True) -> bool:
        """Whether one may ask once more, which counts as asked with ``charge``.

        >>> limits = Limits(1, 2)
        >>> [limits.allow("ann", now) for now in (0.0, 0.0, 0.0, 1.5)]
        [True, True, False, True]
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            left, before = self._held.pop(who, (self._burst, now))
            left = min(self._burst, left + (now - before) * self._rate)
            self._held[who] = (left - 1 if left >= 1 and charge else left, now)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return left >= 1


@dataclass
class Gate:
    """Lets people in; ``open_`` where whoever opens the page may give a name, since nobody else can reach it,
    ``address`` the one that people open where a proxy stands before the server.
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
        """Return who asks; NoEntryError for who has not come in, or was removed."""
        try:
            who = self._cookies.loads(request.cookies.get(COOKIE, ""), max_age=_MONTH)
        except BadSignature:
            who = ""
        found = self._everybody().get(who) if isinstance(who, str) else None
        if found is None:
            raise NoEntryError(
                "you have not come in yet; open the link that you were sent"
                if not self.open_
                else "say who you are first"
            )
        return found

    def organiser(self, request: Request) -> Annotator:
        """Return who asks, an organiser; RefusedError for anybody else."""
        found = self.annotator(request)
        if found.role != ORGANISER:
            raise RefusedError("only an organiser sees that")
        return found

    def writer(self, request: Request, *, organiser: bool = False, token: str | None = None) -> Annotator:
        """Return who asks to change something; RefusedError without the token of our pages, in the header or
        of a form, TooOftenError beyond the limit.
        """
        found = self.organiser(request) if organiser else self.annotator(request)
        self.refuse_elsewhere(request)
        given = request.headers.get(HEADER, "") if token is None else token
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token(found).encode()):
            raise RefusedError("this did not come from a page of this server; load the page again")
        if not self._writes.allow(found.pseudonym):
            raise TooOftenError("that is too often; wait a second")
        return found

    def asker(self, request: Request) -> Annotator:
        """Return who asks for items, which are noted as theirs; TooOftenError beyond the limit."""
        found = self.annotator(request)
        if not self._asks.allow(found.pseudonym):
            raise TooOftenError("that is too often; wait a second")
        return found

    @property
    def name(self) -> str:
        """The name of the address that people open behind a proxy; '' where there is none."""
        return (urlsplit(self.address).hostname or "") if self.address else ""

    def here(self, request: Request) -> str:
        """Return the address of our pages, without a slash behind, as browsers know it."""
        if self.name and host_name(request.headers.get("host", "")) == self.name:
            return str(self.address)
        return f"{request.url.scheme}://{request.headers.get('host', '')}"

    def refuse_elsewhere(self, request: Request) -> None:
        """RefusedError for a form that a page of another site sent."""
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
        if origin not in (None, self.here(request)) or site not in ("same-origin", "none"):
            raise RefusedError("another site sent this; only pages of this server may")

    def forget(self) -> None:
        """Look people up anew from now on."""
        self._asked = float("-inf")

    def token(self, annotator: Annotator) -> str:
        """Return the token that pages of an annotator send along."""
        return self._signer.get_signature(annotator.pseudonym).decode()

    def enter(self, request: Request, response: Response, token: str) -> Annotator:
        """Let somebody in by an invite token; RefusedError for one that is not known, TooOftenError where one
        address tried too many of those.
        """
        self._try(request, charge=False)
        found = self.people.by_token(token) if 0 < len(token) < 200 else None
        if found is None:
            self._try(request, charge=True)
            raise RefusedError(
                "this invitation is not known, or was replaced by another; ask who sent it for a new one"
            )
        self.admit(request, response, found)
        return found

    def enter_by_name(self, request: Request, response: Response, name: str) -> Annotator:
        """Let somebody in who works on this machine, under a name that may be known already; RefusedError
        where invitations are needed.
        """
        if not self.open_:
            raise RefusedError("people come in here by the link that they were sent")
        name = plain_text(name)
        if not 0 < len(name) <= _LONGEST_NAME:
            raise LabellingError(f"a name has 1 to {_LONGEST_NAME} characters")
        known = next((one for one in self.people.everybody() if one.name == name), None)
        self._try(request, charge=known is None)
        found = known or self.people.invite(name, ORGANISER)[0]
        self.admit(request, response, found)
        return found

    def admit(self, request: Request, response: Response, found: Annotator) -> None:
        """Let somebody be who they are from now on, by a cookie in the answer."""
        self.forget()
        value = self._cookies.dumps(_cookie_of(found))
        secure = self.here(request).startswith("https:")
        response.set_cookie(
            COOKIE, value, max_age=_MONTH, httponly=True, samesite="strict", secure=secure, path="/"
        )

    def _try(self, request: Request, *, charge: bool) -> None:
        """TooOftenError where an address tried too much; with ``charge`` it tried once more."""
        if not self._tries.allow(request.client.host if request.client else "", charge=charge):
            raise TooOftenError("too many tries from your address; wait a minute")

    def _everybody(self) -> dict[str, Annotator]:
        if time.monotonic() - self._asked > _KNOWN_FOR:
            self._known = {_cookie_of(one): one for one in self.people.everybody()}
            self._asked = time.monotonic()
        return self._known


def _cookie_of(one: Annotator) -> str:
    """Return what the cookie of somebody holds; that of an earlier link differs."""
    return f"{one.pseudonym}:{one.link}"
