"""Recommend what to do next: draw more images, label the drawn ones, or rank.

Conventions: before any label, the selector is the one that measurements on real models recommend; existing
labels are continued with their own selector. The number of images is that of the question: which model is
best, or the order of all.
Source: ours; docs/benchmarks/choice.md decides the selector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from faultscape.errors import counted
from faultscape.selection.catalogue import find_selector
from faultscape.selection.definitions import ROUND
from faultscape.verbs.plan.result import Needed, Questions, Recommended

# labels to ask for next if the number needed cannot be predicted, and the number below which conclusions
# from labels are called rough
NEXT = 50
ASKED = {"best": "the best model", "order": "the order of all"}  # what labels are needed for
# measured on the one set of label maps
RANDOM = {"order": "found the order equally well", "best": "found the best almost as early"}
WIDE = 2.0  # another selector is mentioned if it needs fewer labels by this factor


@dataclass(frozen=True)
class Drawn:
    """The selection to continue: its name, its selector with its temperature or the goal that chose it, and
    the numbers of its images, of lost ones (discarded or undecidable), and of labels.
    """

    name: str
    selector: str
    temperature: float | None = None
    goal: str | None = None
    images: int = 0
    lost: int = 0
    labels: int = 0


def reservations(drawn: Drawn, task: str, asked: str | None) -> list[str]:
    """Return reservations about a recommendation: that draws continue for a goal other than ``asked``, and
    how little evidence it rests on.

    >>> reservations(Drawn("vma", "vma", images=20, labels=20), "classification", "best")
    ["--goal best has no effect on the draws: selection 'vma' has labels and is continued (drawn for
    no goal); `faultscape select STUDY --goal best` draws for it"]
    """
    told = []
    if asked is not None and asked != drawn.goal:
        told.append(
            f"--goal {asked} has no effect on the draws: selection {drawn.name!r} has labels and is "
            f"continued (drawn for {ASKED[drawn.goal] if drawn.goal else 'no goal'}); `faultscape select "
            f"STUDY --goal {asked}` draws for it"
        )
    if task == "segmentation" and drawn.goal:
        told.append(
            "the advice for label maps rests on a single data set (ten networks on CamVid), where random "
            f"draws {RANDOM[drawn.goal]} (docs/benchmarks/choice.md)"
        )
    return told


def rounded(labels: int, pool: int) -> int:
    """Round a number of labels up to a budget: to the next ten, fifty, five hundred and so on if the pool is
    large enough, else to the next ten, at most the pool.

    >>> [rounded(n, 5509) for n in (2, 14, 100, 134, 613, 4149, 5300)], rounded(151, 193)
    ([10, 20, 100, 150, 650, 4500, 5500], 160)
    """
    coarse = 10 if labels <= 100 else 5 * 10 ** (int(math.log10(labels)) - 1)
    step = coarse if coarse * math.ceil(labels / coarse) <= pool else 10
    return min(step * math.ceil(labels / step), pool)


def advice(questions: Questions, pools: dict[str, int], drawn: Drawn, goal: str) -> Recommended | None:
    """Return what to do next, from the number of labels that each selector needs for the question ``goal``,
    "best" or "order"; None if no number of labels answers it.
    """
    rows = questions[goal]
    asked = ASKED[goal]
    row = rows.get(drawn.selector)
    if row is None or row["labels"] is None:
        return None
    predictable = row.get("predictable", True)
    number = row["labels"] if predictable else min(drawn.labels + NEXT, cast("int", row["high"]))
    budget = rounded(number + drawn.lost, pools[drawn.selector])
    full = drawn.images >= budget
    learns = drawn.goal == "best"  # each round is drawn using the labels of earlier rounds
    # what was drawn is labelled before more is drawn, as `status` says
    labelled = drawn.labels >= drawn.images - drawn.lost
    verb = (
        "rank"
        if drawn.labels >= number or (full and labelled)
        else "label"
        if full or not labelled
        else "select"
    )
    why = _why(verb, number, drawn, asked) if predictable else _why_not(verb, row, drawn, asked)
    if verb == "select" and not learns and budget == pools[drawn.selector]:
        differ = "" if find_selector(drawn.selector).even else ", and only images on which models differ"
        all_ = f"{counted(budget, 'image is', 'images are')} all that can be drawn"
        why = f"{all_} (near-duplicates count once{differ}). {why}"
    return {
        "verb": verb,
        "question": goal,
        "selection": drawn.name,
        "selector": drawn.selector,
        "temperature": drawn.temperature,
        "goal": drawn.goal,
        "budget": budget if verb == "select" else None,
        "round": ROUND if learns and verb == "select" else None,
        "begun": drawn.images > 0,
        "why": why,
        "instead": None if verb == "rank" else _instead(rows, pools, drawn),
    }


def further(found: Recommended, pool: int, drawn: Drawn) -> Recommended:
    """Return what to do instead of ranking again, if ranking with all labels left the question open: draw
    more, while images are left.
    """
    budget = rounded(drawn.labels + drawn.lost + NEXT, pool)
    if budget <= drawn.images:
        return found
    why = (
        f"rank used all {drawn.labels:,} labels of {drawn.name} and could not settle "
        f"{ASKED[found['question']]}: draw about {NEXT} more images, label them, then rank again."
    )
    return {
        **found,
        "verb": "select",
        "budget": budget,
        "round": ROUND if drawn.goal == "best" else None,
        "begun": True,
        "why": why,
    }


def as_next(found: Recommended, drawn: Drawn, more: int, *, best_of_pool: bool) -> Recommended:
    """Return what to do while the labels of a selection, all of them ranked, do not decide which model is
    best, or only which is the ``best_of_pool``: draw as many ``more`` images as `status` says is next, so
    that there is one number.
    """
    told = (
        "tell which model is best of this pool, not of images to come"
        if best_of_pool
        else "do not tell which model is best"
    )
    why = (
        f"all {drawn.labels:,} labels of {drawn.name} are ranked, and {told}: draw {more:,} more images,"
        " label them, then rank again. Each step at most doubles the images, because what few labels predict"
        " is rough."
    )
    return {
        **found,
        "verb": "select",
        "budget": drawn.images + more,
        "round": more,
        "begun": True,
        "why": why,
        "instead": None,
    }


def _why(verb: str, number: int, drawn: Drawn, asked: str) -> str:
    """Return a sentence with the reason."""
    if verb == "rank" and drawn.labels < number:
        return (
            f"Every image that {drawn.name} can draw is labelled: {drawn.labels:,} of the {number:,} or "
            f"so that {asked} is expected to need. Run rank to see what they show."
        )
    if verb == "rank":
        return (
            f"{drawn.name} has {drawn.labels:,} labels, as many as {asked} is expected to need; the "
            "intervals that rank prints show whether they are enough."
        )
    if verb == "label":
        return (
            f"{drawn.images:,} images are drawn and {drawn.labels:,} of them are labelled: label the "
            "rest, then run plan again."
        )
    if drawn.labels:
        return (
            f"{drawn.labels:,} of about {number:,} labels are there; this line draws more. Run plan "
            "again as you label: each label makes the number more certain."
        )
    return (
        f"Why: {_told(drawn)} (docs/benchmarks/choice.md); the numbers above are only a rough forecast. "
        "Label these, then run plan again: each label improves it."
    )


def _told(drawn: Drawn) -> str:
    """Return what was measured about the recommended draws, for their goal."""
    if drawn.goal == "best":
        return (
            f"drawn {ROUND} at a time, with labels in between, these draws found the best of real models "
            "with the fewest labels, or nearly so"
        )
    return "with equally many labels, these draws found the order of real models best, or nearly so"


def _why_not(verb: str, row: Needed, drawn: Drawn, asked: str) -> str:
    """Return a sentence with the reason, if the number of labels cannot be predicted."""
    span = f"{row['low']:,} to {row['high']:,}"
    if verb == "rank":
        return (
            f"{drawn.name} has {drawn.labels:,} labels, as many as {asked} may need ({span}) or all that "
            "can be had. Run rank to see what they show."
        )
    if verb == "label":
        return _why(verb, 0, drawn, asked)
    return (
        f"How many labels {asked} needs cannot be predicted "
        f"{'from the labels so far' if drawn.labels else 'before any label'} ({span}). Why these: "
        f"{_told(drawn)} (docs/benchmarks/choice.md). Label them, then run plan again: each label "
        "improves it."
    )


def _instead(rows: dict[str, Needed], pools: dict[str, int], drawn: Drawn) -> str | None:
    """Return a sentence if the numbers clearly favour another selector."""
    others = {name: row["labels"] for name, row in rows.items() if row["labels"] is not None}
    still = others[drawn.selector] - drawn.labels
    name = min(others, key=lambda other: others[other])
    if name == drawn.selector or others[name] * WIDE > still:
        return None
    return (
        f"By the table, {name} needs far fewer labels, {others[name]:,} instead of "
        f"{still:,}{' more' if drawn.labels else ''}: if you trust this forecast more than the "
        "measurements, draw with --selector "
        f"{name}{' --temperature 1' if find_selector(name).duels else ''} --budget "
        f"{rounded(others[name], pools[name])}."
    )
