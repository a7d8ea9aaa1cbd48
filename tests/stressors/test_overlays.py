"""Overlays: base + overlay = image, exactly, on no other base, and hostile bytes are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.stressors import decoded_overlay, overlay_of, pixel_digest
from refusals import refused

FIRST = b"faultscape overlay 1\n"


def pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 12, 2)
    base = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    image = base.copy()
    y, x = rng.integers(0, height), rng.integers(0, width)
    image[y : y + rng.integers(0, 5), x : x + rng.integers(0, 5)] = rng.integers(0, 256, 3)
    return base, image


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_base_and_overlay_give_the_image_exactly_also_through_a_file(seed: int) -> None:
    base, image = pair(seed)
    overlay = decoded_overlay(overlay_of(base, image).encoded())
    assert np.array_equal(overlay.added_to(base), image)
    assert np.array_equal(base, pair(seed)[0]), "the base stays as it was"


def test_the_largest_differences_survive() -> None:
    base, image = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 255, np.uint8)
    for first, second in ((base, image), (image, base)):
        assert np.array_equal(decoded_overlay(overlay_of(first, second).encoded()).added_to(first), second)


def test_an_overlay_on_another_base_is_refused_however_alike_it_is() -> None:
    base = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    overlay = overlay_of(base, base + np.uint8(1))
    other = base.copy()
    other[-1, -1, 0] ^= 1
    for wrong in (other, np.zeros((3, 3, 3), np.uint8), base[:, ::-1]):
        with refused(
            fs.errors.ImageError,
            "this overlay belongs to another base: expected .* give the image that it was made from",
        ):
            overlay.added_to(wrong)
    with refused(fs.errors.ImageError, "expected 4 x 3 pixels with the digest .*, got 2 x 3 with "):
        overlay_of(base[:3], base[:3]).added_to(base[:3, :2])


def test_an_overlay_whose_differences_were_changed_is_refused_on_its_own_base() -> None:
    base = np.zeros((4, 4, 3), np.uint8)
    overlay = overlay_of(base, base + np.uint8(9))
    overlay.difference[0, 0, 0] += 1
    with refused(fs.errors.ImageError, "this overlay is damaged: on its base it gives the digest"):
        overlay.added_to(base)


def test_overlays_of_one_object_are_small() -> None:
    base = np.zeros((200, 300, 3), np.uint8)
    image = base.copy()
    image[50:60, 70:90] = 40
    assert len(overlay_of(base, image).encoded()) < 400
    assert overlay_of(base, image).difference.shape == (10, 20, 3)


def head(**changes: object) -> bytes:
    digest = pixel_digest(np.zeros((4, 4, 3), np.uint8))
    fields: dict[str, object] = {
        "frame": [4, 4],
        "corner": [0, 0],
        "box": [2, 2],
        "base": digest,
        "image": digest,
    }
    return FIRST + json.dumps(fields | changes).encode() + b"\n"


BODY = zstandard.ZstdCompressor().compress(bytes(24))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "its first line is wrong"),
        (b"\x89PNG\r\n", "its first line is wrong"),
        (FIRST + b"{" * 5000, "its head does not end"),
        (FIRST + b"[" * 4000 + b"\n", "its head is not JSON"),
        (FIRST + b"\xff\xfe\n", "its head is not JSON"),
        (FIRST + b"[1, 2]\n" + BODY, "its head is not JSON of fields"),
        (head(box=[3, 2]) + BODY, "its length is wrong"),
        (head(box=[2, 5]) + BODY, "its box does not fit its frame"),
        (head(corner=[3, 0]) + BODY, "its box does not fit its frame"),
        (head(corner=[-1, 0]) + BODY, "numbers that are not sizes"),
        (head(frame=[10**9, 10**9], box=[10**8, 10**8]) + BODY, "its box does not fit its frame"),
        (head(frame=[4.0, 4]) + BODY, "numbers that are not sizes"),
        (head(frame=[True, 4]) + BODY, "numbers that are not sizes"),
        (FIRST + b"{}\n" + BODY, "its head lacks a field"),
        (head(base="zz") + BODY, "its head has no digest"),
        (head(base=None) + BODY, "its head has no digest"),
        (head() + BODY[:-3], "its differences cannot be unpacked"),
        (head() + b"not zstandard", "its differences cannot be unpacked"),
        (head() + zstandard.ZstdCompressor().compress(b"\xff\x7f" * 12), "differences beyond 255"),
    ],
)  # fmt: skip
def test_hostile_bytes_are_refused_in_one_line(data: bytes, says: str) -> None:
    with refused(
        fs.errors.ImageError,
        rf"^x\.overlay: is not an overlay of faultscape, or damaged \(.*({says}).*\); make or fetch it again$",
    ):
        decoded_overlay(data, "x.overlay")


def test_an_honest_head_and_body_are_read_so_that_the_cases_above_differ_in_one_thing() -> None:
    assert decoded_overlay(head() + BODY).difference.shape == (2, 2, 3)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.data())
def test_a_damaged_file_is_refused_or_refuses_its_base(seed: int, data: st.DataObject) -> None:
    base, image = pair(seed)
    whole = bytearray(overlay_of(base, image).encoded())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        found = decoded_overlay(bytes(whole)).added_to(base)
    except fs.errors.ImageError:
        return  # whatever else is raised fails the test
    assert np.array_equal(found, image)


def test_what_is_no_pair_of_images_is_refused() -> None:
    image = np.zeros((2, 2, 3), np.uint8)
    with refused(
        fs.errors.ImageError, "the base has 2 x 2 pixels, the image 3 x 2; they must have the same size"
    ):
        overlay_of(image, np.zeros((2, 3, 3), np.uint8))
    with refused(fs.errors.ImageError, r"expected the image as \(H, W, 3\) uint8; got float64"):
        overlay_of(image, image.astype(float))
    for base in (image[..., 0], image.astype(np.uint16)):
        with refused(fs.errors.ImageError, r"expected the base as \(H, W, 3\) uint8; got uint"):
            overlay_of(image, image).added_to(base)
