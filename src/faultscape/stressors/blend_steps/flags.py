"""Flags of blended objects that nearly vanish in their frame, or that fell into pieces.

Conventions: an object's pixels are those labelled as it at the end, so that what later objects cover does not
count. It is *faint* if fewer than ``LEAST_SEEN`` of them differ by ``DIFFERENCE`` grey levels in some channel
from what was there before, and in *pieces* if its largest connected part (8 neighbours) has less than
``LEAST_WHOLE`` of them. No object is left out for a flag. Fog is not considered, because it does not cover
objects.
Source: ours; the limits were chosen by eye on CamVid, where a few in a hundred objects are flagged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

DIFFERENCE = 16
LEAST_SEEN = 0.25
LEAST_WHOLE = 0.9


@dataclass(frozen=True)
class BlendFlag:
    """A flag of one object (its number in the plan): *faint* with the share of its pixels that differ from
    the frame, or *pieces* with the share of its largest part.
    """

    object: int
    flag: Literal["faint", "pieces"]
    value: float


def flags_of(owner: np.ndarray, differs: np.ndarray, objects: Sequence[int]) -> tuple[BlendFlag, ...]:
    """Return the flags of objects, from the number of the object that each pixel (H, W) belongs to, -1 for
    none, and where pixels (H, W) differ from what was there before.

    >>> owner = np.array([[0, 0, 0, -1, 0], [0, 0, 0, -1, -1]])
    >>> flags_of(owner, owner < 0, [0])
    (BlendFlag(object=0, flag='faint', value=0.0), BlendFlag(object=0, flag='pieces', value=0.857143))
    """
    found = []
    for number in objects:
        own = owner == number
        pixels = int(own.sum())
        seen = int((own & differs).sum()) / max(pixels, 1)
        if seen < LEAST_SEEN:
            found.append(BlendFlag(number, "faint", round(seen, 6)))
        _, _, parts, _ = cv2.connectedComponentsWithStats(own.astype(np.uint8), connectivity=8)
        whole = int(parts[1:, cv2.CC_STAT_AREA].max(initial=0)) / max(pixels, 1)
        if pixels and whole < LEAST_WHOLE:
            found.append(BlendFlag(number, "pieces", round(whole, 6)))
    return tuple(found)
