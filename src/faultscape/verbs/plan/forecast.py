"""Predict how many labels each question needs with each selector.

Conventions: {question: {selector: row}}; a row holds labels, low, high, predictable, units of work, and
``why`` if no number of labels answers the question.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.planning import label_needs, label_variances
from faultscape.ranking.planning.label_variances import inclusion
from faultscape.verbs.plan.facts import Looked, Measured
from faultscape.verbs.plan.result import Needed, PairNeeded, Questions

ASKED = ("best", "best_proved", "best_anytime", "order", "order_proved", "order_anytime", "scores")
_AGREED = "it never draws images on which all models agree, and scores depend on those too"
_SAME = "models that never differ cannot be compared, and do not show how often they are right"
_UNSEEN = "models agree on every image that was looked at"


@dataclass(frozen=True, eq=False)
class Forecast:
    """What the numbers follow from: the models ``kept``, which differ from each earlier one, how the
    variances of each selector fall with the number of labels (``curves``), and the possible losses (W, J) of
    the models kept, ``before`` any label and as the labels leave them. Fewer than two kept models have no
    curve and no world.
    """

    kept: list[int]
    curves: dict[str, label_needs.Curve]
    before: np.ndarray
    worlds: np.ndarray


def needed(worlds: np.ndarray, curve: label_needs.Curve, within: float) -> dict[str, np.ndarray]:
    """Return {question: the numbers of labels that it needs with a curve, in each world}."""
    return {
        name: np.full(1, label_needs.scores_needed(curve, within))
        if name == "scores"
        else label_needs.needed(name, worlds, curve)
        for name in ASKED
    }


def forecast(looked: Looked, used: Measured | None, task: str, seed: int) -> Forecast:
    """Return how the variances fall and what the models may lose, both as the labels ``used`` leave them."""
    kept = [k for k in range(len(looked.differ)) if (looked.differ[k, :k] > 0).all()]
    if len(kept) < 2:
        none = np.zeros((0, len(kept)))
        return Forecast(kept, {}, none, none)
    some = np.ix_(kept, kept)
    expected = label_variances.moments(looked.agreement[some], label_variances.OUTSIDE[task])
    curves = {
        name: label_variances.curve(weights, expected, looked.images)
        for name, weights in looked.weights.items()
        if weights.any()
    }
    worlds = label_needs.worlds(looked.mean[some], label_needs.BELIEVED[task], seed=seed)
    if used is None or used.selector not in curves:
        return Forecast(kept, curves, worlds, worlds)
    found = Estimates(used.estimates.loss[kept], used.estimates.covariance[some], used.estimates.freedom)
    share = used.pool / looked.images
    learnt = {
        name: label_needs.learnt(worlds, curves[used.selector], found, used.labels, share, own, seed)
        for name, own in curves.items()
    }
    planned = {name: curve for name, (curve, _) in learnt.items()}
    return Forecast(kept, planned, worlds, learnt[used.selector][1])


def label_numbers(
    models: tuple[str, ...], looked: Looked, found: Forecast, within: float
) -> tuple[Questions, list[str]]:
    """Return {question: {selector: {labels, low, high, units}}} and notes about nearly identical models."""
    notes = _near(models, looked, found.kept)
    if len(found.kept) < 2:
        return {name: {selector: unanswered(_SAME) for selector in looked.weights} for name in ASKED}, notes
    out: Questions = {name: {} for name in ASKED}
    for selector in looked.weights:
        if selector not in found.curves:
            for name in ASKED:
                out[name][selector] = unanswered(_UNSEEN)
            continue
        for name, numbers in needed(found.worlds, found.curves[selector], within).items():
            out[name][selector] = needed_row(numbers, looked.pools[selector], name)
            if (labels := out[name][selector]["labels"]) is not None:
                out[name][selector]["units"] = labels * _each(looked, selector, labels)
    return out, notes


def unanswered(why: str) -> Needed:
    """Return the row of a question that no number of labels answers."""
    return {"labels": None, "low": None, "high": None, "predictable": None, "units": None, "why": why}


def needed_row(numbers: np.ndarray, most: float, question: str) -> Needed:
    """Return the row of a question from the ``numbers`` (W,) of labels that it needs in each world."""
    if np.isnan(numbers).all():
        return unanswered(_AGREED if question == "scores" else _SAME)
    middle, low, high = (
        min(math.ceil(x), int(most)) for x in np.nanquantile(numbers, (0.5, *label_needs.RANGE))
    )
    return {
        "labels": middle,
        "low": low,
        "high": high,
        "predictable": high <= label_needs.PREDICTABLE * low,
        "units": float(middle),
        "why": None,
    }


def pair_numbers(models: tuple[str, ...], looked: Looked, found: Forecast, selector: str) -> list[PairNeeded]:
    """Return how many labels of a selector each pair of models needs to be told apart: {models, labels, low,
    high, predictable}; () for a selector that draws nothing.
    """
    if selector not in found.curves:
        return []
    each = label_needs.pair_needed(found.worlds, found.curves[selector])
    out: list[PairNeeded] = []
    for (a, b), numbers in zip(combinations(found.kept, 2), each, strict=True):
        if np.isnan(numbers).any():
            continue
        row = needed_row(numbers, looked.pools[selector], "pair")
        out.append(
            {
                "models": [models[a], models[b]],
                "labels": row["labels"] or 0,
                "low": row["low"] or 0,
                "high": row["high"] or 0,
                "predictable": bool(row["predictable"]),
            }
        )
    return out


def _each(looked: Looked, selector: str, labels: int) -> float:
    """Return the work per drawn image: one question for each predicted class, or one map."""
    if looked.questions is None:
        return 1.0
    among = inclusion(looked.weights[selector], labels * len(looked.questions) / looked.images)
    return float((among * looked.questions).sum() / among.sum())


def _near(models: tuple[str, ...], looked: Looked, kept: list[int], most: int = 5) -> list[str]:
    """Return a sentence for each model that equals another, and for pairs that differ on at most one image in
    a hundred.
    """
    notes = []
    for k in range(len(models)):
        if k not in kept:
            twin = next(j for j in kept if looked.differ[k, j] == 0)
            notes.append(
                f"{models[twin]} and {models[k]} give the same answer on all images: no number of labels "
                "can separate them, so they count as one"
            )
    pairs = sorted(
        (int(looked.differ[a, b]), a, b)
        for a in kept
        for b in kept
        if a < b and looked.differ[a, b] <= looked.images / 100
    )
    notes += [
        f"{models[a]} and {models[b]} give the same answer on all but {number} "
        f"image{'s' * (number > 1)}: only labels of {'these' if number > 1 else 'this one'} separate them"
        for number, a, b in pairs[:most]
    ]
    return notes + (
        [f"{len(pairs) - most} more pairs differ on at most one image of a hundred"]
        if len(pairs) > most
        else []
    )
