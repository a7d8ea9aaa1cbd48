"""What rankings claim: no interval that is not known, and ranks, ties and the set of the best from one set of
tests.
"""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from faultscape.ranking.classifiers import classifier_rankings
from faultscape.ranking.intervals import bootstrap_weights, percentile_interval, share_intervals
from faultscape.ranking.replicates import lost_share, ranking
from faultscape.standings import FEW


def ranked(correct: np.ndarray, **options: object):
    """Return the standings of classifiers on images that were chosen for every pair."""
    models, images = [f"net-{k}" for k in range(len(correct))], [f"{k:03d}" for k in range(correct.shape[1])]
    pairs = [(a, b) for k, a in enumerate(models) for b in models[k + 1 :]]
    rows = [Row(model_a=a, model_b=b, image=image) for a, b in pairs for image in images]
    return classifier_rankings(models, rows, correct, images, resamples=200, **options)


def test_a_model_that_is_never_right_may_be_right_on_other_images() -> None:
    correct = np.stack([np.zeros(40), np.ones(40), np.arange(40) % 2])
    said = ranked(correct).rankings["reuse_mean"].score_interval
    bound = stats.beta.ppf(0.975, 1, 40)  # Clopper and Pearson: 40 without one
    assert said["net-0"] == pytest.approx([0, bound], abs=0.02)
    assert said["net-1"] == pytest.approx([1 - bound, 1], abs=0.02)
    assert said["net-2"] == pytest.approx([0.35, 0.65], abs=0.02)


def test_intervals_of_shares_hold_at_all_shares() -> None:
    rng = np.random.default_rng(0)
    for share in (0.5, 0.9, 0.98, 0.99):
        seen = rng.binomial(100, share, 1000) / 100
        low, high = share_intervals(seen, seen * (1 - seen) / 99, 1 / 100, stats.t.ppf(0.975, 99)).T
        assert 0.92 <= ((low <= share) & (share <= high)).mean() <= 0.98, share


@pytest.mark.parametrize("images", [1, 2, 5, 9])
def test_labels_too_few_to_carry_an_interval_have_none_and_leave_all_ranks_open(images: int) -> None:
    found = ranked(np.stack([np.ones(images), np.zeros(images), np.zeros(images)]))
    for name, said in found.rankings.items():
        assert np.isnan(list(said.score_interval.values())).all(), name
        assert said.tied_for_best == said.best_set == [], name  # nothing was tested
        for kind in ("rank_interval", "simultaneous_rank_interval"):
            assert set(map(tuple, getattr(said, kind).values())) == {(1, 3)}, name
    assert (
        f"no score intervals: fewer than 10 images ({images}) are too few for intervals, or to tell models apart"
        in found.notes
    )


def test_ten_labels_and_more_have_intervals_and_no_more_certainty_than_a_sign_test() -> None:
    def best(images: int, **options: Any) -> list[str]:
        scores = np.stack([np.ones(images), np.zeros(images)])
        return ranking(
            ("a", "b"), scores.mean(1), np.tile([1.0, 0.0], (200, 1)), images, **options
        ).tied_for_best

    assert best(9) == []
    assert best(10) == ["a"]
    assert best(5, least=1) == ["a", "b"]  # 1/32 on either side
    assert best(6, least=1) == best(6, groups=True) == ["a"]  # 1/64
    assert best(5, groups=True) == []
    assert not np.isnan(
        list(ranked(np.eye(2)[:, [0] * 10]).rankings["reuse_mean"].score_interval.values())
    ).any()


def test_what_never_varied_has_no_interval() -> None:
    said = ranking(("a", "b"), np.array([0.5, 0.5]), np.full((50, 2), 0.5), 30)
    assert np.isnan(list(said.score_interval.values())).all()
    assert said.tied_for_best == ["a", "b"]


def test_scores_of_all_there_is_are_ranked_without_doubt() -> None:
    models, scores = tuple("abcdefghij"), np.arange(10.0)
    said = ranking(models, scores, np.tile(scores, (100, 1)), 4, exact=True)
    assert said.simultaneous_rank_interval["j"] == said.rank_interval["j"] == [1, 1]
    assert said.score_interval["a"] == [0, 0]
    open_ = ranking(models, scores, np.tile(scores, (100, 1)), 4)
    assert open_.simultaneous_rank_interval["j"] == [1, 10]


@pytest.mark.parametrize("groups", [6, 8, 19])
def test_few_groups_have_students_intervals_of_the_spread_that_groups_have(groups: int) -> None:
    scores = np.array([0.7, 0.4])
    draws = scores + np.random.default_rng(1).normal(0, [0.05, 0.02], (500, 2))
    said = ranking(("a", "b"), scores, draws, groups, groups=True).score_interval
    # a bootstrap of G groups spreads as if they were all there are: (G - 1) / G of the variance
    half = stats.t.ppf(0.975, groups - 1) * (draws - scores).std(0) * np.sqrt(groups / (groups - 1))
    assert np.array([said["a"], said["b"]]) == pytest.approx(scores[:, None] + np.outer(half, [-1, 1]))
    many = ranking(("a", "b"), scores, draws, 20, groups=True).score_interval
    wider = scores + (draws - scores) * np.sqrt(20 / 19)
    assert np.array([many["a"], many["b"]]) == pytest.approx(percentile_interval(wider))


def test_tied_for_best_is_paired() -> None:
    noise = np.random.default_rng(3).normal(size=(500, 1))
    draws = noise + np.array([0.1, 0.0, 0.1]) + np.random.default_rng(4).normal(0, 0.01, (500, 3))
    assert ranking(tuple("abc"), np.array([0.1, 0.0, 0.099]), draws, 100).tied_for_best == ["a", "c"]
    overlapping = percentile_interval(draws)
    assert overlapping[1, 1] > overlapping[0, 0]  # intervals of single scores would not have told them apart
    assert ranking(tuple("ab"), np.array([1.0, 2]), np.empty((0, 2)), 100).tied_for_best == []


def test_who_is_shown_to_be_behind_another_is_not_tied_for_best() -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.01, (400, 1))
    draws = np.array([1.0, 0.99, 0.97]) + np.concatenate([rng.normal(0, 0.05, (400, 1)), shared, shared], 1)
    draws[:, 1:] += rng.normal(0, 0.002, (400, 2))
    said = ranking(tuple("abc"), np.array([1.0, 0.99, 0.97]), draws, 100)
    assert said.rank_interval == {"a": [1, 3], "b": [1, 2], "c": [2, 3]}  # c may be above a, and is below b
    assert said.tied_for_best == ["a", "b"]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(FEW, 60), st.floats(0.02, 2))
def test_ranks_ties_and_the_best_never_contradict_each_other(
    seed: int, j: int, images: int, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(
        spread * rng.normal(size=(j, 1)) + rng.normal(size=images) + rng.normal(0, rng.random(), (j, images)),
        1,
    )
    values[rng.integers(j)] = values[0]  # equal models
    models = tuple("abcdefg"[:j])
    said = ranking(models, values.mean(1), bootstrap_weights(images, 60, rng) @ values.T / images, images)
    for m in models:
        low, high = said.rank_interval[m]
        first, last = said.simultaneous_rank_interval[m]
        assert first <= low <= high <= last
        assert (m in said.tied_for_best) == (low == 1)
        assert (m in said.best_set) == (first == 1)
        place = said.order.index(m) + 1
        assert low <= place <= high
    assert said.order[0] in said.tied_for_best
    assert set(said.tied_for_best) <= set(said.best_set)


def test_ranks_stay_open_where_more_than_two_in_a_hundred_replicates_are_lost() -> None:
    rng, scores = np.random.default_rng(0), np.array([0.9, 0.5, 0.1])
    draws = scores + rng.normal(0, 0.01, (1000, 3))
    draws[:20] = np.nan
    kept = ranking(tuple("abc"), scores, draws, 100)
    assert kept.simultaneous_rank_interval == {"a": [1, 1], "b": [2, 2], "c": [3, 3]}
    draws[20] = np.nan
    for key in ("rank_interval", "simultaneous_rank_interval"):
        assert getattr(ranking(tuple("abc"), scores, draws, 100), key) == {m: [1, 3] for m in "abc"}
    draws[:, 2] = scores[2] = np.nan  # a model that has no score loses nothing
    assert ranking(tuple("abc"), scores, draws, 100).tied_for_best == ["a", "b"]


def test_a_replicate_is_lost_where_any_model_lacks_its_score() -> None:
    draws = np.array([[0.4, np.nan], [0.3, 0.1], [np.nan, 0.2], [np.nan, np.nan]])
    assert lost_share(np.array([0.5, 0.2]), draws) == 0.75
    assert lost_share(np.array([np.nan, 0.2]), draws) == 0.5
    assert lost_share(np.array([0.5, 0.2]), draws[:0]) == 0


def test_standings_say_which_rankings_stay_open_because_replicates_were_lost() -> None:
    # c meets the others on one image alone, which every third replicate does not draw
    images, right = [f"{k:02d}" for k in range(30)], np.array([[1.0] * 30, [0.0] * 30, [0.0] * 30])
    rows = [Row(model_a="a", model_b="b", image=image) for image in images[1:]]
    rows += [Row(model_a=a, model_b="c", image=images[0]) for a in "ab"]
    found = classifier_rankings(list("abc"), rows, right, images, resamples=400)
    (said,) = [note for note in found.notes if "all ranks stay open" in note]
    assert (
        said
        == "perron, hodge, bradley_terry, rank_centrality, borda: all ranks stay open, since more than 2 % of"
        " the replicates are left out"
    )
    assert found.rankings["perron"].best_set == found.rankings["perron"].order
    assert found.rankings["reuse_mean"].best_set == ["a"]


def test_a_score_outside_of_what_its_replicates_span_widens_its_interval() -> None:
    draws = np.random.default_rng(0).normal(0, 1, (400, 2))
    said = ranking(("a", "b"), np.array([0.0, 9.0]), draws, 50)
    assert said.score_interval["b"][1] == 9
    assert said.score_interval["b"][0] < 0
    assert said.score_interval["a"] == pytest.approx(percentile_interval(draws)[0])
