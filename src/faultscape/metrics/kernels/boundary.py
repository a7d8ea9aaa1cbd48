"""Compiled search for boundary pixels near boundary pixels; the plain twin is in ``boundary.py``.

Conventions: maps are flat, with a margin as wide as the longest step; labels are places 0..C-1, and the map
is C wherever there is no boundary. Imported only through ``boundary._kernels``.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def count_missed(
    around: np.ndarray, at: np.ndarray, labels: np.ndarray, steps: np.ndarray, missed: np.ndarray
) -> None:
    """Add to ``missed`` (C,) the pixels ``at`` whose label occurs at none of the steps from them."""
    for k in range(len(at)):
        label = labels[k]
        found = False
        for step in steps:
            if around[at[k] + step] == label:
                found = True
                break
        if not found:
            missed[label] += 1
