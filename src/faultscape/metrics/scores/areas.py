"""The areas of scores of pixels by every definition: average precision, AUROC and FPR at 95 % recall, of a
data set or of one image.

Conventions: truth is 0, 1 or 255 (void); 1 is anomalous, or incorrect. ``pixels`` yields (score, truth) of
the images again at every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.scores import curves
from faultscape.metrics.scores.counts import Detection
from faultscape.metrics.scores.curves import frame_bins, quantile_curve
from faultscape.metrics.scores.inputs import VOID
from faultscape.metrics.scores.stream import Chunks

Pixels = Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]]


def areas(exact: Detection, definitions: Definitions, pixels: Pixels) -> tuple[np.ndarray, float]:
    """Return (AP, AUROC, FPR95) by the definitions, for a data set or one image, and the threshold for
    components.
    """
    if definitions.thresholds == "quantiles":
        found = quantile_curve(frame_bins(*of) for of in pixels())
        return np.array([found.average_precision, found.auroc, found.fpr95]), found.threshold
    numbers = np.array([exact.average_precision, exact.auroc, exact.fpr95])
    if definitions.curve == "trapezoid":
        numbers[0] = curves.trapezoid_precision(exact)
    if definitions.thresholds == "keras200":
        numbers[:2] = curves.keras_areas(np.asarray(sum(curves.threshold_counts(*of) for of in pixels())))
    # pixels with exactly that score are predicted
    return numbers, float(np.nextafter(exact.f1_threshold, -np.inf))


def turned(chunks: Chunks, start: int = 0) -> Chunks:
    """Return the reversed task: detect the correct pixels, by ``start`` - doubt (the thresholds of Keras need
    1).
    """
    return lambda: ((start - score, correct(wrong), name) for score, wrong, name in chunks())


def correct(wrong: np.ndarray) -> np.ndarray:
    """Return which pixels are correct (1), incorrect (0) and void, from a map of wrong pixels.

    >>> correct(np.array([0, 1, 255])).tolist()
    [1, 0, 255]
    """
    return np.where(wrong == VOID, VOID, wrong == 0).astype(np.uint8)


def rounded(score: np.ndarray, mask: np.ndarray, kind: np.dtype, where: str) -> np.ndarray:
    """Return scores in a narrower type, as a preset requires; MetricError if it cannot hold the score of a
    pixel that counts.
    """
    with np.errstate(over="ignore"):
        narrow = score.astype(kind)
    lost = int(np.count_nonzero(np.isinf(narrow) & np.isfinite(score) & (mask != VOID)))
    if lost:
        raise MetricError(
            f"{where}: {lost} of its {score.size} scores are beyond {np.finfo(kind).max:.6g}, the most that"
            f" {kind} holds, to which the preset rounds; scale them down, or leave the preset out"
        )
    return narrow
