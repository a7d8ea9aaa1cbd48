"""Any table of scores: what is claimed, what is not, and what the other numbers mean."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import faultscape as fs
from faultscape.errors import OptionError, RankingError
from faultscape.metrics.intervals.units import Units, units_of
from faultscape.ranking.tables import differences
from faultscape.ranking.tables.assembly import rank_scores, rank_table, tiers_of
from faultscape.ranking.tables.beliefs import NORMAL, SHARES, false_claims
from faultscape.ranking.tables.orders import numbers_of_methods, signed_rank_p_values
from faultscape.ranking.tables.score_table import score_table
from refusals import refused

LONG = {
    "Case": ["x", "x", "y", "y", "z", "z"],
    "model": ["a", "b"] * 3,
    "value": ["0.9", "0.8", "0.7", "0.6", "", "0.1"],
}
RNG = np.random.default_rng(5)
FIVE = RNG.normal(0, 0.05, 60) + RNG.normal([[0.9], [0.88], [0.88], [0.7], [0.6]], 0.05, (5, 60))
NAMES = ("best", "second", "equal", "fourth", "last")


@pytest.fixture(scope="module")
def five() -> fs.ranking.RankedTable:
    return rank_scores(score_table(NAMES, FIVE), anchor="fourth")


def recentred(draws: int, make: object, cases: int) -> float:
    """The share of draws from a table whose models are all equal in which any pair is put in an order."""
    wrong = 0
    for k in range(draws):
        scores = make(np.random.default_rng([k, cases]), cases)
        wrong += bool(differences.compare(scores, units_of(cases), 299, k).better.any())
    return wrong / draws


class TestWhatIsClaimed:
    def test_models_far_apart_are_told_apart_and_equal_ones_are_not(
        self, five: fs.ranking.RankedTable
    ) -> None:
        assert {"second", "equal"}.isdisjoint(five.shown_better["second"] + five.shown_better["equal"])
        assert set(five.shown_better["best"]) >= {"fourth", "last"}
        assert five.shown_better["fourth"] == ["last"]
        assert [row.rank_interval for row in five.models][-2:] == [[4, 4], [5, 5]]

    def test_ranks_ties_and_tiers_follow_from_what_is_shown(self, five: fs.ranking.RankedTable) -> None:
        for row in five.models:
            beaten_by = [name for name, worse in five.shown_better.items() if row.model in worse]
            assert row.rank_interval == [1 + len(beaten_by), 5 - len(five.shown_better[row.model])]
            assert row.tied_for_best == (not beaten_by)
        assert tiers_of(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], bool)).tolist() == [1, 1, 2]

    def test_intervals_exclude_nothing_that_is_not_shown(self, five: fs.ranking.RankedTable) -> None:
        for one, others in five.difference_interval.items():
            for other, (low, high) in others.items():
                if low > 0:
                    assert other in five.shown_better[one]
                assert low <= five.difference[one][other] <= high
                assert five.difference_interval[other][one] == pytest.approx([-high, -low])

    def test_low_is_the_same_as_high_of_the_negative(self) -> None:
        low = rank_scores(score_table(NAMES, FIVE, better="low"))
        high = rank_scores(score_table(NAMES, -FIVE))
        assert [row.model for row in low.models] == [row.model for row in high.models]
        assert low.difference == high.difference
        assert low.models[0].mean == pytest.approx(-high.models[0].mean)
        assert low.models[0].interval == pytest.approx([-x for x in high.models[0].interval[::-1]])

    @pytest.mark.parametrize("models", [2, 5, 20])
    def test_few_scores_claim_nothing_and_say_so(self, models: int) -> None:
        least = differences.least_units(models)
        apart = np.linspace(0, 9, models)[:, None] + RNG.normal(0, 0.01, (models, least))
        assert rank_scores(score_table([str(k) for k in range(models)], apart)).few == ""
        few = rank_scores(score_table([str(k) for k in range(models)], apart[:, 1:]))
        assert f"nothing is claimed from fewer than {least}" in few.few
        assert not any(few.shown_better.values())
        assert {tuple(row.rank_interval) for row in few.models} == {(1, models)}
        assert "if these cases show every kind of failure" in few.second()

    def test_few_resamples_claim_nothing(self) -> None:
        said = rank_scores(score_table(NAMES, FIVE), resamples=99)
        assert said.few == "too few resamples: 99, and nothing is claimed from fewer than 100"
        assert not any(said.shown_better.values())
        assert np.isnan(rank_scores(score_table(NAMES, FIVE), resamples=0).models[0].best_in)

    def test_the_mean_of_right_answers_alone_has_an_interval(self) -> None:
        right = np.ones((2, 30))
        right[1, :9] = 0
        first, second = rank_scores(score_table("ab", right)).models
        assert first.interval[1] == pytest.approx(1)
        assert 0.8 < first.interval[0] < 0.95
        assert second.interval == pytest.approx([0.50, 0.85], abs=0.03)
        low = rank_scores(score_table("ab", 1 - right, better="low")).models[0]
        assert low.interval == pytest.approx([1 - x for x in first.interval[::-1]])

    def test_a_constant_lead_without_any_variation_is_no_certainty(self) -> None:
        same = np.repeat(RNG.random((1, 90)), 2, 0) + np.array([[0.1], [0.0]])
        said = rank_scores(score_table(["a", "b"], same))
        assert "no case tells the models apart" in said.few
        assert rank_scores(score_table(["a", "b"], same * 0 + 1)).models[1].rank == 1

    def test_a_failure_of_one_model_warns_of_those_of_others(self) -> None:
        calm = RNG.normal([[0.9], [0.89], [0.5]], 0.005, (3, 60))
        assert rank_scores(score_table("abc", calm)).shown_better["a"] == ["b", "c"]
        calm[2, 7] = -2.0
        assert rank_scores(score_table("abc", calm)).shown_better["a"] == ["c"]

    def test_equal_models_with_rare_failures_are_seldom_put_in_an_order(self) -> None:
        def failing(rng: np.random.Generator, cases: int) -> np.ndarray:
            fails = rng.random((6, cases)) < np.linspace(0.01, 0.06, 6)[:, None]
            scores = 0.9 - 0.02 * rng.random((6, cases)) - 0.5 * fails
            return scores + 0.5 * np.linspace(0.01, 0.06, 6)[:, None]

        assert recentred(150, failing, 30) <= 0.05
        # where Student's t with Holm's correction puts some in an order half of the time
        from faultscape.ranking.simultaneous_ranks import better, paired_p_values

        wrong = [
            better(paired_p_values(failing(np.random.default_rng([k, 30]), 30))).any() for k in range(150)
        ]
        assert np.mean(wrong) > 0.3

    def test_groups_are_what_is_drawn(self) -> None:
        lead = np.repeat(RNG.normal(0.02, 0.05, 30), 20)  # differs by patient, not by slice
        scores = np.stack([0.8 + lead, np.full(600, 0.8)]) + RNG.normal(0, 0.001, (2, 600))
        groups = [f"patient {k // 20}" for k in range(600)]
        names = [f"slice {k}" for k in range(600)]
        alone = rank_scores(score_table("ab", scores, cases=names))
        whole = rank_scores(score_table("ab", scores, cases=names, groups=groups))
        assert (alone.units, whole.units, whole.grouped) == (600, 30, True)
        assert alone.shown_better["a"] == ["b"]
        assert whole.few.startswith("too few groups: 30")

    def test_uneven_groups_count_by_their_cases(self) -> None:
        units = Units(np.repeat(np.arange(40), np.arange(1, 41)), 40)
        values = RNG.normal(0.3, 1, (1, units.of.size))
        of = differences.studied(values, units)
        assert of.mean[0] == pytest.approx(values.mean())
        weights = RNG.multinomial(40, np.full(40, 1 / 40), 5).astype(float)
        for found, drawn in zip(differences.drawn(of, weights)[:, 0], weights, strict=True):
            each = drawn[units.of]
            mean = (each * values[0]).sum() / each.sum()
            departures = [(values[0] - mean)[units.of == k].sum() for k in range(40)]
            variance = (drawn * np.square(departures)).sum() * (40 / each.sum()) ** 2 / 39
            error = np.sqrt((39 * variance + of.added**2 * 40 / 41) / 40 / 41)
            assert found == pytest.approx((mean - values.mean()) / error, rel=1e-4)

    def test_few_cases_that_make_up_all_differences_must_be_outweighed(self) -> None:
        rare = np.full((10, 100), 0.5)
        rare[0, :2] = 0.9
        said = differences.compare(rare, units_of(100), 300)
        assert said.carried < differences.CARRIED
        low, high = said.interval[0, 1]
        added = np.abs(rare[0] - rare[1] - 0.008).max()
        assert (high - low) / 2 >= added * np.log(10 / 0.05) / 100 - 1e-12
        assert not said.better.any()

    def test_what_is_shown_in_one_direction_may_still_vary_in_the_other(self) -> None:
        ratios = np.full((200, 2), 0.1)
        ratios[:20, 0] = -3.0
        assert differences.step_down(np.array([9.0, 2.5]), ratios).tolist() == [1, 0]
        assert differences.step_down(np.array([-9.0, 2.5]), ratios).tolist() == [-1, 1]

    def test_the_order_of_rows_and_names_of_models_change_nothing(self, five: fs.ranking.RankedTable) -> None:
        order = RNG.permutation(60)
        cases = [str(k + 1) for k in range(60)]
        again = rank_scores(
            score_table(NAMES[::-1], FIVE[::-1][:, order], cases=[cases[k] for k in order]), anchor="fourth"
        )
        assert [row.rank_interval for row in again.models] == [row.rank_interval for row in five.models]
        assert again.difference_interval["best"]["second"] == pytest.approx(
            five.difference_interval["best"]["second"]
        )
        assert again.stability == five.stability

    def test_names_decide_nothing_among_equal_means(self) -> None:
        turned = np.stack([FIVE[0], FIVE[0, ::-1], FIVE[4]])
        first, second = (
            rank_scores(score_table(names, turned)) for names in (("a", "b", "c"), ("z", "b", "c"))
        )
        renamed = ["z" if row.model == "a" else row.model for row in first.models]
        assert [row.model for row in second.models] == renamed
        assert [row.tier for row in second.models] == [row.tier for row in first.models]

    def test_the_anchor_is_compared_with_each(self, five: fs.ranking.RankedTable) -> None:
        said = {row.model: row.to_anchor for row in five.models}
        assert said["best"] == "better"
        assert said["fourth"] == "anchor"
        assert said["last"] == "worse"
        with refused(RankingError, "no model is named 'bset'; there are .* Did you mean 'best'"):
            rank_table(dict(zip(NAMES, FIVE, strict=True)), anchor="bset")


class TestOtherNumbers:
    def test_a_false_claim_of_scores_has_students_posterior(self) -> None:
        found, model = false_claims(score_table("ab", FIVE[:2]))
        gap = FIVE[0] - FIVE[1]
        posterior = stats.t(59, gap.mean(), gap.std(ddof=1) / np.sqrt(60))
        assert model == NORMAL
        assert found[0, 1] == pytest.approx(posterior.cdf(0))
        assert found[0, 1] + found[1, 0] == pytest.approx(1)

    def test_a_false_claim_of_right_or_wrong_has_dirichlets(self) -> None:
        right = (RNG.random((2, 80)) < [[0.9], [0.8]]).astype(float)
        found, model = false_claims(score_table("ab", right))
        wins = int((right[0] > right[1]).sum())
        losses = int((right[0] < right[1]).sum())
        drawn = RNG.dirichlet([wins + 1, losses + 1, 80 - wins - losses + 2], 200_000)
        assert model == SHARES
        assert found[0, 1] == pytest.approx((drawn[:, 0] <= drawn[:, 1]).mean(), abs=0.004)

    def test_signed_ranks_are_wilcoxons(self) -> None:
        scores = np.round(RNG.normal([[0.3], [0.1]], 0.4, (2, 40)), 1)  # with ties and zeros
        mine = signed_rank_p_values(scores)
        gap = np.round(scores[0] - scores[1], 6)
        theirs = stats.wilcoxon(
            gap, alternative="greater", zero_method="wilcox", correction=True, method="asymptotic"
        )
        assert mine[0, 1] == pytest.approx(theirs.pvalue)

    def test_methods_disagree_where_one_failure_decides_the_mean(self) -> None:
        merits = np.full((2, 20), 0.8) + np.array([[0.01], [0.0]])
        merits[0, 3] = 0.0
        found = numbers_of_methods(merits, np.zeros((2, 2), bool))
        assert found["mean"].argmax() == 1
        assert {way: int(found[way].argmax()) for way in ("median", "mean_rank", "signed_rank")} == {
            "median": 0,
            "mean_rank": 0,
            "signed_rank": 0,
        }

    def test_shares_of_resamples_are_divided_among_equals(self) -> None:
        twins = rank_scores(score_table("ab", np.repeat(RNG.random((1, 90)), 2, 0)))
        assert [row.best_in for row in twins.models] == [0.5, 0.5]
        assert [row.rank for row in twins.models] == [1, 1]
        assert twins.few.startswith("no case tells the models apart")

    def test_podiums_count_all_cells(self, five: fs.ranking.RankedTable) -> None:
        assert all(sum(row.podium) == 60 for row in five.models)
        assert sum(row.podium[0] for row in five.models) == 60
        assert all(sum(row.ranks_in) == pytest.approx(1) for row in five.models)

    def test_a_single_case_that_decides_is_counted(self) -> None:
        scores = np.full((2, 30), 0.5)
        scores[0, 0] = 0.9
        scores[1, 1] = 0.7
        assert rank_scores(score_table("ab", scores)).stability.turning == 1


class TestFrames:
    def test_long_and_wide_say_the_same(self) -> None:
        wide = {"image": ["z", "x", "y"], "a": [None, 0.9, 0.7], "b": [0.1, 0.8, 0.6]}
        one, other = (rank_table(frame) for frame in (LONG, wide))
        assert one.difference == other.difference
        assert (
            one.notes
            == other.notes
            == ("1 of 3 cases lacks a score of some model and is left out for all: z (a)",)
        )

    def test_arrow_and_what_gives_it_are_read(self) -> None:
        assert repr(rank_table(pa.table(LONG)).models) == repr(rank_table(LONG).models)

    def test_the_index_of_pandas_is_neither_a_metric_nor_a_model(self) -> None:
        indexed = pa.table({**LONG, "__index_level_0__": [0, 1, 0, 1, 0, 1]})
        assert repr(rank_table(indexed).models) == repr(rank_table(LONG).models)

    def test_a_missing_score_counts_as_what_is_said(self) -> None:
        said = rank_table(LONG, missing=0)
        assert said.cases == 3
        assert said.notes == ("1 missing score counted as 0: z (a)",)
        with refused(OptionError, "missing: 1 is better than most scores, of which high is better"):
            rank_table(LONG, missing=1)
        with refused(OptionError, "missing: 0 is better than most scores by hd95, of which low is better"):
            rank_table(
                {"case": LONG["Case"], "model": LONG["model"], "hd95": LONG["value"]},
                missing=0,
                better="low",
            )

    def test_several_metrics_have_their_directions_and_agree_or_not(self) -> None:
        frame = {
            "case": ["x", "y"] * 2,
            "model": ["a", "a", "b", "b"],
            "dice": [0.9, 0.8, 0.5, 0.4],
            "hd95": [9, 8, 2, 1],
        }
        with refused(OptionError, "is less better in 'hd95'"):
            rank_table(frame)
        said = rank_table(frame, better={"hd95": "low"})
        assert said.metric == "dice"
        assert said.others["hd95"].models[0].model == "b"
        assert said.metric_tau == {"dice": {"hd95": -1.0}, "hd95": {"dice": -1.0}}
        assert rank_table(frame, better="dice=high,hd95=high").metric_tau["dice"]["hd95"] == 1.0
        long = {
            "case": ["x", "y"] * 4,
            "model": ["a", "a", "b", "b"] * 2,
            "metric": ["dice"] * 4 + ["hd95"] * 4,
            "score": frame["dice"] + frame["hd95"],
        }
        assert rank_table(long, better="hd95=low").metric_tau == said.metric_tau

    def test_raters_and_classes_are_ranked_alone_and_stay_with_their_case(self) -> None:
        frame = {
            "case": [case for case in "wxyz" for _ in range(4)],
            "rater": ["ann", "ann", "ben", "ben"] * 4,
            "model": ["a", "b"] * 8,
            "score": [0.9, 0.8, 0.5, 0.6] * 4,
        }
        said = rank_table(frame)
        assert (said.cases, said.units, said.grouped) == (4, 4, False)
        assert said.raters["ann"].ranks == {"a": 1, "b": 2}
        assert said.raters["ben"].ranks == {"a": 2, "b": 1}
        assert "by each of 2 raters alone: a has rank 1 to 2" in repr(said) or "b has rank" in repr(said)

    @pytest.mark.parametrize(
        ("frame", "says"),
        [
            ({}, "there are no scores"),
            (pa.table([[1.0], [2.0]], names=["a", "a"]), "there are two columns named 'a'"),
            ("scores", "a frame of scores is a DataFrame, or {column: values}; got str"),
            ({"case": ["x"], "a": [1.0]}, "there are scores of a, and a ranking needs two models"),
            ({"model": ["a"], "score": [1.0]}, "there is no column of cases among model, score"),
            ({"case": ["x"], "score": [1.0]}, "there is no column of models among case, score"),
            ({"case": ["x"], "model": ["a"]}, "there is no column of scores among case, model"),
            ({"a": [1.0, 2.0], "b": [1.0]}, "columns have different lengths: a 2, b 1"),
            (
                {"a": ["1", "x"], "b": ["1", "2"]},
                "row 2: the score of 'a' on '2' is 'x', which is not a number",
            ),
            ({"a": ["1", "0,5"], "b": ["1", "2"]}, "write decimal points"),
            ({"a": [1, np.inf], "b": [1, 2]}, "the score of 'a' on '2' is infinite"),
            ({"case": ["x", ""], "a": [1, 2], "b": [1, 2]}, "row 2: column 'case' is empty"),
            (
                {"case": ["x", "x"], "a": [1, 2], "b": [1, 2]},
                "there are two scores of 'a' on case 'x'; give one",
            ),
            (
                {"case": ["x", "x"], "model": ["a", "b"], "score": [1, 2], "extra": [1, 2]},
                "columns 'extra' have no meaning beside 'score'; remove them, or rename one to group, class",
            ),
            (
                {"case": ["x", "x"], "class": ["1", "2"], "group": ["p", "q"], "a": [1, 2], "b": [1, 2]},
                "case 'x' is in two groups, 'p' and 'q'; give it one",
            ),
            ({"case": [1, 2], "Image": [1, 2], "a": [1, 2], "b": [1, 2]}, "both name the case"),
            ({"a": [1, None], "b": [None, 1]}, "only 0 of 2 cases have a score of every model"),
        ],
    )
    def test_what_does_not_fit_is_one_line(self, frame: object, says: str) -> None:
        with refused(RankingError, says.replace("{", r"\{").replace("}", r"\}").replace("(", r"\(")):
            rank_table(frame)

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"better": "up"}, "better must be high or low, .* got 'up'"),
            ({"better": "dice=high"}, "better: no metric is named 'dice'; there are no named ones"),
            ({"missing": "x"}, "missing must be a score"),
            ({"missing": float("nan")}, "missing must be a finite score"),
            ({"resamples": -1}, "resamples cannot be negative"),
        ],
    )
    def test_options_that_do_not_fit_are_one_line(self, options: dict[str, object], says: str) -> None:
        with refused(OptionError, says):
            rank_table(LONG, **options)

    def test_results_are_frames_again(self) -> None:
        said = rank_table(LONG)
        models = said.to_arrow().to_pylist()
        assert [row["model"] for row in models] == ["a", "b"]
        assert models[0]["mean_low"] is None
        pairs = fs.ranking.ranked_pairs(said).to_pylist()
        assert [(row["model"], row["other"]) for row in pairs] == [("a", "b"), ("b", "a")]
        assert pairs[0]["difference"] == pytest.approx(0.1)
