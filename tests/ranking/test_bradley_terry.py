import numpy as np
import pytest
from mad_reference import bradley_terry as reference
from scipy.optimize import brentq
from scipy.special import expit

from faultscape.errors import OptionError, RankingError
from faultscape.ranking.methods.bradley_terry import bradley_terry, smoothed, wins
from refusals import refused


def games(seed, j, most=9):
    counts = np.random.default_rng(seed).integers(0, most, (j, j))
    np.fill_diagonal(counts, 0)
    return counts


def as_data(counts):
    return [(i, j) for i, j in np.ndindex(counts.shape) for _ in range(int(counts[i, j]))]


def test_two_models_have_the_closed_form():
    first, second = bradley_terry(np.array([[0, 6.0], [2, 0]]), 0)
    assert first - second == pytest.approx(np.log(3), abs=1e-13)
    assert first + second == pytest.approx(0, abs=1e-15)
    assert np.subtract(*bradley_terry(np.array([[0, 6.0], [0, 0]]))) == pytest.approx(
        np.log(6.5 / 0.5), abs=1e-12
    )


@pytest.mark.parametrize("j", [3, 6, 12])
def test_choix_finds_the_same_on_whole_games(j):
    import choix

    counts = games(j, j) + (1 - np.eye(j, dtype=int))
    with np.errstate(all="ignore"):
        theirs = choix.opt_pairwise(j, as_data(counts), alpha=0, tol=1e-12)
    assert bradley_terry(counts, 0) == pytest.approx(theirs - theirs.mean(), abs=1e-5)
    iterated = choix.ilsr_pairwise(j, as_data(counts), alpha=0, tol=1e-12)
    assert bradley_terry(counts, 0) == pytest.approx(iterated - iterated.mean(), abs=1e-9)


def test_a_pseudo_count_of_one_is_one_win_more_on_both_sides():
    import choix

    counts = games(4, 5)
    theirs = choix.ilsr_pairwise(5, as_data(counts + ((counts + counts.T) > 0)), alpha=0, tol=1e-12)
    assert bradley_terry(counts, 1) == pytest.approx(theirs - theirs.mean(), abs=1e-9)
    assert bradley_terry(counts) == pytest.approx(reference(counts), abs=1e-9)


def test_the_pseudo_count_invents_no_comparison():
    islands = np.zeros((5, 5))
    islands[0, 1] = islands[2, 3] = islands[3, 4] = 4
    assert smoothed(islands)[0, 2] == 0
    scores = bradley_terry(islands)
    assert np.isnan(scores[:2]).all()
    assert scores[2:] == pytest.approx(np.log(9) * np.array([1, 0, -1]), abs=1e-12)


def test_always_winning_gives_no_huge_number():
    sweep = np.triu(np.full((6, 6), 30.0), 1)
    assert np.isnan(bradley_terry(sweep, 0)).all()
    assert np.abs(bradley_terry(sweep)).max() < 10


def test_wins_count_ties_half_and_skip_what_is_unknown():
    accuracy = np.array([[0.9, 0.5, 0.7, np.nan], [0.1, 0.5 + 1e-14, np.nan, 0.3], [0.9, 0.2, 0.8, np.nan]])
    won = wins(accuracy, np.array([[1, 1, 1, 1], [2, 0, 3, 5]]))
    assert won[0].tolist() == [[0, 1.5, 1.5], [0.5, 0, 1], [1.5, 1, 0]]
    assert won[1].tolist() == [[0, 2, 1], [0, 0, 0], [4, 2, 0]]
    assert (wins(accuracy)[0] == won[0]).all()


def test_a_batch_is_a_loop():
    batch = np.stack([games(seed, 5) for seed in range(30)])
    np.testing.assert_array_equal(bradley_terry(batch), np.stack([bradley_terry(one) for one in batch]))


def test_impossible_numbers_are_refused():
    with refused(OptionError, "pseudo-count"):
        bradley_terry(np.ones((2, 2)), -1)
    with refused(RankingError, "not negative"):
        bradley_terry(np.array([[0, -3.0], [2, 0]]), 0)


@pytest.mark.parametrize("n", [3, 1e3, 1e9])
def test_a_lopsided_ring_has_equal_flow_all_round(n):
    ring = np.zeros((4, 4))
    ring[[0, 1, 2], [1, 2, 3]], ring[3, 0] = n, 1
    gap = brentq(lambda d: np.log(n * expit(-d)) - np.log(expit(3 * d)), 0, 40, xtol=1e-14)
    assert -np.diff(bradley_terry(ring, 0)) == pytest.approx([gap] * 3, rel=1e-9)


def test_wild_weights_need_the_damping_and_balance_at_every_model():
    rng = np.random.default_rng(5)
    wild = np.exp(rng.uniform(-8, 8, (400, 5, 5))) * (rng.random((400, 5, 5)) < 0.3)
    wild[:, range(5), [1, 2, 3, 4, 0]] = np.exp(rng.uniform(-8, 8, (400, 5)))
    wild[:, range(5), range(5)] = 0
    scores = bradley_terry(wild, 0)
    lost = wild * expit(scores[:, None, :] - scores[:, :, None])
    assert lost.sum(1) == pytest.approx(lost.sum(2), rel=1e-5)
