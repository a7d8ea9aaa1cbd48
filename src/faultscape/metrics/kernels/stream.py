"""The kernels behind score_stream; ``plain_stream`` shows in NumPy what each does.

The kernel behind score_histogram: one pass over bit patterns and labels.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments

# pyright: reportCallIssue=false

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit
from faultscape.metrics.kernels.lanes import below_of_32, equal_of_32

_ONE = np.uint64(1)
_LANES = np.uint64(32)  # scores compared at once


@jit
def gather(score, anomaly, only_anomalous, void, low, high, out, at):
    """Write the scores in [low, high) of the anomalous pixels, or of all pixels that are not void, to out
    from place ``at``; return the place after the last.
    """
    for i in range(score.size):
        value = score[i]
        label = anomaly[i]
        out[at] = value
        at += ((label == 1) | ((not only_anomalous) & (label != void))) & (value >= low) & (value < high)
    return at


@jit
def count_between(values, marks, up_to, equal):
    """Add, for each mark, how many of the ascending values lie above the previous mark and up to it (and
    beyond the last mark), and how many equal it.
    """
    size = np.uint64(values.size)
    address = np.uint64(values.ctypes.data)
    i = np.uint64(0)
    for k in range(marks.size):
        mark = marks[k]
        start = i
        while i + _LANES <= size and values[i + _LANES - _ONE] < mark:
            i += _LANES
        same = np.uint64(0)
        if i + _LANES <= size:
            at = address + i * np.uint64(values.itemsize)
            i += below_of_32(at, mark)
            same = equal_of_32(at, mark)
        else:
            while i < size and values[i] < mark:
                i += _ONE
        up_to[k] += i - start
        first = i
        i += same
        while i < size and values[i] == mark:
            i += _ONE
        up_to[k] += i - first
        equal[k] += i - first
    up_to[marks.size] += size - i


@jit
def count_equal(values, marks, equal):
    """Add how many of the ascending values equal each mark; every value is a mark."""
    k = 0
    for i in range(values.size):
        while marks[k] < values[i]:
            k += 1
        equal[k] += 1


@jit
def union(marks, values, out):
    """Write the distinct numbers of ascending marks and ascending values to out, in order; return their
    count.
    """
    i = k = n = 0
    while i < values.size or k < marks.size:
        if i == values.size or (k < marks.size and marks[k] <= values[i]):
            number = marks[k]
            k += 1
        else:
            number = values[i]
            i += 1
        out[n] = number
        n += n == 0 or out[n - 1] != number
    return n


@jit
def _key(bits):
    """Return a whole number in the order of the float32 with these bits; minus zero is zero."""
    if bits == np.uint32(0x80000000):
        bits = np.uint32(0)
    return bits ^ (np.uint32(0x80000000) | np.uint32(np.int32(bits) >> np.int32(31)))


@jit
def count_tops(bits, labels, counts):
    """Add to counts (2, 65536) the pixels labelled 0 and 1 by the upper half of the keys of their scores."""
    for i in range(bits.size):
        label = labels[i]
        if label < 2:
            counts[np.int64(label), np.int64(_key(bits[i]) >> np.uint32(16))] += 1


@jit
def place(bits, labels, slots, raw, at, cells, n):
    """Write from place ``n`` on the cells of pixels labelled 0 and 1 in tables (T, 2, 65536) of the upper
    halves of their keys, or, where ``slots`` holds -2 for a table, their keys to raw (2, R) from ``at`` on;
    return the place after the last cell.
    """
    at_cells = np.uint64(n)
    for i in range(bits.size):
        label = np.uint32(labels[i])
        key = _key(bits[i])
        slot = slots[np.uint64(key >> np.uint32(16))]
        cells[at_cells] = (
            np.uint32(slot) << np.uint32(17) | label << np.uint32(16) | (key & np.uint32(0xFFFF))
        )
        at_cells += np.uint64((label < 2) & (slot >= 0))
        if slot == -2 and label < 2:
            if at[label] < raw.shape[1]:
                raw[label, at[label]] = key
            at[label] += 1
    return at_cells


@jit
def tally(cells, counts, full):
    """Count each of the cells in uint8, and write those that begin again at 0 after 255 to ``full``; return
    how many these are.
    """
    n = np.uint64(0)
    for i in range(cells.size):
        cell = np.uint64(cells[i])
        count = np.uint8(counts[cell] + np.uint8(1))
        counts[cell] = count
        full[n] = cell
        n += np.uint64(count == 0)
    return n


@jit
def sweep(table, more, low, hits, reach, rows, k):
    """Write rows (keys, hits, reach, above) from place ``k`` of the cells of a table (2, 65536), highest
    first, to which ``more`` is added; ``hits`` and ``reach`` are the pixels above. Return the place after the
    last row.
    """
    keys, all_hits, all_reach, above = rows
    for cell in range(65535, -1, -1):
        known = np.int64(table[0, cell]) + more[0, cell]
        own = np.int64(table[1, cell]) + more[1, cell]
        hits += own
        keys[k] = low + np.uint32(cell)
        all_hits[k] = hits
        above[k] = reach
        reach += known
        all_reach[k] = reach
        k += own > 0  # no branch, which nobody could predict
    return k


@jit
def count_bits(bits, labels, counts):
    """Add the pixels labelled 0 and 1 to counts (4, 65536): rows 0, 1 and 2, 3 alternate, so that equal
    neighbours need not wait for each other.
    """
    for i in range(bits.size):
        label = labels[i]
        if label < 2:
            counts[np.int64(label) + 2 * (i & 1), np.int64(bits[i])] += np.uint32(1)


@jit
def count_in_groups(bits, groups, counts):
    """Add the pixels of groups 0 to 3 to counts (4, 65536)."""
    for i in range(bits.size):
        group = np.int64(groups[i])
        if group < 4:
            counts[group, np.int64(bits[i])] += np.uint32(1)
