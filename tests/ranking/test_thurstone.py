import numpy as np
import pytest
from mad_reference import thurstone as reference
from scipy.optimize import brentq, minimize
from scipy.special import log_ndtr, ndtri

from faultscape.errors import RankingError
from faultscape.ranking.methods.likelihood import connected
from faultscape.ranking.methods.thurstone import _slopes, thurstone
from refusals import refused


def ratios(seed, j, spread=1.0):
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(0, spread, (j, j)))


@pytest.mark.parametrize(("a", "b"), [(3, 1), (0.2, 0.7), (1, 1), (99, 0.01), (1e-7, 1)])
def test_two_models_have_the_closed_form(a, b):
    first, second = thurstone(np.array([[1, a], [b, 1.0]]))
    assert first - second == pytest.approx(ndtri(a / (a + b)), rel=1e-12, abs=1e-12)
    assert first + second == pytest.approx(1, abs=1e-14)


def test_three_models_at_a_known_maximum():
    # with w_ij = Phi(s_i - s_j) every term of the gradient vanishes at s
    true = np.array([0.9, -0.2, 0.3])
    weights = np.exp(log_ndtr(true[:, None] - true[None, :]))
    assert thurstone(weights) == pytest.approx(true - true.mean() + 1 / 3, abs=1e-13)


@pytest.mark.parametrize(("j", "spread"), [(3, 0.3), (5, 2.0), (10, 1.0), (25, 0.5)])
def test_it_is_the_maximum_that_scipy_finds(j, spread):
    weights = ratios(j, j, spread)
    scores = thurstone(weights)
    off = weights * (1 - np.eye(j))

    def loss(s):
        return -(off * log_ndtr(s[:, None] - s[None, :])).sum()

    assert scores.sum() == pytest.approx(1, abs=1e-13)
    rough = minimize(loss, np.zeros(j), method="BFGS", options={"gtol": 1e-4})
    assert loss(scores) <= rough.fun + 1e-12 * abs(rough.fun)
    assert scores == pytest.approx(reference(weights), abs=1e-9)


def test_missing_pairs_give_no_term():
    weights = ratios(1, 4)
    weights[0, 3] = weights[3, 0] = np.nan
    assert thurstone(weights) == pytest.approx(reference(weights), abs=1e-9)
    zero = np.where(np.isnan(weights), 0, weights)
    assert (thurstone(zero) == thurstone(weights)).all()


def test_the_diagonal_is_a_constant():
    weights = ratios(2, 4)
    other = weights + np.diag([5.0, np.nan, 0, 7])
    assert (thurstone(weights) == thurstone(other)).all()


def test_a_batch_is_a_loop():
    batch = np.stack([ratios(seed, 6, 0.1 * seed) for seed in range(40)])
    batch[3, 2] = 0
    batch[4, 1, 2] = np.nan
    loop = np.stack([thurstone(one) for one in batch])
    np.testing.assert_array_equal(thurstone(batch), loop)
    np.testing.assert_array_equal(thurstone(batch.reshape(8, 5, 6, 6)), loop.reshape(8, 5, 6))


def test_one_sided_models_have_no_score_and_the_others_keep_theirs():
    weights = ratios(3, 4)
    weights[:, 2] = 0  # nobody beats model 2
    scores = thurstone(weights)
    assert np.isnan(scores).tolist() == [False, False, True, False]
    keep = [0, 1, 3]
    assert scores[keep] == pytest.approx(thurstone(weights[np.ix_(keep, keep)]), abs=1e-13)


def test_two_equal_islands_and_a_ladder_have_no_score_at_all():
    islands = np.full((4, 4), np.nan)
    islands[:2, :2] = islands[2:, 2:] = 1
    ladder = np.triu(np.ones((4, 4)))
    for weights in (islands, ladder, np.full((3, 3), np.nan), np.zeros((2, 2)), np.ones((1, 1))):
        assert np.isnan(thurstone(weights)).all()
        assert not connected(weights).any()


def test_a_cycle_connects_and_a_weight_of_nothing_does_not():
    cycle = np.zeros((5, 5))
    cycle[range(5), [1, 2, 3, 4, 0]] = 2
    assert connected(cycle).all()
    assert thurstone(cycle) == pytest.approx(np.full(5, 0.2), abs=1e-12)
    assert np.isnan(thurstone(np.array([[1, 1.0], [1e-200, 1]]))).all()
    assert np.isfinite(thurstone(np.array([[1, 1.0], [1e-11, 1]]))).all()


def test_slopes_hold_far_in_both_tails():
    x = np.array([-300.0, -40, -5, 0, 5, 30, 60])
    slope, bend = _slopes(x)
    small = 1e-4
    numeric = (log_ndtr(x + small) - log_ndtr(x - small)) / (2 * small)
    assert slope == pytest.approx(numeric, rel=1e-6, abs=1e-12)
    assert ((bend >= 0) & (bend <= 1)).all()
    assert slope[0] == pytest.approx(300 + 1 / 300, rel=1e-6)


@pytest.mark.parametrize("bad", [-1.0, np.inf])
def test_impossible_weights_are_refused(bad):
    with refused(RankingError, "finite and not negative"):
        thurstone(np.array([[1, bad], [1, 1]]))
    with refused(RankingError, "square matrix"):
        thurstone(np.ones((2, 3)))


@pytest.mark.parametrize("n", [3, 1e3, 1e6, 1e9])
def test_a_lopsided_ring_has_equal_flow_all_round(n):
    ring = np.zeros((4, 4))
    ring[[0, 1, 2], [1, 2, 3]], ring[3, 0] = n, 1
    gap = brentq(lambda d: np.log(n * _slopes(d)[0]) - np.log(_slopes(-3 * d)[0]), 0, 20, xtol=1e-14)
    assert -np.diff(thurstone(ring)) == pytest.approx([gap] * 3, rel=1e-9)
