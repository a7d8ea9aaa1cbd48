"""The data preset fs-static: disjoint splits, bases used again with other draws."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.stressors import FS_STATIC_CLASSES, Cutout, known_of_splits, static_frames
from refusals import refused


def some_cutouts(each: int, split: str = "") -> list[Cutout]:
    return [
        Cutout(
            np.full((2, 2, 3), k, np.uint8), np.full((2, 2), 255, np.uint8), f"{class_} {k}", class_, split
        )
        for class_ in (*FS_STATIC_CLASSES, "box")
        for k in range(each)
    ]


BASES = [f"base {k}" for k in range(500)]


def test_the_preset_makes_30_and_1000_frames_of_500_bases() -> None:
    frames = static_frames(BASES, some_cutouts(8), seed=0)
    assert Counter(frame.split for frame in frames) == {"validation": 30, "test": 1000}
    assert len({frame.base for frame in frames}) == 500
    uses = Counter(frame.base for frame in frames if frame.split == "test")
    assert len(uses) == 470
    assert set(uses.values()) == {2, 3}
    assert len({(frame.base, frame.draw) for frame in frames}) == 1030
    assert len({frame.objects for frame in frames if frame.split == "test"}) > 60


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(2, 60),
    st.integers(2, 6),
    st.integers(1, 40),
    st.integers(1, 80),
    st.integers(1, 3),
)
def test_bases_and_objects_of_validation_never_serve_in_test(
    seed: int, bases: int, each: int, validation: int, test: int, many: int
) -> None:
    cutouts = some_cutouts(each)
    class_of = {cutout.digest: cutout.class_ for cutout in cutouts}
    frames = static_frames(
        BASES[:bases], cutouts, seed=seed, validation=validation, test=test, objects_per_frame=many
    )
    assert Counter(frame.split for frame in frames) == {"validation": validation, "test": test}
    for of in (lambda frame: {frame.base}, lambda frame: set(frame.objects)):
        sides = [
            set().union(*(of(frame) for frame in frames if frame.split == split))
            for split in ("validation", "test")
        ]
        assert not sides[0] & sides[1]
    assert all(class_of[digest] in FS_STATIC_CLASSES for frame in frames for digest in frame.objects)


def test_frames_are_the_same_for_bases_and_objects_in_any_order_and_others_for_another_seed() -> None:
    cutouts, rng = some_cutouts(4), random.Random(0)
    mixed = static_frames(rng.sample(BASES, 500), rng.sample(cutouts, len(cutouts)), seed=0)
    assert mixed == static_frames(BASES, cutouts, seed=0)
    assert mixed != static_frames(BASES, cutouts, seed=1)


def test_objects_stay_in_the_split_they_were_given() -> None:
    own, others = some_cutouts(2, "validation"), some_cutouts(5, "test")
    others = [cutout for cutout in others if cutout.pixels[0, 0, 0] >= 2]
    frames = static_frames(BASES, [*own, *others], seed=0)
    for split, cutouts in (("validation", own), ("test", others)):
        assert {digest for frame in frames if frame.split == split for digest in frame.objects} <= {
            cutout.digest for cutout in cutouts
        }


def test_known_objects_of_validation_never_serve_in_test_either() -> None:
    cars = [replace(cutout, use="known") for cutout in some_cutouts(3)]
    given = [
        replace(cars[0], split="test"),
        replace(cars[1], split="validation"),
        *cars[2:],
        *some_cutouts(2),
    ]
    parts = known_of_splits(random.Random(0).sample(given, len(given)), seed=1)
    assert parts == known_of_splits(given, seed=1)
    own, others = ({cutout.digest for cutout in parts[split]} for split in ("validation", "test"))
    assert not own & others
    assert own | others == {cutout.digest for cutout in cars}
    assert cars[0].digest in others
    assert cars[1].digest in own
    assert len(own) == 1 + (len(cars) - 2) // 10
    with refused(fs.errors.CorpusError, "1 known objects are too few for validation; give at least two"):
        known_of_splits(cars[:1], seed=0)


def test_too_few_bases_or_objects_for_two_splits_are_refused() -> None:
    with refused(fs.errors.CorpusError, "fs-static: 1 base and 24 objects leave none for test"):
        static_frames(BASES[:1], some_cutouts(2), seed=0)
    with refused(fs.errors.CorpusError, "fs-static: 500 bases and 12 objects leave none for validation"):
        static_frames(BASES, some_cutouts(1), seed=0)
    with refused(
        fs.errors.OptionError,
        "expected 0 or more frames a split and 1 or more objects a frame; got -1, 5 and 1",
    ):
        static_frames(BASES, some_cutouts(2), seed=0, validation=-1, test=5)
