"""In which metrics, from how few images, intervals hold the truth less often than they say, as was found by simulation.

Conventions: shares of 95 % intervals that held the truth, of 10, 30 and 100 units, where one of them lies below .92 (docs/benchmarks-intervals.md has all). From 200 units on
nothing is said.
Source: benchmarks/interval_coverage.py.
"""

from __future__ import annotations

from faultscape.metrics.units import Units

SIZES = (10, 30, 100)
HELD = {
    "rom": (0.91, 0.932, 0.936),
    "sq": (0.461, 0.418, 0.45),
    "fpr95": (0.9, 0.917, 0.917),
    "misclassification_fpr95": (0.9, 0.917, 0.917),
    "ece": (0.92, 0.907, 0.938),
}
ENOUGH, MOST = 0.92, 200


def held(metric: str, units: Units) -> str:
    """Return what to add to a metric's definition where, of about so many units, less than .92 of its intervals held the truth; else nothing.

    >>> from faultscape.metrics.units import units_of
    >>> held("sq", units_of(25)), held("miou", units_of(25)), held("sq", units_of(500))
    ('; of some 30 images 41.8 % of its 95 % intervals hold the truth in simulation', '', '')
    """
    near = min(range(len(SIZES)), key=lambda k: abs(SIZES[k] - units.count) / SIZES[k])
    share = HELD.get(metric, (1.0, 1.0, 1.0))[near]
    if share >= ENOUGH or units.count >= MOST:
        return ""
    of = "groups" if units.grouped else "images"
    return f"; of some {SIZES[near]} {of} {100 * share:.3g} % of its 95 % intervals hold the truth in simulation"
