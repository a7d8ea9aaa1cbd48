"""objects.csv: what each file of a folder of cut-outs is. Only ``file`` is required, and empty cells are
ignored.

Conventions: columns file, class, split, use, mask, family, in any order. Names are relative to the folder.
``split`` is validation or test (empty: either), ``use`` anomaly or known, ``family`` one of FAMILIES. A mask
cuts one object out of its file: what is above 0; with ``#7`` after its name what equals 7, with ``#*`` one
object per value.
"""

from __future__ import annotations

import csv
import io
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from faultscape.corpus.objects.file_tree import FileTree
from faultscape.errors import CorpusError, closest
from faultscape.stressors.objects.cutout import FAMILIES

NAME = "objects.csv"
COLUMNS = ("file", "class", "split", "use", "mask", "family")
SPLITS = ("validation", "test")
USES = ("anomaly", "known")
_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class ObjectRow:
    """A line about a file, with '' for empty cells; ``value`` is the mask value of the object, ``*`` for each
    value, '' for all above 0.
    """

    file: str
    class_: str = ""
    split: Literal["", "validation", "test"] = ""
    use: Literal["", "anomaly", "known"] = ""
    mask: str = ""
    value: str = ""
    line: int = 0
    family: str = ""


def read_rows(tree: FileTree) -> tuple[ObjectRow, ...]:
    r"""Return the lines of a folder's objects.csv, none if it has none; CorpusError names an invalid line and
    the fault.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from faultscape.corpus.objects.file_tree import file_tree
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in (("a.png", ""), (NAME, "file,class,use\na.png,dog,known\n")):
    ...         _ = Path(folder, name).write_text(text)
    ...     read_rows(file_tree(folder))
    (ObjectRow(file='a.png', class_='dog', split='', use='known', mask='', value='', line=2, family=''),)
    """
    if NAME not in tree.files:
        return ()
    where = tree.root / NAME
    try:
        text = tree.read(NAME, _MOST_BYTES, CorpusError).decode("utf-8-sig")
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{where}: cannot be read as CSV in UTF-8: {str(error)[:200]}") from None
    head = [cell.strip().lower() for cell in lines[0]] if lines else []
    for column in head:
        if column not in COLUMNS:
            raise CorpusError(
                f"{where}: the column {column[:80]!r} is unknown; expected"
                f" {', '.join(COLUMNS)}.{closest(column[:80], COLUMNS)}"
            )
    if "file" not in head or len(set(head)) < len(head):
        raise CorpusError(
            f"{where}: expected a first line with the columns {', '.join(COLUMNS)}, each once; only file"
            " is required"
        )
    files = frozenset(tree.files)
    rows = []
    seen: dict[tuple[str, str, str], int] = {}
    for number, cells in enumerate(lines[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(head):
            raise CorpusError(
                f"{where}, row {number}: has {len(cells)} cells, the first line {len(head)}; quote cells"
                " that hold a comma"
            )
        row = _row(
            dict(zip(head, (cell.strip() for cell in cells), strict=True)),
            files,
            f"{where}, row {number}",
            number,
        )
        key = row.file, row.mask, row.value
        if key in seen:
            raise CorpusError(
                f"{where}, row {number}: {row.file!r} is already in row {seen[key]}; give each object one row"
            )
        seen[key] = number
        rows.append(row)
    return tuple(rows)


def _row(cells: Mapping[str, str], files: frozenset[str], where: str, number: int) -> ObjectRow:
    split = cells.get("split", "")
    use = cells.get("use", "")
    family = cells.get("family", "")
    for word, known, what in ((split, SPLITS, "split"), (use, USES, "use"), (family, (*FAMILIES,), "family")):
        if word and word not in known:
            raise CorpusError(
                f"{where}: {what} must be {' or '.join(known)}, or empty; got"
                f" {word[:80]!r}.{closest(word[:80], known)}"
            )
    class_ = cells.get("class", "")
    if not class_.isprintable() or len(class_) > 200:
        raise CorpusError(
            f"{where}: a class must be a name of at most 200 printable characters; got {class_[:80]!r}"
        )
    file = _file(cells["file"], files, where)
    mask = cells.get("mask", "")
    value = ""
    if mask and posixpath.normpath(mask) not in files and "#" in mask:
        mask, _, value = mask.rpartition("#")
        if value != "*" and not (
            value.isascii() and value.isdigit() and 0 < int(value[:9]) <= 65535 and len(value) < 9
        ):
            raise CorpusError(
                f"{where}: expected the value of an object in the mask after #, 1 to 65535, or *; got"
                f" {value[:80]!r}"
            )
        value = value if value == "*" else str(int(value))
    if mask:
        mask = _file(mask, files, where)
    return ObjectRow(file, class_, split, use, mask, value, number, family)  # pyright: ignore[reportArgumentType] - both were looked at


def _file(name: str, files: frozenset[str], where: str) -> str:
    """Return the name of a file in the folder; CorpusError if there is no such file."""
    if not name:
        raise CorpusError(f"{where}: names no file")
    normal = posixpath.normpath(name)
    if normal.startswith(("../", "/")) or normal == "..":
        raise CorpusError(
            f"{where}: {name[:200]!r} is outside the folder; move the file into it and give its name relative"
            " to it"
        )
    if normal not in files:
        raise CorpusError(
            f"{where}: {name[:200]!r} is not a file of the folder, is hidden, or is a link that leads out of"
            " it"
        )
    return normal
