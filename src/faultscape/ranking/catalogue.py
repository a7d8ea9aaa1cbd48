"""RANKINGS: every ranking that standings can hold, what each is computed from, and which one comes first.

Conventions: an entry is complete: titles, ranges of scores, intervals and the selections it fits are defined
here and nowhere else, and one law (tests/laws/test_rankings.py) runs over all entries. Users add their own
entry with ``file.py:name`` (`find_ranking`). J models, I labelled images, B replicates, of which the first is
the point estimate; scores are large = good, NaN where unknown. The order is decided only by the table of
docs/benchmarks/choice.md, a leave-one-data-set-out comparison; when the table changes, the order does. It
depends on how the images were chosen: ``chance`` (drawn with known probabilities), ``best`` (drawn in this
way only to find the best model), ``top`` (for all models, without probabilities: entropy, model-picker),
``duels``. Whether answers are right or wrong or graded makes no difference. `select` itself keeps MAD's duels
as its default: they show where models fail, which is another question.

``models`` is the number of models; ``source`` is written ``file.py:name``.

Source: each entry names its own; the order is ours (benchmarks/leave_one_out.py and choice_table.py).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from faultscape import plug
from faultscape.errors import OptionError, RankingError, closest
from faultscape.nouns import Draw, Point, Row
from faultscape.ranking.choice_shares import choice_strengths
from faultscape.ranking.drawn import anytime, choice_control, estimates
from faultscape.ranking.matrices import aggressiveness, resistance
from faultscape.ranking.methods.borda import borda
from faultscape.ranking.methods.bradley_terry import reuse_strengths
from faultscape.ranking.methods.davidson import bradley_terry_ties
from faultscape.ranking.methods.hodge import hodge_rank
from faultscape.ranking.methods.likelihood import PSEUDO_COUNT
from faultscape.ranking.methods.mean import mean_scores
from faultscape.ranking.methods.perron import dominance, perron, smoothed_accuracy
from faultscape.ranking.methods.rank_centrality import rank_centrality
from faultscape.ranking.methods.thurstone import thurstone
from faultscape.ranking.pair_cases import PairCounts
from faultscape.standings import ModelRanking

Kind = Literal["faithful", "re-use", "pool drawn from"]
Takes = Literal["ratios", "counts", "distances", "scores", "draws", "choices", "points"]
_BOUNDS = ("share", "difference", "none")
_INTERVALS = ("bootstrap", "wilson", "student")
FAITHFUL: Kind = "faithful"
REUSE: Kind = "re-use"
UNBIASED: Kind = "pool drawn from"
KINDS = {
    FAITHFUL: "a label counts only for the pairs that chose its image",
    REUSE: "a label counts for every model",
    UNBIASED: "labels speak for every image that could have been drawn",
}


@dataclass(frozen=True)
class Ranking:
    """One ranking: its texts, what it is computed from, and how.

    Scores are computed from what the ranking takes:

    - "ratios": ``compute(ratios (B, J, J)) -> (B, J)``, of duels of label maps; ``matrix(performance (B, 2,
      J, J), epsilon)`` makes the ratios;
    - "counts": ``compute(PairCounts, laplace) -> (B, J)``, of pairs of classifiers;
    - "distances": the same, with wins of the model whose wrong answer is nearer to the label;
    - "scores": ``compute(scores (J, I), weights (B, I)) -> (B, J)``, of any selection; scores are NaN where a
      label does not decide, weights how often an image is drawn;
    - "draws": an estimate (see drawn.estimates) of the losses of images drawn with known probabilities;
    - "points": ``compute(PointScores) -> (J,)``, of answers to single pixels (see ranking.points);
    - "choices": ``compute(games (I, J, J), weights (B, I)) -> (B, J)``, of what people chose between two
      models (`choice_shares.choice_games`).

    ``score`` says what one number is, with ``{metric}`` for the metric of a label; '' if it has no unit.
    ``bounds``: "share" scores lie in 0..1, "difference" within 1 - 1/J of 0, "none" anywhere. ``interval``:
    "bootstrap" over images, "wilson" of shares, "student" t.
    """

    name: str  # its key in the standings
    title: str  # what pages and tables call it
    short: str  # the head of a narrow column
    says: str  # what its scores mean for a model, as pages put it
    source: str  # paper and equation, or ours
    kind: Kind  # for which models a label counts, one of `KINDS`
    takes: Takes  # what `compute` is given, as listed above
    compute: Callable[..., Any]  # gives the scores, large = good
    bounds: Literal["share", "difference", "none"] = "none"
    interval: Literal["bootstrap", "wilson", "student"] = "bootstrap"
    matrix: Callable[..., np.ndarray] | None = None  # makes the ratios; None: as `aggressiveness`
    score: str = ""

    def span(self, models: int) -> tuple[float, float]:
        """Return the range of the scores of J models, within which intervals lie.

        >>> entry("borda").span(3), entry("hodge").span(3), entry("reuse_margins").span(4)
        ((0.0, 1.0), (-inf, inf), (-0.75, 0.75))
        """
        if self.bounds == "share":
            return 0.0, 1.0
        # strengths and potentials are unbounded
        most = 1 - 1 / models if self.bounds == "difference" else math.inf
        return -most, most

    def words(self) -> dict[str, str]:
        """Return the texts of the ranking for pages: name, title, short title, meaning, source and kind."""
        return {key: getattr(self, key) for key in ("name", "title", "short", "says", "source", "kind")}


def pair_ratios(counts: PairCounts, laplace: float) -> np.ndarray:
    """Return B (B, J, J) of Wang et al. 2020: how many times more often the row model is right than the
    column model, on the images of their pair.
    """
    return dominance(smoothed_accuracy(counts.correct, counts.total, laplace))


def pair_flow(counts: PairCounts, laplace: float) -> np.ndarray:
    """Return the logarithms of `pair_ratios`."""
    with np.errstate(divide="ignore"):
        return np.log(pair_ratios(counts, laplace))


def pair_points(counts: PairCounts) -> np.ndarray:
    """Return the points of the row model against the column model: wins, and half a point for a tie."""
    return counts.wins + counts.ties / 2


_PER_IMAGE = "mean of per-image {metric}"
_LOG_ODDS = "log-odds of winning {what} against a model of average strength (0)"

RANKINGS: tuple[Ranking, ...] = (
    Ranking(
        "aggressiveness",
        "Aggressiveness",
        "Aggr.",
        "how well a model exposes the failures of others",
        "Yan et al. 2021, eq. 3, 6",
        FAITHFUL,
        "ratios",
        thurstone,
        matrix=aggressiveness,
    ),
    Ranking(
        "resistance",
        "Resistance",
        "Resist.",
        "how well a model stands on the images it was attacked with",
        "Yan et al. 2021, eq. 5, 6",
        FAITHFUL,
        "ratios",
        thurstone,
        matrix=resistance,
    ),
    Ranking(
        "perron",
        "Perron rank",
        "Perron",
        "a model's share of dominance over the others",
        "Wang et al. 2020, eq. 5",
        FAITHFUL,
        "counts",
        lambda counts, laplace: perron(pair_ratios(counts, laplace)),
        "share",
    ),
    Ranking(
        "hodge",
        "HodgeRank",
        "Hodge",
        "the potential that explains most of all log ratios",
        "Jiang et al. 2011",
        FAITHFUL,
        "counts",
        lambda counts, laplace: hodge_rank(pair_flow(counts, laplace), counts.total)[0],
    ),
    Ranking(
        "bradley_terry",
        "Bradley–Terry, own pairs",
        "B–T own",
        "strengths from wins and ties of each pair",
        "Davidson 1970",
        FAITHFUL,
        "counts",
        lambda counts, _: bradley_terry_ties(counts.wins, counts.ties, PSEUDO_COUNT)[0],
        score=_LOG_ODDS.replace("{what}", "an image"),
    ),
    Ranking(
        "nearer_bradley_terry",
        "Bradley–Terry, the nearer wins",
        "B–T near",
        "strengths where of two wrong answers the one nearer to the label wins",
        "Wang et al. 2020, case III and eq. 3; Davidson 1970",
        FAITHFUL,
        "distances",
        lambda counts, _: bradley_terry_ties(counts.wins, counts.ties, PSEUDO_COUNT)[0],
        score=_LOG_ODDS.replace("{what}", "an image"),
    ),
    Ranking(
        "rank_centrality",
        "Rank Centrality",
        "Centr.",
        "where a walk from loser to winner ends up",
        "Negahban et al. 2017",
        FAITHFUL,
        "counts",
        lambda counts, _: rank_centrality(pair_points(counts), PSEUDO_COUNT),
        "share",
    ),
    Ranking(
        "borda",
        "Borda",
        "Borda",
        "the mean share of points won against others",
        "win shares",
        FAITHFUL,
        "counts",
        lambda counts, _: borda(pair_points(counts)),
        "share",
    ),
    Ranking(
        "margins",
        "Margins",
        "Margins",
        "how far a model is above the average model; unlabelled images count by what the models predict",
        "ours",
        UNBIASED,
        "draws",
        estimates.margins,
        "difference",
        "student",
        score=_PER_IMAGE + " over all images that could be drawn, less the average model, estimated",
    ),
    Ranking(
        "anytime",
        "Looked at any time",
        "Any time",
        "scores of the pool drawn from, with intervals that hold however often one looks",
        "Waudby-Smith et al. 2024; Waudby-Smith and Ramdas 2024",
        UNBIASED,
        "draws",
        anytime.evidence,
        "share",
        "student",
        score=_PER_IMAGE + " over all images that could be drawn, estimated",
    ),
    Ranking(
        "with_choices",
        "Mean, with choices",
        "Mean + choices",
        "masks as prediction_powered counts them, with differences corrected by what people chose between two"
        " models on more of the drawn images",
        "Neyman 1938; Angelopoulos et al. 2023; joint control ours",
        UNBIASED,
        "draws",
        choice_control.with_choices,
        "share",
        "wilson",
        score=_PER_IMAGE + " over all images that could be drawn, estimated",
    ),
    Ranking(
        "prediction_powered",
        "Prediction-powered",
        "Pred.-p.",
        "LURE; unlabelled images count by what the models predict",
        "Angelopoulos et al. 2023",
        UNBIASED,
        "draws",
        estimates.prediction_powered,
        "share",
        "wilson",
        score=_PER_IMAGE + " over all images that could be drawn, estimated",
    ),
    Ranking(
        "lure",
        "LURE",
        "LURE",
        "what a model is worth on the pool drawn from, labels weighted by how likely they were drawn",
        "Farquhar et al. 2021",
        UNBIASED,
        "draws",
        estimates.lure,
        "share",
        "wilson",
        score=_PER_IMAGE + " over all images that could be drawn, estimated",
    ),
    Ranking(
        "corpus",
        "Whole corpus",
        "Corpus",
        "the score on all images, from labels of those on which models differ and of those on which they"
        " agree",
        "Farquhar et al. 2021, two strata",
        UNBIASED,
        "draws",
        estimates.combined,
        "share",
        "wilson",
        score=_PER_IMAGE + " over all images, estimated",
    ),
    Ranking(
        "points",
        "Points, pooled mIoU",
        "Points",
        "IoU of each class over all pixels that could be drawn, estimated from points",
        "ours; Särndal, Swensson and Wretman 1992",
        UNBIASED,
        "points",
        lambda found: found.score,
        "share",
        "student",
        score="pooled mIoU over all images that could be drawn, estimated",
    ),
    Ranking(
        "reuse_margins",
        "Margins, all labels",
        "Margins, all",
        "margins of the labels as they come, without the weights of the draws; of classifiers drawn towards"
        " what their agreement lets expect",
        "ours",
        REUSE,
        "draws",
        estimates.margins,
        "difference",
        score=_PER_IMAGE + ", less the average model",
    ),
    Ranking(
        "reuse_mean",
        "Mean over all labels",
        "Mean",
        "each labelled image scores every model",
        "mean score",
        REUSE,
        "scores",
        mean_scores,
        "share",
        "wilson",
        score=_PER_IMAGE,
    ),
    Ranking(
        "reuse_bradley_terry",
        "Bradley–Terry on all labels",
        "B–T",
        "each labelled image is won or lost between every pair of models",
        "strengths on a log scale",
        REUSE,
        "scores",
        reuse_strengths,
        score=_LOG_ODDS.replace("{what}", "a labelled image"),
    ),
    Ranking(
        "choices_bradley_terry",
        "Bradley–Terry, choices",
        "B–T choices",
        "strengths from what people chose between two models",
        "Bradley and Terry 1952",
        REUSE,
        "choices",
        choice_strengths,
        score=_LOG_ODDS.replace("{what}", "a choice"),
    ),
)
_CALLED_WITH = {  # the arguments and the result of a user's own ranking
    "ratios": "ratios (replicates, models, models) alone, and gives scores (replicates, models)",
    "counts": "counts of pairs and laplace, and gives scores (replicates, models)",
    "scores": (
        "scores (models, images) and weights (replicates, images), and gives scores (replicates, models)"
    ),
}
_OF_ONE_KIND = ("distances", "draws", "choices", "points")  # what no ranking of your own can take
_NAMED = {ranking.name: ranking for ranking in RANKINGS}


def score_words(name: str, metric: str) -> str:
    """Return what a score of a ranking is; '' if it has no unit, or the ranking is the user's own.

    >>> score_words("reuse_mean", "mIoU"), score_words("perron", "mIoU")
    ('mean of per-image mIoU', '')
    """
    return _NAMED[name].score.replace("{metric}", metric) if name in _NAMED else ""


def entry(name: str, extra: Sequence[Ranking] = ()) -> Ranking:
    """Return the ranking of that name, built in or the user's own (``extra``); OptionError, which lists all,
    for an unknown name.

    >>> entry("perron").source
    'Wang et al. 2020, eq. 5'
    """
    known = _NAMED | {ranking.name: ranking for ranking in extra}
    if name not in known:
        raise OptionError(
            f"ranking {name!r} is not known; known are {', '.join(known)}.{closest(name, list(known))}"
        )
    return known[name]


def taking(takes: Takes, extra: Sequence[Ranking] = ()) -> list[Ranking]:
    """Return the rankings computed from ratios, counts, scores, draws or choices, those that the user added
    (``extra``) last.

    >>> [ranking.name for ranking in taking("ratios")]
    ['aggressiveness', 'resistance']
    """
    return [ranking for ranking in (*RANKINGS, *extra) if ranking.takes == takes]


def words_of(extra: Sequence[Ranking]) -> dict[str, list[dict[str, str]]]:
    """Return what standings record about your own rankings, so that tables and pages can name them without
    the file; empty if there are none.
    """
    return {"rankings": [ranking.words() for ranking in extra]} if extra else {}


def find_ranking(source: str) -> Ranking:
    """Return the ranking that ``file.py:name`` holds: a `Ranking`, or a function of scores (J, I) and weights
    (B, I) to scores (B, J), which is named and described by its name and the first line of its docstring.

    OptionError for a file or name that does not exist, for any other kind of object, for an estimate of
    draws, and for the name of a built-in ranking; RankingError if it runs and returns another shape.
    """
    if source in _NAMED:
        raise OptionError(
            f"--ranking adds one of your own, file.py:name; {source} is built in, and made wherever a"
            " selection allows it"
        )
    if not source.rpartition(":")[0].endswith(".py"):
        raise OptionError(f"--ranking takes file.py:name, a ranking of your own; got {source!r}")
    held = plug.load("ranking", source)
    if not isinstance(held, Ranking) and not callable(held):
        raise OptionError(f"ranking {source}: is neither a function of scores and weights nor a Ranking")
    if not isinstance(held, Ranking):
        name = source.rpartition(":")[2]
        says = (inspect.getdoc(held) or "").partition("\n")[0].rstrip(".")
        held = Ranking(
            name,
            name,
            name,
            says,
            source.rpartition(":")[0].replace("\\", "/").rpartition("/")[2],
            REUSE,
            "scores",
            held,
        )
    for field, known in (
        ("kind", tuple(KINDS)),
        ("takes", get_args(Takes)),
        ("bounds", _BOUNDS),
        ("interval", _INTERVALS),
    ):
        if getattr(held, field) not in known:
            raise OptionError(
                f"ranking {source}: {field} is {getattr(held, field)!r}; use {', '.join(known)}"
            )
    if held.takes in _OF_ONE_KIND:
        raise OptionError(
            f"ranking {source}: takes {held.takes}, which rankings of your own cannot; let it take scores,"
            " counts or ratios"
        )
    if held.name in _NAMED:
        raise OptionError(
            f"ranking {source}: {held.name!r} is the name of a built-in ranking; give yours another"
        )
    return replace(held, compute=_checked(source, held))


def refuse_misfits(extra: Sequence[Ranking], fits: Takes | None) -> None:
    """Raise OptionError for a ranking that needs what a selection does not have: ``fits`` is its ratios
    (duels) or counts (pairs); every selection has scores.
    """
    of = {"ratios": "duels of label maps", "counts": "pairs of classifiers"}
    for ranking in extra:
        if ranking.takes not in ("scores", fits):
            raise OptionError(
                f"--ranking {ranking.name} is made from {of[ranking.takes]}, and this selection is of others;"
                " one that takes scores fits all"
            )
    names = [ranking.name for ranking in extra]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise OptionError(f"--ranking {twice} is given twice; give each ranking its own name")


def _checked(source: str, ranking: Ranking) -> Callable[..., np.ndarray]:
    """Return the ranking's function with a check of its result."""

    def compute(made_from: Any, more: Any = None) -> np.ndarray:
        given = (
            (_read_only(made_from),)
            if ranking.takes == "ratios"
            else (_read_only(made_from), _read_only(more))
        )
        with plug.plain_errors(
            f"ranking {source}", RankingError, f"; it is called with {_CALLED_WITH[ranking.takes]}"
        ):
            scores = np.array(ranking.compute(*given), dtype=float)
        shape = (
            (len(more), len(made_from))
            if ranking.takes == "scores"
            else np.shape(getattr(made_from, "total", made_from))[:2]
        )
        if scores.shape != shape or np.isinf(scores).any():
            raise RankingError(
                f"ranking {source}: expected finite scores or NaN, {shape[0]} replicates by {shape[1]}"
                f" models; got shape {scores.shape}{' with infinity' if scores.shape == shape else ''}"
            )
        return scores

    return compute


def _read_only(given: Any) -> Any:
    """Return a ranking's input with read-only arrays: other rankings are computed from the same ones."""
    if isinstance(given, np.ndarray):
        return plug.read_only(given)
    return (
        replace(given, **{f.name: _read_only(getattr(given, f.name)) for f in fields(given)})
        if is_dataclass(given) and not isinstance(given, type)
        else given
    )


CHANCE = "chance"
BEST = "best"
TOP = "top"
POINTS = "points"
DUELS = "duels"
FIRST = {  # per way of choosing, the first of these that is present and usable
    CHANCE: ("prediction_powered", "lure", "reuse_mean"),
    POINTS: ("points",),
    BEST: ("reuse_margins", "margins", "reuse_mean"),
    TOP: ("reuse_mean",),  # a control variate can collapse after choices without probabilities
    DUELS: ("reuse_bradley_terry", "reuse_mean"),
}
SELECTION = "--goal order"


def chosen_by(rows: Sequence[Row]) -> str:
    """Return how the images of a selection were chosen: by ``chance`` if every draw has a probability; pixels
    as ``points``.

    >>> (
    ...     chosen_by([Draw("random", 1, 1, "x", 1.0, 0.5, 2)]),
    ...     chosen_by([Draw("entropy", 1, 1, "x", 1.0, math.nan, 2)]),
    ... )
    ('chance', 'top')
    >>> chosen_by([])
    'duels'
    """
    if rows and isinstance(rows[0], Point):
        return POINTS
    if not rows or not isinstance(rows[0], Draw):
        return DUELS
    return CHANCE if all(math.isfinite(row.probability) for row in rows) else TOP


def ordered(
    rankings: Mapping[str, ModelRanking], chosen: str, goal: str | None = None
) -> dict[str, ModelRanking]:
    """Return rankings with the recommended one first, which is always usable; ``goal`` is that of random
    draws.

    >>> few = ModelRanking(unusable="too few")
    >>> list(ordered({"lure": few, "reuse_mean": ModelRanking(), "margins": few}, "chance"))
    ['reuse_mean', 'lure', 'margins']
    """
    usable = [name for name, said in rankings.items() if not said.unusable]
    chosen = BEST if chosen == CHANCE and goal == "best" else chosen
    # looked at any time there is no other that claims anything
    names = ("anytime", *(["with_choices"] if chosen == CHANCE and _worth_more(rankings) else []))
    first = next((name for name in (*names, *FIRST[chosen]) if name in usable), next(iter(usable), None))
    return dict(rankings) if first is None else {first: rankings[first], **rankings}


def _worth_more(rankings: Mapping[str, ModelRanking]) -> bool:
    """Whether choices make masks worth more labels than they are alone."""
    both, alone = (rankings.get(name, ModelRanking()) for name in ("with_choices", "prediction_powered"))
    return (both.effective_labels or 0) > (alone.effective_labels or math.inf)
