"""Pairs to ask about next: those in doubt, by a posterior that is the ranking's own, with fewer answers for
the same order.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from faultscape.errors import OptionError, RankingError
from faultscape.labelling.people.pair_order import next_pairs, pair_priorities, score_posterior
from faultscape.ranking.agreement import spearman
from faultscape.ranking.methods.bradley_terry import bradley_terry
from refusals import refused


def drawn_wins(rng: np.random.Generator, true: np.ndarray, games: int) -> np.ndarray:
    upper = np.triu(rng.binomial(games, expit(true[:, None] - true)), 1).astype(float)
    return upper + np.tril(games - upper.T, -1)


@given(seed=st.integers(0, 10_000), models=st.integers(2, 7))
@settings(max_examples=40, deadline=None)
def test_scores_are_bradley_and_terrys_with_the_pseudo_counts_and_the_covariance_inverts_the_curvature(
    seed: int, models: int
) -> None:
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, 9, (models, models)) + rng.integers(0, 2, (models, models)) / 2
    np.fill_diagonal(wins, 0)
    found = score_posterior(wins, pseudo_count=0.8)
    extra = 0.8 / (models - 1) * (1 - np.eye(models))
    assert found.scores == pytest.approx(bradley_terry(wins + extra, 0), abs=1e-8)

    def log_posterior(scores: np.ndarray) -> float:
        return float(((wins + extra) * np.log(expit(scores[:, None] - scores))).sum())

    step, curve = 1e-4, np.empty((models, models))
    for a, b in np.ndindex(curve.shape):
        each = [
            s * np.eye(models)[a] + t * np.eye(models)[b]
            for s, t in ((step, step), (step, -step), (-step, step), (-step, -step))
        ]
        values = [log_posterior(found.scores + one) for one in each]
        curve[a, b] = -(values[0] - values[1] - values[2] + values[3]) / (4 * step**2)
    assert found.covariance == pytest.approx(
        np.linalg.pinv(curve, rcond=1e-6), abs=2e-4 * np.abs(found.covariance).max() + 1e-6
    )


def test_doubt_is_as_large_as_scores_really_scatter() -> None:
    rng, true = np.random.default_rng(0), np.array([0.6, 0.2, -0.1, -0.7])
    drawn = np.array([score_posterior(drawn_wins(rng, true, 60)).scores for _ in range(400)])
    apart = np.var(drawn[:, 0] - drawn[:, 2])
    covariance = score_posterior(drawn_wins(rng, true, 60)).covariance
    assert covariance[0, 0] + covariance[2, 2] - 2 * covariance[0, 2] == pytest.approx(apart, rel=0.25)


def test_it_asks_about_models_that_are_close_and_about_those_that_few_were_asked_about() -> None:
    rng = np.random.default_rng(1)
    wins = drawn_wins(rng, np.array([2.0, 0.05, 0.0, -2.0]), 40)
    priorities = pair_priorities(score_posterior(wins))
    assert np.unravel_index(priorities.argmax(), (4, 4)) == (1, 2)
    assert np.array_equal(priorities, priorities.T)
    assert np.diag(priorities).tolist() == [0] * 4
    even = np.full((3, 3), 20.0) * (1 - np.eye(3))
    even[2, :2] = even[:2, 2] = 1
    assert 2 in next_pairs(even, 1)[0]


def test_a_block_of_pairs_is_spread_out_and_without_answers_over_all() -> None:
    assert len({tuple(pair) for pair in next_pairs(np.zeros((6, 6)), 15).tolist()}) == 15
    wins = drawn_wins(np.random.default_rng(2), np.array([0.5, 0.2, 0.0, -0.3]), 4)
    pairs = next_pairs(wins, 12)
    assert len({tuple(pair) for pair in pairs.tolist()}) >= 2
    assert (pairs[:, 0] < pairs[:, 1]).all()


@pytest.mark.slow
def test_it_needs_fewer_answers_than_pairs_in_turn_for_the_same_rank_correlation() -> None:
    """Eight models whose scores have a spread of 1, fifteen campaigns of 256 answers each way."""
    models, block, blocks, campaigns = 8, 16, 16, 15
    curves = np.zeros((2, blocks))
    for adaptive in (0, 1):
        for campaign in range(campaigns):
            rng, true = (
                np.random.default_rng(campaign),
                np.random.default_rng(1000 + campaign).normal(0, 1, models),
            )
            wins, queue = np.zeros((models, models)), []
            for k in range(blocks):
                if adaptive and k:
                    pairs = next_pairs(wins, block)
                else:
                    while len(queue) < block:
                        queue += rng.permutation(np.column_stack(np.triu_indices(models, 1))).tolist()
                    pairs, queue = np.array(queue[:block]), queue[block:]
                first = rng.random(block) < expit(true[pairs[:, 0]] - true[pairs[:, 1]])
                np.add.at(wins, tuple(np.where(first[:, None], pairs, pairs[:, ::-1]).T), 1)
                curves[adaptive, k] += spearman(score_posterior(wins).scores, true) / campaigns
    even, chosen = curves
    needed, fewer = int((even >= 0.9).argmax()) + 1, int((chosen >= 0.9).argmax()) + 1
    assert 1 < fewer <= 0.8 * needed
    assert chosen[-5:].mean() > even[-5:].mean() + 0.01


def test_what_are_no_wins_is_refused_in_one_line() -> None:
    with refused(RankingError, r"wins must be \(models, models\), two or more models; got shape \(1, 1\)"):
        score_posterior([[0]])
    with refused(RankingError, "weights of comparisons must be finite and not negative"):
        next_pairs([[0, -3], [1, 0]], 1)
    with refused(OptionError, "the pseudo-count must be a number above 0; got 0"):
        score_posterior(np.zeros((2, 2)), 0)
    with refused(OptionError, "expected a number of pairs, 1 or more; got 0"):
        next_pairs(np.zeros((2, 2)), 0)
