"""Images found by a list or an API, and the filter for them: date, size, transparency, licence.

Conventions: dates are ISO days or moments in UTC as the source gives them; a window includes its first day
and excludes its last. An image without a date is outside every window. Licences are distinguished by the
address of their text, as Creative Commons writes them. A person's list is a text file with one URL per line,
or CSV with a column url and columns of known facts about each image. An id in it is a name like those of sets
and models; without one it is made from the URL.
"""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from faultscape.choices import Licence
from faultscape.corpus.web.addresses import clean
from faultscape.errors import CorpusError, FaultscapeError, OptionError
from faultscape.study.folder import check_name
from faultscape.study.tables.web_pictures import read_rows

LICENCES = get_args(Licence)
_FACTS = ("query", "title", "licence", "creator", "source")


@dataclass(frozen=True)
class Hit:
    """What a list or an API says about an image; width and height are 0 if unknown."""

    id: str
    url: str
    query: str = ""
    title: str = ""
    licence: str = ""
    creator: str = ""
    source: str = ""
    date: str = ""
    page: str = ""
    width: int = 0
    height: int = 0


@dataclass(frozen=True)
class Wanted:
    """The filter for images; ``min_size`` is (width, height)."""

    after: date | None = None
    before: date | None = None
    min_size: tuple[int, int] | None = None
    transparent: bool = False
    licence: str = "open"


def line(text: Any, longest: int = 300) -> str:
    r"""Return untrusted text as one printable line.

    >>> line("a\n <b>cat</b>\x07 &amp; dog")
    'a cat & dog'
    """
    plain = html.unescape(re.sub(r"<[^<>]*>", " ", "" if text is None else str(text)[: 20 * longest]))
    return " ".join("".join(c if c.isprintable() else " " for c in plain).split())[:longest]


def whole(number: Any) -> int:
    """Return a size that an API gives as a number or as digits; 0 if it is neither."""
    text = str(number)
    return int(text) if text.isdecimal() and len(text) < 7 else 0


def key(url: str) -> str:
    """Return the id of an image without another name."""
    return f"url-{hashlib.sha256(url.encode()).hexdigest()[:16]}"


def day(text: str) -> date | None:
    """Return the UTC day of an ISO date or time, or None if it is neither.

    >>> day("2024-03-01T23:30:00-02:00"), day("last week")
    (datetime.date(2024, 3, 2), None)
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment.astimezone(UTC).date() if moment.tzinfo else moment.date()


def option_day(name: str, text: str | None) -> date | None:
    """Return the day that an option gives; OptionError if it is not a day."""
    if text is None:
        return None
    if (found := day(str(text))) is None:
        raise OptionError(f"--{name} {text}: expected a date such as 2024-03-01")
    return found


def too_early_or_late(hit: Hit, wanted: Wanted) -> str:
    """Return why an image's date excludes it, or ''.

    >>> window = Wanted(after=date(2024, 3, 1), before=date(2024, 4, 1))
    >>> (
    ...     too_early_or_late(Hit("a", "u", date="2024-03-01"), window),
    ...     too_early_or_late(Hit("a", "u", date="2024-04-01"), window),
    ... )
    ('', 'its date 2024-04-01 is not before 2024-04-01')
    """
    if wanted.after is None and wanted.before is None:
        return ""
    found = day(hit.date)
    if found is None:
        return "its date is not known, and --after or --before is given"
    if wanted.after is not None and found < wanted.after:
        return f"its date {found} is before {wanted.after}"
    if wanted.before is not None and found >= wanted.before:
        return f"its date {found} is not before {wanted.before}"
    return ""


def too_small(width: int, height: int, wanted: Wanted) -> str:
    """Return why its size excludes an image, or ''."""
    if wanted.min_size and (width < wanted.min_size[0] or height < wanted.min_size[1]):
        return f"its {width} x {height} pixels are below --min-size {wanted.min_size[0]}x{wanted.min_size[1]}"
    return ""


def licensed(address: str, wanted: str) -> bool:
    """Whether the licence with its text at an address is of the wanted kind.

    >>> by_nc = "https://creativecommons.org/licenses/by-nc/4.0/"
    >>> licensed(by_nc, "open"), licensed(by_nc, "commercial"), licensed(by_nc, "modification")
    (True, False, True)
    """
    if wanted == "any":
        return True
    if "creativecommons.org/publicdomain/" in address or "usa.gov/" in address:
        return True
    terms = re.search(r"creativecommons\.org/licenses/([a-z-]+)/", address)
    if wanted == "public" or (not terms and "flickr.com/commons/usage" not in address):
        return False
    parts = terms[1].split("-") if terms else []
    return not (wanted == "commercial" and "nc" in parts) and not (wanted == "modification" and "nd" in parts)


def short_licence(address: str, name: str) -> str:
    """Return the usual abbreviation of a licence, or its name if there is none.

    >>> short_licence("https://creativecommons.org/licenses/by-sa/2.0/", "Attribution-ShareAlike License")
    'CC BY-SA 2.0'
    """
    if found := re.search(r"creativecommons\.org/licenses/([a-z-]+)/(\d\.\d)", address):
        return f"CC {found[1].upper()} {found[2]}"
    if found := re.search(r"creativecommons\.org/publicdomain/(zero|mark)", address):
        return {"zero": "CC0 1.0", "mark": "Public Domain Mark 1.0"}[found[1]]
    return line(name)


def read_list(path: Path) -> tuple[list[Hit], list[tuple[str, str]]]:
    """Return the images that a list names, each URL once, and (URL, reason) for the lines that cannot be
    used; CorpusError if it is not a list.
    """
    if path.suffix.lower() == ".csv":
        rows = read_rows(path, ["url"])
    elif path.suffix.lower() in (".txt", ".lst"):
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise CorpusError(f"{path}: cannot be read as text in UTF-8: {error}") from None
        rows = [{"url": text.strip()} for text in lines if text.strip() and not text.lstrip().startswith("#")]
    else:
        raise CorpusError(f"{path}: expected a list of URLs ending in .txt or .csv")
    hits: dict[str, Hit] = {}
    bad = []
    ids = set()
    for row in rows:
        try:
            hit = _listed(row)
            if hit.url in hits:
                continue
            if hit.id in ids:
                raise CorpusError(f"another URL in the list has the id {hit.id!r}")
        except FaultscapeError as error:
            bad.append((line(row["url"], 500) or path.name, str(error)))
            continue
        ids.add(hit.id)
        hits[hit.url] = hit
    if not hits and not bad:
        raise CorpusError(f"{path}: names no URLs; expected one per line")
    return list(hits.values()), bad


def _listed(row: dict[str, str]) -> Hit:
    url = clean(row["url"])
    id_ = check_name(row["id"], "image") if row.get("id") else key(url)
    if id_.startswith("+"):
        raise CorpusError(f"{id_!r} cannot be an image id: it must not start with +")
    when = line(row.get("date"))
    if when and day(when) is None:
        raise CorpusError(f"its date {when!r} is not valid; expected a date such as 2024-03-01")
    query, title, licence, creator, source = (line(row.get(name)) for name in _FACTS)
    licence = licence or line(row.get("license"))
    source = source or (urlsplit(url).hostname or "")
    return Hit(id_, url, query, title, licence, creator, source, when)
