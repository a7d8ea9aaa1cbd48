"""Which pixels of a label map lie near a border between two of its regions."""

from __future__ import annotations

import numpy as np

from faultscape.errors import LabelMapError
from faultscape.maps import checked_arrays


def near_borders(label_map: np.ndarray, distance: int) -> np.ndarray:
    """Return (H, W) which pixels of a map (H, W) have a pixel of another label at most ``distance`` rows and
    columns away; LabelMapError for a negative distance.

    >>> near_borders(np.array([[4, 4, 4, 7, 7]], np.uint8), 2).astype(int).tolist()
    [[0, 1, 1, 1, 1]]
    """
    import cv2

    label_map = checked_arrays.label_map(label_map, "label_map")
    if distance < 0:
        raise LabelMapError(f"the distance to a border must be 0 pixels or more; got {distance}")
    if not distance:
        return np.zeros(label_map.shape, bool)
    kernel = np.ones((2 * distance + 1, 2 * distance + 1), np.uint8)
    labels = label_map.astype(np.uint8 if label_map.max() < 256 else np.uint16)
    return cv2.dilate(labels, kernel) != cv2.erode(labels, kernel)
