"""Select duels of classifiers (Wang et al. 2020): for each unordered pair of models, the images on which
their answers are farthest apart.

Conventions: answers for the whole pool are read at once, two numbers per image and model.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, cast

import numpy as np

from faultscape.classes.names import class_place
from faultscape.comparison.distance_definitions import class_hierarchy, define_distances
from faultscape.comparison.semantic_distances import abstract_classes
from faultscape.comparison.temperatures import FEWEST, fit_temperature
from faultscape.errors import FixedSelectionError, OptionError, counted
from faultscape.nouns import Classes, Definition, Predictions, Slots
from faultscape.reading.answers import read_label_sets, read_predictions
from faultscape.reading.study import LABELS, Study
from faultscape.selection import classifier_duels
from faultscape.selection.classifier_duels import UNCALIBRATED
from faultscape.selection.spares import extended
from faultscape.study.tables import selections
from faultscape.study.tables.pool import read_pool
from faultscape.ties import tie_seed
from faultscape.verbs.select.replacement import (
    existing_selection,
    put_selection,
    refuse_gone_models,
    refuse_other_pool,
)
from faultscape.verbs.select.ties import tell_moved, tell_ties

MOST = 100_000  # images per pair
GROWS = ("top", "spares")


def pairs(study: Study, name: str, given: dict[str, Any], *, anew: bool = False) -> Slots:
    """Draw, extend or redraw a selection of a study of classifiers."""
    selections.path(study.root, name)
    for key in GROWS:
        if given.get(key, 1) > MOST:
            raise OptionError(f"{key} must be at most {MOST:,}; got {given[key]}")
    with study.writing():
        classes = study.classes
        models = study.models
        old = existing_selection(study, name, anew=anew)
        asked = {
            key: value for key, value in given.items() if key not in ("distance", "hierarchy", "without")
        }
        banned = sorted(
            {classes.names[class_place(word, classes, "--without")] for word in given.get("without", [])}
        )
        if old is not None:
            refuse_gone_models(study, old)
        about, distances = define_distances(classes, given, old.slots.definition if old else None)
        kind = about["distance"]
        was = {} if old is None else old.slots.definition
        values = {key: was.get(key, default) for key, default in classifier_duels.DEFAULTS.items()} | asked
        keep = bool(values.pop("keep_duplicates"))
        define = classifier_duels.definition(**values, temperatures=was.get("temperatures"))
        define |= cast("Definition", {"keep_duplicates": keep, **about})
        define["only"] = study.settings.only if old is None else old.slots.definition["only"]
        define["without"] = banned if old is None or "without" in given else old.slots.definition["without"]
        if old is not None:
            define = _extended(name, old.slots.definition, define, given)
            refuse_other_pool(study, old)
        drawn = read_pool(study.corpus, keep_duplicates=keep, seed=tie_seed(define))
        said = read_predictions(study, models, drawn.ids, top=define["discrepancy"] == "expected")
        _tell_confidence(said, define)
        if "temperatures" in define:
            define["temperatures"] = _temperatures(study, said, define["temperatures"])
            _tell_calibration(define["temperatures"])
        allowed = np.array(
            [
                n not in define["without"] and (not define["only"] or n in define["only"])
                for n in classes.names
            ]
        )
        families = None if keep else drawn.families
        result = classifier_duels.slots(
            said, distances, define, drawn.ranks, None if allowed.all() else allowed, families
        )
        tell_ties(result.tied, len(result.chosen), define)
        tell_moved(result.moved)
        if old is not None:
            rows = old.slots.rows + extended(old.slots, result)
            result = Slots(models, define, rows, result.tied, result.moved)
        if old is None:
            print(
                f"distance: {kind}"
                + ("" if given.get("distance") or kind == "wordnet" else " (classes have no WordNet ids)")
            )
        _tell_bias(classes, kind, define, result)
        _tell_unsure(said, define, result)
        short = {cell for cell, number in _filled(result, models).items() if number < define["top"]}
        if short and define["top"] > define["cap"]:

            def without(**freed: Any) -> dict[tuple[str, str], int]:
                free = cast("Definition", {**define, "spares": 0, **freed})
                return _filled(
                    classifier_duels.slots(
                        said, distances, free, drawn.ranks, None if allowed.all() else allowed, families
                    ),
                    models,
                )

            _tell_cap(define, short, _filled(result, models), without)
        put_selection(study, name, result, anew=anew, **define)
    return result


def _temperatures(study: Study, said: Predictions, known: dict[str, float | str]) -> dict[str, float | str]:
    """Return {model: temperature} of all models: the known ones, and for others the one fitted to existing
    labels of the pool, or a word saying that there are too few.
    """
    fresh = [m for m in said.models if m not in known]
    if not fresh or said.top is None or LABELS not in study.label_folders:
        return known | dict.fromkeys(fresh, UNCALIBRATED)
    truths = read_label_sets(study, LABELS, said.images)
    truths = [
        None if image in study.discarded else right for image, right in zip(said.images, truths, strict=True)
    ]
    at = [k for k, right in enumerate(truths) if right]
    found = {}
    for model in fresh:
        labels, shares = (part[said.models.index(model), at] for part in said.top)
        fitted = fit_temperature(labels, shares, [truths[k] for k in at], len(study.classes))
        found[model] = UNCALIBRATED if fitted is None else fitted
    return known | found


def _tell_calibration(temperatures: dict[str, float | str]) -> None:
    """Report the temperatures that calibrate probabilities, and which models are not calibrated."""
    fitted = [f"{model} {t:.3g}" for model, t in temperatures.items() if t != UNCALIBRATED]
    if fitted:
        print(
            f"expected discrepancy: probabilities calibrated by labels, with temperatures {', '.join(fitted)}"
        )
    if open_ := [model for model, t in temperatures.items() if t == UNCALIBRATED]:
        print(
            f"expected discrepancy: not calibrated: {', '.join(open_)}; calibration needs {FEWEST} "
            "labelled images with probabilities when the selection is drawn"
        )


def _filled(slots: Slots, models: tuple[str, ...]) -> dict[tuple[str, str], int]:
    """Return the number of images of each pair of models."""
    held = dict.fromkeys(combinations(models, 2), 0)
    for row in slots.pairs:
        held[row.model_a, row.model_b] = held.get((row.model_a, row.model_b), 0) + 1
    return held


def _tell_cap(
    define: Definition,
    short: set[tuple[str, str]],
    held: dict[tuple[str, str], int],
    without: Callable[..., dict[tuple[str, str], int]],
) -> None:
    """Report the pairs that miss images because of the cap, alone or with the confidence constraint;
    ``without`` counts the images of each pair under other rules.
    """
    cap = f"--cap {define['cap']}"
    top = define["top"]
    freely = without(cap=MOST)
    kept = [cell for cell in short if freely[cell] > held[cell]]
    lacking = [cell for cell in kept if freely[cell] < top]
    surely = without(cap=MOST, confidence=0.0) if lacking and define["confidence"] > 0 else freely
    few = [cell for cell in lacking if surely[cell] < top]
    full = len(kept) - len(lacking)
    both = len(lacking) - len(few)
    if full:
        print(
            f"note: {cap} keeps {counted(full, 'pair')} of {len(held)} from --top {top} images; a higher"
            f" --cap under another name (--as) fills {'it' if full == 1 else 'them'}"
        )
    if both:
        print(
            f"note: {cap} and --confidence {define['confidence']:g} together keep {counted(both, 'pair')} of"
            f" {len(held)} from --top {top} images; a higher --cap and a lower --confidence under another"
            f" name (--as) fill {'it' if both == 1 else 'them'}"
        )
    if few:
        there, taken = (sum(of[cell] for cell in few) for of in (freely, held))
        print(
            f"note: {counted(len(few), 'pair')} of {len(held)} {'has' if len(few) == 1 else 'have'} fewer"
            f" than --top {top} images to choose from ({there} in all); {cap} takes {taken} of these, and a"
            " higher one under another name (--as) takes more"
        )


def _tell_confidence(said: Predictions, define: Definition) -> None:
    """Report the models without probabilities, to which the confidence constraint does not apply."""
    silent = [m for m, row in zip(said.models, said.probabilities, strict=True) if np.isnan(row).all()]
    if silent and define["confidence"] > 0:
        who = (
            "no model has"
            if len(silent) == len(said.models)
            else f"{', '.join(silent)} {'has' if len(silent) == 1 else 'have'} no"
        )
        print(f"confidence: {who} probabilities, so the constraint is not applied there")
    if silent and define["discrepancy"] == "expected":
        print(
            f"expected discrepancy: {', '.join(silent)} {'has' if len(silent) == 1 else 'have'} no "
            "probabilities, so no images are chosen for pairs with "
            f"{'it' if len(silent) == 1 else 'them'}"
        )


def _tell_bias(classes: Classes, kind: str, define: Definition, slots: Slots) -> None:
    """Report how many slots involve classes that are far from all others, and how to leave them out: the
    paper's documented bias.
    """
    found = class_hierarchy(classes, define["hierarchy"]) if kind == "wordnet" else None
    apart = {classes.names[place] for place in abstract_classes(*found).tolist()} if found else set()
    rows = [row for row in slots.pairs if {row.label_a, row.label_b} & apart]
    if rows:
        names = sorted({word for row in rows for word in (row.label_a, row.label_b)} & apart)
        line = " ".join(f'--without "{word}"' for word in names)
        print(
            f"note: {len(rows)} of {len(slots.chosen)} slots hold {', '.join(names)}, which the "
            f"hierarchy places far from all other classes, so they come first; {line} leaves them out"
        )


def _tell_unsure(said: Predictions, define: Definition, slots: Slots) -> None:
    """Report how many images the confidence constraint excluded, if pairs have fewer than requested."""
    j = len(said.models)
    out = 0
    differing = 0
    everywhere = "temperatures" in define
    if len(slots.chosen) == j * (j - 1) // 2 * define["top"]:
        return
    for first in range(j):
        for second in range(first + 1, j):
            labels = said.labels[[first, second]]
            sure = said.probabilities[[first, second]]
            apart = ((labels[0] != labels[1]) | everywhere) & (labels >= 0).all(0)
            differing += int(apart.sum())
            out += int((apart & (sure < define["confidence"]).any(0)).sum())
    if out:
        print(
            f"note: of {differing:,} answers {'of' if everywhere else 'in which'} two "
            f"models{'' if everywhere else ' differ'}, {out:,} are left out, because one of the two is "
            f"below --confidence {define['confidence']:g}"
        )


def _extended(name: str, was: Definition, now: Definition, given: dict[str, Any]) -> Definition:
    """Return the definition of an existing selection with its numbers grown; SelectionError if any other
    option changed.
    """
    held = {"seed": 0} | was  # earlier versions have no seed; ties stay in the order of ids
    for key in (
        key
        for key in now
        if key not in (*GROWS, "distance", "hierarchy", "ties", "temperatures") and held.get(key) != now[key]
    ):
        words = f"{key} {was[key]}, not {now[key]}" if key in was else f"no {key}"
        words = "other distances between classes" if key == "distances" else words
        raise FixedSelectionError(
            f"selection {name!r} was made with {words}; its definition is fixed: use --as NAME for "
            "another, or --replace to redraw it"
        )
    for key in (key for key in GROWS if key in given and given[key] < was[key]):
        print(f"selection {name!r} cannot shrink: {key} stays {was[key]}")
    grown = {key: max(was[key], now[key]) for key in GROWS}
    return cast("Definition", {**was, **{key: now[key] for key in ("distance", "hierarchy")}, **grown})
