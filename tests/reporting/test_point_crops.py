"""The cut around a point shows its whole ring and the pixel itself, wherever it lies and however small the image
is.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.reporting.point_crops import SIDE, WHOLE, crop_around, crop_size

SIZES = [(40, 30), (300, 1200), (1600, 200), (640, 480), (1, 1)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("at", [(0.0, 0.0), (0.0, 0.999), (0.5, 0.5), (0.999, 0.3), (0.999, 0.999)])
def test_the_ring_is_whole_and_the_pixel_is_in_its_middle(
    size: tuple[int, int], at: tuple[float, float]
) -> None:
    width, height = size
    row, column = int(at[0] * height), int(at[1] * width)
    image = np.full((height, width, 3), 60, np.uint8)
    image[row, column] = (250, 0, 0)
    crop = crop_around(image, row, column)
    assert crop.shape[1::-1] == crop_size(size, row, column)
    assert max(crop.shape) <= SIDE
    ring = np.argwhere((crop == 255).all(2))
    low, high = ring.min(0), ring.max(0)
    assert (high - low == high[0] - low[0]).all()  # a circle, not a part of one
    assert 20 <= high[0] - low[0] <= 24
    marked = np.argwhere((crop == (250, 0, 0)).all(2))
    assert np.abs(marked.mean(0) - (low + high) / 2).max() <= 1


def test_the_whole_image_is_shown_with_its_ring_and_a_margin_only_where_one_is_needed() -> None:
    image = np.full((300, 600, 3), 60, np.uint8)
    assert crop_around(image, 100, 300, WHOLE, 300).shape == (150, 300, 3)
    assert not (crop_around(image, 100, 300, WHOLE) == 128).any()
    assert (crop_around(image, 0, 0, WHOLE)[0, 0] == 128).all()
