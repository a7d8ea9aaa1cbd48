"""The code of a classifier's answer to one picture: its likeliest classes, the first first, and how sure it is of each.

Conventions: labels are the model's own numbers, -1 for "none of the classes"; probabilities are float32 in 0..1, or there are none. A code is the number of
labels and a flag, the labels as int32, then the probabilities, little-endian. Codes of one length are read together: a million in a moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from faultscape.errors import LabelMapError

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 255  # labels of one answer
NONE = -1


def encode(labels: Sequence[int] | np.ndarray, probabilities: Sequence[float] | np.ndarray | None = None) -> bytes:
    """Return the code of K labels, the likeliest first, with or without K probabilities; LabelMapError for what is no such answer.

    >>> labels, sure = decode([encode([7, 2], [0.75, 0.25]), encode([3])])
    >>> labels.tolist(), sure.tolist()
    ([[7, 2], [3, -1]], [[0.75, 0.25], [nan, nan]])
    """
    wanted = np.asarray(labels, "<i4")
    sure = None if probabilities is None else np.asarray(probabilities, "<f4")
    if wanted.ndim != 1 or not 1 <= len(wanted) <= MOST or (sure is not None and sure.shape != wanted.shape):
        raise LabelMapError(f"an answer has 1 to {MOST} labels, with a probability each or none; got {wanted.shape} labels")
    if sure is not None and not ((sure >= 0) & (sure <= 1)).all():
        raise LabelMapError(f"probabilities lie between 0 and 1; got {sure.min()} to {sure.max()}")
    return bytes((len(wanted), sure is not None)) + wanted.tobytes() + (b"" if sure is None else sure.tobytes())


def decode(codes: Sequence[bytes] | pa.BinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """Return (I, K) int32 labels and float32 probabilities of I codes, K the most labels that one has; -1 and NaN where one has fewer.

    LabelMapError when a code is damaged.
    """
    data, ends = _joined(codes)
    sizes = np.diff(ends)
    if (sizes < 6).any():
        raise LabelMapError("the code of a classifier's answer is damaged")
    count, flag = data[ends[:-1]].astype(np.int64), data[ends[:-1] + 1]
    if (count < 1).any() or (flag > 1).any() or (sizes != 2 + 4 * count * (1 + flag)).any():
        raise LabelMapError("the code of a classifier's answer is damaged")
    most = int(count.max(initial=1))
    labels = np.full((len(sizes), most), NONE, np.int32)
    sure = np.full((len(sizes), most), np.nan, np.float32)
    for k, f in sorted(set(zip(count.tolist(), flag.tolist(), strict=True))):  # few kinds of codes, each read at once
        rows = np.flatnonzero((count == k) & (flag == f))
        body = data[ends[rows][:, None] + 2 + np.arange(4 * k * (1 + f))]
        labels[rows, :k] = np.ascontiguousarray(body[:, : 4 * k]).view("<i4")
        if f:
            sure[rows, :k] = np.ascontiguousarray(body[:, 4 * k :]).view("<f4")
    return labels, sure


def first(code: bytes) -> int:
    """Return the likeliest label of one code.

    >>> first(encode([7, 2]))
    7
    """
    return int(decode([code])[0][0, 0])


def _joined(codes: Sequence[bytes] | pa.BinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """Return all bytes in one array, and where each code begins, with the end of the last."""
    if hasattr(codes, "buffers"):
        _, places, values = codes.buffers()  # type: ignore[union-attr]
        start = codes.offset  # type: ignore[union-attr]
        ends = (
            np.frombuffer(places, "<i4")[start : start + len(codes) + 1].astype(np.int64) if len(codes) else np.zeros(1, np.int64)
        )
        return np.frombuffer(values, np.uint8) if values is not None else np.zeros(0, np.uint8), ends
    ends = np.cumsum([0, *map(len, codes)])
    return np.frombuffer(b"".join(codes), np.uint8), ends  # type: ignore[arg-type]
