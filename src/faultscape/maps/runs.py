"""The label-map code: runs of a row relative to the runs of the row above, then zstd. Exact for any map of
values 0..65535.

Conventions: a row is its runs, each an end (exclusive) and a label. Most rows are the row above with a few
ends moved by a pixel: they take one byte per run; if runs come and go, a row is encoded as operations on the
runs above; rows of noise are stored as pixels (see maps.kernels.plain_rows). Streams of one kind are stored
together, so that zstd sees mostly zeros. The code holds its own size and a checksum, and is checked before a
pixel is written: a damaged or forged code raises LabelMapError.

``code`` is what ``encode`` returned. ``label_map`` (H, W) holds labels. ``level`` is the compression level of
Zstandard.
"""

from __future__ import annotations

import struct
import threading
import zlib
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import zstandard

from faultscape.errors import LabelMapError
from faultscape.maps.kernel_choice import Kernels
from faultscape.maps.kernels import plain_rows

UNKNOWN = 65535
MAX_PIXELS = 1 << 31
# magic, version, bytes per label, height, width, widest row, ops, labels, lengths
_HEAD = struct.Struct("<2sBBIIIIII")
_KERNELS = Kernels("faultscape.maps.kernels.rows", seconds=5, each_map=True)
_A_RUN = 1e-5  # seconds of the plain loops
_SUM = struct.Struct("<I")  # checksum of everything before and after it
_MAGIC = b"FR"
_VERSION = 2


def encode(label_map: np.ndarray, *, level: int = 3) -> bytes:
    """Return the code of an (H, W) map of integers 0..65535; LabelMapError for anything else.

    >>> code = encode(np.array([[7, 7, 300]]))
    >>> decode(code).tolist(), shape(code), labels(code).tolist()
    ([[7, 7, 300]], (1, 3), [7, 300])
    """
    return encode_with_labels(label_map, level=level)[0]


def encode_with_labels(label_map: np.ndarray, *, level: int = 3) -> tuple[bytes, np.ndarray]:
    """Return the code of a map as `encode` does, and its sorted labels as `labels` does, without reading the
    code again.

    >>> encode_with_labels(np.array([[7, 7, 300]]))[1].tolist()
    [7, 300]
    """
    label_map = np.asarray(label_map)
    if (
        label_map.ndim != 2
        or label_map.size == 0
        or label_map.dtype.kind not in "iub"
        or label_map.size >= MAX_PIXELS
    ):
        raise LabelMapError(
            f"expected a label map of whole numbers, H x W; got {label_map.dtype} of shape {label_map.shape}"
        )
    if label_map.dtype not in (np.uint8, np.uint16):
        low = int(label_map.min())
        high = int(label_map.max())
        if low < 0 or high > UNKNOWN:
            raise LabelMapError(f"holds the value {low if low < 0 else high}; labels are 0 to {UNKNOWN}")
        label_map = label_map.astype(np.uint8 if high < 256 else np.uint16)
    label_map = np.ascontiguousarray(label_map, label_map.dtype.newbyteorder("="))
    height, width = label_map.shape
    label_map = label_map.view()
    label_map.flags.writeable = False  # one type for numba, whoever gives it
    counts, ends, values = plain_rows.find_runs(label_map)
    ways = np.empty(height, np.uint8)
    ops = np.empty(2 * len(ends) + 1, np.uint8)
    new = np.empty(3 * len(ends) + 9, label_map.dtype)
    lengths = np.empty(len(ends), np.uint32)
    # a row of more runs than that is noise, and copied whole
    told = int(counts[3 * counts <= width].sum()) + height
    n_ops, n_labels, n_lengths, widest = _kernels(told * _A_RUN).tell_rows(
        label_map, counts, ends, values, ways, ops, new, lengths
    )
    itemsize = label_map.dtype.itemsize
    wide = _wide(width)
    streams = [ways, ops[:n_ops], *_apart(new[:n_labels], itemsize), *_apart(lengths[:n_lengths], wide)]
    start = _HEAD.pack(_MAGIC, _VERSION, itemsize, height, width, widest, n_ops, n_labels, n_lengths)
    packed = _codec.compress(b"".join(stream.tobytes() for stream in streams), level)
    code = start + _SUM.pack(zlib.crc32(packed, zlib.crc32(start))) + packed
    return code, np.flatnonzero(np.bincount(values))


def decode(code: bytes, table: np.ndarray | None = None, out: np.ndarray | None = None) -> np.ndarray:
    """Return the (H, W) map; with ``table`` (look-up by label, with its type's largest value for undefined
    labels) the map of its entries.

    The map is uint8 or uint16 as it was encoded, or of the table's type. It is drawn into ``out``, if that
    has its shape and type: new memory costs more time than the drawing. Errors: LabelMapError for a damaged
    code, or a label that is undefined in the table.
    """
    head, raw = _streams(code)
    itemsize, height, width = head[:3]
    known = _same(itemsize) if table is None else np.ascontiguousarray(table)
    unknown = -1 if table is None else int(np.iinfo(known.dtype).max)
    if out is None or out.shape != (height, width) or out.dtype != known.dtype or not out.flags.c_contiguous:
        try:
            out = np.empty((height, width), known.dtype)
        except MemoryError:
            raise LabelMapError(f"a label map of {height} x {width} does not fit into memory") from None
    drawn = head[4] + head[5]
    state, label = _kernels(drawn * _A_RUN).draw_rows(
        raw, *head, _wide(width), known, unknown, out.reshape(-1)
    )
    if state == plain_rows.GOOD:
        return out
    if state == plain_rows.DAMAGED:
        raise LabelMapError("the code of a label map is damaged: its runs do not fill its rows")
    if label >= len(known):
        raise LabelMapError(f"holds the label {label}; the largest known is {len(known) - 1}")
    raise LabelMapError(f"holds the label {label}, which means nothing")


def shape(code: bytes) -> tuple[int, int]:
    """Return (H, W) without decoding; LabelMapError if the code has no head.

    >>> shape(encode(np.zeros((2, 5), int)))
    (2, 5)
    """
    _, height, width, *_ = _head(code)
    return height, width


def labels(code: bytes) -> np.ndarray:
    """Return the sorted labels of a map, without decoding pixels; LabelMapError for a damaged code.

    >>> labels(encode(np.array([[3, 3], [3, 1]]))).tolist()
    [1, 3]
    """
    (itemsize, height, _, _, n_ops, n_labels, _), raw = _streams(code)
    told = raw[height + n_ops : height + n_ops + itemsize * n_labels].reshape(itemsize, -1).astype(np.int64)
    return np.flatnonzero(np.bincount(told[0] if itemsize == 1 else told[0] | told[1] << 8))


def _head(code: bytes) -> tuple[int, ...]:
    """Return bytes per label, height, width, runs of the widest row, and the numbers of ops, labels and
    lengths.
    """
    if (
        len(code) < _HEAD.size + _SUM.size
        or code[:2] != _MAGIC
        or code[2] != _VERSION
        or code[3] not in (1, 2)
    ):
        raise LabelMapError("these bytes are not the code of a label map")
    head = _HEAD.unpack_from(code)[2:]
    if not head[1] or not head[2]:
        raise LabelMapError("the code of a label map is damaged: it has no pixels")
    return head


def _streams(code: bytes) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the head and all streams, after checking their sizes and the checksum."""
    head = itemsize, height, width, widest, n_ops, n_labels, n_lengths = _head(code)
    pixels = height * width
    fits = pixels < MAX_PIXELS and n_ops <= 2 * pixels and 0 < n_labels <= pixels and n_lengths <= pixels
    if not fits or not 0 < widest <= max(1, min(width, n_ops)):
        raise LabelMapError("the code of a label map is damaged: its sizes do not fit")
    packed = code[_HEAD.size + _SUM.size :]
    if _SUM.unpack_from(code, _HEAD.size)[0] != zlib.crc32(packed, zlib.crc32(code[: _HEAD.size])):
        raise LabelMapError("the code of a label map is damaged: its checksum is wrong")
    size = height + n_ops + itemsize * n_labels + _wide(width) * n_lengths
    return head, np.frombuffer(_codec.decompress(packed, size), np.uint8)


def _wide(width: int) -> int:
    """Return the number of bytes for the length of a run."""
    return 1 if width < 1 << 8 else 2 if width < 1 << 16 else 4


def _apart(values: np.ndarray, itemsize: int) -> list[np.ndarray]:
    """Return the bytes of each significance, lowest first, of numbers that fit ``itemsize`` bytes."""
    return [
        (values >> np.array(8 * k, values.dtype)).astype(np.uint8) if k else values.astype(np.uint8)
        for k in range(itemsize)
    ]


def _same(itemsize: int) -> np.ndarray:
    """Return the table that leaves every label unchanged."""
    if itemsize not in _SAME:
        dtype = np.uint8 if itemsize == 1 else np.uint16
        _SAME[itemsize] = np.arange(256**itemsize, dtype=dtype)
    return _SAME[itemsize]


class _Codec(threading.local):
    """zstd with one context per thread: making one costs as much as a map."""

    def compress(self, raw: bytes, level: int) -> bytes:
        if level not in self._writers:
            self._writers[level] = zstandard.ZstdCompressor(level=level)
        return self._writers[level].compress(raw)

    def decompress(self, packed: bytes, size: int) -> bytes:
        """Return the ``size`` bytes; the frame's stated size is checked before memory is allocated."""
        try:
            if zstandard.frame_content_size(packed) == size:
                return self._reader.decompress(packed)
            reason = "its streams have another length than its head says"
        except (zstandard.ZstdError, MemoryError) as error:
            reason = str(error)
        raise LabelMapError(f"the code of a label map is damaged: {reason}")

    @cached_property
    def _writers(self) -> dict[int, Any]:
        return {}

    @cached_property
    def _reader(self) -> Any:
        return zstandard.ZstdDecompressor()


_codec = _Codec()
_SAME: dict[int, np.ndarray] = {}


def _kernels(seconds: float = 0.0) -> ModuleType:
    return _KERNELS.ready(seconds) or plain_rows
