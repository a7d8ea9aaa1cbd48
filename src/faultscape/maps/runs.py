"""The label-map code: run lengths with vertical prediction, then zstd. Exact for any map of values 0..65535.

Conventions: a row is its runs, each an end (exclusive) and a label. Where a row has as many runs as the row above, ends are kept as differences from the
ends above and labels as exclusive-or with the labels above; otherwise ends as lengths and labels as they are. Streams of one kind lie together
(runs a row, low and high bytes of ends, labels), so that zstd sees mostly zeros. The code says its own size and is checked before a pixel is
written: a damaged or forged code raises LabelMapError.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from faultscape.errors import LabelMapError

UNKNOWN = 65535
MAX_PIXELS = 1 << 31
_HEAD = struct.Struct("<2sBBIIII")  # magic, version, bytes a label, height, width, runs, bytes of the streams
_MAGIC = b"FR"


def encode(label_map: np.ndarray, *, level: int = 3) -> bytes:
    """Return the code of an (H, W) map of whole numbers 0..65535; LabelMapError for anything else.

    >>> code = encode(np.array([[7, 7, 300]]))
    >>> decode(code).tolist(), shape(code), labels(code).tolist()
    ([[7, 7, 300]], (1, 3), [7, 300])
    """
    label_map = np.asarray(label_map)
    if label_map.ndim != 2 or label_map.size == 0 or label_map.dtype.kind not in "iub" or label_map.size >= MAX_PIXELS:
        raise LabelMapError(f"expected a label map of whole numbers, H x W; got {label_map.dtype} of shape {label_map.shape}")
    if label_map.dtype not in (np.uint8, np.uint16):
        low, high = int(label_map.min()), int(label_map.max())
        if low < 0 or high > UNKNOWN:
            raise LabelMapError(f"holds the value {low if low < 0 else high}; labels are 0 to {UNKNOWN}")
        label_map = label_map.astype(np.uint8 if high < 256 else np.uint16)
    width = label_map.dtype.itemsize
    counts, ends, values = _kernels().find_runs(np.ascontiguousarray(label_map))
    steps, marks = _kernels().predict(counts, ends, values)
    wide = _wide(label_map.shape[1])
    raw = b"".join(_planes(counts.astype(f"u{wide}"), wide) + _planes(steps.astype(f"i{wide}"), wide) + _planes(marks, width))
    head = _HEAD.pack(_MAGIC, 1, width, *label_map.shape, len(ends), len(raw))
    return head + _codec(level).compress(raw, asbytes=True)


def decode(code: bytes, table: np.ndarray | None = None) -> np.ndarray:
    """Return the (H, W) map; with ``table`` (look-up by label, UNKNOWN where a label means nothing) the map of its entries.

    Errors: LabelMapError for a damaged code, or a label that the table does not know.
    """
    height, width, ends, values = _unpack(code)
    if table is not None:
        if int(values.max()) >= len(table):
            raise LabelMapError(f"holds the label {int(values.max())}; the largest known is {len(table) - 1}")
        own, values = values, table[values]
        if table.dtype == np.uint16 and (bad := values == UNKNOWN).any():
            raise LabelMapError(f"holds the label {int(own[bad][0])}, which means nothing")
    return _kernels().fill(ends, values, height, width)


def shape(code: bytes) -> tuple[int, int]:
    """Return (H, W) without decoding."""
    _, height, width, _, _ = _head(code)
    return height, width


def labels(code: bytes) -> np.ndarray:
    """Return the sorted labels that a map holds, without making pixels."""
    values = _unpack(code)[3]
    return np.flatnonzero(np.bincount(values))


def _unpack(code: bytes) -> tuple[int, int, np.ndarray, np.ndarray]:
    """Return height, width, and each run's end and label, all checked."""
    import pyarrow as pa

    itemsize, height, width, number, size = _head(code)
    wide = _wide(width)
    expected = wide * height + (wide + itemsize) * number
    if size != expected or not height <= number <= height * width or height * width >= MAX_PIXELS:
        raise LabelMapError("the code of a label map is damaged: its sizes do not fit")
    try:
        raw = np.frombuffer(_codec(3).decompress(pa.py_buffer(code)[_HEAD.size :], size), np.uint8)
    except (OSError, pa.ArrowException) as error:
        raise LabelMapError(f"the code of a label map is damaged: {error}") from None
    first, second = wide * height, wide * (height + number)
    counts, steps = _whole(raw[:first], wide), _whole(raw[first:second], wide).view(f"i{wide}")
    marks = _whole(raw[second:], itemsize)
    ends, values = np.empty(number, np.int32), np.empty_like(marks)
    if not _kernels().restore(counts, steps, marks, width, ends, values):
        raise LabelMapError("the code of a label map is damaged: its runs do not fill its rows")
    return height, width, ends, values


def _head(code: bytes) -> tuple[int, int, int, int, int]:
    if len(code) < _HEAD.size or code[:2] != _MAGIC or code[2] != 1 or code[3] not in (1, 2):
        raise LabelMapError("these bytes are no code of a label map")
    _, _, itemsize, height, width, number, size = _HEAD.unpack_from(code)
    if not height or not width:
        raise LabelMapError("the code of a label map is damaged: it has no pixels")
    return itemsize, height, width, number, size


def _wide(width: int) -> int:
    """Return the bytes that a position in a row, or a difference of two, takes."""
    return 2 if width < 1 << 15 else 4


def _planes(values: np.ndarray, itemsize: int) -> list[bytes]:
    """Return the bytes of each significance together."""
    split = values.astype(values.dtype.newbyteorder("<"), copy=False).view(np.uint8).reshape(-1, itemsize)
    return [split[:, k].tobytes() for k in range(itemsize)]


def _whole(planes: np.ndarray, itemsize: int) -> np.ndarray:
    """Return the unsigned numbers whose bytes of each significance lie together."""
    parts = planes.reshape(itemsize, -1)
    whole = parts[0].astype(f"u{itemsize}")
    for k in range(1, itemsize):
        whole |= parts[k].astype(whole.dtype) << whole.dtype.type(8 * k)
    return whole


def _codec(level: int) -> Any:
    import pyarrow as pa

    if level not in _CODECS:
        _CODECS[level] = pa.Codec("zstd", compression_level=level)
    return _CODECS[level]


_CODECS: dict[int, Any] = {}


def _kernels() -> Any:
    try:
        from faultscape.maps import compiled
    except ImportError:
        from faultscape.maps import plain as compiled  # type: ignore[no-redef]
    return compiled
