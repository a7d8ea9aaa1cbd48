"""Calibration: against loops and scikit-learn, at more pixels than float32 can count, in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import MetricError
from faultscape.metrics import calibration as cal
from refusals import refused

RNG = np.random.default_rng(3)


def sample(n: int, levels: int | None = None, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sure = rng.random(n) if levels is None else rng.integers(0, levels + 1, n) / levels
    return sure, rng.random(n) < sure**2


def ece_by_loop(sure: np.ndarray, right: np.ndarray, bins: int) -> float:
    total = 0.0
    for k in range(bins):
        inside = (sure >= k / bins) & ((sure < (k + 1) / bins) | (k == bins - 1))
        if inside.any():
            total += inside.mean() * abs(sure[inside].mean() - right[inside].mean())
    return total


@pytest.mark.parametrize("bins", [1, 2, 10, 16])
def test_ece_is_what_a_loop_over_its_bins_says_and_the_last_bin_holds_one(bins: int) -> None:
    sure, right = sample(4000, levels=64)
    assert sure.max() == 1
    assert cal.ece(cal.calibration_counts(sure, right, bins=bins)) == pytest.approx(
        ece_by_loop(sure, right, bins)
    )
    assert cal.mce(cal.calibration_counts(sure, right, bins=1)) == pytest.approx(ece_by_loop(sure, right, 1))


def test_counts_pass_what_float32_can_hold() -> None:
    one = cal.calibration_counts(np.full(1 << 20, 0.99), np.ones(1 << 20, bool))
    many = {name: values * 64 for name, values in one.items()}  # 6.7e7 pixels, above 2^24
    assert many["bin_count"].dtype == np.int64
    assert cal.ece(many) == pytest.approx(0.01, abs=1e-9)


@given(st.integers(0, 1000), st.integers(1, 99))
def test_parts_add_up_in_any_order(seed: int, cut: int) -> None:
    sure, right = sample(100, seed=seed)
    whole = cal.calibration_counts(sure, right)
    parts = [cal.calibration_counts(s, r) for s, r in ((sure[cut:], right[cut:]), (sure[:cut], right[:cut]))]
    for name, values in whole.items():
        assert parts[0][name] + parts[1][name] == pytest.approx(values)


def test_void_changes_nothing() -> None:
    sure, right = sample(500)
    valid = RNG.random(500) < 0.7
    other = np.where(valid, sure, 1 - sure), np.where(valid, right, ~right)
    for name, values in cal.calibration_counts(sure, right, valid).items():
        assert np.array_equal(cal.calibration_counts(*other, valid)[name], values)
    assert np.array_equal(cal.fine_counts(sure, right, valid), cal.fine_counts(*other, valid))


def test_equal_mass_over_fine_bins_is_near_the_exact_one_and_puts_as_many_in_each() -> None:
    sure, right = sample(20_000)
    exact = cal.equal_mass_exact(sure, right, bins=20)
    assert cal.ece_equal_mass(cal.fine_counts(sure, right), 20) == pytest.approx(exact, abs=2e-4)
    order = np.argsort(sure, kind="stable").reshape(20, -1)
    by_hand = np.mean([abs(sure[part].mean() - right[part].mean()) for part in order])
    assert exact == pytest.approx(by_hand, abs=1e-3)
    assert np.isnan(cal.ece_equal_mass(np.zeros((3, 65536))))


def test_equal_mass_of_groups_is_that_of_their_pixels_one_by_one() -> None:
    rng = np.random.default_rng(4)
    count = rng.integers(0, 9, (5, 40))
    right, sure = rng.binomial(count, 0.6), np.sort(rng.random(40))
    found = cal.equal_mass_of_groups(count, right, count * sure, 7)
    for row in range(5):
        pixels = np.repeat(sure, count[row])
        correct = np.concatenate([np.arange(n) < r for n, r in zip(count[row], right[row], strict=True)])
        assert found[row] == pytest.approx(cal.equal_mass_exact(pixels, correct, bins=7), abs=1e-12)
    assert np.isnan(cal.equal_mass_of_groups(np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 3))))[0]


def test_brier_nll_and_classwise_ece_of_probabilities() -> None:
    p = RNG.dirichlet([0.4] * 5, 3000).T.reshape(5, 50, 60)
    label = np.where(RNG.random((50, 60)) < 0.7, p.argmax(0), RNG.integers(0, 5, (50, 60)))
    counts = cal.probability_counts(p, label)
    true = np.eye(5)[label].transpose(2, 0, 1)
    judged = np.int64(label.size)
    assert cal.brier(counts, judged) == pytest.approx(((p - true) ** 2).sum(0).mean())
    of_truth = np.take_along_axis(p, label[None], 0)
    assert cal.nll(counts, judged) == pytest.approx(-np.log(np.maximum(of_truth, cal.FLOOR)).mean())
    assert cal.ece_classwise(counts) == pytest.approx(
        np.mean([ece_by_loop(p[c].ravel(), true[c].ravel() == 1, 15) for c in range(5)])
    )


def test_nll_of_an_impossible_truth_is_large_and_finite() -> None:
    counts = cal.probability_counts(np.array([[1.0], [0.0]]), np.array([1]))
    assert cal.nll(counts, np.int64(1)) == pytest.approx(149 * np.log(2))


def test_the_diagram_has_nothing_where_a_bin_is_empty() -> None:
    found = cal.reliability(
        cal.calibration_counts(np.array([0.05, 0.95, 1.0]), np.array([False, True, True]), bins=10)
    )
    assert found.count.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert found.accuracy[[0, 9]].tolist() == [0, 1]
    assert np.isnan(found.confidence[1:9]).all()


@pytest.mark.parametrize(
    ("sure", "right", "words"),
    [
        (np.array([1.5]), np.array([True]), "from 1.5 to 1.5"),
        (np.array([np.nan]), np.array([True]), "expected numbers 0 to 1"),
        (np.ones((2, 2)), np.ones(4, bool), "expected one shape"),
        (np.ma.masked_equal([0.5], 0.5), np.array([True]), "masked"),
    ],
)
def test_what_is_no_confidence_is_refused(sure: np.ndarray, right: np.ndarray, words: str) -> None:
    with refused(MetricError, words):
        cal.calibration_counts(sure, right, where="a.png")


def test_what_are_no_probabilities_is_refused() -> None:
    with refused(MetricError, "a: values from 0 to 2"):
        cal.probability_counts(np.array([[0.0, 2.0], [1.0, 0.0]]), np.array([0, 1]), where="a")
    with refused(MetricError, "true class 2 has no probability"):
        cal.probability_counts(np.array([[0.5], [0.5]]), np.array([2]))
    with refused(MetricError, "classes first"):
        cal.probability_counts(np.zeros((2, 3)), np.zeros(4, int))
