import numpy as np
import pytest
from scipy import stats

from faultscape.errors import RankingError
from faultscape.ranking.matrices import resistance
from faultscape.ranking.methods.thurstone import thurstone
from faultscape.ranking.outcomes import duel_outcomes
from faultscape.ranking.stability import against_places, connectivity, leave_one_out, places_shown
from refusals import refused

# four slots, each with an opinion on four models; a score is the sum of the opinions that count
OPINIONS = np.array([[4, 3, 2, 1.0], [4, 2, 3, 1], [0, 3, 2, 9], [4, 3, 2, 1]])


def score(keep):
    return OPINIONS[keep].sum(0) if keep.any() else np.full(4, np.nan)


def test_the_others_are_ranked_without_one_models_slots():
    takes_part = np.zeros((4, 4), bool)
    takes_part[0, 2] = True  # a took part in the slot that favours d
    takes_part[3] = True
    found = {one.model: one for one in leave_one_out(score, "abcd", takes_part)}
    # all: a 12, b 11, c 9, d 12. Without slot 2: b 8, c 7, d 3; d falls from first of three to third, b and c
    # rise by one
    assert (found["a"].slots, found["a"].largest_change, found["a"].moved) == (1, 2, "d")
    assert found["a"].spearman == pytest.approx(stats.spearmanr([11, 9, 12], [8, 7, 3]).statistic)
    assert (found["b"].slots, found["b"].largest_change, found["b"].spearman) == (0, 0, 1)
    assert (found["d"].slots, found["d"].moved) == (4, "")  # nothing is left to rank by
    assert np.isnan([found["d"].spearman, found["d"].largest_change]).all()


def test_its_own_rank_does_not_count_as_a_change():
    takes_part = np.zeros((4, 4), bool)
    takes_part[3, 2] = True
    (d,) = [one for one in leave_one_out(score, "abcd", takes_part) if one.model == "d"]
    # a, b, c stand as before; only d itself fell
    assert (d.spearman, d.largest_change) == (pytest.approx(1), 0)
    with refused(RankingError, "4 models by slots"):
        leave_one_out(score, "abcd", takes_part[:2])


def test_stability_against_k_compares_ranks_with_the_ranking_of_all_places():
    place = np.array([1, 2, 3, 3])
    said = against_places(score, place)
    expected = [stats.spearmanr(OPINIONS[place <= k].sum(0), OPINIONS.sum(0)).statistic for k in (1, 2, 3)]
    assert said == pytest.approx(expected)
    assert said[-1] == pytest.approx(1)
    assert said[0] < 1
    with refused(RankingError, "counted from 1; got 0"):
        against_places(score, place - 1)
    assert against_places(score, np.array([], int)).shape == (0,)


def test_many_places_cost_no_more_rankings_than_sixty():
    place, asked = np.repeat(np.arange(1, 5001), 2), []
    opinions = np.random.default_rng(0).normal([3, 2, 1, 0], 4, (len(place), 4))

    def counted(keep):
        asked.append(int(keep.sum()) // 2)
        return opinions[keep].sum(0)

    said = against_places(counted, place)
    shown = places_shown(5000)
    assert len(said) == 60
    assert asked == [5000, *shown]  # all places once, then each k
    assert shown[[0, -1]].tolist() == [1, 5000]
    assert set(np.diff(shown)) == {84, 85}
    assert said[30] == pytest.approx(
        stats.spearmanr(opinions[place <= shown[30]].sum(0), opinions.sum(0)).statistic
    )
    assert places_shown(60).tolist() == list(range(1, 61))
    assert places_shown(61)[[0, -1]].tolist() == [1, 61]
    assert places_shown(0).tolist() == []


def test_leaving_out_an_attacker_takes_any_ranking_of_segmentation_too():
    rng = np.random.default_rng(0)
    pairs = np.array([(d, a) for d in range(4) for a in range(4) if d != a for _ in range(6)])
    defender, attacker = pairs.T
    image, accuracy = (
        rng.integers(0, 40, len(pairs)),
        np.clip(rng.normal([[0.3], [0.5], [0.6], [0.7]], 0.2, (4, 40)), 0, 1),
    )

    def resist(keep):
        found = duel_outcomes(
            defender[keep], attacker[keep], np.zeros(keep.sum(), int), image[keep], accuracy
        )
        ratios = resistance(found.performance[0])
        return thurstone(np.where(np.isnan(ratios.T), np.nan, ratios))

    found = leave_one_out(resist, "abcd", attacker == np.arange(4)[:, None])
    assert [one.slots for one in found] == [18] * 4
    kept = attacker != 2
    assert found[2].spearman == pytest.approx(
        stats.spearmanr(resist(kept)[[0, 1, 3]], resist(kept | True)[[0, 1, 3]]).statistic
    )


def test_connectivity_is_said_in_words():
    met = np.zeros((5, 5))
    met[0, 1] = met[3, 4] = met[4, 2] = 2
    assert (
        connectivity("abcde", met)
        == "comparisons fall into 2 groups: c, d, e | a, b; models of different groups cannot be compared; 3 of 10"
        " pairs were compared"
    )
    met[1, 2] = np.nan
    assert "2 groups" in connectivity("abcde", met)
    met[1, 2] = 1
    assert connectivity("abcde", met) == "all 5 models are linked; 4 of 10 pairs were compared"
    assert connectivity("abc", np.eye(3)).startswith("comparisons fall into 3 groups: a | b | c;")
