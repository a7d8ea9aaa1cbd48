"""Confidence files that a folder of maps or a program provides with label maps.

Conventions: files are those that `score_files` reads: numbers from 0 to 1, or grey images of 8 or 16 bits,
whose values are divided by 255 or 65,535. It is stored in steps of 1/255, at the size of its map.
"""

from __future__ import annotations

import os

import numpy as np

from faultscape.errors import ModelError
from faultscape.formats.scores import read_scores


def beside(source: str, path: str) -> str | None:
    """Return SOURCE/confidence/X for the map SOURCE/labels/X, if it exists."""
    relative = os.path.relpath(path, os.path.join(source, "labels"))
    found = os.path.join(source, "confidence", relative)
    return None if relative.startswith("..") or not os.path.isfile(found) else found


def read_confidence(path: str, shape: tuple[int, int]) -> np.ndarray:
    """Return (H, W) uint8, 255 = 1; ModelError if its size differs from the map's, or a number is outside 0
    to 1.
    """
    values = read_scores(path)
    if values.shape != shape or values.min() < 0 or values.max() > 1:
        found = f"{values.shape[1]} x {values.shape[0]} pixels of {values.min():g} to {values.max():g}"
        raise ModelError(
            f"{path}: holds {found}; expected {shape[1]} x {shape[0]}, as its map, with values from 0 to 1"
        )
    return np.rint(values * 255).astype(np.uint8)
