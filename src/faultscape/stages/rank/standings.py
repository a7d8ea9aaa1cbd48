"""The standings of a selection, from the labels that there are."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from faultscape import plug
from faultscape.errors import RankingError
from faultscape.metrics.intervals.neighbours import alike, too_narrow
from faultscape.nouns import Draw, Slots
from faultscape.ranking.catalogue import Ranking
from faultscape.stages import drawing_pool, evidence
from faultscape.stages.artefacts import standings as artefact
from faultscape.stages.given_options import given_options
from faultscape.stages.rank.options import RankOptions
from faultscape.stages.snapshot import Snapshot
from faultscape.standings import Standings
from faultscape.study.settings import Settings, read_settings


def standings_of(
    root: Path, truth: str, closed: dict[str, float] | None, asked: RankOptions, extra: Sequence[Ranking] = ()
) -> tuple[Standings, tuple[str, ...]]:
    """Return the standings of one selection and its chosen images; ``closed`` are the scores of a closed benchmark, ``extra`` rankings of a person's own."""
    from importlib.metadata import version

    from faultscape.labelling.discards import discards_text
    from faultscape.ranking import catalogue, standing_stability
    from faultscape.ranking.classifiers import classifier_rankings
    from faultscape.ranking.drawn import estimates
    from faultscape.ranking.drawn.populations import group_numbers
    from faultscape.ranking.drawn.rankings import draw_rankings
    from faultscape.ranking.duel_standings import rank_accuracies
    from faultscape.stages.evidence import current
    from faultscape.stages.pairs import corpus_key
    from faultscape.study.tables import selections
    from faultscape.study.tables.answers import Answers
    from faultscape.study.tables.corpus import tie_keys
    from faultscape.ties import tie_order

    selection = asked.selection
    slots, drawn_from = selections.read_selection(root, selection)
    discarded = Answers(root).discarded()
    now = current(root, selection, discarded)
    toml = read_settings(root)
    gone = [m for m in now.models if m not in toml.models]
    if gone:
        named = "" if selection == selections.MAIN else f" --as {shlex.quote(selection)}"
        raise RankingError(
            f"selection {selection!r} was drawn with {gone[0]!r}, which the study has no more; make it anew with `faultscape select {root}{named} --replace` (labels count for both)"
        )
    measure = str(now.definition.get("concordance", ""))
    if now.definition.get("concordance_file", "") != plug.digest(measure):
        raise RankingError(
            f"selection {selection!r} was drawn with {measure}, which is another file now; put it back, or draw a new selection with --as NAME"
        )
    said: list[str] = []
    if toml.classifies:
        images, accuracy, said = evidence.correctness(root, now.models, truth, discarded)
    else:
        images, accuracy = evidence.accuracies(root, now.models, truth, now.definition, discarded)
    keys = tie_keys(root, images)
    order = tie_order(keys, ids=images).tolist()  # sums and the bootstrap follow it, whatever images are called
    images, keys, accuracy = [images[k] for k in order], [keys[k] for k in order], accuracy[:, order]
    if closed is not None and (unknown := [m for m in now.models if m not in closed]):
        raise RankingError(f"the benchmark file says nothing of {unknown[0]!r}; it names {', '.join(closed)}")
    mine = set(now.images)
    inside = [k for k, image in enumerate(images) if image in mine or asked.all_labels]
    if not any(images[k] in mine for k in inside):
        raise RankingError(f"not one of the {len(mine)} images of selection {selection!r} has a label in truth {truth!r}")
    options: dict[str, Any] = {
        "resamples": asked.resamples,
        "seed": asked.seed,
        "all_labels": asked.all_labels,
        "benchmark": {m: closed[m] for m in now.models} if closed else None,
        "discarded": len({row.image for row in slots.rows} & set(discarded)),
        "definitions": {k: v for k, v in now.definition.items() if k != "scale"} | {"selection": selection, "truth": truth},
        "keys": [keys[k] for k in inside],
        "extra": extra,
    }
    table = (now.models, now.chosen, accuracy[:, inside], [images[k] for k in inside])
    chosen = catalogue.chosen_by(now.chosen)
    snapshot = Snapshot(root)
    if together := dict(artefact.groups_drawn(snapshot, selection, asked.population)):
        options["groups"] = together
    if now.chosen and isinstance(now.chosen[0], Draw):
        drawn = (now.models, slots.rows, *table[2:])  # those that were discarded too: they were of the pool
        trust = estimates.vote_weights(1 - accuracy[:, [image in mine for image in images]]) if toml.classifies else None
        more = _about_draws(root, toml, selection, slots, truth, discarded, trust)
        standings = draw_rankings(*drawn, **more, **options, population=asked.population)
        if asked.population == "future" and not together and not toml.classifies:  # of tables order means nothing
            standings = replace(standings, notes=(*standings.notes, *_neighbours(more["pool"], more["proxy"], str(root))))
    elif toml.classifies:
        standings = classifier_rankings(*table, laplace=asked.added_laplace, **options)
        standings = replace(standings, stability=standing_stability.of_pairs(*table, laplace=asked.added_laplace))
    else:
        classes, whole = toml.class_list, now.definition["constraints"] == "none"
        groups = [classes.names[g] for g in classes.groups]
        names = [""] if whole else groups
        standings = rank_accuracies(
            *table, class_names=names, parents={} if whole else classes.parents, epsilon=asked.added_epsilon, **options
        )
        standings = replace(standings, stability=standing_stability.of_duels(*table, names, epsilon=asked.added_epsilon))
    if (lost := discards_text(slots, now, discarded)) and not isinstance(slots.chosen[0], Draw):
        said = [lost, *said]  # of draws the first note says it
    ordered = catalogue.ordered(standings.rankings, chosen, now.definition.get("goal"))
    standings = replace(standings, notes=(*standings.notes, *said), rankings=ordered)
    if together:
        drawn = mine if chosen == catalogue.CHANCE else set(images)  # draws by chance count where every model is decided
        lacks = np.isnan(accuracy)
        decided = np.logical_not(lacks.any(0) if chosen == catalogue.CHANCE else lacks.all(0))
        numbers = group_numbers([images[k] for k in inside if images[k] in drawn and decided[k]], together)
        if numbers is not None:
            standings = replace(standings, labels=standings.labels | {"groups": len(set(numbers.tolist()))})
    if late := [m for m in toml.models if m not in now.models]:
        note = f"{', '.join(late)} came after selection {selection} was made: not ranked here"
        standings = replace(standings, notes=(*standings.notes, note))
    present = corpus_key(root, toml, now.models)
    if present != drawn_from:
        note = f"selection {selection} was drawn from other images or predictions than the study has now; make it anew with `select --replace`"
        standings = replace(standings, notes=(*standings.notes, note))
    provenance = {
        "faultscape": version("faultscape"),
        "selection": selection,
        "truth": truth,
        **asked.recorded(classifies=toml.classifies),
        "inputs": artefact.made_from_now(snapshot, selection, truth, together, asked.against, asked.ranking, asked.benchmark),
        "arguments": given_options(asked, but=("selection", "truth", "engine")),
        "benchmark": closed or {},
    }
    return replace(standings, provenance=provenance), now.images


def _about_draws(
    root: Path, settings: Settings, selection: str, slots: Slots, truth: str, discarded: Collection[str], trust: Any
) -> dict[str, Any]:
    """Return what the rankings of drawn images must know beside the scores: the pool, what the models say of it, each as far as labels trust it, and labels where no two of them differ."""
    from faultscape.ranking.drawn.steps import steps
    from faultscape.selection.catalogue import find_selector
    from faultscape.selection.definitions import draws_evenly, learns
    from faultscape.stages.pairs import corpus_key
    from faultscape.study.tables import selections

    models, pool = slots.models, drawing_pool.drawn_from(root, settings, slots, trust)
    lost = evidence.undecidable(root, models, truth) | set(discarded)
    out: dict[str, Any] = {"lost": lost, "elsewhere": evidence.chosen_elsewhere(root, selection)}
    out |= {"learns": learns(slots.definition)}
    out |= {"proxy": pool.expected, "pool": pool.images}
    if not find_selector(slots.definition["selector"]).chance or not pool.agreed or pool.others:
        return out
    agreed, best = set(pool.agreed), np.zeros((len(models), 0))
    for name in selections.names(root):  # images of random draws that fall there are even draws of them
        other, key = selections.read_selection(root, name)
        if draws_evenly(other.definition) and other.models == models and key == corpus_key(root, settings, models):
            images, scores = evidence.scores(root, models, truth, slots.definition, discarded)
            counted = steps(other.rows, images, scores, lost=lost, elsewhere=evidence.chosen_elsewhere(root, name))
            columns = [k for k in counted.columns.tolist() if images[k] in agreed]
            best = max(best, scores[:, columns], key=lambda held: held.shape[1])
    return out | {"rest": (best, len(agreed))}


def _neighbours(pool: Sequence[str], expected: np.ndarray, study: str) -> list[str]:
    """Return what to say of a pool (N,) of label maps whose consecutive images are alike, by the losses (J, N) to expect there."""
    order = sorted(range(len(pool)), key=lambda k: pool[k])
    found = [value for row in expected if (value := alike(row[order])) is not None]
    if 2 * len(found) <= len(expected):
        return []
    middle = float(np.median(found))
    near = f"consecutive images are alike (what models say of neighbours correlates by {middle:.2f})"
    narrow = f"if they are frames of a sequence, intervals of data to come are some {too_narrow(middle):.1f} times too narrow"
    return [f"{near}: {narrow}; say which belong together with `faultscape collect {study}` with --group or --block"]
