"""Packed sparse counts: one image of model NAME against its partners, in a few hundred bytes.

Conventions: cells (Q, n, n), row = partner, column = NAME. NAME's histogram is stored once; for each partner
only the non-zero cells off the diagonal, each as the gap since the last and the count: the diagonal is the
histogram minus the rest of its column. Numbers are base-128, low end first. ``diagonal`` codes store the
diagonal alone. A damaged code raises StudyError.

    code  = mode (0 full, 1 diagonal), n numbers of the histogram, then for each partner
    full  = number of cells + 1 (0: the partner has no map), then gap and count a cell
    diagonal = 1 (0: no map), then n numbers
"""

from __future__ import annotations

from collections.abc import Collection
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from faultscape.errors import StudyError
from faultscape.maps.kernel_choice import Kernels

if TYPE_CHECKING:
    import pyarrow as pa

_KERNELS = Kernels("faultscape.comparison.kernels.codes", seconds=4)
_A_CODE, _A_PARTNER = 1e-4, 1e-4  # seconds of the plain kernel that writes
_READING = 0.25  # the share of them that reading takes
FULL = 0
DIAGONAL = 1


def pack(cells: np.ndarray, present: np.ndarray, totals: np.ndarray) -> bytes:
    """Return the code of (Q, n, n) cells whose columns sum to ``totals`` (n,) wherever ``present`` (Q,).

    >>> cells = np.array([[[5, 1], [0, 2]]])
    >>> unpack_cells(pack(cells, np.array([True]), np.array([5, 3])), 1, 2)[0].tolist()
    [[[5, 1], [0, 2]]]
    """
    n = len(totals)
    cells = np.ascontiguousarray(cells, np.int64).reshape(-1, n, n)
    present = np.ascontiguousarray(present, bool)
    totals = np.ascontiguousarray(totals, np.int64)
    if len(cells) != len(present):
        raise ValueError(f"{len(cells)} partners, but {len(present)} say whether they are there")
    return _kernels(1, len(cells)).pack_cells(cells, present, totals).tobytes()


def pack_diagonal(both: np.ndarray, totals: np.ndarray, present: np.ndarray) -> bytes:
    """Return the code of (Q, n) intersections alone."""
    numbers = [np.array([DIAGONAL]), totals]
    for row, there in zip(both, present, strict=True):
        numbers.append(np.concatenate([[1], row]) if there else np.array([0]))
    return base128(np.concatenate(numbers)).tobytes()


def unpack_cells(code: bytes, partners: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (Q, n, n) cells and (Q,) presence of one full code."""
    numbers = _numbers(code)
    cells = np.zeros((partners, n, n), np.int64)
    present = np.zeros(partners, bool)
    off = np.flatnonzero(~np.eye(n, dtype=bool).ravel())
    totals = numbers[1 : n + 1]
    at = n + 1
    try:
        for q in range(partners):
            length = int(numbers[at]) - 1
            at += 1
            if length < 0:
                continue
            present[q] = True
            entries = numbers[at : at + 2 * length].reshape(-1, 2)
            at += 2 * length
            cells[q].ravel()[off[np.cumsum(entries[:, 0] + 1) - 1]] = entries[:, 1]
            cells[q][np.arange(n), np.arange(n)] = totals - cells[q].sum(0)
    except (IndexError, ValueError):
        raise StudyError(
            "packed counts are damaged; delete the study's pairs folder and run compare again"
        ) from None
    return cells, present


def unpack(
    column: pa.BinaryArray, partners: int, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return both (Q, I, n), rows (Q, I, n), columns (Q, I, n), totals (I, n), present (Q, I) of a whole
    Arrow column of codes.

    For diagonal codes rows are 0: the partner's own histogram has them. Void, the last of n, is treated like
    any class. StudyError if a code is damaged.
    """
    length = len(column)
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + length + 1].astype(
        np.int64
    )
    data = (
        np.frombuffer(column.buffers()[2], np.uint8)
        if column.buffers()[2] is not None
        else np.zeros(0, np.uint8)
    )
    both, rows, columns = (np.zeros((partners, length, n), np.int64) for _ in range(3))
    totals = np.zeros((length, n), np.int64)
    present = np.zeros((partners, length), np.bool_)
    if length and not _kernels(_READING * length, partners).unpack_block(
        data, offsets, both, rows, columns, totals, present
    ):
        raise StudyError("packed counts are damaged; delete the study's pairs folder and run compare again")
    return both, rows, columns, totals, present


def without(code: bytes, gone: Collection[int], partners: int, n: int) -> bytes:
    """Return a code of either kind without the partners at some places, as if they had never been there.
    StudyError if it is damaged.

    >>> cells, there = np.array([[[5, 1], [0, 2]], [[3, 3], [2, 0]]]), np.array([True, True])
    >>> without(pack(cells, there, np.array([5, 3])), {0}, 2, 2) == pack(
    ...     cells[1:], there[1:], np.array([5, 3])
    ... )
    True
    """
    data = np.frombuffer(code, np.uint8)
    numbers = _numbers(code)
    ends = np.concatenate([[0], np.flatnonzero(data < 128) + 1])  # number k lies at ends[k] to ends[k + 1]
    at = n + 1
    kept = []
    for q in range(partners):
        first = int(numbers[at]) if at < len(numbers) else -1
        after = at + 1 + (0 if first <= 0 else n if numbers[0] == DIAGONAL else 2 * (first - 1))
        if first < 0 or after > len(numbers):
            break
        if q not in gone:
            kept.append(data[ends[at] : ends[after]])
        at = after
    else:
        if at == len(numbers):
            return np.concatenate([data[: ends[n + 1]], *kept]).tobytes()
    raise StudyError("packed counts are damaged; delete the study's pairs folder and run compare again")


def base128(numbers: np.ndarray) -> np.ndarray:
    """Return non-negative numbers in bytes of seven bits, low end first; the high bit means that more
    follow.
    """
    numbers = numbers.astype(np.uint64)
    most = max(1, -(-int(numbers.max(initial=0)).bit_length() // 7))
    places = np.arange(most, dtype=np.uint64) * np.uint64(7)
    length = (numbers[:, None] >= np.uint64(1) << places[1:]).sum(1) + 1
    parts = ((numbers[:, None] >> places) & np.uint64(127)).astype(np.uint8)
    byte = np.arange(most)
    parts[byte < (length - 1)[:, None]] |= np.uint8(128)
    return parts[byte < length[:, None]]


def _numbers(code: bytes) -> np.ndarray:
    """Return the numbers of a code."""
    data = np.frombuffer(code, np.uint8)
    if not len(data) or data[-1] > 127:
        raise StudyError("packed counts are damaged; delete the study's pairs folder and run compare again")
    return numbers_of(data)


def numbers_of(data: np.ndarray) -> np.ndarray:
    """Return the numbers in bytes of which the last ends one."""
    last = np.flatnonzero(data < 128)
    first = np.concatenate([[0], last[:-1] + 1])
    place = np.arange(len(data)) - np.repeat(first, last - first + 1)
    return np.add.reduceat((data & 127).astype(np.int64) << (7 * np.minimum(place, 8)), first)


def _kernels(codes: float, partners: int) -> ModuleType:
    compiled = _KERNELS.ready(codes * (_A_CODE + partners * _A_PARTNER))
    if compiled is None:
        from faultscape.comparison.kernels import plain_codes

        return plain_codes
    return compiled
