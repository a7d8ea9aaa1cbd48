"""Data that travels between rooms: frozen dataclasses that compute nothing but text.

Conventions: letters in shapes are H W pixels, C classes, J models, I images, P pairs. Inside the package a
label map contains *places*: 0..C-1 in the order of ``Classes.ids``, and C for void. ``Classes.ids`` has the
ids that people see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Required, TypeAlias, TypedDict

from faultscape.choices import CapRule, Constraints, Discrepancy, Goal, Over
from faultscape.errors import counted

if TYPE_CHECKING:
    import numpy as np

Json: TypeAlias = (
    "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"  # what JSON can hold
)
JsonObject: TypeAlias = Mapping[str, Json]

UNKNOWN = 65535  # in place of the place of a class: the label of no class


@dataclass(frozen=True)
class Classes:
    """The classes of a study: one name, id and colour each, with void ids, the background id and parent
    groups.

    ``ids`` are the pixel values of the class list (C of them, any order, not necessarily 0..C-1); ``void``
    are pixel values that are not classes; ``background`` is the id of a class that forms no category group,
    or None; ``parents`` maps the name of a parent group to the names of its classes (Yan et al. 2021, Table
    1); ``synonyms`` maps the name of a class to other words for it. Classes to recognise, rather than to
    draw, may do without colours; ``wnids`` are their WordNet synsets (all of them or none), ``glosses`` what
    they mean in words.
    """

    names: tuple[str, ...]
    ids: tuple[int, ...]
    colours: tuple[tuple[int, int, int], ...]
    void: tuple[int, ...] = ()
    background: int | None = None
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    synonyms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    wnids: tuple[str, ...] = ()
    glosses: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def groups(self) -> tuple[int, ...]:
        """Places of the classes that form category groups: all but the background."""
        return tuple(place for place, id_ in enumerate(self.ids) if id_ != self.background)

    def __repr__(self) -> str:
        extra = f", background {self.background}" if self.background is not None else ""
        return (
            f"Classes({len(self)}: {', '.join(self.names[:4])}{', ...' if len(self) > 4 else ''}; void"
            f" {list(self.void)}{extra})"
        )


@dataclass(frozen=True)
class Scale:
    """First and third quartile of each class's share of pixels, over the masks that contain the class (Yan et
    al. 2021).
    """

    names: tuple[str, ...]
    n_images: tuple[int, ...]
    t_min: tuple[float, ...]
    t_max: tuple[float, ...]

    def __repr__(self) -> str:
        rows = "\n".join(
            f"  {name:<16} {low:7.4f} .. {high:7.4f}  ({n} images)"
            for name, n, low, high in zip(self.names, self.n_images, self.t_min, self.t_max, strict=True)
        )
        return f"Scale of {len(self.names)} classes\n{rows}"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Counts of every pair of maps on every image of a block, enough for every concordance.

    ``pairs`` (P, 2): places in ``names`` = models + truths of (reference, prediction); a model pair is
    (earlier, later), a truth is always the reference. ``both`` (P, I, C): pixels that both call y, N_yy of
    Yan et al. 2021, eq. 8. ``rows``, ``columns`` (P, I, C + 1): pixels that the reference, the prediction
    call y; the last is void. Pixels void in a *truth* are left out of all three. ``totals`` (J, I, C + 1):
    each model's own histogram. ``present`` (P, I): False where a map of the pair is missing. ``cells`` (P, I,
    C + 1, C + 1), row = reference, or None when only intersections and marginals were counted.
    """

    classes: Classes
    models: tuple[str, ...]
    truths: tuple[str, ...]
    images: tuple[str, ...]
    pairs: np.ndarray
    both: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    totals: np.ndarray
    present: np.ndarray
    cells: np.ndarray | None = None

    def __repr__(self) -> str:
        truths = f", {len(self.truths)} truth" if self.truths else ""
        return (
            f"Pairs({len(self.images)} images, {len(self.models)} models{truths}, {len(self.classes)}"
            f" classes, {len(self.pairs)} pairs)"
        )


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far J models agree before any label: ``mean`` (J, J), NaN on the diagonal and for two models
    without an image in common; ``images`` (J, J) counted, ``alike`` (J, J) on how many the two are identical.

    ``concordance`` names the measure (0-1 for classifiers); ``warnings`` are sentences about models that
    disagree with all others, or agree everywhere.
    """

    models: tuple[str, ...]
    concordance: str
    mean: np.ndarray
    images: np.ndarray
    alike: np.ndarray
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Agreement({self.concordance} of {len(self.models)} models,"
            f" {counted(len(self.warnings), 'warning')})"
        )


@dataclass(frozen=True)
class Slot:
    """One place of one cell: this image was chosen for this defender, attacker and class (a row of
    selection.csv).
    """

    selector: str
    round: int
    step: int
    defender: str
    attacker: str
    class_: str
    place: int
    image: str
    concordance: float
    probability: float
    pool: int

    @property
    def cell(self) -> tuple[str, ...]:
        """What this row has a place in."""
        return (self.defender, self.attacker, self.class_)


@dataclass(frozen=True)
class PairSlot:
    """One place of one unordered pair of classifiers: their predictions for the image, the distance between
    these, and the lower of both confidences.
    """

    selector: str
    round: int
    step: int
    model_a: str
    model_b: str
    label_a: str
    label_b: str
    place: int
    image: str
    distance: float
    confidence: float
    probability: float
    pool: int

    @property
    def cell(self) -> tuple[str, ...]:
        """What this row has a place in."""
        return (self.model_a, self.model_b)


@dataclass(frozen=True)
class Draw:
    """One image that a selector drew for all models at once: its score, the probability of drawing it from
    what was left at this step, and the initial size of the ``pool``.

    A selector that does not draw at random has probability NaN.
    """

    selector: str
    round: int
    step: int
    image: str
    score: float
    probability: float
    pool: int
    place = 1  # of its own cell: every drawn image is chosen

    @property
    def cell(self) -> tuple[str, ...]:
        """What this row has a place in."""
        return (self.image,)


Row = Slot | PairSlot | Draw


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of J classifiers for I images: ``labels`` (J, I) places of classes, -1 for none;
    ``probabilities`` (J, I), NaN if a model gives none.

    ``top`` are the K most likely places and their probabilities, (J, I, K) each, -1 and NaN where a model
    names fewer; None if models name only one.
    """

    classes: Classes
    models: tuple[str, ...]
    images: tuple[str, ...]
    labels: np.ndarray
    probabilities: np.ndarray
    top: tuple[np.ndarray, np.ndarray] | None = None

    def __repr__(self) -> str:
        return (
            f"Predictions({len(self.models)} models, {len(self.images)} images, {len(self.classes)} classes)"
        )


class ScaleEntry(TypedDict):
    """A class's quartiles as a scale file stores them, None if no mask contains the class."""

    n_images: int
    t_min: float | None
    t_max: float | None


class Definition(TypedDict, total=False):
    """The definition of a selection, as its file stores it: each selector has its own keys, also one of your
    own, and files of earlier versions lack some.
    """

    selector: Required[str]
    selector_file: str
    seed: int
    ties: str
    spares: int
    keep_duplicates: bool
    concordance: str
    concordance_file: str
    over: Over
    constraints: Constraints
    groups: list[str]
    scale: dict[str, ScaleEntry] | None
    per_class: int
    discrepancy: Discrepancy
    temperatures: dict[str, float | str]
    top: int
    confidence: float
    cap: int
    cap_rule: CapRule
    distance: str
    hierarchy: str | None
    distances: str
    only: list[str]
    without: list[str]
    goal: Goal
    stream: str
    votes: str
    temperature: float
    sharpness: float
    epsilon: float
    made: str
    replaced_by: str


@dataclass(frozen=True, eq=False)
class Slots:
    """A selection: its definition and its rows; places 1..depth of a cell are chosen, later ones are
    spares.
    """

    models: tuple[str, ...]
    definition: Definition
    rows: tuple[Row, ...]  # all of one kind
    # how many of the slots chosen just now ties decided: an image that was left out is as good; no file holds
    # it
    tied: int = 0

    @property
    def depth(self) -> int:
        """How many places of a cell are chosen: ``per_class`` for duels (K of Yan et al. 2021), ``top`` for
        pairs (k of Wang et al. 2020), 1 for draws.
        """
        return int(self.definition.get("per_class") or self.definition.get("top") or 1)

    @property
    def chosen(self) -> tuple[Row, ...]:
        """The rows whose images a person should label."""
        return tuple(row for row in self.rows if row.place <= self.depth)

    @property
    def slots(self) -> int:
        """How many rows are chosen; an image can be in several."""
        return len(self.chosen)

    @property
    def spares(self) -> int:
        """How many rows follow the chosen ones, as replacements for discarded images."""
        return len(self.rows) - len(self.chosen)

    @property
    def duels(self) -> tuple[Slot, ...]:
        """The chosen rows of duels of label maps (Yan et al. 2021), if images were chosen so."""
        return tuple(row for row in self.chosen if isinstance(row, Slot))

    @property
    def pairs(self) -> tuple[PairSlot, ...]:
        """The chosen rows of pairs of classifiers (Wang et al. 2020), if images were chosen so."""
        return tuple(row for row in self.chosen if isinstance(row, PairSlot))

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The images that were drawn for all models at once, if they were chosen so."""
        return tuple(row for row in self.chosen if isinstance(row, Draw))

    @property
    def images(self) -> tuple[str, ...]:
        """Distinct images to label, in order of first appearance."""
        return tuple(dict.fromkeys(row.image for row in self.chosen))

    def __repr__(self) -> str:
        return _slots_text(self)

    def full_text(self) -> str:
        """Return what ``-v`` prints: also how the number of slots compares with the papers' upper bound."""
        return "\n".join([_slots_text(self), *_bound_text(self)])


def _slots_text(slots: Slots) -> str:
    """Return the summary of a selection: how many images to label, and for what."""
    if draws := slots.draws:
        last = max(row.round for row in draws)
        rounds = (
            f" in {last} rounds, {sum(row.round == last for row in draws)} in the last" if last > 1 else ""
        )
        pool = max(row.pool for row in draws)
        all_ = f"; these are all {pool:,} that could be drawn" if len(draws) >= pool else ""
        more = (
            "; once they are labelled, --more 10 draws the next"
            if slots.definition.get("goal") == "best" and not all_
            else ""
        )
        return (
            f"{counted(len(draws), 'image')} to label, drawn by the selector"
            f" {slots.definition['selector']}{rounds}{all_}{more}"
        )
    spares = f", {counted(slots.spares, 'spare')}" if slots.spares else ""
    return f"{counted(len(slots.images), 'image')} to label ({counted(slots.slots, 'duel')}{spares})"


def _bound_text(slots: Slots) -> list[str]:
    """Return how many slots are possible, and how many are empty; '' for draws, which have no bound."""
    j = len(slots.models)
    if pairs := slots.pairs:
        k, held = slots.depth, Counter(row.cell for row in pairs)
        cells, full = j * (j - 1) // 2, sum(number == k for number in held.values())
        return [
            f"at most J(J-1)/2 k = {j} x {j - 1} / 2 x {k} = {cells * k} slots",
            f"{cells - full} of {cells} pairs have fewer than {k}",
        ]
    if not slots.duels:
        return []
    groups = len(slots.definition["groups"])
    cells, full = j * (j - 1) * groups, len({row.cell for row in slots.duels})
    return [
        f"at most J(J-1)|Y|K = {j} x {j - 1} x {groups} x {slots.depth} = {cells * slots.depth} slots",
        f"{cells - full} of {cells} cells (defender, attacker, class) are empty",
        f"constraints: {slots.definition['constraints']}",
    ]
