"""Label maps go out as COCO's instances and as its panoptic files, and come back; the text of run lengths is
the very one of COCO's own tool.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import faultscape as fs
import made_masks
from faultscape.errors import LabellingError
from faultscape.formats import coco
from faultscape.formats.label_tools import coco_masks, coco_panoptic
from faultscape.formats.label_tools.tool_labels import DrawnImage
from faultscape.maps.instances import runs_of_mask
from refusals import refused

SAME_FOLDER = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = ("photo", "a b/c d", "naïve 图", "x.y", "-flag", "it's 100 %", 'say "x" & <y>')
# number of characters and sha256 (its first 16 digits) of what pycocotools 2.0.11 gives for the masks of
# made_masks, of values above 0
OF_PYCOCOTOOLS = {
    "a disc": "623bdd5d1e41d804",
    "a checkerboard": "0fa850748d6ccdfd",
    "every alpha": "b064e65e8f5096b2",
    "runs of more than 65,536 values": "de20a6ceeeec41bb",
    "two runs, of 65,536 values and of 65,540": "e030bdecf2f9e49b",
    "whole bytes, with one of zeros behind": "ef2d127de37b942b",
}


def plain_text(mask: np.ndarray) -> str:
    """Run lengths of the columns as text, digit by digit."""
    runs, value = [0], False
    for pixel in mask.T.reshape(-1).tolist():
        if pixel != value:
            runs.append(0)
            value = pixel
        runs[-1] += 1
    text = ""
    for k, run in enumerate(runs):
        rest = run - runs[k - 2] if k > 2 else run
        while True:
            digit, rest = rest & 31, rest >> 5
            done = rest == (-1 if digit & 16 else 0)
            text += chr(48 + digit + (0 if done else 32))
            if done:
                break
    return text


@pytest.mark.parametrize(("name", "mask"), [*made_masks.masks()])
def test_run_lengths_have_the_very_text_of_cocos_own_tool(name: str, mask: np.ndarray) -> None:
    text = coco.text_of_runs(runs_of_mask(mask > 0))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == OF_PYCOCOTOOLS[name]
    assert (coco.mask_of({"size": [*mask.shape], "counts": text}, mask.shape) == (mask > 0)).all()


@given(
    seed=st.integers(0, 10_000),
    density=st.sampled_from([0, 0.01, 0.5, 0.99, 1]),
    wide=st.sampled_from([1, 7, 60]),
)
def test_run_lengths_become_text_as_digit_by_digit_and_back(seed: int, density: float, wide: int) -> None:
    rng = np.random.default_rng(seed)
    mask = (rng.random(rng.integers(1, 9, 2)) < density).repeat(wide, 0).repeat(wide, 1)
    runs = runs_of_mask(mask)
    text = coco.text_of_runs(runs)
    assert text == plain_text(mask)
    assert coco.runs_of_text(text, mask.size).tolist() == runs.tolist()
    box, _ = coco.measure({"size": [*mask.shape], "counts": text}, mask.shape)
    crop = coco.crop_of({"size": [*mask.shape], "counts": text}, mask.shape, box)
    again = np.zeros(mask.shape, bool)
    again[box[0] : box[0] + crop.shape[0], box[1] : box[1] + crop.shape[1]] = crop
    assert (again == mask).all()


@given(seed=st.integers(0, 10_000))
def test_the_crop_of_polygons_is_what_lies_in_their_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    polygons = [
        rng.uniform(-10, 50, 2 * rng.integers(3, 9)).round(rng.integers(4)).tolist()
        for _ in range(rng.integers(1, 4))
    ]
    box, _ = coco.measure(polygons, (30, 40))
    again = np.zeros((30, 40), bool)
    crop = coco.crop_of(polygons, (30, 40), box)
    again[box[0] : box[0] + crop.shape[0], box[1] : box[1] + crop.shape[1]] = crop
    assert (again == coco.mask_of(polygons, (30, 40))).all()


def test_the_official_sample_has_the_text_that_is_written(data: Path) -> None:
    path = data / "formats" / "coco-panoptic" / "panoptic_coco_detection_format.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    rows = json.loads(path.read_bytes())["annotations"]
    assert len(rows) == 50
    for row in rows:
        size = tuple(row["segmentation"]["size"])
        mask = coco.mask_of(row["segmentation"], size)
        assert coco.text_of_runs(runs_of_mask(mask)) == row["segmentation"]["counts"]
        assert int(mask.sum()) == row["area"]


def put(folder: Path, files: Any, maps: list[np.ndarray]) -> None:
    """Write files, and a photo for each map."""
    for path, data in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name, ids in zip(NAMES, maps, strict=False):
        (folder / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", ids.shape[::-1]).save(folder / "photos" / f"{name}.png")


def drawn(maps: list[np.ndarray]) -> list[DrawnImage]:
    return [
        DrawnImage(n, f"photos/{n}.png", (m.shape[1], m.shape[0]), m)
        for n, m in zip(NAMES, maps, strict=False)
    ]


FORMATS = {"masks": (coco_masks, "instances.json"), "panoptic": (coco_panoptic, "panoptic.json")}
BOTH = pytest.mark.parametrize("kind", FORMATS)


@BOTH
def test_categories_are_numbered_from_1_on_and_names_may_hold_anything(tmp_path: Path, kind: str) -> None:
    form, file = FORMATS[kind]
    names = ('say "x"', "it's", "a, b", "<b> & c", " 图 ")
    classes = fs.nouns.Classes(names, (4, 3, 2, 1, 0), tuple((k, 0, 0) for k in range(5)), (200, 201), 3)
    ids = np.array([[0, 1, 2, 3], [4, 4, 200, 201]])
    put(tmp_path, form.write(tmp_path, drawn([ids]), classes), [ids])
    (label,) = form.read(tmp_path / file)
    assert label.read(classes).tolist() == [[0, 1, 2, 3], [4, 4, 200, 200]]
    document = json.loads((tmp_path / file).read_bytes())
    void = ["void"] if kind == "masks" else []  # which is segment 0 of a panoptic file
    assert [(row["id"], row["name"]) for row in document["categories"]] == [*enumerate([*names, *void], 1)]


# what other tools write


def image(id_: int = 7, name: str = "a.png", width: int = 6, height: int = 4) -> dict[str, Any]:
    return {"id": id_, "file_name": name, "width": width, "height": height}


def instances(path: Path, *annotations: dict[str, Any], **changed: Any) -> Path:
    document = {
        "images": [image(7, "a.png"), image(8, "b.png")],
        "annotations": [
            {"id": k, "image_id": 7, "iscrowd": 0, **row} for k, row in enumerate(annotations, 1)
        ],
        "categories": [{"id": 1, "name": "horse"}, {"id": 2, "name": "cow"}, {"id": 90, "name": "zebra"}],
    }
    path.write_text(json.dumps(document | changed))
    Image.new("L", (6, 4)).save(path.parent / "a.png")
    Image.new("L", (6, 4)).save(path.parent / "b.png")
    return path


VOC = fs.classes.resolve("voc")
BOX = [[1, 1, 4, 1, 4, 3, 1, 3]]
RUNS = {"size": [4, 6], "counts": [0, 4, 20]}


def runs(*counts: int, size: tuple[int, int] = (4, 6)) -> dict[str, Any]:
    return {"size": [*size], "counts": [*counts]}


def test_annotations_are_painted_in_the_order_of_the_file_polygons_and_runs_alike(tmp_path: Path) -> None:
    box, runs = (
        {"category_id": 1, "segmentation": BOX},
        {"category_id": 2, "segmentation": {"size": [4, 6], "counts": [0, 12, 12]}, "iscrowd": 1},
    )
    one, other = coco_masks.read(instances(tmp_path / "i.json", box, runs))
    assert one.read(VOC).tolist() == [
        [10, 10, 10, 0, 0, 0],
        [10, 10, 10, 13, 0, 0],
        [10, 10, 10, 13, 0, 0],
        [10, 10, 10, 0, 0, 0],
    ]
    assert (other.drawn, other.read(VOC).tolist()) == (False, [[0] * 6] * 4)
    one, _ = coco_masks.read(instances(tmp_path / "i.json", runs, box))
    assert one.read(VOC).tolist() == [
        [10, 10, 10, 0, 0, 0],
        [10, 13, 13, 13, 0, 0],
        [10, 13, 13, 13, 0, 0],
        [10, 10, 10, 0, 0, 0],
    ]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"category_id": 90, "segmentation": BOX}, "'zebra' is not a class"),
        (
            {"category_id": 77, "segmentation": BOX},
            "has the category_id 77, which is not defined in the file",
        ),
        ({"category_id": 1, "segmentation": runs(0, 4, 20, size=(6, 4))}, r"have the size \[6, 4\]"),
        ({"category_id": 1, "segmentation": runs(0, 4, 21)}, "cover 25 pixels, its image has 24"),
        ({"category_id": 1, "segmentation": runs(-4, 28)}, "whole numbers, 0 or more"),
        ({"category_id": 1, "segmentation": {"size": [4, 6], "counts": "~~"}}, "are damaged"),
        ({"category_id": 1, "segmentation": [[0, 0, 1, 1]]}, "three or more pairs"),
        ({"category_id": 1, "segmentation": None}, "neither polygons nor run lengths"),
    ],
)
def test_what_is_wrong_with_one_image_is_told_by_its_annotation_and_hinders_no_other(
    tmp_path: Path, row: dict[str, Any], says: str
) -> None:
    bad, fine = coco_masks.read(
        instances(tmp_path / "i.json", row, {"image_id": 8, "category_id": 1, "segmentation": RUNS})
    )
    with refused(LabellingError, rf"i\.json, annotations\[0\]: .*{says}"):
        bad.read(VOC)
    assert fine.read(VOC)[:, 0].tolist() == [13] * 4


def named(*names: str) -> list[dict[str, Any]]:
    return [{"id": k, "name": name} for k, name in enumerate(names)]


def told(form: Any, path: Path) -> list[str]:
    return [sentence.replace(f"{path.parent}/", "") for sentence in form.check(path)]


@pytest.mark.parametrize(
    ("row", "changed", "says"),
    [
        (
            {},
            {"categories": named("cow", "horse")},
            "categories[0]: has the id 0, which CVAT treats as no label",
        ),
        ({"area": 5}, {}, "i.json, annotations[0]: its area is 5, its mask has 4"),
        ({"bbox": [0, 0, 2, 4]}, {}, "annotations[0]: its bbox is [0, 0, 2, 4], its mask has [0, 0, 1, 4]"),
        (
            {"segmentation": runs(0, 4)},
            {},
            "annotations[0]: its run lengths cover 4 pixels, its image has 24",
        ),
        ({}, {"images": [image(name="none.png")]}, "i.json: image 'none.png' not found beside it"),
        ({}, {"images": [image(name="../a.png")]}, "leads out of its folder"),
        ({"segmentation": BOX}, {"images": [image(width=5)]}, "a.png: is 6 x 4 pixels, but in i.json 5 x 4"),
        ({}, {"images": [image(7), image(8)]}, "i.json, images: 2 entries have the file_name 'a.png'"),
        ({"category_id": 77}, {}, "annotations[0]: has the category_id 77, which is not defined in the file"),
        ({}, {"categories": named("x", "cow", "cow")[1:]}, "categories: 2 entries have the name 'cow'"),
    ],
)
def test_what_would_be_refused_or_shown_wrongly_is_told(
    tmp_path: Path, row: dict[str, Any], changed: Any, says: str
) -> None:
    good = {"category_id": 1, "segmentation": RUNS, "area": 4, "bbox": [0, 0, 1, 4]}
    assert coco_masks.check(instances(tmp_path / "i.json", good)) == []
    sentences = told(coco_masks, instances(tmp_path / "i.json", good | row, **changed))
    assert [says in sentence for sentence in sentences] == [True], sentences


def test_an_id_that_two_annotations_have_is_told(tmp_path: Path) -> None:
    row = {"id": 5, "category_id": 1, "segmentation": RUNS}
    assert told(coco_masks, instances(tmp_path / "i.json", row, row)) == [
        "i.json, annotations: 2 entries have the id '5'"
    ]


@given(seed=st.integers(0, 10_000), density=st.sampled_from([0.02, 0.5, 1]))
@SAME_FOLDER
def test_area_and_box_of_run_lengths_are_those_of_the_mask(tmp_path: Path, seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    ids = np.where(rng.random(rng.integers(1, 12, 2)) < density, 13, 0)
    ((_, data),) = coco_masks.write(tmp_path, drawn([ids]), VOC)
    for row in json.loads(data)["annotations"]:
        ys, xs = np.nonzero(ids)
        assert row["area"] == len(ys)
        assert row["bbox"] == [xs.min(), ys.min(), np.ptp(xs) + 1, np.ptp(ys) + 1]


# panoptic files


def panoptic(path: Path, pixels: Any, *infos: dict[str, Any], folder: str = "", **changed: Any) -> Path:
    numbers = np.array(pixels)
    rgb = np.stack([numbers & 255, numbers >> 8 & 255, numbers >> 16], 2).astype(np.uint8)
    document = {
        "images": [image(7, "a.jpg", 3, 2)],
        "annotations": [{"image_id": 7, "file_name": "a.png", "segments_info": [*infos]}],
        "categories": [
            {"id": 1, "name": "horse", "isthing": 1},
            {"id": 2, "name": "cow", "isthing": 1},
            {"id": 90, "name": "zebra", "isthing": 1},
        ],
    }
    path.write_text(json.dumps(document | changed))
    (path.parent / folder).mkdir(exist_ok=True)
    Image.fromarray(rgb).save(path.parent / folder / "a.png")
    Image.new("L", (3, 2)).save(path.parent / "a.jpg")
    return path


PIXELS = [[70_000, 70_000, 0], [5, 5, 300]]
INFOS = (
    {"id": 70_000, "category_id": 1, "area": 2, "bbox": [0, 0, 2, 1], "iscrowd": 0},
    {"id": 5, "category_id": 2, "area": 2, "bbox": [0, 1, 2, 1], "iscrowd": 1},
    {"id": 300, "category_id": 1, "area": 1, "bbox": [2, 1, 1, 1], "iscrowd": 0},
)


@pytest.mark.parametrize("folder", ["", "p", "panoptic"])
def test_segments_are_numbers_in_three_channels_and_0_is_void(tmp_path: Path, folder: str) -> None:
    (label,) = coco_panoptic.read(panoptic(tmp_path / "p.json", PIXELS, *INFOS, folder=folder))
    assert (label.image, label.size, label.drawn) == ("a.jpg", (3, 2), True)
    assert label.read(VOC).tolist() == [[13, 13, 255], [10, 10, 13]]
    assert label.read(fs.nouns.Classes(("horse", "cow"), (1, 2), ((0, 0, 1), (0, 0, 2)), (), 2)).tolist() == [
        [1, 1, 2],
        [2, 2, 1],
    ]
    with refused(LabellingError, "column 2, row 0 belongs to no segment"):
        label.read(fs.nouns.Classes(("horse", "cow"), (1, 2), ((0, 0, 1), (0, 0, 2))))
    assert told(coco_panoptic, tmp_path / "p.json") == []


FIRST = INFOS[0]


def segments(file: str) -> dict[str, Any]:
    return {"image_id": 7, "file_name": file, "segments_info": []}


def lacking(info: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in info.items() if key not in keys}


@pytest.mark.parametrize(
    ("infos", "changed", "says"),
    [
        (
            INFOS[1:],
            {},
            r"a\.png: holds the segment 70000 at column 0, row 0, which is missing in segments_info",
        ),
        ((*INFOS, INFOS[0]), {}, "segment 3: has the id 70000 of an earlier one"),
        ((FIRST | {"category_id": 3},), {}, "70000 has the category_id 3, which is not defined in the file"),
        ((FIRST | {"category_id": 90},), {}, "'zebra' is not a class"),
        ((FIRST | {"id": 0},), {}, "needs an id from 1 to 16777215"),
        ((FIRST | {"id": 1 << 24},), {}, "needs an id from 1 to 16777215"),
        ((5,), {}, "needs an id from 1 to 16777215"),
        ((lacking(FIRST, "category_id"),), {}, "and a category_id, as whole numbers"),
        (INFOS, {"images": [image(7, "a.jpg", 4, 2)]}, "is 3 x 2 pixels, but in p.json 4 x 2"),
        (INFOS, {"images": []}, "width and height must be those of an image"),
        (INFOS, {"annotations": [segments("../a.png")]}, "is not a file in the folder"),
        (INFOS, {"annotations": [segments("/a.png")]}, "is not a file in the folder"),
        (INFOS, {"annotations": [segments("b.png")]}, r"'b\.png' not found in p/, in panoptic/"),
        (
            INFOS,
            {"annotations": [lacking(segments("a.png"), "segments_info")]},
            "has no list `segments_info`",
        ),
    ],
)
def test_what_is_wrong_with_a_panoptic_image_is_told_by_its_place(
    tmp_path: Path, infos: Any, changed: Any, says: str
) -> None:
    (label,) = coco_panoptic.read(panoptic(tmp_path / "p.json", PIXELS, *infos, **changed))
    with refused(LabellingError, says):
        label.read(VOC)
    assert told(coco_panoptic, tmp_path / "p.json") or "zebra" in says


@pytest.mark.parametrize(
    ("infos", "changed", "says"),
    [
        (INFOS[1:], {}, "annotations[0]: its PNG holds the segment 70000, which is missing in segments_info"),
        ((*INFOS, FIRST | {"id": 9}), {}, "has the segment 9, but its PNG has no pixels of it"),
        ((FIRST | {"area": 3}, *INFOS[1:]), {}, "segment 70000 has the area 3, in its PNG 2"),
        (
            (FIRST | {"bbox": [0, 0, 1, 1]}, *INFOS[1:]),
            {},
            "has the bbox [0, 0, 1, 1], in its PNG [0, 0, 2, 1]",
        ),
        ((FIRST | {"category_id": 3}, *INFOS[1:]), {}, "the category_id 3, which is not defined in the file"),
        (INFOS, {"images": [image(7, "b.jpg", 3, 2)]}, "image 'b.jpg' not found"),
        (INFOS, {"images": []}, "has the image_id '7', which is not an image of the file"),
        (INFOS, {"categories": named("zebra", "horse", "cow")}, "categories[0]: has the id 0"),
    ],
)
def test_where_a_panoptic_file_and_its_png_disagree_is_told(
    tmp_path: Path, infos: Any, changed: Any, says: str
) -> None:
    sentences = told(coco_panoptic, panoptic(tmp_path / "p.json", PIXELS, *infos, **changed))
    assert [says in sentence for sentence in sentences] == [True], sentences


def test_a_grey_png_holds_no_segments(tmp_path: Path) -> None:
    path = panoptic(tmp_path / "p.json", PIXELS, *INFOS)
    Image.new("L", (3, 2)).save(tmp_path / "a.png")
    (label,) = coco_panoptic.read(path)
    with refused(LabellingError, r"a\.png: has mode L; expected segment numbers in three channels"):
        label.read(VOC)


def sample(data: Path) -> tuple[Path, list[dict[str, Any]], fs.nouns.Classes]:
    path = data / "formats" / "coco-panoptic" / "panoptic_examples.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    document = json.loads(path.read_bytes())
    entries = [
        {"name": row["name"], "id": row["id"], "color": row["color"]} for row in document["categories"]
    ]
    return path, document["annotations"], fs.classes.class_lists.parse({"classes": entries, "void": 0})


def test_the_official_panoptic_sample_is_read_as_cocos_tool_reads_it_and_so_is_its_variant_of_two_channels(
    data: Path,
) -> None:
    path, annotations, classes = sample(data)
    labels = coco_panoptic.read(path)
    assert len(labels) == 2
    for label, row in zip(labels, annotations, strict=True):
        with Image.open(path.with_suffix("") / row["file_name"]) as picture:
            pixels = np.asarray(picture).astype(np.int64)
        numbers = pixels @ [1, 256, 256**2]
        expected = np.zeros(numbers.shape, int)
        for info in row["segments_info"]:
            assert np.count_nonzero(numbers == info["id"]) == info["area"]
            expected[numbers == info["id"]] = info["category_id"]
        assert (label.read(classes) == expected).all()
        assert 0 < np.count_nonzero(expected == 0) < expected.size / 10
    sentences = coco_panoptic.check(path)  # whose photos lie elsewhere
    assert len(sentences) == 2
    assert all("not found" in sentence for sentence in sentences)
