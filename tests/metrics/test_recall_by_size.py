"""Recall by size: region by region in plain words, cuts of quarters, anomalous objects, and what must not
matter.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import made
from faultscape.errors import MetricError
from faultscape.maps.regions import overlaps
from faultscape.metrics.overlaps.recall_by_size import (
    OCTAVES,
    object_size_counts,
    recall_of_quarter,
    size_counts,
)
from refusals import refused

C = 3
EIGHT = np.ones((3, 3), int)


def regions_of(truth: np.ndarray, prediction: np.ndarray) -> list[tuple[int, int, bool]]:
    """(class, pixels, found) of every true region, mask by mask, void cut out of both maps."""
    prediction = np.where(truth == C, C, prediction)
    out = []
    for c in range(C):
        (mine, n), (theirs, m) = (ndimage.label(label_map == c, EIGHT) for label_map in (truth, prediction))
        predicted = [theirs == k for k in range(1, m + 1)]
        for k in range(1, n + 1):
            region = mine == k
            out.append(
                (c, int(region.sum()), any((region & p).sum() / (region | p).sum() > 0.5 for p in predicted))
            )
    return out


def pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = np.minimum(made.blobs(rng, (24, 32)), C - 1).astype(np.uint8)
    prediction = np.minimum(made.disturbed(rng, truth, 3), C - 1).astype(np.uint8)
    truth[rng.random(truth.shape) < 0.05] = C
    return truth, prediction


@given(st.integers(0, 100_000))
def test_counts_are_those_of_a_loop_over_regions(seed: int) -> None:
    truth, prediction = pair(seed)
    counts, expected = size_counts(overlaps(truth, prediction, C), C), np.zeros((C, OCTAVES, 2), np.int64)
    for c, pixels, found in regions_of(truth, prediction):
        octave = pixels.bit_length() - 1
        expected[c, octave] += (1, found)
    assert (counts == expected).all()


def quarters(sizes: list[int], found: list[bool]) -> list[float]:
    """Recall of each quarter of some regions, in order of size, those of one octave being cut in
    proportion.
    """
    octaves = np.array([size.bit_length() for size in sizes])
    hits = np.array(found, float)
    even = np.array([hits[octaves == of].mean() for of in octaves[np.argsort(octaves, kind="stable")]])
    n = len(even)
    inside = [
        np.clip(np.minimum(np.arange(1, n + 1), (k + 1) * n / 4) - np.maximum(np.arange(n), k * n / 4), 0, 1)
        for k in range(4)
    ]
    return [float((part * even).sum() / (n / 4)) for part in inside]


@given(st.lists(st.tuples(st.integers(1, 5000), st.booleans()), min_size=1, max_size=40))
def test_a_quarter_is_one_of_the_regions_in_order_of_size(of: list[tuple[int, bool]]) -> None:
    counts = np.zeros((OCTAVES, 2), np.int64)
    for size, found in of:
        counts[size.bit_length() - 1] += (1, found)
    expected = quarters([size for size, _ in of], [found for _, found in of])
    found = [float(recall_of_quarter(counts, k)) for k in range(4)]
    assert found == pytest.approx(expected, abs=1e-12)
    # the four together are the recall of all
    assert np.mean(found) == pytest.approx(np.mean([hit for _, hit in of]))


def test_only_large_regions_found() -> None:
    counts = np.zeros((OCTAVES, 2), np.int64)
    counts[2], counts[4], counts[6], counts[9] = (5, 0), (5, 1), (5, 3), (5, 5)
    assert [float(recall_of_quarter(counts, k)) for k in range(4)] == pytest.approx([0, 0.2, 0.6, 1])
    assert np.isnan(recall_of_quarter(np.zeros((2, OCTAVES, 2)), 0)).all()
    assert recall_of_quarter(counts.astype(np.int64) << 40, 3) == 1.0


def test_a_region_is_found_above_half_of_the_union_and_not_at_it() -> None:
    truth, half, more = (np.zeros((1, 12), np.uint8) for _ in range(3))
    truth[0, :6] = half[0, 3:6] = more[0, 2:6] = 1
    assert size_counts(overlaps(truth, half, 2), 2)[1, 2].tolist() == [1, 0]
    assert size_counts(overlaps(truth, more, 2), 2)[1, 2].tolist() == [1, 1]


def test_an_object_is_found_where_enough_of_it_is_covered() -> None:
    mask, score = np.zeros((8, 20), np.uint8), np.zeros((8, 20), np.float32)
    mask[1:5, 1:5], mask[1, 10], mask[6:, 12:20] = 1, 1, 1
    mask[5, :] = 255
    score[1:3, 1:5], score[1, 10] = 0.75, 0.5
    score[5] = np.nan  # void
    counts = object_size_counts(score, mask, 0.75)
    assert counts[[0, 4]].tolist() == [[1, 0], [2, 1]]
    assert object_size_counts(score, mask, 0.5)[0].tolist() == [1, 1]  # the threshold itself counts
    assert object_size_counts(score, mask, 0.75, covered=0.51)[4].tolist() == [2, 0]
    assert object_size_counts(score, mask, np.inf)[:, 1].sum() == 0
    assert object_size_counts(score, mask, np.nan).sum() == 0
    touching = np.eye(4, dtype=np.uint8)
    assert object_size_counts(touching.astype(float), touching, 0.5).sum(0).tolist() == [1, 1]
    assert object_size_counts(touching.astype(float), touching, 0.5, connectivity=4).sum(0).tolist() == [4, 4]
    with refused(MetricError, "the mask holds 7"):
        object_size_counts(score, np.full((8, 20), 7), 0.5)
