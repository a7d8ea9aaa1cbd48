"""Tables and Label Studio's files that say which classes are in images."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultscape.errors import LabellingError
from faultscape.formats.label_tools import label_studio_choices
from faultscape.labelling import present_tables
from refusals import refused

CONFIG = """<View><Image name="image" value="$image"/>
<Choices name="what" toName="image" choice="multiple"><Choice value="car"/><Choice value="person"/></Choices></View>"""


def table(folder: Path, text: str) -> Path:
    path = folder / "present.csv"
    path.write_text(text)
    return path


def test_a_table_of_classes_present(tmp_path: Path) -> None:
    text = "filename,present,asked,annotator\na.png,car| person,car|person|tree,ann\nb.png,none,car,ben\nc.png,,car,\n"
    found = present_tables.read(table(tmp_path, text))
    assert [(one.image, one.annotator, one.present, one.asked) for one in found.images] == [
        ("a.png", "ann", ("car", "person"), ("car", "person", "tree")),
        ("b.png", "ben", (), ("car",)),
    ]
    assert (found.asked, found.untouched, found.wrong) == ((), 1, ())


def test_lines_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    found = present_tables.read(table(tmp_path, "image,present,asked\na,car,\nb,car\nc,car,car\n"))
    assert [one.image for one in found.images] == ["c"]
    assert found.wrong == (
        ("a", "present.csv, line 2: names no class that was asked about"),
        (
            "b",
            "present.csv, line 3: has 2 columns, the first line 3; quote cells that hold a comma",
        ),
    )


def test_a_table_of_answers(tmp_path: Path) -> None:
    text = "image,class,annotator,answer\na,car,ann,yes\na,person,ann,no\na,tree,ann,unsure\na,car,ben,no\na,person,ben,\n"
    first, second = present_tables.read(table(tmp_path, text)).images
    assert (first.annotator, first.present, first.asked, first.unsure) == (
        "ann",
        ("car",),
        ("car", "person", "tree"),
        ("tree",),
    )
    assert (second.annotator, second.present, second.asked) == ("ben", (), ("car",))


def test_a_table_without_the_columns_is_refused(tmp_path: Path) -> None:
    with refused(
        LabellingError,
        "expected the columns image, present .classes joined by |, or none.*it has image, label",
    ):
        present_tables.read(table(tmp_path, "image,label\na,car\n"))


def task(image: str, *results: object, **more: object) -> dict[str, object]:
    return {"data": {"image": image}, "annotations": [{"completed_by": "ann", "result": [*results], **more}]}


def choice(*words: object, **more: object) -> dict[str, object]:
    return {"type": "choices", "from_name": "what", "value": {"choices": [*words], **more}}


def test_choices_of_label_studio(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    tasks = [
        task("a.png", choice("car", "person")),
        task("b.png", choice("car", x=1, y=2, width=3, height=4, rotation=0)),
        task("c.png", choice("car"), was_cancelled=True),
        {"data": {"image": "d.png"}},
    ]
    path.write_text(json.dumps(tasks))
    found = label_studio_choices.read(path)
    assert [(one.image, one.annotator, one.present) for one in found.images] == [
        ("a.png", "ann", ("car", "person")),
        ("b.png", "ann", ()),  # a choice for a region says nothing about the image
    ]
    assert (found.asked, found.untouched) == ((), 2)
    (tmp_path / "label_config.xml").write_text(CONFIG)
    assert label_studio_choices.read(path).asked == ("car", "person")


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([task("", choice("car"))], "task number 0: its data names no image"),
        ([task("a.png", choice(3))], "result 0: its choices must be a list of words"),
        ({"a": 1}, "expected a list of tasks"),
    ],
)
def test_damaged_files_of_label_studio_are_refused(tasks: object, said: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    with refused(LabellingError, said):
        label_studio_choices.read(path)
