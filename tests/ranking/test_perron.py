import numpy as np
import pytest

from faultscape.errors import OptionError, RankingError
from faultscape.ranking.methods.perron import (
    RANDOM_INDEX,
    consistency_ratio,
    dominance,
    perron,
    smoothed_accuracy,
)
from refusals import refused


def reciprocal(seed, j, spread=2.0, batch=()):
    logs = np.random.default_rng(seed).normal(0, spread, (*batch, j, j))
    return np.exp(logs - np.swapaxes(logs, -1, -2))


def eq_5(b, steps):
    """The limit as printed: the mean over alpha of B^alpha 1 / (1^T B^alpha 1)."""
    power, total = np.ones(len(b)), 0.0
    for _ in range(steps):
        power = b @ power
        power /= power.sum()
        total += power
    return total / steps


def test_counts_become_smoothed_accuracies():
    correct, total = np.array([[np.nan, 30], [0, np.nan]]), np.array([[0, 30], [30, 0]])
    correct = np.nan_to_num(correct)
    assert smoothed_accuracy(correct, total)[0, 1] == pytest.approx(31 / 32)
    assert smoothed_accuracy(correct, total)[1, 0] == pytest.approx(1 / 32)
    assert smoothed_accuracy(correct, total, 0)[0, 1] == 1
    assert np.isnan(smoothed_accuracy(correct, total)).tolist() == [[True, False], [False, True]]
    with refused(OptionError, "laplace must be a number not below 0; got -1"):
        smoothed_accuracy(correct, total, -1)
    with refused(RankingError, "between 0 and the number of images"):
        smoothed_accuracy(np.array([3]), np.array([2]))


def test_dominance_is_the_ratio_of_the_two_accuracies_of_a_pair():
    a = np.array([[np.nan, 0.9, 0.5], [0.3, np.nan, 0.0], [0.5, 0.0, np.nan]])
    b = dominance(a)
    assert b[0].tolist() == [1, pytest.approx(3), 1]
    assert b[1, 0] == pytest.approx(1 / 3)
    assert np.isnan(b[1, 2])  # nothing over nothing
    assert dominance(np.array([[1, 0.2], [0, 1]]))[0, 1] == np.inf
    with refused(RankingError, "cannot be negative"):
        dominance(-a)


@pytest.mark.parametrize("j", [2, 3, 5, 11, 40])
def test_a_consistent_matrix_gives_its_scores(j):
    v = np.random.default_rng(j).uniform(0.01, 1, j)
    assert perron(v[:, None] / v) == pytest.approx(v / v.sum(), rel=1e-12)
    # far beyond what an eigenvector of the matrix as it stands would keep
    wide = np.exp(np.linspace(-60, 60, j))
    assert perron(wide[:, None] / wide) == pytest.approx(wide / wide.sum(), rel=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_the_perron_rank_is_the_limit_of_equation_5(seed):
    b = reciprocal(seed, 6, 0.3)
    assert perron(b) == pytest.approx(eq_5(b, 20_000), abs=1e-4)


@pytest.mark.parametrize("spread", [0.1, 1, 3])
def test_scores_are_certified_by_the_bounds_of_collatz(spread):
    for b in reciprocal(7, 8, spread, (20,)):
        # the largest eigenvalue lies between the least and the largest quotient
        quotient = b @ perron(b) / perron(b)
        assert quotient.max() / quotient.min() - 1 < 1e-10


def test_the_scale_of_a_model_does_not_show_in_the_others_and_a_batch_is_a_loop():
    b = reciprocal(3, 5, batch=(30,))
    np.testing.assert_array_equal(perron(b), np.stack([perron(one) for one in b]))
    d = np.array([1, 2, 3, 4, 5.0])
    scaled = perron(b * d[:, None] / d)
    assert scaled == pytest.approx(perron(b) * d / (perron(b) * d).sum(1, keepdims=True), rel=1e-11)
    order = [3, 0, 4, 1, 2]
    assert perron(b[:, order][:, :, order]) == pytest.approx(perron(b)[:, order], rel=1e-11)


def test_a_missing_ratio_changes_nothing_that_the_others_say():
    v = np.array([0.1, 0.2, 0.3, 0.4])
    b = v[:, None] / v
    b[0, 3] = b[3, 0] = b[1, 2] = np.nan
    b[2, 1] = 99  # one side alone is not a ratio
    assert perron(b) == pytest.approx(v, rel=1e-12)


def test_harker_by_hand():
    # a : b = 2, b : c = 2, a and c not compared: the matrix [[2, 2, 0], [1/2, 1, 2], [0, 1/2, 2]] has 4, 2, 1
    # for lambda = 3
    b = np.array([[1, 2, np.nan], [0.5, 1, 2], [np.nan, 0.5, 1]])
    assert perron(b) == pytest.approx(np.array([4, 2, 1]) / 7, rel=1e-13)


def test_models_that_nothing_links_have_no_score():
    b = np.full((5, 5), np.nan)
    b[0, 1], b[1, 0], b[3, 4], b[4, 3], b[2, 3], b[3, 2] = 3, 1 / 3, 2, 0.5, 1, 1
    scores = perron(b)
    assert np.isnan(scores[:2]).all()
    assert scores[2:] == pytest.approx([0.4, 0.4, 0.2])
    assert np.isnan(perron(np.full((3, 3), np.nan))).all()
    assert np.isnan(perron(np.ones((1, 1)))).all()


def test_a_ratio_of_zero_or_infinity_leaves_a_matrix_without_scores():
    b = np.stack([np.array([[1, np.inf], [0, 1]]), np.array([[1, 4], [0.25, 1]])])
    assert np.isnan(perron(b[0])).all()
    assert perron(b)[1] == pytest.approx([0.8, 0.2])
    with refused(RankingError, "cannot be negative"):
        perron(-b[1])
    with refused(RankingError, "square"):
        perron(np.ones((2, 3)))


def test_consistency_is_zero_without_contradiction_and_undefined_without_a_table():
    v = np.arange(1.0, 17)
    assert consistency_ratio(v[:11, None] / v[:11]) == pytest.approx(0, abs=1e-12)
    assert np.isnan(consistency_ratio(v[:2, None] / v[:2]))
    assert np.isnan(consistency_ratio(v[:, None] / v))
    holed = v[:4, None] / v[:4]
    holed[0, 1] = np.nan
    assert np.isnan(consistency_ratio(holed))
    # a circle of ratios t has lambda = 1 + t + 1 / t
    t = 3.0
    circle = np.array([[1, t, 1 / t], [1 / t, 1, t], [t, 1 / t, 1]])
    assert consistency_ratio(circle) == pytest.approx((t + 1 / t - 2) / 2 / 0.58)


@pytest.mark.parametrize("j", [4, 7, 10, 15])
def test_random_matrices_have_a_consistency_ratio_near_one(j):
    scale = np.concatenate([1 / np.arange(9.0, 1, -1), np.arange(1.0, 10)])
    upper = np.triu(np.random.default_rng(j).choice(scale, (1500, j, j)), 1)
    with np.errstate(divide="ignore"):
        random = (
            upper + np.where(np.tril(np.ones((j, j)), -1) > 0, 1 / np.swapaxes(upper, 1, 2), 0) + np.eye(j)
        )
    assert consistency_ratio(random).mean() == pytest.approx(1, abs=0.05)
    assert len(RANDOM_INDEX) == 13
