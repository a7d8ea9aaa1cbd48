"""Lists of names: the images of a corpus without pictures, and classes picked from a class list.

Conventions: a list of images is a CSV file whose column ``image`` (or ``id``, or the only one) names them; without such a first line the first column does.
A list of classes is a .txt or .csv file with a class a line, or a JSON list; a class is said by its name, its id or its WordNet id.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faultscape.errors import CorpusError, reason

_HEADS = ("image", "id")


def is_id_list(argument: str) -> bool:
    """Whether an argument is a CSV file that names images by their ids, and not files that lie beside it."""
    path = Path(argument)
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    rows = _rows(path)
    column = _column(rows[0]) if rows else None
    if column is not None or not rows:
        return True
    return not (path.parent / rows[0][0].strip()).is_file()


def read_ids(argument: str) -> list[str]:
    r"""Return the ids that a CSV file names, in its order; CorpusError for a file that names none, or one twice.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "ids.csv").write_text("image,taken\ncat/1,2020\ndog/7,2021\n")
    ...     read_ids(f"{folder}/ids.csv")
    ['cat/1', 'dog/7']
    """
    path = Path(argument)
    rows = _rows(path)
    column = _column(rows[0]) if rows else None
    body = rows if column is None else rows[1:]
    at = column or 0
    if short := next((row for row in body if len(row) <= at), None):
        raise CorpusError(f"{argument}: the line {','.join(short)!r} has no column {at + 1}, where images are named")
    ids = [row[at].strip() for row in body]
    if not all(ids) or any(ord(c) < 32 for id_ in ids for c in id_):
        raise CorpusError(f"{argument}: every line names an image; one is empty, or holds a control character")
    if not ids:
        raise CorpusError(f"{argument}: names no image; expected a first line with `image`, then an id a line")
    again, times = Counter(ids).most_common(1)[0]
    if times > 1:
        raise CorpusError(f"{argument}: names {again!r} {times} times; give each image one line")
    return ids


def counting(id_: str) -> list[Any]:
    """Return a key by which image 9 comes before image 10.

    >>> sorted(["p10", "p9"], key=counting)
    ['p9', 'p10']
    """
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", id_)]


def in_own_order(ids: Sequence[str]) -> bool:
    """Whether ids stand in another order than that in which people count."""
    return list(ids) != sorted(ids, key=counting)


def _column(head: list[str]) -> int | None:
    """Return the column that a first line says holds ids, or None where it is no first line of this kind."""
    words = [word.strip().lower() for word in head]
    return next((words.index(name) for name in _HEADS if name in words), None)


def _rows(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [row for row in csv.reader(file) if row and any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{path}: cannot be read as a list of images: {reason(error)}") from None
