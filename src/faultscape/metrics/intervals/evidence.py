"""The evidence for intervals of a metric and of the difference of two models: means over images, sums over
images, or the data set without each unit.

Conventions: two models are compared over the cells that both have (`common`): for means the (image, class)
cells with a value, for values made from sums the classes with a value. `apart` is the difference of the two
values as they are, each over all cells of its model. An interval is 95 % and refers to future data: units are
redrawn.
Source: Efron 1979; Jaeckel 1972; Tukey 1958 (jackknife with Student's t); Korn and Graubard 1998 (shares).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.metrics.intervals.slopes import Linear, mean_over_cells, mean_over_images, student_interval
from faultscape.metrics.intervals.units import LEAST, LEVEL, Units
from faultscape.metrics.overlaps import regions


@dataclass(frozen=True, eq=False)
class Means:
    """A mean over images of the mean over the classes defined there, from ``cells`` (I, C), or (I, 1) without
    classes; with ``alike``, the mean over all defined cells, each of the same weight.
    """

    cells: np.ndarray
    alike: bool = False

    @property
    def linear(self) -> Linear:
        """The number and its slopes."""
        return mean_over_cells(self.cells) if self.alike else mean_over_images(regions.mean(self.cells, 1))

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
        return Means(self.cells - other.cells, self.alike)

    def apart(self, other: Means) -> Ratios:
        """Return the difference of the two numbers."""
        return Ratios(self.linear.minus(other.linear), None)

    def interval(self, units: Units) -> np.ndarray:
        """Return (2,) Student's interval."""
        return student_interval(self.linear, units)


@dataclass(frozen=True, eq=False)
class Ratios:
    """A value made from sums over images. If it is a mean over classes, ``classes`` holds the values (C,) of
    the classes and their slopes (I, C), NaN for those left out.
    """

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
        return Ratios(Linear(regions.mean(gap.value[None], 1)[0], slopes), gap)

    def apart(self, other: Ratios) -> Ratios:
        """Return the difference of the two numbers."""
        return Ratios(self.linear.minus(other.linear), None)

    def interval(self, units: Units) -> np.ndarray:
        """Return (2,) Student's interval of the linearised value."""
        return student_interval(self.linear, units)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A value without slopes: its values with each unit ``left_out`` (U,), unless there are too many units,
    and ``replicates`` (B,) with units redrawn.

    ``used`` (I,) are the images that count. Without either there is no interval. ``shape`` is *smooth*;
    *bent*, made of absolute values, which noise alone makes larger; *stepped*, which leaving out a unit
    changes not at all, or a lot; or a *share* of things, which may all be found in every draw.
    """

    value: float
    replicates: np.ndarray
    left_out: np.ndarray
    used: np.ndarray
    shape: str = "smooth"

    def common(self, other: Drawn) -> Drawn:
        """Return the difference of two values, draw by draw; without draws if either has none."""
        replicates, left_out = (
            mine - theirs if len(mine) == len(theirs) else np.zeros(0)
            for mine, theirs in ((self.replicates, other.replicates), (self.left_out, other.left_out))
        )
        # noise adds to both of two errors
        shape = "stepped" if self.shape in ("stepped", "share") else "smooth"
        return Drawn(self.value - other.value, replicates, left_out, self.used | other.used, shape)

    apart = common

    def interval(self, units: Units) -> np.ndarray:
        """Return (2,) Student's interval: by the jackknife, or by the spread of the draws for stepped values;
        percentiles where no unit was left out; NaN below six units.
        """
        count = int(units.known(np.where(self.used, 1.0, np.nan)))
        known = self.replicates[~np.isnan(self.replicates)]
        # drop units without which there is no value
        left_out = self.left_out[~np.isnan(self.left_out)]
        if count < LEAST or np.isnan(self.value):
            return np.full(2, np.nan)
        if len(left_out) and self.shape != "stepped":
            low, high = jackknife_interval(self.value, left_out, count)
            return np.array([low - self._added(known), high])
        if not len(known):
            return np.full(2, np.nan)
        if self.shape == "share":
            return share_interval(self.value, known.var() * count / (count - 1), count)
        if len(left_out):
            return _student(self.value, known.var() * count / (count - 1), count)
        twice = known.mean() - self.value if self.shape == "bent" else 0.0
        low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) - twice
        return np.array([min(low - self._added(known), self.value), max(high, self.value)])

    def _added(self, known: np.ndarray) -> float:
        """Return what noise has added to a bent value if it were nothing but noise: draws have noise of twice
        the variance, and so sqrt(2) times as much.
        """
        return (
            max(float(known.mean()) - self.value, 0.0) / (np.sqrt(2) - 1)
            if self.shape == "bent" and len(known)
            else 0.0
        )


def jackknife_interval(value: float, left_out: np.ndarray, count: int) -> np.ndarray:
    """Return (2,) Student's interval from the values with one of ``count`` units left out.

    >>> jackknife_interval(3.5, np.array([4.0, 3.8, 3.6, 3.4, 3.2, 3.0]), 6).round(
    ...     3
    ... ).tolist()  # the mean of 1, 2, 3, 4, 5, 6
    [1.537, 5.463]
    """
    return _student(value, (count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum()), count)


def share_interval(value: float, variance: float, count: int) -> np.ndarray:
    """Return (2,) Clopper and Pearson's interval of a share, for as many trials as would have its variance
    over ``count`` units; where it does not vary, that many.

    >>> share_interval(1.0, 0.0, 8).round(3).tolist()
    [0.631, 1.0]
    """
    from scipy.special import betaincinv, stdtrit

    tail = (1 - LEVEL) / 2
    trials = float(count)
    if variance > 0 and 0 < value < 1:
        # fewer by what Student's t is wider than a normal
        trials = value * (1 - value) / variance * (stdtrit(np.inf, tail) / stdtrit(count - 1, tail)) ** 2
    there = trials * value
    low = betaincinv(there, trials - there + 1, tail) if there > 0 else 0.0
    high = betaincinv(there + 1, trials - there, 1 - tail) if there < trials else 1.0
    return np.array([low, high])


def _student(value: float, variance: float, count: int) -> np.ndarray:
    from scipy.special import stdtrit

    half = stdtrit(count - 1, (1 + LEVEL) / 2) * np.sqrt(variance)
    return np.array([value - half, value + half])


Evidence = Means | Ratios | Drawn
