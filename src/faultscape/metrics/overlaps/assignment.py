"""The number of pixels kept by the best one-to-one assignment of the regions of two partitions.

Conventions: a table of overlaps is ``truth`` and ``prediction`` (K,), places of regions from 0, and
``pixels`` (K,) float64 whole numbers above 0; a pair is listed once. A region may stay unpaired. The result
is always exact: small tables are solved whole; for others the forced pairs are removed first, and a sparse
solver handles the rest.
Source: Zhang et al. 2021 [26] = Polak et al. 2009 for the use; Crouse 2016 and Jonker and Volgenant 1987 for
the solvers, which are scipy's.
"""

from __future__ import annotations

import numpy as np

_DENSE = 10_000  # up to this many cells, solving the matrix whole is faster than removing forced pairs first


def kept_pixels(truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray) -> float:
    """Return the largest number of pixels held by pairs of which no two share a region.

    >>> kept_pixels(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([10.0, 9.0, 8.0]))
    17.0
    """
    if not len(pixels):
        return 0.0
    if (int(truth.max()) + 1) * (int(prediction.max()) + 1) <= _DENSE:
        return _dense(truth, prediction, pixels)
    kept, rest = _forced(truth, prediction, pixels)
    return kept + _sparse(truth[rest], prediction[rest], pixels[rest])


def _dense(t: np.ndarray, p: np.ndarray, n: np.ndarray) -> float:
    """Solve the whole matrix, which is fastest where it is small."""
    from scipy.optimize import linear_sum_assignment

    cells = np.zeros((t.max() + 1, p.max() + 1))
    cells[t, p] = n
    return float(cells[linear_sum_assignment(cells, maximize=True)].sum())


def _forced(t: np.ndarray, p: np.ndarray, n: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the pixels of pairs that some best assignment must contain, and the places of the pairs still
    open.

    A pair at least as large as the largest other pair of its true region and the largest other pair of its
    predicted region together can replace those two in any assignment without loss. Taking such pairs creates
    new ones, so this repeats until none is left; it uses up most of the pairs in real label maps.
    """
    kept = 0.0
    rest = np.arange(len(n))
    while len(rest):
        others = _largest_other(t[rest], n[rest]) + _largest_other(p[rest], n[rest])
        sure = np.flatnonzero(n[rest] >= others)
        sure = sure[np.unique(t[rest[sure]], return_index=True)[1]]  # among equal pairs of a region, one
        sure = rest[sure[np.unique(p[rest[sure]], return_index=True)[1]]]
        if not len(sure):
            break
        kept += float(n[sure].sum())
        taken_t = np.zeros(t.max() + 1, bool)
        taken_p = np.zeros(p.max() + 1, bool)
        taken_t[t[sure]] = taken_p[p[sure]] = True
        rest = rest[~(taken_t[t[rest]] | taken_p[p[rest]])]
    return kept, rest


def _largest_other(region: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return for each pair the pixels of the largest other pair of its region, 0 where it is the only one."""
    order = np.lexsort((-n, region))
    sizes = n[order]
    first = np.r_[True, np.diff(region[order]) > 0]
    starts = np.flatnonzero(first)[np.cumsum(first) - 1]
    largest = sizes[starts]
    place = starts + 1
    alone = np.bincount(region)[region[order]] == 1
    second = np.where(alone, 0, sizes[np.minimum(place, len(sizes) - 1)])
    out = np.empty(len(n))
    out[order] = np.where(first, second, largest)
    return out


def _sparse(t: np.ndarray, p: np.ndarray, n: np.ndarray) -> float:
    """Solve from the pairs alone."""
    if not len(n):
        return 0.0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    t = np.unique(t, return_inverse=True)[1]
    p = np.unique(p, return_inverse=True)[1]
    rows = int(t.max()) + 1
    columns = int(p.max()) + 1
    # every true region may stay unpaired: it gets its own column. Every edge gets one extra pixel, since the
    # solver allows no edge of weight 0; each row pays it once.
    own = np.arange(rows)
    weights = np.r_[n + 1, np.ones(rows)]
    graph = coo_array(
        (weights, (np.r_[t, own], np.r_[p, columns + own])), shape=(rows, columns + rows)
    ).tocsr()
    chosen = min_weight_full_bipartite_matching(graph, maximize=True)
    return float(graph[chosen].sum()) - rows
