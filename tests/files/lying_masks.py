"""Masks that say something else than they seem to: grey of few bits, zero that is white, several pages,
palettes in another order, and 255 for a class.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

import made_tiff

GREY, PALETTE = 0, 3  # colour types of PNG


def packed(ids: np.ndarray, bits: int) -> np.ndarray:
    """Return (H, bytes of a row): ids of 1, 2, 4 or 8 bits, the first in the highest bits."""
    each = (ids[..., None].astype(np.uint8) >> np.arange(bits - 1, -1, -1, dtype=np.uint8)) & 1
    return np.packbits(each.reshape(len(ids), -1), axis=1)


def png(path: Path, ids: np.ndarray, bits: int, colours: list[tuple[int, int, int]] | None = None) -> Path:
    """Write ids as a PNG of this depth, grey or with a palette."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = ids.shape
    head = struct.pack(">IIBBBBB", width, height, bits, PALETTE if colours else GREY, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in packed(ids, bits))
    palette = chunk(b"PLTE", bytes(np.array(colours, np.uint8))) if colours else b""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + palette
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    return path


def tiff(path: Path, ids: np.ndarray, bits: int, *, zero_is_white: bool) -> Path:
    """Write ids as a grey TIFF of this depth; a width whose rows fill whole bytes is expected."""
    means = made_tiff.GREY_FROM_WHITE if zero_is_white else made_tiff.GREY
    return made_tiff.write(path, packed(ids, bits), means=means, bits=bits)


def pgm(path: Path, ids: np.ndarray, largest: int) -> Path:
    """Write ids as a PGM file that states its largest value."""
    height, width = ids.shape
    data = ids.astype(np.uint8 if largest < 256 else ">u2").tobytes()
    path.write_bytes(f"P5 {width} {height} {largest} ".encode() + data)
    return path


def of_pages(path: Path, first: np.ndarray, *others: np.ndarray, smaller_copies: bool = False) -> Path:
    """Write grey images as the pages, or frames, of one file: TIFF, GIF, PNG or WebP, by the ending of
    ``path``; or a TIFF whose other pages are smaller copies of the first one.
    """
    form = {".tif": "TIFF", ".gif": "GIF", ".png": "PNG", ".webp": "WEBP"}[path.suffix]
    pages = [Image.fromarray(page) for page in (first, *others)]
    if smaller_copies:
        for page in pages[1:]:
            page.encoderinfo = {"tiffinfo": {254: 1}}  # NewSubfileType: reduced resolution
    if form == "WEBP":
        pages = [page.convert("RGB") for page in pages]
    path.parent.mkdir(parents=True, exist_ok=True)
    more = {"lossless": True} if form == "WEBP" else {}
    pages[0].save(path, form, save_all=True, append_images=pages[1:], **more)
    return path


def bmp_of_4_bits(path: Path, ids: np.ndarray) -> Path:
    """Write a BMP of 4 bits whose palette holds the grey levels 0 to 15; 8 pixels a row are expected."""
    rows = packed(ids[::-1], 4).tobytes()
    palette = b"".join(bytes((level, level, level, 0)) for level in range(16))
    head = struct.pack("<IiiHHIIiiII", 40, ids.shape[1], len(ids), 1, 4, 0, len(rows), 0, 0, 16, 0)
    start = 14 + len(head) + len(palette)
    path.write_bytes(b"BM" + struct.pack("<IHHI", start + len(rows), 0, 0, start) + head + palette + rows)
    return path


def white_for_one(ids: np.ndarray) -> np.ndarray:
    """Return a mask of 0 and 255, as image editors save one of two classes."""
    return ids.astype(np.uint8) * 255
