"""What LabelMe would refuse of its own files is said before somebody opens them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.formats import labelme


@pytest.fixture
def good(tmp_path: Path) -> Path:
    made.write(tmp_path / "a.png", np.zeros((4, 6, 3), np.uint8))
    ids = np.array([[3] * 6, [0] * 6, [4, 4, 0, 0, 0, 255], [0] * 6], np.uint16)
    (tmp_path / "a.json").write_bytes(labelme.encode("a.png", (6, 4), ids, fs.classes.resolve("voc")))
    return tmp_path / "a.json"


def test_what_faultscape_writes_labelme_takes(good: Path) -> None:
    assert labelme.check(good) == []
    assert labelme.check(good.parent) == []


def shape(**more: Any) -> dict[str, Any]:
    return {
        "label": "cat",
        "points": [[0, 0], [2, 0], [2, 2]],
        "shape_type": "polygon",
        "group_id": None,
    } | more


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 5}, "version is '5'; LabelMe expects text"),
        ({"flags": []}, "flags is '[]'; LabelMe expects an object"),
        ({"imagePath": "b.png"}, "image 'b.png' not found"),
        ({"imageWidth": 6.0}, "imageWidth and imageHeight are 6.0 and 4; LabelMe expects whole numbers"),
        ({"imageWidth": 7}, "is 7 x 4 pixels, its image 6 x 4; LabelMe refuses it"),
        ({"shapes": [3]}, "shape 0: has no label"),
        ({"shapes": [shape(shape_type="star")]}, "shape 0: the shape_type 'star' is not known"),
        (
            {"shapes": [shape(points=[[0, 0], [1, 1]])]},
            "shape 0: a polygon needs 3 or more points of two finite numbers",
        ),
        (
            {"shapes": [shape(points=[[0, 0], [1, 1], [1, True]])]},
            "shape 0: a polygon needs 3 or more points",
        ),
        ({"shapes": [shape(shape_type="circle")]}, "shape 0: a circle needs 2 points"),
        ({"shapes": [shape(group_id=True)]}, "shape 0: its group_id is 'True'"),
        (
            {"shapes": [shape(shape_type="mask", points=[[0, 0], [1, 1]], mask="x")]},
            "shape 0: its mask is not a PNG in base64",
        ),
        ({"shapes": 3}, "is not a LabelMe file: it has no list `shapes`"),
    ],
)
def test_what_labelme_refuses_is_said_in_a_line(good: Path, change: dict[str, Any], says: str) -> None:
    good.write_text(json.dumps(json.loads(good.read_text()) | change))
    (problem,) = labelme.check(good)
    assert problem.startswith(str(good))
    assert says in problem
    assert "\n" not in problem


def test_a_mask_that_does_not_fill_its_box_and_a_label_of_no_list(good: Path) -> None:
    document = json.loads(good.read_text())
    document["shapes"][0]["points"] = [[0, 0], [9, 9]]
    good.write_text(json.dumps(document))
    (good.parent / "labels.txt").write_text("dog\n")
    said = labelme.check(good.parent)
    assert any("its mask is 6 x 1 pixels, its inclusive box 10 x 10" in problem for problem in said)
    assert sum("is not in labels.txt" in problem for problem in said) == len(document["shapes"])


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 9000, b"\xff\xfe\x00", b"3"])
def test_what_is_no_file_of_labelme_is_one_line(good: Path, data: bytes) -> None:
    good.write_bytes(data)
    (problem,) = labelme.check(good)
    assert "\n" not in problem


def test_the_samples_of_labelme_are_taken(data: Path) -> None:
    folder = data / "formats" / "labelme"
    if not folder.is_dir():
        pytest.skip(f"no formats/labelme in {data}")
    assert [p for p in labelme.check(folder) if "labels.txt" not in p] == []
