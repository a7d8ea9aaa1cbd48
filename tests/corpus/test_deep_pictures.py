"""Images of more than 8 bits a channel are read by a rule that is written down, or refused by name; none
becomes black in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image, ImageCms

import faultscape as fs
import made
import made_tiff
from faultscape.corpus import photos as reading
from faultscape.corpus.web.pictures import look
from faultscape.errors import CorpusError, ImageError, WebError
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import read_failures
from refusals import refused

GREY = np.linspace(0, 1, 16 * 24).reshape(16, 24)
COLOURS = np.stack([GREY, GREY[::-1], GREY[:, ::-1]], -1)
Write = Callable[[Path], object]


def of(share: np.ndarray, top: float, kind: type) -> np.ndarray:
    return np.round(share * top).astype(kind) if np.dtype(kind).kind in "iu" else (share * top).astype(kind)


def tiff(share: np.ndarray, top: float, kind: type, **about: int) -> Write:
    return lambda path: made_tiff.write(path.with_suffix(".tif"), of(share, top, kind), **about)


def by_opencv(ending: str, share: np.ndarray, top: float, kind: type) -> Write:
    def write(path: Path) -> None:
        values = of(share, top, kind)
        # OpenCV has blue first
        flipped = values if values.ndim < 3 else values[..., [2, 1, 0, 3][: values.shape[2]]]
        assert cv2.imwrite(str(path.with_suffix(ending)), flipped)

    return write


def of_bytes(ending: str, data: bytes) -> Write:
    return lambda path: path.with_suffix(ending).write_bytes(data)


def packed_12_bits() -> np.ndarray:
    """Two values in three bytes, as cameras pack them."""
    values = of(GREY, 4095, np.uint16)
    one, other = values[:, ::2], values[:, 1::2]
    return (
        np.stack([one >> 4, (one & 15) << 4 | other >> 8, other & 255], -1)
        .astype(np.uint8)
        .reshape(len(values), -1)
    )


def large_tiff(share: np.ndarray) -> np.ndarray:
    return share.repeat(4, 0).repeat(4, 1)


OPAQUE = np.dstack([COLOURS, np.ones_like(GREY)])
READ: dict[str, tuple[np.ndarray, Write]] = {
    "TIFF of 16 bits": (GREY, tiff(GREY, 65535, np.uint16)),
    "TIFF of 16 bits, white first": (1 - GREY, tiff(GREY, 65535, np.uint16, means=made_tiff.GREY_FROM_WHITE)),
    "TIFF of 16 bits a colour": (COLOURS, tiff(COLOURS, 65535, np.uint16, means=made_tiff.RGB)),
    "TIFF of 12 bits, packed": (
        GREY,
        lambda path: made_tiff.write(path.with_suffix(".tif"), packed_12_bits(), bits=12),
    ),
    "TIFF of 32 bits, 0 to 255": (GREY, tiff(GREY, 255, np.uint32)),
    "TIFF of 32 bits with sign, 0 to 255": (GREY, tiff(GREY, 255, np.int32)),
    "TIFF of 16 bits with sign, 0 to 255": (GREY, tiff(GREY, 255, np.int16)),
    "TIFF of floats, 0 to 1": (GREY, tiff(GREY, 1, np.float32)),
    "TIFF of floats, 0 to 1 and a little more": (GREY, tiff(GREY * 1.001 - 0.0005, 1, np.float32)),
    "TIFF of floats, 0 to 255": (GREY, tiff(GREY, 255, np.float32)),
    "TIFF of floats, white first": (1 - GREY, tiff(GREY, 1, np.float32, means=made_tiff.GREY_FROM_WHITE)),
    "PNG of 16 bits": (GREY, by_opencv(".png", GREY, 65535, np.uint16)),
    "PNG of 16 bits a colour": (COLOURS, by_opencv(".png", COLOURS, 65535, np.uint16)),
    "PNG of 16 bits a colour and alpha": (COLOURS, by_opencv(".png", OPAQUE, 65535, np.uint16)),
    "PGM of 16 bits": (GREY, by_opencv(".pgm", GREY, 65535, np.uint16)),
    "PGM of 12 bits": (
        GREY,
        of_bytes(".pgm", b"P5 24 16 4095\n" + of(GREY, 4095, np.uint16).astype(">u2").tobytes()),
    ),
    "PPM of 16 bits": (COLOURS, by_opencv(".ppm", COLOURS, 65535, np.uint16)),
    "PFM in a file called .ppm": (
        GREY,
        of_bytes(".ppm", b"Pf 24 16 -1.0\n" + GREY[::-1].astype("<f4").tobytes()),
    ),
    "JPEG 2000 of 16 bits": (large_tiff(GREY), by_opencv(".jp2", large_tiff(GREY), 65535, np.uint16)),
}


@pytest.mark.parametrize("kind", READ)
def test_what_says_its_range_is_read_as_it_is_seen(tmp_path: Path, kind: str) -> None:
    seen, write = READ[kind]
    write(tmp_path / "image")
    (path,) = tmp_path.iterdir()
    read = fs.formats.read_rgb(path)
    wanted = np.round(255 * (seen if seen.ndim == 3 else np.stack([seen] * 3, -1)))
    assert np.abs(read - wanted).max() <= 1
    assert (
        fs.formats.probe(path).dhash == fs.formats.difference_hash(cv2.cvtColor(read, cv2.COLOR_RGB2GRAY))
        or seen.ndim == 3
    )


@pytest.mark.parametrize("mode", ["CMYK", "YCbCr", "LAB", "RGBX", "1"])
def test_other_colours_become_red_green_and_blue(tmp_path: Path, mode: str) -> None:
    image = Image.fromarray(of(COLOURS, 255, np.uint8)).resize((96, 64), Image.Resampling.BILINEAR)
    if mode == "LAB":
        image = ImageCms.profileToProfile(
            image, ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
        )
    wanted = np.asarray(image.convert("RGB"), np.int16)
    assert image is not None
    (image if mode == "LAB" else image.convert(mode)).save(tmp_path / "image.tif")
    assert np.abs(fs.formats.read_rgb(tmp_path / "image.tif") - wanted).mean() < (130 if mode == "1" else 4)
    assert fs.formats.probe(tmp_path / "image.tif").dhash is not None


def test_the_inks_of_16_bits_are_read(tmp_path: Path) -> None:
    inks = np.zeros((4, 4, 4), np.uint16)
    inks[:2, :, 3] = 65535
    read = fs.formats.read_rgb(made_tiff.write(tmp_path / "inks.tif", inks, means=made_tiff.CMYK))
    assert (read[:2].max(), read[2:].min()) == (0, 255)


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n(created) (w) file\n"
REFUSED: dict[str, tuple[str, Write]] = {
    "floats from -1 to 1": (
        (
            "floating-point numbers from -1 to 1, whose brightness range is unknown; expected 0 to 1, or 0 to"
            " 255; save it as"
        ),
        tiff(2 * GREY - 1, 1, np.float32),
    ),
    "floats up to 4": (
        "almost black image (its brightest pixel would be 4 of 255)",
        tiff(GREY, 4, np.float32),
    ),
    "floats up to 4,095": ("from 0 to 4095, whose brightness range is unknown", tiff(GREY, 4095, np.float32)),
    "floats that are not finite": (
        "floating-point numbers not finite",
        tiff(np.where(GREY > 0.5, np.nan, GREY), 1, np.float32),
    ),
    "floats without end": (
        "floating-point numbers not finite",
        tiff(np.where(GREY > 0.5, np.inf, GREY), 1, np.float32),
    ),
    "32 bits": (
        "32-bit whole numbers from 0 to 65535, whose brightness range is unknown; expected 0 to 255; save it as",
        tiff(GREY, 65535, np.uint32),
    ),
    "32 bits, all of them": ("whose brightness range is unknown", tiff(GREY, 2**32 - 1, np.uint32)),
    "16 bits with sign": (
        "from -3000 to 3000, whose brightness range is unknown",
        tiff(2 * GREY - 1, 3000, np.int16),
    ),
    "8 bits with sign": ("signed numbers", tiff(2 * GREY - 1, 100, np.int8)),
    "12 bits in 16": (
        "16-bit values would make an almost black image (its brightest pixel would be 15 of 255)",
        tiff(GREY, 4095, np.uint16),
    ),
    "8 bits in 16": (
        "almost black image (its brightest pixel would be 0 of 255)",
        tiff(GREY, 255, np.uint16),
    ),
    "12 bits in 16 a colour": (
        "16-bit values would make",
        tiff(COLOURS, 4095, np.uint16, means=made_tiff.RGB),
    ),
    "12 bits in a PNG": ("16-bit values would make", by_opencv(".png", GREY, 4095, np.uint16)),
    "12 bits a colour in a PNG": ("16-bit values would make", by_opencv(".png", COLOURS, 4095, np.uint16)),
    "8 bits a colour in a PNG of 16, with alpha": (
        "16-bit values would make",
        by_opencv(".png", np.dstack([COLOURS / 257, np.ones_like(GREY)]), 65535, np.uint16),
    ),
    "floats in colour": (
        "this TIFF is damaged, or has 64-bit pixels or more than 16 bits per colour; convert",
        tiff(COLOURS, 1, np.float32, means=made_tiff.RGB),
    ),
    "floats of 64 bits": ("this TIFF is damaged, or has 64-bit pixels", tiff(GREY, 1, np.float64)),
    "five bands": (
        "this TIFF has 5 bands; images of 1 band (grey), 3 (red, green, blue) or 4 (with alpha) are read",
        tiff(np.dstack([COLOURS, GREY, GREY]), 255, np.uint8),
    ),
    "two bands of 16 bits": ("this TIFF has 2 bands", tiff(np.dstack([GREY, GREY]), 65535, np.uint16)),
    "eight bands of floats": ("this TIFF has 8 bands", tiff(np.dstack([GREY] * 8), 1, np.float32)),
    "a drawing": (
        "EPS is a vector format, which needs another program; save it as PNG",
        of_bytes(".png", EPS),
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_may_mean_any_brightness_is_refused_by_name_and_says_what_to_do(
    tmp_path: Path, kind: str
) -> None:
    said, write = REFUSED[kind]
    write(tmp_path / "image")
    (path,) = tmp_path.iterdir()
    for read in (fs.formats.read_rgb, fs.formats.probe):
        with refused(ImageError) as told:
            read(path)
        assert str(told.value).startswith(f"{path}: ")
        assert said in str(told.value)
        assert "8-bit PNG" in str(told.value) or kind == "a drawing" or " bands; " in str(told.value)
    with refused(WebError) as told:
        look(path.read_bytes(), "image/tiff")
    assert said in str(told.value)


def test_floats_become_the_nearest_of_256_and_the_darkest_that_is_read_is_16(tmp_path: Path) -> None:
    steps = np.arange(255)
    for off, nearest in ((0.4, steps), (0.6, steps + 1)):
        made_tiff.write(tmp_path / "floats.tif", ((steps + off) / 255).astype(np.float32)[None])
        assert fs.formats.read_rgb(tmp_path / "floats.tif")[0, :, 0].tolist() == nearest.tolist()
    dark = np.full((4, 6), 16 << 8, np.uint16)
    assert fs.formats.read_rgb(made_tiff.write(tmp_path / "dark.tif", dark)).max() == 16
    with refused(ImageError, "its brightest pixel would be 15 of 255"):
        fs.formats.read_rgb(made_tiff.write(tmp_path / "dark.tif", dark - 1))


def test_sixteen_bits_are_upright_too(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned: the first row is the right side
    Image.fromarray(of(GREY, 65535, np.uint16)).save(tmp_path / "turned.png", exif=exif)
    read, probed = fs.formats.read_rgb(tmp_path / "turned.png"), fs.formats.probe(tmp_path / "turned.png")
    assert read.shape == (24, 16, 3)
    assert (probed.width, probed.height) == (16, 24)
    assert (read[..., 0] == np.rot90(of(GREY, 65535, np.uint16) >> 8, -1)).all()


def test_collect_names_what_it_refuses_in_failures_and_keeps_the_rest(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    READ["TIFF of floats, 0 to 1"][1](photos / "good")
    REFUSED["12 bits in 16"][1](photos / "dark")
    found = fs.collect(str(tmp_path / "study"), str(photos), classes=3)
    assert (found.images, found.failures) == (1, 1)
    (row,) = read_failures(tmp_path / "study")
    assert row.image == str(photos / "dark.tif")
    assert row.reason.startswith("its 16-bit values would make an almost black image")
    # as in a store: read when a network asks
    unprobed = fs.collect(tmp_path / "other", photos, classes=3, storage=fs.options.Storage(probe=False))
    assert unprobed.images == 2
    dark = next(image for image in read_corpus(tmp_path / "other") if image.id == "dark")
    with refused(ImageError, "almost black image"):
        reading.read_photo(dark)


def with_a_hot_pixel(values: np.ndarray, hot: float) -> np.ndarray:
    out = values.copy()
    out[5, 5] = hot
    return out


@pytest.mark.parametrize(
    ("top", "told"),
    [
        (8191, "at most 8,191 of 65,535, as when 13 bits are stored in a wider file; multiply all by 8"),
        (16383, "at most 16,383 of 65,535, as when 14 bits are stored in a wider file; multiply all by 4"),
        (
            10000,
            "at most (9,983|10,239) of 65,535, as when 14 bits are stored in a wider file; multiply all by 4",
        ),
    ],
    ids=["13 bits", "14 bits", "reflectance in ten thousandths"],
)
@pytest.mark.parametrize("hot", [False, True], ids=["", "with a hot pixel"])
@pytest.mark.parametrize("ending", [".tif", ".png", "colour.png"])
def test_a_folder_of_fewer_bits_is_not_read_almost_black(
    tmp_path: Path, top: int, told: str, ending: str, hot: bool
) -> None:
    for k in range(3):
        values = of((COLOURS if "colour" in ending else GREY) * (1 - k / 10), top, np.uint16)
        values = with_a_hot_pixel(values, 65535) if hot else values
        path = tmp_path / "photos" / f"{k}{ending}"
        path.parent.mkdir(exist_ok=True)
        if ending == ".tif":
            made_tiff.write(path, values)
        else:
            by_opencv(".png", values, 1, np.uint16)(path)
    made.write(tmp_path / "photos" / "plain.png", np.zeros((16, 24, 3), np.uint8))
    found = fs.collect(str(tmp_path / "study"), str(tmp_path / "photos"), classes=3)
    assert (found.images, found.failures) == (1, 3)
    for row in read_failures(tmp_path / "study"):
        assert re.search(f"in 3 such images, 99.9 % of the values of each are {told}", row.reason), row.reason


def test_the_range_of_a_dark_folder_is_told_before_that_of_its_darkest_image(tmp_path: Path) -> None:
    for name, top in (("a darkest", 4000), ("brighter", 16383)):
        made_tiff.write(tmp_path / "photos" / f"{name}.tif", of(GREY, top, np.uint16))
    with refused(CorpusError, "as when 14 bits are stored in a wider file; multiply all by 4"):
        fs.collect(str(tmp_path / "study"), str(tmp_path / "photos"), classes=3)


def test_one_bright_image_says_that_the_dark_ones_are_dark(tmp_path: Path) -> None:
    for name, top in (("night", 9000), ("day", 60000)):
        made_tiff.write(tmp_path / "photos" / f"{name}.tif", of(GREY, top, np.uint16))
    assert fs.collect(str(tmp_path / "study"), str(tmp_path / "photos"), classes=3).failures == 0
    night = next(image for image in read_corpus(tmp_path / "study") if image.id == "night")
    assert (reading.read_photo(night)[0][..., 0] == of(GREY, 9000, np.uint16) >> 8).all()


def test_a_hot_pixel_makes_no_image_bright(tmp_path: Path) -> None:
    path = made_tiff.write(tmp_path / "hot.tif", with_a_hot_pixel(of(GREY, 4095, np.uint16), 65535))
    with refused(
        ImageError, r"99.9 % of its pixels would be at most 15 of 255, the brightest 255\), as when 12"
    ):
        fs.formats.read_rgb(path)


def test_reflectance_is_read_from_0_to_1_and_a_few_values_above_are_white_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for k, above in enumerate((1.3, 200.0)):
        values = with_a_hot_pixel(GREY, above).astype(np.float32)
        path = made_tiff.write(tmp_path / "photos" / f"{k}.tif", values)
        assert (fs.formats.read_rgb(path)[..., 0] == np.round(255 * values.clip(0, 1))).all()
    assert fs.collect(str(tmp_path / "study"), str(tmp_path / "photos"), classes=3).failures == 0
    told = "2 images hold floats from 0 to 1 and a few above, at most 0.26% of the pixels, which are read as white"
    assert told in capsys.readouterr().out
    # whole numbers up to 255 are not reflectance, however few are above 1
    stars = np.zeros((16, 24), np.float32)
    stars[:1, :2] = 255
    with refused(ImageError, "99.9 % of its pixels would be at most 0 of 255|almost black"):
        fs.formats.read_rgb(made_tiff.write(tmp_path / "one.tif", with_a_hot_pixel(stars * 0, 255)))
    assert fs.formats.read_rgb(made_tiff.write(tmp_path / "two.tif", stars)).max() == 255
