"""Cut-outs of data sets: trees of PASCAL VOC and instances of COCO, made and real."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import CorpusError
from made_objects import SIZE, classes, photo, put, read, rgba, square, voc
from refusals import refused

# PASCAL VOC


def test_a_voc_tree_gives_its_instances_their_class_and_the_split_of_its_lists(tmp_path: Path) -> None:
    place = tmp_path / "VOC2012"
    labels = square(2, 10, 12)
    labels[2:12, 12:22] = 12
    labels[25:35, 25:35] = 13
    labels[24, 24:36] = 255
    objects = np.where(labels == 12, np.uint8(1), np.uint8(0))
    objects[2:12, 12:22] = 2
    objects[25:35, 25:35] = 3
    objects[24, 24:36] = 255
    voc(place, labels, objects)
    voc(place, square(value=8), name="b", seed=1)
    voc(place, square(value=9), name="c", seed=2)
    put(place / "ImageSets" / "Segmentation" / "val.txt", "a\n")
    put(place / "ImageSets" / "Segmentation" / "test.txt", "b\n")
    put(place / "ImageSets" / "Segmentation" / "train.txt", "c\n")
    found = read(tmp_path, 100)
    assert found.kind == "voc"
    assert classes(found) == [
        ("cat", "test", "anomaly"),
        ("chair", "", "anomaly"),
        ("dog", "validation", "anomaly"),
        ("dog", "validation", "anomaly"),
        ("horse", "validation", "anomaly"),
    ]
    shutil.rmtree(place / "SegmentationObject")
    # those that touch are one
    assert sorted(one.area for one in read(tmp_path, 100).cutouts if one.class_ == "dog") == [200]
    put(place / "ImageSets" / "Segmentation" / "test.txt", "b\na\n")
    with refused(CorpusError, "'a' is a validation image too"):
        read(tmp_path)


@pytest.mark.parametrize("instances", [False, True])
def test_void_is_never_object_and_an_object_whose_band_of_void_meets_the_border_is_cut_by_it(
    tmp_path: Path, instances: bool
) -> None:
    for name, first in (("cut", 4), ("far", 8)):
        labels = np.zeros((SIZE, SIZE), np.uint8)
        labels[first : first + 25, 9:34] = 255
        labels[:first, 20] = 255
        labels[first + 1 : first + 24, 10:33] = 3
        voc(tmp_path, labels, np.where(labels == 3, np.uint8(2), labels) if instances else None, name, first)
    found = read(tmp_path)
    assert [(cutout.name, cutout.area, cutout.class_) for cutout in found.cutouts] == [
        ("JPEGImages/far.png bird 1", 23 * 23, "bird")
    ]
    assert found.left_out == (
        ("JPEGImages/cut.png", "bird 1: cut off by the image border (1 of its pixels touch it)"),
    )


def test_what_is_no_mask_of_voc_is_left_out(tmp_path: Path) -> None:
    voc(tmp_path, square(value=3))
    voc(tmp_path, square(value=21), name="odd")
    voc(tmp_path, square(value=255), name="void")
    voc(tmp_path, square(2, 5, 7), name="small")
    voc(tmp_path, square(value=0), square(value=4), name="classless")
    voc(tmp_path, square(value=3), np.ones((3, 3), np.uint8), name="size")
    found = read(tmp_path)
    assert len(found.cutouts) == 1
    assert dict(found.left_out) == {
        "JPEGImages/classless.png": "object 4: has no class in SegmentationClass",
        "JPEGImages/odd.png": "its mask holds 21, which is not a PASCAL VOC class; expected 0 to 20, or 255",
        "JPEGImages/size.png": "its SegmentationObject is 3 x 3 pixels, its SegmentationClass 40 x 40",
        "JPEGImages/small.png": "car: 1 region of fewer than 400 pixels",
        "JPEGImages/void.png": "its mask SegmentationClass/void.png holds no object",
    }


def test_objects_of_real_images_of_voc_lie_where_their_class_does(data: Path) -> None:
    place = data / "voc2012"
    found = read(place)
    names = (place / "ImageSets" / "Segmentation" / "with_images.txt").read_text().split()
    of_image = {Path(cutout.name.split()[0]).stem for cutout in found.cutouts}
    assert of_image <= set(names)
    assert len(found.cutouts) == 15
    without = [name for name, why in found.left_out if why.startswith("is a mask without an image")]
    assert len(without) == len([*(place / "SegmentationClass").iterdir()]) - len(names)
    ids = fs.classes.resolve("voc")
    for cutout in found.cutouts:
        labels = np.asarray(
            Image.open(place / "SegmentationClass" / f"{Path(cutout.name.split()[0]).stem}.png")
        )
        (x, y), (height, width) = cutout.corner, cutout.alpha.shape
        under = labels[y : y + height, x : x + width][cutout.alpha > 0]
        assert (under == ids.ids[ids.names.index(cutout.class_)]).all()
        assert cutout.border == 0


# COCO


def coco(place: Path, annotations: list[dict[str, Any]], **changed: Any) -> Path:
    document = {
        "images": [{"id": 7, "file_name": "a.png", "width": SIZE, "height": SIZE}],
        "annotations": [{"image_id": 7, "category_id": 1, "iscrowd": 0, **one} for one in annotations],
        "categories": [{"id": 1, "name": "zebra"}],
    } | changed
    put(place / "val2017" / "a.png", photo())
    return put(place / "annotations" / "instances_val2017.json", json.dumps(document))


SQUARE = [10, 10, 30, 10, 30, 30, 10, 30]
RUNS = [10 * SIZE + 10, *[20, 20] * 19, 20, 10 * SIZE + 10]


def test_polygons_and_run_lengths_of_coco_are_objects_of_their_category(tmp_path: Path) -> None:
    coco(tmp_path, [{"segmentation": [SQUARE]}])
    found = read(tmp_path)
    (cutout,) = found.cutouts
    assert (found.kind, cutout.class_, cutout.split, cutout.name) == (
        "coco",
        "zebra",
        "validation",
        "val2017/a.png zebra 1",
    )
    assert (cutout.pixels == photo()[10:30, 10:30]).all()
    coco(tmp_path, [{"segmentation": {"size": [SIZE, SIZE], "counts": RUNS}}])
    assert read(tmp_path).cutouts[0].digest == cutout.digest


def test_of_images_with_one_name_that_in_the_folder_of_the_json_file_counts_and_else_none(
    tmp_path: Path,
) -> None:
    json_file = coco(tmp_path, [{"segmentation": [SQUARE]}])
    put(tmp_path / "train2017" / "a.png", photo(1))
    put(tmp_path / "images" / "a.png", photo(2))
    assert read(tmp_path).cutouts[0].name == "val2017/a.png zebra 1"
    json_file.rename(tmp_path / "objects.json")
    assert read(tmp_path).cutouts[0].name == "images/a.png zebra 1"
    shutil.rmtree(tmp_path / "images")
    with refused(
        CorpusError,
        r"objects\.json: names 'a\.png', which is the name of 2 files, train2017/a\.png and val2017/a\.png",
    ):
        read(tmp_path)


def test_a_mask_of_objects_csv_stands_above_what_coco_says_of_an_image(tmp_path: Path) -> None:
    coco(tmp_path, [{"segmentation": [SQUARE]}])
    put(tmp_path / "mask.png", square(5, 25))
    put(tmp_path / "objects.csv", "file,class,mask\nval2017/a.png,gnu,mask.png\n")
    found = read(tmp_path)
    assert [(cutout.class_, cutout.area) for cutout in found.cutouts] == [("gnu", 625)]


UNKNOWN = (
    ", no segmentation, so which pixels the object covers is not known; export its outline or mask (instance"
    " segmentation, not object detection)"
)


def test_what_coco_gives_no_object_of_is_left_out_object_by_object(tmp_path: Path) -> None:
    coco(
        tmp_path,
        [
            {"segmentation": [SQUARE]},
            {"segmentation": [SQUARE], "iscrowd": 1},
            {"segmentation": [[90, 90, 95, 90, 95, 95]]},
            {"segmentation": [[10, 10, 60, 10, 60, 35, 10, 35]]},
            {"segmentation": {"size": [10**6, 10**6], "counts": [10**12]}},
            {"bbox": [1, 2, 3, 4]},
            {"bbox": [1, 2, 3, 4], "keypoints": [2, 3, 2], "segmentation": []},
        ],
        images=[
            {"id": 7, "file_name": "a.png", "width": SIZE, "height": SIZE},
            {"id": 8, "file_name": "../../secret.png", "width": SIZE, "height": SIZE},
            {"id": 10, "file_name": "\ud800\n.png", "width": SIZE, "height": SIZE},
            {"id": 9, "file_name": "gone.png", "width": SIZE, "height": SIZE},
        ],
    )
    found = read(tmp_path)
    assert len(found.cutouts) == 1
    assert found.left_out == (
        ("annotations/instances_val2017.json", "names '../../secret.png', which lies outside the folder"),
        ("annotations/instances_val2017.json", "names '\\ud800\\n.png', which is not a file of the folder"),
        ("annotations/instances_val2017.json", "names 'gone.png', which is not a file of the folder"),
        ("val2017/a.png", "zebra 2: is a crowd, not one object"),
        ("val2017/a.png", "zebra 3: its outline lies outside the image (annotation 2)"),
        ("val2017/a.png", "zebra 4: cut off by the image border (25 of its pixels touch it)"),
        (
            "val2017/a.png",
            ("zebra 5: its run lengths have the size [1000000, 1000000], its image [40, 40] (annotation 4)"),
        ),
        ("val2017/a.png", f"zebra 6: has only a box{UNKNOWN} (annotation 5)"),
        ("val2017/a.png", f"zebra 7: has only keypoints{UNKNOWN} (annotation 6)"),
    )


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"images": {}}, "has no list of objects `images`"),
        ({"categories": [{"id": 1}]}, r"categories\[0\] needs a name"),
        (
            {"images": [{"id": 7, "file_name": "a.png", "width": 10**12, "height": 1}]},
            r"images\[0\] needs a file_name",
        ),
        ({"images": [{"id": None, "file_name": "a.png", "width": 1, "height": 1}]}, r"images\[0\] needs id"),
        ({"categories": []}, r"annotations\[0\] has the category_id 1, which is not defined in the file"),
        (
            {"images": [{"id": 7, "file_name": "a.png", "width": 39, "height": SIZE}]},
            "is 40 x 40 pixels, but 39 x 40 in its annotations",
        ),
    ],
)
def test_a_damaged_file_of_coco_is_told_what_is_wrong(
    tmp_path: Path, changed: dict[str, Any], says: str
) -> None:
    coco(tmp_path, [{"segmentation": [SQUARE]}], **changed)
    with refused(CorpusError, "holds no usable object") as told:
        read(tmp_path)
    put(tmp_path / "objects.csv", "file,mask\nextra.png,extra_mask.png\n")
    put(tmp_path / "extra.png", photo(5))
    put(tmp_path / "extra_mask.png", square())
    assert len(str(told.value)) < 500 + len(str(tmp_path))
    assert any(re.search(says, why) for _, why in read(tmp_path).left_out)


def test_a_json_file_that_is_larger_than_is_read_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultscape.corpus.objects.coco_folder.MOST_BYTES", 100)
    coco(tmp_path, [{"segmentation": [SQUARE]}])
    put(tmp_path / "own.png", rgba(1))
    found = read(tmp_path)
    assert len(found.cutouts) == 1
    assert re.search(
        "has [0-9]+ bytes; at most 100 are read", dict(found.left_out)["annotations/instances_val2017.json"]
    )


def test_real_run_lengths_of_coco_have_the_area_that_their_file_says(data: Path, tmp_path: Path) -> None:
    place = data / "formats" / "coco-panoptic"
    shutil.copytree(place / "input_images", tmp_path / "images")
    document = json.loads((place / "panoptic_coco_detection_format.json").read_text())
    document["categories"] = [
        {"id": id_, "name": f"class {id_}"} for id_ in {one["category_id"] for one in document["annotations"]}
    ]
    put(tmp_path / "panoptic.json", json.dumps(document))
    found = read(tmp_path, 1)
    areas = [one["area"] for one in document["annotations"]]
    assert len(found.cutouts) > 10
    assert {cutout.area for cutout in found.cutouts} <= set(areas)
    assert len(found.cutouts) + len([why for _, why in found.left_out if "class" in why]) == len(areas)
