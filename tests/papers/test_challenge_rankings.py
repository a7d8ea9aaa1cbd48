"""The example of Wiesenfarth et al. 2021 (challengeR): three simulated challenges of five algorithms, and what its
package expects of small tables.

Conventions: the example's scores are drawn by R's own generator, which is written out here; the first numbers are
those printed in the package's data_matrix.csv (version 1.0.5), and its vignettes give the seeds. In ``ideal`` each
algorithm is better than the next in every case, in ``random`` all five have one distribution ("there should in
fact be only one shared rank for all algorithms"), in ``worst`` every order of the five occurs once. Ranks of small
tables are those of the package's tests of its three ways of ranking.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.special import expit, ndtri

from faultscape.ranking.tables.assembly import rank_scores
from faultscape.ranking.tables.orders import lowest_ranks, numbers_of_methods
from faultscape.ranking.tables.result import RankedTable
from faultscape.ranking.tables.score_table import score_table

NAMES = ("A1", "A2", "A3", "A4", "A5")


def uniforms(seed: int, count: int) -> np.ndarray:
    """R's runif after set.seed: a linear congruential generator fills the Mersenne Twister, whose 32 bits are
    divided by 2^32.
    """
    state = []
    for k in range(50 + 625):
        seed = (69069 * seed + 1) & 0xFFFFFFFF
        if k >= 50:
            state.append(seed)
    bits = np.random.MT19937()
    key = np.array(state[1:], np.uint32)
    bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
    return bits.random_raw(count) * 2.3283064365386963e-10


def normals(seed: int, count: int) -> np.ndarray:
    """R's rnorm: the quantile of a uniform number of 27 bits and more."""
    drawn = uniforms(seed, 2 * count)
    return ndtri((np.floor(134217728 * drawn[::2]) + drawn[1::2]) / 134217728)


def ideal() -> np.ndarray:
    drawn = uniforms(4, 300)[50:].reshape(5, 50)  # the first 50 are drawn and not used
    low = np.array([0.9, 0.8, 0.7, 0.6, 0.5])[:, None]
    wide = np.array([0.1, 0.09, 0.09, 0.09, 0.09])[:, None]
    return low + wide * drawn


def random() -> np.ndarray:
    return expit(1.5 + normals(1, 250)).reshape(5, 50)


def worst() -> np.ndarray:
    return np.array([*permutations(np.linspace(0.8, 1, 5))]).T


def ranked(scores: np.ndarray) -> RankedTable:
    return rank_scores(score_table(NAMES, scores))


def test_the_example_is_drawn_as_r_draws_it() -> None:
    printed = [0.938860999816097, 0.97459288504906, 0.989542098436505, 0.980907674995251]
    assert ideal()[0, :4] == pytest.approx(printed, abs=1e-14)
    assert normals(1, 3) == pytest.approx([-0.6264538, 0.1836433, -0.8356286], abs=1e-7)  # as R prints them


def test_in_the_ideal_challenge_every_rank_is_settled() -> None:
    said = ranked(ideal())
    assert [row.model for row in said.models] == [*NAMES]
    assert [row.rank_interval for row in said.models] == [[k, k] for k in range(1, 6)]
    assert [row.podium for row in said.models[:3]] == [[50, 0, 0, 0], [0, 50, 0, 0], [0, 0, 50, 0]]
    assert said.stability.tau == 1
    assert all(tau == pytest.approx(1) for tau in said.method_tau.values())


def test_in_the_random_challenge_all_share_one_rank() -> None:
    said = ranked(random())
    # the order of means is that of the package's data: .8047, .7975, .7884, .7697, .7615
    assert [row.model for row in said.models] == ["A1", "A2", "A4", "A5", "A3"]
    assert said.models[0].mean == pytest.approx(0.80468, abs=1e-5)
    assert {tuple(row.rank_interval) for row in said.models} == {(1, 5)}
    assert said.tied_for_best == [row.model for row in said.models]
    assert max(row.best_in for row in said.models) > 0.4  # a share of resamples alone would suggest a winner


def test_in_the_worst_challenge_nothing_differs_in_any_way() -> None:
    said = ranked(worst())
    assert {row.rank for row in said.models} == {1}
    assert {rank for row in said.models for rank in row.method_ranks.values()} == {1}
    assert {tuple(row.podium) for row in said.models} == {(24, 24, 24, 48)}
    assert {tuple(row.rank_interval) for row in said.models} == {(1, 5)}


@pytest.mark.parametrize(
    ("scores", "better", "way", "ranks"),
    [
        ([[0.6], [0.8]], "low", "mean", [1, 2]),
        ([[0.6], [0.8]], "high", "mean", [2, 1]),
        ([[0.6], [0.8]], "low", "mean_rank", [1, 2]),
        ([[0.6], [0.8]], "high", "mean_rank", [2, 1]),
        ([[0.6], [0.8]], "low", "signed_rank", [1, 1]),  # one case shows nothing
        ([[0.2] * 4, [1.0] * 4], "low", "signed_rank", [1, 2]),
        ([[0.2] * 4, [1.0] * 4], "high", "signed_rank", [2, 1]),
    ],
)
def test_ranks_are_those_of_the_package(
    scores: list[list[float]], better: str, way: str, ranks: list[int]
) -> None:
    merits = np.array(scores) * (1 if better == "high" else -1)
    assert lowest_ranks(numbers_of_methods(merits, np.zeros((2, 2), bool))[way]).tolist() == ranks
