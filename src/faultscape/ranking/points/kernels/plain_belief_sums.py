"""The plain NumPy equivalent of ``belief_sums``, in blocks of tuples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_BLOCK = 20_000  # tuples at once


def probabilities(said: np.ndarray, votes: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return (X, Y) the probabilities of the true classes of each tuple."""
    score = np.tile(bias.astype(float), (said.shape[1], 1))
    for own, table in zip(said, votes, strict=True):
        score += table[own]
    score -= score.max(1, keepdims=True)
    np.exp(score, out=score)
    score /= score.sum(1, keepdims=True)
    return score


def expected_confusion(
    said: np.ndarray, pixels: np.ndarray, votes: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Return (J, C + 1, Y) the expected number of pixels by prediction and true class."""
    out = np.zeros(votes.shape)
    for rows in _blocks(said.shape[1]):
        expected = probabilities(said[:, rows], votes, bias) * pixels[rows, None]
        for own, table in zip(said[:, rows], out, strict=True):
            np.add.at(table, own, expected)
    return out


def expected_slopes(said: np.ndarray, votes: np.ndarray, bias: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return (J, X) the expected slope of each model at a pixel of each tuple."""
    out = np.zeros(said.shape)
    for rows in _blocks(said.shape[1]):
        p = probabilities(said[:, rows], votes, bias)
        for j, own in enumerate(said[:, rows]):
            out[j, rows] = (p * slopes[j][own]).sum(1)
    return out


def contrast_variance(
    said: np.ndarray, votes: np.ndarray, bias: np.ndarray, slopes: np.ndarray, contrasts: np.ndarray
) -> np.ndarray:
    """Return (X,) the variance over the true class of the slopes times ``contrasts`` (G, J), summed over
    G.
    """
    out = np.zeros(said.shape[1])
    for rows in _blocks(said.shape[1]):
        p = probabilities(said[:, rows], votes, bias)
        for contrast in contrasts:
            value = np.zeros(p.shape)
            for own, part, table in zip(said[:, rows], contrast, slopes, strict=True):
                value += part * table[own]
            value -= (p * value).sum(1, keepdims=True)
            out[rows] += (p * value**2).sum(1)
    return out


def _blocks(number: int) -> Iterator[slice]:
    for low in range(0, number, _BLOCK):
        yield slice(low, min(low + _BLOCK, number))
