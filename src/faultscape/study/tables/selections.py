"""selection.csv and selection.json: which images were chosen, append-only, and the definition that was fixed
when they were.

Conventions: selection ``main`` is stored in selection.csv / selection.json, others in selection-NAME.*. A row
belongs to a duel (defender, attacker, class), a pair (model_a, model_b), an image drawn for all models at
once, or a point (a pixel of an image), as its header line shows. The JSON also names the models in order, a
key of the corpus and predictions that the images were drawn from, and how many rows count: later ones are
from a writer killed before it wrote the JSON. The definition of a selection that was replaced (``select
--replace``) names its successor; a removed selection with labels is kept in STUDY/removed/NAME-DATE with the
same files.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, cast

from faultscape.errors import DamagedSelectionError, SelectionError, StudyChangedError, closest
from faultscape.nouns import MAIN, Definition, Draw, PairSlot, Point, Slot, Slots
from faultscape.study.folder import check_name, file_version, put
from faultscape.study.json_text import read_object
from faultscape.study.tables.logs import csv_text

REMOVED = "removed"
REPLACED_BY = "replaced_by"
# columns whose names differ from the fields
_WORDS = {"class_": "class", "probability": "draw_probability", "pool": "pool_size"}
_KINDS = {
    tuple(_WORDS.get(f.name, f.name) for f in fields(kind)): kind for kind in (Slot, PairSlot, Draw, Point)
}
_CHANGED = "selection {!r} changed while it was read; run the command again"
_READ: dict[str, Any] = {"str": str, "int": int, "float": lambda text: float(text) if text else math.nan}


def path(root: Path, name: str, ending: str = "csv", *, stem: str = "selection") -> Path:
    """Return the file of a named selection (or, by ``stem``, of a file that belongs to it)."""
    check_name(name, "selection")
    return root / (f"{stem}.{ending}" if name == MAIN else f"{stem}-{name}.{ending}")


def names(root: Path) -> list[str]:
    """Return the names of all selections, main first."""
    found = [p.stem.removeprefix("selection-") for p in root.glob("selection-*.json")]
    return ([MAIN] if (root / "selection.json").exists() else []) + sorted(found)


def the_name(root: Path, asked: str) -> str:
    """Return the name of the selection that is meant: where there is no main, main stands for the only one
    that no other has replaced.
    """
    known = names(root)
    if asked != MAIN or MAIN in known:
        return asked
    current = known if len(known) == 1 else [name for name in known if not _is_replaced(root, name, known)]
    return current[0] if len(current) == 1 else asked


def _is_replaced(root: Path, name: str, known: list[str]) -> bool:
    """Whether another selection took the place of this one; False for a damaged file, which is named where it
    is read.
    """
    try:
        about = json.loads(path(root, name, "json").read_text(encoding="utf-8"))
        return about["definition"].get(REPLACED_BY) in known
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def read_removed(root: Path) -> list[Slots]:
    """Return the labelled selections that were removed, in the order of their folders' names: their images
    still have labels.
    """
    folders = sorted(path for path in (root / REMOVED).glob("*/") if path.is_dir())
    return [read_selection(folder, name)[0] for folder in folders for name in names(folder)]


def read_selection(root: Path, name: str = MAIN, *, seen: bool = False) -> tuple[Slots, str]:
    """Return a selection and the key of what it was drawn from; SelectionError if there is none of this name,
    DamagedSelectionError if its files are damaged, StudyChangedError if another faultscape process replaced
    it meanwhile, or removed one that was ``seen``.
    """
    table = path(root, name)
    about = path(root, name, "json")
    before = file_version(about)
    if (data := _bytes_of(about)) is None:
        if seen:
            raise StudyChangedError(_CHANGED.format(name))
        known = names(root)
        raise SelectionError(
            f"there is no selection {name!r}; "
            + (
                f"available: {', '.join(known)}.{closest(name, known)}"
                if known
                else f"make one with `faultscape select {root}`"
            )
        )
    try:
        said = cast("dict[str, Any]", read_object(data))
        models = said["models"]
        definition = said["definition"]
        drawn_from = said["drawn_from"]
        if (
            not isinstance(models, list)
            or not isinstance(definition, dict)
            or not all(isinstance(word, str) for word in (*models, drawn_from))
        ):
            raise TypeError("models, definition or drawn_from has the wrong type")  # noqa: TRY301 - as any other damage
        with table.open(encoding="utf-8", newline="") as file:
            head, *lines = list(csv.reader(file))
        kind = _KINDS.get(tuple(head))
        if kind is None:
            raise ValueError("its first line is another")  # noqa: TRY301 - as any other damage
        read = [_READ[str(f.type)] for f in fields(kind)]
        if not 0 <= (number := said.get("rows", len(lines))) <= len(lines):  # missing in earlier versions
            raise ValueError(f"it has {len(lines)} of {number} rows")  # noqa: TRY301
        rows = tuple(
            kind(*(make(text) for make, text in zip(read, line, strict=True))) for line in lines[:number]
        )
        drawn = [row.image for row in rows if isinstance(row, Draw)]
        if len(set(drawn)) < len(drawn):
            twice = next(image for image, times in Counter(drawn).items() if times > 1)
            raise ValueError(f"it holds {twice!r} twice, and an image is drawn once")  # noqa: TRY301
        found = Slots(tuple(models), cast("Definition", definition), rows), drawn_from
    except (OSError, ValueError, KeyError, IndexError, TypeError, csv.Error) as error:
        if file_version(about) != before:
            raise StudyChangedError(_CHANGED.format(name)) from None
        why = f"there is no {table.name}" if isinstance(error, FileNotFoundError) else str(error)
        away = f"`faultscape select {root} --remove {name}`"
        again = f"`faultscape select {root}{'' if name == MAIN else f' --as {name}'}`"
        raise DamagedSelectionError(
            f"{table} or {about} is damaged: {why}; restore them from a copy, or remove both with {away}"
            f" and select again with {again} (labels are kept)"
        ) from None
    if file_version(about) != before:  # the rows may belong to another selection
        raise StudyChangedError(_CHANGED.format(name))
    return found


def _bytes_of(file: Path) -> bytes | None:
    """Return the content of a file, None if it does not exist; b"" if it cannot be read, which is reported
    like any other damage.
    """
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError:
        return b""


def write_selection(root: Path, slots: Slots, drawn_from: str, name: str = MAIN) -> None:
    """Write a selection; existing rows must be at the head of ``slots.rows``. Its new rows count once its
    JSON is written.
    """
    columns = next(columns for columns, kind in _KINDS.items() if isinstance(slots.rows[0], kind))
    cells = [
        "" if isinstance(value, float) and math.isnan(value) else value
        for row in slots.rows
        for value in astuple(row)
    ]
    width = len(columns)
    text = csv_text([columns, *(cells[k : k + width] for k in range(0, len(cells), width))])
    about = {
        "models": list(slots.models),
        "definition": slots.definition,
        "drawn_from": drawn_from,
        "rows": len(slots.rows),
    }
    put(path(root, name), text.encode())
    put(path(root, name, "json"), (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode())
