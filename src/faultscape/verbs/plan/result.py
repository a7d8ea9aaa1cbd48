"""The result of `plan`: the content of plan.json, and how it is printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NotRequired, Required, TypeAlias, TypedDict

from faultscape.nouns import JsonObject
from faultscape.results import plots
from faultscape.results.result import Result
from faultscape.results.table import Column, Rows

if TYPE_CHECKING:
    from faultscape.results.plots import Axes


class LabelsUsed(TypedDict):
    """Which labels a plan is made from, and the selection that drew them."""

    used: int
    selection: str | None
    selector: str | None
    temperature: float | None


class Needed(TypedDict, total=False):
    """How many labels a question needs with one selector, the range, hours and money, or ``why`` no number
    answers it; ``units`` of work are priced but not written.
    """

    labels: Required[int | None]
    low: int | None
    high: int | None
    predictable: bool | None
    units: float | None
    why: str | None
    hours: float | None
    money: float | None


class PairNeeded(TypedDict):
    """How many labels tell two models apart, the likely range, and whether it spans at most a factor of
    ten.
    """

    models: list[str]
    labels: int
    low: int
    high: int
    predictable: bool


class Apart(TypedDict):
    """How many points, and how many maps, tell two models apart that differ by ``apart`` of 100 points of
    mIoU, with hours; the maps are None where no selector can draw them.
    """

    apart: float
    points: int
    point_hours: float
    maps: int | None
    map_hours: float | None


class HalfWidth(TypedDict):
    """How many points make the 95 % interval of a model's mIoU as wide as twice ``within``, of 100 points."""

    within: float
    points: int
    point_hours: float


class BoxesThere(TypedDict):
    """How many of the ``images`` that points are drawn from have boxes (``boxed``), and, where none has,
    below how many ``objects`` an image boxes around all of them would cost less than the points that they
    save.
    """

    images: int
    boxed: int
    objects: float | None


class PointNumbers(TypedDict):
    """How many points each question needs, in the rows of `Needed`, from those ``answered`` of a selection,
    and how many points, and maps that a selector draws (``maps_by``), tell close models apart; of a model
    alone only what its own score takes (``half_widths``).
    """

    answered: int
    selection: str | None
    maps_by: str
    questions: dict[str, Needed]
    apart: list[Apart]
    half_widths: NotRequired[list[HalfWidth]]
    boxes: NotRequired[BoxesThere]


class MixRow(TypedDict):
    """What a question takes by points alone, by masks alone, and by masks with choices, None where that costs
    as much as masks alone; ``cheapest`` is points, masks or mix. The question ``apart`` is about two models
    that differ by 1.5 of 100 points.
    """

    question: str
    points: int | None
    point_hours: float | None
    masks: int | None
    mask_hours: float | None
    mix_masks: int | None
    mix_choices: int | None
    mix_hours: float | None
    cheapest: str


class Worth(TypedDict):
    """What the answers of one kind (mask, choice, point) cost so far, and to which 95 % half-width they tell
    the difference of two models, of 100 points: points in pooled mIoU, masks in the mean over images, choices
    together with the masks, which are then worth so many ``masks``.
    """

    kind: Literal["mask", "choice", "point"]
    answers: int
    hours: float
    half_width: float
    masks: float | None


class MixNumbers(TypedDict):
    """The cheapest answers of each question, and what those so far were worth. Choices explain a share of the
    variance that masks leave (``explained``; None before it is measured, then it is the ``assumed`` one), and
    are asked about so many ``pairs`` of models an image.
    """

    explained: float | None
    assumed: float
    pairs: int
    rows: list[MixRow]
    worth: list[Worth]


class PoolSize(TypedDict):
    """The mean outcome of duels in random pools of one size: distinct images ``chosen``, the concordance of
    the slots, and how far the order of the models agrees with that of the pool of twice the size (Spearman),
    None for the whole pool and where labels are missing.
    """

    images: int
    pools: int
    chosen: float
    concordance: float
    spearman: float | None


class Twice(TypedDict):
    """What twice as many ``images`` lead to expect: concordance, and agreement of the order of models with
    that of this pool (Spearman), each [x, low, high] with a 95 % interval for one such pool; and which share
    of the slots holds ``new`` images.
    """

    images: int
    concordance: list[float] | None
    spearman: list[float] | None
    new: float


class PoolPart(TypedDict):
    """A part of the pool by its ``make`` (set=..., condition=..., tag=...), and random pools of its size:
    their mean, and the ends between which 95 % of them lie.
    """

    make: str
    images: int
    concordance: float
    random: list[float]


class PoolOutlook(TypedDict):
    """How the outcome of duels depends on the pool; ``labelled`` is the share of the images that the whole
    pool chooses.
    """

    sizes: list[PoolSize]
    twice: Twice
    make: list[PoolPart]
    labelled: float


class DuelRow(TypedDict, total=False):
    """The work for duels with a given number of images per cell."""

    per_cell: Required[int]
    bound: int
    slots: int
    images: int
    questions: int
    hours: float | None
    money: float | None
    choice_hours: float


class Costs(TypedDict):
    """Seconds for each kind of work, and the cost of an hour."""

    mask: float
    choice: float
    question: float
    point: float
    box: float
    wage: float | None


class Recommended(TypedDict):
    """What to do next: a command of ``verb``, and why; it draws up to ``budget`` images (or points, if these
    are the ``selector``), or ``round`` more of a selection that has ``begun``. ``instead`` is set if the
    numbers clearly favour something else; ``labelled`` of the ``new`` images that it draws have labels
    already, if some have. The command `label export` writes to ``file``, ``again`` what answers left
    undecided.
    """

    verb: Literal["rank", "label", "select", "measure"]
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
    new: NotRequired[int]
    labelled: NotRequired[int]
    file: NotRequired[str]
    again: NotRequired[bool]


class PlanProvenance(TypedDict, total=False):
    """What a plan was made from, and with which options."""

    faultscape: str
    truth: str
    within: float
    seed: int
    inputs: dict[str, str]
    arguments: JsonObject


_DUELS, _APART = "duels", "apart"  # what a plot shows besides questions
Questions: TypeAlias = dict[str, dict[str, Needed]]


@dataclass(frozen=True, eq=False)
class LabelPlan(Result):
    """How many labels each question needs with each selector, and the work for duels (the content of
    plan.json).

    ``questions`` is {question: {selector: {labels, low, high, predictable, hours, money, why}}}: low to high
    is the likely range, ``predictable`` says whether it spans at most a factor of ten, and if no number of
    labels answers the question, all are None except ``why``. ``duels`` has one row per number of images per
    cell, {per_cell, bound, slots, images, hours, ...}. ``pairs`` has one row for each two models that differ,
    {models, labels, low, high, predictable}, with the recommended selector. ``labels`` says which labels were
    used so far. ``points`` holds the numbers of points, of label maps only; of a model alone there are no
    others. ``mix`` says what is cheapest, and what answers so far were worth. ``recommended`` says what to do
    next; None if there is nothing to recommend. The table has a row
    for each question and way to draw.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("question", "text", "what the labels are to answer, as in ``questions``"),
        Column("drawn_by", "text", "the selector that draws what people label"),
        Column("unit", "text", "what people label: images or points"),
        Column("needed", "count", "how many of them; null if no number answers the question"),
        Column("needed_low", "count", "lower end of the likely range"),
        Column("needed_high", "count", "upper end of the likely range"),
        Column("predictable", "flag", "whether that range spans at most a factor of ten"),
        Column("work_hours", "number", "the labelling", "hours"),
        Column("money", "number", "its cost, in the currency of the wage that was given"),
        Column("why", "text", "why no number answers the question"),
    )

    models: tuple[str, ...]  # names, in the order of the study
    task: str  # ``segmentation`` or ``classification``
    images: int  # images of the pool that all models predicted, near-duplicates once
    labels: LabelsUsed
    questions: Questions
    duels: tuple[DuelRow, ...]
    costs: Costs  # seconds of each kind of work, and money for an hour, or None
    recommended: Recommended | None = None
    pairs: tuple[PairNeeded, ...] = ()
    points: PointNumbers | None = None
    notes: tuple[str, ...] = ()  # sentences that are printed below the tables
    provenance: PlanProvenance = field(default_factory=PlanProvenance)
    study: str = "STUDY"  # its path; not in plan.json, because a folder may be moved
    mix: MixNumbers | None = None
    pool: PoolOutlook | None = None  # with --pool: outcomes by the size and make of the pool

    def __repr__(self) -> str:
        from faultscape.verbs.plan import words

        return words.text(self)

    def _says(self) -> str:
        from faultscape.verbs.plan import words

        return words.about(self)

    def _needs(self) -> list[tuple[str, str, str, Needed]]:
        """Return (question, selector, unit, what it needs) of all questions."""
        found = [
            (question, selector, "images", row)
            for question, rows in self.questions.items()
            for selector, row in rows.items()
        ]
        asked = self.points["questions"] if self.points else {}
        return [*found, *((question, "points", "points", row) for question, row in asked.items())]

    def _rows(self) -> Rows:
        return [
            (
                question,
                selector,
                unit,
                row["labels"],
                row.get("low"),
                row.get("high"),
                row.get("predictable"),
                row.get("hours"),
                row.get("money"),
                row.get("why"),
            )
            for question, selector, unit, row in self._needs()
        ]

    def plot(self, ax: Axes | None = None, what: str = "") -> Axes:
        """Draw how many labels each question needs with each selector, with the likely range, on ``ax`` or
        new Axes.

        ``what`` is one question; without it, all of them. Or ``duels``, the images that duels need by images
        per cell; ``apart``, the labels that tell two models apart by their difference. ResultError for
        another, and where no number answers any.
        """
        from faultscape.verbs.plan import words

        known = [one for one in self._needs() if one[3]["labels"]]
        names = tuple(dict.fromkeys(question for question, *_ in known))
        more = (*([_DUELS] if self.duels else []), *([_APART] if self.points else []))
        what = plots.chosen(what, (*names, *more), "all" if names else "")
        if what == _DUELS:
            return self._plot_duels(ax)
        if what == _APART and self.points:
            return self._plot_apart(ax, self.points)
        marks = [
            plots.Mark(
                f"{selector}, {unit}" if unit not in selector else selector,
                selector,
                row["labels"],
                row.get("low"),
                row.get("high"),
                words.title(self, question),
            )
            for question, selector, unit, row in known
            if what in ("all", question)
        ]
        title = f"Labels needed to compare {len(self.models)} models"
        note = "bars: the likely range"
        return plots.intervals(ax, marks, label="number of labels", title=title, note=note, log=True)

    def _plot_duels(self, ax: Axes | None) -> Axes:
        points = [
            (row["per_cell"], plots.Mark("images", "", row.get("images")))
            for row in sorted(self.duels, key=lambda row: row["per_cell"])
        ]
        labels = ("images for each pair of models and class", "images to label")
        title = f"Images that duels of {len(self.models)} models need"
        return plots.series(ax, {"images": points}, labels=labels, title=title)

    def _plot_apart(self, ax: Axes | None, points: PointNumbers) -> Axes:
        rows = sorted(points["apart"], key=lambda row: row["apart"])
        maps = f"whole images, drawn by {points['maps_by']}"
        lines = {
            "points": [(row["apart"], plots.Mark("points", "points", row["points"])) for row in rows],
            maps: [(row["apart"], plots.Mark(maps, maps, row["maps"])) for row in rows],
        }
        lines = {name: held for name, held in lines.items() if any(mark.value for _, mark in held)}
        labels = ("difference of two models (of 100 points of mIoU)", "labels that tell them apart")
        title = "Labels that tell two models apart"
        return plots.series(ax, lines, labels=labels, title=title, log=True)
