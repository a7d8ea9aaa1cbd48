"""Label Studio's masks are written as its own tools write them, and read as it shows them; what it would
refuse is said beforehand.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import faultscape as fs
import made_masks
from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats.label_tools import label_studio
from faultscape.formats.label_tools.studio import brush, tasks
from faultscape.formats.label_tools.tool_labels import DrawnImage
from refusals import refused

SAME_FOLDER = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORLDS: tuple[tuple[Any, dict[str, Any], list[int]], ...] = (
    ("voc", {}, [0, 3, 20, 255]),
    ("camvid", {}, [0, 4, 10, 11]),
    ("ade20k", {}, [0, 1, 150]),
    (400, {"void": 65535}, [0, 255, 256, 399, 65535]),
    (300, {"void": 7000, "background": 3}, [0, 3, 299, 7000]),
    (3, {}, [0, 1, 2]),
)
NAMES = ("photo", "a b/c d", "naïve 图", "x.y", "-flag", "it's 100 %", 'say "x" & <y>', "a?b#c")
# sha256 (its first 16 digits) of what mask2rle of label-studio-sdk 2.1.2 gives for the masks of made_masks
OF_THE_SDK = {
    "a disc": (148, "bc0e221f4c8c8f28"),
    "a checkerboard": (910, "5525e984b1b1ead8"),
    "every alpha": (3347, "cf28967b1107741b"),
    "runs of more than 65,536 values": (38, "0577cb85094c3e97"),
    "two runs, of 65,536 values and of 65,540": (17, "33fac2cb910d4f2f"),
    "whole bytes, with one of zeros behind": (10, "fe4e7e25005cd1e4"),
}


def plain_head(values: int) -> str:
    return f"{values:032b}{7:05b}{2:04b}{3:04b}{7:04b}{15:04b}"


def plain_encode(alpha: list[int]) -> bytes:
    """The layout bit by bit, as text."""
    values = [value for value in alpha for _ in range(4)]
    bits, at = plain_head(len(values)), 0
    while at < len(values):
        end = at
        while end < len(values) and values[end] == values[at]:
            end += 1
        left, long = end - at, end - at > 65536
        while left:
            piece = min(left, 65536)
            kind, width = (
                (3, 16) if long else next((k, w) for k, w in enumerate((3, 4, 8, 16)) if piece <= 2**w)
            )
            bits += f"1{kind:02b}{piece - 1:0{width}b}{values[at]:08b}"
            left -= piece
        at = end
    bits += "0" * (8 - len(bits) % 8)
    return bytes(int(bits[k : k + 8], 2) for k in range(0, len(bits), 8))


def plain_decode(data: bytes) -> list[int]:
    """All values, bit by bit."""
    bits = "".join(f"{byte:08b}" for byte in data)
    values: list[int] = []
    at = 53
    while len(values) < int(bits[:32], 2):
        run, width = bits[at] == "1", (3, 4, 8, 16)[int(bits[at + 1 : at + 3], 2)]
        count = int(bits[at + 3 : at + 3 + width], 2) + 1
        at += 3 + width
        words = 1 if run else count
        said = [int(bits[at + 8 * k : at + 8 * k + 8], 2) for k in range(words)]
        values += said * count if run else said
        at += 8 * words
    return values


def packed_anyhow(alpha: list[int], rng: np.random.Generator) -> bytes:
    """Blocks as no tool would choose them: runs that are cut short, single values, lengths of any kind."""
    values = [value for value in alpha for _ in range(4)]
    bits, at = plain_head(len(values)), 0
    while at < len(values):
        run = 1
        while at + run < len(values) and values[at + run] == values[at]:
            run += 1
        kind = int(rng.integers(4))
        width = (3, 4, 8, 16)[kind]
        single = bool(rng.integers(2))
        count = int(rng.integers(1, min(len(values) - at if single else run, 2**width) + 1))
        bits += f"{'0' if single else '1'}{kind:02b}{count - 1:0{width}b}"
        bits += "".join(
            f"{value:08b}" for value in (values[at : at + count] if single else values[at : at + 1])
        )
        at += count
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[k : k + 8], 2) for k in range(0, len(bits), 8))


@pytest.mark.parametrize(("name", "mask"), [*made_masks.masks()])
def test_runs_of_the_brush_are_the_very_bytes_of_label_studios_own_tool(name: str, mask: np.ndarray) -> None:
    rle = brush.encode(mask)
    assert (len(rle), hashlib.sha256(rle).hexdigest()[:16]) == OF_THE_SDK[name]
    assert (brush.decode(list(rle), mask.size) == mask.reshape(-1)).all()


@pytest.mark.slow
@given(
    seed=st.integers(0, 10_000),
    most=st.sampled_from([1, 2, 3, 9, 60, 300, 40_000]),
    kinds=st.sampled_from([2, 3, 256]),
)
def test_runs_are_packed_and_unpacked_as_bit_by_bit(seed: int, most: int, kinds: int) -> None:
    rng = np.random.default_rng(seed)
    alpha = rng.integers(0, kinds, rng.integers(1, 12)).repeat(rng.integers(1, most + 1)).astype(np.uint8)
    rle = brush.encode(alpha[None])
    assert rle == plain_encode(alpha.tolist())
    assert plain_decode(rle)[3::4] == alpha.tolist() == brush.decode(rle, alpha.size).tolist()
    assert brush.values_of(rle) == 4 * alpha.size


@given(seed=st.integers(0, 10_000))
def test_blocks_of_single_values_and_of_any_kind_are_read(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha = rng.integers(0, rng.integers(1, 5), rng.integers(1, 40)).repeat(rng.integers(1, 9)).tolist()
    data = packed_anyhow(alpha, rng)
    assert plain_decode(data)[3::4] == alpha == brush.decode(data, len(alpha)).tolist()


def test_alpha_is_read_where_colours_differ_from_it() -> None:
    pixel = [9, 8, 7, 200, 1, 2, 3, 0]
    bits = plain_head(8) + f"0{0:02b}{7:03b}" + "".join(f"{value:08b}" for value in pixel)
    bits += "0" * (-len(bits) % 8)
    assert brush.decode(int(bits, 2).to_bytes(len(bits) // 8), 2).tolist() == [200, 0]


def test_a_mask_of_true_and_false_is_one_of_255_and_0() -> None:
    mask = np.array([[True, False, True]])
    assert brush.encode(mask) == brush.encode(mask * np.uint8(255))
    assert brush.encode(np.asfortranarray(np.eye(5, dtype=bool))[:, ::-1]) == brush.encode(
        np.eye(5, dtype=np.uint8)[:, ::-1] * np.uint8(255)
    )


GOOD = brush.encode(np.arange(12).reshape(3, 4) % 5 > 2)


@pytest.mark.parametrize(
    ("rle", "pixels", "says"),
    [
        (GOOD, 13, "have 48 values; an image of 13 pixels has 52"),
        (GOOD[:-2], 12, "end before the last pixel"),
        (GOOD[:7], 12, "end before the last pixel"),
        (GOOD[:6], 12, "no 7-byte head"),
        (b"", 12, "no 7-byte head"),
        ([1, 2, 256], 12, "whole numbers from 0 to 255"),
        ([0, 0, -1], 12, "whole numbers from 0 to 255"),
        ([0, 0, 0, 0, 0, 0, 0, "a"], 12, "whole numbers from 0 to 255"),
        (bytes(3) + b"\x30" + b"\xff" + GOOD[5:], 12, "have 32-bit values; expected 8 bits"),
        (bytes(200), 12, "take 200 bytes, more than a mask of 12 pixels can"),
        (GOOD[:7] + b"\xff" * 9, 12, "go beyond the last pixel"),
    ],
)
def test_damaged_runs_are_refused(rle: Any, pixels: int, says: str) -> None:
    with refused(LabelMapError, says):
        brush.decode(rle, pixels)


def maps_of(world: int, seed: int, count: int = 2) -> tuple[fs.nouns.Classes, list[np.ndarray]]:
    name, more, values = WORLDS[world]
    rng = np.random.default_rng(seed)
    return fs.classes.resolve(name, **more), [
        rng.choice(values, rng.integers(1, 12, 2)).astype(np.uint16) for _ in range(count)
    ]


def drawn(maps: list[np.ndarray], names: tuple[str, ...] = NAMES) -> list[DrawnImage]:
    return [
        DrawnImage(n, f"photos/{n}.png", (m.shape[1], m.shape[0]), m)
        for n, m in zip(names, maps, strict=False)
    ]


def put(files: Any) -> None:
    for path, data in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_names_of_classes_may_hold_anything_and_other_void_ids_become_the_first(tmp_path: Path) -> None:
    names = ('say "x"', "it's", "a, b", "<b> & c", "图", "$image")
    classes = fs.nouns.Classes(names, tuple(range(6)), tuple((k, 0, 0) for k in range(6)), (200, 201), 0)
    ids = np.array([[0, 1, 2, 3], [4, 5, 200, 201]])
    put(label_studio.write(tmp_path, drawn([ids]), classes))
    assert label_studio.check(tmp_path / "tasks.json") == []
    (label,) = label_studio.read(tmp_path / "tasks.json", predictions=True)
    assert label.read(classes).tolist() == [[0, 1, 2, 3], [4, 5, 200, 200]]
    assert tasks.read_config(tmp_path / "label_config.xml").controls["label"] == (
        "brushlabels",
        {*names, "void"},
    )


def test_one_result_a_class_and_ids_of_their_own(tmp_path: Path) -> None:
    classes, maps = maps_of(0, 3, 3)
    put(label_studio.write(tmp_path, drawn(maps), classes))
    document = json.loads((tmp_path / "tasks.json").read_bytes())
    results = [result for task in document for result in task["predictions"][0]["result"]]
    assert len({result["id"] for result in results}) == len(results)
    assert len({task["id"] for task in document}) == 3
    for task, ids in zip(document, maps, strict=True):
        labels = [result["value"]["brushlabels"] for result in task["predictions"][0]["result"]]
        assert len(labels) == len(set(np.unique(ids)) - {0})
    assert document[1]["data"]["image"] == "/data/local-files/?d=photos/a%20b/c%20d.png"


def test_many_tasks_are_parted_into_files_that_one_upload_takes(tmp_path: Path) -> None:
    rows = [{"id": k, "data": {"image": "x" * 90}} for k in range(10)]
    files = list(tasks.dumped(rows, tmp_path, "tasks", 300))
    assert [path.name for path, _ in files] == [
        "tasks.json",
        "tasks-2.json",
        "tasks-3.json",
        "tasks-4.json",
        "tasks-5.json",
    ]
    assert [row for _, data in files for row in json.loads(data)] == rows
    assert json.loads(next(tasks.dumped([], tmp_path, "tasks"))[1]) == []


# what Label Studio exports: one task, drawn on by several people, with what else stands in an export


def result(kind: str, value: dict[str, Any], label: str = "horse", **more: Any) -> dict[str, Any]:
    return {
        "original_width": 20,
        "original_height": 10,
        "image_rotation": 0,
        "value": {**value, kind: [label]},
        "id": "Dx_aB91ISN",
        "from_name": "label",
        "to_name": "image",
        "type": kind,
        "origin": "manual",
        **more,
    }


def annotation(*results: Any, by: Any = 7, id_: int = 41, **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "completed_by": by,
        "result": [*results],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-03-09T22:16:08.728353Z",
        "updated_at": "2026-03-09T22:16:08.728378Z",
        "draft_created_at": None,
        "lead_time": 4.288,
        "prediction": {},
        "result_count": 1,
        "unique_id": "c6f7",
        "import_id": None,
        "last_action": None,
        "task": 3,
        "project": 1,
        "updated_by": 1,
        "parent_prediction": None,
        "parent_annotation": None,
        "last_created_by": None,
    } | more


def exported(path: Path, *annotations: Any, data: Any = None, predictions: Any = ()) -> Path:
    data = {"image": "/data/upload/1/0a1b2c3d-street%201.png"} if data is None else data
    task = {
        "id": 3,
        "annotations": [*annotations],
        "file_upload": "0a1b2c3d-street 1.png",
        "drafts": [],
        "predictions": [*predictions],
        "data": data,
        "meta": {},
        "created_at": "2026-03-09T21:52:49.513742Z",
        "updated_at": "2026-03-09T22:16:08.746926Z",
        "inner_id": 1,
        "total_annotations": 1,
        "cancelled_annotations": 0,
        "total_predictions": 0,
        "comment_count": 0,
        "project": 1,
        "updated_by": 1,
    }
    path.write_text(json.dumps([task]))
    return path


VOC = fs.classes.resolve("voc")
HORSE = 13
X, Y = np.meshgrid(np.arange(20) + 0.5, np.arange(10) + 0.5)  # centres of pixels


def read_one(path: Path, *results: Any) -> np.ndarray:
    (label,) = label_studio.read(exported(path, annotation(*results)))
    return label.read(VOC)


def test_an_export_says_image_annotator_and_size(tmp_path: Path) -> None:
    box = result("rectanglelabels", {"x": 0, "y": 0, "width": 50, "height": 100, "rotation": 0})
    (label,) = label_studio.read(exported(tmp_path / "e.json", annotation(box)))
    assert (label.image, label.annotator, label.size, label.drawn) == ("street 1.png", "7", (20, 10), True)
    assert label.where == f"{tmp_path / 'e.json'}, task 3, annotation 41"
    assert (label.read(VOC) == HORSE * (X < 10)).all()
    assert label.read(VOC).dtype == np.uint8


@pytest.mark.parametrize(
    ("by", "name"),
    [
        (7, "7"),
        ({"id": 7, "email": "ann@example.org", "first_name": "", "last_name": ""}, "ann@example.org"),
        ({"id": 7, "email": "", "username": "ann"}, "ann"),
        ({"id": 7}, "7"),
        ({}, ""),
        (None, ""),
        ([], ""),
        ({"email": {"a": 1}}, ""),
    ],
)
def test_who_completed_an_annotation_is_a_number_or_a_person(tmp_path: Path, by: Any, name: str) -> None:
    (label,) = label_studio.read(exported(tmp_path / "e.json", annotation(by=by)))
    assert label.annotator == name


def test_of_one_person_the_latest_counts_that_was_not_skipped(tmp_path: Path) -> None:
    def box(label: str) -> dict[str, Any]:
        return result("rectanglelabels", {"x": 0, "y": 0, "width": 100, "height": 100}, label)

    path = exported(
        tmp_path / "e.json",
        annotation(box("cow"), id_=1, updated_at="2026-03-10"),
        annotation(box("dog"), id_=2, updated_at="2026-03-09"),
        annotation(box("cat"), id_=3, updated_at="2026-03-11", was_cancelled=True),
        annotation(box("sheep"), id_=4, by=8, updated_at="2026-03-01"),
        annotation(box("bird"), id_=5, by=9, was_cancelled=True),
        predictions=[{"id": 1, "model_version": "net", "result": [box("bus")]}],
    )
    assert [(label.annotator, label.read(VOC).max()) for label in label_studio.read(path)] == [
        ("7", 10),
        ("8", 17),
    ]
    assert [
        (label.annotator, label.read(VOC).max()) for label in label_studio.read(path, predictions=True)
    ] == [("net", 6)]


def test_results_are_painted_in_order_and_what_says_something_of_the_whole_is_passed_over(
    tmp_path: Path,
) -> None:
    whole = {
        "value": {"choices": ["good"]},
        "id": "q",
        "from_name": "quality",
        "to_name": "image",
        "type": "choices",
    }
    low = result("rectanglelabels", {"x": 0, "y": 0, "width": 100, "height": 100}, "cow")
    high = result("rectanglelabels", {"x": 50, "y": 0, "width": 50, "height": 100}, "dog")
    relation = {"from_id": "a", "to_id": "b", "type": "relation", "direction": "right"}
    assert read_one(tmp_path / "e.json", whole, low, high, relation)[0].tolist() == [10] * 10 + [12] * 10
    assert read_one(tmp_path / "e.json", high, whole, low)[0].tolist() == [10] * 20


def test_labels_may_stand_beside_a_shape(tmp_path: Path) -> None:
    value = {"x": 0, "y": 0, "width": 50, "height": 50, "rotation": 0}
    shape = {**result("rectangle", value), "value": value, "type": "rectangle", "from_name": "box"}
    label = {**shape, "value": {**value, "labels": ["horse"]}, "type": "labels", "from_name": "label"}
    assert (read_one(tmp_path / "e.json", shape, label) == HORSE * ((X < 10) & (Y < 5))).all()


@given(
    x=st.floats(-20, 110),
    y=st.floats(-20, 110),
    w=st.floats(0, 120),
    h=st.floats(0, 120),
    turn=st.sampled_from([0, 0, 30, 90, 201.5, -45]),
)
@SAME_FOLDER
def test_a_rectangle_holds_the_pixels_whose_centres_lie_in_it(
    tmp_path: Path, x: float, y: float, w: float, h: float, turn: float
) -> None:
    ids = read_one(
        tmp_path / "e.json",
        result("rectanglelabels", {"x": x, "y": y, "width": w, "height": h, "rotation": turn}),
    )
    cosine, sine = (math.cos(math.radians(turn)), math.sin(math.radians(turn))) if turn else (1, 0)
    dx, dy = X - x * 0.2, Y - y * 0.1
    across, down = dx * cosine + dy * sine, dy * cosine - dx * sine
    inside = (across > 0) & (across < w * 0.2) & (down > 0) & (down < h * 0.1)
    edge = np.minimum(abs(across), abs(across - w * 0.2)).clip(0) < 1e-9
    edge |= np.minimum(abs(down), abs(down - h * 0.1)) < 1e-9
    assert ((ids == HORSE) == inside)[~edge].all()


@given(
    x=st.floats(-20, 110),
    y=st.floats(-20, 110),
    a=st.floats(0.1, 80),
    b=st.floats(0.1, 80),
    turn=st.sampled_from([0, 0, 30, 90, -45]),
)
@SAME_FOLDER
def test_an_ellipse_holds_the_pixels_whose_centres_lie_in_it(
    tmp_path: Path, x: float, y: float, a: float, b: float, turn: float
) -> None:
    ids = read_one(
        tmp_path / "e.json",
        result("ellipselabels", {"x": x, "y": y, "radiusX": a, "radiusY": b, "rotation": turn}),
    )
    cosine, sine = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    dx, dy = X - x * 0.2, Y - y * 0.1
    far = ((dx * cosine + dy * sine) / (a * 0.2)) ** 2 + ((dy * cosine - dx * sine) / (b * 0.1)) ** 2
    sure = abs(far - 1) > 1e-9
    assert ((ids == HORSE) == (far <= 1))[sure].all()


def test_a_polygon_is_in_percent_and_may_leave_the_image(tmp_path: Path) -> None:
    points = [[-10, -10], [50, -10], [50, 50], [25, 120], [-10, 50]]
    ids = read_one(tmp_path / "e.json", result("polygonlabels", {"points": points, "closed": True}))
    corners = [(x * 0.2, y * 0.1) for x, y in points]
    for row in range(10):
        for column in range(20):
            x, y, inside = column + 0.5, row + 0.5, False
            for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
                if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
                    inside = not inside
            assert (ids[row, column] == HORSE) == inside


def png(pixels: np.ndarray) -> str:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format="PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def test_a_bitmask_is_where_its_alpha_is_above_0_as_the_editor_draws_it(tmp_path: Path) -> None:
    alpha = np.zeros((10, 20, 4), np.uint8)
    alpha[2, 3, 3], alpha[4, 5, 3], alpha[6, 7, :3] = 255, 1, 255
    ids = read_one(tmp_path / "e.json", result("bitmasklabels", {"imageDataURL": png(alpha)}))
    assert np.argwhere(ids == HORSE).tolist() == [[2, 3], [4, 5]]


def test_a_mask_of_the_brush_is_where_its_alpha_is_above_0(tmp_path: Path) -> None:
    alpha = np.zeros((10, 20), np.uint8)
    alpha[2, 3], alpha[4, 5] = 255, 1
    ids = read_one(
        tmp_path / "e.json", result("brushlabels", {"format": "rle", "rle": list(brush.encode(alpha))})
    )
    assert np.argwhere(ids == HORSE).tolist() == [[2, 3], [4, 5]]


BOX = {"x": 0, "y": 0, "width": 9, "height": 9}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            result("cuboidlabels", {"x": 1, "y": 1, "width": 1}),
            "a result of the type 'cuboidlabels' is not read; use brush, bitmask, polygon",
        ),
        (result("vectorlabels", {"vertices": [], "closed": True}), "type 'vectorlabels' is not read"),
        (result("ellipselabels", {"x": 1, "y": 1, "radiusX": False, "radiusY": 1}), "radiusX must be a"),
        (result("ellipselabels", {"x": 1, "y": 1, "radiusX": -1, "radiusY": 1}), "above 0; got -1 and 1"),
        (
            result("ellipselabels", {"x": 1, "y": 1, "radiusX": 0, "radiusY": float("nan")}),
            "radiusY must be a",
        ),
        (result("rectanglelabels", BOX, "horze"), "'horze' is not a class; .*Did you mean 'horse'"),
        (result("rectanglelabels", BOX) | {"value": BOX}, "has no label"),
        (
            result("rectanglelabels", BOX) | {"value": BOX | {"rectanglelabels": ["cow", "dog"]}},
            "has 2 labels; expected exactly one",
        ),
        (result("rectanglelabels", BOX | {"x": float("nan")}), "x must be a finite number; got nan"),
        (result("rectanglelabels", BOX | {"width": "9"}), "width must be a finite number; got 9"),
        (result("rectanglelabels", BOX | {"height": 10**400}), "height must be a finite number"),
        (result("rectanglelabels", {"x": 0, "y": 0, "width": 9}), "height must be a finite number; got None"),
        (
            result("ellipselabels", {"x": 0, "y": 0, "radiusX": True, "radiusY": 1}),
            "radiusX must be a finite number",
        ),
        (result("polygonlabels", {"points": [[1, 1], [2, 2]]}), "three or more points"),
        (result("polygonlabels", {"points": [[1, 1], [2, 2], [1, 1e9]]}), "three or more points"),
        (
            result("rectanglelabels", BOX, original_width=21),
            "belongs to an image of 21 x 10 pixels, others to one of 20 x 10",
        ),
        (result("rectanglelabels", BOX, image_rotation=90), "was rotated by 90 degrees"),
        (result("brushlabels", {"format": "rle", "rle": "AAA"}), "must be a list of runs `rle`"),
        (
            result("brushlabels", {"format": "rle", "rle": list(GOOD)}),
            "have 48 values; an image of 200 pixels has 800",
        ),
        (result("bitmasklabels", {"imageDataURL": "data:image/png;base64,%%%"}), "not a PNG in base64"),
        (result("bitmasklabels", {"imageDataURL": "data:image/png;base64,AAAA"}), "not a readable image"),
        (result("bitmasklabels", {"imageDataURL": 5}), "must be text `imageDataURL`"),
        (
            result("bitmasklabels", {"imageDataURL": png(np.zeros((10, 20), np.uint8))}),
            "has no transparency and so covers the whole image",
        ),
        (
            result("bitmasklabels", {"imageDataURL": png(np.zeros((9, 20, 4), np.uint8))}),
            "its mask is 20 x 9 pixels, its image 20 x 10",
        ),
        ("text", "has no value"),
        ({"type": "rectanglelabels"}, "has no value"),
    ],
)
def test_what_is_wrong_with_one_image_is_told_by_its_result_and_hinders_no_other(
    tmp_path: Path, wrong: Any, says: str
) -> None:
    good = result("rectanglelabels", {"x": 0, "y": 0, "width": 100, "height": 100})
    path = exported(tmp_path / "e.json", annotation(good, wrong), annotation(good, by=8, id_=42))
    bad, fine = label_studio.read(path)
    with refused(LabellingError, f"task 3, annotation 41, result 1: .*{says}"):
        bad.read(VOC)
    assert (fine.read(VOC) == HORSE).all()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({"image": "/data/local-files/?d=photos/a%20b.png"}, "photos/a b.png"),
        ({"image": "http://host:8080/data/local-files/?d=a%2Fb.png"}, "a/b.png"),
        ({"image": "/data/upload/12/89abcdef-a%20b.png"}, "a b.png"),
        ({"image": "/data/upload/89abcdef-a.png"}, "a.png"),
        ({"image": "s3://bucket/deep/a.png"}, "deep/a.png"),
        ({"image": "https://example.org/x/a%20b.jpg?token=1"}, "x/a b.jpg"),
        ({"text": "street", "img": "b/a.JPG"}, "b/a.JPG"),
        ({"image": "a"}, "a"),
        ({"image": 5, "photo": "http://[bad/a.png"}, "http://[bad/a.png"),
        ({"image": "x.png", "meta": {"image": "the id"}}, "the id"),
        ({"score": 5}, ""),
    ],
)
def test_images_are_called_by_our_id_or_by_the_path_in_their_address(data: dict[str, Any], name: str) -> None:
    assert tasks.image_of(data) == name


def test_only_tasks_with_masks_are_recognised(tmp_path: Path) -> None:
    for name, text, is_ in (
        ("masks", '[{"id": 1, "annotations": [{"result": [{"type": "brushlabels", "value": {"rle": [', True),
        ("new", '\ufeff\n[ {"data": {"image": "a.png"}}]', True),
        ("both", '[{"annotations": [{"type": "choices"}, {"type": "polygonlabels"}]}]', True),
        ("choices", '[{"annotations": [{"result": [{"type": "choices"}]}]}]', False),
        ("classes", '[{"name": "road", "id": 1}]', False),
        ("coco", '{"images": [], "annotations": [], "categories": []}', False),
        ("labelme", '{"shapes": []}', False),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert label_studio.recognise(tmp_path / name) == is_, name
    assert not label_studio.recognise(tmp_path)
    assert not label_studio.recognise(tmp_path / "none")


# the check: each trap is told with its place


def said_of(tmp_path: Path, *results: Any, config: str = "", **more: Any) -> list[str]:
    path = exported(tmp_path / "t.json", annotation(*results), **more)
    (tmp_path / "label_config.xml").write_text(
        config
        or '<View><Image name="image" value="$image"/><BrushLabels name="label" toName="image"><Label value="horse"/></BrushLabels></View>'
    )
    return label_studio.check(path)


MASK = {"format": "rle", "rle": list(brush.encode(np.zeros((10, 20), bool)))}


def test_a_file_that_label_studio_takes_has_nothing_to_be_said_of(tmp_path: Path) -> None:
    assert said_of(tmp_path, result("brushlabels", MASK)) == []


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ([result("brushlabels", MASK, "cow")], "result 0: label_config.xml lacks the label 'cow'"),
        ([result("brushlabels", MASK, from_name="mask")], "has no control named 'mask'"),
        (
            [result("polygonlabels", {"points": []})],
            "has type 'polygonlabels', but 'label' in label_config.xml has type 'brushlabels'",
        ),
        (
            [result("brushlabels", MASK), result("brushlabels", MASK)],
            "result 1: has the id 'Dx_aB91ISN' of result 0",
        ),
        ([result("brushlabels", MASK, original_width=21)], "have 800 values; an image of 210 pixels has 840"),
        ([result("brushlabels", MASK, original_width=None)], "needs original_width and original_height"),
        (
            [result("brushlabels", MASK | {"rle": MASK["rle"][:-2]})],
            "result 0: its runs end before the last pixel",
        ),
        ([result("brushlabels", MASK, id=f"r{k}") for k in range(101)], "task 3: has 101 brush masks"),
        ([5], "result 0: has no value"),
    ],
)
def test_what_label_studio_would_show_wrongly_is_told(tmp_path: Path, results: list[Any], says: str) -> None:
    told = said_of(tmp_path, *results)
    assert [says in sentence for sentence in told] == [True], told


def test_a_label_that_the_configuration_lacks_is_told_once_with_its_number(tmp_path: Path) -> None:
    results = [result("brushlabels", MASK, label) for label in ("cow", "horse", "cow", "dog", "cow")]
    told = [sentence for sentence in said_of(tmp_path, *results) if "lacks" in sentence]
    assert [sentence.partition("label_config.xml ")[2] for sentence in told] == [
        "lacks the label 'cow' (3 times)",
        "lacks the label 'dog'",
    ]


def test_ids_of_tasks_and_annotations_that_are_there_twice_are_told(tmp_path: Path) -> None:
    path = exported(tmp_path / "t.json", annotation(), annotation(by=8))
    (row,) = json.loads(path.read_bytes())
    path.write_text(json.dumps([row, row | {"annotations": []}]))
    assert [sentence.partition(": ")[2] for sentence in label_studio.check(path)] == [
        "has the annotation id 41 of an earlier annotation; import the two separately",
        "has the task id 3 of an earlier task; import the two separately",
    ]


def test_an_opaque_bitmask_and_a_damaged_configuration_are_told(tmp_path: Path) -> None:
    config = '<View><BitmaskLabels name="label" toName="image"><Label value="horse"/></BitmaskLabels></View>'
    (told,) = said_of(
        tmp_path, result("bitmasklabels", {"imageDataURL": png(np.zeros((10, 20), np.uint8))}), config=config
    )
    assert "has no transparency" in told
    (told,) = said_of(tmp_path, config="<View>")
    assert "label_config.xml: is not XML" in told
    for encoding in ("utf-8", "utf-16"):
        text = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE View [<!ENTITY a "b">]><View>&a;</View>'
        (tmp_path / "label_config.xml").write_bytes(text.encode(encoding))
        (told,) = label_studio.check(tmp_path / "t.json")
        assert "has a DOCTYPE" in told


def test_aliases_of_labels_count_in_their_place(tmp_path: Path) -> None:
    (tmp_path / "c.xml").write_text(
        '<View><Labels name="a" toName="i"><Label value="x" alias="y"/><Label value="z"/></Labels><Choices'
        ' name="c" toName="i"><View><Choice value="k"/></View></Choices></View>'
    )
    assert tasks.read_config(tmp_path / "c.xml").controls == {
        "a": ("labels", {"y", "z"}),
        "c": ("choices", {"k"}),
    }
