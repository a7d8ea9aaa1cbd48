"""Read images safely (EXIF orientation, truncated files, decompression bombs), and compute what `collect`
keeps of each.

Conventions: RGB, uint8, (H, W, 3), upright as displayed; `deep_pictures` converts more than 8 bits. The
difference hash is our own: the upright image in grey, averaged to 9 x 8, with one bit for each of the 64
steps to the right: brighter or not.

Read images with transparency: upright, 8 bits per channel, keeping the file's colours even where they are
invisible.

Conventions: (H, W, 4) uint8, red, green, blue, alpha; 255 is opaque. Palettes and single transparent colours
become alpha; premultiplied colours are divided by alpha. More than 8 bits are converted to 8 by
`deep_pictures`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps

from faultscape.errors import ImageError
from faultscape.formats.deep_pictures import coded_as, to_8_bits
from faultscape.formats.guard import decoding, open_picture, read_bytes


@dataclass(frozen=True, slots=True)
class Picture:
    """What `collect` keeps of an image: upright size, SHA-256 of the file, difference hash (64 bits as a
    signed number; None if not computed); for an image of 16 bits its reach (`deep_pictures`, 0..255), and how
    many floats above 1 became white.
    """

    width: int
    height: int
    digest: str
    dhash: int | None
    reach: int | None = None
    clipped: int = 0


def read_rgb(path: str | os.PathLike[str]) -> np.ndarray:
    """Return an image as (H, W, 3) uint8, upright; ImageError if it is truncated, too large or not
    an image.
    """
    return rgb_of(read_bytes(path, ImageError), path)


def rgb_of(data: bytes, path: str | os.PathLike[str]) -> np.ndarray:
    """Return the image in a file's bytes, as `read_rgb` does."""
    picture = _open(data, path)
    with decoding(path, ImageError):
        return np.asarray(picture if picture.mode == "RGB" else picture.convert("RGB"))


def size_of(data: bytes, path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return the upright (width, height) from the beginning of a file, without decoding; ImageError if it is
    not there.
    """
    with decoding(path, ImageError):
        picture = open_picture(data, path, ImageError, whole=False)
        width, height = picture.size
        turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
    return (height, width) if turned else (width, height)


def probe(path: str | os.PathLike[str]) -> Picture:
    """Return size, digest and difference hash of an image, fully decoded; ImageError as for `read_rgb`."""
    return examine(read_bytes(path, ImageError), path)


def examine(data: bytes, path: str | os.PathLike[str]) -> Picture:
    """Return the result of `probe` for the bytes of a file; ``path`` appears in errors."""
    picture = _open(data, path, small=True)
    width, height = picture.info["full_size"]
    with decoding(path, ImageError):
        grey = np.asarray(picture.convert("L"))
    about = picture.info
    return Picture(
        width,
        height,
        hashlib.sha256(data).hexdigest(),
        difference_hash(grey),
        about.get("reach"),
        about.get("clipped", 0),
    )


def difference_hash(grey: np.ndarray) -> int:
    """Return the 64-bit difference hash of an (H, W) grey image as a signed number.

    >>> difference_hash(np.tile(np.arange(90, dtype=np.uint8), (80, 1)))
    -1
    >>> difference_hash(np.zeros((5, 5), np.uint8))
    0
    """
    import cv2

    small = cv2.resize(grey.astype(np.float32), (9, 8), interpolation=cv2.INTER_AREA)
    # a step must exceed half a grey level, so that flat areas are all 0 whatever the decoder's rounding
    bits = (small[:, 1:] - small[:, :-1]) > 0.5
    return int(np.packbits(bits.ravel()).view(">i8")[0])


def _open(data: bytes, path: str | os.PathLike[str], *, small: bool = False) -> Image.Image:
    """Return a fully decoded, upright image; ``small`` lets the JPEG decoder shrink it; the full size is then
    in info.
    """
    with decoding(path, ImageError):
        picture = open_picture(data, path, ImageError)
        coded = coded_as(picture)  # before reading EXIF, which loads a PNG
        width, height = picture.size
        turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        if small:
            picture.draft("RGB", (64, 64))
        picture.load()
        shallow = to_8_bits(picture, coded, path)
        about = {key: shallow.info[key] for key in ("reach", "clipped") if key in shallow.info}
        if shallow.mode in ("RGBA", "LA", "PA") or "transparency" in shallow.info:
            shallow = shallow.convert("RGBA").convert("RGB")
        elif shallow.mode in ("LAB", "HSV"):
            shallow = shallow.convert("RGB")
        ImageOps.exif_transpose(shallow, in_place=True)
        shallow.info |= about
        shallow.info["full_size"] = (height, width) if turned else (width, height)
    return shallow


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
