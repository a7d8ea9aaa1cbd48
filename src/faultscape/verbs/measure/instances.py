"""Metrics of instances, which `measure` computes of a study when it is asked: PQ, and AP of scored masks.

Conventions: they are listed with the other metrics of a model, and are not in per_image.parquet: AP is of a
data set. Intervals are Student's, from leaving out one image, or one group, at a time.
Source: Kirillov et al. 2019 (PQ); Lin et al. 2014 (AP).
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import OptionError
from faultscape.metrics.intervals.left_out import leave_out, student_of_left_out
from faultscape.metrics.intervals.units import units_of
from faultscape.reading.instances.judgement import AP, METRICS, PQ, JudgedModel, judge
from faultscape.reporting.measure.document import MetricEntry, SetDocument, number
from faultscape.verbs.measure.measurement import Measurement
from faultscape.verbs.measure.sets import DataSet, ranks_of

TITLES = {PQ: "Instance PQ", AP: "Mask AP"}
_SAYS = {PQ: "1 − panoptic quality of instances", AP: "1 − average precision of masks, .50:.05:.95"}
_DEFINED = {
    PQ: "panoptic quality, the reference rule for void and crowds",
    AP: "average precision of masks by their scores over IoU .50:.05:.95, 101 recalls, 100 masks an image and"
    " class, crowds ignored, as COCO defines it",
}


def split(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the arguments of `--metric` that name metrics of instances, and the others.

    >>> split(("cldice", "mask_ap"))
    (('mask_ap',), ('cldice',))
    """
    mine = tuple(dict.fromkeys(word for word in words if word in METRICS))
    return mine, tuple(word for word in words if word not in METRICS)


def refuse_elsewhere(
    words: tuple[str, ...], source: str | None, *, study: bool, part: bool, array: bool
) -> None:
    """Raise OptionError where metrics of instances cannot be computed: for folders, sets and shares."""
    if not words:
        return
    if not study:
        raise OptionError(
            f"--metric {words[0]} needs a study, which stores instances beside labels, and {source} is not"
            " one; make one with `faultscape collect`, or leave the metric out"
        )
    if part or array:
        option = "--shard" if array else "--set and --holdout"
        raise OptionError(
            f"--metric {words[0]} is of all collected images; leave out {option}, or the metric"
        )


def add(asked: Measurement, data: DataSet, document: SetDocument) -> None:
    """Add the metrics of instances that were asked for to a data set's part of measure.json, and notes."""
    assert asked.study is not None
    options = asked.options
    names = list(data.models)
    found = judge(asked.study, names, data.truth.name, engine=options.engine, workers=options.workers)
    place = {image: k for k, image in enumerate(found.images)}
    units = units_of(data.together or len(data.ids))
    left_out = leave_out(units, ranks_of(data, np.arange(len(data.ids))))
    left_out = left_out if options.resamples else left_out[:1]
    weights = np.zeros((len(left_out), len(found.images)))
    weights[:, [place[image] for image in data.ids]] = left_out
    notes = document.setdefault("notes", [])
    whose = "the truth's instances" if found.told else "connected regions of the truth"
    for name in names:
        model = found.models[name]
        mine = "its instances" if model.told else "connected regions of its maps"
        for metric in asked.instances:
            if not model.has(metric):
                why = "its instances have no scores" if model.told else "it has no instances"
                notes.append(f"{name} has no {TITLES[metric]}: {why}")
                continue
            entry = _entry(model, metric, weights * model.present, data, units.count)
            entry["definition"] += f"; {mine} against {whose}"
            document["models"][name][metric] = entry
    if not found.told:
        notes.append(f"truth {data.truth.name} has no instances: its connected regions stand for them")


def _entry(model: JudgedModel, metric: str, weights: np.ndarray, data: DataSet, count: int) -> MetricEntry:
    values = model.values(metric, weights)
    each = model.per_class(metric, weights[:1])[0]
    low, high = student_of_left_out(values, count)
    names = zip(data.classes.names, each.tolist(), strict=True)
    return {
        "value": number(values[0]),
        "low": number(max(low, 0.0)),
        "high": number(min(high, 1.0)),
        "undefined": int(np.isnan(each[list(data.classes.groups)]).sum()),
        "undefined_of": "classes",
        "better": "high",
        "definition": f"{_DEFINED[metric]}; mean over classes",
        "title": f"{TITLES[metric]} error",
        "says": _SAYS[metric],
        "group": "instances",
        "per_class": {name: number(value) for name, value in names},
    }
