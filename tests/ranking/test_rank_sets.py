import numpy as np
import pytest
from scipy import stats

from faultscape.errors import RankingError
from faultscape.ranking.intervals import bootstrap_weights
from faultscape.ranking.simultaneous_ranks import better, paired_p_values, rank_sets, replicate_p_values
from refusals import refused


def test_the_exact_test_is_mcnemars():
    correct = (np.random.default_rng(0).random((4, 60)) < [[0.9], [0.7], [0.7], [0.3]]).astype(float)
    correct[1, :5] = np.nan
    p = paired_p_values(correct)
    for i in range(4):
        for j in range(4):
            won, lost = ((correct[i] > correct[j]).sum(), (correct[i] < correct[j]).sum())
            said = (
                stats.binomtest(int(won), int(won + lost), 0.5, alternative="greater").pvalue
                if i != j
                else np.nan
            )
            assert p[i, j] == pytest.approx(said, nan_ok=True)


def test_other_scores_are_tested_by_students_t_of_the_difference():
    scores = np.random.default_rng(1).normal([[0.5], [0.4], [0.4]], 0.2, (3, 25))
    p = paired_p_values(scores)
    assert p[0, 1] == pytest.approx(stats.ttest_rel(scores[0], scores[1], alternative="greater").pvalue)
    assert p[2, 0] == pytest.approx(stats.ttest_rel(scores[2], scores[0], alternative="greater").pvalue)
    # only their proportion counts
    assert paired_p_values(scores, np.full(25, 3.0)) == pytest.approx(p, nan_ok=True)
    half = np.repeat([1.0, 0], [15, 10])
    assert paired_p_values(scores, half) == pytest.approx(paired_p_values(scores[:, :15]), nan_ok=True)


def test_pairs_of_fewer_than_two_images_are_not_tested():
    scores = np.array([[0.5, np.nan, 0.3], [0.1, 0.2, np.nan], [np.nan, np.nan, np.nan]])
    assert np.isnan(paired_p_values(scores)).all()
    assert np.isnan(rank_sets(paired_p_values(scores))).all()
    same = paired_p_values(np.full((2, 9), 0.3))
    assert same[0, 1] == same[1, 0] == 1
    with refused(RankingError, "models by images"):
        paired_p_values(np.zeros(3))


def test_replicates_say_what_the_test_of_the_means_says():
    rng = np.random.default_rng(2)
    scores = rng.normal(0, 0.2, 400) + rng.normal([[0.50], [0.49], [0.45]], 0.1, (3, 400))
    draws = bootstrap_weights(400, 4000, 3) @ scores.T / 400
    by_draws = replicate_p_values(scores.mean(1), draws, 400)
    assert stats.norm.isf(by_draws)[0, 1:] == pytest.approx(
        stats.norm.isf(paired_p_values(scores))[0, 1:], rel=0.05
    )
    draws[:, 1] = np.nan
    assert np.isnan(replicate_p_values(scores.mean(1), draws)).tolist() == [
        [True, True, False],
        [True] * 3,
        [False, True, True],
    ]
    still = replicate_p_values(np.array([1.0, 0.5]), np.tile([1.0, 0.5], (99, 1)))
    assert still[0, 1] == pytest.approx(0.01)  # no variance seen is not certainty
    assert still[1, 0] == 1


def test_holm_by_hand_stops_at_the_first_that_fails():
    p = np.full((3, 3), np.nan)
    p[0, 1], p[0, 2], p[1, 2], p[1, 0], p[2, 0], p[2, 1] = 0.008, 0.011, 0.0124, 0.9, 0.9, 0.9
    # .05 / 6 = .00833, .05 / 5 = .01, .05 / 4 = .0125
    assert better(p).sum() == 1  # the third would pass, the second does not
    p[1, 2], p[0, 2] = 0.01, 0.0126
    assert better(p).sum() == 2
    p[0, 2] = 0.0125
    assert better(p).sum() == 3
    assert rank_sets(p).tolist() == [[1, 1], [2, 2], [3, 3]]
    assert better(p, level=0.99).sum() == 0
    with refused(RankingError, "square"):
        better(p[:2])


def test_no_difference_is_found_where_nothing_was_tested():
    p = np.full((3, 3), np.nan)
    p[0, 1], p[1, 0] = 1e-9, 1.0
    assert rank_sets(p)[:2].tolist() == [[1, 1], [2, 2]]  # the third model is not ranked, and takes no rank
    assert np.isnan(rank_sets(p)[2]).all()


def right_for_all(sets, truth):
    """Whether every rank that a model may be said to have, ties included, lies inside, for all models at
    once.
    """
    best, worst = 1 + (truth > truth[:, None]).sum(1), len(truth) - (truth < truth[:, None]).sum(1)
    return bool(((sets[:, 0] <= best) & (sets[:, 1] >= worst)).all())


@pytest.mark.parametrize("kind", ["right or wrong", "concordances"])
def test_all_ranks_hold_at_once_in_95_of_100_cases(kind):
    rng = np.random.default_rng(4)
    truth = np.array([0.9, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75, 0.55])
    holds, alone, apart = [], [], []
    for _ in range(300):
        hard = rng.normal(0, 1, 120)
        if kind == "concordances":
            scores = truth[:, None] + 0.1 * hard + rng.normal(0, 0.15, (8, 120))
        else:
            scores = (
                0.5 * hard + rng.normal(0, 1, (8, 120)) * np.sqrt(0.75) < stats.norm.ppf(truth)[:, None]
            ).astype(float)
        p = paired_p_values(scores)
        sets = rank_sets(p)
        holds.append(right_for_all(sets, truth))
        beats = p < 0.025  # each pair by itself
        alone.append(right_for_all(np.stack([1 + beats.sum(0), 8 - beats.sum(1)], 1), truth))
        apart.append((sets[0] == 1).all() or (sets[7] == 8).all())
    assert np.mean(holds) > 0.912  # .95 less three standard errors of 300 draws
    assert np.mean(alone) < 0.85
    assert np.mean(apart) > 0.3  # and yet they say something
