"""Measure the models of a study from a selection of points: what its answers, and masks where there are some,
say about all images that could be drawn.

Conventions: the document has the form of that of masks, so that tables and pages are the same. Intervals
speak of this pool. The IoU of a class that fewer than ``FEW`` points decide has no interval, and without any
such point no value; mIoU counts it by what the models' agreement with each other leads to expect.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape import __version__
from faultscape.choices import Over
from faultscape.errors import OptionError, counted
from faultscape.metrics.catalogue import named
from faultscape.metrics.definitions import Definitions
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.measures import (
    FEW,
    PointMeasure,
    deciding_points,
    point_confusion,
    point_measure,
)
from faultscape.ranking.points.open_ranges import border_range, open_range
from faultscape.ranking.points.scores import POINT_METRICS
from faultscape.ranking.points.totals import PointTotals
from faultscape.reading.points.evidence import (
    PointEvidence,
    answers_of_draws,
    read_point_evidence,
    totals_from,
)
from faultscape.reading.study import Study
from faultscape.reporting.measure import page as measure_page
from faultscape.reporting.measure.document import (
    Document,
    MetricEntry,
    PairedRow,
    PointsPart,
    SetDocument,
    number,
)
from faultscape.study.folder import make_folder, put
from faultscape.study.tables import selections
from faultscape.study.tables.logs import log
from faultscape.terminal_lines import flag_of
from faultscape.verbs.measure.artefact import POINT_MEASURES
from faultscape.verbs.measure.lists import refuse_classifiers, study_of
from faultscape.verbs.measure.signature import Measured
from faultscape.verbs.rank.points import point_notes, refuse_few

if TYPE_CHECKING:
    from faultscape.verbs.options import MeasureOptions

_APPLY = {"selection", "truth", "over"}  # the options that change a measurement of points
SHOWN = 10  # points that show a class, below which its confusions are not given
_ELSEWHERE = {"source", "output"}  # what is measured, and where it goes


def measure_points(options: MeasureOptions) -> Measured:
    """Measure the models of a study from a selection of points, and write measure.json and report.html."""
    if (study := study_of(options.source)) is None:
        raise OptionError(
            f"--selection names one of a study, but {options.source or 'nothing'} is not a study"
        )
    refuse_classifiers(study)
    over = options.definitions.over or "union"
    with study.writing():
        name = _checked(study, options)
        truth = study.truth(options.truth)
        out = Path(options.output) if options.output else POINT_MEASURES.path(study, name).parent
        if out.exists() and not out.is_dir():
            raise OptionError(f"--output {out}: is a file; name a folder")
        found = read_point_evidence(study, name, truth, engine=options.engine)
        made = read_measures(study, found, name, truth, over)
        arguments = options.given(but=("selection", "truth"))
        inputs = POINT_MEASURES.inputs(study, name, {"truth": truth, "arguments": arguments})
        document: Document = {
            **made,
            "provenance": {
                "faultscape": __version__,
                "selection": name,
                "truth": truth,
                "over": over,
                "inputs": {**inputs},
                "arguments": arguments,
            },
        }
        make_folder(out)
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        put(out / "measure.json", text.encode("utf-8", "surrogateescape"))
        page = measure_page.page(document, measure_page.Facts(title=study.root.resolve().name))
        put(out / "report.html", page.encode("utf-8", "xmlcharrefreplace"))
        log(study.root, "measure", source=options.source, selection=name, output=str(out))
    return Measured(str(out), document)


def _checked(study: Study, options: MeasureOptions) -> str:
    """Return the name of the selection; OptionError if it chooses images, or for options that count pixels of
    masks.
    """
    name = selections.the_name(study.root, str(options.part.selection))
    if not study.selection(name).slots.points:
        raise OptionError(
            f"selection {name!r} chooses images, and measure counts every image with a mask: leave"
            f" --selection out, or draw points with `faultscape select {study.place} --points 300`"
        )
    if options.models:
        raise OptionError(
            f"{options.source} is a study: it holds its models; measure --selection {name} without others"
        )
    idle = [option for option in options.given(but=_APPLY) if option not in _ELSEWHERE]
    idle += ["shard"] if options.shard else []
    if idle:
        raise OptionError(
            f"{flag_of(idle[0])} is about maps and scores of images, and selection {name!r} asks about"
            " points; leave it out"
        )
    return name


def read_measures(
    study: Study, found: PointEvidence, name: str, truth: str, over: Over = "union"
) -> SetDocument:
    """Return every metric of all models from what is known of a selection of points; RankingError without
    enough answers.
    """
    refuse_few(found, name, truth)
    classes = study.classes
    pool = found.pool
    answers = answers_of_draws(found)
    totals = totals_from(pool, answers, classes)
    measures = {metric: point_measure(totals, metric, over=over) for metric in POINT_METRICS}
    by_class = [point_measure(totals, f"iou {c}", over=over) for c in range(len(classes))]
    deciding = deciding_points(pool, answers)
    exact = not pool.size
    entries = _entries(found, classes.names, measures, by_class, deciding, over, exact=exact)
    part = _part(study, name, found, answers, deciding)
    scores = measures["miou"].found
    drawn = study.selection(name).slots.definition
    part["cannot_tell_leaves_open"] = _by_model(found.models, open_range(totals, scores))
    part["borders_leave_open"] = _by_model(found.models, border_range(totals, answers, scores))
    return {
        "models": entries,
        "images": dict.fromkeys(found.models, len(found.images)),
        "classes": list(classes.names),
        "paired": _paired(found, measures),
        "confusion": _confusions(found, totals, answers, exact=exact),
        "units": {"drawn": "points", "count": totals.draws},
        "points": part,
        "notes": point_notes(found, totals, scores, measures["miou"].spread, drawn),
    }


def _entries(
    found: PointEvidence,
    classes: Sequence[str],
    measures: Mapping[str, PointMeasure],
    by_class: Sequence[PointMeasure],
    deciding: np.ndarray,
    over: Over,
    *,
    exact: bool,
) -> dict[str, dict[str, MetricEntry]]:
    known = named()
    source = f"pooled over the pixels of {counted(len(found.images), 'image')}, estimated from points"
    values = np.array([one.values for one in by_class])  # (C, J)
    ends = np.array([one.intervals for one in by_class])  # (C, J, 2)
    if not exact:
        values = np.where(deciding.T > 0, values, np.nan)
        ends = np.where((deciding.T >= FEW)[..., None], ends, np.nan)
    out: dict[str, dict[str, MetricEntry]] = {}
    for j, model in enumerate(found.models):
        out[model] = {}
        undefined = int(np.isnan(values[:, j]).sum())
        for metric, one in measures.items():
            about = known[metric]
            entry: MetricEntry = {
                "value": number(one.values[j]),
                "low": number(one.intervals[j, 0]),
                "high": number(one.intervals[j, 1]),
                "undefined": undefined if metric in _MEANS else 0,
                "undefined_of": "classes" if metric in _MEANS else "the value itself",
                "better": about.better,
                "definition": f"{about.text(Definitions(over=over))}; {source}",
            }
            if metric == "miou":
                entry["per_class"] = _by_class(classes, values[:, j])
                entry["per_class_low"] = _by_class(classes, ends[:, j, 0])
                entry["per_class_high"] = _by_class(classes, ends[:, j, 1])
            out[model][metric] = entry
    return out


_MEANS = ("miou", "mpa", "dice")  # over classes


def _by_class(classes: Sequence[str], values: np.ndarray) -> dict[str, float | None]:
    return {name: number(value) for name, value in zip(classes, values, strict=True)}


def _by_model(models: Sequence[str], ends: np.ndarray) -> dict[str, list[float]]:
    return {model: [float(f"{end:.12g}") for end in row] for model, row in zip(models, ends, strict=True)}


def _paired(found: PointEvidence, measures: Mapping[str, PointMeasure]) -> list[PairedRow]:
    """Return the difference of every two models in every metric."""
    out: list[PairedRow] = []
    for first, second in combinations(range(len(found.models)), 2):
        for metric, one in measures.items():
            gap = one.values[first] - one.values[second]
            low, high = one.differences[first, second]
            row: PairedRow = {
                "metric": metric,
                "first": found.models[first],
                "second": found.models[second],
                "difference": number(gap),
                "low": number(low),
                "high": number(high),
                "images": len(found.images),
            }
            out.append(row)
    return out


def _confusions(
    found: PointEvidence, totals: PointTotals, answers: PointAnswers, *, exact: bool
) -> dict[str, list[list[int]]]:
    """Return pixels by true class and prediction, the last being void; 0 for true classes that too few points
    show.
    """
    counts = np.rint(point_confusion(totals)).astype(np.int64).transpose(0, 2, 1)
    if not exact:
        few = (answers.shares[answers.known] > 0).sum(0) < SHOWN
        counts[:, few] = 0
    return {model: cells[:-1].tolist() for model, cells in zip(found.models, counts, strict=True)}


def _part(
    study: Study, name: str, found: PointEvidence, answers: PointAnswers, deciding: np.ndarray
) -> PointsPart:
    """Return what was asked and answered."""
    made = study.selection(name)
    points = made.now.points
    names = study.classes.names
    inside = [image for image, yes in zip(found.drawn_in, found.answered.tolist(), strict=True) if yes]
    shares = answers.shares[answers.known]
    shown = shares.sum(0)
    masked = int(found.pool.known_size)
    return {
        "selection": name,
        "goal": made.slots.definition.get("goal", "order"),
        "border": made.slots.definition.get("border", 0),
        "drawn": len(points),
        "answered": int(found.answered.sum()) + found.untold,
        "masked": found.masked,
        "waiting": found.waiting,
        "void": int((shares[:, -1] == 1).sum()),
        "cannot_tell": found.untold,
        "on_border": int(((shares > 0).sum(1) > 1).sum()),
        "images": len(found.images),
        "pixels": masked + int(found.pool.size),
        "masked_pixels": masked,
        "by_class": {of: float(n) for of, n in zip(names, shown[:-1].tolist(), strict=True)},
        "by_image": dict(sorted(Counter(inside).items(), key=lambda row: (-row[1], row[0]))),
        "deciding": {
            model: dict(zip(names, row.tolist(), strict=True))
            for model, row in zip(found.models, deciding, strict=True)
        },
        "cannot_tell_leaves_open": {},
        "borders_leave_open": {},
    }
