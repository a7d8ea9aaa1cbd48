"""Draws of images without replacement, step by step, each with the probability that an unbiased estimate
needs.

Conventions: ``weights`` (I,) are not negative; an image of weight zero is never drawn and not in the pool.
The probability of step m is that of the image among those left at that step, w_i / (sum of w over the pool
without earlier draws). Step m uses the m-th number of the seed's stream whatever came before. So N draws
followed by M more are the N + M draws, and weights may change between rounds, since the number of a step is
independent of everything that the weights could have learned. Of a family of near-duplicates only the first
image with a weight can be drawn: the pool, and every estimate from the draws, has one image per family. The
order of images decides which one a number of the stream selects: sort them by ``faultscape.ties``, and the
same images are drawn whatever their names and original order.

``families`` (I,) number the family of each image. ``seed`` starts the stream.

Source: Farquhar et al. 2021, section 3 (draws that depend on earlier ones).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import OptionError, SelectionError
from faultscape.maps import checked_arrays


@dataclass(frozen=True, eq=False)
class Draws:
    """Images (M,) in the order drawn, the probability (M,) of each step, and the size of the pool before the
    first.
    """

    images: np.ndarray
    probability: np.ndarray
    pool: int


def draw(
    weights: np.ndarray,
    number: int,
    *,
    seed: int | Sequence[int] = 0,
    taken: Sequence[int] | np.ndarray = (),
    families: np.ndarray | None = None,
) -> Draws:
    """Return up to ``number`` draws in proportion to ``weights`` (I,), after those already ``taken``; fewer
    if the pool runs out.

    ``taken`` are the images of all earlier steps of this selection, in order; ``families`` (I,) are
    near-duplicate groups.
    Errors: OptionError for weights that are negative, not finite or have no finite sum, or a negative number;
    SelectionError if nothing is left.

    >>> draws = draw(np.array([1.0, 0.0, 3.0]), 2)
    >>> draws.images, draws.probability, draws.pool
    (array([2, 0]), array([0.75, 1.  ]), 2)
    """
    weights = checked_arrays.numbers(weights, "weights", OptionError).astype(float)
    if weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0)).all():
        raise OptionError("weights of a draw must be one finite number an image, none below 0")
    if not has_sum(weights):
        raise OptionError("weights of a draw must have a finite sum; divide them by the largest")
    if number < 0:
        raise OptionError(f"the number of draws must not be below 0; got {number}")
    if families is not None:
        weights[~representatives(families, weights > 0)] = 0.0
    before = np.asarray(taken, dtype=np.intp)
    pool = np.flatnonzero(weights > 0)
    number = min(number, len(pool) - int(np.isin(pool, before).sum()))
    if number <= 0:
        raise SelectionError(
            f"no image is left to draw: {len(pool)} of {len(weights)} have a weight, all of them drawn"
        )
    numbers = np.random.default_rng(seed).random(len(before) + number)[len(before) :]
    images, probability = _steps(weights, pool, np.unique(before[weights[before] > 0]), numbers)
    return Draws(images, probability, len(pool))


def has_sum(weights: np.ndarray) -> bool:
    """Return whether weights (I,), none of them negative, have a finite sum, without which they define no
    probabilities.

    >>> has_sum(np.array([1.0, 3.0])), has_sum(np.full(2, 1e308))
    (True, False)
    """
    with np.errstate(over="ignore"):
        return bool(np.isfinite(weights.sum()))


def representatives(families: np.ndarray, among: np.ndarray | None = None) -> np.ndarray:
    """Return (I,) which images represent their family (I,): the first of each, among those ``among`` (I,)
    that can be drawn.

    >>> representatives(np.array([7, 7, 5, 7]), np.array([False, True, True, True]))
    array([False,  True,  True, False])
    """
    families = np.asarray(families)
    if families.ndim != 1:
        raise SelectionError(f"families: expected one group an image (I,); got shape {families.shape}")
    places = np.arange(len(families)) if among is None else np.flatnonzero(among)
    _, first = np.unique(families[places], return_index=True)
    out = np.zeros(len(families), bool)
    out[places[first]] = True
    return out


def _steps(
    weights: np.ndarray, pool: np.ndarray, gone: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return images and probabilities of the steps, by inverting the cumulative weights of what is left at
    each.

    A tree holds the sums: place k of n is at n + k, node k is the sum of nodes 2k and 2k + 1, node 1 is the
    total of all that is left. A drawn image becomes 0 and the sums above it are added again, never
    subtracted: the weights of light images keep their digits when the heavy ones are gone. A step costs a
    walk down and up, not a pass over the pool.
    """
    size = 1 << max(len(pool) - 1, 0).bit_length()
    sums = np.zeros(2 * size)
    sums[size : size + len(pool)] = weights[pool]
    sums[size + np.searchsorted(pool, gone)] = 0.0
    level = size
    while level > 1:
        sums[level // 2 : level] = sums[level : 2 * level : 2] + sums[level + 1 : 2 * level : 2]
        level //= 2
    tree = sums.tolist()  # single steps read a list faster
    images, probability = np.empty(len(numbers), np.intp), np.empty(len(numbers))
    for step, number in enumerate(numbers.tolist()):
        left, node = number * tree[1], 1
        while node < size:
            node *= 2
            # rounding may leave more than the sum on the right: never go where nothing is left
            if left >= tree[node] and tree[node + 1] > 0:
                left -= tree[node]
                node += 1
        images[step] = pool[node - size]
        probability[step] = tree[node] / tree[1]
        tree[node] = 0.0
        while node > 1:
            node //= 2
            tree[node] = tree[2 * node] + tree[2 * node + 1]
    return images, probability
