"""S1 Fig. 3 drawn as pixels: sixteen pairs of maps, the numbers printed under them, and the exact ones.

What: the figure shows boxes without sizes; these were found so that the printed rows come out. Two equal true
regions of 90 x 30 pixels on 100 x 100; every prediction is a union of boxes, and panels k to p are e to j
with one more, false, region.
Conventions: maps are (100, 100) uint8, 1 = the class, 0 = background. ``PRINTED`` are errors (0 best) with
two decimals, panels a to p in order; the 1-PQ row is left out, since no reading of PQ gives it. ``EXACT`` are
IoU error, GCE of the binary class partition, and PE-OS.
Exceptions: GCE of panel a is printed 1.00, the formula gives 0 (an empty prediction is a partition of one
class); ROM of j and p is printed cut off, not rounded. 1-AP comes out only when regions match by Dice, not by
IoU.
Source: S1 Fig. 3.
"""

from __future__ import annotations

import numpy as np

Box = tuple[int, int, int, int]  # first row, rows, first column, columns

TRUE: tuple[Box, ...] = ((5, 90, 8, 30), (5, 90, 62, 30))
PREDICTED: dict[str, tuple[Box, ...]] = {
    "a": (),
    "b": ((7, 85, 8, 30),),
    "c": ((8, 84, 8, 30), (8, 84, 62, 30)),
    "d": ((7, 85, 8, 30), (7, 85, 62, 30), (10, 18, 41, 18)),
    "e": ((5, 40, 8, 30), (6, 38, 3, 5), (50, 40, 8, 30), (51, 38, 3, 5)),
    "f": ((5, 40, 8, 30), (60, 29, 8, 30), (61, 27, 38, 24), (60, 30, 62, 30)),
    "g": ((5, 46, 8, 30), (5, 46, 62, 30), (61, 26, 8, 30), (60, 28, 38, 24), (61, 26, 62, 30)),
    "h": ((5, 40, 8, 30), (48, 18, 8, 30), (70, 18, 8, 30)),
    "i": ((5, 37, 8, 30), (46, 18, 8, 30), (68, 18, 8, 30), (8, 84, 62, 30)),
    "j": ((5, 38, 8, 30), (47, 19, 8, 30), (70, 19, 8, 30), (5, 38, 62, 30), (50, 38, 62, 30)),
}
FALSE = {
    "k": ("e", 32, 14),
    "l": ("f", 31, 11),
    "m": ("g", 30, 11),
    "n": ("h", 26, 11),
    "o": ("i", 23, 12),
    "p": ("j", 27, 12),
}

LETTERS = "abcdefghijklmnop"
PRINTED: dict[str, tuple[float, ...]] = {
    "iou_error": (
        1.00,
        0.53,
        0.07,
        0.11,
        0.58,
        0.51,
        0.29,
        0.58,
        0.13,
        0.16,
        0.61,
        0.54,
        0.33,
        0.60,
        0.17,
        0.20,
    ),
    "gce": (1.00, 0.27, 0.07, 0.12, 0.34, 0.38, 0.29, 0.26, 0.12, 0.14, 0.40, 0.42, 0.33, 0.32, 0.17, 0.20),
    "pe_os": (1.00, 0.53, 0.07, 0.06, 0.78, 0.61, 0.49, 0.78, 0.33, 0.58, 0.78, 0.61, 0.49, 0.78, 0.33, 0.58),
    "ap50_error": (
        1.00,
        0.00,
        0.00,
        0.33,
        0.50,
        0.50,
        0.33,
        0.67,
        0.50,
        0.60,
        0.67,
        0.67,
        0.50,
        0.75,
        0.60,
        0.67,
    ),
    "ap75_error": (
        1.00,
        0.00,
        0.00,
        0.33,
        1.00,
        1.00,
        1.00,
        1.00,
        0.75,
        1.00,
        1.00,
        1.00,
        1.00,
        1.00,
        0.80,
        1.00,
    ),
    "rom": (0.00, 0.00, 0.00, 0.00, 0.46, 0.46, 0.96, 0.76, 0.64, 0.99, 0.32, 0.32, 0.91, 0.64, 0.54, 0.98),
}
CUT_OFF = "jp"  # ROM printed without rounding
HAND_SET = "a"  # GCE printed as 1 where the formula gives 0

EXACT: dict[str, tuple[float, float, float]] = {
    "b": (0.5278, 0.2692, 0.5278),
    "c": (0.0667, 0.0668, 0.0667),
    "d": (0.1090, 0.1169, 0.0556),
    "e": (0.5848, 0.3364, 0.7778),
    "f": (0.5089, 0.3786, 0.6111),
    "g": (0.2885, 0.2857, 0.4889),
    "h": (0.5778, 0.2635, 0.7778),
    "i": (0.1278, 0.1200, 0.3278),
    "j": (0.1556, 0.1419, 0.5778),
    "k": (0.6146, 0.4025, 0.7778),
    "l": (0.5351, 0.4226, 0.6111),
    "m": (0.3252, 0.3288, 0.4889),
    "n": (0.5990, 0.3171, 0.7778),
    "o": (0.1702, 0.1712, 0.3278),
    "p": (0.2034, 0.2009, 0.5778),
}
# M predicted regions, G_O, S_O, m_o (S1 eq. 5 and 6); there are always two true regions
COUNTS: dict[str, tuple[int, int, int, int]] = {
    "a": (0, 0, 0, 0),
    "b": (1, 0, 0, 0),
    "c": (2, 0, 0, 0),
    "d": (3, 0, 0, 0),
    "e": (2, 1, 2, 1),
    "f": (2, 1, 2, 1),
    "g": (3, 2, 3, 2),
    "h": (3, 1, 3, 2),
    "i": (4, 1, 3, 2),
    "j": (5, 2, 5, 3),
    "k": (3, 1, 2, 1),
    "l": (3, 1, 2, 1),
    "m": (4, 2, 3, 2),
    "n": (4, 1, 3, 2),
    "o": (5, 1, 3, 2),
    "p": (6, 2, 5, 3),
}
EXACT_ROM: dict[str, float] = {
    **dict.fromkeys("abcd", 0.0),
    "e": 0.4621,
    "f": 0.4621,
    "g": 0.9640,
    "h": 0.7616,
    "i": 0.6351,
    "j": 0.9951,
    "k": 0.3215,
    "l": 0.3215,
    "m": 0.9051,
    "n": 0.6351,
    "o": 0.5370,
    "p": 0.9866,
}
EXACT_RUM: dict[str, float] = dict.fromkeys(LETTERS, 0.0) | {
    "f": 0.4621,
    "g": 0.3215,
    "l": 0.3215,
    "m": 0.2449,
}


def panels() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return (truth, prediction) of every panel, maps (100, 100) uint8 of 0 and 1."""
    boxes = PREDICTED | {
        letter: (*PREDICTED[of], (10, rows, 41, columns)) for letter, (of, rows, columns) in FALSE.items()
    }
    return {letter: (drawn(TRUE), drawn(boxes[letter])) for letter in LETTERS}


def drawn(boxes: tuple[Box, ...]) -> np.ndarray:
    """Return a map that is 1 inside the boxes."""
    out = np.zeros((100, 100), np.uint8)
    for row, rows, column, columns in boxes:
        out[row : row + rows, column : column + columns] = 1
    return out
