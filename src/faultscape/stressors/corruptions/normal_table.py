"""Integer quantiles of the normal distribution, from which kernels draw.

Conventions: a deviate is one of 65,536 equally likely quantiles; the outermost two are redrawn from 65,536
finer quantiles, so that deviates reach 6.3. Quantiles are first rounded to 2^-24; a test checks that all are
far enough from a rounding boundary that the math library does not matter.
"""

from __future__ import annotations

import functools

import numpy as np

_STEP = 2.0**-24


@functools.cache
def quantiles() -> tuple[np.ndarray, np.ndarray]:
    """Return (65536,) the quantiles at (i + 1/2) / 2^16, and (65536,) the sizes of those at (i + 1/2) / 2^32.

    >>> table, tail = quantiles()
    >>> (
    ...     round(float(table[0]), 3),
    ...     round(float(table[32768]), 6),
    ...     round(float(tail[0]), 3),
    ...     bool(tail[-1] > table[-2]),
    ... )
    (-4.325, 1.9e-05, 6.338, True)
    """
    from scipy.special import ndtri

    places = np.arange(65536) + 0.5
    return np.rint(ndtri(places / 2.0**16) / _STEP) * _STEP, np.rint(-ndtri(places / 2.0**32) / _STEP) * _STEP


@functools.lru_cache(maxsize=16)
def normal_table(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return both tables (65536,), int32, of ``scale`` times a deviate, rounded.

    >>> normal_table(100.0)[0][[1, -2]]
    array([-408,  408], dtype=int32)
    """
    table, tail = quantiles()
    return np.rint(table * scale).astype(np.int32), np.rint(tail * scale).astype(np.int32)
