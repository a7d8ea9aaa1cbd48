"""measure.json: every metric of every model with its interval and definition, differences between models, and where a model loses to the best.

Conventions: numbers have 12 digits, undefined is null, intervals are 95 %. Two models are compared over the (image, class) cells that both have, of pooled metrics
the classes; the difference of their numbers as they stand is kept beside. A gap is one kind of region error of one class, averaged over the images where both models
have it, of a model minus that of the best model (by mIoU); its share is of the sum of all positive gaps of that model.
Source: S1 V (explaining where a model's error comes from).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any, cast

import numpy as np

from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.evidence import Evidence, Means
from faultscape.metrics.intervals.slopes import student_interval
from faultscape.metrics.intervals.units import Units
from faultscape.metrics.summary import HIGH, Summary
from faultscape.reporting.measure.coverage import held

KINDS = {"over": "rom", "under": "rum", "missed": "missed", "invented": "invented"}
LOW_SCORES = frozenset(
    ["fpr95", "ece", "ece_equal_mass", "ece_classwise", "mce", "brier", "brier_top", "nll", "aurc", "augrc", "fpr95_per_image"]
)
UNBOUNDED = frozenset(["variation_of_information", "nll"])
DEFINED = {
    "miou": "mean over classes of intersection over union (S0 eq. 7); over={over}",
    "fwiou": "intersection over union weighted by the truth's class frequency (S0 eq. 9 with the frequency)",
    "mpa": "mean over classes of N_yy / N_y. (S0 eq. 10); over={over}",
    "pixel_accuracy": "share of the truth's pixels that the prediction calls alike",
    "dice": "mean over classes of 2 N_yy / (N_y. + N_.y); over={over}",
    "rom": "region-wise over-segmentation measure, {scale}(ROR m_o) (S1 eq. 7); {regional}",
    "rum": "region-wise under-segmentation measure, {scale}(RUR m_u) (S1 eq. 10); {regional}",
    "ror": "region-wise over-segmentation ratio (S1 eq. 5); {regional}",
    "rur": "region-wise under-segmentation ratio (S1 eq. 8); {regional}",
    "gce": "global consistency error (S1 eq. 2) of the partition into {partition}; per class: of the class against all else",
    "lce": "local consistency error of the partition into {partition}; per class: of the class against all else",
    "gce_regions": "global consistency error of the partition into {segments}",
    "lce_regions": "local consistency error of the partition into {segments}",
    "pe_os": "Persello's over-segmentation error, mean over regions of the {per}; {connected}",
    "pe_us": "Persello's under-segmentation error, mean over regions of the {per}; {connected}",
    "ap50": "TP / (TP + FP) of predicted regions at {match} >= .50, of an image and class, without scores; {connected}, absent={absent}",
    "ap75": "TP / (TP + FP) of predicted regions at {match} >= .75, of an image and class, without scores; {connected}, absent={absent}",
    "ap": "mean of TP / (TP + FP) at {match} >= .50:.05:.95, of an image and class, without scores; {connected}, absent={absent}",
    "pq": "panoptic quality, the reference rule for void; {panoptic}",
    "sq": "segmentation quality, the mean IoU of matched regions; {panoptic}",
    "rq": "recognition quality, the F1 score of regions at IoU > .5; {panoptic}",
    "missed": "share of true regions that no predicted region of their class touches; {connected}",
    "invented": "share of predicted regions that touch no true region of their class; {connected}",
    "partition_distance": "share of pixels to be moved until the partitions into {segments} are equal (optimal assignment)",
    "variation_of_information": "H(T|P) + H(P|T) in bits, of the partitions into {segments}",
    "adapted_rand": "1 - F score of pairs of pixels in one segment, of the partitions into {segments}",
    "boundary_f": "boundary F-score at a tolerance of {tolerance:g} (pixels from 1 on, else of the diagonal)",
    "boundary_iou": "intersection over union of the bands inside the edges, width {band:g} (pixels from 1 on, else of the diagonal)",
}


def models(
    summaries: Mapping[str, Mapping[str, Summary]],
    definitions: Definitions,
    classes: Sequence[str],
    units: Units | None,
    texts: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return {NAME: {METRIC: entry}} of measure.json; without ``units`` there are no intervals."""
    words = _words(definitions)
    out: dict[str, Any] = {}
    for name, metrics in summaries.items():
        out[name] = {}
        for metric, found in metrics.items():
            low, high = interval(found.evidence, units, (0, _most(metric, definitions)))
            text = (texts or {}).get(metric) or DEFINED.get(metric, metric).format(**words)
            entry: dict[str, Any] = {
                "value": number(found.value),
                "low": number(low),
                "high": number(high),
                "undefined": found.undefined,
                "undefined_of": undefined_of(found),
            }
            entry |= {
                "better": "high" if metric in HIGH or _scores_high(metric) else "low",
                "definition": f"{text}; {found.aggregate}{'' if math.isnan(low) or units is None else held(metric, units)}",
            }
            if found.per_class is not None:
                entry["per_class"] = {c: number(v) for c, v in zip(classes, found.per_class, strict=True)}
            out[name][metric] = entry
    return out


def paired(
    summaries: Mapping[str, Mapping[str, Summary]], images: Mapping[str, int], units: Units | None, definitions: Definitions
) -> list[dict[str, Any]]:
    """Return the difference of every two models in every metric both have, first minus second, with its interval; ``images`` {metric: how many}.

    ``difference``, ``low`` and ``high`` are of the cells that both have, those that end in ``_all`` of all that each has.
    """
    out = []
    for first, second in combinations(summaries, 2):
        for metric in (m for m in summaries[first] if m in summaries[second]):
            one, other = (cast("Any", summaries[name][metric].evidence) for name in (first, second))
            most = _most(metric, definitions)
            row: dict[str, Any] = {"metric": metric, "first": first, "second": second}
            for found, of in ((one.common(other), ""), (one.apart(other), "_all")):
                low, high = interval(found, units, (-most, most))
                row |= {f"difference{of}": number(found.value), f"low{of}": number(low), f"high{of}": number(high)}
            out.append(row | {"images": images[metric]})
    return out


def interval(evidence: Evidence, units: Units | None, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the interval of a number, within the range of what it measures; NaN without units."""
    if units is None:
        return math.nan, math.nan
    low, high = np.clip(evidence.interval(units), *bounds).tolist()
    return low, high


def gaps(summaries: Mapping[str, Mapping[str, Summary]], classes: Sequence[str], units: Units | None) -> list[dict[str, Any]]:
    """Return where each model loses to the best one: class and kind of error, the gap with its interval, and its share of all the model loses."""
    scored = {name: found["miou"].value for name, found in summaries.items() if "miou" in found and "rom" in found}
    known = {name: value for name, value in scored.items() if not math.isnan(value)}
    if len(known) < 2:
        return []
    best = max(known, key=lambda name: known[name])
    out = []
    for name in (name for name in known if name != best):
        rows = []
        for kind, metric in KINDS.items():
            mine, theirs = summaries[name][metric].evidence, summaries[best][metric].evidence
            if not isinstance(mine, Means) or not isinstance(theirs, Means):
                continue
            gap = mine.common(theirs).by_class
            intervals = np.full((len(classes), 2), np.nan) if units is None else student_interval(gap, units)
            rows += [(gap.value[c], kind, classes[c], intervals[c]) for c in np.flatnonzero(gap.value > 0).tolist()]
        total = sum(row[0] for row in rows)
        for value, kind, class_, (low, high) in sorted(rows, key=lambda row: -row[0]):
            row = {
                "model": name,
                "best": best,
                "class": class_,
                "kind": kind,
                "gap": number(value),
                "low": number(low),
                "high": number(high),
            }
            out.append(row | {"share": number(value / total)})
    return out


def undefined_of(found: Summary) -> str:
    """Return what ``undefined`` counts: cells (image, class), images, classes, or the one value itself."""
    if "mean over the classes" in found.aggregate:
        return "cells (image, class)"
    if found.aggregate.startswith(("mean over images", "all pixels pooled")):
        return "images"
    return "classes" if found.per_class is not None else "the value itself"


def number(value: Any) -> float | None:
    """Return a number with 12 digits, None for what is undefined.

    >>> number(1 / 3), number(float("nan"))
    (0.333333333333, None)
    """
    value = float(value)
    return None if not math.isfinite(value) else float(f"{value:.12g}")


def numbers(values: Any) -> list[float | None]:
    """Return a list of numbers as `number`."""
    return [number(value) for value in np.asarray(values, float).ravel()]


def recorded(definitions: Definitions) -> dict[str, Any]:
    """Return the definitions as they stand in provenance."""
    return asdict(definitions)


def _most(metric: str, definitions: Definitions) -> float:
    """Return the largest value that a metric can take."""
    if metric in UNBOUNDED or (metric in ("rom", "rum") and definitions.scale == "none"):
        return math.inf
    return 2.0 if metric == "brier" else 1.0


def _scores_high(metric: str) -> bool:
    low = metric in LOW_SCORES or metric.startswith(("fpr", "ece", "brier")) or "_fpr" in metric
    return metric not in DEFINED and not low


def _words(definitions: Definitions) -> dict[str, Any]:
    given = definitions.regions == "given"
    connected = "regions as given" if given else f"connectivity={definitions.connectivity}, void={definitions.void}"
    words = asdict(definitions) | {
        "connected": connected,
        "panoptic": "regions as given"
        if given
        else f"connectivity={definitions.connectivity}, regions made before void is taken away",
        "regional": f"{connected}, absent={definitions.absent}, scale={definitions.scale}",
    }
    words |= {
        "partition": "regions as given" if given else "classes",
        "segments": "regions as given" if given else "connected regions",
    }
    return words | {"match": {"iou": "IoU", "dice": "Dice"}[definitions.match]}
