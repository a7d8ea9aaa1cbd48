"""Does a model doubt where it is wrong, window by window: PAvPU, p(accurate | certain), p(uncertain | inaccurate).

Conventions: maps are (H, W); ``incorrect`` is 0 right, 1 wrong, 255 void (or bool), doubt is any number, in nats for S3's entropy. The image is cut into windows of
``window`` pixels a side, without overlap, those at the right and lower edge smaller. A window is accurate where more than ``accuracy_threshold`` of its pixels are
right, and uncertain where its mean doubt exceeds ``doubt_threshold``; void pixels are left out of both, and windows wholly void do not count. S3's code has
windows of 2 or 4, thresholds of .5 and .4 or .5, and counts void pixels as wrong.
Source: Mukhoti and Gal 2018; S3's released code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics.scores import VOID, check_mask, flat

WINDOW = 2
THRESHOLD = 0.5


@dataclass(frozen=True)
class Windows:
    """How many windows are accurate or not and certain or not; ``+`` adds two images, which must share window and thresholds."""

    accurate_certain: int
    accurate_uncertain: int
    inaccurate_certain: int
    inaccurate_uncertain: int
    window: int = WINDOW
    accuracy_threshold: float = THRESHOLD
    doubt_threshold: float = THRESHOLD

    def __add__(self, other: Windows) -> Windows:
        definitions = [(w.window, w.accuracy_threshold, w.doubt_threshold) for w in (self, other)]
        if definitions[0] != definitions[1]:
            raise MetricError(
                f"windows of {definitions[0]} cannot be added to {definitions[1]}; expected one window and thresholds"
            )
        return Windows(
            self.accurate_certain + other.accurate_certain,
            self.accurate_uncertain + other.accurate_uncertain,
            self.inaccurate_certain + other.inaccurate_certain,
            self.inaccurate_uncertain + other.inaccurate_uncertain,
            *definitions[0],
        )

    @property
    def pavpu(self) -> float:
        """Share of windows that are accurate and certain, or inaccurate and uncertain."""
        good = self.accurate_certain + self.inaccurate_uncertain
        return _share(good, self.accurate_uncertain + self.inaccurate_certain)

    @property
    def accurate_given_certain(self) -> float:
        """Share of accurate windows among the certain."""
        return _share(self.accurate_certain, self.inaccurate_certain)

    @property
    def uncertain_given_inaccurate(self) -> float:
        """Share of uncertain windows among the inaccurate."""
        return _share(self.inaccurate_uncertain, self.inaccurate_certain)


def windows(
    doubt: np.ndarray,
    incorrect: np.ndarray,
    *,
    window: int = WINDOW,
    accuracy_threshold: float = THRESHOLD,
    doubt_threshold: float = THRESHOLD,
    void: int = VOID,
    where: str = "",
) -> Windows:
    """Return the counts of one image; MetricError for maps that are not (H, W) of one size, NaN doubts and other masks.

    >>> windows(np.array([[0.9, 0.1], [0.9, 0.9]]), np.array([[1, 0], [1, 1]])).pavpu
    1.0
    """
    shape = np.shape(doubt)
    if len(shape) != 2 or window < 1:
        raise MetricError(
            f"{where + ': ' if where else ''}a doubt of shape {shape}, window {window}; expected H x W and a window of at least 1"
        )
    doubt, incorrect = (values.reshape(shape) for values in flat(doubt, incorrect, where, "doubt"))
    judged = (incorrect == 0) | (incorrect == 1)
    if not judged.all():
        check_mask(incorrect, void, where)
    if not np.isfinite(doubt[judged]).all():
        bad = int(np.count_nonzero(~np.isfinite(doubt[judged])))
        raise MetricError(
            f"{where + ': ' if where else ''}{bad} of {judged.sum()} doubts are NaN or infinite; expected finite numbers"
        )
    pixels, right, total = (_sums(values, window) for values in (judged, incorrect == 0, np.where(judged, doubt, 0)))
    there = pixels > 0
    accurate = right[there] / pixels[there] > accuracy_threshold
    uncertain = total[there] / pixels[there] > doubt_threshold
    sure, unsure, good, bad = ~uncertain, uncertain, accurate, ~accurate
    counts = [int(np.count_nonzero(both)) for both in (good & sure, good & unsure, bad & sure, bad & unsure)]
    return Windows(*counts, window=window, accuracy_threshold=accuracy_threshold, doubt_threshold=doubt_threshold)


def _sums(values: np.ndarray, window: int) -> np.ndarray:
    """Return float64 sums over windows, those at the edges smaller."""
    for axis in (0, 1):
        values = (
            np.add.reduceat(values, np.arange(0, values.shape[axis], window), axis=axis, dtype=float) if values.size else values
        )
    return values.astype(float)


def _share(good: int, bad: int) -> float:
    return good / (good + bad) if good + bad else float("nan")
