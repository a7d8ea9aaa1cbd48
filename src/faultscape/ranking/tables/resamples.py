"""How stable an order of means is: over draws of units with replacement, without single units, and with fewer
of them.

Conventions: J models, U units, B draws; ``merits`` (J, K) of cells are large = good. A share of resamples is
not the probability that a model is best: a model that is as good as another is best in half of them.
Agreement with the order of all cases is Kendall's tau.
Source: Efron 1979; the share as a statement about rankings: Hall and Miller 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.metrics.intervals.units import Units
from faultscape.ranking.agreement import kendall
from faultscape.ranking.intervals import bootstrap_weights
from faultscape.ranking.stability import places_shown
from faultscape.ranking.tables.orders import lowest_ranks
from faultscape.ties import DECIMALS

_TAUS = 200  # draws that Kendall's tau is computed on
_PLACES = 12  # numbers of units on the curve


@dataclass(frozen=True, eq=False)
class Resampled:
    """``best`` (J,) the share of resamples in which a model has the highest mean, ties divided; ``ranks`` (J,
    J) the share in which the row has rank 1, 2, ...; ``tau`` the mean agreement of their orders with that
    of all units, and ``tau_low`` what 97.5 % of them exceed.

    ``turning`` is the number of units without which another model leads. ``curve_units`` (N,) are numbers of
    units, and ``curve`` (N,) the mean tau of so many, drawn without replacement.
    """

    best: np.ndarray
    ranks: np.ndarray
    tau: float
    tau_low: float
    turning: int
    curve_units: np.ndarray
    curve: np.ndarray


def resample(merits: np.ndarray, units: Units, resamples: int, seed: int = 0) -> Resampled:
    """Return how stable the order of means is.

    >>> merits = np.array([[0.9, 0.8, 0.9, 0.7], [0.5, 0.9, 0.6, 0.6]])
    >>> said = resample(merits, Units(np.arange(4), 4), 400)
    >>> said.best.round(1), said.turning
    (array([1., 0.]), 0)
    """
    sizes = np.bincount(units.of, minlength=units.count).astype(float)
    sums = units.totals(merits.T)  # (U, J)
    whole = sums.sum(0) / sizes.sum()
    weights = bootstrap_weights(units.count, resamples, seed)
    means = np.round(weights @ sums / (weights @ sizes)[:, None], DECIMALS)
    first = means == means.max(1, keepdims=True)
    best = (first / first.sum(1, keepdims=True)).mean(0) if resamples else np.full(len(whole), np.nan)
    held = lowest_ranks(means)
    shares = np.stack(
        [(held == k + 1).mean(0) if resamples else np.full(len(whole), np.nan) for k in range(len(whole))], 1
    )
    taus = np.asarray(kendall(means[:_TAUS], whole)) if resamples else np.full(1, np.nan)
    without = np.round((sums.sum(0) - sums) / np.maximum(sizes.sum() - sizes, 1)[:, None], DECIMALS)
    leaders = np.round(whole, DECIMALS) == np.round(whole, DECIMALS).max()
    turning = int((without.max(1) > without[:, leaders].max(1)).sum()) if units.count > 1 else 0
    places = np.unique(np.append(places_shown(units.count, _PLACES), units.count))
    return Resampled(
        best,
        shares,
        float(np.nanmean(taus)) if np.isfinite(taus).any() else float("nan"),
        float(np.nanquantile(taus, 0.025, method="lower")) if np.isfinite(taus).any() else float("nan"),
        turning,
        places,
        _curve(sums, sizes, whole, places, seed),
    )


def _curve(
    sums: np.ndarray, sizes: np.ndarray, whole: np.ndarray, places: np.ndarray, seed: int
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    draws = min(_TAUS, 50)
    taus = np.full((draws, len(places)), np.nan)
    for k in range(draws):
        order = rng.permutation(len(sizes))
        running = sums[order].cumsum(0) / sizes[order].cumsum()[:, None]
        taus[k] = kendall(running[places - 1], whole)
    known = np.isfinite(taus)
    return np.divide(
        np.where(known, taus, 0).sum(0), known.sum(0), out=np.full(len(places), np.nan), where=known.any(0)
    )
