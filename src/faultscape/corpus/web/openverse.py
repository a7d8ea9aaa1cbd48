"""Search Openverse: openly licensed images from many collections, without a key.

Conventions: an anonymous request gets at most 20 results, and 240 per query; its hourly and daily limits
change and are reported by Retry-After. It records when it indexed an image, not when that was uploaded: dates
and windows refer to the day of indexing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from faultscape.corpus.web.hits import Hit, Wanted, line, short_licence, whole
from faultscape.errors import WebError

URL = "https://api.openverse.org/v1/images/"
PAGE = 20
DEEPEST = 240
_LICENCES = {
    "commercial": {"license_type": "commercial"},
    "modification": {"license_type": "modification"},
    "public": {"license": "cc0,pdm"},
}


def search(
    ask: Callable[[str, dict[str, Any]], Any], query: str, wanted: Wanted, url: str = URL
) -> Iterator[Hit]:
    """Yield what Openverse finds, page by page as long as more is requested; WebError for an
    invalid answer.
    """
    kinds = _LICENCES.get(wanted.licence, {}) | ({"extension": "png"} if wanted.transparent else {})
    for page in range(1, DEEPEST // PAGE + 1):
        said = ask(url, {"q": query, "page": page, "page_size": PAGE, **kinds})
        results = said.get("results") if isinstance(said, dict) else None
        if not isinstance(results, list):
            raise WebError(f"Openverse sent no results: {line(said)}")
        yield from (_hit(found, query) for found in results if isinstance(found, dict) and found.get("url"))
        if page >= whole(said.get("page_count")):
            return


def _hit(found: dict[str, Any], query: str) -> Hit:
    address = line(found.get("license_url"))
    return Hit(
        id=f"openverse-{line(found.get('id'), 60)}",
        url=str(found["url"]),
        query=query,
        title=line(found.get("title")),
        licence=short_licence(address, f"{found.get('license', '')} {found.get('license_version') or ''}"),
        creator=line(found.get("creator")),
        source=f"openverse/{line(found.get('source'))}",
        date=line(found.get("indexed_on")),
        page=line(found.get("foreign_landing_url")),
        width=whole(found.get("width")),
        height=whole(found.get("height")),
    )
