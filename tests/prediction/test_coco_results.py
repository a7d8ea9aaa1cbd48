"""A JSON file of COCO is a model: each image gets the map that its masks draw, the highest score on top."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import made
from faultscape.errors import FaultscapeError, ModelError
from faultscape.formats import coco
from faultscape.maps import runs
from faultscape.maps.instances import runs_of_mask
from faultscape.prediction import catalogue
from faultscape.prediction.batches import NO_MAP, Row
from faultscape.prediction.source import Opening, Part, Request
from faultscape.prediction.stored_outputs import coco_results
from faultscape.reading.study import Study
from faultscape.study.tables.removed_images import each_whole_shard
from refusals import refused

SIZE = (6, 8)
IDS = ("000000000139", "000000000285")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("coco")
    corpus = made.corpus(root / "made", images=1, models=1)
    for k, id_ in enumerate(IDS):
        made.write(root / "photos" / f"{id_}.png", np.full((*SIZE, 3), 99 * k, np.uint8))
    held = made.Corpus(root, root / "photos", corpus.truth, corpus.classes, {}, {}, corpus.truths, IDS)
    return str(made.collected(held, root / "study", 1024))


def box(top: int, left: int, bottom: int, right: int, *, text: bool = True) -> dict[str, Any]:
    mask = np.zeros(SIZE, bool)
    mask[top:bottom, left:right] = True
    counts = runs_of_mask(mask)
    return {"size": [*SIZE], "counts": coco.text_of_runs(counts) if text else counts.tolist()}


def result(image: int | str, category: int, segmentation: object, **more: object) -> dict[str, Any]:
    return {"image_id": image, "category_id": category, "segmentation": segmentation, **more}


def answers(study: str, document: object, tmp_path: Path, labels: str | None = None) -> dict[str, Row]:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document))
    held = Study(Path(study))
    kind = catalogue.source_of("m", str(path))
    assert kind.name == "coco"
    request = Request("m", str(path), held.settings, lambda: each_whole_shard(held.corpus), {}, labels)
    origin = kind.origin(kind, request)
    model = kind.open(Opening(kind.name, str(path), origin.options, origin.labels), held.settings)
    images = next(iter(request.shards()))[1]
    (batch,) = model.batches([images], Part(origin.files[0]))
    return {row.id: row for row in batch.rows}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("text", [True, False])
def test_the_highest_score_lies_on_top_and_what_no_mask_covers_is_void(
    study: str, tmp_path: Path, first: bool, text: bool
) -> None:
    rows = [
        result(139, 2, box(0, 0, 4, 4, text=text), score=0.9),
        result(139, 1, box(2, 2, 6, 6, text=text), score=0.3),
    ]
    said = answers(study, rows if first else rows[::-1], tmp_path)
    expected = np.full(SIZE, 5)  # the five classes are 0 to 4
    expected[2:6, 2:6] = 1
    expected[0:4, 0:4] = 2
    assert (runs.decode(said[IDS[0]].runs) == expected).all()
    assert said[IDS[1]].problem == NO_MAP


def test_names_of_categories_and_of_files_are_those_of_a_whole_coco_file(study: str, tmp_path: Path) -> None:
    document = {
        "images": [
            {"id": k, "file_name": f"val/{id_}.jpg", "width": SIZE[1], "height": SIZE[0]}
            for k, id_ in enumerate(IDS)
        ],
        "categories": [{"id": 17, "name": "tree"}, {"id": 3, "name": "car"}],
        "annotations": [
            {**result(0, 17, [[0, 0, 8, 0, 8, 6, 0, 6]]), "id": 1},
            {**result(0, 3, box(1, 1, 2, 2)), "id": 2},
        ],
    }
    said = answers(study, document, tmp_path)
    found = runs.decode(said[IDS[0]].runs)
    assert found[1, 1] == 3
    assert (found == 17).sum() == 47
    # an image of the file on which nothing was found
    assert (runs.decode(said[IDS[1]].runs) == 0).all()


def test_an_image_may_be_named_and_labels_say_what_categories_mean(study: str, tmp_path: Path) -> None:
    rows = [result(IDS[1], 91, box(0, 0, 6, 8))]
    with refused(ModelError, "category 91 is not in the class list; give --labels FILE .* --labels 91=sky"):
        answers(study, rows, tmp_path)
    said = answers(study, rows, tmp_path, "91=road")
    assert (runs.decode(said[IDS[1]].runs) == 91).all()


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ([], "holds no masks"),
        ({}, "is not a COCO file: it has no list of objects `images`"),
        ([3], "entry 0 has no image_id and category_id; expected COCO's results"),
        ([result(1, -1, [])], "has the category_id '-1'; expected a number from 0 to 65535"),
        ([result(1, True, [])], "has the category_id 'True'"),
        ([result(1, 1, [], score="high")], "has the score 'high'; expected a number"),
        ([result(1, 1, [], score=float("nan"))], "has the score 'nan'; expected a number"),
        ([result(None, 1, [])], "has an image_id that is neither a number nor a name"),
        ([result(7, 1, box(0, 0, 1, 1))], "none of its 1 maps is named as an image; the first map is '7'"),
    ],
)
def test_files_that_are_no_results_are_refused(
    study: str, tmp_path: Path, document: object, says: str
) -> None:
    with refused(FaultscapeError, says):
        answers(study, document, tmp_path)


@pytest.mark.parametrize(
    ("segmentation", "says"),
    [
        ({"size": [3, 3], "counts": "09"}, r"run lengths have the size \[3, 3\], its image \[6, 8\]"),
        ({"size": [*SIZE], "counts": [4, 9]}, "cover 13 pixels, its image has 48"),
        ({"size": [*SIZE], "counts": "~~~~"}, "its run lengths are damaged"),
        ([[1, 2, 3]], "three or more pairs of finite numbers"),
        ([[0, 0, 1e300, 0, 5, 5]], "three or more pairs of finite numbers"),
        (None, "has only a box, no segmentation"),
    ],
)
def test_a_mask_that_cannot_be_drawn_is_a_failure_of_its_image_alone(
    study: str, tmp_path: Path, segmentation: object, says: str
) -> None:
    said = answers(study, [result(139, 1, segmentation), result(285, 1, box(0, 0, 1, 1))], tmp_path)
    with refused(ModelError, f"results.json, mask 0: .*{says}"):
        raise ModelError(said[IDS[0]].problem)
    assert said[IDS[1]].runs


def test_a_number_that_may_be_two_images_is_refused() -> None:
    held = coco_results.Results(masks={"7": []}, is_list=True)
    with refused(
        ModelError, "image_id '7' may be a/07 or b/007; give a COCO file whose `images` name the files"
    ):
        coco_results._by_number(held, ["a/07", "b/007"])
