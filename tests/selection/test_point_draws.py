"""Draws of points: probabilities that sum to one and leave nothing out, and draws that follow them."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import OptionError, SelectionError
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.totals import PointTotals, point_totals
from faultscape.selection.points import probabilities as points
from faultscape.selection.points.point_draws import along, draw_points
from faultscape.selection.points.probabilities import point_probabilities
from made_points import CLASSES, IMAGES, World, unequal, world
from refusals import refused

MADE = world()


def totals_of(made: World, number: int = 0, masked: np.ndarray | None = None) -> PointTotals:
    pool, place = made.pool(masked)
    probability = unequal(made)
    pixel = np.random.default_rng(0).choice(len(made.truth), number, p=probability)
    return point_totals(pool, made.answers(place, pixel, probability))


def rows_of(made: World) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pool, place = made.pool()
    keys, count = np.unique(made.image * len(pool.pixels) + place, return_counts=True)
    return keys // len(pool.pixels), keys % len(pool.pixels), count


@pytest.mark.parametrize("goal", points.POINT_GOALS)
@pytest.mark.parametrize("answered", [0, 200])
def test_probabilities_sum_to_one_and_leave_no_pixel_out(goal: str, answered: int):
    totals = totals_of(MADE, answered)
    probability = point_probabilities(totals, goal)
    assert probability @ totals.pool.pixels == pytest.approx(1)
    assert (probability >= points.FLOOR / totals.pool.size).all()
    agreed = (totals.pool.said == totals.pool.said[0]).all(0)
    assert probability[~agreed].mean() > 2 * probability[agreed].mean()
    if goal == "order":  # pixels on which all agree say little about an order, and much about a level
        assert probability[~agreed].min() > probability[agreed].max()


def test_the_best_draws_where_the_leader_and_its_rivals_differ():
    totals = totals_of(MADE, 400)
    order = point_probabilities(totals, "order")
    best = point_probabilities(totals, "best")
    first, second, third = totals.pool.said
    rivals = (first != second) & (first == third)
    others = (second != third) & (first == second)  # says less about the first: the third is far behind
    assert (best / order)[rivals].mean() > (best / order)[others].mean()
    few = totals_of(MADE, points.LEARNT - 1)
    assert point_probabilities(few, "best").tolist() == point_probabilities(few, "order").tolist()


def test_one_model_draws_for_its_own_score():
    alone = World(MADE.image, MADE.truth, MADE.maps[:1])
    totals = totals_of(alone)
    assert point_probabilities(totals, "order").tolist() == point_probabilities(totals, "values").tolist()


@pytest.mark.parametrize("models", [2, 3, 7])
@pytest.mark.parametrize("answered", [0, 200])
def test_where_nothing_differs_draws_are_even(models: int, answered: int):
    totals = totals_of(World(MADE.image, MADE.truth, MADE.maps[[0] * models]), answered)
    assert point_probabilities(totals) == pytest.approx(
        np.full(len(totals.pool.pixels), 1 / totals.pool.size)
    )


def test_draws_follow_the_probabilities_and_more_continue_them():
    rows = rows_of(MADE)
    probability = point_probabilities(totals_of(MADE))
    whole = draw_points(*rows, probability, 20_000, seed=3)
    first = draw_points(*rows, probability, 40, seed=3)
    more = draw_points(*rows, probability, 60, seed=3, taken=40)
    for name in ("image", "place", "nth", "probability", "look"):
        both = np.append(getattr(first, name), getattr(more, name))
        assert both.tolist() == getattr(whole, name)[:100].tolist()
    expected = 20_000 * np.bincount(rows[1], rows[2]) * probability
    found = np.bincount(whole.place, minlength=len(expected))
    assert (np.abs(found - expected) < 5 * np.sqrt(expected) + 1).all()
    assert whole.probability == pytest.approx(probability[whole.place])
    assert len(np.unique(whole.look)) == 20_000
    size = dict(zip(zip(*rows[:2], strict=True), rows[2], strict=True))
    held = [size[key] for key in zip(whole.image, whole.place, strict=True)]
    assert ((whole.nth >= 0) & (whole.nth < held)).all()


@pytest.mark.parametrize("seed", range(3))
def test_points_of_a_look_share_an_image_and_keep_their_probabilities(seed: int):
    rows = rows_of(MADE)
    probability = point_probabilities(totals_of(MADE))
    found = draw_points(*rows, probability, 4000, per_image=5, seed=seed)
    images = found.image.reshape(-1, 5)
    assert (images == images[:, :1]).all()
    assert found.look.reshape(-1, 5).tolist() == np.repeat(np.arange(4000), 5).reshape(-1, 5).tolist()
    number = np.bincount(images[:, 0], minlength=IMAGES)
    expected = 4000 * np.bincount(rows[0], rows[2] * probability[rows[1]])
    assert (np.abs(number - expected) < 5 * np.sqrt(expected)).all()
    # the later points of a look are drawn like the first
    expected = 4000 * np.bincount(rows[1], rows[2] * probability[rows[1]])
    for k in range(5):
        number = np.bincount(found.place.reshape(-1, 5)[:, k], minlength=len(expected))
        assert (np.abs(number - expected) < 6 * np.sqrt(expected) + 2).all()


def test_what_has_no_weight_is_never_drawn():
    weights = np.array([0.0, 0.3, 0.0, 0.0, 0.1, 0.0])
    place, inside = along(weights, np.array([0.0, 0.75, 1 - 1e-16, 1.0]))
    assert place.tolist() == [1, 4, 4, 4]
    assert ((inside >= 0) & (inside <= 1)).all()


def test_what_cannot_be_drawn_is_refused():
    totals = totals_of(MADE, masked=np.ones(IMAGES, bool))
    with refused(SelectionError, "every image has a mask"):
        point_probabilities(totals)
    with refused(OptionError, "goal='last' is none of order, best, values"):
        point_probabilities(totals_of(MADE), "last")
    rows = (np.array([0]), np.array([0]), np.array([4]))
    with refused(SelectionError, "no row has a probability"):
        draw_points(*rows, np.array([0.0]), 1)
    with refused(OptionError, "a point a look"):
        draw_points(*rows, np.array([0.25]), 1, per_image=0)
    none = PointAnswers(np.zeros(0, int), np.zeros(0), np.zeros((0, CLASSES + 1)))
    assert none.draws == 0
