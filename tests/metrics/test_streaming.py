"""Streams and histograms: the same numbers as in memory, to the last bit where that is promised, however the
pixels come.
"""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import children
from faultscape.errors import MetricError
from faultscape.metrics import detection, detection_from_histogram, histogram16, misclassification, stream
from faultscape.metrics.kernels import plain_stream
from faultscape.metrics.kernels import stream as compiled_stream
from faultscape.metrics.scores import counts, histogram
from faultscape.metrics.scores import stream as score_stream
from refusals import refused

NUMBERS = (
    "average_precision",
    "auroc",
    "fpr95",
    "share_below",
    "f1",
    "f1_threshold",
    "positives",
    "negatives",
    "low",
    "high",
)
CURVES = ("scores", "true_positives", "false_positives", "above")


def made(seed, size, levels=100_000):
    """Scores, with ties where levels are few, and a mask that holds void, or lacks one class."""
    rng = np.random.default_rng(seed)
    shares = ([0.85, 0.05, 0.1], [0.4, 0.6, 0], [0.5, 0.3, 0.2], [1, 0, 0], [0, 1, 0], [0, 0, 1])
    anomaly = rng.choice(np.array([0, 1, 255], np.uint8), size, p=shares[seed % len(shares)])
    score = (rng.integers(-levels, levels, size) / levels * 4 + (anomaly == 1)).astype(np.float32)
    return np.where(anomaly == 255, np.nan, score).astype(np.float32), anomaly


def chunked(score, anomaly, seed):
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(score) + 1, 4))
    parts = list(zip(np.split(score, cuts), np.split(anomaly, cuts), strict=True))
    return lambda: iter(parts)


def assert_same(one, other, names=NUMBERS):
    for name in names:
        a, b = getattr(one, name), getattr(other, name)
        assert np.array_equal(a, b, equal_nan=True), (name, a, b)


@pytest.fixture(params=["compiled", "plain"])
def kernels(request, monkeypatch):
    monkeypatch.setattr(
        score_stream, "_kernels", lambda: compiled_stream if request.param == "compiled" else plain_stream
    )


@pytest.fixture
def small_buffers(monkeypatch):
    """Everything that is cut for memory is cut small, so that every path is taken by a few hundred pixels."""
    for name, size in (("_BUFFER", 200), ("_SLICE", 64), ("_ROWS", 50), ("_MANY", 3)):
        monkeypatch.setattr(score_stream, name, size)
    monkeypatch.setattr(counts, "_ROWS", 37)
    for name, size in (("_GROUP", 16), ("_GRID", 8), ("_OCTAVE", 2)):
        monkeypatch.setattr(counts, name, size)


@pytest.mark.usefixtures("kernels", "small_buffers")
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("levels", [6, 100_000])
def test_many_passes_one_pass_and_memory_give_the_same_bytes(seed, levels):
    score, anomaly = made(seed, 900, levels)
    rule = ("first", "closest")[seed % 2]
    whole = detection(score, anomaly, fpr_rule=rule)
    one = stream(chunked(score, anomaly, seed), fpr_rule=rule)
    assert_same(whole, one)
    assert np.isin(one.scores, whole.scores).all()
    for limit in (7, 60):
        many = stream(chunked(score, anomaly, seed + 1), fpr_rule=rule, limit=limit)
        assert_same(one, many, NUMBERS + CURVES)


def wide(seed, size, kind, levels=100_000):
    """Scores that float32 cannot keep apart: those of `made`, far from zero."""
    score, anomaly = made(seed, size, levels)
    if kind == "float64":
        return score.astype(np.float64) / 7 - 1e6, anomaly
    score = np.where(anomaly == 255, 0, np.nan_to_num(score) * 10_000).astype(np.int64)
    return (score + (1 << (30 if kind == "int32" else 52))).astype(kind), anomaly


@pytest.mark.usefixtures("kernels", "small_buffers")
@pytest.mark.parametrize("kind", ["float64", "int32", "int64", "uint64"])
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_more_than_32_bits_are_kept_apart(seed, kind):
    score, anomaly = wide(seed, 900, kind)
    whole = detection(score, anomaly)
    rounded = detection(score.astype(np.float32), anomaly)
    assert whole.average_precision != rounded.average_precision
    for limit in (1 << 20, 7):
        assert_same(whole, stream(chunked(score, anomaly, seed), limit=limit))


@pytest.mark.usefixtures("kernels", "small_buffers")
@pytest.mark.parametrize("limit", [1 << 20, 11])
def test_a_stream_widens_from_the_chunk_that_needs_it(limit):
    """Chunks of float16, float32, small integers and float64 in one stream, in either order: as if all had
    been float64.
    """
    narrow, anomaly = made(1, 600)
    wider, more = wide(1, 300, "float64")
    parts = [
        (narrow[:200].astype(np.float16), anomaly[:200]),
        (narrow[200:400], anomaly[200:400]),
        (np.nan_to_num(narrow[400:] * 100).astype(np.int16), anomaly[400:]),
        (np.where(more == 255, np.nan, wider + 1e6), more),
    ]
    whole = detection(
        np.concatenate([s.astype(np.float64) for s, _ in parts]), np.concatenate([a for _, a in parts])
    )
    for order in (parts, parts[::-1], parts[2:] + parts[:2]):
        assert_same(whole, stream(lambda order=order: iter(order), limit=limit))


def test_whole_numbers_too_far_apart_for_float64_count_where_they_are_judged():
    score, anomaly = np.array([1, 2, 2**60]), np.array([0, 1, 255], np.uint8)
    assert stream(lambda: iter([(score, anomaly)])).auroc == 1


@pytest.mark.usefixtures("small_buffers")
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_passes_are_as_few_as_memory_allows(kind):
    score, anomaly = made(1, 900)
    score = score.astype(kind)
    distinct = len(np.unique(score[anomaly == 1]))
    passes = 0

    def chunks():
        nonlocal passes
        passes += 1
        return chunked(score, anomaly, 0)()

    expected = {"float32": (2, 3, 4), "float64": (2, 3, 1 + math.ceil(distinct / 40))}[kind]
    for limit, times in zip((distinct, distinct - 1, 40), expected, strict=True):
        passes = 0
        stream(chunks, limit=limit)
        assert passes == times


def test_the_order_of_chunks_does_not_show():
    parts = [made(seed, 400) for seed in range(5)]
    one, other = stream(lambda: iter(parts)), stream(lambda: iter(parts[::-1]))
    assert_same(one, other, NUMBERS + CURVES)


def test_a_large_stream_goes_through_whole_buffers(monkeypatch):
    monkeypatch.setattr(score_stream, "_BUFFER", 1 << 14)
    score, anomaly = made(0, 300_000)
    assert_same(detection(score, anomaly), stream(chunked(score, anomaly, 3)))
    d = stream(chunked(score, anomaly, 3))
    assert len(d.scores) < 6000
    assert d.thinned
    assert (d.true_positives[-1], d.positives) == (d.positives, (anomaly == 1).sum())


def test_bad_chunks_are_refused_by_name():
    good = (np.array([0.1, 0.2], np.float32), np.array([0, 1]), "one")
    for bad, message in (
        ((np.array([0.1, np.nan]), np.array([0, 1]), "two"), "two: 1 of 2 scores are NaN or infinite"),
        ((np.array([0.1, np.inf]), np.array([0, 1]), "two"), "two: 1 of 2 scores are NaN or infinite"),
        (
            (np.array([1, 2**53 + 1]), np.array([0, 1]), "two"),
            r"two: 1 of 2 scores are whole numbers of 2\^53 or more",
        ),
        ((np.array([0.1, 0.2]), np.array([0, 3]), "two"), "two: the mask holds 3"),
        ((np.array([0.1]), np.array([0, 1]), "two"), r"two: the score has shape \(1,\)"),
    ):
        with refused(MetricError, message):
            stream(lambda bad=bad: iter([good, bad]))
    with refused(MetricError, "a function that gives a fresh iterator"):
        stream(iter([good]))
    once = iter([[good, good], [good]])
    with refused(MetricError, "4 pixels at first and 2 later"):
        stream(lambda: iter(next(once)))


def test_streams_of_nothing_and_of_void_are_nan():
    for parts in ([], [(np.array([np.nan]), np.array([255]))], [(np.empty(0), np.empty(0, int))]):
        d = stream(lambda parts=parts: iter(parts))
        assert math.isnan(d.average_precision)
        assert d.undefined


@pytest.mark.usefixtures("kernels")
def test_cells_that_are_counted_more_often_than_a_byte_holds(monkeypatch):
    monkeypatch.setattr(score_stream, "_MANY", 3)
    rng = np.random.default_rng(0)
    score = rng.choice(np.array([-0.0, 0.0, 0.5, 0.501, 0.75, -3.0], np.float32), 9000)
    anomaly = (rng.random(9000) < 0.4).astype(np.uint8)
    assert_same(detection(score, anomaly), stream(chunked(score, anomaly, 0), limit=2))


@given(st.integers(0, 10_000), st.integers(0, 60), st.integers(0, 60), st.sampled_from([3, 1000]))
@settings(max_examples=40)
def test_the_kernels_are_their_plain_twins(seed, size, number, levels):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.integers(0, levels, size).astype(np.float32))
    marks = np.unique(rng.integers(0, levels, number).astype(np.float32))
    anomaly = rng.choice(np.array([0, 1, 255], np.uint8), size)
    results = []
    for kernels in (compiled_stream, plain_stream):
        up_to, equal, own = (
            np.zeros(len(marks) + 1, np.uint32),
            np.zeros(len(marks), np.uint32),
            np.zeros(len(marks), np.uint32),
        )
        if len(marks):
            kernels.count_between(values, marks, up_to, equal)
            kernels.count_equal(values[np.isin(values, marks)], marks, own)
        union, found = np.zeros(200, np.float32), []
        n = kernels.union(marks, values, union)
        for only in (True, False):
            out = np.zeros(100, np.float32)
            end = kernels.gather(values, anomaly, only, 255, np.float32(1), np.float32(levels - 1), out, 3)
            found.append(out[3:end])
        found += counted(kernels, values - levels / 2, anomaly)
        results.append([up_to, equal, own, union[:n], *found])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (results[0][1] == results[0][2]).all()


def counted(kernels, values, anomaly):
    """What the kernels of tables make of scores: half of the upper halves in tables, the others raw."""
    bits = values.astype(np.float32).view(np.uint32)
    tops = np.zeros((2, 1 << 16), np.int64)
    kernels.count_tops(bits, anomaly, tops)
    used = np.flatnonzero(tops.any(0))
    slots = np.full(1 << 16, -1, np.int32)
    slots[used[1::2]], slots[used[::2]] = -2, np.arange(len(used[::2]))
    raw, at = np.zeros((2, 100), np.uint32), np.zeros(2, np.int64)
    cells = np.zeros(100, np.uint32)
    n = kernels.place(bits, anomaly, slots, raw, at, cells, 2)
    tables = np.full((len(used) + 1, 2, 1 << 16), 254, np.uint8)
    full = np.zeros(100, np.uint32)
    again = kernels.tally(np.sort(cells[2:n]), tables.reshape(-1), full)
    rows = (np.zeros(200_000, np.uint32), *np.zeros((3, 200_000), np.int64))
    more = np.arange(2 << 16).reshape(2, -1) % 3
    end = kernels.sweep(tables[0] - np.uint8(254), more, np.uint32(5 << 16), 7, 9, rows, 4)
    return [tops, np.sort(cells[2:n]), raw, at, tables, full[:again], *(column[4:end] for column in rows)]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_a_histogram_of_float16_is_exact_and_adds_up(monkeypatch, compiled, seed):
    if not compiled:
        monkeypatch.setattr(histogram, "counting_kernels", lambda: None)
    score, anomaly = made(seed, 500)
    score = score.astype(np.float16)
    whole = histogram16(score, anomaly)
    for mask in (anomaly.astype(np.int64), anomaly[:, None].T[0]):
        assert (histogram16(score, mask).known == whole.known).all()
    for part in (slice(0, 100), slice(499, None)):
        rest = np.ones(500, bool)
        rest[part] = False
        summed = histogram16(score[rest], anomaly[rest]) + histogram16(score[part], anomaly[part])
        assert (summed.known == whole.known).all()
        assert (summed.anomalous == whole.anomalous).all()
    assert whole.known.dtype == np.int64
    assert_same(detection_from_histogram(whole), detection(score.astype(np.float32), anomaly))
    assert_same(
        detection(score, anomaly, fpr_rule="closest"),
        detection(score.astype(np.float64), anomaly, fpr_rule="closest"),
    )
    assert (whole.opposite.opposite.known == whole.known).all()
    opposite = detection_from_histogram(whole.opposite)
    assert_same(opposite, misclassification(score.astype(np.float32), anomaly).correct)


def test_a_histogram_holds_more_than_2_31_pixels():
    h = histogram16(np.array([0.5, 1.0], np.float16), np.array([0, 1]))
    for _ in range(33):
        h = h + h
    d = detection_from_histogram(h)
    assert d.positives == d.negatives == 1 << 33
    assert d.auroc == 1


def test_a_histogram_refuses_what_is_not_float16_and_what_overflowed():
    with refused(MetricError, "float32; expected float16"):
        histogram16(np.array([0.1], np.float32), np.array([0]))
    with refused(MetricError, r"a: 2 of 3 scores are NaN or infinite.*65504"):
        histogram16(np.array([np.inf, np.nan, 1], np.float16), np.array([0, 1, 1]), where="a")
    for other in (2, 9):
        with refused(MetricError, f"the mask holds {other}"):
            histogram16(np.array([1, 1], np.float16), np.array([0, other], np.uint8))
    assert histogram16(np.array([np.nan, 1], np.float16), np.array([255, 1], np.uint8)).anomalous.sum() == 1


def images(number=8, size=400, outside=False):
    rng = np.random.default_rng(9)
    found = []
    for k in range(number):
        anomaly = rng.choice([0, 1, 255], size, p=[0.7, 0.2 * (k % 3 > 0), 0.3 - 0.2 * (k % 3 > 0)])
        logit = rng.standard_normal(size) * 3 + 2 * (anomaly == 1)
        found.append(((logit if outside else 1 / (1 + np.exp(-logit))).astype(np.float32), anomaly))
    return found


def test_without_numba_the_same_functions_serve():
    code = """
import numpy as np
from faultscape.metrics import detection, histogram16, stream
from faultscape.metrics.scores import histogram
from faultscape.metrics.scores import stream as score_stream
rng = np.random.default_rng(0)
score, anomaly = rng.random(1000).astype(np.float32), rng.integers(0, 2, 1000)
print(histogram.counting_kernels(), score_stream._kernels().__name__.rpartition(".")[2])
print(repr(stream(lambda: iter([(score, anomaly)])).auroc), repr(detection(score, anomaly).auroc))
print(histogram16(score.astype(np.float16), anomaly).known.sum())
"""
    environment = {**os.environ, "FAULTSCAPE_NUMBA": "0"}
    said = children.python("-W", "error", "-c", code, env=environment).splitlines()
    rng = np.random.default_rng(0)
    score, anomaly = rng.random(1000).astype(np.float32), rng.integers(0, 2, 1000)
    assert said[0] == "None plain_stream"
    assert said[1] == f"{detection(score, anomaly).auroc!r} {detection(score, anomaly).auroc!r}"
    assert int(said[2]) == (anomaly == 0).sum()
