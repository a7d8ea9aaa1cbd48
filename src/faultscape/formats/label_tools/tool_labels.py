"""Types shared by the formats of labelling tools: an image to export, and a label to import.

Conventions: sizes are (width, height), maps (H, W) ids of the class list. Faults of one image are raised when
that image is read, so that the others can still be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from faultscape.nouns import Classes


@dataclass(frozen=True, eq=False)
class DrawnImage:
    """An image to export: its id, the path of its file relative to the output folder (POSIX), (width,
    height), and (H, W) ids of the class list predicted by a model, or None.
    """

    image: str
    photo: str
    size: tuple[int, int]
    ids: np.ndarray | None


@dataclass(frozen=True, eq=False)
class ToolLabel:
    """A tool's label of one image: the image's name in the tool, the annotator if known, (width, height)
    according to the tool, its place (file and position, for errors), whether anything with an area is drawn,
    a function that reads its ids, and how many shapes of each kind are left out because they have no area.
    """

    image: str
    annotator: str
    size: tuple[int, int]
    where: str
    drawn: bool
    read: Callable[
        [Classes], np.ndarray
    ]  # (H, W) uint8/uint16 ids of the class list; LabellingError names file and place
    without_area: Mapping[str, int] = field(default_factory=dict)
