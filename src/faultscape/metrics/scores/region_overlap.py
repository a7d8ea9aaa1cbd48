"""The area under per-region overlap against false positive rate (AUPRO): whether every anomaly is found,
small ones as well as large ones.

Conventions: a region is a set of anomalous pixels (1) of one image that are connected; void (255) belongs to
none and is not a known pixel. At a threshold, the overlap is the mean, over the regions of all images, of the
share of a region's pixels with that score or more; the false positive rate is the share of all known pixels
with that score or more. Points of distinct scores are joined by straight lines, so that equal scores form one
group. The area runs to a false positive rate ``limit`` and is divided by it: 0..1, large is good. It equals
the mean over regions of the mean over a region's pixels of what one pixel adds (`area_beyond`), which depends
only on the number of known pixels with a larger and with the same score. So neither a curve nor a table of
thresholds and images is held. NaN without a region or without a known pixel.

``score`` is the anomaly score of every pixel, large = anomalous. ``anomalous`` (H, W) says which pixels are
anomalous.

Source: Bergmann et al. 2021 (MVTec AD, PRO curve to a false positive rate of .3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultscape.choices import Connectivity
from faultscape.errors import MetricError, OptionError
from faultscape.maps import checked_arrays
from faultscape.maps.regions import number
from faultscape.metrics.scores.inputs import VOID, check_finite, check_mask, exact_floats, flat, sort

LIMIT = 0.3
Planes = np.ndarray | Sequence[np.ndarray]


def aupro(
    score: Planes,
    anomaly: Planes,
    *,
    limit: float = LIMIT,
    connectivity: Connectivity = 8,
    void: int = VOID,
    where: str = "",
) -> float:
    """Return the area under per-region overlap of scores (H, W), or of several images in a list or (I, H, W),
    where ``anomaly`` is 0, 1 and 255 (void).

    NaN or infinite scores, unequal shapes, other mask values and masked arrays raise MetricError, a ``limit``
    outside 0..1 OptionError. All scores are held in memory; `stream` gives the same value for any number of
    images.

    >>> truth = np.array([[1, 0, 1, 1, 1], [0, 0, 0, 0, 0]])
    >>> aupro(
    ...     np.array([[0, 0, 9, 9, 9], [0, 0, 0, 0, 0]]), truth, limit=0.5
    ... )  # the large region is found, the small one with the known pixels
    0.625
    """
    check_limit("limit", limit)
    known = []
    found = []
    shares = []
    scores = _images(score, "score")
    masks = _images(anomaly, "anomaly")
    if len(scores) != len(masks) or not len(scores):
        raise MetricError(
            f"there are {len(scores)} scores and {len(masks)} masks; give one for one, and at least one"
        )
    for one, mask in zip(scores, masks, strict=True):
        values, labels = flat(one, mask, where)
        check_mask(labels, void, where)
        values = exact_floats(values, labels != void, where)
        for kind, into in ((0, known), (1, found)):
            into.append(values[labels == kind])
            check_finite(np.sort(into[-1]), where)
        shares.append(region_shares(np.asarray(mask) == 1, connectivity))
    others = np.concatenate(known)
    sort(others)
    mine = np.concatenate(found)
    share = np.concatenate(shares)
    above, reach = (len(others) - others.searchsorted(mine, side) for side in ("right", "left"))
    return float(mean_over_regions(share, area_beyond(above, reach, limit * len(others))))


def region_shares(anomalous: np.ndarray, connectivity: Connectivity = 8) -> np.ndarray:
    """Return (P,) the share that each anomalous pixel of (H, W) bools is of its region, row by row; the
    shares of one region add up to 1.

    >>> region_shares(np.array([[True, False, True], [False, False, True]])).tolist()
    [1.0, 0.5, 0.5]
    """
    anomalous = np.asarray(anomalous)
    if anomalous.ndim != 2:
        raise MetricError(f"regions are made of masks H x W; got shape {anomalous.shape}")
    if anomalous.dtype != np.bool_:
        raise MetricError(f"regions are made of masks of bools; got {anomalous.dtype}; compare with == 1")
    numbers, _, areas = number(anomalous.view(np.uint8), connectivity=connectivity, none=0)
    return 1 / areas[numbers[anomalous]]


def area_beyond(above: np.ndarray, reach: np.ndarray, allowed: float | np.ndarray) -> np.ndarray:
    """Return what a pixel adds to the overlap of its region: the fraction of false positive rates up to the
    limit at which it is found.

    ``above`` known pixels have a larger score, and ``reach`` the same or a larger one; ``allowed`` is the
    limit in known pixels, not necessarily a whole number. The pixel is found fully from ``reach`` on, and in
    proportion between the two. NaN where nothing is allowed.

    >>> area_beyond(np.array([0, 0, 4]), np.array([0, 4, 9]), 2.0).tolist()
    [1.0, 0.25, 0.0]
    """
    left = np.maximum(allowed - above, 0.0)
    tied = np.asarray(reach - above, np.float64)
    within = np.minimum(left, tied)
    slope = np.divide(within * within, 2 * tied, out=np.zeros(np.shape(within)), where=tied > 0)
    return np.divide(
        slope + left - within, allowed, out=np.full(np.shape(within), np.nan), where=np.asarray(allowed) > 0
    )


def mean_over_regions(share: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Return the mean over regions (...) of (..., P) areas of pixels, weighted by the share that each is of
    its region; NaN without a region.
    """
    total = np.asarray(share).sum(-1, dtype=np.float64)
    return np.divide((share * area).sum(-1), total, out=np.full(np.shape(total), np.nan), where=total > 0)[()]


def check_limit(name: str, value: float) -> None:
    """Raise OptionError for a false positive rate that cannot limit an area.

    >>> check_limit("limit", 0.0)
    Traceback (most recent call last):
    faultscape.errors.OptionError: limit=0.0 cannot be; expected more than 0 and at most 1
    """
    if not 0 < value <= 1:
        raise OptionError(f"{name}={value} cannot be; expected more than 0 and at most 1")


def _images(planes: Planes, name: str) -> Sequence[np.ndarray]:
    """Return the images as a sequence, from one image, one array of several, or a list."""
    if isinstance(planes, np.ndarray) and planes.ndim == 2:
        return [planes]
    return checked_arrays.sequence(planes, name, MetricError)
