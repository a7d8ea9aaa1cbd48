"""measure.json: every metric of every model with its interval and definition, differences between models, and
where a model loses to the best.

Conventions: numbers have 12 digits, undefined is null, intervals are 95 %. Two models are compared over the
(image, class) cells that both have (for pooled metrics, the classes); the difference of their full numbers is
also stored. A gap is a model's error of one kind for one class, averaged over the images where both models
have it, minus that of the best model (by mIoU); its share is of the sum of all positive gaps of that model.
Source: Zhang et al. 2021, section V (explaining where a model's error comes from).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any, Literal, NotRequired, Required, TypedDict, cast

import numpy as np

from faultscape.metrics.catalogue import named
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.evidence import Evidence, Means
from faultscape.metrics.intervals.slopes import student_interval
from faultscape.metrics.intervals.units import Units
from faultscape.metrics.metric import Metric
from faultscape.metrics.summary import Summary
from faultscape.nouns import JsonObject
from faultscape.reporting.measure.coverage import held


class MetricEntry(TypedDict, total=False):
    """One metric of one model, with its interval; ``title``, ``says`` and ``group`` are set for custom
    metrics.
    """

    value: Required[float | None]
    better: Required[Literal["high", "low"]]
    low: float | None
    high: float | None
    undefined: int
    undefined_of: str
    definition: str
    title: str
    says: str
    group: str
    per_class: dict[str, float | None]
    per_class_low: dict[str, float | None]  # from points: null where too few decide the class
    per_class_high: dict[str, float | None]


class PairedRow(TypedDict, total=False):
    """The difference of two models in one metric, over what both have, and (``_all``) over everything that
    each has.
    """

    metric: Required[str]
    first: Required[str]
    second: Required[str]
    difference: float | None
    low: float | None
    high: float | None
    difference_all: float | None
    low_all: float | None
    high_all: float | None
    images: int


GapRow = TypedDict(
    "GapRow",
    {
        "model": str,
        "best": str,
        "class": str,
        "kind": str,
        "gap": float,
        "low": float | None,
        "high": float | None,
        "share": float | None,
    },
)


class DrawnUnits(TypedDict):
    """What intervals resample, images, groups or points, how many there are, and whether all are of few
    groups.
    """

    drawn: Literal["images", "groups", "points"]
    count: int
    same_groups: NotRequired[bool]


class PointsPart(TypedDict):
    """What a selection of points asked, and what was answered. ``by_class`` counts the answered points that
    show a class, in halves on a border, ``by_image`` those of an image, ``deciding`` {NAME: {class: points
    that decide its IoU}}. The last two, {NAME: [low, high]}, are by how much mIoU could change at most if the
    points that nobody can tell had been answered, and if those on a border were wholly of one class.
    """

    selection: str
    goal: str
    border: int
    drawn: int  # points of the selection, without those of discarded images
    answered: int  # by people
    masked: int  # points in images with a mask
    waiting: int
    void: int
    cannot_tell: int
    on_border: int
    images: int  # that could be drawn
    pixels: int  # of these images
    masked_pixels: int  # of those of them that have a mask
    by_class: dict[str, float]
    by_image: dict[str, int]
    deciding: dict[str, dict[str, int]]
    cannot_tell_leaves_open: dict[str, list[float]]
    borders_leave_open: dict[str, list[float]]


class PresentPart(TypedDict):
    """From what it is known which classes images show: ``masks`` and ``answers`` count the images of either,
    ``by_class`` {class: [images that show it, images that do not]}.
    """

    masks: int
    answers: int
    by_class: dict[str, list[int]]


class SetDocument(TypedDict, total=False):
    """The results of one data set; ``anomalous`` {NAME: share of anomalous pixels} with anomaly scores,
    ``points`` what was asked and answered where the numbers are estimated from points, ``present`` from what
    the classes of images are known where the numbers are about these.
    """

    models: Required[dict[str, dict[str, MetricEntry]]]
    images: dict[str, int]
    classes: list[str]
    paired: list[PairedRow]
    gaps: list[GapRow]
    curves: dict[str, JsonObject]
    confusion: dict[str, list[list[int]]]
    anomalous: dict[str, float]
    failures: int
    units: DrawnUnits
    points: PointsPart
    present: PresentPart
    chosen: int
    notes: list[str]


class Document(SetDocument, total=False):
    """The content of measure.json: one data set, or several under ``datasets``; for an array job, only what
    it did.
    """

    datasets: dict[str, SetDocument]
    provenance: JsonObject
    shard: str | None
    jobs: int


class SetsDocument(TypedDict, total=False):
    """The content of measure.json of several data sets."""

    datasets: Required[dict[str, SetDocument]]
    provenance: JsonObject


class ShareDocument(TypedDict, total=False):
    """What one job of an array did."""

    shard: Required[str | None]
    jobs: int
    failures: int


KINDS = {"over": "rom", "under": "rum", "missed": "missed", "invented": "invented"}


def models(
    summaries: Mapping[str, Mapping[str, Summary]],
    definitions: Definitions,
    classes: Sequence[str],
    units: Units | None,
    known: Mapping[str, Metric],
) -> dict[str, dict[str, MetricEntry]]:
    """Return {NAME: {METRIC: entry}} for measure.json, with ``known`` {METRIC: its catalogue entry}; without
    ``units`` there are no intervals.
    """
    out: dict[str, dict[str, MetricEntry]] = {}
    built_in = named()
    for name, metrics in summaries.items():
        out[name] = {}
        for metric, found in metrics.items():
            low, high = interval(found.evidence, units, known[metric].bounds(definitions))
            covered = ""
            if units is not None and not math.isnan(low):
                covered = held(metric, units.count, grouped=units.grouped)
            entry: MetricEntry = {
                "value": number(found.value),
                "low": number(low),
                "high": number(high),
                "undefined": found.undefined,
                "undefined_of": undefined_of(found),
                "better": known[metric].better,
                "definition": f"{known[metric].text(definitions)}; {found.aggregate}{covered}",
            }
            if metric not in built_in:  # custom: the page describes it from this entry
                entry["title"], entry["says"], entry["group"] = (
                    known[metric].title,
                    known[metric].says,
                    known[metric].group,
                )
            if found.per_class is not None:
                entry["per_class"] = {c: number(v) for c, v in zip(classes, found.per_class, strict=True)}
            out[name][metric] = entry
    return out


def paired(
    summaries: Mapping[str, Mapping[str, Summary]],
    images: Mapping[str, int],
    units: Units | None,
    definitions: Definitions,
    known: Mapping[str, Metric],
) -> list[PairedRow]:
    """Return the difference of every pair of models in every metric both have, first minus second, with its
    interval; ``images`` {metric: how many}.

    ``difference``, ``low`` and ``high`` are over the cells that both have, those that end in ``_all`` over
    everything that each has.
    """
    out: list[PairedRow] = []
    for first, second in combinations(summaries, 2):
        for metric in (m for m in summaries[first] if m in summaries[second]):
            one, other = (cast("Any", summaries[name][metric].evidence) for name in (first, second))
            least, most = known[metric].bounds(definitions)
            row: dict[str, Any] = {"metric": metric, "first": first, "second": second}
            for found, of in ((one.common(other), ""), (one.apart(other), "_all")):
                low, high = interval(found, units, (least - most, most - least))
                row |= {
                    f"difference{of}": number(found.value),
                    f"low{of}": number(low),
                    f"high{of}": number(high),
                }
            out.append(cast("PairedRow", row | {"images": images[metric]}))
    return out


def interval(evidence: Evidence, units: Units | None, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the interval of a number, clipped to the metric's range; NaN without units."""
    if units is None:
        return math.nan, math.nan
    low, high = np.clip(evidence.interval(units), *bounds).tolist()
    return low, high


def gaps(
    summaries: Mapping[str, Mapping[str, Summary]], classes: Sequence[str], units: Units | None
) -> list[GapRow]:
    """Return where each model loses to the best one: class and kind of error, the gap with its interval, and
    its share of the model's total loss.
    """
    scored = {
        name: found["miou"].value for name, found in summaries.items() if "miou" in found and "rom" in found
    }
    known = {name: value for name, value in scored.items() if not math.isnan(value)}
    if len(known) < 2:
        return []
    best = max(known, key=lambda name: known[name])
    out: list[GapRow] = []
    for name in (name for name in known if name != best):
        rows = []
        for kind, metric in KINDS.items():
            mine = summaries[name][metric].evidence
            theirs = summaries[best][metric].evidence
            if not isinstance(mine, Means) or not isinstance(theirs, Means):
                continue
            gap = mine.common(theirs).by_class
            intervals = np.full((len(classes), 2), np.nan) if units is None else student_interval(gap, units)
            rows += [
                (gap.value[c], kind, classes[c], intervals[c]) for c in np.flatnonzero(gap.value > 0).tolist()
            ]
        total = sum(row[0] for row in rows)
        for value, kind, class_, (low, high) in sorted(rows, key=lambda row: -row[0]):
            row: GapRow = {
                "model": name,
                "best": best,
                "class": class_,
                "kind": kind,
                "gap": float(f"{value:.12g}"),
                "low": number(low),
                "high": number(high),
                "share": number(value / total),
            }
            out.append(row)
    return out


def undefined_of(found: Summary) -> str:
    """Return what ``undefined`` counts: cells (image, class), images, classes, or the one value itself."""
    if "mean over the classes" in found.aggregate or "cells" in found.aggregate:
        return "cells (image, class)"
    if found.aggregate.startswith(("mean over images", "all pixels pooled")):
        return "images"
    return "classes" if found.per_class is not None else "the value itself"


def number(value: Any) -> float | None:
    """Return a number with 12 digits, or None if undefined.

    >>> number(1 / 3), number(float("nan"))
    (0.333333333333, None)
    """
    value = float(value)
    return None if not math.isfinite(value) else float(f"{value:.12g}")


def numbers(values: Any) -> list[float | None]:
    """Return a list of numbers, each as by `number`."""
    return [number(value) for value in np.asarray(values, float).ravel()]


def recorded(definitions: Definitions) -> JsonObject:
    """Return the definitions as recorded in the provenance."""
    return asdict(definitions)
