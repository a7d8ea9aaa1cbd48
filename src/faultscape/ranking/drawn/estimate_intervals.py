"""Intervals of estimates from drawn labels: for losses between 0 and 1, for differences between models, for
margins.

Conventions: ``found`` is what ``estimates`` returns. All are Student's t intervals with its degrees of
freedom, NaN after a single draw, and of zero width if all of the pool is labelled. What few labels cannot
have shown is not assumed to be absent: a model without an observed error may err, two models that no label
distinguishes may differ.
Source: as ``intervals``; Zou and Donner 2008 (combination of parts); differences that no label shows are
ours.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.intervals.units import LEVEL
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.intervals import share_intervals


def loss_intervals(found: Estimates, level: float = LEVEL) -> np.ndarray:
    """Return (J, 2) intervals of losses between 0 and 1, within what the labels leave possible and around the
    losses.

    For right-or-wrong losses above 1/2 they also cover the mirrored interval of 1 - loss: few right answers
    are as few cases as few errors.

    For ``combined`` parts, the distance of each bound is the root of the summed squares of the parts'
    distances: a part with few labels and no error keeps its upper bound, which a sum of variances would lose
    (Zou and Donner 2008).

    >>> from faultscape.ranking.drawn.estimates import lure, uniform_steps
    >>> found = lure(np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]), uniform_steps(4, 9), pool=9)
    >>> loss_intervals(found).round(3)
    array([[0.222, 0.778],
           [0.   , 0.556]])
    """
    if found.parts:
        off = np.zeros((2, len(found.loss)))
        for part, share in found.parts:
            off += (share * (loss_intervals(part, level).T - part.loss)) ** 2
        return np.clip(found.loss[:, None] + np.sqrt(off.T) * np.array([-1, 1]), 0, 1)
    bounds = _share_bounds(found, level)
    if found.mirrored is not None:
        other = 1 - _share_bounds(found.mirrored, level)[:, ::-1]
        both = np.stack([np.minimum(bounds[:, 0], other[:, 0]), np.maximum(bounds[:, 1], other[:, 1])], 1)
        bounds = np.where(found.loss[:, None] > 0.5, both, bounds)
    return np.stack([np.minimum(bounds[:, 0], found.loss), np.maximum(bounds[:, 1], found.loss)], 1)


def _share_bounds(found: Estimates, level: float) -> np.ndarray:
    low, high = np.array([0.0, 1.0]) if found.possible is None else found.possible.T
    loss = np.clip(found.loss, low, high)
    bounds = share_intervals(
        loss, np.diagonal(found.covariance), found.unit, _factor(found, level), shift=found.shift
    )
    return np.stack([np.clip(bound, low, high) for bound in bounds.T], 1)


def difference_intervals(found: Estimates, level: float = LEVEL) -> np.ndarray:
    """Return (J, J, 2) Student's t intervals of the loss of the row model minus that of the column model; NaN
    after a single draw.

    Two models that no label distinguishes may still differ: ``unseen`` says by how much.

    >>> found = Estimates(np.array([0.5, 0.3]), np.array([[0.04, 0.03], [0.03, 0.04]]), 60)
    >>> difference_intervals(found)[0, 1].round(3)
    array([-0.083,  0.483])
    """
    gap = found.loss[:, None] - found.loss
    covariance = found.covariance + found.unseen
    alone = np.diagonal(covariance)
    variance = np.maximum(alone[:, None] + alone - covariance - covariance.T, 0)
    return gap[..., None] + (_factor(found, level) * np.sqrt(variance))[..., None] * np.array([-1, 1])


def margin_intervals(found: Estimates, level: float = LEVEL) -> np.ndarray:
    """Return (J, 2) Student's t intervals of ``margins``, which are means of differences; NaN after a single
    draw.

    >>> from faultscape.ranking.drawn.estimates import margins, prediction_powered, uniform_steps
    >>> found = prediction_powered(
    ...     margins(np.zeros((2, 9))), uniform_steps(9, 90), np.zeros((2, 90)), np.arange(9)
    ... )
    >>> margin_intervals(found).round(2)  # nine labels, alike on each
    array([[-0.22,  0.22],
           [-0.22,  0.22]])
    """
    half = _factor(found, level) * np.sqrt(np.diagonal(found.covariance + found.unseen))
    return found.loss[:, None] + np.outer(half, [-1, 1])


def _factor(found: Estimates, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(found.freedom, (1 + level) / 2)) if found.freedom else np.nan
