"""Draw images for all models at once, mostly with known probabilities: which groups of near-duplicates come
next, and which member of each people are asked to label; a new selection, or more images for one.

Conventions: as in ``reading.pool``. An image without a prediction of every model is in no pool.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from faultscape import plug
from faultscape.comparison import combinations
from faultscape.comparison.distance_definitions import DistanceDefinition, define_distances
from faultscape.errors import FixedSelectionError, OptionError, SelectionError, counted
from faultscape.nouns import Definition, Draw, Slots
from faultscape.ranking.drawn.estimates import vote_weights
from faultscape.ranking.drawn.stand_ins import shift_note, shifts_to_expect
from faultscape.reading import evidence
from faultscape.reading.label_counts import refuse_waiting, tell_waiting
from faultscape.reading.pool import Facts, gather, read_drawing_pool
from faultscape.reading.study import LABELS, Study
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
from faultscape.study.settings import Settings
from faultscape.study.tables import selections
from faultscape.study.tables.logs import read_failures
from faultscape.ties import RULE, count_tied
from faultscape.verbs.compare.count import count
from faultscape.verbs.select.group_members import claims
from faultscape.verbs.select.replacement import existing_selection, put_selection
from faultscape.verbs.select.ties import tell_ties

if TYPE_CHECKING:
    from faultscape.study.tables.pool import Pool
    from faultscape.verbs.options import SelectOptions


BUDGET = 100
MOST = 1_000_000


def draw(study: Study, name: str, selector: str, given: dict[str, Any], options: SelectOptions) -> Slots:
    """Draw, extend or redraw a selection of a study, or in a dry run of a copy of it."""
    selections.path(study.root, name)
    anew = options.replace
    number = given.get("more", given.get("budget", ROUND if given.get("goal") == "best" else BUDGET))
    if "more" in given and "budget" in given:
        raise OptionError("--budget is the total number of images, --more how many to add; give one of them")
    if not 1 <= number <= MOST:
        raise OptionError(
            f"--{'more' if 'more' in given else 'budget'} must be 1 to {MOST:,} images; got {number}"
        )
    with study.writing():
        models = study.models
        old = existing_selection(study, name, anew=anew)
        if old is None and "more" in given:
            raise SelectionError(
                f"there is no selection {name!r} to draw more of; make it with --budget {number}"
            )
        define = definition(
            name, selector, study.settings, given, None if old is None else old.slots.definition
        )
        held = () if old is None else old.slots.rows
        if old is not None and (old.slots.models != models or old.drawn_from != study.drawn_from(models)):
            what = "models" if old.slots.models != models else "images or predictions"
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
            return old.slots
        if options.dry_run and held and study.settings.store and learns(define):
            raise OptionError(
                f"--dry-run: selection {name!r} learns from labels, which would be counted in the study's"
                " store; leave it out"
            )
        if held and "more" in given:
            refuse_waiting(study, name, number)
        if held:
            tell_waiting(study, name, given.get("truth"), learns=learns(define))
        found = next_draws(
            study,
            name,
            Slots(models, define, held),
            number,
            truth=given.get("truth"),
            engine=options.engine,
            workers=options.workers,
        )
        print("".join(f"{note}\n" for note in found.notes), end="")
        tell_ties(found.tied, len(found.rows), define)
        result = Slots(models, define, (*held, *found.rows), found.tied)
        put_selection(study, name, result, anew=anew, number=len(found.rows), **define)
    return result


def _why_none(study: Study, models: Sequence[str], images: int, trained: int) -> str:
    """Return why no image has an answer of every model: those that lack most, and the first reason;
    ``trained`` is how many of the images trained one.
    """
    if trained == images:
        return (
            f"all {images} images of the pool trained a model or resemble images that did, so that none can"
            " compare it with others; collect images of other groups:"
            f" `faultscape collect {study.place} IMAGES`"
        )
    failed = [row for row in read_failures(study.root) if row.stage == "predict" and row.name in models]
    if not failed:
        return "there is no image that every model has an answer for"
    name, number = Counter(row.name for row in failed).most_common(1)[0]
    reason = next(row.reason for row in failed if row.name == name)
    return (
        f"there is no image that every model has an answer for: {name} lacks {number} of {images}"
        f" (failures.csv). The first: {reason}"
    )


def definition(
    name: str, selector: str, settings: Settings, given: Mapping[str, object], was: Definition | None
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
    measures: combinations.Recorded | dict[str, str] = {}
    if not settings.classifies:
        measures = combinations.as_defined(str(asked.get("concordance", "miou")))
        if "combined" in measures and not kind.by_difference:
            raise OptionError(
                f"selector {kind.name!r} does not choose by how far maps differ, so that measures joined by +"
                f" change nothing; give one, or --selector mad --temperature 1, or disputed"
            )
    about: DistanceDefinition | dict[str, str] = {}
    apart = "discrepancy" in kind.needs and (kind.duels or was is None or "distances" in was)
    if apart and settings.classifies:
        # a label is right or wrong, so the distance is 0-1 here (docs/benchmarks/labels.md)
        about = define_distances(settings.class_list, given, was, "01")[0]
    if was is None:
        define = cast("Definition", {"selector": selector, **defaults, **asked, **measures, **about})
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
    held = {**was, "concordance": combinations.spelt(was)}
    for key, value in asked.items():
        if held.get(key) != value:
            raise FixedSelectionError(
                f"selection {name!r} was drawn with {key} {held.get(key)}, not {value}; {fixed}"
            )
    if was.get("distances", about.get("distances")) != about.get("distances"):
        raise FixedSelectionError(
            f"selection {name!r} was drawn with other distances between classes; {fixed}"
        )
    return cast("Definition", {**was, **about})


@dataclass(frozen=True)
class NextDraws:
    """The next ``rows`` of a selection, how many of them ties decided, and notes to print."""

    rows: tuple[Draw, ...]
    tied: int
    notes: tuple[str, ...]


def next_draws(
    study: Study,
    name: str,
    so_far: Slots,
    number: int,
    *,
    truth: str | None,
    engine: str,
    workers: int | None,
) -> NextDraws:
    """Return up to ``number`` draws that follow those of selection ``name`` ``so_far``; the ``sharpness`` of
    an informed selector is added to its definition. SelectionError if nothing is left to draw.

    ``truth`` are the labels that were asked for; None for those that count.
    """
    models = so_far.models
    define = so_far.definition
    held = so_far.draws
    pool = read_drawing_pool(study, define)[0]
    known = _known(study, models, define, truth, len(held), engine)
    kind = find_selector(define["selector"])
    claimed = claims(study, models, name, truth, pool)
    needs = [*kind.needs, *(("labels",) if weighs_votes(define) and "trust" in known else ())]
    if kind.chance and (claimed > 0).any():  # to say how far the images taken shift scores
        needs = [*dict.fromkeys([*needs, "expected"])]
    facts = gather(study, models, define, needs, known.get("trust"), engine=engine, workers=workers)
    trained = evidence.pool_that_trained(study, models)
    if not facts["complete"].any():
        raise SelectionError(_why_none(study, models, len(facts["complete"]), len(trained)))
    if weighs_votes(define) and "trust" in known:
        facts["trust"] = known["trust"]
    if kind.informed:
        define.setdefault("sharpness", fitted_sharpness(facts))
        facts["belief"] = _belief(define, facts, known, pool)
    notes = []
    if trained:
        notes += evidence.trained_notes(study, models, trained, "image")
        rest = len(pool) - len(trained)
        notes.append(f"the draws, and what they estimate, are of the other {counted(rest, 'image')}")
    if left_out := int((~facts["complete"]).sum()) - len(trained):
        notes.append(
            f"{left_out} of {len(pool)} images cannot be drawn: some model has no prediction for them"
            " (failures.csv)"
        )
    place = {id_: k for k, id_ in enumerate(pool.ids.to_pylist())} if held else {}
    taken = np.array([place[row.image] for row in held], np.intp)
    found = _drawn(define, facts, number, taken, pool, known, len(study.classes))
    if alike := int(found.drawable.sum()) - found.pool:
        are = "image is not drawn, because it nearly equals another"
        are = are if alike == 1 else "images are not drawn, because they nearly equal others"
        notes.append(f"near-duplicates: {alike:,} of {int(found.drawable.sum()):,} {are}")
    images = draws.members(found.images, pool.families, claimed, found.drawable)
    names = pool.names(images)
    round_ = max((row.round for row in held), default=0) + 1
    rows = tuple(
        Draw(
            kind.name,
            round_,
            len(taken) + step,
            names[k],
            round(float(score), 12),
            float(f"{chance:.12g}"),
            found.pool,
        )
        for step, (k, score, chance) in enumerate(
            zip(images.tolist(), found.scores.tolist(), found.chances.tolist(), strict=True), 1
        )
    )
    if kind.chance and "expected" in facts:
        probability = np.array([row.probability for row in (*held, *rows)])
        first = _representatives(pool, found.drawable)
        own = np.concatenate([taken, images])
        expected = shifts_to_expect(
            facts["expected"][:, own], facts["expected"][:, first[own]], probability, found.pool
        )
        moved = int((own != first[own]).sum())
        notes += [note] if (note := shift_note(models, [expected], moved, len(own))) else []
    return NextDraws(rows, found.tied, tuple(notes))


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The M images that come next, each the first of its near-duplicates, with their scores and chances, the
    size of the pool, which images (I,) could be drawn for themselves, and how many draws ties decided.
    """

    images: np.ndarray
    scores: np.ndarray
    chances: np.ndarray
    pool: int
    drawable: np.ndarray
    tied: int = 0


def _drawn(
    define: Definition,
    facts: Facts,
    number: int,
    taken: np.ndarray,
    pool: Pool,
    known: dict[str, Any],
    classes: int,
) -> _Drawn:
    """Return the images that come next, whichever members of their groups are labelled."""
    selector = find_selector(define["selector"])
    if selector.chance:
        weight = weights_as_defined(define, facts)
        found = draws.draw(weight, number, seed=stream(define), taken=taken, families=pool.families)
        return _Drawn(found.images, weight[found.images], found.probability, found.pool, weight > 0)
    assert selector.prefer is not None
    inside = facts["complete"] & draws.representatives(pool.families, facts["complete"])
    facts |= {"belief": known["belief"]} if "belief" in known else {}
    told: DrawOptions = {"classes": classes}
    if "epsilon" in define:
        told["epsilon"] = define["epsilon"]
    preference = np.where(inside, selector.prefer(facts, told), -np.inf)
    score = np.full(len(inside), known["belief"].max()) if selector.learns == "queries" else preference.copy()
    preference[np.isin(pool.families, pool.families[taken])] = -np.inf
    images = proposals.top(preference, min(number, int(np.isfinite(preference).sum())))
    size = int(inside.sum())
    if not len(images):
        raise SelectionError(f"no images are left to draw: all {size} are drawn")
    chances = np.full(len(images), np.nan)
    return _Drawn(images, score[images], chances, size, facts["complete"], count_tied(preference, images))


def _representatives(pool: Pool, drawable: np.ndarray) -> np.ndarray:
    """Return (I,) the first drawable image of each image's family; the image itself if there is none."""
    out = np.arange(len(drawable))
    first = np.flatnonzero(draws.representatives(pool.families, drawable))
    order = np.argsort(pool.families[first])
    families = pool.families[first][order]
    at = np.searchsorted(families, pool.families)
    there = at < len(families)
    there[there] = families[at[there]] == pool.families[there]
    out[there] = first[order][at[there]]
    return out


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


def _known(
    study: Study,
    models: tuple[str, ...],
    define: Definition,
    asked: str | None,
    drawn: int,
    engine: str,
) -> dict[str, Any]:
    """Return what an adaptive selector learns from the labels so far: how reliable each model is, or the
    belief that it is the best.
    """
    if not learns(define):
        return {}
    known = study.truths
    truth = study.truth(asked) if drawn and known and asked in (None, *known) else asked or LABELS
    there = drawn and truth in known
    if drawn and not there and (not weighs_votes(define) or asked is not None):
        raise SelectionError(
            f"{define['selector']} learns from the labels so far, and there are none in truth {truth!r}; "
            "import them first"
        )
    if there and not study.classifies:
        count(study, [truth], engine=engine)
    images, values = (
        evidence.scores(study, models, truth, define, study.discarded)
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
    if study.classifies:
        return {"trust": vote_weights(1 - values)}
    return {"trust": (np.array([math.fsum(own) for own in values]) + 1) / (n + 2)}
