from importlib import import_module

import numpy as np
import pytest

from faultscape.errors import RankingError
from faultscape.ranking.pair_cases import pair_counts
from refusals import refused


def made(seed=0, j=5, i=30, s=120):
    rng = np.random.default_rng(seed)
    correct = (rng.random((j, i)) < 0.6).astype(float)
    correct[rng.random((j, i)) < 0.15] = np.nan
    first = rng.integers(0, j, s)
    return (
        first,
        (first + rng.integers(1, j, s)) % j,
        rng.integers(-1, i, s),
        correct,
        rng.integers(0, 3, (6, i)).astype(float),
    )


def plain(first, second, image, correct, weights):
    """Sums over the set of distinct (pair, image)."""
    j = len(correct)
    out = np.zeros((4, len(weights), j, j))
    for a, b, k in {
        (*sorted((a, b)), k) for a, b, k in zip(first.tolist(), second.tolist(), image.tolist(), strict=True)
    }:
        if k < 0 or np.isnan(correct[a, k] + correct[b, k]):
            continue
        for x, y in ((a, b), (b, a)):
            out[0, :, x, y] += weights[:, k]
            out[1, :, x, y] += weights[:, k] * (correct[x, k] == 1) * (correct[y, k] == 1)
            out[2, :, x, y] += weights[:, k] * (correct[x, k] == 1) * (correct[y, k] == 0)
            out[3, :, x, y] += weights[:, k] * (correct[x, k] == 0) * (correct[y, k] == 0)
    return out


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_sums_over_slots(seed):
    columns = made(seed)
    counts = pair_counts(*columns)
    np.testing.assert_array_equal(
        [counts.total, counts.both_right, counts.wins, counts.both_wrong], plain(*columns)
    )
    np.testing.assert_array_equal(
        counts.correct + np.swapaxes(counts.wins, 1, 2) + counts.both_wrong, counts.total
    )
    np.testing.assert_array_equal(counts.ties + counts.wins + np.swapaxes(counts.wins, 1, 2), counts.total)


def test_cases_by_hand():
    # images: both right, first right, second right, both wrong, second not decided
    correct = np.array([[1, 1, 0, 0, 1], [1, 0, 1, 0, np.nan]])
    counts = pair_counts([0, 1, 0, 1, 0], [1, 0, 1, 0, 1], np.arange(5), correct)
    assert counts.total[0].tolist() == [[0, 4], [4, 0]]
    assert counts.correct[0].tolist() == [[0, 2], [2, 0]]
    assert counts.wins[0].tolist() == [[0, 1], [1, 0]]
    assert counts.ties[0].tolist() == [[0, 2], [2, 0]]


def test_chunks_the_order_and_the_direction_of_slots_do_not_show(monkeypatch):
    first, second, image, correct, weights = made(1)
    counts = pair_counts(first, second, image, correct, weights)
    order = np.random.default_rng(0).permutation(len(first))
    # the name alone is the function
    monkeypatch.setattr(import_module("faultscape.ranking.pair_cases"), "_CHUNK", 1)
    same = pair_counts(second[order], first[order], image[order], correct, weights)
    np.testing.assert_array_equal(same.wins, counts.wins)
    np.testing.assert_array_equal(same.total, counts.total)


def test_no_slot_is_no_count():
    none = np.array([], int)
    assert not pair_counts(none, none, none, np.ones((3, 2))).total.any()
    assert not pair_counts([0], [1], [-1], np.ones((2, 0))).total.any()


def test_what_is_no_answer_or_no_pair_is_refused():
    with refused(RankingError, r"1 \(right\), 0 \(wrong\) or NaN"):
        pair_counts([0], [1], [0], [[0.5], [1]])
    with refused(RankingError, "pairs a model with itself"):
        pair_counts([0], [0], [0], [[1], [1]])
