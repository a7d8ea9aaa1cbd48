"""Files with one bit flipped, as a failing disk leaves them."""

from __future__ import annotations

from pathlib import Path


def flipped(data: bytes, place: int, bit: int = 4) -> bytes:
    """Return the same bytes with one bit of one of them flipped."""
    out = bytearray(data)
    out[place] ^= 1 << bit
    return bytes(out)


def flip(path: Path, place: int = -5) -> bytes:
    """Flip a bit of a file, by default in the last number that it holds, and return the bytes of before."""
    whole = path.read_bytes()
    path.write_bytes(flipped(whole, place))
    return whole
