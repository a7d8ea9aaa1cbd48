"""Who is asked what next: laws over random histories of people who are asked, answer, undo, go away and come
back.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from itertools import pairwise
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.verbs.serve.assignment import APART, HELD_FOR, MOST_HELD, Assignment, Handing


class World:
    """People before an assignment, and what they were handed and said; ``twin`` is told the same as a
    database would tell it.
    """

    def __init__(self, items: int, people: int, **rules: object) -> None:
        self.rules = rules
        self.items = [f"item {k}" for k in range(items)]
        self.training, self.planted = (
            [f"{kind} {k}" for k in range(int(rules.pop(kind, 0)))]  # type: ignore[call-overload]
            for kind in ("training", "planted")
        )
        self.people = [f"person-{k}" for k in range(people)]
        self.now, self.hands = 0.0, self.made()
        self.handed: dict[str, list[Handing]] = defaultdict(list)
        self.history: list[tuple[str, Handing, float]] = []
        self.said: list[tuple[str, str, int, bool]] = []
        self.have: dict[str, set[tuple[str, int]]] = defaultdict(set)

    def made(self) -> Assignment:
        out = Assignment(**self.rules)  # type: ignore[arg-type]
        out.ask(self.items, self.training, self.planted)
        return out

    def ask(self, who: str) -> Handing | None:
        handing, fresh = self.hands.hand(who, self.have[who], self.now)
        if handing is not None:
            if fresh:
                self.handed[who].append(handing)
                self.history.append((who, handing, self.now))
            self.have[who].add((handing.item, handing.repeat))
        else:
            assert not fresh
        return handing

    def say(self, who: str, item: str, repeat: int, *, answered: bool = True) -> None:
        self.hands.note(who, item, repeat, answered=answered)
        self.said.append((who, item, repeat, answered))
        (self.have[who].discard if answered else self.have[who].add)((item, repeat))

    def restored(self) -> Assignment:
        """The same as a server that was started again finds it in its database."""
        out = self.made()
        for who, handing, when in self.history:
            out.restore(who, handing, when)
        for who, item, repeat, answered in self.said:
            out.note(who, item, repeat, answered=answered)
        return out

    def answers(self) -> Counter[str]:
        last = {(who, item): answered for who, item, repeat, answered in self.said if not repeat}
        return Counter(item for (_, item), answered in last.items() if answered)

    def finish(self, who: str) -> None:
        while handing := self.ask(who):
            self.say(who, handing.item, handing.repeat)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["ask", "ask", "say", "say", "undo", "reload", "later", "read again", "start again"]),
    ),
    max_size=90,
)
RULES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 5),
        "overlap": st.integers(1, 4),
        "session": st.integers(1, 6),
        "repeats": st.sampled_from([0.0, 0.3]),
        "training": st.integers(0, 3),
        "planted": st.sampled_from([0, 0, 2, 9]),
    }
)


def walk(steps: list[tuple[int, str]], rules: dict[str, int], items: int) -> World:
    world = World(items, 4, **rules)
    for person, act in steps:
        who = world.people[person]
        if act == "ask":
            world.ask(who)
        elif act == "say" and world.have[who]:
            item, repeat = min(world.have[who])
            world.say(who, item, repeat)
        elif act == "undo" and (mine := [row for row in world.said if row[0] == who and row[3]]):
            world.say(*mine[-1][:3], answered=False)
        elif act == "reload":
            world.have[who].clear()
        elif act == "later":
            world.now += HELD_FOR / 3
        elif act == "read again":
            world.hands.ask(world.items[1:])
            world.hands.ask(world.items, world.training, world.planted)
        elif act == "start again":
            world.hands = world.restored()
    return world


@pytest.mark.slow
@settings(max_examples=150)
@given(STEPS, RULES, st.integers(1, 12))
def test_nobody_is_asked_the_same_twice_but_once_more_in_the_other_order(
    steps: list[tuple[int, str]], rules: dict[str, int], items: int
) -> None:
    world = walk(steps, rules, items)
    for who in world.people:
        world.finish(who)
        handed = world.handed[who]
        assert len({(one.item, one.repeat) for one in handed}) == len(handed)
        first = {one.item: one for one in handed if not one.repeat}
        for one in handed:
            if one.repeat:
                assert {one.side, first[one.item].side} == {"first", "second"}
                assert one.item not in world.training
        assert [one.item for one in handed[: len(world.training)]] == world.training[: len(handed)]


@settings(max_examples=150)
@given(STEPS, RULES, st.integers(1, 12))
def test_started_again_it_goes_on_as_it_would_have(
    steps: list[tuple[int, str]], rules: dict[str, int], items: int
) -> None:
    world = walk(steps, rules, items)
    again = world.restored()
    for who in (*world.people, *world.people):
        assert again.left_for(who, world.now) == world.hands.left_for(who, world.now)
        expected, fresh = again.hand(who, world.have[who], world.now)
        assert world.hands.hand(who, world.have[who], world.now) == (expected, fresh)
        if expected is not None:
            assert again.position(who, expected) == world.hands.position(who, expected)
            for one in (again, world.hands):
                one.note(who, expected.item, expected.repeat, answered=True)


@settings(max_examples=100)
@given(STEPS, RULES, st.integers(1, 12))
def test_the_same_items_asked_anew_change_nothing(
    steps: list[tuple[int, str]], rules: dict[str, int], items: int
) -> None:
    world = walk(steps, rules, items)
    for who, item in zip(world.people, world.items[::2], strict=False):
        world.hands.drop(who, item)
    left = [world.hands.left_for(who, world.now) for who in world.people]
    world.hands.ask(world.items, world.training, world.planted)
    assert [world.hands.left_for(who, world.now) for who in world.people] == left


@settings(max_examples=100)
@given(STEPS, RULES, st.integers(1, 12))
def test_what_is_left_is_what_comes(steps: list[tuple[int, str]], rules: dict[str, int], items: int) -> None:
    world = walk(steps, rules, items)
    for who in world.people:
        world.have[who].clear()
        left, count = world.hands.left_for(who, world.now), 0
        while handing := world.ask(who):
            world.say(who, handing.item, handing.repeat)
            count += 1
        assert (count, world.hands.left_for(who, world.now)) == (left, 0)


@settings(max_examples=60)
@given(
    st.integers(0, 99),
    st.integers(1, 30),
    st.integers(1, 6),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_every_item_has_as_many_answers_as_any_before_one_gets_more_and_none_more_than_the_overlap(
    seed: int, items: int, people: int, overlap: int, chance: object
) -> None:
    world = World(items, people, seed=seed, overlap=overlap, repeats=0.2)
    open_ = list(world.people)
    while open_:
        who = chance.choice(open_)  # type: ignore[attr-defined]
        handing = world.ask(who)
        if handing is None:
            open_.remove(who)
            continue
        if not handing.repeat:
            counts = np.array([world.answers()[item] for item in world.items])
            mine = [one.item for one in world.handed[who][:-1] if not one.repeat]
            others = [world.answers()[item] for item in world.items if item not in mine]
            assert world.answers()[handing.item] == min(others)
            assert counts.max(initial=0) <= overlap
        world.say(who, handing.item, handing.repeat)
    assert [world.answers()[item] for item in world.items] == [min(overlap, people)] * items


def test_what_was_handed_and_not_answered_goes_to_others_after_half_an_hour() -> None:
    world = World(3, 2, overlap=1, repeats=0.0)
    one, other = world.people
    held = [world.ask(one), world.ask(one)]
    rest = world.ask(other)
    assert world.ask(other) is None
    assert world.hands.left_for(other, world.now) == 1  # what it has
    assert [world.hands.held_by_others(who, world.now) for who in (one, other)] == [1, 2]
    world.now += HELD_FOR - 1
    assert world.ask(other) is None
    world.now += 1
    assert world.hands.held_by_others(other, world.now) == 0  # they may have it now
    found = [world.ask(other), world.ask(other)]
    assert [getattr(one, "item", "") for one in found] == [getattr(one, "item", "") for one in held]
    assert rest not in found
    world.have[one].clear()
    assert world.ask(one) == held[0]  # who comes back gets it again first


def test_what_was_taken_back_is_asked_again_before_anything_new() -> None:
    world = World(6, 1, repeats=0.0)
    who = world.people[0]
    first, second = world.ask(who), world.ask(who)
    assert first is not None
    assert second is not None
    for one in (first, second):
        world.say(who, one.item, 0)
    left = world.hands.left_for(who, 0.0)
    world.say(who, first.item, 0, answered=False)
    world.have[who].clear()
    assert world.hands.left_for(who, 0.0) == left + 1
    assert world.ask(who) == first


def test_a_repeat_comes_at_least_five_items_later_and_sooner_only_where_nothing_new_is_left() -> None:
    for seed in range(30):
        world = World(40, 1, seed=seed, overlap=1, repeats=0.2)
        world.finish(world.people[0])
        handed = world.handed[world.people[0]]
        place = {(one.item, one.repeat): k for k, one in enumerate(handed)}
        last_new = max(k for k, one in enumerate(handed) if not one.repeat)
        assert len(handed) > 40
        for (item, repeat), k in place.items():
            if repeat and k < last_new:
                assert k - place[item, 0] > APART


def test_a_lone_item_that_is_to_be_repeated_is() -> None:
    for seed in range(40):
        world = World(1, 1, seed=seed, overlap=1, repeats=0.5)
        world.finish(world.people[0])
        assert world.hands.left_for(world.people[0], 0.0) == 0  # else its page would wait for ever
    assert len(world.handed[world.people[0]]) in (1, 2)


def test_planted_items_are_a_share_of_what_each_person_is_asked_whatever_others_answered() -> None:
    world = World(400, 4, overlap=1, repeats=0.1, planted=60)
    ann, ben, *_ = world.people
    for who, number in ((ann, 200), (ben, 100)):
        for _ in range(number):
            handing = world.ask(who)
            assert handing is not None
            world.say(who, handing.item, handing.repeat)
        known = [one.item for one in world.handed[who] if one.item in world.planted]
        assert abs(len(known) - number * 0.1 / 1.1) <= 1
        assert known == world.planted[: len(known)]  # the same ones, so that people can be compared
        assert not any(one.repeat for one in world.handed[who] if one.item in world.planted)


def test_sides_and_repeats_are_balanced_over_many() -> None:
    sides, repeats = list[bool](), list[float]()
    for k in range(20):
        world = World(200, 3, seed=k, overlap=3, repeats=0.1)
        for who in world.people:
            world.finish(who)
            sides += [one.side == "first" for one in world.handed[who] if not one.repeat]
            repeats.append(sum(one.repeat for one in world.handed[who]) / 200)
    assert abs(np.mean(sides) - 0.5) < 4 * 0.5 / len(sides) ** 0.5  # 12,000 throws
    assert abs(np.mean(repeats) - 0.1) < 4 * 0.3 / len(sides) ** 0.5
    both = np.array(sides).reshape(20, 3, 200)
    # people are not shown the same order of items, nor the same sides
    assert abs(np.mean(both[:, 0] == both[:, 1])) < 0.6


def test_the_seed_decides_and_nothing_else() -> None:
    def run(seed: int, items: list[str]) -> list[Handing]:
        world = World(0, 1, seed=seed)
        world.items = items
        world.hands = world.made()
        world.finish(world.people[0])
        return world.handed[world.people[0]]

    items = [f"item {k}" for k in range(30)]
    assert run(1, items) == run(1, items[::-1])
    assert [one.item for one in run(1, items)] != [one.item for one in run(2, items)]


def test_who_holds_as_many_items_as_one_may_gets_another_once_they_answer_one() -> None:
    world = World(100, 2, overlap=1, repeats=0.0)
    one, other = world.people
    held = [handing for handing in (world.ask(one) for _ in range(100)) if handing is not None]
    assert len(held) == len(world.handed[one]) == MOST_HELD
    world.say(one, held[0].item, 0)
    assert (world.ask(one) is None, world.ask(one)) == (False, None)
    world.hands.drop(one, held[1].item)  # what is asked no more is held no more
    assert world.ask(one) is not None
    world.finish(other)
    assert len(world.handed[other]) == 100 - len(world.handed[one]) + 1  # and who was dropped
    world.have[one].clear()
    assert world.ask(one) == held[2]
    world.have[one] = {(handing.item, 0) for handing in held}
    world.finish(one)


def test_sessions_have_as_many_items_as_were_asked_for() -> None:
    world = World(75, 1, overlap=1, session=20, repeats=0.1)
    who = world.people[0]
    world.finish(who)
    handed = world.handed[who]
    counts = Counter(one.session for one in handed)
    assert set(counts) == set(range(1, len(counts) + 1))
    assert [counts[number] for number in sorted(counts)][:-1] == [20] * (len(counts) - 1)
    assert all(a.session <= b.session for a, b in pairwise(handed))
    assert [world.hands.position(who, one) for one in handed[:41]] == [*range(1, 21), *range(1, 21), 1]


def test_what_somebody_dropped_is_asked_of_others_alone_and_counts_as_nobody_s() -> None:
    world = World(2, 2, overlap=1, repeats=0.0)
    one, other = world.people
    dropped = world.ask(one)
    assert dropped is not None
    world.hands.drop(one, dropped.item)
    world.have[one].clear()
    assert {getattr(world.ask(other), "item", "") for _ in range(2)} == set(world.items)
    assert world.ask(one) is None
    assert world.hands.left_for(one, world.now) == 0


def test_items_that_go_and_come_follow_the_selection_and_answers_of_before_count() -> None:
    world = World(4, 2, overlap=2, repeats=0.0)
    one, other = world.people
    for item in ("item 0", "elsewhere"):
        world.say(one, item, 0)
    first = world.ask(one)
    assert first is not None
    world.hands.ask(["item 0", "elsewhere", "new"])
    world.have[one].clear()
    found = {getattr(world.ask(one), "item", ""), getattr(world.ask(one), "item", "")}
    assert found == ({"new", ""} if first.item != "new" else {""})
    world.finish(other)
    assert [one.item for one in world.handed[other]][:1] == ["new"] or world.answers()["elsewhere"] == 2
    world.hands.ask(world.items)
    world.have[one].clear()
    assert world.ask(one) == first  # handed before, and asked again


def test_what_could_not_be_noted_is_handed_again_as_if_it_had_not_been() -> None:
    for repeats in (0.0, 0.5):
        world, plain = World(12, 2, repeats=repeats), World(12, 2, repeats=repeats)
        who = world.people[0]
        for k in range(40):
            if k % 3 == 0 and (lost := world.hands.hand(who, world.have[who], world.now))[1]:
                assert lost[0] is not None
                world.hands.withdraw(who, lost[0])
            one, other = world.ask(who), plain.ask(who)
            assert one == other
            if one is not None and k % 4:
                world.say(who, one.item, one.repeat)
                plain.say(who, one.item, one.repeat)
        assert world.hands.left_for(who, 0.0) == plain.hands.left_for(who, 0.0)


def test_a_person_who_is_forgotten_leaves_no_answers() -> None:
    world = World(3, 2, overlap=1, repeats=0.0)
    one, other = world.people
    world.finish(one)
    assert world.ask(other) is None
    world.hands.forget(one)
    world.finish(other)
    assert len(world.handed[other]) == 3
    assert world.hands.who_answered(world.items) == {other}


def test_fifty_people_before_ten_thousand_items_are_asked_within_two_milliseconds() -> None:
    world = World(10_000, 50, overlap=5, repeats=0.1)
    for who in world.people:
        for _ in range(40):
            handing = world.ask(who)
            assert handing is not None
            if len(world.have[who]) > 5:
                world.say(who, *min(world.have[who]))
    took = []
    for who in world.people * 3:
        world.have[who].clear()
        begun = time.thread_time()  # what the machine does meanwhile is no matter
        handing, _ = world.hands.hand(who, (), world.now)
        world.hands.left_for(who, world.now)
        took.append(time.thread_time() - begun)
        assert handing is not None
        world.say(who, handing.item, handing.repeat)
    assert median(took) < 0.002
