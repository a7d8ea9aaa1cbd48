"""Choices between two models: what they count, who has a voice, who answers alike when the sides are swapped,
who prefers a side.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from faultscape.errors import LabellingError
from faultscape.labelling.people.choices import (
    BOTH_BAD,
    BOTH_GOOD,
    FIRST,
    LEFT,
    NOT_SURE,
    RIGHT,
    SECOND,
    SKIP,
    consistency,
    pair_shares,
    share_for,
    side_bias,
)
from faultscape.labelling.people.vote_columns import share_of
from refusals import refused

Columns = tuple[np.ndarray, ...]


def drawn(seed: int, number: int = 60) -> Columns:
    """Image, f, g, who, choice, f_left of answers by chance, with repeats and skips."""
    rng = np.random.default_rng(seed)
    pair = np.array([(0, 1), (1, 0), (1, 2), (2, 0)])[rng.integers(0, 4, number)]
    return (
        rng.integers(0, 3, number),
        pair[:, 0],
        pair[:, 1],
        rng.integers(0, 3, number),
        rng.integers(0, 6, number),
        rng.random(number) < 0.5,
    )


def test_a_choice_counts_one_or_nothing_and_one_half_where_neither_was_chosen() -> None:
    assert share_for([LEFT, RIGHT, BOTH_GOOD, BOTH_BAD, NOT_SURE]).tolist() == [1, 0, 0.5, 0.5, 0.5]
    assert np.isnan(share_for([SKIP])).all()


@given(seed=st.integers(0, 10_000))
def test_shares_are_means_over_people_of_the_means_of_their_answers(seed: int) -> None:
    image, f, g, who, choice, _ = drawn(seed)
    voices: dict[tuple[int, int, int], dict[int, list[float]]] = {}
    worth = {FIRST: 1.0, SECOND: 0.0, BOTH_GOOD: 0.5, BOTH_BAD: 0.5, NOT_SURE: 0.5}
    for row in zip(image.tolist(), f.tolist(), g.tolist(), who.tolist(), choice.tolist(), strict=True):
        if row[4] != SKIP:
            value = worth[row[4]] if row[1] < row[2] else 1 - worth[row[4]]
            voices.setdefault((row[0], min(row[1:3]), max(row[1:3])), {}).setdefault(row[3], []).append(value)
    said = pair_shares(image, f, g, who, choice)
    assert list(zip(said.image.tolist(), said.first.tolist(), said.second.tolist(), strict=True)) == sorted(
        voices
    )
    for k, key in enumerate(sorted(voices)):
        assert said.share[k] == pytest.approx(np.mean([np.mean(mine) for mine in voices[key].values()]))
        assert said.people[k] == len(voices[key])
        assert said.answers[k] == sum(len(mine) for mine in voices[key].values())


@given(seed=st.integers(0, 10_000))
def test_which_model_is_named_first_changes_nothing(seed: int) -> None:
    image, f, g, who, choice, left = drawn(seed)
    turned = np.where(choice <= RIGHT, 1 - choice, choice)
    one, other = pair_shares(image, f, g, who, choice), pair_shares(image, g, f, who, turned)
    assert np.array_equal(one.share, other.share)
    same, again = consistency(image, f, g, who, choice, left), consistency(image, g, f, who, turned, ~left)
    assert np.array_equal(same[1].count, again[1].count)
    assert np.array_equal(same[1].of, again[1].of)


def test_who_chose_each_model_once_counts_as_one_half_and_one_person_has_one_voice() -> None:
    said = pair_shares([0] * 4, [0] * 4, [1] * 4, [0, 0, 1, 1], [FIRST, SECOND, FIRST, FIRST])
    assert (said.share.tolist(), said.people.tolist(), said.answers.tolist()) == ([0.75], [2], [4])


def test_repeats_are_compared_only_in_the_other_order_with_the_answer_before_and_without_what_was_skipped() -> (
    None
):
    rows = [  # image, choice, f on the left
        (0, FIRST, True),
        (0, FIRST, False),  # alike
        (1, FIRST, True),
        (1, FIRST, True),  # in the same order: not repeated in our sense
        (2, BOTH_GOOD, True),
        (2, BOTH_BAD, False),  # neither, twice: alike
        (3, FIRST, True),
        (3, SKIP, False),
        (3, SECOND, False),  # not alike, the skip left out
    ]
    image, choice, left = (np.array(column) for column in zip(*rows, strict=True))
    every, each = consistency(image, [4] * 9, [7] * 9, [1] * 9, choice, left, annotators=3)
    assert (every.count, every.of) == (2, 3)
    assert each.of.tolist() == [0, 3, 0]
    assert np.isnan(each.value[[0, 2]]).all()


def test_of_people_who_choose_the_left_in_three_cases_of_four_the_preference_is_found_and_of_others_as_rarely_as_it_should_be() -> (
    None
):
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(400), 80)
    choice = np.where(rng.random(len(who)) < np.where(who < 200, 0.75, 0.5), LEFT, RIGHT)
    every, each = side_bias(who, choice)
    assert (each.p_value[:200] < 0.05).mean() > 0.95
    assert (each.p_value[200:] < 0.05).mean() < 0.07
    held = (each.left.interval[:200, 0] <= 0.75) & (each.left.interval[:200, 1] >= 0.75)
    assert 0.91 <= held.mean() <= 0.99
    assert every.left.value == pytest.approx(0.625, abs=0.01)


@given(left=st.integers(0, 30), right=st.integers(0, 30), others=st.integers(0, 5))
def test_the_test_of_a_side_is_the_exact_binomial_one(left: int, right: int, others: int) -> None:
    choice = [LEFT] * left + [RIGHT] * right + [NOT_SURE] * others
    every, _ = side_bias([0] * len(choice), choice)
    if left + right:
        exact = binomtest(left, left + right)
        assert every.p_value == pytest.approx(exact.pvalue)
        assert every.left.interval == pytest.approx(list(exact.proportion_ci(method="wilson")), abs=1e-12)
    else:
        assert np.isnan(every.p_value)
        assert np.isnan(every.left.interval).all()


def test_an_interval_of_none_and_of_all_ends_at_nothing_and_at_one() -> None:
    found = share_of([0, 7, 0], [7, 7, 0])
    assert found.interval[0, 0] == 0
    assert found.interval[1, 1] == 1
    assert np.isnan(found.interval[2]).all()


def test_what_are_no_choices_is_refused_in_one_line() -> None:
    with refused(LabellingError, "row 1 compares model 2 with itself; give the two models that were shown"):
        pair_shares([0, 0], [1, 2], [2, 2], [0, 0], [0, 0])
    with refused(LabellingError, "choice: row 0 holds 6; expected whole numbers from 0 to 5"):
        side_bias([0], [6])
    with refused(LabellingError, "columns of votes must have the same length"):
        consistency([0, 0], [0], [1], [0], [0], [True])


def test_no_answers_at_all_have_no_shares() -> None:
    assert pair_shares([], [], [], [], []).share.tolist() == []
    every, each = consistency([], [], [], [], [], [])
    assert np.isnan(every.value)
    assert each.value.tolist() == []
