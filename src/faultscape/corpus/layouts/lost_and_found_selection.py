"""The frames of Lost and Found that Fishyscapes uses (Blum et al. 2021, section 3.2), chosen from the
original tree and its labels.

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

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultscape.corpus.layouts.layout import Frame
from faultscape.corpus.layouts.lost_and_found import FREE_SPACE, NAME, read_labels
from faultscape.errors import CorpusError, OptionError

CHILDREN_AND_BICYCLES = frozenset((23, 40, 41, 42, 43))
VALIDATION_LOCATIONS = frozenset(("01_Hanns_Klemm_Str_45", "04_Maurener_Weg_8", "13_Elly_Beinhorn_Str"))
EVERY = 6


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
