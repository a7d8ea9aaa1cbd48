"""The plain NumPy equivalent of ``belief_sums``, in blocks of tuples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_BLOCK = 20_000  # tuples at once


def probabilities(said: np.ndarray, votes: np.ndarray, biases: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return (X, Y) the probabilities of the true classes of each tuple."""
    score = biases.astype(float)[row]
    for own, table in zip(said, votes, strict=True):
        score += table[own]
    score -= score.max(1, keepdims=True)
    np.exp(score, out=score)
    score /= score.sum(1, keepdims=True)
    return score


def expected_confusion(
    said: np.ndarray, pixels: np.ndarray, votes: np.ndarray, biases: np.ndarray, row: np.ndarray
) -> np.ndarray:
    """Return (J, C + 1, Y) the expected number of pixels by prediction and true class."""
    out = np.zeros(votes.shape)
    for rows in _blocks(said.shape[1]):
        expected = probabilities(said[:, rows], votes, biases, row[rows]) * pixels[rows, None]
        for own, table in zip(said[:, rows], out, strict=True):
            np.add.at(table, own, expected)
    return out


def expected_slopes(
    said: np.ndarray, votes: np.ndarray, biases: np.ndarray, row: np.ndarray, slopes: np.ndarray
) -> np.ndarray:
    """Return (J, X) the expected slope of each model at a pixel of each tuple."""
    out = np.zeros(said.shape)
    for rows in _blocks(said.shape[1]):
        p = probabilities(said[:, rows], votes, biases, row[rows])
        for j, own in enumerate(said[:, rows]):
            out[j, rows] = (p * slopes[j][own]).sum(1)
    return out


def slope_variance(
    said: np.ndarray,
    votes: np.ndarray,
    biases: np.ndarray,
    row: np.ndarray,
    slopes: np.ndarray,
    weights: np.ndarray,
    reference: np.ndarray,
) -> np.ndarray:
    """Return (X,) the variance over the true class of each model's slope less the mean of all by the
    ``reference`` (J,), which sums to 1 or is 0, times ``weights`` (J,), summed over models.
    """
    out = np.zeros(said.shape[1])
    for rows in _blocks(said.shape[1]):
        p = probabilities(said[:, rows], votes, biases, row[rows])
        own = np.stack([table[labels] for labels, table in zip(said[:, rows], slopes, strict=True)])
        if reference.any():
            own -= own[0].copy()
        common = np.tensordot(reference, own, 1)
        for weight, slope in zip(weights, own, strict=True):
            apart = slope - common
            apart -= (p * apart).sum(1, keepdims=True)
            out[rows] += weight * (p * apart**2).sum(1)
    return out


def vote_split(said: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Return (X,) the sum over classes of how the votes of the models split, share (1 - share), over the
    ``area`` (C,) of the class; a vote for no class counts in no sum.
    """
    out = np.zeros(said.shape[1])
    for c, pixels in enumerate(area):
        share = (said == c).mean(0)
        out += share * (1 - share) / pixels
    return out


def _blocks(number: int) -> Iterator[slice]:
    for low in range(0, number, _BLOCK):
        yield slice(low, min(low + _BLOCK, number))
