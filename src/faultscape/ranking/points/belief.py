"""What the models' predictions at a pixel say about its true class, learnt from the points answered so far.

Conventions: p(y | tuple) is proportional to exp(bias_y + sum_j votes[j, said_j, y]): a table of votes (J, C
+ 1, Y) and a bias (Y,), Y being C, or C + 1 where the truth may be void. A table is the sum of a trust of
each model (its vote for the class that it predicts), a table that all models share (which classes are taken
for which), and a part of the model's own; normal priors hold the trust at equal votes and the rest at zero
until enough points say otherwise, the more so the more numbers a part has. Where boxes were drawn
(`box_states`), a class that they shut out, and one with a box there, has log-odds more (2, C), which answers
teach like the rest: wrong boxes lose their say. Draws depend on the tuple and its boxes alone, so answers
need no weights here. Whatever the belief is, corrected totals are unbiased: it decides how wide
intervals are, and what few points are shrunk to.

``shares`` (M, Y) are the true classes of points: one 1, or several parts.

Source: the model is multinomial logistic regression; priors as in hierarchical models (Gelman and Hill
2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from faultscape.ranking.points.box_states import OPEN, SHUT, BoxStates

VOTE = 2.0  # prior log-odds of a vote, at most
VOTES = 7.0  # and of all votes together, since models err together
LOOSE = 1.0  # precision of the priors of trust and bias
TIGHT = 5.0  # precision of the priors of the tables: the shared one, and each model's own
# prior log-odds that boxes add to a class: where they shut it out, and inside one of its boxes; classes fill
# half of theirs
BOXED = (-5.0, 1.0)
STEPS = 200


@dataclass(frozen=True, eq=False)
class Belief:
    """The table of votes (J, C + 1, Y), the bias of the true classes (Y,), and what boxes add (2, C).

    ``boxes`` are those of the tuples asked about, None where nobody drew any.
    """

    votes: np.ndarray
    bias: np.ndarray
    boxed: np.ndarray

    def probabilities(self, said: np.ndarray, boxes: BoxStates | None = None) -> np.ndarray:
        """Return (M, Y) the probabilities of the true classes where the models say ``said`` (J, M)."""
        from faultscape.ranking.points.kernels.plain_belief_sums import probabilities

        return probabilities(said, *self._arrays(said, boxes))

    def confusion(self, said: np.ndarray, pixels: np.ndarray, boxes: BoxStates | None = None) -> np.ndarray:
        """Return (J, C + 1, Y) expected counts by prediction and true class, of tuples (J, X) with their
        numbers of pixels (X,).
        """
        return kernels().expected_confusion(said, pixels, *self._arrays(said, boxes))

    def slopes(self, said: np.ndarray, slopes: np.ndarray, boxes: BoxStates | None = None) -> np.ndarray:
        """Return (J, X) the expectation of ``slopes`` (J, C + 1, Y) at each tuple."""
        return kernels().expected_slopes(said, *self._arrays(said, boxes), slopes)

    def variance(
        self,
        said: np.ndarray,
        slopes: np.ndarray,
        weights: np.ndarray,
        reference: np.ndarray,
        boxes: BoxStates | None = None,
    ) -> np.ndarray:
        """Return (X,) how much ``slopes`` less their mean by ``reference`` (J,), which sums to 1 or is 0,
        vary with the true class, summed over models by ``weights`` (J,).
        """
        return kernels().slope_variance(said, *self._arrays(said, boxes), slopes, weights, reference)

    def _arrays(self, said: np.ndarray, boxes: BoxStates | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the votes, the biases (P, Y) of each row of box states, and which row (X,) each tuple
        has.
        """
        if boxes is None:
            return self.votes, self.bias[None], np.zeros(said.shape[1], np.uint32)
        biases = np.tile(self.bias, (len(boxes.states), 1))
        biases[:, : self.boxed.shape[1]] += (_told(boxes.states) * self.boxed[:, None]).sum(0)
        return self.votes, biases, boxes.place


def _told(states: np.ndarray) -> np.ndarray:
    """Return (2, P, C) which classes boxes shut out, and which have a box there."""
    return np.stack([states == SHUT, states == OPEN]).astype(float)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Where each part of the belief lies among its numbers, and the precision of each number's prior."""

    models: int
    classes: int
    truths: int
    boxes: bool = False

    @property
    def precision(self) -> np.ndarray:
        table = (self.classes + 1) * self.truths
        tables = np.full((1 + self.models) * table, TIGHT)
        loose = np.full(self.models + self.truths, LOOSE)
        # what boxes add to all classes, and to each more
        boxed = [np.full(2, LOOSE), np.full(2 * self.classes, TIGHT)] if self.boxes else []
        return np.concatenate([loose, tables, *boxed])

    def belief(self, numbers: np.ndarray) -> Belief:
        """Return the belief that ``numbers``, measured from the prior, stand for."""
        table = (self.classes + 1) * self.truths
        ends = np.cumsum([self.models, self.truths, table, self.models * table])
        trust, bias, shared, own, boxes = np.split(numbers, ends)
        votes = own.reshape(self.models, self.classes + 1, self.truths)
        # each model has its part of what they share
        votes = votes + shared.reshape(votes.shape[1:]) / np.sqrt(self.models)
        same = np.arange(self.classes)
        votes[:, same, same] += (min(VOTE, VOTES / self.models) + trust)[:, None]
        boxed = np.tile(np.array(BOXED)[:, None], self.classes)
        if self.boxes:
            boxed += boxes[:2, None] + boxes[2:].reshape(2, -1)
        return Belief(votes, bias, boxed)

    def gradient(self, votes: np.ndarray, bias: np.ndarray, boxed: np.ndarray) -> np.ndarray:
        """Return the gradient by the numbers from that by votes, bias and what boxes add."""
        same = np.arange(self.classes)
        return np.concatenate(
            [
                votes[:, same, same].sum(1),
                bias,
                votes.sum(0).ravel() / np.sqrt(self.models),
                votes.ravel(),
                *([boxed.sum(1), boxed.ravel()] if self.boxes else []),
            ]
        )


def prior_belief(models: int, classes: int, truths: int) -> Belief:
    """Return the belief before any answer: every model has the same vote for the class that it predicts.

    >>> belief = prior_belief(2, 2, 2)
    >>> belief.probabilities(np.array([[0, 0], [0, 1]])).round(2).tolist()  # both say 0; they differ
    [[0.98, 0.02], [0.5, 0.5]]
    """
    parts = _Parts(models, classes, truths)
    return parts.belief(np.zeros(len(parts.precision)))


def fit_beliefs(
    said: np.ndarray,
    shares: np.ndarray,
    classes: int,
    folds: np.ndarray,
    boxes: BoxStates | None = None,
) -> tuple[Belief, list[Belief]]:
    """Return the most probable belief given answers ``shares`` (M, Y) where the models say (J, M) and people
    drew ``boxes``, and for each of the ``folds`` (M,), numbered from 0, that given all answers but its own.

    >>> said = np.array([[0, 0, 1, 1, 1, 1], [0, 1, 0, 0, 0, 0]])
    >>> whole, _ = fit_beliefs(said, np.eye(2)[[0, 0, 1, 1, 1, 1]], 2, np.zeros(6, int))
    >>> whole.probabilities(np.array([[0], [1]])).round(
    ...     1
    ... ).tolist()  # the first was right whenever they differed
    [[0.8, 0.2]]
    """
    parts = _Parts(len(said), classes, shares.shape[1], boxes is not None)
    spread = np.concatenate([np.eye(classes + 1)[own] for own in said], axis=1)  # (M, J (C + 1))
    told = _told(np.zeros((len(shares), classes)) if boxes is None else boxes.states[boxes.place])
    whole = _fit(parts, spread, told, shares, np.zeros(len(parts.precision)))
    others = [
        _fit(parts, spread[folds != k], told[:, folds != k], shares[folds != k], whole)
        for k in range(int(folds.max(initial=-1)) + 1)
    ]
    return parts.belief(whole), [parts.belief(numbers) for numbers in others]


def _fit(
    parts: _Parts, spread: np.ndarray, told: np.ndarray, shares: np.ndarray, start: np.ndarray
) -> np.ndarray:
    from scipy.optimize import minimize

    precision = parts.precision
    weight = shares.sum(1)

    def loss(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        belief = parts.belief(numbers)
        score = spread @ belief.votes.reshape(-1, parts.truths) + belief.bias
        if parts.boxes:
            score[:, : parts.classes] += (told * belief.boxed[:, None]).sum(0)
        largest = score.max(1, keepdims=True)
        p = np.exp(score - largest)
        total = p.sum(1, keepdims=True)
        left = p / total * weight[:, None] - shares
        value = (weight[:, None] * (np.log(total) + largest)).sum() - (shares * score).sum()
        votes = (spread.T @ left).reshape(belief.votes.shape)
        boxed = (told * left[:, : parts.classes]).sum(1) if parts.boxes else belief.boxed
        return (
            float(value + (precision * numbers**2).sum() / 2),
            parts.gradient(votes, left.sum(0), boxed) + precision * numbers,
        )

    if not len(spread):
        return np.zeros(len(precision))
    options = {"maxiter": STEPS, "ftol": 1e-9, "gtol": 1e-4}
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x)


def kernels() -> ModuleType:
    """Return the compiled sums, or their plain equivalent without numba."""
    try:
        from faultscape.ranking.points.kernels import belief_sums as compiled
    except ImportError:
        from faultscape.ranking.points.kernels import plain_belief_sums as compiled
    return compiled
