"""How an outcome changes as its pool grows: parts of a pool, joined two by two until they are the whole, and
what the changes so far lead to expect of twice as many images.

Conventions: a change is how far one statistic falls from a pool to the pool of twice its size that contains
it. Changes come newest first: entry k is (splits, pools, 2), those of the two halves of each pool of the size
of the whole / 2**k. Splits are the same images divided at random again.
Source: Yan et al. 2021, 3.1.2 (a larger pool) and 4.2; the extrapolation is ours, its coverage measured by
`benchmarks/pool_growth.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MOST_PARTS = 16
LEAST_UNITS = 4  # of a part
LEAST_PARTS = 8  # fewer leave nothing to extrapolate
_LEVELS = 3  # doublings that are looked back on


def part_count(units: int) -> int:
    """Return into how many parts a pool of so many groups or images is divided; 0 if it is too small.

    >>> [part_count(units) for units in (31, 32, 63, 64, 10_000)]
    [0, 8, 8, 16, 16]
    """
    parts = MOST_PARTS
    while parts * LEAST_UNITS > units:
        parts //= 2
    return parts if parts >= LEAST_PARTS else 0


def divide(units: np.ndarray, ranks: np.ndarray, parts: int, rng: np.random.Generator) -> np.ndarray:
    """Return (I,) the part, 0 to ``parts`` - 1, of each image: whole units, (I,) numbers of groups or of
    near-duplicates, at random and as many in each part as in the others.

    ``ranks`` (I,) order the images whatever they are called, and so the units.

    >>> divide(np.array([7, 7, 3, 1]), np.array([2, 0, 1, 3]), 2, np.random.default_rng(0)).tolist()
    [0, 0, 0, 1]
    """
    _, unit = np.unique(units, return_inverse=True)
    number = int(unit.max()) + 1 if len(unit) else 0
    first = np.full(number, np.iinfo(np.int64).max)
    np.minimum.at(first, unit, ranks)
    place = np.empty(number, np.int64)
    place[np.argsort(first, kind="stable")] = rng.permutation(number)
    return (place % parts)[unit]


def next_change(changes: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """Return the change to expect of a pool of twice the size, and its 95 % interval; NaN for all three
    where a change is unknown, or fewer than two doublings were seen. Changes are 0 or more on average.

    Changes shrink from one doubling to the next by a factor, that between the third last and the last; never
    do they grow. The interval is Student's t for one more pool: how pools of one size differ, and the two
    halves of one pool.

    >>> falls = [np.full((1, 2**k, 2), 0.1 * 2**k) for k in range(3)]
    >>> [round(end, 3) for end in next_change(falls)]
    [0.05, 0.05, 0.05]
    """
    from scipy import stats

    seen = changes[:_LEVELS]
    if len(seen) < 2 or any(np.isnan(level).any() for level in seen):
        return np.nan, np.nan, np.nan
    means = [float(level.mean()) for level in seen]
    shrunk = min(max(means[0] / means[-1], 0.0), 1.0) if means[-1] > 0 else 1.0
    expected = means[0] * shrunk ** (1 / (len(seen) - 1))
    pools = np.array([level.shape[1] for level in seen])
    between = [level.mean(2).var(1, ddof=1).mean() if level.shape[1] > 1 else 0.0 for level in seen]
    of_pools = float(np.average(between, weights=pools - 1))
    within = [((level[..., 0] - level[..., 1]) ** 2).mean() / 4 for level in seen]
    of_halves = float(np.average(within, weights=pools))
    # the last change is of one pool, and what it leads to expect is as uncertain as another
    error = np.sqrt(2 * of_pools + of_halves)
    half = float(stats.t.ppf(0.975, (pools - 1).sum()) * error)
    return expected, expected - half, expected + half
