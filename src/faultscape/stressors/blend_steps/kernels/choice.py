"""The choice of kernels: compiled ones if numba is available, else the plain ones, with the same bytes."""

from __future__ import annotations

from types import ModuleType


def blend_kernels() -> ModuleType:
    """Return the module of kernels to use."""
    try:
        from faultscape.stressors.blend_steps.kernels import planes
    except ImportError:  # no numba, or FAULTSCAPE_NUMBA=0
        from faultscape.stressors.blend_steps.kernels import plain_planes as planes
    return planes
