"""S4 3.2: which frames of Lost and Found make FS Lost and Found, on a made tree; and the recipe that writes
them.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import made_trees
from faultscape.corpus.layouts.catalogue import entry
from faultscape.corpus.layouts.layout import Frame, find_frames
from faultscape.corpus.layouts.lost_and_found import (
    VALIDATION_LOCATIONS,
    choose,
    location,
    published,
)
from faultscape.errors import CorpusError, OptionError
from faultscape.recipes import fs_lost_and_found as recipe

# (split of the original, location and sequence) -> label ids of its frames, which lie ten apart
SEQUENCES = {
    # the object comes near late: sixths are 0, 6 and 12
    ("train", "13_Elly_Beinhorn_Str_000001"): ([(0, 1)] * 6 + [(0, 1, 8)] * 7),
    ("test", "04_Maurener_Weg_8_000000"): [(0, 1, 17)] * 8,
    # a bicycle in the last frame alone: all goes
    ("test", "01_Hanns_Klemm_Str_45_000006"): ([(0, 1)] * 5 + [(0, 1, 23)]),
    ("test", "15_Rechbergstr_000001"): [(0, 1, 40)] * 3,
    ("test", "07_Festplatz_Flugfeld_000002"): [(0, 1, 26)] * 7,  # a doll: stays
    ("train", "11_Parkplatz_Flugfeld_000000"): [(0, 1)] * 7,  # nothing on the road
    ("test", "02_Hanns_Klemm_Str_44_000003"): [(0,)] + [(0, 1, 31)] * 2,  # no label at all in the first frame
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for (split, sequence), members in SEQUENCES.items():
        place = sequence.rpartition("_")[0]
        for number, ids in enumerate(members):
            name = f"{sequence}_{number * 10 + 20:06}"
            made_trees.image(tmp_path / "laf" / "leftImg8bit" / split / place / f"{name}_leftImg8bit.png")
            made_trees.labels(
                tmp_path / "laf" / "gtCoarse" / split / place / f"{name}_gtCoarse_labelIds.png", ids
            )
    return tmp_path / "laf"


def names(frames: tuple[Frame, ...]) -> list[str]:
    return [frame.id.rpartition("/")[2] for frame in frames]


EXPECTED = {
    "validation": [
        "04_Maurener_Weg_8_000000_000020",
        "04_Maurener_Weg_8_000000_000080",
        "13_Elly_Beinhorn_Str_000001_000080",
        "13_Elly_Beinhorn_Str_000001_000140",
    ],
    "test": ["07_Festplatz_Flugfeld_000002_000020", "07_Festplatz_Flugfeld_000002_000080"],
}


def test_the_selection_is_that_of_the_paper_step_by_step(root: Path) -> None:
    chosen = choose(recipe.original_frames(str(root)))
    for split, expected in EXPECTED.items():
        assert names(tuple(frame for frame in chosen.frames if frame.split == split)) == expected
    assert chosen.of_known_classes == 6 + 3
    assert chosen.between == 10 + 6 + 5 + 5 + 2
    assert chosen.without_object == 1 + 2 + 1
    total = sum(map(len, SEQUENCES.values()))
    assert len(chosen.frames) + chosen.of_known_classes + chosen.between + chosen.without_object == total


def test_locations_of_validation_and_test_are_disjoint_whatever_split_the_original_gave_them(
    root: Path,
) -> None:
    chosen = choose(recipe.original_frames(str(root)))
    of = {split: {location(frame) for frame in chosen.frames if frame.split == split} for split in EXPECTED}
    assert not of["validation"] & of["test"]
    assert of["validation"] <= VALIDATION_LOCATIONS


def test_what_counts_as_known_and_how_many_frames_are_between_can_be_said(root: Path) -> None:
    frames = recipe.original_frames(str(root))
    assert "07_Festplatz_Flugfeld_000002_000020" not in names(choose(frames, known={26}).frames)
    assert "15_Rechbergstr_000001_000020" in names(choose(frames, known=()).frames)
    everyone = choose(frames, every=1, known=())
    assert everyone.between == 0
    assert len(everyone.frames) == sum(max(ids) > 1 for members in SEQUENCES.values() for ids in members)
    with pytest.raises(OptionError, match="a number from 1 on"):
        choose(frames, every=0)


def test_the_order_of_frames_changes_nothing(root: Path) -> None:
    frames = recipe.original_frames(str(root))
    assert choose(frames[::-1]) == choose(frames)


def test_frames_without_labels_or_of_another_name_are_refused() -> None:
    with pytest.raises(CorpusError, match="unpack gtCoarse beside leftImg8bit"):
        choose([Frame("a/04_Maurener_Weg_8_000000_000020", "i")])
    with pytest.raises(CorpusError, match="is not a name of Lost and Found"):
        choose([Frame("beach", "i", "t")])


def test_the_published_selection_takes_the_frames_of_its_labels_and_those_labels(root: Path) -> None:
    frames = recipe.original_frames(str(root))
    name = "04_Maurener_Weg_8_000000_000030"
    (taken,) = published(frames, [Frame(f"0000_{name}", "", "labels.png")])
    assert (names((taken,)), taken.truth, taken.split) == ([name], "labels.png", "validation")
    with pytest.raises(CorpusError, match="is not in Lost and Found as given"):
        published(frames, [Frame("0001_04_Maurener_Weg_8_000000_999990", "", "x.png")])


def test_the_recipe_writes_images_and_on_road_labels_that_are_called_so(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    recipe.main([str(root), str(out)])
    for split, expected in EXPECTED.items():
        images, labels = (
            sorted(path.stem for path in (out / split / folder).rglob("*.png"))
            for folder in ("images", "labels-on-road")
        )
        assert images == labels == expected
    path = out / "validation" / "labels-on-road" / "04_Maurener_Weg_8" / "04_Maurener_Weg_8_000000_000020.png"
    with Image.open(path) as picture:
        values, counts = np.unique(np.asarray(picture), return_counts=True)
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == {
        0: 1,
        1: 1,
        255: made_trees.HEIGHT * made_trees.WIDTH - 2,
    }
    rows = list(csv.DictReader((out / "selection.csv").read_text().splitlines()))
    assert len(rows) == 6
    assert {row["truth"] for row in rows} == {"on-road"}
    assert rows[0]["group"] == "04_Maurener_Weg_8_000000"
    said = capsys.readouterr().out
    assert (
        "6 frames; left out: 9 of sequences with children or bicycles, 28 between every 6th, 4 without an"
        " object" in said
    )
    assert "1,036 documented" in said
    assert "validation: 4 images (on-road); next: faultscape measure" in said


def test_the_recipe_takes_published_labels_and_calls_them_so(root: Path, tmp_path: Path) -> None:
    name = "04_Maurener_Weg_8_000000_000030"
    made_trees.labels(tmp_path / "fs" / f"0000_{name}_labels.png", (0, 1, 255))
    out = tmp_path / "out"
    (frame,) = recipe.build(str(root), str(out), str(tmp_path / "fs"))
    assert frame.id.endswith(name)
    with Image.open(
        out / "validation" / "labels-fishyscapes" / "04_Maurener_Weg_8" / f"{name}.png"
    ) as picture:
        assert set(np.unique(np.asarray(picture))) == {0, 1, 255}
    with pytest.raises(CorpusError, match="expected DDDD_NAME_labels"):
        recipe.build(str(root), str(out), str(root))


def test_the_layout_of_what_the_recipe_reads_is_the_catalogues_own(root: Path) -> None:
    assert len(find_frames(entry("lost-and-found"), root, "train")) == 20
    with pytest.raises(SystemExit, match="usage"):
        recipe.main([])
