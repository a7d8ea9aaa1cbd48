"""Counts of regions for each class, the input of the region metrics, from one table of overlaps (Zhang et al.
2021, section III-A).

Conventions: only regions of the same class can touch. Arrays are (C,) for one image and (I, C) for many. They
are counts (int64) or sums over regions (float64), so images add up. N is ``truth_regions``, M
``predicted_regions``, and with Zhang et al. 2021's signs

    torn_truth |G_O|     tearing_predictions |S_O|    extra_pieces m_o (eq. 6)
    merged_truth |G_U|   merging_predictions |S_U|    extra_merges m_u (eq. 9)

``missed_truth`` and ``invented_predictions`` are regions that no region of their class touches on the other
side. Among equal overlaps, the one with the smaller region counts as the largest, so that results do not
depend on the order of regions.
Source: Zhang et al. 2021, section III-A; Persello and Bruzzone 2009 (pe); Zhang et al. 2021, section II
(matched); Kirillov et al. 2019 (pq).
"""

from __future__ import annotations

from types import ModuleType
from typing import get_args

import numpy as np

from faultscape.choices import Match
from faultscape.errors import OptionError
from faultscape.maps.kernel_choice import Kernels
from faultscape.maps.regions import Overlaps

WHOLE = (
    "truth_regions",
    "predicted_regions",
    "torn_truth",
    "tearing_predictions",
    "extra_pieces",
    "merged_truth",
    "merging_predictions",
    "extra_merges",
    "missed_truth",
    "invented_predictions",
)
PARTS = ("pe_os_sum", "pe_us_sum", "pe_os_sum_of_predictions", "pe_us_sum_of_predictions")
OVERLAPS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))  # at which a predicted region counts as found
MATCHED = tuple(f"matched_{round(100 * t)}" for t in OVERLAPS)
QUALITY = ("pq_found", "pq_missed", "pq_invented")
MATCH = get_args(Match)
_KERNELS = Kernels("faultscape.metrics.kernels.region_counts", seconds=2)
_A_TABLE, _AN_OVERLAP = 7e-4, 2e-6  # seconds of the plain kernels
Counts = dict[str, np.ndarray]


def count_regions(table: Overlaps, classes: int, *, alive: np.ndarray | None = None) -> Counts:
    """Return {name: (C,)} of WHOLE (int64) and PARTS (float64); predicted regions that are not ``alive`` (M,)
    count as unknown.

    >>> from faultscape.maps.regions import overlaps
    >>> torn = overlaps(np.array([[0, 0, 0]], np.uint8), np.array([[0, 1, 0]], np.uint8), 2)
    >>> counts = count_regions(torn, 2)
    >>> [int(counts[name][0]) for name in ("torn_truth", "tearing_predictions", "extra_pieces")]
    [1, 2, 1]
    """
    whole = np.zeros((classes, len(WHOLE)), np.int64)
    parts = np.zeros((classes, len(PARTS)))
    alive = np.ones(len(table.prediction_label), bool) if alive is None else alive
    _kernels(table).count_regions(*_columns(table), alive, whole, parts)
    counts: Counts = dict(zip(WHOLE, whole.T, strict=True))
    return counts | dict(zip(PARTS, parts.T, strict=True))


def count_matches(table: Overlaps, classes: int, *, match: Match = "iou") -> Counts:
    """Return {matched_50 ... matched_95: (C,)}: predicted regions found at each overlap, one to one, the best
    overlaps first.

    ``match`` is the overlap's measure: ``iou``, or ``dice``, which the numbers printed in Zhang et al. 2021,
    Fig. 3 follow.
    """
    if match not in MATCH:
        raise OptionError(f"match={match!r} is not known; use {', '.join(MATCH)}")
    matched = np.zeros((len(MATCHED), classes), np.int64)
    _kernels(table).count_matches(*_columns(table), match == "dice", matched)
    return dict(zip(MATCHED, matched, strict=True))


def count_quality(table: Overlaps, classes: int) -> Counts:
    """Return {pq_found, pq_missed, pq_invented, pq_iou_sum: (C,)} by the reference rule for void.

    Pixels void in the truth leave the union; a predicted region with more than half of its pixels in void
    does not count against the model; pixels that the prediction calls void are missed. ``table`` must be of
    regions as the model gave them (``void="bridge"``).
    """
    quality = np.zeros((len(QUALITY), classes), np.int64)
    iou = np.zeros(classes)
    _kernels(table).count_quality(*_columns(table), table.void_area, quality, iou)
    return dict(zip(QUALITY, quality, strict=True)) | {"pq_iou_sum": iou}


def count_above(
    table: Overlaps, classes: int, thresholds: np.ndarray
) -> tuple[Counts, np.ndarray, np.ndarray]:
    """Return WHOLE counts {name: (T, C)}, the pixels (T, C) that both maps assign to a class, and the
    predicted pixels (T, C), when regions below each confidence threshold are unknown.

    ``table`` holds the regions' mean confidence; ``thresholds`` (T,) rise. Zhang et al. 2021, section III-B.
    """
    assert table.confidence is not None
    whole = np.zeros((len(thresholds), classes, len(WHOLE)), np.int64)
    pixel = np.zeros((len(thresholds), classes, 2), np.int64)
    t_label, t_area, label, area, truth, prediction, pixels = _columns(table)
    _kernels(table, len(thresholds)).count_thresholds(
        t_label,
        label,
        truth,
        prediction,
        pixels,
        t_area,
        area,
        table.confidence,
        np.asarray(thresholds, float),
        whole,
        pixel,
    )
    return {name: whole[:, :, k] for k, name in enumerate(WHOLE)}, pixel[:, :, 0], pixel[:, :, 1]


def _columns(table: Overlaps) -> tuple[np.ndarray, ...]:
    return (
        table.truth_label,
        table.truth_area,
        table.prediction_label,
        table.prediction_area,
        table.truth,
        table.prediction,
        table.pixels,
    )


def _kernels(table: Overlaps, times: int = 1) -> ModuleType:
    compiled = _KERNELS.ready(times * (_A_TABLE + _AN_OVERLAP * len(table.pixels)))
    if compiled is None:
        from faultscape.metrics.kernels import plain_region_counts

        return plain_region_counts
    return compiled
