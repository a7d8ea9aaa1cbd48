"""The code of a classifier's answer to one image: its likeliest classes, best first, with their
probabilities.

Conventions: labels are the model's own numbers, -1 for "none of the classes"; probabilities are float32 in
0..1, or there are none. A code is the number of labels and a flag, the labels as int32, then the
probabilities, little-endian. Codes of one length are decoded together, so a million take a moment.
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


def encode(
    labels: Sequence[int] | np.ndarray, probabilities: Sequence[float] | np.ndarray | None = None
) -> bytes:
    """Return the code of K labels, the likeliest first, with or without K probabilities; LabelMapError for an
    invalid answer.

    >>> labels, sure = decode([encode([7, 2], [0.75, 0.25]), encode([3])])
    >>> labels.tolist(), sure.tolist()
    ([[7, 2], [3, -1]], [[0.75, 0.25], [nan, nan]])
    """
    wanted = np.asarray(labels, "<i4")
    sure = None if probabilities is None else np.asarray(probabilities, "<f4")
    if wanted.ndim != 1 or not 1 <= len(wanted) <= MOST or (sure is not None and sure.shape != wanted.shape):
        raise LabelMapError(
            f"an answer has 1 to {MOST} labels, with a probability each or none; got {wanted.shape} labels"
        )
    if sure is not None and not ((sure >= 0) & (sure <= 1)).all():
        raise LabelMapError(f"probabilities lie between 0 and 1; got {sure.min()} to {sure.max()}")
    return (
        bytes((len(wanted), sure is not None)) + wanted.tobytes() + (b"" if sure is None else sure.tobytes())
    )


def encode_all(labels: np.ndarray, probabilities: np.ndarray | None, counts: np.ndarray) -> list[bytes]:
    """Return the codes of I answers at once: of each row of (I, K) labels the first ``counts`` (I,), with
    probabilities if all of them are known.

    LabelMapError for an invalid answer.

    >>> codes = encode_all(
    ...     np.array([[7, 2], [3, -1]]), np.array([[0.75, 0.25], [np.nan, np.nan]]), np.array([2, 1])
    ... )
    >>> codes == [encode([7, 2], [0.75, 0.25]), encode([3])]
    True
    """
    counts = np.asarray(counts, np.int64)
    out = [b""] * len(labels)
    if len(counts) and not (counts.min() >= 1 and counts.max() <= MOST):
        raise LabelMapError(f"an answer has 1 to {MOST} labels; got {counts.min()} to {counts.max()}")
    wanted = np.asarray(labels, "<i4")
    shares = (
        np.full(wanted.shape, np.nan, "<f4") if probabilities is None else np.asarray(probabilities, "<f4")
    )
    behind = np.arange(wanted.shape[1]) >= counts[:, None]
    sure = (~np.isnan(shares) | behind).all(1)
    if not ((shares >= 0) & (shares <= 1) | behind | ~sure[:, None]).all():
        raise LabelMapError("probabilities lie between 0 and 1")
    for k, f in sorted(set(zip(counts.tolist(), sure.tolist(), strict=True))):
        rows = np.flatnonzero((counts == k) & (sure == f))
        head = np.broadcast_to(np.array([k, f], np.uint8), (len(rows), 2))
        body = [
            np.ascontiguousarray(part[rows, :k]).view(np.uint8)
            for part in ((wanted, shares) if f else (wanted,))
        ]
        whole = np.concatenate([head, *body], axis=1)
        width = whole.shape[1]
        data = whole.tobytes()
        for place, row in enumerate(rows.tolist()):
            out[row] = data[place * width : (place + 1) * width]
    return out


def decode(codes: Sequence[bytes] | pa.BinaryArray, most: int = MOST) -> tuple[np.ndarray, np.ndarray]:
    """Return (I, K) int32 labels and float32 probabilities of I codes, K the largest number of labels in one,
    or ``most``; -1 and NaN where a code has fewer.

    LabelMapError if a code is damaged.
    """
    data, ends = _joined(codes)
    sizes = np.diff(ends)
    if (sizes < 6).any():
        raise LabelMapError("the code of a classifier's answer is damaged")
    count = data[ends[:-1]].astype(np.int64)
    flag = data[ends[:-1] + 1]
    if (count < 1).any() or (flag > 1).any() or (sizes != 2 + 4 * count * (1 + flag)).any():
        raise LabelMapError("the code of a classifier's answer is damaged")
    most = min(most, int(count.max(initial=1)))
    labels = np.full((len(sizes), most), NONE, np.int32)
    sure = np.full((len(sizes), most), np.nan, np.float32)
    for kind in np.unique(2 * count + flag).tolist():  # few kinds of codes, each decoded at once
        k, f = divmod(kind, 2)
        rows = np.flatnonzero(2 * count + flag == kind)
        few = min(k, most)
        labels[rows, :few] = _field(data, ends[rows] + 2, few).view("<i4")
        if f:
            sure[rows, :few] = _field(data, ends[rows] + 2 + 4 * k, few).view("<f4")
    return labels, sure


def first(code: bytes) -> int:
    """Return the likeliest label of one code.

    >>> first(encode([7, 2]))
    7
    """
    return int(decode([code])[0][0, 0])


def _field(data: np.ndarray, starts: np.ndarray, few: int) -> np.ndarray:
    """Return the bytes of ``few`` numbers that begin at each of these positions."""
    return data[starts[:, None] + np.arange(4 * few)]


def _joined(codes: Sequence[bytes] | pa.BinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """Return all bytes in one array, and where each code begins, with the end of the last."""
    if hasattr(codes, "buffers"):
        _, places, values = codes.buffers()  # type: ignore[union-attr]
        start = codes.offset  # type: ignore[union-attr]
        ends = (
            np.frombuffer(places, "<i4")[start : start + len(codes) + 1].astype(np.int64)
            if len(codes)
            else np.zeros(1, np.int64)
        )
        return np.frombuffer(values, np.uint8) if values is not None else np.zeros(0, np.uint8), ends
    ends = np.cumsum([0, *map(len, codes)])
    return np.frombuffer(b"".join(codes), np.uint8), ends  # type: ignore[arg-type]
