"""Tuples of labels as keys: nothing overflows, they are sorted as the tuples are, and pixels near borders are those
that a walk over their neighbourhood finds.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import LabelMapError
from faultscape.maps import tuples
from faultscape.maps.borders import near_borders
from faultscape.maps.counts import joint_tuples
from refusals import refused


@given(st.integers(1, 24), st.sampled_from([2, 12, 151, 256, 1001, 65535]), st.integers(0, 2**32 - 1))
def test_keys_hold_any_number_of_labels_in_the_order_of_the_tuples(maps: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, n, (maps, 30))
    columns[:, :6] = [[0], [n - 1], [0], [n - 1], [0], [0]][:1]  # a tuple of zeros, repeated
    keys = tuples.packed(columns, n)
    np.testing.assert_array_equal(tuples.unpacked(keys, maps, n), columns)
    by_tuple = sorted(range(30), key=lambda k: (columns[:, k].tolist(), k))
    np.testing.assert_array_equal(np.argsort(keys, kind="stable"), by_tuple)
    pixels = rng.integers(1, 2**40, 30)
    held, sums = tuples.merged([(keys[:11], pixels[:11]), (keys[:0], pixels[:0]), (keys[11:], pixels[11:])])
    distinct, place = np.unique(columns, axis=1, return_inverse=True)
    np.testing.assert_array_equal(tuples.unpacked(held, maps, n), distinct)
    expected = np.zeros(distinct.shape[1], np.int64)
    np.add.at(expected, place.ravel(), pixels)
    np.testing.assert_array_equal(sums, expected)


def test_no_tuple_is_no_key() -> None:
    held, pixels = tuples.merged([])
    assert tuples.unpacked(held, 3, 5).shape == (3, 0)
    assert pixels.sum() == 0


def test_a_label_beyond_the_last_is_refused() -> None:
    with refused(LabelMapError, "labels of tuples must be 0 to 2; got 0 to 3"):
        tuples.packed(np.array([[0, 3]]), 3)


def test_tuples_of_maps_and_of_their_keys_are_the_same() -> None:
    rng = np.random.default_rng(0)
    stack = [np.repeat(rng.integers(0, 7, (9, 4)), 5, axis=1).astype(np.uint8) for _ in range(25)]
    columns, pixels = joint_tuples(stack, 7)
    held, sums = tuples.merged([(tuples.packed(columns, 7), pixels)])
    again, times = np.unique(np.stack([m.ravel() for m in stack]), axis=1, return_counts=True)
    np.testing.assert_array_equal(tuples.unpacked(held, 25, 7), again)
    np.testing.assert_array_equal(sums, times)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("distance", [0, 1, 2, 9])
def test_near_a_border_is_what_has_another_label_in_its_neighbourhood(distance: int, kind: type) -> None:
    rng = np.random.default_rng(distance)
    label_map = (
        np.repeat(np.repeat(rng.integers(0, 3, (3, 4)), 4, 0), 5, 1) * (99 if kind is np.uint8 else 999)
    ).astype(kind)
    expected = [
        [
            len(
                np.unique(
                    label_map[
                        max(0, y - distance) : y + distance + 1, max(0, x - distance) : x + distance + 1
                    ]
                )
            )
            > 1
            for x in range(20)
        ]
        for y in range(12)
    ]
    np.testing.assert_array_equal(near_borders(label_map, distance), expected)


def test_a_negative_distance_is_refused() -> None:
    with refused(LabelMapError, "0 pixels or more; got -1"):
        near_borders(np.zeros((2, 2), np.uint8), -1)
