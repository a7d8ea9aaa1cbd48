"""Drawn textures of ice on glass: ferns that grow from the edges of the glass, on a film of fine crystals.

Conventions: (480, 720, 3) uint8, RGB. Lines are sums of whole numbers along directions in steps of 2^-14,
blurs are those of `smooth`: the same bytes everywhere.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from faultscape.stressors.corruptions.loops import noise_loops
from faultscape.stressors.corruptions.smooth import gaussian_field
from faultscape.stressors.streams import Stream, stream_start

TEXTURES = 6
_HIGH = 480
_WIDE = 720
_DARK = np.array([52, 68, 90])
_LIGHT = np.array([240, 248, 255])
_FERNS = (80, 150, 36, 220, 24, 70)  # in each texture
_LENGTHS = ((90, 260), (50, 160), (160, 380), (40, 110), (200, 420), (70, 300))
_FILM = (8000, 5000, 12000, 4000, 14000, 9000)  # the brightness of glass without ferns
_CLEAR = (0.35, 0.15, 0.45, 0.0, 0.5, 0.25)  # the share of the middle without ice


@functools.lru_cache(maxsize=TEXTURES)
def frost_texture(number: int) -> np.ndarray:
    """Return (480, 720, 3) uint8, one of six textures; do not write to it.

    >>> frost_texture(0).shape, bool((frost_texture(0) == frost_texture(1)).all())
    ((480, 720, 3), False)
    """
    stream = Stream(number, "frost")
    lines = np.zeros(_HIGH * _WIDE, np.int64)
    for _ in range(_FERNS[number]):
        _grow(lines, stream, number)
    # additional layers of ice add less and less
    crystals = (32000 * lines // (lines + 9)).astype(np.int16).reshape(_HIGH, _WIDE)
    sharp, soft = (gaussian_field(crystals, (sigma, sigma), 3.0, "mirror") >> 15 for sigma in (0.6, 5.0))
    film = 9 * _film(number, 20.0) + (_film(number, 2.5) >> 1) + (_film(number, 0.7) >> 3)
    light = np.clip(_FILM[number] + film + (3 * sharp + soft) // 2, 0, 32767)[..., None]
    colours = ((_DARK * (32767 - light) + _LIGHT * light) // 32767).astype(np.uint8)
    colours.setflags(write=False)
    return colours


def _film(number: int, sigma: float) -> np.ndarray:
    """Return (480, 720) noise with grains of a given size."""
    start = np.uint64(stream_start(number, "film", str(sigma)))
    drawn = noise_loops().uniforms(start, _HIGH * _WIDE).reshape(_HIGH, _WIDE)
    return gaussian_field(drawn, (sigma, sigma), 3.0, "mirror") >> 15


def _grow(lines: np.ndarray, stream: Stream, number: int) -> None:
    """Add a fern to the texture: a stem, branches at 60 degrees on both sides, and needles on these."""
    place, inward = _root(stream, _CLEAR[number])
    shortest, longest = _LENGTHS[number]
    length = shortest + stream.integer(longest - shortest)
    bend = stream.uniform(-0.004, 0.004)
    spacing = 4 + stream.integer(4)
    spread = stream.uniform(0.2, 0.45)
    angles = [inward + bend * k for k in range(length)]
    steps = np.array([_direction(angle) for angle in angles])
    stem = np.array(place) * 16384 + np.cumsum(steps, axis=0)
    _add(lines, stem, 4)
    roots = np.arange(0, length, spacing)
    reach = np.maximum(((length - roots) * round(spread * 1024) * np.minimum(roots + 20, 60) // 60) >> 10, 1)
    for side in (-1, 1):
        branch, needle = (
            np.array([_direction(angles[k] + side * turn) for k in roots]) for turn in (math.pi / 3, 0.0)
        )
        j = np.arange(int(reach.max()))
        points = stem[roots][:, None] + j[None, :, None] * branch[:, None]
        grown = j < reach[:, None]
        _add(lines, points[grown], 2)
        m = np.arange(max(int(reach.max()) // 4, 1))
        beside = points[:, ::5, None] + m[None, None, :, None] * needle[:, None, None]
        left = (reach[:, None] - j[::5]) // 4
        _add(lines, beside[m < left[..., None]], 1)


def _root(stream: Stream, clear: float) -> tuple[tuple[int, int], float]:
    """Return the start of a fern, (y, x), and the direction in which it grows: roughly from outside to the
    middle.
    """
    while True:
        y = stream.integer(_HIGH)
        x = stream.integer(_WIDE)
        away = max(abs(2 * y - _HIGH) / _HIGH, abs(2 * x - _WIDE) / _WIDE)
        if away >= clear + stream.uniform(0.0, 0.5):
            break
    towards = math.atan2(_HIGH / 2 - y, _WIDE / 2 - x)
    return (y, x), towards + stream.uniform(-1.1, 1.1)


def _direction(angle: float) -> tuple[int, int]:
    """Return a step of one pixel (down, right) in units of 2^-14."""
    return round(math.sin(angle) * 16384), round(math.cos(angle) * 16384)


def _add(lines: np.ndarray, points: np.ndarray, weight: int) -> None:
    """Add a weight to the pixels of points (n, 2) that are inside the texture."""
    y, x = ((points[:, k] + 8192) >> 14 for k in (0, 1))
    inside = (y >= 0) & (y < _HIGH) & (x >= 0) & (x < _WIDE)
    lines += weight * np.bincount(y[inside] * _WIDE + x[inside], minlength=lines.size)
