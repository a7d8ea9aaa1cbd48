"""TIFF files of any kind of pixels, a byte at a time: those that no library writes."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

GREY_FROM_WHITE, GREY, RGB, CMYK, LAB = 0, 1, 2, 5, 8
WHOLE, SIGNED, FLOATING = 1, 2, 3


def write(
    path: Path, pixels: np.ndarray, *, means: int = GREY, numbers: int | None = None, bits: int | None = None
) -> Path:
    """Write (H, W) or (H, W, C) pixels uncompressed; with ``bits`` they are packed bytes, (H, bytes of a
    row).
    """
    height, width, channels = (*pixels.shape, 1)[:3]
    if bits:
        width = width * 8 // bits
    kind = numbers or {"u": WHOLE, "i": SIGNED, "f": FLOATING}[pixels.dtype.kind]
    data = pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()
    tags = [
        (256, 4, [width]),
        (257, 4, [height]),
        (258, 3, [bits or pixels.itemsize * 8] * channels),
        (259, 3, [1]),
        (262, 3, [means]),
        (273, 4, [0]),
    ]
    tags += [(277, 3, [channels]), (278, 4, [height]), (279, 4, [len(data)]), (339, 3, [kind] * channels)]
    long, place = b"", 8 + 2 + 12 * len(tags) + 4
    size = place + sum(2 * len(v) for _, _, v in tags if len(v) > 2)
    entries = b""
    for tag, type_, values in tags:
        packed = struct.pack(f"<{len(values)}{'HI'[type_ == 4]}", *([size] if tag == 273 else values))
        entries += struct.pack("<HHI", tag, type_, len(values))
        entries += packed.ljust(4, b"\0") if len(packed) <= 4 else struct.pack("<I", place + len(long))
        long += packed if len(packed) > 4 else b""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + long + data)
    return path
