"""The instances of one image: a mask, a class, a score and an id each; they may overlap.

Conventions: a mask is run lengths, as COCO writes them: down the columns, from left to right, beginning with
pixels outside. Classes are the labels of the source that made the masks; a score is NaN where there is none.
A crowd is a mask of many objects that nobody told apart. The code of instances is that of an array of bytes
(`maps.array_codes`), and is checked before anything is made of it.

``numbers`` (H, W) are whole numbers, one of each instance. ``size`` is (height, width).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultscape.errors import LabelMapError
from faultscape.maps import array_codes
from faultscape.maps.resize import nearest

MOST = 100_000  # of one image
_HEAD = struct.Struct("<2sBIIIQ")  # magic, version, height, width, instances, runs
_MAGIC = b"FI"
_VERSION = 1
_A_ROW = np.dtype([("id", "<i8"), ("class", "<i8"), ("score", "<f8"), ("crowd", "u1"), ("runs", "<u4")])
_DAMAGED = "the code of an image's instances is damaged"


@dataclass(frozen=True, eq=False)
class Instances:
    """The N instances of an image of a ``size``: ``ids``, ``classes``, ``scores`` and whether each is a
    ``crowd``, (N,), and the run lengths of its mask.
    """

    size: tuple[int, int]
    ids: np.ndarray
    classes: np.ndarray
    scores: np.ndarray
    crowd: np.ndarray
    runs: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Instances({len(self)} masks of {self.size[1]} x {self.size[0]} pixels)"

    @property
    def areas(self) -> np.ndarray:
        """The pixels of each mask, (N,) int64."""
        return np.array([int(runs[1::2].sum()) for runs in self.runs], np.int64)

    @property
    def scored(self) -> bool:
        """Whether every instance has a score."""
        return not np.isnan(self.scores).any()

    def mask(self, place: int) -> np.ndarray:
        """Return the mask of one of them, (H, W) bool."""
        runs = self.runs[place]
        down = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
        return np.ascontiguousarray(down.reshape(self.size[1], self.size[0]).T)

    def only(self, places: np.ndarray) -> Instances:
        """Return some of them, by a mask (N,) or by places."""
        at = np.flatnonzero(places) if places.dtype == bool else places
        runs = tuple(self.runs[k] for k in at.tolist())
        return Instances(self.size, self.ids[at], self.classes[at], self.scores[at], self.crowd[at], runs)

    def at_size(self, size: tuple[int, int]) -> Instances:
        """Return them at another size, by the nearest pixel, as label maps are read."""
        if size == self.size:
            return self
        turned = (size[1], size[0])
        masks = (nearest(self.mask(k).astype(np.uint8), turned) for k in range(len(self)))
        return replace(self, size=size, runs=tuple(runs_of_mask(mask) for mask in masks))


def make(
    size: tuple[int, int],
    runs: Sequence[np.ndarray],
    classes: Sequence[int] | np.ndarray,
    *,
    ids: Sequence[int] | np.ndarray | None = None,
    scores: Sequence[float] | np.ndarray | None = None,
    crowd: Sequence[bool] | np.ndarray | None = None,
) -> Instances:
    """Return instances from the run lengths of their masks; ids are 1, 2, ... where none are given.
    LabelMapError if run lengths do not fill the image.

    >>> make((2, 2), [np.array([1, 2, 1])], [7]).mask(0).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    n = len(runs)
    if n > MOST:
        raise LabelMapError(f"an image has {n:,} instances; at most {MOST:,} are supported")
    plain = tuple(_plain(one) for one in runs)
    if wrong := next((one for one in plain if int(one.sum()) != size[0] * size[1]), None):
        raise LabelMapError(f"run lengths cover {int(wrong.sum()):,} pixels, the image {size[0] * size[1]:,}")
    return Instances(
        size,
        np.arange(1, n + 1, dtype=np.int64) if ids is None else np.asarray(ids, np.int64).reshape(n),
        np.asarray(classes, np.int64).reshape(n),
        np.full(n, np.nan) if scores is None else np.asarray(scores, np.float64).reshape(n),
        np.zeros(n, bool) if crowd is None else np.asarray(crowd, bool).reshape(n),
        plain,
    )


def runs_of_mask(mask: np.ndarray) -> np.ndarray:
    """Return the run lengths of a mask (H, W), int64.

    >>> runs_of_mask(np.array([[True, True, False], [True, False, False]])).tolist()
    [0, 3, 3]
    """
    down = np.asarray(mask, bool).T.reshape(-1)
    turns = np.flatnonzero(down[1:] != down[:-1]) + 1
    return np.diff(
        np.concatenate(([0] if down[:1].any() else [], [0], turns)).astype(np.int64), append=down.size
    )


def of_numbers(
    numbers: np.ndarray,
    ids: Sequence[int] | np.ndarray,
    classes: Sequence[int] | np.ndarray,
    *,
    scores: Sequence[float] | np.ndarray | None = None,
    crowd: Sequence[bool] | np.ndarray | None = None,
) -> Instances:
    """Return the instances of a map of ``numbers``: of each of the ``ids``, in their order, its mask.

    >>> of_numbers(np.array([[5, 5, 9]]), [9, 5], [1, 2]).areas.tolist()
    [1, 2]
    """
    height, width = size = numbers.shape
    down = numbers.T.reshape(-1)
    starts = np.concatenate(([0], np.flatnonzero(down[1:] != down[:-1]) + 1))
    lengths = np.diff(starts, append=down.size)
    values = down[starts]
    order = np.argsort(values, kind="stable")
    held = values[order]
    runs = []
    for id_ in ids:
        mine = order[np.searchsorted(held, id_, "left") : np.searchsorted(held, id_, "right")]
        edges = np.stack((starts[mine], starts[mine] + lengths[mine]), 1).reshape(-1)
        runs.append(np.diff(edges, prepend=0, append=height * width))
    return make(size, runs, classes, ids=ids, scores=scores, crowd=crowd)


def paint(instances: Instances) -> np.ndarray:
    """Return the place of the instance at each pixel, (H, W) int32, -1 for none: the one with the highest
    score on top, those without a score below, and among equal ones the later.

    >>> two = make((1, 3), [np.array([0, 2, 1]), np.array([1, 2])], [1, 1], scores=[0.9, 0.3])
    >>> paint(two).tolist()
    [[0, 0, 1]]
    """
    drawn = np.full(instances.size[0] * instances.size[1], -1, np.int32)
    for place in np.argsort(np.nan_to_num(instances.scores, nan=-np.inf), kind="stable").tolist():
        ends = np.cumsum(instances.runs[place])
        for start, end in zip(ends[:-1:2].tolist(), ends[1::2].tolist(), strict=True):
            drawn[start:end] = place
    return np.ascontiguousarray(drawn.reshape(instances.size[1], instances.size[0]).T)


def intersections(first: Instances, second: Instances) -> np.ndarray:
    """Return the pixels that each mask of ``first`` shares with each of ``second``, (N, M) int64.

    >>> one = make((1, 4), [np.array([0, 3, 1])], [1])
    >>> intersections(one, make((1, 4), [np.array([2, 2]), np.array([3, 1])], [1, 1])).tolist()
    [[1, 0]]
    """
    if first.size != second.size:
        raise LabelMapError(
            f"masks of {first.size[1]} x {first.size[0]} pixels cannot be compared with masks of"
            f" {second.size[1]} x {second.size[0]}; they must be of one size"
        )
    out = np.zeros((len(first), len(second)), np.int64)
    ends = [np.cumsum(runs) for runs in first.runs]
    edges = [each[: len(each) // 2 * 2] for each in ends]  # where runs of pixels inside begin and end
    counts = np.array([len(each) for each in edges], np.int64)
    held = np.flatnonzero(counts)
    if not len(held):
        return out
    every = np.concatenate(edges)
    starts = np.concatenate(([0], np.cumsum(counts[held])[:-1]))
    sign = np.where(np.arange(len(every)) % 2 == 1, 1, -1)  # each mask has an even number of edges
    for place, runs in enumerate(second.runs):
        # the pixels of this mask before a pixel rise by one a pixel inside, and stay outside
        inside = np.where(np.arange(len(runs)) % 2 == 1, runs, 0)
        before = np.interp(
            every, np.concatenate(([0], np.cumsum(runs))), np.concatenate(([0], inside)).cumsum()
        )
        out[held, place] = np.add.reduceat(sign * before.astype(np.int64), starts)
    return out


def encode(instances: Instances) -> bytes:
    """Return the code of instances."""
    rows = np.zeros(len(instances), _A_ROW)
    rows["id"] = instances.ids
    rows["class"] = instances.classes
    rows["score"] = instances.scores
    rows["crowd"] = instances.crowd
    rows["runs"] = [len(runs) for runs in instances.runs]
    runs = np.concatenate([np.zeros(0, np.int64), *instances.runs]).astype("<u4")
    head = _HEAD.pack(_MAGIC, _VERSION, *instances.size, len(rows), len(runs))
    planes = np.ascontiguousarray(runs.view(np.uint8).reshape(-1, 4).T)  # bytes of a kind side by side
    return array_codes.encode(np.frombuffer(head + rows.tobytes() + planes.tobytes(), np.uint8))


def decode(code: bytes) -> Instances:
    """Return the instances of a code; LabelMapError if it is damaged.

    >>> one = make((1, 4), [np.array([1, 2, 1])], [7], scores=[0.5])
    >>> again = decode(encode(one))
    >>> again.scores.tolist(), again.mask(0).astype(int).tolist()
    ([0.5], [[0, 1, 1, 0]])
    """
    data = array_codes.decode(code).tobytes()
    if len(data) < _HEAD.size or data[:2] != _MAGIC or data[2] != _VERSION:
        raise LabelMapError(_DAMAGED)
    _, _, height, width, n, total = _HEAD.unpack_from(data)
    split = _HEAD.size + n * _A_ROW.itemsize
    if n > MOST or len(data) != split + 4 * total:
        raise LabelMapError(_DAMAGED)
    rows = np.frombuffer(data[_HEAD.size : split], _A_ROW)
    planes = np.frombuffer(data[split:], np.uint8).reshape(4, -1)
    runs = np.ascontiguousarray(planes.T).view("<u4").reshape(-1).astype(np.int64)
    ends = np.cumsum(rows["runs"].astype(np.int64))
    if (int(ends[-1]) if n else 0) != total:
        raise LabelMapError(_DAMAGED)
    each = tuple(np.split(runs, ends[:-1])) if n else ()
    if any(int(one.sum()) != height * width for one in each):
        raise LabelMapError(_DAMAGED)
    crowd = rows["crowd"].astype(bool)
    return Instances(
        (height, width), rows["id"].copy(), rows["class"].copy(), rows["score"].copy(), crowd, each
    )


def _plain(runs: np.ndarray) -> np.ndarray:
    """Return run lengths without runs of nothing, except the first."""
    runs = np.asarray(runs, np.int64)
    if (runs[1:] > 0).all():
        return runs
    edges = np.cumsum(runs)
    inside = np.arange(len(runs)) % 2 == 1
    keep = runs > 0
    kind = inside[keep]
    if not len(kind):
        return runs[:1]
    last = np.append(kind[1:] != kind[:-1], True)
    ends = edges[keep][last]
    return np.diff(np.concatenate((np.zeros(int(kind[0]), np.int64), ends)), prepend=0)
