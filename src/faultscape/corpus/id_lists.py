"""Lists of names: the images of a corpus that holds only their ids, and classes picked from a class list.

Conventions: a list of images is a CSV file that names them in the column ``image`` or ``id`` (or
``filename``, ``path`` etc., see `sources.HEADS`), or in its first column if the first line is an image (see
`first_lines`). Any other first line is refused, never taken for an image. An id with and without an image's
file ending means the same image. A list of classes is a .txt or .csv file with one class per line, or a JSON
list; a class is given by its name, its id or its WordNet id.

Whether the first line of a table of images is a header or an image, for lists of ids and tables of answers
alike.

Conventions: a line with a known column name is a header. A line is an image if its first cell looks like one:
it has the ending of an image, is a digest, or resembles the lines below. A line that looks like neither, or
like both, is ambiguous and refused.

How tables name images: the column of names, and the image of a study that a name means.

Conventions: columns are found by name, ignoring case, in the order of the known names (`corpus.sources.HEADS`
for images). A name with and without a file ending means the same image; an exact match wins.

The images of a study that a user names: by id, pattern, file or list.

Conventions: a word that is an id always means that image; patterns are shell patterns in which `*` also
matches `/`.
"""

from __future__ import annotations

import csv
import fnmatch
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from faultscape.corpus.sources import HEADS, IMAGE_ENDINGS, absolute
from faultscape.errors import CorpusError, closest, counted, reason

_DIGEST = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f-]{12,}", re.IGNORECASE)
_LISTS = (".txt", ".csv")


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


def what_is(
    line: Sequence[str],
    below: Iterable[str],
    *,
    columns: Collection[str] = HEADS,
    images: Collection[str] = (),
) -> Literal["columns", "image", "unclear"]:
    """Return what a first line is; ``below`` are the first cells of the lines below, ``columns`` are column
    names in lower case, ``images`` known images.

    >>> (
    ...     what_is(["image", "ID"], ["b"]),
    ...     what_is(["img_1", "cat"], ["img_2"]),
    ...     what_is(["fn", "pred"], ["img_1"]),
    ... )
    ('columns', 'image', 'unclear')
    """
    names = any(word.strip().lower() in columns for word in line)
    image = bool(line) and (
        line[0].strip() in images or (not _are_places(line) and shows_image(line[0].strip(), below))
    )
    return "unclear" if names == image else "columns" if names else "image"


def shows_image(name: str, others: Iterable[str]) -> bool:
    """Whether a cell, by itself or compared with the ``others`` of its column, must be the name of an image:
    no column name looks like this.

    >>> (
    ...     shows_image("a.jpg", []),
    ...     shows_image("img_1", ["img_2"]),
    ...     shows_image("cats/one", ["cats/two"]),
    ...     shows_image("top1", ["img_2"]),
    ... )
    (True, True, True, False)
    """
    folder = name.rpartition("/")[0]
    numbered = any(map(str.isdecimal, name))
    if os.path.splitext(name)[1].lower() in IMAGE_ENDINGS or _DIGEST.fullmatch(name) or (folder and numbered):
        return True
    if numbered:
        return any(_without_numbers(other.strip()) == _without_numbers(name) for other in others)
    return bool(folder) and any(other.strip().startswith(f"{folder}/") for other in others)


def _without_numbers(name: str) -> str:
    return re.sub(r"\d+", "0", name)


def _are_places(line: Sequence[str]) -> bool:
    """Whether cells number the columns 0, 1, 2, ..., as libraries do for columns without names."""
    return [cell.strip() for cell in line] == [str(place) for place in range(len(line))]


def called(known: Sequence[str], names: Sequence[str]) -> str:
    """Return the first column with a known name, ignoring case; '' if there is none.

    >>> called(("image", "id", "filename"), ("Label", "Filename"))
    'Filename'
    """
    return next((name for word in known for name in names if name.strip().lower() == word), "")


def ids_meant(names: Iterable[str], ids: Collection[str]) -> dict[str, str]:
    """Return {name: the id among ``ids`` that it means}, with or without an ending; the name itself if there
    is none.

    >>> ids_meant(["a.jpg", "b", "c.v1", "z"], ["a", "b.png", "c.v1"])
    {'a.jpg': 'a', 'b': 'b.png', 'c.v1': 'c.v1', 'z': 'z'}
    """
    wanted = set(ids)
    stems = {without_ending(id_): id_ for id_ in ids}
    return {name: _meant(name, wanted, stems) for name in names}


def _meant(name: str, ids: Collection[str], stems: Mapping[str, str]) -> str:
    plain = re.sub(r"\.\w{1,5}$", "", name)
    return name if name in ids else plain if plain in ids else stems.get(plain, stems.get(name, name))


def named_ids(words: Sequence[str], ids: Collection[str], files: Mapping[str, str] | None = None) -> set[str]:
    """Return the ids named by words: ids, patterns of ids, image files ({path: id}), or lists of ids (.txt,
    .csv); CorpusError for a word that matches nothing.

    >>> sorted(named_ids(["night/*", "a"], ["a", "b", "night/1", "night/2"]))
    ['a', 'night/1', 'night/2']
    """
    out: set[str] = set()
    for word in words:
        if not isinstance(word, str):
            raise CorpusError(
                f"expected image ids as separate arguments; got {word!r}; unpack a list as *LIST"
            )
        if not word.strip():
            raise CorpusError("expected image ids; got an empty one")
        if word in ids:
            out.add(word)
        elif os.path.isfile(word) and Path(word).suffix.lower() in _LISTS:
            listed = _listed(word, ids)
            if not listed:
                raise CorpusError(f"{word}: holds no image ids; expected one id per line")
            if unknown := next((id_ for id_ in listed if id_ not in ids), None):
                raise CorpusError(
                    f"{word}: {unknown!r} is not an image of the study.{closest(unknown, [*ids])}"
                )
            out |= set(listed)
        elif files and absolute(word) in files:
            out.add(files[absolute(word)])
        elif found := fnmatch.filter(ids, word):
            out |= set(found)
        else:
            what = (
                "it is neither an id, nor a pattern of ids such as 'night/*', nor a list of ids (.txt or"
                " .csv)"
            )
            raise CorpusError(f"{word!r} names no image of the study: {what}.{closest(word, [*ids])}")
    return out


def _listed(path: str, known: Collection[str]) -> list[str]:
    """Return the ids of a list: a .csv file as `collect` reads it, or a .txt file with one id per line."""
    if Path(path).suffix.lower() == ".csv":
        return read_ids(path, known)
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise CorpusError(
            f"{path}: cannot be read as a list of ids; expected UTF-8 text with one id per line"
        ) from None
    return [line.strip() for line in lines if line.strip()]
