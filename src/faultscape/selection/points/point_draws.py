"""Independent draws of points with known probabilities, one or several an image.

Conventions: draw m uses the m-th row of the seed's stream, so that N draws followed by M more are the N + M
draws, and later rounds may have other probabilities. Points of one image that are shown together are one
look: an image is drawn with the sum of its pixels' probabilities, then each of its points in proportion to
them, so that the probability of a point is that of its pixel either way.
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
    ([1, 1, 1, 1], [0, 0, 1, 1])
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
    edges = np.concatenate([[0.0], np.cumsum(weights)])
    if not edges[-1] > 0:
        raise SelectionError("no pixel is left to draw: no row has a probability")
    starts = np.flatnonzero(np.concatenate([[True], images[1:] != images[:-1]]))
    ends = np.append(starts[1:], len(images))
    numbers = np.random.default_rng(seed).random((taken + number, per_image, 2))[taken:]
    first = _row_at(edges, numbers[:, 0, 0] * edges[-1], weights)
    own = np.searchsorted(starts, first, "right") - 1
    low = edges[starts[own]]
    width = edges[ends[own]] - low
    at = low[:, None] + numbers[:, :, 0] * width[:, None]
    row = _row_at(edges, at, weights)
    row[:, 0] = first
    nth = np.minimum((numbers[:, :, 1] * pixels[row]).astype(np.int64), pixels[row] - 1)
    row = row.ravel()
    return PointDraws(
        images[row],
        tuples[row],
        nth.ravel(),
        probability[tuples[row]] / edges[-1],
        np.repeat(np.arange(taken, taken + number), per_image),
    )


def _row_at(edges: np.ndarray, at: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the rows whose parts of the line these numbers lie in; never one without weight."""
    row = np.clip(np.searchsorted(edges, at, "right") - 1, 0, len(weights) - 1)
    held = np.flatnonzero(weights > 0)
    # rounding may end in an empty row: take the last one before that has a weight
    return held[np.maximum(np.searchsorted(held, row, "right") - 1, 0)]
