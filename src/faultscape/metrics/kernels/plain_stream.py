"""The kernels of score_stream in NumPy alone: the fallback where numba cannot be imported, and the twins that
tests compare the compiled ones with.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.scores.detection import distinct


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
