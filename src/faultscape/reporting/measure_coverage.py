"""In which metrics intervals hold the truth less often than they say, as was found by simulation.

Conventions: shares of 95 % intervals that held the truth, of 10, 30 and 100 units, where one of them lies below .92: the rows of docs/benchmarks-intervals.md, measured on images and on
groups apart. What was not measured is not spoken of.
Source: benchmarks/interval_coverage.py.
"""

from __future__ import annotations

from faultscape.metrics.units import Units

IMAGES, GROUPS = "images", "groups"
SIZES = (10, 30, 100)
HELD = {
    ("rom", IMAGES): (0.91, 0.932, 0.936),
    ("sq", IMAGES): (0.461, 0.418, 0.45),
    ("sq", GROUPS): (0.57, 0.71, 0.932),
    ("fpr95", IMAGES): (0.9, 0.917, 0.917),
    ("misclassification_fpr95", IMAGES): (0.9, 0.917, 0.917),
    ("ece", IMAGES): (0.92, 0.907, 0.938),
}
ENOUGH = 0.92


def held(metric: str, units: Units) -> str:
    """Return what to add to a metric's definition where, of about so many units, less than .92 of its intervals held the truth; else nothing.

    Of more units than were tried the share of the most that were is said.

    >>> from faultscape.metrics.units import units_of
    >>> held("sq", units_of(25)), held("miou", units_of(25))
    ('; of some 30 images 41.8 % of its 95 % intervals hold the truth in simulation', '')
    >>> held("sq", units_of(500))
    '; of 100 images, the most that were tried, 45 % of its 95 % intervals hold the truth in simulation'
    """
    of = GROUPS if units.grouped else IMAGES
    near = min(range(len(SIZES)), key=lambda k: abs(SIZES[k] - units.count) / SIZES[k])
    share = HELD.get((metric, of), (1.0, 1.0, 1.0))[near]
    if share >= ENOUGH:
        return ""
    most = units.count >= 2 * SIZES[-1]
    count = f"{SIZES[near]} {of}, the most that were tried," if most else f"some {SIZES[near]} {of}"
    return f"; of {count} {100 * share:.3g} % of its 95 % intervals hold the truth in simulation"
