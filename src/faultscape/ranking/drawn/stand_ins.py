"""How far scores shift because drawn groups of near-duplicates are labelled on another image than the first.

Conventions: a group has one place in the pool, and in every estimate the expected losses of its first image,
whichever image is labelled: a control variate must be a fixed number for each place. The image that a
selection of duels chose is the one on which models differ most, so it is harder for some of them. The labels
cannot show how far scores shift, since only one image has one; the expected losses (J, M) of both can, as far
as they are right. Losses are small = good, shifts are those of scores: large = good.
Source: ours; measured in docs/benchmarks/near-duplicates.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimate_intervals import margin_intervals
from faultscape.ties import equal_to_zero

TOLD = 0.1  # share of an interval's width above which a shift is reported
STANDS_IN = "instead of the first of its near-duplicates"  # the words by which that note is known


@dataclass(frozen=True, eq=False)
class Shifts:
    """How far the scores (J,) of an estimate shift, and the widths (J,) of their intervals, NaN where
    unknown; ``of`` names the scores in a text.
    """

    scores: np.ndarray
    widths: np.ndarray
    of: str


def score_shifts(own: np.ndarray, first: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (J,) how far scores shift, from the expected losses (J, M) of the images labelled and of the
    first image of the group of each, and the ``weights`` (M,) of the draws.

    >>> score_shifts(np.array([[0.5, 0.2]]), np.array([[0.3, 0.2]]), np.array([0.5, 0.5]))
    array([-0.1])
    """
    return equal_to_zero((np.asarray(first) - np.asarray(own)) @ np.asarray(weights))


def shifts_to_expect(own: np.ndarray, first: np.ndarray, probability: np.ndarray, pool: int) -> Shifts:
    """Return how far margins will shift if labels are as the models predict, before there are any: from the
    expected losses (J, M) of the images drawn and of the ``first`` image of the group of each.
    """
    weights = estimates.lure_weights(probability, pool) / len(probability)
    said = estimates.margins(first)
    bounds = margin_intervals(estimates.lure(said, probability, pool, (-1.0, 1.0)))
    shifts = score_shifts(estimates.margins(own), said, weights)
    return Shifts(shifts, bounds[:, 1] - bounds[:, 0], "margin")


def shift_note(models: Sequence[str], found: Sequence[Shifts], moved: int, drawn: int) -> str:
    """Return a note on the first of several estimates of which a score shifts by more than a tenth of its
    interval's width; '' if none does. ``moved`` of the draws, ``drawn`` in all, have another image than the
    first of their group.

    >>> few = Shifts(np.array([0.001, -0.02]), np.array([0.1, 0.1]), "margin")
    >>> print(shift_note(["unet", "fcn"], [few], 3, 20))
    3 of 20 draws use an image that was already labelled or requested, instead of the first of its
    near-duplicates; by the models' predictions, this shifts fcn's margin by -0.02, more than a tenth of its
    interval's width
    >>> shift_note(["unet", "fcn"], [Shifts(few.scores / 10, few.widths, "margin")], 3, 20)
    ''
    """
    for one in found:
        # there is nothing to compare with where no interval is known, or the whole pool is labelled
        over = np.where(one.widths > 0, np.abs(one.scores) - TOLD * one.widths, 0.0)
        if (over > 0).any():
            worst = int(over.argmax())
            return (
                f"{moved:,} of {drawn:,} draws use an image that was already labelled or requested,"
                f" {STANDS_IN}; by the models' predictions, this shifts {models[worst]}'s {one.of} by"
                f" {one.scores[worst]:+.2g}, more than a tenth of its interval's width"
            )
    return ""
