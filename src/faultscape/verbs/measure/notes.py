"""Notes for readers of a data set's numbers: images left out or chosen, and what intervals resample.

Conventions: a note is one line; a note that applies to several models appears once, after their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from faultscape.choices import Preset
from faultscape.corpus.groups import OF_FEW_GROUPS, describe_groups, of_few_groups, suggested_options
from faultscape.errors import counted, shortened
from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.definitions import PRESETS, Definitions
from faultscape.metrics.intervals.neighbours import alike, too_narrow
from faultscape.metrics.intervals.units import LEAST, MANY, Units
from faultscape.reading.evidence import only_predicted
from faultscape.verbs.measure.sets import DataSet
from faultscape.verbs.predict.statistics import NO_MAP

MISSING = frozenset([NO_MAP, "no scores were found"])
# metrics by which they are compared
NEIGHBOURS = {metric.name: metric.neighbours for metric in METRICS if metric.neighbours}


def together(notes: Sequence[tuple[str, str]]) -> list[str]:
    """Return one line per note, after the names of the models it applies to.

    >>> together([("a", "few ties"), ("b", "few ties")])
    ['a, b: few ties']
    """
    of: dict[str, list[str]] = {}
    for name, text in dict.fromkeys(notes):
        of.setdefault(text, []).append(name)
    return [f"{', '.join(names)}: {text}" for text, names in of.items()]


def of_truth(failures: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """Return {image: why} of the failures that all of several models share, because they stem from the truth.

    >>> of_truth(
    ...     {
    ...         "a": [("0", "its truth is damaged"), ("1", "no map was found")],
    ...         "b": [("0", "its truth is damaged")],
    ...     }
    ... )
    {'0': 'its truth is damaged'}
    """
    first, *others = map(dict, failures.values())
    return {
        image: why
        for image, why in first.items()
        if others and why not in MISSING and all(found.get(image) == why for found in others)
    }


def idle_options(
    given: Iterable[str],
    preset: Preset | None,
    sets: Sequence[DataSet],
    definitions: Definitions,
    boundaries: bool,
) -> list[str]:
    """Return a line for each given definition, and for the preset, none of whose metrics is computed from
    these data sets.

    >>> idle_options(["track"], None, [], Definitions(), True)
    ['note: --track has no effect: none of its metrics are computed']
    """
    sources = [source for data in sets for source in data.models.values()]
    present = {kind for source in sources for kind in source.scores if source.scores[kind]}
    if any(source.has_maps for source in sources):
        present |= {definitions.regions}
        present |= {"boundaries"} if boundaries and definitions.regions == "connected" else set()
    fields_of = {f"--{name.replace('_', '-')}": {name} for name in given}
    if preset:
        chosen = PRESETS[preset]
        changed = {name for name in chosen if chosen[name] != getattr(Definitions(), name)}
        fields_of[f"--preset {preset}"] = changed or {*chosen}
    lines = []
    for option, names in fields_of.items():
        metrics = [metric for metric in METRICS if names & {*metric.options}]
        if metrics and not any(metric.needs & present for metric in metrics):
            lines.append(f"note: {option} has no effect: none of its metrics are computed")
    return lines


def left_out(
    data: DataSet, measured: Mapping[str, int], failures: Mapping[str, Sequence[tuple[str, str]]]
) -> list[str]:
    """Return a line for the images that all models lack because of the truth, and one for each model that
    lacks others, with the first of them.
    """
    notes = []
    of_all = of_truth(failures)
    images = len(data.ids)
    if of_all:
        notes.append(
            f"{len(of_all)} of {images} images are left out for all models (see failures.csv); the numbers"
            f" are for the rest; left out: {shortened(sorted(of_all), most=3)}"
        )
    for name, n in measured.items():
        if trained := len(data.models[name].trained):
            notes.append(
                f"{name}: {trained} of {images} images trained it or resemble images that did: they do not"
                " judge it"
            )
        if (count := images - n - len(of_all) - trained) > 0:
            lacking = {image: why for image, why in failures.get(name, ()) if image not in of_all}
            absent = sum(why in MISSING for why in lacking.values())
            what = "map" if data.models[name].has_maps else "scores"
            left = f"{absent} have no {what}" if absent == count else "see failures.csv"
            notes.append(
                f"{name}: {count} of {images} images are left out ({left}); its "
                f"numbers are for the rest; left out: {shortened(sorted(lacking), most=3)}"
            )
    return notes


def absent(data: DataSet) -> list[str]:
    """Return a line if models of a study have no map of a set and are left out."""
    how = f"run `{data.line}`" if data.line else "add the maps to its folder"
    return [f"{', '.join(data.absent)}: no map of set {data.part[0]}; left out; {how}"] if data.absent else []


def never_true(data: DataSet, confusion: Mapping[str, Sequence[Sequence[int]]]) -> list[str]:
    """Return a line if models often predict classes that the truth never has; ``confusion`` is {NAME: counts
    with a row for each true class}.
    """
    cells = {name: np.array(rows, np.float64)[: len(data.classes)] for name, rows in confusion.items()}
    missing = [
        place for place in range(len(data.classes)) if not any(found[place].any() for found in cells.values())
    ]
    shares = {name: found.sum(0) / found.sum() for name, found in cells.items() if found.any()}
    line = only_predicted("the truth", data.classes.names, missing, shares)
    return [line] if line else []


def of_chosen(chosen: int, images: int, truth: str, *, intervals: bool) -> str:
    """Return the note about images that were chosen, or drawn with unequal probabilities, because models
    differ on them.
    """
    who = "all" if chosen == images else f"{chosen:,} of"
    what = "; intervals are descriptive, and no model is marked as best" if intervals else ""
    return (
        f"{who} the {images:,} images of truth {truth} were chosen, or drawn with unequal probabilities, "
        "because models differ there: the numbers describe these images only, not the pool or future "
        f"data{what}; `faultscape rank` corrects for how they were chosen"
    )


def drawn_anew(data: DataSet, units: Units, images: Mapping[str, Mapping[str, np.ndarray]]) -> list[str]:
    """Return notes on what is resampled: groups, too few groups or images, or images that are not
    independent.
    """
    study = data.study.root if data.study else None
    how = (
        f"`faultscape collect {study} {suggested_options(data.ids, LEAST)}`"
        if study
        else "`--group`, or cut runs of consecutive images with `--block`"
    )
    if units.grouped:
        text = f"intervals resample whole groups: {describe_groups(data.together)}"
        if units.count < LEAST:
            cut = (
                f"`faultscape collect {study} --block N` cuts them"
                if study
                else "with --block N they are cut"
            )
            return [f"{text}; intervals need at least {LEAST}: {cut} into runs of N consecutive images"]
        if units.count <= MANY:
            text += f"; Student's t with {units.count - 1} degrees of freedom"
        if of_few_groups(dict(zip(data.ids, data.together, strict=True)), LEAST):
            text += f"; {OF_FEW_GROUPS}"
        return [text]
    if units.count < LEAST:
        return [f"{counted(units.count, 'image')}: intervals need at least {LEAST}"]
    for metric, title in NEIGHBOURS.items():
        found = [value for of in images.values() if metric in of and (value := alike(of[metric])) is not None]
        if 2 * len(found) > sum(metric in of for of in images.values()):
            middle = float(np.median(found))
            narrow = (
                "if they are frames of a sequence, intervals that assume independence are about "
                f"{too_narrow(middle):.1f} times too narrow"
            )
            near = f"consecutive images are similar ({title} of neighbors correlates by {middle:.2f})"
            return [f"{near}: {narrow}; group them with {how}"]
    return []
