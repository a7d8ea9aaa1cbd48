"""What `plan` found: the content of plan.json, and what a person reads of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Required, TypeAlias, TypedDict

from faultscape.nouns import JsonObject


class LabelsUsed(TypedDict):
    """Which labels a plan is made from, and the selection that drew them."""

    used: int
    selection: str | None
    selector: str | None
    temperature: float | None


class Needed(TypedDict, total=False):
    """How many labels a question needs by one selector, its range, hours and money, or ``why`` no number
    answers; ``units`` of work are priced, and not written.
    """

    labels: Required[int | None]
    low: int | None
    high: int | None
    predictable: bool | None
    units: float | None
    why: str | None
    hours: float | None
    money: float | None


class DuelRow(TypedDict, total=False):
    """What duels with so many images of a cell come to."""

    per_cell: Required[int]
    bound: int
    slots: int
    images: int
    questions: int
    hours: float | None
    money: float | None
    choice_hours: float


class Costs(TypedDict):
    """Seconds of each kind of work, and what an hour costs."""

    mask: float
    choice: float
    question: float
    wage: float | None


class Recommended(TypedDict):
    """What to do next: a line of ``verb``, and why; ``instead`` where the numbers prefer another selector by
    far.
    """

    verb: Literal["rank", "label", "select"]
    question: str
    selection: str
    selector: str
    temperature: float | None
    goal: str | None
    budget: int | None
    round: int | None
    begun: bool
    why: str
    instead: str | None


class PlanProvenance(TypedDict, total=False):
    """What a plan was made from, and with which options."""

    faultscape: str
    truth: str
    within: float
    seed: int
    inputs: dict[str, str]
    arguments: JsonObject


Questions: TypeAlias = dict[str, dict[str, Needed]]


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """How many labels each question needs, by the selector that draws them, and what duels would come to (the
    content of plan.json).

    ``questions``: {question: {selector: {labels, low, high, predictable, hours, money, why}}}, low to high
    the range of what is likely, ``predictable`` whether it spans a factor of ten at most; where no number of
    labels answers all are None but ``why``. ``duels``: a row a number of images of a cell, {per_cell, bound,
    slots, images, hours, ...}. ``labels`` says which labels were used so far.
    ``recommended`` says what to do next; None where there is nothing to recommend.
    """

    models: tuple[str, ...]  # names, in the order of the study
    task: str  # ``segmentation`` or ``classification``
    images: int  # images of the pool that all models predicted, near-duplicates once
    labels: LabelsUsed
    questions: Questions
    duels: tuple[DuelRow, ...]
    costs: Costs  # seconds of each kind of work, and money for an hour, or None
    recommended: Recommended | None = None
    notes: tuple[str, ...] = ()  # sentences that are printed below the tables
    provenance: PlanProvenance = field(default_factory=PlanProvenance)
    study: str = "STUDY"  # its path; not in plan.json, because a folder may be moved

    def __repr__(self) -> str:
        from faultscape.stages.plan import words

        return words.text(self)
