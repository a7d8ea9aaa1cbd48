"""Which two models a campaign asks about first, if it may choose: those whose order is uncertain after the
answers so far (see `pair_choice`).

Conventions: an answer is worth 1 if it is for an item's first model, 0 for the second, a half for neither,
and NaN if it says nothing. An item that a person is answering counts as a half until it is answered, as if
two equal models had been answered as expected, so that several people are not sent to the same two.
Priorities depend on pairs alone: among the items of a pair their own order decides.

Which two models to show next: the pairs whose order is uncertain and for which an answer is most informative.

Conventions: ``wins`` (J, J) are wins of the row model over the column model, halves for answers that chose
neither. Scores are Bradley and Terry's, natural logarithms of mean zero; their posterior is approximated as
normal about its mode. Its prior is ``pseudo_count`` wins of each model over all others together and as many
losses, spread evenly over the other models, including those it never met: unlike in a ranking this is wanted
here, where pairs that were never asked about must not count as known. A pair's priority is the standard
deviation of its order, sqrt(q (1 - q)), q the probability of the order opposite to the current estimate,
times the share of the variance of its difference that one more answer would remove: q itself would spend
nearly all answers on two nearly equal models. Answers that were asked for adaptively rank models like any
others; a share of wins over the pairs asked is no longer a fair mean.

``number`` is how many pairs to return.

Source: Bradley and Terry 1952; the normal posterior and the choice by expected information: Glickman and
Jensen 2005; the weight by the uncertainty of the order is ours. Compared with pairs in turn, for the same
mean rank correlation in simulations (true scores normal, with standard deviation 1): 8 models 128 answers
instead of 160 for .9, 304 instead of 544 for .95; 12 models 192 instead of 240 and 408 instead of 600; 20
models 320 instead of 360 and 640 instead of 760. Up to .8, where 5 to 8 answers per model are enough, it
saves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, ndtr

from faultscape.errors import OptionError, RankingError
from faultscape.ranking.methods.likelihood import maximise

FEWEST_MODELS = 7  # with fewer, all pairs are soon known equally well
_IN_HAND = 0.5
PSEUDO_COUNT = 0.5


class PairOrder:
    """The choices between every two models, and what to ask next. Not thread-safe."""

    def __init__(self) -> None:
        self._worth: dict[tuple[str, str, int], float] = {}
        self._pair: dict[str, tuple[int, int]] = {}
        self._first = self._second = np.zeros(0, np.int64)
        self._wins, self._known = np.zeros((0, 0)), np.zeros(0)

    def ask(self, items: Mapping[str, tuple[str, str]], order: Sequence[str]) -> None:
        """Ask items {id: (first, second)} from now on; priorities are in this ``order`` of their ids."""
        models = sorted({name for pair in items.values() for name in pair})
        place = {name: k for k, name in enumerate(models)}
        self._pair = {id_: (place[first], place[second]) for id_, (first, second) in items.items()}
        self._first, self._second = np.array([self._pair[id_] for id_ in order], np.int64).reshape(-1, 2).T
        self._wins, self._known = np.zeros((len(models), len(models))), np.zeros(0)
        for (_, id_, _), worth in self._worth.items():
            self._count(id_, worth, 1.0)

    def note(self, who: str, item: str, repeat: int, worth: float | None) -> None:
        """Record what an answer is worth, or that it was withdrawn (None), so that the item is pending
        again.
        """
        key = (who, item, repeat)
        self._count(item, self._worth.pop(key, np.nan), -1.0)
        self._worth[key] = _IN_HAND if worth is None else worth
        self._count(item, self._worth[key], 1.0)

    def hold(self, who: str, item: str, repeat: int) -> None:
        """Mark an item as being answered, unless it has been answered."""
        if (who, item, repeat) not in self._worth:
            self.note(who, item, repeat, None)

    def release(self, who: str, item: str, repeat: int) -> None:
        """Mark an item as no longer being answered."""
        self._count(item, self._worth.pop((who, item, repeat), np.nan), -1.0)

    def priorities(self) -> np.ndarray:
        """Return (I,) how informative an answer to each item would be.

        >>> pairs = PairOrder()
        >>> pairs.ask({"x": ("fcn", "unet"), "y": ("fcn", "zebra")}, ["y", "x"])
        >>> pairs.hold("ann", "x", 0)
        >>> bool(pairs.priorities().argmax() == 0)  # of y, which nobody has in hand
        True
        """
        if not len(self._known):
            worth = pair_priorities(score_posterior(self._wins)) if len(self._wins) > 1 else self._wins
            self._known = worth[self._first, self._second].round(9)
        return self._known

    def _count(self, item: str, worth: float, sign: float) -> None:
        if item in self._pair and not np.isnan(worth):
            first, second = self._pair[item]
            self._wins[first, second] += sign * worth
            self._wins[second, first] += sign * (1 - worth)
            self._known = np.zeros(0)


@dataclass(frozen=True, eq=False)
class ScorePosterior:
    """Scores (J,), large = good, and their posterior covariance (J, J); both of mean zero over models."""

    scores: np.ndarray
    covariance: np.ndarray


def score_posterior(wins: ArrayLike, pseudo_count: float = PSEUDO_COUNT) -> ScorePosterior:
    """Return Bradley and Terry's scores and their covariance; RankingError for wins that are not a square
    matrix of two models or more, or below 0, OptionError for a pseudo-count not above 0.

    >>> found = score_posterior(np.array([[0.0, 7.5], [0.5, 0.0]]))
    >>> found.scores.round(6), (found.covariance[0, 0] * 4).round(6)  # log(8 / 1) / 2; 1 / (9 x 8/9 x 1/9)
    (array([ 1.039721, -1.039721]), np.float64(1.125))
    """
    wins = np.array(wins, float)
    if wins.ndim != 2 or wins.shape[0] != wins.shape[1] or len(wins) < 2:
        raise RankingError(f"wins must be (models, models), two or more models; got shape {wins.shape}")
    if not (np.isfinite(pseudo_count) and pseudo_count > 0):
        raise OptionError(f"the pseudo-count must be a number above 0; got {pseudo_count}")
    j = len(wins)
    wins = np.nan_to_num(wins) + pseudo_count / (j - 1)
    np.fill_diagonal(wins, 0.0)
    scores = maximise(wins, log_expit, lambda x: (expit(-x), expit(x) * expit(-x)))
    information = (wins + wins.T) * _spread(scores)
    curve = np.diag(information.sum(1)) - information
    flat = np.full((j, j), 1 / j)  # the shift, which no answer determines
    covariance = np.linalg.inv(curve + flat) - flat
    return ScorePosterior(scores, (covariance + covariance.T) / 2)


def pair_priorities(posterior: ScorePosterior) -> np.ndarray:
    """Return (J, J) the value of asking about each pair of models, symmetric, 0 on the diagonal.

    >>> wins = np.array([[0.0, 5, 9], [5, 0, 9], [1, 1, 0]])  # the first two are as good, the third is worse
    >>> bool(pair_priorities(score_posterior(wins)).argmax() == 1)
    True
    """
    return _priorities(posterior.scores, posterior.covariance)


def next_pairs(wins: ArrayLike, number: int, pseudo_count: float = PSEUDO_COUNT) -> np.ndarray:
    """Return (N, 2) the pairs to ask about next, the most informative first, each chosen as if the previous
    ones had been answered as expected.

    Among equal pairs the first is taken. RankingError and OptionError as ``score_posterior``; OptionError for
    fewer than one.

    >>> next_pairs(np.zeros((3, 3)), 3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    if number < 1:
        raise OptionError(f"expected a number of pairs, 1 or more; got {number}")
    posterior = score_posterior(wins, pseudo_count)
    covariance = posterior.covariance
    spread = _spread(posterior.scores)
    out = np.empty((number, 2), np.int64)
    upper = np.triu(np.ones(covariance.shape, bool), 1)
    for row in out:
        gain = np.where(upper, _priorities(posterior.scores, covariance).round(12), -1.0)
        a, b = row[:] = np.unravel_index(int(gain.argmax()), gain.shape)
        along = covariance[:, a] - covariance[:, b]
        covariance = covariance - np.outer(along, along) * (
            spread[a, b] / (1 + spread[a, b] * (along[a] - along[b]))
        )
    return out


def _spread(scores: np.ndarray) -> np.ndarray:
    """Return (J, J) the variance p (1 - p) of an answer, its information about the difference of two
    scores.
    """
    apart = scores[:, None] - scores
    return expit(apart) * expit(-apart)


def _priorities(scores: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    own = np.diag(covariance)
    variance = np.maximum(own[:, None] + own - 2 * covariance, np.finfo(float).tiny)
    told = _spread(scores) * variance
    wrong = ndtr(-np.abs(scores[:, None] - scores) / np.sqrt(variance))
    out = np.sqrt(wrong * (1 - wrong)) * told / (1 + told)
    np.fill_diagonal(out, 0.0)
    return out
