"""Check every request and set the headers of every response, for all apps: which hosts and methods are
answered, and what a browser may do with a page.

Conventions: plain ASGI. Pages load only files from this server: no external or inline scripts, styles or
images. A request for any other host name is refused, because a DNS rebinding attack points its own name at
this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
LONGEST = 8192  # bytes of a URL path with its query
ALWAYS = ("localhost",)


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port; '' if it is invalid.

    >>> host_name("127.0.0.1:8000"), host_name("[::1]:8000"), host_name("Study.Local"), host_name("a:b:c")
    ('127.0.0.1', '::1', 'study.local', '')
    """
    if host.startswith("["):
        name, closed, port = host[1:].partition("]")
        port = port.removeprefix(":") or "0"
    else:
        name = host.partition(":")[0]
        closed = "]"
        port = host.partition(":")[2] or "0"
    return name.lower().rstrip(".") if closed and port.isdecimal() else ""


def serves(host: str, names: Collection[str]) -> bool:
    """Whether a Host header names this machine: by an address, as localhost, or by one of ``names``. Names
    that an attacker could point at this machine are refused.

    >>> (
    ...     serves("127.0.0.1:80", ()),
    ...     serves("[::1]", ()),
    ...     serves("localhost:80", ()),
    ...     serves("evil.example:80", ()),
    ...     serves("", ()),
    ... )
    (True, True, True, False, False)
    """
    name = host_name(host)
    if name in ALWAYS or (name and name in names):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Refuses requests with other hosts, methods and origins before the app sees them, and adds headers to
    every response.
    """

    def __init__(
        self, app: App, names: Collection[str] = (), methods: Collection[str] = ("GET", "HEAD")
    ) -> None:
        self._app, self._names, self._methods = (
            app,
            frozenset(name.lower() for name in names),
            frozenset(methods),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no app here uses other types
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", []))
                there = {name.lower() for name, _ in given}
                given += [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in there]
                message = {**message, "headers": given}
            await send(message)

        if refusal := self._refusal(scope):
            await _refuse(guarded, *refusal, self._methods)
        else:
            await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the message for a request to refuse, or None."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1").lower()
            if key in headers and key == "host":
                return 400, "the request names two hosts"
            headers[key] = value.decode("latin-1")
        if not serves(headers.get("host", ""), self._names):
            return (
                421,
                "this server does not answer to that host name; open the address printed at its start",
            )
        if scope["method"] not in self._methods:
            return 405, f"method {scope['method']} is not allowed"
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > LONGEST:
            return 414, f"the address is longer than {LONGEST} bytes"
        if (
            headers.get("sec-fetch-site") in ("cross-site", "same-site")
            and headers.get("sec-fetch-mode", "navigate") != "navigate"
        ):
            return 403, "this request came from another site; only pages of this server are allowed"
        return None


async def _refuse(send: Send, status: int, words: str, methods: Collection[str]) -> None:
    """Respond with a line of text."""
    body = f"{words}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 405:
        headers.append((b"allow", ", ".join(sorted(methods)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
