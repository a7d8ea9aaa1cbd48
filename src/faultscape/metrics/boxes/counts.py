"""What boxes around the objects of a class leave open about models' maps of an image, counted.

Conventions: a truth fits the boxes of a class if no pixel outside all of them is of the class, and each of
the four sides of every whole box has a pixel of the class. Classes do not limit each other. Nothing is void.
Counts of images add up. Boxes of a class that share pixels are one group, of which only the box that needs
most pixels is counted: the counts then are low by a few pixels a group, and the bounds remain bounds.

``maps`` (J, H, W) are the places of classes that J models predict; ``place`` is that of the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from faultscape.errors import LabelMapError, MetricError
from faultscape.maps import checked_arrays
from faultscape.maps.boxes import Box, covered


@dataclass(frozen=True, eq=False)
class BoxCounts:
    """Counts of one class, of images, or summed over them.

    Pixels inside boxes belong to four cells for models a, b: both predict the class there, only a, only b
    (``only`` transposed), or neither. ``held_*`` is how many pixels of the class a cell has at least, since a
    side of a box lies in it entirely.
    """

    predicted: np.ndarray  # (..., J) pixels that a model predicts as the class
    covered: np.ndarray  # (...) pixels inside boxes
    both: np.ndarray  # (..., J, J) of these, what both models predict as the class
    needed: np.ndarray  # (...) least pixels of the class
    held_both: np.ndarray  # (..., J, J)
    held_only: np.ndarray  # (..., J, J) only the first model
    held_neither: np.ndarray  # (..., J, J)
    boxes: np.ndarray  # (...) whole boxes
    missed: np.ndarray  # (..., J) whole boxes in which a model predicts no pixel as the class

    def summed(self) -> BoxCounts:
        """Return the counts added up over the first axis."""
        return BoxCounts(*(getattr(self, one.name).sum(0) for one in fields(self)))

    def without(self, groups: np.ndarray) -> BoxCounts:
        """Return the counts of all images without each group in turn, by numbers (I,) of groups from 0 on;
        the first axis, images, becomes that of groups.
        """
        number = int(groups.max()) + 1
        out = []
        for one in fields(self):
            values = getattr(self, one.name)
            of_group = np.zeros((number, *values.shape[1:]), values.dtype)
            np.add.at(of_group, groups, values)
            out.append(values.sum(0) - of_group)
        return BoxCounts(*out)


def stacked(counts: Iterable[BoxCounts]) -> BoxCounts:
    """Return counts with a new first axis; MetricError without any."""
    rows = list(counts)
    if not rows:
        raise MetricError("there are no counts of boxes to join")
    return BoxCounts(*(np.stack([getattr(row, one.name) for row in rows]) for one in fields(BoxCounts)))


def box_counts(maps: np.ndarray, boxes: Sequence[Box], place: int) -> BoxCounts:
    """Return the counts of a class in an image with these ``boxes`` of it, `Box`; LabelMapError for one that
    is not in the map.

    ``maps`` (J, H, W) are the places of classes that J models predict; ``place`` is that of the class.

    >>> maps = np.array([[[0, 1, 1], [0, 1, 0]], [[0, 1, 0], [0, 0, 0]]])
    >>> counts = box_counts(maps, [Box(0, 0, 2, 2)], 1)
    >>> counts.predicted, counts.covered, counts.both.tolist(), counts.held_both.tolist()
    (array([3, 1]), array(4), [[2, 1], [1, 1]], [[1, 0], [0, 0]])
    """
    maps = checked_arrays.whole_numbers(maps, "maps", LabelMapError, "J x H x W")
    found = maps == place
    inside = covered(boxes, maps.shape[1:])
    flat = found[:, inside].astype(np.float64)
    whole = sorted({box for box in boxes if box.whole})
    models = len(maps)
    full = np.zeros((len(whole), models, 4), bool)
    free = np.zeros_like(full)
    missed = np.zeros(models, np.int64)
    for number, box in enumerate(whole):
        within = found[:, box.top : box.bottom, box.left : box.right]
        sides = (within[:, 0], within[:, -1], within[:, :, 0], within[:, :, -1])
        full[number] = np.stack([side.all(1) for side in sides], 1)
        free[number] = np.stack([~side.any(1) for side in sides], 1)
        missed += ~within.any((1, 2))
    flat_sides = np.array(
        [(box.bottom - box.top == 1, box.right - box.left == 1) for box in whole], bool
    ).reshape(-1, 2)
    groups = _groups_of(whole)
    first, second = (slice(None), slice(None), None), (slice(None), None, slice(None))
    cells = (full[first] & full[second], full[first] & free[second], free[first] & free[second])
    held = [_most_of_groups(_hits(cell, flat_sides), groups) for cell in cells]
    least = _hits(np.ones((len(whole), 4), bool), flat_sides)
    return BoxCounts(
        predicted=found.sum((1, 2)),
        covered=np.array(np.count_nonzero(inside)),
        both=np.rint(flat @ flat.T).astype(np.int64),
        needed=_most_of_groups(least, groups),
        held_both=held[0],
        held_only=held[1],
        held_neither=held[2],
        boxes=np.array(len(whole)),
        missed=missed,
    )


def _hits(sides: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """Return (N, ...) the fewest pixels that touch all chosen sides (N, ..., 4) (top, bottom, left, right) of
    each box: a corner touches two, so that it is the larger one of the numbers of opposite sides to touch,
    which are one side in a box of one row (``flat`` [:, 0]) or one column.

    >>> _hits(np.array([[True, True, True, False]]), np.array([[False, False]])).tolist()
    [2]
    """
    numbers = []
    for axis in (0, 1):
        pair = sides[..., 2 * axis : 2 * axis + 2].astype(np.int64)
        one = flat[:, axis].reshape(-1, *[1] * (sides.ndim - 2))
        numbers.append(np.where(one, pair.max(-1), pair.sum(-1)))
    return np.maximum(*numbers)


def _groups_of(boxes: Sequence[Box]) -> np.ndarray:
    """Return (N,) the number of the group of each box: boxes that share pixels, also through others."""
    if not boxes:
        return np.zeros(0, np.int64)
    from scipy.sparse.csgraph import connected_components

    left, top, right, bottom = np.array([box[:4] for box in boxes]).T
    share = (np.minimum(right[:, None], right) > np.maximum(left[:, None], left)) & (
        np.minimum(bottom[:, None], bottom) > np.maximum(top[:, None], top)
    )
    return connected_components(share, directed=False)[1]


def _most_of_groups(numbers: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the sum over groups of the largest number (N, ...) in each."""
    most = np.zeros((int(groups.max(initial=-1)) + 1, *numbers.shape[1:]), np.int64)
    np.maximum.at(most, groups, numbers)
    return most.sum(0)
