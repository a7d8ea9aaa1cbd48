"""Confusion counts of a pool from points: what a belief expects of all pixels, corrected by what the points
show.

Conventions: counts are (J, C + 1, C + 1), model, prediction, true class; the last prediction stands for
none, the last true class for void. A point of tuple x and true class y adds (y - p(x)) / q to the totals
that the belief p expects, q being its probability; the mean over draws is unbiased whatever the belief,
since it was learnt from other points: the draws are split into folds, and each is corrected against the
belief of all others. Boxes only narrow beliefs; a mask is exact, and what else is known of its image says
nothing more. A draw with several points (a look) adds their mean. Points without an answer are left
out, as if they had not been drawn; their share is reported, and what they leave open
(``open_ranges``). Source: Hansen and Hurwitz 1943 (unequal probabilities, with replacement);
difference estimators: Cassel, Sarndal and Wretman 1976; cross-fitting: Chernozhukov et al. 2018, Zrnic and
Candes 2024.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import RankingError
from faultscape.ranking.points.answers import GONE, PointAnswers
from faultscape.ranking.points.belief import Belief, fit_beliefs, prior_belief
from faultscape.ranking.points.box_states import BoxStates
from faultscape.ranking.points.pool import Pool
from faultscape.ranking.points.scores import Score

FOLDS = 5
_BLOCK = 2000  # points at once


@dataclass(frozen=True, eq=False)
class PointTotals:
    """Confusion counts of a pool, and the draws behind them.

    ``believed`` are the counts that the belief learnt from all points expects, ``expected`` the same under
    the beliefs of the folds (both with what masks know). ``guess`` (M, C + 1) is what the belief of the
    other folds expects of each point, and ``weight`` (M,) one over its probability and the number of points
    of its look; ``left`` (M, C + 1), what each point adds, is what it shows less the guess, times the
    weight. ``look`` (M,) numbers the ``draws`` with an answer, and ``said`` (J, M) are the predictions at
    the points. ``missing``, ``missing_guess`` and ``missing_weight`` hold the predictions (J, K) and weights
    (K,) of the points that could not be answered and what the belief expects there (K, Y), and
    ``missing_draws`` is how many more draws there would be with answers to these. ``seen`` (C,) says whether
    any answer or mask has a class.
    """

    pool: Pool
    belief: Belief
    believed: np.ndarray
    expected: np.ndarray
    guess: np.ndarray
    weight: np.ndarray
    left: np.ndarray
    look: np.ndarray
    said: np.ndarray
    draws: int
    missing: np.ndarray
    missing_guess: np.ndarray
    missing_weight: np.ndarray
    missing_draws: int
    seen: np.ndarray

    @property
    def correction(self) -> np.ndarray:
        """(J, C + 1, C + 1) what the points add to the expected counts."""
        out = np.zeros(self.expected.shape)
        for own, table in zip(self.said, out, strict=True):
            np.add.at(table, own, self.left)
        return out / max(self.draws, 1)

    @property
    def corrected(self) -> np.ndarray:
        """(J, C + 1, C + 1) the unbiased estimate of the counts; single ones may be negative."""
        return self.expected + self.correction

    def by_draw(self, values: np.ndarray) -> np.ndarray:
        """Return (..., N) sums over the points of each draw of values (..., M)."""
        values = np.asarray(values, dtype=float)
        flat = values.reshape(-1, values.shape[-1])
        out = np.array([np.bincount(self.look, row, self.draws)[: self.draws] for row in flat])
        return out.reshape(*values.shape[:-1], self.draws)

    def terms(self, slopes: np.ndarray) -> np.ndarray:
        """Return (J, N) what each draw adds to a score with these slopes (J, C + 1, C + 1)."""
        return self.by_draw(self.by_point(slopes))

    def by_point(self, slopes: np.ndarray) -> np.ndarray:
        """Return (J, M) what each point adds, of which a draw is the sum."""
        return np.array(
            [(table[own] * self.left).sum(1) for own, table in zip(self.said, slopes, strict=True)]
        )

    def expected_covariance(self, there: Score) -> np.ndarray:
        """Return (J, J) the covariance of the mean of `terms`, at the points drawn, if the belief were
        right, for the score whose slopes they take.

        No answer moves a class by more than its values from 0 to 1 allow: at a pixel with a small
        probability, first order would let one answer about a rare class outweigh all others.
        """
        models = len(self.said)
        pixels = self.weight / max(self.draws, 1)
        out = np.zeros((models, models))
        for low in range(0, len(self.guess), _BLOCK):
            some = slice(low, low + _BLOCK)
            guess = self.guess[some]
            values = there.bounded_changes(self.said[:, some], pixels[some])
            values -= (values * guess).sum(2, keepdims=True)
            values *= np.sqrt(guess)
            flat = values.reshape(models, -1)
            out += flat @ flat.T
        return out


def point_totals(pool: Pool, answers: PointAnswers, *, void: bool = True, folds: int = FOLDS) -> PointTotals:
    """Return the confusion counts of a pool from the points answered.

    ``void`` says whether the truth may be void; ``folds`` into how many parts the draws are split. Without
    any answer, the counts are those that equal votes expect. Errors: RankingError for answers of another
    number of classes, tuples that the pool lacks, or void answers where the truth has no void.

    >>> from faultscape.ranking.points.pool import PointPool
    >>> pool = PointPool(np.array([[0, 0, 1], [0, 1, 1]]), np.array([70, 10, 20]), classes=2)
    >>> answers = PointAnswers(np.array([0, 1, 1, 2]), np.full(4, 0.01), np.eye(3)[[0, 0, 0, 1]])
    >>> found = point_totals(pool, answers, void=False)
    >>> bool((found.corrected.sum((1, 2)).round(9) == 100).all())  # every pixel has a prediction and a class
    True
    """
    classes = pool.classes
    truths = classes + 1 if void else classes
    _check(pool, answers, truths)
    known = answers.known
    counted = known | (answers.place == GONE)  # a point that left the pool is a draw that found nothing in it
    looks, look = np.unique(answers.look[counted], return_inverse=True)
    there = known[counted]
    points = np.bincount(look, minlength=len(looks))
    place = answers.place[known]
    said = pool.said[:, place]
    boxes = _of(pool, place)
    shares = answers.shares[known][:, :truths]
    weight = 1 / answers.probability[known] / points[look[there]]
    fold = look[there] % folds
    folds = int(min(folds, len(looks)))
    if folds > 1:
        whole, others = fit_beliefs(said, shares, classes, fold, boxes)
        others += [whole] * (folds - len(others))  # the last folds may hold only draws that left the pool
        sizes = np.bincount(np.arange(len(looks)) % folds, minlength=len(others)) / len(looks)
    else:  # a single draw corrects nothing but the prior
        whole, others = prior_belief(pool.models, classes, truths), []
        sizes = np.zeros(0)
    believed, *expected_by = (_padded(found, classes) for found in pool.confusions([whole, *others]))
    expected = np.zeros(believed.shape) if others else believed
    guess = np.zeros((len(place), classes + 1))
    for k, (belief, size) in enumerate(zip(others, sizes, strict=True)):
        own = fold == k
        expected += size * expected_by[k]
        guess[own, :truths] = belief.probabilities(said[:, own], boxes and boxes.of(own))
    if not others:
        guess[:, :truths] = whole.probabilities(said, boxes)
    missing = answers.missing
    untold = answers.place[missing]
    seen = pool.known[0, :, :-1].sum(0) + answers.shares[known].sum(0)[:-1] > 0
    return PointTotals(
        pool,
        whole,
        believed + pool.known,
        expected + pool.known,
        guess,
        weight,
        (answers.shares[known] - guess) * weight[:, None],
        look[there],
        said,
        len(looks),
        pool.said[:, untold],
        whole.probabilities(pool.said[:, untold], _of(pool, untold)),
        1 / answers.probability[missing] / np.bincount(answers.look)[answers.look[missing]],
        answers.draws - len(looks),
        seen,
    )


def _check(pool: Pool, answers: PointAnswers, truths: int) -> None:
    shape = answers.shares.shape[1]
    if shape != pool.classes + 1:
        raise RankingError(
            f"answers are about {shape - 1} classes, the pool has {pool.classes}; expected the same classes"
        )
    if len(answers.place) and not GONE <= answers.place.min() <= answers.place.max() < pool.said.shape[1]:
        raise RankingError(
            f"points lie in tuples {answers.place.min()} to {answers.place.max()}; the pool has"
            f" {pool.said.shape[1]}"
        )
    if truths == pool.classes and answers.shares[:, -1].any():
        raise RankingError("some answers are void, but the truth has no void; expected void=True")


def _of(pool: Pool, place: np.ndarray) -> BoxStates | None:
    """Return what boxes leave open in some tuples of a pool."""
    return None if pool.boxes is None else pool.boxes.of(place)


def _padded(confusion: np.ndarray, classes: int) -> np.ndarray:
    """Return the counts with a column of void, of zeros where the truth has none."""
    return np.pad(confusion, ((0, 0), (0, 0), (0, classes + 1 - confusion.shape[2])))
