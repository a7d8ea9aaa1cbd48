"""What all tables of rankings share: draws of images, which models are linked, the re-use rankings, a ranking
with its intervals.

Conventions: J models, I images with labels, B replicates. Row 0 of weights and of scores is the point
estimate, whose weights are ones; the others are draws of images with replacement. Images of the selection and
other images are separate strata, so that further labels do not affect the faithful intervals. Models that
comparisons do not link have no score, nor has a replicate that fails to link those that the point estimate
does; if more than 2 % fail, the rest are not a fair sample and all ranks stay open. Ranks and the models tied
for best, one at a time and for all models at once, come from one set of tests, so that they cannot contradict
each other. A score lies inside its interval.
Source: Efron 1979; Wilson 1927; the re-use of labels is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from faultscape.errors import OptionError, RankingError
from faultscape.metrics.intervals.units import LEAST, LEVEL
from faultscape.ranking import intervals
from faultscape.ranking.agreement import plain
from faultscape.ranking.catalogue import Ranking, entry, taking
from faultscape.ranking.methods.bradley_terry import linked_strengths, smoothed, wins
from faultscape.ranking.methods.likelihood import PSEUDO_COUNT, connected
from faultscape.ranking.methods.mean import mean_scores
from faultscape.ranking.methods.sandwich import reuse_games, standard_errors
from faultscape.ranking.simultaneous_ranks import rank_sets, replicate_p_values, single_rank_sets
from faultscape.standings import FEW, ModelRanking
from faultscape.ties import DECIMALS, tie_order

# fewer images than FEW get no interval; for whole groups, with Student's intervals, LEAST are enough
# what intervals are about: the pool that was drawn from, or data to come like it, or more images of the one
# group that the pool is of; or they describe the chosen images
POOL, FUTURE, ONE_GROUP, CHOSEN = "pool", "future", "one-group", "chosen"
MANY = 20  # groups of images from which percentiles of the bootstrap are used; with fewer Student's t
INTERVAL = "percentile bootstrap over images; of reuse_mean Wilson's"


@dataclass(frozen=True, eq=False)
class Table:
    """Matrices and rankings as standings hold them, and per ranking the scores (J,) and their replicates (B,
    J).
    """

    matrices: dict[str, list[list[float]]]
    rankings: dict[str, ModelRanking]
    scores: dict[str, np.ndarray]
    replicates: dict[str, np.ndarray]
    notes: tuple[str, ...]


def checked(
    models: Sequence[str],
    images: Sequence[str],
    scores: ArrayLike,
    resamples: int,
    what: str,
    *,
    keys: Sequence[str] | None = None,
) -> tuple[tuple[str, ...], list[str], np.ndarray]:
    """Return what every table of rankings is computed from, with scores (J, I) as numbers; RankingError or
    OptionError if it does not fit.

    Images are sorted by ``faultscape.ties``, by their ``keys`` (I,) or their ids: the bootstrap draws the
    same images whatever their names and original order.

    >>> checked(["a", "b"], ["x"], [[1], [0]], 0, "answers")
    (('a', 'b'), ['x'], array([[1.],
           [0.]]))
    """
    scores = np.asarray(scores, dtype=float)
    if len(models) < 2:
        raise RankingError(f"a ranking needs two models; there is {', '.join(models) or 'none'}")
    if scores.shape != (len(models), len(images)):
        raise RankingError(
            f"{what} are {scores.shape}; expected {len(models)} models by {len(images)} images"
        )
    if resamples < 0:
        raise OptionError(f"resamples cannot be negative; got {resamples}")
    if keys is not None and len(keys) != len(images):
        raise RankingError(f"there are {len(keys)} keys for {len(images)} images; give each image one")
    order = tie_order(images if keys is None else keys, ids=images)
    return tuple(models), [images[int(k)] for k in order], scores[:, order]


def image_weights(
    chosen: np.ndarray, resamples: int, seed: int, group: np.ndarray | None = None
) -> np.ndarray:
    """Return (1 + B, I) ones, then how often each image is drawn; ``chosen`` (I,) and the others are strata.

    Images with a ``group`` (I,) are drawn in whole groups, of chosen and other images together.

    >>> image_weights(np.array([True, True, False]), 2, 0)[:, 2]
    array([1., 1., 1.])
    """
    rng = np.random.default_rng(seed)
    weights = np.ones((resamples + 1, len(chosen)))
    if group is not None:
        names, code = np.unique(group, return_inverse=True)
        weights[1:] = intervals.bootstrap_weights(len(names), resamples, rng)[:, code]
        return weights
    for stratum in (chosen, ~chosen):
        weights[1:, stratum] = intervals.bootstrap_weights(int(stratum.sum()), resamples, rng)
    return weights


def draws_of(some: np.ndarray, group: np.ndarray | None) -> int:
    """Return how many draws there are of ``some`` (I,) of the images: as many as these images, or their
    groups.

    >>> (
    ...     draws_of(np.array([True, True, False]), None),
    ...     draws_of(np.array([True, True, False]), np.array([7, 7, 8])),
    ... )
    (2, 1)
    """
    return int(some.sum()) if group is None else len(np.unique(group[some]))


def one_footing(
    models: tuple[str, ...], joined: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Return (1 + B, J) scores of the models that are ``joined`` (J,) in the point estimate, and notes about
    the others.

    >>> one_footing(
    ...     ("a", "b", "c"),
    ...     np.array([True, True, False]),
    ...     np.array([[1.0, 2, np.nan], [np.nan, 1, 2], [2, 1, 3]]),
    ... )[0]
    array([[ 1.,  2., nan],
           [nan, nan, nan],
           [ 2.,  1., nan]])
    """
    scores = np.where(joined, scores, np.nan)
    # a replicate that ranks only some of them has scores that are not comparable
    scores[(np.isnan(scores) & joined).any(1)] = np.nan
    notes = []
    if not joined.all():
        lone = ", ".join(m for m, yes in zip(models, joined, strict=True) if not yes)
        others = "the others" if joined.any() else "each other"
        notes.append(f"no score for {lone}: comparisons do not link them to {others} both ways")
    if np.isnan(scores[0, joined]).any():
        notes.append("no score: the comparisons are too uneven to find a maximum in floating point")
    elif joined.any() and (lost := int(np.isnan(scores[1:, joined]).any(1).sum())):
        notes.append(
            f"{lost} of {len(scores) - 1} bootstrap replicates lack comparisons and are left out of the"
            " intervals"
        )
    return scores, notes


def one_sided(models: Sequence[str], games: np.ndarray, lone: Iterable[int]) -> str:
    """Return which of the ``lone`` models always win, which always lose, and which always win against some
    and always lose to the others; ``games`` (J, J) are wins of the row.

    >>> one_sided(["a", "b", "c"], np.array([[0, 2, 3], [0, 0, 1], [0, 0, 0]]), [0, 1, 2])
    'a always wins, c always loses, b always wins against some and always loses to the others'
    """
    off = games * (1 - np.eye(len(models)))
    kinds: dict[str, list[str]] = {"": [], "wins": [], "loses": []}
    for m in lone:
        won, lost = off[m].any(), off[:, m].any()
        kinds["" if won and lost else "wins" if won else "loses"].append(models[m])
    said = []
    for kind, many in (("wins", "win"), ("loses", "lose")):
        if named := kinds[kind]:
            said.append(f"{', '.join(named)} always {kind if len(named) == 1 else many}")
    if mixed := kinds[""]:
        wins, loses = ("wins", "loses") if len(mixed) == 1 else ("win", "lose")
        said.append(f"{', '.join(mixed)} always {wins} against some and always {loses} to the others")
    return ", ".join(said)


def reuse(
    models: tuple[str, ...], accuracy: np.ndarray, weights: np.ndarray, extra: Sequence[Ranking] = ()
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, list[str]]]:
    """Return the scores (1 + B, J) of ``reuse_mean``, ``reuse_bradley_terry`` and rankings of your own
    (``extra``), their sandwich errors (J,), and notes to print.

    ``accuracy`` (J, I), NaN where unknown: a mean is over the known scores of a model, a game needs both
    models known. If all is known and right or wrong, Bradley-Terry orders the models as the mean does, since
    each met each equally often, and is left out.

    >>> scores, _, _ = reuse(("a", "b"), np.array([[0.9, 0.8, 0.1], [0.7, np.nan, 0.2]]), np.ones((1, 3)))
    >>> scores["reuse_mean"].round(3), scores["reuse_bradley_terry"].round(3)
    (array([[0.6 , 0.45]]), array([[0., 0.]]))
    """
    mean = mean_scores(accuracy, weights)
    others = {
        ranking.name: ranking.compute(accuracy, weights) for ranking in extra if ranking.takes == "scores"
    }
    if np.isin(accuracy, (0, 1)).all():
        return {"reuse_mean": mean} | others, {}, {}
    games = wins(accuracy, weights)
    joined = connected(smoothed(games[0], PSEUDO_COUNT))
    strengths, notes = one_footing(models, joined, linked_strengths(games))
    if said := one_sided(models, games[0], np.flatnonzero(joined & ~connected(games[0]))):
        distance = f"the distance between their scores depends on the pseudo-count ({PSEUDO_COUNT})"
        notes.append(f"{said}; {distance}, not on the labels")
    error = standard_errors(reuse_games(accuracy), strengths[0])
    scores = {"reuse_mean": mean, "reuse_bradley_terry": strengths} | others
    return scores, {"reuse_bradley_terry": error}, {"reuse_bradley_terry": notes}


def table(
    models: tuple[str, ...],
    matrices: dict[str, np.ndarray],
    scores: dict[str, np.ndarray],
    errors: dict[str, np.ndarray],
    said: dict[str, list[str]],
    drawn: dict[str, int],
    notes: list[str],
    decided: np.ndarray,
    group: np.ndarray | None = None,
    groups_told: int = 0,
    extra: Sequence[Ranking] = (),
) -> Table:
    """Return rankings with intervals from scores (1 + B, J); a note about several rankings appears once.

    ``errors`` are sandwich errors (J,) of some rankings, ``drawn`` the number of images that a ranking's
    replicates draw from, ``decided`` (J, I) whether a label says how good a model is on an image; ``notes``
    go first. If whole groups were drawn, ``group`` (I,) is that of each image, and ``drawn`` counts groups;
    ``groups_told`` of them are counted in another note. ``extra`` are rankings of your own among them.
    """
    what, least = ("images", FEW) if group is None else ("groups of images", LEAST)
    spans = {name: entry(name, extra).span(len(models)) for name in scores}
    scores = {name: np.clip(s, *spans[name]) for name, s in scores.items()}
    resamples = len(next(iter(scores.values()))) - 1
    texts = dict.fromkeys(text for lines in said.values() for text in lines)
    notes = [
        *notes,
        *(f"{', '.join(name for name, lines in said.items() if text in lines)}: {text}" for text in texts),
    ]
    if not resamples:
        notes.append("no bootstrap: there are no intervals, and no model is called tied for best")
    elif (images := max(drawn.values())) == groups_told and group is not None:
        pass
    elif images < least:
        notes.append(
            f"no score intervals: fewer than {least} {what} ({images}) are too few for intervals, or to"
            " tell models apart"
        )
    elif group is not None:
        told = (
            f": fewer than {MANY}, and Student's t with {images - 1} degrees of freedom"
            if images < MANY
            else ""
        )
        notes.append(f"intervals redraw whole groups of images; labels lie in {images} groups{told}")
    if few := [name for name, s in scores.items() if lost_share(s[0], s[1:]) > intervals.LOST]:
        notes.append(
            f"{', '.join(few)}: all ranks stay open, since more than {100 * intervals.LOST:g} % of the"
            " replicates are left out"
        )
    rankings = {
        name: replace(
            ranking(
                models, s[0], s[1:], drawn[name], errors.get(name), groups=group is not None, span=spans[name]
            ),
            speaks_of=CHOSEN,
        )
        for name, s in scores.items()
    }
    for name in (
        one.name for one in taking("scores", extra) if one.name in scores and one.interval == "wilson"
    ):
        bounds = held(_mean_intervals(scores[name], decided, group, least), scores[name][0])
        rankings[name] = replace(
            rankings[name], score_interval=dict(zip(models, bounds.tolist(), strict=True))
        )
    return Table(
        {name: matrix.tolist() for name, matrix in matrices.items()},
        rankings,
        {name: s[0] for name, s in scores.items()},
        {name: s[1:] if drawn[name] >= least else s[1:1] for name, s in scores.items()},
        tuple(notes),
    )


def lost_share(scores: np.ndarray, replicates: np.ndarray) -> float:
    """Return the share of replicates (B, J) without a score of some model that has one in ``scores`` (J,).

    >>> lost_share(np.array([0.5, np.nan]), np.array([[0.4, np.nan], [np.nan, 0.1]]))
    0.5
    """
    return float(np.isnan(replicates[:, ~np.isnan(scores)]).any(1).mean()) if len(replicates) else 0.0


def ranking(
    models: tuple[str, ...],
    scores: np.ndarray,
    replicates: np.ndarray,
    images: int,
    error: np.ndarray | None = None,
    *,
    least: int | None = None,
    exact: bool = False,
    groups: bool = False,
    span: tuple[float, float] = (-math.inf, math.inf),
) -> ModelRanking:
    """Return one ranking as standings hold it, with ranks for one model at a time and for all at once.

    A model is tied for best if no test says that another is better. With fewer images than ``least`` (ten, or
    six groups) nothing is tested: all ranks are open, and no model is tied. Scores are ``exact`` if they use
    all labels that can exist. Intervals are NaN for too few images, and if replicates do not vary, since
    their variance is then unknown. If ``images`` counts ``groups``, and there are fewer than twenty,
    intervals are Student's t. All are clipped to the ``span`` of what is measured.

    >>> draws = np.random.default_rng(0).normal([0, 0, 9], 1, (200, 3))
    >>> said = ranking(("a", "b", "c"), np.array([0.1, 0.0, 9.0]), draws, 50)
    >>> said.order, said.simultaneous_rank_interval, said.best_set
    (['c', 'a', 'b'], {'a': [2, 3], 'b': [2, 3], 'c': [1, 1]}, ['c'])
    """
    least = least or (LEAST if groups else FEW)
    order = sorted(
        range(len(models)),
        key=lambda k: (
            np.isnan(scores[k]),
            -round(float(scores[k]), DECIMALS) if scores[k] == scores[k] else 0,
        ),
    )
    if groups and images > 1:
        # the bootstrap's variance divides by G, not G - 1
        replicates = scores + (replicates - scores) * np.sqrt(images / (images - 1))
    spread = intervals.percentile_interval(replicates)
    if groups and least <= images < MANY and len(replicates) > 1:
        half = stdtrit(images - 1, (1 + LEVEL) / 2) * np.nanstd(replicates, 0)
        spread = np.where(np.isnan(spread), np.nan, scores[:, None] + half[:, None] * np.array([-1, 1]))
    if not exact:
        spread[(images < least) | (spread[:, 1] - spread[:, 0] < 10**-DECIMALS)] = np.nan
    spread = held(np.clip(spread, *span), scores)
    p_values = replicate_p_values(scores, replicates, images, exact=exact)
    if lost_share(scores, replicates) > intervals.LOST:
        p_values = np.where(np.isnan(p_values), np.nan, 1.0)
    places, sets = single_rank_sets(p_values), rank_sets(p_values)
    tested = exact or images >= least
    if not tested and len(replicates):
        scored = ~np.isnan(scores)
        places = sets = np.where(scored[:, None], [1.0, scored.sum()], np.nan)
    return ModelRanking(
        scores=dict(zip(models, scores.tolist(), strict=True)),
        order=[models[k] for k in order],
        score_interval=dict(zip(models, spread.tolist(), strict=True)),
        rank_interval={m: [plain(r) for r in row] for m, row in zip(models, places, strict=True)},
        simultaneous_rank_interval={m: [plain(r) for r in row] for m, row in zip(models, sets, strict=True)},
        tied_for_best=[models[k] for k in order if tested and places[k, 0] == 1],
        best_set=[models[k] for k in order if tested and sets[k, 0] == 1],
        sandwich_error=None if error is None else dict(zip(models, error.tolist(), strict=True)),
    )


def held(bounds: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return intervals (J, 2) that contain the scores (J,): widened if a score lies outside, as biased scores
    may; NaN stays NaN.

    >>> held(np.array([[0.1, 0.2], [np.nan, np.nan]]), np.array([0.25, 0.3]))
    array([[0.1 , 0.25],
           [ nan,  nan]])
    """
    return np.stack([np.minimum(bounds[:, 0], scores), np.maximum(bounds[:, 1], scores)], 1)


def unusable(models: tuple[str, ...], why: str, *, speaks_of: str = "") -> ModelRanking:
    """Return the row of a ranking that cannot be used: no score, no interval and no rank, and ``why``.

    >>> unusable(("a",), "too few").scores, unusable(("a",), "too few").unusable
    ({'a': nan}, 'too few')
    """
    none = {m: [float("nan")] * 2 for m in models}
    return ModelRanking(
        scores=dict.fromkeys(models, float("nan")),
        score_interval=none,
        rank_interval=none,
        simultaneous_rank_interval=none,
        unusable=why,
        speaks_of=speaks_of,
    )


def _mean_intervals(
    scores: np.ndarray, decided: np.ndarray, group: np.ndarray | None, least: int
) -> np.ndarray:
    """Return (J, 2) intervals of means of numbers between 0 and 1 from (1 + B, J) of them and their
    replicates.
    """
    out = np.full((len(decided), 2), np.nan)
    for k in np.flatnonzero((len(scores) > 2) & ~np.isnan(scores[0])).tolist():
        sizes = (
            np.ones(decided[k].sum())
            if group is None
            else np.unique(group[decided[k]], return_counts=True)[1]
        )
        if (n := len(sizes)) < least:
            continue
        variance = np.nanvar(scores[1:, k]) * n / (n - 1)  # the bootstrap's divides by n, not n - 1
        factor = float(stdtrit(n - 1, (1 + LEVEL) / 2))
        unit = 1 / n if group is None else _unit(float(variance), scores[0, k], sizes)
        out[k] = intervals.share_intervals(scores[:1, k], np.array([variance]), unit, factor)[0]
    return out


def _unit(variance: float, share: float, sizes: np.ndarray) -> float:
    """Return the variance of a share p in units of p (1 - p) that the number of images implies, or more if
    groups of these ``sizes`` (G,) vary more.
    """
    # between images independent of each other and each group counting as one
    least, most = 1 / sizes.sum(), (sizes**2).sum() / sizes.sum() ** 2
    own = share * (1 - share)
    return float(np.clip(variance / own, least, most)) if own > 0 else float(most)
