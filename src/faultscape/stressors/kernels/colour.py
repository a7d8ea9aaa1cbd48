"""Loops over the colours of pixels, compiled; the plain twin is plain_colour.

Conventions: colours are (N, 3), values flat. With v = max and m = min of a pixel's channels, HSV has value v
and saturation (v - m) / v for any hue; changing the value scales all channels, changing the saturation scales
their distances from v.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def brighten(pixels: np.ndarray, ratios: np.ndarray, black: int) -> np.ndarray:
    """Return colours times ratios[v], in steps of 2^-16, truncated; black pixels become ``black``."""
    out = np.empty_like(pixels)
    for k in range(pixels.shape[0]):
        r = np.int64(pixels[k, 0])
        g = np.int64(pixels[k, 1])
        b = np.int64(pixels[k, 2])
        v = max(r, g, b)
        ratio = ratios[v]
        add = black if v == 0 else 0
        out[k, 0] = ((r * ratio) >> 16) + add
        out[k, 1] = ((g * ratio) >> 16) + add
        out[k, 2] = ((b * ratio) >> 16) + add
    return out


@jit
def saturate_hsv(pixels: np.ndarray, inverses: np.ndarray, scale: int, shift: int) -> np.ndarray:
    """Return colours with saturation s * scale + shift, both in steps of 2^-16, at most 1, truncated;
    ``inverses[d]`` is 2^32 / d.  Grey has the hue 0.
    """
    out = np.empty_like(pixels)
    for k in range(pixels.shape[0]):
        r = np.int64(pixels[k, 0])
        g = np.int64(pixels[k, 1])
        b = np.int64(pixels[k, 2])
        v = max(r, g, b)
        d = v - min(r, g, b)
        if d == 0:
            out[k, 0] = v
            out[k, 1] = (v * (65536 - shift)) >> 16
            out[k, 2] = out[k, 1]
        else:
            inverse = (v * inverses[d]) >> 16
            ratio = min(scale + ((shift * inverse) >> 16), inverse)
            whole = v << 16
            out[k, 0] = max(whole - (v - r) * ratio, 0) >> 16
            out[k, 1] = max(whole - (v - g) * ratio, 0) >> 16
            out[k, 2] = max(whole - (v - b) * ratio, 0) >> 16
    return out


@jit
def channel_sums(pixels: np.ndarray) -> np.ndarray:
    """Return (C,) int64: the sums of (N, C) values."""
    out = np.zeros(pixels.shape[1], np.int64)
    if pixels.shape[1] == 3:
        r = np.int64(0)
        g = np.int64(0)
        b = np.int64(0)
        for k in range(pixels.shape[0]):
            r += pixels[k, 0]
            g += pixels[k, 1]
            b += pixels[k, 2]
        out[0], out[1], out[2] = r, g, b
        return out
    for k in range(pixels.shape[0]):
        for c in range(pixels.shape[1]):
            out[c] += pixels[k, c]
    return out


@jit
def look_up(pixels: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Return tables[c, value] of (N, C) values."""
    out = np.empty_like(pixels)
    for k in range(pixels.shape[0]):
        for c in range(pixels.shape[1]):
            out[k, c] = tables[c, pixels[k, c]]
    return out


@jit
def blend(
    pixels: np.ndarray, others: np.ndarray, first: np.ndarray, second: np.ndarray, top: int
) -> np.ndarray:
    """Return first[value] + second[other] of flat arrays, in steps of 2^-16, clipped to top and then
    truncated.
    """
    out = np.empty_like(pixels)
    for k in range(pixels.size):
        out[k] = min((first[pixels[k]] + second[others[k]]) >> 16, top)
    return out
