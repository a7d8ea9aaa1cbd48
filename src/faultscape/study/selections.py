"""selection.csv and selection.json: which images were chosen, append-only, and the definition that was fixed when they were.

Conventions: selection ``main`` lies in selection.csv / selection.json, others in selection-NAME.*. The JSON also names the models in order and a key of
the corpus and predictions that the images were drawn from.
"""

from __future__ import annotations

import csv
import json
from dataclasses import astuple
from pathlib import Path

from faultscape.errors import SelectionError, closest
from faultscape.nouns import Slot, Slots
from faultscape.study.folder import check_name, put
from faultscape.study.tables import csv_text

MAIN = "main"
_COLUMNS = [
    "selector",
    "round",
    "step",
    "defender",
    "attacker",
    "class",
    "place",
    "image",
    "concordance",
    "draw_probability",
    "pool_size",
]


def path(root: Path, name: str, ending: str = "csv", *, stem: str = "selection") -> Path:
    """Return the file of a named selection (or, by ``stem``, of what belongs to it)."""
    check_name(name, "selection")
    return root / (f"{stem}.{ending}" if name == MAIN else f"{stem}-{name}.{ending}")


def names(root: Path) -> list[str]:
    """Return the names of all selections, main first."""
    found = [p.stem.removeprefix("selection-") for p in root.glob("selection-*.json")]
    return ([MAIN] if (root / "selection.json").exists() else []) + sorted(found)


def read_selection(root: Path, name: str = MAIN) -> tuple[Slots, str]:
    """Return a selection and the key of what it was drawn from; SelectionError when there is none of this name."""
    table, about = path(root, name), path(root, name, "json")
    if not about.exists():
        known = names(root)
        raise SelectionError(
            f"there is no selection {name!r}; "
            + (f"there are {', '.join(known)}.{closest(name, known)}" if known else f"make one with `faultscape select {root}`")
        )
    try:
        said = json.loads(about.read_text(encoding="utf-8"))
        with table.open(encoding="utf-8", newline="") as file:
            head, *lines = list(csv.reader(file))
            if head != list(_COLUMNS):
                raise ValueError("its first line is another")  # noqa: TRY301 - as any other damage
            rows = tuple(
                Slot(r[0], int(r[1]), int(r[2]), r[3], r[4], r[5], int(r[6]), r[7], float(r[8]), float(r[9]), int(r[10]))
                for r in lines
            )
        return Slots(tuple(said["models"]), said["definition"], rows), said["drawn_from"]
    except (OSError, ValueError, KeyError, IndexError, TypeError, csv.Error) as error:
        raise SelectionError(f"{table} or {about} is damaged: {error}") from None


def write_selection(root: Path, slots: Slots, drawn_from: str, name: str = MAIN) -> None:
    """Put a selection; rows already there are expected at the head of ``slots.rows``."""
    text = csv_text([_COLUMNS, *(astuple(row) for row in slots.rows)])
    about = {"models": list(slots.models), "definition": slots.definition, "drawn_from": drawn_from}
    put(path(root, name), text.encode())
    put(path(root, name, "json"), (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode())
