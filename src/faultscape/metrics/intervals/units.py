"""The units that are redrawn for an interval about future data: images, or whole groups of images that belong
together.

Conventions: ``of`` (I,) is the number of the unit that each image belongs to, 0 to U - 1 in order of first
occurrence. Fewer than six units give no interval; intervals are Student's with one degree of freedom fewer
than units.
Source: Davison and Hinkley 1997, 3.8 (cluster bootstrap).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95  # of intervals, here and of rankings
LEAST = 6  # fewer units (images, groups) give no interval: five agree at random once in 32 times
MANY = 2000  # with more units, they are drawn with replacement instead of left out one by one


@dataclass(frozen=True, eq=False)
class Units:
    """The unit of each image (I,), how many there are, and whether any has several images."""

    of: np.ndarray
    count: int

    @property
    def grouped(self) -> bool:
        """Whether some images belong together."""
        return self.count < len(self.of)

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Return (U, ...) sums over the images of each unit; NaN is ignored."""
        values = np.nan_to_num(values)
        if not self.grouped:
            return values
        out = np.zeros((self.count, *values.shape[1:]))
        np.add.at(out, self.of, values)
        return out

    def known(self, values: np.ndarray) -> np.ndarray:
        """Return (...) the number of units that have an image with a value."""
        there = ~np.isnan(values)
        return (self.totals(there.astype(float)) > 0).sum(0)


def units_of(groups: Sequence[str] | int) -> Units:
    """Return the units of images with these groups; an image with group '' is a unit by itself, and a number
    means that many separate images.

    >>> units = units_of(["a", "", "a", "b"])
    >>> units.of.tolist(), units.count, units.totals(np.array([1.0, 2.0, 3.0, np.nan])).tolist()
    ([0, 1, 0, 2], 3, [4.0, 2.0, 0.0])
    """
    if isinstance(groups, int):
        return Units(np.arange(groups), groups)
    numbers: dict[object, int] = {}
    of = [numbers.setdefault(group or k, len(numbers)) for k, group in enumerate(groups)]
    return Units(np.array(of, np.int64).reshape(len(groups)), len(numbers))


@dataclass(frozen=True, eq=False)
class Draws:
    """How often each image counts (1 + B + U, I): once each, then in B draws of units with replacement, then
    with each of U units left out, if requested.
    """

    weights: np.ndarray
    resamples: int

    @property
    def used(self) -> np.ndarray:
        """(I,) which images count at all."""
        return self.weights[0] > 0

    def of(self, used: np.ndarray) -> Draws:
        """Return the draws in which only some images (I,) count."""
        return Draws(self.weights * used, self.resamples)

    def split(self, values: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Split values (1 + B + U,) into that of the data set, those of the draws (B,) and those with a unit
        left out (U,).
        """
        return float(values[0]), values[1 : 1 + self.resamples], values[1 + self.resamples :]


def draw_units(
    units: Units, resamples: int, seed: int, *, leave_out: bool = False, ranks: np.ndarray | None = None
) -> Draws:
    """Return ``resamples`` draws of whole units with replacement, in one byte per image where there are too
    many units for one to be drawn 256 times.

    Random numbers are assigned to units in the order of ``ranks`` (I,) of their images (``faultscape.ties``),
    by default in the order in which they come.

    >>> draw_units(units_of(["a", "a", ""]), 2, 0, leave_out=True).weights.tolist()
    [[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 1], [1, 1, 0]]
    """
    rng = np.random.default_rng(seed)
    n = units.count
    place = np.arange(n)
    if ranks is not None:
        least = np.full(n, len(units.of))
        np.minimum.at(least, units.of, ranks)
        place = np.argsort(np.argsort(least))
    out = np.ones((1 + resamples + n * leave_out, len(units.of)), np.uint8 if n > 255 else np.uint16)
    for low in range(1, 1 + resamples, 64):
        rows = out[low : min(low + 64, 1 + resamples)]
        rows[:] = rng.multinomial(n, np.full(n, 1 / n), size=len(rows))[:, place[units.of]]
    if leave_out:
        out[1 + resamples :] = units.of != np.arange(n)[:, None]
    return Draws(out, resamples)
