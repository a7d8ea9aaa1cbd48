"""Draws of images without replacement, step by step, each with the probability that an unbiased estimate
needs.

Conventions: ``weights`` (I,) are not negative; an image of weight zero is never drawn and not in the pool.
The probability of step m is that of the image among those left at that step, w_i / (sum of w over the pool
without earlier draws). Step m uses the m-th number of the seed's stream whatever came before. So N draws
followed by M more are the N + M draws, and weights may change between rounds, since the number of a step is
independent of everything that the weights could have learned. A family of near-duplicates is drawn at most
once, with the weight of its first image that has one: the pool, and every estimate from the draws, has one
image per family. Which member of a drawn family is labelled is decided afterwards (`members`), and changes no
probability. The order of images decides which one a number of the stream selects: sort them by
``faultscape.ties``, and the same images are drawn whatever their names and original order.

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
    # any member may have been taken: with it its family is gone
    own = np.arange(len(weights)) if families is None else np.asarray(families)
    gone = pool[np.isin(own[pool], own[before])]
    number = min(number, len(pool) - len(gone))
    if number <= 0:
        raise SelectionError(
            f"no image is left to draw: {len(pool)} of {len(weights)} have a weight, all of them drawn"
        )
    numbers = np.random.default_rng(seed).random(len(before) + number)[len(before) :]
    images, probability = _steps(weights, pool, gone, numbers)
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


def members(
    images: Sequence[int] | np.ndarray, families: np.ndarray, claims: np.ndarray, among: np.ndarray
) -> np.ndarray:
    """Return (M,) the image that stands for the family of each of the ``images`` (M,) drawn: that with the
    largest of the ``claims`` (I,), the first of several; the drawn image itself where none is above 0.

    Only images ``among`` (I,) those that could be drawn for themselves can stand for a family.

    >>> claims = np.array([0, 1, 2, 2, 0])
    >>> members([0, 4], np.array([7, 7, 7, 7, 5]), claims, np.ones(5, bool))
    array([2, 4])
    """
    out = np.array(images, dtype=np.intp)
    families = np.asarray(families)
    claiming = np.flatnonzero(among & (np.asarray(claims) > 0))
    # the best claim of each family comes first, and the first image among equals
    order = claiming[np.argsort(-np.asarray(claims)[claiming], kind="stable")]
    held, first = np.unique(families[order], return_index=True)
    stands = dict(zip(held.tolist(), order[first].tolist(), strict=True))
    return np.array([stands.get(families[k], k) for k in out.tolist()], dtype=np.intp)


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
    images = np.empty(len(numbers), np.intp)
    probability = np.empty(len(numbers))
    for step, number in enumerate(numbers.tolist()):
        left = number * tree[1]
        node = 1
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
