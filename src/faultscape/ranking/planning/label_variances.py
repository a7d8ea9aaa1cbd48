"""How much the estimates from n drawn labels will vary, from the predictions alone: the expected loss of
every pair of models on every image.

Conventions: ``agreement`` (J, J, I) is the score of model j on an image if model k were the truth: their
concordance, or 1 if classifiers agree, else 0. Pairs (P,) are in the order of ``numpy.triu_indices``, their
differences loss of the first minus loss of the second. The images given may be every s-th of a corpus of
``images``: each represents s of them. Variances are of LURE's means over that corpus; pairs that never differ
have none.
Source: Kossen et al. 2021 (an ensemble instead of the truth); Farquhar et al. 2021, theorem 3 (variance of
LURE); Rosen 1972 (probability of being among the first n drawn without replacement).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import RankingError

KNOTS = 20
# half a vote for classes that no model predicts; maps are right by degrees
OUTSIDE = {"classification": 0.5, "segmentation": 0.0}


@dataclass(frozen=True, eq=False)
class Moments:
    """Expected difference of each pair and its square (P, I), expected loss of each model and its square (J,
    I).
    """

    difference: np.ndarray
    difference_square: np.ndarray
    loss: np.ndarray
    loss_square: np.ndarray


@dataclass(frozen=True, eq=False)
class Curve:
    """Variance as a function of the number of labels: these values times 1 / n - 1 / pool, for pairs (K, P)
    and for models (K, J), at ``knots`` (K,), linear in between.
    """

    pool: int
    knots: np.ndarray
    pairs: np.ndarray
    models: np.ndarray


def moments(agreement: np.ndarray, outside: float = 0.0) -> Moments:
    """Return what to expect of every pair and model if each of the others in turn were the truth.

    A pair is judged by the models outside it. ``outside`` is the weight, in models, of a truth that no model
    predicts, and that costs each of them 1. With only two models, each in turn is taken as the truth, and is
    then half as much better than the other as their agreement leaves room for. RankingError for fewer than
    two models, another shape, or a weight below 0.

    >>> votes = np.array(
    ...     [[0, 0], [0, 1], [1, 1]]
    ... )  # the third says the second is right where both differ from the first
    >>> found = moments((votes[:, None] == votes).astype(float))
    >>> found.difference[0], found.difference_square[0], found.loss[0]
    (array([0., 1.]), array([0., 1.]), array([0.5, 1. ]))
    """
    agreement = np.asarray(agreement, dtype=float)
    if agreement.ndim != 3 or agreement.shape[0] != agreement.shape[1] or len(agreement) < 2:
        raise RankingError(
            "agreement must be models by models by images, of two models or more; got shape"
            f" {agreement.shape}"
        )
    if not outside >= 0:
        raise RankingError(
            f"the weight of a truth that no model says is a number of models, not below 0; got {outside}"
        )
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
    judges = max(j - 2, 1) + outside
    others = j - 1 + outside
    return Moments(
        apart / judges, apart_square / judges, (own + outside) / others, (square + outside) / others
    )


def inclusion(weights: np.ndarray, number: float) -> np.ndarray:
    """Return the probability (I,) of each image to be among ``number`` draws in proportion to ``weights``
    (I,): 1 - exp(-t w), with t such that they sum to ``number`` (Rosen 1972).

    >>> inclusion(np.array([1.0, 1.0, 1.0, 0.0]), 2).round(6)
    array([0.666667, 0.666667, 0.666667, 0.      ])
    """
    weights = np.asarray(weights, dtype=float)
    inside = weights > 0
    if number >= inside.sum():
        return inside.astype(float)
    own = weights[inside] / weights[inside].mean()
    low = 0.0
    high = 1.0
    while -np.expm1(-high * own).sum() < number:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if -np.expm1(-middle * own).sum() < number else (low, middle)
    out = np.zeros(len(weights))
    out[inside] = -np.expm1(-high * own)
    return out


def curve(weights: np.ndarray, expected: Moments, images: int | None = None) -> Curve:
    """Return how the variances fall when images are drawn in proportion to ``weights`` (I,), of a corpus of
    ``images`` (those given, by default).

    LURE's variance is the sum over its steps of what each adds, Farquhar et al. theorem 3, with the images
    left at step m replaced by the probability of each to be left: with u = 1 / (N - m) it is (1 / M - 1 / N)
    times the mean over u, up to u of M, of G = (N / (N - m))^2 (sum w sum x^2 / w - (sum x)^2) / N^2, the
    sums over what is left. With equal weights G is the variance of x. Models have no variance (NaN) if some
    image has no weight: no draw shows their loss there. RankingError if no image has a weight.

    >>> votes = np.array([[0, 0], [0, 1], [1, 1]])
    >>> curve(np.ones(2), moments((votes[:, None] == votes).astype(float))).pairs[
    ...     0
    ... ]  # of 0 and 1, of -1 and 1, of -1 and 0
    array([0.25, 1.  , 0.25])
    """
    weights = np.asarray(weights, dtype=float)
    inside = weights > 0
    if not inside.any():
        raise RankingError("no image has a weight: there is nothing to draw")
    times = (images or len(weights)) / len(weights)
    pool = max(round(times * inside.sum()), 1)
    total = times * len(weights)
    own = weights[inside]
    columns = [
        part[:, inside]
        for part in (expected.difference, expected.difference_square, expected.loss, expected.loss_square)
    ]
    knots = np.unique(
        np.r_[0, np.geomspace(1, pool / 2, KNOTS), pool - np.geomspace(pool / 50, pool / 2, KNOTS)].clip(
            0, 0.98 * pool
        )
    )
    added: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for number in knots.tolist():
        left = 1 - inclusion(own, number / times)
        scale = (times * pool / ((pool - number) * total)) ** 2
        for steps, one, two in zip(added, columns[::2], columns[1::2], strict=True):
            each = (left * own).sum() * (two @ (left / own)) - (one @ left) ** 2
            steps.append(scale * np.maximum(each, 0))
    u = 1 / (pool - knots)
    pairs, models = (_running_mean(np.array(steps), u) for steps in added)
    if not inside.all():
        models[:] = np.nan
    return Curve(pool, knots, np.round(pairs, 15), models)


def _running_mean(values: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return (K, R) the mean of values (K, R) from the first of u (K,) up to each, by the trapezoidal
    rule.
    """
    parts = np.diff(u)[:, None] * (values[1:] + values[:-1]) / 2
    return np.concatenate([values[:1], parts.cumsum(0) / (u[1:] - u[0])[:, None]])


def variance(found: Curve, numbers: np.ndarray, columns: np.ndarray, *, of: str = "pairs") -> np.ndarray:
    """Return the variance (..., R) of some ``columns`` (..., R) of pairs (or models) after ``numbers`` (...,)
    labels; 0 once the whole pool is labelled.

    >>> flat = Curve(100, np.array([1.0, 98]), np.array([[0.5], [0.5]]), np.zeros((2, 2)))
    >>> variance(flat, np.array([50, 100]), np.array([[0], [0]])).round(6).tolist()
    [[0.005], [0.0]]
    """
    table = found.pairs if of == "pairs" else found.models
    numbers = np.asarray(numbers, dtype=float)
    columns = np.asarray(columns, dtype=np.intp)
    above = np.clip(np.searchsorted(found.knots, numbers), 1, max(len(found.knots) - 1, 1))
    below = np.minimum(above, len(found.knots) - 1) - (len(found.knots) > 1)
    above = np.minimum(above, len(found.knots) - 1)
    width = np.where(above > below, found.knots[above] - found.knots[below], 1.0)
    share = np.clip((numbers - found.knots[below]) / width, 0, 1)[..., None]
    unit = (1 - share) * table[below[..., None], columns] + share * table[above[..., None], columns]
    return unit * np.maximum(1 / np.maximum(numbers, 1) - 1 / found.pool, 0)[..., None]
