"""The kernels behind pixel_facts, compiled: what a softmax says of each pixel, row by row, without holding the scores at the size of the result.

Conventions: ``scores`` are (C, h, w) float32, C-contiguous, logits, or of a ``marginal`` network sums that are divided by their total; ``rows`` and ``columns``, as in maps.kernels.winners,
say between which of them each pixel lies. e is exp(logit - the winner's), by a polynomial of our own: exp of the C library has other last digits on other machines.
The plain twin is plain_softmax, equal to some units in the last place.
"""
# ruff: noqa: ANN001, ANN201 - numba infers types; flat minima are slower; kernels take what they fill

from __future__ import annotations

import math

import numpy as np

from faultscape.maps.jit import jit

_LEAST = np.float32(-87.0)  # exp of less is no normal float32
_TINY = np.float32(1.2e-38)
_LOG2E, _LN2_HIGH, _LN2_LOW = np.float32(1.4426950408889634), np.float32(0.693359375), np.float32(-2.12194440e-4)
_HALF, _ONE = np.float32(0.5), np.float32(1)
_P2, _P3, _P4 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_P5, _P6, _P7 = np.float32(1 / 120), np.float32(1 / 720), np.float32(1 / 5040)


@jit
def stretched_row(scores, y0, y1, down, first_x, second_x, share_x, same, line, z):
    """Fill ``z`` (C, W) with the interpolated scores of one row; ``same``: the scores have the width of the result."""
    one = np.float32(1)
    for c in range(scores.shape[0]):
        for x in range(scores.shape[2]):
            line[x] = (one - down) * scores[c, y0, x] + down * scores[c, y1, x]
        if same:
            for x in range(z.shape[1]):
                z[c, x] = line[x]
        else:
            for x in range(z.shape[1]):
                z[c, x] = (one - share_x[x]) * line[first_x[x]] + share_x[x] * line[second_x[x]]


@jit
def log_row(z):
    """Replace sums (C, W) of a marginal network by their logarithms, so that their softmax is their share of the total."""
    for c in range(z.shape[0]):
        for x in range(z.shape[1]):
            z[c, x] = math.log(max(z[c, x], _TINY))


@jit
def exp_row(gap, bits, power, out):
    """Fill ``out`` (W,) with exp of ``gap`` (W,), which is 0 or less; ``power`` is ``bits`` (int32) read as float32."""
    for x in range(gap.shape[0]):
        value = max(gap[x], _LEAST)
        whole = np.floor(value * _LOG2E + _HALF)
        r = (value - whole * _LN2_HIGH) - whole * _LN2_LOW
        out[x] = _ONE + r * (_ONE + r * (_P2 + r * (_P3 + r * (_P4 + r * (_P5 + r * (_P6 + r * _P7))))))
        bits[x] = (np.int32(whole) + np.int32(127)) << np.int32(23)
    for x in range(gap.shape[0]):
        out[x] *= power[x]


@jit
def winners_row(z, top, second, best):
    """Fill (W,) with the largest score of ``z`` (C, W), the second and the first class of the largest."""
    for x in range(z.shape[1]):
        top[x], second[x], best[x] = z[0, x], np.float32(-np.inf), 0
    for c in range(1, z.shape[0]):
        for x in range(z.shape[1]):
            value, held = z[c, x], top[x]
            second[x] = max(second[x], min(held, value))
            best[x] = c if value > held else best[x]
            top[x] = max(held, value)


@jit
def softmax_sums(scores, first_y, second_y, share_y, first_x, second_x, share_x, marginal, top, second, others, spread):
    """Fill (H, W): ``top`` the largest logit, ``second`` e of the second, ``others`` the sum of e over all but the winner, ``spread`` the sum there of e (top - logit)."""
    classes, height, width = scores.shape[0], top.shape[0], top.shape[1]
    same = scores.shape[2] == width
    line, z = np.empty(scores.shape[2], np.float32), np.empty((classes, width), np.float32)
    gap, e, best = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.int32)
    bits = np.empty(width, np.int32)
    power = bits.view(np.float32)
    for y in range(height):
        stretched_row(scores, first_y[y], second_y[y], share_y[y], first_x, second_x, share_x, same, line, z)
        if marginal:
            log_row(z)
        winners_row(z, top[y], second[y], best)
        for x in range(width):
            others[y, x], spread[y, x] = np.float32(0), np.float32(0)
            gap[x] = second[y, x] - top[y, x]
        exp_row(gap, bits, power, second[y])
        for c in range(classes):
            for x in range(width):
                gap[x] = z[c, x] - top[y, x]
            exp_row(gap, bits, power, e)
            for x in range(width):
                share = np.float32(0) if best[x] == c else e[x]
                others[y, x] += share
                spread[y, x] -= share * gap[x]


@jit
def log_softmax(z, marginal):
    """Replace scores (C, H, W) by the logarithms of their probabilities."""
    classes, height, width = z.shape
    top, second, best = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.int32)
    for y in range(height):
        row = z[:, y]
        if marginal:
            log_row(row)
        winners_row(row, top, second, best)
        for x in range(width):
            total = 0.0
            for c in range(classes):
                if c != best[x]:
                    total += math.exp(np.float64(row[c, x]) - np.float64(top[x]))
            total = math.log1p(total)
            for c in range(classes):
                row[c, x] = np.float32(np.float64(row[c, x]) - np.float64(top[x]) - total)


@jit
def mean_sums(logs, label, winner, second, others, entropy, expected, information):
    """Fill (H, W) with what the mean of members' probabilities says, of their logarithms (T, C, H, W).

    That is the first class of the largest, its probability, the second, the sum of all others, the entropy of the mean, the mean
    of the members' entropies, and the mean divergence of the members from their mean.
    """
    members, classes, height, width = logs.shape
    p, mean = np.empty((members, classes)), np.empty(classes)
    for y in range(height):
        for x in range(width):
            for c in range(classes):
                mean[c] = 0.0
                for t in range(members):
                    p[t, c] = math.exp(np.float64(logs[t, c, y, x]))
                    mean[c] += p[t, c]
                mean[c] /= members
            best = 0
            for c in range(1, classes):
                if mean[c] > mean[best]:
                    best = c
            rest, after, whole = 0.0, 0.0, 0.0
            for c in range(classes):
                if c != best:
                    rest += mean[c]
                    after = max(after, mean[c])
                    whole -= mean[c] * math.log(mean[c]) if mean[c] > 0 else 0.0
            whole += mean[best] * math.log1p(rest / mean[best])
            own, apart = 0.0, 0.0
            for t in range(members):
                for c in range(classes):
                    if mean[c] > 0:
                        own -= p[t, c] * np.float64(logs[t, c, y, x])
                        away = p[t, c] / mean[c] - 1  # each term r log r - r + 1 is 0 or more: none cancels another
                        if abs(away) < 1e-3:
                            apart += mean[c] * away * away * (0.5 - away / 6 + away * away / 12)
                        else:
                            ratio = away + 1
                            apart += mean[c] * (1.0 - ratio + (ratio * math.log(ratio) if ratio > 0 else 0.0))
            label[y, x], winner[y, x], second[y, x], others[y, x] = best, mean[best], after, rest
            entropy[y, x], expected[y, x], information[y, x] = whole, own / members, apart / members
