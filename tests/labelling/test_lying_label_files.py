"""Files of labelling tools that hold shapes without an area, boxes only, or names that a service made longer:
what covers pixels is drawn, what covers none is counted, and nothing costs a whole image.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import CorpusError, LabellingError, OptionError
from faultscape.formats.label_tools import coco_masks
from faultscape.formats.labelme import check
from faultscape.maps import runs
from faultscape.study.tables import label_maps
from faultscape.study.tables.logs import read_failures
from lying_label_files import TOOLS, labelme, mask_text, write_labelme
from refusals import refused

ROAD = np.zeros((36, 48), bool)
ROAD[:10, :10] = True
FIRST = "part0/photo 000"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lying")
    corpus = made.corpus(folder / "corpus", images=4, models=1)
    made.collected(corpus, folder / "study", shard_size=4)
    return folder / "study"


@pytest.fixture
def study(world: Path, tmp_path: Path) -> str:
    return str(shutil.copytree(world, tmp_path / "study"))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def road(study: str) -> dict[str, np.ndarray]:
    """Where each labelled image has the class road."""
    where = label_maps.truth(Path(study), "labels")
    return {id_: runs.decode(code) == 1 for id_, code in label_maps.read_maps(where, 0).items()}


@pytest.mark.parametrize("name", TOOLS)
def test_shapes_without_an_area_are_left_out_and_counted_in_one_line(
    study: str, files: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = TOOLS[name]
    beside = [*tool.without.values()]
    tool.write(files, {f"{FIRST}.png": [*beside, tool.area], "part1/photo 001.png": [beside[0], tool.area]})
    found = fs.label.import_(study, str(files))
    assert (found.new, found.failures) == (2, 0), found
    assert all((mask == ROAD).all() for mask in road(study).values())
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "without an area" in line]
    first, *others = tool.without
    kinds = ", ".join([f"2 {first}", *(f"1 {kind}" for kind in others)])
    assert line == f"{len(beside) + 1} shapes without an area on 2 images are left out: {kinds}"


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, tool in TOOLS.items() for kind in tool.covering]
)
def test_other_shapes_with_an_area_are_drawn(
    study: str, files: Path, name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    TOOLS[name].write(files, {f"{FIRST}.png": [TOOLS[name].covering[kind]]})
    assert fs.label.import_(study, str(files)).failures == 0
    assert (road(study)[FIRST] == ROAD).all()
    assert "without an area" not in capsys.readouterr().out


@pytest.mark.parametrize("name", TOOLS)
def test_an_image_with_nothing_but_such_shapes_is_not_labelled_yet(
    study: str, files: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = TOOLS[name]
    tool.write(files, {f"{FIRST}.png": [*tool.without.values()], "part1/photo 001.png": [tool.area]})
    assert fs.label.import_(study, str(files)).new == 1
    assert list(road(study)) == ["part1/photo 001"]
    assert "not labelled yet" in capsys.readouterr().out


def test_a_mask_that_was_dragged_lies_where_labelme_puts_it(study: str, files: Path) -> None:
    dragged = labelme("mask", [[10.6, 4.7], [14.6, 6.7]], mask=mask_text(np.ones((3, 5), bool)))
    write_labelme(files, {f"{FIRST}.png": [dragged]})
    assert fs.label.import_(study, str(files)).new == 1
    rows, columns = np.nonzero(road(study)[FIRST])
    assert (set(rows.tolist()), set(columns.tolist())) == ({4, 5, 6}, {10, 11, 12, 13, 14})
    assert not [said for said in check(files) if "its mask" in said]


BOX_ONLY = r"annotations\[1\]: has only a box, no segmentation, .*; export its outline or mask"


@pytest.mark.parametrize("empty", [[], None, {}, ""])
def test_an_object_of_which_only_a_box_is_known_is_an_error_of_its_image_that_says_so(
    study: str, files: Path, empty: object
) -> None:
    tool = TOOLS["coco"]
    boxed = {"category_id": 1, "bbox": [3, 3, 9, 9], "area": 81, "segmentation": empty}
    tool.write(files, {f"{FIRST}.png": [tool.area, boxed], "part1/photo 001.png": [tool.area]})
    assert fs.label.import_(study, str(files)).failures == 1
    (why,) = [row.reason for row in read_failures(Path(study))]
    assert re.search(BOX_ONLY, why)
    assert any(re.search(BOX_ONLY, said) for said in coco_masks.check(files / "_annotations.coco.json"))


@pytest.mark.parametrize("made_by", ["roboflow", "version"])
@pytest.mark.parametrize("name", TOOLS)
def test_a_pattern_says_how_names_in_a_tools_file_become_ids(
    study: str, files: Path, name: str, made_by: str
) -> None:
    tool, (called, pattern) = TOOLS[name], NAMES[made_by]
    ending = ".json" if name == "labelme" else ".jpg"  # LabelMe's own files are named, not the images
    tool.write(files, {called.format(FIRST): [tool.area], "of/another study.jpg": [tool.area]})
    with refused(CorpusError if name == "labelme" else LabellingError, "named as an image"):
        fs.label.import_(study, str(files))
    assert fs.label.import_(study, str(files), pattern=pattern + ending).new == 1
    assert list(road(study)) == [FIRST]
    with refused(LabellingError, "no (image name|file of a label) matches the pattern 'x{id}"):
        fs.label.import_(study, str(files), pattern="x{id}.jpg")


NAMES = {  # a name in the tool, and the pattern that makes it an id, without its ending
    "roboflow": ("{}_png.rf.0a1b2c3d4e5f60718293a4b5c6d7e8f9.jpg", "{id}_png.rf.*"),
    "version": ("export/{}.v2.jpg", "export/{id}.v2"),
}


def test_a_pattern_that_has_no_part_in_a_file_is_refused(study: str, files: Path) -> None:
    (files / "answers.jsonl").write_text("")
    with refused(
        OptionError, "--pattern applies to names of masks, .*answers.jsonl names images by their ids"
    ):
        fs.label.import_(study, str(files / "answers.jsonl"), pattern="{id}.png")


def test_what_is_said_of_the_image_or_of_other_shapes_is_not_counted(
    study: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about = [
        {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"},
        {"type": "choices", "value": {"choices": ["night"]}, "from_name": "when", "to_name": "image"},
    ]
    tool = TOOLS["label-studio"]
    tool.write(files, {f"{FIRST}.png": [about[0], tool.area, about[1]], "part1/photo 001.png": about})
    assert fs.label.import_(study, str(files)).new == 1
    assert (road(study)[FIRST] == ROAD).all()
    said = capsys.readouterr().out
    assert "without an area" not in said
    assert "1 image is not labelled yet" in said
