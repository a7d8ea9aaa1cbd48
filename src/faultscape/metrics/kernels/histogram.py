"""The kernel behind score_histogram: one pass over bit patterns and labels."""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


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
