"""Real predictions of real classifiers go in as they were published: cue conflict, emotions, CIFAR-10, and
ImageNet's label sets.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.nouns import KEPT_OUT
from faultscape.reading.answers import read_label_sets, read_predictions
from faultscape.reading.study import Study

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def classifiers(data: Path) -> Path:
    if not (data / "classifiers").is_dir():
        pytest.skip(f"no classifiers in {data}")
    return data / "classifiers"


def begun(folder: Path, ids: list[str], classes: list[str] | str) -> str:
    (folder / "ids.csv").write_text("image\n" + "\n".join(ids))
    if not isinstance(classes, str):
        (folder / "classes.txt").write_text("\n".join(classes))
        classes = str(folder / "classes.txt")
    fs.collect(str(folder / "study"), str(folder / "ids.csv"), task="classification", classes=classes)
    return str(folder / "study")


def test_sixteen_networks_and_ten_people_of_one_wide_table(
    classifiers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = classifiers / "cue-conflict" / "predictions.csv"
    head, *lines = csv.reader(table.read_text().splitlines())
    nets = head[3:19]
    assert len(nets) == 16
    names = list(json.loads((classifiers / "sixteen_classes.json").read_text()))
    (tmp_path / "classes.txt").write_text("\n".join(names))
    study = str(tmp_path / "study")  # the table itself says which images there are
    fs.collect(study, str(table), task="classification", classes=str(tmp_path / "classes.txt"))
    done = fs.predict(study, {name: f"{table}:{name}" for name in (*nets, "human_01")})
    said = [line[head.index("human_01")] for line in lines]
    assert done.models == {
        **dict.fromkeys(nets, (1280, 0)),
        "human_01": (1280 - said.count("na"), said.count("na")),
    }
    found = read_predictions(Study(Path(study)), nets, [line[0] for line in lines])
    wanted = [[names.index(line[head.index(name)]) for line in lines] for name in nets]
    np.testing.assert_array_equal(found.labels, wanted)
    fs.predict(study, remove=["human_01"])
    capsys.readouterr()
    slots = fs.select(study)
    assert "confidence: no model has probabilities" in capsys.readouterr().out
    truth = {line[0]: line for line in lines}
    for row in slots.rows:
        assert (
            truth[row.image][head.index(row.model_a)]
            == row.label_a
            != row.label_b
            == truth[row.image][head.index(row.model_b)]
        )
    for cell in {row.cell for row in slots.rows}:
        mine = [row for row in slots.rows if row.cell == cell and row.place <= KEPT_OUT]
        assert len({row.image for row in mine}) == len(mine)
        for side in ("label_a", "label_b"):
            assert max(np.unique([getattr(row, side) for row in mine], return_counts=True)[1]) <= 3


def test_columns_of_an_array_are_models_and_its_rows_images_as_people_count(
    classifiers: Path, tmp_path: Path
) -> None:
    path = classifiers / "model-picker" / "emotion_detection.npz"
    with np.load(path) as file:
        predictions, labels = file["predictions"], file["labels"]
    ids = [f"text {k}" for k in range(len(labels))]
    study = begun(tmp_path, ids, ["others", "happy", "sad", "angry"])
    fs.predict(study, {f"m{k}": f"{path}:predictions:{k}" for k in range(8)})
    found = read_predictions(Study(Path(study)), [f"m{k}" for k in range(8)], ids)
    np.testing.assert_array_equal(found.labels, predictions.T)
    accuracies = (found.labels == labels).mean(1)
    assert 0.888 < accuracies.min() < accuracies.max() < 0.924  # as its page says


def test_probabilities_become_the_likeliest_class_and_how_likely_it_is(
    classifiers: Path, tmp_path: Path
) -> None:
    path = classifiers / "probabilities" / "cifar10_test_set.npz"
    with np.load(path) as file:
        shares, labels = file["probabilities"], file["labels"]
    ids = [str(k) for k in range(len(labels))]
    study = begun(tmp_path, ids, [f"class {k}" for k in range(10)])
    fs.predict(study, f"net={path}:probabilities")
    found = read_predictions(Study(Path(study)), ["net"], ids)
    assert found.top is not None
    assert (found.labels[0] == labels).mean() == pytest.approx(0.9294)  # as its page says
    np.testing.assert_array_equal(found.probabilities[0], shares.max(1))
    np.testing.assert_array_equal(found.top[1][0], -np.sort(-shares, axis=1)[:, :5])


def test_reassessed_labels_of_imagenet_are_sets(classifiers: Path, tmp_path: Path) -> None:
    sets = json.loads((classifiers / "reassessed-imagenet" / "real_labels.json").read_text())
    study = begun(tmp_path, list(sets), "imagenet1k")
    lines = [f"{image},{'|'.join(map(str, labels)) or 'none'}" for image, labels in sets.items()]
    (tmp_path / "labels.csv").write_text("image,label\n" + "\n".join(lines))
    took = fs.label.import_(study, str(tmp_path / "labels.csv"))
    assert (took.new, took.failures) == (len(sets), 0)
    found = read_label_sets(Study(Path(study)), "labels", list(sets))
    assert found == [frozenset(labels) for labels in sets.values()]
    assert {len(labels) for labels in found if labels is not None} >= {0, 1, 2}
