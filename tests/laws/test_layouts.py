"""One law over all layouts: each finds exactly its frames, reads known ids alone, fills in groups, and tells
a wrong folder what it expected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import made_trees
from faultscape.classes.class_lists import resolve
from faultscape.corpus.layouts.catalogue import LAYOUTS, entry
from faultscape.corpus.layouts.layout import Frame, Layout, check, find_frames
from faultscape.errors import CorpusError, LabelMapError, OptionError

pytestmark = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
CITIES = {"aachen", "zurich", "frankfurt"}
GROUPS = {  # of the frames of the made trees
    "cityscapes": CITIES | {"bonn", "troisdorf"},
    "cityscapes-c": CITIES,
    "foggy-cityscapes": CITIES,
    "foggy-zurich": {"GOPR0119", "GP010229", "GP010476"},
    "dark-zurich": {
        *("night/GOPR0351", "twilight/GOPR0345", "day/GOPR0345", "night/GOPR0356"),
        *("night/GOPR0364", "day/GOPR0356_ref", "day/GOPR0364_ref"),
    },
    "acdc": {
        f"{condition}/{drive}"
        for condition in ("fog", "night", "rain", "snow")
        for drive in ("GOPR0475", "GP010476", "GOPR0477")
    },
    "camvid": {"0001TP", "0016E5", "Seq05VD"},
    "camvid32": {"0001TP", "Seq05VD"},
    "fs-static": {"frankfurt"},
    "fs-lost-and-found": {"04_Maurener_Weg_8_000000", "13_Elly_Beinhorn_Str_000000"},
    "lost-and-found": {
        "04_Maurener_Weg_8_000000",
        "13_Elly_Beinhorn_Str_000000",
        "01_Hanns_Klemm_Str_45_000006",
    },
    "road-obstacle21": {"curvy-street", "gravel"},
    "streethazards": {"t1", "t2", "t4", "t5", "t6"},
    "issu": {"12", "7", "0", "fog", "99"},
    "bravo": {"fog/test/GOPR0475", "snow/test/GP010122", "lindau"},
    "bravo-unknown": {"frankfurt", "munster", "lindau", "polar bear", "tiger"},
}
HIDDEN = {  # splits whose labels nobody hands out; placeholders count as none
    "cityscapes": {"test"},
    "foggy-zurich": {"light", "medium"},
    "dark-zurich": {"train", "test", "val_ref", "test_ref"},
    "acdc": {"test", "test_ref"},
    "ade20k": {"test"},
    "voc2012": {"test"},
    "road-anomaly21": {"test"},
    "road-obstacle21": {"test"},
    "mapillary-1.2": {"testing"},
    "mapillary-2.0": {"testing"},
    "bdd100k": {"test"},
}


@pytest.fixture
def tree(layout: Layout, tmp_path: Path) -> tuple[Path, made_trees.Splits]:
    root = tmp_path / "data"
    root.mkdir()
    return root, made_trees.MAKERS[layout.name](root)


def splits(layout: Layout, expected: made_trees.Splits) -> list[str]:
    assert set(layout.splits) == set(expected)
    return list(layout.splits)


def frames(layout: Layout, root: Path, expected: made_trees.Splits) -> Iterator[Frame]:
    for split in splits(layout, expected):
        yield from find_frames(layout, root, split)


def test_a_layout_finds_exactly_its_frames_in_the_order_of_their_ids(
    layout: Layout, tree: tuple[Path, made_trees.Splits]
) -> None:
    root, expected = tree
    for split in splits(layout, expected):
        found = find_frames(layout, root, split)
        assert [frame.id for frame in found] == sorted(expected[split])
        assert {frame.split for frame in found} == {split}
        for frame in found:
            paths = [frame.image, frame.truth, frame.instances, frame.depth, frame.camera, frame.overlay]
            assert all(Path(path).is_file() for path in paths if path)
            assert Path(frame.image).is_file()


def test_truth_holds_every_class_and_known_ids_alone(
    layout: Layout, tree: tuple[Path, made_trees.Splits]
) -> None:
    """The label files of the made trees hold every id that the data set has."""
    root, expected = tree
    read = [frame for frame in frames(layout, root, expected) if frame.truth]
    assert read
    for frame in read:
        for kind in layout.truth_kinds:
            truth = layout.read_truth(frame, kind)
            assert truth.shape == (made_trees.HEIGHT, made_trees.WIDTH)
            assert truth.dtype in (np.uint8, np.uint16)
            values = set(np.unique(truth).tolist())
            if kind == "anomaly":
                assert {0, 1} <= values <= {0, 1, 255}
            else:
                classes = resolve(layout.classes)
                assert set(classes.ids) <= values <= {*classes.ids, *classes.void}
        assert layout.read_image(frame).shape == (made_trees.HEIGHT, made_trees.WIDTH, 3)
    assert layout.truth_kinds[0] == layout.truth_kind


def test_a_tree_is_made_for_every_layout(layout: Layout) -> None:
    assert layout.name in made_trees.MAKERS
    assert len(made_trees.MAKERS) == len(LAYOUTS)
    assert (layout.name in GROUPS) == bool(layout.grouping)


def test_groups_are_filled_in_where_the_data_set_has_them(
    layout: Layout, tree: tuple[Path, made_trees.Splits]
) -> None:
    root, expected = tree
    found = list(frames(layout, root, expected))
    judged = [frame for frame in found if layout.grouping != "scene, of test" or frame.split == "test"]
    assert all(bool(frame.group) == bool(layout.grouping) for frame in judged)
    assert {frame.group for frame in judged} == GROUPS.get(layout.name, {""})


def test_instances_are_numbers_of_their_own_and_0_elsewhere(
    layout: Layout, tree: tuple[Path, made_trees.Splits]
) -> None:
    root, expected = tree
    found = [frame for frame in frames(layout, root, expected) if frame.instances]
    assert bool(found) == (layout.read_instances is not None)
    for frame in found:
        instances = layout.read_instances(frame)
        assert instances.dtype == np.int32
        assert instances.min() == 0
        assert len(np.unique(instances)) > 1


def test_other_files_and_the_order_of_the_file_system_change_nothing(
    layout: Layout, tree: tuple[Path, made_trees.Splits], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, expected = tree
    before = list(frames(layout, root, expected))
    for folder in sorted(path for path in root.rglob("*") if path.is_dir()):
        for name in (".DS_Store", "Thumbs.db", "license.txt", "._x_leftImg8bit.png"):
            (folder / name).write_bytes(b"\0")
        hidden = folder / ".hidden"
        hidden.mkdir()
        made_trees.image(hidden / "x_000000_000000_leftImg8bit.png")
    walk, iterdir = os.walk, Path.iterdir

    def backwards(*args: object, **options: object) -> Iterator[object]:
        for where, folders, names in walk(*args, **options):
            folders.reverse()
            yield where, folders, names[::-1]

    monkeypatch.setattr(os, "walk", backwards)
    monkeypatch.setattr(Path, "iterdir", lambda path: reversed(list(iterdir(path))))
    assert list(frames(layout, root, expected)) == before


def test_a_wrong_folder_is_told_in_one_line_what_was_expected_and_what_is_there(
    layout: Layout, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong"
    for told in (wrong, made_trees.image(wrong / "holiday" / "beach.jpg").parent.parent):
        with pytest.raises(CorpusError) as refused:
            find_frames(layout, told, layout.splits[0])
        said = str(refused.value)
        assert layout.expected in said
        assert layout.title in said
        assert "found holiday/" in said
        assert "\n" not in said
    with pytest.raises(CorpusError) as refused:
        find_frames(layout, tmp_path / "gone", layout.splits[0])
    assert layout.expected in str(refused.value)


def test_a_split_that_the_data_set_does_not_have_is_refused_with_those_it_has(
    layout: Layout, tree: tuple[Path, made_trees.Splits]
) -> None:
    root, _ = tree
    error = CorpusError if layout.lists else OptionError
    with pytest.raises(error, match="nonsense"):
        find_frames(layout, root, "nonsense")


def test_a_value_that_is_no_label_is_refused_with_its_place(
    layout: Layout, tree: tuple[Path, made_trees.Splits]
) -> None:
    root, expected = tree
    frame = next(frame for frame in frames(layout, root, expected) if frame.truth)
    with Image.open(frame.truth) as picture:
        values = np.array(picture)
    values[5, 7] = 211
    Image.fromarray(values).save(frame.truth)
    with pytest.raises(LabelMapError, match=r"column 7, row 5") as refused:
        layout.read_truth(frame)
    assert "211" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_labels_that_are_hidden_are_said_to_be(layout: Layout, tree: tuple[Path, made_trees.Splits]) -> None:
    root, expected = tree
    for split in splits(layout, expected):
        hidden = split in HIDDEN.get(layout.name, set())
        assert all((frame.truth == "") == hidden for frame in find_frames(layout, root, split))
    for frame in [frame for frame in frames(layout, root, expected) if not frame.truth]:
        with pytest.raises(LabelMapError, match="has no labels for this image"):
            layout.read_truth(frame)


@pytest.mark.slow
def test_documented_numbers_are_checked_and_a_sample_is_remarked_on(
    layout: Layout, tree: tuple[Path, made_trees.Splits]
) -> None:
    root, expected = tree
    assert set(layout.counts) <= set(layout.splits)
    for split in splits(layout, expected):
        remark = check(layout, find_frames(layout, root, split))
        assert remark == "" or split in layout.counts
        assert split not in layout.counts or f"{layout.counts[split]:,} documented" in remark
        whole = [Frame(str(k), "i", "t", split=split) for k in range(layout.counts.get(split, 3))]
        assert check(layout, whole) == ""
        assert check(layout, [replace(frame, truth="") for frame in whole]) == ""
        twice = [
            replace(frame, parent="p", condition=condition)
            for frame in whole
            for condition in ("fog-1", "fog-2")
        ]
        assert check(layout, twice) == ""  # each condition is a copy of the whole
        if split in layout.counts:
            assert check(layout, whole[:-1]) != ""
            assert "fog-2: " in check(layout, twice[:-1])


def test_an_entry_is_complete(layout: Layout) -> None:
    assert entry(layout.name) is layout
    assert layout.source
    assert layout.expected
    assert (layout.classes == "") == (layout.read_semantic is None)
    assert layout.truth_kinds
    assert "|" not in layout.expected + layout.notes + layout.terms  # of a row of the documentation's table
