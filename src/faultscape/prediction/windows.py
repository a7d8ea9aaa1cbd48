"""Sliding windows over a prepared image, merged into one array of scores.

Conventions: windows are (top, left, height, width); they step by the stride, and the last of a row or column
is moved back to end with the image. Scores of a window are resized bilinearly to the window's size, summed,
and divided by the number of windows that cover a pixel.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps import winners

Window = tuple[int, int, int, int]


def places(height: int, width: int, window: tuple[int, int], stride: tuple[int, int]) -> list[Window]:
    """Return the windows over an image; ``window`` and ``stride`` are (width, height). An image smaller than
    a window has one smaller window.

    >>> places(4, 10, (4, 4), (3, 3))
    [(0, 0, 4, 4), (0, 3, 4, 4), (0, 6, 4, 4)]
    """
    tops = _steps(height, window[1], stride[1])
    return [
        (top, left, min(window[1], height), min(window[0], width))
        for top in tops
        for left in _steps(width, window[0], stride[0])
    ]


class Overlap:
    """The scores of an image (C, H, W) as the sum over its windows, and how many of these cover
    each pixel.
    """

    def __init__(self, height: int, width: int) -> None:
        self._seen = np.zeros((height, width), np.float32)
        self._total: np.ndarray | None = None

    def add(self, scores: np.ndarray, window: Window) -> None:
        """Add the scores of one window."""
        if self._total is None:
            self._total = np.zeros((len(scores), *self._seen.shape), np.float32)
        top, left, tall, wide = window
        self._total[:, top : top + tall, left : left + wide] += winners.enlarged(scores, (wide, tall))
        self._seen[top : top + tall, left : left + wide] += 1

    def mean(self) -> np.ndarray:
        """Return the mean over the added windows; no more can be added afterwards."""
        assert self._total is not None
        self._total /= np.maximum(self._seen, 1)
        return self._total


def _steps(length: int, window: int, stride: int) -> list[int]:
    if window >= length:
        return [0]
    return [*range(0, length - window, stride), length - window]
