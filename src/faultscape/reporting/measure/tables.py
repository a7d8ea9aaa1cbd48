"""The tables of errors: every model of every data set against the metrics, 0 best everywhere, the best of a column and its ties marked.

Conventions: an error is 1 - value where large values are good, the value itself otherwise (S1 Table I). A model ties with the best of its data set, which `leaders`
says, when the interval of their paired difference holds 0. Metrics whose definition says they cannot be compared between models have no best. Unknown = None, a dash.
Source: S1 Table I.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faultscape.reporting.measure.leaders import error, standings

GROUPS = {  # group: {metric: (its error's name, longer)}
    "pixels": {
        "miou": ("mIoU error", "1 − mean IoU"),
        "dice": ("Dice error", "1 − mean Dice"),
        "pixel_accuracy": ("Pixel error", "1 − pixel accuracy"),
        "mpa": ("MPA error", "1 − mean pixel accuracy"),
        "fwiou": ("FWIoU error", "1 − frequency-weighted IoU"),
    },
    "regions": {
        "rom": ("ROM", "regions torn apart"),
        "rum": ("RUM", "regions run together"),
        "ror": ("ROR", "share of regions torn apart"),
        "rur": ("RUR", "share of regions run together"),
        "missed": ("Missed", "true regions without any of their class upon them"),
        "invented": ("Invented", "predicted regions where the truth has none of their class"),
        "pe_os": ("PE-OS", "Persello's over-segmentation error"),
        "pe_us": ("PE-US", "Persello's under-segmentation error"),
        "ap": ("AP error", "1 − AP of regions, .50:.05:.95, without scores"),
        "ap50": ("AP50 error", "1 − AP of regions at .50"),
        "ap75": ("AP75 error", "1 − AP of regions at .75"),
        "pq": ("PQ error", "1 − panoptic quality"),
        "sq": ("SQ error", "1 − segmentation quality"),
        "rq": ("RQ error", "1 − recognition quality"),
    },
    "partitions": {
        "gce": ("GCE", "global consistency error"),
        "lce": ("LCE", "local consistency error"),
        "gce_regions": ("GCE, regions", "global consistency error of connected regions"),
        "lce_regions": ("LCE, regions", "local consistency error of connected regions"),
        "partition_distance": ("Part. distance", "partition distance"),
        "variation_of_information": ("VI", "variation of information, bits"),
        "adapted_rand": ("ARand error", "adapted Rand error"),
    },
    "boundaries": {
        "boundary_f": ("Boundary F error", "1 − boundary F-score"),
        "boundary_iou": ("Boundary IoU error", "1 − boundary IoU"),
    },
    "anomaly scores": {
        "average_precision": ("AP error", "1 − average precision of anomalous pixels"),
        "auroc": ("AUROC error", "1 − AUROC of anomalous pixels"),
        "fpr95": ("FPR95", "false positive rate at 95 % recall"),
        "component_siou": ("sIoU error", "1 − mean sIoU of components"),
        "component_precision": ("PPV error", "1 − mean precision of components"),
        "component_f1": ("F1 error", "1 − mean F1 of components"),
    },
    "confidence": {
        "calibration_auroc": ("CalibrationAUC error", "1 − AUROC of incorrect pixels against doubt"),
        "misclassification_ap": ("AP error, incorrect", "1 − average precision of incorrect pixels"),
        "misclassification_fpr95": ("FPR95, incorrect", "correct pixels doubted when 95 % of the incorrect are found"),
        "correct_ap": ("AP error, correct", "1 − average precision of correct pixels"),
        "aurc": ("AURC", "area under risk and coverage"),
        "augrc": ("AUGRC", "area under generalised risk and coverage"),
        "pavpu": ("PAvPU error", "1 − share of windows accurate and certain, or neither"),
        "p_accurate_certain": ("p(acc. | certain) error", "1 − p(accurate | certain)"),
        "p_uncertain_inaccurate": ("p(unc. | inacc.) error", "1 − p(uncertain | inaccurate)"),
    },
    "calibration": {
        "ece": ("ECE", "expected calibration error"),
        "mce": ("MCE", "largest calibration error of a bin"),
        "ece_equal_mass": ("ECE, equal mass", "expected calibration error, bins of equal mass"),
        "ece_classwise": ("ECE, class-wise", "mean over classes of the calibration error"),
        "brier": ("Brier", "Brier score"),
        "brier_top": ("Brier, top class", "Brier score of the predicted class alone"),
        "nll": ("NLL", "negative log-likelihood, nats"),
    },
}  # fmt: skip
TITLES = {metric: words for group in GROUPS.values() for metric, words in group.items()}
MAPS = (
    "miou",
    "dice",
    "pixel_accuracy",
    "rom",
    "rum",
    "pe_os",
    "pe_us",
    "ap",
    "pq",
    "gce",
    "boundary_f",
    "boundary_iou",
)  # S1 Table I, and what came since
PAIRS = ("ror", "rur")  # in the main table where ROM and RUM saturate, or there are no classes
SCORES = (
    "average_precision", "auroc", "fpr95", "component_siou", "component_precision", "component_f1",
    "calibration_auroc", "misclassification_fpr95", "aurc", "ece", "brier", "brier_top", "nll",
)  # fmt: skip
SATURATED = 0.9


@dataclass(frozen=True)
class Cell:
    """An error with its interval, how many cells were undefined, and how it stands in its column: ``best``, ``tie`` or nothing."""

    value: float | None
    low: float | None
    high: float | None
    undefined: int
    standing: str = ""


@dataclass(frozen=True)
class Column:
    """A metric: its error's name, what that means, its group, and with how many digits it is shown."""

    metric: str
    title: str
    says: str
    group: str
    digits: int


def sets_of(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return {data set: its part of the document}; the name is empty where there is only one, without a name."""
    return dict(document["datasets"]) if "datasets" in document else {"": document}


def tables(sets: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the tables: maps, scores, and all other metrics; each with ``columns``, ``groups`` [(name, columns)] and ``rows`` [(set, model, images, [Cell])]."""
    present = [m for one in sets.values() for of in one.get("models", {}).values() for m in of]
    known = [m for m in TITLES if m in present]
    known += sorted(set(present) - set(known))
    extra = PAIRS if "miou" not in present or any(saturated(one) for one in sets.values()) else ()
    main = [m for m in known if m in MAPS or m in extra]
    scores = [m for m in known if m in SCORES]
    rest = [m for m in known if m not in main and m not in scores]
    named = (("maps", main), ("scores", scores), ("rest", rest))
    return [_table(kind, metrics, sets) for kind, metrics in named if metrics]


def saturated(document: Mapping[str, Any]) -> list[str]:
    """Return the models whose ROM and RUM both lie above .9, where they tell little.

    >>> saturated({"models": {"fine": {"rom": {"value": 1.0}, "rum": {"value": 0.99}}, "coarse": {"rom": {"value": 0.88}, "rum": {"value": 0.99}}}})
    ['fine']
    """
    found = {name: [of[m]["value"] for m in ("rom", "rum") if m in of] for name, of in document.get("models", {}).items()}
    return [name for name, pair in found.items() if len(pair) == 2 and all(v is not None and v > SATURATED for v in pair)]


def cell(entry: Mapping[str, Any] | None, standing: str = "") -> Cell:
    """Return a metric as an error.

    >>> cell({"value": 0.75, "low": 0.5, "high": 1.0, "undefined": 0, "better": "high"})
    Cell(value=0.25, low=0.0, high=0.5, undefined=0, standing='')
    """
    if entry is None:
        return Cell(None, None, None, 0)
    low, high = entry.get("low"), entry.get("high")
    if entry["better"] == "high":
        low, high = (None if high is None else 1 - high), (None if low is None else 1 - low)
    return Cell(error(entry), low, high, int(entry.get("undefined") or 0), standing)


def _table(kind: str, metrics: Sequence[str], sets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    group_of = {m: name for name, group in GROUPS.items() for m in group}
    rows = []
    for name, one in sets.items():
        stand = {m: standings(one, m) for m in metrics}
        for model, of in one.get("models", {}).items():
            if any(m in of for m in metrics):
                cells = [cell(of.get(m), stand[m].get(model, "")) for m in metrics]
                rows.append({"set": name, "model": model, "images": one.get("images", {}).get(model), "cells": cells})
    columns = []
    for k, metric in enumerate(metrics):
        title, says = TITLES.get(metric, (metric, metric))
        columns.append(
            Column(metric, title, says, group_of.get(metric, "others"), digits([row["cells"][k].value for row in rows]))
        )
    groups: list[list[Any]] = []
    for column in columns:
        if groups and groups[-1][0] == column.group:
            groups[-1][1] += 1
        else:
            groups.append([column.group, 1])
    return {"kind": kind, "columns": columns, "groups": groups, "rows": rows}


def digits(values: Sequence[float | None]) -> int:
    """Return how many decimals a column needs so that its least number shows two digits: 3 to 5.

    >>> digits([0.25, 0.5]), digits([0.00033, 0.2])
    (3, 5)
    """
    known = [abs(v) for v in values if v is not None and abs(v) > 1e-12]
    return min(max(1 - math.floor(math.log10(min(known))), 3), 5) if known else 3
