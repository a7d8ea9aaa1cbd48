"""Layouts, and the frames that they find in a data set as its own site distributes it, in order of id.

Conventions: ``root`` is the unpacked folder. An id is the path of an image below the folder of its split,
without the suffix that the data set adds to every name. Truth is (H, W): ``semantic`` in the ids of the
layout's class list, ``anomaly`` as 0 known, 1 anomalous, 255 void. A documented number of images is checked
and reported, but not required, so that a sample of a data set works too.

``layout`` is an entry of ``LAYOUTS``. ``frame`` is one of ``find_frames``. ``kind`` is a kind of truth that
the layout has. ``split`` is ``train``, ``val`` or another split of the data set.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from faultscape.errors import CorpusError, LabelMapError, OptionError, closest, counted
from faultscape.formats.pictures import read_rgb

TruthKind = Literal["semantic", "anomaly"]
_OTHER_NAMES = {"train": "training", "training": "train", "val": "validation", "validation": "val"}
ROLES = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "validation": "validation",
    "test": "test",
}


@dataclass(frozen=True, slots=True)
class Frame:
    """One image of a data set and the files that belong to it; '' for missing ones.

    ``image``, ``truth``, ``instances``, ``depth``, ``camera`` are paths; ``overlay`` is a file that is added
    to ``image`` to make the image (Fishyscapes Static). ``group`` is the city, sequence or drive; ``role`` is
    the role that `collect` gives the image; ``condition`` and ``parent`` (an id in the data set it was made
    from) say how a derived image was made: ``fog-3`` of ``frankfurt/frankfurt_000000_000294``.
    """

    id: str  # the path below the folder of its split, as frankfurt/frankfurt_000000_000294
    image: str
    truth: str = ""
    instances: str = ""
    depth: str = ""
    camera: str = ""
    overlay: str = ""
    group: str = ""
    split: str = ""
    role: str = "pool"
    condition: str = "clean"
    parent: str = ""


Find = Callable[[Path, str], Iterable[Frame]]
Read = Callable[[Frame], np.ndarray]


@dataclass(frozen=True)
class Layout:
    """The layout of a data set: how its frames are found, what its labels mean, how many images it should
    have. Readers take a frame; a reader is None if the data set has nothing of its kind.

    ``splits`` are the names that the data set itself uses; with ``lists``, any list file beside the official
    ones names a split too. ``classes`` names a built-in class list ('' if there are only anomaly masks);
    ``truth_kind`` is the kind that the data set is used for. ``find`` returns the frames of a split in any
    order, none if the folder is not as ``expected`` says. ``grouping`` says what a group is ('' if every
    image is alone). ``to_cityscapes`` is {label id: Cityscapes class or void} if the classes differ.
    ``notes`` lists quirks and what is not verified; ``terms`` are the conditions of use as far as we know,
    but the data set's own site is authoritative.
    """

    name: str  # the name for `collect --layout`
    title: str  # the name in tables and messages
    splits: tuple[str, ...]
    classes: str
    truth_kind: TruthKind
    find: Find
    expected: str
    source: str  # the papers that describe it, and its website
    counts: Mapping[str, int] = field(default_factory=dict)  # documented number of images by split
    grouping: str = ""
    notes: str = ""
    terms: str = ""
    lists: bool = False
    read_semantic: Read | None = None  # (H, W) ids of the class list
    read_anomaly: Read | None = None  # (H, W): 0 known, 1 anomalous, 255 void
    read_instances: Read | None = None  # (H, W) int32: a number for each object, 0 for none
    read_depth: Read | None = None  # (H, W) float32 metres, NaN where not measured
    read_ego: Read | None = None  # (H, W) bool: the ego vehicle, where no object is blended
    read_overlaid: Read | None = None  # (H, W, 3) uint8: `image` with `overlay` added
    to_cityscapes: Callable[[], dict[str, str]] | None = None

    @property
    def truth_kinds(self) -> tuple[TruthKind, ...]:
        """The kinds of truth that can be read, the data set's own use first."""
        readers: dict[TruthKind, Read | None] = {"semantic": self.read_semantic, "anomaly": self.read_anomaly}
        return tuple(
            sorted((kind for kind in readers if readers[kind]), key=lambda kind: kind != self.truth_kind)
        )

    def read_truth(self, frame: Frame, kind: TruthKind | None = None) -> np.ndarray:
        """Return (H, W) labels of a frame, by default of the layout's main kind; LabelMapError if there are
        none.
        """
        kind = kind or self.truth_kind
        read = {"semantic": self.read_semantic, "anomaly": self.read_anomaly}[kind]
        if read is None:
            raise LabelMapError(
                f"{self.title} has no {kind} labels; it has {' and '.join(self.truth_kinds)} ones"
            )
        if not frame.truth:
            raise LabelMapError(
                f"{frame.id}: {self.title} has no labels for this image of the split {frame.split!r}"
            )
        return read(frame)

    def read_image(self, frame: Frame) -> np.ndarray:
        """Return the image (H, W, 3) uint8; ImageError if it cannot be read."""
        return self.read_overlaid(frame) if frame.overlay and self.read_overlaid else read_rgb(frame.image)


def find_frames(layout: Layout, root: str | os.PathLike[str], split: str) -> tuple[Frame, ...]:
    """Return the frames of a split, by id; OptionError for an unknown split, CorpusError in one line for a
    folder that does not have this layout.

    ``train`` and ``training``, ``val`` and ``validation`` mean the same.

    >>> from faultscape.corpus.layouts.catalogue import entry
    >>> find_frames(entry("cityscapes"), ".", "vall")
    Traceback (most recent call last):
    ...
    faultscape.errors.OptionError: --split 'vall': Cityscapes has train, val, test, train_extra. Did you mean
    'val'?
    """
    folder = Path(root)
    split = split if split in layout.splits else _OTHER_NAMES.get(split, split)
    if split not in layout.splits and not layout.lists:
        raise OptionError(
            f"--split {split!r}: {layout.title} has"
            f" {', '.join(layout.splits)}.{closest(split, layout.splits)}"
        )
    if not folder.is_dir():
        raise CorpusError(
            f"{root}: there is no such folder; {layout.title} is expected there: {layout.expected}"
        )
    frames = sorted(layout.find(folder, split), key=lambda frame: frame.id)
    if not frames:
        raise CorpusError(
            f"{root}: no images of the split {split!r} of {layout.title} found; expected {layout.expected};"
            f" found {contents(folder)}"
        )
    twice = [id_ for id_, times in Counter(frame.id for frame in frames).items() if times > 1]
    if twice:
        raise CorpusError(
            f"{root}: two images have the id {twice[0]!r}; remove the copy, or give the folder of one of them"
        )
    return tuple(frames)


def check(layout: Layout, frames: Sequence[Frame]) -> str:
    """Return a text that says where the number of images or labels differs from the documented one, or ''.

    For images made from others (fog, corruptions), each condition is counted separately.

    >>> from faultscape.corpus.layouts.catalogue import entry
    >>> check(entry("cityscapes"), [Frame("a/a_1_2", "a.png", "l.png", split="val")])
    'Cityscapes val: 1 image found, 500 documented'
    """
    remarks = []
    number = Counter((frame.split, frame.condition if frame.parent else "") for frame in frames)
    for (split, condition), found in sorted(number.items()):
        documented = layout.counts.get(split)
        if documented is not None and found != documented:
            name = f"{layout.title} {split}" + (f", {condition}" if condition else "")
            remarks.append(f"{name}: {counted(found, 'image')} found, {documented:,} documented")
    for split in sorted({frame.split for frame in frames}):
        mine = [frame for frame in frames if frame.split == split]
        without = sum(not frame.truth for frame in mine)
        if 0 < without < len(mine):
            remarks.append(
                f"{layout.title} {split}: {without:,} of {counted(len(mine), 'image')} have no labels"
            )
    return "; ".join(remarks)


def contents(folder: Path, most: int = 6) -> str:
    """Return a text with the first names in a folder, folders with a trailing slash."""
    try:
        names = sorted(f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir())
    except OSError as error:
        return f"a folder that cannot be read ({error.strerror})"
    if not names:
        return "nothing"
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
