"""Measure the models of a study from boxes around objects: bounds on each class's precision, recall and IoU,
and on the difference of every two models.

Conventions: only images for which every model has a map count. Boxes of images at another size than the
working size bound from outside only. Errors of bounds come from leaving out units (groups, or images) one by
one, in at most ``BLOCKS`` blocks; fewer than six units give no intervals.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from faultscape import __version__
from faultscape.errors import MetricError, OptionError, StudyError, counted
from faultscape.maps.boxes import Box, scaled
from faultscape.metrics.boxes.bounds import BOX_METRICS, box_bounds, certain_errors, difference_bounds
from faultscape.metrics.boxes.counts import BoxCounts, box_counts, stacked
from faultscape.metrics.boxes.intervals import interval_of_bounds, left_out_errors
from faultscape.metrics.intervals.units import LEAST, units_of
from faultscape.progress import progress
from faultscape.reading.boxes.evidence import boxes_of, truth_of_boxes
from faultscape.reading.maps import maps_of_all
from faultscape.reading.study import Study
from faultscape.reporting.measure.box_document import BoxDocument, CertainRow, ClassBoundRow
from faultscape.reporting.measure.document import number
from faultscape.study.folder import make_folder, put
from faultscape.study.tables.logs import log
from faultscape.terminal_lines import flag_of
from faultscape.verbs.measure.artefact import BOX_MEASURES
from faultscape.verbs.measure.lists import refuse_classifiers, study_of
from faultscape.verbs.measure.signature import MeasuredBoxes

if TYPE_CHECKING:
    from faultscape.verbs.options import MeasureOptions

BLOCKS = 200
_APPLY = {"boxes", "truth", "source", "output"}
Boxed = Mapping[str, Mapping[str, Sequence[Box]]]  # {image: {class: its boxes}}


@dataclass(frozen=True, eq=False)
class _Found:
    """Counts (B, C) of blocks of units and boxed classes, with the number of images and of units."""

    classes: list[str]
    counts: BoxCounts
    images: int
    units: int
    grouped: bool
    left_out: int


def measure_boxes(options: MeasureOptions) -> MeasuredBoxes:
    """Measure the models of a study from boxes, and write boxes.json."""
    if (study := study_of(options.source)) is None:
        raise OptionError(f"--boxes measures a study; {options.source or 'nothing'} is not one")
    refuse_classifiers(study)
    idle = [name for name in options.given() if name not in _APPLY]
    if idle or options.models:
        what = flag_of(idle[0]) if idle else "a model on the line"
        raise OptionError(f"{what} does not apply to boxes; leave it out")
    with study.writing():
        truth = truth_of_boxes(study, options.truth)
        found = _count(study, boxes_of(study, truth))
        out = Path(options.output) if options.output else BOX_MEASURES.path(study, truth).parent
        if out.exists() and not out.is_dir():
            raise OptionError(f"--output {out}: is a file; name a folder")
        made = _document(study, found)
        arguments = options.given(but=("boxes", "truth"))
        inputs = BOX_MEASURES.inputs(study, truth, {"truth": truth, "arguments": arguments})
        document: BoxDocument = {
            **made,
            "provenance": {
                "faultscape": __version__,
                "truth": truth,
                "inputs": {**inputs},
                "arguments": arguments,
            },
        }
        make_folder(out)
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        put(out / "boxes.json", text.encode("utf-8", "surrogateescape"))
        log(study.root, "measure", source=options.source, boxes=truth, output=str(out))
    return MeasuredBoxes(str(out), cast("Any", document))


def _count(study: Study, boxed: Boxed) -> _Found:
    """Count the images with boxes that every model has a map of; StudyError for none."""
    names = [name for name in study.classes.names if any(name in of for of in boxed.values())]
    if not study.models:
        raise StudyError("there are no models to measure; run `faultscape predict` first")
    rows = [study.image_rows[image] for image in boxed]
    units = units_of([study.groups.get(image.id, "") for image in rows])
    of_block = dict(zip(boxed, (units.of % BLOCKS).tolist(), strict=True))
    held: list[list[BoxCounts | None]] = [[None] * len(names) for _ in range(min(units.count, BLOCKS))]
    used = 0
    empty = np.zeros((len(study.models), 0, 0), np.uint16)
    with progress("boxes", len(rows)) as tick:
        for image, maps, _ in maps_of_all(study, boxed):
            tick(1)
            if maps is None:
                continue
            used += 1
            row = study.image_rows[image]
            for k, name in enumerate(names):
                if name in boxed[image]:
                    size = (maps.shape[2], maps.shape[1])
                    boxes = scaled(boxed[image][name], (row.width, row.height), size)
                    one = box_counts(maps, boxes, study.classes.names.index(name))
                    before = held[of_block[image]][k]
                    held[of_block[image]][k] = one if before is None else stacked([before, one]).summed()
    if not used:
        raise StudyError("no image with boxes has a map of every model; run `faultscape predict` first")
    none = box_counts(empty, [], 0)
    counts = stacked(stacked(one or none for one in block) for block in held)
    return _Found(names, counts, used, units.count, units.grouped, len(rows) - used)


def _document(study: Study, found: _Found) -> BoxDocument:
    counts = found.counts.summed()
    left_out = found.counts.without(np.arange(len(found.counts.boxes)))
    there = counts.covered > 0  # the classes with a box, over which means are
    enough = found.units >= LEAST
    bounds, pairs = list[ClassBoundRow](), list[ClassBoundRow]()
    for metric in BOX_METRICS:
        values = box_bounds(counts, metric)  # (C, J, 2)
        gaps = difference_bounds(counts, metric)  # (C, J, J, 2)
        value_errors = left_out_errors(box_bounds(left_out, metric))
        gap_errors = left_out_errors(difference_bounds(left_out, metric))
        for k, name in enumerate(found.classes):
            bounds += _rows(study.models, name, metric, values[k], value_errors[k] if enough else None)
            pairs += _pair_rows(study.models, name, metric, gaps[k], gap_errors[k] if enough else None)
        if metric == "iou" and there.any():
            means = box_bounds(left_out, metric)[:, there].mean(1)
            gap_means = difference_bounds(left_out, metric)[:, there].mean(1)
            errors = (left_out_errors(means), left_out_errors(gap_means)) if enough else (None, None)
            bounds += _rows(study.models, None, metric, values[there].mean(0), errors[0])
            pairs += _pair_rows(study.models, None, metric, gaps[there].mean(0), errors[1])
    if not there.any():
        raise MetricError("no image that counts has a box; nothing can be measured from boxes")
    return {
        "models": list(study.models),
        "images": found.images,
        "units": {"drawn": "groups" if found.grouped else "images", "count": found.units},
        "boxes": dict(zip(found.classes, counts.boxes.tolist(), strict=True)),
        "bounds": bounds,
        "certain": _certain_rows(study.models, found.classes, counts),
        "pairs": pairs,
        "notes": _notes(study, found),
        "provenance": {},
    }


def _rows(
    models: Sequence[str], class_: str | None, metric: str, ends: np.ndarray, errors: np.ndarray | None
) -> list[ClassBoundRow]:
    """Return a row for each model, from its bounds (J, 2)."""
    intervals = _intervals(ends, errors, (0.0, 1.0))
    return [_row(model, None, class_, metric, ends[j], intervals[j]) for j, model in enumerate(models)]


def _pair_rows(
    models: Sequence[str], class_: str | None, metric: str, ends: np.ndarray, errors: np.ndarray | None
) -> list[ClassBoundRow]:
    """Return a row for each pair of models, from bounds (J, J, 2) of their difference."""
    intervals = _intervals(ends, errors, (-1.0, 1.0))
    return [
        _row(models[a], models[b], class_, metric, ends[a, b], intervals[a, b])
        for a, b in combinations(range(len(models)), 2)
    ]


def _intervals(ends: np.ndarray, errors: np.ndarray | None, limits: tuple[float, float]) -> np.ndarray:
    if errors is None:
        return np.full(ends.shape, np.nan)
    return np.clip(interval_of_bounds(ends, errors), *limits)


def _row(
    model: str, second: str | None, class_: str | None, metric: str, ends: np.ndarray, interval: np.ndarray
) -> ClassBoundRow:
    return {
        "model": model,
        "second": second,
        "class_": class_,
        "metric": metric,
        "low": number(ends[0]),
        "high": number(ends[1]),
        "interval_low": number(interval[0]),
        "interval_high": number(interval[1]),
    }


def _certain_rows(models: Sequence[str], classes: Sequence[str], counts: BoxCounts) -> list[CertainRow]:
    outside, missed = certain_errors(counts)
    return [
        {
            "model": model,
            "class_": name,
            "outside": number(outside[k, j]),
            "missed": number(missed[k, j]),
        }
        for k, name in enumerate(classes)
        for j, model in enumerate(models)
    ]


def _notes(study: Study, found: _Found) -> list[str]:
    bound = "a few pixels in each box fit as well as all: boxes bound from above, and hardly settle a pair"
    out = [f"{bound}; points or masks do"]
    size = study.settings.working_size
    if size and any((row.width, row.height) != size for row in study.image_rows.values()):
        out.append("maps are compared at the working size, where sides of boxes may lie between pixels")
    if found.left_out:
        out.append(f"{counted(found.left_out, 'image')} with boxes left out: a model has no map of them")
    if found.units < LEAST:
        out.append(f"fewer than {LEAST} images or groups have boxes: no intervals")
    return out
