"""The user's lists of URLs: a text file with one URL per line, or CSV with a column url and columns of known
facts about each image.

Conventions: an id is a name like those of sets and models; without one it is made from the URL. A line that
cannot be used is reported with its number, and the others are used.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from faultscape.corpus.web.addresses import clean
from faultscape.corpus.web.hits import Hit, day, key, line
from faultscape.errors import CorpusError, FaultscapeError
from faultscape.study.folder import check_name
from faultscape.study.tables.web_pictures import read_rows

_MORE = ("query", "title", "licence", "creator", "source")


def read(path: Path) -> tuple[list[Hit], list[tuple[str, str]]]:
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
            hit = _hit(row)
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


def _hit(row: dict[str, str]) -> Hit:
    url = clean(row["url"])
    id_ = check_name(row["id"], "image") if row.get("id") else key(url)
    if id_.startswith("+"):
        raise CorpusError(f"{id_!r} cannot be an image id: it must not start with +")
    when = line(row.get("date"))
    if when and day(when) is None:
        raise CorpusError(f"its date {when!r} is not valid; expected a date such as 2024-03-01")
    query, title, licence, creator, source = (line(row.get(name)) for name in _MORE)
    licence = licence or line(row.get("license"))
    source = source or (urlsplit(url).hostname or "")
    return Hit(id_, url, query, title, licence, creator, source, when)
