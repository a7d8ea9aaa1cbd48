"""Component metrics: the toys of the reference, size limits, and a loop over masks as the benchmark has
it.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from faultscape.errors import FaultscapeError
from faultscape.metrics.overlaps.components import THRESHOLDS, component_counts, component_metrics
from refusals import refused

EIGHT = np.ones((3, 3), int)


def by_loop(
    score: np.ndarray, anomaly: np.ndarray, threshold: float, limits: tuple[int, int]
) -> tuple[list[float], list[float]]:
    """sIoU of every true component and precision of every predicted one, mask by mask."""
    labels, m = ndimage.label((score > threshold) & (anomaly != 255), EIGHT)
    kept = [labels == k for k in range(1, m + 1) if (labels == k).sum() >= limits[0]]
    truth, n = ndimage.label(anomaly == 1, EIGHT)
    small = [k for k in range(n + 1) if (truth == k).sum() < limits[1]]
    inside = ~np.isin(truth, small)  # after the predicted components were made
    kept = [p & inside for p in kept if (p & inside).any()]
    truth, n = ndimage.label((anomaly == 1) & inside, EIGHT)
    siou = []
    for k in range(1, n + 1):
        mine = truth == k
        touching = [p for p in kept if (p & mine).any()]
        union = np.logical_or.reduce([np.zeros_like(mine), *touching])
        other = union & (truth > 0) & ~mine
        siou.append((mine & union).sum() / ((mine | union) & ~other).sum())
    return siou, [(p & (truth > 0)).sum() / p.sum() for p in kept]


@given(st.integers(0, 10_000), st.sampled_from([(0, 0), (5, 3)]))
def test_counts_are_those_of_a_loop_over_components(seed: int, limits: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    anomaly = rng.choice([0, 0, 1, 255], (5, 7)).repeat(3, 0).repeat(2, 1)
    score = np.where(rng.random(anomaly.shape) < 0.7, anomaly == 1, rng.random(anomaly.shape))
    found = component_counts(score, anomaly, 0.6, min_predicted=limits[0], min_truth=limits[1])
    siou, ppv = (np.array(values) for values in by_loop(score, anomaly, 0.6, limits))
    assert found["component_truths"] == len(siou)
    assert found["component_predictions"] == len(ppv)
    assert found["component_siou_sum"] == pytest.approx(siou.sum())
    assert found["component_ppv_sum"] == pytest.approx(ppv.sum())
    for k, t in enumerate(THRESHOLDS):
        assert found["component_tp"][k] == (siou >= t).sum()
        assert found["component_fn"][k] == (siou < t).sum()
        assert found["component_fp"][k] == (ppv < t).sum()


def squares() -> np.ndarray:
    truth = np.zeros((30, 60), int)
    truth[10:20, 10:20] = truth[10:20, 30:40] = 1
    return truth


def test_one_prediction_over_two_squares() -> None:
    score = np.zeros((30, 60))
    score[10:20, 10:40] = 1
    found = component_counts(score, squares(), 0.5)
    assert (found["component_siou_sum"] / 2, found["component_ppv_sum"]) == (0.5, pytest.approx(2 / 3))
    assert component_metrics(found)["component_f1"] == pytest.approx(6 / 11)


def test_one_square_in_two_pieces_the_other_missed_and_a_false_region() -> None:
    score = np.zeros((30, 60))
    score[10:14, 10:20] = score[16:20, 10:20] = score[25:28, 45:55] = 1
    found = component_counts(score, squares(), 0.5)
    assert found["component_siou_sum"] == pytest.approx(0.8)
    assert found["component_ppv_sum"] == 2
    assert component_metrics(found)["component_f1"] == pytest.approx(0.5)


def test_the_tracks_limits_drop_what_is_small() -> None:
    truth, score = squares(), np.zeros((30, 60))
    score[10:20, 10:20] = 1
    truth[25:28, 50:53] = 1  # 9 pixels: below the obstacle track's 10
    score[25:28, 50:53] = 1
    assert component_counts(score, truth, 0.5)["component_truths"] == 3
    found = component_counts(score, truth, 0.5, track="obstacle")
    # the small one is void, and what lies in it is removed
    assert (found["component_truths"], found["component_predictions"]) == (2, 1)
    # 100 pixels are below 500
    assert component_counts(score, truth, 0.5, track="anomaly")["component_predictions"] == 0
    assert np.isnan(component_metrics(component_counts(score * 0, truth * 0, 0.5))["component_f1"])


def test_a_component_of_the_very_limit_stays() -> None:
    truth, score = np.zeros((12, 30), np.uint8), np.zeros((12, 30))
    truth[:10, :10], score[:10, :10] = 1, 1
    for limits, truths, predictions in (((100, 100), 1, 1), ((100, 101), 0, 0), ((101, 100), 1, 0)):
        counts = component_counts(score, truth, 0.5, min_predicted=limits[0], min_truth=limits[1])
        assert (counts["component_truths"], counts["component_predictions"]) == (truths, predictions)


def test_a_score_of_the_very_threshold_is_not_predicted() -> None:
    truth, score = np.zeros((12, 30), np.uint8), np.zeros((12, 30), np.float32)
    truth[:10, :10], score[:10, :10] = 1, 0.75
    assert component_counts(score, truth, 0.75)["component_predictions"] == 0
    assert component_counts(score, truth, 0.75 - 1e-12)["component_predictions"] == 1


def test_images_add_up() -> None:
    score = np.zeros((30, 60))
    score[10:20, 10:40] = 1
    one = component_counts(score, squares(), 0.5)
    twice = {name: values * 2 for name, values in one.items()}
    assert component_metrics(twice)["component_f1"] == component_metrics(one)["component_f1"]


def test_what_cannot_be_is_refused() -> None:
    with refused(FaultscapeError, "track='road'"):
        component_counts(np.zeros((2, 2)), np.zeros((2, 2), int), 0.5, track="road")
    with refused(FaultscapeError, "a: the mask holds 3"):
        component_counts(np.zeros((2, 2)), np.full((2, 2), 3), 0.5, where="a")
    with refused(FaultscapeError, "H x W"):
        component_counts(np.zeros(4), np.zeros(4, int), 0.5)
