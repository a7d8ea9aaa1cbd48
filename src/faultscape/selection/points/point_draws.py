"""Independent draws of points with known probabilities, one or several an image.

Conventions: what can be drawn is laid end to end, as long as it is probable, and a number from 0 to 1 finds
its place on this line (`along`): the image, in it the tuple, and the pixel of this tuple. Draw m uses the
m-th row of the seed's stream, so that N draws followed by M more are the N + M draws, and later rounds may
have other probabilities. Points of one image that are shown together are one look: an image is drawn with the
sum of its pixels' probabilities, then each of its points in proportion to them, so that the probability of a
point is that of its pixel either way.
Source: Hansen and Hurwitz 1943 (draws with replacement and unequal probabilities).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import OptionError, SelectionError
from faultscape.maps import checked_arrays


@dataclass(frozen=True, eq=False)
class PointDraws:
    """Points (M,): their images, tuples, which of the image's pixels of this tuple it is (from 0, in
    reading order), probabilities, and looks.
    """

    image: np.ndarray
    place: np.ndarray
    nth: np.ndarray
    probability: np.ndarray
    look: np.ndarray


def draw_points(
    images: np.ndarray,
    tuples: np.ndarray,
    pixels: np.ndarray,
    probability: np.ndarray,
    number: int,
    *,
    per_image: int = 1,
    seed: int | Sequence[int] = 0,
    taken: int = 0,
) -> PointDraws:
    """Return ``number`` looks of ``per_image`` points each, with replacement, after the ``taken`` looks
    before.

    Rows (R,) say that image ``images`` has ``pixels`` pixels of tuple ``tuples``; rows of one image must be
    next to each other. ``probability`` (X,) is that of one pixel of each tuple; it is divided by its sum
    over the rows.

    Errors: OptionError for a number below 0 or no point a look; SelectionError if no row has a probability.

    >>> rows = (np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([3, 1, 2]))
    >>> draws = draw_points(*rows, np.array([0.1, 0.7 / 3]), 2, per_image=2)
    >>> draws.image.tolist(), draws.look.tolist()
    ([1, 1, 0, 0], [0, 0, 1, 1])
    """
    if number < 0 or taken < 0 or per_image < 1:
        raise OptionError(
            f"draws need numbers of looks that are not below 0, and a point a look; got {number}, {taken} and"
            f" {per_image}"
        )
    images = checked_arrays.whole_numbers(images, "images", SelectionError, "R")
    tuples = checked_arrays.whole_numbers(tuples, "tuples", SelectionError, "R").astype(np.int64)
    pixels = checked_arrays.whole_numbers(pixels, "pixels", SelectionError, "R").astype(np.int64)
    probability = checked_arrays.numbers(probability, "probability", SelectionError, "X").astype(float)
    checked_arrays.same_shape(SelectionError, images=images, tuples=tuples, pixels=pixels)
    if tuples.size and not 0 <= tuples.min() <= tuples.max() < len(probability):
        raise SelectionError(
            f"tuples: expected places of {len(probability)} probabilities; got {tuples.min()} to"
            f" {tuples.max()}"
        )
    if not (np.isfinite(probability) & (probability >= 0)).all() or (pixels < 0).any():
        raise SelectionError("probabilities and numbers of pixels must be finite and not below 0")
    weights = pixels * probability[tuples]
    total = weights.sum()
    if not total > 0:
        raise SelectionError("no pixel is left to draw: no row has a probability")
    starts = np.flatnonzero(np.concatenate([[True], images[1:] != images[:-1]]))
    mass = np.add.reduceat(weights, starts)
    numbers = np.random.default_rng(seed).random((taken + number, per_image))[taken:]
    own, inside = along(mass, numbers[:, 0])
    shares = numbers.copy()
    shares[:, 0] = inside  # what is left of the number that drew the image draws its first point
    before = np.cumsum(mass) - mass
    row, inside = along(weights, ((before[own, None] + shares * mass[own, None]) / total).ravel())
    return PointDraws(
        images[row],
        tuples[row],
        nth_of(inside, pixels[row]),
        probability[tuples[row]] / total,
        np.repeat(np.arange(taken, taken + number), per_image),
    )


def along(weights: np.ndarray, shares: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at which of some ``weights`` (R,), laid end to end, each of the ``shares`` (M,) of their sum
    lies, and how far (M,) inside, from 0 to 1; never at one without weight.

    >>> [found.tolist() for found in along(np.array([1.0, 0.0, 3.0]), [0.0, 0.25, 0.625])]
    [[0, 2, 2], [0.0, 0.0, 0.5]]
    """
    held = np.flatnonzero(weights > 0)  # however sums are rounded
    ends = np.cumsum(weights[held])
    at = np.asarray(shares) * ends[-1]
    place = np.minimum(np.searchsorted(ends, at, "right"), len(held) - 1)
    own = weights[held][place]
    return held[place], np.clip((at - (ends[place] - own)) / own, 0, 1)


def nth_of(inside: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """Return (M,) which of some ``pixels`` (M,) of equal length lies so far ``inside`` (M,) of them, from 0.

    >>> nth_of(np.array([0.0, 0.5, 1.0]), np.array([3, 4, 5])).tolist()
    [0, 2, 4]
    """
    return np.minimum((inside * pixels).astype(np.int64), pixels - 1)
