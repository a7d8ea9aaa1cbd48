"""How far the leading model is ahead of each other one, and each model of the next in order.

Conventions: ``loss`` small = good, so that a difference of scores is one of losses with its sign turned.
Intervals hold for all J (J - 1) / 2 pairs at once: each is Student's t at the level 1 - .05 / P for P pairs,
which is the first step of Holm's procedure seen from the other side. Later steps are less strict, so a pair
may be settled although this interval reaches beyond 0: it then ends there.
Source: Bonferroni; Holm 1979; as `simultaneous_ranks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from faultscape.metrics.intervals.units import LEVEL
from faultscape.ranking.drawn.estimate_intervals import difference_intervals
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.standings import Gap


def gaps(
    models: Sequence[str], order: Sequence[str], scores: np.ndarray, found: Estimates, beats: np.ndarray
) -> list[Gap]:
    """Return the gaps between the first of the ``order`` and each other model, then between other neighbors.

    ``scores`` (J,) are those that are shown, ``found`` the estimate behind their intervals, and ``beats``
    (J, J) says whether the row is better than the column for all pairs at once.

    >>> found = Estimates(np.array([0.5, 0.3]), np.array([[0.04, 0.03], [0.03, 0.04]]), 60)
    >>> gap = gaps(["a", "b"], ["b", "a"], np.array([0.5, 0.7]), found, np.zeros((2, 2), bool))[0]
    >>> gap.model, round(gap.difference, 3), [round(end, 3) for end in gap.interval], gap.settled
    ('b', 0.2, [-0.083, 0.483], False)
    """
    # of losses, the other's minus the model's
    bounds = difference_intervals(found, level_of_all(len(models))).swapaxes(0, 1)
    return gaps_within(models, order, scores, bounds, beats)


def level_of_all(models: int) -> float:
    """Return the level of the interval of each difference with which those of all pairs hold at once.

    >>> round(level_of_all(4), 4)
    0.9917
    """
    return 1 - (1 - LEVEL) / max(models * (models - 1) / 2, 1)


def gaps_within(
    models: Sequence[str], order: Sequence[str], scores: np.ndarray, bounds: np.ndarray, beats: np.ndarray
) -> list[Gap]:
    """Return the gaps as `gaps` does, from intervals ``bounds`` (J, J, 2) of the score of the row model minus
    that of the column model.
    """
    place = {model: k for k, model in enumerate(models)}
    wanted = [(order[0], other) for other in order[1:]] + list(pairwise(order[1:]))
    out = []
    for model, other in wanted:
        a = place[model]
        b = place[other]
        difference = float(scores[a] - scores[b])
        low, high = bounds[a, b].tolist()
        settled = bool(beats[a, b])
        low = min(max(low, 0.0) if settled else min(low, 0.0), difference)
        high = max(high, difference)
        out.append(Gap(model, other, difference, [low, high], settled))
    return out
