"""Types shared by the formats of labelling tools: an image to export, and a label to import.

Conventions: sizes are (width, height), maps (H, W) ids of the class list. Faults of one image are raised when
that image is read, so that the others can still be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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


def told_once(found: Sequence[str], what: str) -> list[str]:
    """Return sentences ``PLACE: FAULT``, in which each fault with the words ``what`` stands once, at its
    first place, with its number if it repeats.

    >>> told_once(["a: lacks 'x'", "b: lacks 'y'", "c: lacks 'x'", "d: torn"], "lacks")
    ["a: lacks 'x' (2 times)", "b: lacks 'y'", 'd: torn']
    """
    faults = [fault if what in (fault := sentence.rpartition(": ")[2]) else "" for sentence in found]
    times = Counter(faults)
    out: list[str] = []
    said: set[str] = set()
    for sentence, fault in zip(found, faults, strict=True):
        if not fault:
            out.append(sentence)
        elif fault not in said:
            said.add(fault)
            out.append(sentence if times[fault] == 1 else f"{sentence} ({times[fault]} times)")
    return out
