"""Area under per-region overlap: the curve drawn threshold by threshold, the streamed number, hand examples,
and what must not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import faultscape as fs
from faultscape.errors import FaultscapeError, MetricError, OptionError
from faultscape.metrics import computations
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.metric import Groups
from faultscape.metrics.scores import bootstrap
from faultscape.metrics.scores.region_overlap import aupro
from faultscape.metrics.scores.stream import stream
from refusals import refused

Images = list[tuple[np.ndarray, np.ndarray]]
SIDES: dict[int, Any] = {8: np.ones((3, 3), int), 4: None}


def drawn(images: Images, limit: float, connectivity: int) -> float:
    """The same number from the curve: every threshold, every region, one after the other."""
    regions, known = [], []
    label: Any = ndimage.label
    for score, mask in images:
        numbers, count = label(mask == 1, SIDES[connectivity])
        regions += [score[numbers == k] for k in range(1, count + 1)]
        known.append(score[mask == 0])
    others = np.concatenate(known)
    if not regions or not len(others):
        return np.nan
    thresholds = np.unique(np.concatenate([score[mask != 255] for score, mask in images]))[::-1]
    x = np.array([0.0, *((others >= t).mean() for t in thresholds)])
    y = np.array([0.0, *(np.mean([(of >= t).mean() for of in regions]) for t in thresholds)])
    k = int(np.searchsorted(x, limit, "right"))
    end = y[k - 1] if k == len(x) else y[k - 1] + (y[k] - y[k - 1]) * (limit - x[k - 1]) / (x[k] - x[k - 1])
    return float(np.trapezoid(np.r_[y[:k], end], np.r_[x[:k], limit]) / limit)


def made(seed: int) -> Images:
    """Some images of scores with ties, of several types, and masks with void."""
    rng = np.random.default_rng(seed)
    levels, kind = int(rng.integers(2, 60)), rng.choice(["u1", "f2", "f4", "f8"])
    out = []
    for _ in range(rng.integers(1, 4)):
        shape = tuple(rng.integers(1, 12, 2))
        mask = np.where(rng.random(shape) < 0.15, 255, rng.random(shape) < 0.25).astype(np.uint8)
        out.append((rng.integers(0, levels, shape).astype(kind) + (mask == 1) * np.ones((), kind), mask))
    return out


@pytest.mark.slow
@given(st.integers(0, 100_000), st.sampled_from([0.05, 0.3, 0.71, 1.0]), st.sampled_from([4, 8]))
def test_it_is_the_area_under_the_curve_of_all_thresholds(seed: int, limit: float, connectivity: Any) -> None:
    images = made(seed)
    scores, masks = (list(side) for side in zip(*images, strict=True))
    expected = pytest.approx(drawn(images, limit, connectivity), abs=1e-12, nan_ok=True)
    assert aupro(scores, masks, limit=limit, connectivity=connectivity) == expected
    for held in (1, 3, 1 << 20):  # one pass over the pixels for so many distinct scores
        found = stream(lambda: iter(images), connectivity=connectivity, fpr_limit=limit, limit=held)
        assert found.aupro == expected


@pytest.mark.slow
@given(st.integers(0, 100_000))
def test_what_is_counted_of_images_gives_the_same_number(seed: int) -> None:
    """Where scores fall on numbers that float16 keeps apart, histograms are exact, however often an image
    counts.
    """
    images = made(seed)
    if not any((mask == 0).any() for _, mask in images) or not any((mask == 1).any() for _, mask in images):
        return
    how = bootstrap.Coarse(logit=False, centre=5.0, width=3.0)
    held = [bootstrap.sparse_histogram(score, mask, how) for score, mask in images]
    shares = [bootstrap.shares_at(h, *image, how, 8) for h, image in zip(held, images, strict=True)]
    held = [
        bootstrap.SparseHistogram(h.places, h.known, h.anomalous, s)
        for h, s in zip(held, shares, strict=True)
    ]
    weights = np.array([[1] * len(images), [2] + [1] * (len(images) - 1)])
    for known, anomalous, share in bootstrap.grouped(held, weights, ("known", "anomalous", "shares")):
        for limit in (0.3, 0.8):
            found = computations.overlap_of_groups(
                Groups(known, anomalous, shares=share), Definitions(fpr_limit=limit)
            )
            for k, of in enumerate([images, [images[0], *images]]):
                assert found[k] == pytest.approx(drawn(of, limit, 8), abs=1e-9)


def test_regions_count_alike_whatever_their_size() -> None:
    mask = np.zeros((20, 20), np.uint8)
    mask[:10, :10] = mask[15, 15] = 1
    large, small = np.zeros((2, 20, 20))
    large[:10, :10] = small[15, 15] = 1.0
    # the rest of both comes with all known pixels at once
    assert aupro(large, mask) == pytest.approx(0.5 + 0.5 * 0.15)
    assert aupro(small, mask) == pytest.approx(0.5 + 0.5 * 0.15)
    assert aupro(mask.astype(float), mask) == 1.0
    assert aupro(1.0 - mask, mask) == 0.0


def test_void_changes_nothing_and_parts_regions() -> None:
    rng = np.random.default_rng(3)
    score, mask = rng.random((12, 12)), np.zeros((12, 12), np.uint8)
    mask[2, 2:9], mask[:, 5] = 1, 255
    other = np.where(mask == 255, np.nan, score)
    assert aupro(score, mask) == aupro(other, mask) == stream(lambda: [(other, mask)], connectivity=8).aupro
    joined = np.where((mask == 255) & (np.arange(12)[:, None] == 2), 1, mask)
    assert aupro(score, mask) != aupro(score, joined)


def test_what_has_no_value_is_nan_and_what_was_not_asked_for_too() -> None:
    score = np.arange(12.0).reshape(3, 4)
    for mask in (np.zeros((3, 4), int), np.ones((3, 4), int), np.full((3, 4), 255)):
        assert np.isnan(aupro(score, mask))
        assert np.isnan(stream(lambda mask=mask: [(score, mask)], connectivity=8).aupro)
    assert np.isnan(stream(lambda: [(score, np.eye(3, 4, dtype=int))]).aupro)


def test_the_threshold_of_alarms_is_the_lowest_that_few_known_pixels_reach() -> None:
    score, mask = np.arange(100.0), np.zeros(100, int)
    mask[[95, 90, 40]] = 1
    for alarm, threshold in ((0.05, 95.0), (0.1, 90.0), (0.6, 40.0), (1.0, 40.0)):
        assert fs.metrics.detection(score, mask, alarm=alarm).alarm_threshold == threshold
        assert stream(lambda: [(score, mask)], alarm=alarm, limit=1).alarm_threshold == threshold
    assert fs.metrics.detection(score, mask, alarm=0.01).alarm_threshold == np.inf
    assert np.isnan(fs.metrics.detection(score, np.ones(100, int)).alarm_threshold)
    # three of sixty known pixels share the anomaly's score: .05 to the last bit
    tied = np.r_[np.zeros(57), np.ones(3), 1.0]
    assert fs.metrics.detection(tied, np.arange(61) == 60).alarm_threshold == 1.0
    assert fs.metrics.detection(tied, np.arange(61) == 60, alarm=0.04).alarm_threshold == np.inf


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"limit": 0.0}, OptionError, "limit=0.0 cannot be; expected more than 0 and at most 1"),
        ({"connectivity": 6}, OptionError, "connectivity is 4"),
        ({"anomaly": np.array([[0, 2]])}, MetricError, "the mask holds 2"),
        ({"anomaly": np.array([[0, 1, 0]])}, MetricError, "expected one shape"),
        ({"score": np.array([[np.nan, 0.0]])}, MetricError, "1 of 1 scores are NaN or infinite"),
        ({"score": [], "anomaly": []}, MetricError, "there are 0 scores and 0 masks"),
        ({"score": np.zeros(2), "anomaly": np.array([0, 1])}, MetricError, "regions are made of masks H x W"),
    ],
)
def test_mistakes_are_one_line(arguments: dict[str, Any], kind: type[FaultscapeError], words: str) -> None:
    given: dict[str, Any] = {"score": np.array([[0.5, 0.25]]), "anomaly": np.array([[0, 1]])} | arguments
    with refused(kind, words):
        aupro(given.pop("score"), given.pop("anomaly"), **given)
