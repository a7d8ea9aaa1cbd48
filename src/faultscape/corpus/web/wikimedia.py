"""Search Wikimedia Commons through MediaWiki's API: freely licensed files uploaded by users; no key is
needed, but contact information is required.

Conventions: requests are sequential and carry maxlag, so that a busy server is left alone. Dates are those of
the upload of the file's current version. Everything on Commons may be used commercially and modified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from faultscape.corpus.web.hits import Hit, Wanted, line, short_licence, whole
from faultscape.errors import WebError

URL = "https://commons.wikimedia.org/w/api.php"
PAGE = 50
PAGES = 20
_FIELDS = "LicenseShortName|LicenseUrl|Artist"


def search(
    ask: Callable[[str, dict[str, Any]], Any], query: str, wanted: Wanted, url: str = URL
) -> Iterator[Hit]:
    """Yield what Commons finds, page by page as long as more is requested; WebError if it refuses."""
    kind = "filemime:image/png" if wanted.transparent else "filetype:bitmap"
    public = "haslicense:unrestricted " if wanted.licence == "public" else ""
    about: dict[str, Any] = {
        "action": "query",
        "format": "json",
        "formatversion": 2,
        "maxlag": 5,
        "generator": "search",
    }
    about |= {"gsrsearch": f"{kind} {public}{query}", "gsrnamespace": 6, "gsrlimit": PAGE}
    about |= {"gsrsort": "create_timestamp_desc"} if wanted.after else {}
    about |= {
        "prop": "imageinfo",
        "iiprop": "url|size|mime|timestamp|user|extmetadata",
        "iiextmetadatafilter": _FIELDS,
    }
    more: dict[str, Any] = {}
    for _ in range(PAGES):
        said = ask(url, about | more)
        if not isinstance(said, dict) or "error" in said:
            raise WebError(
                "Wikimedia Commons refused the request:"
                f" {line((said.get('error') or {}).get('info') if isinstance(said, dict) else said)}"
            )
        pages = (said.get("query") or {}).get("pages") or []
        for page in sorted(pages, key=lambda page: whole(page.get("index"))):
            if page.get("imageinfo") and page["imageinfo"][0].get("url"):
                yield _hit(page, page["imageinfo"][0], query)
        more = said.get("continue") or {}
        if not more:
            return


def busy(said: Any) -> bool:
    """Whether the server reports replication lag, and asks to be contacted later."""
    return (
        isinstance(said, dict)
        and isinstance(said.get("error"), dict)
        and said["error"].get("code") == "maxlag"
    )


def _hit(page: dict[str, Any], about: dict[str, Any], query: str) -> Hit:
    words = {
        name: field.get("value")
        for name, field in (about.get("extmetadata") or {}).items()
        if isinstance(field, dict)
    }
    return Hit(
        id=f"wikimedia-{line(page.get('pageid'), 60)}",
        url=str(about["url"]),
        query=query,
        title=line(page.get("title")).removeprefix("File:"),
        licence=short_licence(line(words.get("LicenseUrl")), line(words.get("LicenseShortName"))),
        creator=line(words.get("Artist")) or line(about.get("user")),
        source="wikimedia",
        date=line(about.get("timestamp")),
        page=line(about.get("descriptionurl")),
        width=whole(about.get("width")),
        height=whole(about.get("height")),
    )
