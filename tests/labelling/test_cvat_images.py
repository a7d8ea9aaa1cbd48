"""CVAT for images: what is written is read back the same, what CVAT exports is read as CVAT draws it, and
what CVAT would refuse is told before it is uploaded.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import LabellingError
from faultscape.formats.label_tools import cvat_images, cvat_shapes
from faultscape.formats.label_tools.tool_labels import DrawnImage, ToolLabel
from faultscape.labelling.catalogue import FORMATS
from faultscape.nouns import Classes
from refusals import refused

ODD = Classes(
    ("a b", 'say "x" & <y>', "naïve 图", "one, two", "it's"),
    (0, 7, 300, 9, 11),
    ((0, 0, 0),) * 5,
    void=(65535, 4),
    background=0,
)


def drawn(name: str, ids: np.ndarray | None, size: tuple[int, int] = (5, 4)) -> DrawnImage:
    return DrawnImage(name, f"images/{name}.jpg", size if ids is None else (ids.shape[1], ids.shape[0]), ids)


def written(folder: Path, images: list[DrawnImage], classes: Classes, *, outlines: bool = False) -> Path:
    for path, data in cvat_images.write(folder, images, classes, outlines=outlines):
        path.write_bytes(data)
    return folder / "annotations.xml"


def test_the_file_has_what_cvat_asks_for(tmp_path: Path) -> None:
    ids = np.array([[0, 7, 7], [7, 0, 0], [0, 0, 65535]])
    root = ET.parse(written(tmp_path, [drawn("d/a", ids)], ODD)).getroot()
    assert root.findtext("version") == "1.1"
    assert [label.findtext("name") for label in root.iterfind("meta/task/labels/label")] == [
        *ODD.names,
        "void",
    ]
    colours = [label.findtext("color") for label in root.iterfind("meta/task/labels/label")]
    # in the order of VOC: the list has black alone
    assert colours == ["#800000", "#008000", "#808000", "#000080", "#800080", "#e0e0c0"]
    assert [image.attrib for image in root.iterfind("image")] == [
        {"id": "0", "name": "d/a.jpg", "width": "3", "height": "3"}
    ]
    first, last = (mask.attrib for mask in root.iterfind("image/mask"))
    common = {"source": "manual", "occluded": "0", "z_order": "0"}
    assert first == common | {
        "label": ODD.names[1],
        "rle": "1, 3, 2",
        "left": "0",
        "top": "0",
        "width": "3",
        "height": "2",
    }
    assert last == common | {
        "label": "void",
        "rle": "0, 1",
        "left": "2",
        "top": "2",
        "width": "1",
        "height": "1",
    }
    assert json.loads((tmp_path / "labels.json").read_bytes())[1] == {
        "name": ODD.names[1],
        "color": "#008000",
        "type": "any",
        "attributes": [],
    }


def runs_one_by_one(mask: np.ndarray) -> list[int]:
    runs, value = [0], 0
    for pixel in mask.reshape(-1).tolist():
        if pixel != value:
            runs, value = [*runs, 0], pixel
        runs[-1] += 1
    return runs


@given(st.integers(0, 10_000))
def test_run_lengths_are_those_of_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = (rng.random(rng.integers(1, 12, 2)) < rng.random()).astype(int)
    runs = runs_one_by_one(mask)
    assert cvat_shapes.runs_of(mask.astype(bool)) == ", ".join(map(str, runs))
    for text in (",".join(map(str, runs)), " ,  ".join(map(str, runs)), ", ".join(map(str, runs))):
        assert (
            cvat_shapes.inside_of(text, mask.shape[1], mask.shape[0], "a").astype(int).tolist()
            == mask.tolist()
        )


def area_of(kind: str, size: tuple[int, int], **said: object) -> np.ndarray:
    area = cvat_shapes.checked(kind, {key: str(value) for key, value in said.items()}, 1, size, "a")
    return cvat_shapes.painted([area], size, 0)


@given(st.integers(0, 10_000))
def test_an_ellipse_covers_the_centres_within_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (x, y), (rx, ry), turn = (
        rng.uniform(-3, 22, 2).round(2),
        rng.uniform(0.1, 14, 2).round(2),
        float(rng.integers(-180, 400)),
    )
    found = area_of("ellipse", (19, 16), cx=x, cy=y, rx=rx, ry=ry, rotation=turn)
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    for row in range(16):
        for column in range(19):
            dx, dy = column + 0.5 - x, row + 0.5 - y
            far = ((dx * cos + dy * sin) / rx) ** 2 + ((dy * cos - dx * sin) / ry) ** 2
            assert abs(far - 1) < 1e-9 or found[row, column] == (far < 1)


@given(st.integers(0, 10_000))
def test_a_box_covers_the_centres_within_it_turned_clockwise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (left, right), (top, bottom), turn = (
        np.sort(rng.uniform(-4, 22, 2)).round(2),
        np.sort(rng.uniform(-4, 22, 2)).round(2),
        float(rng.integers(-90, 90)),
    )
    found = area_of("box", (19, 16), xtl=left, ytl=top, xbr=right, ybr=bottom, rotation=turn)
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    for row in range(16):
        for column in range(19):
            dx, dy = column + 0.5 - (left + right) / 2, row + 0.5 - (top + bottom) / 2
            u, v = (
                abs(dx * cos + dy * sin) - (right - left) / 2,
                abs(dy * cos - dx * sin) - (bottom - top) / 2,
            )
            assert min(abs(u), abs(v)) < 1e-9 or found[row, column] == (u < 0 and v < 0)


def test_a_large_shape_is_found_in_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [
        area_of("ellipse", (40, 30), cx=20, cy=15, rx=18, ry=12),
        area_of("polygon", (40, 30), points="1,1;39,2;20,29"),
    ]
    monkeypatch.setattr(cvat_shapes, "_BAND", 100)
    bands = [
        area_of("ellipse", (40, 30), cx=20, cy=15, rx=18, ry=12),
        area_of("polygon", (40, 30), points="1,1;39,2;20,29"),
    ]
    assert [band.tolist() for band in bands] == [one.tolist() for one in whole]


EXPORTED = """<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta>
    <job>
      <id>7</id>
      <size>3</size>
      <mode>annotation</mode>
      <subset>default</subset>
      <segments><segment><id>7</id><start>0</start><stop>2</stop><url>http://localhost:8080/api/jobs/7</url></segment></segments>
      <owner><username>root</username><email>root@example.org</email></owner>
      <assignee><username>ann</username><email></email></assignee>
      <labels>
        <label><name>road</name><color>#804080</color><type>any</type><attributes></attributes></label>
        <label><name>car</name><color>#0000ff</color><type>any</type><attributes></attributes></label>
        <label><name>sky</name><color>#808080</color><type>any</type><attributes></attributes></label>
      </labels>
    </job>
    <dumped>2026-01-02 03:04:05.678901+00:00</dumped>
  </meta>
  <image id="0" name="a/1.jpg" width="6" height="5">
    <mask label="car" source="semi-auto" occluded="0" rle="1, 2, 1, 2" left="2" top="1" width="3" height="2" z_order="2">
    </mask>
    <polygon label="road" source="manual" occluded="1" points="0.00,2.00;6.00,2.00;6.00,5.00;0.00,5.00" z_order="0">
      <attribute name="wet">true</attribute>
    </polygon>
    <box label="sky" source="manual" occluded="0" xtl="0.00" ytl="0.00" xbr="6.00" ybr="2.00" z_order="1">
    </box>
    <tag label="sky" source="manual">
    </tag>
  </image>
  <image id="1" name="a/2.jpg" width="4" height="1">
  </image>
  <image id="2" name="a/3.jpg" width="4" height="4">
    <ellipse label="car" source="manual" occluded="0" cx="2.00" cy="2.00" rx="2.00" ry="1.00" rotation="90.00" z_order="0">
    </ellipse>
  </image>
</annotations>
"""
ROAD = Classes(("sky", "road", "car"), (1, 2, 3), ((1, 1, 1), (2, 2, 2), (3, 3, 3)), void=(255,))


def read_text(folder: Path, text: str) -> list[ToolLabel]:
    (folder / "a.xml").write_text(text, encoding="utf-8")
    return cvat_images.read(folder / "a.xml")


def test_an_export_of_a_job_is_read_as_cvat_draws_it(tmp_path: Path) -> None:
    first, second, third = read_text(tmp_path, EXPORTED)
    assert [label.image for label in (first, second, third)] == ["a/1.jpg", "a/2.jpg", "a/3.jpg"]
    assert {label.annotator for label in (first, second, third)} == {"ann"}
    assert [label.drawn for label in (first, second, third)] == [True, False, True]
    assert first.where == f"{tmp_path / 'a.xml'}: image 'a/1.jpg'"
    assert first.read(ROAD).tolist() == [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 3, 3, 1],
        [2, 2, 2, 3, 3, 2],
        [2, 2, 2, 2, 2, 2],
        [2, 2, 2, 2, 2, 2],
    ]
    assert second.read(ROAD).tolist() == [[255] * 4]
    assert third.read(ROAD).tolist() == [[255, 3, 3, 255]] * 4
    assert cvat_images.check(tmp_path / "a.xml") == []


def test_the_zip_that_cvat_exports_is_read_as_it_is(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images/a/1.jpg", b"not read")
        archive.writestr("annotations.xml", EXPORTED)
    labels = cvat_images.read(tmp_path / "export.zip")
    plain = read_text(tmp_path, EXPORTED)
    assert [one.image for one in labels] == [one.image for one in plain]
    assert all((one.read(ROAD) == other.read(ROAD)).all() for one, other in zip(labels, plain, strict=True))
    assert cvat_images.check(tmp_path / "export.zip") == []
    assert [
        form.name for form in FORMATS if form.kind == "bundle" and form.recognise(tmp_path / "export.zip")
    ] == ["cvat"]


def image(*shapes: str, size: str = 'width="6" height="5"') -> str:
    return (
        '<annotations><version>1.1</version><meta/><image id="0" name="a.jpg"'
        f" {size}>{''.join(shapes)}</image></annotations>"
    )


BOX = '<box label="{}" xtl="0" ytl="0" xbr="{}" ybr="5" z_order="{}"/>'


def test_shapes_lie_by_z_order_and_then_as_the_file_has_them(tmp_path: Path) -> None:
    (label,) = read_text(
        tmp_path,
        image(
            BOX.format("car", 2, 5),
            BOX.format("road", 4, -1),
            BOX.format("sky", 3, -1),
            BOX.format("road", 1, 5),
        ),
    )
    assert label.read(ROAD)[0].tolist() == [2, 3, 1, 2, 255, 255]


@pytest.mark.parametrize("radius", ["-1", "9e9", "nan", ""])
def test_a_shape_of_damaged_numbers_is_refused_and_the_other_images_are_read(
    tmp_path: Path, radius: str
) -> None:
    ellipse = f'<ellipse label="car" cx="1" cy="1" rx="{radius}" ry="1" z_order="0"/>'
    wrong, *others = read_text(tmp_path, EXPORTED.replace("</image>", f"{ellipse}</image>", 1))
    with refused(LabellingError, r"a\.xml: image 'a/1\.jpg', shape 4: .* (finite number|above 0); got"):
        wrong.read(ROAD)
    assert [label.read(ROAD).shape for label in others] == [(1, 4), (4, 4)]


def test_of_a_project_each_task_has_its_annotator_and_an_owner_is_none(tmp_path: Path) -> None:
    task = "<task><id>{}</id><owner><username>boss</username></owner><assignee>{}</assignee></task>"
    tasks = (
        task.format(3, "<username>ann</username>")
        + task.format(4, "")
        + task.format(5, "<username>图</username>")
    )
    images = "".join(
        f'<image id="0" name="{k}.jpg" subset="default" task_id="{k}" width="1" height="1"/>'
        for k in (3, 4, 5)
    )
    labels = read_text(
        tmp_path,
        f"<annotations><version>1.1</version><meta><project><id>1</id><owner><username>boss</username></owner><tasks>{tasks}</tasks></project></meta>{images}</annotations>",
    )
    assert [label.annotator for label in labels] == ["ann", "", "图"]
    assert cvat_images.check(tmp_path / "a.xml") == [
        f"{tmp_path / 'a.xml'}: names no labels in meta; the task must have the labels of its shapes"
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_every_encoding_that_xml_declares_is_read(tmp_path: Path, encoding: str) -> None:
    text = EXPORTED.replace('encoding="utf-8"', f'encoding="{encoding.removesuffix("-sig")}"').replace(
        "a/2.jpg", "naïve.jpg"
    )
    (tmp_path / "a.xml").write_bytes(text.encode(encoding))
    assert cvat_images.recognise(tmp_path / "a.xml")
    assert [label.image for label in cvat_images.read(tmp_path / "a.xml")] == [
        "a/1.jpg",
        "naïve.jpg",
        "a/3.jpg",
    ]


def zipped(name: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(name, b"")
    return held.getvalue()


def test_other_files_are_not_taken_for_cvat(tmp_path: Path) -> None:
    for name, data in {
        "a": b"",
        "b": b"\x00\xff",
        "c": b"<annotation><folder/></annotation>",
        "d": b'{"a": "<annotations><version>"}',
        "e": b"PK\x03\x04 and no more",
        "f": zipped("labelmap.txt"),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert not cvat_images.recognise(tmp_path / name)
    assert not cvat_images.recognise(tmp_path)
    assert not cvat_images.recognise(tmp_path / "missing")


MASK = '<mask label="{}" rle="{}" left="{}" top="0" width="2" height="2" z_order="0"/>'
LABELS = "<meta><task><labels><label><name>car</name></label></labels></task></meta>"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            image(MASK.format("car", "1, 2", 0)),
            r"shape 0: its run lengths add up to 3 pixels, but its box of 2 x 2 has 4",
        ),
        (image(MASK.format("car", "1, x", 0)), r"shape 0: its rle must be a list of run lengths.*got '1, x'"),
        (
            image(MASK.format("car", "0, 4", 5)),
            r"shape 0: extends beyond the image: columns 5 to 6 and rows 0 to 1 of 6 x 5 pixels",
        ),
        (image(MASK.format("car", "4", 0)), r"shape 0: a mask that covers no pixels"),
        (
            image(MASK.format("car", "0, 4", 0), MASK.format("road", "0, 4", 1)),
            r"shapes 0 \('car'\) and 1 \('road'\) overlap and have the same z_order, 0",
        ),
        (
            image(MASK.format("car", "0, 4", 0), MASK.format("road", "0, 4", 4)).replace("<meta/>", LABELS),
            r"shape 1: its label 'road' is not among the labels of meta",
        ),
        (
            image('<polygon label="car" points="1,1;2,2" z_order="0"/>'),
            r"shape 0: a polygon needs three or more points",
        ),
        (image('<box xtl="0" ytl="0" xbr="6" ybr="2"/>'), "shape 0: has no label"),
        (image(size='width="6"'), r"image 'a\.jpg': its width and height must be valid whole numbers"),
        (EXPORTED.replace("a/2.jpg", "a/1.jpg"), r"image 'a/1\.jpg' is listed twice"),
        (
            EXPORTED.replace("a/2.jpg", "a/1.png"),
            r"image 'a/1\.png' has the same name as 'a/1\.jpg' except for the extension, which CVAT ignores",
        ),
        (EXPORTED.replace('id="1"', 'id="0"'), r"image 'a/2\.jpg' has the id '0' of 'a/1\.jpg'"),
        ("<annotations><track/></annotations>", "is CVAT for video"),
    ],
)
def test_what_cvat_would_refuse_or_show_wrongly_is_told(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "a.xml").write_text(text, encoding="utf-8")
    (found,) = [line for line in cvat_images.check(tmp_path / "a.xml") if "names no labels" not in line]
    assert re.search(says, found)
    assert found.isprintable()


def test_a_label_that_meta_lacks_is_told_once_with_its_number(tmp_path: Path) -> None:
    shapes = [MASK.format("road", "0, 4", z) for z in range(3)] + [MASK.format("car", "0, 4", 9)]
    text = image(*shapes).replace("<meta/>", LABELS)
    (tmp_path / "a.xml").write_text(text, encoding="utf-8")
    (found,) = [line for line in cvat_images.check(tmp_path / "a.xml") if " of meta" in line]
    assert found.endswith("shape 0: its label 'road' is not among the labels of meta (3 times)")


def test_overlaps_on_layers_of_their_own_and_of_one_label_are_fine(tmp_path: Path) -> None:
    for shapes in (
        (BOX.format("car", 4, 0), BOX.format("road", 2, 1)),
        (BOX.format("car", 4, 0), BOX.format("car", 2, 0)),
    ):
        (tmp_path / "a.xml").write_text(
            image(*shapes).replace(
                "<meta/>", LABELS.replace("</labels>", "<label><name>road</name></label></labels>")
            )
        )
        assert cvat_images.check(tmp_path / "a.xml") == []


def test_what_does_not_fit_does_not_go_out(tmp_path: Path) -> None:
    ids = np.zeros((4, 5), np.uint16)
    for wrong, says in (
        (drawn("a\x01", ids), r"image 'a\\x01': its name has characters that XML does not allow"),
        (drawn("a\udcff", ids), r"image 'a\\udcff': its name has characters that XML does not allow"),
    ):
        with refused(LabellingError, says):
            written(tmp_path, [wrong], ODD)
