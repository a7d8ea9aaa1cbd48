"""Components by SegmentMeIfYouCan's rules: the toys of the reference, each rule by itself, and a plain loop that shares no code."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import label

from faultscape.errors import MetricError, OptionError
from faultscape.metrics import best_f1, component_scores, components, detection
from faultscape.metrics.component_metrics import THRESHOLDS


def boxes(shape, *found):
    out = np.zeros(shape, np.uint8)
    for top, rows, left, columns in found:
        out[top : top + rows, left : left + columns] = 1
    return out


def loop(predicted, anomaly, min_predicted, min_truth):
    """sIoU of each true and PPV of each predicted component, one component at a time."""
    square = np.ones((3, 3))
    found, _ = label(predicted & (anomaly != 255), square)
    true, _ = label(anomaly == 1, square)
    for one in range(1, found.max() + 1):
        if (found == one).sum() < min_predicted:
            found[found == one] = 0
    judged = anomaly != 255
    for one in range(1, true.max() + 1):
        if (true == one).sum() < min_truth:
            judged &= true != one
    found, true = found[judged], true[judged]
    siou = []
    for one in np.unique(true[true > 0]):
        touching = np.isin(found, np.unique(found[(true == one) & (found > 0)]))
        siou.append((touching & (true == one)).sum() / ((touching & (true == 0)) | (true == one)).sum())
    ppv = [(true[found == one] > 0).mean() for one in np.unique(found[found > 0])]
    return np.array(siou), np.array(ppv)


def test_one_prediction_over_two_truths():
    truth = boxes((20, 40), (5, 10, 5, 10), (5, 10, 25, 10))
    sums = components(boxes((20, 40), (5, 10, 5, 30)), truth, 1, track=None)
    scores = component_scores(sums)
    assert (scores.siou, sums.truths) == (0.5, 2)
    assert scores.ppv == pytest.approx(2 / 3)
    assert scores.mean_f1 == pytest.approx(6 / 11)


def test_a_truth_in_pieces_one_missed_and_a_false_region():
    truth = boxes((40, 60), (5, 10, 5, 10), (5, 10, 30, 10))
    predicted = boxes((40, 60), (5, 4, 5, 10), (11, 4, 5, 10), (30, 3, 5, 10))
    sums = components(predicted, truth, 1, track=None)
    scores = component_scores(sums)
    assert sums.siou == pytest.approx(0.8)
    assert sums.truths == 2
    assert (sums.ppv, sums.predictions) == (2, 3)
    assert scores.mean_f1 == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(60))
def test_equal_to_a_loop_over_components(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 45, 2))
    score = cv2.GaussianBlur(rng.random(shape), (5, 5), 1)
    anomaly = (cv2.GaussianBlur(rng.random(shape), (7, 7), 2) > 0.5).astype(np.uint8)
    anomaly[rng.random(shape) < 0.1 * (seed % 3)] = 255
    least = (int(rng.choice([0, 3, 12])), int(rng.choice([0, 3, 12])))
    sums = components(score, anomaly, 0.5, track=None, min_predicted=least[0], min_truth=least[1])
    siou, ppv = loop(score >= 0.5, anomaly, *least)
    assert (sums.truths, sums.predictions) == (len(siou), len(ppv))
    assert sums.siou == pytest.approx(siou.sum())
    assert sums.ppv == pytest.approx(ppv.sum())
    assert sums.true_positives.tolist() == [int((siou >= t).sum()) for t in THRESHOLDS]
    assert sums.false_negatives.tolist() == [int((siou < t).sum()) for t in THRESHOLDS]
    assert sums.false_positives.tolist() == [int((ppv < t).sum()) for t in THRESHOLDS]


def test_diagonal_neighbours_are_one_component():
    assert components(np.eye(5), np.eye(5, dtype=int), 0.5, track=None).truths == 1


def test_size_limits_of_the_tracks():
    truth = boxes((60, 120), (5, 10, 5, 10), (5, 9, 30, 11), (30, 3, 5, 3))  # 100, 99 and 9 pixels
    predicted = boxes((60, 120), (30, 20, 50, 25), (30, 20, 90, 24), (3, 7, 90, 7))  # 500, 480 and 49 pixels
    anomaly = components(predicted, truth, 1)
    assert (anomaly.truths, anomaly.predictions) == (1, 1)
    obstacle = components(predicted, truth, 1, track="obstacle")
    assert (obstacle.truths, obstacle.predictions) == (2, 2)
    free = components(predicted, truth, 1, track=None)
    assert (free.truths, free.predictions) == (3, 3)
    own = components(predicted, truth, 1, min_predicted=49, min_truth=9)
    assert (own.truths, own.predictions) == (3, 3)
    with pytest.raises(OptionError, match="Did you mean 'obstacle'"):
        components(predicted, truth, 1, track="obstacles")


def test_a_truth_too_small_takes_its_pixels_out_of_predictions_after_these_were_sized():
    truth = boxes((20, 20), (5, 2, 5, 2), (5, 2, 10, 4))  # 4 pixels, too few, and 8
    predicted = boxes((20, 20), (5, 2, 5, 9))  # 18 pixels, 4 of them on the small truth
    sums = components(predicted, truth, 1, track=None, min_predicted=18, min_truth=5)
    assert (sums.truths, sums.predictions) == (1, 1)
    assert sums.ppv == pytest.approx(8 / 14)
    assert sums.siou == pytest.approx(8 / 14)
    alone = components(boxes((20, 20), (5, 2, 5, 2)), truth, 1, track=None, min_truth=5)
    assert alone.predictions == 0


def test_void_cuts_predictions_before_they_are_labelled():
    truth = boxes((9, 9), (0, 9, 0, 2))
    truth[:, 4] = 255
    predicted = np.ones((9, 9))
    predicted[:, 4] = np.nan  # never looked at
    assert components(predicted, truth, 0.5, track=None).predictions == 2


def test_images_add_up_and_nothing_at_all_is_nan():
    rng = np.random.default_rng(1)
    pairs = [(cv2.GaussianBlur(rng.random((40, 40)), (0, 0), 2), boxes((40, 40), (4, 8, 4, 8), (20, 9, 20, 9))) for _ in range(3)]
    sums = [components(score, truth, 0.52, track=None) for score, truth in pairs]
    one, other = (sums[0] + sums[1]) + sums[2], sums[2] + (sums[1] + sums[0])
    assert one.truths == 6
    assert (one.true_positives == other.true_positives).all()
    assert component_scores(one).mean_f1 == component_scores(other).mean_f1
    f1 = 2 * one.true_positives / (2 * one.true_positives + one.false_negatives + one.false_positives)
    assert component_scores(one).mean_f1 == pytest.approx(f1.mean())
    nothing = component_scores(components(np.zeros((5, 5)), np.zeros((5, 5), int), 0.5))
    assert all(math.isnan(value) for value in (nothing.siou, nothing.ppv, nothing.mean_f1))


def test_strict_leaves_the_threshold_itself_out():
    score, truth = np.array([[0.2, 0.7, 0.9]]), np.array([[0, 0, 1]])
    assert component_scores(components(score, truth, 0.7, track=None)).ppv == 0.5
    assert component_scores(components(score, truth, 0.7, track=None, strict=True)).ppv == 1


def test_bad_maps_are_refused():
    with pytest.raises(MetricError, match="need maps of H x W"):
        components(np.zeros(4), np.zeros(4, int), 0.5)
    with pytest.raises(MetricError, match="p: 1 of 3 scores are NaN"):
        components(np.array([[np.nan, 0, 1, np.nan]]), np.array([[0, 0, 1, 255]]), 0.5, where="p")
    with pytest.raises(MetricError, match="the mask holds 2"):
        components(np.zeros((1, 2)), np.array([[0, 2]]), 0.5)


def test_real_masks_found_perfectly_have_f1_of_one(data: Path):
    masks = sorted((data / "anomaly").glob("smiyc_*21/masks/*.png"))
    if not masks:
        pytest.skip("no SegmentMeIfYouCan masks")
    total = None
    for path in masks[:4]:
        truth = np.asarray(Image.open(path))
        score = np.where(truth == 1, 0.9, 0.1).astype(np.float32)
        threshold, _ = best_f1(detection(score, truth))
        sums = components(score, truth, threshold, track="obstacle", min_predicted=10, where=path.name)
        total = sums if total is None else total + sums
    assert total.truths > 0
    scores = component_scores(total)
    assert (scores.siou, scores.ppv, scores.mean_f1) == (1, 1, 1)
