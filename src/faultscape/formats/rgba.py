"""Read images with transparency: upright, 8 bits per channel, keeping the file's colours even where they are
invisible.

Conventions: (H, W, 4) uint8, red, green, blue, alpha; 255 is opaque. Palettes and single transparent colours
become alpha; premultiplied colours are divided by alpha. More than 8 bits are converted to 8 by
`deep_pictures`.
"""

from __future__ import annotations

import os

import numpy as np
from PIL import ImageOps

from faultscape.errors import ImageError
from faultscape.formats.deep_pictures import coded_as, to_8_bits
from faultscape.formats.guard import decoding, open_picture


def rgba_of(data: bytes, path: str | os.PathLike[str]) -> np.ndarray:
    """Return the image with transparency in a file's bytes, (H, W, 4) uint8; ImageError if it is not an
    image, has no alpha channel, is damaged or too large.

    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("LA", (2, 1), (7, 0)).save(file, "PNG")
    >>> rgba_of(file.getvalue(), "a cut-out").tolist()
    [[[7, 7, 7, 0], [7, 7, 7, 0]]]
    """
    with decoding(path, ImageError):
        picture = open_picture(data, path, ImageError)
        if not picture.has_transparency_data:
            raise ImageError(
                f"{path}: has no alpha channel; save it with transparency, as PNG, WebP or TIFF, or give a"
                " mask"
            )
        coded = coded_as(picture)  # before reading EXIF, which loads a PNG
        picture.getexif()
        picture.load()
        upright = ImageOps.exif_transpose(to_8_bits(picture, coded, path))
        return np.array(upright.convert("RGBA"))
