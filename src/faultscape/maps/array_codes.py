"""The code of an array of numbers: bytes of equal significance side by side, differences along the last axis
for integers, then zstd.

Conventions: uint8, uint16, float16, float32, little-endian, up to four axes. The code holds type and shape,
has a checksum, and is checked before anything is decoded: a damaged or forged code raises LabelMapError.
"""

from __future__ import annotations

import math
import struct
import threading
import zlib

import numpy as np
import zstandard

from faultscape.errors import LabelMapError

_KINDS = ("|u1", "<u2", "<f2", "<f4")
_HEAD = struct.Struct("<2sBB4I")  # magic, kind, axes, shape
_SUM = struct.Struct("<I")
_MAGIC = b"FA"
MOST = 1 << 33  # bytes of one array
_local = threading.local()


def encode(array: np.ndarray, *, level: int = 1) -> bytes:
    """Return the code of an array; LabelMapError for an unsupported type or number of axes.

    >>> decode(encode(np.array([[1.5, 2.0]], np.float16))).tolist()
    [[1.5, 2.0]]
    """
    array = np.asarray(array)
    kind = array.dtype.newbyteorder("<").str
    if kind not in _KINDS or not 1 <= array.ndim <= 4 or array.size == 0 or array.nbytes >= MOST:
        raise LabelMapError(
            f"expected uint8, uint16, float16 or float32 of one to four axes; got {array.dtype} of shape"
            f" {array.shape}"
        )
    array = np.ascontiguousarray(array, kind)
    head = _HEAD.pack(_MAGIC, _KINDS.index(kind), array.ndim, *array.shape, *[1] * (4 - array.ndim))
    if array.dtype.kind == "u":
        array = np.diff(array, axis=-1, prepend=array.dtype.type(0))
    planes = array.reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T
    packed = _codecs(level)[0].compress(np.ascontiguousarray(planes))
    return head + _SUM.pack(zlib.crc32(packed, zlib.crc32(head))) + packed


def decode(code: bytes) -> np.ndarray:
    """Return the array of a code; LabelMapError if it is damaged."""
    start = _HEAD.size + _SUM.size
    try:
        magic, number, axes, *sizes = _HEAD.unpack_from(code)
        (total,) = _SUM.unpack_from(code, _HEAD.size)
        kind = np.dtype(_KINDS[number])
        shape = tuple(sizes[:axes])
        size = math.prod(sizes) * kind.itemsize
        whole = zlib.crc32(code[start:], zlib.crc32(code[: _HEAD.size])) == total
        sound = (
            magic == _MAGIC
            and 1 <= axes <= 4
            and size < MOST
            and zstandard.frame_content_size(code[start:]) == size
        )
        if not (whole and sound and size):
            raise ValueError  # noqa: TRY301 - said below, as all damage is
        raw = _codecs(1)[1].decompress(code[start:])
        planes = np.frombuffer(raw, np.uint8).reshape(kind.itemsize, -1)
        # ValueError if its size differs from the stated one
        array = np.ascontiguousarray(planes.T).view(kind).reshape(shape)
    except (ValueError, IndexError, struct.error, zstandard.ZstdError, MemoryError):
        raise LabelMapError("the code of an array is damaged") from None
    return np.cumsum(array, axis=-1, dtype=kind) if kind.kind == "u" else array


def _codecs(level: int) -> tuple:
    """Return this thread's compressor and decompressor, which must not be shared between threads."""
    held = getattr(_local, "codecs", None)
    if held is None:
        held = _local.codecs = {}
    if level not in held:
        held[level] = (zstandard.ZstdCompressor(level=level), zstandard.ZstdDecompressor())
    return held[level]
