"""The plain twin of noise.py in NumPy, with equal bytes."""

from __future__ import annotations

import numpy as np

from faultscape.stressors.streams import words_at

_TAIL = 1 << 40
_PART = 1 << 16  # pixels at once where a row of limits is read for each


def normals(start: int, count: int, table: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """Return (count,) normal deviates of a stream in the units of ``table``."""
    parts = _parts(start, count, 0)
    out = table[parts]
    ends = np.flatnonzero((parts == 0) | (parts == 0xFFFF))
    if ends.size:
        far = tail[_parts(start, count, _TAIL)[ends]]
        out[ends] = np.where(parts[ends] == 0, -far, far)
    return out


def uniforms(start: int, count: int) -> np.ndarray:
    """Return (count,) int16: numbers of a stream, uniform over all 65,536 values."""
    return (_parts(start, count, 0) - 32768).astype(np.int16)


def add_noise(
    pixels: np.ndarray, start: int, table: np.ndarray, tail: np.ndarray, bits: int, top: int
) -> np.ndarray:
    """Return the pixels plus a deviate each, in steps of 2^-bits, cut to 0..top and then truncated."""
    value = (pixels.astype(np.int64) << bits) + normals(start, pixels.size, table, tail)
    return (np.clip(value, 0, top << bits) >> bits).astype(pixels.dtype)


def scale_noise(
    pixels: np.ndarray, start: int, table: np.ndarray, tail: np.ndarray, bits: int, top: int
) -> np.ndarray:
    """Return the pixels plus themselves times a deviate each, in steps of 2^-bits, cut to 0..top and then
    truncated.
    """
    value = pixels.astype(np.int64) * (
        (1 << bits) + normals(start, pixels.size, table, tail).astype(np.int64)
    )
    return (np.clip(value, 0, top << bits) >> bits).astype(pixels.dtype)


def replace(pixels: np.ndarray, start: int, limit: int, top: int) -> np.ndarray:
    """Return the pixels, each replaced with probability limit / 2^31 by 0 or by top."""
    parts = _halves(start, pixels.size)
    return np.where((parts & 0x7FFFFFFF) < limit, (parts >> 31) * top, pixels).astype(pixels.dtype)


def count_events(
    pixels: np.ndarray, start: int, limits: np.ndarray, first: np.ndarray, bits: int, values: np.ndarray
) -> np.ndarray:
    """Return values[n] of a count n drawn for each pixel, n the number of ``limits`` of its level that a
    random 32-bit number reaches.
    """
    del first, bits  # they only tell the compiled loop where to begin
    parts = _halves(start, pixels.size).astype(np.uint32)
    out = np.empty_like(pixels)
    for k in range(0, pixels.size, _PART):
        here = slice(k, k + _PART)
        out[here] = values[(limits[pixels[here]] <= parts[here, None]).sum(axis=1)]
    return out


def _parts(start: int, count: int, first: int) -> np.ndarray:
    words = words_at(start, (count + 3) // 4, first)
    return (
        ((words[:, None] >> np.arange(0, 64, 16, dtype=np.uint64)) & np.uint64(0xFFFF))
        .astype(np.int64)
        .ravel()[:count]
    )


def _halves(start: int, count: int) -> np.ndarray:
    words = words_at(start, (count + 1) // 2)
    return (
        ((words[:, None] >> np.array([0, 32], np.uint64)) & np.uint64(0xFFFFFFFF))
        .astype(np.int64)
        .ravel()[:count]
    )
