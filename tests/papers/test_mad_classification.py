"""S2 through the verbs equals S2 written down a second time: on sixteen real networks, and over WordNet with
confidences.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import mad_classes_reference as reference
import numpy as np
import pytest

import faultscape as fs
from faultscape.recipes import mad_classification as recipe
from faultscape.study.tables.selections import read_selection

pytestmark = pytest.mark.slow


def equal(
    study: str,
    chosen: dict[tuple[str, str], list[str]],
    found: fs.nouns.Standings,
    wanted: tuple[np.ndarray, ...],
) -> None:
    slots, _ = read_selection(Path(study))
    mine: dict[tuple[str, str], list[str]] = {pair: [] for pair in chosen}
    for row in sorted(slots.chosen, key=lambda row: row.place):
        mine[row.model_a, row.model_b].append(row.image)
    assert mine == chosen
    for name, matrix in zip(("accuracy", "dominance"), wanted, strict=False):
        off = ~np.eye(len(matrix), dtype=bool)
        assert np.array(found.matrices[name])[off] == pytest.approx(matrix[off], abs=1e-12)
    assert list(found.rankings["perron"].scores.values()) == pytest.approx(wanted[2].tolist(), abs=1e-9)


@pytest.fixture(scope="module")
def cue_conflict(
    data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, dict[str, str]], dict[str, set[str]]]:
    table = data / "classifiers" / "cue-conflict" / "predictions.csv"
    if not table.is_file():
        pytest.skip(f"no {table}")
    root = tmp_path_factory.mktemp("cue-conflict")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name.startswith(("pt_", "caffe_", "oid"))]
    labels = {name.replace(".", "-"): {row["image"]: row[name] for row in rows} for name in names}
    truth = {row["image"]: {row["shape_label"], row["texture_label"]} for row in rows}
    (root / "ids.csv").write_text("\n".join(["image", *truth]) + "\n")
    (root / "classes.txt").write_text("\n".join(sorted({label for said in truth.values() for label in said})))
    (root / "labels.csv").write_text(
        "\n".join(["image,label", *(f"{i},{'|'.join(sorted(t))}" for i, t in truth.items())]) + "\n"
    )
    sources = {name.replace(".", "-"): f"{table}:{name}" for name in names}
    study = str(root / "study")
    recipe.algorithm_1_until_labels(study, str(root / "ids.csv"), str(root / "classes.txt"), sources)
    return study, labels, truth


def test_sixteen_networks_compete_as_the_paper_says(cue_conflict: tuple) -> None:
    study, labels, truth = cue_conflict
    chosen = reference.slots(labels, {}, lambda a, b: float(a != b), top=30, confidence=0.8, cap=3)
    assert len(labels) == 16
    assert all(len(images) <= 30 for images in chosen.values())
    fs.label.import_(study, str(Path(study).parent / "labels.csv"))
    found = fs.rank(study, resamples=0)
    equal(study, chosen, found, reference.matrices(chosen, labels, truth, 1))
    decided = sum(map(len, chosen.values()))
    cases = [np.array(found.matrices[f"case_{k}"]) for k in (1, 2, 3)]
    assert cases[0].sum() / 2 + cases[1].sum() + cases[2].sum() / 2 == decided


def test_a_model_that_is_added_changes_no_slot_and_needs_its_own_alone(
    cue_conflict: tuple, tmp_path: Path
) -> None:
    study, labels, truth = cue_conflict
    root = Path(study).parent
    names, new = list(labels)[:5], list(labels)[5]
    sources = {model: about["source"] for model, about in _sources(study).items()}
    other = str(tmp_path / "study")
    before = recipe.algorithm_1_until_labels(
        other,
        str(root / "ids.csv"),
        str(root / "classes.txt"),
        {name: sources[name] for name in names},
        top=7,
    )
    table = (Path(other) / "selection.csv").read_text()
    after = recipe.algorithm_2(other, {new: sources[new]})
    assert (Path(other) / f"questions-{new}.csv").exists()  # beside those that may be filled in by now
    assert (Path(other) / "selection.csv").read_text().startswith(table)
    assert {row.cell for row in after.rows[len(before.rows) :]} == {(name, new) for name in names}
    some = {name: labels[name] for name in [*names, new]}
    chosen = reference.slots(some, {}, lambda a, b: float(a != b), top=7, confidence=0.8, cap=3)
    fs.label.import_(other, str(root / "labels.csv"))
    equal(other, chosen, fs.rank(other, resamples=0), reference.matrices(chosen, some, truth, 1))


def _sources(study: str) -> dict[str, dict[str, str]]:
    import tomllib

    return tomllib.loads((Path(study) / "study.toml").read_text())["models"]


def test_over_wordnet_with_confidences_the_farthest_sure_images_are_chosen(
    data: Path, tmp_path: Path
) -> None:
    held = data / "imagenet-wordnet" / "hierarchy.json"
    if not held.is_file():
        pytest.skip(f"no {held}")
    raw = json.loads(held.read_text())
    parents = {node: about["parents"] for node, about in raw["nodes"].items()}
    wnids = [leaf["wnid"] for leaf in sorted(raw["leaves"], key=lambda leaf: leaf["index"])]
    rng = np.random.default_rng(3)
    some = rng.choice(1000, 40, replace=False).tolist()
    images = [f"flickr/{k:04d}" for k in range(400)]
    truth = {image: {wnids[rng.choice(some)]} for image in images}
    labels: dict[str, dict[str, str]] = {}
    sure: dict[str, dict[str, float]] = {}
    for model, error in (("vgg", 0.5), ("resnet", 0.4), ("wsl", 0.2)):
        wrong = rng.random(400) < error
        labels[model] = {
            i: wnids[rng.choice(some)] if bad else next(iter(truth[i]))
            for i, bad in zip(images, wrong.tolist(), strict=True)
        }
        sure[model] = {
            i: float(np.float32(p)) for i, p in zip(images, rng.uniform(0.6, 1, 400).round(3), strict=True)
        }
        lines = [f"{i}.jpg,{labels[model][i]},{sure[model][i]:.3f}" for i in images]
        (tmp_path / f"{model}.csv").write_text("image,label,probability\n" + "\n".join(lines) + "\n")
    (tmp_path / "ids.csv").write_text("\n".join(["image", *images]) + "\n")
    study, sources = str(tmp_path / "study"), {model: str(tmp_path / f"{model}.csv") for model in labels}
    recipe.algorithm_1_until_labels(study, str(tmp_path / "ids.csv"), "imagenet1k", sources, top=12)
    chosen = reference.slots(labels, sure, _cached(parents), top=12, confidence=float(np.float32(0.8)), cap=3)
    answered = tmp_path / "answers.csv"
    _answer(Path(study) / "questions.csv", answered, truth, wnids)
    found = recipe.algorithm_1_from_labels(study, str(answered))
    equal(study, chosen, found, reference.matrices(chosen, labels, truth, 1))
    assert (Path(study) / "report.html").stat().st_size > 10_000


def _cached(parents: dict[str, list[str]]) -> Callable[[str, str], float]:
    known: dict[tuple[str, str], float] = {}

    def distance(one: str, other: str) -> float:
        if (one, other) not in known:
            known[one, other] = reference.weighted(parents, one, other)
        return known[one, other]

    return distance


def _answer(questions: Path, out: Path, truth: dict[str, set[str]], wnids: list[str]) -> None:
    """Let three people answer every question, one of them always wrong."""
    from faultscape.classes import imagenet_classes

    wnid = dict(zip(imagenet_classes().names, wnids, strict=True))
    with questions.open(newline="") as file, out.open("w", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(["image", "class", "annotator", "answer"])
        for row in csv.DictReader(file):
            yes = wnid[row["class"]] in truth[row["image"]]
            for who, right in (("ann", yes), ("bob", yes), ("cy", not yes)):
                writer.writerow([row["image"], row["class"], who, "yes" if right else "no"])
