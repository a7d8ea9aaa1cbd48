"""Compute the standings of a selection from the existing labels."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np

from faultscape import __version__, plug
from faultscape.corpus.groups import OF_ONE_GROUP, of_one_group, suggested_options
from faultscape.errors import RankingError, counted
from faultscape.labelling.discards import discards_text
from faultscape.metrics.intervals.neighbours import alike, too_narrow
from faultscape.metrics.intervals.units import LEAST
from faultscape.nouns import JsonObject, Slots
from faultscape.ranking import catalogue, standing_stability
from faultscape.ranking.catalogue import Ranking
from faultscape.ranking.choice_shares import Shares
from faultscape.ranking.classifiers import classifier_rankings
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.domains import Domain
from faultscape.ranking.drawn.populations import group_numbers
from faultscape.ranking.drawn.rankings import draw_rankings
from faultscape.ranking.drawn.scores import OF_DATA_TO_COME
from faultscape.ranking.drawn.stand_ins import STANDS_IN
from faultscape.ranking.drawn.steps import steps
from faultscape.ranking.duel_standings import rank_accuracies
from faultscape.ranking.replicates import FUTURE, ONE_GROUP
from faultscape.reading import choices as choice_evidence
from faultscape.reading import evidence
from faultscape.reading import pool as drawing_pool
from faultscape.reading.choices import EVERYBODY, Voices, weights_note
from faultscape.reading.study import Study
from faultscape.selection.catalogue import find_selector
from faultscape.selection.definitions import draws_evenly, learns
from faultscape.standings import Standings
from faultscape.study.tables import selections
from faultscape.ties import tie_order
from faultscape.verbs.rank import artefact
from faultscape.verbs.rank.where import domain_of
from faultscape.verbs.select.artefact import is_replaced, line_again

if TYPE_CHECKING:
    from faultscape.verbs.options import RankOptions


class Common(TypedDict):
    """Arguments shared by all kinds of standings."""

    resamples: int
    seed: int
    all_labels: bool
    benchmark: dict[str, float] | None
    discarded: int
    definitions: JsonObject
    groups: Mapping[str, str] | None
    keys: Sequence[str]
    extra: Sequence[Ranking]


@dataclass(frozen=True, eq=False)
class Labelled:
    """A selection and its labels: its ``slots`` as they were made and as they count ``now``, and the
    ``accuracy`` (J, I) of its models on all labelled ``images``, each with its key, in an order independent
    of names.

    For an image without a label on which people chose between two models, the column is NaN, and ``choices``
    holds what they chose.
    """

    study: Study
    truth: str
    slots: Slots
    now: Slots
    drawn_from: str
    images: list[str]
    keys: list[str]
    accuracy: np.ndarray
    notes: list[str]
    choices: Shares
    where: Domain | None = None
    voices: Voices = EVERYBODY
    weights: Mapping[str, float] | None = None

    def inside(self, all_labels: bool) -> list[int]:
        """Return the indices of the images that count: those of the selection, or all, within the part that
        is ranked.
        """
        mine = set(self.now.images)
        return [
            k for k, image in enumerate(self.images) if (image in mine or all_labels) and self.covers(image)
        ]

    def covers(self, image: str) -> bool:
        """Whether an image is in the part that is ranked."""
        return self.where is None or image in self.where.images


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
    known = _labelled(study, asked.selection, truth, domain_of(study, asked.where), voices)
    now, inside, of = (
        known.now,
        known.inside(asked.all_labels),
        f" in {known.where.words}" if known.where else "",
    )
    if closed is not None and (unknown := [m for m in now.models if m not in closed]):
        raise RankingError(
            f"the benchmark file has no scores for {unknown[0]!r}; it names {', '.join(closed) or 'no model'}"
        )
    if not (mine := {image for image in now.images if known.covers(image)}) & {
        known.images[k] for k in inside
    }:
        if now.images and not mine:
            raise RankingError(
                f"none of the {len(now.images)} images of selection {asked.selection!r} lies{of}; rank "
                "another part, or draw images there"
            )
        if not mine:
            raise RankingError(
                f"every image of selection {asked.selection!r} is discarded, and no spare is left"
            )
        raise RankingError(
            f"none of the {len(mine)} images of selection {asked.selection!r}{of} has a label in truth "
            f"{truth!r}"
        )
    if (
        not study.classifies
        and not known.choices
        and np.isnan(known.accuracy[:, [k for k in inside if known.images[k] in mine]]).all()
    ):
        raise RankingError(
            f"the labels of the {counted(len(mine), 'image')} of selection {asked.selection!r}{of} in "
            f"truth {truth!r} score no model: they are void everywhere; label other images, or discard "
            "these"
        )
    together = study.groups
    definition = {key: value for key, value in now.definition.items() if key != "scale"}
    if asked.votes.weight_annotators:
        definition |= {"annotator_weights": dict(known.weights or {})}
    if known.where is not None:
        definition |= {"where": known.where.words, "where_images": len(known.where.images)}
    common = Common(
        resamples=asked.resamples,
        seed=asked.seed,
        all_labels=asked.all_labels,
        benchmark={m: closed[m] for m in now.models} if closed else None,
        discarded=len(
            {row.image for row in known.slots.rows if known.covers(row.image)} & set(study.discarded)
        ),
        definitions=cast("JsonObject", definition | {"selection": asked.selection, "truth": truth}),
        groups=together or None,
        keys=[known.keys[k] for k in inside],
        extra=extra,
    )
    rank = _of_draws if now.draws else _of_pairs if study.classifies else _of_duels
    standings = rank(known, asked, common)
    drawn_from = study.drawn_from(now.models)
    standings = _noted(standings, known, asked.selection, drawn_from)
    redrawn = (
        together if asked.population == FUTURE or not artefact.is_by_chance(study, asked.selection) else {}
    )
    if redrawn and (number := _groups_counted(known, inside, redrawn)) is not None:
        standings = replace(standings, labels=standings.labels | {"groups": number})
    provenance = {
        "faultscape": __version__,
        "selection": asked.selection,
        "truth": truth,
        **recorded(asked, classifies=study.classifies),
        "inputs": artefact.made_from_now(
            study,
            asked.selection,
            truth,
            asked.against,
            asked.ranking,
            asked.benchmark,
            asked.all_labels,
        )
        | ({"tags": study.tags_key()} if known.where and not known.where.known else {}),
        "arguments": asked.given(but=("selection", "truth")),
        "benchmark": closed or {},
    }
    return (
        replace(standings, provenance=provenance),
        tuple(image for image in now.images if known.covers(image)),
        "" if asked.all_labels else _outside_note(known, _line_of_all(asked.selection, study.place)),
    )


def _labelled(
    study: Study, selection: str, truth: str, where: Domain | None, voices: Voices = EVERYBODY
) -> Labelled:
    """Return a selection and its labels, to rank on all of its images or a part; RankingError if the
    selection is no longer valid.
    """
    made = study.selection(selection)
    slots, now, discarded = made.slots, made.now, study.discarded
    if gone := [m for m in now.models if m not in study.models]:
        raise RankingError(
            f"selection {selection!r} was drawn with {gone[0]!r}, which is no longer in the study; "
            f"{_line_to_redraw(study, selection)}"
        )
    measure = str(now.definition.get("concordance", ""))
    if now.definition.get("concordance_file", "") != plug.digest(measure):
        raise RankingError(
            f"selection {selection!r} was drawn with {measure}, which has changed since; restore that "
            "file, or draw a new selection with --as NAME"
        )
    notes = _gone_notes(slots, now)
    choices: Shares = {}
    if study.classifies:
        images, accuracy, said_of_ties = evidence.correctness(study, now.models, truth, discarded, voices)
        notes += said_of_ties
        weights = voices.weights_of_answers(voices.answers(study.answers.answers(truth)))
    else:
        images, accuracy = evidence.accuracies(study, now.models, truth, now.definition, discarded)
        said, outdated = choice_evidence.counting(study, truth, now.models, discarded)
        said = voices.choices(said)
        weights = voices.weights_of_choices(said)
        choices = choice_evidence.shares(said, weights) if not now.draws else {}
        more = sorted({image for image, _, _ in choices} - set(images))
        images, accuracy = (
            [*images, *more],
            np.hstack([accuracy, np.full((len(now.models), len(more)), np.nan)]),
        )
        if outdated:
            notes.append(
                f"{counted(outdated, 'choice')} between two models {'does' if outdated == 1 else 'do'} "
                "not count: one of the maps shown has been predicted again since; ask again"
            )
    if voices.weighted:
        notes.append(weights_note(weights))
    keys = study.corpus.tie_keys(images)
    order = tie_order(keys, ids=images).tolist()  # keeps sums and the bootstrap independent of image names
    images, keys, accuracy = [images[k] for k in order], [keys[k] for k in order], accuracy[:, order]
    return Labelled(
        study,
        truth,
        slots,
        now,
        made.drawn_from,
        images,
        keys,
        accuracy,
        notes,
        choices,
        where,
        voices,
        weights,
    )


def _gone_notes(slots: Slots, now: Slots) -> list[str]:
    """Return what to say about models of a selection that left the study, where the others are ranked."""
    if not (gone := [model for model in slots.models if model not in now.models]):
        return []
    chance = find_selector(slots.definition["selector"]).chance
    return [
        (
            f"{', '.join(gone)} {'is' if len(gone) == 1 else 'are'} no longer in the study: the other"
            f" {len(now.models)} models are ranked from the same draws"
            f"{', whose probabilities still hold' if chance else ''}"
        )
    ]


def _line_to_redraw(study: Study, selection: str) -> str:
    """Return advice for a selection that is no longer valid."""
    if len(study.models) == 1:
        measure = f"`faultscape measure {study.place}` scores it against labels"
        return f"{study.models[0]} is left, and {measure}"
    if is_replaced(study, selection):
        return f"{study.selections[selection].slots.definition[selections.REPLACED_BY]} took its place"
    return f"redraw it with `{line_again(study, selection)}` (labels count for both)"


def _of_duels(known: Labelled, asked: RankOptions, common: Common) -> Standings:
    classes, whole = known.study.classes, known.now.definition["constraints"] == "none"
    names = [""] if whole else [classes.names[g] for g in classes.groups]
    parents, epsilon, inside = (
        {} if whole else classes.parents,
        added_epsilon(asked),
        known.inside(asked.all_labels),
    )
    rows = [row for row in known.now.duels if known.covers(row.image)]
    choices = {key: share for key, share in known.choices.items() if known.covers(key[0])}
    table = (known.now.models, rows, known.accuracy[:, inside], [known.images[k] for k in inside])
    standings = rank_accuracies(
        *table, class_names=names, parents=parents, epsilon=epsilon, choices=choices, **common
    )
    return replace(
        standings, stability=standing_stability.of_duels(*table, names, epsilon=epsilon, choices=choices)
    )


def _of_pairs(known: Labelled, asked: RankOptions, common: Common) -> Standings:
    laplace, inside = added_laplace(asked), known.inside(asked.all_labels)
    rows = [row for row in known.now.pairs if known.covers(row.image)]
    table = (known.now.models, rows, known.accuracy[:, inside], [known.images[k] for k in inside])
    standings = classifier_rankings(*table, laplace=laplace, **common)
    return replace(standings, stability=standing_stability.of_pairs(*table, laplace=laplace))


def _of_draws(known: Labelled, asked: RankOptions, common: Common) -> Standings:
    classifies, mine = known.study.classifies, set(known.now.images)
    losses = 1 - known.accuracy[:, [image in mine for image in known.images]]
    trust = estimates.vote_weights(losses) if classifies else None
    (about, whole), part = _about_draws(known, asked.selection, trust), None
    if known.where is not None and not whole <= set(known.where.images):
        # which draws count depends on all of them
        known, part = replace(known, where=None), known.where
    inside = known.inside(asked.all_labels)
    common = Common(**{**common, "keys": [known.keys[k] for k in inside]})
    models, images, accuracy = known.now.models, [known.images[k] for k in inside], known.accuracy[:, inside]
    groups = common["groups"] or {}
    # the order of a table's rows means nothing
    near = None if groups or classifies else _neighbours(about["pool"], about["proxy"])
    standings = draw_rankings(
        models,
        known.slots.draws,  # including discarded ones: they came from the pool
        accuracy,
        images,
        partly=evidence.partly_decided(known.study, models, images, accuracy) if classifies else (),
        population=asked.population,
        where=part,
        widen=too_narrow(near) if near else 1.0,
        **about,
        **common,
    )
    if of_one_group({id_: groups.get(id_, "") for id_ in whole}):
        standings = _within_one_group(standings)
    if near and (asked.population == FUTURE or standings.to_come):
        together = suggested_options(about["pool"], LEAST)
        define = {**standings.definitions, "alike": round(near, 3), "together": together}
        notes = (*standings.notes, _alike_note(near, f"faultscape collect {known.study.root} {together}"))
        return replace(standings, notes=notes, definitions=define)
    return standings


def _line_of_all(selection: str, place: str) -> str:
    """Return the command that ranks from all labels; ``place`` is how a command names the study."""
    of = "" if selection == selections.MAIN else f" --selection {shlex.quote(selection)}"
    return f"faultscape rank {place}{of} --all-labels"


def _outside_note(known: Labelled, line: str) -> str:
    """Return a note on labels outside the selection that are more than those in it, and the ``line`` that
    counts them; '' where they are fewer, since most are those of another selection.
    """
    decided = np.asarray(~np.isnan(known.accuracy).all(0))
    labelled = {
        image
        for image, one in zip(known.images, decided.tolist(), strict=True)
        if one and known.covers(image)
    }
    outside = len(labelled - set(known.now.images))
    if 2 * outside <= len(labelled):
        return ""
    lie = f"{outside:,} labelled image{' lies' if outside == 1 else 's lie'} outside this selection"
    return f"{lie}; `{line}` counts them in the re-use rankings"


def _noted(standings: Standings, known: Labelled, selection: str, drawn_from: str) -> Standings:
    """Return standings with their notes, the recommended ranking first; ``drawn_from`` is the key of what the
    selection would be drawn from now.
    """
    slots, now = known.slots, known.now
    # for draws, the first note says it
    lost = "" if slots.draws else discards_text(slots, now, known.study.discarded)
    # how far scores shift limits what they say: it is no detail of the method
    shifted = [note for note in standings.notes if STANDS_IN in note]
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


def _within_one_group(standings: Standings) -> Standings:
    """Return standings whose intervals describe the one group that all images are of, as a note tells."""
    rankings, to_come = (
        {
            name: replace(one, speaks_of=ONE_GROUP) if one.speaks_of == FUTURE else one
            for name, one in rows.items()
        }
        for rows in (standings.rankings, standings.to_come)
    )
    notes = tuple(note.replace(OF_DATA_TO_COME, OF_ONE_GROUP) for note in standings.notes)
    return replace(standings, rankings=rankings, to_come=to_come, notes=notes)


def _groups_counted(known: Labelled, inside: Sequence[int], together: Mapping[str, str]) -> int | None:
    """Return how many groups the counted labels come from; None if no image has a group."""
    # if so, an image counts only if every model is decided on it
    by_chance = catalogue.chosen_by(known.now.chosen) == catalogue.CHANCE
    lacks, mine = np.isnan(known.accuracy), set(known.now.images) if by_chance else set(known.images)
    decided = np.asarray(~(lacks.any(0) if by_chance else lacks.all(0)))
    decided |= np.isin(known.images, [image for image, _, _ in known.choices])
    numbers = group_numbers(
        [known.images[k] for k in inside if known.images[k] in mine and decided[k]], together
    )
    return None if numbers is None else len(set(numbers.tolist()))


class AboutDraws(TypedDict):
    """What the rankings of draws need besides the scores: see `ranking.drawn.rankings.draw_rankings`."""

    lost: Collection[str]
    elsewhere: Collection[str]
    learns: bool
    proxy: np.ndarray
    proxy_named: np.ndarray
    pool: Sequence[str]
    rest: tuple[np.ndarray, int] | None


def _about_draws(known: Labelled, selection: str, trust: np.ndarray | None) -> tuple[AboutDraws, set[str]]:
    """Describe the population of a selection's draws: the pool, the models' predictions on it, weighted by
    how far labels ``trust`` (J,) each model, and labels of images on which all models agree. Also return the
    set of all these images.
    """
    study, slots, models = known.study, known.slots, known.now.models
    truth, discarded = known.truth, study.discarded
    pool = drawing_pool.drawn_from(study, replace(slots, models=models), trust)
    lost = evidence.undecidable(study, models, truth, known.voices) | set(discarded)
    about = AboutDraws(
        lost=lost,
        elsewhere=evidence.chosen_elsewhere(study, selection),
        learns=learns(slots.definition),
        proxy=pool.expected,
        proxy_named=pool.named,
        pool=pool.images,
        rest=None,
    )
    whole = {*slots.images, *pool.images, *pool.agreed}
    fewer = models != slots.models  # on which of the agreed images these differed is not known any more
    if not find_selector(slots.definition["selector"]).chance or not pool.agreed or pool.others or fewer:
        return about, whole
    agreed, best = set(pool.agreed), np.zeros((len(models), 0))
    for name, made in study.selections.items():  # random draws that land there sample them evenly
        other = made.slots
        current = other.models == models and made.drawn_from == study.drawn_from(models)
        if current and draws_evenly(other.definition):
            images, scores = evidence.scores(study, models, truth, slots.definition, discarded, known.voices)
            counted = steps(
                other.draws,
                images,
                scores,
                lost=lost,
                elsewhere=evidence.chosen_elsewhere(study, name),
                learns=learns(other.definition),
            )
            # of near-duplicates another may have been drawn, unless each was drawn for itself
            alike = agreed if other.definition.get("keep_duplicates", False) else pool.like_agreed
            columns = [k for k in counted.columns.tolist() if images[k] in alike]
            best = max(best, scores[:, columns], key=lambda held: held.shape[1])
    about["rest"] = (best, len(agreed))
    return about, whole


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


def added_epsilon(options: RankOptions) -> float:
    """Return the term added to numerator and denominator of the ratios (Yan et al. 2021, eqs. 3 and 5)."""
    return 0.01 if options.epsilon is None else options.epsilon


def added_laplace(options: RankOptions) -> float:
    """Return the term added to the right and wrong answers of each pair."""
    return 1.0 if options.laplace is None else options.laplace


def recorded(options: RankOptions, *, classifies: bool) -> dict[str, float | int | bool | str]:
    """Return the options that standings record, so that they can be reproduced."""
    own = {"laplace": added_laplace(options)} if classifies else {"epsilon": added_epsilon(options)}
    rest = {name: getattr(options, name) for name in ("resamples", "seed", "all_labels", "population")}
    weighted = {"weight_annotators": True} if options.votes.weight_annotators else {}
    return {**own, **rest, **weighted}
