"""The temperature that calibrates a classifier's probabilities, from images whose label is known.

Conventions: probabilities p become p^(1 / T), normalised to sum to 1; T is above 1 for an overconfident
model. What the named classes leave of 1 is spread evenly over the others.
Source: Guo et al. 2017, temperature scaling; the prior is ours.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from faultscape.errors import MetricError
from faultscape.maps import checked_arrays

FEWEST = 20  # minimum number of labelled images for a fit
_LEAST = 1e-7  # smaller probabilities were rounded to 0
_MOST = 3.0  # |log T|


def fit_temperature(
    labels: np.ndarray, probabilities: np.ndarray, truths: Sequence[Collection[int] | None], classes: int
) -> float | None:
    """Return the temperature T under which a model's probabilities fit the truths best, to 6 decimals; None
    for fewer than 20 images.

    ``labels`` and ``probabilities`` (I, K) are the K likeliest classes of each image, -1 and NaN for fewer;
    ``truths`` are the right classes of each, empty or None if unknown. T maximises the likelihood with a
    normal prior on log T of mean 0 and standard deviation 1, so that a few correct labels do not make a model
    certain of everything.

    >>> said = np.tile([0.9, 0.1], (40, 1))  # nine in ten, and right in six of ten
    >>> fit_temperature(np.tile([0, 1], (40, 1)), said, [{0}] * 24 + [{1}] * 16, 2) > 3
    True
    """
    from scipy.optimize import minimize_scalar

    labels = checked_arrays.numbers(labels, "labels", MetricError, "I x K")
    shares = checked_arrays.numbers(probabilities, "probabilities", MetricError, "I x K").astype(
        float, copy=False
    )
    checked_arrays.same_shape(MetricError, labels=labels, probabilities=shares)
    if len(labels) != len(truths):
        raise MetricError(f"there are labels of {len(labels)} images and truths of {len(truths)}")
    there = (labels >= 0) & ~np.isnan(shares)
    kept = [k for k, right in enumerate(truths) if right and there[k].any()]
    if len(kept) < FEWEST:
        return None
    labels = labels[kept]
    shares = shares[kept]
    there = there[kept]
    right = [frozenset(truths[k] or ()) for k in kept]
    named = there.sum(1)
    others = classes - named
    rest = (1 - np.where(there, shares, 0).sum(1)) / np.maximum(others, 1)
    logs = np.log(np.maximum(np.where(there, shares, 1.0), _LEAST))
    logs = np.where(there, logs, -np.inf)
    rest = np.log(np.maximum(rest, _LEAST))
    hit = (
        np.array([[label in own for label in row] for row, own in zip(labels.tolist(), right, strict=True)])
        & there
    )
    unnamed = np.array([len(own) for own in right]) - hit.sum(1)  # right classes that the model does not name

    def loss(log_t: float) -> float:
        sharp = math.exp(-log_t)
        weight = np.exp(sharp * logs)
        even = np.exp(sharp * rest)
        mine = np.where(hit, weight, 0).sum(1) + unnamed * even
        # summed exactly, so that the order of the images does not matter
        return math.fsum((np.log(weight.sum(1) + others * even) - np.log(mine)).tolist()) + log_t**2 / 2

    found = minimize_scalar(loss, bounds=(-_MOST, _MOST), method="bounded", options={"xatol": 1e-9})
    return round(math.exp(float(found.x)), 6)
