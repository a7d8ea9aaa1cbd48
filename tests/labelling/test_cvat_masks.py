"""CVAT's Segmentation mask: what is written is read back the same, the labelmap of the zip holds, and what
CVAT would refuse or lose is told before it is uploaded.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import faultscape as fs
from faultscape.errors import LabellingError
from faultscape.formats.label_tools import cvat_masks
from faultscape.formats.label_tools.named_masks import distinct_colours
from faultscape.formats.label_tools.tool_labels import DrawnImage, ToolLabel
from faultscape.nouns import Classes
from refusals import refused

ODD = Classes(
    ("a b", 'say "x"', "naïve 图", "one, two", "it's"),
    (0, 7, 300, 9, 11),
    ((0, 0, 0),) * 5,
    void=(65535, 4),
    background=0,
)
# a class that is called so, and is none
TAKEN = Classes(("background", "car"), (1, 2), ((0, 0, 0), (0, 0, 0)), void=(9,))


def drawn(name: str, ids: np.ndarray | None) -> DrawnImage:
    return DrawnImage(
        name, f"images/{name}.jpg", (5, 4) if ids is None else (ids.shape[1], ids.shape[0]), ids
    )


def written(folder: Path, images: list[DrawnImage], classes: Classes) -> Path:
    ((path, data),) = cvat_masks.write(folder, images, classes)
    path.write_bytes(data)
    return path


def unpacked(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(folder: Path, files: Mapping[str, bytes | str]) -> Path:
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return folder / "a.zip"


def png(pixels: object, palette: list[int] | None = None) -> bytes:
    out, picture = io.BytesIO(), Image.fromarray(np.array(pixels, np.uint8))
    if palette:
        picture.putpalette(palette)
    picture.save(out, format="PNG")
    return out.getvalue()


def test_the_folder_of_an_unpacked_zip_is_read_by_its_labelmap(tmp_path: Path) -> None:
    ids = np.array([[0, 7, 300], [65535, 9, 11]])
    with zipfile.ZipFile(written(tmp_path, [drawn("a b/c d", ids)], ODD)) as archive:
        archive.extractall(tmp_path / "folder")
    (label,) = cvat_masks.read(tmp_path / "folder" / "labelmap.txt")
    assert (label.image, label.size, label.drawn) == ("a b/c d", (3, 2), True)
    assert label.read(ODD).tolist() == ids.tolist()
    assert cvat_masks.recognise(tmp_path / "folder" / "labelmap.txt")
    assert cvat_masks.check(tmp_path / "folder" / "labelmap.txt") == []


def test_what_nobody_drew_on_is_listed_and_has_no_mask(tmp_path: Path) -> None:
    path = written(tmp_path, [drawn("a", None), drawn("b", np.zeros((1, 2), int))], ODD)
    first, second = cvat_masks.read(path)
    assert (first.drawn, first.size, second.drawn) == (False, (0, 0), True)
    with refused(
        LabellingError, r"cvat-masks\.zip: SegmentationClass/a\.png: is missing: nobody labelled this image"
    ):
        first.read(ODD)
    assert cvat_masks.check(path) == [f"{path}: 'a' is listed but has no SegmentationClass/a.png"]


def test_the_zip_has_what_cvat_asks_for(tmp_path: Path) -> None:
    path = written(tmp_path, [drawn("d/a", np.array([[0, 9, 65535], [7, 7, 0]]))], ODD)
    files = unpacked(path)
    assert list(files) == [
        "labelmap.txt",
        "SegmentationClass/d/a.png",
        "SegmentationObject/d/a.png",
        "ImageSets/Segmentation/default.txt",
    ]
    assert files["labelmap.txt"].decode().splitlines() == [
        "# label:color_rgb:parts:actions",
        "background:0,0,0::",
        "a b:128,0,0::",
        'say "x":0,128,0::',
        "naïve 图:128,128,0::",
        "one, two:0,0,128::",
        "it's:128,0,128::",
        "void:224,224,192::",
    ]
    assert files["ImageSets/Segmentation/default.txt"] == b"d/a\n"
    classes, objects = (
        Image.open(io.BytesIO(files[f"Segmentation{kind}/d/a.png"])) for kind in ("Class", "Object")
    )
    assert classes.mode == objects.mode == "RGB"  # grey would be read as places in the labelmap
    black, one, two, void = [0, 0, 0], [0, 0, 128], [0, 128, 0], [224, 224, 192]
    assert np.asarray(classes).tolist() == [[black, one, void], [two, two, black]]
    assert np.asarray(objects).tolist() == [
        [black, [0, 128, 0], [128, 128, 0]],
        [[128, 0, 0], [128, 0, 0], black],
    ]
    again = written(tmp_path, [drawn("d/a", np.array([[0, 9, 65535], [7, 7, 0]]))], ODD)
    assert unpacked(again) == files
    assert again.read_bytes() == path.read_bytes()


def test_a_class_called_background_that_is_none_keeps_a_colour_and_black_is_void(tmp_path: Path) -> None:
    path = written(tmp_path, [drawn("a", np.array([[1, 2, 9]]))], TAKEN)
    assert unpacked(path)["labelmap.txt"].decode().splitlines()[1:] == [
        "void:0,0,0::",
        "background:128,0,0::",
        "car:0,128,0::",
    ]
    assert cvat_masks.check(path) == []


@given(st.integers(0, 10_000))
def test_colours_are_distinct_not_black_and_kept_where_they_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 300))
    own = [tuple(int(v) for v in colour) for colour in rng.choice([0, 64, 128, 192], (count, 3))]
    classes = Classes(tuple(f"c{k}" for k in range(count)), tuple(range(count)), tuple(own), void=(999,))
    colours = distinct_colours(classes)
    assert list(colours) == [*classes.names, "void"]
    assert len({*colours.values(), (0, 0, 0)}) == count + 2
    for place, name in enumerate(classes.names):
        kept = own[place] != (0, 0, 0) and own[place] not in own[:place]
        assert kept == (colours[name] == own[place])
    assert distinct_colours(classes) == colours


def test_more_classes_than_cvat_has_colours_of_instances_go_without(tmp_path: Path) -> None:
    classes = fs.classes.resolve(400, void=65535)
    path = written(
        tmp_path, [drawn("few", np.arange(255)[None]), drawn("many", np.arange(256)[None])], classes
    )
    assert {name for name in unpacked(path) if "Object" in name} == {"SegmentationObject/few.png"}
    for label, count in zip(cvat_masks.read(path), (255, 256), strict=True):
        assert label.read(classes).tolist() == [list(range(count))]
    assert cvat_masks.check(path) == [
        (
            f"{path}: SegmentationClass/many.png: has no SegmentationObject/, so CVAT makes a mask of each"
            " colour, including background"
        )
    ]


ROAD = Classes(("sky", "road", "car"), (1, 2, 3), ((1, 1, 1), (2, 2, 2), (3, 3, 3)), void=(255,))
LABELMAP = "# label:color_rgb:parts:actions\nbackground:0,0,0::\nroad:128,64,128::\ncar:0,0,142::\n"
B, R, C = [0, 0, 0], [128, 64, 128], [0, 0, 142]
ONE, TWO = [128, 0, 0], [0, 128, 0]
EXPORTED: dict[str, bytes | str] = {
    "labelmap.txt": LABELMAP,
    "ImageSets/Segmentation/default.txt": "a/1\nnone\n",
    "SegmentationClass/a/1.png": png([[B, R, R], [C, C, R]]),
    "SegmentationObject/a/1.png": png([[B, ONE, ONE], [TWO, TWO, ONE]]),
}
IDS = [[255, 2, 2], [3, 3, 2]]


def read_files(folder: Path, files: Mapping[str, bytes | str]) -> list[ToolLabel]:
    return cvat_masks.read(packed(folder, files))


def test_an_export_is_read_by_its_own_labelmap(tmp_path: Path) -> None:
    first, second = read_files(tmp_path, EXPORTED)
    assert (first.image, first.size, first.drawn) == ("a/1", (3, 2), True)
    assert (second.image, second.drawn) == ("none", False)
    assert first.read(ROAD).tolist() == IDS


def test_a_zip_with_a_folder_around_it_and_windows_lines_is_read(tmp_path: Path) -> None:
    files = {f"task 7/{name}": data for name, data in EXPORTED.items()}
    files["task 7/labelmap.txt"] = "\ufeff" + LABELMAP.replace("\n", "\r\n")
    assert read_files(tmp_path, files)[0].read(ROAD).tolist() == IDS


def test_a_palette_is_read_by_its_colours_and_grey_by_places(tmp_path: Path) -> None:
    files = EXPORTED | {"SegmentationClass/a/1.png": png([[9, 1, 1], [0, 0, 1]], [*C, *R, *[7] * 21, *B])}
    assert read_files(tmp_path, files)[0].read(ROAD).tolist() == IDS
    files = EXPORTED | {"SegmentationClass/a/1.png": png([[0, 1, 1], [2, 2, 1]])}
    assert read_files(tmp_path, files)[0].read(ROAD).tolist() == IDS
    files = EXPORTED | {"SegmentationClass/a/1.png": png([[0, 1, 1], [2, 255, 1]])}
    with refused(
        LabellingError,
        r"SegmentationClass/a/1\.png: the grey value 255 at column 1, row 1 is not in labelmap\.txt",
    ):
        read_files(tmp_path, files)[0].read(ROAD)


def test_a_labelmap_without_colours_has_those_of_pascal_voc(tmp_path: Path) -> None:
    files = EXPORTED | {
        "labelmap.txt": "background:::\nroad:::\ncar:::\n",
        "SegmentationClass/a/1.png": png([[B, ONE, ONE], [TWO, TWO, ONE]]),
    }
    assert read_files(tmp_path, files)[0].read(ROAD).tolist() == IDS


def test_background_is_what_nobody_drew_on_and_needs_a_meaning(tmp_path: Path) -> None:
    label, _ = read_files(tmp_path, EXPORTED)
    ground = Classes(
        (*ROAD.names, "ground"), (1, 2, 3, 8), (*ROAD.colours, (4, 4, 4)), void=(255,), background=8
    )
    assert label.read(ground).tolist() == [[8, 2, 2], [3, 3, 2]]
    with refused(
        LabellingError, r"a/1\.png: has pixels of 'background', which need a background class or a void id"
    ):
        label.read(Classes(ROAD.names, ROAD.ids, ROAD.colours))
    covered = EXPORTED | {"SegmentationClass/a/1.png": png([[R, R, C]])}
    assert read_files(tmp_path, covered)[0].read(Classes(ROAD.names, ROAD.ids, ROAD.colours)).tolist() == [
        [2, 2, 3]
    ]


def test_what_is_wrong_with_one_image_does_not_hinder_the_others(tmp_path: Path) -> None:
    files = EXPORTED | {
        "SegmentationClass/b.png": png([[R, [1, 2, 3]]]),
        "SegmentationClass/c.png": b"\x89PNG broken",
        "SegmentationClass/d.png": png([[R, C]]),
    }
    files["labelmap.txt"] = LABELMAP + "zebra:9,9,9::\n"
    files["SegmentationClass/e.png"] = png([[R, [9, 9, 9]]])
    good, _, colour, broken, whole, zebra = read_files(tmp_path, files)
    assert (
        good.read(ROAD).tolist() == IDS
    )  # a label that is not a class may be in the labelmap, and on no image
    assert whole.read(ROAD).tolist() == [[2, 3]]
    for label, says in (
        (
            colour,
            (
                r"a\.zip: SegmentationClass/b\.png: the colour \(1, 2, 3\) at column 1, row 0 is not in"
                r" labelmap\.txt"
            ),
        ),
        (broken, r"a\.zip: SegmentationClass/c\.png: it is not a readable image"),
        (
            zebra,
            (
                r"SegmentationClass/e\.png, label of labelmap\.txt: 'zebra' is not a class; known are sky,"
                r" road, car"
            ),
        ),
    ):
        with refused(LabellingError, says):
            label.read(ROAD)


MAP = "labelmap.txt"
LIST = "ImageSets/Segmentation/default.txt"
CLASS, OBJECT = "SegmentationClass/a/1.png", "SegmentationObject/a/1.png"
OTHER = [23, 190, 207]  # not in the palette
HOLE = [[ONE, ONE, ONE], [ONE, B, ONE], [ONE, ONE, ONE]]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            {CLASS: png([[B, R, R], [C, [5, 6, 7], R]])},
            r"the colour \(5, 6, 7\) at column 1, row 1 is not in label",
        ),
        (
            {OBJECT: png([[B, ONE, ONE], [OTHER, TWO, ONE]])},
            r"\(23, 190, 207\) at column 0, row 1 is not in the 256",
        ),
        ({OBJECT: png([[B, ONE, ONE], [ONE] * 3])}, r"the colour \(128, 0, 0\) covers 'road' and 'car'"),
        (
            {OBJECT: png([[B, ONE, ONE], [B, B, ONE]])},
            "is black at column 0, row 1, where 'car' is drawn; CVAT im",
        ),
        (
            {OBJECT: png([[B, ONE, ONE]])},
            r"Object/a/1\.png: is 3 x 1 pixels, SegmentationClass/a/1\.png 3 x 2",
        ),
        ({"JPEGImages/a/1.jpg": png([[0, 0]])}, r"Class/a/1\.png: is 3 x 2 pixels, its image 2 x 1"),
        (
            {CLASS: png([[R] * 3, [R, B, R], [R] * 3]), OBJECT: png(HOLE)},
            r"'road' has a hole near column \d, row \d",
        ),
        ({LIST: "a/1\nb\n"}, r"'b' is listed but has no SegmentationClass/b\.png"),
        ({LIST: "a/1\na/1\n"}, "'a/1' is listed twice"),
        ({LIST: "#a/1\n"}, r"a/1\.png is in no list of ImageSets/Segmentation/, so CVAT ignores it"),
        ({"SegmentationObject/b.png": png([[B]])}, r"Object/b\.png has no SegmentationClass/b\.png"),
        ({MAP: LABELMAP + "lane:0,0,142::\n"}, r"gives 'car' and 'lane' the same colour, \(0, 0, 142\)"),
        (
            {MAP: LABELMAP + "a:b:1,2,3::\n"},
            "line 5: has 5 fields separated by colons; expected NAME:RED,GREEN,BLUE",
        ),
        ({MAP: LABELMAP + "car:1,2,3::\n"}, "line 5: names 'car' a second time"),
        (
            {MAP: LABELMAP + "van:1,2,256::\n"},
            "line 5: expected a colour, three numbers 0-255.*got '1,2,256'",
        ),
        ({MAP: "# nothing\n"}, r"labelmap\.txt names no label"),
    ],
)
def test_what_cvat_would_refuse_or_lose_is_told(
    tmp_path: Path, files: dict[str, bytes | str], says: str
) -> None:
    whole = EXPORTED | {"ImageSets/Segmentation/default.txt": "a/1\n"}
    assert cvat_masks.check(packed(tmp_path, whole)) == []
    (found,) = cvat_masks.check(packed(tmp_path, whole | files))
    assert re.search(says, found)
    assert found.isprintable()


def test_two_labels_of_one_colour_are_read_as_the_first_only_where_both_mean_one_class(
    tmp_path: Path,
) -> None:
    twice = EXPORTED | {"labelmap.txt": LABELMAP + "lane:0,0,142::\n"}
    with refused(
        LabellingError,
        r"a/1\.png: the colour \(0, 0, 142\) belongs to both 'car' and 'lane' in labelmap\.txt",
    ):
        read_files(tmp_path, twice)[0].read(ROAD)
    unused = EXPORTED | {"labelmap.txt": LABELMAP + "lane:9,9,9::\nvan:9,9,9::\n"}
    alike = EXPORTED | {
        "labelmap.txt": "void:0,0,0::\nbackground:0,0,0::\nroad:128,64,128::\ncar:0,0,142::\n"
    }
    assert read_files(tmp_path, alike)[0].read(ROAD).tolist() == IDS
    assert read_files(tmp_path, unused)[0].read(ROAD).tolist() == IDS


def test_names_that_cvat_would_read_otherwise_do_not_go_out(tmp_path: Path) -> None:
    ids = np.zeros((4, 5), int)
    for name in ("#1", " a", "a ", "a\nb", "a\\b", ""):
        with refused(LabellingError, "its name cannot be in a CVAT list"):
            written(tmp_path, [drawn(name, ids)], ODD)
    for name in ("a:b", "# a", " a", "a "):
        with refused(LabellingError, f"the class {re.escape(repr(name))}: its name cannot be in a CVAT list"):
            written(tmp_path, [], Classes((name,), (0,), ((1, 2, 3),)))
    with refused(LabellingError, "image 'a': is given twice"):
        written(tmp_path, [drawn("a", ids), drawn("a", ids)], ODD)
    with refused(LabellingError, "no outlines; use CVAT for images"):
        next(cvat_masks.write(tmp_path, [], ODD, outlines=True))


def test_other_files_are_not_taken_for_masks_of_cvat(tmp_path: Path) -> None:
    assert not cvat_masks.recognise(packed(tmp_path, {"a.txt": "x"}))
    (tmp_path / "labelmap.txt").write_text(LABELMAP)
    assert not cvat_masks.recognise(tmp_path / "labelmap.txt")  # alone it is any labelmap
    for name, data in {"b.zip": b"PK\x03\x04", "c.zip": b"", "d.txt": b"PK\x03\x04"}.items():
        (tmp_path / name).write_bytes(data)
        assert not cvat_masks.recognise(tmp_path / name)
    assert not cvat_masks.recognise(tmp_path)
    assert not cvat_masks.recognise(tmp_path / "missing.zip")
