"""The sufficient statistics of one image and one model, from which every metric of a data set, its interval
and its values by class are computed.

Conventions: {name: array}, int64 counts and float64 sums, (C,) per class or () for the image. Counts of
images add up in any order; sums of floats are added once, in corpus order (metrics.summary). Pixels void in
the truth are left out. Doubt and anomaly scores have their own statistics.
Source: Yan et al. 2021, section 4.1.3, Zhang et al. 2021, section II and III.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from faultscape.maps.counts import confusions
from faultscape.maps.regions import Overlaps
from faultscape.metrics import boundary, skeletons
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.overlaps import over_under, partition, recall_by_size, region_counts, regions
from faultscape.nouns import Classes

Statistics = dict[str, np.ndarray | np.generic]
CURVE = np.round(np.linspace(0, 1, 101), 2)  # confidence thresholds of S1 III-B
_ALONE = frozenset(["both", "boundary", "skeletons"])  # made without regions
_ONE_PAIR = np.array([[0, 1]])


def of_maps(
    truth: np.ndarray,
    prediction: np.ndarray,
    classes: Classes,
    definitions: Definitions,
    *,
    confidence: np.ndarray | None = None,
    boundaries: bool = True,
    also: Collection[str] = (),
) -> tuple[Statistics, np.ndarray]:
    """Return the statistics of two maps of places 0..C (C = void), and their (C + 1, C + 1) confusion matrix,
    row = truth; ``also`` names statistics to add that are made only on request.

    >>> one = np.array([[0, 0, 1, 1]], np.uint8)
    >>> stats, cells = of_maps(one, one, regions.resolve(2), Definitions())
    >>> cells.tolist(), float(stats["partition_distance"])
    ([[2, 0, 0], [0, 2, 0], [0, 0, 0]], 0.0)
    """
    n = len(classes)
    tables = regions.connected(truth, prediction, n, definitions.connectivity, definitions.void, confidence)
    cells = confusion(tables[0], n)
    stats = regions.count(tables, n, definitions.match) | _pixels(cells) | _segments(tables[0])
    stats |= {"gce": np.float64(partition.gce_cells(cells)), "lce": np.float64(partition.lce_cells(cells))}
    there = cells.sum(1)[:-1] + cells.sum(0)[:-1] > 0
    against_all_else = partition.binary_cells(cells[:-1])
    for name, measure in (("gce", partition.gce_cells), ("lce", partition.lce_cells)):
        stats[f"{name}_of_classes"] = np.where(there, measure(against_all_else), np.nan)
    if boundaries:
        stats["boundary"] = _boundary(truth, prediction, n, definitions)
    if "skeletons" in also:
        stats["skeletons"] = skeletons.skeleton_counts(truth, prediction, n)
    if "region_sizes" in also:
        stats["region_sizes"] = recall_by_size.size_counts(tables[0], n)
    if confidence is not None:
        stats |= _curve(tables[0], classes, definitions)
    return stats, cells


def of_reads(
    truth: np.ndarray,
    prediction: np.ndarray,
    classes: Classes,
    definitions: Definitions,
    reads: Collection[str],
) -> Statistics:
    """Return those of the statistics of two maps of places that metrics read (``Metric.reads``), equal to
    those of `of_maps`: of pixels alone, at the speed of counting.

    >>> one = np.array([[0, 0, 1, 1]], np.uint8)
    >>> sorted(of_reads(one, one, regions.resolve(2), Definitions(), {"both"}))
    ['both', 'predicted_pixels', 'truth_pixels']
    """
    n = len(classes)
    stats: Statistics = {}
    if set(reads) - _ALONE:
        stats = of_maps(truth, prediction, classes, definitions, boundaries=False, also=reads)[0]
    elif "both" in reads:
        stats = _pixels(pixel_cells(truth, prediction, n))
    if "boundary" in reads:
        stats["boundary"] = _boundary(truth, prediction, n, definitions)
    if "skeletons" in reads and "skeletons" not in stats:
        stats["skeletons"] = skeletons.skeleton_counts(truth, prediction, n)
    return stats


def pixel_cells(truth: np.ndarray, prediction: np.ndarray, n: int) -> np.ndarray:
    """Return the (C + 1, C + 1) confusion matrix of two maps of places, as `confusion` does of their regions:
    row = truth, without the pixels void in it.

    >>> pixel_cells(np.array([[0, 1, 2]], np.uint8), np.array([[1, 2, 0]], np.uint8), 2).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    """
    cells = confusions([truth, prediction], n + 1, _ONE_PAIR)[0]
    cells[n] = 0
    return cells


def of_regions(
    truth: np.ndarray,
    prediction: np.ndarray,
    classes: Classes,
    definitions: Definitions,
    divisor: int | None,
    meanings: tuple[Mapping[str, str] | None, Mapping[str, str] | None] = (None, None),
    also: Collection[str] = (),
) -> Statistics:
    """Return the statistics of two maps of region ids, where each id is a region (``divisor`` as in
    `metrics.regions`, ``meanings`` as in `given`).
    """
    table = regions.given(truth, prediction, classes, divisor=divisor, void=classes.void, meanings=meanings)
    stats = regions.count([table, table], len(classes), definitions.match) | _segments(table)
    if "region_sizes" in also:
        stats["region_sizes"] = recall_by_size.size_counts(table, len(classes))
    return stats | {"gce": stats["gce_regions"], "lce": stats["lce_regions"]}


def confusion(table: Overlaps, n: int) -> np.ndarray:
    """Return the (C + 1, C + 1) confusion matrix of a table of overlaps: row = truth, the last column holds
    what only the prediction calls void.

    >>> from faultscape.maps.regions import overlaps
    >>> confusion(overlaps(np.array([[0, 1, 2]], np.uint8), np.array([[1, 2, 0]], np.uint8), 2), 2).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    """
    at = table.truth_label[table.truth].astype(np.int64) * (n + 1) + table.prediction_label[table.prediction]
    cells = np.zeros((n + 1) * (n + 1), np.int64)
    np.add.at(cells, at, table.pixels)
    return cells.reshape(n + 1, n + 1)


def _pixels(cells: np.ndarray) -> Statistics:
    return {
        "both": np.diagonal(cells)[:-1].copy(),
        "truth_pixels": cells.sum(1),
        "predicted_pixels": cells.sum(0),
    }


def _boundary(truth: np.ndarray, prediction: np.ndarray, n: int, definitions: Definitions) -> np.ndarray:
    tolerance, width = (_in_pixels(x, truth.shape) for x in (definitions.tolerance, definitions.band))
    return boundary.boundary_counts(truth, prediction, n, tolerance=tolerance, width=width, unit="pixels")


def _segments(table: Overlaps) -> Statistics:
    """Return the statistics that compare the two partitions into regions, ignoring classes."""
    errors = partition.partition_errors(table.truth, table.prediction, table.pixels)
    values = {
        {"gce": "gce_regions", "lce": "lce_regions"}.get(name, name): value for name, value in errors.items()
    }
    found: Statistics = {name: np.float64(value) for name, value in values.items()}
    return found | {"pixels": np.int64(table.pixels.sum())}


def _in_pixels(width: float, shape: tuple[int, ...]) -> float:
    """Return a width in pixels; a width below 1 is a share of the diagonal."""
    return width if width >= 1 else width * math.hypot(*shape)


def _curve(table: Overlaps, classes: Classes, definitions: Definitions) -> Statistics:
    """Return the statistics for the curves of Zhang et al. 2021, section III-B: the means over classes of ROM
    and RUM, and the pixel counts of IoU, at each confidence threshold.

    Every class that has a value without a threshold stays in the mean: one whose regions are all unknown is
    neither torn nor merged, so it counts 0. Otherwise a curve would rise because easy classes leave it. The
    paper leaves this open; with ``all_unknown="nan"`` such a class is undefined, as one without predictions.
    """
    counts, both, predicted = region_counts.count_above(table, len(classes), CURVE)
    mine = list(classes.groups)
    out: Statistics = {"curve_both": both.reshape(-1), "curve_predicted": predicted.reshape(-1)}
    for name, measure in (("rom", over_under.rom), ("rum", over_under.rum)):
        defined = ~np.isnan(
            measure({k: v[0] for k, v in counts.items()}, absent=definitions.absent, scale=definitions.scale)[
                mine
            ]
        )
        if definitions.all_unknown == "nan":
            predicted = counts["predicted_regions"][:, mine]
            defined = defined & ~((predicted == 0) & (predicted[0] > 0))
        values = measure(counts, absent="zero", scale=definitions.scale)[:, mine]
        out[f"curve_{name}"] = regions.mean(np.where(defined, np.nan_to_num(values), np.nan), 1)
    return out
