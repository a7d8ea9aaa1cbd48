"""The kernels behind score_stream; ``plain_stream`` shows in NumPy what each does.

The kernel behind score_histogram: one pass over bit patterns and labels.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def gather(score, anomaly, only_anomalous, void, low, high, out, at):  # noqa: ANN001, ANN201
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
def count_between(values, marks, up_to, equal):  # noqa: ANN001, ANN201
    """Add, for each mark, how many of the ascending values lie above the previous mark and up to it (and
    beyond the last mark), and how many equal it.
    """
    i = 0
    for k in range(marks.size):
        mark = marks[k]
        start = i
        while i < values.size and values[i] < mark:
            i += 1
        first = i
        while i < values.size and values[i] == mark:
            i += 1
        up_to[k] += i - start
        equal[k] += i - first
    up_to[marks.size] += values.size - i


@jit
def count_equal(values, marks, equal):  # noqa: ANN001, ANN201
    """Add how many of the ascending values equal each mark; every value is a mark."""
    k = 0
    for i in range(values.size):
        while marks[k] < values[i]:
            k += 1
        equal[k] += 1


@jit
def union(marks, values, out):  # noqa: ANN001, ANN201
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
def count_bits(bits, labels, counts):  # noqa: ANN001, ANN201
    """Add the pixels labelled 0 and 1 to counts (4, 65536): rows 0, 1 and 2, 3 alternate, so that equal
    neighbours need not wait for each other.
    """
    for i in range(bits.size):
        label = labels[i]
        if label < 2:
            counts[np.int64(label) + 2 * (i & 1), np.int64(bits[i])] += np.uint32(1)


@jit
def count_in_groups(bits, groups, counts):  # noqa: ANN001, ANN201
    """Add the pixels of groups 0 to 3 to counts (4, 65536)."""
    for i in range(bits.size):
        group = np.int64(groups[i])
        if group < 4:
            counts[group, np.int64(bits[i])] += np.uint32(1)
