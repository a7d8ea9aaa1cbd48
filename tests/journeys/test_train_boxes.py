"""train --boxes: images that have boxes and no mask teach too."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import OptionError, StudyError
from faultscape.maps.boxes import boxes_of_mask
from faultscape.verbs.graph import nodes
from faultscape.verbs.train.result import Trained as TrainResult
from made_training import FEW, FEW_WORDS, NAMES, ONE, Trained, make_pool, make_study
from refusals import refused, refused_text, told

BOXES = fs.options.TrainingData(boxes=True)


def draw(trained: Trained, images: list[str], boxed: tuple[str, ...] = NAMES) -> None:
    """Import the boxes around each piece of some classes in images of the first set."""
    rows, found = [], []
    for number, image in enumerate(images):
        mask = np.asarray(Image.open(trained.folder / "main" / "masks" / f"{image}.png"))
        rows.append({"id": number, "file_name": f"{image}.png", "width": 32, "height": 24})
        for name in boxed:
            for left, top, right, bottom, _ in boxes_of_mask(mask == NAMES.index(name)):
                box = [left, top, right - left, bottom - top]
                found.append({"image_id": number, "category_id": name, "bbox": box})
    categories = [{"id": name, "name": name} for name in boxed]
    path = trained.folder / "boxes.json"
    path.write_text(json.dumps({"images": rows, "annotations": found, "categories": categories}))
    fs.label.import_(trained.study, str(path), boxes=True)


@pytest.fixture(scope="module")
def drawn_once(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    trained = Trained(tmp_path_factory.mktemp("drawn"))
    make_study(trained.folder, train=2, validation=2, test=6, role="train", label=False)
    draw(trained, [f"{number:03}" for number in range(5)])
    return trained


@pytest.fixture
def drawn(drawn_once: Trained, tmp_path: Path) -> Trained:
    """Six images without masks, five of them with boxes, and two with masks, all to train on."""
    shutil.copytree(drawn_once.folder, tmp_path / "drawn")
    return Trained(tmp_path / "drawn")


def record_of(trained: Trained, name: str) -> dict:
    return json.loads(Path(trained.study, "models", name, "network.json").read_text())["provenance"]


def train(trained: Trained, name: str, plan: fs.options.TrainingPlan = ONE, **told_: object) -> TrainResult:
    told_.setdefault("data", BOXES)
    made = fs.train(trained.study, name, backbone=trained.own, plan=plan, **told_)  # pyright: ignore[reportArgumentType]
    assert isinstance(made, TrainResult)
    return made


@pytest.mark.slow
def test_boxes_teach_and_their_images_do_not_judge_the_network(drawn: Trained) -> None:
    out = told("train", drawn.study, "net", "--backbone", drawn.own, "--boxes", *FEW_WORDS)
    assert any(line.startswith("trained  30 steps on 7 images, 5 of them by boxes in ") for line in out)
    record = record_of(drawn, "net")
    boxed = [f"{number:03}" for number in range(5)]
    assert (record["boxed"], record["box_truth"], record["truth"]) == (boxed, "labels", "labels")
    rows = fs.Study(drawn.study).image_rows
    assert record["trained_on"] == {id_: rows[id_].digest for id_ in [*boxed, "train/006", "train/007"]}
    fs.predict(drawn.study, {"net": drawn.source_of("net")}, engine="local")
    assert fs.Study(drawn.study).trained_on("net") == {*record["trained_on"]}
    assert train(drawn, "net", FEW).new is False
    masks_alone = fs.train(drawn.study, "masks", backbone=drawn.own, plan=FEW)
    assert isinstance(masks_alone, TrainResult)
    assert masks_alone.images == 2
    assert "boxed" not in record_of(drawn, "masks")


@pytest.mark.slow
def test_a_network_is_stale_once_boxes_changed_or_a_mask_came(drawn: Trained) -> None:
    train(drawn, "net")

    def state() -> tuple[str, tuple[str, ...]]:
        (node,) = [one for one in nodes(fs.Study(drawn.study)) if one.words.startswith("net: ")]
        return node.state, node.why

    assert state() == ("done", ())
    draw(drawn, ["000"], NAMES[:2])
    assert state() == ("stale", ("boxes changed",))
    assert train(drawn, "net").new
    assert state() == ("done", ())
    draw(drawn, ["005"])  # which would be new to it
    assert state() == ("stale", ("boxes changed",))
    assert train(drawn, "net").boxed == 6
    masks = drawn.folder / "chosen"
    masks.mkdir()
    shutil.copy(drawn.folder / "main" / "masks" / "000.png", masks)
    fs.label.import_(drawn.study, str(masks), pattern="{id}.png")
    assert state()[0] == "stale"
    assert "labels changed" in state()[1]
    assert (train(drawn, "net").boxed, train(drawn, "net").images) == (5, 8)
    draw(drawn, ["000"])  # a mask counts alone
    assert state() == ("done", ())
    key = record_of(drawn, "net")["key"]
    fs.label.remove(drawn.study, "005")
    assert state() == ("stale", ("boxes changed",))
    train(drawn, "net")
    assert record_of(drawn, "net")["key"] != key


@pytest.mark.slow
def test_boxes_alone_teach_and_a_withheld_class_is_not_learnt(tmp_path: Path) -> None:
    trained = Trained(tmp_path)
    make_study(tmp_path, train=0, validation=0, test=4, role="train", label=False)
    with refused(StudyError, "there are no boxes yet; import some with `faultscape label import .* --boxes`"):
        train(trained, "net")
    draw(trained, ["000", "001", "002"])
    draw(trained, ["003"], NAMES[:2])
    made = train(trained, "net", FEW)
    assert (made.images, made.boxed) == (4, 4)
    fs.stress.holdout(trained.study, classes=["car"], as_="cars")
    with refused(OptionError, "--class-weights counts pixels of masks, and no training image has one"):
        train(trained, "weighted", replace(ONE, class_weights="median-frequency"))
    with refused(OptionError, "--head gp: its covariance is that of labelled pixels, and no training image"):
        train(trained, "gp", head="gp")
    made = train(trained, "other", ONE)
    assert (made.images, made.boxed, len(made.classes)) == (3, 3, 3)  # where may cars be in the last image?


@pytest.mark.slow
def test_boxes_of_a_selection_teach_and_those_of_the_parent_are_mixed_in(tmp_path: Path) -> None:
    pool = make_pool(tmp_path)
    fs.select(pool.study, as_="more", goal="order", budget=4, engine="local")
    chosen = fs.Study(pool.study).selection("more").now.images
    labelled = fs.Study(pool.study).selection("main").now.images
    boxed = sorted({*chosen} - {*labelled})
    draw(pool, [*chosen])  # also those with masks, which count alone
    made = train(pool, "new", init="old", data=replace(BOXES, set_=["selection:more"]))
    assert made.boxed == len(boxed) > 0
    assert made.new_images == len(chosen)
    assert fs.Study(pool.study).trained_on("new") >= {*chosen}
    train(pool, "newer", init="new", data=fs.options.TrainingData(set_=["selection:main"]))
    record = record_of(pool, "newer")
    assert record["boxed"] == boxed
    assert {*record["trained_on"]} == {*labelled, *record_of(pool, "new")["trained_on"]}
    with refused(StudyError, "--boxes: no image to train on has boxes and no mask"):
        train(pool, "other", init="old", data=replace(BOXES, set_=["selection:main"]))


@pytest.mark.slow
def test_what_boxes_cannot_teach_is_said_in_one_line(drawn: Trained) -> None:
    said = refused_text(
        "train", drawn.study, "net", "--backbone", drawn.own, "--boxes", "--set", "train", *FEW_WORDS
    )
    assert said == (
        "--boxes: no image to train on has boxes and no mask (a mask counts alone); leave it out, or name a set"
        " whose images have boxes with --set"
    )
    with refused(OptionError, "--boxes teach with --loss ce; got --loss entropy: leave one of them out"):
        train(drawn, "net", loss="entropy")
    with refused(StudyError, "there is no truth 'gone'"):
        train(drawn, "net", data=replace(BOXES, truth="gone", boxes=False))
    with refused(StudyError, "truth 'other' has no boxes; choose another with --truth: labels"):
        train(drawn, "net", data=replace(BOXES, truth="other"))
