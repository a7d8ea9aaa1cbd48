"""What is written for people is read back the same; what is hostile is refused in a line."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats import labelme, png
from faultscape.labelling import discards
from refusals import refused


def test_the_labelme_samples_give_the_expected_masks(data: Path) -> None:
    folder = data / "formats" / "labelme"
    if not folder.is_dir():
        pytest.skip(f"no formats/labelme in {data}")
    files = sorted(folder.glob("*.json"))
    assert len(files) == 3
    for path in files:
        ids, _ = labelme.read(path, fs.classes.resolve("voc"))
        assert (ids == png.read(folder / "expected_class" / f"{path.stem}.png")).mean() > 0.9999


SQUARE = [[1, 1], [3, 3]]


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ({"label": "zebra", "points": SQUARE, "shape_type": "rectangle"}, "'zebra' is not a class"),
        ({"label": "horze", "points": SQUARE, "shape_type": "rectangle"}, "Did you mean 'horse'"),
        ({"points": SQUARE}, "has no label"),
        ("text", "has no label"),
        (
            {"label": "horse", "points": SQUARE, "shape_type": "star"},
            "shape_type 'star' is not known; use polygon",
        ),
        ({"label": "horse", "points": [*SQUARE, [1, 3]], "shape_type": "rectangle"}, "needs 2 or 4 points"),
        ({"label": "horse", "points": SQUARE, "shape_type": "rotation"}, "needs 4 points"),
        (
            {"label": "horse", "points": [[1, float("nan")], [2, 2]], "shape_type": "rectangle"},
            "finite numbers",
        ),
        ({"label": "horse", "points": [[1, 1e12], [2, 2]], "shape_type": "rectangle"}, "finite numbers"),
        ({"label": "horse", "points": [[1]], "shape_type": "polygon"}, "finite numbers"),
        ({"label": "horse", "points": None, "shape_type": "polygon"}, "2 or more points"),
        ({"label": "horse", "points": SQUARE, "shape_type": "mask", "mask": "%%%"}, "not a PNG in base64"),
        (
            {
                "label": "horse",
                "points": SQUARE,
                "shape_type": "mask",
                "mask": base64.b64encode(b"x").decode(),
            },
            "not a PNG in base64",
        ),
        ({"label": "horse", "points": SQUARE, "shape_type": "mask"}, "not a PNG in base64"),
    ],
)
def test_a_hostile_shape_is_refused_by_its_number(tmp_path: Path, shape: object, why: str) -> None:
    document = {"shapes": [shape], "imageHeight": 5, "imageWidth": 5}
    (tmp_path / "m.json").write_text(json.dumps(document))
    with refused(LabellingError, why) as told:
        labelme.read(tmp_path / "m.json", fs.classes.resolve("voc"))
    assert "shape 0" in str(told.value)


def test_shapes_are_drawn_in_order_and_boxes_may_leave_the_image(tmp_path: Path) -> None:
    shapes = [
        {"label": "horse", "points": [[-5, -5], [9, 2]], "shape_type": "rectangle"},
        {"label": "cow", "points": [[0, 0], [1, 9]], "shape_type": "rectangle"},
    ]
    (tmp_path / "m.json").write_text(json.dumps({"shapes": shapes, "imageHeight": 4, "imageWidth": 5}))
    ids, _ = labelme.read(tmp_path / "m.json", fs.classes.resolve("voc"))
    assert ids.tolist() == [[10, 10, 13, 13, 13]] * 3 + [[10, 10, 0, 0, 0]]


def test_pixels_under_no_shape_need_a_background_or_void(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps({"shapes": [], "imageHeight": 1, "imageWidth": 1}))
    with refused(LabellingError, "need a background class or a void id"):
        labelme.read(tmp_path / "m.json", fs.classes.resolve(3))
    assert labelme.read(tmp_path / "m.json", fs.classes.resolve("camvid"))[0].tolist() == [[11]]


def test_discards_hold_any_name_and_mistakes_are_told(tmp_path: Path) -> None:
    path = tmp_path / "discard.csv"
    path.write_text('image,reason\n"a,b",too dark\n"new\nline",""\n', encoding="utf-8")
    assert discards.read(path) == [("a,b", "too dark"), ("new\nline", "")]
    for text, why in (
        ("x,y\n", "expected the columns"),
        ("", "expected the columns"),
        ("image,reason\na\n", "line 2"),
        ("image,reason\na,b,c\n", "line 2"),
    ):
        path.write_text(text)
        with refused(LabellingError, why):
            discards.read(path)


def test_ids_that_are_no_labels_are_refused() -> None:
    for bad in (np.full((2, 2), -1), np.full((2, 2), 70_000), np.zeros((2, 2))):
        with refused(LabelMapError, "0-65535"):
            png.encode(bad, fs.classes.resolve("voc"), "m.png")
    with refused(LabellingError, "m.png: holds the id 77, which is neither a class nor void"):
        labelme.encode("m.png", (1, 1), np.array([[77]]), fs.classes.resolve("voc"))
