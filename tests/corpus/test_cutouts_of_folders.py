"""What a folder of cut-outs is told to be, what is read of it, and what is left out and why."""

import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.corpus.objects.folder import ObjectFolder
from faultscape.errors import CorpusError
from refusals import refused

SIZE = 40


def photo(seed: int = 0, size: tuple[int, int] = (SIZE, SIZE)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)


def square(at: int = 10, side: int = 20, value: int = 1) -> np.ndarray:
    """A mask (40, 40) with a square whose corner is (at, at)."""
    mask = np.zeros((SIZE, SIZE), np.uint8)
    mask[at : at + side, at : at + side] = value
    return mask


def put(path: Path, pixels: np.ndarray | str, **how: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(pixels, str):
        path.write_text(pixels)
    else:
        Image.fromarray(pixels).save(path, **how)
    return path


def rgba(seed: int = 0, mask: np.ndarray | None = None) -> np.ndarray:
    return np.dstack([photo(seed), (square() if mask is None else mask) * np.uint8(255)])


def read(place: Path, smallest: int = 400) -> ObjectFolder:
    return fs.corpus.read_cutouts(place, smallest=smallest, say=lambda _: None)


def classes(found: ObjectFolder) -> list[tuple[str, str, str]]:
    return sorted((one.class_, one.split, one.use) for one in found.cutouts)


# images with transparency


def test_images_with_transparency_are_objects_of_the_class_that_their_folder_is_called(tmp_path: Path) -> None:
    put(tmp_path / "a.png", rgba(0))
    put(tmp_path / "animals" / "dog" / "b.webp", rgba(1), lossless=True, exact=True)
    put(tmp_path / "animals" / "cat" / "c.tif", rgba(2))
    found = read(tmp_path)
    assert found.kind == "rgba"
    assert classes(found) == [("", "", "anomaly"), ("cat", "", "anomaly"), ("dog", "", "anomaly")]
    for seed, class_ in enumerate(("", "dog", "cat")):
        (cutout,) = [one for one in found.cutouts if one.class_ == class_]
        assert (cutout.pixels == photo(seed)[10:30, 10:30]).all()
        assert (cutout.alpha == 255).all()
        assert (cutout.corner, cutout.frame) == ((10, 10), (SIZE, SIZE))


def test_transparency_of_a_palette_and_of_one_colour_counts(tmp_path: Path) -> None:
    indices = Image.fromarray(square())
    indices.putpalette([9, 9, 9, 200, 0, 0])
    indices.save(tmp_path / "palette.png", transparency=0)
    Image.fromarray(np.where(square()[..., None] > 0, np.uint8(7), np.uint8([1, 2, 3]))).save(
        tmp_path / "colour.png", transparency=(1, 2, 3)
    )
    assert sorted(one.pixels[0, 0].tolist() for one in read(tmp_path).cutouts) == [[7, 7, 7], [200, 0, 0]]


def test_an_image_on_its_side_is_turned_upright_with_its_transparency(tmp_path: Path) -> None:
    mask = np.zeros((SIZE, SIZE), np.uint8)
    mask[2:32, 4:24] = 1
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter to the right
    put(tmp_path / "a.png", rgba(0, mask), exif=exif)
    (cutout,) = read(tmp_path).cutouts
    assert (cutout.pixels == np.rot90(photo()[2:32, 4:24], -1)).all()


@pytest.mark.parametrize(
    ("pixels", "why"),
    [
        (photo(), "has no alpha channel"),
        (np.dstack([photo(), np.full((SIZE, SIZE), 255, np.uint8)]), "its alpha channel is opaque everywhere"),
        (np.dstack([photo(), np.zeros((SIZE, SIZE), np.uint8)]), "its mask is empty"),
        (rgba(0, square(10, 19)), "its 361 pixels are fewer than 400"),
        (rgba(0, square(20, 20)), "cut by the border of its image"),
        ("no image at all", "it is no picture that can be read"),
    ],
)
def test_every_file_that_gives_no_object_stands_in_what_is_left_out_with_its_reason(
    tmp_path: Path, pixels: np.ndarray | str, why: str
) -> None:
    put(tmp_path / "good.png", rgba(1))
    put(tmp_path / "bad.png", pixels)
    put(tmp_path / "notes.txt", "by hand")
    found = read(tmp_path)
    assert len(found.cutouts) == 1
    assert [name for name, _ in found.left_out] == ["bad.png", "notes.txt"]
    assert found.left_out[0][1].startswith(why)
    assert found.left_out[1][1] == "is no image; expected PNG, WebP or TIFF with transparency"


def test_a_folder_in_which_nothing_can_be_used_is_told_all_forms_and_the_first_reason(tmp_path: Path) -> None:
    put(tmp_path / "a.png", photo())
    with refused(
        CorpusError,
        r"images with transparency .*images and masks .*PASCAL VOC .*COCO .*objects\.csv; a\.png: has no alpha channel",
    ):
        read(tmp_path)
    with refused(CorpusError, "is no folder on this machine"):
        read(tmp_path / "none")
    with refused(CorpusError, "cut-outs are read from a folder of this machine"):
        fs.corpus.read_cutouts("s3://bucket/objects")


def test_links_that_lead_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "a.png", rgba(0))
    put(tmp_path / "objects" / "own.png", rgba(1))
    (tmp_path / "objects" / "out.png").symlink_to(tmp_path / "elsewhere" / "a.png")
    (tmp_path / "objects" / "folder").symlink_to(tmp_path / "elsewhere")
    found = read(tmp_path / "objects")
    assert len(found.cutouts) == 1
    assert [(name, why.partition(";")[0]) for name, why in found.left_out] == [
        ("folder", "is a link to a folder, which is not followed"),
        ("out.png", "is a link that leads out of the folder"),
    ]


def test_the_same_object_counts_once_whatever_its_files_are_called_and_the_one_of_which_more_is_said_stays(
    tmp_path: Path,
) -> None:
    hidden = rgba(0)
    hidden[0, 0, :3] ^= 255  # where nothing is seen
    for order in (("a", "b"), ("b", "a")):
        place = tmp_path / "".join(order)
        put(place / f"{order[0]}.png", rgba(0))
        put(place / "dog" / f"{order[1]}.png", hidden)
        put(place / "other.png", rgba(1))
        found = read(place)
        assert classes(found) == [("", "", "anomaly"), ("dog", "", "anomaly")]
        assert found.left_out == ((f"{order[0]}.png", f"is the same object as dog/{order[1]}.png (dog)"),)


def test_the_order_is_that_of_digests_whatever_files_are_called(tmp_path: Path) -> None:
    for k in range(5):
        put(tmp_path / "one" / f"{k}.png", rgba(k))
        put(tmp_path / "other" / f"{9 - k} x.png", rgba(k))
    digests = [[cutout.digest for cutout in read(tmp_path / name).cutouts] for name in ("one", "other")]
    assert digests[0] == digests[1] == sorted(digests[0])


# images beside masks


@pytest.mark.parametrize(
    ("images", "masks", "suffix"), [("images", "masks", ""), ("images", "masks", "_mask"), ("photos", "annotations", "")]
)
def test_what_a_mask_holds_above_0_is_the_object(tmp_path: Path, images: str, masks: str, suffix: str) -> None:
    for k, value in enumerate((1, 255, 3)):
        put(tmp_path / images / "dog" / f"{k}.bmp", photo(k))
        put(tmp_path / masks / "dog" / f"{k}{suffix}.png", square(value=value))
    found = read(tmp_path)
    assert found.kind == "masks"
    assert classes(found) == [("dog", "", "anomaly")] * 3
    assert {cutout.pixels.tobytes() for cutout in found.cutouts} == {photo(k)[10:30, 10:30].tobytes() for k in range(3)}


def test_values_of_a_mask_are_objects_of_their_own_in_a_folder_called_instances(tmp_path: Path) -> None:
    ids = square(5, 10, 3) + square(15, 10, 255)
    put(tmp_path / "images" / "a.png", photo())
    put(tmp_path / "masks" / "a.png", ids)
    assert [cutout.area for cutout in read(tmp_path, 10).cutouts] == [200]
    put(tmp_path / "instances" / "a.png", ids)
    assert {(cutout.name, cutout.area) for cutout in read(tmp_path, 10).cutouts} == {
        ("images/a.png object 3", 100),
        ("images/a.png object 255", 100),
    }


def test_images_and_masks_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    for seed, name in enumerate(("good", "empty", "large", "coloured", "grey", "damaged", "bare")):
        put(tmp_path / "images" / f"{name}.png", photo(seed))
    put(tmp_path / "images" / "alone.png", photo())
    for ending in ("png", "bmp"):
        put(tmp_path / "images" / f"twice.{ending}", photo())
    put(tmp_path / "masks" / "good.png", square())
    put(tmp_path / "masks" / "empty.png", square(value=0))
    put(tmp_path / "masks" / "large.png", np.ones((SIZE, SIZE + 1), np.uint8))
    put(tmp_path / "masks" / "coloured.png", photo())
    put(tmp_path / "masks" / "grey.png", np.dstack([square()] * 3))
    put(tmp_path / "masks" / "damaged.png", "no image")
    put(tmp_path / "masks" / "orphan.png", square())
    put(tmp_path / "masks" / "notes.txt", "by hand")
    found = read(tmp_path)
    assert {cutout.name for cutout in found.cutouts} == {"images/good.png", "images/grey.png"}
    assert dict(found.left_out) == {
        "images/alone.png": "has no mask masks/alone.png",
        "images/coloured.png": "its mask masks/coloured.png: is a mask in colours; save it as grey or palette values",
        "images/damaged.png": "its mask masks/damaged.png: it is no picture that can be read",
        "images/empty.png": "its mask masks/empty.png is empty",
        "images/bare.png": "has no mask masks/bare.png",
        "images/large.png": "its mask masks/large.png is 41 x 40 pixels, the image 40 x 40; they must be of one size",
        "images/twice.bmp": "has the same name as images/twice.png; rename or remove one of 2 files",
        "images/twice.png": "has the same name as images/twice.bmp; rename or remove one of 2 files",
        "masks/": "holds 1 file that no object is read from",
        "masks/orphan.png": "is a mask without an image images/orphan",
    }


def test_cutouts_of_the_class_mask_are_no_masks(tmp_path: Path) -> None:
    put(tmp_path / "dog" / "a.png", rgba(0))
    put(tmp_path / "mask" / "b.png", rgba(1))
    assert classes(read(tmp_path)) == [("dog", "", "anomaly"), ("mask", "", "anomaly")]


def test_the_horses_of_weizmann_are_27_objects(data: Path) -> None:
    place = data / "objects" / "weizmann_horses"
    found = read(place)
    assert (found.kind, len(found.cutouts), found.left_out) == ("masks", 27, ())
    for cutout in found.cutouts[:3]:
        mask = np.asarray(Image.open(place / "masks" / f"{Path(cutout.name).stem}.png"))
        (x, y), (height, width) = cutout.corner, cutout.alpha.shape
        assert int((cutout.alpha > 0).sum()) == int((mask > 0).sum())
        assert ((cutout.alpha > 0) == (mask[y : y + height, x : x + width] > 0)).all()


# PASCAL VOC


def voc(place: Path, labels: np.ndarray, objects: np.ndarray | None = None, name: str = "a", seed: int = 0) -> None:
    put(place / "JPEGImages" / f"{name}.png", photo(seed))
    put(place / "SegmentationClass" / f"{name}.png", labels)
    if objects is not None:
        put(place / "SegmentationObject" / f"{name}.png", objects)


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
    assert classes(found) == [("cat", "test", "anomaly"), ("chair", "", "anomaly"), ("dog", "validation", "anomaly"), ("dog", "validation", "anomaly"), ("horse", "validation", "anomaly")]  # fmt: skip
    shutil.rmtree(place / "SegmentationObject")
    assert sorted(one.area for one in read(tmp_path, 100).cutouts if one.class_ == "dog") == [200]  # those that touch are one
    put(place / "ImageSets" / "Segmentation" / "test.txt", "b\na\n")
    with refused(CorpusError, "'a' is an image of validation too"):
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
    assert found.left_out == (("JPEGImages/cut.png", "bird 1: cut by the border of its image (1 of its pixels lie there)"),)


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
        "JPEGImages/classless.png": "object 4: no class lies under it",
        "JPEGImages/odd.png": "its mask holds 21, which is no class of PASCAL VOC; expected 0 to 20, and 255",
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
        labels = np.asarray(Image.open(place / "SegmentationClass" / f"{Path(cutout.name.split()[0]).stem}.png"))
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
    assert (found.kind, cutout.class_, cutout.split, cutout.name) == ("coco", "zebra", "validation", "val2017/a.png zebra 1")
    assert (cutout.pixels == photo()[10:30, 10:30]).all()
    coco(tmp_path, [{"segmentation": {"size": [SIZE, SIZE], "counts": RUNS}}])
    assert read(tmp_path).cutouts[0].digest == cutout.digest


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
        ("annotations/instances_val2017.json", "names '\\ud800\\n.png', which is no file of the folder"),
        ("annotations/instances_val2017.json", "names 'gone.png', which is no file of the folder"),
        ("val2017/a.png", "zebra 2: is a crowd, not one object"),
        ("val2017/a.png", "zebra 3: no pixel of its outline lies in the image (annotation 2)"),
        ("val2017/a.png", "zebra 4: cut by the border of its image (25 of its pixels lie there)"),
        ("val2017/a.png", "zebra 5: its run lengths are of the size [1000000, 1000000], its image of [40, 40] (annotation 4)"),
        ("val2017/a.png", "zebra 6: its segmentation is neither polygons nor run lengths (annotation 5)"),
    )


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"images": {}}, "has no list `images`"),
        ({"categories": [{"id": 1}]}, r"categories\[0\] has no name"),
        ({"images": [{"id": 7, "file_name": "a.png", "width": 10**12, "height": 1}]}, r"images\[0\] needs a file_name"),
        ({"images": [{"id": None, "file_name": "a.png", "width": 1, "height": 1}]}, r"images\[0\] has no id"),
        ({"categories": []}, r"annotations\[0\] has the category_id 1, which the file does not define"),
        (
            {"images": [{"id": 7, "file_name": "a.png", "width": 39, "height": SIZE}]},
            "is 40 x 40 pixels, in its annotations 39 x 40",
        ),
    ],
)
def test_a_damaged_file_of_coco_is_told_what_is_wrong(tmp_path: Path, changed: dict[str, Any], says: str) -> None:
    coco(tmp_path, [{"segmentation": [SQUARE]}], **changed)
    with refused(CorpusError, "holds no object") as told:
        read(tmp_path)
    put(tmp_path / "objects.csv", "file,mask\nextra.png,extra_mask.png\n")
    put(tmp_path / "extra.png", photo(5))
    put(tmp_path / "extra_mask.png", square())
    assert len(str(told.value)) < 500 + len(str(tmp_path))
    assert any(re.search(says, why) for _, why in read(tmp_path).left_out)


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


# objects.csv


def test_objects_csv_says_what_files_are_and_others_stay_what_their_folder_says(tmp_path: Path) -> None:
    put(tmp_path / "dog" / "a.png", rgba(0))
    put(tmp_path / "dog" / "b.png", rgba(1))
    put(tmp_path / "photos" / "c.png", photo(2))
    put(tmp_path / "photos" / "c_ids.png", square(2, 10, 4) + square(20, 15, 5))
    put(
        tmp_path / "objects.csv",
        '\ufeffUse,file,class,split,mask\nknown,dog/a.png,"car",test,\n,photos/c.png,owl,validation,photos/c_ids.png#5\n\n',
    )
    found = read(tmp_path, 100)
    assert found.kind == "csv"
    assert classes(found) == [("car", "test", "known"), ("dog", "", "anomaly"), ("owl", "validation", "anomaly")]
    assert found.left_out == ()
    put(tmp_path / "objects.csv", "file,class,mask\nphotos/c.png,owl,photos/c_ids.png#*\n")
    assert [one[0] for one in classes(read(tmp_path, 100))] == ["dog", "dog", "owl", "owl"]
    put(tmp_path / "objects.csv", "file,class,mask\nphotos/c.png,owl,photos/c_ids.png\n")
    assert [one.area for one in read(tmp_path, 100).cutouts if one.class_ == "owl"] == [325]


def test_objects_csv_says_more_of_images_beside_masks_and_of_voc(tmp_path: Path) -> None:
    put(tmp_path / "pairs" / "images" / "a.png", photo())
    put(tmp_path / "pairs" / "masks" / "a.png", square())
    put(tmp_path / "pairs" / "objects.csv", "file,class,split\nimages/a.png,gnu,test\n")
    assert classes(read(tmp_path / "pairs")) == [("gnu", "test", "anomaly")]
    voc(tmp_path / "voc", square(value=3))
    put(tmp_path / "voc" / "objects.csv", "file,use\nJPEGImages/a.png,known\n")
    assert classes(read(tmp_path / "voc")) == [("bird", "", "known")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a first line with the columns file, class, split, use, mask"),
        ("class,split\ndog,test\n", "of which file is needed"),
        ("file,file\na.png,a.png\n", "each once"),
        ("file,clas\na.png,dog\n", r"the column 'clas' is unknown; expected .*Did you mean 'class'"),
        ("file\nb.png\n", "row 2: 'b.png' is no file of the folder"),
        ("file\n../b.png\n", r"row 2: '\.\./b\.png' lies outside the folder"),
        ("file\n/etc/passwd\n", "row 2: '/etc/passwd' lies outside the folder"),
        ("file,split\na.png,val\n", "row 2: split is validation or test, or empty; got 'val'"),
        ("file,use\na.png,known\na.png,anomaly\n", "row 3: 'a.png' stands in row 2 already"),
        ("file,use\na.png,unknown\n", "row 2: use is anomaly or known, or empty; got 'unknown'.*Did you mean 'known'"),
        ("file,class\na.png\n", "row 2: has 1 cells, the first line 2"),
        ("file,class\n,dog\n", "row 2: names no file"),
        ("file,mask\na.png,b.png\n", "row 2: 'b.png' is no file of the folder"),
        ("file,mask\na.png,a.png#x\n", "behind # stands the value of an object"),
        ("file,mask\na.png,a.png#0\n", "behind # stands the value of an object"),
        ('file\n"a.png\n', "cannot be read as CSV"),
        (f"file\n{'x' * 200_000}\n", "cannot be read as CSV"),
    ],
)  # fmt: skip
def test_a_wrong_objects_csv_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    put(tmp_path / "a.png", rgba())
    put(tmp_path / "objects.csv", text)
    with refused(CorpusError, says):
        read(tmp_path)


def test_one_object_is_not_known_and_an_anomaly(tmp_path: Path) -> None:
    put(tmp_path / "a.png", rgba())
    put(tmp_path / "b.png", rgba())
    put(tmp_path / "objects.csv", "file,use\nb.png,known\n")
    with refused(CorpusError, r"a\.png \(an anomaly\) and b\.png \(known\) are the same object"):
        read(tmp_path)


def test_known_objects_that_look_the_same_at_two_places_are_two(tmp_path: Path) -> None:
    same = np.full((SIZE, SIZE, 3), 9, np.uint8)
    for name, at in (("a", 5), ("b", 6)):
        put(tmp_path / f"{name}.png", np.dstack([same, square(at) * np.uint8(255)]))
    assert len(read(tmp_path).cutouts) == 1
    put(tmp_path / "objects.csv", "file,use\na.png,known\nb.png,known\n")
    assert len(read(tmp_path).cutouts) == 2


# what is said, and what nobody vouches for


def test_what_was_read_is_said_in_one_line(tmp_path: Path) -> None:
    put(tmp_path / "dog" / "a.png", rgba(0))
    put(tmp_path / "b.png", photo())
    said: list[str] = []
    fs.corpus.read_cutouts(tmp_path, say=said.append)
    (line,) = said
    assert line.startswith(
        f"{tmp_path}: 1 object from images with transparency: dog 1; 1 left out, the first: b.png: has no alpha"
    )


@pytest.mark.skipif(os.name == "nt", reason="names of files are text there")
def test_names_of_files_that_are_no_text_stay_on_one_line(tmp_path: Path) -> None:
    data = io.BytesIO()
    Image.fromarray(rgba()).save(data, "PNG")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.png")).write_bytes(data.getvalue())
    found = read(tmp_path)
    assert found.cutouts[0].name == "\\xff\\n.png"
    assert fs.corpus.read_cutout(fs.corpus.write_cutout(found.cutouts[0])).name == "\\xff\\n.png"


def test_objects_that_do_not_fit_into_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultscape.corpus.objects.harvest.MOST_BYTES", 2_000)
    put(tmp_path / "a.png", rgba(0))
    read(tmp_path)
    put(tmp_path / "b.png", rgba(1))
    with refused(CorpusError, "are held in memory; give a part of the folder"):
        read(tmp_path)
