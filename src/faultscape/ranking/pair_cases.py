"""What the labels say about two classifiers on the images chosen for them: accuracies, and the cases I, II,
III, for every pair.

Conventions: J models, I images with labels, S slots, B sets of weights. A slot is an unordered pair and an
image; ``correct`` (J, I) is 1, 0 or NaN (no label, or a partial label that does not decide). A slot counts if
both of its models are decided, so that both sides of a ratio are taken over the same images. An image counts
once for every pair that chose it.
Source: Wang et al. 2020, section 2.1; cases I (both right), II (one right), III (both wrong).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays

_CHUNK = 2_000_000  # numbers in the largest temporary array, 16 MB


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Weighted numbers of images (B, J, J): symmetric, except ``wins``, the images that the row model gets
    right and the column model wrong.

    ``total`` decided images of the pair; ``both_right`` case I; ``both_wrong`` case III. Case II is ``wins``
    plus its transpose.
    """

    total: np.ndarray
    both_right: np.ndarray
    wins: np.ndarray
    both_wrong: np.ndarray

    @property
    def correct(self) -> np.ndarray:
        """Images (B, J, J) of the pair that the row model gets right: case I, and case II if it wins."""
        return self.both_right + self.wins

    @property
    def ties(self) -> np.ndarray:
        """Images (B, J, J) of the pair that do not distinguish its models: cases I and III."""
        return self.both_right + self.both_wrong


def pair_counts(
    first: np.ndarray,
    second: np.ndarray,
    image: np.ndarray,
    correct: np.ndarray,
    weights: np.ndarray | None = None,
    apart: np.ndarray | None = None,
) -> PairCounts:
    """Return the counts of every pair from its own slots.

    ``first``, ``second``, ``image`` (S,) are places of models and columns of ``correct`` (J, I); image -1 has
    no label. ``weights`` (B, I) count the images, ones by default (B = 1). With ``apart`` (J, I), how far
    each answer is from the label, NaN where unknown, of two wrong answers the nearer one wins. RankingError
    for a model paired
    with itself, or an answer other than 0, 1 or NaN.

    >>> correct = np.array([[1, 1, 0, 1], [0, 1, 0, np.nan]])
    >>> counts = pair_counts([0, 1, 0, 0], [1, 0, 1, 1], [0, 1, 2, 3], correct)
    >>> counts.total[0, 0, 1], counts.correct[0, 0, 1], counts.correct[0, 1, 0]
    (np.float64(3.0), np.float64(2.0), np.float64(1.0))
    """
    first, second, image = (
        checked_arrays.whole_numbers(column, name, RankingError, "S").astype(np.intp, copy=False)
        for name, column in (("first", first), ("second", second), ("image", image))
    )
    checked_arrays.same_shape(RankingError, first=first, second=second, image=image)
    correct = checked_arrays.numbers(correct, "correct", RankingError, "J x I").astype(float, copy=False)
    j, i = correct.shape
    for name, places, low, end in (("first", first, 0, j), ("second", second, 0, j), ("image", image, -1, i)):
        if len(places) and not low <= places.min() <= places.max() < end:
            raise RankingError(
                f"{name} goes from {places.min()} to {places.max()}; correct has places 0 to {end - 1}"
            )
    weights = np.ones((1, i)) if weights is None else np.asarray(weights, dtype=float)
    if (first == second).any():
        raise RankingError("a slot pairs a model with itself; give two different models")
    if not np.isin(correct[~np.isnan(correct)], (0, 1)).all():
        raise RankingError("answers must be 1 (right), 0 (wrong) or NaN (not decided)")
    low = np.minimum(first, second)
    high = np.maximum(first, second)
    low, high, image = np.unique(np.stack([low, high, image]), axis=1) if len(image) else (low, high, image)
    decided = image >= 0
    decided[decided] = ~np.isnan(
        correct[low[decided], image[decided]] + correct[high[decided], image[decided]]
    )
    low = low[decided]
    high = high[decided]
    image = image[decided]
    one = correct[low, image] > 0
    other = correct[high, image] > 0
    if apart is not None:  # case III by S2 eq. 3
        wrong = ~one & ~other
        ahead = apart[high, image] - apart[low, image]  # NaN is ahead of nothing
        one = one | (wrong & (ahead > 0))
        other = other | (wrong & (ahead < 0))

    pair = low * j + high  # sorted by np.unique
    pairs, start = np.unique(pair, return_index=True)
    sums = np.zeros((len(weights), 4, j * j))
    step = max(1, _CHUNK // max(len(image), 1))
    for b in range(0, len(weights), step) if len(image) else ():
        drawn = weights[b : b + step, image]
        for k, case in enumerate((one & other, one & ~other, ~one & other, ~one & ~other)):
            sums[b : b + step, k, pairs] = np.add.reduceat(drawn * case, start, axis=1)
    right, won, lost, wrong = np.moveaxis(sums.reshape(len(weights), 4, j, j), 1, 0)
    right, wrong = (upper + np.swapaxes(upper, 1, 2) for upper in (right, wrong))
    wins = won + np.swapaxes(lost, 1, 2)
    return PairCounts(right + wrong + wins + np.swapaxes(wins, 1, 2), right, wins, wrong)
