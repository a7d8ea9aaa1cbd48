"""The second round of masks, as reports show it: who checked whose mask, and which marks are open (Yan
et al. 2021, section 4.1.4).

Conventions: a mask is (truth, image). A mark is a finding that is not resolved. Marks and checks of truths
that the study does not have any more are left out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from faultscape.errors import counted
from faultscape.study.answers.checks import NOTHING, Checks

if TYPE_CHECKING:
    from faultscape.reading.study import Study

Mask = tuple[str, str]


@dataclass(frozen=True)
class SecondRound:
    """How many marks are open on each mask that has some, and who looked at each, other than who drew it."""

    marks: dict[Mask, int] = field(default_factory=dict)
    checkers: dict[Mask, frozenset[str]] = field(default_factory=dict)

    def agreeing(self, mask: Mask) -> frozenset[str]:
        """Return who checked a mask; nobody while a mark on it is open."""
        return frozenset() if mask in self.marks else self.checkers.get(mask, frozenset())

    def words(self, images: Collection[str], truths: Collection[str] | None = None) -> str:
        """Return how many marks are open on masks of some images, in some truths or all; '' if none is."""
        chosen = frozenset(images)
        named = None if truths is None else frozenset(truths)
        mine = {
            (truth, image): number
            for (truth, image), number in self.marks.items()
            if image in chosen and (named is None or truth in named)
        }
        if not mine:
            return ""
        on = len({image for _, image in mine})
        return f"{counted(sum(mine.values()), 'open mark')} on masks of {counted(on, 'image')}"


def second_round(study: Study) -> SecondRound:
    """Read what people found in each other's masks."""
    there = set(study.label_folders)
    marks = dict[Mask, int]()
    checkers = dict[Mask, frozenset[str]]()
    for check in Checks(study.root, study.database).checks():
        if check.truth not in there:
            continue
        mask = check.truth, check.image
        if check.kind != NOTHING and not check.resolved:
            marks[mask] = marks.get(mask, 0) + 1
        if not is_by(check.truth, check.annotator):
            checkers[mask] = checkers.get(mask, frozenset()) | {check.annotator}
    return SecondRound(marks, checkers)


def is_by(truth: str, person: str) -> bool:
    """Whether a truth holds the masks that a person drew, by its name.

    >>> is_by("labels-ann", "ann"), is_by("labels-joann", "ann"), is_by("labels", "ann")
    (True, False, False)
    """
    return bool(person) and (truth == person or truth.endswith(f"-{person}"))
