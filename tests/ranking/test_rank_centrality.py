import numpy as np
import pytest

from faultscape.errors import OptionError, RankingError
from faultscape.ranking.methods.borda import borda
from faultscape.ranking.methods.rank_centrality import rank_centrality
from refusals import refused


def games(seed, j, most=9):
    counts = np.random.default_rng(seed).integers(1, most, (j, j))
    np.fill_diagonal(counts, 0)
    return counts


def walk(wins):
    """The walk of the paper, with its largest degree, and its stationary distribution by solving."""
    j = len(wins)
    met = wins + wins.T
    p = np.zeros((j, j))
    most = (met > 0).sum(1).max()
    for a in range(j):
        for b in range(j):
            if a != b and met[a, b]:
                p[a, b] = wins[b, a] / met[a, b] / most
        p[a, a] = 1 - p[a].sum()
    return np.linalg.lstsq(np.vstack([p.T - np.eye(j), np.ones(j)]), np.append(np.zeros(j), 1), rcond=None)[0]


@pytest.mark.parametrize("j", [3, 6, 12])
def test_rank_centrality_is_that_of_choix_and_of_the_walk_as_printed(j):
    import choix

    counts = games(j, j)
    data = [(a, b) for a, b in np.ndindex(counts.shape) for _ in range(int(counts[a, b]))]
    theirs = np.exp(choix.rank_centrality(j, data))
    mine = rank_centrality(counts, 0)
    assert mine == pytest.approx(theirs / theirs.sum(), rel=1e-9)
    assert mine == pytest.approx(walk(counts), rel=1e-9)


def test_a_gap_in_the_table_is_no_comparison():
    counts = games(1, 6).astype(float)
    counts[0, 3:] = counts[3:, 0] = np.nan
    assert rank_centrality(counts, 0) == pytest.approx(walk(np.nan_to_num(counts)), rel=1e-9)


def test_the_model_itself_gives_its_strengths_back():
    v = np.array([0.5, 0.3, 0.15, 0.05])
    assert rank_centrality(100 * v[:, None] / (v[:, None] + v), 0) == pytest.approx(v, rel=1e-13)
    wide = np.exp(-4.0 * np.arange(8))  # small scores keep their digits: nothing is subtracted
    assert rank_centrality(wide[:, None] / (wide[:, None] + wide), 0) == pytest.approx(
        wide / wide.sum(), rel=1e-12
    )


def test_two_circles_that_never_met_are_not_ranked_and_the_larger_is():
    circle = np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
    wins = np.zeros((5, 5))
    wins[2:, 2:] = circle
    wins[0, 1] = wins[1, 0] = 3
    assert rank_centrality(wins, 0) == pytest.approx([np.nan, np.nan, 1 / 3, 1 / 3, 1 / 3], nan_ok=True)
    alone = np.zeros((4, 4))
    alone[0, 1] = alone[1, 0] = alone[2, 3] = alone[3, 2] = 1
    assert np.isnan(rank_centrality(alone)).all()
    with refused(OptionError, "pseudo-count"):
        rank_centrality(alone, -1)


def test_a_batch_is_a_loop():
    batch = np.stack([games(seed, 5) for seed in range(20)])
    batch[4, 0] = batch[4, :, 0] = 0
    np.testing.assert_array_equal(rank_centrality(batch), np.stack([rank_centrality(one) for one in batch]))
    np.testing.assert_array_equal(borda(batch), np.stack([borda(one) for one in batch]))


def test_borda_is_the_mean_share_of_wins_over_opponents_not_over_games():
    wins = np.array([[0, 1, 90.0], [0, 0, 5], [10, 5, 0]])
    assert borda(wins) == pytest.approx([(1 + 0.9) / 2, (0 + 0.5) / 2, (0.1 + 0.5) / 2])
    wins[0, 1] = np.nan
    assert borda(wins) == pytest.approx([0.9, 0.5, 0.3])
    assert np.isnan(borda(np.zeros((3, 3)))).all()
    with refused(RankingError, "not below 0"):
        borda(-wins)
