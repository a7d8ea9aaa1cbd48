"""Lost and Found (Pinggera et al. 2016): road hazards in 112 stereo sequences, with labels only of the road
and the objects.

Conventions: ids are LOCATION/LOCATION_SEQUENCE_FRAME (frame numbers go up in tens); a group is a sequence.
Labels: 0 everything else, 1 free space, 2-43 objects. The *on-road* truth is 1 on objects, 0 on free space
and 255 elsewhere, as the Fishyscapes authors' own code reads these labels. Seven object ids (31, 33, 34,
36-39) are not hazards in the data set's own table, but count as objects here.

The frames of Lost and Found that Fishyscapes uses (Blum et al. 2021, section 3.2), chosen from the original
tree and its labels.

Conventions: in the paper, sequences whose hazards are children or bicycles are dropped, at least every sixth
image is kept, images without objects are dropped, and validation and test are disjoint in location. The paper
leaves details open; these are our choices. *Children and bicycles* are the label ids 23 and 40-43: real
children and bicycles. The doll of a child (26) and the toy cars (27-29) stay, as in SegmentMeIfYouCan's
exclusion list. *Every sixth* counts the labelled frames of a sequence (which are ten frames apart) from its
first one; the published validation set has more frames towards the end of a sequence, where objects are near
("at least"). The validation *locations* are the three of the published labels; all others are test.
Source: Blum et al. 2021, section 3.2; the label table of Pinggera et al. 2016.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from faultscape.corpus.layouts.cityscapes import city_tree
from faultscape.corpus.layouts.layout import Frame
from faultscape.corpus.layouts.masks import VOID, as_is
from faultscape.corpus.layouts.trees import IMAGES, branch, files, without
from faultscape.errors import CorpusError, OptionError

FREE_SPACE = 1
NAME = re.compile(r"(?P<location>.+)_(?P<sequence>\d{6})_(?P<frame>\d{6})")
CHILDREN_AND_BICYCLES = frozenset((23, 40, 41, 42, 43))
VALIDATION_LOCATIONS = frozenset(("01_Hanns_Klemm_Str_45", "04_Maurener_Weg_8", "13_Elly_Beinhorn_Str"))
EVERY = 6


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


@dataclass(frozen=True)
class Chosen:
    """The frames chosen from the original ones, and how many were left out for each reason."""

    frames: tuple[Frame, ...]
    of_known_classes: int
    between: int
    without_object: int

    def __repr__(self) -> str:
        return (
            f"{len(self.frames)} frames; left out: {self.of_known_classes} of sequences with children or"
            f" bicycles, {self.between} between every {EVERY}th, {self.without_object} without an object"
        )


def location(frame: Frame) -> str:
    """Return the location of a frame, without its sequence number: ``04_Maurener_Weg_8``.

    >>> location(Frame("04_Maurener_Weg_8/04_Maurener_Weg_8_000000_000030", ""))
    '04_Maurener_Weg_8'
    """
    return _parts(frame)[0]


def choose(
    frames: Iterable[Frame],
    *,
    every: int = EVERY,
    known: Collection[int] = CHILDREN_AND_BICYCLES,
    labels: Callable[[Frame], np.ndarray] = read_labels,
) -> Chosen:
    """Return the frames of both splits that Blum et al. 2021, section 3.2 uses, by id, each with its new
    split: ``validation`` or ``test`` by location.

    ``labels`` returns (H, W) label ids of a frame. Errors: OptionError for ``every`` below 1, CorpusError for
    a frame without labels or with an unexpected name.

    >>> frames = [Frame(f"a/a_000001_{k:06}", "", "l", group="a_000001") for k in range(0, 130, 10)]
    >>> choose(frames, labels=lambda frame: np.array([[0, 1, 2 * (frame.id > "a/a_000001_000050")]]))
    2 frames; left out: 0 of sequences with children or bicycles, 10 between every 6th, 1 without an object
    """
    if every < 1:
        raise OptionError(f"every {every}th frame: a number from 1 on is expected")
    sequences: dict[tuple[str, int], list[Frame]] = {}
    for frame in frames:
        place, sequence, _ = _parts(frame)
        if not frame.truth:
            raise CorpusError(f"{frame.id}: has no label ids; unpack gtCoarse beside leftImg8bit")
        sequences.setdefault((place, sequence), []).append(frame)
    taken: list[Frame] = []
    dropped = between = empty = 0
    for (place, _), members in sorted(sequences.items()):
        members.sort(key=lambda frame: _parts(frame)[2])
        present = {
            frame.id: frozenset(np.flatnonzero(np.bincount(labels(frame).ravel())).tolist())
            for frame in members
        }
        if any(not ids.isdisjoint(known) for ids in present.values()):
            dropped += len(members)
            continue
        sixths = members[::every]
        between += len(members) - len(sixths)
        kept = [frame for frame in sixths if max(present[frame.id]) > FREE_SPACE]
        empty += len(sixths) - len(kept)
        split = "validation" if place in VALIDATION_LOCATIONS else "test"
        taken += [replace(frame, split=split, role=split) for frame in kept]
    return Chosen(tuple(sorted(taken, key=lambda frame: frame.id)), dropped, between, empty)


def published(frames: Sequence[Frame], labelled: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return the frames of Lost and Found that have published Fishyscapes labels, with those labels as their
    truth, by id.

    ``labelled`` are frames of the layout ``fs-lost-and-found``; CorpusError if the image of one is not among
    ``frames``.
    """
    by_name = {frame.id.rpartition("/")[2]: frame for frame in frames}
    out = []
    for frame in labelled:
        name = frame.id.partition("_")[2]
        if name not in by_name:
            raise CorpusError(
                f"{frame.truth}: its image {name} is not in Lost and Found as given; unpack both splits of"
                " leftImg8bit"
            )
        out.append(replace(by_name[name], truth=frame.truth, split="validation", role="validation"))
    return tuple(sorted(out, key=lambda frame: frame.id))


def _parts(frame: Frame) -> tuple[str, int, int]:
    """Return the location, the sequence number and the frame number."""
    match = NAME.fullmatch(frame.id.rpartition("/")[2])
    if not match:
        raise CorpusError(
            f"{frame.id}: is not a name of Lost and Found; expected LOCATION_SEQUENCE_FRAME, six digits each"
        )
    return match["location"], int(match["sequence"]), int(match["frame"])
