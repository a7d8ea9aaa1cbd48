"""Intervals of metrics: against SciPy, by groups, from few images."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from scipy import stats

from faultscape.choices import Pooling
from faultscape.metrics import summary
from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.evidence import Drawn, Means, Ratios, jackknife_interval
from faultscape.metrics.intervals.neighbours import alike, neighbour_correlation, too_narrow
from faultscape.metrics.intervals.slopes import Linear, of_sums
from faultscape.metrics.intervals.units import draw_units, units_of


def test_a_mean_over_images_has_students_interval_of_those_with_a_value() -> None:
    values = np.random.default_rng(0).random(12)
    values[[3, 7]] = np.nan
    known = values[~np.isnan(values)]
    expected = stats.t.interval(0.95, len(known) - 1, known.mean(), known.std(ddof=1) / np.sqrt(len(known)))
    assert Means(values[:, None]).interval(units_of(12)) == pytest.approx(expected)
    assert np.isnan(Means(values[:5, None]).interval(units_of(5))).all()


def test_images_that_come_in_groups_of_copies_are_worth_one_each() -> None:
    """Five copies of each of eight images, drawn as groups, give the intervals of eight images, whatever the
    metric.
    """
    rng = np.random.default_rng(1)
    both = rng.integers(5, 50, (8, 3))
    one = {"both": both, "truth_pixels": np.c_[both + rng.integers(0, 30, (8, 3)), np.zeros(8, int)]}
    one["predicted_pixels"] = np.c_[both + rng.integers(0, 30, (8, 3)), np.zeros(8, int)]
    many = {key: np.repeat(values, 5, 0) for key, values in one.items()}
    units = units_of([f"drive {k}" for k in range(8) for _ in range(5)])
    assert (units.count, units.grouped, units_of(8).grouped) == (8, True, False)
    for pooling in get_args(Pooling):
        few = summary.summarise(one, Definitions(pooling=pooling), (0, 1, 2), np.ones(8, bool))
        copies = summary.summarise(many, Definitions(pooling=pooling), (0, 1, 2), np.ones(40, bool))
        for metric, entry in few.items():
            ends = entry.evidence.interval(units_of(8))
            assert copies[metric].evidence.interval(units) == pytest.approx(ends, rel=1e-7), metric
            # taken as independent
            assert np.ptp(copies[metric].evidence.interval(units_of(40))) < 0.5 * np.ptp(ends), metric


def counts(rng: np.random.Generator, images: int, classes: int) -> dict[str, np.ndarray]:
    """Counts of pixels of which each image has some classes only."""
    there = rng.random((2, images, classes)) < 0.6
    truth, prediction = there * rng.integers(1, 40, there.shape)
    both = np.minimum(truth, prediction) // 2
    void = np.zeros((images, 1), int)
    return {"both": both, "truth_pixels": np.c_[truth, void], "predicted_pixels": np.c_[prediction, void]}


@pytest.mark.parametrize("over", ["union", "truth", "all"])
def test_a_mean_over_cells_is_that_of_all_images_and_classes_that_have_a_value(over: Any) -> None:
    """By the values of single images, for every metric of pixels; its slopes are its derivatives."""
    held = counts(np.random.default_rng(4), 20, 5)
    definitions, used = Definitions(over=over, pooling="cells"), np.arange(20) != 3
    found = summary.summarise(held, definitions, range(5), used)
    per_image = summary.summarise(held, Definitions(over=over, pooling="per_image"), range(5), used)
    assert found.keys() == {metric.name for metric in METRICS if metric.reads == "both"}
    for metric in (metric for metric in METRICS if metric.reads == "both"):
        one = found[metric.name]
        if metric.per_class is None:  # a cell an image
            assert (one.value, one.undefined) == (per_image[metric.name].value, 0)
            continue
        cells = metric.per_class({key: of[used] for key, of in held.items()}, definitions)
        if over == "truth":
            cells[held["truth_pixels"][used, :-1] == 0] = np.nan
        cells = np.nan_to_num(cells) if over == "all" else cells
        assert one.value == pytest.approx(np.nanmean(cells))
        assert one.value != pytest.approx(np.nanmean(np.nanmean(cells, 1))) or over == "all"
        assert one.undefined == np.isnan(cells).sum()
        assert one.per_class == pytest.approx(np.nanmean(cells, 0))
        for k, row in enumerate(cells):  # an image that counts a little more
            heavier = (np.nansum(cells) + 1e-6 * np.nansum(row)) / (
                (~np.isnan(cells)).sum() + 1e-6 * (~np.isnan(row)).sum()
            )
            slope = one.evidence.linear.slopes[np.flatnonzero(used)[k]]
            assert slope == pytest.approx((heavier - np.nanmean(cells)) / 1e-6, abs=1e-6)


def test_two_models_are_compared_over_the_cells_that_both_have_each_of_the_same_weight() -> None:
    cells = np.random.default_rng(5).random((2, 9, 4))
    cells[np.random.default_rng(6).random(cells.shape) < 0.3] = np.nan
    one, other = (Means(of, alike=True) for of in cells)
    assert one.common(other).value == pytest.approx(np.nanmean(cells[0] - cells[1]))
    assert one.apart(other).value == pytest.approx(np.nanmean(cells[0]) - np.nanmean(cells[1]))


def test_slopes_of_a_ratio_are_its_derivatives() -> None:
    rng = np.random.default_rng(2)
    above, below = rng.random((2, 30))
    found = of_sums(
        {"a": above, "b": below}, lambda sums: {"r": (sums["a"] / sums["b"], None)}, np.arange(30) != 4
    )["r"][0]
    rest = np.delete(np.arange(30), 4)
    ratio = above[rest].sum() / below[rest].sum()
    assert float(found.value) == pytest.approx(ratio)
    assert found.slopes[rest] == pytest.approx(
        (above[rest] - ratio * below[rest]) / below[rest].sum(), abs=1e-11
    )
    assert np.isnan(found.slopes[4])
    assert Ratios(found, None).interval(units_of(30))[0] < ratio


def test_two_numbers_made_of_classes_are_compared_over_the_classes_that_both_have() -> None:
    rng = np.random.default_rng(6)
    values, slopes = rng.random((2, 4)), rng.normal(size=(2, 30, 4))
    values[0, 1] = values[1, 3] = np.nan
    slopes[:, 7] = np.nan  # an image that counts for nothing
    slopes[0, :, 1] = slopes[1, :, 3] = np.nan
    one, other = (
        Ratios(
            Linear(np.nanmean(v), np.where(np.arange(30) == 7, np.nan, np.nanmean(np.nan_to_num(s), 1))),
            Linear(v, s),
        )
        for v, s in zip(values, slopes, strict=True)
    )
    both, rest = [0, 2], np.arange(30) != 7
    gap = one.common(other)
    assert gap.value == pytest.approx((values[0] - values[1])[both].mean())
    assert gap.linear.slopes[rest] == pytest.approx((slopes[0] - slopes[1])[rest][:, both].mean(1))
    assert np.isnan(gap.linear.slopes[7])
    assert one.apart(other).value == pytest.approx(np.nanmean(values[0]) - np.nanmean(values[1]))


def test_what_has_no_slopes_is_left_out_unit_by_unit() -> None:
    """Of a mean the jackknife is Student's; of differences it is that of the differences."""
    values = np.random.default_rng(3).exponential(size=(2, 25))
    used = np.ones(25, bool)
    left = np.array([np.delete(values, k, 1).mean(1) for k in range(25)]).T
    one, other = (Drawn(v.mean(), np.zeros(0), gone, used) for v, gone in zip(values, left, strict=True))
    assert one.interval(units_of(25)) == pytest.approx(Means(values[0][:, None]).interval(units_of(25)))
    gap = Means((values[0] - values[1])[:, None])
    assert one.common(other).interval(units_of(25)) == pytest.approx(gap.interval(units_of(25)))
    assert np.isnan(one.common(Drawn(0.5, np.zeros(0), np.zeros(0), used)).interval(units_of(25))).all()
    assert np.isnan(Drawn(0.5, np.zeros(0), left[0][:5], used[:5]).interval(units_of(5))).all()
    known = Drawn(0.5, np.zeros(0), np.append(left[0], np.nan), np.ones(26, bool)).interval(units_of(26))
    assert not np.isnan(known).any()  # a unit without which there is no value tells nothing


def test_a_difference_has_the_units_that_either_number_has() -> None:
    values = np.random.default_rng(7).exponential(size=(2, 20))
    values[0, 10:] = values[1, :10] = np.nan
    left = [np.array([np.nanmean(np.delete(v, k)) for k in range(20)]) for v in values]
    one, other = (
        Drawn(float(np.nanmean(v)), np.zeros(0), gone, ~np.isnan(v))
        for v, gone in zip(values, left, strict=True)
    )
    gap = one.common(other).interval(units_of(20))
    assert gap == pytest.approx(jackknife_interval(one.value - other.value, left[0] - left[1], 20))


def test_an_error_that_noise_makes_larger_may_be_none_at_all() -> None:
    """Calibrated forecasts: the calibration error is above 0 by chance alone, and its interval reaches down
    to 0.
    """
    from faultscape.metrics import calibration

    held = inside = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        sure = rng.beta(6, 1.5, (30, 300))
        right = rng.random(sure.shape) < sure
        rows = [calibration.calibration_counts(s, r) for s, r in zip(sure, right, strict=True)]
        sums = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
        draws = draw_units(units_of(30), 200, seed, leave_out=True)
        values = np.asarray(calibration.ece({key: draws.weights @ v for key, v in sums.items()}))
        low, high = Drawn(*draws.split(values), np.ones(30, bool), shape="bent").interval(units_of(30))
        inside += low <= values[0] <= high
        held += low <= 0
    assert inside == 100
    assert held >= 84  # of the jackknife alone 20, of percentiles none


def test_what_moves_in_steps_has_the_spread_of_its_draws() -> None:
    replicates = np.random.default_rng(5).normal(0.5, 0.1, 4000)
    left, used = np.full(30, 0.5), np.ones(30, bool)  # no image alone moves it
    low, high = Drawn(0.5, replicates, left, used, shape="stepped").interval(units_of(30))
    half = stats.t.ppf(0.975, 29) * replicates.std() * np.sqrt(30 / 29)
    assert (low, high) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))
    gap = Drawn(0.5, replicates, left, used, shape="stepped").common(
        Drawn(0.4, replicates / 2, left, used, shape="stepped")
    )
    assert np.ptp(gap.interval(units_of(30))) == pytest.approx(half)


def test_percentiles_hold_their_point() -> None:
    replicates = np.random.default_rng(4).normal(0.5, 0.1, 4000)
    many = np.ones(30, bool)
    low, high = Drawn(0.1, replicates, np.zeros(0), many).interval(units_of(30))
    assert (low, high) == (0.1, pytest.approx(np.quantile(replicates, 0.975)))
    assert np.isnan(Drawn(0.5, replicates, np.zeros(0), many).interval(units_of(["a", "b", "c"] * 10))).all()
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
    assert (value, replicates[0], replicates[-1], left_out.tolist()) == (
        0.0,
        1.0,
        200.0,
        [201.0, 202.0, 203.0, 204.0],
    )


def test_neighbours_that_are_alike_are_found_and_shuffled_ones_are_not() -> None:
    rng = np.random.default_rng(5)
    steps, values = rng.normal(size=400), np.zeros(400)
    for k in range(1, 400):
        values[k] = 0.8 * values[k - 1] + steps[k]
    assert neighbour_correlation(values) == pytest.approx(0.8, abs=0.08)
    assert too_narrow(0.8) == pytest.approx(3)
    assert alike(values) == neighbour_correlation(values)
    assert sum(alike(rng.permutation(values)) is not None for _ in range(200)) == 0
    # of ten images a correlation of .3 is chance
    assert sum(alike(rng.normal(size=10)) is not None for _ in range(200)) < 10
    assert alike(np.full(9, np.nan)) is None
    assert alike(np.ones(9)) is None
