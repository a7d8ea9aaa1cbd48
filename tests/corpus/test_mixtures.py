"""Mixtures of data sets: what a file may say, what is drawn of each set, what its labels mean."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

import made_trees
from faultscape.classes.class_lists import resolve, table
from faultscape.corpus.layouts.catalogue import LAYOUTS, entry
from faultscape.corpus.layouts.layout import Frame, find_frames
from faultscape.corpus.mixtures import (
    PRESETS,
    Mixture,
    Part,
    draw,
    image_key,
    label_mapping,
    mixture,
    read_mixture,
)
from faultscape.errors import ImageError, OptionError

FILE = """
name = "two roads"
classes = "cityscapes"
seed = 3
[[set]]
layout = "foggy-zurich"
split = "testv2"
void = ["sky", "fence"]
[[set]]
name = "vistas"
layout = "mapillary-1.2"
split = "validation"
path = "/data/vistas"
sample = 50
seed = 9
[[set]]
name = "hand-made"
layout = "camvid"
labels = { 3 = "road", 8 = "car" }
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_sets_samples_seeds_and_mappings(tmp_path: Path) -> None:
    held = mixture(str(write(tmp_path / "m.toml", FILE)))
    assert (held.name, held.classes) == ("two roads", "cityscapes")
    assert held.parts == (
        Part("foggy-zurich", "foggy-zurich", "testv2", seed=3, void=("sky", "fence")),
        Part("vistas", "mapillary-1.2", "validation", "/data/vistas", 50, 9),
        Part("hand-made", "camvid", "train", seed=3, labels={"3": "road", "8": "car"}),
    )


WRONG = {
    "not toml": ("[[set", "is not TOML"),
    "no sets": ('name = "x"', "has no [[set]] tables"),
    "an unknown key": (
        'sed = 1\n[[set]]\nlayout = "voc2012"',
        "'sed' is not known; known are name, classes, seed, set. Did you mean 'seed'?",
    ),
    "an unknown key of a set": ('[[set]]\nlayout = "voc2012"\nsamples = 3', "set 1: 'samples' is not known"),
    "no layout": ('[[set]]\nname = "x"', "set 1: layout is missing"),
    "an unknown layout": ('[[set]]\nlayout = "cityscape"', "Did you mean 'cityscapes'?"),
    "an unknown split": ('[[set]]\nlayout = "cityscapes"\nsplit = "vall"', "Did you mean 'val'?"),
    "an unknown class list": (
        'classes = "cityscape"\n[[set]]\nlayout = "cityscapes"',
        "Did you mean 'cityscapes'?",
    ),
    "an unknown class": (
        '[[set]]\nlayout = "cityscapes"\nvoid = ["skyy"]',
        "'skyy' is not a class of cityscapes. Did you mean 'sky'?",
    ),
    "an unknown class of a mapping": (
        '[[set]]\nlayout = "camvid"\nlabels = {3 = "roads"}',
        "'roads' is not a class of cityscapes",
    ),
    "an unknown label": (
        '[[set]]\nlayout = "camvid"\nlabels = {77 = "road"}',
        "'77' is not a label id of camvid",
    ),
    "a negative sample": (
        '[[set]]\nlayout = "cityscapes"\nsample = -1',
        "sample is -1; expected a whole number, 0 or more",
    ),
    "a sample of words": ('[[set]]\nlayout = "cityscapes"\nsample = "all"', "sample is 'all'"),
    "a seed that is not a number": ('seed = true\n[[set]]\nlayout = "cityscapes"', "seed is True"),
    "two sets of a name": (
        '[[set]]\nlayout = "cityscapes"\n[[set]]\nlayout = "cityscapes"',
        "two sets are named 'cityscapes'",
    ),
    "anomaly masks": ('[[set]]\nlayout = "road-anomaly"', "has only anomaly labels"),
    "void that is not a list": (
        '[[set]]\nlayout = "cityscapes"\nvoid = "sky"',
        "void must be a list of class names",
    ),
    "labels that are not a table": (
        '[[set]]\nlayout = "cityscapes"\nlabels = ["sky"]',
        "labels must be {label id = class or void}",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_is_wrong_is_told_so_in_one_line(case: str, tmp_path: Path) -> None:
    text, why = WRONG[case]
    with pytest.raises(OptionError) as refused:
        read_mixture(write(tmp_path / "m.toml", text))
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_name_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        OptionError,
        match=(
            r"known are fishyscapes-misclassification, or a TOML file\. Did you mean"
            r" 'fishyscapes-misclassification'"
        ),
    ):
        mixture("fishyscapes-misclassificaton")
    with pytest.raises(OptionError, match="cannot be read"):
        mixture(str(tmp_path / "gone.toml"))
    (tmp_path / "m.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(OptionError, match="is not text in UTF-8"):
        mixture(str(tmp_path / "m.toml"))


@pytest.fixture
def frames(tmp_path: Path) -> list[Frame]:
    return [Frame(f"f{k:02}", str(made_trees.image(tmp_path / "images" / f"f{k:02}.png"))) for k in range(12)]


def of(sample: int, seed: int = 0) -> Mixture:
    return Mixture("m", "cityscapes", (Part("a", "mapillary-1.2", "validation", sample=sample, seed=seed),))


def test_what_is_drawn_follows_the_bytes_of_images_and_neither_their_names_nor_their_order(
    frames: list[Frame], tmp_path: Path
) -> None:
    drawn = draw(of(5), {"a": frames})["a"]
    assert len(drawn) == 5
    assert draw(of(5), {"a": frames[::-1]})["a"] == drawn
    renamed = [
        Frame(f"z{11 - k:02}", shutil.copy(frame.image, tmp_path / f"z{11 - k:02}.png"))
        for k, frame in enumerate(frames)
    ]
    assert {image_key(frame) for frame in draw(of(5), {"a": renamed})["a"]} == {
        image_key(frame) for frame in drawn
    }
    assert draw(of(5, seed=1), {"a": frames})["a"] != drawn
    hashed = sorted(
        map(str, range(9)), key=lambda key: hashlib.blake2b(f"0 {key}".encode(), digest_size=8).digest()
    )
    plain = draw(of(4), {"a": [Frame(f"{k}", "") for k in range(9)]}, key=lambda frame: frame.id)["a"]
    assert [frame.id for frame in plain] == sorted(hashed[:4]) == ["2", "4", "5", "7"]


def test_a_larger_sample_holds_the_smaller_one_and_none_means_all(frames: list[Frame]) -> None:
    assert set(draw(of(3), {"a": frames})["a"]) < set(draw(of(7), {"a": frames})["a"])
    assert draw(of(0), {"a": frames})["a"] == tuple(frames)


def test_a_sample_larger_than_its_set_a_missing_set_and_a_lost_image_are_refused(frames: list[Frame]) -> None:
    with pytest.raises(OptionError, match=r"13 images of 'a' requested, but it has only 12"):
        draw(of(13), {"a": frames})
    with pytest.raises(
        OptionError, match=r"the images of the set 'a' \(mapillary-1\.2, validation\) are missing"
    ):
        draw(of(1), {"b": frames})
    Path(frames[0].image).unlink()
    with pytest.raises(ImageError, match="No such file"):
        draw(of(1), {"a": frames})


def test_the_preset_is_the_appendix_of_s4_and_says_what_is_ours() -> None:
    preset = mixture("fishyscapes-misclassification")
    assert {part.name: (part.sample, part.void) for part in preset.parts} == {
        "foggy-driving": (0, ()),
        "foggy-zurich": (0, ("sky", "fence")),
        "wilddash": (0, ()),
        "mapillary": (50, ()),
    }
    assert "our reading" in preset.notes
    assert "blank in our copy" in preset.notes


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_is_drawn_from_trees_as_they_are_handed_out(preset: Mixture, tmp_path: Path) -> None:
    given = {}
    for part in preset.parts:
        made_trees.MAKERS[part.layout](tmp_path / part.name)
        given[part.name] = find_frames(entry(part.layout), tmp_path / part.name, part.split)
        assert set(label_mapping(part, preset.classes).values()) <= {"void", *EVALUATED}
    few = Mixture(
        preset.name,
        preset.classes,
        tuple(Part(p.name, p.layout, p.split, sample=min(p.sample, 1), void=p.void) for p in preset.parts),
    )
    drawn = draw(few, given)
    assert [len(drawn[part.name]) for part in few.parts] == [3, 2, 2, 1]


EVALUATED = (
    "road",
    "sidewalk",
    "building",
    "wall",
    "fence",
    "pole",
    "traffic light",
    "traffic sign",
    "vegetation",
    "terrain",
    "sky",
    "person",
    "rider",
    "car",
    "truck",
    "bus",
    "train",
    "motorcycle",
    "bicycle",
)


def test_classes_become_void_and_own_labels_are_mapped_by_table_or_by_name() -> None:
    plain = label_mapping(Part("a", "foggy-zurich", "testv2"), "cityscapes")
    assert plain == {str(k): name for k, name in enumerate(EVALUATED)} | {"255": "void"}
    assert {
        k: plain[k]
        for k, name in label_mapping(
            Part("a", "foggy-zurich", "testv2", void=("sky", "fence")), "cityscapes"
        ).items()
        if name != plain[k]
    } == {"4": "fence", "10": "sky"}
    vistas = label_mapping(Part("a", "mapillary-1.2", "validation"), "cityscapes")
    assert (vistas["13"], vistas["65"], len(vistas)) == ("road", "void", 66)
    assert (
        label_mapping(Part("a", "mapillary-1.2", "validation"), "mapillary-1.2")["13"]
        == "construction--flat--road"
    )
    by_hand = label_mapping(Part("a", "camvid", "train", labels={"3": "road"}), "cityscapes")
    assert {k for k, name in by_hand.items() if name != "void"} == {"3"}


def test_every_layout_with_classes_has_a_mapping_to_cityscapes_in_which_its_ids_all_stand() -> None:
    for layout in [layout for layout in LAYOUTS if layout.truth_kind == "semantic"]:
        mapping = label_mapping(Part("a", layout.name, layout.splits[0]), "cityscapes")
        assert set(mapping.values()) <= {"void", *EVALUATED}
        assert "road" in mapping.values() or layout.name in ("voc2012", "camvid32")
        places = table(resolve("cityscapes"), mapping)  # what reads a truth whose labels a person mapped
        assert {
            EVALUATED[place] if place < 19 else "void" for place in places[[int(label) for label in mapping]]
        } == set(mapping.values())
