"""From statistics of images to numbers of a data set, with what their intervals come from, and the same numbers for each image.

Conventions: ``stats`` {name: (I, ...)} as image_statistics makes them, images in corpus order; ``used`` (I,) says which of them count. NaN where undefined. There
are three ways to bring images together, and each metric has one:

    pooled       counts of all images are added, then divided (mIoU, PQ as their reference implementations)
    cells        mean over images of the mean over the classes defined there (S1 Table I)
    images       mean over images

Source: S0, S1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.metrics import boundary, pixel
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.evidence import Evidence, Means, Ratios
from faultscape.metrics.intervals.slopes import of_sums
from faultscape.metrics.overlaps import over_under, region_counts, regions

PIXEL = ("miou", "fwiou", "mpa", "pixel_accuracy", "dice")
QUALITY = ("pq", "sq", "rq")
CELLS = ("rom", "rum", "ror", "rur", "pe_os", "pe_us", "ap50", "ap75", "ap", "missed", "invented", "boundary_f")
IMAGES = ("gce", "lce", "gce_regions", "lce_regions", "partition_distance", "variation_of_information", "adapted_rand")
HIGH = frozenset([*PIXEL, *QUALITY, "ap50", "ap75", "ap", "boundary_f", "boundary_iou"])
_ROWS = 64
_COUNTS = ("truth_regions", "predicted_regions")
Stats = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Summary:
    """A metric of a data set: its ``value``, ``per_class`` (C,) or None, how many cells were ``undefined``, how images were brought together, and what its interval comes from."""

    value: float
    per_class: np.ndarray | None
    undefined: int
    aggregate: str
    evidence: Evidence


def summarise(stats: Stats, definitions: Definitions, groups: Sequence[int], used: np.ndarray) -> dict[str, Summary]:
    """Return {metric: Summary} of every metric whose statistics are there, over the images ``used`` (I,); ``groups`` are the places of the classes that form regions."""
    out: dict[str, Summary] = {}
    rows = {name: stats[name] for name in stats if name in _SUMMED}
    pooled = of_sums(rows, lambda sums: _pooled(sums, definitions, groups), used)
    for name, (number, classes) in pooled.items():
        mine = slice(None) if name in PIXEL else list(groups)  # the background forms no region, so it is not undefined there
        by_class = _shown(rows, name, used) if name in _PIXEL_CLASSES else None if classes is None else classes.value
        undefined = 0 if by_class is None else int(np.isnan(by_class[mine]).sum())
        out[name] = Summary(float(number.value), by_class, undefined, "pooled over images", Ratios(number, classes))
    if definitions.pooling == "per_image":
        for name, (values, cells) in _pooled(rows, definitions, groups).items():
            means = _means(values[:, None] if cells is None else cells, used)
            out[name] = _mean(means, None, _absent(values, stats), "mean over images")
    there = _there(stats, groups)
    for name, cells in _cells(stats, definitions, groups).items():
        undefined = int((np.isnan(cells) & there).sum())
        means = _means(cells, used)
        out[name] = _mean(means, means.by_class.value, undefined, "mean over images of the mean over the classes defined there")
    for name in (name for name in IMAGES if name in stats):
        by_class = _means(stats[f"{name}_of_classes"], used).by_class.value if f"{name}_of_classes" in stats else None
        out[name] = _mean(_means(stats[name][:, None], used), by_class, _absent(stats[name], stats), "mean over images")
    return out


def of_images(stats: Stats, definitions: Definitions, groups: Sequence[int]) -> dict[str, np.ndarray]:
    """Return {metric: (I,)}: every metric of each image by itself."""
    out = {
        name: values for name, (values, _) in _pooled({k: stats[k] for k in stats if k in _SUMMED}, definitions, groups).items()
    }
    out |= {name: regions.mean(cells, 1) for name, cells in _cells(stats, definitions, groups).items()}
    return out | {name: np.asarray(stats[name], float) for name in IMAGES if name in stats}


def curves(stats: Stats, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return ROM, RUM, mIoU (B, T) of the images with confidence, when regions below each threshold are unknown (S1 III-B)."""
    from faultscape.metrics.image_statistics import CURVE

    shape = (len(stats["both"]), len(CURVE), -1)
    both, predicted = stats["curve_both"].reshape(shape), stats["curve_predicted"].reshape(shape)
    kept = weights * stats["with_confidence"]
    total = {name: np.einsum("bi,itc->btc", kept, values) for name, values in (("both", both), ("predicted", predicted))}
    truth = (kept @ stats["truth_pixels"])[:, None]
    marginal = np.concatenate([total["predicted"], np.zeros((*total["predicted"].shape[:2], 1))], 2)
    iou = pixel.miou(total["both"], np.broadcast_to(truth, marginal.shape), marginal)
    return {"rom": _average(stats["curve_rom"], kept), "rum": _average(stats["curve_rum"], kept), "iou": iou}


def rom_rum_area(rom: np.ndarray, rum: np.ndarray) -> float:
    """Return the area under RUM against ROM as the threshold moves, by trapezia, points sorted by ROM; less is better (S1 Fig. 5).

    >>> round(rom_rum_area(np.array([0.4, 0.2, 0.0]), np.array([0.5, 0.3, 0.0])), 3)
    0.11
    """
    known = ~(np.isnan(rom) | np.isnan(rum))
    order = np.lexsort((rum[known], rom[known]))
    x, y = rom[known][order], rum[known][order]
    return float(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum()) if len(x) > 1 else float("nan")


_REGIONAL = (*region_counts.WHOLE, *region_counts.PARTS, *region_counts.MATCHED, *region_counts.QUALITY, "pq_iou_sum")
_PIXEL_CLASSES = {"miou": pixel.iou_of_classes, "mpa": pixel.accuracy_of_classes, "dice": pixel.dice_of_classes}
_SUMMED = frozenset(
    ["both", "truth_pixels", "predicted_pixels", "pq_found", "pq_missed", "pq_invented", "pq_iou_sum", "boundary"]
)


def weighed(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the sums (B, ...) of (I, ...) values, each image as often as ``weights`` (B, I) says; a few rows at a time, so that weights may be small integers.

    >>> weighed(np.array([[1, 1], [2, 0]], np.uint8), np.array([3, 4])).tolist()
    [7.0, 6.0]
    """
    values = np.asarray(values, np.float64)
    blocks = [np.tensordot(weights[low : low + _ROWS].astype(np.float64), values, 1) for low in range(0, len(weights), _ROWS)]
    return np.concatenate(blocks) if blocks else np.zeros((0, *values.shape[1:]))


def _pooled(sums: Stats, definitions: Definitions, groups: Sequence[int]) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Return (values, what they are means of, by class) of the metrics that are made of sums (B, C)."""
    out: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
    if "both" in sums:
        counts = sums["both"], sums["truth_pixels"], sums["predicted_pixels"]
        for name in PIXEL:
            of = _PIXEL_CLASSES.get(name)
            cells = None if of is None else pixel.classes_counted(of(*counts), counts[1], definitions.over)
            out[name] = (pixel.METRICS[name](*counts, over=definitions.over), cells)
    if "pq_found" in sums:
        of = {"pq": over_under.panoptic_quality, "sq": over_under.segmentation_quality, "rq": over_under.recognition_quality}
        for name in QUALITY:
            cells = _only(of[name](dict(sums)), groups)
            out[name] = (regions.mean(cells, 1), cells)
    if "boundary" in sums:
        cells = _only(boundary.boundary_iou(sums["boundary"]), groups)
        out["boundary_iou"] = (regions.mean(cells, 1), cells)
    return out


def _shown(rows: Stats, name: str, used: np.ndarray) -> np.ndarray:
    """Return (C,) a pixel metric of every class, whichever of them its mean is over."""
    return _PIXEL_CLASSES[name](*(rows[count][used].sum(0) for count in ("both", "truth_pixels", "predicted_pixels")))


def _means(cells: np.ndarray, used: np.ndarray) -> Means:
    return Means(np.where(used[:, None], cells, np.nan))


def _mean(means: Means, per_class: np.ndarray | None, undefined: int, aggregate: str) -> Summary:
    return Summary(float(means.linear.value), per_class, undefined, aggregate, means)


def _cells(stats: Stats, definitions: Definitions, groups: Sequence[int]) -> dict[str, np.ndarray]:
    if "torn_truth" not in stats:
        return {}
    cells = regions.measure(
        {name: stats[name] for name in _REGIONAL},
        absent=definitions.absent,
        scale=definitions.scale,
        per=definitions.per,
        groups=groups,
    )
    if "boundary" in stats:
        cells["boundary_f"] = _only(boundary.boundary_f(stats["boundary"]), groups)
    return {name: cells[name] for name in CELLS if name in cells}


def _there(stats: Stats, groups: Sequence[int]) -> np.ndarray:
    if _COUNTS[0] not in stats:
        return np.zeros((0, 0), bool)
    return _only(stats[_COUNTS[0]] + stats[_COUNTS[1]], groups) > 0


def _absent(values: np.ndarray, stats: Stats) -> int:
    """Return how many images that are there have no value."""
    there = getattr(stats, "present", np.ones(len(values), bool))
    return int((np.isnan(values) & there).sum())


def _only(cells: np.ndarray, groups: Sequence[int]) -> np.ndarray:
    """Return cells with NaN for the classes that are not in ``groups``."""
    out = np.array(cells, float)
    out[..., [c for c in range(out.shape[-1]) if c not in set(groups)]] = np.nan
    return out


def _average(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted mean over images (axis 0) of what is defined."""
    known = ~np.isnan(values)
    total, number = weighed(weights, np.where(known, values, 0.0)), weighed(weights, known)
    return np.divide(total, number, out=np.full(number.shape, np.nan), where=number > 0)
