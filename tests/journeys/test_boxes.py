"""Boxes instead of masks: `label import --boxes` and `measure --boxes`, on boxes made of true maps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import LabellingError, OptionError, StudyError
from faultscape.maps.boxes import boxes_of_mask
from faultscape.reading.boxes.evidence import boxes_of
from faultscape.reading.study import Study
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.measure.signature import Measured
from refusals import refused

THINGS = ("car", "person")
BOXES = fs.options.StudyPart(boxes=True)


@pytest.fixture
def study(unlabelled: tuple[str, made.Corpus]) -> str:
    return unlabelled[0]


@pytest.fixture
def file(unlabelled: tuple[str, made.Corpus], tmp_path: Path) -> Path:
    """Boxes of two classes, as COCO has them."""
    corpus = unlabelled[1]
    images, annotations = [], []
    for k, (id_, truth) in enumerate(zip(corpus.ids, corpus.truths, strict=True)):
        images.append({"id": k, "file_name": f"{id_}.png", "width": truth.shape[1], "height": truth.shape[0]})
        for name in THINGS:
            for left, top, right, bottom, _ in boxes_of_mask(truth == made.NAMES.index(name)):
                box = [left, top, right - left, bottom - top]
                annotations.append({"image_id": k, "category_id": name, "bbox": box})
    categories = [{"id": name, "name": name} for name in THINGS]
    path = tmp_path / "boxes.json"
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    return path


def bounds(found: Measured, metric: str) -> dict[tuple[str, str | None, str | None], tuple[float, float]]:
    rows = found.to_arrow().to_pylist()
    return {
        (row["model"], row["second"], row["class"]): (row["low"], row["high"])
        for row in rows
        if row["metric"] == metric
    }


def test_bounds_hold_what_masks_measure(
    study: str, file: Path, unlabelled: tuple[str, made.Corpus], capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = unlabelled[1]
    assert main(["label", "import", study, str(file), "--boxes"]) == 0
    said = capsys.readouterr().out
    assert f"next: faultscape measure {study} --boxes" in said
    assert main(["measure", study, "--boxes"]) == 0
    said = capsys.readouterr().out
    assert "mIoU from boxes" in said
    assert "they settle" in said
    found = fs.measure(study, part=BOXES)
    assert found == fs.load(_saved(found, file.parent))
    truth = corpus.truths
    for metric in ("precision", "recall", "iou"):
        ends = bounds(found, metric)
        value = dict[tuple[str, str], float]()
        for model, maps in corpus.maps.items():
            for name in THINGS:
                said_, there = maps == made.NAMES.index(name), truth == made.NAMES.index(name)
                both, either = (said_ & there).sum(), (said_ | there).sum()
                of = {"precision": said_.sum(), "recall": there.sum(), "iou": either}[metric]
                value[model, name] = float(both / of)
                low, high = ends[model, None, name]
                assert low - 1e-9 <= value[model, name] <= high + 1e-9
        for name in THINGS:
            low, high = ends["model-0", "model-2", name]
            gap = value["model-0", name] - value["model-2", name]
            assert low - 1e-9 <= gap <= high + 1e-9
    document = json.loads((Path(found.path) / "boxes.json").read_text())
    assert document["units"] == {"drawn": "images", "count": 10}
    assert all(row["interval_low"] <= row["low"] for row in document["bounds"] if row["low"] is not None)


def _saved(found: Measured, folder: Path) -> Path:
    found.save(folder / "found.json")
    return folder / "found.json"


def test_status_knows_when_bounds_are_stale(study: str, file: Path, tmp_path: Path) -> None:
    fs.label.import_(study, str(file), boxes=True)
    assert ("measure", "missing", "from boxes of truth labels") in fs.status(study).stages
    fs.measure(study, part=BOXES)
    assert ("measure", "done", "from boxes of truth labels") in fs.status(study).stages
    again = fs.label.import_(study, str(file), boxes=True)
    assert "0 new" in repr(again)
    assert made.states(study)["measure"] == "done"
    table = tmp_path / "discard.csv"
    table.write_text("image,reason\npart0/photo 000,dark\n")
    fs.label.import_(study, str(table))
    assert made.states(study)["measure"] == "stale"
    assert "10 images" in repr(again)
    assert "9 images" in repr(fs.measure(study, part=BOXES))


def test_boxes_are_taken_back_and_travel_as_lines(study: str, file: Path, tmp_path: Path) -> None:
    fs.label.import_(study, str(file), boxes=True)
    before = boxes_of(Study(study), "labels")
    fs.label.answers(study, str(tmp_path / "all.jsonl"))
    fs.label.remove(study, "part0/*")
    assert len(boxes_of(Study(study), "labels")) == 5
    fs.label.import_(study, str(file), boxes=True)
    assert boxes_of(Study(study), "labels") == before
    fs.label.remove(study, all_=True)
    with refused(StudyError, "there are no boxes yet; import some with `faultscape label import .* --boxes`"):
        fs.measure(study, part=BOXES)
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert {line["kind"] for line in lines} == {"boxes"}
    later = "".join(json.dumps(line | {"time": 0}) + "\n" for line in lines)
    (tmp_path / "again.jsonl").write_text(later + json.dumps(lines[0] | {"said": "[]"}) + "\n")
    taken = fs.label.import_(study, str(tmp_path / "again.jsonl"))
    assert "its boxes are not as `label answers` writes them" in repr(taken)
    assert boxes_of(Study(study), "labels") == before


def test_boxes_follow_renamed_classes(study: str, file: Path, unlabelled: tuple[str, made.Corpus]) -> None:
    fs.label.import_(study, str(file), boxes=True)
    fs.measure(study, part=BOXES)
    classes = json.loads(unlabelled[1].classes.read_text())
    for entry in classes["classes"]:
        entry["name"] = {"car": "vehicle"}.get(entry["name"], entry["name"])
    classes["parents"] = {}
    other = Path(study).parent / "classes.json"
    other.write_text(json.dumps(classes))
    assert main(["collect", study, "--classes", str(other)]) == 0
    of = boxes_of(Study(study), "labels")
    assert {name for boxed in of.values() for name in boxed} == {"person", "vehicle"}


def test_two_people_leave_open_what_either_does(study: str, tmp_path: Path) -> None:
    text = """<annotations><version>1.1</version><meta><job><assignee><username>{}</username></assignee>
    </job></meta><image id="0" name="part0/photo 000.png" width="48" height="36"><box label="car" xtl="1"
    ytl="1" xbr="{}" ybr="9"></box><box label="car" xtl="20" ytl="1" xbr="30" ybr="9"></box></image></annotations>"""
    for who, right in (("ann", 9), ("ben", 10)):
        path = tmp_path / f"{who}.xml"
        path.write_text(text.format(who, right))
        fs.label.import_(study, str(path), boxes=True)
    (of,) = boxes_of(Study(study), "labels").values()
    assert [(box.right, box.whole) for box in of["car"]] == [(9, False), (10, False), (30, True)]
    with refused(LabellingError, "nothing to take back: none of .* has such a label or answer"):
        fs.label.remove(study, all_=True, class_=["car"])
    gone = fs.label.remove(study, all_=True, by=["ben"])
    assert gone.done == "boxes of 1 image removed from truth 'labels'"
    (of,) = boxes_of(Study(study), "labels").values()
    assert [(box.right, box.whole) for box in of["car"]] == [(9, True), (30, True)]


def test_voc_files_of_a_folder(study: str, tmp_path: Path) -> None:
    voc = """<annotation><filename>{}.png</filename><size><width>48</width><height>36</height></size>{}
    </annotation>"""
    car = "<object><name>car</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>4</ymax></bndbox></object>"
    folder = tmp_path / "voc" / "Annotations" / "part0"
    folder.mkdir(parents=True)
    (folder / "a.xml").write_text(voc.format("photo 000", car))
    (folder / "b.xml").write_text(voc.format("photo 002", ""))
    (folder / "c.xml").write_text(voc.format("photo 004", car.replace(">5<", ">99<")))
    with refused(LabellingError, "holds boxes of PASCAL VOC, not masks; add --boxes"):
        fs.label.import_(study, str(folder / "a.xml"))
    found = fs.label.import_(study, str(tmp_path / "voc"), boxes=True)
    assert "1 box in 2 images, 2 new; boxed: car" in repr(found)
    assert boxes_of(Study(study), "labels")["part0/photo 002"] == {"car": []}
    (failure,) = read_failures(Path(study))
    assert failure.image == "part0/photo 004"
    assert "lies outside of its image of 48 x 36: columns 0 to 99" in failure.reason


def test_files_about_one_image_are_joined_or_refused(
    study: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.loads(file.read_text())
    folder = tmp_path / "two"
    folder.mkdir()

    def write(path: Path, name: str, images: list[object]) -> str:
        mine = [one for one in whole["annotations"] if one["category_id"] == name]
        rows = {"images": images, "annotations": [], "categories": [{"id": name, "name": name}]}
        kept = {one["id"] for one in rows["images"]}
        path.write_text(json.dumps(rows | {"annotations": [one for one in mine if one["image_id"] in kept]}))
        return str(path)

    def held() -> list[list[str]]:
        return sorted(sorted(of) for of in boxes_of(Study(study), "labels").values())

    first = write(folder / "a.json", "car", whole["images"][:3])
    second = write(folder / "b.json", "person", whole["images"][2:5])
    fs.label.import_(study, str(folder), boxes=True)
    assert held() == [["car"]] * 2 + [["car", "person"]] + [["person"]] * 2
    fs.label.import_(study, second, boxes=True)
    assert "1 image loses its earlier boxes of car, since the latest" in capsys.readouterr().out
    assert held() == [["car"]] * 2 + [["person"]] * 3
    write(folder / "b.json", "car", [*whole["images"][2:5]])
    extra = json.loads(Path(first).read_text())
    extra["annotations"].append({"image_id": 2, "category_id": "car", "bbox": [1, 1, 2, 3]})
    Path(first).write_text(json.dumps(extra))
    fs.label.import_(study, str(folder), boxes=True)
    (failure,) = read_failures(Path(study))
    assert "b.json: images[0]: contradicts" in failure.reason
    assert "a.json: images[2] about car in this image; give all" in failure.reason


def test_what_is_no_box_is_refused_in_one_line(study: str, file: Path, tmp_path: Path) -> None:
    with refused(LabellingError, "no file of boxes is there; expected one of CVAT"):
        fs.label.import_(study, str(tmp_path), boxes=True) if file.unlink() is None else None
    (tmp_path / "a.json").write_text(
        '{"images": [{"id": 1, "file_name": "x.png", "width": 1, "height": 1}], "annotations": [],'
        ' "categories": [{"id": 1, "name": "cars"}]}'
    )
    with refused(LabellingError, "no name in it is a class of the study: cars; .*Did you mean 'car'"):
        fs.label.import_(study, str(tmp_path / "a.json"), boxes=True)
    (tmp_path / "b.json").write_text("")
    with refused(LabellingError, "b.json: is not JSON: Expecting value"):
        fs.label.import_(study, str(tmp_path / "b.json"), boxes=True)
    (tmp_path / "photo 000.xml").write_text("<annotation></annotation>")
    with refused(LabellingError, "photo 000.xml: no image in it has a box, and nothing in it says which"):
        fs.label.import_(study, str(tmp_path / "photo 000.xml"), boxes=True)
    with refused(OptionError, "--labels applies to masks"):
        fs.label.import_(study, str(tmp_path / "a.json"), boxes=True, labels="255=void")
    with refused(OptionError, "--metric does not apply to boxes"):
        fs.measure(study, part=BOXES, metric=["cldice"])
    with refused(OptionError, "--boxes measures a study"):
        fs.measure(str(tmp_path), part=BOXES)


def test_truths_with_and_without_boxes(study: str, file: Path) -> None:
    fs.label.import_(study, str(file), boxes=True, truth="fast")
    found = fs.measure(study, part=BOXES)
    assert found.path.endswith("measures-boxes/fast")
    fs.label.import_(study, str(file), boxes=True, truth="slow")
    with refused(StudyError, "truth 'labels' has no boxes; choose another with --truth: fast, slow"):
        fs.measure(study, part=BOXES)
    assert np.isfinite(
        bounds(fs.measure(study, part=BOXES, truth="slow"), "iou")["model-0", None, None]
    ).all()
