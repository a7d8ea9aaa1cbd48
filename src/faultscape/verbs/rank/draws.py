"""The standings of images drawn for all models at once: the pool that they were drawn from, and how far its
images are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from faultscape.corpus.groups import OF_FEW_GROUPS, of_few_groups, suggested_options
from faultscape.metrics.intervals.neighbours import alike, too_narrow
from faultscape.metrics.intervals.units import LEAST
from faultscape.ranking.assembly import assemble
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.choice_steps import ChoiceSteps
from faultscape.ranking.drawn.leader import Consensus
from faultscape.ranking.drawn.rankings import Draws
from faultscape.ranking.drawn.scores import OF_DATA_TO_COME, Expected, Found
from faultscape.ranking.drawn.steps import Steps, steps
from faultscape.ranking.panel import Panel, RankingOptions
from faultscape.ranking.replicates import FUTURE, SAME_GROUPS
from faultscape.reading import evidence
from faultscape.reading import pool as drawing_pool
from faultscape.selection.catalogue import find_selector
from faultscape.selection.definitions import draws_evenly, learns
from faultscape.standings import Standings
from faultscape.verbs.rank.labelled_selection import Labelled

if TYPE_CHECKING:
    from faultscape.verbs.options import RankOptions


def estimates_of_draws(known: Labelled, asked: RankOptions) -> tuple[Steps, ChoiceSteps, Found]:
    """Return the draws and the choices of a selection that count, and the estimates that they allow."""
    found, _, panel = _evidence(known, asked)
    return found.estimated(panel)


def standings_of_draws(known: Labelled, asked: RankOptions, options: RankingOptions) -> Standings:
    """Return the standings of a selection that draws for all models."""
    classifies = known.study.settings.classifies
    found, pool, panel = _evidence(known, asked)
    whole = {*known.slots.images, *pool.images, *pool.agreed}
    if classifies:
        partly = evidence.partly_decided(known.study, panel.models, panel.images, panel.scores)
        found = replace(found, partly=partly)
    near = None if panel.groups or classifies else _neighbours(pool.images, pool.expected)
    standings = assemble(panel, replace(found, widen=too_narrow(near) if near else 1.0), options)
    if of_few_groups({id_: panel.groups.get(id_, "") for id_ in whole}, LEAST):
        standings = _of_the_same_groups(standings)
    if near and (asked.population == FUTURE or standings.to_come):
        define = {**standings.definitions, "alike": round(near, 3)}
        labelled = [panel.images[k] for k in np.flatnonzero(~np.isnan(panel.scores).any(0))]
        if together := suggested_options(pool.images, LEAST, labelled):
            define["together"] = together
        note = _alike_note(near, f"faultscape collect {known.study.root} {together or '--group PATTERN'}")
        return replace(standings, notes=(*standings.notes, note), definitions=define)
    return standings


def _evidence(known: Labelled, asked: RankOptions) -> tuple[Draws, drawing_pool.Pool, Panel]:
    """Return the draws of a selection as evidence, the pool that they came from, and the panel of images that
    count.
    """
    mine = set(known.now.images)
    scores = known.panel.scores[:, [image in mine for image in known.panel.images]]
    # looked at any time, a belief must not know later labels
    trust = (
        estimates.vote_weights(1 - scores)
        if known.study.settings.classifies and not asked.looks.anytime
        else None
    )
    pool = drawing_pool.drawn_from(known.study, replace(known.slots, models=known.now.models), trust)
    found = _drawn(known, asked, pool, _expected(pool, scores, len(known.study.classes)))
    whole = {*known.slots.images, *pool.images, *pool.agreed}
    if known.where is not None and not whole <= set(known.where.images):
        # which draws count depends on all of them
        found = replace(found, where=known.where)
        known = replace(known, where=None)
    return found, pool, known.inside(asked.all_labels)


def _drawn(known: Labelled, asked: RankOptions, pool: drawing_pool.Pool, expected: Expected) -> Draws:
    """Return the draws of a selection from a pool as evidence, with labels of images on which all models
    agree.
    """
    study = known.study
    slots = known.slots
    models = known.now.models
    lost = evidence.undecidable(study, models, known.truth, known.voices) | set(known.discarded)
    found = Draws(
        slots.draws,  # including discarded ones: they came from the pool
        learns(slots.definition),
        expected,
        lost=lost,
        elsewhere=evidence.chosen_elsewhere(study, known.selection),
        population=asked.population,
        anytime=asked.looks.anytime,
        votes=known.votes,
        voices=known.weights if not study.settings.classifies else None,
    )
    fewer = models != slots.models  # on which of the agreed images these differed is not known any more
    if not find_selector(slots.definition["selector"]).chance or not pool.agreed or pool.others or fewer:
        return found
    agreed = set(pool.agreed)
    best = np.zeros((len(models), 0))
    for name, made in study.selections.items():  # random draws that land there sample them evenly
        other = made.slots
        current = other.models == models and made.drawn_from == study.drawn_from(models)
        if current and draws_evenly(other.definition):
            images, scores = evidence.scores(
                study, models, known.truth, slots.definition, known.discarded, known.voices
            )
            there = steps(
                other.draws,
                images,
                scores,
                lost=lost,
                elsewhere=evidence.chosen_elsewhere(study, name),
                learns=learns(other.definition),
            )
            # of near-duplicates another may have been drawn, unless each was drawn for itself
            alike_ = agreed if other.definition.get("keep_duplicates", False) else pool.like_agreed
            columns = [k for k in there.columns.tolist() if images[k] in alike_]
            best = max(best, scores[:, columns], key=lambda held: held.shape[1])
    return replace(found, rest=(best, len(agreed)))


def _expected(pool: drawing_pool.Pool, scores: np.ndarray, classes: int) -> Expected:
    """Return what the models' predictions let expect of them, of classifiers with scores (J, M) so far."""
    if pool.labels is None or not pool.images:
        return Expected(pool.images, pool.expected, pool.named)
    everyone = Consensus(pool.labels, classes)
    consensus = everyone(scores[:, ~np.isnan(scores).any(0)])
    return Expected(pool.images, pool.expected, pool.named, consensus, everyone.noise)


def _neighbours(pool: Sequence[str], expected: np.ndarray) -> float | None:
    """Return the correlation of consecutive images of a pool (N,) of label maps, judged by the expected
    losses (J, N); None if most models do not show them to be alike.
    """
    order = sorted(range(len(pool)), key=lambda k: pool[k])
    found = [value for row in expected if (value := alike(row[order])) is not None]
    if 2 * len(found) <= len(expected):
        return None
    return float(np.median(found))


def _alike_note(near: float, line: str) -> str:
    """Return a note on consecutive images that are alike, which widen intervals for data to come, and the
    ``line`` that groups them.
    """
    alike_ = f"consecutive images are similar (predictions on neighbors correlate by {near:.2f})"
    more = f"the pool's error counts {too_narrow(near):.1f}-fold"
    wide = f"intervals for data to come take them for a sequence ({more})"
    return f"{alike_}: {wide}; group them with `{line}`"


def _of_the_same_groups(standings: Standings) -> Standings:
    """Return standings whose intervals describe the one group that all images are of, as a note tells."""
    rankings, to_come = (
        {
            name: replace(one, speaks_of=SAME_GROUPS) if one.speaks_of == FUTURE else one
            for name, one in rows.items()
        }
        for rows in (standings.rankings, standings.to_come)
    )
    notes = tuple(note.replace(OF_DATA_TO_COME, OF_FEW_GROUPS) for note in standings.notes)
    return replace(standings, rankings=rankings, to_come=to_come, notes=notes)
