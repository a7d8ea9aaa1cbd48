"""Estimates from drawn labels for data to come: the pool itself is a sample of images, or of whole groups of
images.

Conventions: as in ``estimates``; ``group`` (N,) numbers the group of each image of the pool (one drive,
patient, city), ``drawn`` (M,) are the places of the draws in the pool. Scores do not change; their covariance
grows by the variance of the pool's own means: the covariance of single losses over N, and, where images form
groups, what the deviations within a group have in common.
Source: Hartley and Sielken 1975 (a finite population as a sample of a larger one); clusters: Liang and Zeger
1986, Cameron and Miller 2015 (G - 1 degrees of freedom); for LURE ours.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultscape.metrics.intervals.units import LEAST
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimates import Estimates


def to_come(
    found: Estimates,
    losses: np.ndarray,
    probability: np.ndarray,
    group: np.ndarray,
    drawn: np.ndarray,
    *,
    proxy: np.ndarray | None = None,
    span: tuple[float, float] = (0.0, 1.0),
    widen: float = 1.0,
    more: np.ndarray | None = None,
) -> Estimates:
    """Return the estimates ``found`` of losses (J, M), with the control variate ``proxy`` (J, N) if there was
    one, as estimates for data to come.

    With labels in fewer than six groups, the variance between groups is unknown: the covariance is NaN.
    Without groups, ``widen`` is the factor by which neighboring images that are alike widen intervals of the
    pool's own means (`metrics.intervals.neighbours.too_narrow`): the N images are then worth N / widen^2.
    ``more`` (J, N) is how far choices on each image move the estimates (`choice_control.influence`).

    >>> losses = np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    >>> steps = estimates.uniform_steps(4, 4)
    >>> found = to_come(estimates.lure(losses, steps, 4), losses, steps, np.arange(4), np.arange(4))
    >>> np.diagonal(found.covariance).round(6)  # all labels of the pool: s^2 / N is left, not 0
    array([0.0625  , 0.083333])
    """
    losses = np.asarray(losses, dtype=float)
    drawn = np.asarray(drawn, dtype=np.intp)
    pool = len(group)
    number = len(drawn)
    weights = estimates.lure_weights(probability, pool)
    off = losses - (weights * losses).sum(1, keepdims=True) / weights.sum()
    alone = (weights * off) @ off.T / weights.sum() * number / (number - 1) / pool
    covariance = found.covariance + alone * widen**2
    freedom = found.freedom
    if widen > 1:
        worth = int(pool / widen**2)
        freedom = min(freedom, worth - 1)
        if worth < LEAST:
            covariance = np.full_like(covariance, np.nan)
            freedom = 0
    unit = float((weights**2).mean() / number)
    _, code = np.unique(group, return_inverse=True)
    if code.max() + 1 < pool:
        labelled = len(np.unique(code[drawn]))
        if labelled < LEAST:
            covariance = np.full_like(covariance, np.nan)
            freedom = 0
        else:
            each = np.zeros((len(losses), pool)) if more is None else more.copy()  # moves by each image
            if proxy is not None:
                controlled = np.dot(found.control, proxy)
                each += (controlled - controlled.mean(1, keepdims=True)) / pool
                off = losses - controlled[:, drawn]
                off = off - (weights * off).sum(1, keepdims=True) / weights.sum()
            each[:, drawn] += weights * off / number
            together = np.array([np.bincount(code, row) for row in each])
            common = together @ together.T * labelled / (labelled - 1) - each @ each.T * number / (number - 1)
            # as if each group were one label
            most = float((np.bincount(code[drawn], weights) ** 2).sum() / weights.sum() ** 2)
            before = np.trace(covariance)
            # what groups have in common may be estimated as less than nothing; the luck of the pool is not
            covariance = found.covariance + _positive(alone + common)
            unit = min(max(unit * np.trace(covariance) / before, unit), most) if before > 0 else most
            freedom = min(freedom, labelled - 1)
    other = None
    if found.mirrored is not None:
        said = None if proxy is None else 1 - proxy
        other = to_come(
            found.mirrored, 1 - losses, probability, group, drawn, proxy=said, span=span, widen=widen
        )
    return replace(
        found,
        mirrored=other,
        covariance=covariance,
        freedom=freedom,
        unit=unit,
        unseen=estimates.unseen(weights * losses, unit),
        possible=np.tile(span, (len(losses), 1)),
    )


def _positive(matrix: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix (J, J) if it is a covariance, else the nearest ones of what all models share
    and of their differences: an error about the level, which is large, must not widen the differences.
    """
    sizes, vectors = np.linalg.eigh(matrix)
    if sizes[0] >= 0:
        return matrix
    level = np.full_like(matrix, 1 / len(matrix))
    apart = np.eye(len(matrix)) - level
    sizes, vectors = np.linalg.eigh(apart @ matrix @ apart)
    return (vectors * np.maximum(sizes, 0)) @ vectors.T + max(matrix.mean(), 0.0)
