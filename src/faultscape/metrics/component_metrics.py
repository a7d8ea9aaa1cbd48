"""Component metrics of SegmentMeIfYouCan: whether anomalous objects are found as objects, whatever their size.

Conventions: maps are (H, W); a pixel is predicted anomalous where score >= threshold, the threshold being the best pixel F1 over the whole data set (``best_f1``).
Components are 8-connected. Their rules, in their order: predicted pixels in void are dropped; predicted components smaller than ``min_predicted`` pixels are dropped
(500 in the anomaly track, 50 in the obstacle track); true components smaller than ``min_truth`` (100, 10) become void, with whatever is predicted on them.
sIoU of a true component: its pixels that are predicted, over its pixels and those of all predicted components that touch it, less what these cover of
other true components. PPV of a predicted component: the share of it that is truly anomalous. At a threshold t a true component is found (TP) where
sIoU >= t, else missed (FN); a predicted one is false (FP) where PPV < t. F1 = 2 TP / (2 TP + FN + FP) from sums over images, averaged over t = .25, .30, ..., .75.
All sums add up over images. Their code drops score = threshold (``strict``), which matters for coarse scores only.
Source: Chan et al. 2021 and its released code since September 2021, when FP went from sIoU to PPV.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from faultscape.errors import MetricError, OptionError, closest
from faultscape.metrics.scores import VOID, check_mask, flat

THRESHOLDS = np.linspace(0.25, 0.75, 11)
TRACKS = {"anomaly": (500, 100), "obstacle": (50, 10)}  # least pixels of a predicted and of a true component


@dataclass(frozen=True, eq=False)
class Components:
    """Sums over components: TP, FN, FP at the eleven thresholds, sIoU of true and PPV of predicted components; ``+`` adds two images."""

    true_positives: np.ndarray
    false_negatives: np.ndarray
    false_positives: np.ndarray
    siou: float
    truths: int
    ppv: float
    predictions: int

    def __add__(self, other: Components) -> Components:
        return Components(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


class ComponentScores(NamedTuple):
    """Means over components and F1: (11,) at each threshold, and their mean; NaN where there is nothing to find and nothing was found."""

    siou: float
    ppv: float
    mean_f1: float
    f1: np.ndarray


def components(
    score: np.ndarray,
    anomaly: np.ndarray,
    threshold: float,
    *,
    track: str | None = "anomaly",
    min_predicted: int | None = None,
    min_truth: int | None = None,
    strict: bool = False,
    void: int = VOID,
    where: str = "",
) -> Components:
    """Return the sums of one image; ``track=None`` has no size limits, ``min_predicted`` and ``min_truth`` override the track's.

    Maps that are not (H, W) of one size, masks other than 0, 1, 255 and NaN scores raise MetricError.

    >>> truth = np.zeros((10, 30), int); truth[:, :10] = truth[:, 20:] = 1
    >>> s = components(np.ones((10, 30)), truth, 0.5, track=None)
    >>> s.siou / s.truths, round(s.ppv, 4), s.true_positives[:6].tolist()
    (0.5, 0.6667, [2, 2, 2, 2, 2, 2])
    """
    least_predicted, least_truth = _limits(track, min_predicted, min_truth)
    predicted, true, shape = _masks(score, anomaly, threshold, strict, void, where)
    places, found = _labelled(predicted, shape)
    truth_places, truths = _labelled(true, shape)
    area, size = np.bincount(found), np.bincount(truths)
    on = np.zeros(len(predicted), np.int32)  # the true component under each pixel
    on[truth_places] = truths
    under = on[places]
    kept_truth, kept = size >= least_truth, area >= least_predicted
    kept_truth[:1] = kept[:1] = False  # label 0 is the rest of the image
    area = area - np.bincount(found[(under > 0) & ~kept_truth[under]], minlength=len(area)) if len(size) else area
    kept &= area > 0  # what lay wholly on a true component too small to count
    pairs = kept[found] & kept_truth[under] if len(size) else np.zeros(len(found), bool)
    keys, pixels = np.unique(found[pairs].astype(np.int64) * max(len(size), 1) + under[pairs], return_counts=True)
    mine, theirs = np.divmod(keys, max(len(size), 1))
    covered = np.bincount(mine, weights=pixels, minlength=len(area))
    hit = np.bincount(theirs, weights=pixels, minlength=len(size))
    spill = np.bincount(theirs, weights=(area - covered)[mine], minlength=len(size))  # predicted beyond all true components
    siou = (hit / np.maximum(size + spill, 1))[kept_truth]
    ppv = covered[kept] / area[kept]
    found_at = (siou[:, None] >= THRESHOLDS).sum(0)
    return Components(
        found_at,
        len(siou) - found_at,
        (ppv[:, None] < THRESHOLDS).sum(0),
        float(siou.sum()),
        len(siou),
        float(ppv.sum()),
        len(ppv),
    )


def component_scores(sums: Components) -> ComponentScores:
    """Return mean sIoU, mean PPV and F1 from the sums of one image or of many.

    >>> truth = np.zeros((10, 30), int); truth[:, :10] = truth[:, 20:] = 1
    >>> round(component_scores(components(np.ones((10, 30)), truth, 0.5, track=None)).mean_f1, 4) == round(6 / 11, 4)
    True
    """
    below = 2 * sums.true_positives + sums.false_negatives + sums.false_positives
    f1 = np.divide(2 * sums.true_positives, below, out=np.full(len(below), np.nan), where=below > 0)
    return ComponentScores(
        sums.siou / sums.truths if sums.truths else float("nan"),
        sums.ppv / sums.predictions if sums.predictions else float("nan"),
        float(f1.mean()),
        f1,
    )


def _limits(track: str | None, min_predicted: int | None, min_truth: int | None) -> tuple[int, int]:
    if track is not None and track not in TRACKS:
        raise OptionError(f"track={track!r} is not known; use {', '.join(TRACKS)} or None.{closest(str(track), list(TRACKS))}")
    predicted, truth = TRACKS[track] if track is not None else (0, 0)
    return predicted if min_predicted is None else min_predicted, truth if min_truth is None else min_truth


def _masks(
    score: np.ndarray, anomaly: np.ndarray, threshold: float, strict: bool, void: int, where: str
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """Return the predicted and the true pixels, flat bool, and the shape."""
    at, shape = f"{where}: " if where else "", np.shape(score)
    if len(shape) != 2:
        raise MetricError(f"{at}a score of shape {shape}; components need maps of H x W")
    score, anomaly = flat(score, anomaly, where)
    true = anomaly == 1
    judged = true | (anomaly == 0)
    if not judged.all():
        check_mask(anomaly, void, where)
    predicted = (score > threshold) if strict else (score >= threshold)
    if score.dtype.kind == "f" and np.isnan(score[judged] if not judged.all() else score).any():
        raise MetricError(
            f"{at}{int(np.isnan(score[judged]).sum())} of {judged.sum()} scores are NaN; expected numbers in all pixels that are not void"
        )
    return predicted & judged, true, (shape[0], shape[1])


def _labelled(mask: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the mask's pixels and the number from 1 of the 8-connected component of each."""
    import cv2

    places = np.flatnonzero(mask)
    if not len(places):
        return places, np.empty(0, np.int32)
    _, labels = cv2.connectedComponents(mask.view(np.uint8).reshape(shape), connectivity=8, ltype=cv2.CV_32S)
    return places, labels.ravel()[places]
