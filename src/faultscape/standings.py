"""Standings: who wins, by several rankings, with intervals; the content of standings.json.

Conventions: scores, intervals and ranks are {model: ...}, NaN where unknown; rank 1 is the best, an interval
is [low, high]. ``tied_for_best`` and ``rank_interval`` hold for one comparison at a time, ``best_set`` and
``simultaneous_rank_interval`` for all models at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

from faultscape.errors import counted
from faultscape.nouns import JsonObject
from faultscape.results import plots
from faultscape.results.result import Result
from faultscape.results.table import Cell, Column, Row, Rows, ends_of

if TYPE_CHECKING:
    from faultscape.results.plots import Axes

# with fewer labelled images there are no intervals and no models are distinguished
FEW = 10
FEW_POINTS = 30  # and with fewer answered points nothing is ranked
MOST_POINTS = 20_000  # more than anyone answers
SKIPPED = 0.05  # share of draws without labels above which they are not assumed to be missing at random
ENOUGH = 2 * FEW  # images to draw if nothing else says how many
_DECIMALS, _MOST_DECIMALS = 3, 6  # of numbers without an interval; of any
_SPEAKS = {  # what intervals are about
    "chosen": "descriptive",
    "pool": "of this pool",
    "future": "of data to come",
    "same-groups": "of more images of the same groups",
}


@dataclass(frozen=True)
class Gap:
    """How far one model is ahead of another by a score, with an interval that holds for all pairs at once."""

    model: str  # the one with the higher score
    other: str
    difference: float  # of their scores
    interval: list[float]  # 95 %, for all pairs at once; NaN where unknown
    settled: bool  # whether the model is better, corrected for the number of pairs
    # in all, expected until looking at any time settles it, and the range; NaN where no number of labels of
    # this pool would; None if it is settled, or read once
    labels: list[float] | None = None


@dataclass(frozen=True)
class Failing:
    """Where a model fails on the labelled images: the class that it finds worst, and what it takes it for."""

    model: str
    worst: str  # the class of which it has the lowest score
    score: float  # IoU over the labelled images; of classifiers the share of its images that are right
    images: int  # labelled images that show the class
    taken_for: str  # the class that it is mistaken for most often; '' where the model predicts none there
    share: float  # the part of the class's pixels (images) that is mistaken for it
    image: str  # the image with the most of that mistake


@dataclass(frozen=True)
class OtherTruth:
    """Which model leads by the labels of another truth, on the images that both truths label."""

    leader: str
    images: int


@dataclass(frozen=True)
class ModelRanking:
    """The models as one ranking orders them; one that cannot be used has no order and says why
    (``unusable``).
    """

    scores: dict[str, float] = field(default_factory=dict)  # {model: score}, NaN where it has none
    order: list[str] = field(default_factory=list)  # best first
    score_interval: dict[str, list[float]] = field(default_factory=dict)  # 95 %, NaN where unknown
    rank_interval: dict[str, list[float]] = field(default_factory=dict)  # one model at a time
    simultaneous_rank_interval: dict[str, list[float]] = field(default_factory=dict)
    tied_for_best: list[str] = field(default_factory=list)  # none is shown to be better, pair by pair
    best_set: list[str] = field(default_factory=list)  # simultaneous rank interval contains rank 1
    sandwich_error: dict[str, float] | None = None  # {model: standard error of its score}
    effective_labels: float | None = None  # uniformly drawn labels that would carry the same information
    gaps: list[Gap] = field(default_factory=list)  # the leader and each other model, and neighbors in order
    unusable: str = ""  # why it cannot be used; '' where it can
    speaks_of: str = ""  # what its intervals are about: pool, future, same-groups, or the chosen images
    consistency_ratio: float | None = None  # of perron
    shares: dict[str, float] | None = None  # of hodge: gradient, curl, harmonic
    tie_parameter: float | None = None  # of bradley_terry with ties


@dataclass(frozen=True)
class WithoutModel:
    """How the others rank without the slots of one model: ``moved`` is the one whose rank changes most, if
    any does.
    """

    slots: int
    spearman: float
    largest_change: float
    moved: str


@dataclass(frozen=True)
class Stability:
    """How much the first faithful ranking depends on single models and on the number of places per cell."""

    ranking: str
    leave_one_out: dict[str, WithoutModel]
    top_k: list[float]  # Spearman of the first k places with all places, for k of top_k_places
    top_k_places: list[int]
    connectivity: str


@dataclass(frozen=True)
class ParentStandings:
    """The standings within one parent group of classes."""

    labels: dict[str, int]
    matrices: dict[str, list[list[float]]]
    rankings: dict[str, ModelRanking]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OtherSelection:
    """How far the rankings of another selection agree (Yan et al. 2021, Table 4): correlations {ranking: x},
    and the overlap of images as a Jaccard index.
    """

    spearman: dict[str, float]
    kendall: dict[str, float]
    image_overlap: float


@dataclass(frozen=True)
class Benchmark:
    """A closed benchmark beside the open one (Yan et al. 2021, Table 3): its scores and ranks, and by ranking
    {model: places moved up} and Spearman [x, low, high].
    """

    scores: dict[str, float]
    rank: dict[str, float]
    rank_change: dict[str, dict[str, float]]
    spearman: dict[str, list[float]]


@dataclass(frozen=True, eq=False)
class Standings(Result):
    """Who wins: matrices, rankings with intervals, how many labels were used (the content of standings.json).

    ``labels`` counts images, or ``points`` where these were drawn: ``used``, ``discarded``, ``missing``
    (chosen, but without a label), and others that apply, such as ``partly`` (decided in part); ``slots`` are
    rows of the selection. ``matrices`` {name:
    J rows of J} compare row models with column models, NaN where unknown; {} for images drawn for all models
    at once. ``to_come`` are the rankings of drawn images whose intervals speak of data to come, where
    ``rankings`` speak of the pool, ``of_pool`` those of the pool where ``rankings`` speak of data to come.
    ``against`` is {name of another selection: how far its rankings agree}.
    ``parents`` is {parent group of classes: the standings within it}. The table has a row for each model of
    each ranking that can be used.

    >>> perron = ModelRanking({"a": 0.4, "b": 0.6}, ["b", "a"], {"a": [0.3, 0.5], "b": [0.5, 0.7]})
    >>> Standings(("a", "b"), {"used": 40}, {}, {"perron": perron}, {}).to_arrow()["model"].to_pylist()
    ['b', 'a']
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("ranking", "text", "name of the ranking"),
        Column("population", "text", "what its intervals speak of: pool, future, same-groups or chosen"),
        Column("classes", "text", "the parent group of classes that it is about; null for all classes"),
        Column("model", "text", "name of the model"),
        Column("place", "count", "its place in the order of the ranking, from 1"),
        Column("score", "number", "its score, of which high is better"),
        Column("score_low", "number", "lower end of the score's 95 % interval"),
        Column("score_high", "number", "upper end of the score's 95 % interval"),
        Column("rank_low", "number", "best rank that its own 95 % interval allows"),
        Column("rank_high", "number", "worst rank that its own 95 % interval allows"),
        Column("joint_rank_low", "number", "best rank by the 95 % intervals of all models at once"),
        Column("joint_rank_high", "number", "worst rank by the 95 % intervals of all models at once"),
        Column("could_be_best", "flag", "whether it could be the best, all models at once"),
        Column("behind", "number", "how far its score is behind the leader's"),
        Column("behind_low", "number", "lower end of that difference's 95 % interval, for all pairs at once"),
        Column(
            "behind_high", "number", "upper end of that difference's 95 % interval, for all pairs at once"
        ),
        Column(
            "standard_error", "number", "standard error of the score, where the ranking has one", aside=True
        ),
    )

    models: tuple[str, ...]  # names, in the order of the rows and columns of ``matrices``
    labels: dict[str, int]
    matrices: dict[str, list[list[float]]]
    rankings: dict[str, ModelRanking]  # {name: ranking}, the recommended one first
    definitions: JsonObject  # the selection's definition and the options of the ranking
    against: dict[str, OtherSelection] = field(default_factory=dict)
    benchmark: Benchmark | None = None  # comparison with a closed benchmark; None where none was given
    parents: dict[str, ParentStandings] = field(default_factory=dict)
    to_come: dict[str, ModelRanking] = field(
        default_factory=dict
    )  # rankings of drawn images, of data to come
    of_pool: dict[str, ModelRanking] = field(default_factory=dict)
    failing: Failing | None = None  # where the leading model fails; None if no class can be judged
    by_truth: dict[str, OtherTruth] = field(default_factory=dict)  # {another truth: who leads by it}
    stability: Stability | None = None  # how robust the first faithful ranking is; None for drawn images
    notes: tuple[str, ...] = ()  # sentences that are printed below the tables, first those on the method
    details: int = 0  # how many of the notes are on the method: only ``-v`` prints these
    provenance: JsonObject = field(default_factory=dict)  # the options, and digests of the inputs

    def __repr__(self) -> str:
        return standings_text(self)

    def _says(self) -> str:
        return "\n".join([standings_text(self).partition("\n")[0], *self.notes[self.details :]])

    def _shown(self, rows: Rows) -> Rows:
        first = next((name for name, ranking in self.rankings.items() if not ranking.unusable), "")
        return [row for row in rows if row[0] == first] or rows

    def _rows(self) -> Rows:
        found = [*self.rankings.items(), *self.to_come.items(), *self.of_pool.items()]
        rows = [row for name, ranking in found for row in _ranking_rows(name, None, ranking)]
        for classes, parent in self.parents.items():
            rows += [row for name, of in parent.rankings.items() for row in _ranking_rows(name, classes, of)]
        return rows

    def plot(self, ax: Axes | None = None, what: str = "") -> Axes:
        """Draw the scores of a ranking with their intervals, or a matrix of who beats whom, on ``ax`` or new
        Axes.

        ``what`` is the name of a ranking or of a matrix; without it, the first ranking that can be used.
        ResultError for another name.
        """
        usable = [name for name, ranking in self.rankings.items() if not ranking.unusable]
        what = plots.chosen(what, (*usable, *self.matrices), usable[0] if usable else "")
        labels = labelled_words(self.labels)
        if what not in usable:
            order = self.rankings[usable[0]].order if usable else []
            models = order if {*order} == {*self.models} else [*self.models]
            places = [self.models.index(model) for model in models]
            values = [[self.matrices[what][row][column] for column in places] for row in places]
            title = f"{what} of the row against the column, {labels}"
            return plots.matrix(ax, models, models, values, label=what, title=title)
        ranking = self.rankings[what]
        best = {*could_be_best(ranking)} or {*ranking.order}
        marks = [
            plots.Mark(model, model, ranking.scores.get(model), low, high, filled=model in best)
            for model in ranking.order
            for low, high in [ends_of(ranking.score_interval.get(model))]
        ]
        note = f"bars: 95 % intervals, {_SPEAKS.get(ranking.speaks_of, 'one model at a time')}"
        if len(best) < len(ranking.order):
            note += "; filled: could be the best"
        label = self._score_words(what) or "score"
        title = f"{what}: {counted(len(self.models), 'model')}, {labels}"
        return plots.intervals(ax, marks, label=label, title=title, note=note, models=self.models)

    def _score_words(self, name: str) -> str:  # noqa: ARG002 - what `rank` returns knows them
        """Return what the scores of a ranking are; '' if that is not known."""
        return ""


def _ranking_rows(name: str, classes: str | None, ranking: ModelRanking) -> list[Row]:
    """Return the rows of a ranking, best model first; none if it cannot be used."""
    if ranking.unusable:
        return []
    best = {*could_be_best(ranking)}
    behind = {gap.other: gap for gap in ranking.gaps if gap.model == ranking.order[0]}
    errors = ranking.sandwich_error or {}
    rows = list[Row]()
    for place, model in enumerate(ranking.order, 1):
        gap = behind.get(model)
        cells: list[Cell] = [
            name,
            ranking.speaks_of or None,
            classes,
            model,
            place,
            ranking.scores.get(model),
        ]
        for intervals in (
            ranking.score_interval,
            ranking.rank_interval,
            ranking.simultaneous_rank_interval,
        ):
            cells += ends_of(intervals.get(model))
        cells += [model in best if best else None, gap.difference if gap else None]
        cells += ends_of(gap.interval if gap else None)
        rows.append((*cells, errors.get(model)))
    return rows


def standings_text(standings: Standings, describe_score: Callable[[str], str] = lambda _: "") -> str:
    """Return standings as printed; ``describe_score`` takes a ranking's name and returns what its scores are,
    '' to say nothing.
    """
    truth = standings.provenance.get("truth", "labels")
    lines = [
        (
            f"Standings of {counted(len(standings.models), 'model')} from"
            f" {labelled_words(standings.labels)}{f' of truth {truth}' if truth != 'labels' else ''}"
        )
    ]
    if "of_selection" in standings.labels:
        lines[0] += (
            f", {standings.labels['of_selection']} of them of the selection: only re-use rankings count the"
            " others"
        )
    for name, ranking in standings.rankings.items():
        if why := ranking.unusable:
            lines.append(f"  {name}: cannot be used: {why}")
            continue
        there = any(not math.isnan(low) for low, _ in ranking.score_interval.values())
        of = _SPEAKS.get(ranking.speaks_of) if there else ""
        lines.append(f"  {name}{f', intervals {of}' if of else ''}")
        lines += [f"    score: {unit}"] if (unit := describe_score(name)) else []
        best = shown_best(ranking)
        digits = decimals([(low, high) for low, high in ranking.score_interval.values()])
        for place, model in enumerate(ranking.order, 1):
            low, high = ranking.score_interval.get(model, (float("nan"), float("nan")))
            # a pool that is labelled whole leaves nothing open, and its width of 0 says nothing
            spread = f"  [{_number(low, digits)}, {_number(high, digits)}]" if low < high else ""
            # ranks hold for all models at once, as in the report's first table
            ranges = ranking.simultaneous_rank_interval or ranking.rank_interval
            ranks = rank_words(ranges, model, to="-")
            spread += f"  rank {ranks}" if ranks else ""
            open_ = "  could be best" if model in best and len(could_be_best(ranking)) > 1 else ""
            score = _number(ranking.scores[model], digits)
            lines.append(f"    {place:>3}  {model:<24} {score:>8}{spread}{open_}")
    for name, other in standings.against.items():
        said = ", ".join(f"{ranking} {_number(value)}" for ranking, value in other.spearman.items())
        lines.append(f"  against {name}: overlap of images {_number(other.image_overlap)}; Spearman {said}")
    if standings.benchmark:
        said = ", ".join(
            f"{ranking} {_number(x)}" + ("" if math.isnan(a) else f" [{_number(a)}, {_number(b)}]")
            for ranking, (x, a, b) in standings.benchmark.spearman.items()
        )
        lines.append(f"  against the benchmark: Spearman {said}")
    lines += [f"  note: {note}" for note in standings.notes]
    return "\n".join(lines)


def decimals(intervals: Iterable[tuple[float, float]]) -> int:
    """Return the number of decimals for numbers with these intervals (low, high): two significant digits of
    half their median width, as uncertainties are usually quoted (JCGM 100:2008, 7.2.6), so that a column has
    one; 3 if none has a width.

    >>> decimals([(0.413, 0.439)]), decimals([(-0.8, 3.6)]), decimals([(math.nan, math.nan)])
    (3, 1, 3)
    """
    halves = sorted((high - low) / 2 for low, high in intervals if math.isfinite(high - low) and high > low)
    if not halves:
        return _DECIMALS
    half = halves[len(halves) // 2]
    return min(max(1 - math.floor(math.log10(half)), 0), _MOST_DECIMALS)


def budget_like(images: int) -> int:
    """Return how many images to draw for all models instead of a number of ``images``: the same number, but
    at least enough to rank.

    >>> budget_like(45), budget_like(2)
    (45, 20)
    """
    return images if images >= FEW else ENOUGH


def could_be_best(ranking: ModelRanking) -> list[str]:
    """Return the models that could be the best, corrected for multiple comparisons, in the ranking's order;
    those tied for best if the standings have no correction.

    >>> could_be_best(ModelRanking(order=["b", "a"], tied_for_best=["b"], best_set=["a", "b"]))
    ['b', 'a']
    """
    found = {*ranking.best_set, *ranking.tied_for_best}
    return [m for m in ranking.order if m in found] + sorted(found - set(ranking.order))


def of_both(standings: Standings, name: str) -> tuple[ModelRanking, ModelRanking | None]:
    """Return a ranking of the pool, and that of data to come, None if there is none; whichever of them the
    standings are about.
    """
    if name in standings.of_pool:
        return standings.of_pool[name], standings.rankings[name]
    return standings.rankings[name], standings.to_come.get(name)


def labels_to_tell(pool: ModelRanking, to_come: ModelRanking, used: int, size: int) -> float:
    """Return about how many labels of a pool, in all, tell the leader from its rivals on images to come; inf
    if even all ``size`` of them would not, as far as the ``used`` ones show.

    The variance of a difference on images to come is that on the pool, about in proportion to 1/n - 1/N for n
    labels of N images, and that of the pool itself, which no label of it makes smaller.

    >>> def ranked(low, high):
    ...     return ModelRanking(
    ...         best_set=["a", "b"], order=["a", "b"], gaps=[Gap("a", "b", 2, [low, high], False)]
    ...     )
    >>> labels_to_tell(ranked(-1, 5), ranked(-1.5, 5.5), 20, 200)
    114.28571428571428
    >>> labels_to_tell(ranked(0.5, 3.5), ranked(-1.5, 5.5), 20, 200)
    inf
    """
    leader, *rivals = could_be_best(to_come) or [""]
    expected = [gap.labels[0] for gap in rival_gaps(to_come) if gap.labels]
    if expected:
        return max((math.inf if math.isnan(number) else number for number in expected), default=math.inf)
    now = {gap.other: gap for gap in pool.gaps if gap.model == leader}
    later = {gap.other: gap for gap in to_come.gaps if gap.model == leader}
    if not rivals or not {*rivals} <= now.keys() & later.keys() or not 0 < used < size:
        return math.inf
    numbers = []
    for rival in rivals:
        gap = later[rival]
        # a settled gap's lower end may be cut at 0
        wide = gap.interval[1] - gap.difference
        here = now[rival].interval[1] - now[rival].difference
        rest = gap.difference**2 - (wide**2 - here**2)
        if not (rest > 0 and here > 0):
            return math.inf
        numbers.append(1 / (rest / here**2 * (1 / used - 1 / size) + 1 / size))
    return max(numbers)


def rival_gaps(ranking: ModelRanking) -> list[Gap]:
    """Return the gaps between the leader and each other model that could be the best."""
    leader, *rivals = could_be_best(ranking) or [""]
    return [gap for gap in ranking.gaps if gap.model == leader and gap.other in rivals]


def not_worth_going_on(ranking: ModelRanking, indifference: float) -> bool:
    """Return whether all models that could be the best surely differ by less than a score is worth a label.

    >>> gap = Gap("a", "b", 0.001, [-0.003, 0.004], False)
    >>> ranking = ModelRanking(order=["a", "b"], best_set=["a", "b"], gaps=[gap])
    >>> not_worth_going_on(ranking, 0.005), not_worth_going_on(ranking, 0.004)
    (True, False)
    """
    rivals = could_be_best(ranking)[1:]
    found = rival_gaps(ranking)
    alike = [max(-gap.interval[0], gap.interval[1]) < indifference for gap in found]
    return bool(rivals) and len(found) == len(rivals) and all(alike)


def indifference_of(standings: Standings) -> float:
    """Return the difference of scores that standings say is not worth a label; 0 if they say none."""
    return float(cast("float", standings.definitions.get("indifference", 0))) / 100


def shown_best(ranking: ModelRanking) -> list[str]:
    """Return the models that could be the best of which that says something: a rank that may be any says
    nothing.

    >>> ranges = {"a": [1, 2], "b": [1, 3], "c": [2, 3]}
    >>> shown_best(ModelRanking(order=["a", "b"], best_set=["a", "b"], simultaneous_rank_interval=ranges))
    ['a']
    """
    ranges = ranking.simultaneous_rank_interval or ranking.rank_interval
    return [model for model in could_be_best(ranking) if rank_words(ranges, model) != "open"]


def labelled_words(labels: Mapping[str, int]) -> str:
    """Return in words how many labelled images, choices, or points standings are based on, and how many
    images are decided only in part.

    >>> labelled_words({"used": 9}), labelled_words({"used": 6, "partly": 5})
    ('9 labelled images', '1 labelled image and 5 partly labelled')
    >>> labelled_words({"used": 40, "choices": 600})
    '40 labelled images and 600 choices between two models'
    >>> labelled_words({"used": 300, "points": 300})
    '300 answered points'
    >>> labelled_words({"used": 300, "points": 300, "masked": 20, "masks": 12, "boxed": 40})
    '280 answered points, 12 masks and boxes in 40 images'
    """
    if "points" in labels:
        kinds = [counted(labels["points"] - labels.get("masked", 0), "answered point")]
        kinds += [counted(labels["masks"], "mask")] if "masks" in labels else []
        kinds += [f"boxes in {counted(labels['boxed'], 'image')}"] if "boxed" in labels else []
        return " and ".join([", ".join(kinds[:-1]), kinds[-1]] if kinds[1:] else kinds)
    partly = labels.get("partly", 0)
    more = f" and {partly} partly labelled" if partly else ""
    if "by_choice" not in labels and labels.get("choices"):  # duels rank them apart
        more += f" and {labels['choices']:,} choices between two models"
    return f"{counted(labels.get('used', 0) - partly, 'labelled image')}{more}"


def labelled_note(some: int, partly: int, number: int, how: str) -> str:
    """Return a sentence on how many images are labelled: of ``number`` images obtained by ``how``, ``some``
    have a label or an answer, ``partly`` of them in part.

    >>> labelled_note(6, 5, 7, "chosen")
    '1 of 7 chosen images are labelled, 5 partly'
    """
    return f"{some - partly} of {number} {how} images are labelled{f', {partly} partly' if partly else ''}"


def rank_words(ranges: Mapping[str, Sequence[float | None]], model: str, *, to: str = "–") -> str:
    """Return the range of a model's ranks in words: open if it may have any rank, one number if both ends are
    equal, '' if nothing is known.

    >>> ranges = {"a": [1, 3], "b": [2, 2], "c": [2, 3], "d": [math.nan, math.nan]}
    >>> [rank_words(ranges, model) for model in "abcd"]
    ['open', '2', '2–3', '']
    """
    known = {
        name: pair
        for name, pair in ranges.items()
        if pair and all(one is not None and math.isfinite(one) for one in pair)
    }
    if model not in known:
        return ""
    low, high = known[model]
    return f"{low:g}" if low == high else "open" if (low, high) == (1, len(known)) else f"{low:g}{to}{high:g}"


def _number(value: float | None, digits: int = _DECIMALS) -> str:
    # no negative zero
    return "–" if value is None or not math.isfinite(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def is_open(standings: Standings, question: str) -> bool:
    """Return whether standings leave a question open: more than one model may be the best, or some rank is
    not certain; False if they have no intervals.
    """
    first = next((ranking for ranking in standings.rankings.values() if ranking.rank_interval), None)
    if first is None:
        return False
    uncertain = any(low < high for low, high in first.rank_interval.values())
    return uncertain and (question != "best" or len(first.tied_for_best) != 1)
