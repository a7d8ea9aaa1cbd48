"""Compute the standings of a selection from the existing labels."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from faultscape import __version__
from faultscape.comparison.distance_definitions import KINDS, class_hierarchy, distances_of
from faultscape.errors import RankingError
from faultscape.labelling.discards import discards_text
from faultscape.nouns import JsonObject
from faultscape.ranking import catalogue
from faultscape.ranking.assembly import assemble
from faultscape.ranking.catalogue import Ranking
from faultscape.ranking.classifiers import PairsOfClassifiers
from faultscape.ranking.drawn.choice_steps import BESIDE
from faultscape.ranking.drawn.stand_ins import STANDS_IN
from faultscape.ranking.duel_standings import Duels
from faultscape.ranking.panel import Panel, RankingOptions, group_numbers
from faultscape.ranking.replicates import FUTURE
from faultscape.reading import evidence
from faultscape.reading.choices import Voices
from faultscape.reading.study import Study
from faultscape.standings import Standings
from faultscape.study.tables import selections
from faultscape.verbs.rank import artefact
from faultscape.verbs.rank.draws import standings_of_draws
from faultscape.verbs.rank.labelled_selection import Labelled, labelled_selection, refuse_unlabelled
from faultscape.verbs.rank.where import domain_of

if TYPE_CHECKING:
    from faultscape.verbs.options import RankOptions


def standings_of(
    study: Study,
    truth: str,
    closed: dict[str, float] | None,
    asked: RankOptions,
    extra: Sequence[Ranking] = (),
    without: Collection[str] = (),
) -> tuple[Standings, tuple[str, ...], str]:
    """Return the standings of one selection, its chosen images, and a note on labels outside it; ``closed``
    are the scores of a closed benchmark, ``extra`` custom rankings, ``without`` the people whose answers and
    choices are left out.
    """
    voices = Voices(frozenset(without), asked.votes.weight_annotators)
    known = labelled_selection(study, asked.selection, truth, domain_of(study, asked.where), voices)
    now = known.now
    panel = known.inside(asked.all_labels)
    if closed is not None and (unknown := [m for m in now.models if m not in closed]):
        raise RankingError(
            f"the benchmark file has no scores for {unknown[0]!r}; it names {', '.join(closed) or 'no model'}"
        )
    mine = tuple(image for image in now.images if known.covers(image))
    refuse_unlabelled(known, panel, mine)
    definition = {key: value for key, value in now.definition.items() if key != "scale"}
    if asked.votes.weight_annotators:
        definition |= {"annotator_weights": dict(known.weights or {})}
    if known.where is not None:
        definition |= {"where": known.where.words, "where_images": len(known.where.images)}
    if asked.looks.indifference is not None:
        definition |= {"indifference": asked.looks.indifference}
    options = RankingOptions(
        asked.resamples,
        asked.seed,
        asked.all_labels,
        {m: closed[m] for m in now.models} if closed else None,
        cast("JsonObject", definition | {"selection": asked.selection, "truth": truth}),
        extra,
    )
    drawn_from = study.drawn_from(now.models)
    trained = evidence.trained_notes(study, now.models, panel.images, "labelled image")
    known = replace(known, notes=[*known.notes, *trained])
    standings = _noted(_ranked(known, panel, asked, options), known, drawn_from)
    redrawn = asked.population == FUTURE or not artefact.is_by_chance(study, asked.selection)
    if redrawn and (number := _groups_counted(known, panel)) is not None:
        standings = replace(standings, labels=standings.labels | {"groups": number})
    arguments = asked.given(but=("selection", "truth"))
    provenance = {
        "faultscape": __version__,
        "selection": asked.selection,
        "truth": truth,
        **recorded(asked, classifies=study.settings.classifies),
        "inputs": artefact.STANDINGS.inputs(study, asked.selection, {"truth": truth, "arguments": arguments})
        | ({"tags": study.tags_key()} if known.where and not known.where.known else {}),
        "arguments": arguments,
        "benchmark": closed or {},
    }
    outside = "" if asked.all_labels else _outside_note(known)
    return replace(standings, provenance=provenance), mine, outside


def _ranked(known: Labelled, panel: Panel, asked: RankOptions, options: RankingOptions) -> Standings:
    """Return the standings by the kind of evidence that a selection is."""
    if known.now.draws:
        return standings_of_draws(known, asked, options)
    if known.study.settings.classifies:
        rows = [row for row in known.now.pairs if known.covers(row.image)]
        found = PairsOfClassifiers(rows, added_laplace(asked), _distances(known, asked))
    else:
        classes = known.study.settings.class_list
        whole = known.now.definition["constraints"] == "none"
        found = Duels(
            [row for row in known.now.duels if known.covers(row.image)],
            [""] if whole else [classes.names[g] for g in classes.groups],
            {} if whole else classes.parents,
            added_epsilon(asked),
            {key: share for key, share in known.choices.items() if known.covers(key[0])},
        )
    return replace(assemble(panel, found, options), stability=found.stability(panel))


def _distances(known: Labelled, asked: RankOptions) -> dict[str, np.ndarray]:
    """Return how far answers are from full labels, by the distance that was asked for; {} for none asked.
    RankingError if no label is a full one.
    """
    if asked.misses.distance is None:
        return {}
    study, now = known.study, known.now
    hierarchy = now.definition.get("hierarchy")
    if asked.misses.distance in KINDS and class_hierarchy(study.classes, hierarchy) is None:
        raise RankingError(
            f"--distance {asked.misses.distance} needs a hierarchy above the classes: WordNet ids in the"
            " class list, or that of a selection made with --hierarchy; or give a file of distances"
        )
    _, distances = distances_of(study.classes, str(asked.misses.distance), hierarchy)
    found = evidence.distances_to_labels(study, now.models, known.truth, known.panel.images, distances)
    if not found:
        raise RankingError(
            f"--distance: truth {known.truth} has answers yes or no, and no label that names the class of an"
            " image; import such labels, or rank without --distance"
        )
    return found


def _outside_note(known: Labelled) -> str:
    """Return a note on labels outside the selection that are more than those in it, and the line that counts
    them; '' where they are fewer, since most are those of another selection.
    """
    images = zip(known.panel.images, known.panel.labelled.tolist(), strict=True)
    labelled = {image for image, yes in images if yes and known.covers(image)}
    outside = len(labelled - set(known.now.images))
    if 2 * outside <= len(labelled):
        return ""
    lie = f"{outside:,} labelled image{' lies' if outside == 1 else 's lie'} outside this selection"
    name = known.selection
    of = "" if name == selections.MAIN else f" --selection {shlex.quote(name)}"
    line = f"faultscape rank {known.study.place}{of} --all-labels"
    return f"{lie}; `{line}` counts them in the re-use rankings"


def _noted(standings: Standings, known: Labelled, drawn_from: str) -> Standings:
    """Return standings with their notes, the recommended ranking first; ``drawn_from`` is the key of what the
    selection would be drawn from now.
    """
    slots = known.slots
    now = known.now
    selection = known.selection
    # for draws, the first note says it
    lost = "" if slots.draws else discards_text(slots, now, known.discarded)
    # how far scores shift, and what choices add to them, is no detail of the method
    shifted = [note for note in standings.notes if STANDS_IN in note or BESIDE in note]
    method = [note for note in standings.notes if note not in shifted]
    notes = [*method, *shifted, *filter(None, [lost]), *known.notes]
    if late := [m for m in known.study.models if m not in now.models]:
        notes.append(f"{', '.join(late)} came after selection {selection} was made: not ranked here")
    if drawn_from != known.drawn_from and now.models == slots.models:
        notes.append(
            f"selection {selection} was drawn from other images or predictions than the study has now; "
            "`faultscape status` prints the line that redraws it"
        )
    ordered = catalogue.ordered(
        standings.rankings, catalogue.chosen_by(now.chosen), now.definition.get("goal")
    )
    return replace(standings, notes=tuple(notes), details=len(method), rankings=ordered)


def _groups_counted(known: Labelled, panel: Panel) -> int | None:
    """Return how many groups the counted labels come from; None if no image has a group."""
    # where each draw has a probability, an image counts only if every model is decided on it
    by_chance = catalogue.chosen_by(known.now.chosen) == catalogue.CHANCE
    lacks = np.isnan(panel.scores)
    decided = np.asarray(~(lacks.any(0) if by_chance else lacks.all(0)))
    voted = {image for image, _, _ in known.choices}
    mine = set(known.now.images)
    counted_images = [
        image
        for image, yes in zip(panel.images, decided.tolist(), strict=True)
        if (yes or image in voted) and (image in mine or not by_chance)
    ]
    numbers = group_numbers(counted_images, panel.groups)
    return None if numbers is None else len(set(numbers.tolist()))


def added_epsilon(options: RankOptions) -> float:
    """Return the term added to numerator and denominator of the ratios (Yan et al. 2021, eqs. 3 and 5)."""
    return 0.01 if options.epsilon is None else options.epsilon


def added_laplace(options: RankOptions) -> float:
    """Return the term added to the right and wrong answers of each pair."""
    return 1.0 if options.laplace is None else options.laplace


def recorded(options: RankOptions, *, classifies: bool) -> dict[str, float | int | bool | str]:
    """Return the options that standings record, so that they can be reproduced."""
    own = {"laplace": added_laplace(options)} if classifies else {"epsilon": added_epsilon(options)}
    if options.misses.distance is not None:
        own |= {"distance": str(options.misses.distance)}
    rest = {name: getattr(options, name) for name in ("resamples", "seed", "all_labels", "population")}
    weighted = {"weight_annotators": True} if options.votes.weight_annotators else {}
    looked = {"anytime": True} if options.looks.anytime else {}
    return {**own, **rest, **weighted, **looked}
