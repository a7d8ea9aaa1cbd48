"""The plain twin of colour.py in NumPy, with equal bytes."""

from __future__ import annotations

import numpy as np


def brighten(pixels: np.ndarray, ratios: np.ndarray, black: int) -> np.ndarray:
    """Return colours times ratios[v], in steps of 2^-16, truncated; black pixels become ``black``."""
    v = pixels.max(axis=1, keepdims=True)
    return (((pixels.astype(np.int64) * ratios[v]) >> 16) + np.where(v == 0, black, 0)).astype(pixels.dtype)


def saturate_hsv(pixels: np.ndarray, inverses: np.ndarray, scale: int, shift: int) -> np.ndarray:
    """Return colours with saturation s * scale + shift, both in steps of 2^-16, at most 1, truncated;
    ``inverses[d]`` is 2^32 / d.
    """
    v = pixels.max(axis=1, keepdims=True).astype(np.int64)
    d = v - pixels.min(axis=1, keepdims=True)
    inverse = (v * inverses[d]) >> 16
    ratio = np.minimum(scale + ((shift * inverse) >> 16), inverse)
    colours = np.maximum((v << 16) - (v - pixels) * ratio, 0) >> 16
    greys = np.concatenate([v, (v * (65536 - shift)) >> 16, (v * (65536 - shift)) >> 16], axis=1)
    return np.where(d == 0, greys, colours).astype(pixels.dtype)


def channel_sums(pixels: np.ndarray) -> np.ndarray:
    """Return (C,) int64: the sums of (N, C) values."""
    return pixels.sum(axis=0, dtype=np.int64)


def look_up(pixels: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Return tables[c, value] of (N, C) values."""
    return np.stack([tables[c][pixels[:, c]] for c in range(pixels.shape[1])], axis=1)


def blend(
    pixels: np.ndarray, others: np.ndarray, first: np.ndarray, second: np.ndarray, top: int
) -> np.ndarray:
    """Return first[value] + second[other] of flat arrays, in steps of 2^-16, clipped to top and then
    truncated.
    """
    return np.minimum((first[pixels] + second[others]) >> 16, top).astype(pixels.dtype)
