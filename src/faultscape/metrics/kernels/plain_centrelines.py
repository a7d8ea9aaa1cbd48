"""Guo and Hall's thinning in NumPy alone, one class at a time and all pixels at every step: the fallback
where numba cannot be imported, and the twin of the compiled one.
"""

from __future__ import annotations

import numpy as np


def thin(labels: np.ndarray, none: int, deletable: np.ndarray) -> None:
    """Set every pixel of a map (H, W) that is not on the centreline of its class to ``none``, in place;
    ``deletable`` (2, 256) says which neighbourhoods allow it.
    """
    for label in np.unique(labels):
        if label != none:
            mine = labels == label
            labels[mine & ~_thinned(mine, deletable)] = none


def _thinned(mine: np.ndarray, deletable: np.ndarray) -> np.ndarray:
    """Return the centreline of one class, (H, W) bools."""
    mine = mine.copy()
    idle = 0
    step = 0
    while idle < 2:  # until neither pass of a round deletes a pixel
        gone = mine & deletable[step % 2][neighbourhoods(mine)]
        mine &= ~gone
        idle = 0 if gone.any() else idle + 1
        step = step + 1
    return mine


def neighbourhoods(mine: np.ndarray) -> np.ndarray:
    """Return (H, W) uint8: the eight neighbours of each pixel as bits, clockwise from the one above; there
    are none beyond the frame.
    """
    height, width = mine.shape
    around = np.pad(mine, 1).astype(np.uint8)
    steps = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
    bits = [around[1 + y : 1 + y + height, 1 + x : 1 + x + width] << k for k, (y, x) in enumerate(steps)]
    return np.bitwise_or.reduce(bits)
