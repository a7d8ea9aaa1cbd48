"""All pairwise confusion counts of one image's maps, from joint runs.

Conventions: maps are J arrays (H, W) of places 0..n-1, uint8 or uint16, one shape; ``pairs`` (P, 2) are (row
map, column map), default all i < j. Results are int64 and exact. A label that is not below n raises
LabelMapError before anything is counted.

Maps of streets or objects are constant on long horizontal runs, and so is the tuple of all J labels: one pass
finds the joint runs, each distinct tuple is stored once with its number of pixels, and the cells of all pairs
are filled from these few tuples instead of from the pixels. A stack with short joint runs (noise) goes to
kernels whose cost does not depend on the content: blocks of two to four maps counted together, or bit planes
if intersections suffice. The choice changes only the time.

``maps`` are J label maps of one image. ``n`` is the number of labels.

How divided an ensemble of label maps is: the entropy of its votes, pixel by pixel.

Conventions: every map has one vote per pixel, void is a label like any other. The mean is over all pixels, in
nats. Joint runs are counted once, not pixel by pixel.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from faultscape.errors import LabelMapError
from faultscape.maps import checked_arrays
from faultscape.maps.kernel_choice import Kernels

Maps = np.ndarray | Sequence[np.ndarray]
_KERNELS = Kernels("faultscape.maps.kernels.joint_runs", seconds=7)
_A_PIXEL = 8e-9  # seconds of the plain kernels for a pixel of a map
_SLOTS = 1 << 14
_CELLS = 40_000  # of a block's histogram: fits a second-level cache
_PAIR = 0.55  # nanoseconds for a pair of labels of a tuple
# the workspace of each thread, reused for every image so that no new memory pages are needed
_local = threading.local()


def confusions(maps: Maps, n: int, pairs: np.ndarray | None = None) -> np.ndarray:
    """Return (P, n, n) counts of every pair, row = first map of the pair (Yan et al. 2021, eq. 8);
    LabelMapError for labels >= n.

    >>> confusions(np.array([[[0, 1, 1]], [[0, 0, 1]]], np.uint8), 2).tolist()
    [[[1, 0], [1, 1]]]
    """
    stack = _stack(maps)
    pairs = _all_pairs(len(stack)) if pairs is None else _checked(pairs, len(stack))
    if _kernels(stack) is None:
        from faultscape.maps.kernels import plain_joint_runs

        check(stack, n)
        out = np.zeros((len(pairs), n * n), np.int64)
        plain_joint_runs.cells_of_tuples(*plain_joint_runs.joint_tuples(stack, n), n, pairs, out)
        return out.reshape(len(pairs), n, n)
    asked = np.zeros(len(stack), bool)
    asked[pairs] = True
    if not asked.all():  # maps in no pair would only split the joint runs
        check([m for m, wanted in zip(stack, asked, strict=True) if not wanted], n)
        stack = [m for m, wanted in zip(stack, asked, strict=True) if wanted]
        pairs = (np.cumsum(asked) - 1)[pairs]
    if not len(pairs):
        return np.zeros((0, n, n), np.int64)
    space = _space(stack)
    pixels = stack[0].size
    blocks = _blocks(len(stack), n, pairs.tobytes())
    if _joint_cost(_runs(space), len(stack), len(pairs)) > _block_cost(pixels, n, blocks):
        check(stack, n)
        return _from_blocks(stack, np.empty(0, np.int64), n, pairs, blocks)
    columns, weights, distinct = _tuples(stack, space, n)
    if distinct * len(pairs) * _PAIR > _block_cost(distinct, n, blocks):
        return _from_blocks(list(columns), weights, n, pairs, blocks)
    out = np.zeros((len(pairs), n * n), np.int64)
    _cells().cells_of_tuples(columns, weights, distinct, n, pairs, _room(n * n), out)
    return out.reshape(len(pairs), n, n)


def intersections(maps: Maps, n: int, pairs: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (P, n) pixels that both maps of a pair label as y, and (J, n) the histogram of each map;
    LabelMapError for labels >= n.

    >>> both, totals = intersections(np.array([[[0, 1, 1]], [[0, 0, 1]]], np.uint8), 2)
    >>> both.tolist(), totals.tolist()
    ([[1, 1]], [[1, 2], [2, 1]])
    """
    stack = _stack(maps)
    pairs = _all_pairs(len(stack)) if pairs is None else _checked(pairs, len(stack))
    both = np.zeros((len(pairs), n), np.int64)
    totals = np.zeros((len(stack), n), np.int64)
    if _kernels(stack) is None:
        from faultscape.maps.kernels import plain_joint_runs

        check(stack, n)
        plain_joint_runs.both_of_tuples(*plain_joint_runs.joint_tuples(stack, n), pairs, both, totals)
        return both, totals
    space = _space(stack)
    pixels = stack[0].size
    runs = _runs(space)
    # a plane costs one pass over its words, a pair one pass for each class that both maps contain there
    planes = pixels / 64 * (len(stack) * n * 1.2 + len(pairs) * min(n, 4) * 0.35)
    if n <= 256 and _joint_cost(runs, len(stack), len(pairs)) > planes:
        check(stack, n)
        _from_planes(stack, n, pairs, both, totals)
    else:
        columns, weights, distinct = _tuples(stack, space, n)
        _cells().both_of_tuples(columns, weights, distinct, pairs, both, totals)
    return both, totals


def joint_tuples(maps: Maps, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct tuples of labels (J, U) of pixels, and the number of pixels (U,) of each;
    LabelMapError for labels >= n.

    >>> columns, pixels = joint_tuples(np.array([[[0, 1, 1]], [[0, 0, 0]]], np.uint8), 2)
    >>> columns.tolist(), pixels.tolist()
    ([[0, 1], [0, 0]], [1, 2])
    """
    stack = _stack(maps)
    if _kernels(stack) is None:
        from faultscape.maps.kernels import plain_joint_runs

        check(stack, n)
        return plain_joint_runs.joint_tuples(stack, n)
    columns, pixels, distinct = _tuples(stack, _space(stack), n)
    return columns.copy(), pixels[:distinct].copy()


def check(maps: Maps, n: int) -> None:
    """Raise LabelMapError if any label is not below n.

    >>> check(np.array([[[0, 2]]], np.uint8), 2)
    Traceback (most recent call last):
    faultscape.errors.LabelMapError: map 0 holds the label 2; allowed are 0 to 1
    """
    for number, label_map in enumerate(maps):
        if label_map.size and int(label_map.max()) >= n:
            raise LabelMapError(
                f"map {number} holds the label {int(label_map.max())}; allowed are 0 to {n - 1}"
            )


def _stack(maps: Maps) -> list[np.ndarray]:
    """Return the maps as contiguous arrays of one shape and type."""
    maps = [np.asarray(label_map) for label_map in checked_arrays.images(maps, "maps")]
    if len(maps) == 0 or len({m.shape for m in maps}) != 1 or maps[0].ndim != 2:
        raise LabelMapError(f"expected maps of one size, H x W; got {sorted({m.shape for m in maps})}")
    kinds = {m.dtype for m in maps}
    if not kinds <= {np.dtype(np.uint8), np.dtype(np.uint16)}:
        raise LabelMapError(f"expected uint8 or uint16 maps; got {sorted({str(m.dtype) for m in maps})}")
    if maps[0].size >= 1 << 31:
        raise LabelMapError(f"maps of {maps[0].shape} are too large; fewer than 2^31 pixels can be counted")
    return [np.ascontiguousarray(m, max(kinds, key=lambda kind: kind.itemsize)) for m in maps]


@lru_cache(maxsize=64)
def _all_pairs(j: int) -> np.ndarray:
    return np.array(list(combinations(range(j), 2)), np.int64).reshape(-1, 2)


def _checked(pairs: np.ndarray, j: int) -> np.ndarray:
    pairs = np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= j):
        worst = int(pairs.max()) if pairs.max() >= j else int(pairs.min())
        raise LabelMapError(f"a pair names map {worst}; there are {j}")
    return pairs


def _kept(name: str, length: int, dtype: type, columns: int = 0) -> np.ndarray:
    """Return this thread's array of a name, at least this long, with its old content."""
    shape = (length, columns) if columns else (length,)
    kept = getattr(_local, name, None)
    if kept is None or kept.shape[0] < length or kept.shape[1:] != shape[1:]:
        kept = np.empty((length + length // 4, *shape[1:]), dtype)
        setattr(_local, name, kept)
    return kept


# addresses of the maps, an empty array of their type, pixels, width
_Space = tuple[np.ndarray, np.ndarray, int, int]


def _space(stack: list[np.ndarray]) -> _Space:
    """Return what kernels need to find the maps: addresses, an empty array of their type, pixels, width."""
    pixels = stack[0].size
    width = stack[0].shape[1]
    if not pixels:
        raise LabelMapError("maps without pixels cannot be compared")
    return (
        np.array([m.__array_interface__["data"][0] for m in stack], np.uint64),
        np.empty(0, stack[0].dtype),
        pixels,
        width,
    )


def _runs(space: _Space) -> int:
    """Return an estimate of the number of joint runs."""
    return _kernels().sample_runs(*space[:3], 29)  # a prime: never the same columns in every row


def _joint_cost(runs: int, maps: int, pairs: int) -> float:
    """Return nanoseconds, measured once and used only for choosing: a third of noisy runs are new tuples at
    10 maps, more at 40.
    """
    return runs * (5 + maps + min(1.0, 0.25 + 0.012 * maps) * _PAIR * pairs)


def _tuples(stack: list[np.ndarray], space: _Space, n: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the distinct tuples (J, U), their pixels (>= U,), and U."""
    kernels = _kernels()
    bits = max(1, int(n - 1).bit_length())
    j = len(stack)
    n_keys = -(-j // (64 // bits))
    table = getattr(_local, "table", None)
    if table is None:
        table = np.zeros(_SLOTS + 16, np.uint64)
    counts = _kept("counts", _SLOTS, np.int64)
    keys = _kept("keys", len(counts), np.uint64, n_keys)
    distinct, highest, table, keys, counts = kernels.joint_tuples(
        *space,
        bits,
        table,
        keys[: len(counts)],
        counts,
    )
    # a table much too large for this image would not fit the cache for the next one
    _local.table = table if len(table) <= max(_SLOTS, 16 * distinct) else None
    _local.keys = keys
    _local.counts = counts
    if highest >= n:
        check(stack, n)
    kind = stack[0].dtype
    room = _kept("columns", j * distinct * kind.itemsize, np.uint8)
    columns = room[: j * distinct * kind.itemsize].view(kind).reshape(j, distinct)
    kernels.unpack_tuples(keys, distinct, bits, columns)
    return columns, counts, distinct


class _Blocks(NamedTuple):
    """A few blocks of 2 to 4 maps that cover some pairs (first map before second)."""

    pairs: list[tuple[int, int]]
    maps: np.ndarray  # (B, size)
    rows: np.ndarray  # (B, size, size), above the diagonal: places in pairs; one more where a pair is not new


@lru_cache(maxsize=64)
def _blocks(j: int, n: int, pairs: bytes) -> _Blocks:
    """Return blocks that cover the requested pairs, the other way round too, and of a map with itself one of
    the map with another: greedy, the map with the most new pairs first.
    """
    size = next((s for s in (4, 3) if j >= s and n**s <= _CELLS), 2)
    others = [
        (a, b if a != b else (a + 1) % j) for a, b in np.frombuffer(pairs, np.int64).reshape(-1, 2).tolist()
    ]
    wanted = list(dict.fromkeys((min(pair), max(pair)) for pair in others))
    best: list[list[int]] = []
    rng = np.random.default_rng(0)
    for _ in range(30 if j <= 16 else 1):
        open_ = np.zeros((j, j), bool)
        for a, b in wanted:
            open_[a, b] = open_[b, a] = a != b
        chosen: list[list[int]] = []
        while open_.any():
            block = [int((open_.sum(1) + rng.random(j)).argmax())]  # among equals, one or another
            while len(block) < size:
                gain = open_[block].sum(0) * (j + 1) + open_.sum(0) + 1 + rng.random(j)
                gain[block] = 0
                block.append(int(gain.argmax()))
            open_[np.ix_(block, block)] = False
            chosen.append(sorted(block))
        if not best or len(chosen) < len(best):
            best = chosen
    new = {pair: row for row, pair in enumerate(wanted)}
    rows = np.full((len(best), size, size), len(wanted))
    for b, block in enumerate(best):
        for first, second in combinations(range(size), 2):
            rows[b, first, second] = new.pop((block[first], block[second]), len(wanted))
    return _Blocks(wanted, np.array(best, np.int64).reshape(-1, size), rows)


def _block_cost(length: int, n: int, blocks: _Blocks) -> float:
    """Return nanoseconds of counting in blocks, as those of `_joint_cost`."""
    number, size = blocks.maps.shape
    return number * (0.6 * length + 0.7 * n**size) if number else float("inf")


def _room(cells: int) -> np.ndarray:
    """Return room for the places of a stretch of pixels in a histogram."""
    return np.empty(2048, np.uint16 if cells <= 1 << 16 else np.uint32)


def _from_blocks(
    maps: Sequence[np.ndarray], weights: np.ndarray, n: int, pairs: np.ndarray, blocks: _Blocks
) -> np.ndarray:
    """Return (P, n, n) counts of every pair, each place of the maps counting its weight, or one if there are
    none.
    """
    size = blocks.maps.shape[1]
    addresses = np.array([m.__array_interface__["data"][0] for m in maps], np.uint64)
    cells = np.zeros((len(blocks.pairs) + 1, n * n), np.int64)
    hist = _kept("hist", 4, np.uint16, n**size)[:4]
    hist[:] = 0
    _cells().cells_of_blocks(
        addresses,
        np.empty(0, maps[0].dtype),
        maps[0].size,
        weights,
        n,
        blocks.maps,
        blocks.rows,
        _room(n**size),
        hist,
        cells,
    )
    cells = cells.reshape(-1, n, n)
    asked = [(i, j) for i, j in pairs.tolist()]
    if asked == blocks.pairs:
        return cells[:-1]
    row_of = {pair: row for row, pair in enumerate(blocks.pairs)}
    out = np.empty((len(pairs), n, n), np.int64)
    for p, (i, j) in enumerate(asked):
        if i == j:
            other = (i + 1) % len(maps)
            out[p] = np.diag(cells[row_of[min(i, other), max(i, other)]].sum(axis=1 if i < other else 0))
        else:
            out[p] = cells[row_of[i, j]] if i < j else cells[row_of[j, i]].T
    return out


def _from_planes(
    stack: list[np.ndarray], n: int, pairs: np.ndarray, both: np.ndarray, totals: np.ndarray
) -> None:
    from faultscape.maps.kernels import bitplanes, plain_joint_runs

    stack = [np.ascontiguousarray(m, np.uint8) for m in stack]
    addresses = np.array([m.__array_interface__["data"][0] for m in stack], np.uint64)
    words = stack[0].size // 64
    across = max(1, round(stack[0].shape[1] / 64))
    # the planes of a tile stay in the second-level cache
    rows = min(128, max(16, (1 << 15) // (len(stack) * n)))
    bitplanes.count_planes(addresses, words, across, rows, n, pairs, both, totals)
    if rest := stack[0].size - words * 64:
        columns = np.stack([m.ravel()[words * 64 :] for m in stack])
        plain_joint_runs.both_of_tuples(columns, np.ones(rest, np.int64), pairs, both, totals)


def _kernels(stack: Sequence[np.ndarray] = ()) -> Any:
    """Return the compiled kernels, or None if the plain ones serve these maps."""
    return _KERNELS.ready(sum(m.size for m in stack) * _A_PIXEL)


def _cells() -> Any:
    """Return the compiled kernels of cells, where those of joint runs are used."""
    from faultscape.maps.kernels import cells

    return cells


def vote_entropy(maps: Maps, n: int) -> float:
    """Return the mean over pixels of -sum_y p_y log p_y, p_y the share of J maps (H, W) with label y;
    LabelMapError for labels >= n.

    >>> round(
    ...     vote_entropy(np.array([[[0, 1, 1, 1]], [[0, 0, 0, 1]]], np.uint8), 2), 6
    ... )  # two pixels of four are split, log 2 each
    0.346574
    """
    columns, pixels = joint_tuples(maps, n)
    # -sum over labels of p log p is -mean over maps of log p(its label)
    log_shares = np.stack([np.log((columns == own).mean(0)) for own in columns])
    return float(-(log_shares.mean(0) * pixels).sum() / pixels.sum()) + 0.0
