"""The chosen images of a selection as `select --list` and `show STUDY --images` print them, one a line.

Conventions: light, since verbs name it in their signatures; a line is PATH, a tab, the number of duels, a
tab, the reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChosenImage:
    """An image to label: its id, where it lies, how many duels or pairs it was chosen for, and why."""

    image: str
    path: str
    duels: int
    why: str


@dataclass(frozen=True)
class ChosenImages:
    """The images of a selection, in its order; printed one a line, with tabs between."""

    study: str
    selection: str
    chosen: tuple[ChosenImage, ...]

    def __repr__(self) -> str:
        return "\n".join(f"{one.path}\t{one.duels}\t{one.why}" for one in self.chosen)
