"""What boxes around objects say about an image that a network learns from, and about a crop of it.

Conventions: boxes are half-open in pixels (`maps.boxes`); their classes are the channels of the network, 0 to
C - 1, or ``IGNORED`` for a class that it does not learn. In an image of another size a box covers the pixels
whose nearest one lies in it. A crop leaves of a box what lies in it: each row of a whole box still holds a
pixel of the object if no column was cut off, and each column if no row was. Pixels beyond the image, and in
boxes of ignored classes, say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from faultscape.maps.boxes import scaled_sides
from faultscape.uncertainty.training.labels import IGNORED
from faultscape.uncertainty.training.plan import Size

STEPS = ((0, 2), (2, 0), (2, 2), (2, -2))  # to half of the 3 x 3 neighbours at dilation 2, (rows, columns)
ALIKE = 0.3  # the least similarity of the colours of neighbours that are taken for one class
SPREAD = 2.0  # the scale of distances of colours


@dataclass(frozen=True, eq=False)
class BoxLabels:
    """The boxes of an image of a ``size`` (width, height): the ``boxed`` channels, and for each box its row
    (channel, left, top, right, bottom) of ``boxes`` (B, 5) and whether an object has a pixel in each of its
    rows, and in each of its columns: ``spans`` (B, 2).
    """

    size: Size
    boxed: tuple[int, ...]
    boxes: np.ndarray
    spans: np.ndarray

    def resized(self, size: Size) -> BoxLabels:
        """Return the boxes of the image at another size; one in which no pixel is left is gone.

        >>> about = BoxLabels((4, 2), (0,), np.array([[0, 1, 0, 2, 2]]), np.ones((1, 2), bool))
        >>> about.resized((8, 2)).boxes.tolist(), about.resized((1, 1)).boxes.tolist()
        ([[0, 2, 0, 4, 2]], [])
        """
        return self._with(scaled_sides(self.boxes[:, 1:], self.size, size), self.spans, size)

    def cut(self, rows: slice, columns: slice) -> BoxLabels:
        """Return the boxes in a part of the image, from its corner.

        >>> about = BoxLabels((4, 2), (0,), np.array([[0, 1, 0, 4, 2]]), np.ones((1, 2), bool))
        >>> part = about.cut(slice(0, 2), slice(0, 3))
        >>> part.boxes.tolist(), part.spans.tolist()
        ([[0, 1, 0, 3, 2]], [[False, True]])
        """
        size = (columns.stop - columns.start, rows.stop - rows.start)
        moved = self.boxes[:, 1:] - [columns.start, rows.start, columns.start, rows.start]
        sides = np.clip(moved, 0, [*size, *size])
        kept = (sides == moved).reshape(-1, 2, 2).all(1)  # (B, 2): its columns, and its rows, are all there
        return self._with(sides, self.spans & kept, size)

    def mirrored(self, width: int) -> BoxLabels:
        """Return the boxes in the mirrored image, which is padded on its right to a ``width``."""
        left, top, right, bottom = self.boxes[:, 1:].T
        return replace(self, boxes=np.stack([self.boxes[:, 0], width - right, top, width - left, bottom], 1))

    def _with(self, sides: np.ndarray, spans: np.ndarray, size: Size) -> BoxLabels:
        there = (sides[:, 0] < sides[:, 2]) & (sides[:, 1] < sides[:, 3])
        boxes = np.concatenate([self.boxes[:, :1], sides], 1)
        return BoxLabels(size, self.boxed, boxes[there], spans[there])


@dataclass(frozen=True, eq=False)
class BoxTarget:
    """What boxes say about a crop: ``excluded`` (C, h, w), the classes that a pixel does not show, the
    ``boxes`` (B, 5) with their ``spans`` (B, 2) as in `BoxLabels`, and ``alike`` (4, h, w), whether a pixel
    and its neighbour after each of the ``STEPS`` are taken for one class.
    """

    excluded: np.ndarray
    boxes: np.ndarray
    spans: np.ndarray
    alike: np.ndarray

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many pixels, rows and columns of boxes, and pairs of pixels say something."""
        lines = (self.boxes[:, [4, 3]] - self.boxes[:, [2, 1]]) * self.spans
        return int(self.excluded.any(0).sum()), int(lines.sum()), int(self.alike.sum())


def target_of(about: BoxLabels, photo: np.ndarray, inside: np.ndarray, channels: int) -> BoxTarget:
    """Return what the boxes of a crop say about the channels of a network, from the crop (h, w, 3) uint8 and
    its pixels that lie ``inside`` the image (h, w).

    A class has no pixel outside of its boxes. Where that leaves no class, no label does, and nothing is said.

    >>> about = BoxLabels((3, 1), (0,), np.array([[0, 0, 0, 2, 1]]), np.ones((1, 2), bool))
    >>> made = target_of(about, np.zeros((1, 3, 3), np.uint8), np.ones((1, 3), bool), 2)
    >>> made.excluded[:, 0].astype(int).tolist(), made.alike[0, 0].tolist()
    ([[0, 0, 1], [0, 0, 0]], [True, False, False])
    """
    excluded = np.zeros((channels, *inside.shape), bool)
    excluded[[*about.boxed]] = True
    known = inside.copy()
    covered = np.zeros(inside.shape, bool)
    for channel, left, top, right, bottom in about.boxes.tolist():
        here = slice(top, bottom), slice(left, right)
        if channel == IGNORED:
            known[here] = False
        else:
            excluded[channel][here] = False
            covered[here] = True
    excluded &= known & ~excluded.all(0)
    spans = about.spans & (about.boxes[:, :1] != IGNORED)
    some = spans.any(1)
    return BoxTarget(
        excluded, about.boxes[some], spans[some], _alike(photo, known, covered & known, ~excluded)
    )


def _alike(photo: np.ndarray, known: np.ndarray, covered: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return (4, h, w): pairs of known pixels of similar colour, of which one at least lies in a box, and
    that may be of one class.
    """
    lab = cv2.cvtColor(photo.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    out = np.zeros((len(STEPS), *known.shape), bool)
    tall, wide = known.shape
    for number, (down, right) in enumerate(STEPS):
        first = slice(0, max(0, tall - down)), slice(max(0, -right), wide - max(0, right))
        second = slice(down, tall), slice(max(0, right), wide + min(0, right))
        distance = np.sqrt(((lab[first] - lab[second]) ** 2).sum(-1))
        pairs = known[first] & known[second] & (covered[first] | covered[second])
        pairs &= np.exp(-distance / SPREAD) >= ALIKE
        out[number][first] = pairs & (allowed[:, *first] & allowed[:, *second]).any(0)
    return out
