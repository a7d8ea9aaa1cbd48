"""Folders as mmsegmentation and ultralytics write them are models: files belong to images by the names that
these tools give them.

The names are those of `IoUMetric(output_dir=...)` and `MMSegInferencer` in mmsegmentation 1.x, and of
`save_txt` in ultralytics.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import made
from faultscape.errors import CorpusError, LabelMapError, ModelError
from faultscape.maps import runs
from faultscape.prediction import catalogue
from faultscape.prediction.batches import NO_MAP, Row
from faultscape.prediction.source import Opening, Part, Request
from faultscape.prediction.stored_outputs.yolo_labels import read_outlines
from faultscape.reading.study import Study
from faultscape.study.tables.removed_images import each_whole_shard
from refusals import refused

IDS = ("part0/photo 000", "part0/photo 002", "part1/photo 001")
SIZE = (36, 48)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("tools")
    return str(made.collected(made.corpus(root / "made", images=3, models=1), root / "study", 1024))


def answers(study: str, place: Path, kind_name: str, labels: str | None = None) -> dict[str, Row]:
    held = Study(Path(study))
    kind = catalogue.source_of("m", str(place))
    assert kind.name == kind_name
    request = Request("m", str(place), held.settings, lambda: each_whole_shard(held.corpus), {}, labels)
    origin = kind.origin(kind, request)
    model = kind.open(Opening(kind.name, str(place), origin.options, origin.labels), held.settings)
    images = next(iter(request.shards()))[1]
    (batch,) = model.batches([images], Part(origin.files[0]))
    return {row.id: row for row in batch.rows}


def written(root: Path, **files: str) -> Path:
    for id_, text in zip(IDS, files.values(), strict=False):
        path = root / "labels" / f"{id_.rsplit('/', 1)[1]}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_outlines_of_ultralytics_are_painted_by_score_and_the_rest_is_void(
    study: str, tmp_path: Path
) -> None:
    place = written(
        tmp_path / "predict", a="2 0 0 .5 0 .5 1 0 1 0.9\n1 0 0 1 0 1 .5 0 .5 0.4\n", b="4 0 0 1 0 1 1 0 1\n"
    )
    # of an image on which nothing was found there is only its picture
    made.write(place / "photo 001.jpg", np.zeros((4, 4, 3), np.uint8))
    said = answers(study, place, "yolo")
    expected = np.full(SIZE, 255)
    expected[:18] = 1
    expected[:, :24] = 2
    assert (runs.decode(said[IDS[0]].runs) == expected).all()
    assert (runs.decode(said[IDS[1]].runs) == 4).all()
    assert (runs.decode(said[IDS[2]].runs) == 255).all()


def test_without_its_picture_an_image_may_not_have_been_predicted(study: str, tmp_path: Path) -> None:
    said = answers(study, written(tmp_path / "predict", a="2 0 0 .5 0 .5 1 0 1"), "yolo")
    assert said[IDS[2]].problem == NO_MAP


def test_classes_of_ultralytics_mean_what_labels_say(study: str, tmp_path: Path) -> None:
    place = written(tmp_path / "predict", a="17 0 0 1 0 1 1 0 1")
    said = answers(study, place, "yolo")
    assert "holds the value 17; allowed are" in said[IDS[0]].problem
    said = answers(study, place, "yolo", "17=car")
    assert (runs.decode(said[IDS[0]].runs) == 17).all()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1 .5 .5 .2 .2", "line 1: holds a box, no outline, .* use a segmentation network"),
        ("1 .5 .5 .2 .2 .9", "holds a box, no outline"),
        ("dog 0 0 1 0 1 1", "begins with 'dog'; expected the number of a class"),
        ("999999999999 0 0 1 0 1 1", "expected the number of a class"),
        ("1 0 0 1 0 1 one", "holds something that is not a number"),
        ("1 0 0 1 0 1 1 .9 7", "holds 7; expected shares .* save results without track ids"),
        ("1 0 0 1 0 nan 1", "holds nan; expected shares"),
        ("1 0 0 inf 0 1 1", "holds inf; expected shares"),
    ],
)
def test_lines_that_are_no_outlines_are_refused(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "a.txt").write_text(line)
    with refused(LabelMapError, says):
        read_outlines(str(tmp_path / "a.txt"), 8, 6)


def test_maps_of_mmsegmentation_have_the_names_of_image_files(study: str, tmp_path: Path) -> None:
    for id_ in IDS:
        made.write(tmp_path / "out" / f"{id_.rsplit('/', 1)[1]}.png", np.full(SIZE, 3, np.uint8))
    said = answers(study, tmp_path / "out", "folder")
    assert all((runs.decode(said[id_].runs) == 3).all() for id_ in IDS)


def test_a_segmentation_directory_of_fiftyone_has_images_and_labels_apart(study: str, tmp_path: Path) -> None:
    for id_ in IDS:
        name = id_.rsplit("/", 1)[1]
        made.write(tmp_path / "export" / "data" / f"{name}.png", np.zeros((*SIZE, 3), np.uint8))
        made.write(tmp_path / "export" / "labels" / f"{name}.png", np.full(SIZE, 2, np.uint8))
    said = answers(study, tmp_path / "export", "folder")
    assert all((runs.decode(said[id_].runs) == 2).all() for id_ in IDS)


def test_a_folder_that_holds_results_of_another_kind_is_refused_with_what_to_give(
    study: str, tmp_path: Path
) -> None:
    coco = tmp_path / "export" / "labels.json"
    made.write(tmp_path / "export" / "data" / "a.jpg", np.zeros((*SIZE, 3), np.uint8))
    coco.write_text("{}")
    with refused(CorpusError, f"results and labels of COCO are a file: give {coco}"):
        answers(study, tmp_path / "export", "folder")
    outlines = written(tmp_path / "predict", a="2 0 0 .5 0 .5 1") / "labels"
    with refused(CorpusError, "outlines of ultralytics are read from the folder that has labels/"):
        answers(study, outlines, "folder")


def test_fields_of_one_folder_are_told_apart(study: str, tmp_path: Path) -> None:
    for field in ("map_a", "map_b"):
        for id_ in IDS:
            made.write(tmp_path / "export" / "fields" / field / f"{id_}.png", np.full(SIZE, 2, np.uint8))
    with refused(CorpusError, f"or one folder alone: {tmp_path / 'export' / 'fields' / 'map_b'}"):
        answers(study, tmp_path / "export", "folder")


def test_numbered_maps_of_its_inferencer_are_refused(study: str, tmp_path: Path) -> None:
    for k in range(3):
        made.write(tmp_path / "out" / "pred" / f"{k:08d}_pred.png", np.full(SIZE, 3, np.uint8))
    with refused(CorpusError, "none of its 3 maps is named as an image"):
        answers(study, tmp_path / "out", "folder")


def test_a_class_list_with_a_background_needs_labels(study: str) -> None:
    from faultscape.prediction.stored_outputs import yolo_labels

    held = Study(Path(study)).settings.model_copy(deep=True)
    held.classes.background = 0
    request = Request("m", "run", held, tuple)
    with refused(ModelError, "its classes have only numbers, .* say what they are: --labels 0=tree,1="):
        yolo_labels._meaning(request)
