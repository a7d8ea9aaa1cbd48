"""How far apart two models are on an image when all of their probabilities count, not only the top labels.

Conventions: probabilities should be calibrated. They are (I, C), one column per class, or
``(labels, probabilities)`` of the K most probable classes, both (I, K), with a negative label where a row has
fewer. The result is NaN where a row has no probability, or an undefined one.

``first`` and ``second`` are the probabilities of two models for the same images. ``distances`` (C, C) are
those of the classes.

Source: Wang et al. 2020, section 4, the future direction: distances over distributions instead of single
labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import ModelError, OptionError, closest

REST = ("kept", "spread")
_CELLS = 2**20  # distances looked up at once

Probabilities = Any  # (I, C), or ((I, K) labels, (I, K) probabilities)


def expected_distance(
    first: Probabilities, second: Probabilities, distances: np.ndarray, *, rest: str = "kept"
) -> np.ndarray:
    """Return (I,) sum over i, j of p_i q_j d(i, j): the expected distance of labels drawn from each model
    independently.

    Two models that agree but are uncertain have an expected distance above 0. The probability that the K
    labels leave of 1 is the ``rest``: ``kept`` divides by the sum of the K, ``spread`` distributes it evenly
    over the other C - K classes. Columns of all classes leave none. ModelError for probabilities of another
    shape or below 0.

    >>> d = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 4.0], [4.0, 4.0, 0.0]])
    >>> expected_distance(np.array([[0.5, 0.5, 0.0]]), np.array([[0.0, 0.5, 0.5]]), d)
    array([2.25])
    >>> p, q = (np.array([[0]]), np.array([[0.8]])), (np.array([[2]]), np.array([[1.0]]))
    >>> float(expected_distance(p, q, d)[0]), round(float(expected_distance(p, q, d, rest="spread")[0]), 12)
    (4.0, 3.6)
    """
    if rest not in REST:
        raise OptionError(f"rest {rest!r} is not known; there are {', '.join(REST)}.{closest(rest, REST)}")
    if isinstance(first, tuple) and isinstance(second, tuple):
        return _of_kept(_kept(first, len(distances), rest), _kept(second, len(distances), rest), distances)
    if isinstance(first, tuple) or isinstance(second, tuple):
        raise ModelError(
            "expected distances need all classes of both models, or the most probable labels of both"
        )
    p = _columns(first, len(distances))
    q = _columns(second, len(distances))
    _same_images(p, q)
    return np.einsum("ij,ij->i", p @ distances, q)


def _columns(given: ArrayLike, classes: int) -> np.ndarray:
    p = np.asarray(given, dtype=float)
    if p.ndim != 2 or p.shape[1] != classes:
        raise ModelError(f"probabilities have shape {p.shape}; expected (images, {classes} classes)")
    return _shares(p)


def _shares(p: np.ndarray) -> np.ndarray:
    """Return rows that sum to 1, NaN for those that cannot."""
    if (p < 0).any():
        raise ModelError(f"a probability is {p[p < 0][0]:g}; expected 0 or more")
    total = p.sum(1, keepdims=True)
    return np.divide(p, total, out=np.full_like(p, np.nan), where=total > 0)


def _kept(
    given: tuple[ArrayLike, ArrayLike], classes: int, rest: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (I, K) labels, (I, K) probabilities in excess of the evenly spread part, and (I,) that part per
    class.
    """
    labels = np.asarray(given[0])
    p = np.asarray(given[1], dtype=float)
    if labels.ndim != 2 or labels.shape != p.shape or not np.issubdtype(labels.dtype, np.integer):
        raise ModelError(
            f"labels {labels.shape} and probabilities {p.shape} do not belong together; expected both"
            " (images, K)"
        )
    if labels.max(initial=-1) >= classes:
        raise ModelError(f"label {labels.max()} is not a class; there are {classes}, 0 to {classes - 1}")
    there = labels >= 0
    p = np.where(there, p, 0.0)
    labels = np.where(there, labels, 0)
    shares = _shares(p)
    if rest == "kept":
        return labels, shares, np.zeros(len(p))
    total = np.minimum(p.sum(1), 1)  # NaN and 0 stay undefined through the shares
    even = (1 - total) / np.maximum(classes - there.sum(1), 1)
    return labels, np.where(there, shares * total[:, None] - even[:, None], 0 * shares), even


def _of_kept(
    first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...], distances: np.ndarray
) -> np.ndarray:
    """Return p' D q with p = (excess over the even part) + even part, multiplied out."""
    (a, p, even_p), (b, q, even_q) = first, second
    _same_images(a, b)
    out = np.empty(len(a))
    sums = distances.sum(1)
    step = max(1, _CELLS // max(1, a.shape[1] * b.shape[1]))
    for start in range(0, len(a), step):
        i = slice(start, start + step)
        between = np.einsum("ik,il,ikl->i", p[i], q[i], distances[a[i, :, None], b[i, None, :]])
        out[i] = between + even_q[i] * (p[i] * sums[a[i]]).sum(1) + even_p[i] * (q[i] * sums[b[i]]).sum(1)
    return out + even_p * even_q * sums.sum()


def _same_images(first: np.ndarray, second: np.ndarray) -> None:
    if len(first) != len(second):
        raise ModelError(
            f"one model has probabilities of {len(first)} images, the other of {len(second)}; expected the"
            " same images"
        )
