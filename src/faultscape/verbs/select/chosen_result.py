"""A selection as `select` hands it back, and its chosen images as `select --list` and `show STUDY --images`
print them, one per line.

Conventions: light, because verbs name it in their signatures; a line is PATH, a tab, the number of duels, a
tab, the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultscape.nouns import Slots
from faultscape.reporting.verdict import hours_words
from faultscape.results.result import Result
from faultscape.results.table import Column, Rows


@dataclass(frozen=True)
class ChosenImage:
    """An image to label: its id, its path, how many duels or pairs it was chosen for, and why."""

    image: str
    path: str  # '' for an image without a file here
    duels: int  # 0 for an image drawn for all models
    why: str  # the models that differ on it, or the selector


@dataclass(frozen=True, eq=False)
class ChosenImages(Result):
    """The images of a selection, in its order; printed one per line, separated by tabs. The table has a row
    an image.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("image", "text", "id of the image"),
        Column("path", "text", "its path; null for an image without a file here"),
        Column("duels", "count", "duels or pairs that it was chosen for; 0 if drawn for all models"),
        Column("why", "text", "the models that differ on it, or the selector"),
    )

    study: str
    selection: str  # name of the selection
    chosen: tuple[ChosenImage, ...]  # discarded ones left out, with the spares that replace them

    def __repr__(self) -> str:
        return "\n".join(f"{one.path}\t{one.duels}\t{one.why}" for one in self.chosen)

    def _rows(self) -> Rows:
        return [(one.image, one.path or None, one.duels, one.why) for one in self.chosen]


@dataclass(frozen=True, eq=False, repr=False)
class Selected(Slots):
    """A selection that was made or extended, how many of its images have labels, and what to run next."""

    name: str = ""  # name of the selection
    labelled: int = 0  # images of it that have a label
    next: str = ""  # the command that labels or ranks it; '' where nothing is left to do
    hours: float | None = None  # of labelling that it asks for

    def __repr__(self) -> str:
        return "\n".join([self.summary(), *self._next_text()])

    def full_text(self) -> str:
        """Return what ``-v`` prints: also how the number of slots compares with the papers' upper bound."""
        return "\n".join([self.summary(), *self._bounds(), *self._next_text()])

    def summary(self) -> str:
        """Return how many images are to label and for what, without what to run next."""
        return f"{self.name}: {self._summary(self.labelled)}"

    def _next_text(self) -> list[str]:
        return [f"next: {self.next}{hours_words(self.hours)}"] if self.next else []
