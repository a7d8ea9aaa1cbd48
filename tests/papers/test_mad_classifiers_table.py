"""S2: the published ranks and their correlation, the oracle of the Perron rank, the budget; other published
rankings of pairs.
"""

import itertools
import json

import numpy as np
import pytest

from faultscape.ranking.agreement import spearman
from faultscape.ranking.methods.bradley_terry import bradley_terry
from faultscape.ranking.methods.hodge import hodge_rank
from faultscape.ranking.methods.perron import consistency_ratio, dominance, perron
from faultscape.ranking.methods.rank_centrality import rank_centrality
from faultscape.ranking.methods.thurstone import thurstone

# ImageNet accuracies in the order of the authors' code, whose places are its model ids; the last is
# EfficientNet-B7
ACCURACY = np.array([73.36, 73.31, 77.37, 78.85, 78.19, 78.4, 81.3, 82.51, 82.74, 85.44, 84.48])
# Table 1: accuracy rank and MAD rank, row by row
ACCURACY_RANK = np.arange(1, 12)
MAD_RANK = np.array([2, 1, 7, 4, 3, 6, 5, 8, 10, 9, 11])


def test_the_correlation_of_table_1_is_873_not_89():
    # the squared differences sum to 28
    assert spearman(-ACCURACY_RANK, -MAD_RANK) == pytest.approx(1 - 6 * 28 / 1320)
    assert spearman(-ACCURACY_RANK, -MAD_RANK) == pytest.approx(0.8727, abs=5e-5)


def test_the_printed_89_correlates_lists_of_model_ids_place_by_place():
    by_accuracy = np.argsort(-ACCURACY)
    by_mad = np.empty(11, int)
    by_mad[MAD_RANK - 1] = by_accuracy
    assert spearman(by_accuracy, by_mad) == pytest.approx(0.8909, abs=5e-5)
    # which depends on how the models happen to be numbered: other numbers for the same two rankings give
    # other values
    rng = np.random.default_rng(0)
    others = [spearman(ids[by_accuracy], ids[by_mad]) for ids in (rng.permutation(11) for _ in range(200))]
    assert min(others) < 0 < max(others)


def test_ratios_of_accuracies_give_the_accuracies_back_with_eigenvalue_11():
    a = np.repeat(ACCURACY[:, None], 11, axis=1)  # whoever the opponent is
    b = dominance(a)
    scores = perron(b)
    assert scores == pytest.approx(ACCURACY / ACCURACY.sum(), rel=1e-13)
    assert b @ scores == pytest.approx(11 * scores, rel=1e-13)
    assert consistency_ratio(b) == pytest.approx(0, abs=1e-12)
    logs, inconsistent = hodge_rank(np.log(b))
    assert logs == pytest.approx(np.log(ACCURACY) - np.log(ACCURACY).mean(), abs=1e-13)
    assert inconsistent == pytest.approx(0, abs=1e-20)


def test_eleven_models_with_thirty_images_a_pair_need_1650_at_most():
    assert 11 * 10 * 30 // 2 == len(list(itertools.combinations(range(11), 2))) * 30 == 1650


@pytest.fixture
def pairwise(data):
    folder = data / "pairwise"
    if not folder.is_dir():
        pytest.skip("no real data: pairwise/")
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def test_baseball_1987_to_the_published_digits(pairwise):
    case = pairwise["baseball1987"]
    said = case["reference"]
    strengths = bradley_terry(case["wins"], 0)
    relative = dict(zip(case["items"], strengths - strengths[case["items"].index("Baltimore")], strict=True))
    published = said["bradley_terry_log_ability_minus_Baltimore"]
    assert (
        sorted(round(x, 2) for x in relative.values())[1:] == published["sorted_2dp_from_Agresti_table_10.11"]
    )
    assert relative == pytest.approx(published["recomputed_mm"], abs=1e-6)
    probit = thurstone(case["wins"])
    assert probit - probit.mean() == pytest.approx(
        [said["thurstone_case5_mle_sum_zero_recomputed"][i] for i in case["items"]], abs=1e-5
    )


def test_citations_of_statistics_journals_without_their_own(pairwise):
    case = pairwise["citations"]
    said = case["reference"]
    strengths = bradley_terry(case["wins"], 0)
    expected = [said["bradley_terry_log_ability_minus_first_recomputed"][i] for i in case["items"]]
    assert strengths - strengths[0] == pytest.approx(expected, abs=1e-6)
    without = np.array(case["wins"], float)
    np.fill_diagonal(without, 0)
    assert bradley_terry(without, 0) == pytest.approx(strengths, abs=1e-13)
    probit = thurstone(case["wins"])
    assert probit - probit.mean() == pytest.approx(
        [said["thurstone_case5_mle_sum_zero_recomputed"][i] for i in case["items"]], abs=1e-5
    )
    assert np.argsort(-rank_centrality(without, 0)).tolist() == np.argsort(-strengths).tolist()


def test_small_cases_with_their_maximum_likelihood_and_rank_centrality(pairwise):
    for case in pairwise["small_cases_with_ml"]:
        wins = np.zeros((case["n_items"], case["n_items"]))
        for winner, loser in case["data"]:
            wins[winner, loser] += 1
        assert bradley_terry(wins, 0) == pytest.approx(case["ml_est"], abs=1e-6)
        logs = np.log(rank_centrality(wins, 0))
        assert logs - logs.mean() == pytest.approx(case["rc_est"], abs=1e-9)
