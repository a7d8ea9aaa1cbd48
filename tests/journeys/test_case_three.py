"""Both classifiers wrong: with labels that name the class, the answer that is nearer to it wins (Wang et al.
2020, case III and eq. 3).
"""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
from faultscape.ranking.pair_cases import pair_counts
from refusals import refused_text

pytestmark = pytest.mark.slow

CLASSES = [("church", "n03028079"), ("fountain", "n03388043"), ("cat", "n02123045"), ("dog", "n02084071")]
NAMES = [name for name, _ in CLASSES]
KIN = (1, 0, 3, 2)  # the class that is nearest to each
IMAGES = [f"{k:02d}" for k in range(24)]
TRUTH = [k % 4 for k in range(24)]
SAID = {  # right on a quarter of the images, the same for both
    "near": [t if k % 8 < 2 else KIN[t] for k, t in enumerate(TRUTH)],
    "far": [t if k % 8 < 2 else (t + 2) % 4 for k, t in enumerate(TRUTH)],
    "good": [t if k % 5 else KIN[t] for k, t in enumerate(TRUTH)],
}


def table(path: Path, head: list[str], rows: list[list[Any]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return str(path)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("wrong")
    listed = [{"id": k, "name": name, "wnid": wnid} for k, (name, wnid) in enumerate(CLASSES)]
    (root / "classes.json").write_text(json.dumps({"classes": listed}))
    study = root / "study"
    ids = table(root / "ids.csv", ["image"], [[i] for i in IMAGES])
    fs.collect(str(study), ids, task="classification", classes=str(root / "classes.json"))
    sources = {
        name: table(
            root / f"{name}.csv",
            ["image", "label"],
            [[i, NAMES[k]] for i, k in zip(IMAGES, said, strict=True)],
        )
        for name, said in SAID.items()
    }
    fs.predict(str(study), sources, engine="local")
    fs.select(str(study), top=18, classifiers=fs.options.ClassifierRules(cap=24))
    return study


@pytest.fixture(scope="module")
def study(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("labelled")
    labels = table(
        root / "labels.csv", ["image", "label"], [[i, NAMES[t]] for i, t in zip(IMAGES, TRUTH, strict=True)]
    )
    shutil.copytree(bare, root / "study")
    fs.label.import_(str(root / "study"), labels)
    return str(root / "study")


def test_of_two_wrong_answers_the_nearer_one_wins(study: str) -> None:
    found = fs.rank(study, misses=fs.options.NearMisses("wordnet"), resamples=40)
    usual = found.rankings["bradley_terry"].scores
    nearer = found.rankings["nearer_bradley_terry"].scores
    assert abs(usual["near"] - usual["far"]) < 0.5  # as often right as each other
    assert nearer["good"] > nearer["near"] > nearer["far"] + 1
    assert found.rankings["nearer_bradley_terry"].sandwich_error is not None
    place = {model: k for k, model in enumerate(found.models)}
    wrong = np.array(found.matrices["case_3"])[place["near"], place["far"]]
    assert wrong == 18
    said = next(note for note in found.notes if note.startswith("case III by distance"))
    assert said == "case III by distance: of 22 slots, one answer is nearer to the label on 22"
    assert "nearer_bradley_terry" in found.full_text()
    plain = fs.rank(study, resamples=40)
    assert "nearer_bradley_terry" not in plain.rankings
    assert plain.rankings["bradley_terry"].scores == usual


def test_a_file_of_distances_is_watched_and_the_line_again_has_it(study: str, tmp_path: Path) -> None:
    copy = str(shutil.copytree(study, tmp_path / "study"))
    pairs = [
        [a, b, 1 if {a, b} in ({"church", "cat"}, {"fountain", "dog"}) else 9] for a in NAMES for b in NAMES
    ]
    rows = [row for row in pairs if row[0] < row[1]]
    own = table(tmp_path / "own.csv", ["class", "class", "distance"], rows)
    found = fs.rank(copy, misses=fs.options.NearMisses(own), resamples=0)
    scores = found.rankings["nearer_bradley_terry"].scores
    assert scores["far"] > scores["near"]  # (t + 2) % 4 is near by this file
    table(tmp_path / "own.csv", ["class", "class", "distance"], [[*row[:2], 2] for row in rows])
    status = repr(fs.status(copy))
    assert "the file of distances changed" in status
    assert f"--distance {own}" in status
    tied = fs.rank(copy, misses=fs.options.NearMisses(own), resamples=0)
    of = {name: tied.rankings[name].scores for name in ("bradley_terry", "nearer_bradley_terry")}
    assert of["nearer_bradley_terry"] == of["bradley_terry"]
    assert any("is nearer to the label on 0" in note for note in tied.notes)


def test_counts_by_hand() -> None:
    correct = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    apart = np.array([[1.0, 2.0, 0.0, np.nan], [2.0, 2.0, 1.0, 1.0]])
    first, second, image = np.array([0] * 4), np.array([1] * 4), np.arange(4)
    usual = pair_counts(first, second, image, correct)
    nearer = pair_counts(first, second, image, correct, None, apart)
    assert (usual.wins[0, 0, 1], usual.both_wrong[0, 0, 1]) == (1, 3)
    assert (nearer.wins[0, 0, 1], nearer.wins[0, 1, 0], nearer.both_wrong[0, 0, 1]) == (2, 0, 2)
    assert nearer.total[0, 0, 1] == 4
    turned = pair_counts(second, first, image, correct, None, apart[::-1])
    assert (turned.wins[0, 1, 0], turned.both_wrong[0, 0, 1]) == (1, 2)


def test_what_has_no_distance_is_refused_in_one_line(bare: Path, study: str, tmp_path: Path) -> None:
    asked = str(shutil.copytree(bare, tmp_path / "asked"))
    answers = [[i, NAMES[k], "ann", "no"] for i, k in zip(IMAGES[2:8], SAID["far"][2:8], strict=True)]
    fs.label.import_(asked, table(tmp_path / "a.csv", ["image", "class", "annotator", "answer"], answers))
    assert refused_text("rank", asked, "--distance", "wordnet").startswith(
        "--distance: truth labels has answers yes or no, and no label that names the class of an image"
    )
    fs.select(study, goal="order", budget=5)
    assert refused_text("rank", study, "--selection", "order", "--distance", "hops") == (
        "--distance is for pairs of classifiers, where both may be wrong; this selection is of images drawn"
        " for all models"
    )
    assert refused_text("rank", study, "--distance", "01").startswith("--distance 01 is the same for all")
    assert "distance 'words' is not known" in refused_text("rank", study, "--distance", "words")
