"""Which item each person is asked next: the same number of people per item, in an order that only the seed
decides.

Conventions: training comes first; then items that a person was given and did not answer; then planted items
that are due (items with a known answer that everybody may be asked, for a share of the others, in their
order); then repeats that are due (the same share of items once more in the other order, at least five items
later); then new items, those with
the fewest answers first, so that every item reaches the same number of answers before any gets more; if
nothing new is left, repeats that are not due yet. No one is asked the same item twice except as a repeat.
Items that others were given and did not answer are reserved for half an hour. The seed, the item and the
person decide which items are repeated; sides also depend on a secret, so that no one can work out which model
is where. A person with the maximum number of open items gets no more before they answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

HELD_FOR = 1800.0  # seconds
MOST_HELD = 30  # most open items per person
APART = 5  # items between an item and its repeat


@dataclass(frozen=True)
class Handing:
    """One item given to one person: for the first time (0) or again (1), which model is on the left, and in
    which session.
    """

    item: str
    repeat: int
    side: str
    session: int


class _Person:
    """What one person was given, in order, and which items they answered or no longer want."""

    def __init__(self) -> None:
        self.handed: dict[tuple[str, int], Handing] = {}
        self.at: dict[
            tuple[str, int], tuple[int, int, float]
        ] = {}  # (number before it in total, number in the session, time)
        self.sessions = Counter[int]()
        self.waiting: set[tuple[str, int]] = set()
        self.answered: set[tuple[str, int]] = set()
        self.dropped: set[str] = set()

    def fit(self, place: Mapping[str, int], twice: np.ndarray) -> None:
        """Rebuild the columns for other items."""
        self.first, self.again, self.mine, self.out = (np.zeros(len(place), bool) for _ in range(4))
        self.twice = twice
        self.repeated = [
            item for item, repeat in self.handed if not repeat and item in place and twice[place[item]]
        ]
        for column, items in (
            (self.first, (item for item, repeat in self.handed if not repeat)),
            (self.again, (item for item, repeat in self.handed if repeat)),
            (self.mine, (item for item, _ in self.answered)),
            (self.out, self.dropped),
        ):
            column[_places(place, items)] = True
        self.mine |= self.first

    def take(self, handing: Handing, since: float, place: int | None) -> None:
        """Note what was given; nothing changes if it was given before."""
        key = (handing.item, handing.repeat)
        if key in self.handed:
            return
        self.at[key] = len(self.handed), self.sessions[handing.session], since
        self.handed[key] = handing
        self.sessions[handing.session] += 1
        if key not in self.answered:
            self.waiting.add(key)
        if place is not None:
            (self.again if handing.repeat else self.first)[place] = True
            self.mine[place] = True
            if not handing.repeat and self.twice[place]:
                self.repeated.append(handing.item)


class Assignment:
    """The assignments of one campaign. Not safe for concurrent calls."""

    def __init__(
        self,
        *,
        seed: int = 0,
        overlap: int = 2,
        session: int = 20,
        repeats: float = 0.1,
        secret: str = "",
        most: int = MOST_HELD,
    ) -> None:
        self._seed = seed
        self._overlap = overlap
        self._session = session
        self._repeats = repeats
        self._secret = secret
        self._most = most
        self._order: list[str] = []
        self._place: dict[str, int] = {}
        self._codes = np.zeros(0, np.uint64)
        self._training: dict[str, None] = {}
        self._planted: dict[str, None] = {}
        self._count = np.zeros(0, np.int64)  # people who answered each item
        self._people: dict[str, _Person] = {}

    def ask(
        self,
        items: Sequence[str],
        training: Sequence[str] = (),
        planted: Sequence[str] = (),
        *,
        in_order: bool = False,
    ) -> None:
        """Ask these items from now on, and ask everyone those of ``training`` first, and some of ``planted``
        between them; ``in_order`` of the sequence, or at random.
        """
        codes = np.array([self._code(item) for item in items], np.uint64)
        order = np.arange(len(items)) if in_order else np.argsort(codes, kind="stable")
        self._order = [items[int(k)] for k in order]
        self._codes = codes[order]
        self._place = {item: k for k, item in enumerate(self._order)}
        self._training = dict.fromkeys(training)
        self._planted = dict.fromkeys(planted)
        self._count = np.zeros(len(self._order), np.int64)
        for who, person in self._people.items():
            person.fit(self._place, self._twice(who))
            self._count += np.bincount(
                _places(self._place, (item for item, repeat in person.answered if not repeat)),
                minlength=len(items),
            )

    def hand(
        self, who: str, have: Collection[tuple[str, int]], now: float, priority: np.ndarray | None = None
    ) -> tuple[Handing | None, bool]:
        """Return the next item for a person who has some already, and whether it is new to them; None if none
        is left.

        With a ``priority`` (I,), in the order of `order`, new items are given by decreasing priority instead
        of by fewest answers.
        """
        person = self._of(who)
        held = [key for key in person.waiting if self._is_asked(key[0], person)]
        if old := [key for key in held if key not in have]:
            return person.handed[min(old, key=person.at.__getitem__)], False
        if len(held) >= self._most:
            return None, False
        for item in self._training:
            if (item, 0) not in person.handed and item not in person.dropped:
                return self._new(who, item, 0, now), True
        if self._planted_due(who, 0):
            return self._new(who, self._planted_left(person)[0], 0, now), True
        if (due := self._due(person, APART)) is not None:
            return self._new(who, due, 1, now), True
        taken = self._taken(now)
        free = np.flatnonzero(self._free(person, taken))
        if len(free):
            best = free[np.argmin(taken[free])] if priority is None else free[np.argmax(priority[free])]
            return self._new(who, self._order[int(best)], 0, now), True
        if (due := self._due(person, 0)) is not None:
            return self._new(who, due, 1, now), True
        return None, False

    @property
    def order(self) -> Sequence[str]:
        """The items in the order in which they are asked."""
        return self._order

    def restore(self, who: str, handing: Handing, since: float) -> None:
        """Read back what a person was given before."""
        self._of(who).take(handing, since, self._place.get(handing.item))

    def withdraw(self, who: str, handing: Handing) -> None:
        """Take back what a person was given last and does not know of."""
        person = self._of(who)
        key = (handing.item, handing.repeat)
        place = self._place.get(handing.item)
        if person.handed.pop(key, None) is None:
            return
        del person.at[key]
        person.sessions[handing.session] -= 1
        person.waiting.discard(key)
        if place is not None:
            (person.again if handing.repeat else person.first)[place] = False
            person.mine[place] = handing.repeat or key in person.answered
        if not handing.repeat and handing.item in person.repeated:
            person.repeated.remove(handing.item)

    def note(self, who: str, item: str, repeat: int, *, answered: bool) -> None:
        """Note that a person answered something, here or elsewhere, or took it back."""
        person = self._of(who)
        key = (item, repeat)
        place = self._place.get(item)
        if answered != (key in person.answered) and place is not None and not repeat:
            self._count[place] += 1 if answered else -1
        if answered:
            person.answered.add(key)
            person.waiting.discard(key)
        else:
            person.answered.discard(key)
            person.waiting.update({key} & person.handed.keys())
        if place is not None:
            person.mine[place] |= answered

    def drop(self, who: str, item: str) -> None:
        """Stop asking a person an item."""
        person = self._of(who)
        person.dropped.add(item)
        if item in self._place:
            person.out[self._place[item]] = True

    def forget(self, who: str) -> None:
        """Forget a person and what they answered."""
        if person := self._people.pop(who, None):
            for item, repeat in person.answered:
                if item in self._place and not repeat:
                    self._count[self._place[item]] -= 1

    def handed_to(self, who: str, item: str, repeat: int) -> Handing | None:
        """Return how a person was given an item, or None."""
        return self._people[who].handed.get((item, repeat)) if who in self._people else None

    def times_of(self, who: str) -> dict[str, float]:
        """Return {item: when}, the first time a person was given each item."""
        at = self._people[who].at if who in self._people else {}
        return {item: at[item, 0][2] if (item, 0) in at else at[item, repeat][2] for item, repeat in at}

    def who_answered(self, items: Collection[str]) -> set[str]:
        """Return who answered any of some items."""
        wanted = {(item, repeat) for item in items for repeat in (0, 1)}
        return {who for who, person in self._people.items() if not wanted.isdisjoint(person.answered)}

    def position(self, who: str, handing: Handing) -> int:
        """Return the position of an item in its session, from 1."""
        return self._of(who).at[handing.item, handing.repeat][1] + 1

    def left_for(self, who: str, now: float) -> int:
        """Return how many items are left for a person: unanswered, of training, new, planted, and
        repeats.
        """
        person = self._of(who)
        waiting = sum(self._is_asked(item, person) for item, _ in person.waiting)
        training = sum(
            (item, 0) not in person.handed and item not in person.dropped for item in self._training
        )
        free = self._free(person, self._taken(now))
        again = person.twice & ~person.again & ~person.out & (free | person.first)
        new = training + int(free.sum()) + int(again.sum())
        return waiting + new + self._planted_due(who, new)

    def done_by(self, who: str) -> int:
        """Return how many of the items that are asked now a person answered: of training, new, planted, and
        repeats.
        """
        return sum(self._is_known(item) for item, _ in self._of(who).answered)

    def since_handed(self, who: str, handing: Handing, now: float) -> float:
        """Return the seconds since a person was given an item."""
        return now - self._of(who).at[handing.item, handing.repeat][2]

    def held_by_others(self, who: str, now: float) -> int:
        """Return how many more items a person could be asked if others left theirs unanswered."""
        person = self._of(who)
        return int((self._free(person, self._count) & ~self._free(person, self._taken(now))).sum())

    def _of(self, who: str) -> _Person:
        person = self._people.get(who)
        if person is None:
            person = self._people[who] = _Person()
            person.fit(self._place, self._twice(who))
        return person

    def _is_known(self, item: str) -> bool:
        return item in self._place or item in self._training or item in self._planted

    def _is_asked(self, item: str, person: _Person) -> bool:
        return self._is_known(item) and item not in person.dropped

    def _planted_left(self, person: _Person) -> list[str]:
        """Return the planted items that a person may still be asked, in order."""
        had = person.handed.keys() | person.answered
        return [item for item in self._planted if (item, 0) not in had and item not in person.dropped]

    def _planted_due(self, who: str, more: int) -> int:
        """Return how many planted items a person is asked until they were given ``more`` others."""
        if not self._planted:
            return 0
        person = self._of(who)
        given = sum((item, 0) in person.handed for item in self._planted)
        others = len(person.handed) - given + more
        # a beginning of each person's own, so that people who answer little have some too
        wanted = int(self._repeats * others + self._code("planted", who) / 2.0**64)
        return min(len(self._planted_left(person)), max(0, wanted - given))

    def _new(self, who: str, item: str, repeat: int, now: float) -> Handing:
        person = self._of(who)
        first = person.handed.get((item, 0))
        if repeat and first is not None:
            side = "second" if first.side == "first" else "first"
        else:
            side = ("first", "second")[self._code("side", self._secret, who, item) % 2]
        handing = Handing(item, repeat, side, 1 + len(person.handed) // self._session)
        self.restore(who, handing, now)
        return handing

    def _taken(self, now: float) -> np.ndarray:
        """Return (I,) how many people answered each item, or were given it."""
        taken = self._count.copy()
        for person in self._people.values():
            for item, repeat in person.waiting:
                held = not repeat and item in self._place and item not in person.dropped
                if held and now - person.at[item, repeat][2] < HELD_FOR:
                    taken[self._place[item]] += 1
        return taken

    def _free(self, person: _Person, taken: np.ndarray) -> np.ndarray:
        """Return (I,) which new items a person may be asked."""
        return (taken < self._overlap) & ~person.mine & ~person.out

    def _due(self, person: _Person, apart: int) -> str | None:
        """Return an item that is due to be asked again, after ``apart`` others."""
        until = len(person.handed) - apart
        for item in person.repeated:
            if person.at[item, 0][0] >= until:
                return None
            asked = item in self._place and item not in person.dropped and (item, 1) not in person.handed
            if asked and (item, 0) in person.answered:
                return item
        return None

    def _twice(self, who: str) -> np.ndarray:
        """Return (I,) which items a person is asked again."""
        return self._chance("repeat", who, self._codes) < self._repeats

    def _chance(self, what: str, who: str, codes: np.ndarray) -> np.ndarray:
        """Return numbers from 0 to 1 that depend on the seed, some words and the items."""
        mixed = codes ^ np.uint64(self._code(what, who))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the end of SplitMix64
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return (mixed ^ (mixed >> np.uint64(31))) / 2.0**64

    def _code(self, *words: str) -> int:
        """Return 64 bits that depend on the seed and some words."""
        digest = hashlib.blake2b(
            "\0".join([str(self._seed), *words]).encode("utf-8", "surrogateescape"), digest_size=8
        ).digest()
        return int.from_bytes(digest, "big")


def _places(place: Mapping[str, int], items: Iterable[str]) -> np.ndarray:
    """Return the positions of those items that have one."""
    return np.array([place[item] for item in items if item in place], np.int64)
