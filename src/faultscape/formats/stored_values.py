"""The whole numbers of a grey file as it stores them, where Pillow gives levels of brightness instead.

Conventions: Pillow stretches grey of 2 and 4 bits to 0..255 (times 85 and 17), inverts TIFF and PBM files
whose zero is white, and scales PGM files by their largest value. Labels are numbers, not brightness, so all
of this is undone: 1 bit is 0 and 1, 4 bits are 0 to 15.
"""

from __future__ import annotations

import re

import numpy as np
from PIL import Image

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
