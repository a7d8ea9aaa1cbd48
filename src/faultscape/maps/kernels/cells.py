"""Cells of pairs of maps, from tuples of labels or from pixels, compiled.

Conventions: those of joint_runs. Nothing here checks its input: maps.counts does. The plain equivalent is
plain_joint_runs.
"""


# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments
# an intrinsic's first argument is numba's own:
# pyright: reportCallIssue=false

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit
from faultscape.maps.kernels.joint_runs import pointer

from numba import carray  # isort: skip  # pyright: ignore[reportPrivateImportUsage]


@jit
def _add_weights(at, end, weights, start, total):
    """Add weights, from ``start`` on, to their cells of ``total``: neighbours are often in one cell, and
    additions to one cell wait for each other, so those that are a quarter apart follow each other.
    """
    own = weights[start : start + end]
    quarter = np.uint64(end // 4)
    for x in range(quarter):
        y = x + quarter
        total[at[x]] += own[x]
        total[at[y]] += own[y]
        total[at[y + quarter]] += own[y + quarter]
        total[at[y + quarter + quarter]] += own[y + quarter + quarter]
    for x in range(end // 4 * 4, end):
        total[at[x]] += own[x]


@jit
def cells_of_tuples(columns, pixels, distinct, n, pairs, at, out):
    """Add each tuple's pixels to the cells of every pair: out (P, n * n). ``at`` is room for a stretch of
    cells, as narrow as they may be.
    """
    for p in range(len(pairs)):
        total = out[p]
        for start in range(0, distinct, len(at)):
            end = min(len(at), distinct - start)
            first = columns[pairs[p, 0], start : start + end]
            second = columns[pairs[p, 1], start : start + end]
            for c in range(end):
                at[c] = np.uint32(first[c]) * np.uint32(n) + np.uint32(second[c])
            _add_weights(at, end, pixels, start, total)


@jit
def both_of_tuples(columns, pixels, distinct, pairs, both, totals):
    """Add each tuple's pixels to the intersections of every pair and the histogram of every map."""
    for j in range(len(columns)):
        column = columns[j]
        row = totals[j]
        for c in range(distinct):
            row[column[c]] += pixels[c]
    # neighbours add to different rows, so that no addition waits for the previous one
    rows = np.empty((4, both.shape[1] + 1), np.int64)
    nowhere = both.shape[1]
    for p in range(len(pairs)):
        first = columns[pairs[p, 0]]
        second = columns[pairs[p, 1]]
        rows[:] = 0
        for c in range(distinct):
            label = np.int64(first[c])
            # no branch: it would be unpredictable
            rows[c & 3, nowhere + (label - nowhere) * np.int64(label == second[c])] += pixels[c]
        for y in range(both.shape[1]):
            both[p, y] += rows[0, y] + rows[1, y] + rows[2, y] + rows[3, y]


@jit
def _fill_cells(addresses, like, length, n, block, start, at, end):
    """Fill ``at`` up to ``end`` with the cells of a block of maps, in vectors of its narrow type."""
    some = carray(pointer(addresses[block[0]], like), (length,))[start : start + end]
    more = carray(pointer(addresses[block[1]], like), (length,))[start : start + end]
    for x in range(end):
        at[x] = np.uint32(some[x]) * np.uint32(n) + np.uint32(more[x])
    for k in range(2, len(block)):
        more = carray(pointer(addresses[block[k]], like), (length,))[start : start + end]
        for x in range(end):
            at[x] = np.uint32(at[x]) * np.uint32(n) + np.uint32(more[x])


@jit
def _count(at, end, hist):
    """Add one to each cell of ``at`` in one of the histograms (4, cells); return whether in all of them.

    One alone stays in the first-level cache; where neighbours are often in one cell, all take turns, so that
    no addition waits for the last.
    """
    alike = 0
    for x in range(1, min(end, 64)):  # enough to know
        alike += np.int64(at[x] == at[x - 1])
    turn = np.int64(alike > 8)
    h0 = hist[0]
    h1 = hist[turn]
    h2 = hist[2 * turn]
    h3 = hist[3 * turn]
    for x in range(0, end - end % 4, 4):
        h0[at[x]] += np.uint16(1)
        h1[at[x + 1]] += np.uint16(1)
        h2[at[x + 2]] += np.uint16(1)
        h3[at[x + 3]] += np.uint16(1)
    for x in range(end - end % 4, end):
        h0[at[x]] += np.uint16(1)
    return turn


@jit
def _add_up(hist, used, total):
    """Add the used ones of the histograms to their total, and empty them."""
    for way in range(used):
        some = hist[way]
        for c in range(len(total)):
            total[c] += some[c]
            some[c] = 0


@jit
def _fold(total, n, first, ab, ac, bc):
    """Add a cube of cells of three maps to the cells of its three pairs."""
    own = np.empty(n, np.uint32)
    for i in range(n):
        plane = total[first + i * n * n : first + (i + 1) * n * n]
        for c in range(n * n):
            bc[c] += plane[c]
        own[:] = 0
        for j in range(n):
            row = plane[j * n : (j + 1) * n]
            whole = np.uint32(0)
            for k in range(n):
                own[k] += row[k]
                whole += row[k]
            ab[i * n + j] += whole
        for k in range(n):
            ac[i * n + k] += own[k]


@jit
def cells_of_blocks(addresses, like, length, weights, n, blocks, rows, at, hist, out):
    """Add to ``out`` (.., n * n) the cells of each pair of each block of 2 to 4 maps, each in the row that is
    above the diagonal of ``rows`` (B, size, size).

    ``weights`` are what each place of the maps counts, empty if one. ``hist`` (4, n ** size) uint16 is empty
    before and after; ``at`` is room for a stretch of cells.
    """
    total = np.empty(hist.shape[1], np.uint32)
    inner = np.empty((3, n * n), np.int64)
    for b in range(len(blocks)):
        total[:] = 0
        counted = 0
        used = 1
        for start in range(0, length, len(at)):
            end = min(len(at), length - start)
            _fill_cells(addresses, like, length, n, blocks[b], start, at, end)
            if len(weights):
                _add_weights(at, end, weights, start, total)
            else:
                used = max(used, 1 + 3 * _count(at, end, hist))
                counted += end
                if counted + len(at) > 65535:  # more than a cell can hold
                    _add_up(hist, used, total)
                    counted = 0
        if counted:
            _add_up(hist, used, total)
        row = rows[b]
        if len(row) == 2:
            for c in range(n * n):
                out[row[0, 1], c] += total[c]
        elif len(row) == 3:
            _fold(total, n, 0, out[row[0, 1]], out[row[0, 2]], out[row[1, 2]])
        else:
            for label in range(n):  # of the first map
                inner[:] = 0
                _fold(total, n, label * n**3, inner[0], inner[1], inner[2])
                for c in range(n * n):
                    out[row[1, 2], c] += inner[0, c]
                    out[row[1, 3], c] += inner[1, c]
                    out[row[2, 3], c] += inner[2, c]
                    out[row[0, 1], label * n + c // n] += inner[0, c]
                    out[row[0, 2], label * n + c % n] += inner[0, c]
                    out[row[0, 3], label * n + c % n] += inner[1, c]
