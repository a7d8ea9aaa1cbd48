"""The plain equivalent of codes: the same numbers, in NumPy only."""

from __future__ import annotations

import numpy as np

from faultscape.comparison import sparse_counts
from faultscape.errors import StudyError


def pack_cells(cells: np.ndarray, present: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the code of (Q, n, n) cells as bytes."""
    off = ~np.eye(len(totals), dtype=bool).ravel()
    numbers = [np.array([sparse_counts.FULL]), totals]
    for matrix, there in zip(cells, present, strict=True):
        if not there:
            numbers.append(np.array([0]))
            continue
        flat = matrix.ravel()[off]
        at = np.flatnonzero(flat)
        numbers.append(np.array([len(at) + 1]))
        numbers.append(np.stack([np.diff(at, prepend=-1) - 1, flat[at]], axis=1).ravel())
    return sparse_counts.base128(np.concatenate(numbers))


def unpack_block(
    data: np.ndarray,
    offsets: np.ndarray,
    both: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    totals: np.ndarray,
    present: np.ndarray,
) -> bool:
    """Fill both, rows, columns (Q, I, n), totals (I, n) and present (Q, I); False when a code is damaged."""
    partners, length, n = both.shape
    for i in range(length):
        code = data[offsets[i] : offsets[i + 1]].tobytes()
        try:
            numbers = sparse_counts._numbers(code)  # noqa: SLF001 - the twin of one file
            totals[i] = numbers[1 : n + 1]
            if numbers[0] == sparse_counts.DIAGONAL:
                at = n + 1
                for q in range(partners):
                    present[q, i] = numbers[at] > 0
                    at += 1
                    if present[q, i]:
                        both[q, i], columns[q, i] = numbers[at : at + n], totals[i]
                        at += n
                continue
            cells, present[:, i] = sparse_counts.unpack_cells(code, partners, n)
        except (StudyError, IndexError, ValueError):
            return False
        both[:, i] = np.diagonal(cells, axis1=1, axis2=2)
        rows[:, i], columns[:, i] = cells.sum(2), cells.sum(1)
        if (cells < 0).any():
            return False
    return True
