"""Label maps as polygons: one for each connected patch of an id, in painting order, so that patches in a hole
are painted after the surrounding one.

Conventions: a patch is connected by the sides of its pixels. x = 0 is the left side of the first pixel, and a
corner is a quarter of a pixel inside its patch, at .25 or .75: a polygon covers the same pixels whether a
pixel is inside by its centre (CVAT, COCO), or corners are truncated to whole pixels and the line is drawn
with the area (Pillow, LabelMe). No centre is nearer than a quarter, so a polygon that deviates by less has
the same pixels (proved for centres, tested for Pillow), and unneeded corners are left out.
"""

from __future__ import annotations

import cv2
import numpy as np

from faultscape.errors import LabellingError
from faultscape.maps.regions import bounding_box

MOST = 100_000  # polygons per map
EXACT = 0.24  # pixels: the tolerance that changes no pixel
Corners = list[tuple[float, float]]


def outlines(ids: np.ndarray, nothing: int | None, *, tolerance: float = EXACT) -> list[tuple[int, Corners]]:
    """Return (id, corners) of the polygons that, painted in order on a map of ``nothing``, give the (H, W)
    ids.

    ``tolerance`` is how far, in pixels, a polygon may deviate from its patch's side: with `EXACT` or less,
    the map is reproduced exactly; with more, there are fewer corners and some pixels differ. LabellingError
    for a map with too many patches.

    >>> outlines(np.array([[0, 0, 0, 0], [0, 7, 7, 0]]), 0)
    [(7, [(1.25, 1.25), (1.25, 1.75), (2.75, 1.75), (2.75, 1.25)])]
    """
    return [(value, corners) for _, value, corners in nested_outlines(ids, nothing, tolerance=tolerance)]


def nested_outlines(
    ids: np.ndarray, nothing: int | None, *, tolerance: float = EXACT
) -> list[tuple[int, int, Corners]]:
    """Return (depth, id, corners) of the polygons of `outlines`; polygons of one depth do not overlap, and a
    deeper one is inside one less deep.
    """
    patches = _patches(ids)
    depth = np.zeros(ids.shape, np.int32)
    found = []
    for box, value, patch in sorted(patches, key=lambda patch: -patch[0][2] * patch[0][3]):
        # patches inside a hole have smaller boxes
        left, top, width, height = box
        below = depth[top : top + height, left : left + width]
        y, x = np.unravel_index(int(patch.argmax()), patch.shape)
        level = int(below[y, x])
        if level == 0 and value == nothing:
            continue
        contour = _contour(patch.repeat(2, 0).repeat(2, 1))
        if tolerance and len(simpler := cv2.approxPolyDP(contour, 2 * tolerance, closed=True)) > 2:
            contour = simpler
        points = (contour.reshape(-1, 2) + 0.5) / 2 + (left, top)
        found.append((level, value, [(float(x), float(y)) for x, y in points]))
        below[cv2.drawContours(np.zeros(patch.shape, np.uint8), [_contour(patch)], 0, 1, cv2.FILLED) > 0] = (
            level + 1
        )
    return found


def _patches(ids: np.ndarray) -> list[tuple[tuple[int, int, int, int], int, np.ndarray]]:
    """Return (left, top, width, height), id and pixels of each patch of a map, with the pixels in its box as
    0 and 1.
    """
    patches = []
    for value in np.unique(ids).tolist():
        inside = ids == value
        box = bounding_box(inside)
        top, left = (side.start for side in box)
        crop = inside[box].astype(np.uint8)
        count, numbers, boxes, _ = cv2.connectedComponentsWithStats(crop, connectivity=4)
        if len(patches) + count - 1 > MOST:
            raise LabellingError(
                f"a map of {ids.shape[1]} x {ids.shape[0]} pixels has more than {MOST:,} patches, too"
                " many for polygons; write masks"
            )
        for number in range(1, count):
            x, y, width, height = boxes[number, :4].tolist()
            patch = (numbers[y : y + height, x : x + width] == number).astype(np.uint8)
            patches.append(((left + x, top + y, width, height), value, patch))
    return patches


def _contour(patch: np.ndarray) -> np.ndarray:
    """Return the contour pixels of a patch, from OpenCV."""
    contours, _ = cv2.findContours(np.ascontiguousarray(patch), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    return contours[0]
