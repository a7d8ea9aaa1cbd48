"""Thinning and clDice: the compiled kernel against its plain twin and the definition's own words, hand
examples, and what must not matter.
"""

from __future__ import annotations

import hashlib

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from faultscape.errors import LabelMapError
from faultscape.metrics import skeletons
from faultscape.metrics.kernels import plain_centrelines
from faultscape.metrics.skeletons import (
    centrelines,
    cldice,
    skeleton_counts,
    topology_precision,
    topology_sensitivity,
)
from refusals import refused

NONE = 200
EIGHT = np.ones((3, 3), int)


def made(seed: int) -> np.ndarray:
    """A map of speckle, blobs or blocks, of three classes and what is none."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 40, 2))
    field = rng.random(shape).astype(np.float32)
    if seed % 3:
        field = cv2.GaussianBlur(field, (0, 0), float(rng.uniform(0.4, 4)))
    coarse = np.digitize(field, np.quantile(field, [0.2, 0.5, 0.8]))
    return np.array([NONE, 0, 1, 2], np.uint16 if seed % 2 else np.uint8)[coarse]


@pytest.mark.slow
@given(st.integers(0, 100_000))
@settings(max_examples=60)
def test_the_kernel_equals_its_plain_twin(seed: int) -> None:
    label_map = made(seed)
    expected = label_map.copy()
    plain_centrelines.thin(expected, NONE, skeletons.deletable())
    assert (centrelines(label_map, NONE) == expected).all()
    assert (label_map == made(seed)).all()  # what was given stays


@given(st.integers(0, 100_000))
@settings(max_examples=60)
def test_a_centreline_has_the_pieces_of_its_class_and_lies_in_it(seed: int) -> None:
    label_map = made(seed)
    line = centrelines(label_map, NONE)
    assert (line[line != NONE] == label_map[line != NONE]).all()
    for c in range(3):
        (_, before), (_, after) = ndimage.label(label_map == c, EIGHT), ndimage.label(line == c, EIGHT)
        assert before == after
    assert (centrelines(line, NONE) == line).all()  # nothing more can go


def test_a_neighbourhood_lets_its_pixel_go_as_guo_and_hall_say() -> None:
    """Counted in words: one run of neighbours around, not the end of a line, and no side that the pass
    leaves.
    """
    for bits in range(256):
        ring = [bool(bits >> k & 1) for k in range(8)]  # from the one above on clockwise
        crossings = sum(not ring[k] and (ring[k + 1] or ring[(k + 2) % 8]) for k in (0, 2, 4, 6))
        one = sum(ring[k - 1] or ring[k] for k in (0, 2, 4, 6))
        other = sum(ring[k] or ring[k + 1] for k in (0, 2, 4, 6))
        for turn in (0, 1):
            north, diagonal, east, far = (ring[(k + 4 * turn) % 8] for k in (0, 1, 2, 3))
            stays = (north or diagonal or not far) and east
            expected = crossings == 1 and 2 <= min(one, other) <= 3 and not stays
            assert skeletons.deletable()[turn, bits] == expected, (turn, bits)


def test_a_large_map_is_thinned_as_another_library_does() -> None:
    """The digest is that of scikit-image 0.26's `thin`, which is of the same authors' algorithm, of each
    class of this map.
    """
    field = np.random.default_rng(7).integers(0, 64, (150, 200))
    for _ in range(3):
        field = sum(np.roll(field, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)) // 9
    label_map = (field // 3 % 4).astype(np.uint8)
    assert hashlib.sha256(label_map.tobytes()).hexdigest()[:16] == "ec2c65364669158d"
    assert hashlib.sha256(centrelines(label_map, NONE).tobytes()).hexdigest()[:16] == "4be61dd645e811ab"


def test_a_broken_line_costs_topology_and_hardly_any_pixels() -> None:
    truth = np.zeros((40, 60), np.uint8)
    truth[18:22, 5:55] = 1
    gap = truth.copy()
    gap[:, 28:32] = 0
    thick = cv2.dilate(truth, np.ones((5, 5), np.uint8))
    whole, broken, wide = (skeleton_counts(truth, other, 2) for other in (truth, gap, thick))
    assert cldice(whole)[1] == 1.0
    assert topology_precision(broken)[1] == 1.0
    assert topology_sensitivity(broken)[1] == pytest.approx(1 - 4 / 48, abs=0.02)
    assert cldice(wide)[1] > 0.95  # width is no matter, for Dice it is
    assert cldice(skeleton_counts(truth, np.zeros_like(truth), 2))[1] == 0.0  # only one side has it
    assert np.isnan(cldice(skeleton_counts(truth * 0, truth * 0, 2))[1])


def test_void_of_the_truth_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    truth, prediction = (rng.integers(0, 3, (20, 20)).astype(np.uint8).repeat(2, 0) for _ in range(2))
    truth[5:15] = 3
    counts = skeleton_counts(truth, prediction, 3)
    for label in (0, 1, 3):
        assert (skeleton_counts(truth, np.where(truth == 3, np.uint8(label), prediction), 3) == counts).all()
    # what only the prediction calls void is not a class
    missed = np.where(np.arange(40)[:, None] > 30, np.uint8(3), prediction)
    assert (skeleton_counts(truth, missed, 3)[:, 3] == counts[:, 3]).all()
    assert skeleton_counts(truth, missed, 3)[:, 1].sum() < counts[:, 1].sum()


def test_many_classes_have_a_void_of_their_own() -> None:
    truth = np.full((4, 4), 299, np.uint16)
    truth[0] = 300
    assert skeleton_counts(truth, truth, 300)[299].min() > 0
    narrow = np.zeros((4, 4), np.uint8)
    assert skeleton_counts(narrow, narrow, 300)[0].tolist() == skeleton_counts(narrow, narrow, 2)[0].tolist()


def test_maps_that_do_not_fit_are_refused() -> None:
    one = np.zeros((3, 3), np.uint8)
    with refused(LabelMapError, "they must be of one size"):
        skeleton_counts(one, one[:2], 2)
    with refused(
        LabelMapError, "expected a label map, H x W uint8 or uint16, without a mask; got int64 of shape"
    ):
        centrelines(one.astype(np.int64), NONE)
