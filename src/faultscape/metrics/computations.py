"""The ``compute`` functions of the catalogue: each function here adapts a metric function to the catalogue
and passes it the statistics and definitions that it needs.

Conventions: those of the catalogue; void pixels are left out where scores are grouped. A function annotated
``-> Compute`` makes the ``compute`` of an entry; the others are one.
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
from faultscape.metrics.scores.inputs import sort


def pixels(of: Callable[..., np.ndarray]) -> Compute:
    """Compute a mean over classes from pixel counts."""
    return lambda s, d: of(s["both"], s["truth_pixels"], s["predicted_pixels"], over=d.over)


def classes(of: Callable[..., np.ndarray]) -> Compute:
    """Compute a value for each class from pixel counts."""
    return lambda s, _: of(s["both"], s["truth_pixels"], s["predicted_pixels"])


def absent(of: Callable[..., np.ndarray]) -> Compute:
    """Compute from region counts, with the rule for a class without regions on one side (``absent``)."""
    return lambda s, d: of(s, absent=d.absent)


def scaled(of: Callable[..., np.ndarray]) -> Compute:
    """Compute from region counts, with ``absent`` and the scale."""
    return lambda s, d: of(s, absent=d.absent, scale=d.scale)


def per(of: Callable[..., np.ndarray]) -> Compute:
    """Compute a mean over the regions of one side."""
    return lambda s, d: of(s, per=d.per)


def precision(overlap: float | None) -> Compute:
    """Compute the average precision of regions at an overlap, or (None) the mean over those of Zhang et al.
    2021.
    """
    return lambda s, d: over_under.average_precision_of_regions(dict(s), overlap, absent=d.absent)


def boundaries(of: Callable[[np.ndarray], np.ndarray]) -> Compute:
    """Compute from boundary counts."""
    return lambda s, _: of(s["boundary"])


def mean(by_class: Compute) -> Compute:
    """Compute the mean over classes of a per-class metric."""
    return lambda s, d: regions.mean(by_class(s, d), -1)


def held(name: str) -> Compute:
    """Read a statistic that is the metric itself."""
    return lambda s, _: np.asarray(s[name], float)


def detected(area: str, sign: int = 1) -> Compute:
    """Compute a field of a `Detection`; with ``sign`` -1, that of finding the other pixels by the lowest
    scores.
    """

    def of(s: Stats, d: Definitions) -> np.ndarray:
        label = s["label"] if sign > 0 else np.where(s["label"] == 255, 255, s["label"] == 0).astype(np.uint8)
        return np.asarray(getattr(detection(sign * s["score"], label, fpr_rule=d.fpr_rule), area))

    return of


def risks(of: Callable[..., np.ndarray]) -> Compute:
    """Compute an area from (right, wrong) pixels in groups of equal doubt."""

    def area(s: Stats, _: Definitions) -> np.ndarray:
        judged = s["label"] != 255
        return of(*selective.groups(s["score"][judged], s["label"][judged] == 1))

    return area


def windows(of: Callable[[np.ndarray], np.ndarray]) -> Compute:
    """Compute from counts of windows."""
    return lambda s, _: of(s["windows"])


def component(name: str) -> Compute:
    """Compute one of the component metrics."""
    return lambda s, _: components.component_metrics(dict(s))[name]


def skeletons(of: Callable[[np.ndarray], np.ndarray]) -> Compute:
    """Compute from centreline counts."""
    return lambda s, _: of(s["skeletons"])


def quarter(statistic: str, number: int) -> Compute:
    """Compute the recall of a quarter of the regions, from how many there are of each size and how many are
    found.
    """
    return lambda s, _: recall_by_size.recall_of_quarter(s[statistic], number)


def overlap(s: Stats, d: Definitions) -> np.ndarray:
    """Return the area under per-region overlap, from pixels with the ``share`` that each is of its region."""
    known = s["score"][s["label"] == 0]
    sort(known)
    found = s["label"] == 1
    above, reach = (len(known) - known.searchsorted(s["score"][found], side) for side in ("right", "left"))
    area = region_overlap.area_beyond(above, reach, d.fpr_limit * len(known))
    return region_overlap.mean_over_regions(s["share"][found], area)


def overlap_of_groups(groups: Groups, d: Definitions) -> np.ndarray:
    """Return the area under per-region overlap, from coarse scores."""
    assert groups.shares is not None
    reach = np.cumsum(groups.known[:, ::-1], 1)
    area = region_overlap.area_beyond(reach - groups.known[:, ::-1], reach, d.fpr_limit * reach[:, -1:])
    return region_overlap.mean_over_regions(groups.shares[:, ::-1], area)


def sums(of: Callable[..., np.ndarray]) -> Compute:
    """Compute from several sums."""
    return lambda s, _: of(dict(s))


def judged(of: Callable[..., np.ndarray]) -> Compute:
    """Compute a mean over the judged pixels."""
    return lambda s, _: of(s, s["judged"])


def equal_mass(s: Stats, d: Definitions) -> np.ndarray:
    """Return the calibration error in bins of equal mass, from fine bins."""
    return np.asarray(calibration.ece_equal_mass(s["fine"], d.bins))


def grouped(of: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> OfGroups:
    """Compute from coarse scores."""
    return lambda groups, _: of(groups.known, groups.anomalous)


def equal_mass_of_groups(groups: Groups, d: Definitions) -> np.ndarray:
    """Return the calibration error in bins of equal mass, from coarse scores."""
    assert groups.sure is not None
    count = groups.known + groups.anomalous
    return calibration.equal_mass_of_groups(count, groups.known, count * groups.sure, d.bins)
