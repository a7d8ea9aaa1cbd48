"""What all rankings share: which models are linked, the re-use rankings, a ranking with its intervals.

Conventions: J models, I images with labels, B replicates. Row 0 of scores is the point estimate. Models that
comparisons do not link have no score, nor has a replicate that fails to link those that the point estimate
does; if more than 2 % fail, the rest are not a fair sample and all ranks stay open. Ranks and the models tied
for best, one at a time and for all models at once, come from one set of tests, so that they cannot contradict
each other. A score lies inside its interval.
Source: Efron 1979; Wilson 1927; the re-use of labels is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultscape.metrics.intervals.units import LEAST, LEVEL
from faultscape.ranking import intervals
from faultscape.ranking.agreement import plain
from faultscape.ranking.catalogue import Ranking, entry
from faultscape.ranking.methods.bradley_terry import linked_strengths, smoothed, wins
from faultscape.ranking.methods.likelihood import PSEUDO_COUNT, connected
from faultscape.ranking.methods.mean import mean_scores
from faultscape.ranking.methods.sandwich import reuse_games, standard_errors
from faultscape.ranking.panel import Panel
from faultscape.ranking.simultaneous_ranks import rank_sets, replicate_p_values, single_rank_sets
from faultscape.standings import FEW, ModelRanking
from faultscape.ties import DECIMALS

# fewer images than FEW get no interval; for whole groups, with Student's intervals, LEAST are enough
# what intervals are about: the pool that was drawn from, or data to come like it, or more images of the one
# group that the pool is of; or they describe the chosen images
POOL = "pool"
FUTURE = "future"
SAME_GROUPS = "same-groups"
CHOSEN = "chosen"
MANY = 20  # groups of images from which percentiles of the bootstrap are used; with fewer Student's t
INTERVAL = "percentile bootstrap over images; of reuse_mean Wilson's"


@dataclass(frozen=True, eq=False)
class Scored:
    """What one ranking says: scores (1 + B, J), the point estimate first, their standard errors (J,) if there
    is a formula, and notes to print; replicates draw from that many ``images``, or groups of them.
    """

    scores: np.ndarray
    images: int
    notes: Sequence[str] = ()
    error: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """Rankings with intervals as standings hold them, per ranking the scores (J,) and their replicates (B,
    J), and notes to print.
    """

    rankings: dict[str, ModelRanking]
    scores: dict[str, np.ndarray]
    replicates: dict[str, np.ndarray]
    notes: list[str]


def linked(models: tuple[str, ...], joined: np.ndarray, scores: np.ndarray, images: int) -> Scored:
    """Return (1 + B, J) scores of the models that are ``joined`` (J,) in the point estimate, with notes about
    the others.

    >>> linked(
    ...     ("a", "b", "c"),
    ...     np.array([True, True, False]),
    ...     np.array([[1.0, 2, np.nan], [np.nan, 1, 2], [2, 1, 3]]),
    ...     30,
    ... ).scores
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
    return Scored(scores, images, notes)


def one_sided(models: Sequence[str], games: np.ndarray, lone: Iterable[int]) -> str:
    """Return which of the ``lone`` models always win, which always lose, and which always win against some
    and always lose to the others; ``games`` (J, J) are wins of the row.

    >>> one_sided(["a", "b", "c"], np.array([[0, 2, 3], [0, 0, 1], [0, 0, 0]]), [0, 1, 2])
    'a always wins, c always loses, b always wins against some and always loses to the others'
    """
    off = games * (1 - np.eye(len(models)))
    kinds: dict[str, list[str]] = {"": [], "wins": [], "loses": []}
    for m in lone:
        won = off[m].any()
        lost = off[:, m].any()
        kinds["" if won and lost else "wins" if won else "loses"].append(models[m])
    said = []
    for kind, many in (("wins", "win"), ("loses", "lose")):
        if named := kinds[kind]:
            said.append(f"{', '.join(named)} always {kind if len(named) == 1 else many}")
    if mixed := kinds[""]:
        wins, loses = ("wins", "loses") if len(mixed) == 1 else ("win", "lose")
        said.append(f"{', '.join(mixed)} always {wins} against some and always {loses} to the others")
    return ", ".join(said)


def reused(
    panel: Panel, weights: np.ndarray, images: int, extra: Sequence[Ranking] = ()
) -> dict[str, Scored]:
    """Return ``reuse_mean``, ``reuse_bradley_terry`` and rankings of your own (``extra``), in which each
    label of a panel scores every model; the ``weights`` (1 + B, I) draw from that many ``images``.

    A mean is over the known scores of a model, a game needs both models known. If all is known and right or
    wrong, Bradley-Terry orders the models as the mean does, since each met each equally often, and is left
    out.

    >>> panel = Panel.of(["a", "b"], ["x", "y", "z"], [[0.9, 0.8, 0.1], [0.7, np.nan, 0.2]])
    >>> found = reused(panel, np.ones((1, 3)), 3)
    >>> found["reuse_mean"].scores.round(3), found["reuse_bradley_terry"].scores.round(3)
    (array([[0.6 , 0.45]]), array([[0., 0.]]))
    """
    found = {"reuse_mean": Scored(mean_scores(panel.scores, weights), images)}
    if not np.isin(panel.scores, (0, 1)).all():
        games = wins(panel.scores, weights)
        joined = connected(smoothed(games[0], PSEUDO_COUNT))
        strengths = linked(panel.models, joined, linked_strengths(games), images)
        notes = [*strengths.notes]
        if said := one_sided(panel.models, games[0], np.flatnonzero(joined & ~connected(games[0]))):
            distance = f"the distance between their scores depends on the pseudo-count ({PSEUDO_COUNT})"
            notes.append(f"{said}; {distance}, not on the labels")
        error = standard_errors(reuse_games(panel.scores), strengths.scores[0])
        found["reuse_bradley_terry"] = replace(strengths, notes=notes, error=error)
    own = (one for one in extra if one.takes == "scores")
    return found | {one.name: Scored(one.compute(panel.scores, weights), images) for one in own}


def with_intervals(
    scored: Mapping[str, Scored], panel: Panel, extra: Sequence[Ranking] = (), *, groups_told: int = 0
) -> Table:
    """Return rankings with intervals; a note about several rankings appears once.

    The labels of the ``panel`` are those of rankings that re-use them. ``groups_told`` groups of images are
    counted in another note. ``extra`` are rankings of your own among them.
    """
    models = panel.models
    group = panel.group
    what, least = ("images", FEW) if group is None else ("groups of images", LEAST)
    spans = {name: entry(name, extra).span(len(models)) for name in scored}
    scores = {name: np.clip(one.scores, *spans[name]) for name, one in scored.items()}
    texts = dict.fromkeys(text for one in scored.values() for text in one.notes)
    notes = [
        f"{', '.join(name for name, one in scored.items() if text in one.notes)}: {text}" for text in texts
    ]
    images = max(one.images for one in scored.values())
    if len(next(iter(scores.values()))) == 1:
        notes.append("no bootstrap: there are no intervals, and no model is called tied for best")
    elif group is not None and images == groups_told:
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
    rankings = {}
    for name, one in scored.items():
        point = scores[name][0]
        replicates = scores[name][1:]
        row = ranking(
            models, point, replicates, one.images, one.error, groups=group is not None, span=spans[name]
        )
        kind = entry(name, extra)
        if kind.takes == "scores" and kind.interval == "wilson":
            bounds = held(_mean_intervals(scores[name], ~np.isnan(panel.scores), group, least), point)
            row = replace(row, score_interval=dict(zip(models, bounds.tolist(), strict=True)))
        rankings[name] = replace(row, speaks_of=CHOSEN)
    return Table(
        rankings,
        {name: s[0] for name, s in scores.items()},
        {name: s[1:] if scored[name].images >= least else s[1:1] for name, s in scores.items()},
        notes,
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
    from scipy.special import stdtrit

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
    places = single_rank_sets(p_values)
    sets = rank_sets(p_values)
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
        variance = float(np.nanvar(scores[1:, k])) * n / (n - 1)  # the bootstrap's divides by n, not n - 1
        out[k] = share_interval(scores[0, k], variance, sizes)
    return out


def share_interval(share: float, variance: float, sizes: np.ndarray) -> np.ndarray:
    """Return (2,) Wilson's interval of a share with this ``variance``, of whole groups of these ``sizes``
    (G,), with Student's t.

    >>> share_interval(0.5, 0.25 / 9, np.ones(10)).round(2)
    array([0.2, 0.8])
    """
    from scipy.special import stdtrit

    factor = float(stdtrit(len(sizes) - 1, (1 + LEVEL) / 2))
    unit = 1 / len(sizes) if (sizes == 1).all() else _unit(variance, share, sizes)
    return intervals.share_intervals(np.array([share]), np.array([variance]), unit, factor)[0]


def _unit(variance: float, share: float, sizes: np.ndarray) -> float:
    """Return the variance of a share p in units of p (1 - p) that the number of images implies, or more if
    groups of these ``sizes`` (G,) vary more.
    """
    # between images independent of each other and each group counting as one
    least = 1 / sizes.sum()
    most = (sizes**2).sum() / sizes.sum() ** 2
    own = share * (1 - share)
    return float(np.clip(variance / own, least, most)) if own > 0 else float(most)
