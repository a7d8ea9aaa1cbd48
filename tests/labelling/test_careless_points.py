"""Who clicks at random among the classes that a page offers, or nearly always the same one, is marked; careful
people, who err now and then and more often near borders, are marked in at most 5 % of campaigns.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import LabellingError
from faultscape.labelling.people.careless import CHANCE, FAST, ONE_SIDE, CareTest
from faultscape.labelling.people.careless_points import PointColumns, point_care_tests

CLASSES = 6
RANDOM = "clicks at random among the classes offered"
ONE_CLASS = "always the same class"
ERRS = (0.05, 0.2, 0.1)


def campaign(
    seed: int,
    *,
    people: int,
    points: int = 300,
    models: int = 5,
    overlap: int = 1,
    masked: float = 0.0,
    first_does: str = "",
    fast: bool = False,
) -> PointColumns:
    """Answers to points at which models often differ, of people who are right as often as `ERRS` says; a point
    in twenty is asked again.
    """
    rng = np.random.default_rng([seed, people, models])
    truth = rng.choice(CLASSES, points, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    hard = rng.random(points) < 0.8
    # models err together: on a point they confuse the truth with one or two others
    like = (truth[:, None] + rng.integers(1, CLASSES, (points, 2))) % CLASSES
    wrong = rng.random((points, models)) < np.where(hard, 0.42, 0.05)[:, None]
    said = np.where(
        wrong, like[np.arange(points)[:, None], rng.integers(0, 2, (points, models))], truth[:, None]
    )
    votes = np.stack([(said == c).sum(1) for c in range(CLASSES + 1)], 1)
    shown = np.where(rng.random(points) < masked, truth, -1)
    rows = []
    for k in range(points):
        for turn in range(overlap):
            who = (k * overlap + turn) % people
            for again in range(2 if rng.random() < 0.05 else 1):
                label = int(truth[k])
                if rng.random() < ERRS[who % 3]:
                    label = int(like[k, rng.integers(2)])
                if who == 0 and first_does == RANDOM:
                    label = int(rng.choice(np.flatnonzero(votes[k])))
                if who == 0 and first_does == ONE_CLASS:
                    label = 0
                rows.append((k, who, label, 0.3 if fast and who == 0 else 3.0, not again))
    return PointColumns(*(np.array(column) for column in zip(*rows, strict=True)), votes, shown)


def marks(tests: list[dict[str, CareTest]]) -> set[tuple[int, str]]:
    return {(who, sign) for who, one in enumerate(tests) for sign, test in one.items() if test.marked}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "overlap", "models", "masked"),
    [(1, 1, 5, 0.0), (2, 2, 3, 0.0), (3, 1, 5, 0.05), (3, 2, 2, 0.0), (3, 3, 5, 0.0)],
)
def test_careful_people_are_marked_in_at_most_5_per_cent_of_campaigns(
    people: int, overlap: int, models: int, masked: float
) -> None:
    about = {"people": people, "overlap": overlap, "models": models, "masked": masked}
    number = 60
    wrong = sum(bool(marks(point_care_tests(campaign(seed, **about)))) for seed in range(number))
    assert wrong <= 0.05 * number


@pytest.mark.parametrize(("people", "overlap", "points"), [(1, 1, 600), (3, 3, 200)])
@pytest.mark.parametrize(("does", "sign"), [(RANDOM, CHANCE), (ONE_CLASS, ONE_SIDE)])
def test_who_does_not_look_is_marked_and_nobody_else(
    people: int, overlap: int, points: int, does: str, sign: str
) -> None:
    found = 0
    for seed in range(20):
        about = {"people": people, "overlap": overlap, "points": points}
        tests = point_care_tests(campaign(seed, **about, first_does=does))
        found += (0, sign) in marks(tests)
        assert {who for who, _ in marks(tests)} <= {0}
    assert found >= 15  # chance itself looks better than chance in up to 10 %


def test_where_two_models_differ_and_nothing_else_is_known_too_few_answers_allow_a_test() -> None:
    (tests,) = point_care_tests(campaign(1, people=1, points=40, models=2, first_does=RANDOM))
    assert tests[CHANCE].of <= 3
    assert np.isnan(tests[CHANCE].p_value)


def test_who_repeats_answers_is_not_marked_where_models_are_worth_nothing() -> None:
    said = campaign(3, people=1, models=5)
    rng = np.random.default_rng(5)
    nonsense = np.array([rng.permutation(row) for row in np.asarray(said.votes)])
    blind = PointColumns(
        said.point, said.annotator, said.label, said.seconds, said.first, nonsense, said.shown
    )
    (tests,) = point_care_tests(blind)
    assert tests[CHANCE].p_value < 0.05  # alike with models as rarely as chance is
    assert not tests[CHANCE].marked


def test_a_fast_person_is_marked() -> None:
    assert marks(point_care_tests(campaign(1, people=3, fast=True))) == {(0, FAST)}


def test_always_cannot_tell_is_one_answer_too() -> None:
    votes = np.tile([3, 2, 0], (50, 1))
    said = PointColumns(range(50), [0] * 50, [3] * 50, [2.0] * 50, [True] * 50, votes, [-1] * 50)
    assert (0, ONE_SIDE) in marks(point_care_tests(said))


def test_a_few_points_of_one_class_mark_nobody() -> None:
    votes = np.tile([0, 3, 3], (20, 1))
    said = PointColumns(range(20), [0] * 20, [0] * 20, [2.0] * 20, [True] * 20, votes, [-1] * 20)
    (tests,) = point_care_tests(said)
    assert np.isnan(tests[ONE_SIDE].p_value)
    assert marks([tests]) == set()


def test_columns_of_other_shapes_are_refused() -> None:
    with pytest.raises(LabellingError, match="expected votes"):
        point_care_tests(PointColumns([0], [0], [0], [1.0], [True], [[1, 0]], [0, 1]))
    with pytest.raises(LabellingError, match="point: has number 1, but there are only 1"):
        point_care_tests(PointColumns([1], [0], [0], [1.0], [True], [[1, 0]], [0]))
