"""What `plan` found: the content of plan.json, and what a person reads of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """How many labels each question needs, by the selector that draws them, and what duels would come to (the content of plan.json).

    ``questions``: {question: {selector: {labels, low, high, foretold, hours, money, why}}}, low to high the range of what is
    likely, ``foretold`` whether it spans a factor of ten at most; where no number of labels answers all are None but ``why``.
    ``duels``: a row a number of images of a cell, {per_cell, bound, slots, images, hours, ...}. ``labels`` says which labels were
    used so far, ``recommended`` what to do next.
    """

    models: tuple[str, ...]
    task: str
    images: int
    labels: dict[str, Any]
    questions: dict[str, dict[str, dict[str, Any]]]
    duels: tuple[dict[str, Any], ...]
    costs: dict[str, Any]
    recommended: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    study: str = "STUDY"  # not written: a folder may be moved

    def __repr__(self) -> str:
        from faultscape.stages.plan import words

        return words.text(self)
