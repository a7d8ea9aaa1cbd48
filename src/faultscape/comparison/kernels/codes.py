"""The kernels that write and read packed counts: a whole column of codes in one call, with each code checked
against its own length.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def _number(data, at, end):
    """Return the number at a position and the position after it; a position of -1 means that the bytes
    ended.
    """
    value = np.int64(0)
    shift = 0
    while at < end and shift < 63:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return value, -1


@jit
def _short(data, at):
    """Return the number at a position with three bytes to read, and its length: 4 if it is longer; without
    branches, since they would be unpredictable.
    """
    first = np.int64(data[at])
    second = np.int64(data[at + 1])
    third = np.int64(data[at + 2])
    two = first >> 7
    three = two & (second >> 7)
    value = first & 127 | (second & 127) << 7 & -two | (third & 127) << 14 & -three
    return value, 1 + two + three + (three & (third >> 7))


@jit
def unpack_block(data, offsets, both, rows, columns, totals, present):
    """Fill both, rows, columns (Q, I, n), totals (I, n) and present (Q, I); False when a code is damaged."""
    partners, length, n = both.shape
    row_of = np.empty(n * (n - 1), np.int64)
    column_of = np.empty(n * (n - 1), np.int64)
    for place in range(n * (n - 1)):
        y = place // (n - 1)
        x = place % (n - 1)
        row_of[place], column_of[place] = y, x + np.int64(x >= y)
    for i in range(length):
        at = offsets[i]
        end = offsets[i + 1]
        if at < 0 or end > len(data) or at > end:
            return False
        mode, at = _number(data, at, end)
        if at < 0 or mode > 1:
            return False
        for y in range(n):
            totals[i, y], at = _number(data, at, end)
            if at < 0:
                return False
        for q in range(partners):
            cells, at = _number(data, at, end)
            if at < 0:
                return False
            if cells == 0:
                continue
            present[q, i] = True
            for y in range(n):
                columns[q, i, y] = totals[i, y]
            if mode == 1:
                for y in range(n):
                    both[q, i, y], at = _number(data, at, end)
                    if at < 0:
                        return False
                continue
            for y in range(n):
                both[q, i, y] = totals[i, y]
            place = np.int64(-1)
            count = np.int64(0)
            line = rows[q, i]
            here = both[q, i]
            for _ in range(cells - 1):
                gap = np.int64(data[at]) if at < end else np.int64(128)
                size = np.int64(4)
                if gap < 128 and at + 4 <= end:  # nearly always
                    count, size = _short(data, at + 1)
                if size < 4:
                    at += 1 + size
                else:
                    gap, at = _number(data, at, end)
                    if at < 0:
                        return False
                    count, at = _number(data, at, end)
                    if at < 0:
                        return False
                place += gap + 1
                if place < 0 or place >= n * (n - 1):
                    return False
                line[row_of[place]] += count
                here[column_of[place]] -= count
            for y in range(n):
                rows[q, i, y] += both[q, i, y]
                if both[q, i, y] < 0:
                    return False
        if at != end:
            return False
    return True


@jit
def _put(out, at, value):
    """Write a number and return the position after it."""
    value = np.uint64(value)
    while value >= np.uint64(128):
        out[at] = np.uint8(value & np.uint64(127)) | np.uint8(128)
        value >>= np.uint64(7)
        at += 1
    out[at] = np.uint8(value)
    return at + 1


@jit
def pack_cells(cells, present, totals):
    """Return the code of (Q, n, n) cells as bytes."""
    n = len(totals)
    most = 0
    for q in range(len(present)):
        if present[q]:
            for y in range(n):
                for x in range(n):
                    most += np.int64(cells[q, y, x] != 0)
    out = np.empty(10 * (1 + n + len(present) + 2 * most), np.uint8)  # a number takes ten bytes at most
    at = _put(out, 0, 0)
    for y in range(n):
        at = _put(out, at, totals[y])
    for q in range(len(present)):
        if not present[q]:
            at = _put(out, at, 0)
            continue
        matrix = cells[q]
        number = 0
        for y in range(n):
            for x in range(n):
                number += np.int64(matrix[y, x] != 0)
            number -= np.int64(matrix[y, y] != 0)
        at = _put(out, at, number + 1)
        gap = 0
        for y in range(n):
            for x in range(n):
                if x != y:
                    if matrix[y, x] != 0:
                        at = _put(out, at, gap)
                        at = _put(out, at, matrix[y, x])
                        gap = 0
                    else:
                        gap += 1
    return out[:at]
