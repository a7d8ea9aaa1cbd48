"""Boundary F-score and boundary IoU: hand examples, brute force pixel by pixel, and what must not matter."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import LabelMapError, OptionError
from faultscape.metrics import boundary
from faultscape.metrics.boundary import boundary_counts, boundary_f, boundary_iou
from refusals import refused

in_pixels = partial(boundary_counts, unit="pixels")


def made(seed: int, classes: int = 3, dtype: type = np.uint8) -> tuple[np.ndarray, np.ndarray]:
    """Two maps of small blocks that partly agree, with void in both."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 14, 2))
    coarse = rng.integers(0, classes + 1, (7, 7)).repeat(2, 0).repeat(2, 1)[: shape[0], : shape[1]]
    prediction = np.where(
        rng.random(shape) < rng.choice([0.05, 0.4]),
        rng.integers(0, classes + 1, shape),
        np.roll(coarse, 1, 1),
    )
    return coarse.astype(dtype), prediction.astype(dtype)


def twin(
    truth: np.ndarray, prediction: np.ndarray, classes: int, tolerance: float, width: int, frame: bool
) -> np.ndarray:
    """The same counts from sets of pixels, one class after the other."""
    height, breadth = truth.shape
    valid = {(y, x) for y in range(height) for x in range(breadth) if truth[y, x] != classes}
    out = np.zeros((classes, 6), np.int64)
    for c in range(classes):
        lines, bands = [], []
        for label_map in (prediction, truth):
            mine = {at for at in valid if label_map[at] == c}
            rest = valid - mine
            lines.append({(y, x) for y, x in mine if {(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)} & rest})
            near = {(y, x) for y, x in mine if any(max(abs(y - v), abs(x - u)) <= width for v, u in rest)}
            edge = {(y, x) for y, x in mine if min(y, x, height - 1 - y, breadth - 1 - x) < width}
            bands.append(near | edge if frame else near)
        for column, (some, others) in enumerate((lines, lines[::-1])):
            hits = [any((y - v) ** 2 + (x - u) ** 2 <= tolerance**2 for v, u in others) for y, x in some]
            out[c, 2 * column : 2 * column + 2] = sum(hits), len(some)
        out[c, 4:] = len(bands[0] & bands[1]), len(bands[0] | bands[1])
    return out


@given(
    st.integers(0, 100_000), st.sampled_from([0, 1, 1.5, 2.3, 5]), st.sampled_from([1, 2, 4]), st.booleans()
)
@settings(max_examples=120)
def test_counts_equal_those_of_sets_of_pixels(seed: int, tolerance: float, width: int, frame: bool) -> None:
    truth, prediction = made(seed, dtype=np.uint16 if seed % 2 else np.uint8)
    got = in_pixels(truth, prediction, 3, tolerance=tolerance, width=width, frame=frame)
    assert got.dtype == np.int64
    assert (got == twin(truth, prediction, 3, tolerance, width, frame)).all()


@given(st.integers(0, 100_000), st.sampled_from([0, 1.5, 4]))
@settings(max_examples=40)
def test_the_compiled_search_and_its_plain_twin_agree(seed: int, tolerance: float) -> None:
    truth, prediction = made(seed)
    assert boundary._kernels() is not None
    want = in_pixels(truth, prediction, 3, tolerance=tolerance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundary, "_kernels", lambda: None)
        assert (in_pixels(truth, prediction, 3, tolerance=tolerance) == want).all()


def test_an_edge_three_pixels_off_is_found_from_three_pixels_on() -> None:
    truth, prediction = np.zeros((2, 20, 30), np.uint8)
    truth[:, 10:], prediction[:, 13:] = 1, 1
    for tolerance, score in ((2.9, 0.0), (3, 1.0)):
        assert boundary_f(in_pixels(truth, prediction, 2, tolerance=tolerance)).tolist() == [score, score]
    counts = in_pixels(truth, prediction, 2, width=5, frame=False)
    assert counts[:, 4:].tolist() == [[2 * 20, 8 * 20]] * 2  # bands of five columns, three apart
    assert boundary_iou(counts).tolist() == [0.25, 0.25]


def test_half_of_the_boundary_found() -> None:
    truth, prediction = np.zeros((2, 10, 40), np.uint8)
    truth[3, 5:35] = 1
    prediction[3, 5:15] = 1  # ten of thirty pixels, and nothing wrong
    counts = in_pixels(truth, prediction, 2, tolerance=0)
    assert counts[1, :4].tolist() == [10, 10, 10, 30]
    assert boundary_f(counts)[1] == pytest.approx(2 * 1 * (1 / 3) / (1 + 1 / 3))


def test_shares_of_the_diagonal_are_the_published_ones() -> None:
    truth, prediction = made(5)
    truth, prediction = truth.repeat(40, 0).repeat(40, 1), prediction.repeat(40, 0).repeat(40, 1)
    diagonal = float(np.hypot(*truth.shape))
    want = in_pixels(truth, prediction, 3, tolerance=0.0075 * diagonal, width=0.02 * diagonal)
    assert (boundary_counts(truth, prediction, 3) == want).all()
    thinnest = boundary_counts(truth, prediction, 3, width=0)[:, 4:]
    assert (
        thinnest == in_pixels(truth, prediction, 3, width=1)[:, 4:]
    ).all()  # a band is never thinner than a pixel


def test_the_frame_is_an_edge_of_bands_alone_and_only_if_asked() -> None:
    whole = np.zeros((6, 8), np.uint8)
    with_frame = in_pixels(whole, whole, 1, width=1)
    assert with_frame.tolist() == [[0, 0, 0, 0, 24, 24]]  # 48 - 4 x 6
    without = in_pixels(whole, whole, 1, width=1, frame=False)
    assert not without.any()
    assert np.isnan(boundary_f(with_frame)).all()
    assert np.isnan(boundary_iou(without)).all()
    assert boundary_iou(with_frame).tolist() == [1.0]


@given(st.integers(0, 100_000))
def test_a_map_agrees_with_itself_and_roles_only_exchange_columns(seed: int) -> None:
    truth, prediction = made(seed)
    prediction = np.where(truth == 3, np.uint8(3), prediction)
    same = boundary_counts(truth, truth, 3)
    assert set(boundary_f(same)[~np.isnan(boundary_f(same))]) <= {1.0}
    assert set(boundary_iou(same)[~np.isnan(boundary_iou(same))]) <= {1.0}
    if not (prediction == 3).any():
        there, back = boundary_counts(truth, prediction, 3), boundary_counts(prediction, truth, 3)
        assert (there == back[:, [2, 3, 0, 1, 4, 5]]).all()


@given(st.integers(0, 100_000))
def test_turning_flipping_and_renaming_change_nothing(seed: int) -> None:
    truth, prediction = made(seed)
    want = in_pixels(truth, prediction, 3, tolerance=1.5, width=2)
    for turn in (np.flipud, np.fliplr, np.rot90, np.transpose):
        assert (in_pixels(turn(truth), turn(prediction), 3, tolerance=1.5, width=2) == want).all()
    names = np.array([2, 0, 1, 3], np.uint8)
    assert (in_pixels(names[truth], names[prediction], 3, tolerance=1.5, width=2)[names[:3]] == want).all()


@given(st.integers(0, 100_000))
def test_what_is_predicted_where_the_truth_is_void_never_counts(seed: int) -> None:
    truth, prediction = made(seed)
    other = np.where(
        truth == 3, np.random.default_rng(seed).integers(0, 4, truth.shape).astype(np.uint8), prediction
    )
    assert (
        in_pixels(truth, other, 3, tolerance=1, width=2)
        == in_pixels(truth, prediction, 3, tolerance=1, width=2)
    ).all()


def test_a_class_in_one_map_alone_scores_0_and_in_neither_nan() -> None:
    truth, prediction = np.zeros((2, 12, 12), np.uint8)
    truth[4:8, 4:8] = 1
    prediction[2:4, 2:4] = 2
    counts = in_pixels(truth, prediction, 4, tolerance=20, width=2)
    assert boundary_f(counts).tolist()[1:3] == [0.0, 0.0]
    assert boundary_iou(counts).tolist()[1:3] == [0.0, 0.0]
    assert np.isnan([boundary_f(counts)[3], boundary_iou(counts)[3]]).all()
    twice = boundary_f(np.stack([counts, 2 * counts]).sum(0))
    assert twice.tolist()[:3] == boundary_f(counts).tolist()[:3]


def test_as_many_classes_as_a_byte_has_values() -> None:
    truth, prediction = np.zeros((2, 6, 6), np.uint8)
    truth[:, 3:] = prediction[:, 3:] = 255
    counts = boundary_counts(truth, prediction, 256)
    assert boundary_f(counts)[[0, 255]].tolist() == [1.0, 1.0]
    assert boundary_iou(boundary_counts(truth, prediction, 255))[0] == 1.0  # now 255 is void
    assert not boundary_counts(truth, prediction, 255)[:, :4].any()


def test_maps_and_options_that_do_not_fit_are_said() -> None:
    small = np.zeros((4, 4), np.uint8)
    with refused(LabelMapError, "the prediction holds the label 4; allowed are 0 to 2, and 3 for void"):
        boundary_counts(small, small + 4, 3)
    with refused(LabelMapError, "one size"):
        boundary_counts(small, small[1:], 3)
    with refused(LabelMapError, "uint8 or uint16; got float64"):
        boundary_counts(small * 1.0, small, 3)
    with refused(LabelMapError, "masked array"):
        boundary_counts(small, np.ma.masked_equal(small, 0), 3)
    with refused(OptionError, "unit='metres' is not known; use diagonal, pixels"):
        boundary_counts(small, small, 3, unit="metres")
    with refused(OptionError, "tolerance is a distance, 0 or more; got nan"):
        boundary_counts(small, small, 3, tolerance=float("nan"))
