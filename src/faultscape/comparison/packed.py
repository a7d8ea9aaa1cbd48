"""The kernel that reads packed counts: a whole column of codes in one call, bounded by each code's own bytes."""
# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def _number(data, at, end):
    """Return the number at a place and the place after it; a place of -1 says that the bytes ended."""
    value, shift = np.int64(0), 0
    while at < end and shift < 63:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return value, -1


@jit
def unpack_block(data, offsets, both, rows, columns, totals, present):
    """Fill both, rows, columns (Q, I, n), totals (I, n) and present (Q, I); False when a code is damaged."""
    partners, length, n = both.shape
    for i in range(length):
        at, end = offsets[i], offsets[i + 1]
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
            for _ in range(cells - 1):
                gap, at = _number(data, at, end)
                if at < 0:
                    return False
                count, at = _number(data, at, end)
                if at < 0:
                    return False
                place += gap + 1
                if place < 0 or place >= n * (n - 1):
                    return False
                cell = place + 1 + place // n
                y, x = cell // n, cell % n
                rows[q, i, y] += count
                both[q, i, x] -= count
            for y in range(n):
                rows[q, i, y] += both[q, i, y]
                if both[q, i, y] < 0:
                    return False
        if at != end:
            return False
    return True
