"""Which two models a campaign asks about first, if it may choose: those whose order is uncertain after the
answers so far (see `pair_choice`).

Conventions: an answer is worth 1 if it is for an item's first model, 0 for the second, a half for neither,
and NaN if it says nothing. An item that a person is answering counts as a half until it is answered, as if
two equal models had been answered as expected, so that several people are not sent to the same two.
Priorities depend on pairs alone: among the items of a pair their own order decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from faultscape.labelling.people.pair_choice import pair_priorities, score_posterior

FEWEST_MODELS = 7  # with fewer, all pairs are soon known equally well
_IN_HAND = 0.5


class PairOrder:
    """The choices between every two models, and what to ask next. Not thread-safe."""

    def __init__(self) -> None:
        self._worth: dict[tuple[str, str, int], float] = {}
        self._pair: dict[str, tuple[int, int]] = {}
        self._first = self._second = np.zeros(0, np.int64)
        self._wins, self._known = np.zeros((0, 0)), np.zeros(0)

    def ask(self, items: Mapping[str, tuple[str, str]], order: Sequence[str]) -> None:
        """Ask items {id: (first, second)} from now on; priorities are in this ``order`` of their ids."""
        models = sorted({name for pair in items.values() for name in pair})
        place = {name: k for k, name in enumerate(models)}
        self._pair = {id_: (place[first], place[second]) for id_, (first, second) in items.items()}
        self._first, self._second = np.array([self._pair[id_] for id_ in order], np.int64).reshape(-1, 2).T
        self._wins, self._known = np.zeros((len(models), len(models))), np.zeros(0)
        for (_, id_, _), worth in self._worth.items():
            self._count(id_, worth, 1.0)

    def note(self, who: str, item: str, repeat: int, worth: float | None) -> None:
        """Record what an answer is worth, or that it was withdrawn (None), so that the item is pending
        again.
        """
        key = (who, item, repeat)
        self._count(item, self._worth.pop(key, np.nan), -1.0)
        self._worth[key] = _IN_HAND if worth is None else worth
        self._count(item, self._worth[key], 1.0)

    def hold(self, who: str, item: str, repeat: int) -> None:
        """Mark an item as being answered, unless it has been answered."""
        if (who, item, repeat) not in self._worth:
            self.note(who, item, repeat, None)

    def release(self, who: str, item: str, repeat: int) -> None:
        """Mark an item as no longer being answered."""
        self._count(item, self._worth.pop((who, item, repeat), np.nan), -1.0)

    def priorities(self) -> np.ndarray:
        """Return (I,) how informative an answer to each item would be.

        >>> pairs = PairOrder()
        >>> pairs.ask({"x": ("fcn", "unet"), "y": ("fcn", "zebra")}, ["y", "x"])
        >>> pairs.hold("ann", "x", 0)
        >>> bool(pairs.priorities().argmax() == 0)  # of y, which nobody has in hand
        True
        """
        if not len(self._known):
            worth = pair_priorities(score_posterior(self._wins)) if len(self._wins) > 1 else self._wins
            self._known = worth[self._first, self._second].round(9)
        return self._known

    def _count(self, item: str, worth: float, sign: float) -> None:
        if item in self._pair and not np.isnan(worth):
            first, second = self._pair[item]
            self._wins[first, second] += sign * worth
            self._wins[second, first] += sign * (1 - worth)
            self._known = np.zeros(0)
