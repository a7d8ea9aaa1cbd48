"""Objects found at a false-alarm rate: the threshold of that rate, which objects are found there, and their
share with the evidence for its interval.

Conventions: the threshold of a rate is the lowest place at which no more than that share of all known pixels
is flagged. An object is *found* if at least half of its pixels (``FOUND``) are flagged, so that a few pixels
of its edge, or of a large neighbour, do not count as finding it; otherwise it is missed. All images share one
threshold. The *place* of an object is the highest threshold at which it is found: an object is then one
positive with that score. Intervals redraw units of images, and the threshold with them. NaN without objects
or without known pixels.
Source: own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultscape.metrics.intervals.evidence import Drawn
from faultscape.metrics.intervals.units import LEAST, Draws
from faultscape.metrics.scores.bootstrap import SparseHistogram
from faultscape.metrics.scores.grouped_counts import FALSE, FOUND, OBJECTS, GroupedCounts, dense_counts
from faultscape.metrics.scores.histogram import SIZE
from faultscape.metrics.scores.rank_slopes import counts_by_unit
from faultscape.metrics.scores.thresholds import threshold_place

RATES = (0.01, FALSE, 0.1)
_TOGETHER = 64  # draws at once


def object_place(places: np.ndarray, counts: np.ndarray) -> int:
    """Return the highest threshold at which an object is found, from the counts of its pixels at ascending
    places.

    >>> (
    ...     object_place(np.array([1, 5, 9]), np.array([2, 1, 1])),
    ...     object_place(np.array([1, 5]), np.array([3, 1])),
    ... )
    (5, 1)
    """
    above = np.cumsum(counts[::-1])[::-1]
    return int(places[np.flatnonzero(above >= FOUND * above[0])[-1]])


def object_places(counts: GroupedCounts) -> np.ndarray:
    """Return (O,) the places of the anomalous objects of an image."""
    of = np.flatnonzero(~counts.objects.pasted)
    return np.array([object_place(*counts.rows[OBJECTS + k]) for k in of.tolist()], np.int64)


def of_objects(counts: GroupedCounts) -> SparseHistogram:
    """Return the histogram for finding the objects of an image: its known pixels, against one count for each
    object at its place.
    """
    known = dense_counts([counts.known])
    objects = np.bincount(object_places(counts), minlength=SIZE)
    places = np.flatnonzero(known + objects)
    return SparseHistogram(places.astype(np.int32), known[places], objects[places])


def found_shares(
    images: Sequence[SparseHistogram],
    of: np.ndarray | None = None,
    draws: Draws | None = None,
    *,
    rates: Sequence[float] = RATES,
) -> tuple[Drawn, ...]:
    """Return the share of the objects of some images (`of_objects`) that is found at each rate and, with
    ``draws`` of U units, the evidence for intervals; ``of`` (I,) is the unit of each image.

    >>> one = SparseHistogram(np.array([1, 5, 9]), np.array([90, 10, 0]), np.array([1, 0, 1]))
    >>> [found.value for found in found_shares([one, one], rates=(0.05, 1.0))]
    [0.5, 1.0]
    """
    n, p = np.zeros((2, SIZE))
    for image in images:
        n[image.places] += image.known
        p[image.places] += image.anomalous
    nothing = np.zeros(0)
    if not n.any() or not p.any():
        return tuple(Drawn(np.nan, nothing, nothing, nothing, "share") for _ in rates)
    values = [float(p[threshold_place(n, rate) :].sum() / p.sum()) for rate in rates]
    replicates = np.zeros((0, len(rates)))
    used = nothing
    if draws is not None:
        units = draws.weights.shape[1]
        known, objects = counts_by_unit(images, np.arange(len(images)) if of is None else of, units, n, p)
        used = np.asarray(objects.any(1))
        if min(known.any(1).sum(), used.sum()) >= LEAST:
            drawn = draws.weights[1 : 1 + draws.resamples].astype(float)
            rows = [drawn[low : low + _TOGETHER] for low in range(0, len(drawn), _TOGETHER)]
            replicates = np.concatenate(
                [replicates, *(_shares(some @ objects, some @ known, rates) for some in rows)]
            )
    return tuple(Drawn(value, replicates[:, k], nothing, used, "share") for k, value in enumerate(values))


def _shares(objects: np.ndarray, known: np.ndarray, rates: Sequence[float]) -> np.ndarray:
    """Return (B, R) the shares found at each rate, from objects and known pixels (B, K) at descending
    thresholds.
    """
    flagged = np.cumsum(known, 1)
    above = np.pad(np.cumsum(objects, 1), ((0, 0), (1, 0)))
    steps = [(flagged <= rate * flagged[:, -1:]).sum(1) for rate in rates]
    with np.errstate(invalid="ignore"):
        return np.stack([above[np.arange(len(above)), at] / above[:, -1] for at in steps], 1)
