"""The data preset fs-static: the base and the objects of each of 30 validation and 1,000 test frames.

Conventions: bases are keys (digests), objects cut-outs of the twelve VOC classes that Cityscapes does not
have. A base that is reused gets a new draw number, so that objects and places differ. Bases, objects and
known objects of validation are never used in test.

``bases`` are the keys of the images that objects are blended into.

Source: Blum et al. 2021, section 3.1. The division of bases and objects is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from faultscape.errors import CorpusError, OptionError, counted
from faultscape.stressors.objects.cutout import Cutout
from faultscape.stressors.streams import Stream

FS_STATIC_CLASSES = (
    "aeroplane",
    "bird",
    "boat",
    "bottle",
    "cat",
    "chair",
    "cow",
    "dog",
    "horse",
    "sheep",
    "sofa",
    "tvmonitor",
)
VALIDATION_FRAMES = 30
TEST_FRAMES = 1000
_FEW = 0.1  # share of a class's objects for validation, at least one if there are two


@dataclass(frozen=True)
class StaticFrame:
    """One frame to make: its split, the key of its base, its draw number (0 for the first of a base), and the
    digests of the objects drawn for it.
    """

    split: Literal["validation", "test"]  # the two share neither bases nor objects
    base: str  # the key of the image that objects are blended into
    draw: int  # 0 for the first frame of a base, 1 for the next, ...
    objects: tuple[str, ...]  # digests of the cut-outs drawn for it, possibly repeated


def static_frames(
    bases: Sequence[str],
    cutouts: Sequence[Cutout],
    *,
    seed: int,
    validation: int = VALIDATION_FRAMES,
    test: int = TEST_FRAMES,
    objects_per_frame: int = 1,
) -> list[StaticFrame]:
    """Return frames made like FS Static: validation first, each split's bases in turn; they depend only on
    the seed and the sets of bases and objects, not on their order.

    Validation gets as many bases as it has frames (but at most a tenth of all), test the others. An object
    with a "validation" or "test" split stays there; of those without, a tenth of each class, at least one if
    there are two, goes to validation. Objects of other classes, and known ones, are not used. Errors:
    OptionError for numbers out of range; CorpusError if there are not enough bases or objects for two
    disjoint splits.

    >>> from faultscape.stressors import drawn_cutouts
    >>> frames = static_frames(
    ...     [f"base {k}" for k in range(20)], drawn_cutouts(2), seed=0, validation=3, test=40
    ... )
    >>> (
    ...     len(frames),
    ...     len({frame.base for frame in frames if frame.split == "validation"}),
    ...     max(frame.draw for frame in frames),
    ... )
    (43, 2, 2)
    """
    if validation < 0 or test < 0 or objects_per_frame < 1:
        raise OptionError(
            f"fs-static: expected 0 or more frames a split and 1 or more objects a frame; got {validation},"
            f" {test} and {objects_per_frame}"
        )
    of_validation, of_test = _objects(cutouts, seed)
    keys = sorted(set(bases))
    _shuffle(keys, Stream(seed, "", "fs-static", "bases"))
    held = min(validation, max(1, len(keys) // 10)) if validation else 0
    frames: list[StaticFrame] = []
    parts: tuple[tuple[Literal["validation", "test"], int, list[str], list[str]], ...] = (
        ("validation", validation, keys[:held], of_validation),
        ("test", test, keys[held:], of_test),
    )
    for split, count, of_split, objects in parts:
        if count and (not of_split or not objects):
            raise CorpusError(
                f"fs-static: {counted(len(keys), 'base')} and"
                f" {counted(len(of_validation) + len(of_test), 'object')} leave none for {split}; give at"
                " least two of each class and of the bases"
            )
        for place in range(count):
            base = of_split[place % len(of_split)]
            draw = place // len(of_split)
            stream = Stream(seed, base, "fs-static", split, draw)
            frames.append(
                StaticFrame(
                    split,
                    base,
                    draw,
                    tuple(objects[stream.integer(len(objects))] for _ in range(objects_per_frame)),
                )
            )
    return frames


def is_of_fs_static(cutout: Cutout) -> bool:
    """Return whether a cut-out can be an anomaly of fs-static, that is, has one of the twelve classes."""
    return cutout.use == "anomaly" and cutout.class_ in FS_STATIC_CLASSES


def known_of_splits(cutouts: Sequence[Cutout], *, seed: int) -> dict[str, tuple[Cutout, ...]]:
    """Return {"validation": known objects, "test": known objects} from some cut-outs, disjoint like
    anomalies: a tenth of those without a split, at least one if there are two, goes to validation.

    Errors: CorpusError if there are not enough for two disjoint splits.

    >>> import numpy as np
    >>> cars = [
    ...     Cutout(
    ...         np.full((1, 1, 3), k, np.uint8),
    ...         np.full((1, 1), 255, np.uint8),
    ...         f"car {k}",
    ...         "car",
    ...         use="known",
    ...     )
    ...     for k in range(20)
    ... ]
    >>> [len(part) for part in known_of_splits(cars, seed=0).values()]
    [2, 18]
    """
    known = {cutout.digest: cutout for cutout in cutouts if cutout.use == "known"}
    of_validation, of_test = _divided(known, Stream(seed, "", "fs-static", "known"))
    if not of_validation or not of_test:
        raise CorpusError(
            f"fs-static: {len(known)} known objects are too few for"
            f" {'test' if of_validation else 'validation'}; give at least two, or more training images"
        )
    return {
        "validation": tuple(known[digest] for digest in of_validation),
        "test": tuple(known[digest] for digest in of_test),
    }


def _objects(cutouts: Sequence[Cutout], seed: int) -> tuple[list[str], list[str]]:
    """Return the digests of the objects of validation and of test; equal pixels are one object, whatever its
    name.
    """
    of_validation: list[str] = []
    of_test: list[str] = []
    taken = {cutout.digest: cutout for cutout in cutouts if is_of_fs_static(cutout)}
    for class_ in FS_STATIC_CLASSES:
        mine = {digest: cutout for digest, cutout in taken.items() if cutout.class_ == class_}
        of_class = _divided(mine, Stream(seed, class_, "fs-static", "objects"))
        of_validation = of_validation + of_class[0]
        of_test = of_test + of_class[1]
    return sorted(of_validation), sorted(of_test)


def _divided(cutouts: Mapping[str, Cutout], stream: Stream) -> tuple[list[str], list[str]]:
    """Return the digests of validation and of test: objects with a split stay there, and a tenth of the
    others goes to validation.
    """
    of_validation = [digest for digest in sorted(cutouts) if cutouts[digest].split == "validation"]
    of_test = [digest for digest in sorted(cutouts) if cutouts[digest].split == "test"]
    free = [digest for digest in sorted(cutouts) if cutouts[digest].split not in ("validation", "test")]
    _shuffle(free, stream)
    few = max(1, int(len(free) * _FEW)) if len(free) > 1 else 0
    return of_validation + free[:few], of_test + free[few:]


def _shuffle(values: list[str], stream: Stream) -> None:
    for last in range(len(values) - 1, 0, -1):
        other = stream.integer(last + 1)
        values[last], values[other] = values[other], values[last]
