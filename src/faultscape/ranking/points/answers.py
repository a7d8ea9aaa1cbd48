"""What was answered at the points drawn, and with which probability each was drawn.

Conventions: draws are independent, with replacement. A point is a draw of one pixel: ``place`` (M,) is its
tuple and ``probability`` (M,) that of this very pixel at one draw, in its own round and over the pool of
its round: later rounds may draw otherwise. Points drawn together, because they share an image that a person
looks at once, share a ``look`` and are one draw: ``probability`` is then that of the image times that of
the pixel in it, and their mean is what the look says. ``shares`` (M, C + 1) are the true classes, the last
being void: one 1 where the answer is sure, two halves on a border between two classes, zeros where the
person could not tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from faultscape.errors import OptionError, RankingError
from faultscape.maps import checked_arrays

GONE = -1  # the place of a point that lies in the pool no more: its image got a mask, or was discarded
UNKNOWN = -1  # the class of an answer that is none: cannot tell
Border = Literal["halves", "missing"]
BORDERS = get_args(Border)


@dataclass(frozen=True, eq=False)
class PointAnswers:
    """The points' tuples (M,), probabilities (M,), true classes (M, C + 1) and looks (M,), by default one
    each.

    ``place`` is GONE for a point whose image has left the pool since: it still counts as a draw, which
    found nothing in what is left. Errors: RankingError for other shapes, probabilities outside (0, 1], or
    shares that are negative or sum to neither 1 nor 0.
    """

    place: np.ndarray  # (M,) the tuple of each point
    probability: np.ndarray  # (M,) that of its pixel at one draw
    shares: np.ndarray  # (M, C + 1) its true classes, the last being void
    look: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))  # (M,) equal if drawn together

    def __post_init__(self) -> None:
        place = checked_arrays.whole_numbers(self.place, "place", RankingError, "M").astype(np.int64)
        number = len(place)
        probability = checked_arrays.numbers(self.probability, "probability", RankingError, "M").astype(float)
        shares = checked_arrays.numbers(self.shares, "shares", RankingError, "M x C + 1").astype(float)
        look = np.arange(number)
        if np.size(self.look):
            look = checked_arrays.whole_numbers(self.look, "look", RankingError, "M")
        if not number == len(probability) == len(shares) == len(look):
            raise RankingError(
                f"each of {number} points needs a probability, its true classes and a look; got"
                f" {len(probability)}, {len(shares)} and {len(look)}"
            )
        if not ((probability > 0) & (probability <= 1)).all():
            raise RankingError(
                "probabilities of points must lie above 0, at most 1; got"
                f" {probability.min()} to {probability.max()}"
            )
        total = shares.sum(1)
        if (shares < 0).any() or not (np.isclose(total, 1) | (total == 0)).all():
            raise RankingError(
                "shares of true classes must not be negative, and sum to 1 for each point, or to 0"
            )
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "probability", probability)
        object.__setattr__(self, "shares", shares)
        object.__setattr__(self, "look", np.unique(look, return_inverse=True)[1])

    @property
    def known(self) -> np.ndarray:
        """(M,) which points of the pool have an answer."""
        return (self.place != GONE) & (self.shares.sum(1) > 0)

    @property
    def missing(self) -> np.ndarray:
        """(M,) which points of the pool have none: the person could not tell."""
        return (self.place != GONE) & (self.shares.sum(1) == 0)

    @property
    def draws(self) -> int:
        """The number of independent draws: looks."""
        return int(self.look.max(initial=-1)) + 1


def answer_shares(
    answer: np.ndarray, classes: int, other: np.ndarray | None = None, *, border: Border = "halves"
) -> np.ndarray:
    """Return (M, C + 1) the true classes of answers: places 0..C - 1, C for void, UNKNOWN (-1) where the
    person could not tell.

    ``other`` (M,) is the second class of a point on a border between two, and otherwise UNKNOWN; ``border``
    says whether such a point counts half for each, or is missing. Errors: OptionError for another
    ``border``; RankingError for a class beyond C.

    >>> answer_shares(np.array([0, 1, -1, 2]), 2, np.array([-1, 0, -1, -1])).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if border not in BORDERS:
        raise OptionError(f"border={border!r} is none of {', '.join(BORDERS)}")
    first = checked_arrays.whole_numbers(answer, "answer", RankingError, "M").astype(np.int64)
    second = np.full(len(first), UNKNOWN)
    if other is not None:
        second = checked_arrays.whole_numbers(other, "other", RankingError, "M").astype(np.int64)
    checked_arrays.same_shape(RankingError, answer=first, other=second)
    for name, values in (("answer", first), ("other", second)):
        if values.size and not UNKNOWN <= values.min() <= values.max() <= classes:
            raise RankingError(
                f"{name}: places of classes must lie between 0 and {classes} (void), or be -1 where nobody"
                f" could tell; got {values.min()} to {values.max()}"
            )
    ones = np.concatenate([np.eye(classes + 1), np.zeros((1, classes + 1))])  # -1 takes the row of zeros
    between = (first != UNKNOWN) & (second != UNKNOWN)
    half = 0.5 if border == "halves" else 0.0
    return np.where(between[:, None], half * (ones[first] + ones[second]), ones[first])
