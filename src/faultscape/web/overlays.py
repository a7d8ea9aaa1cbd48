"""Draw overlays for an image: a label map as areas or outlines, where it is right, where two maps differ, and
which of the two is wrong.

Conventions: label maps (H, W) hold places, 0..C-1 and C for void (nouns). An overlay is codes (H, W) with one
RGBA colour each, one of them clear. Void pixels of a truth are neither right nor wrong, and are clear. The
colours of right and wrong are distinguishable without red-green vision.
"""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass

import numpy as np
from PIL import Image

from faultscape.errors import LabelMapError
from faultscape.maps.paint import palette
from faultscape.nouns import Classes

CLEAR = (0, 0, 0, 0)
RIGHT = (38, 132, 190, 150)
WRONG = (222, 84, 24, 235)
FIRST = (222, 84, 24, 255)
SECOND = (38, 132, 190, 255)
NEITHER = (122, 40, 120, 255)
DIFFERENT = (214, 30, 120, 255)

LIGHT_RIM = (255, 255, 255, 210)
DARK_RIM = (0, 0, 0, 210)
_LUMA, _DARK = np.array([0.299, 0.587, 0.114]), 128  # ITU-R BT.601, and the luma below which a colour is dark


@dataclass(frozen=True, eq=False)
class Overlay:
    """Codes (H, W) of colours (K, 4), uint8 RGBA."""

    codes: np.ndarray
    colours: np.ndarray

    def shares(self) -> tuple[float, ...]:
        """Return the share of pixels with each code."""
        return tuple(
            (np.bincount(self.codes.ravel(), minlength=len(self.colours)) / self.codes.size).tolist()
        )


def fill(label_map: np.ndarray, classes: Classes) -> Overlay:
    """Return the areas of a map in the colours of their classes; void is clear.

    >>> overlay = fill(np.array([[0, 1]]), Classes(("sky",), (0,), ((9, 8, 7),)))
    >>> overlay.colours[overlay.codes].tolist()
    [[[9, 8, 7, 255], [0, 0, 0, 0]]]
    """
    return Overlay(np.minimum(label_map, len(classes)), _of_classes(classes))


def outline(label_map: np.ndarray, classes: Classes) -> Overlay:
    """Return the edge of every area in the colour of its class: pixels with one of four neighbours of a
    different class. A thin line next to it, white within void and dark areas and black within others, keeps
    it visible on images of its own colour.

    >>> outline(np.array([[0, 0, 0, 1]]), Classes(("a", "b"), (0, 1), ((1, 1, 1), (2, 2, 2)))).codes.tolist()
    [[2, 3, 0, 1]]
    """
    clear = len(classes)
    codes = np.minimum(label_map, clear).astype(np.intp)
    line = _edges(codes) & (codes < clear)
    colours = _of_classes(classes)
    beside = np.where(colours[:, :3] @ _LUMA < _DARK, clear + 1, clear + 2)
    return Overlay(
        np.where(line, codes, np.where(_near(line), beside[codes], clear)),
        np.concatenate([colours, np.array([LIGHT_RIM, DARK_RIM], np.uint8)]),
    )


def edge(area: np.ndarray, colour: tuple[int, int, int, int]) -> Overlay:
    """Return the inner edge of an area (H, W), two pixels wide, in one colour.

    >>> edge(np.array([[0, 1, 1, 1, 1, 1]], bool), (9, 9, 9, 255)).codes.tolist()
    [[0, 1, 1, 0, 0, 0]]
    """
    first = _edges(area) & area
    return Overlay(
        (first | (_edges(area & ~first) & area)).astype(np.uint8), np.array([CLEAR, colour], np.uint8)
    )


def large_enough(area: np.ndarray) -> np.ndarray:
    """Return an area (H, W) large enough for its edge to be visible: one with fewer pixels than (longer side
    / 50) squared grows by a hundredth of the longer side in all directions.

    >>> int(large_enough(np.eye(1, 200, 100, dtype=bool)).sum())
    5
    """
    longest = max(area.shape)
    if not 0 < area.sum() < (longest / 50) ** 2:
        return area
    reach = max(1, longest // 100)
    out = area.copy()
    for y, x in np.argwhere(area):  # few
        out[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1] = True
    return out


def correctness(label_map: np.ndarray, truth: np.ndarray, classes: Classes) -> Overlay:
    """Return where a map is right (code 1) and wrong (2); 0, clear, where the truth is void. LabelMapError
    for sizes that differ.
    """
    _alike(label_map, truth)
    codes = np.where(truth >= len(classes), 0, np.where(label_map == truth, 1, 2)).astype(np.uint8)
    return Overlay(codes, np.array([CLEAR, RIGHT, WRONG], np.uint8))


def difference(first: np.ndarray, second: np.ndarray) -> Overlay:
    """Return where two maps differ (code 1); 0, clear, where they agree. LabelMapError for sizes that
    differ.
    """
    _alike(first, second)
    return Overlay((first != second).astype(np.uint8), np.array([CLEAR, DIFFERENT], np.uint8))


def verdict(first: np.ndarray, second: np.ndarray, truth: np.ndarray, classes: Classes) -> Overlay:
    """Return, where two maps differ, which is wrong: the first (code 1), the second (2) or both (3); 0,
    clear, where they agree or the truth is void.

    LabelMapError for sizes that differ.

    >>> two = Classes(("a", "b"), (0, 1), ((1, 1, 1), (2, 2, 2)))
    >>> verdict(
    ...     np.array([[0, 0, 0, 1]]), np.array([[0, 1, 1, 2]]), np.array([[0, 1, 2, 0]]), two
    ... ).codes.tolist()
    [[0, 1, 0, 3]]
    """
    _alike(first, second)
    _alike(first, truth)
    decided = (first != second) & (truth < len(classes))
    codes = np.where(decided, (first != truth) + 2 * (second != truth), 0).astype(np.uint8)
    return Overlay(codes, np.array([CLEAR, FIRST, SECOND, NEITHER], np.uint8))


def png(overlay: Overlay) -> bytes:
    """Return an overlay as PNG, with a palette if its colours fit into one."""
    height, width = overlay.codes.shape
    out = io.BytesIO()
    if len(overlay.colours) <= 256:
        picture = Image.frombytes(
            "P", (width, height), np.ascontiguousarray(overlay.codes, np.uint8).tobytes()
        )
        picture.putpalette(overlay.colours[:, :3].tobytes())
        # takes half the time and is smaller, because maps consist of runs
        more = {"compress_level": 4, "compress_type": zlib.Z_RLE}
        picture.save(out, format="PNG", transparency=overlay.colours[:, 3].tobytes(), **more)
    else:
        Image.fromarray(overlay.colours[overlay.codes]).save(out, format="PNG", compress_level=4)
    return out.getvalue()


def _edges(codes: np.ndarray) -> np.ndarray:
    """Return which pixels (H, W) have one of four neighbours with a different code."""
    found = np.zeros(codes.shape, bool)
    across = codes[:, :-1] != codes[:, 1:]
    along = codes[:-1] != codes[1:]
    found[:, :-1] |= across
    found[:, 1:] |= across
    found[:-1] |= along
    found[1:] |= along
    return found


def _near(area: np.ndarray) -> np.ndarray:
    """Return which pixels (H, W) have one of four neighbours within an area."""
    found = np.zeros(area.shape, bool)
    found[:, :-1] |= area[:, 1:]
    found[:, 1:] |= area[:, :-1]
    found[:-1] |= area[1:]
    found[1:] |= area[:-1]
    return found


def _of_classes(classes: Classes) -> np.ndarray:
    """Return the (C + 1, 4) colours of classes, void clear."""
    opaque = np.full((len(classes) + 1, 1), 255, np.uint8)
    colours = np.hstack([palette(classes), opaque])
    colours[-1] = CLEAR
    return colours


def _alike(first: np.ndarray, second: np.ndarray) -> None:
    if first.shape != second.shape:
        sizes = " and ".join(" x ".join(map(str, found.shape[::-1])) for found in (first, second))
        raise LabelMapError(f"maps of {sizes} pixels cannot be compared; resize one to the other's size")
