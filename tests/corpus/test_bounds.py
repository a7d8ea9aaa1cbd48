"""Where the lines are drawn: bits of near-duplicates, pixels of pictures and maps, aspect ratio of maps."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.corpus import duplicates
from faultscape.corpus.duplicates import Groups
from faultscape.corpus.sources import Found
from faultscape.errors import ImageError, LabelMapError
from faultscape.formats import guard
from faultscape.prediction.sources.folder import FolderModel
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.collect import pictures
from refusals import refused

BITS = [  # which bits differ: side by side, one in each band that is searched, at both ends
    ([0, 1, 2, 3], [0, 1, 2, 3, 4]),
    ([14, 27, 40, 53], [1, 14, 27, 40, 53]),
    ([60, 61, 62, 63], [59, 60, 61, 62, 63]),
    ([0, 13, 26, 63], [0, 13, 26, 39, 63]),
]


def test_of_many_files_few_are_under_way_and_their_results_come_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else each file of a corpus costs a kilobyte while it is collected."""
    monkeypatch.setattr(pictures, "_AHEAD", 3)
    begun = list[Found]()
    files = [Found(f"{k}", f"{k}.png") for k in range(100)]
    results = pictures._in_threads(lambda file: begun.append(file) or file.id, files)
    assert next(results) == "0"
    assert len(begun) <= 4
    assert [int(id_) for id_ in results] == list(range(1, 100))


@pytest.mark.parametrize(("four", "five"), BITS)
@pytest.mark.parametrize("value", [0, 0x0123456789ABCDEF, -1])
def test_four_bits_apart_is_a_near_duplicate_and_five_is_not(
    four: list[int], five: list[int], value: int
) -> None:
    groups = Groups([value])
    assert groups.nearest(value ^ sum(1 << bit for bit in four)) == 0
    assert groups.nearest(value ^ sum(1 << bit for bit in five)) is None


def test_the_search_among_many_images_finds_the_same_groups_as_the_one_among_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**64, 4000, dtype=np.uint64)
    hashes[:50] = 0  # flat images
    of = rng.integers(0, 4000, 3000)
    flips = [sum(1 << int(bit) for bit in rng.choice(64, rng.integers(0, 7), replace=False)) for _ in of]
    hashes = rng.permutation(np.concatenate([hashes, hashes[of] ^ np.array(flips, np.uint64)]))
    plain = duplicates.leaders(hashes)
    assert 1500 < (plain != np.arange(7000)).sum() < 3000
    monkeypatch.setattr(duplicates, "_MANY", 0)
    assert np.array_equal(duplicates.leaders(hashes), plain)


def test_all_pairs_of_near_hashes_are_found_however_few_are_compared_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    hashes = np.unique(rng.integers(0, 2**64, 300, dtype=np.uint64))
    flips = [sum(1 << int(bit) for bit in rng.choice(64, k % 7, replace=False)) for k in range(500)]
    others = hashes[rng.integers(0, len(hashes), 500)] ^ np.array(flips, np.uint64)
    expected = np.argwhere(np.bitwise_count(others[:, None] ^ hashes) <= 4)
    assert 300 < len(expected) < 500
    for most in (1, 100, 1 << 21):
        monkeypatch.setattr(duplicates, "_AT_ONCE", most)
        assert np.array_equal(duplicates.Near(hashes).pairs(others), expected)


def stairs(turned: int) -> np.ndarray:
    """A picture of 9 x 8 fields that grow brighter to the right; in ``turned`` rows the last field is darker
    instead: so many bits.
    """
    fields = np.tile(np.arange(0, 180, 20, dtype=np.uint8), (8, 1))
    fields[:turned, -1] = 100
    return np.stack([fields.repeat(5, 0).repeat(5, 1)] * 3, axis=-1)


def test_photos_four_bits_apart_share_a_group_and_five_begin_another(tmp_path: Path) -> None:
    for turned in (0, 4, 5):
        made.write(tmp_path / "photos" / f"{turned}.png", stairs(turned))
    (tmp_path / "classes.json").write_text(json.dumps({"classes": list(made.NAMES)}))
    collected = fs.collect(tmp_path / "study", tmp_path / "photos", classes=tmp_path / "classes.json")
    assert collected.near_duplicates == 1
    assert {image.id: image.near_duplicate_of for image in read_corpus(tmp_path / "study")} == {
        "0": "0",
        "4": "0",
        "5": "5",
    }


READERS = (
    (fs.formats.probe, ImageError),
    (fs.formats.read_rgb, ImageError),
    (fs.formats.read_map, LabelMapError),
)


def claiming(path: Path, width: int, height: int) -> Path:
    """A PNG of a few bytes whose head promises far more grey pixels than it holds."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )
    return path


@pytest.mark.parametrize("pillows", [Image.MAX_IMAGE_PIXELS, None])
def test_pixels_above_our_own_bound_are_refused_unread_even_where_pillow_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pillows: int | None
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", pillows)  # people who work with large pictures lift it
    path = claiming(tmp_path / "large.png", 15_000, 12_000)
    for read, error in READERS:
        with pytest.raises(error, match="more than 178956970 pixels, the most that is read"):
            read(path)


def test_as_many_pixels_as_the_bound_are_read_and_one_row_more_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_PIXELS", 200)
    for height in (10, 11):
        made.write(tmp_path / f"{height}.png", np.ones((height, 20), np.uint8))
    assert fs.formats.read_rgb(tmp_path / "10.png").shape == (10, 20, 3)
    assert fs.formats.read_map(tmp_path / "10.png").shape == (10, 20)
    for read, error in READERS:
        with pytest.raises(error, match="20 x 11 is more than 200 pixels, the most that is read"):
            read(tmp_path / "11.png")


ASPECTS = [  # photo, map, whether the map's height and width fit each other within a pixel of the photo's
    ((100, 75), (50, 37), True),
    ((100, 75), (50, 38), True),
    ((100, 75), (50, 36), False),
    ((100, 75), (50, 39), False),
    ((100, 50), (40, 20), True),
    ((100, 50), (40, 21), True),  # one pixel exactly
    ((100, 50), (40, 19), True),
    ((100, 50), (40, 22), False),
    ((100, 50), (40, 18), False),
    ((100, 50), (43, 20), False),
    ((50, 100), (21, 40), True),
    ((50, 100), (22, 40), False),
    ((100, 50), (50, 100), False),
    ((100, 50), (201, 100), True),
    ((100, 50), (200, 103), False),
]


@pytest.mark.parametrize(("photo", "size", "fits"), ASPECTS)
def test_a_map_has_its_photos_aspect_ratio_within_a_pixel(
    tmp_path: Path, photo: tuple[int, int], size: tuple[int, int], fits: bool
) -> None:
    path = tmp_path / "map.png"
    made.write(path, np.zeros((size[1], size[0]), np.uint8))
    model = FolderModel(fs.classes.resolve(5), {}, None, resize_maps=False)
    if fits:
        assert model.read(str(path), *photo)
    else:
        with refused(LabelMapError, f"is {size[0]} x {size[1]} pixels, its image {photo[0]} x {photo[1]}"):
            model.read(str(path), *photo)
    assert FolderModel(fs.classes.resolve(5), {}, None, resize_maps=True).read(str(path), *photo)
    assert FolderModel(fs.classes.resolve(5), {}, size, resize_maps=False).read(str(path), *photo)
