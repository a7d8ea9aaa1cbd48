"""Pixel counts of one image at each float16 score, by group: right, wrong, known, or part of an anomalous
object. Everything that a card reports about a score follows from these counts.

Conventions: a *place* is the rank of a float16 among all 65,536 (`histogram.VALUES`). Groups are 0 right and
1 wrong (known pixels whose class is known), 2 known pixels without a class, 3 pixels that are void in labels
of anomaly, 4 + k the pixels of the k-th object, anomalous or known and pasted in, 65535 pixels that do not
count. ``coarse`` keeps one place in 16 (4,096 in all), enough where only right and wrong are needed. Counts
are exact, so they add up in any order.
Source: own; Blum et al. 2021, section 3.3 for the questions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import zstandard

from faultscape.errors import LabelMapError, MetricError
from faultscape.maps.regions import number
from faultscape.metrics.scores.bootstrap import SparseHistogram
from faultscape.metrics.scores.histogram import KEYS, SIZE, counting_kernels

RIGHT = 0
WRONG = 1
KNOWN = 2
VOID = 3
OBJECTS = 4
NO_GROUP = 65535
# an object is found if at least this share of its pixels is flagged, where this share of the known ones is
FOUND = 0.5
FALSE = 0.05
COARSE = 16
_FINITE = slice(0x0400, 0xFC00)  # places of finite values
_HEAD = struct.Struct("<2sHH")  # magic, rows, objects
_MAGIC = b"GC"
_MOST = 1 << 28
_ZERO = 0x8000
# bits of infinite values and NaN
_ENDLESS = np.concatenate([np.arange(0x7C00, 0x8000), np.arange(0xFC00, 0x10000)])
_FIELDS = ("pixels", "down", "right", "pasted")


@dataclass(frozen=True, eq=False)
class Objects:
    """The objects of an image, anomalous ones first: their pixel counts, their centres as shares of height (0
    top) and width, and which are known objects that were pasted in, (O,) each.
    """

    pixels: np.ndarray
    down: np.ndarray
    right: np.ndarray
    pasted: np.ndarray


@dataclass(frozen=True, eq=False)
class GroupedCounts:
    """Counts for one image and scorer: (places, counts), ascending, of each group (right, wrong, known, void
    and each object), and the objects.
    """

    rows: tuple[tuple[np.ndarray, np.ndarray], ...]
    objects: Objects

    @property
    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """The counts of all known pixels together, including known objects that were pasted in."""
        return added([*self.rows[:VOID], *self._of_objects(pasted=True)])

    @property
    def anomalous(self) -> tuple[np.ndarray, np.ndarray]:
        """The counts of all anomalous objects together."""
        return added(self._of_objects(pasted=False))

    @property
    def pasted(self) -> tuple[np.ndarray, np.ndarray]:
        """The counts of all known objects that were pasted in together."""
        return added(self._of_objects(pasted=True))

    def _of_objects(self, *, pasted: bool) -> list[tuple[np.ndarray, np.ndarray]]:
        return [self.rows[OBJECTS + k] for k in np.flatnonzero(self.objects.pasted == pasted)]


def group_pixels(
    anomaly: np.ndarray | None, wrong: np.ndarray | None, pasted: np.ndarray | None = None, *, void: int = 255
) -> tuple[np.ndarray, Objects]:
    """Return the (H, W) uint16 groups of pixels and the objects, from ``anomaly`` (0, 1, void) and ``wrong``
    (0 right, 1 wrong, void where the class is unknown); one of the two may be None.

    Without labels of anomaly a pixel counts where its class is known. Objects are connected by sides and
    corners; ``pasted`` (H, W) says where known ones were blended in.

    >>> groups, objects = group_pixels(np.array([[0, 1, 255]]), np.array([[1, 255, 0]]))
    >>> groups.tolist(), objects.pixels.tolist()
    ([[1, 4, 3]], [1])
    """
    if anomaly is None:
        assert wrong is not None
        groups = np.where(wrong == void, np.uint16(NO_GROUP), wrong).astype(np.uint16)
        return groups, _NO_OBJECTS
    anomaly = np.asarray(anomaly)
    groups = np.full(anomaly.shape, NO_GROUP, np.uint16)
    groups[anomaly == void] = VOID
    known = anomaly == 0
    groups[known] = KNOWN if wrong is None else np.where(wrong[known] == void, KNOWN, wrong[known])
    found = [_NO_OBJECTS]
    for mask, are_pasted in (
        (anomaly == 1, False),
        (known & (pasted == 1) if pasted is not None else None, True),
    ):
        if mask is not None and mask.any():
            found.append(_number(mask, groups, sum(len(of.pixels) for of in found), are_pasted))
    return groups, Objects(*(np.concatenate([getattr(of, name) for of in found]) for name in _FIELDS))


def _number(mask: np.ndarray, groups: np.ndarray, before: int, pasted: bool) -> Objects:
    """Enter the objects of a mask (H, W) in the groups, numbered after the ``before`` existing ones, and
    return them.
    """
    numbers, _, areas = number(mask.astype(np.uint8), connectivity=8, none=0)
    if before + len(areas) >= NO_GROUP - OBJECTS:
        raise MetricError(
            f"{before + len(areas)} objects in one image; expected fewer than {NO_GROUP - OBJECTS}"
        )
    inside = numbers >= 0
    groups[inside] = numbers[inside] + OBJECTS + before
    rows, columns = np.nonzero(inside)
    of, height, width = numbers[inside], *mask.shape
    down = np.bincount(of, rows + 0.5, len(areas)) / areas / height
    right = np.bincount(of, columns + 0.5, len(areas)) / areas / width
    return Objects(areas.astype(np.int64), down, right, np.full(len(areas), pasted))


def count_groups(
    score: np.ndarray, groups: np.ndarray, objects: Objects, *, coarse: bool = False, where: str = ""
) -> GroupedCounts:
    """Return the counts of a float16 score (H, W) in the groups of `group_pixels`; MetricError for NaN or
    infinite scores in pixels that count.

    >>> groups, objects = group_pixels(None, np.array([[0, 1, 255]]))
    >>> counts = count_groups(np.array([[0.0, 1.0, np.nan]], np.float16), groups, objects)
    >>> from faultscape.metrics.scores.histogram import VALUES
    >>> [(VALUES[places].tolist(), of.tolist()) for places, of in counts.rows]
    [([0.0], [1]), ([1.0], [1]), ([], []), ([], [])]
    """
    if score.shape != groups.shape:
        at = f"{where}: " if where else ""
        raise MetricError(
            f"{at}the score is {score.shape[1]} x {score.shape[0]} and its labels {groups.shape[1]} x"
            f" {groups.shape[0]}; expected one size"
        )
    bits = np.ascontiguousarray(score).view(np.uint16).ravel()
    of = np.ascontiguousarray(groups).ravel()
    dense = np.zeros((OBJECTS, SIZE), np.uint32)
    if (kernels := counting_kernels()) is not None:
        kernels.count_in_groups(bits, of, dense)
    else:
        for group in range(OBJECTS):
            dense[group] = np.bincount(bits[of == group], minlength=SIZE)
    dense[VOID, _ENDLESS] = 0  # any value is allowed in void pixels
    rows = [_row(counts[KEYS], coarse, where) for counts in dense]
    if len(objects.pixels):
        inside = (of >= OBJECTS) & (of != NO_GROUP)
        place_of = np.empty(SIZE, np.int64)
        place_of[KEYS] = np.arange(SIZE)
        both = (of[inside].astype(np.int64) - OBJECTS) * SIZE + place_of[bits[inside]]
        there, counts = np.unique(both, return_counts=True)
        ends = np.searchsorted(there, np.arange(len(objects.pixels) + 1) * SIZE)
        for low, high in pairwise(ends):
            counted = np.zeros(SIZE, np.uint32)
            counted[there[low:high] % SIZE] = counts[low:high]
            rows.append(_row(counted, coarse, where))
    return GroupedCounts(tuple(rows), objects)


def added(rows: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the (places, counts) of several groups together.

    >>> [
    ...     values.tolist()
    ...     for values in added([(np.array([1, 3]), np.array([5, 1])), (np.array([3]), np.array([2]))])
    ... ]
    [[1, 3], [5, 3]]
    """
    held = list(rows)
    if len(held) == 1:
        return held[0]
    dense = dense_counts(held)
    places = np.flatnonzero(dense)
    return places, dense[places]


def dense_counts(rows: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the counts (65536,) of several groups together at every place.

    >>> int(dense_counts([(np.array([1, 3]), np.array([5, 1])), (np.array([3]), np.array([2]))])[3])
    3
    """
    dense = np.zeros(SIZE, np.int64)
    for places, counts in rows:
        dense[places] += counts
    return dense


def of_anomaly(counts: GroupedCounts) -> SparseHistogram:
    """Return the histogram for finding anomalous pixels: known pixels, right or wrong, against those of all
    anomalous objects.
    """
    return _against(counts.known, counts.anomalous)


def of_errors(counts: GroupedCounts) -> SparseHistogram:
    """Return the histogram for finding wrong pixels among the known: right ones against wrong ones."""
    return _against(counts.rows[RIGHT], counts.rows[WRONG])


def of_pasted(counts: GroupedCounts) -> SparseHistogram:
    """Return the histogram for detecting the blending itself: known pixels of the original image against
    those of known objects that were pasted in.
    """
    return _against(added(counts.rows[:VOID]), counts.pasted)


def with_void(counts: GroupedCounts) -> SparseHistogram:
    """Return the histogram of anomalous pixels against all others, including void, as the released code of
    Buchanan et al. 2022 counts them.
    """
    return _against(added([counts.known, counts.rows[VOID]]), counts.anomalous)


def _against(
    known: tuple[np.ndarray, np.ndarray], anomalous: tuple[np.ndarray, np.ndarray]
) -> SparseHistogram:
    both = dense_counts([known]), dense_counts([anomalous])
    places = np.flatnonzero(both[0] + both[1])
    return SparseHistogram(
        *(values.astype(np.int32) for values in (places, both[0][places], both[1][places]))
    )


def _row(counts: np.ndarray, coarse: bool, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the places that occur and their counts, from counts at every place."""
    if (bad := int(counts.sum(dtype=np.int64) - counts[_FINITE].sum(dtype=np.int64))) > 0:
        at = f"{where}: " if where else ""
        raise MetricError(
            f"{at}{bad} scores are NaN or infinite; expected finite numbers in all pixels that are not void"
        )
    counts[_ZERO] += counts[_ZERO - 1]  # minus zero counts as zero
    counts[_ZERO - 1] = 0
    if coarse:
        whole = counts.reshape(-1, COARSE).sum(1, dtype=np.int64)
        places = np.flatnonzero(whole)
        return places * COARSE + COARSE // 2, whole[places]
    places = np.flatnonzero(counts)
    return places, counts[places].astype(np.int64)


def encode_counts(counts: GroupedCounts) -> bytes:
    """Encode an image's counts as bytes: gaps between places, and counts, with bytes of equal significance
    side by side, compressed by zstd.

    >>> groups, objects = group_pixels(None, np.array([[0, 1, 255]]))
    >>> counts = count_groups(np.array([[0.0, 1.0, np.nan]], np.float16), groups, objects)
    >>> [of.tolist() for _, of in decode_counts(encode_counts(counts)).rows]
    [[1], [1], [], []]
    """
    if sum(int(of.sum(dtype=np.int64)) for _, of in counts.rows) >= 1 << 31:
        raise MetricError("an image of 2,147,483,648 pixels or more is too large to be counted")
    lengths = np.array([len(places) for places, _ in counts.rows], "<u4")
    gaps = np.concatenate([np.diff(places, prepend=0) for places, _ in counts.rows]).astype("<u2")
    numbers = np.concatenate([of for _, of in counts.rows]).astype("<u4")
    objects = np.concatenate([getattr(counts.objects, name) for name in _FIELDS]).astype("<f8")
    planes = [values.view(np.uint8).reshape(-1, values.itemsize).T.tobytes() for values in (gaps, numbers)]
    body = lengths.tobytes() + b"".join(planes) + objects.tobytes()
    packed = zstandard.ZstdCompressor(level=6, write_checksum=True).compress(body)
    return _HEAD.pack(_MAGIC, len(counts.rows), len(counts.objects.pixels)) + packed


def decode_counts(code: bytes) -> GroupedCounts:
    """Decode the counts from their bytes; LabelMapError if these are damaged."""
    try:
        magic, many, few = _HEAD.unpack_from(code)
        size = zstandard.frame_content_size(code[_HEAD.size :])
        if magic != _MAGIC or not 0 < size < _MOST:
            raise ValueError  # noqa: TRY301 - said below, as all damage is
        body = zstandard.ZstdDecompressor().decompress(code[_HEAD.size :])
        lengths = np.frombuffer(body, "<u4", many).astype(np.int64)
        total = int(lengths.sum())
        at = 4 * many
        gaps = _joined(body, at, total, 2)
        numbers = _joined(body, at + 2 * total, total, 4)
        objects = np.frombuffer(body, "<f8", 4 * few, at + 6 * total).reshape(4, few)
        if len(body) != at + 6 * total + 32 * few or many != OBJECTS + few:
            raise ValueError  # noqa: TRY301 - said below, as all damage is
    except (ValueError, struct.error, zstandard.ZstdError, MemoryError):
        raise LabelMapError("the code of counts is damaged") from None
    ends = np.cumsum([0, *lengths])
    rows = tuple(
        (np.cumsum(gaps[low:high], dtype=np.int32), numbers[low:high]) for low, high in pairwise(ends)
    )
    return GroupedCounts(rows, Objects(objects[0].astype(np.int64), objects[1], objects[2], objects[3] > 0))


def _joined(body: bytes, at: int, total: int, width: int) -> np.ndarray:
    """Return (N,) int32 numbers whose bytes of equal significance are stored side by side."""
    planes = np.frombuffer(body, np.uint8, width * total, at).reshape(width, total)
    return np.ascontiguousarray(planes.T).view(f"<u{width}").ravel().astype(np.int32)


_NO_OBJECTS = Objects(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, bool))
