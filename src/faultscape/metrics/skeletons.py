"""Centreline Dice (clDice) of every class, from counts that add up over images: whether long thin structures
such as poles, roads from above, vessels or cracks are found without gaps.

Conventions: maps (H, W) hold places 0..C-1 and C for void. Pixels void in the truth are first set to void in
both maps. The centreline of a class is what Guo and Hall's thinning (1989, algorithm A1, two passes a round)
leaves of its pixels: one pixel wide except where lines meet. It has as many pieces, connected by sides and
corners, as the class; none vanishes. Pixels beyond the frame have no class. Topology precision is the share
of the predicted centreline that lies on true pixels of the class, topology sensitivity the share of the true
centreline on predicted pixels, and clDice their harmonic mean: 0 where only one map has the class, NaN where
neither has it. Larger is better.

``labels`` (H, W) is a map of places. ``counts`` (..., C, 4) are those of ``skeleton_counts``, for one image
or summed.

Source: Shit et al. 2021 (clDice); Guo and Hall 1989 (Parallel thinning with two-subiteration algorithms).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from faultscape.errors import LabelMapError
from faultscape.maps import checked_arrays
from faultscape.metrics.boundary import checked_maps

COLUMNS = ("hit_predicted", "n_predicted", "hit_truth", "n_truth")


def centrelines(labels: np.ndarray, none: int) -> np.ndarray:
    """Return a map (H, W) uint8 or uint16 with every pixel that is not on the centreline of its class set to
    ``none``, a label without a centreline.

    >>> centrelines(np.array([[0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]], np.uint8), 9).tolist()
    [[9, 9, 9, 9, 1], [9, 0, 0, 9, 1], [9, 9, 9, 9, 1]]
    """
    labels = np.asanyarray(labels)
    if labels.ndim != 2 or labels.dtype not in (np.uint8, np.uint16) or np.ma.isMaskedArray(labels):
        raise LabelMapError(
            f"expected a label map, H x W uint8 or uint16, without a mask; got {labels.dtype} of shape"
            f" {labels.shape}"
        )
    kernels = _kernels()
    if kernels is None:
        from faultscape.metrics.kernels import plain_centrelines

        out = labels.copy()
        plain_centrelines.thin(out, none, deletable())
        return out
    # np.pad keeps the order of its input in memory, and the kernel walks row after row
    around = np.ascontiguousarray(np.pad(labels, 1, constant_values=none))
    kernels.thin(around.reshape(-1), around.shape[1], none, deletable())
    return np.ascontiguousarray(around[1:-1, 1:-1])


def skeleton_counts(truth: np.ndarray, prediction: np.ndarray, classes: int) -> np.ndarray:
    """Return (C, 4) int64 counts of pixels, columns as in ``COLUMNS``: the input of ``cldice``; LabelMapError
    for maps that do not fit.

    >>> truth, prediction = np.zeros((2, 3, 6), np.uint8)
    >>> truth[1], prediction[1, :4] = 1, 1
    >>> skeleton_counts(truth, prediction, 2)[1].tolist()
    [4, 4, 4, 6]
    """
    truth, prediction = checked_maps(truth, prediction, classes)
    if classes > np.iinfo(np.uint8).max:  # void must have a number of its own
        truth = truth.astype(np.uint16)
        prediction = prediction.astype(np.uint16)
    prediction = np.where(truth == classes, prediction.dtype.type(classes), prediction)
    out = np.empty((classes, len(COLUMNS)), np.int64)
    for column, mine, other in ((0, prediction, truth), (2, truth, prediction)):
        line = centrelines(mine, classes)
        out[:, column] = np.bincount(line[line == other], minlength=classes + 1)[:classes]
        out[:, column + 1] = np.bincount(line.ravel(), minlength=classes + 1)[:classes]
    return out


def topology_precision(counts: np.ndarray) -> np.ndarray:
    """Return the share (..., C) of the predicted centreline on true pixels, from counts (..., C, 4); NaN
    where nothing is predicted.

    >>> topology_precision(np.array([[3, 4, 6, 10], [0, 0, 0, 7]])).tolist()
    [0.75, nan]
    """
    return _share(counts, 0)


def topology_sensitivity(counts: np.ndarray) -> np.ndarray:
    """Return the share (..., C) of the true centreline on predicted pixels, from counts (..., C, 4); NaN
    where the truth has none.

    >>> topology_sensitivity(np.array([[3, 4, 6, 10], [0, 0, 0, 7]])).tolist()
    [0.6, 0.0]
    """
    return _share(counts, 2)


def cldice(counts: np.ndarray) -> np.ndarray:
    """Return clDice (..., C) from counts (..., C, 4): the harmonic mean of both shares.

    >>> cldice(np.array([[3, 4, 6, 10], [0, 0, 0, 7], [0, 0, 0, 0]])).round(4).tolist()
    [0.6667, 0.0, nan]
    """
    counts = checked_arrays.columns(counts, "counts", LabelMapError, len(COLUMNS))
    hit_p, n_p, hit_t, n_t = (counts[..., column].astype(np.float64) for column in range(4))
    below = hit_p * n_t + hit_t * n_p
    score = np.divide(2 * hit_p * hit_t, below, out=np.zeros(below.shape), where=below > 0)
    return np.where(n_p + n_t > 0, score, np.nan)[()]


@cache
def deletable() -> np.ndarray:
    """Return (2, 256) bools: whether a pixel with each neighbourhood may be deleted in the first and second
    pass of a round; bits run clockwise from the neighbour above.

    >>> deletable().sum(1).tolist()
    [37, 37]
    """
    p2, p3, p4, p5, p6, p7, p8, p9 = (np.arange(256) >> np.arange(8)[:, None] & 1).astype(bool)
    pieces = np.sum([~a & (b | c) for a, b, c in ((p2, p3, p4), (p4, p5, p6), (p6, p7, p8), (p8, p9, p2))], 0)
    pairs = (((p9, p2), (p3, p4), (p5, p6), (p7, p8)), ((p2, p3), (p4, p5), (p6, p7), (p8, p9)))
    ones, others = (np.sum([a | b for a, b in of], 0) for of in pairs)
    neighbours = np.minimum(ones, others)
    side = np.stack([(p2 | p3 | ~p5) & p4, (p6 | p7 | ~p9) & p8])
    out = (pieces == 1) & (neighbours >= 2) & (neighbours <= 3) & ~side
    out.flags.writeable = False
    return out


def _share(counts: np.ndarray, column: int) -> np.ndarray:
    counts = checked_arrays.columns(counts, "counts", LabelMapError, len(COLUMNS))
    hit = counts[..., column]
    n = counts[..., column + 1]
    return np.divide(hit, n, out=np.full(np.shape(n), np.nan), where=n > 0)[()]


def _kernels() -> Any:
    """Return the compiled thinning, or None where numba cannot be imported."""
    try:
        from faultscape.metrics.kernels import centrelines as compiled_centrelines
    except ImportError:
        return None
    return compiled_centrelines
