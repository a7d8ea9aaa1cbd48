"""Who is asked what next: each item of as many people, in an order that only the seed decides.

Conventions: training comes first; then what a person was handed and did not answer; then repeats that are due, a share of items once more in the other order, at least five items later; then new items, those with the fewest answers first, so that
every item has as many answers as any before one gets more. Nobody is asked the same twice but in a repeat. What others were handed and did not answer counts as theirs for half an hour. Sides and which items are repeated follow from the
seed, the item and the person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

HELD_FOR = 1800.0  # seconds
APART = 5  # items between an item and its repeat


@dataclass(frozen=True)
class Handing:
    """One item handed to one person: for the first time (0) or again (1), which model is on the left, and in which session."""

    item: str
    repeat: int
    side: str
    session: int


@dataclass
class _Person:
    """What one person was handed, in order, and which of it they answered, or want no more."""

    handed: dict[tuple[str, int], Handing] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)  # when an item was handed that has no answer yet
    answered: set[tuple[str, int]] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    mine: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))  # (I,) items handed, in the order of items


class Assignment:
    """The hands of one campaign. Not to be called by several threads at once."""

    def __init__(self, *, seed: int = 0, overlap: int = 2, session: int = 20, repeats: float = 0.1) -> None:
        self._seed, self._overlap, self._session, self._repeats = seed, overlap, session, repeats
        self._order: list[str] = []
        self._place: dict[str, int] = {}
        self._training: list[str] = []
        self._count = np.zeros(0, np.int64)  # people who answered each item
        self._people: dict[str, _Person] = {}

    def ask(self, items: Sequence[str], training: Sequence[str] = ()) -> None:
        """Ask these items from now on, of everybody first those of ``training``."""
        self._order = sorted(items, key=lambda item: self._chance("order", item))
        self._place = {item: k for k, item in enumerate(self._order)}
        self._training = list(training)
        self._count = np.zeros(len(self._order), np.int64)
        for person in self._people.values():
            person.mine = np.zeros(len(self._order), bool)
            for item, _ in person.handed:
                if item in self._place:
                    person.mine[self._place[item]] = True
            for item, repeat in person.answered:
                if item in self._place and not repeat:
                    self._count[self._place[item]] += 1

    def hand(
        self, who: str, have: Collection[tuple[str, int]], now: float, priority: np.ndarray | None = None
    ) -> tuple[Handing | None, bool]:
        """Return the next item of a person who has some already, and whether it is new to them; None where none is left.

        With a ``priority`` (I,), in the order of `order`, new items go by it, the largest first, rather than by how few answers they have.
        """
        person = self._of(who)
        for key, handing in person.handed.items():
            if key not in person.answered and key not in have and self._is_asked(key[0], person):
                return handing, False
        for item in self._training:
            if (item, 0) not in person.handed:
                return self._new(who, item, 0, now), True
        if (due := self._due(who, person, APART)) is not None:
            return self._new(who, due, 1, now), True
        free = self._free(who, person, now)
        if len(free):
            best = free[np.argmin(self._taken(who, now)[free])] if priority is None else free[np.argmax(priority[free])]
            return self._new(who, self._order[int(best)], 0, now), True
        if (due := self._due(who, person, 1)) is not None:
            return self._new(who, due, 1, now), True
        return None, False

    @property
    def order(self) -> Sequence[str]:
        """The items in the order in which they are asked."""
        return self._order

    def restore(self, who: str, handing: Handing, since: float) -> None:
        """Take in what somebody was handed before."""
        person, key = self._of(who), (handing.item, handing.repeat)
        person.handed.setdefault(key, handing)
        if not handing.repeat and key not in person.answered:
            person.since[handing.item] = since
        if handing.item in self._place:
            person.mine[self._place[handing.item]] = True

    def note(self, who: str, item: str, repeat: int, *, answered: bool) -> None:
        """Note that somebody answered something, or took it back; what they were never handed is no matter, but for an item that they answered elsewhere."""
        person, key = self._of(who), (item, repeat)
        place = self._place.get(item)
        if place is None and key not in person.handed:
            return
        if answered != (key in person.answered) and place is not None and not repeat:
            self._count[place] += 1 if answered else -1
        (person.answered.add if answered else person.answered.discard)(key)
        if answered and not repeat:
            person.since.pop(item, None)
        if place is not None and answered:
            person.mine[place] = True

    def drop(self, who: str, item: str) -> None:
        """Ask somebody an item no more."""
        self._of(who).dropped.add(item)

    def forget(self, who: str) -> None:
        """Forget a person and what they answered."""
        if person := self._people.pop(who, None):
            for item, repeat in person.answered:
                if item in self._place and not repeat:
                    self._count[self._place[item]] -= 1

    def handed_to(self, who: str, item: str, repeat: int) -> Handing | None:
        """Return how somebody was handed an item, None where they were not."""
        return self._of(who).handed.get((item, repeat))

    def who_answered(self, items: Collection[str]) -> set[str]:
        """Return who answered any of some items."""
        wanted = set(items)
        return {who for who, person in self._people.items() if any(item in wanted for item, _ in person.answered)}

    def position(self, who: str, handing: Handing) -> int:
        """Return at which place of its session an item is, from 1 on."""
        mine = [key for key, one in self._of(who).handed.items() if one.session == handing.session]
        return mine.index((handing.item, handing.repeat)) + 1

    def left_for(self, who: str, now: float) -> int:
        """Return how many items are left for a person: unanswered, of training, new, and repeats."""
        person = self._of(who)
        waiting = sum(key not in person.answered and self._is_asked(key[0], person) for key in person.handed)
        training = sum((item, 0) not in person.handed for item in self._training)
        free = self._free(who, person, now)
        again = sum(self._is_repeated(who, self._order[k]) for k in free.tolist())
        again += sum(
            not repeat
            and item in self._place
            and self._is_repeated(who, item)
            and (item, 1) not in person.handed
            and item not in person.dropped
            for item, repeat in person.handed
        )
        return waiting + training + len(free) + again

    def _of(self, who: str) -> _Person:
        return self._people.setdefault(who, _Person(mine=np.zeros(len(self._order), bool)))

    def _is_asked(self, item: str, person: _Person) -> bool:
        return (item in self._place or item in self._training) and item not in person.dropped

    def _new(self, who: str, item: str, repeat: int, now: float) -> Handing:
        person = self._of(who)
        first = person.handed.get((item, 0))
        if repeat and first is not None:
            side = "second" if first.side == "first" else "first"
        else:
            side = "first" if self._chance("side", item, who) < 0.5 else "second"
        handing = Handing(item, repeat, side, 1 + len(person.handed) // self._session)
        self.restore(who, handing, now)
        return handing

    def _taken(self, who: str, now: float) -> np.ndarray:
        """Return (I,) how many people answered each item, or have it in hand, without this one."""
        taken = self._count.copy()
        for other, person in self._people.items():
            if other != who:
                for item, since in person.since.items():
                    if now - since < HELD_FOR and item in self._place:
                        taken[self._place[item]] += 1
        return taken

    def _free(self, who: str, person: _Person, now: float) -> np.ndarray:
        """Return the places of the items that a person may be asked anew."""
        open_ = (self._taken(who, now) < self._overlap) & ~person.mine
        for item in person.dropped:
            if item in self._place:
                open_[self._place[item]] = False
        return np.flatnonzero(open_)

    def _due(self, who: str, person: _Person, apart: int) -> str | None:
        """Return an item that is to be asked again by now, after ``apart`` others."""
        if not self._repeats:
            return None
        keys = list(person.handed)
        for item, repeat in keys[: max(len(keys) - apart, 0)]:
            asked = not repeat and item in self._place and item not in person.dropped and (item, 1) not in person.handed
            if asked and (item, 0) in person.answered and self._is_repeated(who, item):
                return item
        return None

    def _is_repeated(self, who: str, item: str) -> bool:
        return self._chance("repeat", item, who) < self._repeats

    def _chance(self, *words: str) -> float:
        """Return a number from 0 to 1 that the seed and some words decide."""
        digest = hashlib.blake2b("\0".join([str(self._seed), *words]).encode("utf-8", "surrogateescape"), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64
