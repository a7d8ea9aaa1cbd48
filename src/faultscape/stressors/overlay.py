"""The signed difference between an image and its base, so that a benchmark on licensed images can be shared
without them.

Conventions: base and image (H, W, 3) uint8; base + overlay = image, exactly. An overlay identifies its base
and its image by the BLAKE2b of their size and pixels, and refuses a different base. Its file is a line of
JSON, then the differences in the box that changed (int16, little-endian, all low bytes before all high ones)
compressed by zstandard. Malformed files are refused with a one-line error.

``data`` holds the bytes of a file.

Source: Fishyscapes' public Static files are also differences to Cityscapes (in a different form, clipped, and
without the digest of their base).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import cast

import numpy as np
import zstandard

from faultscape.errors import ImageError
from faultscape.formats.guard import MAX_PIXELS
from faultscape.maps.regions import bounding_box

_MAGIC = b"faultscape overlay 1\n"
_HEAD = 4096  # maximum bytes of the line of JSON
_LEVEL = 9


@dataclass(frozen=True, eq=False)
class Overlay:
    """What was added to a base: the difference (h, w, 3) int16 in a box with corner (x, y), the frame
    (height, width), and the digests of base and image.
    """

    difference: np.ndarray  # (h, w, 3) int16: image - base in the box that changed
    corner: tuple[int, int]  # (x, y) of that box
    frame: tuple[int, int]  # (height, width) of base and image
    base: str  # digest of the base: BLAKE2b of size and pixels
    image: str  # digest of the image, computed in the same way

    def added_to(self, base: np.ndarray) -> np.ndarray:
        """Return base + overlay (H, W, 3) uint8; ImageError for a base other than the original one, or if the
        result is not the image.
        """
        base = _checked(base, "base")
        if base.shape[:2] != self.frame or pixel_digest(base) != self.base:
            raise ImageError(
                f"this overlay belongs to another base: expected {self.frame[1]} x {self.frame[0]} pixels"
                f" with the digest {self.base}, got {base.shape[1]} x {base.shape[0]} with"
                f" {pixel_digest(base)}; give the image that it was made from"
            )
        image = base.copy()
        (x, y), (height, width) = self.corner, self.difference.shape[:2]
        part = image[y : y + height, x : x + width]
        sums = part.astype(np.int16) + self.difference
        part[...] = sums.astype(np.uint8)
        if pixel_digest(image) != self.image:
            raise ImageError(
                f"this overlay is damaged: on its base it gives the digest {pixel_digest(image)}, not"
                f" {self.image}; make or fetch it again"
            )
        return image

    def encoded(self) -> bytes:
        """Return the overlay as the bytes of a file, which `decoded_overlay` reads."""
        height, width = self.difference.shape[:2]
        head = {
            "frame": self.frame,
            "corner": self.corner,
            "box": [height, width],
            "base": self.base,
            "image": self.image,
        }
        halves = np.ascontiguousarray(self.difference, "<i2").view(np.uint8).reshape(-1, 2)
        body = zstandard.ZstdCompressor(level=_LEVEL).compress(np.ascontiguousarray(halves.T).tobytes())
        return _MAGIC + json.dumps(head, separators=(",", ":")).encode() + b"\n" + body


def overlay_of(base: np.ndarray, image: np.ndarray) -> Overlay:
    """Return the overlay that turns a base into an image (H, W, 3) uint8 of the same size; ImageError for
    anything else.

    overlay = image - base.

    >>> base, image = np.full((2, 3, 3), 9, np.uint8), np.full((2, 3, 3), 9, np.uint8)
    >>> image[1, 2] = 0
    >>> overlay = overlay_of(base, image)
    >>> overlay.corner, overlay.difference.tolist(), bool((overlay.added_to(base) == image).all())
    ((2, 1), [[[-9, -9, -9]]], True)
    """
    base = _checked(base, "base")
    image = _checked(image, "image")
    if base.shape != image.shape:
        raise ImageError(
            f"overlay: the base has {base.shape[1]} x {base.shape[0]} pixels, the image {image.shape[1]} x"
            f" {image.shape[0]}; they must have the same size"
        )
    box = bounding_box((base != image).any(2))
    difference = image[box].astype(np.int16) - base[box]
    return Overlay(
        difference,
        (box[1].start, box[0].start),
        (base.shape[0], base.shape[1]),
        pixel_digest(base),
        pixel_digest(image),
    )


def decoded_overlay(data: bytes, name: str = "the overlay") -> Overlay:
    """Return the overlay in a file's bytes; ImageError, which begins with ``name``, for bytes not written by
    `Overlay.encoded`.

    >>> decoded_overlay(
    ...     overlay_of(np.zeros((2, 2, 3), np.uint8), np.ones((2, 2, 3), np.uint8)).encoded()
    ... ).difference.shape
    (2, 2, 3)
    >>> decoded_overlay(b"PK", "frame.overlay")
    Traceback (most recent call last):
    ...
    faultscape.errors.ImageError: frame.overlay: is not an overlay of faultscape, or damaged (its first line
    is wrong); make or fetch it again
    """
    if not data.startswith(_MAGIC):
        raise _refused(name, "its first line is wrong")
    line, end, body = data[len(_MAGIC) : len(_MAGIC) + _HEAD].partition(b"\n")
    if not end:
        raise _refused(name, "its head does not end")
    body = data[len(_MAGIC) + len(line) + 1 :]
    try:
        head = _head(line)
        frame, corner, box = (_pair(head[key]) for key in ("frame", "corner", "box"))
        base, image = (_digest(head[key]) for key in ("base", "image"))
        raw = _differences(body, frame, corner, box)
    except (ValueError, KeyError) as error:
        raise _refused(name, str(error) if type(error) is ValueError else "its head lacks a field") from None
    halves = np.frombuffer(raw, np.uint8).reshape(2, -1).T
    difference = np.ascontiguousarray(halves).view("<i2").reshape(*box, 3).astype(np.int16)
    if difference.min(initial=0) < -255 or difference.max(initial=0) > 255:
        raise _refused(name, "it has differences beyond 255")
    return Overlay(difference, corner, frame, base, image)


def pixel_digest(image: np.ndarray) -> str:
    """Return the BLAKE2b of an image's size and pixels, 32 hexadecimal digits, independent of its file.

    >>> pixel_digest(np.zeros((1, 2, 3), np.uint8)) == pixel_digest(np.zeros((2, 1, 3), np.uint8))
    False
    """
    image = np.asarray(image)
    if image.dtype != np.uint8:  # the digest is of the numbers as uint8; the same ones as int64 have another
        raise ImageError(
            f"expected the pixels of an image as uint8; got {image.dtype} of shape {image.shape}"
        )
    hashed = hashlib.blake2b(repr((image.shape, image.dtype.str)).encode(), digest_size=16)
    hashed.update(np.ascontiguousarray(image).data)
    return hashed.hexdigest()


def _checked(pixels: np.ndarray, name: str) -> np.ndarray:
    """Return pixels that are an image (H, W, 3) uint8; ImageError with their name for others."""
    pixels = np.asarray(pixels)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise ImageError(
            f"overlay: expected the {name} as (H, W, 3) uint8; got {pixels.dtype} of shape {pixels.shape}"
        )
    return pixels


def _differences(body: bytes, frame: tuple[int, int], corner: tuple[int, int], box: tuple[int, int]) -> bytes:
    """Return the bytes of the differences in a box; their number is known before anything is unpacked."""
    if frame[0] * frame[1] > MAX_PIXELS or any(corner[k] + box[1 - k] > frame[1 - k] for k in (0, 1)):
        raise ValueError("its box does not fit its frame")
    size = box[0] * box[1] * 6
    try:
        if zstandard.frame_content_size(body) != size:
            raise ValueError("its length is wrong")
        return zstandard.ZstdDecompressor().decompress(body, max_output_size=size) if size else b""
    except (zstandard.ZstdError, MemoryError):
        raise ValueError("its differences cannot be unpacked") from None


def _head(line: bytes) -> dict[str, object]:
    """Return the fields of a head."""
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("its head is not JSON") from None
    if not isinstance(head, dict):
        raise ValueError("its head is not JSON of fields")  # noqa: TRY004 - as other faults of a head
    return cast("dict[str, object]", head)


def _pair(value: object) -> tuple[int, int]:
    """Return two whole numbers of a head, 0 or more."""
    values = cast("list[object]", value) if isinstance(value, list) else []
    first, second = values if len(values) == 2 else (None, None)
    if type(first) is not int or type(second) is not int or min(first, second) < 0:
        raise ValueError("its head has numbers that are not sizes")
    return first, second


def _digest(value: object) -> str:
    if not isinstance(value, str) or len(value) != 32 or set(value) - set("0123456789abcdef"):
        raise ValueError("its head has no digest")
    return value


def _refused(name: str, why: str) -> ImageError:
    return ImageError(f"{name}: is not an overlay of faultscape, or damaged ({why}); make or fetch it again")
