"""The kernels behind maps.winners, compiled.

Conventions: ``scores`` are (C, h, w) float32, C-contiguous; ``rows`` and ``columns`` give for each pixel of
the result the two of the scores' rows (columns) that it lies between, ``first`` and ``second``, and
``share``, the weight of the second. The plain equivalent is plain_winners.
"""

# ruff: noqa: ANN001, ANN201, PLR0124, FURB136, PLW3301 - numba infers types; what is not equal to itself is not a number; flat minima are slower

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def largest(scores, best, top):
    """Fill ``best`` (h, w) with the first class of the largest score and ``top`` with that score; returns
    whether no score is NaN.
    """
    classes, height, width = scores.shape
    good = True
    for y in range(height):
        for x in range(width):
            top[y, x] = scores[0, y, x]
            best[y, x] = 0
            good &= scores[0, y, x] == scores[0, y, x]
        for c in range(1, classes):
            for x in range(width):
                value = scores[c, y, x]
                held = top[y, x]
                good &= value == value
                best[y, x] = c if value > held else best[y, x]
                top[y, x] = value if value > held else held
    return good


@jit
def draw(scores, best, first_y, second_y, share_y, first_x, second_x, share_x, out):
    """Fill ``out`` (H, W) with the class of the largest interpolated score, ties to the first class.

    All pixels between the same four scores form a cell. A class that is largest at all four corners is
    largest in the whole cell; otherwise only classes can win whose largest corner reaches the best of the
    smallest corners.
    """
    classes = scores.shape[0]
    height, width = out.shape
    known = np.empty(classes, np.int64)
    corners = np.empty((classes, 4), np.float32)
    one = np.float32(1)
    y = 0
    while y < height:
        y0 = first_y[y]
        y1 = second_y[y]
        y_end = y + 1
        while y_end < height and first_y[y_end] == y0:
            y_end += 1
        x = 0
        while x < width:
            x0 = first_x[x]
            x1 = second_x[x]
            x_end = x + 1
            while x_end < width and first_x[x_end] == x0:
                x_end += 1
            b = best[y0, x0]
            if best[y0, x1] == b and best[y1, x0] == b and best[y1, x1] == b:
                for i in range(y, y_end):
                    for j in range(x, x_end):
                        out[i, j] = b
                x = x_end
                continue
            floor = np.float32(-np.inf)
            for k in range(4):
                c = best[y1 if k > 1 else y0, x1 if k % 2 else x0]
                low = min(
                    min(scores[c, y0, x0], scores[c, y0, x1]), min(scores[c, y1, x0], scores[c, y1, x1])
                )
                floor = max(floor, low)
            count = 0
            for c in range(classes):
                q = scores[c, y0, x0]
                r = scores[c, y0, x1]
                s = scores[c, y1, x0]
                t = scores[c, y1, x1]
                if max(max(q, r), max(s, t)) >= floor:
                    known[count] = c
                    corners[count, 0], corners[count, 1], corners[count, 2], corners[count, 3] = q, r, s, t
                    count += 1
            for i in range(y, y_end):
                down = share_y[i]
                for j in range(x, x_end):
                    right = share_x[j]
                    winner = known[0]
                    most = np.float32(-np.inf)
                    for k in range(count):
                        left_side = (one - down) * corners[k, 0] + down * corners[k, 2]
                        right_side = (one - down) * corners[k, 1] + down * corners[k, 3]
                        value = (one - right) * left_side + right * right_side
                        if value > most:
                            winner = known[k]
                            most = value
                    out[i, j] = winner
            x = x_end
        y = y_end


@jit
def stretch(scores, first_y, second_y, share_y, first_x, second_x, share_x, out):
    """Fill ``out`` (C, H, W) with the interpolated scores."""
    classes, height, width = out.shape
    one = np.float32(1)
    line = np.empty(scores.shape[2], np.float32)
    for c in range(classes):
        for y in range(height):
            y0 = first_y[y]
            y1 = second_y[y]
            down = share_y[y]
            for x in range(scores.shape[2]):
                line[x] = (one - down) * scores[c, y0, x] + down * scores[c, y1, x]
            for x in range(width):
                out[c, y, x] = (one - share_x[x]) * line[first_x[x]] + share_x[x] * line[second_x[x]]


@jit
def rank(scores, values, classes):
    """Fill ``values`` and ``classes`` (K, H, W) with the K largest scores of each pixel and their classes,
    the largest first, ties to the first class.
    """
    few = len(values)
    for y in range(scores.shape[1]):
        for c in range(len(scores)):
            for x in range(scores.shape[2]):
                value = scores[c, y, x]
                held = min(c, few)
                if held == few and value <= values[few - 1, y, x]:
                    continue
                place = held if held < few else few - 1
                while place > 0 and values[place - 1, y, x] < value:
                    values[place, y, x], classes[place, y, x] = (
                        values[place - 1, y, x],
                        classes[place - 1, y, x],
                    )
                    place -= 1
                values[place, y, x], classes[place, y, x] = value, c
