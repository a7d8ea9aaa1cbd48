"""Metrics of a data set, with the evidence for their intervals, and of each image, from statistics of images.

Conventions: ``stats`` {name: (I, ...)} as image_statistics makes them, images in corpus order; ``used`` (I,)
says which of them count. Undefined values are NaN. Images are combined in one of three ways, *pooled*,
*cells* and *images*; the catalogue names each metric's. Instead of pooling, definitions may ask for a mean
over images, or over all cells (an image and a class): a metric without classes has one cell an image.

``rom`` and ``rum`` (N,) are the values at each threshold.

Source: Yan et al. 2021, Zhang et al. 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import MetricError
from faultscape.maps import checked_arrays
from faultscape.metrics import pixel
from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.image_statistics import CURVE
from faultscape.metrics.intervals.evidence import Evidence, Means, Ratios
from faultscape.metrics.intervals.slopes import of_sums
from faultscape.metrics.metric import Metric, Stats
from faultscape.metrics.overlaps import region_counts, regions

_ROWS = 64
_COUNTS = ("truth_regions", "predicted_regions")


@dataclass(frozen=True, eq=False)
class Summary:
    """A metric of a data set: its ``value``, ``per_class`` (C,) or None, how many cells were ``undefined``,
    how images were combined, and the evidence for its interval.
    """

    value: float
    per_class: np.ndarray | None
    undefined: int
    aggregate: str
    evidence: Evidence


def summarise(
    stats: Stats,
    definitions: Definitions,
    groups: Sequence[int],
    used: np.ndarray,
    metrics: Sequence[Metric] = METRICS,
) -> dict[str, Summary]:
    """Return {metric: Summary} of every metric whose statistics are present, over the images ``used`` (I,);
    ``groups`` are the places of the classes that form regions.
    """
    out: dict[str, Summary] = {}
    known = [metric for metric in metrics if metric.reads in stats]
    rows = _summed(stats, known)
    pooled = of_sums(rows, lambda sums: _pooled(sums, definitions, groups, known), used)
    for metric in (metric for metric in known if metric.join == "pooled"):
        number, classes = pooled[metric.name]
        # the background forms no region, so it is not undefined there
        mine = slice(None) if metric.group == "pixels" else list(groups)
        by_class = (
            _shown(rows, metric, used, definitions)
            if metric.group == "pixels"
            else None
            if classes is None
            else classes.value
        )
        undefined = 0 if by_class is None else int(np.isnan(by_class[mine]).sum())
        out[metric.name] = Summary(
            float(number.value), by_class, undefined, "pooled over images", Ratios(number, classes)
        )
    if definitions.pooling == "per_image":
        for name, (values, cells) in _pooled(rows, definitions, groups, known).items():
            means = _means(values[:, None] if cells is None else cells, used)
            out[name] = _mean(means, None, _absent(values, stats), "mean over images")
    if definitions.pooling == "cells":
        out |= _over_cells(rows, definitions, groups, used, known)
    there = _there(stats, groups)
    for name, cells in _cells(stats, definitions, groups, known).items():
        undefined = int((np.isnan(cells) & there).sum())
        means = _means(cells, used)
        out[name] = _mean(
            means,
            means.by_class.value,
            undefined,
            "mean over images of the mean over the classes defined there",
        )
    for metric in (metric for metric in known if metric.join == "images"):
        values = metric.compute(stats, definitions)
        has_classes = metric.per_class is not None and f"{metric.reads}_of_classes" in stats
        by_class = (
            _means(metric.per_class(stats, definitions), used).by_class.value
            if metric.per_class and has_classes
            else None
        )
        out[metric.name] = _mean(
            _means(values[:, None], used), by_class, _absent(values, stats), "mean over images"
        )
    return out


def of_images(
    stats: Stats, definitions: Definitions, groups: Sequence[int], metrics: Sequence[Metric] = METRICS
) -> dict[str, np.ndarray]:
    """Return {metric: (I,)}: every metric of each single image."""
    known = [metric for metric in metrics if metric.reads in stats]
    out = {
        name: values
        for name, (values, _) in _pooled(_summed(stats, known), definitions, groups, known).items()
    }
    out |= {name: regions.mean(cells, 1) for name, cells in _cells(stats, definitions, groups, known).items()}
    return out | {
        metric.name: metric.compute(stats, definitions) for metric in known if metric.join == "images"
    }


def curves(stats: Stats, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return ROM, RUM, mIoU (B, T) of the images with confidence, when regions below each threshold are
    unknown (Zhang et al. 2021, section III-B).
    """
    shape = (len(stats["both"]), len(CURVE), -1)
    both = stats["curve_both"].reshape(shape)
    predicted = stats["curve_predicted"].reshape(shape)
    kept = weights * stats["with_confidence"]
    total = {
        name: np.einsum("bi,itc->btc", kept, values)
        for name, values in (("both", both), ("predicted", predicted))
    }
    truth = (kept @ stats["truth_pixels"])[:, None]
    marginal = np.concatenate([total["predicted"], np.zeros((*total["predicted"].shape[:2], 1))], 2)
    iou = pixel.miou(total["both"], np.broadcast_to(truth, marginal.shape), marginal)
    return {"rom": _average(stats["curve_rom"], kept), "rum": _average(stats["curve_rum"], kept), "iou": iou}


def rom_rum_area(rom: np.ndarray, rum: np.ndarray) -> float:
    """Return the area under RUM against ROM as the threshold varies, by the trapezoidal rule, points sorted
    by ROM; less is better (Zhang et al. 2021, Fig. 5).

    >>> round(rom_rum_area(np.array([0.4, 0.2, 0.0]), np.array([0.5, 0.3, 0.0])), 3)
    0.11
    """
    rom, rum = (
        checked_arrays.numbers(values, name, MetricError, "N").astype(np.float64, copy=False)
        for name, values in (("rom", rom), ("rum", rum))
    )
    checked_arrays.same_shape(MetricError, rom=rom, rum=rum)
    known = ~(np.isnan(rom) | np.isnan(rum))
    order = np.lexsort((rum[known], rom[known]))
    x = rom[known][order]
    y = rum[known][order]
    return float(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum()) if len(x) > 1 else float("nan")


_REGIONAL = (
    *region_counts.WHOLE,
    *region_counts.PARTS,
    *region_counts.MATCHED,
    *region_counts.QUALITY,
    "pq_iou_sum",
)
_SUMMED = frozenset(
    [
        "both",
        "truth_pixels",
        "predicted_pixels",
        "pq_found",
        "pq_missed",
        "pq_invented",
        "pq_iou_sum",
        "boundary",
        "region_sizes",
    ]
)


def weighed(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the sums (B, ...) of (I, ...) values weighted by ``weights`` (B, I), a few rows at a time so
    that weights may be small integers.

    >>> weighed(np.array([[1, 1], [2, 0]], np.uint8), np.array([3, 4])).tolist()
    [7.0, 6.0]
    """
    values = np.asarray(values, np.float64)
    blocks = [
        np.tensordot(weights[low : low + _ROWS].astype(np.float64), values, 1)
        for low in range(0, len(weights), _ROWS)
    ]
    return np.concatenate(blocks) if blocks else np.zeros((0, *values.shape[1:]))


def _summed(stats: Stats, metrics: Sequence[Metric]) -> dict[str, np.ndarray]:
    """Return the statistics that are added up."""
    wanted = _SUMMED | {metric.reads for metric in metrics if metric.count and metric.join == "pooled"}
    return {name: stats[name] for name in stats if name in wanted}


def _pooled(
    sums: Stats, definitions: Definitions, groups: Sequence[int], metrics: Sequence[Metric]
) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Return (values, the per-class values they are means of) for the metrics made of sums (B, C)."""
    out: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
    for metric in (metric for metric in metrics if metric.join == "pooled"):
        if metric.count and sums[metric.reads].ndim < 3:  # user-defined, without classes
            out[metric.name] = (metric.compute(sums, definitions), None)
        elif metric.group == "pixels":
            cells = None if metric.per_class is None else metric.per_class(sums, definitions)
            counted = (
                None
                if cells is None
                else pixel.classes_counted(cells, sums["truth_pixels"], definitions.over)
            )
            out[metric.name] = (metric.compute(sums, definitions), counted)
        elif metric.per_class is not None:
            cells = _only(metric.per_class(sums, definitions), groups)
            out[metric.name] = (regions.mean(cells, 1), cells)
    return out


def _over_cells(
    rows: Stats, definitions: Definitions, groups: Sequence[int], used: np.ndarray, metrics: Sequence[Metric]
) -> dict[str, Summary]:
    """Return the metrics made of sums as means over the cells that have a value; the others are left out and
    counted.
    """
    out = {}
    own = {metric.name: metric for metric in metrics}
    for name, (values, cells) in _pooled(rows, definitions, groups, metrics).items():
        if cells is None:
            undefined = int(np.isnan(values[used]).sum())
            out[name] = _mean(_means(values[:, None], used), None, undefined, "mean over images")
            continue
        means = Means(_means(cells, used).cells, alike=True)
        mine = cells[used] if own[name].group == "pixels" else cells[used][:, list(groups)]
        undefined = int(np.isnan(mine).sum())
        out[name] = _mean(means, means.by_class.value, undefined, "mean over all cells (image, class)")
    return out


def _shown(rows: Stats, metric: Metric, used: np.ndarray, definitions: Definitions) -> np.ndarray | None:
    """Return (C,) a pixel metric of every class, including classes that its mean leaves out."""
    sums = {count: rows[count][used].sum(0) for count in ("both", "truth_pixels", "predicted_pixels")}
    return None if metric.per_class is None else metric.per_class(sums, definitions)


def _means(cells: np.ndarray, used: np.ndarray) -> Means:
    return Means(np.where(used[:, None], cells, np.nan))


def _mean(means: Means, per_class: np.ndarray | None, undefined: int, aggregate: str) -> Summary:
    return Summary(float(means.linear.value), per_class, undefined, aggregate, means)


def _cells(
    stats: Stats, definitions: Definitions, groups: Sequence[int], metrics: Sequence[Metric]
) -> dict[str, np.ndarray]:
    held = {name: stats[name] for name in (*_REGIONAL, "boundary", "skeletons") if name in stats}
    own = {metric.reads: stats[metric.reads] for metric in metrics if metric.count}
    of = [metric for metric in metrics if metric.join == "cells"]
    return {metric.name: _only(metric.compute(held | own, definitions), groups) for metric in of}


def _there(stats: Stats, groups: Sequence[int]) -> np.ndarray:
    if _COUNTS[0] not in stats:
        return np.ones((1, 1), bool)  # without regions every cell may have had a value
    return _only(stats[_COUNTS[0]] + stats[_COUNTS[1]], groups) > 0


def _absent(values: np.ndarray, stats: Stats) -> int:
    """Return how many of the images present have no value."""
    there = getattr(stats, "present", np.ones(len(values), bool))
    return int((np.isnan(values) & there).sum())


def _only(cells: np.ndarray, groups: Sequence[int]) -> np.ndarray:
    """Return the cells with NaN for classes not in ``groups``."""
    out = np.array(cells, float)
    out[..., [c for c in range(out.shape[-1]) if c not in set(groups)]] = np.nan
    return out


def _average(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted mean over images (axis 0) of the defined values."""
    known = ~np.isnan(values)
    total = weighed(weights, np.where(known, values, 0.0))
    number = weighed(weights, known)
    return np.divide(total, number, out=np.full(number.shape, np.nan), where=number > 0)
