import numpy as np
import pytest
from scipy import stats

from faultscape.errors import RankingError
from faultscape.ranking.agreement import compare_benchmark, kendall, overlap, spearman
from faultscape.ranking.intervals import bootstrap_weights, percentile_interval, ranks
from refusals import refused

# S0 Table 3: mIoU on PASCAL VOC, A rank and its change, R rank and its change
TABLE_3 = {
    "DeepLabv3+": (0.890, 1, 0, 1, 0),
    "EMANet": (0.882, 5, -3, 5, -3),
    "PSANet": (0.857, 6, -3, 6, -3),
    "PSPNet": (0.854, 8, -4, 9, -5),
    "LRefineNet": (0.827, 4, 1, 4, 1),
    "RefineNet": (0.824, 2, 4, 3, 3),
    "BlitzNet": (0.757, 3, 4, 2, 5),
    "ESPNetv2": (0.680, 7, 1, 7, 1),
    "DiCENet": (0.673, 9, 0, 8, 1),
    "FCN": (0.622, 10, 0, 10, 0),
}


def test_the_rank_columns_of_table_3():
    models = list(TABLE_3)
    columns = np.array(list(TABLE_3.values()))
    scores = {"aggressiveness": -columns[:, 1], "resistance": -columns[:, 3]}
    none = dict.fromkeys(scores, np.empty((0, 10)))
    said = compare_benchmark(models, {m: row[0] for m, row in TABLE_3.items()}, scores, none)
    assert list(said.rank.values()) == list(range(1, 11))
    assert list(said.rank_change["aggressiveness"].values()) == columns[:, 2].tolist()
    assert list(said.rank_change["resistance"].values()) == columns[:, 4].tolist()
    # 9 + 9 + 16 + 1 + 16 + 16 + 1 = 68
    assert said.spearman["aggressiveness"][0] == pytest.approx(1 - 6 * 68 / 990)
    assert said.spearman["resistance"][0] == pytest.approx(1 - 6 * 80 / 990)


@pytest.mark.parametrize("seed", range(6))
def test_correlations_are_those_of_scipy_with_ties(seed):
    x, y = np.random.default_rng(seed).integers(0, 5, (2, 12)).astype(float)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


def test_correlations_of_batches_and_of_models_without_score():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 8)), rng.normal(size=8)
    assert spearman(x, y) == pytest.approx([stats.spearmanr(row, y).statistic for row in x], abs=1e-12)
    gap = np.where(np.arange(8) == 3, np.nan, x[0])
    keep = np.arange(8) != 3
    assert spearman(gap, y) == pytest.approx(spearman(x[0][keep], y[keep]))
    assert kendall(gap, y) == pytest.approx(kendall(x[0][keep], y[keep]))
    assert np.isnan(
        [spearman([1, 1], [1, 2]), kendall([1, 1], [1, 2]), spearman([1], [2]), spearman([1, np.nan], [2, 3])]
    ).all()


def test_overlap_is_the_jaccard_index():
    assert overlap(["a", "b", "b"], ("b", "c")) == pytest.approx(1 / 3)
    assert overlap(["a"], ["a"]) == 1
    assert np.isnan(overlap([], []))


def test_rank_changes_skip_models_without_score():
    said = compare_benchmark(
        ["a", "b", "c"],
        {"a": 3, "b": 2, "c": 1},
        {"x": np.array([1.0, np.nan, 2.0])},
        {"x": np.empty((0, 3))},
    )
    assert said.rank_change["x"] == {"a": -1, "b": pytest.approx(np.nan, nan_ok=True), "c": 1}
    assert said.rank == {"a": 1, "b": 2, "c": 3}


def test_the_spearman_interval_is_over_the_replicates():
    draws = np.array([*[[3.0, 2, 1], [3, 1, 2], [1, 2, 3]] * 30, [np.nan] * 3])
    said = compare_benchmark(
        ["a", "b", "c"], {"a": 3, "b": 2, "c": 1}, {"x": np.array([3.0, 2, 1])}, {"x": draws}
    )
    assert said.spearman["x"] == pytest.approx([1, *np.percentile([1, 0.5, -1] * 30, [2.5, 97.5])])
    said = compare_benchmark(
        ["a", "b", "c"], {"a": 3, "b": 2, "c": 1}, {"x": np.array([3.0, 2, 1])}, {"x": draws[-4:]}
    )
    # one of four replicates is lost
    assert said.spearman["x"] == pytest.approx([1, np.nan, np.nan], nan_ok=True)


def test_a_benchmark_must_name_every_model():
    with refused(RankingError, r"no score for 'unet'; it has u-net\. Did you mean 'u-net'\?"):
        compare_benchmark(["unet"], {"u-net": 1}, {}, {})
    with refused(RankingError, "'b' is not a number"):
        compare_benchmark(["a", "b"], {"a": 1, "b": float("nan")}, {}, {})


def test_ranks_share_ties_as_scipy_does():
    scores = np.random.default_rng(1).integers(0, 4, (20, 7)).astype(float)
    assert (ranks(scores) == stats.rankdata(-scores, axis=1)).all()
    assert ranks(np.array([0.1 + 0.2, 0.3])).tolist() == [1.5, 1.5]


def test_intervals_are_percentiles_of_what_is_known():
    draws = np.random.default_rng(2).normal(size=(101, 3))
    holed = draws.copy()
    holed[:50, 1] = np.nan
    holed[:, 2] = np.nan
    got = percentile_interval(holed)
    assert got[0] == pytest.approx(np.percentile(draws[:, 0], [2.5, 97.5]))
    assert got[1] == pytest.approx(np.percentile(draws[50:, 1], [2.5, 97.5]))
    assert np.isnan(got[2]).all()
    assert np.isnan(percentile_interval(np.empty((0, 2)))).all()


def test_the_bootstrap_draws_images_with_replacement():
    weights = bootstrap_weights(50, 400, seed=5)
    assert weights.shape == (400, 50)
    assert (weights.sum(1) == 50).all()
    assert weights.mean(0) == pytest.approx(1, abs=0.25)
    assert (weights == 0).mean() == pytest.approx(np.exp(-1), abs=0.02)
    assert (bootstrap_weights(50, 400, seed=5) == weights).all()
    assert (bootstrap_weights(50, 400, seed=6) != weights).any()
    assert bootstrap_weights(0, 3).shape == (3, 0)
