"""The search APIs of `collect --api`, and their addresses.

Conventions: FAULTSCAPE_OPENVERSE_URL, FAULTSCAPE_FLICKR_URL and FAULTSCAPE_WIKIMEDIA_URL in the environment
set a different address for the same API (a mirror, or your own server).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

from faultscape.corpus.web import flickr, openverse, wikimedia
from faultscape.corpus.web.addresses import names_private
from faultscape.corpus.web.hits import Hit, Wanted
from faultscape.corpus.web.http_client import Web
from faultscape.errors import OptionError, WebError, closest

APIS = {"openverse": openverse, "flickr": flickr, "wikimedia": wikimedia}


def address(api: str) -> str:
    """Return the address of an API; OptionError if it is unknown, or its key is missing."""
    if api not in APIS:
        raise OptionError(f"--api {api!r} is not known; use {', '.join(APIS)}.{closest(api, list(APIS))}")
    if api == "flickr":
        flickr.key()
    return os.environ.get(f"FAULTSCAPE_{api.upper()}_URL", "") or APIS[api].URL


def searching(api: str, web: Web, url: str) -> Callable[[str, Wanted], Iterator[Hit]]:
    """Return the function that searches an API for a query; repeated requests are not sent again."""
    named = names_private(url)
    busy = wikimedia.busy if api == "wikimedia" else lambda _: False

    @functools.lru_cache(maxsize=32)
    def asked(where: str, parameters: tuple[tuple[str, Any], ...]) -> Any:
        return web.json(where, dict(parameters), named=named, busy=busy)

    def ask(where: str, parameters: dict[str, Any]) -> Any:
        return asked(where, tuple(parameters.items()))

    def search(query: str, wanted: Wanted) -> Iterator[Hit]:
        try:
            yield from APIS[api].search(ask, query, wanted, url)
        except (AttributeError, TypeError, LookupError, ValueError, ArithmeticError) as fault:
            raise WebError(f"{api} sent an unexpected answer: {fault}") from None

    return search
