"""Doubt of every pixel from the probabilities or logits of its classes.

Conventions: probabilities or logits are (C, H, W), or have the classes on any ``axis``; the result has the
other axes, float32 (float64 for float64), and is large where the model doubts. In float32 a probability close
to 1 has 24 bits, which leaves few values for 1 - p: a third to nine tenths of the pixels of a confident
network tie at 0. Doubt is therefore summed from the small probabilities, never derived from the large one, so
that pixels tie only where their probabilities are equal. To store doubt in two bytes a pixel, take the logit,
whose float16 steps are even in relative doubt (`logit16`).

``probabilities`` are (C, H, W) and sum to 1 over the classes; ``logits`` are (C, H, W), before the softmax;
``temperature`` divides the logits; ``probability`` is an array of any shape, between 0 and 1.

Source: Blum et al. 2021, eq. 1 (entropy) and its softmax baseline; Buchanan et al. 2022 (maximum softmax
probability); Liu et al. 2020 (energy); Hendrycks et al. 2022 (max logit).
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import MetricError
from faultscape.maps import checked_arrays
from faultscape.metrics.scores.inputs import check_unmasked

# replaces the logit of exactly 0 and 1: beyond the logit of any other float64, and exact in float16
LOGIT_END = 2048.0
_SLACK = 1e-2  # probabilities stored as float16 or resized may exceed 1 by this much


def max_probability(probabilities: np.ndarray, *, axis: int = 0) -> np.ndarray:
    """Return one minus the winner's probability, computed as the sum of all other probabilities; MetricError
    for values that are not probabilities.

    >>> max_probability(np.array([[[0.7]], [[0.2]], [[0.1]]])).round(3)
    array([[0.3]])
    """
    return _winner_second_others(probabilities, axis)[2]


def surprise(probabilities: np.ndarray, *, axis: int = 0) -> np.ndarray:
    """Return -log p of the winner, computed as log(1 + others / winner), which distinguishes values that 1 -
    p in float32 cannot.

    >>> surprise(np.array([0.5, 0.25, 0.25])).round(4) == np.log(2).round(4)
    np.True_
    """
    winner, _, others = _winner_second_others(probabilities, axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log1p(others / winner)


def margin(probabilities: np.ndarray, *, axis: int = 0) -> np.ndarray:
    """Return 1 - (winner - second), computed as the sum of the others plus the second; 0 = certain, 1 = two
    winners.

    >>> margin(np.array([0.7, 0.2, 0.1])).round(3)
    np.float64(0.5)
    """
    _, second, others = _winner_second_others(probabilities, axis)
    return others + second


def entropy(probabilities: np.ndarray, *, axis: int = 0, normalised: bool = False) -> np.ndarray:
    """Return -sum p log p in nats, (H, W) of (C, H, W), Blum et al. 2021, eq. 1, with 0 log 0 = 0;
    ``normalised`` divides by log C, so that 1 is the maximum.

    For samples (T, C, H, W), take the mean over T first. MetricError for values that are not probabilities.

    >>> entropy(np.array([0.5, 0.5])).round(4), entropy(np.array([0.5, 0.5]), normalised=True).round(4)
    (np.float64(0.6931), np.float64(1.0))
    """
    classes = _classes_first(probabilities, axis)
    winner, _, others = _winner_second_others(probabilities, axis)
    total = winner * np.log1p(others / np.where(winner > 0, winner, 1))
    top = classes[0]
    for p in classes[1:]:  # S4 eq. 1 over all but the winner, whose -log p is computed as in surprise
        loser = np.minimum(top, p)
        top = np.maximum(top, p)
        total = total - loser * np.log(np.where(loser > 0, loser, 1))
    return total / total.dtype.type(np.log(len(classes))) if normalised and len(classes) > 1 else total


def max_logit(logits: np.ndarray, *, axis: int = 0) -> np.ndarray:
    """Return minus the largest logit.

    >>> max_logit(np.array([[3.0, -1.0], [2.0, 0.5]]))
    array([-3. , -0.5])
    """
    return _plain(-_classes_first(logits, axis).max(0))


def energy(logits: np.ndarray, *, axis: int = 0, temperature: float = 1.0) -> np.ndarray:
    """Return the free energy -T log sum exp(logit / T).

    >>> energy(np.array([0.0, 0.0])).round(4)
    np.float64(-0.6931)
    """
    scaled = _classes_first(logits, axis) / np.float32(temperature)
    top = scaled.max(0)
    return _plain(-np.float32(temperature) * (top + np.log(np.exp(scaled - top).sum(0))))


def logit16(probability: np.ndarray) -> np.ndarray:
    """Return log(p / (1 - p)) as float16 for storage. The order is kept, with ties only within one float16
    step; 0 and 1 become -2048 and 2048.

    Pass the doubt, not the confidence: a small doubt keeps its digits, a confidence close to 1 has lost them.

    >>> logit16(np.array([0.0, 0.5, 0.9])).tolist()
    [-2048.0, 0.0, 2.197265625]
    """
    check_unmasked(probability=probability)
    values = checked_arrays.numbers(probability, "probability", MetricError)
    values = values.astype(np.float32) if values.dtype == np.float16 else values
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        raise MetricError(
            f"logit16 was given values from {values.min()} to {values.max()}; expected probabilities 0 to 1"
        )
    with np.errstate(divide="ignore"):
        logit = np.log(values / (1 - values))
    return np.clip(logit, -LOGIT_END, LOGIT_END).astype(np.float16)


def _classes_first(values: np.ndarray, axis: int) -> np.ndarray:
    """Return the values with the classes on the first axis, float32 or float64."""
    if isinstance(values, np.ma.MaskedArray):
        raise MetricError(
            "a masked array was given, whose mask most libraries silently drop; give a plain array"
        )
    values = np.asarray(values)
    if values.ndim == 0 or not values.shape[axis]:
        raise MetricError(
            f"an array of shape {values.shape} was given; expected classes on axis {axis}, such as C x H x W"
        )
    return np.moveaxis(
        values if values.dtype == np.float64 else values.astype(np.float32, copy=False), axis, 0
    )


def _check(classes: np.ndarray) -> None:
    """Raise MetricError unless all values can be probabilities; NaN spreads through min and max."""
    if classes.size and not (classes.min() >= 0 and classes.max() <= 1 + _SLACK):
        raise MetricError(
            f"values from {classes.min()} to {classes.max()} were given as probabilities; expected 0 to 1"
            " (for logits: max_logit, energy)"
        )


def _winner_second_others(probabilities: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the largest probability, the second, and the sum of all but the largest."""
    classes = _classes_first(probabilities, axis)
    _check(classes)
    winner = np.array(classes[0])
    second = np.zeros_like(winner)
    others = np.zeros_like(winner)
    for p in classes[1:]:
        loser = np.minimum(winner, p)
        others += loser
        second = np.maximum(second, loser)
        winner = np.maximum(winner, p)
    return _plain(winner), _plain(second), _plain(others)


def _plain(values: np.ndarray) -> np.ndarray:
    """Return a NumPy scalar for an array without axes."""
    return values[()] if values.ndim == 0 else values
