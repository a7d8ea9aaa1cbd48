"""Who is asked what next: nobody twice but where it is planned, every item as often as it should be, sides in balance, and the same whenever it is asked."""

from __future__ import annotations

import statistics
import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import LabellingError, OptionError
from faultscape.labelling.people.assignment import Pause, Plan, Turn, first_left, item_order, next_turn, people_with
from refusals import refused

History = dict[str, list[Turn]]


def campaign(plan: Plan, people: int, arrivals: np.random.Generator, most: int = 4000) -> tuple[History, list[np.ndarray]]:
    """Everybody in an order by chance asks for the next item until nobody gets one; what each was given, and how many people had each item after each turn."""
    order = item_order([f"image {k}" for k in range(plan.items)], plan.seed)
    given: History = {f"person {k}": [] for k in range(people)}
    rested, handed, counts = dict.fromkeys(given, 0), np.zeros(plan.items, np.int64), []
    waiting = list(given)
    for _ in range(most):
        if not waiting:
            return given, counts
        who = waiting[int(arrivals.integers(len(waiting)))]
        turn = next_turn(plan, order, handed, [t.item for t in given[who]], who, rested=rested[who])
        if turn is None:
            waiting.remove(who)
        elif isinstance(turn, Pause):
            assert turn.items == plan.session
            rested[who] = len(given[who])
        else:
            if turn.kind == "new":
                others = handed[plan.training :].copy()
                others[[t.item - plan.training for t in given[who] if t.item >= plan.training]] = plan.overlap
                assert handed[turn.item] == others.min() < plan.overlap
            given[who].append(turn)
            handed[turn.item] += turn.kind != "repeat"
            counts.append(handed[plan.training :].copy())
    raise AssertionError("the campaign does not end")


plans = st.builds(
    Plan,
    items=st.integers(4, 40),
    overlap=st.integers(1, 4),
    training=st.integers(0, 4),
    session=st.integers(1, 12),
    repeat=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    distance=st.integers(0, 7),
    seed=st.integers(0, 1000),
)


@given(plan=plans, people=st.integers(1, 6), seed=st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_a_campaign_keeps_all_that_the_plan_says(plan: Plan, people: int, seed: int) -> None:
    given_, _ = campaign(plan, people, np.random.default_rng(seed))
    for who, turns in given_.items():
        items = [turn.item for turn in turns]
        assert items[: plan.training] == list(range(plan.training))
        assert [turn.kind == "training" for turn in turns] == [k < plan.training for k in range(len(turns))]
        fresh = [turn.item for turn in turns if turn.kind != "repeat"]
        assert len(set(fresh)) == len(fresh), "an item twice"
        repeats = [k for k, turn in enumerate(turns) if turn.kind == "repeat"]
        again = [items[k] for k in repeats]
        assert len(set(again)) == len(again), "a repeat twice"
        for k in repeats:
            before = items.index(items[k])
            assert plan.training <= before < k
            assert k - before - 1 >= plan.distance
            assert turns[k].first_left != turns[before].first_left
        new = len(fresh) - plan.training
        assert len(repeats) <= plan.repeat * new + 1
        assert [t.first_left for t in turns if t.kind != "repeat"] == [first_left(plan.seed, item, who) for item in fresh]
    final = people_with(plan, [[turn.item for turn in turns] for turns in given_.values()])
    assert (final[: plan.training] == people).all()
    assert (final[plan.training :] == min(plan.overlap, people)).all()


@given(seed=st.integers(0, 1000), people=st.integers(3, 8))
@settings(max_examples=30, deadline=None)
def test_every_item_is_asked_about_once_before_any_is_asked_about_twice(seed: int, people: int) -> None:
    plan = Plan(items=30, overlap=3, repeat=0.1, seed=seed)
    _, counts = campaign(plan, people, np.random.default_rng(seed))
    assert all(one.max() <= 1 for one in counts if one.sum() <= 30)
    assert counts[-1].tolist() == [3] * 30


def test_about_a_tenth_is_repeated_at_moments_that_differ_from_person_to_person() -> None:
    plan = Plan(items=150, overlap=4)
    given_, _ = campaign(plan, 4, np.random.default_rng(0))
    places = [[k for k, turn in enumerate(turns) if turn.kind == "repeat"] for turns in given_.values()]
    for found, turns in zip(places, given_.values(), strict=True):
        assert abs(len(found) - 0.1 * (len(turns) - len(found))) <= 1
        assert len(set(np.diff(found).tolist())) > 4
    assert len({tuple(found) for found in places}) == 4


def test_sides_are_in_balance_over_items_and_over_people_and_another_seed_swaps_others() -> None:
    left = np.array([[first_left(0, item, f"person {k}") for item in range(400)] for k in range(50)])
    other = np.array([[first_left(1, item, f"person {k}") for item in range(400)] for k in range(50)])
    assert abs(left.mean() - 0.5) < 0.015
    assert np.abs(left.mean(1) - 0.5).max() < 0.1  # four standard deviations of 400
    assert np.abs(left.mean(0) - 0.5).max() < 0.3
    assert abs((left == other).mean() - 0.5) < 0.015


@given(plan=plans, seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_the_same_history_gives_the_same_item_and_what_is_not_answered_is_shown_again_as_it_was(plan: Plan, seed: int) -> None:
    given_, _ = campaign(plan, 2, np.random.default_rng(seed))
    assert campaign(plan, 2, np.random.default_rng(seed))[0] == given_
    order, handed = item_order([f"image {k}" for k in range(plan.items)], plan.seed), np.full(plan.items, plan.overlap)
    for who, turns in given_.items():
        items = [turn.item for turn in turns]
        for k, turn in enumerate(turns):
            assert next_turn(plan, order, handed, items[: k + 1], who, pending=True) == turn


def test_a_person_pauses_after_twenty_items_goes_on_when_rested_and_is_not_sent_to_rest_when_nothing_is_left() -> None:
    plan = Plan(items=25, repeat=0)
    order = item_order([str(k) for k in range(25)])
    handed, own = np.zeros(25, int), []
    while isinstance(turn := next_turn(plan, order, handed, own, "anna"), Turn):
        own.append(turn.item)
        handed[turn.item] += 1
    assert (turn, len(own)) == (Pause(20), 20)
    assert isinstance(next_turn(plan, order, handed, own, "anna", rested=20), Turn)
    handed[:] = 1
    assert next_turn(plan, order, handed, own, "anna") is None


def test_priority_decides_among_items_that_as_few_people_have() -> None:
    plan = Plan(items=4, overlap=2, repeat=0)
    order, priority = item_order(list("abcd")), np.array([0.1, 0.9, 0.9, 0.5])
    first = next_turn(plan, order, np.zeros(4, int), [], "anna", priority=priority)
    assert isinstance(first, Turn)
    assert first.item == min((1, 2), key=lambda k: order[k])
    fewer = next_turn(plan, order, np.array([0, 1, 1, 1]), [], "anna", priority=priority)
    assert isinstance(fewer, Turn)
    assert fewer.item == 0


def test_an_item_that_somebody_gave_back_is_handed_out_again() -> None:
    plan = Plan(items=2, repeat=0)
    order, handed = item_order(["a", "b"]), np.array([1, 1])
    assert next_turn(plan, order, handed, [], "ben") is None
    handed[1] -= 1
    found = next_turn(plan, order, handed, [], "ben")
    assert isinstance(found, Turn)
    assert found.item == 1


def test_an_item_takes_less_than_a_millisecond_among_ten_thousand_and_fifty_people() -> None:
    plan = Plan(items=10_000, overlap=3, training=10)
    rng = np.random.default_rng(0)
    order, handed = item_order([str(k) for k in range(10_000)]), rng.integers(0, 4, 10_000)
    own = [*range(10), *rng.permutation(np.arange(10, 10_000))[:600].tolist()]
    took = []
    for k in range(50):
        start = time.process_time()
        next_turn(plan, order, handed, own, f"person {k}", rested=len(own))
        took.append(time.process_time() - start)
    assert statistics.median(took) < 0.001


def test_what_fits_no_plan_is_refused_in_one_line() -> None:
    with refused(OptionError, "expected training items among the 5 items there are; got 9"):
        Plan(items=5, training=9)
    with refused(OptionError, "the share of repeated items must lie between 0 and 1; got 10"):
        Plan(items=5, repeat=10)
    with refused(OptionError, "expected an overlap and a session of 1 or more"):
        Plan(items=5, overlap=0)
    plan, order = Plan(items=3), item_order(["a", "b", "c"])
    with refused(LabellingError, r"handed: expected a number for each of 3 items; got shape \(2,\)"):
        next_turn(plan, order, np.zeros(2, int), [], "anna")
    with refused(LabellingError, "items of anna: row 0 holds 7; expected whole numbers from 0 to 2"):
        next_turn(plan, order, np.zeros(3, int), [7], "anna")


def test_the_first_items_are_in_an_order_by_the_seed() -> None:
    keys = [str(k) for k in range(50)]
    assert sorted(item_order(keys).tolist()) == list(range(50))
    assert item_order(keys, 1).tolist() != item_order(keys, 2).tolist()
