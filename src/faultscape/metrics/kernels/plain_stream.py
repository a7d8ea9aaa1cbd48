"""The kernels of score_stream in NumPy alone: the fallback where numba cannot be imported, and the twins that
tests compare the compiled ones with.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.kernels.plain_ranks import distinct


def gather(
    score: np.ndarray,
    anomaly: np.ndarray,
    only_anomalous: bool,
    void: int,
    low: float,
    high: float,
    out: np.ndarray,
    at: int,
) -> int:
    """Write the scores in [low, high) of the anomalous pixels, or of all pixels that are not void, to out
    from place ``at``; return the place after the last.
    """
    chosen = score[
        ((anomaly == 1) if only_anomalous else (anomaly != void)) & (score >= low) & (score < high)
    ]
    out[at : at + len(chosen)] = chosen
    return at + len(chosen)


def count_between(values: np.ndarray, marks: np.ndarray, up_to: np.ndarray, equal: np.ndarray) -> None:
    """Add, for each mark, how many of the ascending values lie above the previous mark and up to it (and
    beyond the last mark), and how many equal it.
    """
    if len(marks) <= len(values):  # look up the shorter array in the longer
        first = values.searchsorted(marks, "left")
        end = values.searchsorted(marks, "right")
        up_to += np.diff(end, prepend=0, append=len(values)).astype(up_to.dtype)
        equal += (end - first).astype(equal.dtype)
    else:
        place = marks.searchsorted(values, "left")
        ids, counts = distinct(place)
        up_to[ids] += counts.astype(up_to.dtype)
        ids, counts = distinct(place[marks.take(place, mode="clip") == values])
        equal[ids] += counts.astype(equal.dtype)


def count_equal(values: np.ndarray, marks: np.ndarray, equal: np.ndarray) -> None:
    """Add how many of the ascending values equal each mark; every value is a mark."""
    values, counts = distinct(values)
    equal[marks.searchsorted(values)] += counts.astype(equal.dtype)


def union(marks: np.ndarray, values: np.ndarray, out: np.ndarray) -> int:
    """Write the distinct numbers of ascending marks and ascending values to out, in order; return their
    count.
    """
    both, _ = distinct(np.sort(np.concatenate([marks, values])))
    out[: len(both)] = both
    return len(both)


def _keys(bits: np.ndarray) -> np.ndarray:
    """Return whole numbers in the order of the float32 with these bits; minus zero is zero."""
    bits = np.where(bits == 0x80000000, np.uint32(0), bits)
    return np.where(bits >= 0x80000000, ~bits, bits | np.uint32(0x80000000))


def count_tops(bits: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> None:
    """Add to counts (2, 65536) the pixels labelled 0 and 1 by the upper half of the keys of their scores."""
    for label in (0, 1):
        counts[label] += np.bincount(_keys(bits[labels == label]) >> 16, minlength=1 << 16)


def place(
    bits: np.ndarray,
    labels: np.ndarray,
    slots: np.ndarray,
    raw: np.ndarray,
    at: np.ndarray,
    cells: np.ndarray,
    n: int,
) -> int:
    """Write from place ``n`` on the cells of pixels labelled 0 and 1 in tables (T, 2, 65536) of the upper
    halves of their keys, or, where ``slots`` holds -2 for a table, their keys to raw (2, R) from ``at`` on;
    return the place after the last cell.
    """
    for label in (0, 1):
        keys = _keys(bits[labels == label])
        slot = slots[keys >> 16]
        sparse = keys[slot == -2]
        room = raw[label, at[label] :]
        room[: len(sparse)] = sparse[: len(room)]
        at[label] += len(sparse)
        dense = slot >= 0
        end = n + int(np.count_nonzero(dense))
        cells[n:end] = slot[dense].astype(np.uint32) << 17 | np.uint32(label << 16) | keys[dense] & 0xFFFF
        n = end
    return n


def tally(cells: np.ndarray, counts: np.ndarray, full: np.ndarray) -> int:
    """Count each of the cells in uint8, and write those that begin again at 0 after 255 to ``full``; return
    how many these are.
    """
    used, times = distinct(np.sort(cells))
    times = times + counts[used]
    counts[used] = times & 255
    again = used.repeat(times >> 8)
    full[: len(again)] = again
    return len(again)


def sweep(
    table: np.ndarray,
    more: np.ndarray,
    low: int,
    hits: int,
    reach: int,
    rows: tuple[np.ndarray, ...],
    k: int,
) -> int:
    """Write rows (keys, hits, reach, above) from place ``k`` of the cells of a table (2, 65536), highest
    first, to which ``more`` is added; ``hits`` and ``reach`` are the pixels above. Return the place after the
    last row.
    """
    counts = (table + more)[:, ::-1]
    cells = np.flatnonzero(counts[1])
    known = reach + np.cumsum(counts[0])
    end = k + len(cells)
    columns = (
        low + 65535 - cells,
        hits + np.cumsum(counts[1])[cells],
        known[cells],
        (known - counts[0])[cells],
    )
    for out, values in zip(rows, columns, strict=True):
        out[k:end] = values
    return end
