"""Compiled loops of the corruptions that draw a number per pixel; the plain twin is plain_noise.

Conventions: pixels are flat arrays of values. A word of a stream holds four 16-bit numbers, the lowest first,
or two of 32 bits where 16 are too coarse.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit
from faultscape.stressors.kernels.streams import word_at

_TAIL = np.uint64(1 << 40)


@jit
def normals(start: np.uint64, count: int, table: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """Return (count,) normal deviates of a stream in the units of ``table``."""
    out = np.empty(count, table.dtype)
    for i in range(count):
        out[i] = _normal(start, word_at(start, np.uint64(i >> 2)), i, table, tail)
    return out


@jit
def uniforms(start: np.uint64, count: int) -> np.ndarray:
    """Return (count,) int16: numbers of a stream, uniform over all 65,536 values."""
    out = np.empty(count, np.int16)
    for i in range(0, count, 4):
        word = word_at(start, np.uint64(i >> 2))
        for k in range(i, min(i + 4, count)):
            out[k] = np.int64((word >> np.uint64(16 * (k & 3))) & np.uint64(0xFFFF)) - 32768
    return out


@jit
def add_noise(
    pixels: np.ndarray, start: np.uint64, table: np.ndarray, tail: np.ndarray, bits: int, top: int
) -> np.ndarray:
    """Return the pixels plus a deviate each, in steps of 2^-bits, cut to 0..top and then truncated."""
    out = np.empty_like(pixels)
    highest = top << bits
    for i in range(0, pixels.size, 4):
        word = word_at(start, np.uint64(i >> 2))
        for k in range(i, min(i + 4, pixels.size)):
            value = (np.int64(pixels[k]) << bits) + _normal(start, word, k, table, tail)
            out[k] = min(max(value, 0), highest) >> bits
    return out


@jit
def scale_noise(
    pixels: np.ndarray, start: np.uint64, table: np.ndarray, tail: np.ndarray, bits: int, top: int
) -> np.ndarray:
    """Return the pixels plus themselves times a deviate each, in steps of 2^-bits, cut to 0..top and then
    truncated.
    """
    out = np.empty_like(pixels)
    highest = top << bits
    for i in range(0, pixels.size, 4):
        word = word_at(start, np.uint64(i >> 2))
        for k in range(i, min(i + 4, pixels.size)):
            value = np.int64(pixels[k]) * ((1 << bits) + _normal(start, word, k, table, tail))
            out[k] = min(max(value, 0), highest) >> bits
    return out


@jit
def _normal(start: np.uint64, word: np.uint64, i: int, table: np.ndarray, tail: np.ndarray) -> np.int64:
    """Return deviate i of a stream whose word at i / 4 is given; the outermost two of 65,536 quantiles are
    redrawn from 65,536 finer ones.
    """
    part = (word >> np.uint64(16 * (i & 3))) & np.uint64(0xFFFF)
    if ((part + np.uint64(1)) & np.uint64(0xFFFF)) <= np.uint64(1):  # the first or the last
        far = (word_at(start, _TAIL + np.uint64(i >> 2)) >> np.uint64(16 * (i & 3))) & np.uint64(0xFFFF)
        return -np.int64(tail[far]) if part == 0 else np.int64(tail[far])
    return np.int64(table[part])


@jit
def replace(pixels: np.ndarray, start: np.uint64, limit: int, top: int) -> np.ndarray:
    """Return the pixels, each replaced with probability limit / 2^31 by 0 or by top."""
    out = np.empty_like(pixels)
    for i in range(0, pixels.size, 2):
        word = word_at(start, np.uint64(i >> 1))
        for k in range(i, min(i + 2, pixels.size)):
            part = np.int64((word >> np.uint64(32 * (k & 1))) & np.uint64(0xFFFFFFFF))
            value = np.int64(pixels[k])
            if (part & 0x7FFFFFFF) < limit:
                value = top if part >> 31 else 0
            out[k] = value
    return out


@jit
def count_events(
    pixels: np.ndarray, start: np.uint64, limits: np.ndarray, first: np.ndarray, bits: int, values: np.ndarray
) -> np.ndarray:
    """Return values[n] of a count n drawn for each pixel, n the number of ``limits`` of its level that a
    random 32-bit number reaches; ``first`` gives the place to start.
    """
    out = np.empty_like(pixels)
    last = values.size - 1
    for i in range(0, pixels.size, 2):
        word = word_at(start, np.uint64(i >> 1))
        for k in range(i, min(i + 2, pixels.size)):
            part = np.uint32((word >> np.uint64(32 * (k & 1))) & np.uint64(0xFFFFFFFF))
            level = pixels[k]
            n = np.int64(first[level, part >> np.uint32(32 - bits)])
            while n < last and limits[level, n] <= part:
                n += 1
            out[k] = values[n]
    return out
