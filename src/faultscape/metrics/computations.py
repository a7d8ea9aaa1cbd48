"""How entries of the catalogue compute: each function here makes the ``compute`` of an entry from a function
of the room, and hands it the statistics and definitions that it takes.

Conventions: as the catalogue; void pixels are left out where scores are grouped.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultscape.metrics import calibration, selective
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.metric import Compute, Groups, OfGroups, Stats
from faultscape.metrics.overlaps import components, over_under, recall_by_size, regions
from faultscape.metrics.scores import region_overlap
from faultscape.metrics.scores.detection import detection


def pixels(of: Callable[..., np.ndarray]) -> Compute:
    """Return how an entry computes a mean over classes of pixel counts."""
    return lambda s, d: of(s["both"], s["truth_pixels"], s["predicted_pixels"], over=d.over)


def classes(of: Callable[..., np.ndarray]) -> Compute:
    """Return how an entry computes a number of each class from pixel counts."""
    return lambda s, _: of(s["both"], s["truth_pixels"], s["predicted_pixels"])


def absent(of: Callable[..., np.ndarray]) -> Compute:
    """Return how an entry computes what follows from what a class without regions on one side is."""
    return lambda s, d: of(s, absent=d.absent)


def scaled(of: Callable[..., np.ndarray]) -> Compute:
    """Return how an entry computes what follows from that, and from the scale."""
    return lambda s, d: of(s, absent=d.absent, scale=d.scale)


def per(of: Callable[..., np.ndarray]) -> Compute:
    """Return how an entry computes a mean over the regions of one side."""
    return lambda s, d: of(s, per=d.per)


def precision(overlap: float | None) -> Compute:
    """Return how an entry computes the average precision of regions at an overlap, or (None) at all of Zhang
    et al. 2021.
    """
    return lambda s, d: over_under.average_precision_of_regions(dict(s), overlap, absent=d.absent)


def boundaries(of: Callable[[np.ndarray], np.ndarray]) -> Compute:
    """Return how an entry computes a number of counts along edges."""
    return lambda s, _: of(s["boundary"])


def mean(by_class: Compute) -> Compute:
    """Return how an entry computes the mean of what it has by class."""
    return lambda s, d: regions.mean(by_class(s, d), -1)


def held(name: str) -> Compute:
    """Return how an entry reads a statistic that is the metric itself."""
    return lambda s, _: np.asarray(s[name], float)


def detected(area: str, sign: int = 1) -> Compute:
    """Return how an entry computes a number of a `Detection`; of ``sign`` -1 that of finding the others by
    the lowest scores.
    """

    def of(s: Stats, d: Definitions) -> np.ndarray:
        label = s["label"] if sign > 0 else np.where(s["label"] == 255, 255, s["label"] == 0).astype(np.uint8)
        return np.asarray(getattr(detection(sign * s["score"], label, fpr_rule=d.fpr_rule), area))

    return of


def risks(of: Callable[..., np.ndarray]) -> Compute:
    """Return how an entry computes an area of (right, wrong) pixels in groups of equal doubt."""

    def area(s: Stats, _: Definitions) -> np.ndarray:
        judged = s["label"] != 255
        return of(*selective.groups(s["score"][judged], s["label"][judged] == 1))

    return area


def windows(of: Callable[[np.ndarray], np.ndarray]) -> Compute:
    """Return how an entry computes a number of counts of windows."""
    return lambda s, _: of(s["windows"])


def component(name: str) -> Compute:
    """Return how an entry computes one of the metrics of components."""
    return lambda s, _: components.component_metrics(dict(s))[name]


def skeletons(of: Callable[[np.ndarray], np.ndarray]) -> Compute:
    """Return how an entry computes a number of counts along centrelines."""
    return lambda s, _: of(s["skeletons"])


def quarter(statistic: str, number: int) -> Compute:
    """Return how an entry computes the recall of a quarter of the regions, from how many have each size and
    are found.
    """
    return lambda s, _: recall_by_size.recall_of_quarter(s[statistic], number)


def overlap(s: Stats, d: Definitions) -> np.ndarray:
    """Return the area under per-region overlap, of pixels that know which ``share`` of its region each is."""
    known = np.sort(s["score"][s["label"] == 0])
    found = s["label"] == 1
    above, reach = (len(known) - known.searchsorted(s["score"][found], side) for side in ("right", "left"))
    area = region_overlap.area_beyond(above, reach, d.fpr_limit * len(known))
    return region_overlap.mean_over_regions(s["share"][found], area)


def overlap_of_groups(groups: Groups, d: Definitions) -> np.ndarray:
    """Return the area under per-region overlap, of coarse scores."""
    assert groups.shares is not None
    reach = np.cumsum(groups.known[:, ::-1], 1)
    area = region_overlap.area_beyond(reach - groups.known[:, ::-1], reach, d.fpr_limit * reach[:, -1:])
    return region_overlap.mean_over_regions(groups.shares[:, ::-1], area)


def sums(of: Callable[..., np.ndarray]) -> Compute:
    """Return how an entry computes a number of several sums."""
    return lambda s, _: of(dict(s))


def judged(of: Callable[..., np.ndarray]) -> Compute:
    """Return how an entry computes a mean over the pixels that are judged."""
    return lambda s, _: of(s, s["judged"])


def equal_mass(s: Stats, d: Definitions) -> np.ndarray:
    """Return the calibration error in bins of equal mass, of fine bins."""
    return np.asarray(calibration.ece_equal_mass(s["fine"], d.bins))


def grouped(of: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> OfGroups:
    """Return how an entry computes its number of coarse scores."""
    return lambda groups, _: of(groups.known, groups.anomalous)


def equal_mass_of_groups(groups: Groups, d: Definitions) -> np.ndarray:
    """Return the calibration error in bins of equal mass, of coarse scores."""
    assert groups.sure is not None
    count = groups.known + groups.anomalous
    return calibration.equal_mass_of_groups(count, groups.known, count * groups.sure, d.bins)
