"""Predict how many labels each question needs with each selector.

Conventions: {question: {selector: row}}; a row holds labels, low, high, predictable, units of work, and
``why`` if no number of labels answers the question.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.planning import label_needs, label_variances
from faultscape.ranking.planning.label_variances import inclusion
from faultscape.verbs.plan.facts import Looked, Measured
from faultscape.verbs.plan.result import Needed, PairNeeded, Questions

_ASKED = ("best", "best_proved", "order", "order_proved", "scores")
_AGREED = "it never draws images on which all models agree, and scores depend on those too"
_SAME = "models that never differ cannot be compared, and do not show how often they are right"
_UNSEEN = "models agree on every image that was looked at"


def label_numbers(
    models: tuple[str, ...], looked: Looked, used: Measured | None, task: str, within: float, seed: int
) -> tuple[Questions, list[str]]:
    """Return {question: {selector: {labels, low, high, units}}} and notes about nearly identical models."""
    kept = _kept(looked)
    notes = _near(models, looked, kept)
    none: Needed = {"labels": None, "low": None, "high": None, "predictable": None, "units": None}
    if len(kept) < 2:
        return {
            name: {selector: {**none, "why": _SAME} for selector in looked.weights} for name in _ASKED
        }, notes
    planned, worlds = _curves_and_worlds(looked, used, task, seed)
    out: Questions = {name: {} for name in _ASKED}
    for selector in looked.weights:
        pool = looked.pools[selector]
        for name in _ASKED:
            row: Needed = {**none, "why": _UNSEEN}
            if (curve := planned.get(selector)) is not None:
                numbers = _numbers(name, worlds, curve, within)
                row["why"] = _AGREED if name == "scores" else _SAME
                if not np.isnan(numbers).all():
                    middle, low, high = (
                        min(math.ceil(x), pool) for x in np.nanquantile(numbers, (0.5, *label_needs.RANGE))
                    )
                    row = {
                        "labels": middle,
                        "low": low,
                        "high": high,
                        "predictable": high <= label_needs.PREDICTABLE * low,
                        "units": middle * _each(looked, selector, middle),
                        "why": None,
                    }
            out[name][selector] = row
    return out, notes


def pair_numbers(
    models: tuple[str, ...], looked: Looked, used: Measured | None, task: str, selector: str, seed: int
) -> list[PairNeeded]:
    """Return how many labels of a selector each pair of models needs to be told apart: {models, labels, low,
    high, predictable}; () for a selector that draws nothing.
    """
    kept = _kept(looked)
    if len(kept) < 2:
        return []
    planned, worlds = _curves_and_worlds(looked, used, task, seed)
    if selector not in planned:
        return []
    needed = label_needs.pair_needed(worlds, planned[selector])
    pool = looked.pools[selector]
    out: list[PairNeeded] = []
    for (a, b), numbers in zip(combinations(kept, 2), needed, strict=True):
        if np.isnan(numbers).any():
            continue
        middle, low, high = (min(math.ceil(x), pool) for x in np.quantile(numbers, (0.5, *label_needs.RANGE)))
        predictable = high <= label_needs.PREDICTABLE * low
        out.append(
            {
                "models": [models[a], models[b]],
                "labels": middle,
                "low": low,
                "high": high,
                "predictable": predictable,
            }
        )
    return out


def _kept(looked: Looked) -> list[int]:
    """Return the models that differ from each earlier one."""
    return [k for k in range(len(looked.differ)) if (looked.differ[k, :k] > 0).all()]


def _curves_and_worlds(
    looked: Looked, used: Measured | None, task: str, seed: int
) -> tuple[dict[str, label_needs.Curve], np.ndarray]:
    """Return how the variances of each selector fall with the number of labels, and the possible losses (W,
    J) of the models, both as the labels ``used`` leave them.
    """
    kept = _kept(looked)
    some = np.ix_(kept, kept)
    expected = label_variances.moments(looked.agreement[some], label_variances.OUTSIDE[task])
    curves = {
        name: label_variances.curve(weights, expected, looked.images)
        for name, weights in looked.weights.items()
        if weights.any()
    }
    planned = dict(curves)
    later = None
    worlds = label_needs.worlds(looked.mean[some], label_needs.BELIEVED[task], seed=seed)
    if used is not None and used.selector in curves:
        found = Estimates(used.estimates.loss[kept], used.estimates.covariance[some], used.estimates.freedom)
        share = used.pool / looked.images
        for name, own in curves.items():
            planned[name], later = label_needs.learnt(
                worlds, curves[used.selector], found, used.labels, share, own, seed
            )
    return planned, worlds if later is None else later


def _numbers(question: str, worlds: np.ndarray, curve: label_needs.Curve, within: float) -> np.ndarray:
    """Return the number of labels that a question needs in each simulated world; for scores it is the same in
    all.
    """
    if question == "scores":
        return np.full(1, label_needs.scores_needed(curve, within))
    return label_needs.needed(question, worlds, curve)


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
