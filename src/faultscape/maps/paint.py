"""Colours and outlines of a label map, for people: shared by the report and the labelling app.

Conventions: a label map holds places, 0..C-1 in the order of ``Classes.ids`` and C for void (see nouns);
larger values are painted as void. Images are (H, W, 3) uint8. A border pixel is one whose right or lower
neighbour has another class, so lines are one pixel wide.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import LabelMapError, OptionError
from faultscape.nouns import Classes

VOID = (224, 224, 192)  # PASCAL VOC's colour for void
_LINE = (255, 255, 255)


def palette(classes: Classes) -> np.ndarray:
    """Return the (C + 1, 3) uint8 colours by place, void last.

    >>> palette(Classes(("sky",), (0,), ((9, 8, 7),))).tolist()
    [[9, 8, 7], [224, 224, 192]]
    """
    return np.array([*classes.colours, VOID], np.uint8)


def colour(label_map: np.ndarray, classes: Classes) -> np.ndarray:
    """Return an (H, W) map of places in the colours of its classes.

    >>> colour(np.array([[0, 1]]), Classes(("sky",), (0,), ((9, 8, 7),))).tolist()
    [[[9, 8, 7], [224, 224, 192]]]
    """
    return palette(classes)[np.minimum(label_map, len(classes))]


def borders(label_map: np.ndarray) -> np.ndarray:
    """Return (H, W) whether a pixel's right or lower neighbour has another class.

    >>> borders(np.array([[0, 0, 1], [0, 0, 1]])).astype(int).tolist()
    [[0, 1, 0], [0, 1, 0]]
    """
    label_map = np.asarray(label_map)
    out = np.zeros(label_map.shape, bool)
    out[:, :-1] = label_map[:, :-1] != label_map[:, 1:]
    out[:-1] |= label_map[:-1] != label_map[1:]
    return out


def overlay(
    photo: np.ndarray, label_map: np.ndarray, classes: Classes, alpha: float = 0.5, *, outlines: bool = True
) -> np.ndarray:
    """Return the image with the map's colours over it: ``alpha`` 0 shows the image alone, 1 the map; void
    pixels show the image.

    Errors: OptionError for an alpha outside 0..1, LabelMapError if image and map differ in size.
    """
    if not 0 <= alpha <= 1:
        raise OptionError(f"alpha lies between 0 and 1; got {alpha}")
    photo = np.asarray(photo)
    label_map = np.asarray(label_map)
    if photo.shape[:2] != label_map.shape:
        h, w = label_map.shape[:2]
        raise LabelMapError(
            f"the map is {w} x {h} pixels, the image {photo.shape[1]} x {photo.shape[0]}; bring one to the"
            " other's size"
        )
    strength = np.where(label_map < len(classes), alpha, 0.0)[..., None]
    painted = photo * (1 - strength) + colour(label_map, classes) * strength
    if outlines and alpha > 0:
        painted[borders(label_map)] = _LINE
    return np.rint(painted).astype(np.uint8)
