"""The search APIs of `collect --api`: what each is asked, and what its answers say about images.

Conventions: FAULTSCAPE_OPENVERSE_URL, FAULTSCAPE_FLICKR_URL and FAULTSCAPE_WIKIMEDIA_URL in the environment
set a different address for the same API (a mirror, or your own server). Answers are hostile input: whatever
they lack or hold too much of becomes one line.
"""

from __future__ import annotations

import calendar
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from faultscape.corpus.web.addresses import names_private
from faultscape.corpus.web.hits import Hit, Wanted, licensed, line, short_licence, whole
from faultscape.corpus.web.http_client import Web
from faultscape.errors import OptionError, WebError, closest

Parameters = dict[str, Any]
Licences = Mapping[str, tuple[str, str]]  # {what an answer says: (name, address)}
Ask = Callable[[Parameters], Any]


@dataclass(frozen=True)
class HarvestSource:
    """A search API, which gives at most ``pages`` pages of a query.

    ``asked`` returns the parameters of a query; ``found`` the images of a page and the parameters that ask
    for the next, none after the last, from an answer and the number of its page, or raises WebError if the
    API refused; ``hit`` an image, or None if there is no suitable address. ``licences`` asks once what the
    API's words for licences mean; ``busy`` says whether an answer asks to come back later. ``key`` returns
    the parameters that every request carries; OptionError if the user's key is missing.
    """

    name: str
    url: str
    pages: int
    asked: Callable[[str, Wanted, Licences], Parameters]
    found: Callable[[Any, int], tuple[Iterable[Any], Parameters]]
    hit: Callable[[dict[str, Any], Wanted, Licences], Hit | None]
    first: Parameters
    licences: Callable[[Ask], Licences] = lambda _ask: {}
    busy: Callable[[Any], bool] = lambda _said: False
    key: Callable[[], Parameters] = dict

    def search(self, ask: Ask, query: str, wanted: Wanted) -> Iterator[Hit]:
        """Yield what the API finds, page by page as long as more is requested; WebError if it refuses."""
        always = self.key()
        licences = self.licences(lambda about: ask(about | always))
        about = self.asked(query, wanted, licences)
        more = self.first
        for page in range(1, self.pages + 1):
            images, more = self.found(ask(about | more | always), page)
            for image in images:
                if isinstance(image, dict) and (hit := self.hit(image, wanted, licences)):
                    yield replace(hit, query=query)
            if not more:
                return


def address(api: str) -> str:
    """Return the address of an API; OptionError if it is unknown, or its key is missing."""
    if api not in APIS:
        raise OptionError(f"--api {api!r} is not known; use {', '.join(APIS)}.{closest(api, list(APIS))}")
    APIS[api].key()
    return os.environ.get(f"FAULTSCAPE_{api.upper()}_URL", "") or APIS[api].url


def searching(api: str, web: Web, url: str) -> Callable[[str, Wanted], Iterator[Hit]]:
    """Return the function that searches an API for a query; repeated requests are not sent again."""
    named = names_private(url)
    source = APIS[api]

    @functools.lru_cache(maxsize=32)
    def asked(parameters: tuple[tuple[str, Any], ...]) -> Any:
        return web.json(url, dict(parameters), named=named, busy=source.busy)

    def search(query: str, wanted: Wanted) -> Iterator[Hit]:
        try:
            yield from source.search(lambda about: asked(tuple(about.items())), query, wanted)
        except (AttributeError, TypeError, LookupError, ValueError, ArithmeticError) as fault:
            raise WebError(f"{api} sent an unexpected answer: {fault}") from None

    return search


# Openverse: openly licensed images from many collections, without a key. An anonymous request gets at most 20
# results, and 240 per query. It records when it indexed an image, not when that was uploaded.
_OPENVERSE_LICENCES = {
    "commercial": {"license_type": "commercial"},
    "modification": {"license_type": "modification"},
    "public": {"license": "cc0,pdm"},
}


def _ask_openverse(query: str, wanted: Wanted, _licences: Licences) -> Parameters:
    kinds = _OPENVERSE_LICENCES.get(wanted.licence, {}) | ({"extension": "png"} if wanted.transparent else {})
    return {"q": query, "page_size": 20, **kinds}


def _found_by_openverse(said: Any, page: int) -> tuple[Iterable[Any], Parameters]:
    results = said.get("results") if isinstance(said, dict) else None
    if not isinstance(results, list):
        raise WebError(f"Openverse sent no results: {line(said)}")
    return results, {"page": page + 1} if page < whole(said.get("page_count")) else {}


def _hit_of_openverse(found: dict[str, Any], _wanted: Wanted, _licences: Licences) -> Hit | None:
    if not found.get("url"):
        return None
    version = f"{found.get('license', '')} {found.get('license_version') or ''}"
    return Hit(
        id=f"openverse-{line(found.get('id'), 60)}",
        url=str(found["url"]),
        title=line(found.get("title")),
        licence=short_licence(line(found.get("license_url")), version),
        creator=line(found.get("creator")),
        source=f"openverse/{line(found.get('source'))}",
        date=line(found.get("indexed_on")),
        page=line(found.get("foreign_landing_url")),
        width=whole(found.get("width")),
        height=whole(found.get("height")),
    )


OPENVERSE = HarvestSource(
    "openverse",
    "https://api.openverse.org/v1/images/",
    12,
    _ask_openverse,
    _found_by_openverse,
    _hit_of_openverse,
    {"page": 1},
)


# Flickr: its documented REST API, 3,600 requests an hour per key, 4,000 results per query. Dates are upload
# days, and the server applies the window. The largest size with an address in the search result is taken.
_SIZES = ("o", "k", "h", "l", "c", "z")  # original, 2048, 1600, 1024, 800, 640
_EXTRAS = ("license", "date_upload", "owner_name", "original_format", *(f"url_{size}" for size in _SIZES))


def _flickr_key() -> Parameters:
    if not (found := os.environ.get("FLICKR_API_KEY", "").strip()):
        raise OptionError("--api flickr needs an API key; get one from Flickr and set it as FLICKR_API_KEY")
    return {"api_key": found, "format": "json", "nojsoncallback": 1}


def _ask_flickr(query: str, wanted: Wanted, licences: Licences) -> Parameters:
    allowed = [number for number, (_, where) in licences.items() if licensed(where, wanted.licence)]
    about = {
        "method": "flickr.photos.search",
        "text": query,
        "sort": "relevance",
        "media": "photos",
        "safe_search": 1,
        "license": ",".join(allowed),
        "extras": ",".join(_EXTRAS),
        "per_page": 250,
    }
    about |= {"min_upload_date": _seconds(wanted.after)} if wanted.after else {}
    return about | ({"max_upload_date": _seconds(wanted.before) - 1} if wanted.before else {})


def _found_by_flickr(said: Any, page: int) -> tuple[Iterable[Any], Parameters]:
    photos = _part_of_flickr(said, "photos")
    return photos.get("photo") or [], {"page": page + 1} if page < whole(photos.get("pages")) else {}


def _hit_of_flickr(photo: dict[str, Any], wanted: Wanted, licences: Licences) -> Hit | None:
    sizes = [size for size in _SIZES if photo.get(f"url_{size}")]
    if wanted.transparent:  # all sizes but the original are JPEG
        sizes = [size for size in sizes if size == "o" and str(photo["url_o"]).lower().endswith(".png")]
    if not sizes:
        return None
    name, where = licences.get(str(photo.get("license")), ("", ""))
    uploaded = str(photo.get("dateupload", ""))
    is_moment = uploaded.isdecimal() and len(uploaded) < 12
    number = line(photo.get("id"), 60)
    owner = line(photo.get("owner"), 60)
    return Hit(
        id=f"flickr-{number}",
        url=str(photo[f"url_{sizes[0]}"]),
        title=line(photo.get("title")),
        licence=short_licence(where, name),
        creator=line(photo.get("ownername")) or owner,
        source="flickr",
        date=datetime.fromtimestamp(int(uploaded), UTC).isoformat() if is_moment else "",
        page=f"https://www.flickr.com/photos/{owner}/{number}",
        width=whole(photo.get(f"width_{sizes[0]}")),
        height=whole(photo.get(f"height_{sizes[0]}")),
    )


def _licences_of_flickr(ask: Ask) -> Licences:
    said = ask({"method": "flickr.photos.licenses.getInfo"})
    entries = _part_of_flickr(said, "licenses").get("license") or []
    return {
        str(e.get("id")): (line(e.get("name")), line(e.get("url"))) for e in entries if isinstance(e, dict)
    }


def _part_of_flickr(said: Any, part: str) -> dict[str, Any]:
    if not isinstance(said, dict) or said.get("stat") != "ok" or not isinstance(said.get(part), dict):
        words = (
            f"{said.get('message', '')} (code {said.get('code', '?')})" if isinstance(said, dict) else said
        )
        raise WebError(f"Flickr refused the request: {line(words)}")
    return said[part]


def _seconds(moment: date) -> int:
    return calendar.timegm(moment.timetuple())


FLICKR = HarvestSource(
    "flickr",
    "https://api.flickr.com/services/rest/",
    16,
    _ask_flickr,
    _found_by_flickr,
    _hit_of_flickr,
    {"page": 1},
    licences=_licences_of_flickr,
    key=_flickr_key,
)


# Wikimedia Commons, through MediaWiki's API: freely licensed files, all of which may be used commercially and
# modified; no key is needed, but contact information is. Requests carry maxlag, so that a busy server is left
# alone. Dates are those of the upload of the file's current version.
def _ask_wikimedia(query: str, wanted: Wanted, _licences: Licences) -> Parameters:
    kind = "filemime:image/png" if wanted.transparent else "filetype:bitmap"
    public = "haslicense:unrestricted " if wanted.licence == "public" else ""
    about = {
        "action": "query",
        "format": "json",
        "formatversion": 2,
        "maxlag": 5,
        "generator": "search",
        "gsrsearch": f"{kind} {public}{query}",
        "gsrnamespace": 6,
        "gsrlimit": 50,
        "prop": "imageinfo",
        "iiprop": "url|size|mime|timestamp|user|extmetadata",
        "iiextmetadatafilter": "LicenseShortName|LicenseUrl|Artist",
    }
    return about | ({"gsrsort": "create_timestamp_desc"} if wanted.after else {})


def _found_by_wikimedia(said: Any, _page: int) -> tuple[Iterable[Any], Parameters]:
    if not isinstance(said, dict) or "error" in said:
        words = (said.get("error") or {}).get("info") if isinstance(said, dict) else said
        raise WebError(f"Wikimedia Commons refused the request: {line(words)}")
    pages = (said.get("query") or {}).get("pages") or []
    return sorted(pages, key=lambda page: whole(page.get("index"))), {**(said.get("continue") or {})}


def _hit_of_wikimedia(page: dict[str, Any], _wanted: Wanted, _licences: Licences) -> Hit | None:
    about = page["imageinfo"][0] if page.get("imageinfo") else {}
    if not about.get("url"):
        return None
    fields = (about.get("extmetadata") or {}).items()
    words = {name: field.get("value") for name, field in fields if isinstance(field, dict)}
    return Hit(
        id=f"wikimedia-{line(page.get('pageid'), 60)}",
        url=str(about["url"]),
        title=line(page.get("title")).removeprefix("File:"),
        licence=short_licence(line(words.get("LicenseUrl")), line(words.get("LicenseShortName"))),
        creator=line(words.get("Artist")) or line(about.get("user")),
        source="wikimedia",
        date=line(about.get("timestamp")),
        page=line(about.get("descriptionurl")),
        width=whole(about.get("width")),
        height=whole(about.get("height")),
    )


def _is_wikimedia_busy(said: Any) -> bool:
    """Whether the server reports replication lag, and asks to be contacted later."""
    error = said.get("error") if isinstance(said, dict) else None
    return isinstance(error, dict) and error.get("code") == "maxlag"


WIKIMEDIA = HarvestSource(
    "wikimedia",
    "https://commons.wikimedia.org/w/api.php",
    20,
    _ask_wikimedia,
    _found_by_wikimedia,
    _hit_of_wikimedia,
    {},
    busy=_is_wikimedia_busy,
)

APIS = {source.name: source for source in (OPENVERSE, FLICKR, WIKIMEDIA)}
