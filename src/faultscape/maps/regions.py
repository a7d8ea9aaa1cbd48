"""The regions of a label map, and the table of the overlaps of two maps' regions that every region metric is
computed from.

Conventions: maps (H, W) hold places 0..n-1, and n for void. A region is a set of pixels of one label that are
connected by sides (connectivity 4) or by sides and corners (8), or, with ``given``, all pixels of one number.
Pixels void in the truth belong to no true region and count in no overlap and no area. ``void="cut"`` removes
them before regions are made; ``"bridge"`` makes predicted regions first, so that one may extend across them.
A region without remaining pixels does not exist. Pixels void only in the prediction form regions of label n,
which belong to no class but to the partition.
Source: Zhang et al. 2021, section III-A (regions), Rosenfeld and Pfaltz 1966 (two passes over runs).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.errors import LabelMapError, OptionError
from faultscape.maps.kernel_choice import Kernels

VOID = ("cut", "bridge")
_KERNELS = Kernels("faultscape.maps.kernels.regions", seconds=9)
_A_PIXEL, _A_LABEL = 5e-8, 5e-9  # seconds of the plain kernels for a pixel, and for it and each label


@dataclass(frozen=True, eq=False)
class Overlaps:
    """The regions of a truth (N) and a prediction (M), and the K pairs of them that share pixels, sorted by
    (truth, prediction).

    Areas leave out pixels void in the truth; ``void_area`` (M,) are those pixels of each predicted region;
    ``confidence`` (M,) is the mean of the given confidence over a region, or None.
    """

    truth_label: np.ndarray
    truth_area: np.ndarray
    prediction_label: np.ndarray
    prediction_area: np.ndarray
    void_area: np.ndarray
    truth: np.ndarray
    prediction: np.ndarray
    pixels: np.ndarray
    confidence: np.ndarray | None = None

    def __repr__(self) -> str:
        return (
            f"Overlaps({len(self.truth_label)} true and {len(self.prediction_label)} predicted regions,"
            f" {len(self.pixels)} overlaps)"
        )


def number(
    labels: np.ndarray, *, connectivity: int = 8, none: int = -1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (H, W) int32 region numbers in the order of first pixels, -1 for the label ``none``; each
    region's label; each region's pixels.

    >>> numbers, labels, areas = number(np.array([[1, 0], [0, 1]], np.uint8), connectivity=8)
    >>> numbers.tolist(), labels.tolist(), areas.tolist()
    ([[0, 1], [1, 0]], [1, 0], [2, 2])
    """
    reach = _reach(connectivity)
    labels = _map(labels)
    kernels = _kernels(labels)
    runs = _runs(labels, none, reach, kernels, given=False)
    return _spread(runs, labels.shape), runs[2], _areas(runs, kernels)


def overlaps(
    truth: np.ndarray,
    prediction: np.ndarray,
    n: int,
    *,
    connectivity: int = 8,
    void: str = "cut",
    given: bool = False,
    confidence: np.ndarray | None = None,
) -> Overlaps:
    """Return the overlaps of the regions of two maps of places 0..n (n = void); LabelMapError for maps that
    cannot be compared.

    With ``given`` maps hold region numbers 0..n-1 instead, each one region wherever its pixels are, and the
    numbers are their labels. ``confidence`` (H, W) is averaged over each region.

    >>> overlaps(np.array([[0, 0, 1, 1]], np.uint8), np.array([[0, 1, 1, 1]], np.uint8), 2).pixels.tolist()
    [1, 1, 2]
    """
    return overlaps_of_each(
        truth, [prediction], n, connectivity=connectivity, void=void, given=given, confidence=confidence
    )[0]


def overlaps_of_each(
    truth: np.ndarray,
    predictions: Sequence[np.ndarray],
    n: int,
    *,
    connectivity: int = 8,
    void: str = "cut",
    given: bool = False,
    confidence: np.ndarray | None = None,
) -> list[Overlaps]:
    """Return the `overlaps` of the regions of a truth, which are found once, with those of each prediction.

    >>> maps = np.array([[[0, 0, 1]], [[0, 1, 1]]], np.uint8)
    >>> [found.pixels.tolist() for found in overlaps_of_each(maps[0], maps, 2)]
    [[2, 1], [1, 1, 1]]
    """
    if void not in VOID:
        raise OptionError(f"void={void!r} is not known; use {', '.join(VOID)}")
    truth = _map(truth)
    maps = [_map(prediction) for prediction in predictions]
    reach = _reach(connectivity)
    for prediction in maps:
        if truth.shape != prediction.shape:
            raise LabelMapError(
                f"the truth is {_size(truth)} pixels and the prediction {_size(prediction)}; they must be of"
                " one size"
            )
    _check_labels("truth", truth, n)
    for prediction in maps:
        _check_labels("prediction", prediction, n)
    kernels = _kernels(truth, *maps, sums=confidence is not None)
    t = _runs(truth, n, reach, kernels, given=given)
    areas_t = _areas(t, kernels)
    beside = truth == n if not given and void == "cut" and int(truth.max()) == n else None
    return [
        _overlaps(
            _cut(prediction, beside, n), n, reach, confidence, t, areas_t, truth.shape, kernels, given=given
        )
        for prediction in maps
    ]


def _check_labels(what: str, label_map: np.ndarray, n: int) -> None:
    """Raise LabelMapError for labels that are not 0..n: counts by label would be written beside their
    array.
    """
    highest = int(label_map.max())
    lowest = int(label_map.min()) if label_map.dtype == np.int32 else 0
    if highest > n or lowest < 0:
        raise LabelMapError(
            f"the {what} holds the label {highest if highest > n else lowest}; allowed are 0 to {n - 1}, and"
            f" {n} for void"
        )


def _cut(prediction: np.ndarray, beside: np.ndarray | None, n: int) -> np.ndarray:
    """Return a prediction with a label of its own, which forms no region, for pixels ``beside`` the truth."""
    if beside is None:
        return prediction
    kind = prediction.dtype if np.iinfo(prediction.dtype).max > n else np.dtype(np.int32)
    return np.where(beside, kind.type(n + 1), prediction.astype(kind, copy=False))


def _overlaps(
    prediction: np.ndarray,
    n: int,
    reach: int,
    confidence: np.ndarray | None,
    t: Any,
    areas_t: np.ndarray,
    shape: tuple[int, int],
    kernels: Any,
    *,
    given: bool,
) -> Overlaps:
    """Return the overlaps of a truth's runs with the regions of a prediction."""
    p = _runs(prediction, n + 1, reach, kernels, given=given)
    if kernels is None:
        from faultscape.maps.kernels import plain_regions

        pairs = plain_regions.overlap(t[1], p[1], len(p[2]))
    else:
        pairs = kernels.overlap(t[0], t[1], p[0], p[1], len(t[2]), len(p[2]))
    areas_p = _areas(p, kernels)
    outside = pairs[3]
    mean = None if confidence is None else _means(t, p, confidence, areas_p - outside, shape, kernels)
    return _existing(
        Overlaps(t[2], areas_t, p[2], areas_p - outside, outside, pairs[0], pairs[1], pairs[2], mean)
    )


def bounding_box(mask: np.ndarray) -> tuple[slice, slice]:
    """Return the rows and the columns of the smallest box around the true pixels of a mask (H, W), both empty
    if there are none.

    >>> bounding_box(np.array([[False, False, False], [False, True, True]]))
    (slice(1, 2, None), slice(1, 3, None))
    """
    if not mask.any():
        return slice(0, 0), slice(0, 0)
    rows, columns = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _existing(table: Overlaps) -> Overlaps:
    """Return the table without regions that have no pixel left."""
    keep_t = table.truth_area > 0
    keep_p = table.prediction_area > 0
    if keep_t.all() and keep_p.all():
        return table
    new_t, new_p = (np.cumsum(keep) - 1 for keep in (keep_t, keep_p))
    confidence = None if table.confidence is None else table.confidence[keep_p]
    return Overlaps(
        table.truth_label[keep_t],
        table.truth_area[keep_t],
        table.prediction_label[keep_p],
        table.prediction_area[keep_p],
        table.void_area[keep_p],
        new_t[table.truth].astype(np.int32),
        new_p[table.prediction].astype(np.int32),
        table.pixels,
        confidence,
    )


def _runs(
    labels: np.ndarray, none: int, reach: int, kernels: Any, *, given: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (starts of runs, region of each run, label of each region); from plain kernels one region number
    per pixel, and no starts.
    """
    if kernels is None:
        from faultscape.maps.kernels import plain_regions

        if given:
            numbers = np.where(labels == none, -1, labels.astype(np.int64))
            return np.zeros(0, np.int32), numbers.ravel(), np.arange(none, dtype=np.int32)
        numbers, names = plain_regions.number_regions(labels, none, reach)
        return np.zeros(0, np.int32), numbers.ravel(), names
    address = np.array([labels.__array_interface__["data"][0]], np.uint64)
    starts, first = kernels.find_runs(address, labels)
    if given:
        regions = kernels.name_runs(labels, starts)
        regions[regions == none] = -1
        return starts, regions, np.arange(none, dtype=np.int32)
    regions, names = kernels.join_runs(labels, starts, first, none, reach)
    return starts, regions, names


def _areas(runs: tuple[np.ndarray, np.ndarray, np.ndarray], kernels: Any) -> np.ndarray:
    starts, regions, names = runs
    if kernels is None:
        return np.bincount(regions[regions >= 0], minlength=len(names)).astype(np.int64)
    return kernels.measure_runs(starts, regions, len(names))


def _means(
    t: Any, p: Any, confidence: np.ndarray, areas: np.ndarray, shape: tuple[int, int], kernels: Any
) -> np.ndarray:
    """Return the mean confidence of each predicted region over its pixels that are not void in the truth."""
    if confidence.shape != shape:
        raise LabelMapError(
            f"the confidence is {_size(confidence)} pixels and the maps {shape[1]} x {shape[0]}; give one of"
            " that size"
        )
    kind = np.float64 if confidence.dtype.kind != "f" or confidence.dtype.itemsize > 4 else np.float32
    # kernels support neither float16 nor a foreign byte order
    values = np.ascontiguousarray(confidence, kind).reshape(-1)
    if kernels is None:
        inside = (p[1] >= 0) & (t[1] >= 0)
        sums = np.bincount(p[1][inside], weights=values[inside], minlength=len(p[2]))
    else:
        sums = kernels.sum_runs(p[0], p[1], (t[0], t[1]), values, len(p[2]))
    return np.divide(sums, areas, out=np.full(len(areas), np.nan), where=areas > 0)


def _spread(runs: tuple[np.ndarray, np.ndarray, np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    starts, regions, _ = runs
    return (np.repeat(regions, np.diff(starts)) if len(starts) else regions).astype(np.int32).reshape(shape)


def _map(labels: np.ndarray) -> np.ndarray:
    """Return a contiguous map of a type that kernels support."""
    if np.ma.isMaskedArray(labels):
        raise LabelMapError(
            "masked arrays are not read, since most libraries silently drop the mask; set those pixels to"
            " the void label"
        )
    if labels.ndim != 2 or labels.size == 0 or labels.size >= 1 << 31:
        raise LabelMapError(
            f"expected a label map, H x W, of fewer than 2^31 pixels; got shape {labels.shape}"
        )
    if labels.dtype not in (np.uint8, np.uint16, np.int32):
        raise LabelMapError(f"expected uint8, uint16 or int32 labels; got {labels.dtype}")
    return np.ascontiguousarray(labels)


def _size(array: np.ndarray) -> str:
    return f"{array.shape[1]} x {array.shape[0]}" if array.ndim == 2 else f"of shape {array.shape}"


def _reach(connectivity: int) -> int:
    if connectivity not in (4, 8):
        raise OptionError(f"connectivity is 4 (sides) or 8 (sides and corners); got {connectivity}")
    return int(connectivity == 8)


def _kernels(*maps: np.ndarray, sums: bool = False) -> Any:
    """Return the compiled kernels, or None if the plain ones serve these maps: for ``sums`` of confidence
    never, since they add in another order.
    """
    seconds = math.inf if sums else 0.0
    for labels in () if _KERNELS.settled else maps:
        small = labels.dtype.itemsize < 4
        kinds = np.count_nonzero(np.bincount(labels.reshape(-1))) if small else int(labels.max()) + 1
        seconds += labels.size * (_A_PIXEL + _A_LABEL * kinds)
    return _KERNELS.ready(seconds)
