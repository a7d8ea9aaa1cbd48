"""How closely two maps agree, for all pairs and images at once, from counts alone (Yan et al. 2021, eq. 1,
7-10).

Conventions: larger is more alike; NaN where a map is missing or the metric is undefined. Metrics that are not
symmetric take the defender's map as reference; against a truth, the truth is the reference.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultscape import plug
from faultscape.choices import Over
from faultscape.errors import OptionError, RankingError
from faultscape.metrics.catalogue import CONCORDANCES
from faultscape.nouns import Pairs


def concordances(pairs: Pairs, name: str = "miou", *, over: Over = "union") -> np.ndarray:
    """Return (J, J, I) concordances, [defender, attacker, image]; NaN on the diagonal."""
    metric = _metric(name)
    j = len(pairs.models)
    out = np.full((j, j, len(pairs.images)), np.nan)
    chosen = np.flatnonzero(pairs.pairs[:, 0] < j)
    for p in chosen:
        first, second = pairs.pairs[p]
        both = pairs.both[p]
        rows = pairs.rows[p]
        columns = pairs.columns[p]
        out[first, second] = np.where(pairs.present[p], metric(both, rows, columns, over=over), np.nan)
        out[second, first] = np.where(pairs.present[p], metric(both, columns, rows, over=over), np.nan)
    return out


def accuracies(
    pairs: Pairs, name: str = "miou", *, over: Over = "union", truth: str | None = None
) -> np.ndarray:
    """Return (J, I) concordances of each model with a truth (the only one, by default); RankingError if it
    does not exist.
    """
    metric = _metric(name)
    if truth is None and len(pairs.truths) != 1:
        raise RankingError(
            f"these pairs hold {len(pairs.truths)} truths ({', '.join(pairs.truths)}); say which"
        )
    if truth is not None and truth not in pairs.truths:
        raise RankingError(
            f"there is no truth {truth!r} in these pairs; there are {', '.join(pairs.truths) or 'none'}"
        )
    place = len(pairs.models) + (pairs.truths.index(truth) if truth else 0)
    out = np.full((len(pairs.models), len(pairs.images)), np.nan)
    for p in np.flatnonzero(pairs.pairs[:, 0] == place):
        value = metric(pairs.both[p], pairs.rows[p], pairs.columns[p], over=over)
        out[pairs.pairs[p, 1]] = np.where(pairs.present[p], value, np.nan)
    return out


def _metric(name: str) -> Callable[..., np.ndarray]:
    """Return a metric by name; the user's own is checked for numbers of the right shape, and its errors are
    reported as such.
    """
    function = plug.find("concordance", name, CONCORDANCES)
    if name in CONCORDANCES:
        return function

    def checked(both: np.ndarray, rows: np.ndarray, columns: np.ndarray, *, over: Over) -> np.ndarray:
        shapes = f"both {both.shape}, reference and prediction {rows.shape}, the last column of these void"
        with plug.plain_errors(f"concordance {name}", OptionError, f"; it was given counts: {shapes}"):
            values = np.asarray(function(*map(plug.read_only, (both, rows, columns)), over=over), dtype=float)
        if values.shape != both.shape[:-1]:
            raise OptionError(
                f"concordance {name}: gave numbers of shape {values.shape}; expected {both.shape[:-1]}, one"
                " an image"
            )
        return np.where(np.isfinite(values), values, np.nan)

    return checked


def shares(pairs: Pairs) -> np.ndarray:
    """Return (J, I, C) shares of pixels that each model gives each class; void counts in the denominator; 0
    if a map is missing.
    """
    totals = pairs.totals.sum(-1, keepdims=True)
    return pairs.totals[..., :-1] / np.maximum(totals, 1)
