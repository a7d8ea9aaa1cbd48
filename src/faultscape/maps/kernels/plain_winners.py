"""The kernels of winners in NumPy, holding all scores at once.

Conventions: those of winners.
"""

from __future__ import annotations

import numpy as np


def largest(scores: np.ndarray, best: np.ndarray, top: np.ndarray) -> bool:
    """Fill ``best`` with the first class of the largest score and ``top`` with that score; returns whether no
    score is NaN.
    """
    best[...] = scores.argmax(0)
    top[...] = scores.max(0)
    return not bool(np.isnan(scores).any())


def draw(
    scores: np.ndarray,
    best: np.ndarray,
    first_y: np.ndarray,
    second_y: np.ndarray,
    share_y: np.ndarray,
    first_x: np.ndarray,
    second_x: np.ndarray,
    share_x: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill ``out`` with the class of the largest interpolated score, ties to the first class."""
    del best
    whole = np.empty((len(scores), *out.shape), np.float32)
    stretch(scores, first_y, second_y, share_y, first_x, second_x, share_x, whole)
    out[...] = whole.argmax(0)


def stretch(
    scores: np.ndarray,
    first_y: np.ndarray,
    second_y: np.ndarray,
    share_y: np.ndarray,
    first_x: np.ndarray,
    second_x: np.ndarray,
    share_x: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill ``out`` with the interpolated scores."""
    one = np.float32(1)
    down = share_y[:, None]
    lines = (one - down) * scores[:, first_y] + down * scores[:, second_y]
    out[...] = (one - share_x) * lines[..., first_x] + share_x * lines[..., second_x]


def rank(scores: np.ndarray, values: np.ndarray, classes: np.ndarray) -> None:
    """Fill ``values`` and ``classes`` (K, H, W) with the K largest scores of each pixel and their classes,
    the largest first, ties to the first class.
    """
    order = np.argsort(-scores, axis=0, kind="stable")[: len(values)]
    values[...], classes[...] = np.take_along_axis(scores, order, 0), order
