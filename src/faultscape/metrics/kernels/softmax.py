"""The compiled kernels behind pixel_facts: softmax facts of each pixel, row by row, without holding the
scores at the size of the result.

Conventions: ``scores`` are (C, h, w) float32, C-contiguous: logits, or, for a ``marginal`` network, sums that
are divided by their total. ``rows`` and ``columns``, as in maps.kernels.winners, say between which of them
each pixel lies. e is exp(logit - the winner's), by our own polynomial: the last digits of the C library's exp
differ between machines. The plain twin is plain_softmax, equal to some units in the last place.
"""

# ruff: noqa: ANN001, ANN201 - numba infers types; flat minima are slower; kernels take what they fill

from __future__ import annotations

import math

import numpy as np

from faultscape.maps.jit import jit

_LEAST = np.float32(-87.0)  # exp of less is not a normal float32
_TINY = np.float32(1.2e-38)
_LOG2E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
_HALF = np.float32(0.5)
_ONE = np.float32(1)
_P2 = np.float32(1 / 2)
_P3 = np.float32(1 / 6)
_P4 = np.float32(1 / 24)
_P5 = np.float32(1 / 120)
_P6 = np.float32(1 / 720)
_P7 = np.float32(1 / 5040)
_ROOT_BITS = np.int32(0x3F3504F3)  # of root 1/2
_L3 = np.float32(1 / 3)
_L5 = np.float32(1 / 5)
_L7 = np.float32(1 / 7)
_L9 = np.float32(1 / 9)
_NEAR = np.float32(0.1)  # below this, a series loses less precision than a difference
_D2 = np.float32(1 / 2)
_D3 = np.float32(1 / 6)
_D4 = np.float32(1 / 12)
_D5 = np.float32(1 / 20)
_D6 = np.float32(1 / 30)
_D7 = np.float32(1 / 42)
_D8 = np.float32(1 / 56)


@jit
def stretched_row(scores, y0, y1, down, first_x, second_x, share_x, same, line, z):
    """Fill ``z`` (C, W) with the interpolated scores of one row; ``same``: the scores have the width of the
    result.
    """
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
    """Replace sums (C, W) of a marginal network by their logarithms, so that their softmax is each one's
    share of the total.
    """
    for c in range(z.shape[0]):
        for x in range(z.shape[1]):
            z[c, x] = math.log(max(z[c, x], _TINY))


@jit
def exp_row(gap, bits, power, out):
    """Fill ``out`` (W,) with exp of ``gap`` (W,), which is 0 or less; ``power`` is ``bits`` (int32) read as
    float32.
    """
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
            value = z[c, x]
            held = top[x]
            second[x] = max(second[x], min(held, value))
            best[x] = c if value > held else best[x]
            top[x] = max(held, value)


@jit
def softmax_sums(
    scores, first_y, second_y, share_y, first_x, second_x, share_x, marginal, top, second, others, spread
):
    """Fill (H, W): ``top`` the largest logit, ``second`` e of the second, ``others`` the sum of e over all
    but the winner, ``spread`` the sum there of e (top - logit).
    """
    classes = scores.shape[0]
    height = top.shape[0]
    width = top.shape[1]
    same = scores.shape[2] == width
    line = np.empty(scores.shape[2], np.float32)
    z = np.empty((classes, width), np.float32)
    gap = np.empty(width, np.float32)
    e = np.empty(width, np.float32)
    best = np.empty(width, np.int32)
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
def log_row_of(values, bits, whole, out):
    """Fill ``out`` (W,) with the logarithm of ``values`` (W,), which are normal float32 above 0; ``bits`` is
    them read as int32.
    """
    for x in range(values.shape[0]):
        # values lie between root 1/2 and root 2 after this
        least = np.int32((bits[x] - _ROOT_BITS) >> np.int32(23))
        whole[x] = bits[x] - (least << np.int32(23))
        out[x] = np.float32(least)
    r = whole.view(np.float32)
    for x in range(values.shape[0]):
        s = np.divide(r[x] - _ONE, r[x] + _ONE)  # the operator / would check for zeros one by one
        q = s * s
        out[x] = out[x] * _LN2_HIGH + (
            out[x] * _LN2_LOW + (s + s) * (_ONE + q * (_L3 + q * (_L5 + q * (_L7 + q * _L9))))
        )


@jit
def generalised_sums(
    scores, first_y, second_y, share_y, first_x, second_x, share_x, marginal, exponent, sums
):
    """Fill (H, W) with the sum over classes of (p (1 - p)) ^ ``exponent``."""
    classes = scores.shape[0]
    height, width = sums.shape
    same = scores.shape[2] == width
    line = np.empty(scores.shape[2], np.float32)
    z = np.empty((classes, width), np.float32)
    e = np.empty((classes, width), np.float32)
    top = np.empty(width, np.float32)
    second = np.empty(width, np.float32)
    best = np.empty(width, np.int32)
    bits = np.empty(width, np.int32)
    power = bits.view(np.float32)
    whole = np.empty(width, np.int32)
    others = np.empty(width, np.float32)
    total = np.empty(width, np.float32)
    log_total = np.empty(width, np.float32)
    rest = np.empty(width, np.float32)
    log_rest = np.empty(width, np.float32)
    for y in range(height):
        stretched_row(scores, first_y[y], second_y[y], share_y[y], first_x, second_x, share_x, same, line, z)
        if marginal:
            log_row(z)
        winners_row(z, top, second, best)
        for x in range(width):
            others[x], sums[y, x] = np.float32(0), np.float32(0)
        for c in range(classes):
            for x in range(width):
                z[c, x] -= top[x]
            exp_row(z[c], bits, power, e[c])
            for x in range(width):
                others[x] += np.float32(0) if best[x] == c else e[c, x]
        for x in range(width):
            total[x] = _ONE + others[x]
        log_row_of(total, total.view(np.int32), whole, log_total)
        for c in range(classes):
            for x in range(width):  # 1 - p of the winner is not a difference
                rest[x] = max(others[x] if best[x] == c else total[x] - e[c, x], _TINY)
            log_row_of(rest, rest.view(np.int32), whole, log_rest)
            for x in range(width):
                z[c, x] = exponent * (z[c, x] + log_rest[x] - log_total[x] - log_total[x])
            exp_row(z[c], bits, power, e[c])
            for x in range(width):
                sums[y, x] += e[c, x]


@jit
def member_sums(z, marginal, shares, others, entropy):
    """Replace a member's scores (C, H, W) by its probabilities in ``shares`` (C, H, W), and fill (H, W) with
    the sum of all but its largest and its entropy.
    """
    classes, height, width = z.shape
    top = np.empty(width, np.float32)
    second = np.empty(width, np.float32)
    best = np.empty(width, np.int32)
    gap = np.empty(width, np.float32)
    bits = np.empty(width, np.int32)
    power = bits.view(np.float32)
    for y in range(height):
        row = z[:, y]
        if marginal:
            log_row(row)
        winners_row(row, top, second, best)
        for x in range(width):
            others[y, x], entropy[y, x] = np.float32(0), np.float32(0)
        for c in range(classes):
            for x in range(width):
                gap[x] = row[c, x] - top[x]
            exp_row(gap, bits, power, shares[c, y])
            for x in range(width):
                share = np.float32(0) if best[x] == c else shares[c, y, x]
                others[y, x] += share
                entropy[y, x] -= share * gap[x]
        for x in range(width):
            top[x] = np.divide(_ONE, _ONE + others[y, x])
            entropy[y, x] = np.float32(math.log1p(np.float64(others[y, x]))) + entropy[y, x] * top[x]
            others[y, x] *= top[x]
        for c in range(classes):
            for x in range(width):
                shares[c, y, x] *= top[x]


@jit
def mean_sums(shares, label, winner, second, others, entropy, information):
    """Fill (H, W) with the facts of the mean of members' probabilities (T, C, H, W).

    These are the first class of the largest, its probability, the second, the sum of all others, the entropy
    of the mean, and the mean divergence of the members from their mean.
    """
    members, classes, height, width = shares.shape
    part = _ONE / np.float32(members)
    mean = np.empty((classes, width), np.float32)
    best = np.empty(width, np.int32)
    bits = np.empty(width, np.int32)
    whole = np.empty(width, np.int32)
    held = np.empty(width, np.float32)
    log = np.empty(width, np.float32)
    for y in range(height):
        for c in range(classes):
            for x in range(width):
                mean[c, x] = shares[0, c, y, x]
            for t in range(1, members):
                for x in range(width):
                    mean[c, x] += shares[t, c, y, x]
            for x in range(width):
                mean[c, x] *= part
        winners_row(mean, winner[y], second[y], best)
        for x in range(width):
            second[y, x] = max(second[y, x], np.float32(0))
            others[y, x], entropy[y, x], information[y, x] = np.float32(0), np.float32(0), np.float32(0)
        for c in range(classes):
            for x in range(width):
                held[x] = max(mean[c, x], _TINY)
            log_row_of(held, held.view(np.int32), whole, log)
            for x in range(width):
                share = np.float32(0) if best[x] == c else mean[c, x]
                others[y, x] += share
                entropy[y, x] -= share * log[x]
            for t in range(members):
                for x in range(width):  # each term r log r - r + 1 is at least 0, so none cancel
                    log[x] = np.divide(shares[t, c, y, x] - mean[c, x], held[x])
                add_divergence(log, bits, whole, held, information[y])
        for x in range(width):
            label[y, x] = best[x]
            entropy[y, x] += winner[y, x] * np.float32(
                math.log1p(np.float64(others[y, x]) / np.float64(winner[y, x]))
            )
            information[y, x] *= part


@jit
def add_divergence(away, bits, whole, mean, out):
    """Add mean (r log r - r + 1) of r = 1 + ``away`` to ``out``, all (W,)."""
    width = away.shape[0]
    ratio = bits.view(np.float32)
    log = np.empty(width, np.float32)
    for x in range(width):
        ratio[x] = max(away[x] + _ONE, _TINY)
    log_row_of(ratio, bits, whole, log)
    for x in range(width):
        d = away[x]
        near = d * d * (_D2 - d * (_D3 - d * (_D4 - d * (_D5 - d * (_D6 - d * (_D7 - d * _D8))))))
        far = ratio[x] * log[x] - d
        out[x] += mean[x] * (near if abs(d) < _NEAR else far)
