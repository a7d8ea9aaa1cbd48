"""Exact AP, AUROC and FPR of scores that do not fit in memory: passes over chunks, constant memory.

Conventions: ``chunks`` is a callable that returns a fresh iterator of (score, anomaly) or (score, anomaly,
name), with the same pixels at every call. Scores are compared in 32 bits where that is exact, and in 64 from
the first chunk that needs it (`exact_floats`); none are rounded. The first pass collects the distinct scores
of the anomalous pixels, the second counts all pixels between them. At most ``limit`` distinct scores are
held, at worst about 60 bytes each in 32 bits and 90 in 64 (in all a quarter of a GB where anomalies are rare,
.7 at worst, 1 in 64 bits), whatever the number of pixels. If anomalous pixels have more, the scores are
counted in ranges, highest first: in 64 bits, and where regions are requested, the highest ``limit`` are
counted in the next pass while the next ``limit`` below are collected, and so on, which takes 1 +
ceil(distinct scores / limit) passes. In 32 bits one pass counts the upper halves of all scores, and the next
both kinds of pixels at every float32 that shares its upper half with an anomalous pixel, in a byte each (the
few scores of rare upper halves are kept as they are): three passes, or more where they do not fit in memory.
Results equal those of ``detection`` to the last bit, with any limit and any cut into chunks; only the curves
are thinned (``rank_counts``).
Source: own; average precision depends only on how many pixels lie above each anomalous one, and anomalies are
few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from faultscape.choices import Connectivity, FprRule
from faultscape.errors import MetricError
from faultscape.metrics.scores.counts import Detection, Rows, check_rule, summarise
from faultscape.metrics.scores.detection import rows_of_sorted
from faultscape.metrics.scores.inputs import VOID, check_finite, check_mask, exact_floats, flat, sort
from faultscape.metrics.scores.region_overlap import LIMIT as FPR_LIMIT
from faultscape.metrics.scores.region_overlap import region_shares

LIMIT = 1 << 23
_BUFFER = (
    16_000_000  # values sorted at once; of a power of two, all parts would meet in one place of the cache
)
_SLICE = 1 << 16
_ROWS = 1 << 18
_NARROW = np.dtype(np.float32)
_TABLE = 1 << 16
_MANY = 1 << 15  # pixels of an upper half from which on a table takes less memory than their keys
_BYTES = 48  # of tables and keys, for each distinct score that may be held
_CELLS = 1 << 32  # of all tables, each a byte

Chunks = Callable[[], Iterable[Sequence[Any]]]


def stream(
    chunks: Chunks,
    *,
    void: int = VOID,
    fpr_rule: FprRule = "first",
    recall: float = 0.95,
    limit: int = LIMIT,
    connectivity: Connectivity | None = None,
    fpr_limit: float = FPR_LIMIT,
    alarm: float = 0.05,
) -> Detection:
    """Return the ``detection`` of all chunks' pixels together, in memory that does not grow with them.

    With a ``connectivity``, each chunk is an image (H, W) and ``aupro`` is measured up to ``fpr_limit``. Bad
    scores and masks raise MetricError with the name of the chunk.

    >>> parts = [
    ...     (np.array([0.1, 0.4]), np.array([0, 0])),
    ...     (np.array([0.35, 0.8, 0.9]), np.array([1, 1, 255])),
    ... ]
    >>> d = stream(lambda: iter(parts))
    >>> round(d.average_precision, 4), d.auroc, d.fpr95
    (0.8333, 0.75, 0.5)
    """
    check_rule(fpr_rule, recall)
    if not callable(chunks):
        raise MetricError(
            f"chunks is {type(chunks).__name__}; expected a function that gives a fresh iterator at every"
            " call"
        )
    found = _Highest(limit, void)
    span = (np.inf, -np.inf)
    judged = 0
    positives = 0
    narrow = connectivity is None
    for score, anomaly, where, _ in _flat(chunks, void):
        ends, known, anomalous = _first_look(score, anomaly, void, where)
        span = (min(span[0], ends[0]), max(span[1], ends[1]))
        judged = judged + known + anomalous
        positives = positives + anomalous
        narrow = narrow and score.dtype == _NARROW
        if not (narrow and found.cut):
            found.add(score, anomaly)
        elif found.whole:
            found.whole = False  # tables will count them, unless a wider chunk is still to come
    span = span if judged else (np.nan, np.nan)
    if narrow and found.cut:
        del found
        blocks = _from_tables(chunks, void, limit, judged)
    else:
        if not found.whole:
            found = _Highest(limit, void, kind=found.kind)
            for score, anomaly, _, _ in _flat(chunks, void):
                found.add(score, anomaly)
        found.settle()
        blocks = _ranges(chunks, void, found, judged, connectivity)
    return summarise(
        blocks,
        positives,
        judged - positives,
        span=span,
        fpr_rule=fpr_rule,
        recall=recall,
        thin=True,
        fpr_limit=fpr_limit,
        alarm=alarm,
    )


class _Buffer:
    """Scores waiting to be sorted: of anomalous pixels or of all but void ones, in [``low``, ``high``)."""

    def __init__(
        self, only_anomalous: bool, void: int, low: float, high: float, size: int, kind: np.dtype
    ) -> None:
        self.only, self.void, self.low, self.high = only_anomalous, void, kind.type(low), kind.type(high)
        self.size, self.values, self.waiting = size, np.empty(size + _SLICE, kind), 0

    def fill(self, score: np.ndarray, anomaly: np.ndarray) -> Iterator[np.ndarray]:
        """Add a chunk; yield the buffered scores, in ascending order, whenever the buffer is full."""
        whole = self.low == -np.inf and self.high == np.inf
        if self.only:
            anomalous = anomaly == 1
            few = 20 * np.count_nonzero(anomalous) < len(score)
            if few:  # faster to select first
                score = score[anomalous]
                anomaly = anomaly if whole else anomaly[anomalous]
            whole &= few
        else:
            whole &= not np.count_nonzero(anomaly == self.void)
        for start in range(0, len(score), _SLICE):
            if self.waiting > self.size:
                yield self.empty()
            part = score[start : start + _SLICE]
            if whole:
                self.values[self.waiting : self.waiting + len(part)] = part
                self.waiting += len(part)
            else:
                self.waiting = _kernels().gather(
                    part,
                    anomaly[start : start + _SLICE],
                    self.only,
                    self.void,
                    self.low,
                    self.high,
                    self.values,
                    self.waiting,
                )

    def widen(self, kind: np.dtype) -> None:
        """Hold buffered and future scores in a wider type."""
        values, self.values = self.values, np.empty(len(self.values), kind)
        self.values[: self.waiting] = values[: self.waiting]
        self.low, self.high = kind.type(self.low), kind.type(self.high)

    def empty(self) -> np.ndarray:
        """Return the buffered scores, in ascending order."""
        values = self.values[: self.waiting]
        self.waiting = 0
        sort(values)
        return values


class _Highest:
    """The highest ``limit`` distinct scores of anomalous pixels below ``top``, from chunks in any order;
    ``cut`` says that there are more.

    ``kind`` is the type they are held in: float32 until a chunk of float64 arrives.
    """

    def __init__(self, limit: int, void: int, top: float = np.inf, kind: np.dtype = _NARROW) -> None:
        self.limit = max(int(limit), 1)
        self.top = top
        self.cut = False
        self.whole = True  # whether no chunk was left out
        self.kind = kind
        self.values, self.spare = np.empty(0, kind), np.empty(0, kind)
        self.buffer = _Buffer(
            only_anomalous=True, void=void, low=-np.inf, high=top, size=_BUFFER // 4, kind=kind
        )

    def add(self, score: np.ndarray, anomaly: np.ndarray) -> None:
        """Add a chunk, dropping scores that cannot be among the highest."""
        if score.dtype.itemsize > self.kind.itemsize:
            self._widen(score.dtype)
        for values in self.buffer.fill(score.astype(self.kind, copy=False), anomaly):
            self._merge(values)

    def _widen(self, kind: np.dtype) -> None:
        """Hold all scores in a wider type, which keeps the values held so far."""
        self.kind, self.values, self.spare = kind, self.values.astype(kind), np.empty(0, kind)
        self.buffer.widen(kind)

    def settle(self) -> None:
        """Add the buffered scores, and free the memory used for collecting."""
        self._merge(self.buffer.empty())
        self.values, self.spare, self.buffer.values = (
            self.values.copy(),
            np.empty(0, self.kind),
            np.empty(0, self.kind),
        )

    def _merge(self, values: np.ndarray) -> None:
        room = len(self.values) + len(values)
        out = (
            self.spare
            if len(self.spare) >= room
            else np.empty(min(2 * room, self.limit + len(self.buffer.values)), self.kind)
        )
        n = _kernels().union(self.values, values, out)
        self.spare = self.values.base if self.values.base is not None else self.values
        self.values = out[max(0, n - self.limit) : n]
        if n > self.limit or self.cut:
            self.cut = True
            self.buffer.low = self.values[0]


def _ranges(
    chunks: Chunks, void: int, found: _Highest, judged: int, connectivity: Connectivity | None = None
) -> Iterator[Rows]:
    """Yield blocks of rows, scores descending; each pass counts one range of scores and collects the next, if
    any.
    """
    hits = higher = 0
    while len(found.values):
        following = _Highest(found.limit, void, float(found.values[0]), found.kind) if found.cut else None
        shares = None if connectivity is None else _Shares(found, connectivity)
        own, up_to, equal = _count(chunks, void, found, following, judged, shares)
        for high in range(len(found.values), 0, -_ROWS):
            part = slice(max(0, high - _ROWS), high)
            mine = own[part][::-1].astype(np.int64)
            # everything above a score: pixels above the range, and between the marks above the score
            above = higher + np.cumsum(up_to[part.start + 1 : high + 1][::-1], dtype=np.int64)
            through = hits + np.cumsum(mine)
            share = np.empty(0) if shares is None else shares.sums[part][::-1]
            yield Rows(
                found.values[part][::-1],
                through,
                above + equal[part][::-1] - through,
                above - (through - mine),
                share,
            )
            hits = int(through[-1])
            higher = int(above[-1])
        higher += int(up_to[0])
        if following is None:
            return
        following.settle()
        found = following


class _Shares:
    """Sums, at each score of a range, of the shares that anomalous pixels with that score are of their
    regions.
    """

    def __init__(self, found: _Highest, connectivity: Connectivity) -> None:
        self.marks = found.values
        self.top = found.top
        self.connectivity: Connectivity = connectivity
        self.sums = np.zeros(len(found.values))

    def add(self, score: np.ndarray, anomaly: np.ndarray, shape: tuple[int, ...]) -> None:
        """Add an image, flat as its scores are compared."""
        anomalous = anomaly == 1
        share = region_shares(anomalous.reshape(shape), self.connectivity)
        values = score[anomalous]
        order = np.argsort(values, kind="stable")
        values = values[order]
        share = share[order]
        part = slice(*values.searchsorted(np.array([self.marks[0], self.top], values.dtype)))
        values = values[part]
        share = share[part]
        starts = (
            np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if len(values) else np.zeros(0, np.int64)
        )
        if len(starts):
            self.sums[self.marks.searchsorted(values[starts])] += np.add.reduceat(share, starts)


def _count(
    chunks: Chunks,
    void: int,
    found: _Highest,
    following: _Highest | None,
    judged: int,
    shares: _Shares | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for each score of ``found``, the anomalous pixels with it, all pixels above the previous score
    and up to it, and all pixels with it; fill ``following`` and ``shares``.
    """
    marks = found.values
    low = found.values[0] if found.cut else -np.inf
    kind = np.uint32 if judged < 1 << 32 else np.int64
    own = np.zeros(len(marks), kind)
    up_to = np.zeros(len(marks) + 1, kind)
    equal = np.zeros(len(marks), kind)
    # gather many values per mark, because a mark costs more than a value
    size = min(max(16 * len(marks), _BUFFER // 64), _BUFFER, judged)
    everything = _Buffer(only_anomalous=False, void=void, low=low, high=found.top, size=size, kind=found.kind)
    anomalous = _Buffer(
        only_anomalous=True, void=void, low=low, high=found.top, size=min(size, _BUFFER // 4), kind=found.kind
    )
    seen = 0
    for given, anomaly, _, shape in _flat(chunks, void):
        score = given.astype(found.kind, copy=False)
        seen += len(score) - int(np.count_nonzero(anomaly == void))
        for values in everything.fill(score, anomaly):
            _kernels().count_between(values, marks, up_to, equal)
        for values in anomalous.fill(score, anomaly):
            _kernels().count_equal(values, marks, own)
        if following is not None:
            following.add(score, anomaly)
        if shares is not None:
            shares.add(score, anomaly, shape)
    _check_same(judged, seen)
    _kernels().count_between(everything.empty(), marks, up_to, equal)
    _kernels().count_equal(anomalous.empty(), marks, own)
    return own, up_to, equal


def _flat(chunks: Chunks, void: int) -> Iterator[tuple[np.ndarray, np.ndarray, str, tuple[int, ...]]]:
    """Yield (scores in float32 or float64, mask, name, shape) of each chunk, flat."""
    for chunk in chunks():
        given: list[Any] = list(chunk)
        where = str(given[2]) if len(given) > 2 else ""
        score, anomaly = flat(given[0], given[1], where)
        yield (
            exact_floats(score, anomaly != void if score.dtype.kind in "iu" else None, where),
            anomaly,
            where,
            np.shape(given[1]),
        )


def _first_look(
    score: np.ndarray, anomaly: np.ndarray, void: int, where: str
) -> tuple[tuple[float, float], int, int]:
    """Return the (smallest, largest) score and how many pixels are known and anomalous; MetricError for
    invalid input.
    """
    known = int(np.count_nonzero(anomaly == 0))
    anomalous = int(np.count_nonzero(anomaly == 1))
    if known + anomalous < len(score):
        check_mask(anomaly, void, where)
        score = score[anomaly != void]
    if not len(score):
        return (np.inf, -np.inf), 0, 0
    low, high = float(score.min()), float(score.max())  # NaN spreads through both
    if not (np.isfinite(low) and np.isfinite(high)):
        check_finite(np.sort(score), where)
    return (low, high), known, anomalous


def _from_tables(chunks: Chunks, void: int, limit: int, judged: int) -> Iterator[Rows]:
    """Yield blocks of rows, scores descending, of float32 scores whose anomalous pixels have many distinct
    ones: counts of every number in the tables of the upper halves of keys that hold many pixels.
    """
    tops = np.zeros((2, _TABLE), np.int64)
    for score, anomaly, _, _ in _flat(chunks, void):
        _kernels().count_tops(score.view(np.uint32), anomaly, tops)
    _check_same(judged, int(tops.sum()))
    places = np.flatnonzero(tops[1])[::-1]
    size = np.cumsum(np.minimum(4 * tops[:, places].sum(0), 2 * _TABLE))  # bytes
    start = 0
    while start < len(places):
        room = min(_BYTES * limit, _CELLS) + (size[start - 1] if start else 0)
        end = max(start + 1, int(size.searchsorted(room, "right")))
        yield from _Tables(tops, places[start:end], chunks, void).rows()
        start = end


class _Tables:
    """Counts of anomalous and known pixels at every float32 of some upper halves of keys, ``places``."""

    def __init__(self, tops: np.ndarray, places: np.ndarray, chunks: Chunks, void: int) -> None:
        self.places, self.tops = places, tops
        self.above = np.cumsum(tops[:, ::-1], axis=1)[:, ::-1] - tops
        many = tops[:, places].sum(0) > _MANY
        self.slots = np.full(_TABLE, -1, np.int32)
        self.slots[places[~many]] = -2
        self.slots[places[many]] = np.arange(np.count_nonzero(many))
        self.tables = np.zeros((np.count_nonzero(many), 2, _TABLE), np.uint8)
        few = tops[:, places[~many]].sum(1)
        raw = np.empty((2, max(few)), np.uint32)
        at = np.zeros(2, np.int64)
        self.full, self.times = np.empty(0, np.uint32), np.empty(0, np.int64)
        self.waiting: list[np.ndarray] = []
        cells = np.empty(_BUFFER // 2 + _SLICE, np.uint32)
        n = 0
        for score, anomaly, _, _ in _flat(chunks, void):
            bits = score.view(np.uint32)
            for start in range(0, len(bits), _SLICE):
                part = slice(start, start + _SLICE)
                n = _kernels().place(bits[part], anomaly[part], self.slots, raw, at, cells, n)
                if n > _BUFFER // 2:
                    self._add(cells[:n])
                    n = 0
        self._add(cells[:n])
        self._merge()
        for k in (0, 1):
            _check_same(int(few[k]), int(at[k]))
        self.raw = [raw[k, : few[k]] for k in (0, 1)]
        for keys in self.raw:
            sort(keys)

    def _add(self, cells: np.ndarray) -> None:
        """Count the cells: in their order, since they lie far apart in memory."""
        sort(cells)
        for start in range(0, len(cells), _SLICE):
            part = cells[start : start + _SLICE]
            full = np.empty(len(part), np.uint32)
            if n := _kernels().tally(part, self.tables.reshape(-1), full):
                self.waiting.append(full[:n].copy())
        if sum(map(len, self.waiting)) > len(self.full):
            self._merge()

    def _merge(self) -> None:
        """Count how often each cell went beyond a byte."""
        new = np.concatenate([self.full, *self.waiting])
        times = np.ones(len(new))
        times[: len(self.full)] = self.times
        self.full, again = np.unique(new, return_inverse=True)
        self.times = np.bincount(again, times).astype(np.int64)
        self.waiting.clear()

    def rows(self) -> Iterator[Rows]:
        """Yield the rows in blocks."""
        columns = (np.empty(_ROWS + _TABLE, np.uint32), *np.empty((3, _ROWS + _TABLE), np.int64))
        nothing = np.zeros((2, _TABLE), np.int64)
        k = 0
        ends = [len(part) for part in self.raw]
        for place in self.places.tolist():
            low = np.uint32(place << 16)
            hits, reach = int(self.above[1, place]), int(self.above[0, place])
            if self.slots[place] >= 0:
                slot = self.slots[place]
                more = nothing
                first, end = self.full.searchsorted(np.array([slot, slot + 1]) * 2 * _TABLE)
                if end > first:
                    more = np.zeros_like(nothing)
                    more.reshape(-1)[self.full[first:end] & (2 * _TABLE - 1)] = 256 * self.times[first:end]
                table = self.tables[slot]
                k = _kernels().sweep(table, more, low, hits, reach, columns, k)
            else:
                starts = [ends[of] - int(self.tops[of, place]) for of in (0, 1)]
                known, anomalous = (self.raw[of][starts[of] : ends[of]] for of in (0, 1))
                ends = starts
                mine = rows_of_sorted(anomalous, known)
                end = k + len(mine.scores)
                for column, values, more in zip(columns, mine, (0, hits, reach, reach), strict=False):
                    column[k:end] = values + values.dtype.type(more)
                k = end
            if k > _ROWS or place == self.places[-1]:
                keys = columns[0][:k]
                bits = np.where(keys >= 0x80000000, keys ^ np.uint32(0x80000000), ~keys)
                yield Rows(bits.view(np.float32), *(column[:k].copy() for column in columns[1:]))
                k = 0


def _check_same(first: int, later: int) -> None:
    if first != later:
        raise MetricError(
            f"chunks gave {first} pixels at first and {later} later; expected the same at every call"
        )


@cache
def _kernels() -> ModuleType:
    """Return the compiled kernels, or those in NumPy where numba cannot be imported."""
    try:
        from faultscape.metrics.kernels import stream as compiled_stream
    except ImportError:
        from faultscape.metrics.kernels import plain_stream

        return plain_stream
    return compiled_stream
