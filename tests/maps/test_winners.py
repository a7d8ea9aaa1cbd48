"""Scores become labels, confidence and probabilities at any size: equal to the plain twin, and to arithmetic
in float64 done here.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.maps import winners
from faultscape.maps.kernels import plain_winners
from faultscape.maps.kernels import winners as compiled_winners

TIE = 1e-6  # of the scores' scale: where the two largest are nearer than this, rounding decides


def reference(scores: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Bilinear with half-pixel centres and held edges, in float64, written from the definition: a weighted
    mean of four neighbours.
    """
    width, height = size
    _, h, w = scores.shape
    y = np.clip((np.arange(height) + 0.5) * h / height - 0.5, 0, h - 1)
    x = np.clip((np.arange(width) + 0.5) * w / width - 0.5, 0, w - 1)
    near_y = np.maximum(0, 1 - np.abs(y[:, None] - np.arange(h)))  # (height, h): a tent over each old pixel
    near_x = np.maximum(0, 1 - np.abs(x[:, None] - np.arange(w)))
    return np.einsum("yi,cij,xj->cyx", near_y, scores.astype(np.float64), near_x)


def close_calls(whole: np.ndarray) -> np.ndarray:
    """Where the two largest scores differ by less than TIE of their scale."""
    if len(whole) == 1:
        return np.zeros(whole.shape[1:], bool)
    second, first = np.sort(whole, axis=0)[-2:]
    return first - second <= TIE * np.maximum(1, np.abs(whole).max(0))


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, tuple[int, int]]:
    """Scores of any kind, from noise to the blocks and constants at which ties happen, and a size to bring
    them to.
    """
    classes = draw(st.sampled_from([1, 2, 3, 19, 40, 256, 300]))
    h, w = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["noise", "whole", "constant", "wide", "one wins"]))
    scores = rng.normal(size=(classes, h, w)) * {"wide": 1e4}.get(kind, 1)
    if kind == "whole":
        scores = rng.integers(-2, 3, scores.shape)
    if kind == "constant":
        scores = np.full_like(scores, rng.normal())
    if kind == "one wins":
        scores[rng.integers(classes)] += 9
    return scores.astype(np.float32), (draw(st.integers(1, 24)), draw(st.integers(1, 24)))


@pytest.mark.slow
@given(cases())
@settings(max_examples=60)
def test_what_is_compiled_equals_its_plain_twin(case: tuple[np.ndarray, tuple[int, int]]) -> None:
    scores, size = case
    between = (*winners.between(scores.shape[1], size[1]), *winners.between(scores.shape[2], size[0]))
    found = []
    for kernels in (compiled_winners, plain_winners):
        best, top = np.empty(scores.shape[1:], np.uint16), np.empty(scores.shape[1:], np.float32)
        assert kernels.largest(scores, best, top)
        drawn, whole = np.empty(size[::-1], np.uint16), np.empty((len(scores), *size[::-1]), np.float32)
        kernels.stretch(scores, *between, whole)
        kernels.draw(scores, best, *between, drawn)
        found.append((best, top, whole, drawn))
    for compiled, plain in zip(found[0][:2], found[1][:2], strict=True):
        assert (compiled == plain).all()
    assert np.abs(found[0][2] - found[1][2]).max() <= TIE * max(1, np.abs(scores).max())
    assert not ((found[0][3] != found[1][3]) & ~close_calls(found[1][2])).any()


@given(cases())
@settings(max_examples=60)
def test_enlarged_scores_equal_the_definition_in_float64(case: tuple[np.ndarray, tuple[int, int]]) -> None:
    scores, size = case
    got, want = winners.enlarged(scores, size), reference(scores, size)
    assert got.shape == want.shape
    assert got.dtype == np.float32
    assert np.abs(got - want).max() <= 1e-6 * max(1, np.abs(scores).max())


@given(cases())
@settings(max_examples=60)
def test_labels_are_the_largest_of_the_enlarged_scores(case: tuple[np.ndarray, tuple[int, int]]) -> None:
    scores, size = case
    labels = winners.labels(scores, size)
    assert labels.dtype == (np.uint8 if len(scores) <= 256 else np.uint16)
    for whole in (winners.enlarged(scores, size), reference(scores, size)):
        assert not ((labels != whole.argmax(0)) & ~close_calls(whole)).any()


@pytest.mark.slow
@given(cases(), st.integers(1, 12))
@settings(max_examples=60)
def test_the_leading_scores_come_in_order_with_their_classes(
    case: tuple[np.ndarray, tuple[int, int]], few: int
) -> None:
    scores, _ = case
    values, classes = winners.leading(scores, few)
    order = np.argsort(-scores, axis=0, kind="stable")[:few]  # ties to the first class
    assert (classes == order).all()
    assert (values == np.take_along_axis(scores, order, 0)).all()
    assert (values.dtype, classes.dtype) == (np.float32, np.uint8 if len(scores) <= 256 else np.uint16)
    plain = np.empty_like(values), np.empty_like(classes)
    plain_winners.rank(scores, *plain)
    assert (plain[0] == values).all()
    assert (plain[1] == classes).all()


@given(cases(), st.booleans())
@settings(max_examples=60)
def test_probabilities_and_confidence_equal_the_definition(
    case: tuple[np.ndarray, tuple[int, int]], marginal: bool
) -> None:
    scores, size = case
    scores = np.abs(scores) + np.float32(1e-3) if marginal else scores
    whole = reference(scores, size)
    powers = whole if marginal else np.exp(whole - whole.max(0))
    want = powers / powers.sum(0)
    got = winners.probabilities(scores, size, marginal=marginal)
    near = 1e-5 + 1e-6 * np.abs(scores).max()  # a logit's rounding is its probability's relative error
    assert np.abs(got - want).max() <= near
    assert np.abs(got.sum(0) - 1).max() <= 1e-5
    sure = winners.confidence(scores, size, marginal=marginal)
    assert sure.dtype == np.uint8
    assert np.abs(sure - want.max(0) * 255).max() <= 0.5 + 255 * near


def test_noise_rarely_ties_so_that_the_laws_above_are_not_empty() -> None:
    scores = np.random.default_rng(3).normal(size=(19, 32, 32)).astype(np.float32)
    whole = reference(scores, (128, 128))
    assert close_calls(whole).sum() == 0
    assert (winners.labels(scores, (128, 128)) == whole.argmax(0)).all()
    assert len(np.unique(whole.argmax(0))) == 19


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (7, 7), (2, 2)])
def test_ties_go_to_the_first_class_at_any_size(size: tuple[int, int]) -> None:
    scores = np.zeros((300, 3, 5), np.float32)
    scores[[7, 9, 299]] = 2.5
    assert (winners.labels(scores, size) == 7).all()
    assert (winners.confidence(np.zeros((5, 2, 2), np.float32), size) == 51).all()


def test_strips_of_a_large_map_meet_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(0).normal(size=(4, 6, 5)).astype(np.float32)
    whole = winners.confidence(scores, (31, 23)), winners.probabilities(scores, (31, 23))
    monkeypatch.setattr(winners, "_AT_ONCE", 4 * 31 * 5)
    assert (winners.confidence(scores, (31, 23)) == whole[0]).all()
    assert (winners.probabilities(scores, (31, 23)) == whole[1]).all()


@pytest.mark.parametrize("size", [(4, 3), (9, 8), (2, 1)])
@pytest.mark.parametrize("place", [(0, 0, 0), (2, 2, 3), (1, 1, 1)])
def test_a_score_that_is_no_number_gives_no_labels(
    size: tuple[int, int], place: tuple[int, int, int]
) -> None:
    scores = np.random.default_rng(0).normal(size=(3, 3, 4)).astype(np.float32)
    scores[place] = np.nan
    assert winners.labels(scores, size) is None


@pytest.mark.parametrize("size", [(4, 3), (9, 8), (2, 2)])
def test_a_class_that_is_ruled_out_by_minus_infinity_never_wins_and_changes_no_other(
    size: tuple[int, int],
) -> None:
    rest = np.random.default_rng(0).normal(size=(4, 3, 4)).astype(np.float32)
    scores = rest.copy()
    scores[1] = -np.inf
    others = [0, 2, 3]
    want = np.array(others)[reference(rest[others], size).argmax(0)]
    assert (winners.labels(scores, size) == want).all()
    assert (
        np.abs(winners.probabilities(scores, size)[others] - winners.probabilities(rest[others], size)).max()
        < 1e-6
    )
    assert (winners.confidence(scores, size) == winners.confidence(rest[others], size)).all()


def test_infinity_wins_where_it_has_weight_and_two_of_them_tie() -> None:
    scores = np.zeros((3, 1, 2), np.float32)
    scores[2, 0, 0] = np.inf
    assert winners.labels(scores, (4, 1)).tolist() == [[2, 2, 2, 0]]
    scores[1, 0, 0] = np.inf
    assert winners.labels(scores, (4, 1)).tolist() == [[1, 1, 1, 0]]
    assert winners.labels(np.full((2, 1, 1), 1e300), (1, 1)).tolist() == [[0]]


def test_marginal_scores_of_nothing_are_shared_by_all() -> None:
    nothing = np.zeros((4, 1, 1), np.float32)
    assert winners.probabilities(nothing, (2, 1), marginal=True).tolist() == [[[0.25, 0.25]]] * 4
    assert winners.confidence(nothing, (2, 1), marginal=True).tolist() == [[64, 64]]


def test_what_is_given_is_left_as_it_was() -> None:
    scores = np.random.default_rng(1).normal(size=(3, 4, 4)).astype(np.float32)
    before = scores.copy()
    for size in ((4, 4), (8, 2)):
        winners.labels(scores, size)
        winners.probabilities(scores, size)
        winners.confidence(scores, size)
    assert (scores == before).all()
