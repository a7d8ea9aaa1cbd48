"""Sums over all tuples under a belief, without holding the probabilities of any.

Conventions: ``said`` (J, X) uint8 or uint16, entries 0..C, C being no class; ``pixels`` (X,) float64;
``votes`` (J, C + 1, Y) and ``biases`` (P, Y) float64 are the belief, ``row`` (X,) the row of the biases of
each tuple; ``slopes`` (J, C + 1, Y) float64. Every function has an equivalent in ``plain_belief_sums``.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit, jit_sums


@jit
def _probabilities(said, x, votes, biases, row, out):
    """Write the probabilities (Y,) of the true classes of tuple ``x``."""
    truths = len(out)
    for y in range(truths):
        out[y] = biases[row[x], y]
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
def expected_confusion(said, pixels, votes, biases, row):
    """Return (J, C + 1, Y) the expected number of pixels by prediction and true class."""
    out = np.zeros(votes.shape)
    p = np.empty(biases.shape[1])
    for x in range(len(pixels)):
        _probabilities(said, x, votes, biases, row, p)
        for y in range(len(p)):
            p[y] *= pixels[x]
        for j in range(len(said)):
            k = said[j, x]
            for y in range(len(p)):
                out[j, k, y] += p[y]
    return out


@jit_sums
def expected_slopes(said, votes, biases, row, slopes):
    """Return (J, X) the expected slope of each model at a pixel of each tuple."""
    out = np.zeros(said.shape)
    p = np.empty(biases.shape[1])
    for x in range(said.shape[1]):
        _probabilities(said, x, votes, biases, row, p)
        for j in range(len(said)):
            k = said[j, x]
            for y in range(len(p)):
                out[j, x] += p[y] * slopes[j, k, y]
    return out


@jit_sums
def slope_variance(said, votes, biases, row, slopes, weights, reference):
    """Return (X,) the variance over the true class of each model's slope less the mean of all by the
    ``reference`` (J,), which sums to 1 or is 0, times ``weights`` (J,), summed over models.

    Slopes are measured from those of the first model, so that equal models differ by nothing at all.
    """
    truths = biases.shape[1]
    compared = reference.any()
    out = np.zeros(said.shape[1])
    p = np.empty(truths)
    first = np.zeros(truths)
    common = np.zeros(truths)
    apart = np.empty(truths)
    for x in range(said.shape[1]):
        _probabilities(said, x, votes, biases, row, p)
        if compared:
            first[:] = slopes[0, said[0, x]]
            common[:] = 0.0
            for j in range(1, len(said)):
                if reference[j] != 0:
                    k = said[j, x]
                    for y in range(truths):
                        common[y] += reference[j] * (slopes[j, k, y] - first[y])
        for j in range(len(said)):
            if weights[j] == 0:
                continue
            k = said[j, x]
            mean = 0.0
            for y in range(truths):
                apart[y] = slopes[j, k, y] - first[y] - common[y]
                mean += p[y] * apart[y]
            square = 0.0
            for y in range(truths):
                square += p[y] * (apart[y] - mean) ** 2
            out[x] += weights[j] * square
    return out


@jit
def vote_split(said, area):
    """Return (X,) the sum over classes of how the votes of the models split, share (1 - share), over the
    ``area`` (C,) of the class; a vote for no class counts in no sum.
    """
    models = len(said)
    out = np.zeros(said.shape[1])
    votes = np.zeros(len(area) + 1)
    for x in range(said.shape[1]):
        for j in range(models):
            votes[said[j, x]] += 1
        for j in range(models):
            k = said[j, x]
            if k < len(area):  # a class that was counted has no votes left
                out[x] += votes[k] * (models - votes[k]) / area[k]
            votes[k] = 0
    return out / models**2
