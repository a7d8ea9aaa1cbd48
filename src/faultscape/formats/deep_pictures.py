"""Conversion of images with more than 8 bits per channel to 8 bits, by a rule that never guesses
the range.

Conventions: if a format defines its range, that is used: 16 bits give their high byte, packed 12 bits theirs,
and PGM and JPEG 2000 are scaled by their declared maximum. Floating point values from 0 to 1 are multiplied
by 255, and few values above 1 (reflectance) become white; values up to 255 are used unchanged, and so are
32-bit whole numbers from 0 to 255. Everything else has an unknown brightness and is refused, as is any image
that would come out darker than `DARK` of 255: those are values of fewer bits in a wider file. How bright an
image is, its `REACH` says, a high percentile, so that a hot pixel decides nothing. Each image is judged
separately, and none is stretched to its own range, which would make the images of one camera incomparable;
values of 13 and 14 bits cannot be distinguished from dark 16-bit images one at a time, so `collect` judges
them together.
"""

from __future__ import annotations

import os

import numpy as np
from PIL import Image

from faultscape.errors import ImageError

DARK = 16  # 12-bit values in a 16-bit file come out as at most 15
DIM = 64  # 14-bit values come out below it
REACH = 99.9  # per cent of the pixels that decide how bright an image is
_ROUNDING = 1e-3  # share of the range: interpolation may exceed it by this much
_DO = "save it as an 8-bit PNG"
# TIFF tags: bits per channel, the meaning of white, the number format
_BITS = 258
_WHITE_IS = 262
_SAMPLES = 339


def coded_as(picture: Image.Image) -> str:
    """Return the pixel coding in the file of an image that is not yet loaded, as Pillow calls it:
    ``RGB;16B``, ``I;12``, ``F;32F``.
    """
    tile = getattr(picture, "tile", None)
    kind = tile[0][3] if tile else ""
    return str(kind[0] if isinstance(kind, tuple) and kind else kind)


def to_8_bits(picture: Image.Image, coded: str, path: str | os.PathLike[str]) -> Image.Image:
    """Return a loaded image with 8 bits per channel, unchanged if it already has them; ImageError if its
    range is unknown, or it would come out black.

    ``coded`` is the result of `coded_as` before it was loaded. ``info`` of the result holds ``reach`` (of
    255) for 16 bits, and ``clipped``, the number of values that became white, where there are any.
    """
    tags = getattr(picture, "tag_v2", {})
    if tags.get(_BITS, (0,))[0] == 8 and tags.get(_SAMPLES, (1,))[0] == 2:
        raise ImageError(f"{path}: its pixels are signed numbers; {_DO}")
    if picture.mode == "F" or picture.mode.startswith("I"):
        values = np.asarray(picture)
        if coded == "I;12":
            grey = (values >> 4).astype(np.uint8)
            about = dict[str, int]()
        elif _says_its_range(picture):
            grey = (values >> 8).clip(0, 255).astype(np.uint8)
            about = {"reach": _refuse_black(grey, "16-bit", path)}
        else:
            grey, about = _by_values(values, path)
        shallow = Image.fromarray(255 - grey if tags.get(_WHITE_IS) == 0 else grey)
        # the orientation is stored there
        shallow.info = {key: value for key, value in picture.info.items() if key != "transparency"} | about
        return shallow
    if ";16" in coded and picture.mode != "CMYK":
        colours = picture.convert("RGB")
        picture.info["reach"] = _refuse_black(np.asarray(colours).max(-1), "16-bit", path)
    return picture


def _says_its_range(picture: Image.Image) -> bool:
    """Whether integers have 16 bits (or 12, packed) rather than 32."""
    return picture.mode.startswith("I;") or (picture.mode == "I" and picture.format in ("PNG", "PPM"))


def _by_values(values: np.ndarray, path: str | os.PathLike[str]) -> tuple[np.ndarray, dict[str, int]]:
    low = float(values.min())
    high = float(values.max())
    whole = values.dtype.kind in "iu"
    kind = "32-bit whole numbers" if whole else "floating-point numbers"
    few = np.isfinite([low, high]).all() and not whole and high > 1 + _ROUNDING and _is_reflectance(values)
    top = 1 if (high <= 1 + _ROUNDING or few) and not whole else 255
    if not (low >= -_ROUNDING * top and (few or high <= (1 + _ROUNDING) * top)):  # NaN among them
        could = (
            "not finite"
            if not np.isfinite([low, high]).all()
            else f"from {low:.6g} to {high:.6g}, whose brightness range is unknown"
        )
        known = "0 to 255" if whole else "0 to 1, or 0 to 255"
        raise ImageError(f"{path}: its pixels are {kind} {could}; expected {known}; {_DO}")
    grey = (values * np.float32(255 / top) + np.float32(0.5)).clip(0, 255).astype(np.uint8)
    _refuse_black(np.minimum(values * (255 / top), 255), kind, path)
    return grey, {"clipped": int((values > 1 + _ROUNDING).sum())} if few else {}


def _is_reflectance(values: np.ndarray) -> bool:
    """Whether floats lie between 0 and 1, except for a few, and some are fractions, which an almost black
    image of 0 to 255 would not hold.
    """
    return _reach(values) <= 1 + _ROUNDING and bool(((values > 0) & (values < 1)).any())


def _reach(values: np.ndarray) -> float:
    """Return the value that only a thousandth of the pixels, and at least the brightest one, may exceed."""
    place = int(REACH / 100 * (values.size - 1))
    if values.dtype == np.uint8:
        return float(np.bincount(values.ravel(), minlength=256).cumsum().searchsorted(place, side="right"))
    return float(np.partition(values, place, axis=None)[place])


def _refuse_black(shown: np.ndarray, kind: str, path: str | os.PathLike[str]) -> int:
    """Return the reach of an image (0..255); ImageError if that is almost black."""
    reach = int(_reach(shown))
    brightest = int(shown.max())
    if reach >= DARK:
        return reach
    told = (
        f"its brightest pixel would be {brightest} of 255"
        if brightest < DARK
        else f"{REACH} % of its pixels would be at most {reach} of 255, the brightest {brightest}"
    )
    fewer = f"{8 + reach.bit_length()} bits" if kind == "16-bit" and reach else "fewer bits"
    raise ImageError(
        f"{path}: its {kind} values would make an almost black image ({told}), as when {fewer} are stored in"
        f" a wider file; rescale them to the full range, or {_DO}"
    )
