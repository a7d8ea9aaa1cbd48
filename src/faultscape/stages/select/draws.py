"""Draw images for all models at once, mostly with known probabilities: a new selection, or more images for
one.

Conventions: as in ``stages.drawing_pool``. An image without a prediction of every model is in no pool.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from faultscape import plug
from faultscape.comparison.distance_definitions import DistanceDefinition, define_distances
from faultscape.errors import FixedSelectionError, ModelError, OptionError, SelectionError, counted
from faultscape.metrics.catalogue import CONCORDANCES
from faultscape.nouns import Definition, Draw, Slots
from faultscape.ranking.drawn.estimates import vote_weights
from faultscape.selection import draws, information, model_picker, proposals
from faultscape.selection.catalogue import find_selector
from faultscape.selection.definitions import (
    ROUND,
    STREAM,
    WEIGHED,
    learns,
    stream,
    weighs_votes,
    weights_as_defined,
)
from faultscape.selection.selector_weights import DrawOptions, fitted_sharpness
from faultscape.stages import evidence
from faultscape.stages.count import count
from faultscape.stages.drawing_pool import Facts, gather, read_drawing_pool
from faultscape.stages.label_counts import tell_waiting
from faultscape.stages.pairs import corpus_key
from faultscape.stages.select.replacement import replace_selection
from faultscape.stages.select.ties import tell_ties
from faultscape.study.answers.labels import Answers
from faultscape.study.lock import writing
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables import selections
from faultscape.study.tables.logs import log
from faultscape.ties import RULE, count_tied

if TYPE_CHECKING:
    from faultscape.study.tables.pool import Pool

BUDGET, MOST = 100, 1_000_000


def draw(
    root: Path,
    name: str,
    selector: str,
    given: dict[str, Any],
    *,
    engine: str,
    workers: int | None,
    anew: bool = False,
) -> Slots:
    """Draw, extend or redraw a selection of a study."""
    selections.path(root, name)
    number = given.get("more", given.get("budget", ROUND if given.get("goal") == "best" else BUDGET))
    if "more" in given and "budget" in given:
        raise OptionError("--budget is the total number of images, --more how many to add; give one of them")
    if not 1 <= number <= MOST:
        raise OptionError(
            f"--{'more' if 'more' in given else 'budget'} must be 1 to {MOST:,} images; got {number}"
        )
    with writing(root):
        settings = read_settings(root)
        models = tuple(settings.models)
        if len(models) < 2:
            raise ModelError(
                f"a selection needs two models; the study has {', '.join(models) or 'none'}; add more with"
                " `faultscape predict`"
            )
        old = selections.read_selection(root, name) if not anew and name in selections.names(root) else None
        if old is None and "more" in given:
            raise SelectionError(
                f"there is no selection {name!r} to draw more of; make it with --budget {number}"
            )
        define = _definition(name, selector, settings, given, None if old is None else old[0].definition)
        held = () if old is None else old[0].rows
        if old is not None and (old[0].models != models or old[1] != corpus_key(root, settings, models)):
            what = "models" if old[0].models != models else "images or predictions"
            raise FixedSelectionError(
                f"{what} changed since selection {name!r} was drawn, so that no more can be added; "
                f"redraw it with --selector {selector} --replace, or draw another with --as NAME (labels "
                "count for both)"
            )
        if old is not None and not {"more", "budget"} & set(given):
            number = len(held)  # no more were requested
        number -= 0 if "more" in given else len(held)
        if number <= 0 and old is not None:
            print(f"selection {name!r} has {counted(len(held), 'image')}; --more N adds to them")
            return old[0]
        pool = read_drawing_pool(root, define)[0]
        known = _known(root, models, define, given, len(held), engine)
        if held:
            tell_waiting(root, settings, name, given.get("truth"), learns=learns(define))
        kind = find_selector(define["selector"])
        needs = (*kind.needs, *(("labels",) if weighs_votes(define) and "trust" in known else ()))
        facts = gather(
            root, settings, models, define, needs, known.get("trust"), engine=engine, workers=workers
        )
        if weighs_votes(define) and "trust" in known:
            facts["trust"] = known["trust"]
        if kind.informed:
            define.setdefault("sharpness", fitted_sharpness(facts))
            facts["belief"] = _belief(define, facts, known, pool)
        if left_out := int((~facts["complete"]).sum()):
            print(
                f"{left_out} of {len(pool.ids)} images cannot be drawn: some model has no prediction for "
                "them (failures.csv)"
            )
        place = {id_: k for k, id_ in enumerate(pool.ids.to_pylist())} if held else {}
        taken = np.array([place[row.image] for row in held], np.intp)
        rows, tied = _rows(
            define,
            facts,
            number,
            taken,
            pool,
            known,
            len(settings.classes.names),
            max((r.round for r in held), default=0) + 1,
        )
        tell_ties(tied, len(rows), define)
        result = Slots(models, define, (*held, *rows), tied)
        if anew:
            print(replace_selection(root, result, corpus_key(root, settings, models), name))
        else:
            selections.write_selection(root, result, corpus_key(root, settings, models), name)
        log(root, "select", name=name, number=len(rows), **define)
    return result


def _belief(define: Definition, facts: Facts, known: dict[str, Any], pool: Pool) -> np.ndarray:
    """Return the belief (J,) that each model is the best, given the labels so far; uniform if there is
    nothing to learn from.
    """
    said = facts["labels"] if "labels" in facts else facts["agreement"]
    if "labelled" not in known:
        return np.full(len(said), 1 / len(said))
    images, scores = known["labelled"]
    if "labels" in facts:
        return information.belief_of_labels(scores > 0, define["sharpness"])
    place = {id_: k for k, id_ in enumerate(pool.ids.to_pylist()) if facts["complete"][k]}
    # sum in the pool's order
    kept = sorted((k for k, image in enumerate(images) if image in place), key=lambda k: place[images[k]])
    there = facts["agreement"][..., [place[images[k]] for k in kept]]
    return information.belief_of_similarities(there, scores[:, kept], define["sharpness"])


def _rows(
    define: Definition,
    facts: Facts,
    number: int,
    taken: np.ndarray,
    pool: Pool,
    known: dict[str, Any],
    classes: int,
    round_: int,
) -> tuple[list[Draw], int]:
    """Return the next draws, and how many of them were decided by ties."""
    selector, tied = find_selector(define["selector"]), 0
    if selector.chance:
        weight = weights_as_defined(define, facts)
        found = draws.draw(weight, number, seed=stream(define), taken=taken, families=pool.families)
        images, chances, score, size = found.images, found.probability, weight, found.pool
    else:
        assert selector.prefer is not None
        inside = facts["complete"] & draws.representatives(pool.families, facts["complete"])
        facts |= {"belief": known["belief"]} if "belief" in known else {}
        told: DrawOptions = {"classes": classes}
        if "epsilon" in define:
            told["epsilon"] = define["epsilon"]
        preference = np.where(inside, selector.prefer(facts, told), -np.inf)
        score = np.full(len(inside), known["belief"].max()) if selector.learns == "queries" else preference
        preference[taken] = -np.inf
        images = proposals.top(preference, min(number, int(np.isfinite(preference).sum())))
        tied = count_tied(preference, images)
        chances, size = np.full(len(images), np.nan), int(inside.sum())
    if not len(images):
        raise SelectionError(f"no images are left to draw: all {size} are drawn")
    names = pool.names(images)
    rows = [
        Draw(
            selector.name,
            round_,
            len(taken) + step,
            names[k],
            round(float(score[k]), 12),
            float(f"{chance:.12g}"),
            size,
        )
        for step, (k, chance) in enumerate(zip(images.tolist(), chances.tolist(), strict=True), 1)
    ]
    return rows, tied


def _definition(
    name: str, selector: str, settings: Settings, given: dict[str, Any], was: Definition | None
) -> Definition:
    """Return the definition of a selection; OptionError for options that do not fit, SelectionError if it
    differs from that of the existing selection.
    """
    kind = find_selector(selector)
    if settings.task not in kind.tasks:
        raise OptionError(
            model_picker.ONLY_CLASSES
            if kind.learns == "queries"
            else f"selector {kind.name!r} is for {' and '.join(kind.tasks)}, not for {settings.task}"
        )
    defaults: dict[str, Any] = (
        {"seed": 0, "keep_duplicates": False, "ties": RULE}
        | ({"goal": given["goal"]} if "goal" in given else {})
        | ({} if settings.classifies else {"concordance": "miou", "over": "union"})
    )
    if kind.learns == "votes" and settings.classifies:
        defaults |= WEIGHED
    if kind.chance:
        defaults |= STREAM
    defaults |= kind.defaults
    asked = {key: given[key] for key in (*defaults, "temperature") if key in given}
    if not settings.classifies:
        plug.find("concordance", asked.get("concordance", "miou"), CONCORDANCES)
    about: DistanceDefinition | dict[str, str] = {}
    apart = "discrepancy" in kind.needs and (kind.duels or was is None or "distances" in was)
    if apart and settings.classifies:
        # a label is right or wrong, so the distance is 0-1 here (docs/benchmarks/labels.md)
        about = define_distances(settings.class_list, given, was, "01")[0]
    if was is None:
        define = cast("Definition", {"selector": selector, **defaults, **asked, **about})
        if own := plug.digest(str(define.get("concordance", ""))):
            define["concordance_file"] = own
        if own := plug.digest(selector):
            define["selector_file"] = own
        return define
    fixed = "its definition is fixed: use --as NAME for another, or --replace to redraw it"
    if was["selector"] != selector:
        raise FixedSelectionError(
            f"selection {name!r} was drawn by {was['selector']}, not by {selector}; {fixed}"
        )
    if was.get("selector_file", "") != plug.digest(selector):
        raise FixedSelectionError(
            f"selection {name!r} was drawn by {selector}, which has changed since; {fixed}"
        )
    for key, value in asked.items():
        if was.get(key) != value:
            raise FixedSelectionError(
                f"selection {name!r} was drawn with {key} {was.get(key)}, not {value}; {fixed}"
            )
    if was.get("distances", about.get("distances")) != about.get("distances"):
        raise FixedSelectionError(
            f"selection {name!r} was drawn with other distances between classes; {fixed}"
        )
    return cast("Definition", {**was, **about})


def _known(
    root: Path, models: tuple[str, ...], define: Definition, given: dict[str, Any], drawn: int, engine: str
) -> dict[str, Any]:
    """Return what an adaptive selector learns from the labels so far: how reliable each model is, or the
    belief that it is the best.
    """
    if not learns(define):
        return {}
    asked, known = given.get("truth"), evidence.truths(root)
    truth = (
        evidence.choose_truth(root, asked)
        if drawn and known and asked in (None, *known)
        else asked or evidence.LABELS
    )
    there = drawn and truth in known
    if drawn and not there and (not weighs_votes(define) or "truth" in given):
        raise SelectionError(
            f"{define['selector']} learns from the labels so far, and there are none in truth {truth!r}; "
            "import them first"
        )
    if there and not read_settings(root).classifies:
        count(root, [truth], engine=engine)
    images, values = (
        evidence.scores(root, models, truth, define, Answers(root).discarded())
        if there
        else ([], np.zeros((len(models), 0)))
    )
    decided = np.asarray(~np.isnan(values).any(0))
    values = values[:, decided]
    learnt = find_selector(define["selector"]).learns
    if learnt == "belief":
        return {
            "labelled": ([image for image, one in zip(images, decided.tolist(), strict=True) if one], values)
        }
    if learnt == "queries":
        right = np.zeros((len(models), values.shape[1]), np.int64)
        right[values > 0] = 1
        return {"belief": model_picker.belief(right, np.ones(values.shape[1], np.int64), define["epsilon"])}
    if not (n := values.shape[1]):
        return {}
    if read_settings(root).classifies:
        return {"trust": vote_weights(1 - values)}
    return {"trust": (np.array([math.fsum(own) for own in values]) + 1) / (n + 2)}
