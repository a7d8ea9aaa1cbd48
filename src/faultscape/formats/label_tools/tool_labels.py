"""What formats of labelling tools share: an image that goes out to a tool, and what a tool says of one image.

Conventions: sizes are (width, height); ids are those of the class list, (H, W). A label is looked at when its file is read, and drawn when its ids are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from faultscape.nouns import Classes


@dataclass(frozen=True, eq=False)
class DrawnImage:
    """An image that goes out: its id, where its photo lies relative to the folder that is written (POSIX), (width, height), and (H, W) ids of the class list that a model filled in, or None."""

    image: str
    photo: str
    size: tuple[int, int]
    ids: np.ndarray | None


@dataclass(frozen=True, eq=False)
class ToolLabel:
    """What a tool says of one image: how the tool calls the image, who drew it where the tool says, (width, height) as the tool says, where it stands (file and place, for errors), whether anything is drawn, and how its ids are read.

    ``read(classes)`` returns (H, W) uint8 or uint16 ids of the class list; LabellingError names file and place.
    """

    image: str
    annotator: str
    size: tuple[int, int]
    where: str
    drawn: bool
    read: Callable[[Classes], np.ndarray]
