"""The choice of loops over pixels: the compiled ones, or, without numba, their plain twins, which give the
same bytes.
"""

from __future__ import annotations

from types import ModuleType


def noise_loops() -> ModuleType:
    """Return kernels/noise, or its plain twin."""
    try:
        from faultscape.stressors.kernels import noise
    except ImportError:
        from faultscape.stressors.kernels import plain_noise

        return plain_noise
    return noise


def filter_loops() -> ModuleType:
    """Return kernels/filters, or its plain twin."""
    try:
        from faultscape.stressors.kernels import filters
    except ImportError:
        from faultscape.stressors.kernels import plain_filters

        return plain_filters
    return filters


def geometry_loops() -> ModuleType:
    """Return kernels/geometry, or its plain twin."""
    try:
        from faultscape.stressors.kernels import geometry
    except ImportError:
        from faultscape.stressors.kernels import plain_geometry

        return plain_geometry
    return geometry


def weather_loops() -> ModuleType:
    """Return kernels/weather, or its plain twin."""
    try:
        from faultscape.stressors.kernels import weather
    except ImportError:
        from faultscape.stressors.kernels import plain_weather

        return plain_weather
    return weather


def colour_loops() -> ModuleType:
    """Return kernels/colour, or its plain twin."""
    try:
        from faultscape.stressors.kernels import colour
    except ImportError:
        from faultscape.stressors.kernels import plain_colour

        return plain_colour
    return colour
