"""discard.csv: images that a person would not label, and why.

Conventions: UTF-8 with a header line; columns ``image`` (its id) and ``reason``; ids may hold any character, quoted as CSV quotes, or stand as in failures.csv.
"""

from __future__ import annotations

import csv
import os

from faultscape.errors import LabellingError, reason
from faultscape.study.tables.logs import bare


def read(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Return (image, reason) rows in file order; LabellingError names the file, the line and what is wrong."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            if rows.fieldnames is None or not {"image", "reason"} <= set(rows.fieldnames):
                raise LabellingError(
                    f"{path}: expected the columns image, reason; got {', '.join(rows.fieldnames or []) or 'nothing'}"
                )
            out = []
            for row in rows:
                if not row["image"] or row["reason"] is None or None in row:
                    raise LabellingError(f"{path}, line {rows.line_num}: expected image,reason; quote what holds a comma")
                out.append((bare(row["image"]), row["reason"]))
            return out
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LabellingError(f"{path}: cannot be read: {reason(error)}") from None
