"""From the statistics of a data set to its part of measure.json and its rows of per_image.parquet.

Conventions: images stand in corpus order, the same for every model; an image that a model has no map of counts for nothing there. What is drawn anew is an image, or
a whole group of images that belong together; all models share the draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.corpus.groups import describe_groups
from faultscape.errors import MetricError
from faultscape.errors import counted as counted_words
from faultscape.metrics import summary
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.image_statistics import CURVE
from faultscape.metrics.intervals.neighbours import alike, too_narrow
from faultscape.metrics.intervals.units import LEAST, MANY, Units, draw_units, units_of
from faultscape.metrics.summary import Summary
from faultscape.stages.measure import document as measure_document
from faultscape.stages.measure.image_order import ranks_of
from faultscape.stages.measure.sets import DataSet, has_maps
from faultscape.study.tables import measures

_IN_ORDER = {
    "miou": "the mIoU",
    "rom": "the ROM",
    "average_precision": "the AP",
    "calibration_auroc": "the AUROC",
}  # what neighbours are compared by
MISSING = frozenset(["no map was found", "no scores were found"])


@dataclass(frozen=True, eq=False)
class MeasuredSet:
    """A data set's part of measure.json, and {NAME: {metric: (I,)}} of its images by themselves."""

    document: dict[str, Any]
    images: dict[str, dict[str, np.ndarray]] = field(repr=False)


def gather(
    out: Path,
    data: DataSet,
    definitions: Definitions,
    scored: Any,
    failures: Mapping[str, Sequence[tuple[str, str]]],
    *,
    resamples: int,
    seed: int,
    chosen: int = 0,
) -> MeasuredSet:
    """Return what was found of one data set, with intervals from ``resamples`` draws of its images; ``chosen`` of these were chosen because models differ."""
    units = units_of(data.together or len(data.ids))
    wanted, few = bool(resamples and scored.found), units.count <= MANY
    ranks = ranks_of(data, np.arange(len(data.ids))) if wanted else None
    draws = draw_units(units, resamples if wanted else 0, seed, leave_out=wanted and few, ranks=ranks)
    anew = units if resamples else None
    groups = data.classes.groups
    of_maps: dict[str, dict[str, Summary]] = {}
    of_scores: dict[str, dict[str, Summary]] = {}
    images: dict[str, dict[str, np.ndarray]] = {}
    counted: dict[str, int] = {}
    confusion, curves, presents = {}, {}, {}
    for name, source in data.models.items():
        stats = measures.Statistics(measures.folder(out, data.name, name), data.ids)
        present = stats.present if has_maps(source) else scored.present[name]
        if not present.any():
            first = next(iter(failures.get(name, [])), (data.ids[0], "nothing was found"))
            raise MetricError(f"{name}: no image can be measured; the first, {first[0]}: {first[1]}")
        counted[name], presents[name] = int(present.sum()), present
        of_maps[name] = summary.summarise(stats, definitions, groups, present) if len(stats) else {}
        images[name] = (
            {k: np.where(present, v, np.nan) for k, v in summary.of_images(stats, definitions, groups).items()}
            if len(stats)
            else {}
        )
        if stats.cells is not None and data.with_classes:
            confusion[name] = stats.cells.tolist()
        curves[name] = _confidence(stats, present) | scored.curves.get(name, {})
        of_scores[name] = scored.summaries(name, draws)
        images[name] |= scored.images.get(name, {})
    classes = list(data.classes.names) if data.with_classes else ["region"]
    summaries = {name: of_maps[name] | of_scores[name] for name in of_maps}
    document: dict[str, Any] = {"models": measure_document.models(summaries, definitions, classes, anew, scored.texts)}
    document["images"] = counted
    document["classes"] = classes if data.with_classes else []
    common = np.logical_and.reduce(list(presents.values()))
    if common.sum() < max(counted.values()):
        of_maps = _shared(out, data, definitions, common)
    judged = {name: scored.present[name] for name, found in of_scores.items() if found}
    both = np.logical_and.reduce(list(judged.values())) if judged else common
    if any(present.sum() > both.sum() for present in judged.values()):  # some have scores of fewer images than maps
        of_scores |= {name: scored.summaries(name, draws.of(both), whole=False) for name in judged}
    shared = {name: of_maps[name] | of_scores[name] for name in of_maps}
    numbers = {m: int(both.sum()) for found in of_scores.values() for m in found}
    numbers |= {m: int(common.sum()) for found in of_maps.values() for m in found}
    document["paired"] = measure_document.paired(shared, numbers, anew, definitions)
    document["gaps"] = measure_document.gaps(shared, classes, anew) if data.with_classes else []
    document["curves"] = {name: found for name, found in curves.items() if found}
    document["confusion"] = confusion
    document["failures"] = sum(len(found) for found in failures.values())
    document["units"] = {"drawn": "groups" if units.grouped else "images", "count": units.count}
    drawn = _drawn_anew(data, units, images) if anew else []
    if len(data.models) > 1 and (anew is None or units.count < LEAST):
        drawn.append("without intervals nothing is marked as the best, shaded or called beaten")
    if chosen:
        document["chosen"] = chosen
        drawn = [_chosen(chosen, len(data.ids), data.truth["name"], intervals=anew is not None and units.count >= LEAST), *drawn]
    told = _notes(data, counted, failures) + _together([*_unknown(out, data), *scored.notes])
    document["notes"] = drawn[:1] + told + drawn[1:] if chosen else told + drawn
    return MeasuredSet(document, images)


def _shared(out: Path, data: DataSet, definitions: Definitions, used: np.ndarray) -> dict[str, dict[str, Summary]]:
    """Return the summaries of maps over the images that every model has: only these can be compared in pairs."""
    shared: dict[str, dict[str, Summary]] = {}
    for name in data.models:
        stats = measures.Statistics(measures.folder(out, data.name, name), data.ids)
        shared[name] = summary.summarise(stats, definitions, data.classes.groups, used) if len(stats) else {}
    return shared


def write_per_image(path: Path, sets: Sequence[DataSet], found: Mapping[str, MeasuredSet], definitions: Definitions) -> None:
    """Put per_image.parquet: a row a data set, model and image, each metric of that image by itself, and the counts by class behind them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from faultscape.metrics.overlaps.region_counts import WHOLE
    from faultscape.study.folder import put

    del definitions
    metrics = sorted({m for one in found.values() for of in one.images.values() for m in of})
    sink, writer = pa.BufferOutputStream(), None
    for data in sets:
        for name, values in found[data.name].images.items():
            stats = measures.Statistics(measures.folder(path.parent, data.name, name), data.ids)
            n = len(data.ids)
            columns: dict[str, Any] = {
                "data_set": pa.array([data.name] * n),
                "model": pa.array([name] * n),
                "image": pa.array(list(data.ids)),
            }
            columns |= {m: pa.array(values.get(m, np.full(n, np.nan)), pa.float64(), from_pandas=True) for m in metrics}
            columns |= {count: _lists(stats, count, n) for count in ("both", "truth_pixels", "predicted_pixels", *WHOLE)}
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(sink, table.schema, compression="zstd")
            writer.write_table(table)  # a model at a time
    if writer is not None:
        writer.close()
    put(path, sink.getvalue().to_pybytes())


def _lists(stats: measures.Statistics, name: str, n: int) -> Any:
    """Return a column of lists of counts by class, null where a model has none."""
    import pyarrow as pa

    if name not in stats:
        return pa.array([None] * n, pa.list_(pa.int64()))
    values = stats[name].reshape(n, -1)
    return pa.ListArray.from_arrays(np.arange(n + 1, dtype=np.int32) * values.shape[1], pa.array(values.ravel()))


def _confidence(stats: measures.Statistics, present: np.ndarray) -> dict[str, Any]:
    """Return the curves of ROM, RUM and IoU against the confidence below which regions are unknown, and the area under RUM against ROM (S1 Fig. 5)."""
    if "curve_rom" not in stats:
        return {}
    had = stats["with_confidence"] > 0
    found = {name: values[0] for name, values in summary.curves(stats, np.ones((1, len(had)))).items()}
    numbers = {name: measure_document.numbers(values) for name, values in found.items()}
    area = measure_document.number(rom_rum_area(found["rom"], found["rum"]))
    frames = {"frames": int(had.sum()), "without": int((present & ~had).sum())}
    return {"confidence": {"threshold": CURVE.tolist(), **numbers, "area": area, **frames}}


def rom_rum_area(rom: np.ndarray, rum: np.ndarray) -> float:
    """Return the area under RUM against ROM as the threshold moves, by trapezia, points sorted by ROM; less is better.

    >>> round(rom_rum_area(np.array([0.4, 0.2, 0.0]), np.array([0.5, 0.3, 0.0])), 3)
    0.11
    """
    known = ~(np.isnan(rom) | np.isnan(rum))
    order = np.lexsort((rum[known], rom[known]))
    x, y = rom[known][order], rum[known][order]
    return float(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum()) if len(x) > 1 else float("nan")


def _together(notes: Sequence[tuple[str, str]]) -> list[str]:
    """Return one line for what is true of several models.

    >>> _together([("a", "few ties"), ("b", "few ties")])
    ['a, b: few ties']
    """
    of: dict[str, list[str]] = {}
    for name, text in dict.fromkeys(notes):
        of.setdefault(text, []).append(name)
    return [f"{', '.join(names)}: {text}" for text, names in of.items()]


def _notes(data: DataSet, counted: Mapping[str, int], failures: Mapping[str, Sequence[tuple[str, str]]]) -> list[str]:
    notes = []
    for name, n in counted.items():
        if n < len(data.ids):
            absent = sum(why in MISSING for _, why in failures.get(name, ()))
            what = "map" if has_maps(data.models[name]) else "scores"
            left = f"{absent} have no {what}" if absent == len(data.ids) - n else "see failures.csv"
            notes.append(
                f"{name}: {len(data.ids) - n} of {len(data.ids)} images are left out ({left}); its numbers are of the others"
            )
    return notes


def _chosen(chosen: int, images: int, truth: str, *, intervals: bool) -> str:
    """Return what to say of images that were chosen, or drawn with unequal chances, because models differ on them."""
    who = "all" if chosen == images else f"{chosen:,} of"
    what = "; intervals are descriptive, and nobody is marked as the best" if intervals else ""
    return (
        f"{who} the {images:,} images of truth {truth} were chosen, or drawn with unequal probabilities, because models differ there: "
        f"numbers are of these images alone, neither of the pool nor of data to come{what}; `faultscape rank` knows how they were chosen"
    )


def _drawn_anew(data: DataSet, units: Units, images: Mapping[str, Mapping[str, np.ndarray]]) -> list[str]:
    """Return what to say of what is drawn anew: groups, too few of either, or images that are not independent."""
    study = data.truth.get("study")
    how = (
        f"`faultscape collect {study}` with --group or --block"
        if study
        else "--group, or cut runs of consecutive images with --block"
    )
    if units.grouped:
        said = f"intervals draw whole groups anew: {describe_groups(data.together)}"
        if units.count < LEAST:
            cut = f"`faultscape collect {study} --block N` cuts them" if study else "with --block N they are cut"
            return [f"{said}; fewer than {LEAST} carry no interval: {cut} into runs of N consecutive images"]
        return [f"{said}; Student's t with {units.count - 1} degrees of freedom"] if units.count <= MANY else [said]
    if units.count < LEAST:
        return [f"{counted_words(units.count, 'image')}: fewer than {LEAST} carry no interval"]
    for metric, title in _IN_ORDER.items():
        found = [value for of in images.values() if metric in of and (value := alike(of[metric])) is not None]
        if 2 * len(found) > sum(metric in of for of in images.values()):
            middle = float(np.median(found))
            narrow = f"if they are frames of a sequence, intervals that take them as independent are some {too_narrow(middle):.1f} times too narrow"
            near = f"consecutive images are alike ({title} of neighbours correlates by {middle:.2f})"
            return [f"{near}: {narrow}; say which belong together with {how}"]
    return []


def _unknown(out: Path, data: DataSet) -> list[tuple[str, str]]:
    """Return what to say of images whose truth is void everywhere: they are there, and add nothing."""
    notes = []
    for name, source in data.models.items():
        if not has_maps(source):
            continue
        stats = measures.Statistics(measures.folder(out, data.name, name), data.ids)
        if empty := int((stats["pixels"][stats.present] == 0).sum()):
            notes.append(
                (
                    name,
                    f"{empty} of {int(stats.present.sum())} images have a truth that is void everywhere, and count for nothing",
                )
            )
    return notes
