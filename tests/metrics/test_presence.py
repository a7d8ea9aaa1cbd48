"""Precision, recall and F1 of the presence of classes, against counting by hand, and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import LabelMapError
from faultscape.metrics.intervals.units import units_of
from faultscape.metrics.presence.shares import classes_in, presence
from refusals import refused

C = 4


def rows_of(truth: np.ndarray, predicted: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "both": (truth & predicted).astype(float),
        "truth": truth.astype(float),
        "predicted": predicted.astype(float),
    }


def share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_shares_are_those_counted_by_hand(images: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, predicted = rng.random((2, images, C)) < rng.random((2, 1, C))
    found = presence(rows_of(truth, predicted), units_of(images))
    expected: dict[str, list[float]] = {name: [] for name in found}
    for c in range(C):
        shows = {k for k in range(images) if truth[k, c]}
        has = {k for k in range(images) if predicted[k, c]}
        right = len(shows & has)
        for name, value in zip(
            found,
            (share(right, len(has)), share(right, len(shows)), share(2 * right, len(has) + len(shows))),
            strict=True,
        ):
            expected[name].append(value)
    for name, one in found.items():
        assert one.summary.per_class is not None
        np.testing.assert_allclose(one.summary.per_class, expected[name])
        known = [value for value in expected[name] if not math.isnan(value)]
        np.testing.assert_allclose(one.summary.value, np.mean(known) if known else math.nan)
        assert one.summary.undefined == C - len(known)
        for (low, high), value in zip(one.of_classes, expected[name], strict=True):
            assert math.isnan(low) or low - 1e-12 <= value <= high + 1e-12


def test_groups_widen_intervals_and_few_units_have_none() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = np.repeat(rng.random((2, 12, C)) < 0.6, 4, axis=1)
    rows = rows_of(truth, predicted)
    alone = presence(rows, units_of(48))["presence_f1"]
    grouped = presence(rows, units_of([f"g{k // 4}" for k in range(48)]))["presence_f1"]
    assert (np.ptp(grouped.of_classes, axis=1) > np.ptp(alone.of_classes, axis=1)).all()
    assert np.ptp(grouped.interval) > np.ptp(alone.interval)
    few = presence({name: values[:5] for name, values in rows.items()}, units_of(5))["presence_f1"]
    assert np.isnan([*few.interval, *few.of_classes.ravel()]).all()


def test_a_class_that_is_always_right_keeps_an_interval() -> None:
    rows = rows_of(np.ones((20, 1), bool), np.ones((20, 1), bool))
    found = presence(rows, units_of(20))["presence_recall"]
    assert found.summary.value == 1
    np.testing.assert_allclose(found.of_classes[0], [0.025 ** (1 / 20), 1])
    np.testing.assert_allclose(found.interval, [0.025 ** (1 / 20), 1])


@pytest.mark.parametrize(("images", "least"), [(20, 0.92), (60, 0.92)])
def test_intervals_of_means_hold_the_share_of_all_images(images: int, least: float) -> None:
    rng = np.random.default_rng(1)
    hard = rng.normal(size=(20_000, 1))
    truth = rng.random((20_000, 5)) < np.array([0.9, 0.6, 0.4, 0.2, 0.1])
    sure = 1 / (1 + np.exp(hard - 2.2))
    rows = rows_of(truth, rng.random(truth.shape) < np.where(truth, sure, 0.6 * (1 - sure)))
    right, shows, has = (rows[name].sum(0) for name in ("both", "truth", "predicted"))
    true = {
        "presence_precision": (right / has).mean(),
        "presence_recall": (right / shows).mean(),
        "presence_f1": (2 * right / (has + shows)).mean(),
    }
    held = dict.fromkeys(true, 0)
    repeats = 120
    for _ in range(repeats):
        chosen = rng.choice(20_000, images, replace=False)
        for name, one in presence(
            {of: values[chosen] for of, values in rows.items()}, units_of(images)
        ).items():
            held[name] += one.interval[0] <= true[name] <= one.interval[1]
    assert min(held.values()) >= least * repeats


def test_void_of_the_truth_does_not_count() -> None:
    truth = np.array([[0, C, C]])
    assert classes_in(np.array([[1, 2, 0]]), C, truth).tolist() == [False, True, False, False]
    assert classes_in(truth, C).tolist() == [True, False, False, False]
    with refused(LabelMapError, "shape"):
        classes_in(np.zeros((2, 3), int), C, np.zeros((3, 2), int))
