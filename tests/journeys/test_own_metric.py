"""A metric of one's own, of a few lines in a file, stands in measure.json, the printed table, the page and per_image.parquet like those that are built in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.stages import graph
from faultscape.stages.artefacts.measures import MEASURES
from faultscape.stages.snapshot import Snapshot
from refusals import refused_line

OWN = """
import numpy as np
import faultscape as fs

def count(truth, prediction, classes):
    judged = truth < len(classes)
    return [((truth != prediction) & judged).sum(), judged.sum()]

wrong_share = fs.metrics.metric_of_maps(
    "wrong_share", count, title="Wrong pixels", definition="share of judged pixels that are wrong", better="low", join="pooled"
)

def hits(truth, prediction, classes):
    return [np.nan if not (truth == k).any() else float((prediction[truth == k] == k).mean()) for k in range(len(classes))]

recall = fs.metrics.metric_of_maps("recall", hits, title="Recall error", definition="share of a class found", better="high", join="cells")
leaver = fs.metrics.metric_of_maps("leaver", lambda t, p, c: exit(3), title="x", definition="x", better="low")
broken = fs.metrics.metric_of_maps("broken", lambda t, p, c: [1.0, 2.0, 3.0], title="x", definition="x", better="low")

from faultscape.metrics.metric import Metric
scored = Metric("scored", "Scored", "scored", "anomaly scores", "high", "pooled", "of scores", "score", lambda stats, _: 0.5, needs=frozenset(["anomaly"]))
"""


@pytest.fixture
def line(tmp_path: Path) -> list[str]:
    corpus = made.corpus(tmp_path / "corpus", images=8, models=2, shape=(24, 32))
    (tmp_path / "own.py").write_text(OWN)
    models = [f"{name}={folder}" for name, folder in corpus.models.items()]
    words = ["--classes", str(corpus.classes), "--engine", "local", "--no-boundaries", "--output", str(tmp_path / "out")]
    return ["measure", str(corpus.truth), *models, *words]


def test_ones_own_metrics_stand_beside_the_others(line: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = str(tmp_path / "own.py")
    assert main([*line, "--metric", f"{own}:wrong_share", "--metric", f"{own}:recall"]) == 0
    printed = capsys.readouterr().out
    assert "Wrong pixels" in printed
    assert "Recall error" in printed
    found = json.loads((tmp_path / "out" / "measure.json").read_text())
    for of in found["models"].values():
        assert of["wrong_share"]["value"] == pytest.approx(1 - of["pixel_accuracy"]["value"], abs=1e-11)
        assert of["wrong_share"]["low"] < of["wrong_share"]["value"] < of["wrong_share"]["high"]
        assert of["recall"]["better"] == "high"
        assert set(of["recall"]["per_class"]) == set(found["classes"])
    assert {"wrong_share", "recall"} <= {row["metric"] for row in found["paired"]}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Wrong pixels" in page
    assert "share of judged pixels that are wrong" in page
    table = pq.read_table(tmp_path / "out" / "per_image.parquet")
    assert np.allclose(np.array(table["wrong_share"]), 1 - np.array(table["pixel_accuracy"]))
    (tmp_path / "own.py").write_text(OWN.replace("truth != prediction", "truth == prediction"))  # another file is measured anew
    assert main([*line, "--metric", f"{own}:wrong_share"]) == 0
    again = json.loads((tmp_path / "out" / "measure.json").read_text())["models"]
    assert all(of["wrong_share"]["value"] == pytest.approx(of["pixel_accuracy"]["value"], abs=1e-11) for of in again.values())


def test_a_study_measures_anew_with_ones_own_metric_and_notices_that_its_file_changed(tmp_path: Path) -> None:
    corpus, study = made.corpus(tmp_path / "corpus", images=8, models=2, shape=(24, 32)), str(tmp_path / "study")
    own = tmp_path / "own.py"
    own.write_text(OWN)
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, corpus.models, engine="local")
    fs.label.import_(study, str(corpus.truth))
    fs.measure(study, metric=[f"{own}:wrong_share"], resamples=20, engine="local")

    def measures() -> graph.Node:
        return graph.node(Snapshot(Path(study), study), MEASURES)

    assert measures().state == "done"
    own.write_text(OWN.replace("truth != prediction", "truth == prediction"))
    assert (measures().state, measures().why) == ("stale", ("the file of a metric changed",))
    assert f"--metric {own}:wrong_share" in measures().line
    fs.run(study, engine="local")
    assert measures().state == "done"
    of = json.loads((Path(study) / "measures" / "measure.json").read_text())["models"]
    assert all(one["wrong_share"]["value"] == pytest.approx(one["pixel_accuracy"]["value"], abs=1e-11) for one in of.values())


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("own.py:absent", "holds no Metric called 'absent'"),
        ("nope", "metric 'nope' is not known; give one of your own as file.py:function"),
        ("own.py:broken", "gave an array of shape (3,)"),
        ("own.py:leaver", "metric leaver: SystemExit: 3"),
        ("miou2", "file.py:function"),
        (
            "own.py:scored",
            "'scored' counts nothing of its own; a metric of your own is of label maps of classes (not of regions given as ids, scores",
        ),
    ],
)
def test_what_is_no_metric_is_told_in_a_line(line: list[str], tmp_path: Path, metric: str, words: str) -> None:
    assert words in refused_line(*line, "--metric", metric.replace("own.py", str(tmp_path / "own.py")))


def test_a_metric_of_maps_is_refused_where_there_are_scores_alone(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    rng = np.random.default_rng(0)
    for folder in ("masks", "scores"):
        (tmp_path / folder).mkdir()
    for k in range(3):
        mask = (rng.random((8, 9)) < 0.3).astype(np.uint8)
        Image.fromarray(mask).save(tmp_path / "masks" / f"{k}.png")
        np.save(tmp_path / "scores" / f"{k}.npy", rng.random((8, 9)).astype(np.float32))
    line = ["measure", str(tmp_path / "masks"), "--anomaly", f"a={tmp_path / 'scores'}", "--engine", "local"]
    line += ["--output", str(tmp_path / "out")]
    assert "there are scores alone here" in refused_line(*line, "--metric", f"{tmp_path / 'own.py'}:wrong_share")
    assert not (tmp_path / "out").exists()
    assert main(line) == 0  # without it, the scores are measured
