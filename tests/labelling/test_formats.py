"""What is written for people is read back the same; what is hostile is refused in a line."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats import labelme, png
from faultscape.labelling import catalogue, discards, format_calls
from refusals import refused

SAME_FOLDER = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def made(seed: int, values: list[int]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.choice(values, (rng.integers(1, 9), rng.integers(1, 9))).repeat(2, 0).astype(np.uint16)


@given(st.integers(0, 10_000))
@SAME_FOLDER
def test_png_goes_out_and_comes_back(tmp_path: Path, seed: int) -> None:
    for classes, values in (
        (fs.classes.resolve("voc"), [0, 3, 20, 255]),
        (fs.classes.resolve(400, void=65535), [0, 399, 65535]),
    ):
        label_map = made(seed, values)
        (tmp_path / "m.png").write_bytes(png.encode(label_map, classes))
        assert (png.read(tmp_path / "m.png", classes) == label_map).all()


@given(st.integers(0, 10_000))
@SAME_FOLDER
def test_labelme_goes_out_and_comes_back(tmp_path: Path, seed: int) -> None:
    for name, values in (("voc", [0, 3, 20, 255]), ("camvid", [0, 4, 10, 11]), ("ade20k", [0, 1, 150])):
        classes, label_map = fs.classes.resolve(name), made(seed, values)
        size = (label_map.shape[1], label_map.shape[0])
        (tmp_path / "m.json").write_bytes(labelme.encode("m.png", size, label_map, classes))
        ids, read = labelme.read(tmp_path / "m.json", classes)
        assert read == size
        assert (ids == label_map).all()


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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"shapes": 3}',
        '{"shapes": [], "imageHeight": -1, "imageWidth": 5}',
        '{"shapes": [], "imageHeight": 99999999, "imageWidth": 99999999}',
    ],
)
def test_a_hostile_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with refused(LabellingError, r"m\.json"):
        labelme.read(tmp_path / "m.json", fs.classes.resolve("voc"))


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


def test_ids_of_a_format_of_ones_own_fit_a_map(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import dataclasses\nimport pathlib\nimport numpy as np\nfrom faultscape.labelling.catalogue import"
        " FORMATS\ndef read(path, classes, size):\n    return np.array([[int(pathlib.Path(path).read_text())]"
        " * 3])\nGRID = dataclasses.replace(FORMATS[0], name='grid', read=read)\n"
    )
    form = catalogue.find_format(f"{tmp_path / 'mine.py'}:GRID", "segmentation")
    for value, fits in ((0, True), (65535, True), (-1, False), (65536, False)):
        (tmp_path / "a.txt").write_text(str(value))
        if fits:
            assert format_calls.read_label(
                form, str(tmp_path / "a.txt"), fs.classes.resolve("voc"), (3, 1)
            ).tolist() == [[value] * 3]
        else:
            with refused(LabellingError, f"format grid: ids must be 0-65535; got {value} to {value}"):
                format_calls.read_label(form, str(tmp_path / "a.txt"), fs.classes.resolve("voc"), (3, 1))
