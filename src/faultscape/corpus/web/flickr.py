"""Search Flickr through its documented REST API, which needs a key in the environment as FLICKR_API_KEY.

Conventions: 3,600 requests an hour per key, 4,000 results per query. Dates are upload days, and the server
applies the window. The meaning of licence numbers is requested once per run. The largest size with an address
in the search result is taken; for transparency, the original, if it is a PNG.
"""

from __future__ import annotations

import calendar
import os
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any

from faultscape.corpus.web.hits import Hit, Wanted, licensed, line, short_licence, whole
from faultscape.errors import OptionError, WebError

URL = "https://api.flickr.com/services/rest/"
PAGE = 250
DEEPEST = 4000
_SIZES = ("o", "k", "h", "l", "c", "z")  # original, 2048, 1600, 1024, 800, 640
_EXTRAS = ("license", "date_upload", "owner_name", "original_format", *(f"url_{size}" for size in _SIZES))


def key() -> str:
    """Return the user's API key; OptionError if there is none."""
    if not (found := os.environ.get("FLICKR_API_KEY", "").strip()):
        raise OptionError("--api flickr needs an API key; get one from Flickr and set it as FLICKR_API_KEY")
    return found


def search(
    ask: Callable[[str, dict[str, Any]], Any], query: str, wanted: Wanted, url: str = URL
) -> Iterator[Hit]:
    """Yield what Flickr finds, page by page as long as more is requested; WebError if it refuses."""
    always = {"api_key": key(), "format": "json", "nojsoncallback": 1}
    licences = _licences(ask(url, {"method": "flickr.photos.licenses.getInfo", **always}))
    allowed = [number for number, (_, address) in licences.items() if licensed(address, wanted.licence)]
    about = {
        "method": "flickr.photos.search",
        "text": query,
        "sort": "relevance",
        "media": "photos",
        "safe_search": 1,
    }
    about |= {"license": ",".join(allowed), "extras": ",".join(_EXTRAS), "per_page": PAGE}
    about |= {"min_upload_date": _seconds(wanted.after)} if wanted.after else {}
    about |= {"max_upload_date": _seconds(wanted.before) - 1} if wanted.before else {}
    for page in range(1, DEEPEST // PAGE + 1):
        photos = _said(ask(url, {**about, "page": page, **always}), "photos")
        for photo in photos.get("photo") or []:
            if isinstance(photo, dict) and (hit := _hit(photo, query, licences, wanted)):
                yield hit
        if page >= whole(photos.get("pages")):
            return


def _hit(
    photo: dict[str, Any], query: str, licences: dict[str, tuple[str, str]], wanted: Wanted
) -> Hit | None:
    """Return an image in its largest size, or None if there is no address of a suitable size."""
    sizes = [size for size in _SIZES if photo.get(f"url_{size}")]
    if wanted.transparent:  # all other sizes are JPEG
        sizes = [size for size in sizes if size == "o" and str(photo["url_o"]).lower().endswith(".png")]
    if not sizes:
        return None
    name, address = licences.get(str(photo.get("license")), ("", ""))
    uploaded = str(photo.get("dateupload", ""))
    number = line(photo.get("id"), 60)
    owner = line(photo.get("owner"), 60)
    return Hit(
        id=f"flickr-{number}",
        url=str(photo[f"url_{sizes[0]}"]),
        query=query,
        title=line(photo.get("title")),
        licence=short_licence(address, name),
        creator=line(photo.get("ownername")) or owner,
        source="flickr",
        date=(
            datetime.fromtimestamp(int(uploaded), UTC).isoformat()
            if uploaded.isdecimal() and len(uploaded) < 12
            else ""
        ),
        page=f"https://www.flickr.com/photos/{owner}/{number}",
        width=whole(photo.get(f"width_{sizes[0]}")),
        height=whole(photo.get(f"height_{sizes[0]}")),
    )


def _licences(said: Any) -> dict[str, tuple[str, str]]:
    """Return {number: (name, address)} of Flickr's licences."""
    entries = _said(said, "licenses").get("license") or []
    return {
        str(e.get("id")): (line(e.get("name")), line(e.get("url"))) for e in entries if isinstance(e, dict)
    }


def _said(said: Any, part: str) -> dict[str, Any]:
    if not isinstance(said, dict) or said.get("stat") != "ok" or not isinstance(said.get(part), dict):
        words = (
            f"{said.get('message', '')} (code {said.get('code', '?')})" if isinstance(said, dict) else said
        )
        raise WebError(f"Flickr refused the request: {line(words)}")
    return said[part]


def _seconds(moment: date) -> int:
    return calendar.timegm(moment.timetuple())
