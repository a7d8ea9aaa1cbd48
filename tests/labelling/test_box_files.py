"""Boxes in the files of five tools, in real pixels; files that lie are refused in one line."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from faultscape.errors import LabellingError
from faultscape.formats import labelme as labelme_masks
from faultscape.formats.label_tools import cvat_images, label_studio
from faultscape.formats.label_tools.boxes.catalogue import BOX_FORMATS
from faultscape.formats.label_tools.boxes.said_boxes import BoxFile
from faultscape.maps.boxes import Box, boxes_of_mask
from faultscape.nouns import Classes

TWO = Classes(("background", "car"), (0, 1), ((0, 0, 0), (1, 1, 1)), background=0)
COCO = {  # an annotation as the data set's documentation has it
    "images": [
        {"id": 397133, "file_name": "000000397133.jpg", "width": 640, "height": 427},
        {"id": 7, "file_name": "empty.jpg", "width": 4, "height": 3},
    ],
    "annotations": [
        {
            "id": 1,
            "image_id": 397133,
            "category_id": 44,
            "bbox": [217.62, 240.54, 38.99, 57.75],
            "iscrowd": 0,
        },
        {"id": 2, "image_id": 397133, "category_id": 1, "bbox": [0, 0, 640, 427], "iscrowd": 1},
    ],
    "categories": [{"id": 44, "name": "bottle"}, {"id": 1, "name": "person"}],
}
CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version><meta><task><labels><label><name>car</name></label></labels>
<assignee><username>ann</username></assignee></task></meta>
<image id="0" name="a.jpg" width="10" height="8">
<box label="car" occluded="0" source="manual" xtl="1.60" ytl="2.00" xbr="4.40" ybr="7.00" z_order="0"{more}></box>
</image><image id="1" name="b.jpg" width="10" height="8"></image></annotations>
"""
VOC = """<annotation><folder>VOC2012</folder><filename>2007_000027.jpg</filename>
<size><width>486</width><height>500</height><depth>3</depth></size><segmented>0</segmented>
<object><name>person</name><truncated>0</truncated><difficult>0</difficult>
<bndbox><xmin>174</xmin><ymin>101</ymin><xmax>349</xmax><ymax>351</ymax></bndbox>
<part><name>head</name><bndbox><xmin>169</xmin><ymin>104</ymin><xmax>209</xmax><ymax>146</ymax></bndbox></part>
</object><object><name>dog</name><difficult>1</difficult>
<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>486</xmax><ymax>500</ymax></bndbox></object></annotation>
"""


def studio(value: Mapping[str, object], **more: object) -> list[object]:
    result = {"type": "rectanglelabels", "original_width": 10, "original_height": 8, "id": "x"} | more
    result["value"] = {"rectanglelabels": ["car"], "rotation": 0, **value}
    done = {"completed_by": {"email": "ann@example.org"}, "result": [result]}
    return [{"id": 1, "data": {"image": "a.jpg"}, "annotations": [done]}]


def shapes(*points: list[float], kind: str = "rectangle") -> dict[str, object]:
    one = {"label": "car", "points": list(points), "shape_type": kind}
    return {"version": "5.5.0", "shapes": [one], "imageWidth": 10, "imageHeight": 8, "imagePath": "a.jpg"}


def read(folder: Path, name: str, content: object) -> BoxFile:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    (form,) = [form for form in BOX_FORMATS if form.recognise(path)]
    return form.read(path)


def only(file: BoxFile) -> Box:
    return file.images[0].boxes[0][1]


def test_coco(tmp_path: Path) -> None:
    file = read(tmp_path, "instances.json", COCO)
    assert file.classes == ("bottle", "person")
    assert [image.image for image in file.images] == ["000000397133.jpg", "empty.jpg"]
    assert file.images[0].boxes == [
        ("bottle", Box(218, 241, 257, 298)),
        ("person", Box(0, 0, 640, 427, False)),
    ]
    assert file.images[1].boxes == []


def test_cvat_covers_what_its_box_paints(tmp_path: Path) -> None:
    file = read(tmp_path, "annotations.xml", CVAT.format(more=""))
    (label, _) = cvat_images.read(tmp_path / "annotations.xml")
    assert [only(file)] == boxes_of_mask(label.read(TWO) == 1) == [Box(2, 2, 4, 7)]
    assert (file.classes, file.images[0].annotator, file.untouched) == (("car",), "ann", 1)
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as zipped:
        zipped.write(tmp_path / "annotations.xml", "annotations.xml")
    (form,) = [form for form in BOX_FORMATS if form.recognise(tmp_path / "export.zip")]
    assert only(form.read(tmp_path / "export.zip")) == Box(2, 2, 4, 7)


def test_label_studio_covers_what_its_rectangle_paints(tmp_path: Path) -> None:
    value = {"x": 16.0, "y": 25.0, "width": 28.0, "height": 62.5}
    file = read(tmp_path, "export.json", studio(value))
    (label,) = label_studio.read(tmp_path / "export.json")
    assert [only(file)] == boxes_of_mask(label.read(TWO) == 1) == [Box(2, 2, 4, 7)]
    assert (file.images[0].annotator, file.images[0].size) == ("ann@example.org", (10, 8))


@pytest.mark.parametrize("points", [([1.6, 2.2], [4.4, 6.0]), ([4.4, 6.0], [1.6, 2.2])])
def test_labelme_covers_what_its_rectangle_paints(tmp_path: Path, points: tuple[list[float], ...]) -> None:
    file = read(tmp_path, "a.json", shapes(*points))
    ids, _ = labelme_masks.read(tmp_path / "a.json", TWO, left_out=Counter())
    assert [only(file)] == boxes_of_mask(ids == 1) == [Box(1, 2, 5, 7)]


def test_voc_counts_from_one(tmp_path: Path) -> None:
    file = read(tmp_path, "2007_000027.xml", VOC)
    assert file.images[0].image == "2007_000027.jpg"
    assert file.images[0].boxes == [
        ("person", Box(173, 100, 349, 351)),
        ("dog", Box(0, 0, 486, 500, whole=False)),
    ]


def test_boxes_of_a_mask_come_back_from_every_format(tmp_path: Path) -> None:
    mask = np.zeros((8, 10), bool)
    mask[2:6, 3:9] = np.random.default_rng(0).random((4, 6)) < 0.8
    mask[2:6, 3] = mask[2, 3:9] = mask[5, 3:9] = mask[2:6, 8] = True
    (box,) = boxes_of_mask(mask)
    left, top, right, bottom = box[:4]
    whole = {"images": [{"id": 1, "file_name": "a.jpg", "width": 10, "height": 8}]}
    whole["annotations"] = [
        {"image_id": 1, "category_id": 1, "bbox": [left, top, right - left, bottom - top]}
    ]  # type: ignore[assignment]
    whole["categories"] = [{"id": 1, "name": "car"}]  # type: ignore[assignment]
    percent = {"x": 10 * left, "y": 12.5 * top, "width": 10 * (right - left), "height": 12.5 * (bottom - top)}
    corners = f'xtl="{left}.00" ytl="{top}.00" xbr="{right}.00" ybr="{bottom}.00"'
    cvat = CVAT.format(more="").replace('xtl="1.60" ytl="2.00" xbr="4.40" ybr="7.00"', corners)
    voc = VOC.replace("174", str(left + 1)).replace("101", str(top + 1))
    voc = voc.replace("349", str(right)).replace("351", str(bottom))
    files = {
        "coco.json": whole,
        "studio.json": studio(percent),
        "me.json": shapes([left, top], [right - 0.5, bottom - 0.5]),
        "cvat.xml": cvat,
        "voc.xml": voc,
    }
    for name, content in files.items():
        assert only(read(tmp_path, name, content)) == box, name


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.json", COCO | {"annotations": [{"image_id": 7, "category_id": 1, "bbox": [3, 0, -2, 1]}]}, "inside out"),
        ("a.json", COCO | {"annotations": [{"image_id": 7, "category_id": 1, "bbox": [3, 0, 0, 1]}]}, "no area"),
        ("a.json", COCO | {"annotations": [{"image_id": 7, "category_id": 1}]}, r"has no bbox \[x, y"),
        ("a.json", COCO | {"annotations": [{"image_id": 7, "category_id": 9, "bbox": []}]}, "category_id 9"),
        ("a.xml", CVAT.format(more=' rotation="30.0"'), "is rotated by 30.0 degrees; draw it upright"),
        ("a.xml", CVAT.format(more="").replace("<box", "<ellipse").replace("</box", "</ellipse"), r"\(ellipse\): with --boxes only boxes"),
        ("a.xml", CVAT.format(more="").replace("4.40", "nan"), "xbr must be a finite number; got 'nan'"),
        ("a.json", studio({"x": 1, "y": 1, "width": 5, "height": 5, "rotation": 12}), "rotated by 12 degrees"),
        ("a.json", studio({"x": 1, "y": 1, "width": 5}), "height must be a finite number; got nothing"),
        ("a.json", shapes([1, 1], [3, 3], [2, 5], kind="polygon"), r"\(polygon\): with --boxes only rectangles"),
        ("a.json", shapes([0, 0], [2, 1], [1, 3], [-1, 2]), "the rectangle is rotated"),
        ("a.xml", VOC.replace("<xmin>1<", "<xmin>0<"), "VOC counts pixels from 1"),
        ("a.xml", VOC.replace("<xmax>349<", "<xmax>9<"), "is inside out: xmin 174, xmax 9"),
    ],
)  # fmt: skip
def test_a_box_that_lies_is_an_error_of_its_image(
    tmp_path: Path, name: str, content: object, why: str
) -> None:
    file = read(tmp_path, name, content)
    (wrong,) = [image.wrong for image in file.images if image.wrong]
    with pytest.raises(LabellingError, match=why):
        raise LabellingError(wrong)
    assert "\n" not in wrong


def test_a_document_type_is_refused_before_entities_expand(tmp_path: Path) -> None:
    entities = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    with pytest.raises(LabellingError, match="has a document type, which may define entities"):
        read(tmp_path, "a.xml", entities + VOC.replace("person", "&b;"))
    deep = "<annotation>" + "<a>" * 40
    with pytest.raises(LabellingError, match="nested more than 16 deep"):
        read(tmp_path, "a.xml", deep)
    with pytest.raises(LabellingError, match="is not valid XML"):
        read(tmp_path, "a.xml", VOC[:200])


def test_an_answered_task_without_a_rectangle_is_empty_and_an_unanswered_one_is_not_read(
    tmp_path: Path,
) -> None:
    tasks = studio({"x": 1, "y": 1, "width": 5, "height": 5})
    tasks[0]["annotations"][0]["result"] = []  # type: ignore[index]
    tasks.append({"id": 2, "data": {"image": "b.jpg"}, "annotations": []})
    file = read(tmp_path, "a.json", tasks)
    assert [(image.image, image.boxes) for image in file.images] == [("a.jpg", [])]
    assert file.untouched == 1
