"""Lists of names: the images of a corpus without pictures, and classes picked from a class list.

Conventions: a list of images is a CSV file whose column ``image`` (or ``id``, or the only one) names them; without such a first line the first column does.
A list of classes is a .txt or .csv file with a class a line, or a JSON list; a class is said by its name, its id or its WordNet id.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faultscape.errors import ClassesError, CorpusError, closest, reason
from faultscape.nouns import Classes

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


def read_classes(argument: str, classes: Classes) -> tuple[str, ...]:
    """Return the names of the classes that a file picks, in the order of the class list; ClassesError for one that is not there."""
    path = Path(argument)
    try:
        text = path.read_text(encoding="utf-8")
        said = json.loads(text) if path.suffix.lower() == ".json" else [line.strip() for line in text.splitlines()]
    except (OSError, ValueError, RecursionError) as error:
        raise ClassesError(f"{argument}: cannot be read as a list of classes: {reason(error)}") from None
    if not isinstance(said, list) or not all(isinstance(word, str | int) for word in said):
        raise ClassesError(f"{argument}: is no list of classes; expected a name, an id or a WordNet id a line")
    picked = {class_place(str(word), classes, argument) for word in said if str(word).strip()}
    if not picked:
        raise ClassesError(f"{argument}: names no class")
    return tuple(name for place, name in enumerate(classes.names) if place in picked)


def class_place(word: str, classes: Classes, where: str) -> int:
    """Return the place of the class that a word means: its name, its id or its WordNet id; ClassesError names the nearest otherwise.

    >>> class_place("n02084071", Classes(("cat", "dog"), (3, 8), (), wnids=("n02121808", "n02084071")), "here")
    1
    """
    places: dict[str, int] = {wnid: place for place, wnid in enumerate(classes.wnids)}
    places |= {str(id_): place for place, id_ in enumerate(classes.ids)}
    places |= {name: place for place, name in enumerate(classes.names)}
    if word not in places:
        why = shared(word, classes) or f"{word!r} is no class of the study.{closest(word, classes.names)}"
        raise ClassesError(f"{where}: {why}")
    return places[word]


def shared(word: str, classes: Classes) -> str:
    """Return what to say of a word that several classes have (before a bracket, or as a synonym), or nothing where it is not so.

    >>> shared("crane", Classes(("crane (bird)", "crane (machine)"), (3, 8), ()))
    "'crane' may be 'crane (bird)' (3) or 'crane (machine)' (8); write which, or its number"
    """
    mine = word.strip().casefold()
    found = []
    for place, name in enumerate(classes.names):
        words = (re.sub(r"\s*\([^()]*\)$", "", name), *classes.synonyms.get(name, ()))
        if mine and any(mine == one.casefold() for one in words):
            found.append((name, f"{classes.ids[place]}, {classes.wnids[place]}" if classes.wnids else str(classes.ids[place])))
    if len(found) < 2:
        return ""
    *most, last = [f"{name!r} ({number})" for name, number in found]
    return f"{word!r} may be {', '.join(most)} or {last}; write which, or its {'WordNet id' if classes.wnids else 'number'}"


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
