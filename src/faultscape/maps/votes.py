"""How divided an ensemble of label maps is: the entropy of its votes, pixel by pixel.

Conventions: every map has one vote per pixel, void is a label like any other. The mean is over all pixels, in
nats. Joint runs are counted once, not pixel by pixel.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.counts import Maps, joint_tuples


def vote_entropy(maps: Maps, n: int) -> float:
    """Return the mean over pixels of -sum_y p_y log p_y, p_y the share of J maps (H, W) with label y;
    LabelMapError for labels >= n.

    >>> round(
    ...     vote_entropy(np.array([[[0, 1, 1, 1]], [[0, 0, 0, 1]]], np.uint8), 2), 6
    ... )  # two pixels of four are split, log 2 each
    0.346574
    """
    columns, pixels = joint_tuples(maps, n)
    # -sum over labels of p log p is -mean over maps of log p(its label)
    log_shares = np.stack([np.log((columns == own).mean(0)) for own in columns])
    return float(-(log_shares.mean(0) * pixels).sum() / pixels.sum()) + 0.0
