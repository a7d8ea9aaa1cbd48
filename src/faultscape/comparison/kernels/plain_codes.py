"""The plain equivalent of codes: the same numbers, in NumPy only."""

from __future__ import annotations

import numpy as np

from faultscape.comparison import sparse_counts


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
    partners, _, n = both.shape
    begin = offsets[:-1]
    end = offsets[1:]
    if begin[0] < 0 or end[-1] > len(data) or (end <= begin).any() or (data[end - 1] > 127).any():
        return False
    held = data[begin[0] : end[-1]]
    numbers = sparse_counts.numbers_of(held)
    stop = np.cumsum(held < 128)[end - begin[0] - 1]  # the number behind each code's last one
    at = np.concatenate([[0], stop[:-1]])
    numbers = np.concatenate([numbers, np.zeros(n + 1, np.int64)])  # behind a code that is cut short
    mode = numbers[at]
    if ((mode != sparse_counts.FULL) & (mode != sparse_counts.DIAGONAL)).any():
        return False
    each = np.arange(n)
    totals[...] = numbers[at[:, None] + 1 + each]
    at += 1 + n
    for q in range(partners):
        if (at >= stop).any():
            return False
        cells = numbers[at] - 1
        at += 1
        present[q] = cells >= 0
        columns[q, present[q]] = totals[present[q]]
        thin = np.flatnonzero(present[q] & (mode == sparse_counts.DIAGONAL))
        both[q, thin] = numbers[at[thin, None] + each]
        at[thin] += n
        full = np.flatnonzero(present[q] & (mode == sparse_counts.FULL))
        many = cells[full]
        if (many > (stop - at)[full] // 2).any():
            return False
        owner = np.repeat(np.arange(len(full)), many)
        first = np.cumsum(many) - many
        where = (at[full] - 2 * first)[owner] + 2 * np.arange(len(owner))
        gap = numbers[where]
        if ((gap < 0) | (gap >= n * (n - 1))).any():
            return False
        place = np.cumsum(gap + 1) - 1
        place -= np.concatenate([[0], place + 1])[first][owner]
        if (place >= n * (n - 1)).any():
            return False
        y, x = np.divmod(place, max(1, n - 1))
        x += x >= y
        count = numbers[where + 1]
        line, beside = (
            np.bincount(owner * n + k, count, len(full) * n).reshape(-1, n).astype(np.int64) for k in (y, x)
        )
        both[q, full] = totals[full] - beside
        rows[q, full] = line + both[q, full]
        at[full] += 2 * many
        if (both[q, full] < 0).any():
            return False
    return bool((at == stop).all())
