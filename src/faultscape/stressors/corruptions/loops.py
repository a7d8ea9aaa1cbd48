"""The choice of loops over pixels: the compiled ones, or, without numba, their plain twins, which give the
same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from faultscape.stressors import kernels


def _loops(name: str) -> Callable[[], ModuleType]:
    def load() -> ModuleType:
        try:
            return import_module(f"{kernels.__name__}.{name}")
        except ImportError:
            return import_module(f"{kernels.__name__}.plain_{name}")

    return load


noise_loops = _loops("noise")
filter_loops = _loops("filters")
geometry_loops = _loops("geometry")
weather_loops = _loops("weather")
colour_loops = _loops("colour")
