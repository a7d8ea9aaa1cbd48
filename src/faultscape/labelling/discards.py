"""discard.csv: images that a person would not label, and why; and how a selection changes without them.

Conventions: UTF-8 with a header line; columns ``image`` (its id) and ``reason``; ids may hold any character,
quoted as in CSV, or as in failures.csv.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Collection

from faultscape.errors import LabellingError, counted, reason
from faultscape.nouns import Slots
from faultscape.study.tables.logs import bare


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a CSV file with the columns of discards."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            head = next(csv.reader(file, strict=True), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return False
    return {"image", "reason"} <= set(head)


def read(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Return (image, reason) rows in file order; LabellingError names the file, the line and the problem."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            if rows.fieldnames is None or not {"image", "reason"} <= set(rows.fieldnames):
                raise LabellingError(
                    f"{path}: expected the columns image, reason; got"
                    f" {', '.join(rows.fieldnames or []) or 'nothing'}"
                )
            out = []
            for row in rows:
                if not row["image"] or row["reason"] is None or None in row:
                    raise LabellingError(
                        f"{path}, line {rows.line_num}: expected image,reason; quote cells that hold a comma"
                    )
                out.append((bare(row["image"]), row["reason"]))
            return out
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LabellingError(f"{path}: cannot be read: {reason(error)}") from None


def discards_text(slots: Slots, now: Slots, discarded: Collection[str]) -> str:
    """Return how many images of a selection are discarded, and how many spare images replace them; empty if
    none is discarded.

    ``now`` is the selection as it counts now. Images drawn for all models at once are not replaced.
    """
    if lost := sum(point.image in discarded for point in slots.points):
        do = "does" if lost == 1 else "do"
        return f"{counted(lost, 'point lies', 'points lie')} in discarded images and {do} not count"
    gone = set(slots.images) & set(discarded)
    if not gone:
        return ""
    if slots.draws:
        return f"{counted(len(gone), 'drawn image is', 'drawn images are')} discarded and not replaced"
    spares = len(set(now.images) - set(slots.images))
    short = len(slots.chosen) - len(now.chosen)
    taken = sum(row.image in gone for row in slots.chosen) - short  # places that another image has now
    if spares:
        moved = f"{counted(spares, 'spare image moves', 'spare images move')} up"
    elif taken:
        places = "its place goes to an image" if taken == 1 else f"{taken} places go to images"
        moved = (
            f"{places} that {'is' if taken == 1 else 'are'} chosen already: no new image is to be labelled"
        )
    else:
        moved = "no spare image moves up"
    left = f"; {counted(short, 'slot has', 'slots have')} no spare left" if short else ""
    return f"{counted(len(gone), 'chosen image is', 'chosen images are')} discarded, and {moved}{left}"
