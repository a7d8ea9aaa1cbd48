"""What `label export` and `label import` report about points.

Conventions: light, no heavy imports.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import counted
from faultscape.terminal_lines import wrapped
from faultscape.verbs.label.result import next_lines


@dataclass(frozen=True)
class PointsExported:
    """What `label export` wrote for a selection of points: a table, and crops around the points."""

    path: str  # the table
    points: int  # how many were written; 0 without a file
    crops: int  # how many of them have a crop: the files of the others' images are missing or changed
    answered: int  # points left out: answered already, or their image has a label
    then: str = ""  # the command that imports the answers
    says: str = ""  # what to do with the table

    def __repr__(self) -> str:
        rest = f"; {counted(self.answered, 'point')} already answered" if self.answered else ""
        if not self.points:
            return f"no points are open; nothing was written{rest}"
        lacking = self.points - self.crops
        lines = wrapped(
            f"{self.path}: {counted(self.points, 'point')}, a crop of the image around each{rest}"
        )
        if lacking:
            lie = counted(lacking, "point lies in an image", "points lie in images")
            lines += wrapped(f"{lie} whose file is missing or has changed, and without a crop")
        return "\n".join([*lines, *next_lines(self.says, self.then)])


@dataclass(frozen=True)
class PointsAnswered:
    """What `label import` stored of a table of points."""

    truth: str  # name under which the answers are kept
    new: int  # new or changed answers
    failures: int  # lines that cannot be used
    first: str = ""  # why the first unusable line was rejected
    then: str = ""

    def __repr__(self) -> str:
        parts = [
            f"{counted(self.new, 'point')} answered" if self.new else "",
            f"{counted(self.failures, 'line')} not usable (failures.csv)" if self.failures else "",
        ]
        why = f"; the first: {self.first}" if self.first else ""
        following = f"\nnext: {self.then}" if self.then else ""
        return f"truth {self.truth}: {', '.join(filter(None, parts)) or 'nothing new'}{why}{following}"
