"""Objects found at false-alarm rates: against the pixels themselves, and intervals against resampled images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage, stats

from faultscape.metrics.intervals.evidence import Drawn, share_interval
from faultscape.metrics.intervals.units import Units, draw_units, units_of
from faultscape.metrics.scores.found_objects import RATES, found_shares, object_places, of_objects
from faultscape.metrics.scores.grouped_counts import count_groups, group_pixels
from faultscape.metrics.scores.histogram import VALUES
from faultscape.reporting.reliability.document import FOUND_AT, TITLES

Image = tuple[np.ndarray, np.ndarray]  # score (float16), labels of anomaly


def image(seed: int) -> Image:
    """An image of 30 x 40 with some objects that score higher, in part, void pixels and ties."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(30, 40))
    anomaly = np.zeros((30, 40), np.uint8)
    for _ in range(rng.integers(0, 4)):
        y, x = rng.integers(0, 24), rng.integers(0, 34)
        high, wide = rng.integers(1, 7, 2)
        anomaly[y : y + high, x : x + wide] = 1
        score[y : y + high, x : x + wide] += rng.normal(1.5)
    anomaly[rng.random(anomaly.shape) < 0.05] = 255
    return np.round(score, 1).astype(np.float16), anomaly


def plain_shares(images: list[Image], rate: float) -> float:
    """The share of connected objects with half of their pixels at or above the lowest score that at most that
    share of the known pixels reaches.
    """
    known = np.concatenate([score[anomaly == 0] for score, anomaly in images]).astype(float)
    scores = np.unique(np.concatenate([score.ravel() for score, _ in images]).astype(float))
    allowed = [t for t in scores if (known >= t).mean() <= rate]
    threshold = min(allowed, default=np.inf)
    found = []
    for score, anomaly in images:
        numbers, many = ndimage.label(anomaly == 1, np.ones((3, 3)))
        found += [
            2 * (score[numbers == k] >= threshold).sum() >= (numbers == k).sum() for k in range(1, many + 1)
        ]
    return float(np.mean(found)) if found else float("nan")


def histograms(images: list[Image]) -> list:
    return [of_objects(count_groups(score, *group_pixels(anomaly, None))) for score, anomaly in images]


@given(seeds=st.lists(st.integers(0, 500), min_size=1, max_size=4), rate=st.sampled_from([*RATES, 0.3, 1.0]))
@settings(max_examples=40, deadline=None)
def test_the_share_found_is_that_of_the_pixels(seeds: list[int], rate: float) -> None:
    images = [image(seed) for seed in seeds]
    (found,) = found_shares(histograms(images), rates=[rate])
    assert found.value == pytest.approx(plain_shares(images, rate), abs=1e-12, nan_ok=True)


def test_more_false_alarms_find_no_fewer_objects_and_any_order_of_scores_finds_the_same() -> None:
    images = [image(seed) for seed in range(12)]
    shares = [found.value for found in found_shares(histograms(images))]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]
    turned = [(np.exp(score), anomaly) for score, anomaly in images]
    assert [found.value for found in found_shares(histograms(turned))] == shares


def test_an_object_is_found_from_half_of_its_pixels_on() -> None:
    score = np.array([[0, 2, 1, 1, 9, 8, 9, 7, 7]], np.float16)
    anomaly = np.array([[1, 1, 0, 0, 1, 1, 0, 1, 1]], np.uint8)
    anomaly[0, 6] = 255
    counts = count_groups(score, *group_pixels(anomaly, None))
    assert VALUES[object_places(counts)].tolist() == [2, 9, 7]


def test_draws_are_the_shares_of_the_images_drawn() -> None:
    images = [image(seed) for seed in range(20)]
    draws = draw_units(units_of(20), 25, 3, leave_out=True)
    found = found_shares(histograms(images), np.arange(20), draws)
    for rate, of in zip(RATES, found, strict=True):
        for k, weights in enumerate(draws.weights[1:26]):
            drawn = [one for one, times in zip(images, weights.tolist(), strict=True) for _ in range(times)]
            assert of.replicates[k] == pytest.approx(plain_shares(drawn, rate), abs=1e-12)


def test_all_objects_found_is_no_certainty() -> None:
    """Of eight images whose objects are all found, the interval is that of eight trials."""
    score, anomaly = np.zeros((2, 4, 4))
    anomaly[0, 0] = score[0, 0] = 1
    images = [(score.astype(np.float16), anomaly.astype(np.uint8))] * 8
    draws = draw_units(units_of(8), 20, 0)
    found = found_shares(histograms(images), np.arange(8), draws)[1]
    assert found.value == 1.0
    low, high = found.interval(Units(np.arange(8), 8))
    assert (low, high) == pytest.approx(tuple(stats.binomtest(8, 8).proportion_ci()))
    few = found_shares(histograms(images[:5]), np.arange(5), draw_units(units_of(5), 20, 0))[1]
    assert np.isnan(few.interval(Units(np.arange(5), 5))).all()


def test_a_share_has_the_interval_of_a_binomial_with_its_variance() -> None:
    many = 10_000
    ends = share_interval(0.3, 0.21 / many, many)
    assert ends == pytest.approx(tuple(stats.binomtest(3000, many).proportion_ci()), abs=2e-5)
    wide = share_interval(0.3, 0.21 / 40, many)  # objects of one image that are found together
    assert wide == pytest.approx(tuple(stats.binomtest(12, 40).proportion_ci()), abs=1e-3)


def test_the_interval_holds_the_share_as_often_as_it_says() -> None:
    """Images with three objects each, which are found together with probability .4 and else apart."""
    rng = np.random.default_rng(0)
    units, objects, chance, times, held = 30, 3, 0.8, 400, 0
    for _ in range(times):
        together = rng.random((units, 1)) < 0.4
        one = rng.random((units, 1)) < chance
        shares = np.where(together, one, rng.random((units, objects)) < chance).mean(1)
        drawn = shares[rng.integers(0, units, (200, units))].mean(1)
        found = Drawn(shares.mean(), drawn, np.zeros(0), np.ones(units, bool), "share")
        low, high = found.interval(Units(np.arange(units), units))
        held += low <= chance <= high
    assert 0.93 <= held / times <= 0.995


def test_the_card_names_these_rates() -> None:
    assert [f"objects@{100 * rate:.0f}%" for rate in RATES] == [TITLES[name].short for name in FOUND_AT]


def test_without_objects_or_known_pixels_nothing_is_found_or_missed() -> None:
    score = np.zeros((2, 2), np.float16)
    for value in (0, 1):
        labels = np.full((2, 2), value, np.uint8)
        assert all(np.isnan(of.value) for of in found_shares(histograms([(score, labels)])))
