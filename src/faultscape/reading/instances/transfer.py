"""How much lower PQ and AP of models are on images chosen for segmentation than on images drawn at random.

Conventions: a model's own images are those of duels that it fought; on all other chosen images it had no part
in the choice. Both sides are means over the classes that occur on both. The draw of a pool of which every
image has a label is the whole pool. Intervals are Student's, from leaving out one image, or one group, at a
time, with the degrees of freedom of the smaller side; a side of fewer than six units has none.
Source: Yan et al. 2021, section 5 (the question); Kirillov et al. 2019 (PQ); Lin et al. 2014 (AP).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import StudyError, counted
from faultscape.metrics.intervals.left_out import leave_out, student_of_left_out
from faultscape.metrics.intervals.units import units_of
from faultscape.metrics.overlaps.regions import mean
from faultscape.reading.instances.judgement import AP, METRICS, PQ, JudgedModel, Judgement, judge
from faultscape.reading.study import Study
from faultscape.selection.definitions import draws_evenly
from faultscape.study.tables.pool import read_pool
from faultscape.ties import tie_ranks

OWN, OTHERS = "own duels", "others"
TITLES: dict[str, str] = {PQ: "instance PQ", AP: "mask AP"}


@dataclass(frozen=True)
class Lower:
    """By how much a metric of a model ('' for the mean of all) is lower on chosen images than on random ones:
    both values, the difference with its interval, and how many images each side has. ``on`` says whether the
    chosen images are of its own duels or others.
    """

    metric: str
    model: str
    on: str
    chosen: float
    random: float
    lower: float
    low: float
    high: float
    chosen_images: int
    random_images: int


def transfer(study: Study, selection: str) -> tuple[tuple[Lower, ...], str]:
    """Return, for each metric of instances that is there, each model, and its own images and the others, how
    much lower it is on a selection's duels than on random images, and the answer in one line; StudyError
    where one side has no labels.
    """
    slots = study.selection(selection).now
    if not slots.duels:
        raise StudyError(
            f"{study.called}: selection {selection!r} has no duels; figure instances compares images that"
            " duels chose with random ones"
        )
    found = judge(study, study.models, study.truth())
    fought: dict[str, set[str]] = {}
    for row in slots.duels:
        fought.setdefault(row.image, set()).update((row.defender, row.attacker))
    labelled = set(found.images)
    chosen = {image: models for image, models in fought.items() if image in labelled}
    if not chosen:
        raise StudyError(
            f"{study.called}: no image of selection {selection!r} has a label; import labels first"
        )
    random, what = _at_random(study, labelled)
    rows = compare(found, chosen, random, study.groups, _ranks(study, found.images))
    return rows, conclusion(rows, what)


def conclusion(rows: Sequence[Lower], what: str) -> str:
    """Return the answer in one line: of all models, on images that they had no part in choosing, against
    ``what`` was drawn.
    """
    said = list[str]()
    images = 0, 0
    for row in rows:
        if row.model or np.isnan(row.lower):
            continue
        within = "" if np.isnan(row.low) else f" [{row.low:.3f}, {row.high:.3f}]"
        way = "lower" if row.lower >= 0 else "higher"
        said.append(f"{TITLES[row.metric]} {abs(row.lower):.3f} {way}{within}")
        images = row.chosen_images, row.random_images
    if not said:
        return "no model has a value on both sides, on images that it had no part in choosing"
    return (
        f"on images that other models' duels chose: {', '.join(said)} than on {what}"
        f" ({counted(images[0], 'image')} and {images[1]:,}; intervals are of how much lower)"
    )


def compare(
    found: Judgement,
    chosen: Mapping[str, Collection[str]],
    random: Collection[str],
    groups: Mapping[str, str],
    ranks: np.ndarray,
) -> tuple[Lower, ...]:
    """Return the rows of `transfer`, of ``chosen`` {image: the models of its duels} and ``random`` images."""
    images = np.array(found.images)
    is_random = np.isin(images, [*random])
    used = is_random | np.isin(images, [*chosen])
    units = units_of([groups.get(image, "") for image in images[used].tolist()])
    left_out = leave_out(units, ranks[used])
    weights = np.zeros((len(left_out), len(images)))
    weights[:, used] = left_out
    unit_of = np.full(len(images), -1)
    unit_of[used] = units.of
    rows = list[Lower]()
    for metric in METRICS:
        of_others = list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]()
        for on in (OWN, OTHERS):
            for name, model in found.models.items():
                if not model.has(metric):
                    continue
                mine = [i for i, models in chosen.items() if (name in models) == (on == OWN)]
                sides = (np.isin(images, mine) & model.present, is_random & model.present)
                if not all(side.any() for side in sides):
                    continue
                values = _values(model, metric, weights, sides)
                rows.append(_row(metric, name, on, values, sides, unit_of))
                if on == OTHERS:
                    of_others.append((*values, *sides))
        if of_others:
            one, other, first, second = (np.stack(each) for each in zip(*of_others, strict=True))
            values = mean(one, 0), mean(other, 0)
            sides = np.asarray(first.any(0)), np.asarray(second.any(0))
            rows.append(_row(metric, "", OTHERS, values, sides, unit_of))
    return tuple(rows)


def _values(
    model: JudgedModel, metric: str, weights: np.ndarray, sides: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a metric (R,) of both sides, over the classes that occur on both."""
    one, other = (model.per_class(metric, weights * side) for side in sides)
    both = ~np.isnan(one) & ~np.isnan(other)
    return mean(np.where(both, one, np.nan), 1), mean(np.where(both, other, np.nan), 1)


def _row(
    metric: str,
    name: str,
    on: str,
    values: tuple[np.ndarray, np.ndarray],
    sides: tuple[np.ndarray, np.ndarray],
    unit_of: np.ndarray,
) -> Lower:
    chosen, random = values
    count = min(len(np.unique(unit_of[side])) for side in sides)
    low, high = student_of_left_out(random - chosen, count)
    first, second = (float(side[0]) for side in values)
    numbers = (int(side.sum()) for side in sides)
    return Lower(metric, name, on, first, second, second - first, low, high, *numbers)


def _at_random(study: Study, labelled: Collection[str]) -> tuple[set[str], str]:
    """Return the labelled images that were drawn at random, and what they are called; StudyError if there are
    none.
    """
    drawn = set[str]()
    for made in study.selections.values():
        slots = made.now
        if draws_evenly(slots.definition) and not slots.points:
            drawn |= set(slots.images) & set(labelled)
    if drawn:
        return drawn, "images drawn at random"
    pool = set(read_pool(study.corpus).ids.to_pylist()) - set(study.discarded)
    if pool <= set(labelled):
        return pool, "the whole pool"
    raise StudyError(
        f"{study.called}: no image that was drawn at random has a label; draw some with `faultscape select"
        f" {study.place} --selector random --budget 50`, and label them"
    )


def _ranks(study: Study, images: Sequence[str]) -> np.ndarray:
    """Return the ranks (I,) in which units get random numbers: by what the images show, not by names."""
    rows = study.corpus.by_id(set(images))
    return tie_ranks([rows[image].key for image in images], 0, list(images))
