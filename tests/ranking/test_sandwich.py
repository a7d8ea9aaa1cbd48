import numpy as np
import pytest

from faultscape.errors import RankingError
from faultscape.ranking.intervals import bootstrap_weights
from faultscape.ranking.methods.bradley_terry import bradley_terry, wins
from faultscape.ranking.methods.davidson import bradley_terry_ties, chances
from faultscape.ranking.methods.sandwich import reuse_games, sandwich, standard_errors
from faultscape.ranking.pair_cases import pair_counts
from refusals import refused


def answers(seed, j=5, i=400):
    """Right or wrong, hard images hard for all."""
    rng = np.random.default_rng(seed)
    return (rng.normal(0, 1, i) + rng.normal(0, 1, (j, i)) < np.linspace(-0.2, 0.9, j)[:, None]).astype(float)


def test_one_pair_has_the_variance_of_the_log_odds():
    won = np.repeat([1.0, 0.0], [30, 20])
    games = (np.zeros(50, int), np.ones(50, int), np.arange(50), won)
    strengths = bradley_terry(np.array([[0, 30.0], [20, 0]]), 0)
    covariance = sandwich(games, strengths, pseudo_count=0)
    # var(log(p / (1 - p))) = 1 / (n p (1 - p)) = 1/30 + 1/20, with n / (n - 1); each strength carries half
    assert 4 * covariance[0, 0] == pytest.approx((1 / 30 + 1 / 20) * 50 / 49, rel=1e-12)
    assert covariance == pytest.approx(covariance[0, 0] * np.array([[1, -1], [-1, 1]]), rel=1e-9)


def test_the_pseudo_count_holds_back_the_error_as_it_does_the_strength():
    won = np.repeat([1.0, 0.0], [30, 20])
    strengths = bradley_terry(np.array([[0, 30.0], [20, 0]]), 20)
    p = 50 / 90
    # the slopes of 50 images spread by 50 x .6 x .4, around the mean that the pseudo-count takes away; 90
    # games bend
    expected = 50 * 0.6 * 0.4 * 50 / 49 / (90 * p * (1 - p)) ** 2
    games = (np.zeros(50, int), np.ones(50, int), np.arange(50), won)
    assert 4 * sandwich(games, strengths, pseudo_count=20)[0, 0] == pytest.approx(expected, rel=1e-12)


def test_one_pair_with_ties_has_the_variance_of_the_log_ratio_of_wins():
    points = np.repeat([1.0, 0.5, 0.0], [9, 12, 4])
    games = (np.zeros(25, int), np.ones(25, int), np.arange(25), points)
    strengths, nu = bradley_terry_ties(np.array([[0, 9.0], [4, 0]]), np.array([[0, 12.0], [12, 0]]), 0)
    covariance = sandwich(games, strengths, float(nu), 0)
    # of a multinomial, whatever the ties
    assert 4 * covariance[0, 0] == pytest.approx((1 / 9 + 1 / 4) * 25 / 24, rel=1e-9)


def test_the_pseudo_count_holds_back_the_error_with_ties_too():
    points = np.repeat([1.0, 0.5, 0.0], [10, 5, 10])
    games = (np.zeros(25, int), np.ones(25, int), np.arange(25), points)
    strengths, nu = bradley_terry_ties(np.array([[0, 10.0], [10, 0]]), np.array([[0, 5.0], [5, 0]]), 20)
    assert strengths == pytest.approx([0, 0], abs=1e-12)
    win, tie = chances(np.zeros(()), float(nu))
    # as many wins as losses: the strengths do not move with nu; 25 games and 2 x 20 of the pseudo-count bend
    # alike
    bends = (25 + 2 * 20) * (win**2 + tie * (1 - tie) / 4)
    expected = 20 * 0.25 * 25 / 24 / bends**2
    assert 4 * sandwich(games, strengths, float(nu), 20)[0, 0] == pytest.approx(float(expected), rel=1e-9)


def test_the_same_image_in_many_games_is_one_observation():
    won = np.repeat([1.0, 0.0], [30, 20])
    once = (np.zeros(50, int), np.ones(50, int), np.arange(50), won)
    thrice = tuple(np.tile(column, 3) for column in once)
    strengths = bradley_terry(np.array([[0, 30.0], [20, 0]]), 0)
    assert sandwich(thrice, strengths, pseudo_count=0) == pytest.approx(
        sandwich(once, strengths, pseudo_count=0), rel=1e-10
    )


@pytest.mark.parametrize("pseudo_count", [0, 0.5, 20])
def test_errors_of_re_use_are_those_of_the_bootstrap_over_images(pseudo_count):
    correct = answers(0)
    strengths = bradley_terry(wins(correct)[0], pseudo_count)
    draws = bradley_terry(wins(correct, bootstrap_weights(400, 2000, 1)), pseudo_count)
    errors = standard_errors(reuse_games(correct), strengths, 0.0, pseudo_count)
    assert errors == pytest.approx(draws.std(0), rel=0.06)
    assert sandwich(reuse_games(correct), strengths, 0.0, pseudo_count) == pytest.approx(
        np.cov(draws.T), abs=0.1 * errors.max() ** 2
    )


def test_errors_of_own_pairs_with_ties_are_those_of_the_bootstrap_over_images():
    correct = answers(1)
    rng = np.random.default_rng(2)
    first = rng.integers(0, 5, 1500)
    second, image = (first + rng.integers(1, 5, 1500)) % 5, rng.integers(0, 400, 1500)
    first, second, image = np.unique(
        np.stack([np.minimum(first, second), np.maximum(first, second), image]), axis=1
    )
    counts = pair_counts(
        first, second, image, correct, np.vstack([np.ones(400), bootstrap_weights(400, 2000, 3)])
    )
    strengths, nu = bradley_terry_ties(counts.wins, counts.ties)
    games = (first, second, image, (1 + correct[first, image] - correct[second, image]) / 2)
    errors = standard_errors(games, strengths[0], float(nu[0]))
    assert errors == pytest.approx(strengths[1:].std(0), rel=0.06)
    naive = standard_errors((first, second, np.arange(len(first)), games[3]), strengths[0], float(nu[0]))
    assert np.abs(naive / strengths[1:].std(0) - 1).max() > 0.1  # games of one image do not stand alone


def test_models_without_strength_have_no_error():
    correct = answers(2, j=3)
    strengths = np.append(bradley_terry(wins(correct)[0]), np.nan)
    errors = standard_errors(reuse_games(np.vstack([correct, np.full(400, np.nan)])), strengths)
    assert np.isnan(errors).tolist() == [False, False, False, True]
    assert errors[:3] == pytest.approx(standard_errors(reuse_games(correct), strengths[:3]))
    assert np.isnan(sandwich(reuse_games(correct[:, :1]), strengths[:3])).all()
    with refused(RankingError, "models 0 to 1"):
        sandwich(reuse_games(correct), strengths[:2])


def test_games_of_re_use_are_all_pairs_of_known_models():
    first, second, image, points = reuse_games(np.array([[1, 0.2], [0, 0.2], [np.nan, 0.1]]))
    assert sorted(zip(first, second, image, points, strict=True)) == [
        (0, 1, 0, 1),
        (0, 1, 1, 0.5),
        (0, 2, 1, 1),
        (1, 2, 1, 1),
    ]
