"""Data that travels between rooms: frozen dataclasses that compute nothing but text.

Conventions: letters in shapes are H W pixels, C classes, J models, I images, P pairs. Inside the package a
label map contains *places*: 0..C-1 in the order of ``Classes.ids``, and C for void. ``Classes.ids`` are the
ids that people see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Required, TypeAlias, TypedDict

from faultscape.choices import CapRule, Constraints, Discrepancy, Over, PointGoal
from faultscape.errors import counted
from faultscape.results import plots
from faultscape.results.result import Result
from faultscape.results.row_columns import ANY_ROW, ROW_COLUMNS
from faultscape.results.table import Column, Rows

if TYPE_CHECKING:
    import numpy as np

    from faultscape.results.plots import Axes

Json: TypeAlias = (
    "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"  # what JSON can hold
)
JsonObject: TypeAlias = Mapping[str, Json]

UNKNOWN = 65535  # instead of a place: the label of no class

# what people answer about a pixel besides a class
VOID = "void"  # no class of the list
CANNOT_TELL = "cannot tell"
BORDER = "|"  # between the two classes of a border


@dataclass(frozen=True)
class Classes:
    """The classes of a study: one name, id and colour each, with void ids, the background id and parent
    groups.

    Class lists for classification may have no colours. Parent groups are those of Yan et al. 2021, Table 1.
    """

    names: tuple[str, ...]  # C of them, in the order of ids
    ids: tuple[int, ...]  # pixel values in label maps, in any order, not necessarily 0..C-1
    colours: tuple[tuple[int, int, int], ...]  # (red, green, blue), 0..255 each; () for classes to recognise
    void: tuple[int, ...] = ()  # pixel values that are not classes
    background: int | None = None  # id of the class that forms no category group; None: each forms one
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)  # {group: names of its classes}
    synonyms: dict[str, tuple[str, ...]] = field(default_factory=dict)  # {class: other words for it}
    wnids: tuple[str, ...] = ()  # WordNet synsets (n and eight digits) of all classes, or ()
    glosses: dict[str, str] = field(default_factory=dict)  # {class: what it means in words}

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


@dataclass(frozen=True, eq=False)
class Scale(Result):
    """First and third quartile of each class's share of pixels, over the masks that contain the class (Yan et
    al. 2021). The table has a row a class.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("class", "text", "name of the class"),
        Column("images", "count", "masks that contain the class"),
        Column("share_q1", "number", "first quartile of its share of the pixels of these masks", "0 to 1"),
        Column("share_q3", "number", "third quartile of its share of the pixels of these masks", "0 to 1"),
    )

    names: tuple[str, ...]  # the classes, in the order of the class list
    n_images: tuple[int, ...]  # how many masks contain each class
    t_min: tuple[float, ...]  # first quartiles, as shares of all pixels of a mask; NaN for a class in no mask
    t_max: tuple[float, ...]  # third quartiles, as t_min

    def __repr__(self) -> str:
        rows = "\n".join(
            f"  {name:<16} {low:7.4f} .. {high:7.4f}  ({n} images)"
            for name, n, low, high in zip(self.names, self.n_images, self.t_min, self.t_max, strict=True)
        )
        return f"Scale of {len(self.names)} classes\n{rows}"

    def _rows(self) -> Rows:
        return list(zip(self.names, self.n_images, self.t_min, self.t_max, strict=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the quartiles of each class, on ``ax`` or new Axes."""
        marks = [
            plots.Mark(name, "", None, low, high)
            for name, low, high in zip(self.names, self.t_min, self.t_max, strict=True)
        ]
        label = "share of the pixels of masks that contain the class"
        note = "bars: from the first to the third quartile"
        return plots.intervals(ax, marks, label=label, title="Scale of the classes", note=note)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Counts of every pair of maps on every image of a block, enough for every concordance.

    ``pairs`` (P, 2): places in ``names`` = models + truths of (reference, prediction); a model pair is
    (earlier, later), a truth is always the reference. ``both`` (P, I, C): pixels that both label as y, N_yy
    of Yan et al. 2021, eq. 8. ``rows`` (P, I, C + 1): pixels that the reference labels as y; the last y is
    void. ``columns`` (P, I, C + 1): the same for the prediction. Pixels void in a *truth* are left out of all
    three. ``totals`` (J, I, C + 1): each model's own histogram. ``present`` (P, I): False where a map of the
    pair is missing. ``cells`` (P, I, C + 1, C + 1), row = reference, or None when only intersections and
    marginals were counted.
    """

    classes: Classes  # the classes, in the order of the axis C
    models: tuple[str, ...]  # J names, in the order of ``totals``
    truths: tuple[str, ...]  # names of the truths that models are compared with; () for none
    images: tuple[str, ...]  # ids, in the order of the axis I
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
class Agreement(Result):
    """How far J models agree before any label, pair by pair. The table has a row for each pair."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("model", "text", "the model that comes first in the study"),
        Column("other", "text", "the model that comes later"),
        Column("measure", "text", "the measure of agreement: a concordance, or 0-1 for classifiers"),
        Column("agreement", "number", "its mean over the images that both models have"),
        Column("images", "count", "how many images both models have"),
        Column("identical", "count", "how many of these both models answer identically"),
    )

    models: tuple[str, ...]  # J names, in the order of rows and columns
    concordance: str  # the measure: one of METRICS, file.py:NAME, or 0-1 for classifiers
    mean: np.ndarray  # (J, J), NaN on the diagonal and for two models without a common image
    images: np.ndarray  # (J, J), how many images both models have
    alike: np.ndarray  # (J, J), how many of these both models answer identically
    warnings: tuple[str, ...] = ()  # sentences about models that disagree with all others or agree everywhere

    def __repr__(self) -> str:
        return (
            f"Agreement({self.concordance} of {len(self.models)} models,"
            f" {counted(len(self.warnings), 'warning')})"
        )

    def _says(self) -> str:
        return "\n".join(self.warnings)

    def _rows(self) -> Rows:
        return self.pairs()

    def pairs(self) -> Rows:
        """Return a row for each pair of models, as ``columns`` say."""
        return [
            (
                model,
                other,
                self.concordance,
                float(self.mean[i, k]),
                int(self.images[i, k]),
                int(self.alike[i, k]),
            )
            for i, model in enumerate(self.models)
            for k, other in enumerate(self.models)
            if i < k
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean agreement of every two models, on ``ax`` or new Axes."""
        title = f"How far the models agree, by {self.concordance}"
        values = self.mean.tolist()
        return plots.matrix(ax, self.models, self.models, values, label="mean agreement", title=title)


@dataclass(frozen=True)
class Slot:
    """One place of one cell: this image was chosen for this defender, attacker and class (a row of
    selection.csv).
    """

    selector: str  # always ``mad``
    round: int  # 1 for the first draw, one more each time the selection was extended
    step: int  # number of the row within its round, from 1
    defender: str  # the model whose map must contain the class
    attacker: str  # the model that its map is compared with
    class_: str  # name of the class; '' with constraints none
    place: int  # rank in its cell, from 1; places beyond ``per_class`` are spares
    image: str  # id of the image
    concordance: float  # concordance of both maps on this image; the lower, the more they differ
    probability: float  # always 1: duels involve no randomness
    pool: int  # how many images could have had a place in this cell

    @property
    def cell(self) -> tuple[str, ...]:
        """The cell that this row has a place in."""
        return (self.defender, self.attacker, self.class_)


MAIN = "main"
KEPT_OUT = 1_000_000  # places of a pair beyond this hold images that the cap keeps out


@dataclass(frozen=True)
class PairSlot:
    """One place of one unordered pair of classifiers: their predictions for the image, the distance between
    these, and the lower of both confidences.
    """

    selector: str  # always ``mad``
    round: int  # 1 for the first draw, one more each time the selection was extended
    step: int  # number of the row within its round, from 1
    model_a: str  # the one that comes first in the study
    model_b: str  # the one that comes later in the study
    label_a: str  # name of the class that model_a predicts
    label_b: str  # name of the class that model_b predicts
    place: int  # rank in its pair, from 1; beyond ``top`` spares, beyond KEPT_OUT those for a freed label
    image: str  # id of the image
    distance: float  # distance of the two labels, or the one to expect
    confidence: float  # the lower probability of both models, 0 to 1; NaN if neither gives one
    probability: float  # always 1: pairs involve no randomness
    pool: int  # how many images could have had a place in this pair

    @property
    def cell(self) -> tuple[str, ...]:
        """The pair that this row has a place in."""
        return (self.model_a, self.model_b)


@dataclass(frozen=True)
class Draw:
    """One image that a selector drew for all models at once: its score, the probability of drawing it from
    the images left at this step, and the initial size of the pool.

    A selector that does not draw at random has probability NaN.
    """

    selector: str  # name of the selector
    round: int  # 1 for the first draw, one more each time the selection was extended
    step: int  # number of the draw, from 1, over all rounds
    image: str  # id of the image
    score: float  # the selector's weight or preference; with model-picker the belief in the best model
    probability: float  # its chance among the images left at this step; NaN if not drawn at random
    pool: int  # how many images could be drawn before the first draw
    place = 1  # in its own cell: every drawn image is chosen

    @property
    def cell(self) -> tuple[str, ...]:
        """The cell that this row has a place in."""
        return (self.image,)


@dataclass(frozen=True)
class Point:
    """One pixel that was drawn for all models at once: a person says which class it shows.

    Draws are independent, and with replacement: a pixel can be drawn twice. Pixels are those of the maps at
    working size; ``row`` and ``column`` are where the image has the pixel, as `maps.resize.nearest` takes it.
    """

    selector: str  # always ``points``
    round: int  # 1 for the first draw, one more each time the selection was extended
    step: int  # number of the draw, from 1, over all rounds
    image: str  # id of the image
    row: int  # of the pixel in the image, from 0 at the top
    column: int  # of the pixel in the image, from 0 at the left
    pixel: int  # its number in the map at working size, row by row, from 0
    stratum: int  # number of the group of pixels that it was drawn from; 0 for the whole pool
    probability: float  # that a draw of its round takes this pixel, among those of its stratum
    pool: int  # how many pixels of maps its images have, with those of images that had a mask
    place = 1  # in its own cell: every drawn point is chosen

    @property
    def cell(self) -> tuple[str, ...]:
        """The cell that this row has a place in."""
        return (str(self.step),)


Row = Slot | PairSlot | Draw | Point


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of J classifiers for I images.

    ``labels`` (J, I), places of classes, -1 for none. ``probabilities`` (J, I), NaN if a model gives none.
    ``top`` are the K most likely places and their probabilities, (J, I, K) each, -1 and NaN where a model
    gives fewer; None if models give only one.
    """

    classes: Classes  # the classes whose places ``labels`` and ``top`` hold
    models: tuple[str, ...]  # J names, in the order of the rows of ``labels``
    images: tuple[str, ...]  # I ids, in the order of its columns
    labels: np.ndarray
    probabilities: np.ndarray
    top: tuple[np.ndarray, np.ndarray] | None = None

    def __repr__(self) -> str:
        return (
            f"Predictions({len(self.models)} models, {len(self.images)} images, {len(self.classes)} classes)"
        )


class ScaleEntry(TypedDict):
    """A class's quartiles as a scale file stores them, None if no mask contains the class."""

    n_images: int  # masks that contain the class
    t_min: float | None  # first quartile of its share of all pixels of a mask
    t_max: float | None  # third quartile of its share


class Definition(TypedDict, total=False):
    """The definition of a selection, as its file stores it: keys depend on the selector (yours may have its
    own), and files of earlier versions lack some.
    """

    selector: Required[str]  # a name of SELECTORS, or file.py:NAME
    selector_file: str  # digest of the file of your own selector, by which a change is detected
    seed: int  # seed of the draws, and of the order among equally good images
    ties: str  # ``digest``: the seed decides the order of equals; missing: their ids do
    spares: int  # how many places follow the chosen ones in each cell or pair
    keep_duplicates: bool  # whether near-duplicates count as images of their own
    concordance: str  # for label maps: a name of METRICS, or file.py:function
    concordance_file: str  # digest of the file of your own concordance
    combined: str  # several measures, joined by +: their mean rank chooses, ``concordance`` scores the models
    combined_file: str  # digests of your own files among the others of these
    over: Over  # for label maps: the classes that a mean is over
    constraints: Constraints  # for duels: which images a cell may take
    groups: list[str]  # for duels: names of the classes that have cells; [''] with constraints none
    scale: dict[str, ScaleEntry] | None  # {class: quartiles} with constraints class+scale, else None
    per_class: int  # images chosen for each defender, attacker and class
    discrepancy: Discrepancy  # for pairs: between the most likely classes (top1) or over all
    temperatures: dict[str, float | str]  # {model: temperature, or uncalibrated}, with discrepancy expected
    top: int  # images chosen for each pair of classifiers
    border: int  # for points: pixels nearer than this to a border of any model's map are not drawn
    per_image: int  # for points: so many of an image are drawn together, one draw; missing: one
    masked: list[str]  # for points: images that had a mask at some draw, which was among the others
    confidence: float  # for pairs: how confident both models must be at least, 0 to 1
    cap: int  # for pairs: at most this many images with the same predicted label of a model
    cap_rule: CapRule  # for pairs: whether the cap counts the images taken, or all that were scanned
    distance: str  # for classifiers: wordnet, path, hops, 01, or the absolute path of a file
    hierarchy: str | None  # path of a table or WordNet folder; None: the bundled one, or not needed
    distances: str  # digest of the distances between classes, by which a change is detected
    only: list[str]  # for pairs: names of the classes that the study asks about; [] for all
    without: list[str]  # for pairs: names of the classes whose predictions are left out
    goal: PointGoal  # for draws: what --goal asked for; missing where a selector was named
    stream: str  # ``definition``: goal and options also seed the draws; missing: seed and selector alone
    votes: str  # ``weighed``: labels so far decide how much each model counts; missing: all count alike
    temperature: float  # ``mad`` draws in proportion to discrepancy^(1 / temperature)
    sharpness: float  # how closely answers are expected to follow the best model
    epsilon: float  # for model-picker: the chance that the best model errs on an image
    replaced_by: str  # name of the selection that replaced this one


@dataclass(frozen=True, eq=False)
class Slots(Result):
    """A selection: its definition and its rows; places 1..depth of a cell are chosen, later ones are
    spares. The table has the rows, with further columns for their kind (``ROW_COLUMNS``).

    >>> drawn = (Draw("vma", 1, 1, "street/1", 0.5, 0.1, 9),)
    >>> Slots(("a", "b"), {"selector": "vma"}, drawn).to_arrow().select(["image", "score"]).to_pylist()
    [{'image': 'street/1', 'score': 0.5}]
    """

    columns: ClassVar[tuple[Column, ...]] = ANY_ROW

    models: tuple[str, ...]  # names, in the order of the study when the selection was made or last extended
    definition: Definition  # what fixes which images are chosen, as its JSON file holds it
    rows: tuple[Row, ...]  # one per place of a cell, all of one kind
    tied: int = 0  # chosen slots with equally good alternatives; not stored, 0 after reading from a file
    moved: int = 0  # chosen slots that near-duplicates of other images would hold; not stored either

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
        """How many rows follow the chosen ones, as replacements for discarded images, without those that the
        cap keeps out until a label is freed.
        """
        return sum(self.depth < row.place <= KEPT_OUT for row in self.rows)

    @property
    def duels(self) -> tuple[Slot, ...]:
        """The chosen rows of duels of label maps (Yan et al. 2021), if this is a selection of duels."""
        return tuple(row for row in self.chosen if isinstance(row, Slot))

    @property
    def pairs(self) -> tuple[PairSlot, ...]:
        """The chosen rows of pairs of classifiers (Wang et al. 2020), if this is a selection of pairs."""
        return tuple(row for row in self.chosen if isinstance(row, PairSlot))

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The images drawn for all models at once, if this is a selection of draws."""
        return tuple(row for row in self.chosen if isinstance(row, Draw))

    @property
    def points(self) -> tuple[Point, ...]:
        """The pixels drawn for all models at once, if this is a selection of points."""
        return tuple(row for row in self.chosen if isinstance(row, Point))

    @property
    def images(self) -> tuple[str, ...]:
        """Distinct images to label, in order of first appearance; none for a selection of points, which asks
        about pixels.
        """
        return tuple(dict.fromkeys(row.image for row in self.chosen if not isinstance(row, Point)))

    @property
    def asked(self) -> int:
        """How many images people are asked to label, or about how many points they are asked."""
        return len(self.points) or len(self.images)

    @property
    def for_all(self) -> bool:
        """Whether images or points were drawn for all models at once, rather than images for a duel or a
        pair.
        """
        return bool(self.draws or self.points)

    def __repr__(self) -> str:
        return self._summary()

    def _says(self) -> str:
        return repr(self)

    def _columns(self) -> tuple[Column, ...]:
        return self.columns + (ROW_COLUMNS[type(self.rows[0]).__name__] if self.rows else ())

    def _rows(self) -> Rows:
        names = [column.name for column in self._columns() if column.name != "chosen"]
        fields = ["class_" if name == "class" else name for name in names]
        depth = self.depth
        rows = list[tuple[str | float | None, ...]]()
        for row in self.rows:
            image, *others = (getattr(row, name) for name in fields)
            rows.append((image, row.place <= depth, *(None if value == "" else value for value in others)))
        return rows

    def full_text(self) -> str:
        """Return what ``-v`` prints, including how the number of slots compares with the papers' upper
        bound.
        """
        return "\n".join([self._summary(), *self._bounds()])

    def _summary(self, labelled: int = 0) -> str:
        return _slots_text(self, labelled)

    def _bounds(self) -> list[str]:
        return _bound_text(self)


def _slots_text(slots: Slots, labelled: int) -> str:
    """Return the summary of a selection: how many images to label, and for what, and how many of them are
    ``labelled``.
    """
    if slots.points:
        return _points_text(slots, labelled)
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
        goals = {"order": "drawn for the order of the models", "best": "drawn for the best model"}
        by = f"drawn by the selector {slots.definition['selector']}"
        how = f", {goals.get(str(slots.definition.get('goal')), by)}{_combined_text(slots)}{rounds}"
        if not labelled:
            return f"{counted(len(draws), 'image')} to label{how}{all_}{more}"
        return f"{counted(len(draws), 'image')}{how}{all_}; {_labelled_text(len(draws), labelled)}{more}"
    number = len(slots.images)
    how = _combined_text(slots)
    if not labelled:
        return f"{counted(number, 'image')} to label{how}"
    return f"{counted(number, 'image')}{how}; {_labelled_text(number, labelled)}"


def _combined_text(slots: Slots) -> str:
    """Return by which measures together images were chosen; '' for a single one."""
    combined = slots.definition.get("combined", "")
    return f", by the mean rank of {combined.replace('+', ' and ')}" if combined else ""


def _points_text(slots: Slots, answered: int) -> str:
    """Return the summary of a selection of points, of which some are ``answered``."""
    points = slots.points
    last = max(row.round for row in points)
    rounds = f" in {last} rounds, {sum(row.round == last for row in points)} in the last" if last > 1 else ""
    goals = {
        "order": "drawn for the order of the models",
        "best": "drawn for the best model",
        "values": "drawn for the models' own values",
    }
    images = counted(len({row.image for row in points}), "image")
    number = counted(len(points), "point")
    how = f"in {images}, {goals.get(str(slots.definition.get('goal')), 'drawn for all models')}{rounds}"
    if not answered:
        return f"{number} to answer {how}"
    left = "all answered" if answered >= len(points) else f"{answered:,} answered"
    return f"{number} {how}; {left}"


def _labelled_text(images: int, labelled: int) -> str:
    """Return how many of some images have labels, and how many are to label.

    >>> _labelled_text(18, 5), _labelled_text(18, 18)
    ('5 have labels, 13 to label', 'all have labels')
    """
    if labelled >= images:
        return "all have labels"
    return f"{labelled:,} {'has' if labelled == 1 else 'have'} labels, {images - labelled:,} to label"


def _bound_text(slots: Slots) -> list[str]:
    """Return how many slots are possible and how many are empty; empty for draws, which have no bound."""
    j = len(slots.models)
    spares = f", {counted(slots.spares, 'spare')}" if slots.spares else ""
    made = f"{counted(slots.slots, 'duel')}{spares}"
    if pairs := slots.pairs:
        k = slots.depth
        held = Counter(row.cell for row in pairs)
        cells = j * (j - 1) // 2
        full = sum(number == k for number in held.values())
        return [
            made,
            f"at most J(J-1)/2 k = {j} x {j - 1} / 2 x {k} = {cells * k} slots",
            f"{cells - full} of {cells} pairs have fewer than {k}",
        ]
    if not slots.duels:
        return []
    groups = len(slots.definition["groups"])
    cells = j * (j - 1) * groups
    full = len({row.cell for row in slots.duels})
    return [
        made,
        f"at most J(J-1)|Y|K = {j} x {j - 1} x {groups} x {slots.depth} = {cells * slots.depth} slots",
        f"{cells - full} of {cells} cells (defender, attacker, class) are empty",
        f"constraints: {slots.definition['constraints']}",
    ]
