"""What `label export` and `label import` report about points.

Conventions: light, no heavy imports.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import counted
from faultscape.terminal_lines import wrapped
from faultscape.verbs.label.result import next_lines

_TABLE = "points"  # the format with a table and crops


@dataclass(frozen=True)
class PointsExported:
    """What `label export` wrote for a selection of points: a table, or the files of a tool, with crops around
    the points or whole images.
    """

    path: str  # the table, or the folder
    points: int  # how many are open; 0 without a file
    seen: int  # how many of them people can see: the files of the others' images are missing or changed
    answered: int  # points left out: answered already, or their image has a label
    format: str = _TABLE  # name of the label format
    then: str = ""  # the command that imports the answers
    says: str = ""  # what to do with the files

    def __repr__(self) -> str:
        rest = f"; {counted(self.answered, 'point')} already answered" if self.answered else ""
        if not self.points:
            return f"no points are open; nothing was written{rest}"
        unseen = self.points - self.seen
        around = ", a crop of the image around each" if self.format == _TABLE else f" ({self.format})"
        lines = wrapped(f"{self.path}: {counted(self.points, 'point')}{around}{rest}")
        if unseen:
            lie = counted(unseen, "point lies in an image", "points lie in images")
            lack = "without a crop" if self.format == _TABLE else "not among them"
            lines += wrapped(f"{lie} whose file is missing or has changed, and {lack}")
        return "\n".join([*lines, *next_lines(self.says, self.then)])


@dataclass(frozen=True)
class PointsAnswered:
    """What `label import` stored of answers to points."""

    truth: str  # name under which the answers are kept
    new: int  # new or changed answers
    failures: int  # lines, or points of a tool, that cannot be used
    first: str = ""  # why the first of them was rejected
    then: str = ""

    def __repr__(self) -> str:
        parts = [
            f"{counted(self.new, 'point')} answered" if self.new else "",
            f"{counted(self.failures, 'answer')} not usable (failures.csv)" if self.failures else "",
        ]
        why = f"; the first: {self.first}" if self.first else ""
        following = f"\nnext: {self.then}" if self.then else ""
        return f"truth {self.truth}: {', '.join(filter(None, parts)) or 'nothing new'}{why}{following}"
