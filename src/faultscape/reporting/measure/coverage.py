"""Metrics whose intervals cover the truth less often than their level, as measured by simulation.

Conventions: shares of 95 % intervals that cover the truth with 10, 30 and 100 units, for a metric and for the
difference of two models, where one of them is below .92: the rows of docs/benchmarks/intervals.md, for images
and for groups. Nothing is reported for what was not measured.
Source: benchmarks/interval_coverage.py.
"""

from __future__ import annotations

IMAGES = "images"
GROUPS = "groups"
SIZES = (10, 30, 100)
HELD = {  # {(metric, unit): (coverage of its intervals, of differences)}
    ("rom", IMAGES): ((0.91, 0.932, 0.936), (0.938, 0.949, 0.942)),
    ("sq", IMAGES): ((0.461, 0.418, 0.45), (0.858, 0.855, 0.766)),
    ("misclassification_fpr95", IMAGES): ((0.884, 0.927, 0.904), (0.922, 0.9, 0.894)),
    ("average_precision", IMAGES): ((0.883, 0.913, 0.928), (0.894, 0.894, 0.916)),
    ("auroc", IMAGES): ((0.911, 0.921, 0.951), (0.907, 0.913, 0.932)),
    ("fpr95", IMAGES): ((0.919, 0.915, 0.877), (0.915, 0.88, 0.842)),
    ("miou", GROUPS): ((0.936, 0.937, 0.95), (0.918, 0.932, 0.944)),
    ("sq", GROUPS): ((0.591, 0.7, 0.926), (0.818, 0.821, 0.934)),
    ("misclassification_ap", GROUPS): ((0.907, 0.942, 0.948), (0.923, 0.946, 0.955)),
    ("misclassification_fpr95", GROUPS): ((0.925, 0.916, 0.881), (0.914, 0.881, 0.839)),
}
ENOUGH = 0.92


def held(metric: str, count: int, *, grouped: bool) -> str:
    """Return the text to add to a metric's definition if, with about ``count`` images (or groups), less than
    .92 of its intervals, or of those of its differences, cover the truth; else ''.

    For more units than were tried, it gives the share for the most units tried.

    >>> held("rom", 12, grouped=False), held("miou", 12, grouped=False)
    ('; of some 10 images 91 % of its 95 % intervals hold the truth in simulation', '')
    >>> held("sq", 500, grouped=False)
    '; of 100 images, the most that were tried, 45 % of its 95 % intervals, and 76.6 % of those of
    differences, hold the truth in simulation'
    """
    of = GROUPS if grouped else IMAGES
    near = min(range(len(SIZES)), key=lambda k: abs(SIZES[k] - count) / SIZES[k])
    own, gap = (shares[near] for shares in HELD.get((metric, of), ((1.0,) * 3, (1.0,) * 3)))
    if min(own, gap) >= ENOUGH:
        return ""
    low = f"{100 * own:.3g} % of its 95 % intervals" if own < ENOUGH else ""
    if gap < ENOUGH:
        low = (
            f"{low}, and {100 * gap:.3g} % of those of differences,"
            if low
            else f"{100 * gap:.3g} % of the 95 % intervals of its differences"
        )
    most = count >= 2 * SIZES[-1]
    many = f"{SIZES[near]} {of}, the most that were tried," if most else f"some {SIZES[near]} {of}"
    return f"; of {many} {low} hold the truth in simulation"
