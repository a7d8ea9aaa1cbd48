"""Objects that look like each other: a network that learnt from one must not be judged by the other.

Conventions: two objects look alike if their difference hashes over grey, upright or mirrored, differ in at
most four bits (`corpus.duplicates`), and the means of their colours in at most ``COLOUR`` levels in each
channel, so that copies of other size and quality are found. Other objects of plain shapes may look alike too.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np

from faultscape.corpus.duplicates import DISTANCE
from faultscape.formats.pictures import difference_hash
from faultscape.stressors.objects.cutout import Cutout

COLOUR = 16
_GREY = 128.0
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)
Key = TypeVar("Key")
Look = tuple[int, int, np.ndarray]  # the hash of an object, of its mirror image, and its mean colour


def look_of(cutout: Cutout) -> Look:
    """Return how an object looks: the difference hashes of the object over grey and of its mirror image, and
    the mean (3,) of its colours.
    """
    alpha = cutout.alpha[..., None].astype(np.float32) / 255
    over = cutout.pixels.astype(np.float32) * alpha + _GREY * (1 - alpha)
    grey = over @ _LUMA
    mean = (cutout.pixels * alpha).sum((0, 1)) / alpha.sum().clip(1e-6)
    return difference_hash(grey), difference_hash(grey[:, ::-1]), mean


def lookalikes(mine: Mapping[Key, Look], others: Iterable[tuple[Key, Look]]) -> dict[Key, Key]:
    """Return {key of an object: key of the first of the others that looks like it}.

    >>> red, blue = (
    ...     Cutout(np.full((9, 9, 3), colour, np.uint8), np.full((9, 9), 255, np.uint8), "a box")
    ...     for colour in ((200, 0, 0), (0, 0, 200))
    ... )
    >>> lookalikes({"red": look_of(red)}, [("blue", look_of(blue)), ("again", look_of(red))])
    {'red': 'again'}
    """
    rest = list(others)
    if not rest:
        return {}
    hashes = np.array([[_bits(way) for way in look[:2]] for _, look in rest], np.uint64)
    colours = np.array([look[2] for _, look in rest])
    found = {}
    for key, (upright, _, colour) in mine.items():
        differing = np.bitwise_count(hashes ^ np.uint64(_bits(upright))).min(1)
        near = (differing <= DISTANCE) & (np.abs(colours - colour).max(1) <= COLOUR)
        if near.any():
            found[key] = rest[int(near.argmax())][0]
    return found


def _bits(value: int) -> int:
    return value & 0xFFFFFFFFFFFFFFFF
