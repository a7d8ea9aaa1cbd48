"""Images inside of pages: small enough to embed in one file, as data URIs.

Conventions: images are WebP, label maps palette PNG in the colours of the classes. ``Room`` limits the
characters per page; what no longer fits is left out and counted.
"""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from PIL import Image, features

from faultscape.maps.paint import palette
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes

ROOM = 12_000_000  # characters of embedded images on one page


class Room:
    """The number of characters of images and maps that may still be embedded."""

    def __init__(self, characters: int = ROOM) -> None:
        self.left = characters
        self.left_out = 0

    def take(self, uri: str) -> str:
        """Return the data URI if it fits into the room left, else ''."""
        if len(uri) > self.left:
            self.left_out += 1
            return ""
        self.left -= len(uri)
        return uri


def fit(width: int, height: int, longest: int) -> tuple[int, int]:
    """Return (width, height) with the longer side at most ``longest``.

    >>> fit(960, 720, 320), fit(100, 50, 320)
    ((320, 240), (100, 50))
    """
    shrink = min(1.0, longest / max(width, height))
    return max(1, round(width * shrink)), max(1, round(height * shrink))


def photo_uri(rgb: np.ndarray, size: tuple[int, int], quality: int = 72) -> str:
    """Return an (H, W, 3) image as a WebP data URI of (width, height); JPEG if Pillow cannot write WebP."""
    picture = Image.fromarray(np.ascontiguousarray(rgb)).resize(size, Image.Resampling.LANCZOS)
    return data_uri(picture, "WEBP" if features.check("webp") else "JPEG", quality=quality)


def distinct(colours: np.ndarray) -> np.ndarray:
    """Return (K, 3) distinct uint8 colours, the last (void) unchanged: a repeated colour moves by one
    invisible step, so that a page can identify classes by colour.

    >>> distinct(np.array([[9, 9, 255], [9, 9, 255], [0, 0, 0]], np.uint8)).tolist()
    [[9, 9, 255], [9, 9, 254], [0, 0, 0]]
    """
    out = colours.astype(int)
    taken = {tuple(colours[-1].tolist())}
    for k, row in enumerate(out[:-1].tolist()):
        code = (row[0] << 16) + (row[1] << 8) + row[2]
        near = (code + sign * step for step in range(1 << 24) for sign in (-1, 1))
        free = next(n for n in near if 0 <= n < 1 << 24 and (n >> 16, n >> 8 & 255, n & 255) not in taken)
        out[k] = free >> 16, free >> 8 & 255, free & 255
        taken.add(tuple(out[k].tolist()))
    return out.astype(np.uint8)


def map_uri(label_map: np.ndarray, classes: Classes, size: tuple[int, int]) -> str:
    """Return an (H, W) map of places as a PNG data URI of (width, height) in the colours of its classes."""
    small = np.minimum(nearest(label_map, size), len(classes))
    if len(classes) < 256:
        picture = Image.frombytes("P", size, small.astype(np.uint8).tobytes())
        picture.putpalette(distinct(palette(classes)).tobytes())
    else:
        picture = Image.fromarray(distinct(palette(classes))[small])
    return data_uri(picture, "PNG", compress_level=7, **({"bits": 4} if len(classes) < 16 else {}))


def flat_uri(rgb: np.ndarray) -> str:
    """Return a drawing of flat colours as a PNG data URI, at most 256 colours."""
    flat = rgb.reshape(-1, 3).astype(np.int32)
    codes, places = np.unique(flat[:, 0] << 16 | flat[:, 1] << 8 | flat[:, 2], return_inverse=True)
    if len(codes) <= 256:
        image = Image.frombytes("P", (rgb.shape[1], rgb.shape[0]), places.astype(np.uint8).tobytes())
        image.putpalette(np.stack([codes >> 16, codes >> 8 & 255, codes & 255], 1).astype(np.uint8).tobytes())
    else:
        image = Image.fromarray(np.ascontiguousarray(rgb))
    return data_uri(image, "PNG", compress_level=9, optimize=True)


def data_uri(image: Image.Image, form: str, **options: Any) -> str:
    """Return an image as a data URI."""
    out = io.BytesIO()
    image.save(out, format=form, **options)
    return f"data:image/{form.lower()};base64,{base64.b64encode(out.getvalue()).decode()}"


def colour_words(classes: Classes) -> dict[str, str]:
    """Return {class: its CSS colour}.

    >>> colour_words(Classes(("sky",), (0,), ((9, 8, 7),)))
    {'sky': '#090807'}
    """
    return {
        name: "#{:02x}{:02x}{:02x}".format(*colour)
        for name, colour in zip(classes.names, classes.colours, strict=False)
    }
