"""Boundary F-score and boundary IoU of every class, from counts that add up over images.

Conventions: maps (H, W) uint8 or uint16 hold places 0..C-1 and C for void. A boundary pixel is a pixel of a
class that has a pixel with another label beside, above or below it; the edge of the image creates no
boundary. A band is the pixels of a class within d rows and columns of another label, or of the frame
(``frame``). Pixels that are void in the truth are dropped from both maps: they belong to no boundary or band,
and create none next to them. A pixel that is void only in the prediction counts as another label. Distances
are Euclidean for the F-score, the larger of rows and columns for bands. Scores are float64; larger is better.
They are NaN where a class has no boundary (band) in either map, and 0 where only one map has one.

``truth`` and ``prediction`` are maps (H, W), ``classes`` is C. ``unit`` is ``diagonal`` or ``pixels``.
``counts`` (..., C, 6) are those of ``boundary_counts``, of one image or summed.

Source: Csurka, Larlus, Perronnin 2013 (boundary F-score; the tolerance .0075 of the diagonal is theirs and
BSDS's); Cheng et al. 2021 (boundary IoU, .02).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from faultscape.errors import LabelMapError, OptionError
from faultscape.maps import checked_arrays

COLUMNS = ("hit_predicted", "n_predicted", "hit_truth", "n_truth", "band_both", "band_either")
UNITS = ("diagonal", "pixels")


def boundary_counts(
    truth: np.ndarray,
    prediction: np.ndarray,
    classes: int,
    *,
    tolerance: float = 0.0075,
    width: float = 0.02,
    unit: str = "diagonal",
    frame: bool = True,
) -> np.ndarray:
    """Return (C, 6) int64 counts of pixels, columns as in ``COLUMNS``: the input of ``boundary_f`` and
    ``boundary_iou``, to be summed over images.

    ``tolerance`` (F-score) and ``width`` (bands, rounded, at least 1 pixel) are shares of the image's
    diagonal, or pixels with ``unit="pixels"``; ``frame`` says whether bands also run along the frame, as the
    authors' do. LabelMapError for maps that do not fit, OptionError for the rest.

    >>> truth, prediction = np.zeros((2, 4, 6), np.uint8)
    >>> truth[:, 2:] = prediction[:, 3:] = 1
    >>> boundary_counts(truth, prediction, 2, tolerance=1, width=1, unit="pixels", frame=False).tolist()
    [[4, 4, 4, 4, 0, 8], [4, 4, 4, 4, 0, 8]]
    """
    truth, prediction = checked_maps(truth, prediction, classes)
    if classes > np.iinfo(np.uint8).max:  # void must have a number of its own
        truth = truth.astype(np.uint16)
        prediction = prediction.astype(np.uint16)
    diagonal = _diagonal(truth.shape, unit)
    within = _distance("tolerance", tolerance) * diagonal
    thick = max(1, round(_distance("width", width) * diagonal))
    void = truth == classes
    if void.any():
        prediction = np.where(void, prediction.dtype.type(classes), prediction)
    else:
        void = None
    out = np.empty((classes, len(COLUMNS)), np.int64)
    lines = [_boundary(label_map, classes, void) for label_map in (truth, prediction)]
    for column, mine, other in ((0, lines[1], lines[0]), (2, lines[0], lines[1])):
        out[:, column], out[:, column + 1] = _hits(mine, other, classes, within)
    bands = [_band(label_map, classes, void, thick, frame=frame) for label_map in (truth, prediction)]
    out[:, 4] = _histogram(np.where(bands[0] == bands[1], bands[0], classes), classes)
    out[:, 5] = _histogram(bands[0], classes) + _histogram(bands[1], classes) - out[:, 4]
    return out


def boundary_f(counts: np.ndarray) -> np.ndarray:
    """Return the boundary F-score (..., C) of counts (..., C, 6): the harmonic mean of the shares of
    predicted and of true boundary that lie near each other.

    >>> boundary_f(np.array([[3, 4, 6, 10, 0, 0], [0, 0, 0, 7, 0, 0], [0, 0, 0, 0, 0, 0]])).round(4).tolist()
    [0.6667, 0.0, nan]
    """
    counts = checked_arrays.columns(counts, "counts", LabelMapError, len(COLUMNS))
    hit_p, n_p, hit_t, n_t = (counts[..., column].astype(np.float64) for column in range(4))
    # 2 P R / (P + R) with P = hit_p / n_p and R = hit_t / n_t
    below = hit_p * n_t + hit_t * n_p
    score = np.divide(2 * hit_p * hit_t, below, out=np.zeros(below.shape), where=below > 0)
    return np.where(n_p + n_t > 0, score, np.nan)[()]


def boundary_iou(counts: np.ndarray) -> np.ndarray:
    """Return the boundary IoU (..., C) of counts (..., C, 6): the intersection over union of the two bands
    inside the class's edges.

    >>> boundary_iou(np.array([[0, 0, 0, 0, 3, 4], [0, 0, 0, 0, 0, 0]])).tolist()
    [0.75, nan]
    """
    counts = checked_arrays.columns(counts, "counts", LabelMapError, len(COLUMNS))
    both = counts[..., 4]
    either = counts[..., 5]
    return np.divide(both, either, out=np.full(np.shape(either), np.nan), where=either > 0)[()]


def checked_maps(truth: Any, prediction: Any, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both maps, row after row in memory; LabelMapError unless they hold only places 0..C (C = void)
    and have the same size.

    >>> checked_maps(np.zeros((2, 2), np.uint8), np.full((2, 2), 3, np.uint8), 2)
    Traceback (most recent call last):
    faultscape.errors.LabelMapError: the prediction holds the label 3; allowed are 0 to 1, and 2 for void
    """
    # masked arrays stay as they are, and are refused
    truth = np.asanyarray(truth)
    prediction = np.asanyarray(prediction)
    for what, label_map in (("truth", truth), ("prediction", prediction)):
        if np.ma.isMaskedArray(label_map):
            raise LabelMapError(
                f"the {what} is a masked array, whose mask most libraries silently drop; set those pixels"
                " to the void label"
            )
        if label_map.ndim != 2 or label_map.size == 0 or label_map.dtype not in (np.uint8, np.uint16):
            raise LabelMapError(
                f"expected the {what} as H x W uint8 or uint16; got {label_map.dtype} of shape"
                f" {label_map.shape}"
            )
        if int(label_map.max()) > classes:
            raise LabelMapError(
                f"the {what} holds the label {label_map.max()}; allowed are 0 to {classes - 1}, and {classes}"
                " for void"
            )
    if truth.shape != prediction.shape:
        raise LabelMapError(
            f"the truth is {truth.shape} and the prediction {prediction.shape} pixels; they must be of one"
            " size"
        )
    return np.ascontiguousarray(truth), np.ascontiguousarray(prediction)


def _diagonal(shape: tuple[int, ...], unit: str) -> float:
    if unit not in UNITS:
        raise OptionError(f"unit={unit!r} is not known; use {', '.join(UNITS)}")
    return math.hypot(*shape) if unit == "diagonal" else 1.0


def _distance(name: str, value: float) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise OptionError(f"{name} is a distance, 0 or more; got {value}")
    return value


def _boundary(label_map: np.ndarray, classes: int, void: np.ndarray | None) -> np.ndarray:
    """Return the map with every pixel that is not a boundary pixel of a class set to void."""
    edge = np.zeros(label_map.shape, bool)
    for axis in (0, 1):
        before = (slice(None),) * axis + (slice(None, -1),)
        after = (slice(None),) * axis + (slice(1, None),)
        differ = label_map[before] != label_map[after]
        if void is not None:
            differ &= ~(void[before] | void[after])
        edge[before] |= differ
        edge[after] |= differ
    return np.where(edge, label_map, label_map.dtype.type(classes))


def _hits(mine: np.ndarray, other: np.ndarray, classes: int, within: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (C,) the number of my boundary pixels that have a boundary pixel of the same class in the other
    map at most ``within`` away, and (C,) the number of all my boundary pixels.
    """
    reach = int(within)
    around = np.pad(other, reach, constant_values=classes)
    places = np.flatnonzero(mine != classes)
    labels = mine.ravel()[places]
    total = _histogram(labels, classes)
    rows, columns = np.divmod(places, mine.shape[1])
    at = (rows + reach) * around.shape[1] + columns + reach
    missed = np.zeros(classes, np.int64)
    steps = _disk(within, around.shape[1])
    kernels = _kernels()
    if kernels is None:
        missed += _histogram(labels[_far(around.ravel(), at, labels, steps)], classes)
    else:
        kernels.count_missed(around.ravel(), at, labels, steps, missed)
    return total - missed, total


def _far(around: np.ndarray, at: np.ndarray, labels: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the places in ``at`` whose label occurs at none of the steps, trying one step at a time on the
    pixels not yet found.
    """
    open_ = np.flatnonzero(np.isin(labels, around))  # drops classes that the other map lacks
    never = np.setdiff1d(np.arange(len(at)), open_, assume_unique=True)
    for step in steps.tolist():
        open_ = open_[around[at[open_] + step] != labels[open_]]
    return np.concatenate([never, open_])


def _disk(within: float, width: int) -> np.ndarray:
    """Return the steps in a flat map of this width to all pixels within a distance, nearest first, because
    most matches are near.
    """
    reach = int(within)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    squared = (y * y + x * x).ravel()
    order = np.argsort(squared, kind="stable")
    return (y * width + x).ravel()[order[squared[order] <= within * within]]


def _band(
    label_map: np.ndarray, classes: int, void: np.ndarray | None, width: int, *, frame: bool
) -> np.ndarray:
    """Return the map with every pixel outside all bands set to void. A pixel is in its class's band where its
    window contains two labels.
    """
    import cv2

    kind = label_map.dtype.type
    window = np.ones((2 * width + 1, 2 * width + 1), np.uint8)
    low = label_map
    high = label_map
    if void is not None:  # void counts toward neither the smallest nor the largest label
        low = np.where(void, kind(np.iinfo(kind).max), label_map)
        high = np.where(void, kind(0), label_map)
    band = cv2.erode(low, window) != cv2.dilate(high, window)
    if frame:
        band[:width] = band[-width:] = band[:, :width] = band[:, -width:] = True
    return np.where(band, label_map, kind(classes))


def _histogram(label_map: np.ndarray, classes: int) -> np.ndarray:
    return np.bincount(label_map.ravel(), minlength=classes + 1)[:classes]


def _kernels() -> Any:
    """Return the compiled search, or None where numba cannot be imported."""
    try:
        from faultscape.metrics.kernels import boundary as compiled_boundary
    except ImportError:
        return None
    return compiled_boundary
