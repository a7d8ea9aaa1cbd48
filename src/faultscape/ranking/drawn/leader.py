"""Which classifier leads after a few labels: the order that the models' agreement lets expect, corrected by
labels as far as they contradict it.

Conventions: ``labels`` (J, N) are predicted classes of a pool, ``scores`` (J, M) 1 for right and 0 for wrong
on the labelled images. A margin is a score minus the mean over models. Agreement alone often finds the best
of many models, and may be wrong about all of them, so it counts as an unknown number k of labels: the mean
residual r of M labels (margin minus expected margin) has the variance v (1/M + 1/k) a model, where v is that
of one label. Averaged over k in proportion to the likelihood, the margins are expected + r M / (M + k).

Source: ours; agreement is the one-coin model of Dawid and Skene 1979, the correction a normal prior of
unknown weight (empirical Bayes, Efron and Morris 1973). Measured: docs/benchmarks/choice.md.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays

PRIOR = 8  # labels that agreement counts for in the weight of a model's vote
WORTH = np.geomspace(0.1, 2048, 28)  # how many labels agreement may be worth
NOISE = 5  # labels that count for the variance of one label as votes let expect it
_ROUNDS = 3
_LEAST_VOTE = 0.01
_EXTREME = 0.02


class Consensus:
    """What all models together say about each image of a pool, from labels (J, N) and the number of classes.

    ``noise`` is the variance of one label's margins, summed over models, if each model in turn were right.

    >>> all_of_them = Consensus(np.array([[0, 1, 0], [0, 1, 2], [0, 2, 1]]), classes=3)
    >>> all_of_them(np.zeros((3, 0))).round(2)
    array([[1.  , 0.89, 0.4 ],
           [1.  , 0.89, 0.4 ],
           [1.  , 0.11, 0.19]])
    """

    def __init__(self, labels: np.ndarray, classes: int) -> None:
        labels = checked_arrays.numbers(labels, "labels", RankingError, "J x N")
        j, images = labels.shape
        if not j or not images:
            raise RankingError(f"labels: expected models and images, J x N; got shape {labels.shape}")
        first = np.zeros((j, images), np.intp)  # the first model that says the same
        for k in range(j - 1, -1, -1):
            first = np.where(labels == labels[k], k, first)
        self._first = first
        self._cell = (first * images + np.arange(images)).ravel()
        self._named = first == np.arange(j)[:, None]
        self._odds = max(classes - 1, 1)  # a wrong answer is one of so many
        self._agree = np.full(j, 0.5)
        votes = np.ones(j)
        for _ in range(_ROUNDS):
            self._agree = (self._right(votes).mean(1) * images + 1) / (images + 2)
            votes = self._votes(self._agree)
        same = self._mass(np.ones(j))
        # the variance of margins if each model in turn were right, summed over models
        share = same / j
        spread = (share * (1 - share)).sum(0)
        level = (share * same).sum(0) - share.sum(0) ** 2
        self.noise = float((spread - level / j).mean())

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return (J, N) how likely each model's answer is right, given scores (J, M) on the labels so far."""
        number = scores.shape[1]
        accuracy = (self._agree * PRIOR + scores.sum(1)) / (PRIOR + number)
        return self._right(self._votes(np.clip(accuracy, _EXTREME, 1 - _EXTREME)))

    def _votes(self, accuracy: np.ndarray) -> np.ndarray:
        return np.maximum(np.log(accuracy / (1 - accuracy) * self._odds), _LEAST_VOTE)

    def _mass(self, weight: np.ndarray) -> np.ndarray:
        """Return (J, N) the total weight of the models that say the same as each model."""
        j, images = self._first.shape
        total = np.bincount(self._cell, np.repeat(weight, images), j * images).reshape(j, images)
        return np.take_along_axis(total, self._first, 0)

    def _right(self, votes: np.ndarray) -> np.ndarray:
        told = self._mass(votes)
        likely = np.exp(told - told.max(0))
        return likely / np.where(self._named, likely, 0.0).sum(0)


def leading_margins(scores: np.ndarray, expected: np.ndarray, places: np.ndarray, noise: float) -> np.ndarray:
    """Return (J,) the margins on the pool, large = good, from scores (J, M) of the images at ``places`` (M,)
    of the pool, the scores ``expected`` (J, N) on all of it, and the ``noise`` of one label, summed over
    models; M may be 0.

    >>> expected = np.array([[0.9, 0.9, 0.3], [0.1, 0.9, 0.7]])
    >>> leading_margins(np.zeros((2, 0)), expected, np.zeros(0, int), noise=0.2).round(3)
    array([ 0.067, -0.067])
    >>> leading_margins(np.array([[0.0], [1.0]]), expected, np.array([0]), noise=0.2).round(3)
    array([-0.457,  0.457])
    """
    said = expected - expected.mean(0)
    residual = scores - scores.mean(0) - said[:, places]
    return said.mean(1) + believed(residual, noise) * residual.sum(1) / max(len(places), 1)


def believed(residual: np.ndarray, noise: float) -> float:
    """Return how far the mean of residuals (J, M) is believed, from 0 to 1.

    >>> rng = np.random.default_rng(0)
    >>> right = rng.normal(0, 0.1, (4, 20))
    >>> round(believed(right, 0.04), 2), round(believed(right + [[0.3], [0.1], [-0.1], [-0.3]], 0.04), 2)
    (0.25, 0.99)
    """
    number = residual.shape[1]
    if not number:
        return 0.0
    average = residual.mean(1)
    within = ((residual - average[:, None]) ** 2).sum()
    one = (NOISE * noise + within) / (NOISE + number - 1)
    if one <= 0:
        return 1.0
    variance = one * (1 / number + 1 / WORTH)
    fit = -(len(residual) - 1) / 2 * (np.log(variance) + (average**2).sum() / variance)
    likely = np.exp(fit - fit.max())
    return float((likely * number / (number + WORTH)).sum() / likely.sum())
