"""Rows of runs relative to the row above: the loops of the label-map code, written once, compiled or not.

Conventions: these functions are plain Python over arrays. maps.kernels.rows compiles them; without numba they
run as they are. A map is H rows of runs (end, label); each row is encoded in one of four ways:

    SAME     as the row above
    MOVED    the row above with each end but the last moved by one signed byte of ``ops``
    EDITED   ops: 0..MATCH-1 the next run of the row above, its end moved (0, -1, 1, -2, ...); CUT a piece of
             the label of that run; DROP that run is gone; NEW a run of a new label. CUT and NEW take a
             length, NEW a label. The row is complete when its width is reached.
    PIXELS   one label per pixel, for a row whose runs cannot be predicted

``bytes_`` are all streams together: ways (H), ops, then the labels' and the lengths' bytes by significance.
"""

# ruff: noqa: ANN001, ANN201 - compiled: numba infers types from the arguments

from __future__ import annotations

import numpy as np

SAME = 0
MOVED = 1
EDITED = 2
PIXELS = 3
MATCH, DROP, CUT, NEW = 250, 250, 251, 252  # below MATCH: the run above, its end moved
GOOD = 0
DAMAGED = 1
STRANGE = 2
SLACK = 128


def find_runs(label_map):
    """Return runs per row, ends and labels of all runs: for NumPy alone, never compiled."""
    height, width = label_map.shape
    last = np.ones((height, width), bool)
    np.not_equal(label_map[:, 1:], label_map[:, :-1], out=last[:, :-1])
    at = np.flatnonzero(last)
    return last.sum(axis=1), at % width + 1, label_map.reshape(-1)[at]


def tell_rows(label_map, counts, ends, values, ways, ops, labels, lengths):
    """Fill ways, ops, labels, lengths (arrays of maximum size); return how many ops, labels, lengths were
    used and the runs of the widest EDITED row.
    """
    height, width = label_map.shape
    n_ops = 0
    n_labels = 0
    n_lengths = 0
    widest = 1
    above = 0
    n_above = 0
    here = 0
    for y in range(height):
        n = np.int64(counts[y])
        same = n == n_above
        moved = same
        if same:
            for k in range(n):
                step = np.int64(ends[here + k]) - np.int64(ends[above + k])
                if values[here + k] != values[above + k] or step < -128 or step > 127:
                    moved = False
                    same = False
                    break
                if step != 0:
                    same = False
        if same:
            ways[y] = SAME
        elif moved:
            ways[y] = MOVED
            for k in range(n - 1):
                ops[n_ops] = (np.int64(ends[here + k]) - np.int64(ends[above + k])) & 255
                n_ops += 1
        elif 3 * n > width > 8:
            ways[y] = PIXELS
            copy(labels, n_labels, label_map[y])
            n_labels += width
        else:
            ways[y] = EDITED
            widest = max(widest, n)
            p = 0
            x = 0
            for q in range(n):
                end = np.int64(ends[here + q])
                value = values[here + q]
                while p < n_above and np.int64(ends[above + p]) < x:
                    ops[n_ops] = DROP
                    n_ops += 1
                    p += 1
                best = -1
                best_cost = 1 << 30
                for candidate in range(p, min(p + 4, n_above)):
                    step = end - np.int64(ends[above + candidate])
                    if values[above + candidate] == value and -125 <= step < 125:
                        cost = 6 * (candidate - p) + min(abs(step), 12)
                        if cost < best_cost:
                            best = candidate
                            best_cost = cost
                if (
                    best >= 0
                    and q + 2 < n
                    and values[here + q + 2] == value
                    and ends[here + q + 2] == ends[above + best]
                    and best_cost > 0
                ):
                    best = -1  # a run was cut in two: its second piece has the old end
                if best >= 0:
                    for _ in range(best - p):
                        ops[n_ops] = DROP
                        n_ops += 1
                    step = end - np.int64(ends[above + best])
                    ops[n_ops] = 2 * step if step >= 0 else -2 * step - 1
                    n_ops += 1
                    p = best + 1
                else:
                    if p < n_above and values[above + p] == value:
                        ops[n_ops] = CUT
                    else:
                        ops[n_ops] = NEW
                        labels[n_labels] = value
                        n_labels += 1
                    n_ops += 1
                    lengths[n_lengths] = end - x
                    n_lengths += 1
                x = end
        n_above = 0 if ways[y] == PIXELS else n
        above = here
        here += n
    return n_ops, n_labels, n_lengths, widest


def fill(out, start, end, value):
    """Write one value from start to end; when compiled, up to SLACK more positions of ``out`` are
    overwritten, which later runs write again.
    """
    out[start:end] = value


def place(at):
    """Return a place that is known not to be negative: compiled, no look at its sign comes before its use."""
    return at


def move(out, base, start, was, end, value, after):
    """Move the end of a run, which begins at ``start``, in a row that begins at ``base``."""
    if end > was:
        out[base + max(start, was) : base + end] = value
    elif end < was:
        out[base + end : base + was] = after


def copy(out, start, row):
    """Write a row from start on: compiled, an assignment to a slice would cost seconds of compiling the words
    of its own error.
    """
    out[start : start + len(row)] = row


def repeat(out, start, width):
    """Repeat the row before ``start``; when compiled, with SLACK as above."""
    out[start : start + width] = out[start - width : start]


def draw_rows(bytes_, itemsize, height, width, widest, n_ops, n_labels, n_lengths, wide, table, unknown, out):
    """Draw the map encoded in the streams into ``out`` (H * W,), with labels replaced by their entries of
    ``table``; return (GOOD, 0) or what is wrong.

    Every position is checked before it is read or written: forged streams end in DAMAGED, a label that is not
    in the table in (STRANGE, label).
    """
    op = height
    label_at = height + n_ops
    length_at = height + n_ops + itemsize * n_labels
    op_end = height + n_ops
    used_labels = 0
    used_lengths = 0
    # of the row above from place ``old`` on, of an EDITED row from place ``new`` on
    ends = np.zeros(2 * widest + 2, np.int64)
    values = np.zeros(2 * widest + 2, table.dtype)
    old = 0
    new = widest + 1
    n_above = 0
    for y in range(height):
        way = bytes_[y]
        base = y * width
        if way == SAME:
            if y == 0:
                return DAMAGED, 0
            repeat(out, base, width)
        elif way == MOVED:
            if n_above == 0 or op + n_above - 1 > op_end:
                return DAMAGED, 0
            repeat(out, base, width)
            x = 0
            for k in range(n_above - 1):
                byte = np.int64(bytes_[place(op + k)])
                here = place(old + k)
                was = ends[here]
                end = was + byte - ((byte & 128) << 1)
                if end <= x or end >= width:
                    return DAMAGED, 0
                move(out, base, x, was, end, values[here], values[place(old + k + 1)])
                ends[here] = end
                x = end
            op += n_above - 1
        elif way == EDITED:
            p = 0
            n = 0
            x = 0
            while x < width:
                if op >= op_end:
                    return DAMAGED, 0
                what = np.int64(bytes_[place(op)])
                op += 1
                kept = np.int64(what != DROP)
                if (
                    what <= DROP
                    # both at once, without an unpredictable branch: a run that is gone has no length
                ):
                    if p >= n_above:
                        return DAMAGED, 0
                    here = place(old + p)
                    end = x + kept * (ends[here] + ((what >> 1) ^ -(what & 1)) - x)
                    value = values[here]
                    p += 1
                else:
                    if what == NEW:
                        if used_labels >= n_labels:
                            return DAMAGED, 0
                        label = np.int64(bytes_[label_at + used_labels])
                        if itemsize == 2:
                            label |= np.int64(bytes_[label_at + n_labels + used_labels]) << 8
                        used_labels += 1
                        if label >= len(table) or np.int64(table[label]) == unknown:
                            return STRANGE, label
                        value = table[label]
                    elif what == CUT and p < n_above:
                        value = values[old + p]
                    else:
                        return DAMAGED, 0
                    if used_lengths >= n_lengths:
                        return DAMAGED, 0
                    end = x + np.int64(bytes_[length_at + used_lengths])
                    if wide > 1:  # written out: numba would make vectors of so short a loop
                        end += np.int64(bytes_[length_at + n_lengths + used_lengths]) << 8
                    if wide > 2:
                        end += np.int64(bytes_[length_at + 2 * n_lengths + used_lengths]) << 16
                        end += np.int64(bytes_[length_at + 3 * n_lengths + used_lengths]) << 24
                    used_lengths += 1
                if end < x + kept or end > width or n >= widest + 1 - kept:
                    return DAMAGED, 0
                fill(out, base + x, base + end, value)
                here = place(new + n)
                ends[here] = end
                values[here] = value
                n += kept
                x = end
            n_above = n
            old, new = new, old
        elif way == PIXELS:
            if used_labels + width > n_labels:
                return DAMAGED, 0
            for x in range(width):
                label = np.int64(bytes_[label_at + used_labels + x])
                if itemsize == 2:
                    label |= np.int64(bytes_[label_at + n_labels + used_labels + x]) << 8
                if label >= len(table) or np.int64(table[label]) == unknown:
                    return STRANGE, label
                out[base + x] = table[label]
            used_labels += width
            n_above = 0
        else:
            return DAMAGED, 0
    if op != op_end or used_labels != n_labels or used_lengths != n_lengths:
        return DAMAGED, 0
    return GOOD, 0
