"""What boxes around objects leave open at single pixels: which of the boxed classes may be there.

Conventions: a class is SHUT where boxes of it were drawn in the image and none covers the pixel, OPEN inside
one of its boxes, and UNTOLD where nobody boxed it. Boxes narrow what is believed and no more: totals stay
unbiased whatever they say (`totals`), so that neither a loose nor a wrong box biases a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays

UNTOLD, SHUT, OPEN = 0, 1, 2


@dataclass(frozen=True, eq=False)
class BoxStates:
    """The distinct ``states`` (P, C) of classes, UNTOLD, SHUT or OPEN, and which of them each tuple or point
    has (``place``, (X,)).

    RankingError for other shapes or states.

    >>> inside = BoxStates(np.array([[SHUT, OPEN], [SHUT, SHUT]]), np.array([0, 0, 1]))
    >>> inside.of(np.array([2])).states.tolist()
    [[1, 1]]
    """

    states: np.ndarray  # (P, C) of each class
    place: np.ndarray  # (X,) which row of the states each tuple has

    def __post_init__(self) -> None:
        states = checked_arrays.whole_numbers(self.states, "states", RankingError, "P x C")
        place = checked_arrays.whole_numbers(self.place, "place", RankingError, "X")
        if states.size and not UNTOLD <= states.min() <= states.max() <= OPEN:
            raise RankingError(f"states are {UNTOLD} to {OPEN}; got {states.min()} to {states.max()}")
        if place.size and not 0 <= place.min() <= place.max() < len(states):
            raise RankingError(f"place: there are {len(states)} states; got {place.min()} to {place.max()}")
        object.__setattr__(self, "states", states.astype(np.uint8))
        object.__setattr__(self, "place", place.astype(np.uint32))

    def of(self, some: np.ndarray | slice) -> BoxStates:
        """Return the states of some tuples, without those that none of them has."""
        kept, place = np.unique(self.place[some], return_inverse=True)
        return BoxStates(self.states[kept], place)


def joined_states(parts: Sequence[BoxStates | None], sizes: Sequence[int], classes: int) -> BoxStates | None:
    """Return the states of tuples that follow each other in ``parts`` of so many tuples (``sizes``), None if
    none has any.

    >>> shut = BoxStates(np.array([[SHUT]]), np.array([0]))
    >>> joined_states([None, shut], [2, 1], 1).place.tolist()
    [0, 0, 1]
    """
    if not any(part is not None for part in parts):
        return None
    untold = np.zeros((1, classes), np.uint8)
    states, place = [untold], []
    before = 1
    for part, size in zip(parts, sizes, strict=True):
        place.append(np.zeros(size, np.int64) if part is None else part.place + before)
        if part is not None:
            states.append(part.states)
            before += len(part.states)
    distinct, which = np.unique(np.concatenate(states), axis=0, return_inverse=True)
    return BoxStates(distinct, which.ravel()[np.concatenate(place)])
