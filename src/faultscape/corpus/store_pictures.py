"""The images under an address of an object store.

Conventions: ``s3://BUCKET/PREFIX`` means everything under PREFIX/, recursively, or the one object with that
name; ``*``, ``?`` and ``[`` make it a pattern, in which ``*`` stays within one folder and ``**`` does not.
Only the prefix before the pattern is listed, 1000 names per request, and no image is opened.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace

from faultscape.errors import CorpusError
from faultscape.study import store


def find_objects(argument: str, endings: frozenset[str]) -> tuple[str, list[str], list[str]]:
    """Return the address that ids are relative to, the addresses of the objects, and the addresses of those
    in folders whose names begin with a dot; CorpusError if the store cannot be listed.
    """
    place = store.parse(argument, CorpusError)
    key = place.key.rstrip("/")
    if re.search(r"[*?\[]", key):
        fixed = re.split(r"[*?\[]", key)[0].rpartition("/")[0]
        wanted = re.compile(_pattern(key[len(fixed) :].lstrip("/")))
        return _under(replace(place, key=fixed), endings, wanted)
    if os.path.splitext(key)[1].lower() in endings:
        return str(replace(place, key=key.rpartition("/")[0])), [str(replace(place, key=key))], []
    return _under(replace(place, key=key), endings, None)


def relative(addresses: list[str]) -> list[str]:
    """Return names of objects, relative to the common part of their addresses.

    >>> relative(["s3://bucket/a/x.png", "s3://bucket/a/b/y.png"])
    ['x.png', 'b/y.png']
    """
    paths = [store.parse(address, CorpusError).path for address in addresses]
    common = os.path.commonpath([os.path.dirname(path) for path in paths])
    return [path[len(common) :].lstrip("/") for path in paths]


def _under(
    folder: store.Address, endings: frozenset[str], wanted: re.Pattern[str] | None
) -> tuple[str, list[str], list[str]]:
    with store.told(folder, CorpusError):
        names = store.listed(folder, deep=True)
    dotted = re.compile(r"(^|/)\.[^/]*/")  # as in a local folder
    names = [
        n
        for n in names
        if os.path.splitext(n)[1].lower() in endings and (wanted is None or wanted.fullmatch(n))
    ]
    kept, hidden = (
        [str(folder / n) for n in names if bool(dotted.search(n)) is left_out] for left_out in (False, True)
    )
    return str(folder), kept, hidden


def _pattern(text: str) -> str:
    """Return a glob as a regular expression."""
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", text)
    return "".join(
        words.get(part)
        or (part.replace("[!", "[^") if re.fullmatch(r"\[[^\]]+\]", part) else re.escape(part))
        for part in parts
    )
