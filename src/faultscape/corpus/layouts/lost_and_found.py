"""Lost and Found (Pinggera et al. 2016): road hazards in 112 stereo sequences, with labels only of the road
and the objects.

Conventions: ids are LOCATION/LOCATION_SEQUENCE_FRAME (frame numbers go up in tens); a group is a sequence.
Labels: 0 everything else, 1 free space, 2-43 objects. The *on-road* truth is 1 on objects, 0 on free space
and 255 elsewhere, as the Fishyscapes authors' own code reads these labels. Seven object ids (31, 33, 34,
36-39) are not hazards in the data set's own table, but count as objects here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultscape.corpus.layouts.cityscapes import city_tree
from faultscape.corpus.layouts.layout import Frame
from faultscape.corpus.layouts.masks import VOID, as_is
from faultscape.corpus.layouts.trees import IMAGES, branch, files, without

FREE_SPACE = 1
NAME = re.compile(r"(?P<location>.+)_(?P<sequence>\d{6})_(?P<frame>\d{6})")


def find_lost_and_found(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames leftImg8bit/SPLIT/LOCATION/*_leftImg8bit.png with
    gtCoarse/SPLIT/LOCATION/*_gtCoarse_labelIds.png.
    """
    folder = branch(root, "leftImg8bit")
    tree = city_tree(root, "gtCoarse")
    for path in files(folder / split, tuple(f"_leftImg8bit{ending}" for ending in IMAGES)) if folder else ():
        stem = without(path.name, "_leftImg8bit")
        frame = tree.frame(f"{path.parent.name}/{stem}", split, str(path), "gtCoarse")
        # train ids do not distinguish objects
        labels = frame.truth if frame.truth.endswith("_labelIds.png") else ""
        yield Frame(
            frame.id, frame.image, labels, frame.instances, frame.depth, frame.camera,
            group=stem.rpartition("_")[0], split=split, role=frame.role,
        )  # fmt: skip


def read_labels(frame: Frame) -> np.ndarray:
    """Return (H, W) label ids 0-43 of a frame."""
    return as_is(frame.truth, "lost-and-found", "Lost and Found")


def on_road(labels: np.ndarray) -> np.ndarray:
    """Return (H, W) the on-road truth of label ids: object 1, free space 0, all else 255.

    >>> on_road(np.array([[0, 1, 2, 43]]))
    array([[255,   0,   1,   1]], dtype=uint8)
    """
    return np.where(labels > FREE_SPACE, 1, np.where(labels == FREE_SPACE, 0, VOID)).astype(np.uint8)


def read_on_road(frame: Frame) -> np.ndarray:
    """Return (H, W) the on-road truth of a frame."""
    return on_road(read_labels(frame))
