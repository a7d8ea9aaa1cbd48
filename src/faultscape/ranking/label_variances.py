"""How much the estimates from n drawn labels will vary, from the predictions alone: what every pair of models is to be expected to lose on every image.

Conventions: ``agreement`` (J, J, I): what model j is worth on an image if model k has said the truth: their concordance, or 1 where classifiers say the same, else 0. Pairs
(P,) are in the order of ``numpy.triu_indices``, their differences loss of the first less loss of the second. The images given may be every s-th of a corpus of ``images``: each
stands for as many. Variances are of LURE's means over that corpus, pairs that differ nowhere have none.
Source: Kossen et al. 2021 (an ensemble in the truth's place); Hajek 1964 (variance of draws without replacement); Rosen 1972 (probability of
being among the first n of them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import RankingError

KNOTS = 12
OUTSIDE = {"classification": 0.5, "segmentation": 0.0}  # half a vote for what nobody says; maps are right in degrees


@dataclass(frozen=True, eq=False)
class Moments:
    """Expected difference of each pair and its square (P, I), expected loss of each model and its square (J, I)."""

    difference: np.ndarray
    difference_square: np.ndarray
    loss: np.ndarray
    loss_square: np.ndarray


@dataclass(frozen=True, eq=False)
class Curve:
    """Variance against the number of labels: times 1 / n - 1 / pool, for pairs (K, P) and for models (K, J), at ``knots`` (K,) in between linear."""

    pool: int
    knots: np.ndarray
    pairs: np.ndarray
    models: np.ndarray


def moments(agreement: np.ndarray, outside: float = 0.0) -> Moments:
    """Return what is to be expected of every pair and model if the others, each in its turn, have said the truth.

    A pair is judged by the models outside it. ``outside`` is the weight, in models, of a truth that no model says, and that costs each of them 1. Of two models alone each is believed in turn, and is then half as much better than the other as their agreement leaves room for.
    RankingError for fewer than two models, another shape, or a weight below 0.

    >>> votes = np.array([[0, 0], [0, 1], [1, 1]])  # the third says the second is right where both differ from the first
    >>> found = moments((votes[:, None] == votes).astype(float))
    >>> found.difference[0], found.difference_square[0], found.loss[0]
    (array([0., 1.]), array([0., 1.]), array([0.5, 1. ]))
    """
    agreement = np.asarray(agreement, dtype=float)
    if agreement.ndim != 3 or agreement.shape[0] != agreement.shape[1] or len(agreement) < 2:
        raise RankingError(f"agreement must be models by models by images, of two models or more; got shape {agreement.shape}")
    if not outside >= 0:
        raise RankingError(f"the weight of a truth that no model says is a number of models, not below 0; got {outside}")
    j = len(agreement)
    first, second = np.triu_indices(j, 1)
    loss = 1 - agreement
    own, square = np.zeros((2, j, agreement.shape[2]))
    apart, apart_square = np.zeros((2, len(first), agreement.shape[2]))
    for k in range(j):
        judged = np.arange(j) != k
        own[judged] += loss[k, judged]
        square[judged] += loss[k, judged] ** 2
        judging = (first != k) & (second != k)
        gap = loss[k, first[judging]] - loss[k, second[judging]]
        apart[judging] += gap
        apart_square[judging] += gap**2
    if j == 2:
        apart_square[0] = ((loss[0, 1] ** 2 + loss[1, 0] ** 2) / 2) / 4
    judges, others = max(j - 2, 1) + outside, j - 1 + outside
    return Moments(apart / judges, apart_square / judges, (own + outside) / others, (square + outside) / others)


def inclusion(weights: np.ndarray, number: float) -> np.ndarray:
    """Return the probability (I,) of each image to be among ``number`` draws in proportion to ``weights`` (I,), 1 - exp(-t w) that sum to it (Rosen 1972).

    >>> inclusion(np.array([1.0, 1.0, 1.0, 0.0]), 2).round(6)
    array([0.666667, 0.666667, 0.666667, 0.      ])
    """
    weights = np.asarray(weights, dtype=float)
    inside = weights > 0
    if number >= inside.sum():
        return inside.astype(float)
    own = weights[inside] / weights[inside].mean()
    low, high = 0.0, 1.0
    while -np.expm1(-high * own).sum() < number:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if -np.expm1(-middle * own).sum() < number else (low, middle)
    out = np.zeros(len(weights))
    out[inside] = -np.expm1(-high * own)
    return out


def curve(weights: np.ndarray, expected: Moments, images: int | None = None) -> Curve:
    """Return how the variances fall when images are drawn in proportion to ``weights`` (I,), of a corpus of ``images`` (those given, by default).

    With pi the inclusion: 1 / N^2 (sum (1 - pi) / pi E x^2 - (sum (1 - pi) E x)^2 / sum pi (1 - pi)). Of equal weights that is (1 / n - 1 / N) times the variance of x.
    Models have no variance (NaN) where some image has no weight: no draws say what it costs them. RankingError where no image has a weight.

    >>> votes = np.array([[0, 0], [0, 1], [1, 1]])
    >>> curve(np.ones(2), moments((votes[:, None] == votes).astype(float))).pairs[0]  # of 0 and 1, of -1 and 1, of -1 and 0
    array([0.25, 1.  , 0.25])
    """
    weights = np.asarray(weights, dtype=float)
    inside = weights > 0
    if not inside.any():
        raise RankingError("no image has a weight: there is nothing to draw")
    times = (images or len(weights)) / len(weights)
    pool, total = max(round(times * inside.sum()), 1), times * len(weights)
    knots = np.unique(np.clip(np.geomspace(1, 0.98 * pool, KNOTS), 1, max(0.98 * pool, 0.5 * (pool + 1))))
    values = []
    columns = [part[:, inside] for part in (expected.difference, expected.difference_square, expected.loss, expected.loss_square)]
    for number in knots.tolist():
        pi = inclusion(weights[inside], number / times)
        left = np.maximum(1 - pi, 1e-12)
        each = [(times / total**2) * ((left / pi * two).sum(1) - (left * one).sum(1) ** 2 / (left * pi).sum())
                for one, two in (columns[:2], columns[2:])]  # fmt: skip
        values.append([np.maximum(np.round(part, 15), 0) / (1 / number - 1 / pool) if number < pool else part * 0 for part in each])
    models = np.array([each[1] for each in values])
    if not inside.all():
        models[:] = np.nan
    return Curve(pool, knots, np.array([each[0] for each in values]), models)


def variance(found: Curve, numbers: np.ndarray, columns: np.ndarray, *, of: str = "pairs") -> np.ndarray:
    """Return the variance (..., R) of some ``columns`` (..., R) of pairs (or models) after ``numbers`` (...,) labels, 0 from the whole pool on.

    >>> flat = Curve(100, np.array([1.0, 98]), np.array([[0.5], [0.5]]), np.zeros((2, 2)))
    >>> variance(flat, np.array([50, 100]), np.array([[0], [0]])).round(6).tolist()
    [[0.005], [0.0]]
    """
    table = found.pairs if of == "pairs" else found.models
    numbers, columns = np.asarray(numbers, dtype=float), np.asarray(columns, dtype=np.intp)
    above = np.clip(np.searchsorted(found.knots, numbers), 1, max(len(found.knots) - 1, 1))
    below = np.minimum(above, len(found.knots) - 1) - (len(found.knots) > 1)
    above = np.minimum(above, len(found.knots) - 1)
    width = np.where(above > below, found.knots[above] - found.knots[below], 1.0)
    share = np.clip((numbers - found.knots[below]) / width, 0, 1)[..., None]
    unit = (1 - share) * table[below[..., None], columns] + share * table[above[..., None], columns]
    return unit * np.maximum(1 / np.maximum(numbers, 1) - 1 / found.pool, 0)[..., None]
