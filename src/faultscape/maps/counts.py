"""All pairwise confusion counts of one image's maps, from joint runs.

Conventions: maps are J arrays (H, W) of places 0..n-1, uint8 or uint16, one shape; ``pairs`` (P, 2) are (row map, column map), default all i < j. Results are
int64 and exact. Labels are range-checked once, before any kernel.

Maps of streets or objects are constant on long horizontal runs, and so is the tuple of all J labels: one pass finds the joint runs, each distinct tuple is
kept once with its pixels, and the cells of all pairs are filled from these few tuples instead of from the pixels. A stack whose joint runs are short (noise) is
given to kernels that cost the same whatever it shows: blocks of three or four maps counted together, or bit planes where intersections suffice.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from faultscape.errors import LabelMapError

Maps = np.ndarray | Sequence[np.ndarray]
_SLOTS = 1 << 13
_CELLS = 40_000  # of a block's histogram: what stays in a second-level cache
_RUN, _TUPLE, _PIXEL = (
    45.0,
    1.1,
    0.85,
)  # nanoseconds a joint run, a tuple and pair, a pixel and block: measured, only for choosing
_local = threading.local()


def confusions(maps: Maps, n: int, pairs: np.ndarray | None = None) -> np.ndarray:
    """Return (P, n, n) counts of every pair, row = first map of the pair (S0 eq. 8); LabelMapError for labels >= n.

    >>> confusions(np.array([[[0, 1, 1]], [[0, 0, 1]]], np.uint8), 2).tolist()
    [[[1, 0], [1, 1]]]
    """
    stack = _stack(maps, n)
    pairs = _all_pairs(len(stack)) if pairs is None else _checked(pairs, len(stack))
    out = np.zeros((len(pairs), n * n), np.int64)
    if not len(pairs):
        return out.reshape(0, n, n)
    kernels = _kernels()
    used = np.unique(pairs)
    if len(used) < len(stack):
        stack, pairs = np.ascontiguousarray(stack[used]), np.searchsorted(used, pairs)
    if hasattr(kernels, "changes"):
        runs = _changes(stack)
        blocks, size = _blocks(len(stack), n)
        pixels = stack[0].size
        if runs * (_RUN + _TUPLE * len(pairs)) > pixels * len(blocks) * _PIXEL + len(pairs) * n**size:
            _from_blocks(stack, n, blocks, size, pairs, out)
            return out.reshape(len(pairs), n, n)
    columns, weights = _tuples(stack, n)
    kernels.cells_of_tuples(columns, weights, n, pairs, out)
    return out.reshape(len(pairs), n, n)


def intersections(maps: Maps, n: int, pairs: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (P, n) pixels that both maps of a pair call y, and (J, n) the histogram of each map; LabelMapError for labels >= n.

    >>> both, totals = intersections(np.array([[[0, 1, 1]], [[0, 0, 1]]], np.uint8), 2)
    >>> both.tolist(), totals.tolist()
    ([[1, 1]], [[1, 2], [2, 1]])
    """
    stack = _stack(maps, n)
    pairs = _all_pairs(len(stack)) if pairs is None else _checked(pairs, len(stack))
    both, totals = np.zeros((len(pairs), n), np.int64), np.zeros((len(stack), n), np.int64)
    kernels = _kernels()
    if hasattr(kernels, "changes") and stack.dtype == np.uint8:
        runs = _changes(stack)
        # a plane costs a few passes over its bits; a pair one for each class that both maps hold
        planes = stack[0].size / 64 * (len(stack) * n * 4 + len(pairs) * min(n, 8)) * 0.5
        if runs * (_RUN + _TUPLE * len(pairs)) > planes:
            _from_planes(stack, n, pairs, both, totals)
            return both, totals
    columns, weights = _tuples(stack, n)
    kernels.both_of_tuples(columns, weights, pairs, both, totals)
    return both, totals


def check(maps: Maps, n: int) -> None:
    """LabelMapError when any label is not below n."""
    for number, label_map in enumerate(maps):
        if label_map.size and int(label_map.max()) >= n:
            raise LabelMapError(f"map {number} holds the label {int(label_map.max())}; allowed are 0 to {n - 1}")


def _stack(maps: Maps, n: int) -> np.ndarray:
    """Return the maps as one checked, contiguous (J, H, W) array of one type."""
    if len(maps) == 0 or len({m.shape for m in maps}) != 1 or maps[0].ndim != 2:
        raise LabelMapError(f"expected maps of one size, H x W; got {sorted({m.shape for m in maps})}")
    if any(m.dtype not in (np.uint8, np.uint16) for m in maps):
        raise LabelMapError(f"expected uint8 or uint16 maps; got {sorted({str(m.dtype) for m in maps})}")
    check(maps, n)
    if isinstance(maps, np.ndarray) and (maps.dtype == np.uint8 or n > 256):
        return np.ascontiguousarray(maps)
    shape = (len(maps), *maps[0].shape)
    dtype = np.uint8 if n <= 256 else np.uint16
    kept = getattr(_local, "stack", None)
    if kept is None or kept.shape != shape or kept.dtype != dtype:
        kept = _local.stack = np.empty(shape, dtype)
    for place, label_map in enumerate(maps):
        kept[place] = label_map
    return kept


def _all_pairs(j: int) -> np.ndarray:
    return np.array(list(combinations(range(j), 2)), np.int64).reshape(-1, 2)


def _checked(pairs: np.ndarray, j: int) -> np.ndarray:
    pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= j):
        raise LabelMapError(f"a pair names map {int(pairs.max())}; there are {j}")
    return pairs


def _changes(stack: np.ndarray) -> int:
    """Fill the thread's change masks for a stack and return its joint runs."""
    shape = stack.shape[1:]
    if getattr(_local, "across", np.empty((0, 0))).shape != shape:
        _local.across, _local.down = np.empty(shape, np.uint8), np.empty(shape, np.uint8)
    return _kernels().changes(stack, _local.across, _local.down)


def _tuples(stack: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct tuples (J, U) and their pixels (U,); compiled, the change masks are already there."""
    kernels, bits = _kernels(), max(1, int(n - 1).bit_length())
    if not hasattr(kernels, "changes"):
        return kernels.joint_tuples(stack, bits)
    if stack.dtype != np.uint8:
        _changes(stack)
    per_word = 64 // bits
    words = -(-len(stack) // per_word)
    table = getattr(_local, "table", None)
    if table is None or table.shape[1] != words + 1:
        table = np.zeros((_SLOTS, words + 1), np.uint64)
    table, distinct = kernels.intern_tuples(stack, _local.across, _local.down, table, per_word, bits)
    columns, pixels = kernels.unpack_tuples(table, distinct, len(stack), per_word, bits)
    _local.table = table if len(table) <= 64 * _SLOTS else None
    return columns, pixels


@lru_cache(maxsize=64)
def _blocks(j: int, n: int) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Return few blocks of 2 to 4 maps that hold every pair, and their size: greedy, the block with most new pairs first."""
    size = next((s for s in (4, 3) if j >= s and n**s <= _CELLS), 2)
    open_ = set(combinations(range(j), 2))
    if size == 2:
        return tuple(sorted(open_)), 2
    chosen = []
    while open_:
        block = list(min(open_))
        while len(block) < size:
            gain = [sum(tuple(sorted((m, b))) in open_ for b in block) if m not in block else -1 for m in range(j)]
            block.append(int(np.argmax(gain)))
        chosen.append(tuple(sorted(block)))
        open_ -= set(combinations(sorted(block), 2))
    return tuple(chosen), size


def _from_blocks(stack: np.ndarray, n: int, blocks: Any, size: int, pairs: np.ndarray, out: np.ndarray) -> None:
    """Fill the cells of every pair from histograms of blocks of maps."""
    flat = stack.reshape(len(stack), -1)
    if size == 2:
        distinct = pairs[pairs[:, 0] != pairs[:, 1]]
        hist = np.zeros((len(distinct), 4, n * n), np.uint32)
        _kernels().cells_of_pairs(flat, n, distinct, hist)
        out[pairs[:, 0] != pairs[:, 1]] = hist.sum(axis=1, dtype=np.int64)
    else:
        kernel = _kernels().cells_of_triples if size == 3 else _kernels().cells_of_quads
        even = np.array(blocks + blocks[-1:] * (len(blocks) % 2), np.int64)
        hist = np.zeros((len(even), n**size), np.uint32)
        kernel(flat, np.uint32(n), even, hist)
        home = {pair: (b, block) for b, block in reversed(list(enumerate(blocks))) for pair in combinations(block, 2)}
        for p, (i, j) in enumerate(pairs.tolist()):
            if i != j:
                b, block = home[min(i, j), max(i, j)]
                others = tuple(axis for axis, m in enumerate(block) if m not in (i, j))
                cells = hist[b].reshape((n,) * size).sum(axis=others, dtype=np.int64)
                out[p] = (cells if i < j else cells.T).ravel()
    for p in np.flatnonzero(pairs[:, 0] == pairs[:, 1]):
        out[p].reshape(n, n)[np.arange(n), np.arange(n)] = np.bincount(flat[pairs[p, 0]], minlength=n)


def _from_planes(stack: np.ndarray, n: int, pairs: np.ndarray, both: np.ndarray, totals: np.ndarray) -> None:
    from faultscape.maps import bitplanes

    j, pixels = len(stack), stack[0].size
    flat = stack.reshape(j, -1)
    whole = pixels - pixels % 64
    bits = max(1, int(n - 1).bit_length())
    if whole:
        eights = np.ascontiguousarray(flat[:, :whole]).view(np.uint64)
        bitplanes.count_planes(eights, np.arange(n), bits, pairs, both, totals)
    if whole < pixels:
        columns = np.ascontiguousarray(flat[:, whole:]).astype(np.uint16)
        _kernels().both_of_tuples(columns, np.ones(columns.shape[1], np.int64), pairs, both, totals)


def _kernels() -> Any:
    try:
        from faultscape.maps import compiled
    except ImportError:
        from faultscape.maps import plain as compiled  # type: ignore[no-redef]
    return compiled
