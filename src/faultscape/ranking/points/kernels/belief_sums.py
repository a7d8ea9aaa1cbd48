"""Sums over all tuples under a belief, without holding the probabilities of any.

Conventions: ``said`` (J, X) uint8 or uint16, entries 0..C, C being no class; ``pixels`` (X,) float64;
``votes`` (J, C + 1, Y) and ``bias`` (Y,) float64 are the belief; ``slopes`` (J, C + 1, Y) float64. Every
function has an equivalent in ``plain_belief_sums``.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def _probabilities(said, x, votes, bias, out):
    """Write the probabilities (Y,) of the true classes of tuple ``x``."""
    truths = len(bias)
    for y in range(truths):
        out[y] = bias[y]
    for j in range(len(said)):
        k = said[j, x]
        for y in range(truths):
            out[y] += votes[j, k, y]
    largest = out[0]
    for y in range(1, truths):
        largest = max(largest, out[y])
    total = 0.0
    for y in range(truths):
        out[y] = np.exp(out[y] - largest)
        total += out[y]
    for y in range(truths):
        out[y] /= total


@jit
def expected_confusion(said, pixels, votes, bias):
    """Return (J, C + 1, Y) the expected number of pixels by prediction and true class."""
    out = np.zeros(votes.shape)
    p = np.empty(len(bias))
    for x in range(len(pixels)):
        _probabilities(said, x, votes, bias, p)
        for y in range(len(p)):
            p[y] *= pixels[x]
        for j in range(len(said)):
            k = said[j, x]
            for y in range(len(p)):
                out[j, k, y] += p[y]
    return out


@jit
def expected_slopes(said, votes, bias, slopes):
    """Return (J, X) the expected slope of each model at a pixel of each tuple."""
    out = np.zeros(said.shape)
    p = np.empty(len(bias))
    for x in range(said.shape[1]):
        _probabilities(said, x, votes, bias, p)
        for j in range(len(said)):
            k = said[j, x]
            for y in range(len(p)):
                out[j, x] += p[y] * slopes[j, k, y]
    return out


@jit
def contrast_variance(said, votes, bias, slopes, contrasts):
    """Return (X,) the variance over the true class of the slopes times ``contrasts`` (G, J), summed over
    G.
    """
    n_contrasts = len(contrasts)
    truths = len(bias)
    out = np.zeros(said.shape[1])
    p = np.empty(truths)
    value = np.empty(truths)
    for x in range(said.shape[1]):
        _probabilities(said, x, votes, bias, p)
        for g in range(n_contrasts):
            for y in range(truths):
                value[y] = 0.0
            for j in range(len(said)):
                k = said[j, x]
                for y in range(truths):
                    value[y] += contrasts[g, j] * slopes[j, k, y]
            mean = 0.0
            for y in range(truths):
                mean += p[y] * value[y]
            for y in range(truths):
                out[x] += p[y] * (value[y] - mean) ** 2
    return out
