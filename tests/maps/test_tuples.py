"""Joint tuples of labels never overflow; pixels near borders are those that a walk over their neighbourhood
finds.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import LabelMapError
from faultscape.maps.borders import near_borders
from faultscape.maps.counts import joint_tuples
from refusals import refused


@pytest.mark.parametrize(("maps", "n"), [(10, 151), (22, 151), (25, 7), (12, 1001)])
def test_tuples_of_more_labels_than_a_number_holds_are_counted(maps: int, n: int) -> None:
    rng = np.random.default_rng(0)
    kind = np.uint8 if n < 256 else np.uint16
    stack = [np.repeat(rng.integers(0, n, (9, 4)), 5, axis=1).astype(kind) for _ in range(maps)]
    stack[0][:] = n - 1  # tuples differ in their last maps alone
    columns, pixels = joint_tuples(stack, n)
    again, times = np.unique(np.stack([m.ravel() for m in stack]), axis=1, return_counts=True)
    order = np.lexsort(columns[::-1])
    np.testing.assert_array_equal(columns[:, order], again)
    np.testing.assert_array_equal(pixels[order], times)


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
