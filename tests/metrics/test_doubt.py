"""Doubt from probabilities and logits: by formula in float64, and without the ties that 1 - p in float32
makes.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import MetricError
from faultscape.metrics import (
    detection,
    energy,
    entropy,
    logit16,
    margin,
    max_logit,
    max_probability,
    surprise,
)
from refusals import refused


def softmax(logits):
    p = np.exp(logits - logits.max(0))
    return p / p.sum(0)


@pytest.fixture
def logits():
    return np.random.default_rng(0).standard_normal((7, 12, 15)) * 4


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_by_formula(logits, dtype):
    p = softmax(logits)
    top = np.sort(p, 0)[::-1]
    near = {"rtol": 1e-9 if dtype == np.float64 else 1e-4}
    given = p.astype(dtype)
    for found, want in (
        (max_probability(given), top[1:].sum(0)),
        (surprise(given), -np.log1p(-top[1:].sum(0))),
        (margin(given), top[1:].sum(0) + top[1]),
        (entropy(given), -(p * np.log(p)).sum(0)),
        (entropy(given, normalised=True), -(p * np.log(p)).sum(0) / np.log(7)),
        (max_logit(logits.astype(dtype)), -logits.max(0)),
        (energy(logits.astype(dtype)), -np.log(np.exp(logits).sum(0))),
        (energy(logits.astype(dtype), temperature=2.0), -2 * np.log(np.exp(logits / 2).sum(0))),
    ):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, want, **near)


@pytest.mark.parametrize("function", [max_probability, surprise, margin, entropy, max_logit, energy])
def test_classes_may_stand_on_any_axis(function, logits):
    values = softmax(logits)
    for axis in (0, 1, 2, -1):
        np.testing.assert_array_equal(function(np.moveaxis(values, 0, axis), axis=axis), function(values))
    assert function(values.astype(np.float16)).dtype == np.float32
    assert np.ndim(function(values[:, 0, 0])) == 0


def test_peaked_pixels_do_not_tie():
    rng = np.random.default_rng(1)
    logits = rng.standard_normal((19, 200, 200)).astype(np.float32)
    logits[3] += rng.normal(18, 4, (200, 200)).astype(np.float32)
    p = softmax(logits)
    assert p.dtype == np.float32
    assert (1 - p.max(0) == 0).mean() > 0.3  # what is to be avoided
    for doubt in (max_probability(p), surprise(p), margin(p), entropy(p)):
        assert len(np.unique(doubt)) > 0.98 * doubt.size
    exact = max_probability(softmax(logits.astype(float)))
    wrong = rng.random((200, 200)) < exact * 50
    assert detection(max_probability(p), wrong).auroc == pytest.approx(
        detection(exact, wrong).auroc, abs=1e-6
    )


def test_certainty_is_no_doubt_and_no_nan():
    sure = np.zeros((4, 3), np.float32)
    sure[1] = 1
    for function in (max_probability, surprise, margin, entropy):
        np.testing.assert_array_equal(function(sure), 0)
    even = np.full((4, 3), 0.25, np.float32)
    np.testing.assert_allclose(entropy(even, normalised=True), 1, rtol=1e-6)
    np.testing.assert_allclose(margin(even), 1)
    assert entropy(np.ones((1, 3)), normalised=True).tolist() == [0, 0, 0]


def test_large_logits_do_not_overflow():
    assert energy(np.array([1000.0, 0.0], np.float32)) == -1000


def test_logit16_keeps_the_order_and_the_digits_of_small_doubts():
    doubt = np.concatenate([[0], np.logspace(-30, -1, 200), 1 - np.logspace(-1, -6, 50), [1]]).astype(
        np.float32
    )
    stored = logit16(doubt)
    assert stored.dtype == np.float16
    assert np.isfinite(stored).all()
    assert (np.diff(stored) >= 0).all()
    assert len(np.unique(stored[:200])) > 190
    assert (stored[0], stored[-1]) == (-2048, 2048)
    back = 1 / (1 + np.exp(-stored[1:201].astype(float)))
    np.testing.assert_allclose(back, doubt[1:201], rtol=0.05)
    # float16 of the probability does not
    assert len(np.unique((1 - (1 - doubt[:200]).astype(np.float16)).astype(float))) < 60
    assert logit16(np.array([1e-300]))[0] == pytest.approx(-690.8, abs=0.5)


def test_what_is_no_probability_is_refused():
    with refused(MetricError, "for logits: max_logit, energy"):
        max_probability(np.array([3.0, -1.0]))
    with refused(MetricError, "given as probabilities"):
        entropy(np.array([np.nan, 0.5]))
    with refused(MetricError, "masked array"):
        surprise(np.ma.array([0.5, 0.5], mask=[0, 1]))
    with refused(MetricError, r"shape \(0, 2\)"):
        margin(np.zeros((0, 2)))
    with refused(MetricError, "expected probabilities"):
        logit16(np.array([1.5]))
