"""Weights that join the scores of several layers: a logistic regression on pixels that are known to be
anomalous or not.

Conventions: scores are (n, L) and anomalous (n,) bool. The regression has an intercept, which does not affect
the order and is not returned, and a small penalty on the weights of standardised scores, so that weights stay
finite when scores separate the pixels perfectly.
Source: Blum et al. 2021, section 4.2 (as Lee et al. 2018).
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import MetricError

_ROUNDS = 50
_PENALTY = 1e-4


def logistic_weights(scores: np.ndarray, anomalous: np.ndarray) -> np.ndarray:
    """Return the weights (L,) of scores (n, L) that best predict which pixels are anomalous (n,). MetricError
    if all or none are.

    >>> scores = np.array(
    ...     [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [2.0, 1.0], [3.0, 0.0], [3.0, 1.0]]
    ... )
    >>> weights = logistic_weights(scores, scores[:, 0] > 1.5)  # only the first tells them apart
    >>> bool(weights[0] > 1000 * abs(weights[1]))
    True
    """
    if anomalous.all() or not anomalous.any():
        raise MetricError("a logistic regression needs anomalous pixels and others")
    centre = scores.mean(0)
    spread = np.maximum(scores.std(0), 1e-12)
    rows = np.column_stack([(scores - centre) / spread, np.ones(len(scores))])
    penalty = np.diag([_PENALTY] * scores.shape[1] + [0.0]) * len(scores)
    weights = np.zeros(rows.shape[1])
    for _ in range(_ROUNDS):
        shares = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        gradient = rows.T @ (shares - anomalous) + penalty @ weights
        bend = (rows * np.maximum(shares * (1 - shares), 1e-9)[:, None]).T @ rows + penalty
        step = np.linalg.solve(bend, gradient)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return weights[:-1] / spread
