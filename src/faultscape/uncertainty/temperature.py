"""Temperature scaling: logits are divided by one number, or one per class, so that a network's probabilities
match how often it is right.

Conventions: logits are (n, C) of n labelled pixels, or (n, T, C) of members, whose probabilities are
averaged; labels (n,) are places of classes, and void pixels are not among them. The temperature minimises the
negative log-likelihood. A single number does not change labels of a network without members; one per class
may.
Source: Guo et al. 2017 (temperature scaling; one number per class is their vector scaling without
its bias).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import MetricError, library_text

LEAST, MOST = 0.02, 50.0  # bounds of the search
# logits exponentiated at once, so that memory stays that of the logits themselves
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Temperature:
    """A temperature, or one per class, and the negative log-likelihood per pixel ``before`` and ``after`` it,
    over ``pixels`` pixels.
    """

    values: tuple[float, ...]
    before: float
    after: float
    pixels: int


def fit_temperature(logits: np.ndarray, labels: np.ndarray, *, per_class: bool = False) -> Temperature:
    """Return the temperature that minimises the negative log-likelihood of logits (n, C) or (n, T, C) and
    labels (n,).

    A class without pixels keeps the temperature of all classes. Errors: MetricError if there are no pixels,
    or logits are not finite.

    >>> logits = np.array([[4.0, 0.0]] * 4)
    >>> found = fit_temperature(logits, np.array([0, 0, 0, 1]))
    >>> round(4 / found.values[0], 3) == round(float(np.log(3)), 3)  # three of four are right
    True
    """
    from scipy.optimize import minimize, minimize_scalar

    try:
        held = np.asarray(logits)
        labels = np.asarray(labels)
    except (RuntimeError, TypeError, ValueError) as error:  # a tensor on a GPU, or one that is being learnt
        raise MetricError(f"logits and labels must become arrays: {library_text(error)}") from None
    held = held[:, None] if held.ndim == 2 else held
    if why := _unfit(held, labels):
        raise MetricError(why)
    ends = (np.log(LEAST), np.log(MOST))
    found = minimize_scalar(
        lambda log: surprise(held, labels, np.exp(log)),
        bounds=ends,
        method="bounded",
        options={"xatol": 1e-6},
    )
    one = float(np.exp(found.x))
    values: tuple[float, ...] = (one,)
    if per_class:
        start = np.full(held.shape[-1], np.log(one))
        there = np.unique(labels)

        def target(logs: np.ndarray) -> float:
            whole = start.copy()
            whole[there] = logs
            return surprise(held, labels, np.exp(whole))

        fitted = minimize(target, start[there], method="L-BFGS-B", bounds=[ends] * len(there))
        start[there] = fitted.x
        values = tuple(float(value) for value in np.exp(start))
    return Temperature(
        values, surprise(held, labels, 1.0), surprise(held, labels, np.array(values)), len(labels)
    )


def _unfit(logits: np.ndarray, labels: np.ndarray) -> str:
    """Return why no temperature can be fitted, or ''."""
    if logits.ndim != 3 or labels.shape != logits.shape[:1]:
        return (
            f"logits are (n, C) or (n, T, C) and labels (n,), one row per pixel; got {logits.shape} and"
            f" {labels.shape}"
        )
    if not len(labels):
        return "no labelled pixels to fit a temperature to"
    if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0 or labels.max() >= logits.shape[-1]:
        return (
            f"labels are whole numbers from 0 to {logits.shape[-1] - 1}; got {labels.dtype} from"
            f" {labels.min()} to {labels.max()} (leave void pixels out)"
        )
    return "" if np.isfinite(logits).all() else "logits must be finite to fit a temperature"


def surprise(
    logits: np.ndarray, labels: np.ndarray, temperature: float | np.ndarray | Sequence[float]
) -> float:
    """Return the mean negative log-likelihood of labels (n,) under the mean of members' probabilities, from
    logits (n, T, C) divided by a temperature, or one per class.

    >>> round(surprise(np.zeros((1, 1, 4)), np.array([2]), 1.0), 4)
    1.3863
    """
    total = 0.0
    for part, shares in shares_of(logits, temperature):
        own = np.take_along_axis(shares, labels[part, None], axis=1)
        total -= float(np.log(np.maximum(own, 1e-300)).sum())
    return total / len(logits)


def shares_of(
    logits: np.ndarray, temperature: float | np.ndarray | Sequence[float]
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (slice of pixels, the mean of their members' probabilities (m, C)) from logits (n, T, C) divided
    by a temperature, a block of pixels at a time.
    """
    rows = max(1, _AT_ONCE // max(1, logits[0].size))
    for first in range(0, len(logits), rows):
        part = slice(first, first + rows)
        scaled = logits[part].astype(np.float64) / np.asarray(temperature)
        scaled = np.exp(scaled - scaled.max(-1, keepdims=True))
        yield part, (scaled / scaled.sum(-1, keepdims=True)).mean(1)
