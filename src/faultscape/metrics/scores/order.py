"""Bring many scores into ascending order.

Conventions: NumPy sorts ten million float32 in 5 ns each with AVX-512 on an Intel Xeon, in 40 on an AMD EPYC
(Zen 4, numpy 2.4.6, which uses AVX-512 there as well: 15 without it). Ours takes 7 on the latter.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from faultscape.maps.kernel_choice import Kernels

_KERNELS = Kernels("faultscape.metrics.kernels.order", seconds=2)
_A_NUMBER = 3e-8  # seconds that NumPy takes for one
_FEW = 1 << 13  # numbers that NumPy sorts before bytes are counted
_BITS = {np.dtype(np.float32): np.uint32, np.dtype(np.float64): np.uint64, np.dtype(np.uint32): np.uint32}


def sort(values: np.ndarray) -> None:
    """Bring contiguous numbers (N,) into ascending order where they lie, NaN to the ends.

    >>> doubt = np.array([0.5, 0.25])
    >>> sort(doubt)
    >>> doubt.tolist()
    [0.25, 0.5]
    """
    bits = _BITS.get(values.dtype)
    kernels = None
    if values.size > _FEW and bits:
        kernels = _KERNELS.ready(values.size * _A_NUMBER)
    if kernels is None or _is_numpy_fast():
        values.sort()
    else:
        kernels.sort(values.view(bits), np.empty(values.size, bits), values.dtype.kind == "f")


@cache
def _is_numpy_fast() -> bool:
    """Whether NumPy has vector code that is quick on this processor."""
    from llvmlite import binding

    return binding.get_host_cpu_features().get("avx512f", False) and "znver" not in (
        binding.get_host_cpu_name()
    )
