"""The kernels of the maps room, compiled: runs of one map, and joint counts of many.

Conventions: maps are (H, W) uint8 or uint16. Nothing here checks its input: callers have (maps.runs, maps.counts). The plain twin with equal results
is maps.plain.
"""
# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xC2B2AE3D27D4EB4F)


# ---------------------------------------------------------------- one map
@jit
def find_runs(label_map):
    """Return runs a row (uint32), ends (uint32) and labels of all runs; branch-free, so noise costs no more than streets."""
    height, width = label_map.shape
    counts = np.empty(height, np.uint32)
    room = height * width // 4 + width + 1
    ends = np.empty(room, np.uint32)
    values = np.empty(room, label_map.dtype)
    n = 0
    for y in range(height):
        if n + width + 1 > room:
            room = 2 * room + width
            more_ends = np.empty(room, np.uint32)
            more_ends[:n] = ends[:n]
            ends = more_ends
            more_values = np.empty(room, label_map.dtype)
            more_values[:n] = values[:n]
            values = more_values
        row = label_map[y]
        start = n
        for x in range(1, width):
            ends[n] = x
            values[n] = row[x - 1]
            n += np.int64(row[x] != row[x - 1])
        ends[n] = width
        values[n] = row[width - 1]
        n += 1
        counts[y] = n - start
    return counts, ends[:n].copy(), values[:n].copy()


@jit
def predict(counts, ends, values):
    """Return what remains of ends and labels after prediction from the row above."""
    steps = np.empty(len(ends), np.int32)
    marks = np.empty_like(values)
    above, here = 0, 0
    for y in range(len(counts)):
        n = np.int64(counts[y])
        if y > 0 and counts[y] == counts[y - 1]:
            for k in range(n):
                steps[here + k] = np.int32(np.int64(ends[here + k]) - np.int64(ends[above + k]))
                marks[here + k] = values[here + k] ^ values[above + k]
        else:
            start = np.int64(0)
            for k in range(n):
                steps[here + k] = np.int32(np.int64(ends[here + k]) - start)
                start = np.int64(ends[here + k])
                marks[here + k] = values[here + k]
        above = here
        here += n
    return steps, marks


@jit
def restore(counts, steps, marks, width, ends, values):
    """Fill ends and labels, the inverse of predict; False unless they fill every row exactly. Safe on forged numbers."""
    number = len(ends)
    above, here = 0, 0
    for y in range(len(counts)):
        n = np.int64(counts[y])
        if n < 1 or here + n > number:
            return False
        end = np.int64(0)
        if y > 0 and counts[y] == counts[y - 1]:
            for k in range(n):
                next_ = np.int64(ends[above + k]) + np.int64(steps[here + k])
                if next_ <= end or next_ > width:
                    return False
                end = next_
                ends[here + k] = end
                values[here + k] = values[above + k] ^ marks[here + k]
        else:
            for k in range(n):
                next_ = end + np.int64(steps[here + k])
                if next_ <= end or next_ > width:
                    return False
                end = next_
                ends[here + k] = end
                values[here + k] = marks[here + k]
        if end != width:
            return False
        above = here
        here += n
    return here == number


@jit
def fill(ends, values, height, width):
    """Return the map whose runs these are."""
    out = np.empty((height, width), values.dtype)
    k = 0
    for y in range(height):
        row = out[y]
        x = np.int64(0)
        while x < width:
            end = np.int64(ends[k])
            row[x:end] = values[k]
            x = end
            k += 1
    return out


# ---------------------------------------------------------------- joint runs of many maps
@jit
def _slot(words, n_words, shift):
    h = np.uint64(0)
    for w in range(n_words):
        h = (h ^ words[w]) * _GOLDEN
        h ^= h >> np.uint64(29)
    return np.int64((h * _OTHER) >> shift)


@jit
def _shift(length):
    bits = 0
    while (1 << bits) < length:
        bits += 1
    return np.uint64(64 - bits)


@jit
def _grown(table, n_words):
    """Return a table of four times as many slots with the same entries."""
    bigger = np.zeros((len(table) * 4, table.shape[1]), np.uint64)
    mask, shift = len(bigger) - 1, _shift(len(bigger))
    for i in range(len(table)):
        if table[i, 0] != np.uint64(0):
            u = _slot(table[i, 1:], n_words, shift)
            while bigger[u, 0] != np.uint64(0):
                u = (u + 1) & mask
            bigger[u, :] = table[i, :]
    return bigger


@jit
def changes(maps, across, down):
    """Mark, for the whole stack, where any map differs from the pixel to the left and above; returns the number of joint runs."""
    n_maps, height, width = maps.shape
    runs = 0
    for y in range(height):
        a = across[y]
        d = down[y]
        a[:] = 0
        d[:] = 1 if y == 0 else 0
        above = max(y - 1, 0)
        for j in range(n_maps):  # compiles to vector code: the pass runs near the speed of memory
            row = maps[j, y]
            up = maps[j, above]
            for x in range(1, width):
                a[x] |= np.uint8(row[x] != row[x - 1])
            for x in range(width):
                d[x] |= np.uint8(row[x] != up[x])
        a[0] = 1
        n = 0
        for x in range(width):
            n += a[x]
        runs += n
    return runs


@jit
def intern_tuples(maps, across, down, table, per_word, bits):
    """Return (table, number of distinct tuples): each joint run's tuple of labels with its pixels; slot = count, then packed labels.

    A tuple of labels is constant along a joint run, and is the tuple of the pixel above wherever nothing changed downwards, so most
    runs need no look-up.
    """
    n_maps, height, width = maps.shape
    n_words = table.shape[1] - 1
    mask, shift, limit = len(table) - 1, _shift(len(table)), len(table) // 2
    words = np.zeros(n_words, np.uint64)
    step = np.uint64(bits)
    starts = np.empty(width + 1, np.int32)
    slots = np.empty(width + 1, np.int32)
    old_starts = np.empty(width + 2, np.int32)
    old_slots = np.empty(width + 2, np.int32)
    distinct = 0
    fresh = True
    for y in range(height):
        a = across[y]
        d = down[y]
        n = 0
        for x in range(width):
            starts[n] = x
            n += np.int64(a[x])
        starts[n] = width
        while distinct + n >= limit:  # grown between rows only, so that a row never looks for a place in vain
            table = _grown(table, n_words)
            mask, shift, limit = len(table) - 1, _shift(len(table)), len(table) // 2
            fresh = True  # slots moved: the row above is forgotten
        at = 0
        for k in range(n):
            x = starts[k]
            if d[x] == 0 and not fresh:
                while old_starts[at + 1] <= x:
                    at += 1
                u = np.int64(old_slots[at])
            else:
                j = 0
                h = np.uint64(0)
                for w in range(n_words):
                    word = np.uint64(0)
                    top = min(n_maps, j + per_word)
                    place = np.uint64(0)
                    while j < top:
                        word |= np.uint64(maps[j, y, x]) << place
                        place += step
                        j += 1
                    words[w] = word
                    h = (h ^ word) * _GOLDEN
                    h ^= h >> np.uint64(29)
                u = np.int64((h * _OTHER) >> shift)
                while table[u, 0] != np.uint64(0):
                    same = table[u, 1] == words[0]
                    for w in range(1, n_words):
                        same &= table[u, w + 1] == words[w]
                    if same:
                        break
                    u = (u + 1) & mask
                else:
                    for w in range(n_words):
                        table[u, w + 1] = words[w]
                    distinct += 1
            slots[k] = u
            table[u, 0] += np.uint64(starts[k + 1] - x)
        fresh = False
        for k in range(n):
            old_starts[k] = starts[k]
            old_slots[k] = slots[k]
        old_starts[n] = width
    return table, distinct


@jit
def unpack_tuples(table, distinct, n_maps, per_word, bits):
    """Return (maps, distinct) labels and (distinct,) pixels; the table is left empty for the next image."""
    columns = np.empty((n_maps, distinct), np.uint16)
    pixels = np.empty(distinct, np.int64)
    low = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    c = 0
    for u in range(len(table)):
        if table[u, 0] != np.uint64(0):
            pixels[c] = np.int64(table[u, 0])
            j = 0
            for w in range(table.shape[1] - 1):
                word = table[u, w + 1]
                for _ in range(min(per_word, n_maps - j)):
                    columns[j, c] = np.uint16(word & low)
                    word >>= np.uint64(bits)
                    j += 1
            table[u, 0] = np.uint64(0)
            c += 1
    return columns, pixels


@jit
def cells_of_tuples(columns, pixels, n, pairs, out):
    """Add each tuple's pixels to the cells of every pair: out (P, n * n)."""
    distinct = len(pixels)
    base = np.empty(distinct, np.int64)
    last = -1
    for p in range(len(pairs)):
        i, j = pairs[p]
        if i != last:
            for c in range(distinct):
                base[c] = np.int64(columns[i, c]) * n
            last = i
        cells = out[p]
        other = columns[j]
        for c in range(distinct):
            cells[base[c] + other[c]] += pixels[c]


@jit
def both_of_tuples(columns, pixels, pairs, both, totals):
    """Add each tuple's pixels to the intersections of every pair and the histogram of every map."""
    for j in range(len(columns)):
        for c in range(len(pixels)):
            totals[j, columns[j, c]] += pixels[c]
    for p in range(len(pairs)):
        first, second, row = columns[pairs[p, 0]], columns[pairs[p, 1]], both[p]
        for c in range(len(pixels)):
            label = first[c]
            row[label] += pixels[c] * np.int64(label == second[c])


# ---------------------------------------------------------------- noisy maps
@jit
def cells_of_triples(maps, n, blocks, hist):
    """Count the triples of labels of each block of three maps: hist (B, n ** 3) uint32, B even.

    Two blocks are counted at a time: in smooth maps one cell is hit again and again, and the second block's work fills the wait.
    """
    pixels = maps.shape[1]
    for b in range(0, len(blocks), 2):
        h, g = hist[b], hist[b + 1]
        m0, m1, m2 = maps[blocks[b, 0]], maps[blocks[b, 1]], maps[blocks[b, 2]]
        k0, k1, k2 = maps[blocks[b + 1, 0]], maps[blocks[b + 1, 1]], maps[blocks[b + 1, 2]]
        for x in range(pixels):
            h[np.uint32((np.uint32(m0[x]) * n + m1[x]) * n + m2[x])] += np.uint32(1)
            g[np.uint32((np.uint32(k0[x]) * n + k1[x]) * n + k2[x])] += np.uint32(1)


@jit
def cells_of_quads(maps, n, blocks, hist):
    """Count the quadruples of labels of each block of four maps: hist (B, n ** 4) uint32, B even; see cells_of_triples."""
    pixels = maps.shape[1]
    for b in range(0, len(blocks), 2):
        h, g = hist[b], hist[b + 1]
        m0, m1, m2, m3 = maps[blocks[b, 0]], maps[blocks[b, 1]], maps[blocks[b, 2]], maps[blocks[b, 3]]
        k0, k1, k2, k3 = maps[blocks[b + 1, 0]], maps[blocks[b + 1, 1]], maps[blocks[b + 1, 2]], maps[blocks[b + 1, 3]]
        for x in range(pixels):
            h[np.uint32(((np.uint32(m0[x]) * n + m1[x]) * n + m2[x]) * n + m3[x])] += np.uint32(1)
            g[np.uint32(((np.uint32(k0[x]) * n + k1[x]) * n + k2[x]) * n + k3[x])] += np.uint32(1)


@jit
def cells_of_pairs(maps, n, pairs, hist):
    """Count the pairs of labels of each pair of maps: hist (P, 4, n ** 2) uint32, four histograms in turn for the same reason."""
    pixels = maps.shape[1]
    whole = pixels - pixels % 4
    for p in range(len(pairs)):
        m0, m1 = maps[pairs[p, 0]], maps[pairs[p, 1]]
        h0, h1, h2, h3 = hist[p, 0], hist[p, 1], hist[p, 2], hist[p, 3]
        for x in range(0, whole, 4):
            h0[np.int64(m0[x]) * n + m1[x]] += np.uint32(1)
            h1[np.int64(m0[x + 1]) * n + m1[x + 1]] += np.uint32(1)
            h2[np.int64(m0[x + 2]) * n + m1[x + 2]] += np.uint32(1)
            h3[np.int64(m0[x + 3]) * n + m1[x + 3]] += np.uint32(1)
        for x in range(whole, pixels):
            h0[np.int64(m0[x]) * n + m1[x]] += np.uint32(1)
