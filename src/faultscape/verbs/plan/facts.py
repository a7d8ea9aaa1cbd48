"""Gather the facts for a plan: how far models agree, what each selector would draw, what the labels so far
measured, and what duels would choose.

Conventions: in a large pool only every s-th image is used, some 80,000 with ten models, and only the first of
near-duplicates. No selection is written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from faultscape.classes.class_lists import resolve
from faultscape.comparison.distance_definitions import distances_of
from faultscape.errors import SelectionError, counted
from faultscape.metrics.intervals.units import LEAST
from faultscape.nouns import Definition, Draw, Slots
from faultscape.ranking import catalogue
from faultscape.ranking.drawn.estimates import Estimates, lure
from faultscape.ranking.drawn.steps import steps
from faultscape.reading import evidence, label_counts
from faultscape.reading import pool as drawing_pool
from faultscape.reading.answers import read_predictions
from faultscape.reading.study import Study
from faultscape.selection import classifier_duels, draws, duel
from faultscape.selection.catalogue import GOALS
from faultscape.selection.definitions import learns, weights_as_defined
from faultscape.selection.selector_weights import fitted_sharpness
from faultscape.selection.weights import CHANCE
from faultscape.study.tables import selections
from faultscape.study.tables.pool import read_groups, read_pool
from faultscape.ties import RULE
from faultscape.verbs.plan.advice import NEXT, Drawn
from faultscape.verbs.plan.artefact import holds_duels
from faultscape.verbs.plan.result import DuelRow, Recommended
from faultscape.verbs.select.draws import definition, next_draws
from faultscape.verbs.select.duels import search

LOOKED_AT = 8_000_000  # agreement values in total, J x J per image
NOT_BY_CHANCE = (
    "the images were not drawn at random; on images chosen because models differ, models differ more "
    "than elsewhere"
)
CHANGED = "the study has other models or images now"
TOO_FEW = "fewer than two images have a label that scores every model"
DEEPEST = {"top": 30, "per_class": 3}  # images per cell to consider, unless a selection sets it


@dataclass(frozen=True, eq=False)
class Looked:
    """How J models agree on a sample of S of ``images`` images.

    ``agreement`` (J, J, S), its ``mean`` (J, J) over all images, ``differ`` (J, J), the number of images on
    which two models differ, ``weights`` (S,) of each selector that draws at random, ``questions`` (S,), for
    classifiers the number of predicted classes, and ``pools``, how many images each selector may draw.
    """

    images: int
    agreement: np.ndarray
    mean: np.ndarray
    differ: np.ndarray
    weights: dict[str, np.ndarray]
    questions: np.ndarray | None
    pools: dict[str, int]


@dataclass(frozen=True, eq=False)
class Measured:
    """The measurements from a random selection: LURE means on its pool of ``pool`` images, from ``labels``
    labelled ones.
    """

    selection: str
    selector: str
    estimates: Estimates
    labels: int
    pool: int
    definition: Definition


def look(
    study: Study,
    models: tuple[str, ...],
    used: Measured | None,
    *,
    engine: str,
    workers: int | None,
) -> Looked:
    """Return how far the models agree, and what would be drawn, with the definition of the selection
    ``used``; SelectionError if no image has predictions of every model.
    """
    usual: dict[str, Any] = {"seed": 0, "keep_duplicates": False, "ties": RULE, "temperature": 1.0}
    # as for `select --selector mad`
    usual |= {"distance": "01"} if study.classifies else {"concordance": "miou", "over": "union"}
    usual |= (
        {}
        if used is None
        else {
            key: used.definition[key]
            for key in (*usual, "combined", "hierarchy", "sharpness")
            if key in used.definition
        }
    )
    like = cast("Definition", {"selector": "mad", **usual})
    whole = "labels" if study.classifies else "agreement"
    needs = ("dispute", "expected", "discrepancy", whole)
    facts = drawing_pool.gather(study, models, like, needs, engine=engine, workers=workers)
    families = drawing_pool.read_drawing_pool(study, {**like, "keep_duplicates": False})[0].families
    inside = np.flatnonzero(facts["complete"] & draws.representatives(families, facts["complete"]))
    if not len(inside):
        raise SelectionError("no image has predictions from every model")
    like.setdefault("sharpness", fitted_sharpness(facts))
    weights = {}
    used_by = [used.definition["selector"]] if used is not None else []  # may be a custom selector
    for selector in dict.fromkeys([*CHANCE, *used_by]):
        try:
            weights[selector] = weights_as_defined({**like, "selector": selector}, facts)
        except SelectionError:  # all models agree
            weights[selector] = np.zeros(len(facts["complete"]))
    some = inside[:: -(-len(inside) * len(models) ** 2 // LOOKED_AT)]
    said = facts[whole][..., inside]
    if study.classifies:
        mean = np.array([(said == own).mean(1) for own in said])
        differ = np.array([(said != own).sum(1) for own in said])
        seen = facts[whole][:, some]
        agreement = (seen[:, None] == seen).astype(float)
        questions = np.sort(seen, axis=0)
        questions = 1 + (questions[1:] != questions[:-1]).sum(0)
    else:
        mean = said.mean(-1, dtype=float)
        differ = ((said < 1) | (said.swapaxes(0, 1) < 1)).sum(-1)
        agreement = facts[whole][..., some]
        questions = None
    pools = {name: int((own[inside] > 0).sum()) for name, own in weights.items()}
    return Looked(
        len(inside),
        agreement,
        mean,
        differ,
        {name: own[some] for name, own in weights.items()},
        questions,
        pools,
    )


def measured(
    study: Study,
    models: tuple[str, ...],
    selection: str | None,
    truth: str,
    goal: str | None = None,
) -> tuple[Measured | None, list[str]]:
    """Return the measurements of the requested selection, or of the one with most labels among those drawn at
    random from the current study, preferring those for the ``goal``; also return notes.
    """
    if truth not in study.truths:
        return None, []
    key = study.drawn_from(models)
    discarded = study.discarded
    found: list[Measured] = []
    others: dict[str, list[str]] = {NOT_BY_CHANCE: [], CHANGED: [], TOO_FEW: []}
    for name in [selection] if selection else selections.names(study.root):
        made = study.selection(name)
        slots = made.slots
        if slots.points and not selection:  # a plan is about images
            continue
        drawn_from = made.drawn_from
        chance = catalogue.chosen_by(slots.rows) == catalogue.CHANCE
        if not chance or slots.models != models or drawn_from != key:
            why = CHANGED if chance else NOT_BY_CHANCE
            if selection:
                raise SelectionError(
                    f"selection {name!r} does not show how models differ on the corpus: {why}; draw one "
                    f"with `faultscape select {study.place} --selector random`"
                )
            others[why].append(name)
            continue
        images, accuracy = evidence.scores(study, models, truth, slots.definition, discarded)
        lost = evidence.undecidable(study, models, truth) | set(discarded)
        if (
            one := _estimated(name, slots, images, accuracy, lost, evidence.chosen_elsewhere(study, name))
        ) is not None:
            found.append(one)
        else:
            others[TOO_FEW].append(name)
    used = (
        max(found, key=lambda one: (goal is not None and one.definition.get("goal") == goal, one.labels))
        if found
        else None
    )
    if used is not None:
        few = (
            f"{counted(used.labels, 'label is', 'labels are')} few: on real models, forecasts from 25 "
            "labels were hardly better than those from none, and tended to be too small; plan with the "
            "upper end of a range"
        )
        most = max(found, key=lambda one: one.labels)
        why = (
            f"the labels are those of selection {used.selection!r}, drawn for --goal {goal}; "
            f"{most.selection!r} has more ({most.labels:,}): --selection {most.selection} plans from "
            "those"
        )
        return used, [*([why] if most.labels > used.labels else []), *([few] if used.labels < NEXT else [])]
    return None, [
        f"labels of {' and '.join(names)} are not used: {why}" for why, names in others.items() if names
    ]


def drawn(study: Study, models: tuple[str, ...], used: Measured | None, truth: str, goal: str) -> Drawn:
    """Return the selection to continue: the one ``used``, else the recommended one for the goal, under the
    first name that is free or has such draws.
    """
    key = study.drawn_from(models)
    names = selections.names(study.root)
    wanted = Drawn(goal, GOALS[goal], goal=goal)
    gone = evidence.undecidable(study, models, truth) | set(study.discarded)
    for name in (
        [used.selection] if used else [wanted.name, *(f"{wanted.name}-{k}" for k in range(2, len(names) + 3))]
    ):
        if name not in names:
            return replace(wanted, name=name)
        made = study.selection(name)
        slots = made.slots
        drawn_from = made.drawn_from
        define = slots.definition
        like = (define["selector"], define.get("goal")) == (wanted.selector, goal)
        if used or (like and slots.models == models and drawn_from == key):
            lost = sum(row.image in gone for row in slots.rows)
            how = (define["selector"], define.get("temperature"), define.get("goal"))
            return Drawn(name, *how, len(slots.rows), lost, used.labels if used else 0)
    raise AssertionError("more names than selections")  # pragma: no cover


def labelled_already(
    study: Study,
    models: tuple[str, ...],
    advice: Recommended,
    truth: str,
    *,
    engine: str,
    workers: int | None,
) -> tuple[int, int]:
    """Return how many images the recommended draws add to their selection, and how many of these have labels
    of a truth already; (0, 0) if they cannot be drawn.
    """
    name = advice["selection"]
    number = advice["round"]
    held: tuple[Draw, ...] = ()
    was = None
    if name in selections.names(study.root):
        slots = study.selection(name).slots
        held = slots.draws
        was = slots.definition
    if number is None:
        number = (advice["budget"] or 0) - len(held)
    given: dict[str, Any] = {key: advice[key] for key in ("goal", "temperature") if advice[key] is not None}
    try:
        define = definition(name, advice["selector"], study.settings, given, was)
        found = next_draws(
            study,
            name,
            Slots(models, define, held),
            number,
            truth=truth if learns(define) else None,
            engine=engine,
            workers=workers,
        )
    except SelectionError:  # the line says why when it is run
        return 0, 0
    return len(found.rows), label_counts.labelled_already(study, Slots(models, define, found.rows), truth)


def _estimated(
    name: str,
    slots: Slots,
    images: list[str],
    accuracy: np.ndarray,
    lost: Collection[str],
    elsewhere: Collection[str],
) -> Measured | None:
    """Return the measurements from the draws of a selection that count; None for fewer than two."""
    found = steps(
        slots.draws, images, accuracy, lost=lost, elsewhere=elsewhere, learns=learns(slots.definition)
    )
    if (labels := len(found.columns)) < 2:
        return None
    measured = lure(1 - accuracy[:, found.columns], found.probability, found.pool)
    return Measured(name, slots.definition["selector"], measured, labels, found.pool, slots.definition)


def duels(study: Study, models: tuple[str, ...], *, engine: str, workers: int | None) -> Slots:
    """Return the slots of selection main as it counts now if it has duels of these models, else those that
    default duels would have, up to `DEEPEST`.
    """
    if selections.MAIN in selections.names(study.root):
        slots = study.selection(selections.MAIN).now
        if holds_duels(slots, models):
            return slots
    return _of_classes(study, models) if study.classifies else _of_maps(study, models, engine, workers)


def _of_classes(study: Study, models: tuple[str, ...]) -> Slots:
    pool = read_pool(study.corpus, seed=0)
    said = read_predictions(study, models, pool.ids)
    _, distances = distances_of(study.classes, None)
    only = np.array([not study.settings.only or name in study.settings.only for name in study.classes.names])
    options: dict[str, Any] = {**classifier_duels.DEFAULTS, "top": DEEPEST["top"], "spares": 0}
    del options["keep_duplicates"]
    define = classifier_duels.definition(**options)
    return classifier_duels.slots(
        said, distances, define, pool.ranks, None if only.all() else only, pool.families
    )


def _of_maps(study: Study, models: tuple[str, ...], engine: str, workers: int | None) -> Slots:
    options: dict[str, Any] = {**duel.DEFAULTS, "per_class": DEEPEST["per_class"], "spares": 0}
    held = duel.definition(resolve(study.classes), constraints=None, scale=None, **options)
    return search(study, models, held, title="duels", engine=engine, workers=workers)


def groups_told(study: Study) -> list[str]:
    """Return a note on the number of groups in the pool, whose images are not independent; nothing without
    groups.
    """
    groups = read_groups(study.corpus)
    inside = (
        {groups[image] for image in read_pool(study.corpus).ids.to_pylist() if image in groups}
        if groups
        else set()
    )
    if not inside:
        return []
    few = (
        f"fewer than {LEAST} give no interval for it"
        if len(inside) < LEAST
        else f"labels in fewer than {LEAST} of them give no interval for it"
    )
    return [
        (
            f"the images form {counted(len(inside), 'group')}: for future data (rank --population "
            f"future) you need more labels than these numbers, and {few}"
        )
    ]


def deep(slots: Slots) -> list[DuelRow]:
    """Return, for each number of images per cell, the upper bound J (J - 1) |Y| K (Yan et al.) or J (J - 1) /
    2 k (Wang et al.), and the resulting slots, distinct images and questions, without spares.
    """
    j = len(slots.models)
    pairs = slots.pairs
    cells = j * (j - 1) // 2 if pairs else j * (j - 1) * len(slots.definition["groups"])
    most = max(row.place for row in slots.chosen)
    out = []
    for k in [k for k in (1, 2, 3, 5, 10, 20, 30) if k < most] + [most]:
        rows = [row for row in slots.chosen if row.place <= k]
        asked = {
            (row.image, label) for row in pairs if row.place <= k for label in (row.label_a, row.label_b)
        }
        out.append(
            {
                "per_cell": k,
                "bound": cells * k,
                "slots": len(rows),
                "images": len({row.image for row in rows}),
                "questions": len(asked),
            }
        )
    return out
