"""The random bits at a place of a stream, for kernels; the plain twin is `words_at` of
stressors/streams.py.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_27 = np.uint64(27)
_30 = np.uint64(30)
_31 = np.uint64(31)


@jit
def word_at(start: np.uint64, place: np.uint64) -> np.uint64:
    """Return the 64 random bits at a place of a stream."""
    z = start + (place + _ONE) * _STEP
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)
