"""Masks made by formula, of which other tools gave the packed forms that tests compare with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def masks() -> Iterator[tuple[str, np.ndarray]]:
    """Yield names and masks, uint8."""
    y, x = np.mgrid[:48, :64]
    yield "a disc", ((x - 30) ** 2 + (y - 20) ** 2 < 200) * np.uint8(255)
    y, x = np.mgrid[:37, :53]
    yield "a checkerboard", ((x // 5 + y // 3) % 2).astype(np.uint8) * np.uint8(255)
    yield "every alpha", (x * y % 256).astype(np.uint8)
    y, x = np.mgrid[:300, :400]
    yield "runs of more than 65,536 values", ((y > 100) & (y < 290)) * np.uint8(255)
    y, x = np.mgrid[:1, :32769]
    yield "two runs, of 65,536 values and of 65,540", (x >= 16384) * np.uint8(255)
    yield "whole bytes, with one of zeros behind", np.zeros((1, 5), np.uint8)
