import numpy as np
import pytest
from scipy.optimize import minimize

from faultscape.errors import OptionError, RankingError
from faultscape.ranking.methods.bradley_terry import bradley_terry
from faultscape.ranking.methods.davidson import bradley_terry_ties, chances
from refusals import refused


def made(seed, j, most=9):
    rng = np.random.default_rng(seed)
    wins, ties = rng.integers(1, most, (2, j, j)).astype(float)
    ties = np.triu(ties, 1)
    np.fill_diagonal(wins, 0)
    return wins, ties + ties.T


def likelihood(wins, ties, s, nu):
    """As printed: pi_i / (pi_i + pi_j + nu sqrt(pi_i pi_j)) and nu sqrt(pi_i pi_j) over the same."""
    pi = np.exp(s)
    total = 0.0
    for i in range(len(s)):
        for j in range(len(s)):
            whole = pi[i] + pi[j] + nu * np.sqrt(pi[i] * pi[j])
            if i != j:
                total += wins[i, j] * np.log(pi[i] / whole)
            if i < j and ties[i, j]:
                total += ties[i, j] * np.log(nu * np.sqrt(pi[i] * pi[j]) / whole)
    return total


def test_two_models_have_the_closed_form():
    s, nu = bradley_terry_ties(np.array([[0, 9.0], [4, 0]]), np.array([[0, 12.0], [12, 0]]), 0)
    assert s[0] - s[1] == pytest.approx(np.log(9 / 4), abs=1e-12)
    assert nu == pytest.approx(12 / np.sqrt(9 * 4), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_maximum_of_the_likelihood_as_printed(seed):
    wins, ties = made(seed, 5)
    s, nu = bradley_terry_ties(wins, ties, 0)
    found = minimize(
        lambda x: -likelihood(wins, ties, x[:5], np.exp(x[5])),
        np.zeros(6),
        method="BFGS",
        options={"gtol": 1e-7},
    ).x
    assert s == pytest.approx(found[:5] - found[:5].mean(), abs=1e-5)
    assert nu == pytest.approx(np.exp(found[5]), abs=1e-4)
    for step in np.vstack([np.eye(6), -np.eye(6)]) * 1e-3:
        assert likelihood(wins, ties, s + step[:5], nu * np.exp(step[5])) < likelihood(wins, ties, s, nu)


def test_points_expected_are_points_had():
    wins, ties = made(9, 7)
    s, nu = bradley_terry_ties(wins, ties, 0)
    win, tie = chances(s[:, None] - s, nu)
    games = wins + wins.T + ties
    assert (games * (win + tie / 2) * (1 - np.eye(7))).sum(1) == pytest.approx(
        (wins + ties / 2).sum(1), rel=1e-10
    )
    assert (games * tie * (1 - np.eye(7))).sum() == pytest.approx(ties.sum(), rel=1e-10)


def test_without_ties_it_is_bradley_terry_and_all_met_alike_it_orders_by_points():
    wins, _ = made(2, 6)
    s, nu = bradley_terry_ties(wins, np.zeros((6, 6)))
    assert s == pytest.approx(bradley_terry(wins), abs=1e-10)
    assert nu == 0
    rng = np.random.default_rng(4)
    upper = np.triu(rng.multinomial(30, [0.4, 0.25, 0.35], (6, 6)).transpose(2, 0, 1), 1).astype(float)
    wins, ties = upper[0] + upper[1].T, upper[2] + upper[2].T
    s, _ = bradley_terry_ties(wins, ties)
    assert np.argsort(s).tolist() == np.argsort((wins + ties / 2).sum(1), kind="stable").tolist()


def test_the_pseudo_count_is_half_a_win_both_ways_where_two_met_or_tied():
    wins = np.array([[0, 3.0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    ties = np.zeros((4, 4))
    ties[1, 2] = ties[2, 1] = 4
    s, nu = bradley_terry_ties(wins, ties)
    more = wins.copy()
    for i, j in ((0, 1), (1, 0), (1, 2), (2, 1)):
        more[i, j] += 0.5
    same, same_nu = bradley_terry_ties(more[:3, :3], ties[:3, :3], 0)
    assert s == pytest.approx([*same, np.nan], abs=1e-12, nan_ok=True)
    assert nu == pytest.approx(same_nu, rel=1e-12)


def test_ties_alone_do_not_bound_a_difference():
    wins, ties = np.array([[0, 5.0], [0, 0]]), np.array([[0, 3.0], [3, 0]])
    s, nu = bradley_terry_ties(wins, ties, 0)
    assert np.isnan(s).all()
    assert np.isnan(nu)
    assert likelihood(wins, ties, np.array([9.0, -9]), 3 / 5 * np.exp(9)) > likelihood(
        wins, ties, np.array([5.0, -5]), 3 / 5 * np.exp(5)
    )
    assert np.isfinite(bradley_terry_ties(wins, ties)[0]).all()


def test_a_batch_is_a_loop_and_far_apart_models_are_found():
    wins, ties = (np.stack(part) for part in zip(*(made(seed, 5) for seed in range(20)), strict=True))
    wins[3] *= np.exp(np.random.default_rng(0).uniform(-8, 8, (5, 5)))
    ties[5] = 0
    wins[6, 0] = wins[6, :, 0] = ties[6, 0] = ties[6, :, 0] = 0
    s, nu = bradley_terry_ties(wins, ties)
    for k in range(20):
        one, its = bradley_terry_ties(wins[k], ties[k])
        np.testing.assert_allclose(s[k], one, atol=1e-12)
        np.testing.assert_allclose(nu[k], its, rtol=1e-12)
    assert np.isnan(s[6]).tolist() == [True, False, False, False, False]
    assert np.isfinite(s[3]).all()


def test_impossible_numbers_are_refused():
    with refused(RankingError, "ties must be a symmetric matrix"):
        bradley_terry_ties(np.ones((2, 2)), np.array([[0, 1], [2, 0]]))
    with refused(RankingError, "not negative"):
        bradley_terry_ties(np.array([[0, -1.0], [1, 0]]), np.zeros((2, 2)), 0)
    with refused(OptionError, "pseudo-count"):
        bradley_terry_ties(np.ones((2, 2)), np.zeros((2, 2)), -1)
