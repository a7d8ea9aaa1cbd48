"""Read a .npy file with a known shape and number type: the header is checked first, and nothing larger is
ever allocated.

Conventions: ``error`` is the class of FaultscapeError to raise, whose message begins with the fault and does
not name the file; the caller adds the name. Links are not followed, and only regular files are read. Objects
are never loaded.
"""

from __future__ import annotations

import io
import math
import os
import stat
from collections.abc import Sequence

import numpy as np

from faultscape.errors import FaultscapeError
from faultscape.formats.guard import UNREADABLE
from faultscape.process.library_warnings import without_warnings

_WORDS = {
    "f": "floats",
    "i": "whole numbers",
    "u": "whole numbers",
    "b": "true and false",
    "c": "complex numbers",
    "O": "Python objects",
}
_HEADER = 1 << 12  # maximum bytes of the header of a numeric array
_WIDEST = 8  # bytes per number


def read_npy(
    path: str | os.PathLike[str], error: type[FaultscapeError], *, shape: Sequence[int], kinds: str
) -> np.ndarray:
    """Return the array in a file, with one of the NumPy ``kinds`` ("f", "iu") and this shape, in native byte
    order.
    """
    most = math.prod(shape) * _WIDEST + _HEADER
    data = io.BytesIO(_bytes_of(path, error, most))
    try:
        with without_warnings():
            version = np.lib.format.read_magic(data)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            found, fortran, kind = read(data)
    except UNREADABLE:
        raise error("is not a NumPy .npy file") from None
    if kind.kind not in kinds or kind.itemsize > _WIDEST:
        raise error(
            f"holds {kind if kind.kind in kinds else _WORDS.get(kind.kind, str(kind))}; expected"
            f" {_WORDS[kinds[0]]}"
        )
    if tuple(found) != tuple(shape):
        raise error(f"has the shape {_shape(found)}; expected {_shape(shape)}")
    held = data.getbuffer()[data.tell() :]
    if len(held) != math.prod(shape) * kind.itemsize:
        raise error(f"has {len(held):,} bytes of numbers; expected {math.prod(shape) * kind.itemsize:,}")
    values = np.frombuffer(held, kind).reshape(tuple(shape), order="F" if fortran else "C")
    return np.ascontiguousarray(values.astype(kind.newbyteorder("="), copy=False))


def _bytes_of(path: str | os.PathLike[str], error: type[FaultscapeError], most: int) -> bytes:
    try:
        if os.path.islink(path):
            raise error("is a link, which is not followed")
        with open(
            os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)), "rb"
        ) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise error("is not a regular file")
            if about.st_size > most:
                raise error(f"has {about.st_size:,} bytes; at most {most:,} are read")
            return file.read(most)
    except OSError as fault:
        raise error(f"cannot be read: {fault.strerror}") from None


def _shape(sides: Sequence[int]) -> str:
    return " x ".join(str(side) for side in sides) or "()"
