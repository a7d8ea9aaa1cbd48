"""Which models are shown to be better than which, and by how much, all pairs at once: a studentised bootstrap
of the largest difference, with one adverse unit added to every pair.

Conventions: J models, P pairs i < j, U units, B draws of units with replacement. Differences are in favour of
the first model of a pair. The added unit departs from a pair's mean against the claim, as far as the largest
departure of any unit in any pair: a model that has not failed yet may fail as others did. So a claim needs a
difference that about four such unseen units would not undo, the rule of three of a proportion, and pairs
whose scores hardly vary cannot be infinitely certain. Where the departures of fewer than four units make up
nearly all of what is known about the models, it must withstand log(J / .05) unseen units, so that for all
models together the chance not to have seen them is 5 %. Nothing is claimed from fewer than ten units, or
fewer than 150 scores of units, among which a failure of 2 % of them would not yet have shown with a
probability of 5 %.
Source: bootstrap maximum and its step-down, Romano and Wolf 2005; directions of all pairs, and the ranks that
they leave, Mogstad, Romano, Shaikh and Wilhelm 2024; the effective number of units is that of Kish 1965 with
squared departures as weights. The added unit is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.metrics.intervals.units import LEVEL, Units
from faultscape.ranking.intervals import bootstrap_weights
from faultscape.standings import FEW

SCORES = 150  # fewer models x units claim nothing: .98^150 is 5 %
CARRIED = 4.0  # effective number of units below which more unseen ones must be withstood
DRAWS = 100  # fewer draws do not show what 95 % of them stay below
_CHUNK = 4_000_000  # numbers in the largest temporary array
_EQUAL = 1e-9  # departures below this part of the largest score are rounding errors


@dataclass(frozen=True, eq=False)
class Differences:
    """What all pairs of models say at once: ``mean`` (J, J) the difference in favour of the row, ``interval``
    (J, J, 2) of it, and ``better`` (J, J) where the row is shown to be better than the column.

    ``units`` are drawn, of which ``carried`` is the effective number; ``few`` says why nothing is claimed, ''
    where claims are made.
    """

    mean: np.ndarray
    interval: np.ndarray
    better: np.ndarray
    units: int
    carried: float
    few: str = ""


@dataclass(frozen=True, eq=False)
class Studied:
    """Means (N,) of several columns, the number of units, their departures (U, N) from the mean, and the
    departure of the unit that is added.
    """

    mean: np.ndarray
    sizes: np.ndarray
    departures: np.ndarray
    added: float

    @property
    def units(self) -> int:
        """How many units are drawn."""
        return len(self.sizes)

    def errors(self, variance: np.ndarray) -> np.ndarray:
        """Return standard errors with the added unit, from the variance of units without it."""
        n = self.units
        return np.sqrt(((n - 1) * variance + self.added**2 * n / (n + 1)) / n / (n + 1))

    @property
    def error(self) -> np.ndarray:
        """(N,) standard errors of the means, with the added unit."""
        return self.errors((self.departures**2).sum(0) / (self.units - 1))

    @property
    def against(self) -> float:
        """How far the added unit moves a mean."""
        return self.added / (self.units + 1)


def studied(values: np.ndarray, units: Units) -> Studied:
    """Return the means over cells of values (N, K), and what their units add to them.

    >>> studied(np.array([[1.0, 0.0, 1.0, 0.0]]), Units(np.arange(4), 4)).added
    0.5
    """
    sizes = np.bincount(units.of, minlength=units.count).astype(float)
    mean = values.mean(1)
    departures = units.totals((values - mean[:, None]).T) * (units.count / sizes.sum())
    scale = float(np.abs(values).max(initial=0))
    departures[np.abs(departures) <= _EQUAL * scale] = 0
    return Studied(mean, sizes, departures, float(np.abs(departures).max(initial=0)))


def drawn(of: Studied, weights: np.ndarray) -> np.ndarray:
    """Return (B, N) studentised departures of the means in draws of units (B, U) from the means of all."""
    n = of.units
    total = weights @ of.sizes
    share = of.sizes * n / of.sizes.sum()  # the size of each unit, 1 in the mean
    out = np.empty((len(weights), len(of.mean)), np.float32)
    step = max(1, _CHUNK // max(len(of.mean), 1))
    square = of.departures**2
    product = of.departures * share[:, None]
    even = bool((share == 1).all())
    for low in range(0, len(weights), step):
        some = weights[low : low + step]
        ratio = (of.sizes.sum() / total[low : low + step])[:, None]
        moved = some @ of.departures / n * ratio
        spread = some @ square
        if even:
            spread = spread - n * moved**2
        else:
            spread = spread - 2 * moved * (some @ product) + moved**2 * (some @ share**2)[:, None]
        error = of.errors(np.maximum(spread, 0) * ratio**2 / (n - 1))
        out[low : low + step] = np.divide(moved, error, out=np.zeros_like(moved), where=error > 0)
    return out


def compare(
    merits: np.ndarray, units: Units, resamples: int, seed: int = 0, *, what: str = "cases"
) -> Differences:
    """Return which models are shown to be better than which, from scores (J, K) where large is good; ``what``
    the units are.

    >>> rng = np.random.default_rng(0)
    >>> said = compare(rng.normal([[0.9], [0.89], [0.5]], 0.1, (3, 60)), Units(np.arange(60), 60), 500)
    >>> said.better.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    j = len(merits)
    first, second = np.triu_indices(j, 1)
    of = studied(merits[first] - merits[second], units)
    carried = effective(of.departures)
    few = _too_few(j, units, carried, what)
    if resamples < DRAWS:
        few = f"too few resamples: {resamples}, and nothing is claimed from fewer than {DRAWS}"
    mean = np.zeros((j, j))
    mean[first, second] = of.mean
    interval = np.full((j, j, 2), np.nan)
    better = np.zeros((j, j), bool)
    if units.count > 1 and resamples and of.added > 0:
        weights = bootstrap_weights(units.count, resamples, seed)
        ratios = drawn(of, weights)
        error = of.error
        unseen = of.added * np.log(j / (1 - LEVEL)) / of.units if carried < CARRIED else 0.0
        half = np.maximum(of.against + error * _quantile(np.abs(ratios).max(1)), unseen)
        if not few:
            interval[first, second] = of.mean[:, None] + half[:, None] * np.array([-1, 1])
            observed = np.sign(of.mean) * np.maximum(np.abs(of.mean) - of.against, 0) / error
            claims = step_down(np.where(np.abs(of.mean) > unseen, observed, 0), ratios)
            better[first, second] = claims > 0
            better[second, first] = claims < 0
    interval[second, first] = -interval[first, second][:, ::-1]
    return Differences(mean - mean.T, interval, better, units.count, carried, few)


def step_down(observed: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Return (N,) 1, -1 or 0: whether a column is shown to be above or below 0, all at once, from studentised
    means ``observed`` (N,) and their draws (B, N).

    What is shown leaves the maximum, in its direction alone, and the others are tested again.
    """
    claims = np.zeros(len(observed), int)
    while True:
        free = claims == 0
        largest = np.abs(ratios[:, free]).max(1, initial=0)
        if not free.all():
            against = -claims[~free] * ratios[:, ~free]
            largest = np.maximum(largest, against.max(1))
        new = free & (np.abs(observed) > _quantile(largest))
        if not new.any():
            return claims
        claims[new] = np.sign(observed[new]).astype(int)


def mean_intervals(merits: np.ndarray, units: Units, resamples: int, seed: int = 0) -> np.ndarray:
    """Return (J, 2) intervals of the means of models (J, K), each by itself, by the same draws; NaN from
    fewer than ten units.
    """
    out = np.full((len(merits), 2), np.nan)
    if units.count < FEW or not resamples:
        return out
    of = studied(merits, units)
    ratios = np.abs(drawn(of, bootstrap_weights(units.count, resamples, seed)))
    factor = np.array([_quantile(column) for column in ratios.T])
    half = of.against + factor * of.error
    return of.mean[:, None] + half[:, None] * np.array([-1, 1])


def effective(departures: np.ndarray) -> float:
    """Return the effective number of units (U, N) that departures come from: 1 if one unit has them all.

    >>> effective(np.array([[1.0], [-1.0], [0.0]])), effective(np.array([[3.0], [0.0]]))
    (2.0, 1.0)
    """
    weight = (departures**2).sum(1)
    return float(weight.sum() ** 2 / (weight**2).sum()) if weight.any() else 0.0


def ranks_left(better: np.ndarray) -> np.ndarray:
    """Return (J, 2) best and worst rank that each model may have, all right at once, from what is shown."""
    return np.stack([1 + better.sum(0), len(better) - better.sum(1)], 1)


def least_units(models: int) -> int:
    """Return the number of units below which nothing is claimed.

    >>> least_units(2), least_units(5), least_units(30)
    (75, 30, 10)
    """
    return max(FEW, -(-SCORES // models))


def _too_few(models: int, units: Units, carried: float, what: str) -> str:
    if units.count < (least := least_units(models)):
        why = "" if least == FEW else f" ({models} models): fewer may miss failures as rare as 2 %"
        return f"too few {what}: {units.count}, and nothing is claimed from fewer than {least}{why}"
    if not carried:
        return f"no {what[:-1]} tells the models apart: all differences are the same everywhere"
    return ""


def _quantile(values: np.ndarray) -> float:
    """Return the value that a share ``LEVEL`` of draws does not exceed, rounded up."""
    place = min(int(np.ceil(LEVEL * (len(values) + 1))) - 1, len(values) - 1)
    return float(np.partition(values, place)[place])
