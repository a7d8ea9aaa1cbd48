"""What formats of labelling tools share: an image that goes out, and what a tool says about one that comes
back.

Conventions: sizes are (width, height), maps (H, W) ids of the class list. What is wrong with one image is
raised when it is read, so that the others can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from faultscape.nouns import Classes


@dataclass(frozen=True, eq=False)
class DrawnImage:
    """An image that goes out: its id, the path of its file relative to the folder that is written (POSIX),
    (width, height), and (H, W) ids of the class list that a model filled in, or None.
    """

    image: str
    photo: str
    size: tuple[int, int]
    ids: np.ndarray | None


@dataclass(frozen=True, eq=False)
class ToolLabel:
    """What a tool says about one image: how the tool calls the image, who drew it where the tool says,
    (width, height) as the tool says, where it stands (file and place, for errors), whether anything is drawn,
    and how its ids are read.
    """

    image: str
    annotator: str
    size: tuple[int, int]
    where: str
    drawn: bool
    read: Callable[
        [Classes], np.ndarray
    ]  # (H, W) uint8/uint16 ids of the class list; LabellingError names file and place
