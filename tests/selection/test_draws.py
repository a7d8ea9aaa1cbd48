"""Draws without replacement: the probabilities are exact, and N and M more are N + M."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import OptionError, SelectionError
from faultscape.selection.draws import draw, representatives
from refusals import refused

WEIGHTS = np.array([5.0, 0.0, 1.0, 3.0, 1.0])


def test_a_probability_is_that_among_the_images_left() -> None:
    drawn = draw(WEIGHTS, 4, seed=3)
    left = WEIGHTS.copy()
    for image, probability in zip(drawn.images, drawn.probability, strict=True):
        assert probability == pytest.approx(left[image] / left.sum(), abs=1e-15)
        left[image] = 0
    assert drawn.pool == 4
    assert sorted(drawn.images.tolist()) == [0, 2, 3, 4]
    assert drawn.probability[-1] == 1


@pytest.mark.slow
def test_orders_come_as_often_as_their_probabilities_say() -> None:
    runs = 6000
    seen = Counter(tuple(draw(WEIGHTS, 2, seed=s).images.tolist()) for s in range(runs))
    for order in permutations([0, 2, 3, 4], 2):
        first, second = (WEIGHTS[i] for i in order)
        chance = first / 10 * second / (10 - first)
        assert abs(seen[order] - runs * chance) < 4 * np.sqrt(runs * chance * (1 - chance)), order


def test_the_same_seed_is_the_same_draw_and_another_is_not() -> None:
    weights = np.random.default_rng(0).random(500)
    assert (draw(weights, 50, seed=1).images == draw(weights, 50, seed=1).images).all()
    assert (draw(weights, 50, seed=1).images != draw(weights, 50, seed=2).images).any()


@pytest.mark.parametrize("rounds", [(30, 12), (1, 40, 1), (7,) * 6])
def test_draws_in_rounds_are_the_draws_at_once(rounds: tuple[int, ...]) -> None:
    weights = np.random.default_rng(4).exponential(size=300) * (np.arange(300) % 5 > 0)
    families = np.arange(300) // 2
    whole = draw(weights, 42, seed=9, families=families)
    images, probability = np.empty(0, int), np.empty(0)
    for number in rounds:
        more = draw(weights, number, seed=9, taken=images, families=families)
        images, probability = np.append(images, more.images), np.append(probability, more.probability)
        assert more.pool == whole.pool
    assert images.tolist() == whole.images.tolist()
    assert probability.tolist() == whole.probability.tolist()


@pytest.mark.slow
def test_weights_may_change_between_rounds_and_the_probability_is_of_the_new_ones() -> None:
    first = draw(WEIGHTS, 1, seed=0)
    changed = np.array([1.0, 1.0, 1.0, 1.0, 6.0])
    left = changed.sum() - changed[first.images[0]]
    runs, last = 3000, 0
    for seed in range(runs):
        before = draw(WEIGHTS, 1, seed=seed).images
        if before[0] == first.images[0]:
            more = draw(changed, 1, seed=seed, taken=before)
            assert more.probability[0] == pytest.approx(changed[more.images[0]] / left)
            last += int(more.images[0] == 4)
    among = sum(draw(WEIGHTS, 1, seed=s).images[0] == first.images[0] for s in range(runs))
    chance = changed[4] / left
    assert abs(last - among * chance) < 4 * np.sqrt(among * chance * (1 - chance))


def test_of_a_family_only_the_first_image_with_a_weight_is_drawn() -> None:
    families = np.array([0, 1, 0, 1, 2])
    drawn = draw(WEIGHTS, 9, families=families)
    # image 1 has no weight, so that 3 stands for the family
    assert sorted(drawn.images.tolist()) == [0, 3, 4]
    assert drawn.pool == 3
    assert representatives(families).tolist() == [True, True, False, False, True]


def test_a_pool_that_ends_gives_fewer_and_then_says_so() -> None:
    assert len(draw(WEIGHTS, 3, taken=[0, 2]).images) == 2
    with refused(SelectionError, "no image is left to draw: 4 of 5 have a weight"):
        draw(WEIGHTS, 1, taken=[0, 2, 3, 4])
    with refused(SelectionError, "0 of 3 have a weight"):
        draw(np.zeros(3), 1)


def test_weights_without_a_finite_sum_are_refused() -> None:
    with refused(OptionError, "must have a finite sum; divide them by the largest"):
        draw(np.full(3, 1e308), 1)
    assert draw(np.array([1e308, 1.0]), 1).images.tolist() == [0]


@pytest.mark.parametrize("wrong", [[-1.0, 2.0], [np.nan, 1.0], [[1.0, 2.0]], [np.inf, 1.0]])
def test_weights_that_are_none_are_refused(wrong: list) -> None:
    with refused(OptionError, "one finite number an image, none below 0"):
        draw(np.array(wrong), 1)
    with refused(OptionError, "number of draws must not be below 0; got -1"):
        draw(WEIGHTS, -1)


def test_very_unequal_weights_never_draw_what_is_gone_or_has_none() -> None:
    weights = np.concatenate([np.zeros(3), 10.0 ** np.arange(-14, 3), np.zeros(3)])
    for seed in range(40):
        images = draw(weights, 17, seed=seed).images
        assert sorted(images.tolist()) == list(range(3, 20))


def plainly(weights: np.ndarray, number: int, seed: int) -> tuple[list[int], list[float]]:
    """The same draws, step by step: what is left is summed exactly, anew at each step."""
    left, images, probability = weights.tolist(), [], []
    for chance in np.random.default_rng(seed).random(number).tolist():
        whole = fsum(left)
        ahead = [fsum(left[: k + 1]) for k in range(len(left))]
        place = next(
            k
            for k in range(len(left))
            if left[k] > 0 and (ahead[k] > chance * whole or not any(left[k + 1 :]))
        )
        images.append(place)
        probability.append(left[place] / whole)
        left[place] = 0.0
    return images, probability


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 70), st.floats(0, 12))
def test_light_images_keep_their_digits_when_the_heavy_ones_are_gone(
    seed: int, images: int, decades: float
) -> None:
    weights = 10.0 ** -np.random.default_rng(seed).uniform(0, decades, images)
    drawn = draw(weights, images, seed=seed)
    expected, probability = plainly(weights, images, seed)
    assert drawn.images.tolist() == expected
    np.testing.assert_allclose(drawn.probability, probability, rtol=1e-9)


def test_few_draws_of_very_many_images_have_exact_probabilities() -> None:
    weights = np.concatenate([[1e12, 3e11], np.random.default_rng(2).uniform(1e-3, 1e-2, 200_000)])
    drawn = draw(weights, 12, seed=5)
    assert sorted(drawn.images[:2].tolist()) == [0, 1]
    left = fsum(weights[2:].tolist())
    for image, probability in zip(drawn.images[2:].tolist(), drawn.probability[2:].tolist(), strict=True):
        assert probability == pytest.approx(weights[image] / left, rel=1e-9)
        left -= weights[image]
