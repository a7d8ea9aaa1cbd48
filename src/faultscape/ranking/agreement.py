"""How closely two rankings agree: rank correlations, the overlap of two selections, and the comparison with a
closed benchmark.

Conventions: scores are (J,) or (B, J), large = good, NaN = no score; a model without score in either ranking
is left out; scores equal to 12 decimals are tied. Correlations are NaN for fewer than two models or where all
are tied. A rank change is positive when a model moved up: benchmark rank minus its rank here.

``first`` and ``second`` are the scores of two rankings. ``scores`` (J,) are those of the ranking in
question; ``reference`` (J,) are the scores that it is compared with.

Source: Yan et al. 2021, Tables 3 and 4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import RankingError, closest, counted, shortened
from faultscape.maps import checked_arrays
from faultscape.metrics.intervals.units import LEVEL
from faultscape.ranking.intervals import LOST, percentile_interval, ranks
from faultscape.standings import Benchmark, ModelRanking, OtherSelection, Standings
from faultscape.ties import DECIMALS


def spearman(first: ArrayLike, second: ArrayLike) -> Any:
    """Return Spearman's rank correlation (...) of scores (..., J) with ties, the Pearson correlation of mean
    ranks, over the last axis. Models with NaN on either side are left out; NaN if fewer than two are left, or
    all are tied on a side.

    >>> round(spearman([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]), 6)
    0.8
    >>> spearman([1.0, 2.0, 3.0], [2.0, 1.0, np.nan]), spearman([1.0, 2.0, 3.0], [2.0, np.nan, np.nan])
    (-1.0, nan)
    """
    first, second = _paired(first, second)
    x = ranks(first)
    y = ranks(second)
    both = ~np.isnan(x)
    count = np.maximum(both.sum(-1, keepdims=True), 1)
    x, y = (np.where(both, r - r.sum(-1, where=both, keepdims=True) / count, 0.0) for r in (x, y))
    return _share((x * y).sum(-1), (x * x).sum(-1), (y * y).sum(-1))


def kendall(first: ArrayLike, second: ArrayLike) -> Any:
    """Return Kendall's tau-b (...) of scores (..., J) over the last axis: concordant minus discordant pairs,
    scaled for ties on either side. Models with NaN on either side are left out; NaN if fewer than two are
    left, or all are tied on a side.

    >>> round(kendall([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]), 6)
    0.666667
    >>> kendall([1.0, 2.0, 3.0], [2.0, 1.0, np.nan]), kendall([1.0, 2.0, 3.0], [2.0, np.nan, np.nan])
    (-1.0, nan)
    """
    first, second = _paired(first, second)
    x, y = (np.nan_to_num(np.sign(s[..., :, None] - s[..., None, :])) for s in (first, second))
    return _share((x * y).sum((-1, -2)), (x * x).sum((-1, -2)), (y * y).sum((-1, -2)))


def pairs_in_order(scores: ArrayLike, reference: ArrayLike, *, apart: float = 0.0) -> tuple[int, int]:
    """Return (number of counted pairs that both order alike, number of counted pairs): counted are the pairs
    of models whose ``reference`` scores (J,) are more than ``apart`` from each other.

    Equal ``scores`` are never in order. A pair without two scores on both sides is not counted.

    >>> pairs_in_order([3.0, 2.0, 1.0], [0.50, 0.30, 0.305], apart=0.01)
    (2, 2)
    """
    scores, reference = _paired(scores, reference)
    if scores.ndim != 1:
        raise RankingError(
            f"scores and reference: expected one number a model (J,); got shape {scores.shape}"
        )
    first, second = np.triu_indices(scores.shape[-1], 1)
    gaps = np.round(reference[first] - reference[second], DECIMALS)
    signs = np.sign(np.round(scores[first] - scores[second], DECIMALS))
    counted = np.abs(gaps) > apart  # NaN is not
    return int((counted & (signs == np.sign(gaps))).sum()), int(counted.sum())


def overlap(first: Collection[str], second: Collection[str]) -> float:
    """Return the Jaccard index of two sets of images: the size of their intersection over that of their
    union; NaN for two empty sets.

    >>> overlap(["a", "b", "c"], ["b", "c", "d"])
    0.5
    """
    either = set(first) | set(second)
    return len(set(first) & set(second)) / len(either) if either else float("nan")


def compare_selections(
    standings: Standings, other: Standings, images: Collection[str], other_images: Collection[str]
) -> OtherSelection:
    """Return how closely the rankings of two standings agree, and the overlap of their images (Yan et al.
    2021, Table 4).

    Only models in both count. RankingError if they have fewer than two in common.
    """
    models = [m for m in standings.models if m in other.models]
    if len(models) < 2:
        raise RankingError(
            "two rankings need two models in common to be compared; "
            f"one has {', '.join(standings.models)}, the other {', '.join(other.models)}"
        )
    out = OtherSelection({}, {}, overlap(images, other_images))
    for name in standings.rankings:
        if name in other.rankings:
            mine, theirs = ([s.rankings[name].scores[m] for m in models] for s in (standings, other))
            out.spearman[name] = float(spearman(mine, theirs))
            out.kendall[name] = float(kendall(mine, theirs))
    return out


def settled_in_both(first: Standings, second: Standings) -> str:
    """Return in words which pairs of models the first ranking that both have settles in both.

    A pair is settled where the rank intervals, for all models at once, do not overlap.

    >>> from faultscape.standings import ModelRanking, Standings
    >>> ends = {"a": [1, 1], "b": [2, 3], "c": [2, 3]}, {"a": [2, 3], "b": [1, 1], "c": [2, 3]}
    >>> one, two = (ModelRanking(order=list(end), simultaneous_rank_interval=end) for end in ends)
    >>> here, there = (Standings(("a", "b", "c"), {}, {}, {"mean": ranking}, {}) for ranking in (one, two))
    >>> settled_in_both(here, there)
    'by mean 1 of 3 pairs of models are settled in both, and a and b stand in the other order there'
    """
    name = next(
        (
            n
            for n, r in first.rankings.items()
            if n in second.rankings and not (r.unusable or second.rankings[n].unusable)
        ),
        "",
    )
    if not name:
        return "no ranking of both can be used"
    models = [model for model in first.models if model in second.models]
    signs = {
        (a, b): (_sign(first.rankings[name], a, b), _sign(second.rankings[name], a, b))
        for a, b in combinations(models, 2)
    }
    both = {pair: here == there for pair, (here, there) in signs.items() if here and there}
    said = f"by {name} {len(both)} of {counted(len(signs), 'pair')} of models are settled in both"
    opposed = [" and ".join(pair) for pair, alike in both.items() if not alike]
    if opposed:
        return f"{said}, and {shortened(opposed, most=3)} stand in the other order there"
    return f"{said}, all in the same order" if both else said


def _sign(ranking: ModelRanking, first: str, second: str) -> int:
    """Return 1 if the first model is settled to stand before the second, -1 if behind, else 0."""
    ranges = ranking.simultaneous_rank_interval or ranking.rank_interval
    if first not in ranges or second not in ranges:
        return 0
    (best, worst), (other_best, other_worst) = ranges[first], ranges[second]
    return int(worst < other_best) - int(other_worst < best)


def compare_benchmark(
    models: Sequence[str],
    benchmark: Mapping[str, float],
    scores: Mapping[str, np.ndarray],
    replicates: Mapping[str, np.ndarray],
    level: float = LEVEL,
) -> Benchmark:
    """Return the benchmark's scores and ranks, and for every ranking the rank changes and Spearman [x, lo,
    hi] (Yan et al. 2021, Table 3).

    ``scores`` {ranking: (J,)}, ``replicates`` {ranking: (B, J)}; the interval uses the replicates that score
    every model that ``scores`` does, and is NaN if more than 2 % do not. If a ranking has no score for a
    model, the change of that model is NaN and the benchmark is ranked again among the others. RankingError
    for a model that the benchmark does not name, or a score that is not a number.

    >>> said = compare_benchmark(
    ...     ["a", "b"], {"a": 0.8, "b": 0.9}, {"mine": np.array([2.0, 1.0])}, {"mine": np.empty((0, 2))}
    ... )
    >>> said.rank_change["mine"], said.spearman["mine"]
    ({'a': 1, 'b': -1}, [-1.0, nan, nan])
    """
    for model in models:
        if model not in benchmark:
            raise RankingError(
                f"the benchmark has no score for {model!r}; it has {', '.join(benchmark) or 'none'}."
                f"{closest(model, list(benchmark))}"
            )
    closed = np.array([float(benchmark[m]) for m in models])
    if not np.isfinite(closed).all():
        raise RankingError(
            f"the benchmark's score of {models[int(np.argmin(np.isfinite(closed)))]!r} is not a number"
        )
    change = {}
    correlation = {}
    for name, own in scores.items():
        same = np.where(np.isnan(own), np.nan, closed)
        change[name] = dict(zip(models, map(plain, ranks(same) - ranks(own)), strict=True))
        draws = replicates[name]
        whole = draws[(np.isnan(draws) <= np.isnan(own)).all(1)]
        low, high = percentile_interval(np.asarray(spearman(whole, same)).reshape(-1, 1), level)[0]
        if len(whole) < (1 - LOST) * len(draws):
            low = high = np.nan
        correlation[name] = [float(spearman(own, same)), float(low), float(high)]
    return Benchmark(
        scores=dict(zip(models, closed.tolist(), strict=True)),
        rank=dict(zip(models, map(plain, ranks(closed)), strict=True)),
        rank_change=change,
        spearman=correlation,
    )


def plain(rank: float) -> int | float:
    """Return a rank as an int if it is a whole number."""
    rank = float(rank)
    return int(rank) if rank.is_integer() else rank


def _paired(first: ArrayLike, second: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return both, broadcast to one shape and rounded, NaN wherever either is NaN."""
    first, second = (
        checked_arrays.numbers(values, name, RankingError, "... x J").astype(float, copy=False)
        for name, values in (("first", first), ("second", second))
    )
    checked_arrays.broadcastable(RankingError, first=first, second=second)
    first, second = np.broadcast_arrays(first, second)
    gone = np.isnan(first) | np.isnan(second)
    return np.where(gone, np.nan, np.round(first, DECIMALS)), np.where(
        gone, np.nan, np.round(second, DECIMALS)
    )


def _share(product: np.ndarray, first: np.ndarray, second: np.ndarray) -> Any:
    """Return product / sqrt(first second), at most 1 in size; NaN where either is zero. A float for a single
    pair.
    """
    size = np.sqrt(first * second)
    out = np.clip(np.divide(product, size, out=np.full(np.shape(size), np.nan), where=size > 0), -1, 1)
    return out if out.ndim else float(out)
