"""What an interval of a metric, and of the difference of two models in it, comes from: means over images, sums over images, or draws.

Conventions: two models are compared over the cells that both have (`common`): of means the (image, class) cells with a value, of numbers made of sums the classes
with a value. `apart` is the difference of the two numbers as they are, each over all that its model has. An interval is 95 %, of data to come: units are drawn anew.
Source: Efron 1979 and 1987; Jaeckel 1972.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.metrics import region_set
from faultscape.metrics.slopes import LEVEL, Linear, mean_over_images, student_interval
from faultscape.metrics.units import FEW, LEAST, Units


@dataclass(frozen=True, eq=False)
class Means:
    """A mean over images of the mean over the classes defined there, of ``cells`` (I, C); without classes (I, 1)."""

    cells: np.ndarray

    @property
    def linear(self) -> Linear:
        """The number and its slopes."""
        return mean_over_images(region_set.mean(self.cells, 1))

    @property
    def by_class(self) -> Linear:
        """The means over images of each class, and their slopes."""
        return mean_over_images(self.cells)

    @property
    def value(self) -> float:
        """The number."""
        return float(self.linear.value)

    def common(self, other: Means) -> Means:
        """Return the differences in the cells that both have."""
        return Means(self.cells - other.cells)

    def apart(self, other: Means) -> Ratios:
        """Return the difference of the two numbers."""
        return Ratios(self.linear.minus(other.linear), None)

    def interval(self, units: Units) -> np.ndarray:
        """Return (2,) Student's interval."""
        return student_interval(self.linear, units)


@dataclass(frozen=True, eq=False)
class Ratios:
    """A number made of sums over images; where it is a mean over classes, ``classes`` holds the numbers (C,) of the classes and their slopes (I, C), NaN for those left out."""

    linear: Linear
    classes: Linear | None

    @property
    def value(self) -> float:
        """The number."""
        return float(self.linear.value)

    def common(self, other: Ratios) -> Ratios:
        """Return the difference over the classes that both have."""
        if self.classes is None or other.classes is None:
            return self.apart(other)
        gap = self.classes.minus(other.classes)
        known = np.flatnonzero(~np.isnan(gap.value))
        nowhere = np.isnan(self.linear.slopes) & np.isnan(other.linear.slopes)
        slopes = np.where(nowhere, np.nan, np.nan_to_num(gap.slopes[:, known]).sum(1) / max(len(known), 1))
        return Ratios(Linear(region_set.mean(gap.value[None], 1)[0], slopes), gap)

    def apart(self, other: Ratios) -> Ratios:
        """Return the difference of the two numbers."""
        return Ratios(self.linear.minus(other.linear), None)

    def interval(self, units: Units) -> np.ndarray:
        """Return (2,) Student's interval of the number made linear."""
        return student_interval(self.linear, units)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A number that has no slopes: its ``replicates`` (B,) over units drawn anew, none where there is no interval, and its values with a unit ``left_out`` (U,), if known.

    ``used`` (I,) are the images that count; ``bent`` says that the number is a sum of absolute values, which noise alone makes larger.
    """

    value: float
    replicates: np.ndarray
    left_out: np.ndarray
    used: np.ndarray
    bent: bool = False

    def common(self, other: Drawn) -> Drawn:
        """Return the difference of two numbers, draw by draw; without draws where one has none."""
        there = min(len(self.replicates), len(other.replicates))
        left = self.left_out - other.left_out if len(self.left_out) == len(other.left_out) else np.zeros(0)
        gap = self.replicates[:there] - other.replicates[:there]
        return Drawn(self.value - other.value, gap, left, self.used | other.used)

    apart = common

    def interval(self, units: Units) -> np.ndarray:
        """Return (2,) Student's interval from the spread of the draws below twenty units, else BCa or, where no unit was left out, percentiles; NaN below six units.

        Noise adds to a bent number as often as there is noise: once in the point, twice in the draws. What the draws add to the point is taken from both.
        """
        count = int(units.known(np.where(self.used, 1.0, np.nan)))
        known = self.replicates[~np.isnan(self.replicates)]
        if count < LEAST or not len(known) or np.isnan(self.value):
            return np.full(2, np.nan)
        added = max(known.mean() - self.value, 0.0) if self.bent else 0.0
        if count < FEW:
            found = spread_interval(self.value - added, known, count)
        elif self.bent:
            found = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) - 2 * added
        elif len(self.left_out):
            found = bca_interval(self.value, known, self.left_out)
        else:
            found = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return np.array([min(found[0], self.value), max(found[1], self.value)])


def spread_interval(value: float, replicates: np.ndarray, count: int) -> np.ndarray:
    """Return (2,) Student's interval with ``count`` - 1 degrees of freedom from the spread of a bootstrap, whose variance is that of n where n - 1 is right."""
    from scipy.stats import t

    half = t.ppf((1 + LEVEL) / 2, count - 1) * replicates.std() * np.sqrt(count / (count - 1))
    return np.array([value - half, value + half])


def bca_interval(value: float, replicates: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Return (2,) Efron's bias-corrected and accelerated interval, the acceleration from the values with one unit left out.

    >>> bca_interval(0.0, np.linspace(-1, 1, 4001), np.array([-1.0, 1.0])).round(3).tolist()
    [-0.95, 0.95]
    """
    from scipy.special import ndtr, ndtri

    below = ((replicates < value).mean() + (replicates <= value).mean()) / 2
    middle = ndtri(np.clip(below, 0.5 / len(replicates), 1 - 0.5 / len(replicates)))
    away = np.nanmean(left_out) - left_out[~np.isnan(left_out)] if not np.isnan(left_out).all() else np.zeros(1)
    square = (away**2).sum()
    bend = (away**3).sum() / (6 * square**1.5) if square > 0 else 0.0
    ends = middle + ndtri([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return np.quantile(replicates, ndtr(middle + ends / np.maximum(1 - bend * ends, 1e-3)))


Evidence = Means | Ratios | Drawn
