"""Who is asked what next: each item of as many people, in an order that only the seed decides.

Conventions: training comes first; then what a person was handed and did not answer; then repeats that are
due, a share of items once more in the other order, at least five items later; then new items, those with the
fewest answers first, so that every item has as many answers as any before one gets more; where nothing new is
left, the repeats that are not due yet. Nobody is asked the same twice but in a repeat. What others were
handed and did not answer counts as theirs for half an hour. Which items are repeated follows from the seed,
the item and the person; sides follow from a secret too, so that nobody works out which model stands where.
Who holds as many items as one may gets no more before they answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

HELD_FOR = 1800.0  # seconds
MOST_HELD = 30  # items that one person has in hand
APART = 5  # items between an item and its repeat


@dataclass(frozen=True)
class Handing:
    """One item handed to one person: for the first time (0) or again (1), which model is on the left, and in
    which session.
    """

    item: str
    repeat: int
    side: str
    session: int


class _Person:
    """What one person was handed, in order, and which of it they answered, or want no more.

    Columns are (I,), in the order of items: handed for the first time, again, answered anywhere or handed
    (``mine``), dropped, and asked twice (``twice``).
    """

    def __init__(self) -> None:
        self.handed: dict[tuple[str, int], Handing] = {}
        self.at: dict[
            tuple[str, int], tuple[int, int, float]
        ] = {}  # how many came before, in all and in the session, and when
        self.sessions = Counter[int]()
        self.waiting: set[tuple[str, int]] = set()
        self.answered: set[tuple[str, int]] = set()
        self.dropped: set[str] = set()

    def fit(self, place: Mapping[str, int], twice: np.ndarray) -> None:
        """Make the columns anew, of other items."""
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
        """Note what was handed; nothing where it was before."""
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
    """The hands of one campaign. Not to be called by several threads at once."""

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
        self._seed, self._overlap, self._session, self._repeats = seed, overlap, session, repeats
        self._secret, self._most = secret, most
        self._order: list[str] = []
        self._place: dict[str, int] = {}
        self._codes = np.zeros(0, np.uint64)
        self._training: dict[str, None] = {}
        self._count = np.zeros(0, np.int64)  # people who answered each item
        self._people: dict[str, _Person] = {}

    def ask(self, items: Sequence[str], training: Sequence[str] = ()) -> None:
        """Ask these items from now on, of everybody first those of ``training``."""
        codes = np.array([self._code(item) for item in items], np.uint64)
        by_chance = np.argsort(codes, kind="stable")
        self._order, self._codes = [items[int(k)] for k in by_chance], codes[by_chance]
        self._place = {item: k for k, item in enumerate(self._order)}
        self._training = dict.fromkeys(training)
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
        """Return the next item of a person who has some already, and whether it is new to them; None where
        none is left.

        With a ``priority`` (I,), in the order of `order`, new items go by it, the largest first, rather than
        by how few answers they have.
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
        """Take in what somebody was handed before."""
        self._of(who).take(handing, since, self._place.get(handing.item))

    def withdraw(self, who: str, handing: Handing) -> None:
        """Take back what somebody was handed last, and does not know of."""
        person, key, place = self._of(who), (handing.item, handing.repeat), self._place.get(handing.item)
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
        """Note that somebody answered something, here or elsewhere, or took it back."""
        person, key, place = self._of(who), (item, repeat), self._place.get(item)
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
        """Ask somebody an item no more."""
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
        """Return how somebody was handed an item, None where they were not."""
        return self._people[who].handed.get((item, repeat)) if who in self._people else None

    def times_of(self, who: str) -> dict[str, float]:
        """Return {item: when} of all that somebody was handed, the first time of each."""
        at = self._people[who].at if who in self._people else {}
        return {item: at[item, 0][2] if (item, 0) in at else at[item, repeat][2] for item, repeat in at}

    def who_answered(self, items: Collection[str]) -> set[str]:
        """Return who answered any of some items."""
        wanted = {(item, repeat) for item in items for repeat in (0, 1)}
        return {who for who, person in self._people.items() if not wanted.isdisjoint(person.answered)}

    def position(self, who: str, handing: Handing) -> int:
        """Return at which place of its session an item is, from 1 on."""
        return self._of(who).at[handing.item, handing.repeat][1] + 1

    def left_for(self, who: str, now: float) -> int:
        """Return how many items are left for a person: unanswered, of training, new, and repeats."""
        person = self._of(who)
        waiting = sum(self._is_asked(item, person) for item, _ in person.waiting)
        training = sum(
            (item, 0) not in person.handed and item not in person.dropped for item in self._training
        )
        free = self._free(person, self._taken(now))
        again = person.twice & ~person.again & ~person.out & (free | person.first)
        return waiting + training + int(free.sum()) + int(again.sum())

    def held_by_others(self, who: str, now: float) -> int:
        """Return how many items a person might be asked if others left what they have in hand."""
        person = self._of(who)
        return int((self._free(person, self._count) & ~self._free(person, self._taken(now))).sum())

    def _of(self, who: str) -> _Person:
        person = self._people.get(who)
        if person is None:
            person = self._people[who] = _Person()
            person.fit(self._place, self._twice(who))
        return person

    def _is_asked(self, item: str, person: _Person) -> bool:
        return (item in self._place or item in self._training) and item not in person.dropped

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
        """Return (I,) how many people answered each item, or have it in hand."""
        taken = self._count.copy()
        for person in self._people.values():
            for item, repeat in person.waiting:
                held = not repeat and item in self._place and item not in person.dropped
                if held and now - person.at[item, repeat][2] < HELD_FOR:
                    taken[self._place[item]] += 1
        return taken

    def _free(self, person: _Person, taken: np.ndarray) -> np.ndarray:
        """Return (I,) which items a person may be asked anew."""
        return (taken < self._overlap) & ~person.mine & ~person.out

    def _due(self, person: _Person, apart: int) -> str | None:
        """Return an item that is to be asked again by now, after ``apart`` others."""
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
        """Return numbers from 0 to 1 that the seed, some words and items decide."""
        mixed = codes ^ np.uint64(self._code(what, who))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the end of SplitMix64
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return (mixed ^ (mixed >> np.uint64(31))) / 2.0**64

    def _code(self, *words: str) -> int:
        """Return 64 bits that the seed and some words decide."""
        digest = hashlib.blake2b(
            "\0".join([str(self._seed), *words]).encode("utf-8", "surrogateescape"), digest_size=8
        ).digest()
        return int.from_bytes(digest, "big")


def _places(place: Mapping[str, int], items: Iterable[str]) -> np.ndarray:
    """Return the places of those items that have one."""
    return np.array([place[item] for item in items if item in place], np.int64)
