"""Sliding windows over a prepared picture, and several views of it, back into one array of scores.

Conventions: windows are (top, left, height, width); they step by the stride, and the last of a row or column is moved back to end with the picture. Scores of a window
are bilinear to the window's size, summed, and divided by how many windows see a pixel. Views (flips, scales) are each brought to the size of the first view's
scores, bilinearly, and averaged. What is averaged are scores before any softmax.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultscape.maps import winners

Window = tuple[int, int, int, int]


def places(height: int, width: int, window: tuple[int, int], stride: tuple[int, int]) -> list[Window]:
    """Return the windows over a picture; ``window`` and ``stride`` are (width, height). A picture smaller than a window has one, smaller.

    >>> places(4, 10, (4, 4), (3, 3))
    [(0, 0, 4, 4), (0, 3, 4, 4), (0, 6, 4, 4)]
    """
    tops = _steps(height, window[1], stride[1])
    return [
        (top, left, min(window[1], height), min(window[0], width)) for top in tops for left in _steps(width, window[0], stride[0])
    ]


def together(scores: Sequence[np.ndarray], windows: Sequence[Window], height: int, width: int) -> np.ndarray:
    """Return (C, H, W) scores of a picture from those of its windows."""
    total = np.zeros((len(scores[0]), height, width), np.float32)
    seen = np.zeros((height, width), np.float32)
    for values, (top, left, tall, wide) in zip(scores, windows, strict=True):
        total[:, top : top + tall, left : left + wide] += winners.enlarged(values, (wide, tall))
        seen[top : top + tall, left : left + wide] += 1
    total /= np.maximum(seen, 1)
    return total


def averaged(views: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of several views' scores (C, h, w), at the size of the first."""
    first = views[0]
    total = np.array(first)
    for other in views[1:]:
        total += winners.enlarged(other, (first.shape[2], first.shape[1]))
    total /= len(views)
    return total


def _steps(length: int, window: int, stride: int) -> list[int]:
    if window >= length:
        return [0]
    return [*range(0, length - window, stride), length - window]
