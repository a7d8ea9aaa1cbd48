"""Connected regions and their overlaps, compiled: union-find on runs, then one merge of two run lists.

Conventions: a map (H, W) of uint8, uint16 or int32 labels is C-contiguous and given by the address of its
first pixel. A run stays within one row; ``starts`` (R + 1,) are positions in the flattened map, the last
being H * W; ``first`` (H + 1,) is the first run of each row. Regions are numbered in the order of their first
pixels. Nothing here checks its input: maps.regions does. The plain equivalent is plain_regions.
"""


# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit
from faultscape.maps.kernels.joint_runs import _changed, _first_bit, set_bits

_ONE = np.uint64(1)
_DENSE = 1 << 14  # cells of a table that stays in the first-level cache


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
    starts = np.empty(np.int64(number) + 5, np.int32)
    n = np.uint64(0)
    for w in range(words):
        left = bits[w]
        base = np.uint64(w * 64)
        end = n + set_bits(left)
        at = n
        while at < end:  # four at a time: fewer branches to predict
            for k in range(4):
                starts[at + np.uint64(k)] = base + _first_bit(left)
                left &= left - _ONE
            at += np.uint64(4)
        n = end
    starts[n] = pixels
    first = np.empty(height + 1, np.int32)
    row = np.uint64(0)
    due = np.int64(0)
    for k in range(np.int64(n)):
        first[row] = k  # overwritten until the row's first run is found
        hit = starts[k] == due
        row += np.uint64(hit)
        due += hit * width
    first[height] = n
    return starts[: n + _ONE], first


@jit
def _root(parent, k):
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k  # never larger than where it began: parents come first


@jit
def join_runs(labels, starts, first, none, reach):
    """Return (region of each run, label of each region): runs of one label that touch a run of the row above,
    diagonally too if ``reach`` is 1, are joined.

    Runs of the label ``none`` are not regions: their number is -1.
    """
    height, width = labels.shape
    line = labels.reshape(-1)
    n = len(starts) - 1
    parent = np.empty(n, np.uint32)
    value = np.empty(n, np.int32)
    for k in range(n):
        parent[k] = k
        value[k] = line[np.uint32(starts[k])]
    before = np.int32(width + reach)
    behind = np.int32(reach - width)
    for y in range(1, height):
        above = np.uint64(first[y - 1])
        last = np.uint64(first[y])
        end = np.uint64(first[y + 1])
        k = last
        while k < end:
            mine = value[k]
            left = starts[k] - before
            right = starts[k + _ONE] + behind
            while above < last and starts[above + _ONE] <= left:
                above += _ONE
            a = above if mine != none else last
            while a < last and starts[a] < right:
                if value[a] == mine:
                    one = _root(parent, parent[k])
                    other = _root(parent, parent[a])
                    if one < other:
                        parent[other] = one
                    else:
                        parent[one] = other
                a += _ONE
            k += _ONE
    regions = np.empty(n, np.int32)
    names = np.empty(n, np.int32)
    count = np.uint64(0)
    for k in range(n):
        if parent[k] != k:
            regions[k] = regions[parent[k]]  # of an earlier run, whose number is known
        elif value[k] == none:
            regions[k] = -1
        else:
            names[count] = value[k]
            regions[k] = count
            count += _ONE
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
    """Return the sum of ``values`` (H * W,) over each region, without the runs of ``outside`` = (starts,
    regions) whose region is -1.
    """
    sums = np.zeros(count, np.float64)
    others, void = outside
    o = 0
    for k in range(len(regions)):
        if regions[k] < 0:
            continue
        x = np.int64(starts[k])
        end = np.int64(starts[k + 1])
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
    """Return (truth, prediction, pixels) of every pair of regions that share pixels, sorted, and the pixels
    of each predicted region outside all true ones.
    """
    if n_t * n_p <= _DENSE:
        return _overlap_of_few(starts_t, regions_t, starts_p, regions_p, n_t, n_p)
    return _overlap_of_many(starts_t, regions_t, starts_p, regions_p, n_t, n_p)


@jit
def _overlap_of_few(starts_t, regions_t, starts_p, regions_p, n_t, n_p):
    """As `overlap`, with a table that has a cell for every possible pair: it stays in the first-level
    cache.
    """
    wide = np.uint64(n_p + 1)
    # the first row and column are for pixels without a region
    cells = np.zeros((n_t + 1) * (n_p + 1), np.int64)
    i = np.uint64(0)
    j = np.uint64(0)
    x = np.int32(0)
    pixels = starts_t[-1]
    while x < pixels:
        end_t = starts_t[i + _ONE]
        end_p = starts_p[j + _ONE]
        end = min(end_t, end_p)
        cells[np.uint64(regions_t[i] + 1) * wide + np.uint64(regions_p[j] + 1)] += end - x
        x = end
        i += np.uint64(end_t == end)
        j += np.uint64(end_p == end)
    table = cells.reshape(n_t + 1, n_p + 1)
    room = min(n_t * n_p, len(regions_t) + len(regions_p))
    truth = np.empty(room, np.int32)
    prediction = np.empty(room, np.int32)
    counts = np.empty(room, np.int64)
    k = np.uint64(0)
    for t in range(n_t):
        for p in range(n_p):
            shared = table[t + 1, p + 1]
            if shared > 0:
                truth[k], prediction[k], counts[k] = t, p, shared
                k += _ONE
    return truth[:k].copy(), prediction[:k].copy(), counts[:k].copy(), table[0, 1:].copy()


@jit
def _overlap_of_many(starts_t, regions_t, starts_p, regions_p, n_t, n_p):
    """As `overlap`, by pieces sorted by their true region."""
    room = len(regions_t) + len(regions_p)
    a = np.empty(room, np.uint32)
    b = np.empty(room, np.uint32)
    n = np.empty(room, np.uint32)
    outside = np.zeros(n_p, np.int64)
    size = np.zeros(n_t + 2, np.uint32)
    m = np.uint64(0)
    i = np.uint64(0)
    j = np.uint64(0)
    x = np.int32(0)
    pixels = starts_t[-1]
    while x < pixels:
        end_t = starts_t[i + _ONE]
        end_p = starts_p[j + _ONE]
        end = min(end_t, end_p)
        t = regions_t[i]
        p = regions_p[j]
        if p >= 0:
            if t >= 0:
                a[m], b[m], n[m] = t, p, end - x
                size[np.uint32(t) + np.uint32(2)] += np.uint32(1)
                m += _ONE
            else:
                outside[np.uint32(p)] += end - x
        x = end
        i += np.uint64(end_t == end)
        j += np.uint64(end_p == end)
    for t in range(n_t):
        size[t + 2] += size[t + 1]
    order_p = np.empty(m, np.uint32)
    order_n = np.empty(m, np.uint32)
    for k in range(m):
        # sorted by true region: size[t + 1] is where t's next piece goes, and finally where t + 1 begins
        at = size[a[k] + np.uint32(1)]
        order_p[at], order_n[at] = b[k], n[k]
        size[a[k] + np.uint32(1)] += np.uint32(1)
    shared = np.zeros(n_p, np.int64)
    seen = np.empty(n_p, np.uint32)
    truth = np.empty(m, np.int32)
    prediction = np.empty(m, np.int32)
    counts = np.empty(m, np.int64)
    k = np.uint64(0)
    for t in range(n_t):
        met = np.uint64(0)
        for q in range(size[t], size[t + 1]):
            p = order_p[q]
            seen[met] = p
            met += np.uint64(shared[p] == 0)
            shared[p] += order_n[q]
        if met > 1:
            seen[:met].sort()
        for q in range(met):
            p = seen[q]
            truth[k], prediction[k], counts[k] = t, p, shared[p]
            shared[p] = 0
            k += _ONE
    return truth[:k].copy(), prediction[:k].copy(), counts[:k].copy(), outside
