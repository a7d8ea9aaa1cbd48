"""Cut-outs: from masks, RGBA images and label maps, which are dropped and why, and the drawn ones."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

import faultscape as fs
from faultscape.stressors import (
    DRAWN_OBJECTS,
    FS_STATIC_CLASSES,
    Cutout,
    connected_cutouts,
    cutout_of_mask,
    cutout_of_rgba,
    drawn_cutout,
    drawn_cutouts,
    noise_shapes,
    reason_to_drop,
    texture_shapes,
    usable_cutouts,
)
from refusals import refused

IMAGE = np.arange(60 * 80 * 3, dtype=np.uint32).astype(np.uint8).reshape(60, 80, 3)


def mask_of(y: int, x: int, height: int, width: int) -> np.ndarray:
    mask = np.zeros((60, 80), bool)
    mask[y : y + height, x : x + width] = True
    return mask


def test_a_cutout_is_cropped_to_its_mask_and_knows_where_it_stood() -> None:
    cutout = cutout_of_mask(IMAGE, mask_of(10, 20, 30, 25), "a", "box")
    assert np.array_equal(cutout.pixels, IMAGE[10:40, 20:45])
    assert (cutout.corner, cutout.frame, cutout.border, cutout.area, cutout.soft) == (
        (20, 10),
        (60, 80),
        0,
        750,
        False,
    )
    assert reason_to_drop(cutout) == ""


@pytest.mark.parametrize(
    ("y", "x", "height", "width"), [(0, 20, 30, 25), (30, 20, 30, 25), (10, 0, 30, 25), (10, 55, 30, 25)]
)
def test_objects_cut_by_any_border_of_their_image_are_dropped(
    y: int, x: int, height: int, width: int
) -> None:
    assert (
        reason_to_drop(cutout_of_mask(IMAGE, mask_of(y, x, height, width), "a"))
        == f"a: cut off by the image border ({30 if x in (0, 55) else 25} of its pixels touch it)"
    )


def test_small_objects_and_the_same_object_twice_are_dropped_and_each_is_named() -> None:
    large, small = (
        cutout_of_mask(IMAGE, mask_of(10, 20, 30, 25), "large"),
        cutout_of_mask(IMAGE, mask_of(10, 20, 19, 21), "small"),
    )
    usable, dropped = usable_cutouts([large, small, replace(large, name="again")])
    assert usable == [large]
    assert dropped == ["small: has 399 pixels, fewer than 400", "again: is the same object as large"]


def test_masks_that_are_empty_or_of_another_size_are_refused() -> None:
    with refused(
        fs.errors.ImageError, "horse: its mask is empty; leave it out, or give the mask of an object"
    ):
        cutout_of_mask(IMAGE, np.zeros((60, 80)), "horse")
    with refused(fs.errors.ImageError, r"horse: its mask has shape \(2, 2\), its image \(60, 80\)"):
        cutout_of_mask(IMAGE, np.ones((2, 2)), "horse")


def test_images_without_alpha_or_opaque_everywhere_are_refused() -> None:
    with refused(fs.errors.ImageError, r"a\.png: has no alpha channel .*got uint8 of shape \(60, 80, 3\)"):
        cutout_of_rgba(IMAGE, "a.png")
    with refused(fs.errors.ImageError, r"a\.png: its alpha channel is opaque everywhere"):
        cutout_of_rgba(np.dstack([IMAGE, np.full((60, 80), 255, np.uint8)]), "a.png")
    with refused(fs.errors.ImageError, r"a\.png: its mask is empty"):
        cutout_of_rgba(np.dstack([IMAGE, np.zeros((60, 80), np.uint8)]), "a.png")
    with refused(fs.errors.OptionError, "a: use must be 'anomaly' or 'known'; got 'maybe'"):
        Cutout(IMAGE, IMAGE[..., 0], "a", use="maybe")
    with refused(fs.errors.ImageError, r"a: a cut-out must have \(h, w, 3\) uint8 pixels"):
        Cutout(IMAGE, IMAGE[:5, :, 0], "a")


def test_a_tightly_cropped_image_is_whole_and_one_that_goes_on_over_its_border_is_cut() -> None:
    y, x = np.mgrid[:80, :80]
    ball = ((y - 39.5) ** 2 + (x - 39.5) ** 2 < 40**2).astype(np.uint8) * 255
    image = np.zeros((80, 80, 3), np.uint8)
    assert cutout_of_rgba(np.dstack([image, ball]), "ball").border == 0
    assert cutout_of_rgba(np.dstack([image, ball])[:60], "half a ball").border > 30


def test_known_objects_are_the_connected_regions_of_their_classes() -> None:
    labels = np.where(mask_of(5, 5, 25, 25) | mask_of(30, 30, 20, 20), 8, 0) + np.where(
        mask_of(40, 60, 4, 4), 9, 0
    )
    cutouts = connected_cutouts(IMAGE, labels, {8: "car", 9: "person"}, "frame 3", split="training")
    assert [(c.name, c.class_, c.use, c.split, c.area) for c in cutouts] == [
        ("frame 3 car 1", "car", "known", "training", 1025)
    ], "corners touch; the person is too small"
    with refused(fs.errors.ImageError, "frame 3: its labels have shape"):
        connected_cutouts(IMAGE, labels[:5], {8: "car"}, "frame 3")


def test_a_digest_follows_pixels_alpha_class_and_the_place_of_known_objects_but_no_name() -> None:
    cutout = cutout_of_mask(IMAGE, mask_of(10, 20, 30, 25), "a", "box")
    same = [replace(cutout, name="b"), replace(cutout, split="test"), replace(cutout, corner=(0, 0))]
    other = [
        replace(cutout, pixels=cutout.pixels + np.uint8(1)),
        replace(cutout, alpha=cutout.alpha - np.uint8(1)),
        replace(cutout, class_="horse"),
        replace(cutout, use="known"),
    ]
    assert {of.digest for of in same} == {cutout.digest}
    assert len({of.digest for of in (cutout, *other, replace(other[3], corner=(0, 0)))}) == 6


@pytest.mark.slow
def test_drawn_objects_are_whole_soft_large_enough_and_of_fs_static_s_classes_too() -> None:
    cutouts = drawn_cutouts(2)
    assert usable_cutouts(cutouts, smallest=5000) == (cutouts, [])
    assert all(cutout.soft for cutout in cutouts)
    assert {cutout.class_ for cutout in cutouts} >= set(FS_STATIC_CLASSES)
    assert len(DRAWN_OBJECTS) >= 12
    assert {cutout.split for cutout in cutouts} == {"test", "validation"}


def test_variants_and_seeds_of_a_drawn_object_differ() -> None:
    variants = [drawn_cutout("dog", *of) for of in ((0, 0), (1, 0), (0, 1))]
    assert len({of.digest for of in variants}) == 3
    with refused(
        fs.errors.OptionError, r"drawn object 'hors' is not known; known are horse, .* Did you mean 'horse'"
    ):
        drawn_cutout("hors")
    with refused(fs.errors.OptionError, "variants: expected 1 or more; got 0"):
        drawn_cutouts(0)


def test_drawn_objects_have_these_bytes_on_every_machine() -> None:
    digest = hashlib.blake2b("".join(cutout.digest for cutout in drawn_cutouts(1)).encode(), digest_size=8)
    assert digest.hexdigest() == "021297e245386687"


def test_shapes_of_noise_and_of_photos_are_whole_soft_and_all_different() -> None:
    photo = np.random.default_rng(0).integers(0, 256, (60, 90, 3), np.uint8)
    noise = noise_shapes(12)
    textures = texture_shapes([photo, np.zeros_like(photo)], 12)
    assert usable_cutouts([*noise, *textures], smallest=1000) == ([*noise, *textures], [])
    assert all(cutout.soft and not cutout.class_ for cutout in (*noise, *textures))
    assert [{cutout.family for cutout in made} for made in (noise, textures)] == [{"noise"}, {"textures"}]
    assert [one.digest for one in noise[:3]] == [one.digest for one in noise_shapes(3)]
    assert not {one.digest for one in noise_shapes(3, seed=1)} & {one.digest for one in noise}
    assert not any(cutout.pixels.any() for cutout in textures[1::2])  # each photo in turn
    with refused(fs.errors.OptionError, "count: expected 1 or more shapes; got 0"):
        noise_shapes(0)
    with refused(fs.errors.ImageError, "textures need at least one image"):
        texture_shapes([], 1)


def test_shapes_have_these_bytes_on_every_machine() -> None:
    digest = hashlib.blake2b("".join(cutout.digest for cutout in noise_shapes(12)).encode(), digest_size=8)
    assert digest.hexdigest() == "6c76c82567c2d935"
