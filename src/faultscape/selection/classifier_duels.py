"""Maximum discrepancy competitions of classifiers: the images whose classes by two models are farthest apart
(Wang et al. 2020, section 2.1, 3.1, Algorithm 1 lines 5-10).

Conventions: for every unordered pair of models the candidates are the images that they put into different
classes, both with a probability of at least ``confidence`` (ignored for a model without probabilities). They
are ordered by distance, then by the smaller of both probabilities, larger first, then by ``faultscape.ties``;
at most ``cap`` of them may have one predicted label of a model. The first ``top`` are chosen, the next
``spares`` are their replacements. Where the cap leaves fewer, images that it keeps out follow, which may
replace a discarded one whose label they share: the first ``cap`` of each pair of labels. ``cap_rule``
"accepted" counts the images taken, as in the paper; "scanned" is what the authors' code does: it counts each
candidate it looks at under both of its labels, for the two models together, and takes no unordered pair of
labels twice. With the expected discrepancy, images on which both agree are candidates too, unless their
expected distance is zero.

``predictions`` are the labels and probabilities that the models gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np

from faultscape.choices import CapRule, Discrepancy
from faultscape.comparison.semantic_distances import expected_distance
from faultscape.errors import OptionError, SelectionError
from faultscape.nouns import KEPT_OUT, Definition, PairSlot, Predictions, Slots
from faultscape.ties import RULE, tie_ranks

CAP_RULES = get_args(CapRule)
DISCREPANCIES = get_args(Discrepancy)
DEFAULTS = {
    "discrepancy": "top1",
    "top": 30,
    "confidence": 0.8,
    "cap": 3,
    "cap_rule": "accepted",
    "spares": 10,
    "keep_duplicates": False,
    "seed": 0,
}
UNCALIBRATED = "uncalibrated"  # instead of the temperature of a model without labels


def class_duels(
    predictions: Predictions,
    distances: np.ndarray,
    *,
    top: int = 30,
    confidence: float = 0.8,
    cap: int = 3,
    cap_rule: CapRule = "accepted",
    discrepancy: Discrepancy = "top1",
    temperatures: Mapping[str, float] | None = None,
    spares: int = 10,
    allowed: np.ndarray | None = None,
    families: Sequence[int] | np.ndarray | None = None,
    keys: Sequence[str] | None = None,
    seed: int = 0,
) -> Slots:
    """Return the slots of every unordered pair of models: the images whose classes by the two are farthest
    apart, Wang et al. 2020, eq. 4, and the next ones up to ``top``.

    ``distances`` (C, C) between classes; ``allowed`` (C,) says which predicted labels count, all by default;
    ``families`` (I,) are near-duplicate groups, of which a pair takes only the first image. ``discrepancy``
    "expected" orders by the expected distance under the probabilities of both models for all classes they
    name (Wang et al. 2020, section 4), over all images; with ``temperatures`` {model: T} from their
    calibrated probabilities (comparison.fit_temperature), for other models from the raw ones. ``keys`` (I,)
    identify images independently of their names, such as the SHA-256 of the file, the id by default: with
    ``seed`` they break ties. Errors: OptionError for options out of range, SelectionError for fewer than two
    models or if no image can be chosen.

    >>> from faultscape.classes.class_lists import resolve
    >>> said = Predictions(
    ...     resolve(3), ("a", "b"), ("x", "y", "z"), np.array([[0, 0, 1], [1, 2, 1]]), np.full((2, 3), 0.9)
    ... )
    >>> [
    ...     (row.image, row.distance)
    ...     for row in class_duels(said, np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])).chosen
    ... ]
    [('y', 2.0), ('x', 1.0)]
    """
    define = definition(
        top=top,
        confidence=confidence,
        cap=cap,
        cap_rule=cap_rule,
        discrepancy=discrepancy,
        spares=spares,
        seed=seed,
        temperatures=temperatures,
    )
    ranks = tie_ranks(predictions.images if keys is None else keys, seed, predictions.images)
    return slots(predictions, distances, define, ranks, allowed, families)


def slots(
    predictions: Predictions,
    distances: np.ndarray,
    define: Definition,
    ranks: np.ndarray,
    allowed: np.ndarray | None = None,
    families: Sequence[int] | np.ndarray | None = None,
) -> Slots:
    """Return the slots that a definition asks for; ``ranks`` (I,) are places among equals, the rest and
    errors as in `class_duels`.
    """
    if len(predictions.models) < 2:
        raise SelectionError(f"a duel needs two models; there is {', '.join(predictions.models) or 'none'}")
    rows: list[PairSlot] = []
    tied = moved = 0
    for a in range(len(predictions.models)):
        for b in range(a + 1, len(predictions.models)):
            of_pair, decided, replaced = _pair(
                predictions, distances, a, b, define, allowed, ranks, families, len(rows)
            )
            rows += of_pair
            tied += decided
            moved += replaced
    if not rows:
        raise SelectionError(
            "no image can be chosen: no two models disagree with confidence on any image; try a lower"
            " --confidence, or 0 to disable it"
        )
    return Slots(predictions.models, define, tuple(rows), tied, moved)


def definition(
    *,
    top: int,
    confidence: float,
    cap: int,
    cap_rule: CapRule,
    discrepancy: Discrepancy,
    spares: int,
    seed: int = 0,
    temperatures: Mapping[str, float | str] | None = None,
) -> Definition:
    """Return what fixes a selection of this kind, in a form JSON can hold; OptionError for values out of
    range.
    """
    for word, value, least in (("top", top, 1), ("cap", cap, 1), ("spares", spares, 0)):
        if value < least:
            raise OptionError(f"{word} must be at least {least}; got {value}")
    if not 0 <= confidence <= 1:
        raise OptionError(f"confidence is a probability from 0 to 1; got {confidence}")
    for word, known, what in ((cap_rule, CAP_RULES, "cap rule"), (discrepancy, DISCREPANCIES, "discrepancy")):
        if word not in known:
            raise OptionError(f"{what} {word!r} is not known; use {' or '.join(known)}")
    if wrong := [
        t
        for t in (temperatures or {}).values()
        if not (0 < t < np.inf if isinstance(t, float | int) else t == UNCALIBRATED)
    ]:
        raise OptionError(f"a temperature is a number above 0; got {wrong[0]}")
    calibrated: Definition = {
        "selector": "mad",
        "discrepancy": discrepancy,
        "temperatures": dict(temperatures or {}),
    }
    begun: Definition = (
        calibrated if discrepancy == "expected" else {"selector": "mad", "discrepancy": discrepancy}
    )
    return {
        **begun,
        "top": top,
        "confidence": confidence,
        "cap": cap,
        "cap_rule": cap_rule,
        "spares": spares,
        "ties": RULE,
        "seed": seed,
    }


def _pair(
    said: Predictions,
    distances: np.ndarray,
    a: int,
    b: int,
    define: Definition,
    allowed: np.ndarray | None,
    ranks: np.ndarray,
    families: Sequence[int] | np.ndarray | None,
    steps: int,
) -> tuple[list[PairSlot], int, int]:
    """Return the rows of one pair, how many of the chosen ones were decided by ties, and how many hold
    another image than with near-duplicates.
    """
    first = said.labels[a]
    second = said.labels[b]
    # S2 3.1, for models with probabilities; NaN if neither has them
    sure = np.fmin(said.probabilities[a], said.probabilities[b])
    # selections of earlier versions lack this key, and use the labels that differ
    everywhere = "temperatures" in define
    open_ = ((first != second) | everywhere) & (first >= 0) & (second >= 0) & ~(sure < define["confidence"])
    if allowed is not None:
        open_ &= np.asarray(allowed)[first] & np.asarray(allowed)[second]
    at = np.flatnonzero(open_)
    if define["discrepancy"] == "expected":
        if said.top is None:
            raise OptionError(
                "the expected discrepancy needs probabilities of more than one class; predict with --keep"
                " probabilities=K"
            )
        one, other = (_distributions(said, m, at, define) for m in (a, b))
        far = expected_distance(one, other, distances)
        kept = np.round(far, 12) > 0 if everywhere else ~np.isnan(far)
        at = at[kept]
        far = far[kept]
    else:
        far = np.asarray(distances, dtype=float)[first[at], second[at]]  # S2 eq. 2 or 3
    far = np.round(far, 12)
    bound = np.round(np.where(np.isnan(sure[at]), 0.0, -sure[at]), 12)
    take = _accepted if define["cap_rule"] == "accepted" else _scanned
    order = np.lexsort((ranks[at], bound, -far))
    alone = at[order]  # with near-duplicates
    if families is not None:
        _, kept = np.unique(np.asarray(families)[at[order]], return_index=True)
        order = order[np.sort(kept)]
    at = at[order]
    far = far[order]
    bound = bound[order]
    equal = np.cumsum(np.r_[False, (far[1:] != far[:-1]) | (bound[1:] != bound[:-1])]) if len(at) else at
    most = define["top"] + define["spares"]
    taken = take(first[at], second[at], define["cap"], most)
    placed = [*enumerate(taken, 1)]
    if define["cap_rule"] == "accepted" and define["spares"] and len(taken) < most:
        out = _kept_out(first[at], second[at], define["cap"], taken)
        placed += enumerate(out, KEPT_OUT + 1)
    moved = 0
    if len(alone) > len(at):
        free = take(first[alone], second[alone], define["cap"], define["top"])
        moved = len(np.setdiff1d(alone[free], at[taken[: define["top"]]]))
    names = said.classes.names
    rows = [
        PairSlot(
            "mad",
            1,
            steps + step,
            said.models[a],
            said.models[b],
            names[first[at[k]]],
            names[second[at[k]]],
            place,
            said.images[at[k]],
            round(float(far[k]), 12),
            round(float(sure[at[k]]), 7),
            1.0,
            len(at),
        )
        for step, (place, k) in enumerate(placed, 1)
    ]
    cap = define["cap"] if define["cap_rule"] == "accepted" else len(at)
    return rows, _tied(equal, first[at], second[at], taken[: define["top"]], cap), moved


def _distributions(
    said: Predictions, model: int, at: np.ndarray, define: Definition
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and probabilities of one model for these images, calibrated if its temperature is
    known.
    """
    assert said.top is not None
    labels = said.top[0][model, at]
    shares = said.top[1][model, at]
    temperature = define.get("temperatures", {}).get(said.models[model], UNCALIBRATED)
    return labels, shares if isinstance(temperature, str) else shares.astype(float) ** (1 / temperature)


def _tied(equal: np.ndarray, first: np.ndarray, second: np.ndarray, chosen: list[int], cap: int) -> int:
    """Return how many ``chosen`` candidates were decided by ties: an ``equal`` one was left out, although the
    ones taken before all of them left room for it under the cap.
    """
    tied = 0
    taken = np.array(chosen, np.intp)
    for group in np.unique(equal[taken]).tolist():
        mine = taken[equal[taken] == group]
        before = taken[equal[taken] < group]
        others = np.setdiff1d(np.flatnonzero(equal == group), mine)
        room = np.ones(len(others), bool)
        for labels in (first, second):
            room &= np.bincount(labels[before], minlength=int(labels.max()) + 1)[labels[others]] < cap
        tied += len(mine) if room.any() else 0
    return tied


def _accepted(first: np.ndarray, second: np.ndarray, cap: int, most: int) -> list[int]:
    """Return which candidates, in order, are taken: at most ``cap`` of each model's label."""
    cells = first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second
    # at most the cap can be taken of one pair of labels
    some = np.flatnonzero(_occurrence(cells) < cap)
    held: tuple[dict[int, int], dict[int, int]] = ({}, {})
    taken: list[int] = []
    for k in some.tolist():
        x = int(first[k])
        y = int(second[k])
        if held[0].get(x, 0) < cap and held[1].get(y, 0) < cap:
            held[0][x] = held[0].get(x, 0) + 1
            held[1][y] = held[1].get(y, 0) + 1
            taken.append(k)
            if len(taken) == most:
                break
    return taken


def _kept_out(first: np.ndarray, second: np.ndarray, cap: int, taken: list[int]) -> list[int]:
    """Return which candidates, in order, the cap keeps out: the first ``cap`` of each pair of labels. More
    could not take the places of the ``taken`` ones: those have room whenever a later one of their labels has.
    """
    rest = np.setdiff1d(np.arange(len(first)), taken)
    cells = first[rest].astype(np.int64) * (int(second.max(initial=0)) + 1) + second[rest]
    return rest[_occurrence(cells) < cap].tolist()


def _scanned(first: np.ndarray, second: np.ndarray, cap: int, most: int) -> list[int]:
    """Return which candidates, in order, are taken by the rule of the authors' code: those among the first
    ``cap`` looked at of either label, with no pair of labels twice.
    """
    seen = _occurrence(np.stack([first, second], 1).ravel()).reshape(-1, 2)
    taken = []
    used = set()
    for k in np.flatnonzero((seen < cap).all(1)).tolist():
        pair = frozenset((int(first[k]), int(second[k])))
        if pair not in used:
            used.add(pair)
            taken.append(k)
    return taken[:most]


def _occurrence(values: np.ndarray) -> np.ndarray:
    """Return how often each value occurred before.

    >>> _occurrence(np.array([5, 7, 5, 5])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = (
        np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(values) else np.zeros(0, np.int64)
    )
    out = np.empty(len(values), np.int64)
    out[order] = np.arange(len(values)) - np.repeat(starts, np.diff(np.r_[starts, len(values)]))
    return out
