"""The chosen images of a selection as `select --list` and `show STUDY --images` print them, one per line.

Conventions: light, because verbs name it in their signatures; a line is PATH, a tab, the number of duels, a
tab, the reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChosenImage:
    """An image to label: its id, its path, how many duels or pairs it was chosen for, and why."""

    image: str
    path: str  # '' for an image without a file here
    duels: int  # 0 for an image drawn for all models
    why: str  # the models that differ on it, or the selector


@dataclass(frozen=True)
class ChosenImages:
    """The images of a selection, in its order; printed one per line, separated by tabs."""

    study: str
    selection: str  # name of the selection
    chosen: tuple[ChosenImage, ...]  # discarded ones left out, with the spares that replace them

    def __repr__(self) -> str:
        return "\n".join(f"{one.path}\t{one.duels}\t{one.why}" for one in self.chosen)
