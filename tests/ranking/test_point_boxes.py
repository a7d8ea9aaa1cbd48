"""Boxes beside points: they narrow what is expected, and bias nothing."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import RankingError
from faultscape.ranking.points.belief import fit_beliefs, prior_belief
from faultscape.ranking.points.box_states import OPEN, SHUT, UNTOLD, BoxStates, joined_states
from faultscape.ranking.points.estimates import point_scores
from faultscape.ranking.points.intervals import pool_spread
from faultscape.ranking.points.pool import PointPool
from faultscape.ranking.points.totals import PointTotals, point_totals
from faultscape.selection.points.probabilities import point_probabilities
from made_points import CLASSES, World, unequal, world
from refusals import refused

MADE = world(void=0.0)


def states_of(made: World, wrong: float, seed: int = 0) -> np.ndarray:
    """Return (N, C) what boxes in half of the images leave open: the true class of all but a share of pixels,
    which are outside of all its boxes, and each other class by chance.
    """
    rng = np.random.default_rng(seed)
    true = np.arange(CLASSES) == made.truth[:, None]
    inside = np.where(true, rng.random(true.shape) >= wrong, rng.random(true.shape) < 0.3)
    return np.where((made.image % 2 == 0)[:, None], np.where(inside, OPEN, SHUT), UNTOLD)


def told(pool: PointPool, place: np.ndarray, chance: np.ndarray, seed: int, number: int = 200) -> PointTotals:
    """Return what true answers at points say."""
    pixel = np.random.default_rng([7, seed]).choice(len(MADE.truth), number, p=chance)
    return point_totals(pool, MADE.answers(place, pixel, chance), folds=2, void=False)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [0.0, 0.5, 1.0])
def test_totals_are_unbiased_whatever_boxes_say(wrong: float):
    pool, place = MADE.boxed_pool(states_of(MADE, wrong))
    found = np.array([told(pool, place, unequal(MADE), repeat).corrected for repeat in range(100)])
    error = found.std(0, ddof=1) / 10
    assert (np.abs(found.mean(0) - MADE.confusion) <= 4 * error + 1e-6 * MADE.confusion.max()).all()
    # every model's predictions have their known numbers of pixels
    assert found.sum(3) == pytest.approx(np.broadcast_to(pool.predicted, found.shape[:3]))


def test_boxes_make_scores_better_known_and_draw_where_they_leave_classes_open():
    plain, place = MADE.pool()
    boxed, boxed_place = MADE.boxed_pool(states_of(MADE, 0.02))
    errors = []
    for pool, of in ((plain, place), (boxed, boxed_place)):
        totals = told(pool, of, unequal(MADE), 0, 400)
        errors.append(pool_spread(totals, point_scores(totals)).error_of_differences[0, 2])
    assert errors[1] < 0.85 * errors[0]
    none = told(boxed, boxed_place, unequal(MADE), 0, 0)
    chance = point_probabilities(none)[boxed_place]
    known = (states_of(MADE, 0.02) == SHUT).sum(1) == CLASSES - 1  # only one class is possible there
    assert chance[known].mean() < 0.8 * chance[~known & (MADE.image % 2 == 0)].mean()


def test_a_belief_trusts_boxes_until_answers_contradict_them():
    said = np.zeros((2, 200), int)  # both models call everything the first class
    boxes = BoxStates(np.array([[SHUT, OPEN, UNTOLD]]), np.zeros(200, int))
    one = np.zeros((2, 1), int), boxes.of(np.array([0]))
    assert (
        prior_belief(2, 3, 3).probabilities(*one)[0, 0]
        < 0.7
        < prior_belief(2, 3, 3).probabilities(one[0])[0, 0]
    )
    right, _ = fit_beliefs(said, np.eye(3)[np.ones(200, int)], 3, np.zeros(200, int), boxes)
    wrong, _ = fit_beliefs(said, np.eye(3)[np.zeros(200, int)], 3, np.zeros(200, int), boxes)
    assert right.probabilities(*one)[0, 1] > 0.98
    assert wrong.probabilities(*one)[0, 0] > 0.98
    # without boxes nothing else is learnt than before there were any
    same, _ = fit_beliefs(said, np.eye(3)[np.ones(200, int)], 3, np.zeros(200, int))
    assert (same.boxed == prior_belief(2, 3, 3).boxed).all()


def test_points_where_nobody_can_tell_are_guessed_by_their_boxes():
    pool, place = MADE.boxed_pool(states_of(MADE, 0.0))
    pixel = np.arange(0, len(MADE.truth), 20)
    answers = MADE.answers(place, pixel, np.full(len(MADE.truth), 1 / len(MADE.truth)))
    answers.shares[::5] = 0
    totals = point_totals(pool, answers, void=False)
    assert pool.boxes is not None
    expected = totals.belief.probabilities(totals.missing, pool.boxes.of(place[pixel[::5]]))
    assert totals.missing_guess == pytest.approx(expected)


def test_states_of_other_sizes_are_refused():
    with refused(RankingError, "states are 0 to 2; got 0 to 3"):
        BoxStates(np.array([[0, 3]]), np.array([0]))
    with refused(RankingError, "place: there are 1 states; got 0 to 1"):
        BoxStates(np.array([[0, 1]]), np.array([0, 1]))
    states = BoxStates(np.array([[0, 1]]), np.array([0]))
    with refused(RankingError, "boxes: expected states of 2 tuples and 2 classes; got 1 and 2"):
        PointPool(np.array([[0, 1]]), np.ones(2), 2, boxes=states)
    assert joined_states([None, None], [3, 2], 2) is None
