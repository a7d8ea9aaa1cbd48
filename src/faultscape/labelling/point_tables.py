"""A table of points, single pixels of images, and of what people see there.

Conventions: CSV with a header line: image, row, column (of the pixel, from 0 at the top left), crop (the file
of a cut of the image around it, '' for none), and annotator and answer to fill in. An answer is a class, by
name or id, `void`, `cannot tell`, or two classes joined by ``|`` on a border between them; a line without one
is an open question. Tables from elsewhere need image, row, column and answer, in any order and among others;
the other class of a border may stand in a column ``border``. A cell that a spreadsheet would run is marked
(`guarded`), and read without its mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from faultscape.formats.label_tools.point_labels import AskedPoint, PointLines, SaidPoint
from faultscape.formats.label_tools.tool_labels import Format
from faultscape.labelling import answers
from faultscape.nouns import BORDER, Classes
from faultscape.study.tables.logs import csv_text, guarded

TABLE = "points.csv"
COLUMNS = ("image", "row", "column", "crop", "annotator", "answer")
NEEDED = ("image", "row", "column", "answer")
_EXTRA = ("annotator", "border")
_WHOLE = re.compile(r"([0-9]{1,9})(\.0*)?")  # as programs write whole numbers where others are missing


def write(points: Sequence[AskedPoint], _classes: Classes) -> dict[str, bytes]:
    """Return the file of a table, by name."""
    return {TABLE: point_table(points).encode()}


def point_table(points: Sequence[AskedPoint]) -> str:
    """Return points as CSV, with an empty answer each.

    >>> point_table([AskedPoint("night/3", 12, 40)]).splitlines()
    ['image,row,column,crop,annotator,answer', 'night/3,12,40,,,']
    """
    rows = ((guarded(one.image), one.row, one.column, guarded(one.crop), "", "") for one in points)
    return csv_text([COLUMNS, *rows])


def recognise(path: Path) -> int | None:
    """Return how many lines of a table of points are filled in, None for any other file; LabellingError if
    the table cannot be read.
    """
    if path.suffix.lower() not in POINTS.endings or not set(NEEDED) <= set(answers.columns(path)):
        return None
    lines = read(path)
    return len(lines.answers) + len(lines.wrong)


def read(path: Path) -> PointLines:
    """Return the answers of a table of points; LabellingError if it lacks a column."""
    has = [name for name in _EXTRA if name in answers.columns(path)]
    found, wrong = answers.rows(path, (*NEEDED, *has))
    out = []
    for line, (image, row, column, answer, *extra) in found:
        more = dict(zip(has, extra, strict=True))
        other = more.get("border", "")
        if not answer and not other:
            continue
        pixel = [_WHOLE.fullmatch(text) for text in (row, column)]
        if not (pixel[0] and pixel[1]):
            got = f"{row[:40]!r} and {column[:40]!r}"
            wrong.append((line, image, f"expected a row and a column, from 0; got {got}"))
            continue
        place = image, int(pixel[0][1]), int(pixel[1][1])
        said = BORDER.join((answer, other)) if other else answer
        out.append((line, SaidPoint(*place, more.get("annotator", ""), said)))
    return PointLines(out, sorted(wrong))


POINTS = Format(
    "points",
    title="points",
    says="look at the crop of each point in {out}, and fill in its answer: a class, void, cannot tell, or A|B"
    " on a border",
    kind="points",
    write=write,
    read=read,
    recognise=recognise,
    endings=frozenset({".csv", ".tsv"}),
    photo="",
    returned=TABLE,
)
