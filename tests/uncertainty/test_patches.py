"""Pieces of other images pasted into training crops."""

import numpy as np
import pytest

from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE
from faultscape.uncertainty.training.patches import AREAS, MOST, Photos, paste

ROAD, OTHER = 60, 200
SIZE = (96, 128)


def crop(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A crop, its labels, and both with pieces pasted in."""
    rng = np.random.default_rng(seed)
    seen = rng.integers(0, ROAD, (*SIZE, 3)).astype(np.uint8)
    said = rng.choice(np.array([0, 3, IGNORED], np.int16), SIZE)
    photos = Photos(4, lambda number: np.full((30 + number, 50, 3), OTHER + number, np.uint8))
    return (seen, said, *paste(seen, said, photos, np.random.default_rng([seed, 1])))


@pytest.mark.parametrize("seed", range(40))
def test_pieces_are_outside_all_classes_and_everything_else_stays(seed: int) -> None:
    before, labels, seen, said = crop(seed)
    pasted = said == OUTSIDE
    np.testing.assert_array_equal(pasted, (seen >= OTHER).all(2))
    np.testing.assert_array_equal(seen[~pasted], before[~pasted])
    np.testing.assert_array_equal(said[~pasted], labels[~pasted])
    assert 0 < pasted.mean() <= MOST * AREAS[1] * 1.1
    assert (before < OTHER).all()  # the crop that was given is unchanged
    again = crop(seed)
    np.testing.assert_array_equal(seen, again[2])


def test_sizes_vary_from_small_to_large_and_shapes_are_rectangles_and_others() -> None:
    shares = []
    full = []
    for seed in range(200):
        *_, seen, said = crop(seed)
        pasted = said == OUTSIDE
        if len(np.unique(seen[pasted])) > 1:
            continue  # several pieces
        shares.append(pasted.mean())
        rows, columns = np.nonzero(pasted)
        full.append(pasted.sum() == (np.ptp(rows) + 1) * (np.ptp(columns) + 1))
    assert min(shares) < 0.004
    assert max(shares) > 0.06
    assert 0.2 < np.mean(full) < 0.8


def test_a_piece_shows_a_part_of_its_image_at_any_extent() -> None:
    ramp = np.arange(200, dtype=np.uint8)[None, :, None].repeat(100, 0).repeat(3, 2)
    spans = []
    for seed in range(60):
        seen, said = paste(
            np.zeros((*SIZE, 3), np.uint8),
            np.zeros(SIZE, np.int16),
            Photos(1, lambda _: ramp),
            np.random.default_rng(seed),
        )
        spans.append(int(np.ptp(seen[said == OUTSIDE])))
    assert min(spans) < 80
    assert max(spans) > 100
