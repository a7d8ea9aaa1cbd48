"""Distances between two partitions of the same pixels, from one sparse table of overlaps.

Conventions: a table is three arrays of K: ``truth`` and ``prediction`` hold region numbers (any integers),
``pixels`` the int64 pixels that the two regions share; a pair is listed once. Regions of any kind work:
connected regions, instance ids, classes (``confusion_table``). The caller has left out what is void in the
truth. T and P are the two partitions, n_tp a pair's pixels, n_t and n_p the regions' pixels, N all pixels.
Results are float64, 0 is best unless noted, NaN where there are no pixels (for ``rand_index``: fewer than
two). ``gce_cells`` and ``lce_cells`` take confusion matrices, many at once.

``cells`` (..., R, S) are confusion matrices, rows = truth. ``pairs`` says which pairs of pixels count:
``distinct``, or ``all``, which pairs each pixel with itself too.

Source: Zhang et al. 2021, eq. 1-2 and Martin et al. 2001 (GCE, LCE); Zhang et al. 2021 [26] = Polak et al.
2009 (partition distance); Meila 2003 (variation of information); Rand 1971; Arganda-Carreras et al. 2015
(adapted Rand).

The number of pixels kept by the best one-to-one assignment of the regions of two partitions.

Conventions: a table of overlaps is ``truth`` and ``prediction`` (K,), places of regions from 0, and
``pixels`` (K,) float64 whole numbers above 0; a pair is listed once. A region may stay unpaired. The result
is always exact: small tables are solved whole; for others the forced pairs are removed first, and a sparse
solver handles the rest.
Source: Zhang et al. 2021 [26] = Polak et al. 2009 for the use; Crouse 2016 and Jonker and Volgenant 1987 for
the solvers, which are scipy's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from faultscape.errors import MetricError, OptionError
from faultscape.maps import checked_arrays

ERRORS = ("gce", "lce", "partition_distance", "variation_of_information", "adapted_rand")
PAIRS = ("distinct", "all")
_DENSE = 10_000  # up to this many cells, solving the matrix whole is faster than removing forced pairs first


class _Table(NamedTuple):
    """A checked table: regions as places 0.., the pixels of each pair, and the pixels of its two regions."""

    t: np.ndarray
    p: np.ndarray
    n: np.ndarray
    n_t: np.ndarray
    n_p: np.ndarray


def partition_errors(truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray) -> dict[str, float]:
    """Return ``gce``, ``lce``, ``partition_distance``, ``variation_of_information`` and ``adapted_rand`` of
    one table, each as computed by the function of that name.

    >>> {
    ...     name: round(value, 3)
    ...     for name, value in partition_errors(
    ...         np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 1])
    ...     ).items()
    ... }
    {'gce': 0.25, 'lce': 0.125, 'partition_distance': 0.25, 'variation_of_information': 1.189,
    'adapted_rand': 0.6}
    """
    table = _table(truth, prediction, pixels)
    errors = (
        *_consistency(table),
        _distance(table),
        sum(_conditional_entropies(table)),
        _not_together(table, "distinct"),
    )
    return dict(zip(ERRORS, errors, strict=True))


def refinement_errors(
    truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the local refinement error of a pixel in each pair of regions, truth against prediction and the
    reverse, (T,) each, Zhang et al. 2021, eq. 1.

    ``truth``, ``prediction`` (T,) are the regions of a pixel on either side, ``pixels`` (T,) the number of
    pixels in both; pairs without a pixel are dropped. MetricError for a table of unequal lengths or negative
    counts.

    >>> [
    ...     errors.tolist()
    ...     for errors in refinement_errors(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([3, 1, 2]))
    ... ]
    [[0.25, 0.75, 0.0], [0.0, 0.6666666666666666, 0.3333333333333333]]
    """
    table = _table(truth, prediction, pixels)
    over, under = _refinement_errors(table)
    return over / table.n, under / table.n


def consistency_errors(truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray) -> tuple[float, float]:
    """Return ``gce`` and ``lce`` of one table, faster than two separate calls.

    >>> consistency_errors(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 1]))
    (0.25, 0.125)
    """
    return _consistency(_table(truth, prediction, pixels))


def gce(truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray) -> float:
    """Return the global consistency error: 0 where one partition refines the other, Zhang et al. 2021, eq. 2.

    Arguments (T,) and errors (MetricError) as `refinement_errors`.

    >>> gce(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 1]))
    0.25
    """
    return _consistency(_table(truth, prediction, pixels))[0]


def lce(truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray) -> float:
    """Return the local consistency error: as ``gce``, but each pixel takes the smaller of its two errors, so
    it is never larger.

    >>> lce(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 1]))
    0.125
    """
    return _consistency(_table(truth, prediction, pixels))[1]


def gce_cells(cells: np.ndarray) -> np.ndarray:
    """Return the global consistency error of confusion matrices (..., R, S), rows = truth: of the class
    partition, or of binary partitions for each class.

    >>> gce_cells(binary_cells(np.array([[2, 1], [0, 1]]))).round(4).tolist()
    [0.25, 0.25]
    """
    cells = checked_arrays.numbers(cells, "cells", MetricError, "... x R x S")
    over, under = _refinement_errors_of_cells(cells)
    return _share(np.minimum(over.sum((-2, -1)), under.sum((-2, -1))), cells)


def lce_cells(cells: np.ndarray) -> np.ndarray:
    """Return the local consistency error of confusion matrices (..., R, S).

    >>> lce_cells(np.array([[2, 1], [0, 1]])).round(4)
    np.float64(0.125)
    """
    cells = checked_arrays.numbers(cells, "cells", MetricError, "... x R x S")
    return _share(np.minimum(*_refinement_errors_of_cells(cells)).sum((-2, -1)), cells)


def binary_cells(cells: np.ndarray) -> np.ndarray:
    """Return for each class the two-by-two matrix of rest and class, (..., R, 2, 2), from confusion matrices
    (..., R, S), S >= R: Zhang et al. 2021, eq. 3 and 4, counted.

    Rows and columns list classes in the same order; extra columns (void in the prediction) belong to every
    class's rest. MetricError for fewer columns than rows.

    >>> binary_cells(np.array([[5, 1, 0], [2, 3, 4]])).tolist()
    [[[7, 2], [1, 5]], [[5, 1], [6, 3]]]
    """
    cells = checked_arrays.numbers(cells, "cells", MetricError, "... x R x S")
    classes = cells.shape[-2]
    if cells.shape[-1] < classes:
        raise MetricError(
            f"cells of shape {cells.shape} have fewer columns than rows; give truth as rows, a column for"
            " every class"
        )
    both = np.diagonal(cells, axis1=-2, axis2=-1)[..., :classes]
    missed = cells.sum(-1) - both
    false = cells.sum(-2)[..., :classes] - both
    rest = cells.sum((-2, -1))[..., None] - both - missed - false
    return np.stack([np.stack([rest, false], -1), np.stack([missed, both], -1)], -2)


def confusion_table(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (truth, prediction, pixels), the table of a confusion matrix (R, S), with each class as one
    region.

    >>> [part.tolist() for part in confusion_table(np.array([[2, 1], [0, 1]]))]
    [[0, 0, 1], [0, 1, 1], [2, 1, 1]]
    """
    cells = checked_arrays.numbers(cells, "cells", MetricError, "R x S")
    truth, prediction = np.nonzero(cells)
    return truth, prediction, cells[truth, prediction].astype(np.int64)


def partition_distance(truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray) -> float:
    """Return the share of pixels that must move for the partitions to be the same: 1 - (best one-to-one
    assignment's pixels) / N, Zhang et al. 2021 [26].

    >>> partition_distance(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 1]))
    0.25
    """
    return _distance(_table(truth, prediction, pixels))


def variation_of_information_parts(
    truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray
) -> tuple[float, float]:
    """Return H(P|T) and H(T|P) in bits: the contributions of over- and under-segmentation to the variation of
    information.

    >>> variation_of_information_parts(np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([2, 2, 4]))
    (0.5, 0.0)
    """
    return _conditional_entropies(_table(truth, prediction, pixels))


def variation_of_information(truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray) -> float:
    """Return H(P|T) + H(T|P) in bits, a distance between partitions; ``variation_of_information_parts`` gives
    the two parts.

    >>> variation_of_information(np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([2, 2, 4]))
    0.5
    """
    return sum(variation_of_information_parts(truth, prediction, pixels))


def rand_index(truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray) -> float:
    """Return the share of pairs of different pixels that both partitions join or both separate; 1 is best.

    >>> rand_index(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 1]))
    0.5
    """
    table = _table(truth, prediction, pixels)
    both, in_truth, in_prediction = _together(table)
    n = float(table.n.sum())
    return 1 - (in_truth + in_prediction - 2 * both) / (n * (n - 1)) if n > 1 else np.nan


def adapted_rand(
    truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray, *, pairs: str = "distinct"
) -> float:
    """Return the adapted Rand error, 1 - the harmonic mean of ``adapted_rand_parts``.

    >>> adapted_rand(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 1]))
    0.6
    """
    return _not_together(_table(truth, prediction, pixels), pairs)


def adapted_rand_parts(
    truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray, *, pairs: str = "distinct"
) -> tuple[float, float]:
    """Return (precision, recall): of the pairs of pixels together in the prediction (the truth), the share
    together in both; 1 is best.

    Precision falls with under-segmentation, recall with over-segmentation. ``pairs``: ``distinct`` counts
    pairs of two different pixels, as scikit-image does; ``all`` also pairs each pixel with itself, as the
    SNEMI3D challenge does. NaN where no pair is together. scikit-image 0.26 returns the two in reverse order.

    >>> adapted_rand_parts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 1]), pairs="all")
    (0.75, 0.6)
    """
    both, in_truth, in_prediction = _together(_table(truth, prediction, pixels), pairs)
    return both / in_prediction if in_prediction else np.nan, both / in_truth if in_truth else np.nan


def _table(truth: np.ndarray, prediction: np.ndarray, pixels: np.ndarray) -> _Table:
    truth = np.asarray(truth)
    prediction = np.asarray(prediction)
    pixels = np.asarray(pixels)
    if not truth.shape == prediction.shape == pixels.shape or truth.ndim != 1:
        raise MetricError(
            f"a table of overlaps is three arrays of one length; got {truth.shape}, {prediction.shape},"
            f" {pixels.shape}"
        )
    if not all(np.issubdtype(array.dtype, np.integer) for array in (truth, prediction, pixels)):
        raise MetricError(
            f"regions and pixels of a table of overlaps are integers; got {truth.dtype}, {prediction.dtype},"
            f" {pixels.dtype}"
        )
    if len(pixels) and pixels.min() < 1:
        if pixels.min() < 0:
            raise MetricError(f"a table of overlaps holds {pixels.min()} pixels; counts are never negative")
        truth = truth[pixels > 0]
        prediction = prediction[pixels > 0]
        pixels = pixels[pixels > 0]
    t = _places(truth)
    p = _places(prediction)
    pairs = np.sort(t * (int(p.max(initial=0)) + 1) + p)
    if (pairs[1:] == pairs[:-1]).any():
        raise MetricError(
            "a pair of regions is listed twice in the table of overlaps; add their pixels up first"
        )
    n = pixels.astype(np.float64)  # whole numbers below 2^53 are exact
    return _Table(t, p, n, np.bincount(t, n)[t], np.bincount(p, n)[p])


def _places(regions: np.ndarray) -> np.ndarray:
    """Return regions numbered from 0, unchanged where their numbers are already small."""
    if len(regions) and regions.min() >= 0 and regions.max() < 4 * len(regions) + 64:
        return regions.astype(np.int64)
    return np.unique(regions, return_inverse=True)[1].reshape(-1)


def _consistency(table: _Table) -> tuple[float, float]:
    """Return the global and the local consistency error."""
    if not len(table.n):
        return np.nan, np.nan
    over, under = _refinement_errors(table)
    total = table.n.sum()
    # S1 eq. 2
    return float(min(over.sum(), under.sum()) / total), float(np.minimum(over, under).sum() / total)


def _refinement_errors(table: _Table) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair's summed local refinement errors, truth against prediction and the reverse, Zhang et
    al. 2021, eq. 1.
    """
    _, _, n, n_t, n_p = table
    return n * (n_t - n) / n_t, n * (n_p - n) / n_p  # S1 eq. 1


def _refinement_errors_of_cells(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = np.asarray(cells, np.float64)
    n_t = n.sum(-1, keepdims=True)
    n_p = n.sum(-2, keepdims=True)
    # S1 eq. 1; an empty row has no cell to divide
    return n * (n_t - n) / np.maximum(n_t, 1), n * (n_p - n) / np.maximum(n_p, 1)


def _share(above: np.ndarray, cells: np.ndarray) -> np.ndarray:
    total = np.asarray(cells).sum((-2, -1))
    return np.divide(above, total, out=np.full(np.shape(total), np.nan), where=total > 0)[()]


def _conditional_entropies(table: _Table) -> tuple[float, float]:
    """Return H(P|T) and H(T|P) in bits."""
    n = table.n
    total = table.n.sum()
    if not len(n):
        return np.nan, np.nan
    return float((n * np.log2(table.n_t / n)).sum() / total), float(
        (n * np.log2(table.n_p / n)).sum() / total
    )


def _not_together(table: _Table, pairs: str) -> float:
    both, in_truth, in_prediction = _together(table, pairs)
    return 1 - 2 * both / (in_truth + in_prediction) if in_truth + in_prediction else np.nan


def _together(table: _Table, pairs: str = "distinct") -> tuple[float, float, float]:
    """Return how many ordered pairs of pixels are together in both partitions, in the truth and in the
    prediction.
    """
    if pairs not in PAIRS:
        raise OptionError(f"pairs={pairs!r} is not known; use {', '.join(PAIRS)}")
    _, _, n, n_t, n_p = table
    itself = 1 if pairs == "distinct" else 0
    return (
        float((n * (n - itself)).sum()),
        float((n * (n_t - itself)).sum()),
        float((n * (n_p - itself)).sum()),
    )


def _distance(table: _Table) -> float:
    return float(1 - kept_pixels(*table[:3]) / table.n.sum()) if len(table.n) else np.nan


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
