"""What a label format is, and what its functions take and give: an image to export, and a label to import.

Conventions: sizes are (width, height), maps (H, W) ids of the class list. Faults of one image are raised when
that image is read, so that the others can still be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from faultscape.maps.instances import Instances
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
    a function that reads its ids, how many shapes of each kind are left out because they have no area, and a
    function that reads its instances, with ids of classes, if the tool tells objects apart.
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
    instances: Callable[[Classes], Instances] | None = None


Kind = Literal["masks", "bundle", "questions", "points"]


@dataclass(frozen=True)
class Format:
    """A label format, of one of four kinds.

    ``masks`` are a file for each image. `write` takes (label, image, size, ids, classes) and returns the
    bytes of one label, whose ids (H, W) a model filled in, or None; if it returns None, no file is written.
    `read` takes (path, classes, size) and returns (H, W) ids. `recognise` takes the path of a file with one
    of the endings and returns "drawn" for a finished label, "empty" for one without a shape, or "other";
    without it, all are drawn.

    A ``bundle`` keeps the labels of many images in one file, or in files that belong together. `write` takes
    (folder, images, classes), the images as `DrawnImage`, and yields (path in the folder, bytes) of all files
    but the images. `read` takes the path of a file and returns its labels, as `ToolLabel`. `recognise` takes
    a path and returns whether it is such a file.

    ``questions`` are a file of questions about classes, and of people's answers. `write` takes questions
    (image, class) and the glosses of classes, and returns the text of a file. `read` takes (path, column) and
    returns its content as `Lines`, with labels from the column if one is named. `recognise` takes a path and
    returns how many lines are filled in; LabellingError for any other file.

    ``points`` are files of pixels of images. `write` takes points (`AskedPoint`) and the classes, and returns
    {file of the folder: bytes}; files that people fill in have one of the endings. `read` takes the path of a
    file and returns its content as `PointLines`. `recognise` takes a path and returns how many points are
    answered in it, None for any other file. Without a ``photo`` people see cuts of the images.

    ``check`` takes the path of a file, or of a folder of masks, and returns what the tool would reject, in
    sentences. ``says`` tells what to do with the exported files, {folder} being the folder ``labels``, {out}
    the whole one and {export} the file or folder ``returned`` in it, to which the tool's export goes;
    ``returned`` is '' if people change the exported files. ``says_prefilled`` tells what to do instead if a
    model's maps are filled in. ``endings`` are those of label files, in lower case, with the dot. ``photo``
    and ``label`` are the paths of an image and of its mask in the exported folder. ``prepare`` takes the
    classes and returns {file of the folder: bytes} that tells a tool of masks about them.

    ``outlines``: `write` also takes this argument, and then writes polygons. ``counts``: `read` also takes
    ``left_out``, a Counter, and counts in it, by kind, the shapes that it left out because they have no area.
    For ``listed`` masks the folder ``labels`` is created: they may also come from a data set, with ids of
    another class list, which names and values reveal. ``same_as`` is the format that reads what this one
    wrote, '' for itself.
    """

    name: str  # what `--format` takes
    title: str  # its name in messages
    says: str
    kind: Kind  # how its files hold labels
    write: Callable[..., Any]  # what people get: bytes of a mask, files of a bundle, text of questions
    read: Callable[..., Any]  # what a file says
    recognise: Callable[[Path], Any] | None = None  # whether a file is of this format, and filled in
    check: Callable[[Path], Sequence[str]] | None = None
    endings: frozenset[str] = frozenset()
    photo: str = "images/{image}.png"
    label: str = ""
    prepare: Callable[[Classes], Mapping[str, bytes]] | None = None
    outlines: bool = False
    counts: bool = False
    listed: bool = False
    same_as: str = ""
    says_prefilled: str = ""
    returned: str = ""

    @property
    def task(self) -> Literal["segmentation", "classification"]:
        """The task of studies that it fits."""
        return "classification" if self.kind == "questions" else "segmentation"

    @property
    def ending(self) -> str:
        """The first of its endings."""
        return min(self.endings, default="")


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
