"""Turn the statistics and scores of a data set into its part of measure.json and per-image numbers.

Conventions: images are in corpus order, the same for every model; an image without a map of a model does not
count for that model. Resampling draws single images, or whole groups of images that belong together; all
models share the draws. Each model's statistics are read once, one model at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultscape.corpus.groups import of_few_groups
from faultscape.errors import MetricError
from faultscape.metrics import summary
from faultscape.metrics.catalogue import named
from faultscape.metrics.image_statistics import CURVE
from faultscape.metrics.intervals.units import LEAST, MANY, draw_units, units_of
from faultscape.metrics.metric import Metric
from faultscape.metrics.summary import Summary
from faultscape.reporting.measure import document as measure_document
from faultscape.study.tables import measures
from faultscape.verbs.measure import notes
from faultscape.verbs.measure.measurement import Measurement
from faultscape.verbs.measure.scores.summary import Scored
from faultscape.verbs.measure.sets import DataSet, ranks_of
from faultscape.verbs.measure.shard import own_metrics

Failures = Mapping[str, Sequence[tuple[str, str]]]


@dataclass(frozen=True, eq=False)
class MeasuredSet:
    """A data set's part of measure.json, the metrics of single images {NAME: {metric: (I,)}}, and the results
    from its scores.
    """

    document: measure_document.SetDocument
    images: dict[str, dict[str, np.ndarray]] = field(repr=False)
    scored: Scored | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class _OfMaps:
    """The summaries of one model's map statistics: over its images, over the images that all models share,
    and per image, with curves, confusion matrix and notes.
    """

    whole: dict[str, Summary] = field(default_factory=dict)
    common: dict[str, Summary] = field(default_factory=dict)
    images: dict[str, np.ndarray] = field(default_factory=dict)
    confusion: list[list[int]] | None = None
    curves: dict[str, Any] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)


def gather(
    asked: Measurement, data: DataSet, scored: Scored, failures: Failures, chosen: int = 0
) -> MeasuredSet:
    """Return the results for one data set, with intervals from draws of its images; ``chosen`` of these were
    chosen because models differ on them.
    """
    definitions = asked.definitions
    resamples = asked.options.resamples
    known = named(list(own_metrics(asked.options.metric).values()))
    units = units_of(data.together or len(data.ids))
    wanted = bool(resamples and scored.found)
    few = units.count <= MANY
    ranks = ranks_of(data, np.arange(len(data.ids))) if wanted else None
    draws = draw_units(
        units, resamples if wanted else 0, asked.options.seed, leave_out=wanted and few, ranks=ranks
    )
    anew = units if resamples else None
    presents = _presents(asked, data, scored, failures)
    counts = {name: int(present.sum()) for name, present in presents.items()}
    common = np.logical_and.reduce(list(presents.values()))
    maps = {
        name: _of_maps(asked, data, name, present, common, list(known.values()))
        for name, present in presents.items()
    }
    of_maps = {name: of.whole for name, of in maps.items()}
    of_scores = {name: scored.summaries(name, draws) for name in maps}
    classes = list(data.classes.names) if data.with_classes else ["region"]
    summaries = {name: of_maps[name] | of_scores[name] for name in of_maps}
    document: measure_document.SetDocument = {
        "models": measure_document.models(summaries, definitions, classes, anew, known)
    }
    document["images"] = counts
    document["classes"] = classes if data.with_classes else []
    if common.sum() < max(counts.values()):
        of_maps = {name: of.common for name, of in maps.items()}
    judged = {name: scored.present[name] for name, found in of_scores.items() if found}
    both = np.logical_and.reduce(list(judged.values())) if judged else common
    if any(present.sum() > both.sum() for present in judged.values()):
        # some models have scores for fewer images than maps
        of_scores |= {name: scored.summaries(name, draws.of(both), whole=False) for name in judged}
    shared = {name: of_maps[name] | of_scores[name] for name in of_maps}
    numbers = {m: int(both.sum()) for found in of_scores.values() for m in found}
    numbers |= {m: int(common.sum()) for found in of_maps.values() for m in found}
    document["paired"] = measure_document.paired(shared, numbers, anew, definitions, known)
    document["gaps"] = measure_document.gaps(shared, classes, anew) if data.with_classes else []
    curves = {name: of.curves | scored.curves.get(name, {}) for name, of in maps.items()}
    document["curves"] = {name: found for name, found in curves.items() if found}
    document["confusion"] = {name: of.confusion for name, of in maps.items() if of.confusion is not None}
    if scored.anomalous:
        document["anomalous"] = {
            name: measure_document.number(share) or 0.0 for name, share in scored.anomalous.items()
        }
    of_truth = notes.of_truth(failures)
    document["failures"] = len(of_truth) + sum(
        image not in of_truth for found in failures.values() for image, _ in found
    )
    document["units"] = {"drawn": "groups" if units.grouped else "images", "count": units.count}
    if of_few_groups(dict(zip(data.ids, data.together, strict=False)), LEAST):
        document["units"]["same_groups"] = True
    images = {name: of.images | scored.images.get(name, {}) for name, of in maps.items()}
    drawn = notes.drawn_anew(data, units, images) if anew else []
    if len(data.models) > 1 and (anew is None or units.count < LEAST):
        drawn.append("without intervals, no model is marked as best, shaded or called significantly worse")
    lines = notes.left_out(data, counts, failures) + notes.absent(data) + [*data.notes]
    lines += notes.never_true(data, document["confusion"])
    lines += notes.together([*(note for of in maps.values() for note in of.notes), *scored.notes])
    if chosen:
        document["chosen"] = chosen
        with_intervals = anew is not None and units.count >= LEAST
        first = notes.of_chosen(chosen, len(data.ids), data.truth.name, intervals=with_intervals)
        document["notes"] = [first, *lines, *drawn]
    else:
        document["notes"] = lines + drawn
    return MeasuredSet(document, images, scored)


def _presents(asked: Measurement, data: DataSet, scored: Scored, failures: Failures) -> dict[str, np.ndarray]:
    """Return {NAME: (I,)}, which images count for each model; MetricError if a model has none."""
    presents = {}
    for name, source in data.models.items():
        present = asked.statistics(data, name, ()).present if source.has_maps else scored.present[name]
        if not present.any():
            first = next(iter(failures.get(name, [])), (data.ids[0], "nothing was found"))
            raise MetricError(f"{name}: no image can be measured; the first, {first[0]}: {first[1]}")
        presents[name] = present
    return presents


def _of_maps(
    asked: Measurement,
    data: DataSet,
    name: str,
    present: np.ndarray,
    common: np.ndarray,
    metrics: Sequence[Metric],
) -> _OfMaps:
    """Return the summaries of a model's statistics; empty if it has none."""
    groups = data.classes.groups
    definitions = asked.definitions
    stats = asked.statistics(data, name)
    if not len(stats):
        return _OfMaps()
    whole = summary.summarise(stats, definitions, groups, present, metrics)
    all_alike = bool((present == common).all())
    return _OfMaps(
        whole,
        whole if all_alike else summary.summarise(stats, definitions, groups, common, metrics),
        {
            k: np.where(present, v, np.nan)
            for k, v in summary.of_images(stats, definitions, groups, metrics).items()
        },
        stats.cells.tolist() if stats.cells is not None and data.with_classes else None,
        _confidence(stats, present),
        _void_everywhere(name, stats) if data.models[name].has_maps else [],
    )


def _confidence(stats: measures.Statistics, present: np.ndarray) -> dict[str, Any]:
    """Return the curves of ROM, RUM and IoU against the confidence below which regions are unknown, and the
    area under RUM against ROM (Zhang et al. 2021, Fig. 5).
    """
    if "curve_rom" not in stats:
        return {}
    had = stats["with_confidence"] > 0
    found = {name: values[0] for name, values in summary.curves(stats, np.ones((1, len(had)))).items()}
    numbers = {name: measure_document.numbers(values) for name, values in found.items()}
    area = measure_document.number(summary.rom_rum_area(found["rom"], found["rum"]))
    frames = {"frames": int(had.sum()), "without": int((present & ~had).sum())}
    return {"confidence": {"threshold": CURVE.tolist(), **numbers, "area": area, **frames}}


def _void_everywhere(name: str, stats: measures.Statistics) -> list[tuple[str, str]]:
    """Return a note about images whose truth is void everywhere: they are present but add nothing."""
    if not (empty := int((stats["pixels"][stats.present] == 0).sum())):
        return []
    there = int(stats.present.sum())
    return [(name, f"{empty} of {there} images have a truth that is void everywhere and are not counted")]
