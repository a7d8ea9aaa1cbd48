"""Calibration: by hand, by brute force, at more pixels than a float32 can count, with confidences of exactly 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import MetricError
from faultscape.metrics import (
    brier,
    classwise_ece,
    ece,
    equal_mass_ece,
    equal_mass_ece_of_histogram,
    histogram16,
    linear_auroc,
    logit16,
    mce,
    nll,
    reliability,
    reliability_diagram,
    score_probabilities,
    top_label_brier,
)


def made(seed, size=400):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.random(size), 2 + seed % 3).astype(("float32", "float64")[seed % 2])
    return confidence, rng.choice([0, 1, 255], size, p=[0.3, 0.5, 0.2])


def test_ece_by_hand():
    # bin [.8, .9): conf .85 .85, one right; bin [.5, .6): conf .55, right
    sums = reliability(np.array([0.85, 0.85, 0.55]), np.array([1, 0, 1]), bins=10)
    assert ece(sums) == pytest.approx((2 * 0.35 + 0.45) / 3)
    assert mce(sums) == pytest.approx(0.45)
    diagram = reliability_diagram(sums)
    assert diagram.confidence[8] == pytest.approx(0.85)
    assert diagram.accuracy[8] == 0.5
    assert diagram.share[8] == pytest.approx(2 / 3)
    assert math.isnan(diagram.accuracy[0])


@given(st.integers(0, 500), st.sampled_from([1, 7, 15]))
def test_ece_by_brute_force_and_without_void(seed, bins):
    confidence, correct = made(seed)
    kept = correct != 255
    errors, n = [], kept.sum()
    for k in range(bins):
        inside = kept & (confidence.astype(float) * bins >= k) & ((confidence.astype(float) * bins < k + 1) | (k == bins - 1))
        if inside.any():
            errors.append((inside.sum(), abs(correct[inside].mean() - confidence[inside].astype(float).mean())))
    sums = reliability(confidence, correct, bins=bins)
    assert ece(sums) == pytest.approx(sum(size * error for size, error in errors) / n)
    assert mce(sums) == pytest.approx(max(error for _, error in errors))
    assert top_label_brier(sums) == pytest.approx(np.square(confidence[kept].astype(float) - correct[kept]).mean())
    broken = np.where(kept, confidence, np.nan)
    assert ece(reliability(broken, correct, bins=bins)) == pytest.approx(ece(sums), abs=1e-15)


def test_more_than_2_24_pixels_and_confidences_of_one(monkeypatch):
    monkeypatch.setattr("faultscape.metrics.calibration._SLICE", 1 << 23)
    size = (1 << 24) + (1 << 21)
    sums = reliability(np.full(size, 0.99, np.float32), np.ones(size, bool))
    assert sums.pixels[-1] == size
    assert ece(sums) == pytest.approx(1 - float(np.float32(0.99)), abs=1e-9)
    for _ in range(8):
        sums = sums + sums
    assert sums.pixels.sum() == size << 8  # beyond 2^32
    assert ece(sums) == pytest.approx(0.01, abs=1e-7)
    certain = reliability(np.array([1.0, 1.0, 0.95], np.float32), np.array([1, 0, 1]), bins=10)
    assert certain.pixels.tolist() == [0] * 9 + [3]
    assert ece(certain) == pytest.approx(2.95 / 3 - 2 / 3)


def test_sums_add_in_any_order_and_slices_do_not_show(monkeypatch):
    confidence, correct = made(1)
    whole = reliability(confidence, correct)
    parts = [reliability(confidence[k::3], correct[k::3]) for k in range(3)]
    for order in ((0, 1, 2), (2, 0, 1)):
        total = sum((parts[k] for k in order[1:]), parts[order[0]])
        assert (total.pixels == whole.pixels).all()
        assert (total.correct == whole.correct).all()
        np.testing.assert_allclose(total.confidence, whole.confidence, rtol=1e-14)
    monkeypatch.setattr("faultscape.metrics.calibration._SLICE", 7)
    assert ece(reliability(confidence, correct)) == pytest.approx(ece(whole), abs=1e-14)
    with pytest.raises(MetricError, match="15 bins cannot be added to 10"):
        whole + reliability(confidence, correct, bins=10)


def test_equal_mass_by_hand_and_whatever_the_order_of_ties():
    confidence, correct = np.array([0.2, 0.4, 0.6, 0.8]), np.array([0, 1, 0, 1])
    assert equal_mass_ece(confidence, correct, bins=2) == pytest.approx((abs(0.6 - 1) + abs(1.4 - 1)) / 4)
    # three pixels of .5, two right, shared by the two bins: each has 1.5 pixels of confidence .75 and 1 right
    for right in ([1, 1, 0], [0, 1, 1], [1, 0, 1]):
        assert equal_mass_ece(np.full(3, 0.5), np.array(right), bins=2) == pytest.approx(0.5 / 3)
    assert math.isnan(equal_mass_ece(np.array([0.5]), np.array([255])))


@given(st.integers(0, 300))
def test_equal_mass_without_ties_is_sorting_and_cutting(seed):
    rng = np.random.default_rng(seed)
    confidence, correct = rng.random(60), rng.integers(0, 2, 60)
    order = np.argsort(confidence)
    cut = [np.abs(confidence[part].sum() - correct[part].sum()) for part in np.split(order, 6)]
    assert equal_mass_ece(confidence, correct, bins=6) == pytest.approx(sum(cut) / 60)
    # the streamed one knows each confidence to 1.1e-4
    streamed = equal_mass_ece_of_histogram(histogram16(logit16(1 - confidence), 1 - correct), bins=6)
    assert streamed == pytest.approx(sum(cut) / 60, abs=1.1e-4)


def test_bad_confidences_are_refused():
    for bad, message in (
        (np.array([0.5, 1.5]), "c: 1 of 2 confidences are no numbers from 0 to 1"),
        (np.array([np.nan, 0.5]), "1 of 2 confidences"),
        (np.array([200, 3], np.uint8), r"value / 255"),
        (np.array([0.5]), r"the confidence has shape \(1,\)"),
        (np.ma.array([0.5, 0.5], mask=[0, 1]), "the confidence is a masked array"),
    ):
        for function in (reliability, equal_mass_ece):
            with pytest.raises(MetricError, match=message):
                function(bad, np.array([1, 0]), where="c")
    with pytest.raises(MetricError, match="the mask holds 3"):
        reliability(np.array([0.5]), np.array([3]))
    assert reliability(np.array([1.0005]), np.array([1])).confidence.sum() == 1  # once float16
    for number in (ece, mce, top_label_brier):
        assert math.isnan(number(reliability(np.empty(0), np.empty(0, int))))


def test_full_probabilities_by_brute_force():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4), (9, 11)).transpose(2, 0, 1)
    truth = rng.choice([0, 1, 2, 3, 255], (9, 11))
    p[:, truth == 255] = np.nan
    kept = truth != 255
    one_hot = (np.arange(4)[:, None] == truth[kept]).astype(float)
    scores = score_probabilities(p.astype(np.float32), truth)
    assert scores.pixels == kept.sum()
    assert brier(scores) == pytest.approx(np.square(p[:, kept] - one_hot).sum(0).mean(), rel=1e-6)
    assert nll(scores) == pytest.approx(-np.log((p[:, kept] * one_hot).sum(0)).mean(), rel=1e-6)
    mean, per_class = classwise_ece(scores)
    want = [ece(reliability(p[c].astype(np.float32), np.where(kept, truth == c, 255))) for c in range(4)]
    np.testing.assert_allclose(per_class, want, rtol=1e-12)
    assert mean == pytest.approx(np.mean(want))
    halves = score_probabilities(p[:, :4].astype(np.float32), truth[:4]) + score_probabilities(
        p[:, 4:].astype(np.float32), truth[4:]
    )
    assert halves.pixels == scores.pixels
    assert nll(halves) == pytest.approx(nll(scores), rel=1e-12)
    assert classwise_ece(halves)[0] == pytest.approx(mean, rel=1e-12)


def test_a_probability_of_nothing_is_floored_and_counted():
    scores = score_probabilities(np.array([[1.0, 0.5], [0.0, 0.5]]), np.array([1, 1]), floor=1e-3)
    assert scores.floored == 1
    assert nll(scores) == pytest.approx((math.log(1000) + math.log(2)) / 2)
    empty = score_probabilities(np.ones((2, 1)), np.array([255]))
    assert math.isnan(brier(empty))
    assert math.isnan(nll(empty))
    assert math.isnan(classwise_ece(empty)[0])


def test_bad_probabilities_are_refused():
    p = np.full((2, 3), 0.5)
    with pytest.raises(MetricError, match="the truth holds 2; expected 0 to 1 and 255"):
        score_probabilities(p, np.array([0, 1, 2]))
    with pytest.raises(MetricError, match=r"shape \(2, 3\), the truth \(2,\)"):
        score_probabilities(p, np.array([0, 1]))
    with pytest.raises(MetricError, match="were given as probabilities"):
        score_probabilities(p * 9, np.array([0, 1, 1]))
    with pytest.raises(MetricError, match="masked array"):
        score_probabilities(np.ma.array(p), np.array([0, 1, 1]))
    with pytest.raises(MetricError, match="cannot be added"):
        score_probabilities(p, np.array([0, 1, 1])) + score_probabilities(p, np.array([0, 1, 1]), bins=3)


def test_linear_thresholds_reproduce_the_release_and_lose_what_crowds_at_an_end():
    correct = np.array([1, 0, 0, 0, 1])  # S3's example, ten thresholds
    for confidence, auroc in (
        ((1, 0, 0, 0, 1), 1),
        ((1, 0, 0, 0.1, 0), 0.75),
        ((1, 0.5, 0.5, 0.5, 0), 0.5),
        ((0.5,) * 5, 0.5),
        ((0.1, 0.9, 0.9, 0.9, 0.1), 0),
    ):
        assert linear_auroc(np.array(confidence, float), correct, thresholds=10) == pytest.approx(auroc)
    crowded = np.array([1e-5, 2e-5, 3e-5, 0.9])
    assert linear_auroc(crowded, np.array([0, 0, 1, 1])) == pytest.approx(0.75)
    # .5 is not above the threshold .5, so that it ties with 0
    assert linear_auroc(np.array([0, 0.5, 1.0]), np.array([0, 1, 1]), thresholds=3) == pytest.approx(0.75)
    assert linear_auroc(np.array([0.5, 0, 1.0]), np.array([0, 1, 1]), thresholds=3) == pytest.approx(0.75)
    with pytest.raises(MetricError, match="need scores from 0 to 1"):
        linear_auroc(np.array([2.0, 0.0]), np.array([0, 1]))
    assert math.isnan(linear_auroc(np.array([0.5]), np.array([1])))
