"""A table of points, single pixels of images, and of what people see there.

Conventions: CSV in UTF-8 with a header line: image, row, column (of the pixel, from 0 at the top left), crop
(the file of a cut of the image around it, '' for none), and annotator and answer to fill in. An answer is a
class, `void`, `cannot tell`, or two classes joined by ``|`` on a border between them; a line without one is
an open question. Tables from elsewhere need image, row, column and answer. A cell that a spreadsheet would
run is marked (`guarded`), and read without its mark.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from faultscape.errors import LabellingError
from faultscape.labelling import answers
from faultscape.labelling.answers import Unusable
from faultscape.study.tables.logs import csv_text, guarded

COLUMNS = ("image", "row", "column", "crop", "annotator", "answer")
NEEDED = ("image", "row", "column", "answer")
SAYS = (
    "look at the crop of each point in {out}, and fill in its answer: a class, void, cannot tell, or A|B on a"
    " border"
)


class AskedPoint(NamedTuple):
    """A point to write: its image, row and column, and the file of its crop, '' for none."""

    image: str
    row: int
    column: int
    crop: str = ""


class SaidPoint(NamedTuple):
    """A line with an answer: its image, row and column, who answered, and what."""

    image: str
    row: int
    column: int
    annotator: str
    answer: str


@dataclass(frozen=True)
class PointLines:
    """The content of a table: (line, answer) of the lines that are filled in, and those that cannot be
    read.
    """

    answers: list[tuple[int, SaidPoint]] = field(default_factory=list)
    wrong: list[Unusable] = field(default_factory=list)


def point_table(points: Iterable[AskedPoint]) -> str:
    """Return points as CSV, with an empty answer each.

    >>> point_table([AskedPoint("night/3", 12, 40)]).splitlines()
    ['image,row,column,crop,annotator,answer', 'night/3,12,40,,,']
    """
    rows = ((guarded(one.image), one.row, one.column, guarded(one.crop), "", "") for one in points)
    return csv_text([COLUMNS, *rows])


def is_point_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a CSV file with the columns of answers to points."""
    try:
        return set(NEEDED) <= set(answers.columns(path))
    except LabellingError:
        return False


def read_points(path: Path, _column: str = "") -> PointLines:
    """Return the answers of a table of points; LabellingError if it lacks a column."""
    has = "annotator" in answers.columns(path)
    found, wrong = answers.rows(path, (*NEEDED, *(["annotator"] if has else [])))
    out = []
    for line, (image, row, column, answer, *annotator) in found:
        if not answer:
            continue
        if not (row.isdecimal() and column.isdecimal()):
            wrong.append((line, image, f"expected a row and a column, from 0; got {row!r} and {column!r}"))
        else:
            out.append((line, SaidPoint(image, int(row), int(column), "".join(annotator), answer)))
    return PointLines(out, sorted(wrong))


def filled(path: Path) -> int:
    """Return how many lines of a table of points are filled in; LabellingError for any other table."""
    if not is_point_table(path):
        raise LabellingError(f"{path}: already exists and is not a table of points; give another folder")
    lines = read_points(path)
    return len(lines.answers) + len(lines.wrong)
