"""Metrics that are computed only where `--metric` names them, and those of anomalous regions and objects, as
a user types for them and reads them.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.metrics.overlaps.recall_by_size import object_size_counts, recall_of_quarter
from faultscape.reading.study import Study
from faultscape.verbs import graph
from faultscape.verbs.measure.artefact import MEASURES
from refusals import refused_line, typed

CENTRELINES = {"cldice", "topology_precision", "topology_sensitivity"}
RECALLS = {"recall_smallest", "recall_small", "recall_large", "recall_largest"}
OBJECTS = [f"object_recall_{quarter}" for quarter in ("smallest", "small", "large", "largest")]


def models_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "measure.json").read_text())["models"]


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    corpus = made.corpus(tmp_path / "corpus", images=8, models=1, shape=(24, 32))
    for path in corpus.truth.rglob("*.png"):
        # a model that is off by some pixels, and finds few small regions
        made.write(
            tmp_path / "off" / path.relative_to(corpus.truth), np.roll(np.asarray(Image.open(path)), 4, 1)
        )
    return replace(corpus, models=corpus.models | {"off": tmp_path / "off"})


@pytest.fixture
def line(corpus: made.Corpus, tmp_path: Path) -> list[str]:
    models = [f"{name}={folder}" for name, folder in corpus.models.items()]
    words = typed(
        "--classes {corpus.classes} --engine local --no-boundaries --output {tmp}/out",
        corpus=corpus,
        tmp=tmp_path,
    )
    return ["measure", str(corpus.truth), *models, *words]


@pytest.mark.slow
def test_what_is_asked_for_stands_beside_the_others_and_nothing_else_changes(
    line: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(line) == 0
    before = made.bytes_under(out, "statistics", "measure.json", "per_image.parquet")
    assert "clDice" not in capsys.readouterr().out
    # with all that the same counts give
    assert main([*line, "--metric", "cldice", "--metric", "recall_small"]) == 0
    assert "clDice ." in capsys.readouterr().out
    found = json.loads((out / "measure.json").read_text())
    for of in found["models"].values():
        assert set(of) >= CENTRELINES | RECALLS
        for name in CENTRELINES | RECALLS:
            assert of[name]["low"] <= of[name]["value"] <= of[name]["high"], name
            assert set(of[name]["per_class"]) == set(found["classes"])
        assert "Guo and Hall" in of["cldice"]["definition"]
        assert "connectivity=8, void=cut" in of["recall_small"]["definition"]
    assert 0 < np.mean([found["models"]["off"][name]["value"] for name in RECALLS]) < 1
    assert {row["metric"] for row in found["paired"]} >= CENTRELINES | RECALLS
    page = (out / "report.html").read_text()
    assert all(
        title in page for title in ("clDice error", "Topology precision error", "Recall error, smallest")
    )
    assert set(pq.read_table(out / "per_image.parquet").column_names) >= CENTRELINES | RECALLS
    assert main(line) == 0
    assert made.bytes_under(out, "statistics", "measure.json", "per_image.parquet") == before


@pytest.mark.slow
def test_the_numbers_are_those_of_the_room(line: list[str], corpus: made.Corpus, tmp_path: Path) -> None:
    from faultscape.classes.class_lists import resolve
    from faultscape.formats.label_maps import read_map
    from faultscape.metrics.overlaps.regions import connected, place

    assert main([*line, "--metric", "topology_precision", "--metric", "recall_largest"]) == 0
    classes = resolve(str(corpus.classes))
    for name, of in models_of(tmp_path / "out").items():
        cells, sizes = [], np.zeros((len(classes), 32, 2), np.int64)
        for id_ in corpus.ids:
            maps = [
                place(read_map(str(next(folder.rglob(f"{id_}*.png")))), classes, id_)
                for folder in (corpus.truth, corpus.models[name])
            ]
            cells.append(fs.metrics.counts.cldice(fs.metrics.skeleton_counts(maps[0], maps[1], len(classes))))
            sizes += fs.metrics.size_counts(
                connected(maps[0], maps[1], len(classes), 8, "cut")[0], len(classes)
            )
        mine = list(classes.groups)
        means = [np.nanmean(row[mine]) for row in cells if not np.isnan(row[mine]).all()]
        assert of["cldice"]["value"] == pytest.approx(np.mean(means), abs=1e-11)
        for k, quarter in enumerate(("smallest", "small", "large", "largest")):
            expected = np.nanmean(recall_of_quarter(sizes, k)[mine])
            assert of[f"recall_{quarter}"]["value"] == pytest.approx(expected, abs=1e-11)


def test_regions_that_are_given_have_sizes_and_no_centrelines(line: list[str], tmp_path: Path) -> None:
    given = [*line[:4], "--regions", "given", *line[4:]]
    assert main([*given, "--metric", "recall_smallest"]) == 0
    assert all(
        set(of) >= RECALLS and not set(of) & CENTRELINES for of in models_of(tmp_path / "out").values()
    )
    assert "--regions given means maps of region ids" in refused_line(*given, "--metric", "cldice")


@pytest.mark.slow
def test_a_study_keeps_what_was_asked_for(corpus: made.Corpus, tmp_path: Path) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, corpus.models, engine="local")
    fs.label.import_(study, str(corpus.truth))
    found = fs.measure(study, metric=["cldice"], resamples=20, engine="local")
    assert all(set(of) >= CENTRELINES for of in found.models.values())
    node = graph.node(Study(Path(study), study), MEASURES)
    assert node.state == "done"
    fs.predict(study, {"third": corpus.models["model-0"]}, engine="local")
    node = graph.node(Study(Path(study), study), MEASURES)
    assert node.state == "stale"
    assert "--metric cldice" in node.line
    assert main([*shlex.split(node.line)[1:], "--engine", "local"]) == 0
    again = models_of(Path(study) / "measures")
    assert (
        again["third"]["cldice"]["value"]
        == again["model-0"]["cldice"]["value"]
        == found.models["model-0"]["cldice"]["value"]
    )


@pytest.fixture
def scored(tmp_path: Path) -> tuple[list[str], list[np.ndarray], list[np.ndarray]]:
    """A line that measures anomaly scores, and the scores and masks."""
    rng = np.random.default_rng(0)
    scores, masks = [], []
    (tmp_path / "scores").mkdir()
    for k in range(9):
        coarse = rng.choice([0, 0, 0, 1], (6, 8)).astype(np.uint8)
        mask = coarse.repeat(rng.integers(1, 5), 0).repeat(rng.integers(1, 5), 1)
        mask[0] = 255
        score = (rng.random(mask.shape) + 0.6 * (mask == 1)).astype(np.float32)
        made.write(tmp_path / "masks" / f"{k}.png", mask)
        np.save(tmp_path / "scores" / f"{k}.npy", score)
        scores.append(score)
        masks.append(mask)
    line = typed("measure {tmp}/masks --anomaly a={tmp}/scores --engine local --resamples 60", tmp=tmp_path)
    return [*line, "--output", str(tmp_path / "out")], scores, masks


def sizes_of(
    scores: list[np.ndarray], masks: list[np.ndarray], alarm: float, covered: float, connectivity: Any
) -> np.ndarray:
    """Objects of each octave of sizes, and those that are found, of all images."""
    label = np.concatenate([mask.ravel() for mask in masks])
    threshold = fs.metrics.detection(
        np.concatenate([score.ravel() for score in scores]), label, alarm=alarm
    ).alarm_threshold
    of = [
        object_size_counts(score, mask, threshold, covered=covered, connectivity=connectivity)
        for score, mask in zip(scores, masks, strict=True)
    ]
    return np.sum(of, 0)


def test_regions_and_objects_of_anomalies(
    scored: tuple[list[str], list[np.ndarray], list[np.ndarray]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line, scores, masks = scored
    assert main(line) == 0
    assert "AUPRO ." in capsys.readouterr().out
    of = models_of(tmp_path / "out")["a"]
    assert of["aupro"]["value"] == pytest.approx(fs.metrics.aupro(scores, masks), abs=1e-11)
    assert of["aupro"]["low"] < of["aupro"]["value"] < of["aupro"]["high"]
    assert "rate of 0.3, divided by it" in of["aupro"]["definition"]
    assert "all pixels pooled; the interval from histograms" in of["aupro"]["definition"]
    sizes = sizes_of(scores, masks, 0.05, 0.5, 8)
    for k, name in enumerate(OBJECTS):
        assert of[name]["value"] == pytest.approx(float(recall_of_quarter(sizes, k)), abs=1e-11)
        assert of[name]["low"] <= of[name]["value"] <= of[name]["high"]
        assert (
            "0.5 of the pixels at a false positive rate of 0.05; connectivity=8; sums over images"
            in of[name]["definition"]
        )
    page = (tmp_path / "out" / "report.html").read_text()
    assert "AUPRO error" in page
    assert "Object recall error, smallest" in page


@pytest.mark.slow
def test_choices_of_regions_and_objects_are_recorded_and_measured_anew(
    scored: tuple[list[str], list[np.ndarray], list[np.ndarray]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line, scores, masks = scored
    chosen: dict[str, Any] = {"fpr_limit": 0.3, "connectivity": 8, "alarm": 0.05, "covered": 0.5}
    assert main(line) == 0
    plain, told = list(line), {}
    for name, value in (("fpr_limit", 0.1), ("connectivity", 4), ("alarm", 0.2), ("covered", 0.9)):
        # one more of them each time
        chosen[name] = value
        line += [f"--{name.replace('_', '-')}", str(value)]
        assert main(line) == 0
        assert "no effect" not in capsys.readouterr().out
        of = models_of(tmp_path / "out")["a"]
        area = fs.metrics.aupro(
            scores, masks, fpr_limit=chosen["fpr_limit"], connectivity=chosen["connectivity"]
        )
        sizes = sizes_of(scores, masks, chosen["alarm"], chosen["covered"], chosen["connectivity"])
        recalls = [float(recall_of_quarter(sizes, k)) for k in range(4)]
        assert of["aupro"]["value"] == pytest.approx(area, abs=1e-11)
        assert [of[entry]["value"] for entry in OBJECTS] == pytest.approx(recalls, abs=1e-11)
        told[area, *recalls] = name
    assert len(told) == 4  # each says something else
    assert (
        "0.9 of the pixels at a false positive rate of 0.2; connectivity=4"
        in of["object_recall_small"]["definition"]
    )
    for option, value in (("fpr_limit", "0"), ("alarm", "1.5"), ("covered", "-1")):
        assert f"{option} is above 0 and at most 1; got" in refused_line(
            *plain, f"--{option.replace('_', '-')}", value
        )
    assert "only scores were given" in refused_line(*plain, "--metric", "cldice")


def test_options_of_anomalies_say_where_they_have_no_effect(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*line, "--fpr-limit", "0.1"]) == 0
    assert "note: --fpr-limit has no effect: none of its metrics are computed" in capsys.readouterr().out
