"""The standings of a selection, from the labels that there are, and whether those on disk still hold."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from faultscape import plug
from faultscape.errors import RankingError, reason
from faultscape.metrics.intervals.neighbours import alike, too_narrow
from faultscape.nouns import Draw, Slots, Standings
from faultscape.stages import drawing_pool, evidence


def standings_of(
    root: Path, selection: str, truth: str, closed: dict[str, float] | None, settings: dict[str, Any]
) -> tuple[Standings, tuple[str, ...]]:
    """Return the standings of one selection and its chosen images."""
    from importlib.metadata import version

    from faultscape.labelling.discards import discards_text
    from faultscape.ranking import recommended, standing_stability
    from faultscape.ranking.classifiers import classifier_rankings
    from faultscape.ranking.drawn import estimates
    from faultscape.ranking.drawn.populations import group_numbers
    from faultscape.ranking.drawn.rankings import draw_rankings
    from faultscape.ranking.standing import rank_accuracies
    from faultscape.stages.evidence import current
    from faultscape.stages.pairs import corpus_key
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import selections
    from faultscape.study.tables.answers import Answers
    from faultscape.study.tables.corpus import tie_keys
    from faultscape.ties import tie_order

    slots, drawn_from = selections.read_selection(root, selection)
    discarded = Answers(root).discarded()
    now = current(root, selection, discarded)
    toml = read_settings(root)
    gone = [m for m in now.models if m not in toml.models]
    if gone:
        raise RankingError(
            f"selection {selection!r} was drawn with {gone[0]!r}, which the study has no more; draw a new one with `faultscape select {root} --as NAME` (labels carry over to it)"
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
    inside = [k for k, image in enumerate(images) if image in mine or settings["all_labels"]]
    if not any(images[k] in mine for k in inside):
        raise RankingError(f"not one of the {len(mine)} images of selection {selection!r} has a label in truth {truth!r}")
    options: dict[str, Any] = {
        **{key: settings[key] for key in ("resamples", "seed", "all_labels")},
        "benchmark": {m: closed[m] for m in now.models} if closed else None,
        "discarded": len({row.image for row in slots.rows} & set(discarded)),
        "definitions": {k: v for k, v in now.definition.items() if k != "scale"} | {"selection": selection, "truth": truth},
        "keys": [keys[k] for k in inside],
    }
    table = (now.models, now.chosen, accuracy[:, inside], [images[k] for k in inside])
    chosen = recommended.chosen_by(now.chosen)
    if together := drawn_whole(root, chosen, settings["population"]):
        options["groups"] = together
    if now.chosen and isinstance(now.chosen[0], Draw):
        drawn = (now.models, slots.rows, *table[2:])  # those that were discarded too: they were of the pool
        trust = estimates.vote_weights(1 - accuracy[:, [image in mine for image in images]]) if toml.classifies else None
        more = _about_draws(root, toml, selection, slots, truth, discarded, trust)
        standings = draw_rankings(*drawn, **more, **options, population=settings["population"])
        if settings["population"] == "future" and not together and not toml.classifies:  # of tables order means nothing
            standings = replace(standings, notes=(*standings.notes, *_neighbours(more["pool"], more["proxy"], str(root))))
    elif toml.classifies:
        standings = classifier_rankings(*table, laplace=settings["laplace"], **options)
        standings = replace(standings, stability=standing_stability.of_pairs(*table, laplace=settings["laplace"]))
    else:
        classes, whole = toml.class_list, now.definition["constraints"] == "none"
        groups = [classes.names[g] for g in classes.groups]
        names = [""] if whole else groups
        standings = rank_accuracies(
            *table, class_names=names, parents={} if whole else classes.parents, epsilon=settings["epsilon"], **options
        )
        standings = replace(standings, stability=standing_stability.of_duels(*table, names, epsilon=settings["epsilon"]))
    if (lost := discards_text(slots, now, discarded)) and not isinstance(slots.chosen[0], Draw):
        said = [lost, *said]  # of draws the first note says it
    ordered = recommended.ordered(standings.rankings, chosen, now.definition.get("goal"))
    standings = replace(standings, notes=(*standings.notes, *said), rankings=ordered)
    if together:
        drawn = mine if chosen == recommended.CHANCE else set(images)  # draws by chance count where every model is decided
        lacks = np.isnan(accuracy)
        decided = np.logical_not(lacks.any(0) if chosen == recommended.CHANCE else lacks.all(0))
        numbers = group_numbers([images[k] for k in inside if images[k] in drawn and decided[k]], together)
        if numbers is not None:
            standings = replace(standings, labels=standings.labels | {"groups": len(set(numbers.tolist()))})
    if late := [m for m in toml.models if m not in now.models]:
        note = f"{', '.join(late)} came after selection {selection} was made: not ranked here"
        standings = replace(standings, notes=(*standings.notes, note))
    present = corpus_key(root, toml, now.models)
    if present != drawn_from:
        note = f"selection {selection} was drawn from other images or predictions than the study has now; draw a new one with `select --as NAME`"
        standings = replace(standings, notes=(*standings.notes, note))
    inputs = {
        "drawn_from": drawn_from,
        "predictions": present,
        "truth": evidence.truth_key(root, truth),
        "discarded": sorted(set(discarded) & {r.image for r in slots.rows}),
    } | ({"groups": groups_key(together)} if together else {})
    provenance = {
        "faultscape": version("faultscape"),
        "selection": selection,
        "truth": truth,
        **settings,
        "inputs": inputs,
        "benchmark": closed or {},
    }
    return replace(standings, provenance=provenance), now.images


def _about_draws(
    root: Path, settings: Any, selection: str, slots: Slots, truth: str, discarded: Collection[str], trust: Any
) -> dict[str, Any]:
    """Return what the rankings of drawn images must know beside the scores: the pool, what the models say of it, each as far as labels trust it, and labels where no two of them differ."""
    from faultscape.ranking.drawn.steps import steps
    from faultscape.selection.definitions import learns
    from faultscape.selection.weights import CHANCE
    from faultscape.stages.pairs import corpus_key
    from faultscape.study.tables import selections

    models, pool = slots.models, drawing_pool.drawn_from(root, settings, slots, trust)
    lost = evidence.undecidable(root, models, truth) | set(discarded)
    out: dict[str, Any] = {"lost": lost, "elsewhere": evidence.chosen_elsewhere(root, selection)}
    out |= {"learns": learns(slots.definition)}
    out |= {"proxy": pool.expected, "pool": pool.images}
    if slots.definition["selector"] not in CHANCE or not pool.agreed or pool.others:
        return out
    agreed, best = set(pool.agreed), np.zeros((len(models), 0))
    for name in selections.names(root):  # images of random draws that fall there are even draws of them
        other, key = selections.read_selection(root, name)
        if other.definition.get("selector") == "random" and other.models == models and key == corpus_key(root, settings, models):
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


def drawn_whole(root: Path, chosen: str, population: str) -> dict[str, str]:
    """Return {image: group} where whole groups of images are drawn anew: for data to come, and where nothing was drawn by chance."""
    from faultscape.ranking.recommended import CHANCE
    from faultscape.study.tables.pool import read_groups

    return read_groups(root) if population == "future" or chosen != CHANCE else {}


def groups_key(groups: dict[str, str]) -> str:
    """Return a digest of {image: group}."""
    return hashlib.sha256("\n".join(f"{image}\0{group}" for image, group in sorted(groups.items())).encode()).hexdigest()[:32]


def rank_key(root: Path, selection: str) -> str:
    """Return whether the standings of a selection are done, stale or missing."""
    from faultscape.ranking.recommended import chosen_by
    from faultscape.stages.pairs import corpus_key
    from faultscape.study.json_text import read_object
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import selections
    from faultscape.study.tables.answers import Answers

    path = selections.path(root, selection, "json", stem="standings")
    if not path.exists():
        return "missing"
    try:
        held = read_object(path.read_bytes())
        said, models = held["provenance"], held["models"]
        slots, drawn_from = selections.read_selection(root, selection)
        discarded = sorted(set(Answers(root).discarded()) & {row.image for row in slots.rows})
        settings = read_settings(root)
        known = all(model in settings.models for model in slots.models)
        if not known or slots.definition.get("concordance_file", "") != plug.digest(slots.definition.get("concordance", "")):
            return "stale"
        now = {"drawn_from": drawn_from, "truth": evidence.truth_key(root, said["truth"]), "discarded": discarded}
        now["predictions"] = corpus_key(root, settings, slots.models)
        if groups := drawn_whole(root, chosen_by(slots.rows), said.get("population", "pool")):
            now["groups"] = groups_key(groups)
        return "done" if said["inputs"] == now and models == list(slots.models) else "stale"
    except (ValueError, KeyError, TypeError):
        return "stale"


def read_benchmark(path: str) -> dict[str, float]:
    """Return {model: score} of a CSV or JSON file; RankingError when it is neither."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        if path.endswith(".json"):
            return {str(k): float(v) for k, v in json.loads(text).items()}
        rows = [row for row in csv.reader(text.splitlines()) if row]
        if not rows or len(rows[-1]) < 2:
            raise RankingError(f"{path}: expected lines of model,score; got {rows[-1][0] if rows else 'nothing'!r}")
        start = 0 if len(rows[0]) > 1 and _is_number(rows[0][1]) else 1
        names = [row[0].strip() for row in rows[start:]]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise RankingError(f"{path}: gives {repeated!r} two scores; give each model one")
        return {name: float(row[1]) for name, row in zip(names, rows[start:], strict=True)}
    except (OSError, ValueError, IndexError, AttributeError, TypeError, RecursionError, csv.Error) as error:
        raise RankingError(f"{path}: expected lines of model,score: {reason(error)}") from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
