"""Intervals of metrics: against SciPy, by groups, from few images."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from faultscape.metrics import summary
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.evidence import Drawn, Means, Ratios, bca_interval
from faultscape.metrics.neighbours import alike, neighbour_correlation, too_narrow
from faultscape.metrics.slopes import of_sums
from faultscape.metrics.units import draw_units, units_of


def test_a_mean_over_images_has_students_interval_of_those_with_a_value() -> None:
    values = np.random.default_rng(0).random(12)
    values[[3, 7]] = np.nan
    known = values[~np.isnan(values)]
    expected = stats.t.interval(0.95, len(known) - 1, known.mean(), known.std(ddof=1) / np.sqrt(len(known)))
    assert Means(values[:, None]).interval(units_of(12)) == pytest.approx(expected)
    assert np.isnan(Means(values[:5, None]).interval(units_of(5))).all()


def test_images_that_come_in_groups_of_copies_are_worth_one_each() -> None:
    """Five copies of each of eight images, drawn as groups, give the intervals of eight images, whatever the metric."""
    rng = np.random.default_rng(1)
    both = rng.integers(5, 50, (8, 3))
    one = {"both": both, "truth_pixels": np.c_[both + rng.integers(0, 30, (8, 3)), np.zeros(8, int)]}
    one["predicted_pixels"] = np.c_[both + rng.integers(0, 30, (8, 3)), np.zeros(8, int)]
    many = {key: np.repeat(values, 5, 0) for key, values in one.items()}
    units = units_of([f"drive {k}" for k in range(8) for _ in range(5)])
    assert (units.count, units.grouped, units_of(8).grouped) == (8, True, False)
    for pooling in ("pooled", "per_image"):
        few = summary.summarise(one, Definitions(pooling=pooling), (0, 1, 2), np.ones(8, bool))
        copies = summary.summarise(many, Definitions(pooling=pooling), (0, 1, 2), np.ones(40, bool))
        for metric, entry in few.items():
            ends = entry.evidence.interval(units_of(8))
            assert copies[metric].evidence.interval(units) == pytest.approx(ends, rel=1e-7), metric
            assert np.ptp(copies[metric].evidence.interval(units_of(40))) < 0.5 * np.ptp(ends), metric  # taken as independent


def test_slopes_of_a_ratio_are_its_derivatives() -> None:
    rng = np.random.default_rng(2)
    above, below = rng.random((2, 30))
    found = of_sums({"a": above, "b": below}, lambda sums: {"r": (sums["a"] / sums["b"], None)}, np.arange(30) != 4)["r"][0]
    rest = np.delete(np.arange(30), 4)
    ratio = above[rest].sum() / below[rest].sum()
    assert float(found.value) == pytest.approx(ratio)
    assert found.slopes[rest] == pytest.approx((above[rest] - ratio * below[rest]) / below[rest].sum(), abs=1e-11)
    assert np.isnan(found.slopes[4])
    assert Ratios(found, None).interval(units_of(30))[0] < ratio


def test_bca_is_that_of_scipy() -> None:
    values = np.random.default_rng(3).exponential(size=40)
    oracle = stats.bootstrap((values,), np.mean, n_resamples=4000, method="BCa", random_state=0)
    left = np.array([np.delete(values, k).mean() for k in range(40)])
    ends = bca_interval(values.mean(), oracle.bootstrap_distribution, left)
    assert ends == pytest.approx([oracle.confidence_interval.low, oracle.confidence_interval.high], abs=1e-12)


def test_what_is_drawn_is_students_from_few_units_and_holds_its_point() -> None:
    rng = np.random.default_rng(4)
    used = np.ones(10, bool)
    replicates = rng.normal(0.5, 0.1, 4000)
    low, high = Drawn(0.5, replicates, np.zeros(0), used).interval(units_of(10))
    half = stats.t.ppf(0.975, 9) * replicates.std() * np.sqrt(10 / 9)
    assert (low, high) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))
    many = np.ones(30, bool)
    low, high = Drawn(0.1, replicates, np.zeros(0), many).interval(units_of(30))
    assert low == 0.1  # the point lies inside
    assert high == pytest.approx(np.quantile(replicates, 0.975))
    low, high = Drawn(0.3, replicates, np.zeros(30), many, bent=True).interval(
        units_of(30)
    )  # an error that noise alone makes larger
    added = replicates.mean() - 0.3
    assert low == pytest.approx(np.quantile(replicates, 0.025) - 2 * added)
    assert high == pytest.approx(max(0.3, np.quantile(replicates, 0.975) - 2 * added))
    assert np.isnan(Drawn(0.5, replicates, np.zeros(0), used).interval(units_of(["a", "b"] * 5))).all()
    assert np.isnan(Drawn(0.5, np.zeros(0), np.zeros(0), many).interval(units_of(30))).all()


def test_whole_groups_are_drawn_and_left_out() -> None:
    units = units_of(["a", "b", "a", "", "b", ""])
    draws = draw_units(units, 200, 0, leave_out=True)
    assert draws.weights.shape == (1 + 200 + 4, 6)
    assert (draws.weights[:, 0] == draws.weights[:, 2]).all()
    assert (draws.weights[:, 1] == draws.weights[:, 4]).all()
    assert (draws.weights[1:201][:, [0, 1, 3, 5]].sum(1) == 4).all()
    assert (draws.weights[201:] == 0).sum(1).tolist() == [2, 2, 1, 1]
    value, replicates, left_out = draws.split(np.arange(205.0))
    assert (value, replicates[0], replicates[-1], left_out.tolist()) == (0.0, 1.0, 200.0, [201.0, 202.0, 203.0, 204.0])


def test_neighbours_that_are_alike_are_found_and_shuffled_ones_are_not() -> None:
    rng = np.random.default_rng(5)
    steps, values = rng.normal(size=400), np.zeros(400)
    for k in range(1, 400):
        values[k] = 0.8 * values[k - 1] + steps[k]
    assert neighbour_correlation(values) == pytest.approx(0.8, abs=0.08)
    assert too_narrow(0.8) == pytest.approx(3)
    assert alike(values) == neighbour_correlation(values)
    assert sum(alike(rng.permutation(values)) is not None for _ in range(200)) == 0
    assert sum(alike(rng.normal(size=10)) is not None for _ in range(200)) < 10  # of ten images a correlation of .3 is chance
    assert alike(np.full(9, np.nan)) is None
    assert alike(np.ones(9)) is None
