"""How a metric of a data set changes with the weight of each image, and the interval that follows.

Conventions: ``slopes`` (I,) are the derivatives of the value by the weights of the images, at weights of 1;
NaN for an image that does not count in it. The slopes of a mean are (value - mean) / number, so that the
interval of a mean over images is Student's.
Source: Jaeckel 1972, the infinitesimal jackknife; Woodruff 1971, ratios; Liang and Zeger 1986, groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from faultscape.metrics.intervals.units import LEAST, LEVEL, Units

_STEP = 1e-4  # the step of a weight in the central difference
_ROWS = 4096  # images at once; fewer where a statistic has many values per image
_NUMBERS = 1 << 22
Sums = Mapping[str, np.ndarray]
Pooled = Mapping[str, tuple[np.ndarray, np.ndarray | None]]


@dataclass(frozen=True, eq=False)
class Linear:
    """A value and its slopes (I,); for several values, (K,) and (I, K)."""

    value: np.ndarray
    slopes: np.ndarray

    def minus(self, other: Linear) -> Linear:
        """Return the difference of two values, each over all its images."""
        slopes = np.nan_to_num(self.slopes) - np.nan_to_num(other.slopes)
        return Linear(
            self.value - other.value, np.where(np.isnan(self.slopes) & np.isnan(other.slopes), np.nan, slopes)
        )


def mean_over_images(values: np.ndarray) -> Linear:
    """Return the mean of (I,) or (I, K) values over the images that have one, and its slopes.

    >>> mean_over_images(np.array([1.0, np.nan, 3.0])).slopes.tolist()
    [-0.5, nan, 0.5]
    """
    known = ~np.isnan(values)
    number = known.sum(0)
    mean = np.divide(
        np.where(known, values, 0.0).sum(0), number, out=np.full(number.shape, np.nan), where=number > 0
    )
    return Linear(mean, (values - mean) / np.maximum(number, 1))


def mean_over_cells(cells: np.ndarray) -> Linear:
    """Return the mean of (I, C) values over all cells that have one, whichever image they are in, and its
    slopes (I,).

    >>> found = mean_over_cells(np.array([[1.0, np.nan], [0.5, 0.0]]))
    >>> float(found.value), found.slopes.round(3).tolist()
    (0.5, [0.167, -0.167])
    """
    known = ~np.isnan(cells)
    number = max(int(known.sum()), 1)
    mean = np.where(known, cells, 0.0).sum() / number if known.any() else np.nan
    slopes = np.where(known, cells - mean, 0.0).sum(1) / number
    return Linear(np.asarray(mean), np.where(known.any(1), slopes, np.nan))


def of_sums(
    rows: Sums, made: Callable[[Sums], Pooled], used: np.ndarray
) -> dict[str, tuple[Linear, Linear | None]]:
    """Return {metric: (value, classes)} with their slopes. ``made`` computes the metrics from sums (B, ...)
    over images; ``rows`` {name: (I, ...)} holds the statistics of each image.

    Images that are not ``used`` (I,) do not count; NaN in the others adds nothing.
    """
    rows = {
        name: np.nan_to_num(values) if values.dtype.kind == "f" else values for name, values in rows.items()
    }
    total = {name: values[used].sum(0).astype(float) for name, values in rows.items()}
    found = made({name: values[None] for name, values in total.items()})
    places = np.flatnonzero(used)
    widest = max((values[:1].size for values in rows.values()), default=1)
    step = max(1, min(_ROWS, _NUMBERS // max(widest, 1)))
    parts = []
    for low in range(0, len(places), step):
        mine = {name: _STEP * values[places[low : low + step]] for name, values in rows.items()}
        parts.append([made({name: total[name] + sign * mine[name] for name in mine}) for sign in (1, -1)])
    out: dict[str, tuple[Linear, Linear | None]] = {}
    for metric, (value, classes) in found.items():
        slopes = np.full(len(used), np.nan)
        slopes[places] = np.concatenate([up[metric][0] - down[metric][0] for up, down in parts]) / (2 * _STEP)
        of_classes = None
        if classes is not None:
            by_class = np.full((len(used), classes.shape[1]), np.nan)
            steps = [np.asarray(up[metric][1]) - np.asarray(down[metric][1]) for up, down in parts]
            by_class[places] = np.concatenate(steps) / (2 * _STEP)
            of_classes = Linear(classes[0], by_class)
        out[metric] = (Linear(value[0], slopes), of_classes)
    return out


def student_interval(number: Linear, units: Units, level: float = LEVEL) -> np.ndarray:
    """Return (..., 2) Student's interval of a value with U - 1 degrees of freedom, where U is the number of
    its units; NaN below six.

    >>> student_interval(mean_over_images(np.array([1.0, 2, 3, 4, 5, 6])), Units(np.arange(6), 6)).round(
    ...     3
    ... ).tolist()
    [1.537, 5.463]
    """
    from scipy.special import stdtrit

    count = units.known(number.slopes)
    spread = (units.totals(number.slopes) ** 2).sum(0)
    degrees = np.maximum(count - 1, 1)
    half = stdtrit(degrees, (1 + level) / 2) * np.sqrt(spread * count / degrees)
    half = np.where(count >= LEAST, half, np.nan)
    return np.stack([number.value - half, number.value + half], -1)
