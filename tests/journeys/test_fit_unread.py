"""fit where images cannot be read: told in one line, kept with the fit and in failures.csv, tried again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import faultscape as fs
from faultscape.errors import StudyError
from faultscape.study.tables.logs import read_failures
from faultscape.uncertainty.method_files import read_about
from made_methods import blended_set, fitted
from made_training import Trained
from refusals import refused


@pytest.fixture
def moved(predicted: Trained) -> Trained:
    """The study with images of its own, which a test may remove."""
    for name, role in (("train", "train"), ("val", "validation")):
        fs.collect(predicted.study, str(predicted.folder / name / "images"), set_=name, role=role)
    return predicted


def lines_about_unread(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if "cannot be read" in line]


def rows_of_fit(study: str) -> list[tuple[str, str]]:
    return [(row.name, row.image) for row in read_failures(Path(study)) if row.stage == "fit"]


def test_unread_training_images_are_told_once_kept_and_tried_again(
    moved: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study, aside = moved.study, moved.folder / "aside"
    images = moved.folder / "train" / "images"
    whole = fitted(moved, "mahalanobis").embeddings
    aside.mkdir()
    for name in ("004", "005", "006", "007"):
        shutil.move(images / f"{name}.png", aside / f"{name}.png")
    Path(study, "methods", "plain", "mahalanobis.safetensors").unlink()
    capsys.readouterr()
    assert fitted(moved, "mahalanobis").images == 4
    (line,) = lines_about_unread(capsys)
    assert line.startswith(
        "note: 4 training images cannot be read and are left out (failures.csv): train/004, train/005, train/006, ...; the first: "
    )
    assert line.endswith("004.png: No such file or directory")
    assert rows_of_fit(study) == [("mahalanobis/plain", f"train/{number:03}") for number in (4, 5, 6, 7)]
    about = read_about(Path(study, "methods", "plain", "mahalanobis.safetensors"))
    assert isinstance(unreadable := about.more["unreadable"], dict)
    assert sorted(unreadable) == ["train/004", "train/005", "train/006", "train/007"]

    fs.predict(study, rename={"plain": "net"})
    assert {name for name, _ in rows_of_fit(study)} == {"mahalanobis/net"}
    fs.predict(study, rename={"net": "plain"})
    for file in aside.iterdir():
        shutil.move(file, images / file.name)
    assert fitted(moved, "mahalanobis").embeddings == whole
    assert not rows_of_fit(study)


def test_unread_validation_images_are_told_once_and_kept_with_the_temperature(
    moved: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study, images = moved.study, moved.folder / "val" / "images"
    for name in ("012", "013"):
        (images / f"{name}.png").unlink()
    assert fs.fit(study, "temperature", model="plain").images == 1
    (line,) = lines_about_unread(capsys)
    assert line.startswith(
        "note: 2 validation images cannot be read and are left out (failures.csv): val/012, val/013; the first: "
    )
    about = json.loads(Path(study, "methods", "plain", "temperature.json").read_text())
    assert [*about["unreadable"]] == ["val/012", "val/013"]
    assert rows_of_fit(study) == [("temperature/plain", "val/012"), ("temperature/plain", "val/013")]
    (images / "014.png").unlink()
    with refused(StudyError, "none of 3 validation images can be read; the first, val/012: .*No such file"):
        fs.fit(study, "temperature", model="plain")


@pytest.mark.slow
def test_unread_images_of_a_search_are_told_once_however_often_they_are_needed(
    moved: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study = moved.study
    blended = blended_set(moved, "fs-static", frames=3)
    (moved.folder / "val" / "images" / "012.png").unlink()
    search = {"validation": blended, "layer": ["mix", "body.0"]}
    capsys.readouterr()
    fitted(moved, "knn", select_layer=True, **search)  # searches the layer, then k
    (line,) = lines_about_unread(capsys)
    assert line.startswith("note: 2 validation images cannot be read")  # both draws of one frame
    assert {name for name, _ in rows_of_fit(study)} == {"knn/plain"}
    for number in (13, 14):
        (moved.folder / "val" / "images" / f"{number:03}.png").unlink()
    joined = fs.options.MethodOptions(steps=1, blocks=2, width=8, epsilon=0.0, join="logistic")
    with refused(StudyError, "none of 3 validation images can be read; the first, "):
        fs.fit(study, "flow", model="plain", method_options=joined, **search)
