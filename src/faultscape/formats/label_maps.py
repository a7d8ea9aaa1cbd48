"""Read one label map from a file: 8/16-bit grey, palette, RGB in class colours, npy.

Conventions: the result is (H, W), uint8 or uint16, in the file's own values (RGB: the class list's ids).
Lossy formats and unknown colours are refused; black and VOC's cream mean void unless they are the colour of a
class.

The whole numbers of a grey file as it stores them, where Pillow gives levels of brightness instead.

Conventions: Pillow stretches grey of 2 and 4 bits to 0..255 (times 85 and 17), inverts TIFF and PBM files
whose zero is white, and scales PGM files by their largest value. Labels are numbers, not brightness, so all
of this is undone: 1 bit is 0 and 1, 4 bits are 0 to 15.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from PIL import Image

from faultscape.errors import LabelMapError
from faultscape.formats.guard import decoding, open_picture, read_bytes
from faultscape.nouns import UNKNOWN, Classes

Colour = tuple[int, int, int]
# returns the values that (H, W) values of a file mean, whose palette gives them these colours
Palette = Callable[[np.ndarray, Sequence[Colour], str], np.ndarray]
VOID_COLOURS = ((0, 0, 0), (224, 224, 192))  # unless they are those of a class
_GREY = re.compile(r"([1L])(?:;([24])?(I)?R?)?")  # as Pillow calls a coding: bits, zero is white, bit order
_PPM = ("ppm", "ppm_plain")


def scale_in_file(picture: Image.Image) -> tuple[int, bool]:
    """Return the largest value of one grey channel that a file can store, 0 for any other image, and whether
    its zero is white; of an image that is not yet loaded.
    """
    tile = getattr(picture, "tile", None)
    if not tile:
        return 0, False
    decoder = tile[0][0]
    arguments = tile[0][3]
    coding, *rest = arguments if isinstance(arguments, tuple) else (arguments,)
    if decoder in _PPM and rest:
        return int(rest[0]), False
    found = _GREY.fullmatch(str(coding)) if picture.mode in ("1", "L") else None
    if found is None:
        return 0, False
    kind, bits, inverted = found.groups()
    return (1 if kind == "1" else (1 << int(bits or 8)) - 1), inverted is not None


def stored_values(picture: Image.Image) -> np.ndarray:
    """Return the pixels of an image as an array, grey ones as the numbers in the file; its own errors are
    those of the decoder.

    >>> import io
    >>> file = io.BytesIO(b"P5 3 1 15 " + bytes([0, 7, 15]))
    >>> np.asarray(Image.open(file)).tolist(), stored_values(Image.open(file)).tolist()
    ([[0, 119, 255]], [[0, 7, 15]])
    """
    most, inverted = scale_in_file(picture)
    values = np.asarray(picture)
    if not most or values.ndim != 2:
        return values
    values = values.astype(np.uint8) if values.dtype == bool else values
    widest = {"1": 1, "L": 255}.get(picture.mode, 65535)
    if most != widest:
        values = np.rint(values * (most / widest)).astype(np.uint16 if most > 255 else np.uint8)
    return (most - values).astype(values.dtype) if inverted else values


def read_map(
    path: str | os.PathLike[str], colours: np.ndarray | None = None, palette: Palette | None = None
) -> np.ndarray:
    """Return a label map; ``colours`` is the table from `colour_table`, ``palette`` tells what values with a
    palette mean (default: themselves). LabelMapError names the file and the fault.
    """
    data = read_bytes(path, LabelMapError)
    values = _npy(data, path) if data[:6] == b"\x93NUMPY" else _picture(data, path, colours, palette)
    if values.dtype not in (np.uint8, np.uint16):
        low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
        if low < 0 or high > 65535:
            raise LabelMapError(f"{path}: holds the value {low if low < 0 else high}; labels are 0 to 65535")
        values = values.astype(np.uint8 if high < 256 else np.uint16)
    return np.ascontiguousarray(values)


def colour_table(classes: Classes) -> np.ndarray:
    """Return the id of each of the 2^24 colours, UNKNOWN for colours without a meaning."""
    return _colour_table(classes.ids, classes.colours, classes.void)


@lru_cache(maxsize=1)  # 32 MB
def _colour_table(
    ids: tuple[int, ...], colours: tuple[tuple[int, int, int], ...], void: tuple[int, ...]
) -> np.ndarray:
    table = np.full(1 << 24, UNKNOWN, np.uint16)
    if void:
        table[[_packed(colour) for colour in VOID_COLOURS]] = void[0]
    table[[_packed(colour) for colour in colours]] = ids
    return table


def _packed(colour: tuple[int, int, int]) -> int:
    return colour[0] << 16 | colour[1] << 8 | colour[2]


def _npy(data: bytes, path: str | os.PathLike[str]) -> np.ndarray:
    with decoding(path, LabelMapError):
        values = np.load(io.BytesIO(data), allow_pickle=False)
    if values.ndim == 3 and values.shape[0] == 1:
        values = values[0]
    if values.ndim != 2 or values.dtype.kind not in "iub" or values.size == 0:
        cure = "; scores have one channel a class, C x H x W" if values.dtype.kind == "f" else ""
        raise LabelMapError(
            f"{path}: expected whole numbers, H x W; got {values.dtype} of shape {values.shape}{cure}"
        )
    return values


def _picture(
    data: bytes, path: str | os.PathLike[str], colours: np.ndarray | None, palette: Palette | None
) -> np.ndarray:
    with decoding(path, LabelMapError):
        picture = open_picture(
            data, path, LabelMapError, lossless="changes label values; save label maps as PNG"
        )
        values = stored_values(
            picture.convert("RGB") if picture.mode in ("RGBA", "CMYK", "YCbCr") else picture
        )
        shown = picture.getpalette() if picture.mode == "P" and palette is not None else None
    if palette is not None and shown:
        return palette(values, list(zip(shown[::3], shown[1::3], shown[2::3], strict=True)), os.fspath(path))
    if values.ndim == 2 and values.dtype.kind in "iub":
        return values.astype(np.uint8) if values.dtype == bool else values
    if values.ndim != 3 or values.shape[2] != 3:
        raise LabelMapError(
            f"{path}: pixels of mode {picture.mode} cannot be labels; expected grey, palette or the class"
            f" colours{'; save floats as whole numbers of 8 or 16 bits' if picture.mode == 'F' else ''}"
        )
    if colours is None:
        raise LabelMapError(
            f"{path}: has three channels; save label maps as grey or palette values, or give a class list"
            " with colours"
        )
    wide = values.astype(np.uint32)
    ids = colours[wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]]
    if (unknown := ids == UNKNOWN).any():
        y, x = np.argwhere(unknown)[0]
        r, g, b = values[y, x].tolist()
        grey = "; its three channels are equal: save one of them" if (values == values[..., :1]).all() else ""
        raise LabelMapError(
            f"{path}: has three channels and the colour ({r}, {g}, {b}) at column {x}, row {y} is not a"
            f" class's colour{grey}"
        )
    return ids
