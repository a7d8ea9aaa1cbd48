"""What questions about models in memory are answered with."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass

from faultscape.errors import counted
from faultscape.nouns import Slots
from faultscape.results.result import Result
from faultscape.results.table import Column, Rows
from faultscape.verbs.rank.result import Ranked

_SHOWN = 10  # cases that are printed
_LINE = re.compile("`rank[^`]* -v` prints them")  # a command on a study that is gone


@dataclass(frozen=True, eq=False, repr=False)
class Better(Ranked):
    """Which model is better: the standings, with their verdict, and the images whose labels they rest on.

    An image is named by its place, 0..I-1, or by its id where maps were given as {id: map}.
    """

    labelled: tuple[int | str, ...] = ()  # images with a label, in the order in which they were asked for

    def tables(self) -> str:
        """Return what is printed below the verdict."""
        return _LINE.sub("`.full_text()` returns them", super().tables())


@dataclass(frozen=True)
class Case:
    """An image on which two models differ, and what they say where they do."""

    image: int | str  # its place, or its id where maps were given as {id: map}
    defender: str  # the model whose map is compared; of classifiers the one that comes first
    attacker: str  # the model that it is compared with
    class_: str  # the class that the defender sees there, for which the image was chosen
    concordance: float  # of both maps of this image, 1: the same; of classifiers minus the distance
    defender_says: str  # the class that the defender sees where they differ most
    attacker_says: str  # the class that the attacker sees there
    share: float  # the part of the image where they say so; 1 for classifiers
    true: str = ""  # the class that the label shows there most often; '' without a label

    def __repr__(self) -> str:
        differ = f"{self.defender} says {self.defender_says}, {self.attacker} says {self.attacker_says}"
        where = f" on {100 * self.share:.1f} % of it" if self.share < 1 else ""
        truth = f"; it is {self.true}" if self.true else ""
        return f"image {self.image}: {differ}{where}{truth}"


@dataclass(frozen=True, eq=False, repr=False)
class Failures(Result):
    """Where models fail: the images on which they differ most, and, with labels, their standings there."""

    cases: tuple[Case, ...]  # one for each pair of models and class that chose an image, the worst first
    images: tuple[int | str, ...]  # the chosen images, each once, in the order in which they were chosen
    slots: Slots  # the selection, as `select` makes it; its images have the ids of the study that was made
    standings: Better | None = None  # standings on these images; None without labels
    labelled: tuple[int | str, ...] = ()  # images with a label, in the order in which they were asked for

    columns = (
        Column("image", "text", "the image: its place, or its id"),
        Column("defender", "text", "the model whose map is compared"),
        Column("attacker", "text", "the model that it is compared with"),
        Column("class", "text", "the class for which the image was chosen"),
        Column("concordance", "number", "of both maps on this image; of classifiers minus their distance"),
        Column("defender_says", "text", "the class that the defender sees where they differ most"),
        Column("attacker_says", "text", "the class that the attacker sees there"),
        Column("share", "number", "the part of the image where they say so", "0 to 1"),
        Column("true", "text", "the class that the label shows there most often"),
    )

    def _rows(self) -> Rows:
        return [
            (str(case.image), *(None if value == "" else value for value in astuple(case)[1:]))
            for case in self.cases
        ]

    def _says(self) -> str:
        return repr(self).partition("\n")[0]

    def _shown(self, rows: Rows) -> Rows:
        first = {str(row[0]): row for row in reversed(rows)}  # a row an image: its cells say much the same
        return [row for row in rows if first[str(row[0])] is row][:_SHOWN]

    def __repr__(self) -> str:
        head = (
            f"{counted(len(self.images), 'image')} on which {counted(len(self.slots.models), 'model')} differ"
            f" most ({counted(len(self.cases), 'duel')}):"
        )
        first = {case.image: case for case in reversed(self.cases)}
        worst = [case for case in self.cases if first[case.image] is case]
        more = [f"and {len(worst) - _SHOWN} more images"] if len(worst) > _SHOWN else []
        standings = ["", repr(self.standings)] if self.standings is not None else []
        return "\n".join([head, *map(repr, worst[:_SHOWN]), *more, *standings])
