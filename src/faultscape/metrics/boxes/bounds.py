"""Bounds of a class's precision, recall and IoU, and of the difference of two models, over all truths that
fit its boxes.

Conventions: ``fill`` is the least share of all pixels inside boxes that the class covers, an assumption; 0
assumes nothing. ``metric`` is precision, recall or iou. Bounds (..., 2) are the lowest and the highest value;
NaN where a metric is undefined.

A model predicts P, the boxes cover U, and a truth T lies in U. True positives are TP = |P & T|, misses FN =
|T - P|. Both are chosen apart, one inside P, the other outside: TP from t to |P & U|, FN
from f to |U - P|, where t (f) is the fewest pixels that touch all sides that lie in P (outside P) entirely,
or fill what the largest FN (TP) leaves to fill. Precision TP / |P|, recall TP / (TP + FN) and IoU TP / (|P| +
FN) grow with TP and fall with FN, so that their bounds are the values at the corners (t, |U - P|) and (|P &
U|, f). Smallest case: one box of 2 x 2 pixels, all predicted. Two of them touch all sides, two opposite
corners, so that TP is 2 to 4, FN is 0, and the IoU 1/2 to 1. Images add up, since their truths are chosen
apart.

Two models split U into four cells: both, only a, only b, neither, with x_ab, x_a, x_b, x_0 pixels of T. IoU_a
- IoU_b = (x_ab + x_a) / (|P_a| + x_b + x_0) - (x_ab + x_b) / (|P_b| + x_a + x_0) is largest with x_a as
large, and x_b as small, as can be: a pixel of x_b is better exchanged for one of x_ab or, if there is none,
of x_0. It is linear in x_ab, so that x_ab lies at an end, or where the fill binds; then what remains is K_a /
(A + x_0) - K_b / (B + x_0), with at most one turn. Without a fill no difference excludes 0 where boxes are
large: a truth of a few pixels fits too. Smallest case: a predicts the left, b the right column of one box of
2 x 2 pixels. The left column and a pixel of the right one touch all sides: 2/3 - 1/4 is the highest
difference.

The least pixels of a cell are counted as if sides were touched one cell at a time, and pixels may be split:
bounds of differences are wide by a few pixels a box.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics.boxes.counts import BoxCounts

BoxMetric = Literal["precision", "recall", "iou"]
BOX_METRICS: tuple[BoxMetric, ...] = get_args(BoxMetric)


def box_bounds(counts: BoxCounts, metric: BoxMetric, fill: np.ndarray | float = 0.0) -> np.ndarray:
    """Return (..., J, 2) the bounds of a metric of each model from counts (...) of a class.

    MetricError for an unknown metric, or a ``fill`` that is not a share.

    >>> from faultscape.maps.boxes import Box
    >>> from faultscape.metrics.boxes.counts import box_counts
    >>> counts = box_counts(np.ones((1, 2, 3), int), [Box(0, 0, 2, 2)], 1)
    >>> box_bounds(counts, "precision").round(3).tolist(), box_bounds(counts, "iou", 0.75).tolist()
    ([[0.333, 0.667]], [[0.5, 0.6666666666666666]])
    """
    _check(metric, fill)
    inside = _diagonal(counts.both)
    outside = counts.covered[..., None] - inside
    least = _least(counts, fill)[..., None]
    hit = np.maximum(_diagonal(counts.held_both), least - outside)
    lost = np.maximum(_diagonal(counts.held_neither), least - inside)
    low = _value(metric, counts.predicted, hit, outside)
    high = _value(metric, counts.predicted, inside, lost)
    # undefined for a truth without a pixel, which fits: take that of all pixels
    whole = _value(metric, counts.predicted, inside, outside)
    return np.stack([np.where(np.isnan(low), whole, low), np.where(np.isnan(high), whole, high)], -1)


def certain_errors(counts: BoxCounts) -> tuple[np.ndarray, np.ndarray]:
    """Return what is wrong whatever the truth: (..., J) the share of a model's pixels of the class that lie
    outside all boxes, and (..., J) the share of whole boxes in which it predicts no pixel of the class.

    >>> from faultscape.maps.boxes import Box
    >>> from faultscape.metrics.boxes.counts import box_counts
    >>> certain_errors(box_counts(np.array([[[0, 1, 0, 1]]]), [Box(0, 0, 2, 1), Box(2, 0, 3, 1)], 1))
    (array([0.5]), array([0.5]))
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        outside = 1 - _diagonal(counts.both) / counts.predicted
        return np.where(counts.predicted, outside, np.nan), counts.missed / np.where(
            counts.boxes, counts.boxes, np.nan
        )[..., None]


def difference_bounds(counts: BoxCounts, metric: BoxMetric, fill: np.ndarray | float = 0.0) -> np.ndarray:
    """Return (..., J, J, 2) the bounds of the difference of a metric, first model minus second, over the same
    truths, from counts (...) of a class. They are narrower than the difference of the bounds of both.

    MetricError for an unknown metric, or a ``fill`` that is not a share.

    >>> from faultscape.maps.boxes import Box
    >>> from faultscape.metrics.boxes.counts import box_counts
    >>> maps = np.array([[[1, 1, 0, 0]], [[1, 1, 1, 1]]])
    >>> difference_bounds(box_counts(maps, [Box(0, 0, 2, 1)], 1), "iou").tolist()[0][1]
    [0.5, 0.5]
    """
    _check(metric, fill)
    least = _least(counts, fill)
    if metric == "recall":  # undefined for a truth without a pixel
        least = np.maximum(least, np.minimum(counts.covered, 1))
    highest = _highest_difference(counts, metric, least[..., None, None])
    return np.stack([-np.swapaxes(highest, -1, -2), highest], -1)


def _check(metric: str, fill: np.ndarray | float) -> None:
    if metric not in BOX_METRICS:
        raise MetricError(f"metric {metric!r}: boxes bound {', '.join(BOX_METRICS)}")
    if not np.all((np.asarray(fill) >= 0) & (np.asarray(fill) <= 1)):
        raise MetricError(f"fill must be a share from 0 to 1; got {fill}")


def _diagonal(cells: np.ndarray) -> np.ndarray:
    return np.diagonal(cells, axis1=-2, axis2=-1)


def _least(counts: BoxCounts, fill: np.ndarray | float) -> np.ndarray:
    """Return (...) the fewest pixels of the class."""
    return np.maximum(counts.needed, np.asarray(fill) * counts.covered)


def _value(metric: BoxMetric, predicted: np.ndarray, hit: np.ndarray, lost: np.ndarray) -> np.ndarray:
    of = {"precision": predicted + 0 * hit, "recall": hit + lost, "iou": predicted + lost}[metric]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(of > 0, hit / of, np.nan)


def _highest_difference(counts: BoxCounts, metric: BoxMetric, least: np.ndarray) -> np.ndarray:
    """Return (..., J, J) the highest difference, first minus second."""
    both = counts.both.astype(np.float64)
    inside = _diagonal(both)
    only_first = inside[..., :, None] - both
    only_second = np.swapaxes(only_first, -1, -2)
    neither = counts.covered[..., None, None] - only_first - inside[..., None, :]
    first = np.broadcast_to(counts.predicted[..., :, None].astype(np.float64), both.shape)
    second = np.swapaxes(first, -1, -2)
    in_both = np.minimum(counts.held_both, both)
    in_neither = np.minimum(counts.held_neither, neither)
    in_second = np.swapaxes(counts.held_only, -1, -2)
    worse = np.maximum(in_second, least - only_first - both - neither)
    worse = np.minimum(worse, only_second)
    rest = least - only_first - worse  # what both and neither must fill together
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric == "precision":
            fewest = np.clip(rest - neither, in_both, both)
            shared = np.where(first <= second, both, fewest)
            out = (shared + only_first) / first - (shared + worse) / second
        elif metric == "recall":
            fewest = np.maximum(in_both + in_neither, rest)
            shared = np.where(only_first >= worse, fewest, both + neither)
            out = (only_first - worse) / (shared + only_first + worse)
        else:
            out = _highest_iou_difference(
                (both, in_both), (neither, in_neither), only_first, worse, rest, first, second
            )
    undefined = {
        "precision": (first == 0) | (second == 0),
        "recall": np.broadcast_to(counts.covered[..., None, None] == 0, out.shape),
        "iou": (first + second == 0) & (counts.covered[..., None, None] == 0),
    }[metric]
    return np.where(undefined, np.nan, out)


def _highest_iou_difference(
    shared: tuple[np.ndarray, np.ndarray],
    neither: tuple[np.ndarray, np.ndarray],
    better: np.ndarray,
    worse: np.ndarray,
    rest: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> np.ndarray:
    """Return the highest IoU difference, where x_ab and x_0 lie between (most, least), and together fill the
    ``rest``: on the edges x_ab = most, x_ab = least, and x_ab + x_0 = rest.
    """
    most, fewest = shared
    most_0, fewest_0 = neither
    a, b = first + worse, second + better
    found = [
        _highest_on(most + better, most + worse, a, b, np.maximum(fewest_0, rest - most), most_0),
        _highest_on(fewest + better, fewest + worse, a, b, np.maximum(fewest_0, rest - fewest), most_0),
        _highest_on(
            rest + better + a,
            rest + worse + b,
            a,
            b,
            np.maximum(fewest_0, rest - most),
            np.minimum(most_0, rest - fewest),
        ),
    ]
    return np.fmax.reduce(found)


def _highest_on(
    above: np.ndarray, below: np.ndarray, a: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return the largest above / (a + x) - below / (b + x) for x from low to high, at an end or at its only
    turn; NaN where there is no such x.
    """
    roots = np.sqrt(np.maximum(above, 0)), np.sqrt(np.maximum(below, 0))
    turn = (roots[1] * a - roots[0] * b) / (roots[0] - roots[1])
    best = np.full(np.broadcast_shapes(low.shape, above.shape), -np.inf)
    for x in (low, high, np.where(np.isfinite(turn), np.clip(turn, low, high), low)):
        gains = np.where(a + x > 0, above / (a + x), 0) - np.where(b + x > 0, below / (b + x), 0)
        best = np.fmax(best, gains)
    return np.where(low <= high + 1e-9, best, np.nan)
