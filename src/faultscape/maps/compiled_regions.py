"""Connected regions and their overlaps, compiled: union-find on runs, then one merge of two run lists.

Conventions: a map (H, W) of uint8, uint16 or int32 labels is C-contiguous and given by the address of its first pixel. A run lies within one row;
``starts`` (R + 1,) are places in the map seen as one line, the last being H * W; ``first`` (H + 1,) is the first run of each row. Regions are numbered in
the order of their first pixels. Nothing here checks its input: maps.regions does. The plain twin with equal results is maps.plain_regions.
"""
# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import numpy as np

from faultscape.maps.compiled import _changed, _first_bit, set_bits
from faultscape.maps.jit import jit

_ONE = np.uint64(1)


@jit
def find_runs(address, labels):
    """Return (starts, first) of a map: 64 pixels are compared with their left neighbours at once."""
    height, width = labels.shape
    line = labels.reshape(-1)
    pixels = len(line)
    like = line[:0]
    words = (pixels + 63) // 64
    bits = np.empty(words, np.uint64)
    for w in range(words):
        at = w * 64
        left = np.uint64(0)
        if w == 0 or at + 64 > pixels:
            for x in range(at, min(at + 64, pixels)):
                if x == 0 or line[x] != line[x - 1]:
                    left |= _ONE << np.uint64(x - at)
        else:
            left, _, _ = _changed(address, 1, at, 0, like)
        bits[w] = left
    for y in range(height):
        at = np.uint64(y * width)
        bits[at >> np.uint64(6)] |= _ONE << (at & np.uint64(63))
    number = np.uint64(0)
    for w in range(words):
        number += set_bits(bits[w])
    starts = np.empty(np.int64(number) + 9, np.int32)
    n = 0
    for w in range(words):
        left = bits[w]
        size = np.int64(set_bits(left))
        for base in range(n, n + size, 8):  # eight at a time: no branch to guess
            for k in range(8):
                starts[base + k] = w * 64 + np.int64(_first_bit(left))
                left &= left - _ONE
        n += size
    starts[n] = pixels
    first = np.empty(height + 1, np.int32)
    row, due = 0, 0
    for k in range(n):
        first[row] = k  # written over until the row's first run is found
        hit = np.int64(starts[k] == due)
        row += hit
        due += hit * width
    first[height] = n
    return starts[: n + 1], first


@jit
def _root(parent, k):
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


@jit
def join_runs(labels, starts, first, none, reach):
    """Return (region of each run, label of each region): runs of one label that touch a run of the row above, diagonally too where ``reach`` is 1.

    Runs of the label ``none`` are no region: their number is -1.
    """
    height, width = labels.shape
    line = labels.reshape(-1)
    n = len(starts) - 1
    parent = np.empty(n, np.int32)
    value = np.empty(n, np.int32)
    for k in range(n):
        parent[k] = k
        value[k] = line[starts[k]]
    for y in range(1, height):
        above, last = np.int64(first[y - 1]), np.int64(first[y])
        for k in range(first[y], first[y + 1]):
            if value[k] == none:
                continue
            begin, end = starts[k] - width - reach, starts[k + 1] - width + reach
            while above < last and starts[above + 1] <= begin:
                above += 1
            mine = np.int64(-1)
            a = above
            while a < last and starts[a] < end:
                if value[a] == value[k]:
                    other = np.int64(_root(parent, a))
                    if mine < 0:
                        mine = other
                        parent[k] = other
                    elif other < mine:
                        parent[mine] = other
                        mine = other
                    elif mine < other:
                        parent[other] = mine
                a += 1
    regions = np.empty(n, np.int32)
    names = np.empty(n, np.int32)
    count = 0
    for k in range(n):
        if parent[k] == k:
            if value[k] == none:
                regions[k] = -1
            else:
                names[count] = value[k]
                regions[k] = count
                count += 1
        else:
            regions[k] = regions[_root(parent, k)]
    return regions, names[:count].copy()


@jit
def name_runs(labels, starts):
    """Return the label of each run: the regions of maps that hold region numbers."""
    line = labels.reshape(-1)
    out = np.empty(len(starts) - 1, np.int32)
    for k in range(len(out)):
        out[k] = line[starts[k]]
    return out


@jit
def measure_runs(starts, regions, count):
    """Return the pixels of each region."""
    area = np.zeros(count, np.int64)
    for k in range(len(regions)):
        if regions[k] >= 0:
            area[regions[k]] += starts[k + 1] - starts[k]
    return area


@jit
def sum_runs(starts, regions, outside, values, count):
    """Return the sum of ``values`` (H * W,) over each region, without the runs of ``outside`` = (starts, regions) whose region is -1."""
    sums = np.zeros(count, np.float64)
    others, void = outside
    o = 0
    for k in range(len(regions)):
        if regions[k] < 0:
            continue
        x, end = np.int64(starts[k]), np.int64(starts[k + 1])
        while others[o + 1] <= x:
            o += 1
        p = o
        while x < end:
            stop = min(end, np.int64(others[p + 1]))
            if void[p] >= 0:
                total = 0.0
                for q in range(x, stop):
                    total += values[q]
                sums[regions[k]] += total
            x = stop
            p += 1
    return sums


@jit
def overlap(starts_t, regions_t, starts_p, regions_p, n_t, n_p):
    """Return (truth, prediction, pixels) of every pair of regions that share pixels, sorted, and the pixels of each predicted region outside all true ones."""
    room = len(regions_t) + len(regions_p)
    a, b, n = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    outside = np.zeros(n_p, np.int64)
    size = np.zeros(n_t + 1, np.int64)
    m, i, j, x, pixels = np.uint64(0), np.uint64(0), np.uint64(0), np.int32(0), starts_t[-1]
    while x < pixels:
        end_t, end_p = starts_t[i + _ONE], starts_p[j + _ONE]
        end = min(end_t, end_p)
        t, p = regions_t[i], regions_p[j]
        if t >= 0 and p >= 0:
            a[m], b[m], n[m] = t, p, end - x
            size[t + 1] += 1
            m += _ONE
        elif p >= 0:
            outside[p] += end - x
        x = end
        i += np.uint64(end_t == end)
        j += np.uint64(end_p == end)
    for t in range(n_t):
        size[t + 1] += size[t]
    place = size[:-1].copy()
    order_p, order_n = np.empty(m, np.int32), np.empty(m, np.int32)
    for k in range(m):
        t = a[k]
        order_p[place[t]], order_n[place[t]] = b[k], n[k]
        place[t] += 1
    shared, seen = np.zeros(n_p, np.int64), np.empty(n_p, np.int32)
    truth, prediction, counts = np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m, np.int64)
    k = 0
    for t in range(n_t):
        met = 0
        for q in range(size[t], size[t + 1]):
            p = order_p[q]
            if shared[p] == 0:
                seen[met] = p
                met += 1
            shared[p] += order_n[q]
        if met > 1:
            seen[:met].sort()
        for q in range(met):
            p = seen[q]
            truth[k], prediction[k], counts[k] = t, p, shared[p]
            shared[p] = 0
            k += 1
    return truth[:k].copy(), prediction[:k].copy(), counts[:k].copy(), outside
