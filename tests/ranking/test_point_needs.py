"""How many points a question needs: closed forms by hand, and how good the forecast is on a drawn world."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.ranking.planning.label_needs import apart_needed, limit_of_all, needed
from faultscape.ranking.planning.point_needs import (
    PointNeed,
    many_points,
    measured_covariance,
    point_curve,
    point_worlds,
    points_to_tell,
)
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.estimates import point_scores
from faultscape.ranking.points.intervals import better_p_values, pool_spread
from faultscape.ranking.points.scores import Totals, score
from faultscape.ranking.points.totals import point_totals
from faultscape.ranking.simultaneous_ranks import better
from faultscape.selection.points.foreseen import foreseen_covariance
from faultscape.selection.points.probabilities import point_probabilities
from faultscape.standings import MOST_POINTS, Gap
from made_points import CLASSES, World, world


def gap(difference: float, half: float) -> Gap:
    return Gap("a", "b", difference, [difference - half, difference + half], difference > half)


def test_a_difference_that_is_well_known_needs_what_its_intervals_say() -> None:
    # intervals narrow with the root of the number; four of five tests succeed .84 standard errors later
    need = points_to_tell(gap(0.2, 0.02), 300, 2)
    assert need.points == pytest.approx(300 * ((1.96 + 0.84) / 1.96 * 0.02 / 0.2) ** 2, rel=0.01)
    assert need.low < need.points < need.high < 1.2 * need.points


def test_models_that_seem_equal_may_still_differ() -> None:
    # the median of a half-normal is .674 standard errors, a tenth and nine tenths are .126 and 1.645
    need = points_to_tell(gap(0.0, 0.0196), 1000, 2)
    for found, share in zip(need, (0.6745, 1.6449, 0.1257), strict=True):
        assert found == pytest.approx(1000 * ((1.96 + 0.8416) / share) ** 2, rel=0.01)


def test_more_models_need_more_points_since_all_pairs_must_hold_at_once() -> None:
    # half an interval is one for all pairs: the same half says less about a single pair of many
    two = apart_needed(0.015, point_curve(0.05 * np.eye(2)))
    ten = apart_needed(0.015, point_curve(0.05 * np.eye(10)))
    assert two == pytest.approx(0.1 * ((limit_of_all(2) + 0.8416) / 0.015) ** 2, rel=1e-3)
    assert ten == pytest.approx(two * ((3.258 + 0.8416) / 2.8016) ** 2, rel=1e-2)


def test_what_nobody_answers_is_hopeless() -> None:
    assert points_to_tell(gap(0.0, 0.0196), 20_000, 2).hopeless
    assert not points_to_tell(gap(0.0, 0.0196), 300, 2).hopeless
    nothing = points_to_tell(gap(0.1, 0.0), 300, 2)  # a map answers every pixel
    assert nothing == PointNeed(np.inf, np.inf, np.inf)
    assert PointNeed(430, 120, 90_000).more(300) == (150, 50, MOST_POINTS - 300)


def test_numbers_of_points_are_rounded_up() -> None:
    assert [many_points(n) for n in (1, 99, 101, 2_701, MOST_POINTS, MOST_POINTS + 1)] == [
        "1",
        "99",
        "110",
        "2,800",
        "20,000",
        "20,000+",
    ]


def test_worlds_are_as_far_apart_as_the_answers_leave_them() -> None:
    covariance = np.array([[0.09, 0.04], [0.04, 0.05]])
    worlds = point_worlds(np.array([0.5, 0.46]), covariance, 400)
    apart = worlds[:, 1] - worlds[:, 0]
    error = np.sqrt((0.09 + 0.05 - 0.08) / 400)
    assert apart.mean() == pytest.approx(0.04, abs=3 * error / 20)
    assert apart.std() == pytest.approx(error, rel=0.1)


MADE = world(seed=3, pixels=20_000, void=0.0)
POOL, PLACE = MADE.pool()
REAL = score(Totals.of(MADE.confusion), "miou", np.ones((3, CLASSES), bool)).value
REPEATS = 24


def asked(made: World, number: int, seed: int) -> tuple[np.ndarray, ...]:
    """Scores, errors of differences, and who is better for certain, from so many points."""
    none = PointAnswers(np.zeros(0, int), np.zeros(0), np.zeros((0, CLASSES + 1)))
    chance = point_probabilities(point_totals(POOL, none, void=False))[PLACE]
    pixel = np.random.default_rng([seed, number]).choice(len(made.truth), number, p=chance)
    totals = point_totals(POOL, made.answers(PLACE, pixel, chance), void=False)
    found = point_scores(totals)
    spread = pool_spread(totals, found)
    return (
        found.score,
        spread.error_of_differences,
        better(better_p_values(found, spread)),
        measured_covariance(found, spread),
    )


def test_before_any_answer_the_variance_is_foreseen_within_a_factor_of_three() -> None:
    said = point_curve(foreseen_covariance(POOL, void=False)).pairs[0]
    first, second = np.triu_indices(3, 1)
    errors = np.array([asked(MADE, 600, seed)[1][first, second] for seed in range(6)])
    real = 600 * (errors**2).mean(0)
    assert (real / 3 < said).all()
    assert (said < 3 * real).all()


@pytest.mark.slow
def test_from_answers_the_forecast_comes_true() -> None:
    """From 200 answers about two models 3.4 points apart: of ranges that should hold the number in four of
    five cases most do, and at the number that is forecast most repeats tell the two apart.
    """
    best, other = np.argsort(-REAL)[:2]
    at_last = [asked(MADE, 3000, seed) for seed in range(12)]
    variance = 3000 * np.mean([errors[best, other] ** 2 for _, errors, _, _ in at_last])
    limit = limit_of_all(3) + 0.8416
    number = variance * (limit / (REAL[best] - REAL[other])) ** 2
    needs = []
    for seed in range(REPEATS):
        scores, errors, _, _ = asked(MADE, 200, seed)
        half = limit_of_all(3) * errors[best, other]
        needs.append(points_to_tell(gap(abs(scores[best] - scores[other]), half), 200, 3))
    assert 0.4 < np.median([need.points for need in needs]) / number < 2.5
    assert np.mean([need.low <= number <= need.high for need in needs]) >= 0.7
    told = [asked(MADE, int(number), seed)[2][best, other] for seed in range(REPEATS)]
    assert np.mean(told) >= 0.6
    half_told = [asked(MADE, int(number / 4), seed)[2][best, other] for seed in range(REPEATS)]
    assert np.mean(half_told) <= 0.5


def test_worlds_of_answers_say_how_many_the_best_needs() -> None:
    scores, _, _, covariance = asked(MADE, 3000, 1)
    curve = point_curve(covariance)
    worlds = point_worlds(scores, covariance, 3000)
    numbers = needed("best_proved", worlds, curve)
    order = needed("order_proved", worlds, curve)
    assert (numbers <= order).all()
    assert np.median(numbers) < np.median(needed("best_proved", worlds, point_curve(4 * covariance)))
