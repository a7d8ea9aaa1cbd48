"""Concordances from counts equal plain arithmetic on pixels; void never counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.errors import LabelMapError, OptionError, RankingError
from faultscape.metrics.catalogue import CONCORDANCES
from refusals import refused


def plain(
    reference: np.ndarray, prediction: np.ndarray, name: str, over: str, classes: int, void: int
) -> float:
    """One concordance, pixel by pixel."""
    values, weights = [], []
    frequency = (reference != void).sum()
    for y in range(classes):
        r, p = reference == y, prediction == y
        both, union = (r & p).sum(), (r | p).sum()
        here = {"union": union > 0, "all": True, "truth": r.any()}[over]
        value = {
            "miou": both / union if union else np.nan,
            "dice": 2 * both / (r.sum() + p.sum()) if union else np.nan,
            "mpa": both / r.sum() if r.any() else np.nan,
        }.get(name, both / union if union else np.nan)
        weights.append(r.sum())
        if here and (not np.isnan(value) or over == "all"):
            values.append(0.0 if np.isnan(value) else value)
    if name == "pixel_accuracy":
        return ((reference == prediction) & (reference != void)).sum() / frequency if frequency else np.nan
    if name == "fwiou":
        iou = [
            ((reference == y) & (prediction == y)).sum()
            / max(((reference == y) | (prediction == y)).sum(), 1)
            for y in range(classes)
        ]
        return float(np.dot(weights, iou) / frequency) if frequency else np.nan
    return float(np.mean(values)) if values else np.nan


@given(
    st.integers(0, 100_000),
    st.sampled_from(["miou", "fwiou", "mpa", "pixel_accuracy", "dice"]),
    st.sampled_from(["union", "all", "truth"]),
)
@settings(max_examples=80)
def test_every_concordance_equals_its_plain_twin(seed: int, name: str, over: str) -> None:
    rng = np.random.default_rng(seed)
    classes = fs.classes.resolve(4, void=9)
    a, b = rng.choice([0, 1, 1, 2, 9], (2, 1, 3, 5)).astype(np.uint8)
    t = rng.choice([0, 1, 2, 3, 9], (1, 3, 5)).astype(np.uint8)
    pairs = fs.comparison.count({"a": a, "b": b}, classes=classes, truth=t)
    got = fs.comparison.concordances(pairs, name, over=over)
    np.testing.assert_allclose(got[0, 1, 0], plain(a[0], b[0], name, over, 4, 9))
    np.testing.assert_allclose(got[1, 0, 0], plain(b[0], a[0], name, over, 4, 9))
    kept = t[0] != 9
    want = plain(t[0][kept], a[0][kept], name, over, 4, 9)
    np.testing.assert_allclose(fs.comparison.accuracies(pairs, name, over=over)[0, 0], want)


@given(st.integers(0, 100_000))
@settings(max_examples=30)
def test_void_pixels_of_the_truth_never_change_a_metric(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = rng.choice([0, 1, 2, 255], (1, 6, 6)).astype(np.uint8)
    a = rng.integers(0, 3, t.shape).astype(np.uint8)
    b = np.where(t == 255, rng.integers(0, 3, t.shape), a).astype(np.uint8)
    classes = fs.classes.resolve(3, void=255)
    for name in CONCORDANCES:
        both = [
            fs.comparison.accuracies(fs.comparison.count({"m": m}, classes, truth=t), name)[0, 0]
            for m in (a, b)
        ]
        np.testing.assert_equal(both[0], both[1])


def test_mpa_over_the_classes_of_either_map_is_over_those_of_the_defender() -> None:
    maps = np.random.default_rng(0).integers(0, 4, (2, 6, 3, 3))
    maps[0][maps[0] == 3] = 0  # a class that the second model has alone
    pairs = fs.comparison.count({"a": maps[0], "b": maps[1]}, classes=4)
    union, truth = (fs.comparison.concordances(pairs, "mpa", over=over) for over in ("union", "truth"))
    np.testing.assert_array_equal(union, truth)
    iou = [fs.comparison.concordances(pairs, "miou", over=over)[0, 1] for over in ("union", "truth")]
    assert not np.allclose(*iou)


def test_a_missing_map_leaves_its_own_pairs_only() -> None:
    a, _, c = np.zeros((3, 1, 2, 2), np.uint8)
    pairs = fs.comparison.count({"a": a, "b": [None], "c": c}, classes=2)
    got = fs.comparison.concordances(pairs)[:, :, 0]
    assert got[0, 2] == 1
    assert np.isnan(got[0, 1])
    assert np.isnan(got[1, 2])


def test_cells_are_equation_8() -> None:
    a, b = np.array([[[0, 0, 1]]]), np.array([[[1, 0, 1]]])
    pairs = fs.comparison.count({"a": a, "b": b}, classes=2, cells=True)
    assert pairs.cells is not None
    assert pairs.cells[0, 0].tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_mistakes_are_told_in_a_line() -> None:
    good = np.zeros((1, 2, 2), np.uint8)
    with refused(LabelMapError, r"b, image 0: holds the value 7; allowed are 0-2"):
        fs.comparison.count({"a": good, "b": good + 7}, classes=3)
    with refused(LabelMapError, "different sizes"):
        fs.comparison.count({"a": good, "b": np.zeros((1, 3, 3), np.uint8)}, classes=3)
    with refused(OptionError, "over='most'"):
        fs.comparison.concordances(fs.comparison.count({"a": good, "b": good}, classes=3), over="most")
    with refused(RankingError, "hold 0 truths"):
        fs.comparison.accuracies(fs.comparison.count({"a": good, "b": good}, classes=3))
