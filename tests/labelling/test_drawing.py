"""Shapes are painted on one map, each in its own box, as if each had a canvas of its own; and what a file
asks for is measured before anything is made of it.
"""

from __future__ import annotations

import base64
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

import faultscape as fs
from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats import labelme
from faultscape.formats import labelme as drawing
from refusals import refused

CLASSES = {"few": fs.classes.resolve("voc"), "many": fs.classes.resolve(400, background=0)}


def plain(shapes: list[dict[str, Any]], size: tuple[int, int], classes: Any) -> np.ndarray:
    """The same map with a whole canvas for each shape."""
    ids = np.zeros((size[1], size[0]), np.uint16)
    for shape in shapes:
        canvas = Image.new("1", size)
        pen, corners = ImageDraw.Draw(canvas), [(float(x), float(y)) for x, y in shape["points"]]
        if shape["shape_type"] == "rectangle":
            (x1, y1), (x2, y2) = corners
            pen.rectangle((min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)), fill=1, outline=1)
        elif shape["shape_type"] == "circle":
            (x, y), r = corners[0], math.dist(*corners)
            pen.ellipse((x - r, y - r, x + r, y + r), fill=1, outline=1)
        elif shape["shape_type"] == "mask":
            crop = np.asarray(Image.open(io.BytesIO(base64.b64decode(shape["mask"])))) > 0
            left, top = (round(v) for v in corners[0])
            inside = np.zeros((size[1] + 200, size[0] + 200), bool)
            inside[top + 100 : top + 100 + crop.shape[0], left + 100 : left + 100 + crop.shape[1]] = crop
            canvas = inside[100:-100, 100:-100]
        elif len(corners) == 2:
            pen.line(corners, fill=1)
        else:
            pen.polygon(corners, fill=1, outline=1)
        ids[np.asarray(canvas)] = classes.ids[classes.names.index(shape["label"])]
    return ids


def mask_of(inside: np.ndarray) -> str:
    out = io.BytesIO()
    Image.fromarray(inside).save(out, format="PNG")
    return base64.b64encode(out.getvalue()).decode()


coordinates = st.one_of(
    st.integers(-12, 60), st.floats(-40, 90, width=32), st.sampled_from([-0.5, 0.5, 35.5, 48.0, 3000.25])
)
points = st.tuples(coordinates, coordinates).map(list)


@st.composite
def shapes(draw: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Any shape on, across or beside a small map."""
    kind = draw(st.sampled_from(["polygon", "polygon", "rectangle", "circle", "oriented_rectangle", "mask"]))
    shape: dict[str, Any] = {"label": draw(st.sampled_from(names)), "shape_type": kind}
    if kind == "mask":
        x, y = draw(st.integers(-9, 50)), draw(st.integers(-9, 40))
        wide, tall = draw(st.integers(1, 30)), draw(st.integers(1, 30))
        bits = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 2, (tall, wide)).astype(bool)
        return shape | {"points": [[x, y], [x + wide - 1, y + tall - 1]], "mask": mask_of(bits)}
    least, most = {"polygon": (2, 9), "oriented_rectangle": (4, 4)}.get(kind, (2, 2))
    return shape | {"points": draw(st.lists(points, min_size=least, max_size=most))}


@pytest.mark.parametrize("number", ["few", "many"])
@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_pixel_is_that_of_a_canvas_a_shape(tmp_path: Path, number: str, data: st.DataObject) -> None:
    classes = CLASSES[number]
    drawn = data.draw(st.lists(shapes((classes.names[0], classes.names[1], classes.names[-1])), max_size=4))
    size = data.draw(st.sampled_from([(48, 36), (1, 1), (3, 70)]))
    (tmp_path / "m.json").write_text(
        json.dumps({"shapes": drawn, "imageWidth": size[0], "imageHeight": size[1]})
    )
    ids, _ = labelme.read(tmp_path / "m.json", classes)
    assert (ids == plain(drawn, size, classes)).all()
    assert ids.dtype == (np.uint16 if ids.max() > 255 else np.uint8)


def test_a_file_has_one_canvas_however_many_shapes_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, new = [], Image.new
    monkeypatch.setattr(Image, "new", lambda *given: made.append(given) or new(*given))
    written(tmp_path, [polygon([[k, 0], [k + 1, 5], [k, 9]]) for k in range(30)])
    labelme.read(tmp_path / "m.json", CLASSES["few"])
    assert len(made) == 1


def polygon(corners: list[Any]) -> dict[str, Any]:
    return {"label": "horse", "shape_type": "polygon", "points": corners}


def written(folder: Path, shapes: Any, size: tuple[Any, Any] = (48, 36)) -> Path:
    (folder / "m.json").write_text(
        json.dumps({"shapes": shapes, "imageWidth": size[0], "imageHeight": size[1]})
    )
    return folder / "m.json"


ZIGZAG = [[k, 13_000 * (k % 2)] for k in range(6000)]
HOSTILE = [  # shapes, and what is said of them
    (
        [{"label": "horse", "shape_type": "circle", "points": [[24, 18], [9e6, 18]]}],
        "a circle of radius 8,999,976 is larger than",
    ),
    (
        [{"label": "horse", "shape_type": ["polygon"], "points": [[0, 0], [1, 1]]}],
        r"the shape_type \['polygon'\] is not known",
    ),
    (
        [{"label": "horse", "shape_type": {"a": 1}, "points": [[0, 0], [1, 1]]}],
        r"type \{'a': 1\} is not known",
    ),
    ([polygon([[10**400, 0], [1, 1], [2, 0]])], "finite numbers"),
    ([polygon([[0, -(10**400)], [1, 1], [2, 0]])], "finite numbers"),
    ([0] * 100_001, "has 100,001 shapes; at most 100,000 are read"),
    ([polygon(ZIGZAG)] * 2, "drawing its 2 shapes would take about [0-9]+ s"),
    ([polygon([[-9e6, 0], [9e6, 1]])] * 200, "drawing its 200 shapes would take"),
    (
        [
            {
                "label": "horse",
                "shape_type": "mask",
                "points": [[0, 0], [7, 5]],
                "mask": mask_of(np.ones((90, 80), bool)),
            }
        ],
        "its mask is 80 x 90 pixels, its box 8 x 6",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("shapes", "why"), HOSTILE)
def test_what_cannot_be_drawn_is_said_before_a_canvas_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shapes: list[Any], why: str
) -> None:
    if "its mask" not in why:  # which is looked at on its way to the canvas
        monkeypatch.setattr(drawing, "painted", lambda *_: pytest.fail("a canvas was made"))
    with refused(LabellingError, why) as caught:
        labelme.read(written(tmp_path, shapes, (13_000, 13_000)), CLASSES["few"])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value).replace(str(tmp_path), "")) < 300


@pytest.mark.parametrize("claims", [(48, 13_000), (13_000, 13_000), (36, 48)])
def test_a_size_that_is_not_the_photos_is_said_before_a_canvas_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claims: tuple[int, int]
) -> None:
    monkeypatch.setattr(drawing, "painted", lambda *_: pytest.fail("a canvas was made"))
    with refused(LabelMapError, rf"is {claims[0]} x {claims[1]} pixels, its image 48 x 36; both must have"):
        labelme.read(written(tmp_path, [], claims), CLASSES["few"], (48, 36))


def test_a_size_of_many_digits_is_no_long_line(tmp_path: Path) -> None:
    with refused(LabellingError, "must be the image's size in pixels") as caught:
        labelme.read(written(tmp_path, [], (10**400, 5)), CLASSES["few"])
    assert len(str(caught.value).replace(str(tmp_path), "")) < 200


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_file_is_read_in_every_encoding_of_unicode_with_or_without_a_mark(
    tmp_path: Path, encoding: str
) -> None:
    path = written(tmp_path, [polygon([[0, 0], [5, 0], [5, 5]]) | {"description": "größer"}])
    text = path.read_text()
    path.write_bytes(text.encode(encoding))
    ids, _ = labelme.read(path, CLASSES["few"])
    assert (ids > 0).sum() > 10
    assert labelme.state(path) == "drawn"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ('{"shapes": []}', "empty"),
        ('\ufeff{"shapes": []}', "empty"),
        ('{"shapes": [{"shape_type": "point", "points": 3}]}', "empty"),
        ('{"shapes": [{"shape_type": "point"}, {"shape_type": ["point"]}]}', "drawn"),
        ('{"shapes": 3}', "drawn"),
        ('{"shapes": [1]}', "drawn"),
        ('{"classes": []}', "other"),
        ("[]", "other"),
        ("{", "drawn"),
        ("[" * 100_000, "drawn"),
    ],
)
def test_files_without_shapes_and_files_of_others_are_told_apart(
    tmp_path: Path, text: str, state: str
) -> None:
    (tmp_path / "m.json").write_text(text, encoding="utf-8")
    assert labelme.state(tmp_path / "m.json") == state


def test_a_file_larger_than_any_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "m.json").open("wb") as file:
        file.truncate(1 << 30)
    with refused(LabellingError, "has 1,073,741,824 bytes; at most 268,435,456 are read"):
        labelme.read(tmp_path / "m.json", CLASSES["few"])
