"""The numbers of Buchanan et al. 2022, Table 3, in distribution, straight from pixels: mIoU, ECE and the
calibration AUROC over the classes that models learn, pixels of the others left out. Plain NumPy and SciPy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

Pixels = tuple[np.ndarray, np.ndarray, np.ndarray]  # true class, said class, confidence, of one set


def known(pixels: Pixels, kept: Sequence[int]) -> Pixels:
    """The pixels whose true class is kept."""
    at = np.isin(pixels[0], kept)
    return pixels[0][at], pixels[1][at], pixels[2][at]


def miou(pixels: Pixels, kept: Sequence[int]) -> float:
    """The mean over kept classes that either side has."""
    true, said, _ = known(pixels, kept)
    unions = {c: ((true == c) | (said == c)).sum() for c in kept}
    return float(np.mean([((true == c) & (said == c)).sum() / n for c, n in unions.items() if n]))


def ece(pixels: Pixels, kept: Sequence[int], bins: int = 15) -> float:
    """The calibration error of the largest probability, in bins of equal width."""
    true, said, sure = known(pixels, kept)
    place = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = [
        abs(sure[place == b].mean() - (true == said)[place == b].mean()) * (place == b).sum()
        for b in range(bins)
        if (place == b).any()
    ]
    return float(sum(gaps) / len(true))


def calibration_auroc(pixels: Pixels, kept: Sequence[int]) -> float:
    """The chance that a wrong pixel is doubted more than a right one (Mann and Whitney)."""
    true, said, sure = known(pixels, kept)
    wrong = true != said
    ranks = rankdata(1 - sure)
    above = ranks[wrong].sum() - wrong.sum() * (wrong.sum() + 1) / 2
    return float(above / wrong.sum() / (~wrong).sum())


def corrupted(values: dict[tuple[str, int], float]) -> float:
    """The mean over severities, then over corruptions, of {(corruption, severity): number}."""
    names = {name for name, _ in values}
    return float(np.mean([np.mean([v for (one, _), v in values.items() if one == name]) for name in names]))


def corruption_error(mine: dict[tuple[str, int], float], theirs: dict[tuple[str, int], float]) -> float:
    """Errors summed over severities, divided by the reference's, mean over corruptions."""
    names = {name for name, _ in mine}
    sums = [
        [sum(1 - v for (one, _), v in of.items() if one == name) for of in (mine, theirs)] for name in names
    ]
    return float(np.mean([a / b for a, b in sums]))
