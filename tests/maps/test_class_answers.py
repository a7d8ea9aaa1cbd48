"""The code of a classifier's answer: what goes in comes out, at once or one by one, and damage is one
error.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import LabelMapError
from faultscape.maps import class_answers as codes
from refusals import refused

ANSWER = st.lists(st.tuples(st.integers(-1, 70_000), st.floats(0, 1, width=32)), min_size=1, max_size=6)


@given(st.lists(st.tuples(ANSWER, st.booleans()), min_size=1, max_size=8), st.integers(0, 3))
def test_answers_of_any_length_come_back_padded_with_none(
    answers: list[tuple[list[tuple[int, float]], bool]], cut: int
) -> None:
    written = [
        codes.encode([n for n, _ in row], [p for _, p in row] if sure else None) for row, sure in answers
    ]
    most = max(len(row) for row, _ in answers)
    labels, shares = codes.decode(written)
    assert labels.shape == shares.shape == (len(answers), most)
    for k, (row, sure) in enumerate(answers):
        assert labels[k].tolist() == [n for n, _ in row] + [-1] * (most - len(row))
        wanted = [p if sure else np.nan for _, p in row] + [np.nan] * (most - len(row))
        np.testing.assert_array_equal(shares[k], np.array(wanted, np.float32))
        assert codes.first(written[k]) == row[0][0]
    # an Arrow array that begins further on
    part = pa.array(written, pa.binary())[min(cut, len(written) - 1) :]
    for had, whole in zip(codes.decode(part), (labels, shares), strict=True):
        rest = whole[min(cut, len(written) - 1) :]
        np.testing.assert_array_equal(had, rest[:, : had.shape[1]])
    for had, whole in zip(codes.decode(written, 2), (labels, shares), strict=True):
        np.testing.assert_array_equal(had, whole[:, :2])


@given(st.lists(ANSWER, min_size=1, max_size=8), st.integers(0, 100))
def test_many_codes_at_once_are_the_codes_one_by_one(
    answers: list[list[tuple[int, float]]], seed: int
) -> None:
    silent = np.random.default_rng(seed).random(len(answers)) < 0.4
    most = max(map(len, answers))
    # what stands behind is never looked at
    labels, shares = np.full((len(answers), most), -2), np.full((len(answers), most), 7.0)
    for k, row in enumerate(answers):
        labels[k, : len(row)], shares[k, : len(row)] = [n for n, _ in row], [p for _, p in row]
        shares[k, 0] = np.nan if silent[k] else shares[k, 0]
    wanted = [
        codes.encode([n for n, _ in row], None if quiet else [p for _, p in row])
        for row, quiet in zip(answers, silent, strict=True)
    ]
    counts = np.array([len(row) for row in answers])
    assert codes.encode_all(labels, shares, counts) == wanted
    assert codes.encode_all(labels, None, counts) == [codes.encode([n for n, _ in row]) for row in answers]


def test_what_is_no_answer_is_refused() -> None:
    for labels, shares in (
        ([], None),
        ([1] * 256, None),
        ([1], [0.5, 0.5]),
        ([1], [1.5]),
        ([1], [-0.1]),
        ([1], [np.nan]),
    ):
        with refused(LabelMapError):
            codes.encode(labels, shares)
    for labels, shares, counts in (([[1]], [[1.5]], [1]), ([[1]], None, [0]), ([[1] * 300], None, [300])):
        with refused(LabelMapError):
            codes.encode_all(np.array(labels), None if shares is None else np.array(shares), np.array(counts))


@given(st.binary(max_size=40))
def test_no_bytes_are_read_as_an_answer_that_was_not_written(data: bytes) -> None:
    try:
        labels, shares = codes.decode([data])
    except LabelMapError:
        return
    sure = None if np.isnan(shares).all() else shares[0]
    if sure is None or not np.isnan(sure).any():
        assert len(data) == 2 + 4 * labels.shape[1] * (1 + data[1])
        assert data[0] == labels.shape[1]


def test_a_code_cut_short_is_refused_among_good_ones() -> None:
    good = codes.encode([3, 4], [0.5, 0.25])
    for bad in (good[:-1], b"", good + b"x", bytes([0, 0]) + good[2:], bytes([2, 2]) + good[2:]):
        with refused(LabelMapError, "damaged"):
            codes.decode([good, bad, good])
    assert codes.decode([])[0].shape == (0, 1)
