"""Points go out to Label Studio and CVAT and come back: what people answer there is what they would have
written into the table.

Exports of Label Studio are written as its server of version 1.23.2 writes them.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.errors import LabellingError, OptionError
from faultscape.formats.label_tools import label_studio
from faultscape.reading.study import Study
from faultscape.study.tables.logs import read_failures
from made_point_study import answer_all, compared, draw_points, lines, pointed, points_of, put_lines
from refusals import refused

WORDS = ("car", "sky", "void", "cannot tell", "road|car", "", "tree")  # one after the other


@pytest.fixture
def made_once(tmp_path: Path) -> tuple[str, made.Corpus]:
    return pointed(tmp_path / "a study")


@pytest.fixture
def study(made_once: tuple[str, made.Corpus]) -> str:
    return made_once[0]


def said(number: int) -> str:
    return WORDS[number % len(WORDS)]


def answers(study: str, truth: str = "labels") -> set[tuple[str, int, int, str, str]]:
    held = Study(study).point_answers.answers(truth)
    return {(one.image, one.row, one.column, one.answer, one.annotator) for one in held}


def failures(study: str) -> list[tuple[str, str]]:
    return [(one.image, one.reason) for one in read_failures(Path(study)) if one.stage == "label"]


def answered_table(study: str, folder: Path, who: str) -> set[tuple[str, int, int, str, str]]:
    """Answer a table in a copy of a study, and return what the copy then holds."""
    copy = str(shutil.copytree(study, folder / "copy"))
    fs.label.export(copy, str(folder / "table"), selection="points")
    table = folder / "table" / "points.csv"
    rows = lines(table)
    put_lines(table, [row | {"answer": said(k), "annotator": who} for k, row in enumerate(rows)])
    fs.label.import_(copy, str(table))
    return answers(copy)


def chosen(name: str, word: str) -> dict[str, Any]:
    about = {"from_name": name, "to_name": "crop", "type": "choices", "origin": "manual", "id": name}
    return about | {"value": {"choices": [word]}}


def results(answer: str) -> list[dict[str, Any]]:
    first, _, other = answer.partition("|")
    return [chosen(name, word) for name, word in (("answer", first), ("border", other)) if word]


def exported_json(tasks: list[dict[str, Any]], to: Path) -> Path:
    """Write tasks with their answers as Label Studio's JSON."""
    for k, task in enumerate(tasks):
        found = results(said(k))
        done = {"id": k + 1, "completed_by": 7, "result": found, "was_cancelled": False, "lead_time": 2.5}
        done["updated_at"] = f"2026-11-29T08:{k // 60:02}:{k % 60:02}.590994Z"
        task["annotations"] = [done] if found else []
        task |= {"drafts": [], "predictions": [], "inner_id": k + 1, "meta": {}}
    to.write_text(json.dumps(tasks))
    return to


def rows_of(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for k, task in enumerate(tasks):
        words = {one["from_name"]: one["value"]["choices"][0] for one in results(said(k))}
        who = {"annotator": 7 if words else None, "annotation_id": k + 1 if words else None}
        times = dict.fromkeys(("created_at", "updated_at", "lead_time"))
        rows.append({**task["data"], "id": task["id"], **words, **who, **times})
    return rows


def exported_rows(tasks: list[dict[str, Any]], to: Path) -> Path:
    """Write tasks with their answers as Label Studio's JSON-MIN."""
    to.write_text(json.dumps(rows_of(tasks), indent=2))
    return to


def exported_table(tasks: list[dict[str, Any]], to: Path) -> Path:
    """Write tasks with their answers as Label Studio's CSV or TSV: all columns sorted, lists as JSON."""
    rows = [
        {key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()}
        for row in rows_of(tasks)
    ]
    names = sorted({name for row in rows for name in row})
    with to.open("w", newline="") as file:
        mark = "\t" if to.suffix == ".tsv" else ","
        table = csv.DictWriter(file, names, quoting=csv.QUOTE_NONNUMERIC, delimiter=mark)
        table.writeheader()
        table.writerows(rows)
    return to


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("export.json", exported_json),
        ("min.json", exported_rows),
        ("export.csv", exported_table),
        ("export.tsv", exported_table),
    ],
)
def test_every_export_of_label_studio_says_what_the_table_says(
    study: str, tmp_path: Path, name: str, write: Callable[[list[dict[str, Any]], Path], Path]
) -> None:
    out = tmp_path / "out"
    told = repr(fs.label.export(study, str(out), selection="points", format="label-studio"))
    assert "import tasks.json, and answer" in told
    tasks = json.loads((out / "tasks.json").read_text())
    assert len(tasks) == len({(p.image, p.row, p.column) for p in points_of(study)})
    expected = answered_table(study, tmp_path, "7")
    found = fs.label.import_(study, str(write(tasks, out / name)))
    assert (found.new, found.failures) == (len(expected), 0)
    assert answers(study) == expected
    # the files that were exported have no answers, and the folder says the same once more
    assert fs.label.import_(study, str(out / name)).new == 0


def test_the_classes_that_models_predict_come_first_in_an_order_that_tells_nothing(
    study: str, tmp_path: Path
) -> None:
    fs.label.export(study, str(tmp_path / "out"), selection="points", format="label-studio")
    held = Study(study)
    maps = [held.maps(model) for model in held.models]
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text())
    first_of_two = []
    keys: dict[str, set[str]] = {}
    for task in tasks:
        data = task["data"]
        options = [one["value"] for one in data["options"]]
        assert sorted(options) == sorted([*made.NAMES, "void", "cannot tell"])
        assert options[-2:] == ["void", "cannot tell"]
        predicted = {made.NAMES[of[data["image"]][data["row"], data["column"]]] for of in maps}
        assert set(options[: len(predicted)]) == predicted
        rest = options[len(predicted) : -2]
        assert rest == [name for name in made.NAMES if name in rest]
        if len(predicted) == 2:
            first_of_two.append(options[0] == made.NAMES[maps[0][data["image"]][data["row"], data["column"]]])
        for one in data["options"]:
            keys.setdefault(one["value"], set()).add(one["hotkey"])
        assert (tmp_path / "out" / data["crop"].partition("?d=")[2]).is_file()
        assert "model" not in json.dumps(task)
    assert 0.3 < sum(first_of_two) / len(first_of_two) < 0.7
    assert all(len(own) == 1 for own in keys.values())  # a class has one key in all tasks
    assert len(set.union(*keys.values())) == len(keys)
    assert set.union(*keys.values()).isdisjoint("huv")  # Label Studio takes them for itself
    config = ET.fromstring((tmp_path / "out" / "label_config.xml").read_text())
    lists = {one.get("name"): one for one in config.iter("Choices")}
    assert lists["answer"].get("value") == "$options"
    assert [one.get("value") for one in lists["border"].iter("Choice")] == list(made.NAMES)


def test_answers_of_label_studio_that_mean_nothing_are_told_and_the_others_count(
    study: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    fs.label.export(study, str(out), selection="points", format="label-studio")
    tasks = json.loads((out / "tasks.json").read_text())[:8]
    done = [
        [chosen("answer", "car"), chosen("answer", "sky")],
        [chosen("border", "sky")],
        [chosen("answer", "caar")],
        [chosen("answer", "void"), chosen("border", "sky")],
        [chosen("answer", "car"), chosen("border", "car")],
        [chosen("answer", "car")],
        [chosen("answer", "car")],
        [chosen("answer", "car")],
    ]
    for task, found in zip(tasks, done, strict=True):
        task["annotations"] = [{"completed_by": {"id": 3, "email": "ann@example.org"}, "result": found}]
    tasks[5]["annotations"][0]["was_cancelled"] = True
    tasks[6]["data"]["row"] = "7"
    tasks[7]["annotations"].append({"completed_by": {"id": 4}, "result": [chosen("answer", "sky")]})
    (out / "export.json").write_text(json.dumps(tasks))
    found = fs.label.import_(study, str(out / "export.json"))
    assert (found.new, found.failures) == (3, 5)
    assert {(answer, who) for *_, answer, who in answers(study)} == {
        ("car", "ann@example.org"),  # twice: a class on its own border is the class
        ("sky", "4"),
    }
    told = [reason for _, reason in failures(study)]
    for number, words in enumerate(
        ("chooses 'car' and 'sky' at once", "names only 'sky'", "Did you mean 'car'", "'void|sky'"), 1
    ):
        assert any(one.startswith(f"export.json, task {number}: ") and words in one for one in told), (
            "\n".join(told)
        )
    assert any("task 7: its data has no image, row and column" in one for one in told)


def drawn_in_cvat(folder: Path, change: Callable[[int, ET.Element], None], who: str = "") -> Path:
    """Write what CVAT exports once people changed the points of annotations.xml, each with its number."""
    tree = ET.parse(folder / "annotations.xml")
    if who:
        assignee = ET.SubElement(tree.getroot().find("meta/task"), "assignee")
        ET.SubElement(assignee, "username").text = who
    for k, point in enumerate(tree.getroot().iter("points")):
        change(k, point)
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.writestr("annotations.xml", ET.tostring(tree.getroot()))
    return folder / "export.zip"


def label(point: ET.Element, answer: str) -> None:
    """Change the label of a point, as people do; on a border they fill in its text, too."""
    first, _, other = answer.partition("|")
    if first:
        point.set("label", first)
        if first not in ("void", "cannot tell"):
            ET.SubElement(point, "attribute", {"name": "border with"}).text = other


def test_people_change_the_labels_of_points_in_cvat(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = repr(fs.label.export(study, str(out), selection="points", format="cvat"))
    assert "change the label unanswered of each point" in " ".join(told.split())
    root = ET.parse(out / "annotations.xml").getroot()
    drawn = list(dict.fromkeys((p.image, p.row, p.column) for p in points_of(study)))
    places = {
        (
            image.get("name").removesuffix(".png"),
            *reversed([float(x) - 0.5 for x in point.get("points").split(",")]),
        )
        for image in root.iter("image")
        for point in image.iter("points")
    }
    assert places == {(image, float(row), float(column)) for image, row, column in drawn}
    assert {point.get("label") for point in root.iter("points")} == {"unanswered"}
    labels = json.loads((out / "labels.json").read_text())
    names = [*made.NAMES, "void", "cannot tell", "unanswered"]
    assert [one["name"] for one in labels] == names
    assert [one.text for one in root.iter("name")] == names
    assert {one["type"] for one in labels} == {"points"}
    assert len({one["color"] for one in labels}) == len(labels)
    for image in {image for image, *_ in drawn}:
        with Image.open(out / "images" / f"{image}.png") as picture:
            assert picture.size == (48, 36)
    assert fs.label.check(str(out)).problems == ()

    # answers in the order of the file, which holds the points image by image
    in_file = [
        (
            image.get("name").removesuffix(".png"),
            *(int(float(x)) for x in reversed(point.get("points").split(","))),
        )
        for image in root.iter("image")
        for point in image.iter("points")
    ]
    export = drawn_in_cvat(out, lambda k, point: label(point, said(k)), "ann")
    found = fs.label.import_(study, str(export))
    expected = {(*pixel, said(k), "ann") for k, pixel in enumerate(in_file) if said(k)}
    assert (found.new, found.failures) == (len(expected), 0)
    assert answers(study) == expected
    assert fs.label.import_(study, str(export)).new == 0


def test_points_that_were_moved_in_cvat_are_refused_by_name(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fs.label.export(study, str(out), selection="points", format="cvat")

    def change(k: int, point: ET.Element) -> None:
        x, y = (float(text) for text in point.get("points").split(","))
        if k == 0:  # by a hand that is not quite calm
            point.set("points", f"{x + 0.6:.2f},{y - 0.4:.2f}")
        if k == 1:
            point.set("points", f"{x + 300:.2f},{y:.2f}")
        if k == 2:
            point.set("points", f"{(x + 24) % 48:.2f},{(y + 18) % 36:.2f}")
        if k == 3:
            point.tag = "polygon"
            point.set("points", "1,1;5,1;5,5")
        if k < 5:
            point.set("label", "car")
        if k == 5:
            del point.attrib["label"]

    found = fs.label.import_(study, str(drawn_in_cvat(out, change)))
    assert (found.new, found.failures) == (2, 4)
    told = [reason for _, reason in failures(study)]
    for number, words in {
        2: "lies outside of",
        3: r"was moved: the nearest drawn one, row \d+, column \d+, is [\d.]+ pixels away; put it back",
        4: "a polygon is not a point",
        6: "a point has no label",
    }.items():
        assert any(re.search(f"^export.zip, shape {number}: .*{words}", one) for one in told), (number, told)


def test_cvat_may_name_images_otherwise_and_must_have_them_in_their_size(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fs.label.export(study, str(out), selection="points", format="cvat")
    text = (out / "annotations.xml").read_text().replace('label="unanswered"', 'label="car"')
    deeper = tmp_path / "deeper.xml"
    deeper.write_text(text.replace('<image id="0" name="', '<image id="0" name="images/'))
    number = len({(p.image, p.row, p.column) for p in points_of(study)})
    assert fs.label.import_(study, str(deeper)).new == number
    small = tmp_path / "small.xml"
    small.write_text(text.replace('width="48" height="36"', 'width="24" height="18"'))
    with refused(LabellingError, "is 24 x 18 pixels, its image 48 x 36; both must have the same size"):
        fs.label.import_(study, str(small), truth="small")
    assert answers(study, "small") == set()


def test_a_file_with_areas_is_one_of_masks_except_where_its_task_asks_about_points(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    point = points_of(study)[0]
    shapes = (
        '<polygon label="sky" points="0,0;48,0;48,36;0,36"/>'
        f'<points label="car" points="{point.column + 0.5},{point.row + 0.5}"/>'
    )
    image = f'<image id="0" name="{point.image}.png" width="48" height="36">{shapes}</image>'
    masks = tmp_path / "masks.xml"
    masks.write_text(f"<annotations><version>1.1</version>{image}</annotations>")
    assert (fs.label.import_(study, str(masks), truth="drawn").new, answers(study, "drawn")) == (1, set())
    assert "without an area" in capsys.readouterr().out
    asked = "<meta><task><labels><label><name>unanswered</name></label></labels></task></meta>"
    points = tmp_path / "points.xml"
    points.write_text(masks.read_text().replace("<image", f"{asked}<image", 1))
    found = fs.label.import_(study, str(points), truth="asked")
    assert (found.new, found.failures) == (1, 1)
    assert {row[:4] for row in answers(study, "asked")} == {(point.image, point.row, point.column, "car")}
    assert "asked" not in Study(study).label_folders  # the polygon is no mask


@pytest.mark.slow
def test_files_with_answers_are_never_overwritten(study: str, tmp_path: Path) -> None:
    for name, file in (("cvat", "annotations.xml"), ("label-studio", "tasks.json")):
        out = tmp_path / name
        fs.label.export(study, str(out), selection="points", format=name)
        fs.label.export(study, str(out), selection="points", format=name)
        if name == "cvat":
            (out / file).write_text((out / file).read_text().replace("unanswered", "car"))
        else:
            exported_json(json.loads((out / file).read_text()), out / file)
        before = (out / file).read_bytes()
        with refused(LabellingError, r"points are answered and never overwritten; give another folder"):
            fs.label.export(study, str(out), selection="points", format=name)
        assert (out / file).read_bytes() == before
        (out / file).write_text("[]" if name == "label-studio" else "<annotations/>")
        with refused(LabellingError, r"already exists and does not ask about points"):
            fs.label.export(study, str(out), selection="points", format=name)


def test_a_folder_with_masks_and_points_is_imported_one_after_the_other(
    study: str, made_once: tuple[str, made.Corpus], tmp_path: Path
) -> None:
    corpus = made_once[1]
    out = answer_all(study, corpus, tmp_path / "out")
    shutil.copytree(corpus.truth, out / "labels")
    with refused(LabellingError, r"holds masks \(in labels/\) and answers to points \(points.csv\)"):
        fs.label.import_(study, str(out))
    assert fs.label.import_(study, str(out / "labels")).new == len(corpus.ids)


def test_check_tells_what_a_tool_would_refuse(study: str, tmp_path: Path) -> None:
    studio = tmp_path / "studio"
    fs.label.export(study, str(studio), selection="points", format="label-studio")
    assert fs.label.check(str(studio)).problems == ()
    assert not label_studio.recognise(studio / "tasks.json")  # no masks
    tasks = json.loads((studio / "tasks.json").read_text())
    (studio / tasks[0]["data"]["crop"].partition("?d=")[2]).unlink()
    del tasks[1]["data"]["options"]
    tasks[3]["data"] = tasks[2]["data"]
    (studio / "tasks.json").write_text(json.dumps(tasks))
    (studio / "label_config.xml").write_text("<View/>")
    told = "\n".join(fs.label.check(str(studio)).problems)
    for words in (
        "not found in crops/",
        "its data lacks one of",
        "asks the same as task 3",
        "lacks the Choices",
    ):
        assert words in told
    cvat = tmp_path / "cvat"
    fs.label.export(study, str(cvat), selection="points", format="cvat")
    text = (cvat / "annotations.xml").read_text()
    (cvat / "annotations.xml").write_text(text.replace('<points label="unanswered"', '<points label="x"', 1))
    next((cvat / "images").rglob("*.png")).unlink()
    told = "\n".join(fs.label.check(str(cvat)).problems)
    for words in ("its label 'x' is not among the labels of meta", "not found in images/"):
        assert words in told


def test_what_does_not_fit_points_is_refused(study: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    with refused(OptionError, "asks about points, with --format points, cvat or label-studio; --format coco"):
        fs.label.export(study, out, selection="points", format="coco")
    with refused(OptionError, "--outlines does not apply to points"):
        fs.label.export(study, out, selection="points", outlines=True)
    with refused(OptionError, "--again does not apply to points"):
        fs.label.export(study, out, selection="points", again=True)
    with refused(OptionError, "--prefill applies to masks only"):
        fs.label.export(study, out, selection="points", format="cvat", prefill="model-0")
    with refused(OptionError, "--annotators applies to masks only"):
        fs.label.export(study, out, selection="points", sessions=fs.options.SessionRules(annotators="a,b"))
    assert not Path(out).exists()


def test_a_class_that_is_called_as_an_answer_is_meant_before_it(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=4, models=2)
    classes = json.loads(corpus.classes.read_text())
    classes["parents"] = {}
    for entry in classes["classes"]:
        entry["name"] = {"sky": "cannot tell", "road": "unanswered", "car": 'a "b" & <c>'}.get(
            entry["name"], entry["name"]
        )
    corpus.classes.write_text(json.dumps(classes))
    study = compared(tmp_path / "study", corpus)
    draw_points(study, 20)
    with refused(LabellingError, "the class 'unanswered' is what CVAT calls a point without an answer"):
        fs.label.export(study, str(tmp_path / "cvat"), format="cvat")
    fs.label.export(study, str(tmp_path / "out"), format="label-studio")
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text())
    assert sorted(one["value"] for one in tasks[0]["data"]["options"]) == sorted(
        ["cannot tell", "unanswered", 'a "b" & <c>', "person", "tree", "void"]
    )
    assert fs.label.check(str(tmp_path / "out")).problems == ()
    for task in tasks:
        task["annotations"] = [{"completed_by": 1, "result": [chosen("answer", 'a "b" & <c>')]}]
    (tmp_path / "out" / "export.json").write_text(json.dumps(tasks))
    assert fs.label.import_(study, str(tmp_path / "out" / "export.json")).failures == 0
