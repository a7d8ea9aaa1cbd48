"""Risk against coverage and windows of doubt: by hand, by brute force, by the identities that hold, and the example of S3's release."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import MetricError
from faultscape.metrics import (
    augrc,
    detection,
    histogram16,
    risk_coverage,
    risk_coverage_of_histogram,
    stream,
    windows,
)


def made(seed, levels):
    rng = np.random.default_rng(seed)
    return rng.integers(0, levels, 90).astype(np.float32) / 8, rng.choice([0, 1, 255], 90, p=[0.6, 0.3, 0.1])


@given(st.integers(0, 500), st.sampled_from([3, 40]))
def test_areas_by_brute_force_with_ties_kept_together(seed, levels):
    doubt, wrong = made(seed, levels)
    kept = wrong != 255
    d, w = doubt[kept], wrong[kept]
    found = risk_coverage(doubt, wrong)
    assert found.aurc == pytest.approx(np.mean([w[d <= own].mean() for own in d]))
    # over all orders of ties: each pair of pixels of one doubt comes first half of the time
    pairs = (d[:, None] < d[None, :]) + 0.5 * (d[:, None] == d[None, :])
    assert found.augrc == pytest.approx((w[:, None] * pairs).sum() / len(d) ** 2)
    assert (found.pixels, found.errors) == (kept.sum(), w.sum())
    assert (found.coverage[-1], found.risk[-1]) == (1, pytest.approx(w.mean()))


@given(st.integers(0, 500), st.sampled_from([3, 40]))
def test_augrc_follows_from_auroc_and_accuracy_also_streamed(seed, levels):
    doubt, wrong = made(seed, levels)
    found = risk_coverage(doubt, wrong).augrc
    assert augrc(detection(doubt, wrong)) == pytest.approx(found, abs=1e-12)
    assert augrc(stream(lambda: iter([(doubt[:30], wrong[:30]), (doubt[30:], wrong[30:])]))) == pytest.approx(found, abs=1e-12)
    counted = risk_coverage_of_histogram(histogram16(doubt.astype(np.float16), wrong))
    assert counted.augrc == pytest.approx(found, abs=1e-15)
    assert counted.aurc == pytest.approx(risk_coverage(doubt, wrong).aurc, abs=1e-15)


def test_ends():
    never, always = risk_coverage(np.arange(5), np.zeros(5, int)), risk_coverage(np.arange(5), np.ones(5, int))
    assert (never.aurc, never.augrc) == (0, 0)
    assert (always.aurc, always.augrc) == (1, 0.5)
    assert augrc(detection(np.arange(5), np.zeros(5, int))) == 0
    assert augrc(detection(np.arange(5), np.ones(5, int))) == 0.5
    nothing = risk_coverage(np.array([np.nan]), np.array([255]))
    assert math.isnan(nothing.aurc)
    assert math.isnan(augrc(detection(np.array([np.nan]), np.array([255]))))
    with pytest.raises(MetricError, match="m: 1 of 1 scores are NaN"):
        risk_coverage(np.array([np.nan]), np.array([1]), where="m")


def test_a_long_curve_is_thinned_and_the_areas_are_not():
    rng = np.random.default_rng(0)
    doubt, wrong = rng.random(20_000), rng.integers(0, 2, 20_000)
    few, many = risk_coverage(doubt, wrong, points=50), risk_coverage(doubt, wrong, points=10**6)
    assert len(few.risk) <= 50
    assert len(many.risk) == 20_000
    assert (few.aurc, few.coverage[-1]) == (many.aurc, 1)
    assert np.isin(few.thresholds, many.thresholds).all()


# the 4 x 4 example of S3's release, windows of 2 x 2, accuracy above .5, doubt above .4
RIGHT = np.array([[1, 1, 0, 1], [0, 0, 1, 1], [1, 1, 0, 1], [1, 0, 0, 1]])
DOUBT = np.array([[0.1, 0.3, 0.6, 0.3], [0.7, 0.6, 0.2, 0.1], [0.2, 0.4, 0.5, 0.3], [0.1, 0.7, 0.6, 0.2]])


def test_the_example_of_the_release():
    found = windows(DOUBT, 1 - RIGHT, window=2, doubt_threshold=0.4)
    assert found.pavpu == 0.75
    assert found.accurate_given_certain == pytest.approx(2 / 3)
    assert found.uncertain_given_inaccurate == 0.5
    assert windows(DOUBT, 1 - RIGHT).uncertain_given_inaccurate == 0  # nothing exceeds .5


@given(st.integers(0, 300), st.sampled_from([1, 2, 3, 5]))
def test_windows_by_a_loop_with_void_and_smaller_edges(seed, window):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 12, 2))
    wrong, doubt = rng.choice([0, 1, 255], shape, p=[0.4, 0.3, 0.3]), rng.random(shape)
    counts = {(a, u): 0 for a in (True, False) for u in (True, False)}
    for y in range(0, shape[0], window):
        for x in range(0, shape[1], window):
            inside = (slice(y, y + window), slice(x, x + window))
            kept = wrong[inside] != 255
            if kept.any():
                counts[(wrong[inside][kept] == 0).mean() > 0.5, doubt[inside][kept].mean() > 0.45] += 1
    found = windows(np.where(wrong == 255, np.nan, doubt), wrong, window=window, doubt_threshold=0.45)
    assert found.accurate_certain == counts[True, False]
    assert found.accurate_uncertain == counts[True, True]
    assert found.inaccurate_certain == counts[False, False]
    assert found.inaccurate_uncertain == counts[False, True]


def test_windows_of_images_add_up_where_they_mean_the_same():
    one, other = windows(DOUBT, 1 - RIGHT, doubt_threshold=0.4), windows(DOUBT[:, ::-1], RIGHT, doubt_threshold=0.4)
    total = one + other
    assert total.accurate_certain == one.accurate_certain + other.accurate_certain
    assert total.inaccurate_uncertain == one.inaccurate_uncertain + other.inaccurate_uncertain
    assert total.doubt_threshold == 0.4
    with pytest.raises(MetricError, match="cannot be added"):
        one + windows(DOUBT, 1 - RIGHT)


def test_windows_of_nothing_and_bad_maps():
    void = windows(np.full((2, 2), np.nan), np.full((2, 2), 255))
    assert all(math.isnan(value) for value in (void.pavpu, void.accurate_given_certain, void.uncertain_given_inaccurate))
    with pytest.raises(MetricError, match="expected H x W"):
        windows(np.zeros(4), np.zeros(4, int))
    with pytest.raises(MetricError, match="1 of 2 doubts are NaN"):
        windows(np.array([[np.nan, 1.0]]), np.array([[0, 1]]))
    with pytest.raises(MetricError, match="the mask holds 2"):
        windows(np.zeros((1, 2)), np.array([[0, 2]]))
