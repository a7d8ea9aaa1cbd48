"""How many masks people's choices between two models save, and the cheapest mix of both.

Conventions: of N images in the pool, K have masks and M, with them, choices. Choices explain a share of the
variance of differences that masks and predictions leave (``explained``, R^2). What the estimate of
`drawn.choice_control` then takes off is this share, less what it loses by knowing only M images, and by
believing few masks.
Source: Cochran 1977, chapter 12 (double sampling); docs/benchmarks/plan.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.ranking.drawn.choice_steps import LEAST_MASKS
from faultscape.ranking.drawn.estimates import TRUST

# by choices of people who err in one of ten, before it is measured; docs/benchmarks/plan.md
_FEW, OF_FEW, OF_MANY = 4, 0.2, 0.1


@dataclass(frozen=True)
class Mix:
    """So many masks, and images with choices, those with masks among them."""

    masks: int
    images: int


def assumed(models: int) -> float:
    """Return which share choices between so many models, asked about neighbors, are taken to explain.

    >>> assumed(2), assumed(10)
    (0.2, 0.1)
    """
    return OF_FEW if models <= _FEW else OF_MANY


def cheapest_mix(
    needed: int, pool: int, explained: float, seconds: float, seconds_chosen: float
) -> Mix | None:
    """Return the cheapest mix that tells models apart as well as so many masks alone (``needed``), if a mask
    takes so many ``seconds`` and the choices on an image ``seconds_chosen``; None where masks alone cost no
    more.

    >>> cheapest_mix(74, 500, 0.3, 5400, 20), cheapest_mix(74, 500, 0.3, 1500, 450)
    (Mix(masks=56, images=433), None)
    """
    masks = np.arange(LEAST_MASKS, min(needed, pool))
    if not len(masks):
        return None
    each = 1 / masks - 1 / pool
    left = (1 / needed - 1 / pool) / (each * _fewer_degrees(masks))
    # the share of the variance at the masks that is known of images with choices alone
    known = (1 - left) / (explained * _belief(masks)) if explained > 0 else np.full(len(masks), np.inf)
    enough = known <= 1
    inverse = (1 - np.minimum(known, 1)) * each + 1 / pool
    images = np.ceil(np.round(1 / inverse, 9)).astype(int)
    cost = np.where(enough, masks * seconds + images * seconds_chosen, np.inf)
    best = int(np.argmin(cost))
    return Mix(int(masks[best]), int(images[best])) if cost[best] < needed * seconds else None


def explained_by(gain: float, masks: int, images: int, pool: int) -> float:
    """Return which share of the variance choices explain, from 0 to 1, if with them so many masks were worth
    ``gain`` times as many.

    >>> round(explained_by(1.4, 40, 200, 1000), 2)
    0.4
    """
    each = 1 / masks - 1 / pool
    left = (1 / (masks * gain) - 1 / pool) / (each * float(_fewer_degrees(np.array([masks]))[0]))
    known = 1 - (1 / images - 1 / pool) / each
    return float(np.clip((1 - left) / (known * float(_belief(np.array([masks]))[0])), 0, 1))


def _belief(masks: np.ndarray) -> np.ndarray:
    """Return what a coefficient that believes few masks little leaves of the variance that it could take."""
    share = masks / (masks + TRUST)
    return share * (2 - share)


def _fewer_degrees(masks: np.ndarray) -> np.ndarray:
    """Return what one coefficient more widens variances by."""
    return (masks - 2) / (masks - 3)
