"""Detection in memory: equal to scikit-learn with ties and without, by the rules that are named, and honest
about what has no value.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import faultscape as fs
from faultscape.errors import MetricError, OptionError
from faultscape.metrics import best_f1, detection, misclassification, per_image, precision_recall, roc
from faultscape.metrics.scores import counts
from faultscape.metrics.scores.counts import Rows, summarise
from refusals import refused

NUMBERS = (
    "average_precision",
    "auroc",
    "fpr95",
    "f1",
    "f1_threshold",
    "positives",
    "negatives",
    "low",
    "high",
)


def made(
    seed: int, size: int, levels: int, share: float, dtype: str = "float32"
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of few levels, so that there are ties, a little larger where anomalous."""
    rng = np.random.default_rng(seed)
    anomaly = (rng.random(size) < share).astype(np.uint8)
    return (rng.integers(0, levels, size) + rng.integers(0, 3, size) * anomaly - levels // 2).astype(
        dtype
    ), anomaly


def same(one, other) -> bool:
    return all(
        getattr(one, k) == getattr(other, k)
        or (math.isnan(getattr(one, k)) and math.isnan(getattr(other, k)))
        for k in NUMBERS
    )


@pytest.mark.slow
@given(
    st.integers(0, 10_000),
    st.integers(2, 300),
    st.sampled_from([2, 5, 1000, 30_000]),
    st.sampled_from([0.02, 0.5, 0.95]),
    st.sampled_from(["float16", "float32", "float64", "int16", "uint16", "int64"]),
)
@settings(max_examples=150)
def test_equal_to_scikit_learn_with_ties_and_without(seed, size, levels, share, dtype):
    from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

    score, anomaly = made(seed, size, levels, share, "int64")
    score = (np.abs(score) if dtype == "uint16" else score).astype(dtype)
    d = detection(score, anomaly)
    if anomaly.sum() > 0:
        assert d.average_precision == pytest.approx(average_precision_score(anomaly, score), abs=1e-12)
    if 0 < anomaly.sum() < size:
        assert d.auroc == pytest.approx(roc_auc_score(anomaly, score), abs=1e-12)
        fpr, tpr, _ = roc_curve(anomaly, score, drop_intermediate=False)
        assert d.fpr95 == fpr[tpr >= 0.95][0]
        assert detection(score, anomaly, recall=0.5).fpr95 == fpr[tpr >= 0.5][0]


def test_equal_to_scikit_learn_on_many_continuous_scores():
    from sklearn.metrics import average_precision_score, roc_auc_score

    rng = np.random.default_rng(0)
    anomaly = rng.random(300_000) < 0.01
    score = rng.standard_normal(300_000).astype(np.float32) + anomaly
    d = detection(score, anomaly)
    assert d.average_precision == pytest.approx(average_precision_score(anomaly, score), abs=1e-12)
    assert d.auroc == pytest.approx(roc_auc_score(anomaly, score), abs=1e-12)
    assert (d.low, d.high) == (score.min(), score.max())


@given(st.integers(0, 1000), st.integers(1, 200))
def test_a_constant_score_has_the_share_of_anomalies(seed, size):
    anomaly = np.random.default_rng(seed).integers(0, 2, size)
    anomaly[0] = 1
    d = detection(np.full(size, 0.25), anomaly)
    assert d.average_precision == pytest.approx(anomaly.mean())
    assert d.fpr95 == 1 or anomaly.all()
    assert d.auroc == 0.5 or anomaly.all()


@given(st.integers(0, 1000), st.sampled_from([np.nan, np.inf, 0.0, 1e30]), st.sampled_from([255, 7, -1]))
def test_void_never_changes_a_number(seed, there, void):
    score, anomaly = made(seed, 100, 9, 0.3)
    place = np.sort(np.random.default_rng(seed).integers(0, 101, 40))
    padded = detection(
        np.insert(score, place, there), np.insert(anomaly.astype(np.int64), place, void), void=void
    )
    assert same(padded, detection(score, anomaly))


@given(st.integers(0, 1000), st.sampled_from(["float32", "float16", "int64"]))
def test_order_shape_and_monotone_change_of_scores_do_not_show(seed, dtype):
    score, anomaly = made(seed, 120, 40, 0.3, dtype)
    d = detection(score, anomaly)
    order = np.random.default_rng(seed).permutation(120)
    assert same(d, detection(score[order].reshape(10, 12), anomaly[order].reshape(10, 12)))
    assert same(d, detection(np.asfortranarray(score.reshape(10, 12)), anomaly.reshape(10, 12)))
    stretched = detection(np.exp(score.astype(float) / 4), anomaly)
    assert (d.average_precision, d.auroc, d.fpr95, d.f1) == (
        stretched.average_precision,
        stretched.auroc,
        stretched.fpr95,
        stretched.f1,
    )


def test_minus_zero_is_zero_in_every_kind_of_float():
    for dtype in (np.float16, np.float32, np.float64):
        for anomaly in ([0, 0, 1, 1], [1, 1, 0, 0]):
            assert (
                misclassification(np.array([-0.0, -0.0, 0.0, 0.0], dtype), np.array(anomaly)).correct.auroc
                == 0.5
            )
            assert detection(np.array([-0.0, -0.0, 0.0, 0.0], dtype), np.array(anomaly)).auroc == 0.5


def test_counts_are_those_of_every_distinct_score():
    d = detection(np.array([5, 4, 4, 3, 2, 2, 1]), np.array([0, 1, 0, 0, 1, 1, 0]))
    assert d.scores.tolist() == [4, 2]
    assert d.true_positives.tolist() == [1, 3]
    assert d.false_positives.tolist() == [2, 3]
    assert d.above.tolist() == [1, 3]
    assert (d.positives, d.negatives) == (3, 4)


@pytest.mark.parametrize("rows", [1, 1000])
def test_first_and_closest_are_two_rules(monkeypatch, rows):
    monkeypatch.setattr(counts, "_ROWS", rows)
    # recalls .5, .9, 1.0 with false positive rates .25, .5, 1
    score = np.repeat([9, 8, 7, 6, 5, 4], [5, 1, 4, 1, 1, 2])
    anomaly = np.repeat([1, 0, 1, 0, 1, 0], [5, 1, 4, 1, 1, 2])
    assert detection(score, anomaly).fpr95 == 0.5
    # .9 and 1.0 are equally far, but for float64
    assert detection(score, anomaly, fpr_rule="closest").fpr95 == 0.5
    # the lowest threshold with .9
    assert detection(score, anomaly, fpr_rule="closest", recall=0.92).fpr95 == 0.5
    assert detection(score, anomaly, fpr_rule="first", recall=0.92).fpr95 == 0.5
    assert detection(score, anomaly, fpr_rule="closest", recall=0.6).fpr95 == 0.25
    assert detection(score, anomaly, recall=0.9).fpr95 == 0.25
    assert detection(score, anomaly, recall=1).fpr95 == 0.5
    with refused(OptionError, "nearest"):
        detection(score, anomaly, fpr_rule="nearest")
    with refused(OptionError, "recall"):
        detection(score, anomaly, recall=0)


def test_nothing_to_find_or_nothing_to_mistake_is_nan_with_a_reason():
    none = detection(np.array([0.1, 0.2]), np.array([0, 0]))
    assert math.isnan(none.average_precision)
    assert math.isnan(none.auroc)
    assert math.isnan(none.fpr95)
    assert none.undefined.startswith("no anomalous pixel")
    all_ = detection(np.array([0.1, 0.2]), np.array([1, 255]))
    assert all_.average_precision == 1
    assert math.isnan(all_.auroc)
    assert math.isnan(all_.fpr95)
    assert all_.undefined.startswith("no known pixel")
    empty = detection(np.empty((0, 5), np.float32), np.empty((0, 5), np.uint8))
    assert math.isnan(empty.average_precision)
    assert "either" in empty.undefined
    assert detection(np.array([0.1, 0.2]), np.array([0, 1])).undefined == ""


def test_images_without_a_value_are_skipped_and_counted():
    found = per_image(
        [
            detection(np.array([0.1, 0.2]), np.array([0, 1])),
            detection(np.array([0.1, 0.2]), np.array([0, 0])),
            detection(np.array([0.3, 0.2]), np.array([0, 1])),
            detection(np.array([0.3, 0.2]), np.array([1, 1])),
        ]
    )
    assert found.average_precision == pytest.approx((1 + 0.5 + 1) / 3)
    assert found.auroc == 0.5
    assert (found.without_average_precision, found.without_auroc, found.without_fpr95) == (1, 2, 2)
    assert math.isnan(per_image([]).auroc)


@given(st.integers(0, 1000), st.sampled_from([5, 400]))
def test_best_f1_is_the_best_of_all_thresholds(seed, levels):
    score, anomaly = made(seed, 80, levels, 0.3)
    anomaly[0] = 1
    threshold, f1 = best_f1(detection(score, anomaly))
    every = {
        float(t): 2 * ((score >= t) & (anomaly == 1)).sum() / ((score >= t).sum() + anomaly.sum())
        for t in np.unique(score)
    }
    assert f1 == pytest.approx(max(every.values()))
    assert threshold == max(t for t, value in every.items() if value == pytest.approx(f1, abs=1e-15))


@pytest.mark.parametrize("rows", [1, 1000])
def test_of_two_thresholds_with_the_best_f1_the_higher_is_given(monkeypatch, rows):
    monkeypatch.setattr(counts, "_ROWS", rows)
    assert best_f1(detection(np.array([4, 3, 2, 1]), np.array([1, 0, 0, 1]))) == (4, pytest.approx(2 / 3))


def test_curves_of_few_scores_are_whole():
    score, anomaly = made(1, 60, 12, 0.4)
    d = detection(score, anomaly)
    curve = roc(d)
    assert np.trapezoid(curve.y, curve.x) == pytest.approx(d.auroc, abs=1e-12)
    steps = precision_recall(d)
    assert (np.diff(steps.x, prepend=0) * steps.y).sum() == pytest.approx(d.average_precision, abs=1e-12)
    assert (np.diff(steps.thresholds) < 0).all()


def test_thinned_curves_are_few_points_of_the_whole_and_close():
    rng = np.random.default_rng(3)
    anomaly = rng.random(100_000) < 0.3
    d = detection(rng.standard_normal(100_000).astype(np.float32) + anomaly, anomaly)
    curve, steps = roc(d, points=300), precision_recall(d, points=300)
    assert len(steps.x) <= 300
    assert len(curve.x) <= 602
    assert np.isin(steps.thresholds, d.scores).all()
    assert np.trapezoid(curve.y, curve.x) == pytest.approx(d.auroc, abs=2e-3)
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)
    assert steps.x[-1] == 1


def test_counts_beyond_2_31_and_products_beyond_2_63_are_exact():
    many = 3_000_000_000  # pixels with each of two scores, of each class
    rows = Rows(
        np.array([2.0, 1.0]), np.array([many, 2 * many]), np.array([many, 2 * many]), np.array([0, many])
    )
    d = summarise([rows], 2 * many, 2 * many)
    assert d.auroc == 0.5
    assert d.average_precision == 0.5
    uneven = summarise([Rows(np.array([1.0]), np.array([many]), np.array([1]), np.array([0]))], many, many)
    assert uneven.auroc == (2 * many * many - many) / (2 * many * many)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_scores_that_are_no_numbers_are_counted_and_named(dtype):
    score = np.array([0.1, np.nan, np.inf, -np.inf, 0.5, np.nan], dtype)
    with refused(MetricError, r"frame 7: 3 of 5 scores are NaN or infinite"):
        detection(score, np.array([0, 1, 0, 0, 1, 255]), where="frame 7")


def test_what_else_is_refused_says_why():
    good = np.array([0.1, 0.2])
    with refused(MetricError, r"shape \(2,\), the mask \(3,\)"):
        detection(good, np.array([0, 1, 0]))
    with refused(MetricError, "a: the score is a masked array"):
        detection(np.ma.array(good, mask=[True, False]), np.array([0, 1]), where="a")
    with refused(MetricError, "the mask is a masked array"):
        detection(good, np.ma.array([0, 1], mask=[True, False]))
    with refused(MetricError, "the mask holds 2; expected 0, 1 and 255"):
        detection(good, np.array([0, 2]))
    with refused(MetricError, "the mask holds float64"):
        detection(good, np.array([0.0, 1.0]))
    with refused(MetricError, "the score holds complex128"):
        detection(good.astype(complex), np.array([0, 1]))


# S3's calibration AUROC: (confidence, AUROC); predictions 0 1 1 0 1 of truths 0 0 0 1 1
INCORRECT = np.array([0, 1, 1, 1, 0])


@pytest.mark.parametrize(
    ("confidence", "auroc"),
    [
        ((1, 0, 0, 0, 1), 1),
        ((1, 0.5, 0.5, 0.5, 0), 0.5),
        ((0.5, 0.5, 0.5, 0.5, 0.5), 0.5),
        ((0.1, 0.9, 0.9, 0.9, 0.1), 0),
        # exactly; with the ten thresholds of the released example .1 ties with 0, see test_other_curves
        ((1, 0, 0, 0.1, 0), 2 / 3),
    ],
)
def test_calibration_auroc_of_the_release(confidence, auroc):
    found = misclassification(-np.array(confidence, float), INCORRECT)
    assert found.incorrect.auroc == pytest.approx(auroc)
    assert found.correct.auroc == pytest.approx(auroc)


@pytest.mark.parametrize(("most", "auroc"), [(1.0, 5 / 6), (0.2, 2 * (1 / 3 - 0.2 / 8) / 0.9)])
def test_calibration_auroc_depends_on_the_accuracy_of_the_model(most: float, auroc: float) -> None:
    doubt = (np.arange(1000) + 0.5) / 1000 * most  # perfectly calibrated: wrong as often as doubted
    wrong = np.round(doubt * 1000).astype(int)
    score = np.concatenate([doubt.repeat(wrong), doubt.repeat(1000 - wrong)])
    label = np.arange(len(score)) < wrong.sum()
    assert misclassification(score, label).incorrect.auroc == pytest.approx(auroc, abs=1e-3)


@pytest.mark.parametrize(
    ("confidence", "ap"), [((1, 0, 0, 0, 1), 1), ((1, 0.8, 0.5, 0.1, 0.5), 0.75), ((0.5,) * 5, 0.4)]
)
def test_precision_recall_of_correctness_of_the_release(confidence, ap):
    assert misclassification(-np.array(confidence), INCORRECT).correct.average_precision == pytest.approx(ap)


def test_both_directions_are_those_of_scikit_learn_and_leave_void_out():
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(5)
    wrong = rng.choice([0, 1, 255], 500, p=[0.6, 0.3, 0.1])
    for doubt in (
        rng.random(500).astype(np.float16),
        rng.integers(0, 200, 500).astype(np.uint8),
        rng.random(500),
    ):
        found = misclassification(doubt, wrong)
        kept = wrong != 255
        assert found.incorrect.average_precision == pytest.approx(
            average_precision_score(wrong[kept], doubt[kept]), abs=1e-12
        )
        assert found.correct.average_precision == pytest.approx(
            average_precision_score(1 - wrong[kept], -doubt[kept].astype(float)), abs=1e-12
        )
    assert misclassification(np.array([0.1, 0.9]), np.array([False, True])).correct.positives == 1


@pytest.mark.slow
def test_real_masks_with_a_made_score(data: Path):
    from sklearn.metrics import average_precision_score, roc_auc_score

    masks = sorted((data / "anomaly").glob("fs_lostfound_half/masks/*.png"))[:6]
    if not masks:
        pytest.skip("no anomaly masks")
    rng = np.random.default_rng(0)
    truth = np.stack([np.asarray(Image.open(path)) for path in masks])
    score = (rng.standard_normal(truth.shape) + 2 * (truth == 1)).astype(np.float32)
    kept = truth != 255
    d = fs.metrics.detection(score, truth)
    assert d.positives == (truth == 1).sum()
    assert d.average_precision == pytest.approx(average_precision_score(truth[kept], score[kept]), abs=1e-12)
    assert d.auroc == pytest.approx(roc_auc_score(truth[kept], score[kept]), abs=1e-12)
