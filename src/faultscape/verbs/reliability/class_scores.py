"""The IoU of each class: on clean images, under each corruption, over all, and on other labelled sets.

Conventions: a class under a corruption is the mean over the severities at which it has a value, and over all
corruptions the mean of these, as mIoU is. In distribution under the first holdout where the study has one.
Classes without a value anywhere are left out.
Source: Buchanan et al. 2022, section 3 (mIoU under corruption), class by class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from faultscape.metrics.intervals.evidence import Ratios
from faultscape.metrics.intervals.robustness import mean_corrupted
from faultscape.metrics.intervals.slopes import Linear
from faultscape.reporting.measure.document import number
from faultscape.reporting.reliability.document import CORRUPTED, CardClass, of_severities
from faultscape.verbs.reliability.card import Judgement, by_corruption, interval_of
from faultscape.verbs.reliability.conditions import Condition, Units

Number = tuple[str, Ratios]  # a condition, and the IoU of the class under it


def class_scores(
    found: Judgement,
    units: Units,
    models: Sequence[str],
    conditions: Sequence[Condition],
    names: Sequence[str],
) -> list[CardClass]:
    """Return the IoU of every class ``names`` (C,) of every model."""
    return [
        _row(model, names[k], found.holdout, condition, iou, units)
        for model in models
        for k in range(len(names))
        for condition, iou in _of_class(found, model, conditions, k)
    ]


def _of_class(found: Judgement, model: str, conditions: Sequence[Condition], k: int) -> list[Number]:
    """Return the numbers of one class of a model that are defined."""
    out = list[Number]()
    for condition in conditions:
        held = found.evidence.get((model, "", condition.name, "miou"))
        if condition.kind in ("clean", "natural", "foggy") and (one := _class(held, k)) is not None:
            out.append((condition.name, one))
    corrupted: Mapping[tuple[str, int], Ratios] = {
        key: one
        for key, held in by_corruption(found, model, conditions).items()
        if (one := _class(held, k)) is not None
    }
    for name in dict.fromkeys(name for name, _ in corrupted):
        mine = {key: one for key, one in corrupted.items() if key[0] == name}
        out.append((of_severities(name), mean_corrupted(mine)))
    return [*out, (CORRUPTED, mean_corrupted(corrupted))] if corrupted else out


def _class(held: object, k: int) -> Ratios | None:
    """Return the IoU of one class as a number of its own, None where it is undefined."""
    if not isinstance(held, Ratios) or held.classes is None or math.isnan(held.classes.value[k]):
        return None
    return Ratios(Linear(np.asarray(held.classes.value[k]), held.classes.slopes[:, k]), None)


def _row(model: str, name: str, holdout: str, condition: str, iou: Ratios, units: Units) -> CardClass:
    low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in interval_of(iou, units))
    row: CardClass = {
        "model": model,
        "class_": name,
        "condition": condition,
        "value": number(iou.value),
        "low": low,
        "high": high,
    }
    return row | {"holdout": holdout} if holdout else row
