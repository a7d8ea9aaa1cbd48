"""Build the FastAPI apps of the package: pages from templates, static files, plain errors, and a guard around
everything.

Conventions: routes are given as routers, so that one app can mount those of another. An error may set its
``status``. A user's mistake gives a page with one sentence and a 4xx status (for a fragment, only the
sentence); a bug gives one line in the terminal and a page that says so, never a traceback. Browsers do not
cache pages; they do cache files, whose addresses change with their content.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from importlib import resources
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from starlette.requests import ClientDisconnect

from faultscape.errors import FaultscapeError, OptionError, StudyError
from faultscape.reporting.template import template
from faultscape.web.headers import App, Guard
from faultscape.web.photos import Pictures

FILES = {  # name: (path among the templates, media type)
    "report.css": ("report.css", "text/css"),
    "app.css": ("app/app.css", "text/css"),
    "icon.svg": ("app/icon.svg", "image/svg+xml"),
    "app.js": ("app/app.js", "text/javascript"),
    "work.css": ("app/work.css", "text/css"),
    "work.js": ("app/work.js", "text/javascript"),
    "organise.js": ("app/organise.js", "text/javascript"),
    "htmx.min.js": ("app/htmx.min.js", "text/javascript"),
}
_STATIC = Pictures()
_FOREVER = "private, max-age=31536000, immutable"
_NEVER = "no-store"


class NotFoundError(OptionError):
    """What an address names does not exist."""

    status = 404


def make_app(
    routers: Sequence[APIRouter], *, names: Collection[str] = (), methods: Collection[str] = ("GET", "HEAD")
) -> App:
    """Return a guarded app of these routers, with static files and error pages; it answers to ``methods``
    and, besides addresses and localhost, to the host ``names``.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    for router in routers:
        app.include_router(router)
    app.add_api_route("/static/{name}", _static, methods=["GET", "HEAD"])
    app.add_exception_handler(FaultscapeError, _mistake)
    for status in (404, 405, 422):
        app.add_exception_handler(status, _unknown)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _defect)
    return Guard(_NoTraceback(app), names, methods)


def page(
    request: Request,
    name: str,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    /,
    **facts: object,
) -> HTMLResponse:
    """Return a page of a template in ``app/``, which receives ``asset(NAME)``, the address of a file, and
    ``quick``, whether htmx is available.
    """
    text = template(f"app/{name}").render(
        asset=asset, quick=bool(_file("htmx.min.js")), here=str(request.url.path), **facts
    )
    return HTMLResponse(
        text.encode("utf-8", "xmlcharrefreplace"), status, {"cache-control": _NEVER, **(headers or {})}
    )


def json_answer(content: Mapping[str, object], status: int = 200) -> Response:
    """Return a JSON object, which browsers do not cache; what UTF-8 cannot hold, such as lone surrogates, is
    escaped.

    >>> json_answer({"words": "a" + chr(0xD800)}).body.isascii()
    True
    """
    text = json.dumps(content, allow_nan=False)
    return Response(text, status, {"cache-control": _NEVER}, "application/json")


def asset(name: str) -> str:
    """Return the address of one of `FILES`, which changes with its content.

    >>> asset("app.css").startswith("/static/app.css?v=")
    True
    """
    return f"/static/{name}?v={hashlib.sha256(_file(name)).hexdigest()[:12]}"


def send_picture(
    request: Request,
    pictures: Pictures,
    key: str,
    make: Callable[[], tuple[bytes, str]],
    *,
    for_ever: bool = False,
) -> Response:
    """Return the image of a key, which ``make`` makes as (bytes, media type) if it is not cached; 304 if the
    browser has it. ``for_ever``: its address changes with its content.
    """
    headers = {"etag": pictures.tag_of(key), "cache-control": _FOREVER if for_ever else "private, no-cache"}
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    found = pictures.get(key, make)
    return Response(found.data, media_type=found.media, headers=headers)


@functools.cache
def _file(name: str) -> bytes:
    """Return the content of one of `FILES`; b'' if it was not fetched."""
    try:
        return (
            resources.files("faultscape.reporting")
            .joinpath("templates", *FILES[name][0].split("/"))
            .read_bytes()
        )
    except FileNotFoundError:
        return b""


async def _static(request: Request, name: str) -> Response:
    # async, so that it is answered while all threads wait for a database
    if name not in FILES or not (data := _file(name)):
        raise NotFoundError(f"file {name!r} not found")
    return send_picture(
        request, _STATIC, asset(name), lambda: (data, FILES[name][1]), for_ever="v" in request.query_params
    )


def problem(request: Request, status: int, words: str) -> Response:
    """Return an error response: a page, a sentence for a fragment, or a JSON object with ``words`` for a
    script (below ``/api/``).
    """
    if request.url.path.startswith("/api/"):
        return json_answer({"words": words}, status)
    name = "problem_words.html.jinja" if request.headers.get("hx-request") else "problem.html.jinja"
    return page(request, name, status, title=HTTPStatus(status).phrase, words=words)


def _mistake(request: Request, error: Exception) -> Response:
    usual = 400 if isinstance(error, OptionError) else 409 if isinstance(error, StudyError) else 422
    return problem(request, getattr(error, "status", usual), str(error))


def _unknown(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return problem(
        request, status, "page not found" if status == 404 else "this page does not support that request"
    )


def _gone(_: Request, __: Exception) -> Response:
    """Return an empty response: the client disconnected before it was complete."""
    return Response(status_code=400)


def _defect(request: Request, error: Exception) -> Response:
    place = traceback.extract_tb(error.__traceback__)[-1]
    # not the address, which may contain an invitation token
    pattern = getattr(request.scope.get("route"), "path", "")
    print(
        f"faultscape: {pattern}: {type(error).__name__}: {error} ({place.filename}:{place.lineno})",
        file=sys.stderr,
    )
    return problem(request, 500, "this is a bug in Faultscape; see the terminal in which it runs for details")


class _NoTraceback:
    """Suppresses errors that the handler of bugs has already answered, which the server would log again with
    a traceback.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        begun = False

        async def noted(message: Any) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:  # already reported by the handler
            if not begun:
                raise
