"""What the boxes of images leave open at each pixel of their maps, for estimates from points.

Conventions: boxes of an image travel to workers as text (`boxes_as_text`), {place of a class that was boxed:
its boxes at the image's own size}. Pixels are those of maps at working size.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from faultscape.maps.boxes import Box, covered, scaled
from faultscape.ranking.points.box_states import OPEN, SHUT
from faultscape.reading.boxes.evidence import boxes_of

if TYPE_CHECKING:
    from faultscape.reading.study import Study

MOST = 1 << 14  # states of one image, beyond which further classes stay untold


class OpenClasses(NamedTuple):
    """The distinct states (P, C) of classes in an image (`BoxStates`), and which each pixel has (H, W)."""

    states: np.ndarray
    rows: np.ndarray


def boxes_as_text(study: Study, truth: str) -> dict[str, str]:
    """Return {image: its boxes of a truth, as text} of the images that have any and count."""
    place = {name: k for k, name in enumerate(study.classes.names)}
    return {
        image: json.dumps({place[name]: [box[:4] for box in boxes] for name, boxes in of.items()})
        for image, of in boxes_of(study, truth).items()
        if of
    }


def open_classes(text: str, of: tuple[int, int], size: tuple[int, int], classes: int) -> OpenClasses:
    """Return what boxes of an image of (width, height) leave open in its maps of another ``size``.

    >>> found = open_classes('{"0": [[0, 0, 2, 1]], "2": []}', (3, 1), (3, 1), 3)
    >>> found.states.tolist(), found.rows.tolist()
    ([[1, 0, 1], [2, 0, 1]], [[1, 1, 0]])
    """
    boxes: Mapping[str, list[tuple[int, int, int, int]]] = json.loads(text)
    shape = size[1], size[0]
    rows = np.zeros(shape, np.uint16)
    states = np.zeros((1, classes), np.uint8)
    for place, mine in boxes.items():
        inside = covered(scaled([Box(*box) for box in mine], of, size), shape)
        if len(states) > MOST:
            continue
        states = np.repeat(states, 2, axis=0)  # outside and inside
        states[::2, int(place)] = SHUT
        states[1::2, int(place)] = OPEN
        rows = 2 * rows + inside
        used = np.bincount(rows.ravel(), minlength=len(states)) > 0
        states = states[used]
        rows = (np.cumsum(used) - 1).astype(np.uint16)[rows]
    return OpenClasses(states, rows)
