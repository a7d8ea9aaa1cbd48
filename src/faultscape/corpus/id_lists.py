"""Lists of names: the images of a corpus that holds only their ids, and classes picked from a class list.

Conventions: a list of images is a CSV file that names them in the column ``image`` or ``id`` (or
``filename``, ``path`` etc., see `sources.HEADS`), or in its first column if the first line is an image (see
`first_lines`). Any other first line is refused, never taken for an image. An id with and without an image's
file ending means the same image. A list of classes is a .txt or .csv file with one class per line, or a JSON
list; a class is given by its name, its id or its WordNet id.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from faultscape.corpus.first_lines import what_is
from faultscape.corpus.sources import HEADS, IMAGE_ENDINGS
from faultscape.errors import CorpusError, counted, reason


def is_id_list(argument: str) -> bool:
    """Whether an argument is a CSV file that names images by id, rather than files next to it."""
    path = Path(argument)
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    rows = _rows(path)
    column = _column(rows[0]) if rows else None
    if not rows or (column is not None and rows[0][column].strip().lower() in HEADS[:2]):
        return True
    first = (
        rows[0][0] if column is None else rows[1][column] if len(rows) > 1 and len(rows[1]) > column else ""
    )
    return not (first.strip() and (path.parent / first.strip()).is_file())


def read_ids(argument: str, known: Collection[str] = ()) -> list[str]:
    r"""Return the ids in a CSV file, in its order; CorpusError for a file that names none, names one twice,
    or has an ambiguous first line.

    ``known`` are ids of images: a first line that begins with one is an image.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "ids.csv").write_text("image,taken\ncat/1,2020\ndog/7,2021\n")
    ...     read_ids(f"{folder}/ids.csv")
    ['cat/1', 'dog/7']
    """
    path = Path(argument)
    rows = _rows(path)
    column = _column(rows[0]) if rows else None
    first = what_is(rows[0], (row[0] for row in rows[1:]), images=known) if rows else "columns"
    if first == "unclear":
        raise CorpusError(
            f"{argument}: its first line ({', '.join(rows[0])[:80]}) could be column names or an image; name"
            " the image column `image`, or, if it is an image, add a line `image` above it"
        )
    body = rows[1:] if first == "columns" else rows
    at = column or 0
    if short := next((row for row in body if len(row) <= at), None):
        raise CorpusError(
            f"{argument}: the line {','.join(short)!r} has no column {at + 1}, which names the images"
        )
    ids = [row[at].strip() for row in body]
    if not all(ids) or any(ord(c) < 32 for id_ in ids for c in id_):
        raise CorpusError(
            f"{argument}: every line must name an image; one is empty or holds a control character"
        )
    if not ids:
        raise CorpusError(
            f"{argument}: names no images; expected a first line with `image`, then one id per line"
        )
    again, times = Counter(ids).most_common(1)[0]
    if times > 1:
        raise CorpusError(f"{argument}: names {again!r} {times} times; give each image one line")
    stems = Counter(without_ending(id_) for id_ in ids)
    if both := [id_ for id_ in ids if stems[id_] > 1]:
        again = next(id_ for id_ in ids if without_ending(id_) == both[0] != id_)
        raise CorpusError(
            f"{argument}: names {counted(len(both), 'image')} with and without an ending ({both[0]!r} and"
            f" {again!r}); give each image one line"
        )
    return ids


def without_ending(id_: str) -> str:
    """Return an id without the extension of an image file.

    >>> without_ending("cats/one.JPG"), without_ending("v1.2")
    ('cats/one', 'v1.2')
    """
    stem, ending = os.path.splitext(id_)
    return stem if ending.lower() in IMAGE_ENDINGS else id_


def held_names(ids: Iterable[str], held: Collection[str]) -> dict[str, str]:
    """Return {id: the id in ``held`` for the same image} for ids that differ from it by an image's file
    ending.

    >>> held_names(["a.jpg", "b", "c"], {"a", "b.png", "c"})
    {'a.jpg': 'a', 'b': 'b.png'}
    """
    stems = {without_ending(id_): id_ for id_ in held}
    return {id_: stems[stem] for id_ in ids if id_ not in held and (stem := without_ending(id_)) in stems}


def counting(id_: str) -> list[Any]:
    """Return a sort key that puts image 9 before image 10.

    >>> sorted(["p10", "p9"], key=counting)
    ['p9', 'p10']
    """
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", id_)]


def in_own_order(ids: Sequence[str]) -> bool:
    """Whether ids are in an order other than natural order."""
    return list(ids) != sorted(ids, key=counting)


def _column(head: list[str]) -> int | None:
    """Return the column of ids according to a header line, or None if it is not such a header."""
    words = [word.strip().lower() for word in head]
    return next((words.index(name) for name in HEADS if name in words), None)


def _rows(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [row for row in csv.reader(file) if row and any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{path}: cannot be read as a list of images: {reason(error)}") from None
