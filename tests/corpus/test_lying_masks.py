"""Masks are read as the numbers they store, one image a file, whatever a viewer would show."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import lying_masks
from faultscape import errors
from faultscape.classes.class_lists import resolve
from faultscape.classes.placed_maps import PlacedMaps, read_ids
from faultscape.formats.label_maps import read_map
from faultscape.formats.pictures import probe, read_rgb
from faultscape.formats.scores import read_scores

ROWS = np.arange(16, dtype=np.uint8).reshape(2, 8)
OTHER = 15 - ROWS
WRITERS = {
    "PNG": (".png", lying_masks.png),
    "PNG with a palette": (
        ".png",
        partial(lying_masks.png, colours=[(9 * k, 7, 200 - k) for k in range(16)]),
    ),
    "TIFF": (".tif", partial(lying_masks.tiff, zero_is_white=False)),
    "TIFF whose zero is white": (".tif", partial(lying_masks.tiff, zero_is_white=True)),
}


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("kind", WRITERS)
def test_a_mask_of_few_bits_holds_its_own_numbers(kind: str, bits: int, tmp_path: Path) -> None:
    ending, write = WRITERS[kind]
    ids = ROWS & (1 << bits) - 1
    path = write(tmp_path / f"mask{ending}", ids, bits)
    for read in (read_map, read_ids, lambda path: PlacedMaps(resolve(16)).read(path)):
        assert np.array_equal(read(path), ids)


@pytest.mark.parametrize("largest", [1, 15, 21, 255, 300, 65535])
def test_a_pgm_mask_holds_its_own_numbers(largest: int, tmp_path: Path) -> None:
    ids = np.minimum(ROWS.astype(int), largest)
    assert np.array_equal(read_map(lying_masks.pgm(tmp_path / "mask.pgm", ids, largest)), ids)


def test_grey_scores_of_few_bits_are_shares_of_white_unless_a_scale_says_otherwise(tmp_path: Path) -> None:
    path = lying_masks.png(tmp_path / "score.png", ROWS, 4)
    assert np.array_equal(read_scores(path), (ROWS / 15).astype(np.float32))
    assert np.array_equal(read_scores(path, scale=20), (ROWS / 20).astype(np.float32))


@pytest.mark.parametrize("ending", [".tif", ".gif", ".png"])
def test_a_mask_of_several_pages_is_refused(ending: str, tmp_path: Path) -> None:
    path = lying_masks.of_pages(tmp_path / f"mask{ending}", ROWS, OTHER)
    for read in (read_map, read_ids):
        with pytest.raises(errors.LabelMapError, match=r"mask\..*: has 2 pages; only one can be read"):
            read(path)


def test_scores_of_several_pages_are_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.MetricError, match="has 2 pages"):
        read_scores(lying_masks.of_pages(tmp_path / "score.tif", ROWS, OTHER))


@pytest.mark.parametrize("ending", [".tif", ".gif", ".png", ".webp"])
def test_an_image_of_several_pages_is_refused(ending: str, tmp_path: Path) -> None:
    path = lying_masks.of_pages(tmp_path / f"image{ending}", ROWS * 9, OTHER * 9, ROWS)
    for read in (read_rgb, probe):
        with pytest.raises(errors.ImageError, match=r"image\..*: has 3 pages"):
            read(path)


def test_smaller_copies_in_a_tiff_are_not_pages(tmp_path: Path) -> None:
    path = lying_masks.of_pages(tmp_path / "mask.tif", ROWS, ROWS[::2, ::2], smaller_copies=True)
    assert np.array_equal(read_map(path), ROWS)


def test_a_bmp_that_the_library_misreads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.LabelMapError, match=r"grey BMP of 4 bits.*PNG"):
        read_map(lying_masks.bmp_of_4_bits(tmp_path / "mask.bmp", ROWS))
