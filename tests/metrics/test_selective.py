"""Risk, coverage and windows: hand examples, the laws that bind them to AUROC, and the example of S3's
code.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import FaultscapeError
from faultscape.metrics import selective as sel
from faultscape.metrics.calibration import probability_counts
from faultscape.metrics.doubt import logit16
from faultscape.metrics.scores.detection import detection
from refusals import refused


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=60))
def test_augrc_is_bound_to_auroc_and_accuracy(pixels: list[tuple[int, bool]]) -> None:
    doubt, wrong = (np.array(column) for column in zip(*pixels, strict=True))
    right_, wrong_ = sel.groups(doubt, wrong)
    accuracy = 1 - wrong.mean()
    gap = np.sign(doubt[wrong][:, None] - doubt[~wrong][None])
    auroc = ((gap + 1) / 2).mean() if wrong.any() and (~wrong).any() else 0.5
    expected = (1 - auroc) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    assert sel.augrc(right_, wrong_) == pytest.approx(expected)
    found = detection(doubt, wrong), detection(-doubt, ~wrong)
    assert sel.aurc_of(*found) == pytest.approx(sel.aurc(right_, wrong_))
    assert sel.augrc_of(auroc, int(wrong.sum()), int((~wrong).sum())) == pytest.approx(expected)


@given(st.permutations(list(range(12))), st.integers(0, 2**12 - 1))
def test_aurc_without_ties_is_the_mean_of_selective_risks(order: list[int], bits: int) -> None:
    wrong = np.array([bits >> k & 1 for k in range(12)])
    by_doubt = wrong[np.argsort(order)]
    expected = np.mean(np.cumsum(by_doubt) / np.arange(1, 13))
    assert sel.aurc(*sel.groups(np.array(order), wrong)) == pytest.approx(expected)


def test_a_constant_doubt_has_the_error_rate_and_half_of_it() -> None:
    right, wrong = sel.groups(np.zeros(10), np.array([1] * 3 + [0] * 7))
    assert (sel.aurc(right, wrong), sel.augrc(right, wrong)) == (pytest.approx(0.3), pytest.approx(0.15))


def test_groups_of_images_add_up() -> None:
    assert sel.aurc(np.array([[2, 0], [0, 2]]), np.array([[0, 2], [2, 0]])).tolist() == [0.25, 0.75]
    assert np.isnan(sel.aurc(np.zeros(2), np.zeros(2)))


def test_pavpu_of_four_windows() -> None:
    """Two windows accurate and certain, one inaccurate and certain, one inaccurate and uncertain: .75, .67,
    .5 as in S3's own test.
    """
    incorrect = np.zeros((4, 4), np.uint8)
    incorrect[2:] = 1
    doubt = np.full((4, 4), 0.1)
    doubt[2:, 2:] = 0.9
    counts = sel.window_counts(doubt, incorrect)
    assert counts.tolist() == [2, 0, 1, 1]
    assert sel.pavpu(counts) == 0.75
    assert sel.p_accurate_certain(counts) == pytest.approx(2 / 3)
    assert sel.p_uncertain_inaccurate(counts) == 0.5


def test_a_window_as_doubtful_as_the_limit_is_certain_and_half_right_is_not_accurate() -> None:
    assert sel.window_counts(np.full((2, 2), 0.5), np.array([[0, 0], [1, 1]])).tolist() == [0, 0, 1, 0]


def test_windows_leave_void_out_and_are_cut_at_the_frame() -> None:
    incorrect = np.array([[0, 1, 0], [255, 255, 255], [255, 255, 0]])
    doubt = np.zeros((3, 3))
    assert sel.window_counts(doubt, incorrect).tolist() == [
        2,
        0,
        1,
        0,
    ]  # 1 of 2 right is not more than half; the lower left window does not count
    wild = np.where(incorrect == 255, 1e9, doubt)
    assert sel.window_counts(wild, incorrect).tolist() == [2, 0, 1, 0]
    assert np.isnan(sel.pavpu(np.zeros(4)))


def test_windows_equal_a_loop() -> None:
    rng = np.random.default_rng(0)
    doubt, incorrect = rng.random((7, 10)), rng.choice([0, 1, 255], (7, 10))
    expected = np.zeros(4, int)
    for y in range(0, 7, 3):
        for x in range(0, 10, 3):
            inside = incorrect[y : y + 3, x : x + 3] != 255
            if inside.any():
                right = (incorrect[y : y + 3, x : x + 3][inside] == 0).mean() > 0.6
                sure = doubt[y : y + 3, x : x + 3][inside].mean() <= 0.45
                expected[2 * (not right) + (not sure)] += 1
    assert (
        sel.window_counts(doubt, incorrect, window=3, certain=0.45, accurate=0.6).tolist()
        == expected.tolist()
    )


def test_what_cannot_be_is_refused() -> None:
    with refused(FaultscapeError, "1 of 2 doubts are NaN"):
        sel.groups(np.array([0.1, np.nan]), np.array([0, 1]))
    with refused(FaultscapeError, "one for each"):
        sel.groups(np.zeros(2), np.zeros(3))
    with refused(FaultscapeError, "one shape"):
        sel.window_counts(np.zeros((2, 2)), np.zeros((2, 3)))
    with refused(FaultscapeError, "1 or more"):
        sel.window_counts(np.zeros((2, 2)), np.zeros((2, 2)), window=0)


def test_masked_arrays_and_nan_are_refused_wherever_pixels_are_judged() -> None:
    masked = np.ma.array([[0.9, 0.1]], mask=[[True, False]])
    plain = np.zeros((1, 2), np.uint8)
    for call in (
        lambda: sel.window_counts(masked, plain),
        lambda: sel.window_counts(plain, np.ma.array(plain, mask=masked.mask)),
        lambda: sel.groups(masked, plain),
        lambda: logit16(masked),
        lambda: probability_counts(masked[None], plain),
    ):
        with refused(FaultscapeError, "masked array"):
            call()
    with refused(FaultscapeError, "1 of 2 doubts are NaN or infinite"):
        sel.window_counts(np.array([[np.nan, 0.1]]), plain)
    assert sel.window_counts(np.array([[np.nan, 0.1]]), np.array([[255, 0]])).sum() == 1
