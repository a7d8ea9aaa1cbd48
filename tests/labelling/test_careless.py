"""Who answers like chance, always one side or too fast is marked; careful people are marked in at most 5 % of
campaigns, and where too few answers allow a test, none is made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from faultscape.labelling.people.careless import (
    CHANCE,
    FAST,
    FASTEST,
    ONE_SIDE,
    AnswerColumns,
    CareTest,
    care_tests,
)

LEFT_ALWAYS = "left always"


def campaign(
    rng: np.random.Generator,
    skills: Sequence[float],
    items: int,
    overlap: int,
    *,
    questions: bool = False,
    first_does: str = "",
) -> AnswerColumns:
    """People who are right as often as their skill says, on every other item hardly more often than chance;
    the first one may do something else.
    """
    who = np.concatenate([rng.permutation(len(skills))[:overlap] for _ in range(items)])
    item = np.repeat(np.arange(items), overlap)
    truth, easy = (rng.random(items) < 0.7).astype(int), rng.random(items) < 0.5
    skill = np.array(skills)[who]
    right = rng.random(len(who)) < np.where(easy[item], skill, 0.5 + 0.4 * (skill - 0.5))
    label, first_left = np.where(right, truth[item], 1 - truth[item]), rng.integers(0, 2, len(who))
    seconds = rng.lognormal(np.log(3), 0.6, len(who))
    mine = who == 0
    if first_does == FAST:
        seconds[mine] = 0.3
    if first_does == CHANCE:
        label[mine] = rng.integers(0, 2, int(mine.sum()))
    if first_does == LEFT_ALWAYS:
        label[mine] = 1 if questions else 1 - first_left[mine]
    left = None if questions else np.where(label == 0, first_left, 1 - first_left)
    return AnswerColumns(item, who, label, seconds, np.ones(len(who), bool), left)


def marked(tests: list[dict[str, CareTest]]) -> set[tuple[int, str]]:
    return {(who, sign) for who, one in enumerate(tests) for sign, test in one.items() if test.marked}


@pytest.mark.parametrize("questions", [False, True])
@pytest.mark.parametrize("overlap", [2, 3, 5])
@pytest.mark.parametrize("skills", [[0.9] * 6, [0.95, 0.95, 0.9, 0.85, 0.8, 0.75]])
def test_careful_people_are_marked_in_at_most_5_per_cent_of_campaigns(
    overlap: int, skills: list[float], questions: bool
) -> None:
    rng, number = np.random.default_rng(overlap), 100
    wrong = sum(
        bool(marked(care_tests(campaign(rng, skills, items, overlap, questions=questions))))
        for items in (40, 150)
        for _ in range(number // 2)
    )
    assert wrong <= 0.05 * number


@pytest.mark.parametrize("questions", [False, True])
@pytest.mark.parametrize(
    ("does", "sign", "items", "overlap"),
    [
        (CHANCE, CHANCE, 600, 3),
        (CHANCE, CHANCE, 800, 2),
        (LEFT_ALWAYS, ONE_SIDE, 150, 2),
        (FAST, FAST, 60, 2),
    ],
)
def test_who_does_it_is_marked_and_nobody_else(
    does: str, sign: str, items: int, overlap: int, questions: bool
) -> None:
    said = campaign(np.random.default_rng(4), [0.9] * 6, items, overlap, questions=questions, first_does=does)
    found = marked(care_tests(said))
    assert (0, sign) in found
    assert {who for who, _ in found} == {0}


def test_p_values_are_those_of_the_exact_tests_times_the_number_of_tests() -> None:
    """Twelve choices of one person, eleven on the left and three fast: two tests, as nobody else answers."""
    seconds = [FASTEST / 2] * 3 + [4.0] * 9
    said = AnswerColumns(range(12), [0] * 12, [0] * 12, seconds, [True] * 12, [1] * 11 + [0])
    (found,) = care_tests(said)
    by_hand = 2 * (2 * (1 + 12) / 2**12)
    assert found[ONE_SIDE].p_value == pytest.approx(by_hand)
    fewer = sum(
        [1, 12, 66][k] * 0.05**k * 0.95 ** (12 - k) for k in range(3)
    )  # at most one of twenty is a slip
    assert found[FAST].p_value == pytest.approx(2 * (1 - fewer))
    assert np.isnan(found[CHANCE].p_value)
    assert found[ONE_SIDE].marked
    assert found[FAST].marked


def test_of_three_who_answer_the_same_one_is_alone_by_the_share_of_the_fewer_answers() -> None:
    """Nine items on which two agree and the third does not: (1/3)^9, against agreeing with two of three."""
    item, who = np.repeat(range(9), 3), np.tile(range(3), 9)
    label = np.tile([0, 0, 1], 9)
    seconds = np.full(27, np.nan)
    tests = care_tests(AnswerColumns(item, who, label, seconds, np.ones(27, bool), None))
    assert (tests[2][CHANCE].count, tests[2][CHANCE].of) == (9, 9)
    # of the two who agree, no test could find anything: those they are compared with differ from each other
    assert tests[2][CHANCE].p_value == pytest.approx(2 * 3.0**-9)
    assert np.isnan(tests[0][CHANCE].p_value)
    assert marked(tests) == {(2, CHANCE), (2, ONE_SIDE)}


def test_few_answers_allow_no_test_and_a_slight_habit_is_no_mark() -> None:
    few = AnswerColumns(range(4), [0] * 4, [0] * 4, [0.1] * 1 + [5.0] * 3, [True] * 4, [1] * 4)
    (found,) = care_tests(few)
    assert np.isnan(found[ONE_SIDE].p_value)
    assert not found[ONE_SIDE].marked
    left = np.arange(2000) % 5 < 3  # 60 % on the left
    (found,) = care_tests(
        AnswerColumns(range(2000), [0] * 2000, left, [5.0] * 2000, [True] * 2000, left.astype(int))
    )
    assert found[ONE_SIDE].p_value < 1e-10
    assert not found[ONE_SIDE].marked
    assert care_tests(AnswerColumns([], [], [], [], [], [])) == []
