"""What others call AP and AUROC: by hand, and as far from the exact numbers as they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import MetricError
from faultscape.metrics.scores import curves
from refusals import refused


def sample(n: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    mask = (rng.random(n) < 0.01).astype(np.uint8)
    return (1 / (1 + np.exp(8 - 2.5 * rng.standard_normal(n) - 3 * mask))).astype(np.float32), mask


def test_trapezia_are_scikit_learns_area_under_its_curve() -> None:
    from sklearn.metrics import auc, precision_recall_curve

    score, mask = sample()
    precision, recall, _ = precision_recall_curve(mask, score, drop_intermediate=False)
    found = curves.trapezoid_precision(fs.metrics.detection(score, mask))
    assert found == pytest.approx(auc(recall, precision), abs=1e-9)
    assert found != pytest.approx(fs.metrics.detection(score, mask).average_precision, abs=1e-6)
    assert np.isnan(curves.trapezoid_precision(fs.metrics.detection(score, mask * 0)))


def test_two_hundred_thresholds_lose_what_piles_up_near_0() -> None:
    score, mask = sample()
    exact = fs.metrics.detection(score, mask)
    counts = curves.threshold_counts(score[:7000], mask[:7000]) + curves.threshold_counts(
        score[7000:], mask[7000:]
    )
    found = curves.keras_areas(counts)
    assert found.auroc < exact.auroc - 0.01
    # the same order, spread evenly: nothing is lost
    spread = (np.argsort(np.argsort(score)) + 0.5) / len(score)
    even = curves.keras_areas(curves.threshold_counts(spread, mask))
    assert even.auroc == pytest.approx(exact.auroc, abs=1e-3)
    assert even.average_precision == pytest.approx(exact.average_precision, rel=0.15)


def test_keras_areas_by_hand() -> None:
    """Two known at .2 and .6, two anomalies at .4 and .8: ROC by trapezia is 3 / 4."""
    counts = curves.threshold_counts(np.array([0.2, 0.6, 0.4, 0.8]), np.array([0, 0, 1, 1]))
    assert counts[:, 0].tolist() == [2, 2]
    assert curves.keras_areas(counts).auroc == pytest.approx(0.75)
    assert np.isnan(
        curves.keras_areas(curves.threshold_counts(np.array([0.5]), np.array([0]))).average_precision
    )


@pytest.mark.parametrize(
    ("confidence", "auroc"),
    [
        ((1, 0, 0, 0, 1), 1),
        ((1, 0, 0, 0.1, 0), 0.75),
        ((1, 0.5, 0.5, 0.5, 0), 0.5),
        ((0.5,) * 5, 0.5),
        ((0.1, 0.9, 0.9, 0.9, 0.1), 0),
    ],
)
def test_the_calibration_auc_of_the_released_code_with_its_ten_thresholds(
    confidence: tuple[float, ...], auroc: float
) -> None:
    """Truths 0 0 0 1 1, predictions 0 1 1 0 1; by ten thresholds .1 ties with 0, so the second is .75 and not
    the exact 2 / 3 (test_detection).
    """
    correct = np.array([1, 0, 0, 0, 1])
    counts = curves.threshold_counts(np.array(confidence, float), correct, thresholds=10)
    assert curves.keras_areas(counts).auroc == pytest.approx(auroc)


def test_a_score_of_the_very_threshold_is_not_above_it() -> None:
    counts = curves.threshold_counts(np.array([100 / 199]), np.array([1]))
    assert (counts[1, 99], counts[1, 100]) == (1, 0)


@pytest.mark.parametrize("wrong", [-0.25, 1.5])
def test_scores_that_no_threshold_of_keras_reaches_are_refused(wrong: float) -> None:
    with refused(MetricError, r"thresholds on 0\.\.1 and the scores span"):
        curves.threshold_counts(np.array([0.2, wrong]), np.array([0, 1]))
    assert curves.threshold_counts(np.array([0.0, 1.0]), np.array([0, 1])).shape == (2, 200)
