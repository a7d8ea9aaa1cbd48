"""A metric of one's own, of a few lines in a file, stands in measure.json, the printed table, the page and
per_image.parquet like those that are built in.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import MetricError
from faultscape.reading.study import Study
from faultscape.verbs import graph
from faultscape.verbs.measure.artefact import MEASURES
from refusals import refused, refused_line, typed

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
def write(truth, prediction, classes):
    truth[:] = prediction
    return 0.0

writer = fs.metrics.metric_of_maps("writer", write, title="x", definition="x", better="low")
regional = fs.metrics.metric_of_maps("regional", lambda t, p, c: fs.metrics.regions(t, p, classes=len(c)).rom, title="x", definition="x", better="low")
below, infinite, short, over, odd = (
    fs.metrics.metric_of_maps(name, lambda t, p, c, value=value: value, title="x", definition="x", better="low", join=join, most=most)
    for name, value, join, most in (
        ("below", -5.0, "images", 1.0), ("infinite", np.inf, "images", np.inf), ("short", 2.5, "images", 2.0), ("over", (3, 2), "pooled", 1.0), ("odd", (1, 0), "pooled", 2.0),
    )
)
wide = fs.metrics.metric_of_maps("wide", lambda t, p, c: 40.0 + (p[0, 0] + p[3, 3]), title="Wide", definition="x", better="low", most=np.inf)
def correlation(truth, prediction, classes):
    judged = truth < len(classes)
    return np.corrcoef(truth[judged], len(classes) - prediction[judged])[0, 1]

mcc = fs.metrics.metric_of_maps("mcc", correlation, title="MCC error", definition="correlation", better="high", least=-1.0)
lower = fs.metrics.metric_of_maps("lower", lambda t, p, c: -1.5, title="x", definition="x", better="high", least=-1.0)
leaver = fs.metrics.metric_of_maps("leaver", lambda t, p, c: exit(3), title="x", definition="x", better="low")
broken = fs.metrics.metric_of_maps("broken", lambda t, p, c: [1.0, 2.0, 3.0], title="x", definition="x", better="low")

from faultscape.metrics.metric import Metric
calibrated = Metric("calibrated", "Calibrated", "calibrated", "calibration", "low", "pooled", "of bins", "bin_count", lambda stats, _: 0.5, needs=frozenset(["confidence"]))

def gap(score, label):
    return score[label == 1].mean() - score[label == 0].mean() if label.any() else np.nan

gap_of_anomalies = fs.metrics.metric_of_scores(
    "gap_of_anomalies", gap, of="anomaly", title="Gap error", definition="difference of {mean} scores", better="high"
)
gap_of_doubt = fs.metrics.metric_of_scores(
    "gap_of_doubt", gap, of="doubt", title="Doubt gap error", definition="difference of mean doubts", better="high", join="pooled"
)
failing = fs.metrics.metric_of_scores("failing", lambda s, a: s.nothing, of="anomaly", title="x", definition="x", better="low")
"""


@pytest.fixture
def line(tmp_path: Path) -> list[str]:
    corpus = made.corpus(tmp_path / "corpus", images=8, models=2, shape=(24, 32))
    (tmp_path / "own.py").write_text(OWN)
    models = [f"{name}={folder}" for name, folder in corpus.models.items()]
    words = typed(
        "--classes {corpus.classes} --engine local --no-boundaries --output {tmp}/out",
        corpus=corpus,
        tmp=tmp_path,
    )
    return ["measure", str(corpus.truth), *models, *words]


def test_ones_own_metrics_stand_beside_the_others(
    line: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = str(tmp_path / "own.py")
    assert main([*line, "--metric", f"{own}:wrong_share", "--metric", f"{own}:recall"]) == 0
    printed = capsys.readouterr().out
    assert "Wrong pixels" in printed
    assert "Recall ." in printed
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
    # another file is measured anew
    (tmp_path / "own.py").write_text(OWN.replace("truth != prediction", "truth == prediction"))
    assert main([*line, "--metric", f"{own}:wrong_share"]) == 0
    again = json.loads((tmp_path / "out" / "measure.json").read_text())["models"]
    assert all(
        of["wrong_share"]["value"] == pytest.approx(of["pixel_accuracy"]["value"], abs=1e-11)
        for of in again.values()
    )


@pytest.mark.slow
def test_a_study_measures_anew_with_ones_own_metric_and_notices_that_its_file_changed(tmp_path: Path) -> None:
    corpus, study = (
        made.corpus(tmp_path / "corpus", images=8, models=2, shape=(24, 32)),
        str(tmp_path / "study"),
    )
    own = tmp_path / "own.py"
    own.write_text(OWN)
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, corpus.models, engine="local")
    fs.label.import_(study, str(corpus.truth))
    fs.measure(study, metric=[f"{own}:wrong_share"], resamples=20, engine="local")

    def measures() -> graph.Node:
        return graph.node(Study(Path(study), study), MEASURES)

    assert measures().state == "done"
    own.write_text(OWN.replace("truth != prediction", "truth == prediction"))
    assert (measures().state, measures().why) == ("stale", ("the file of a metric changed",))
    assert f"--metric {own}:wrong_share" in measures().line
    fs.run(study, engine="local")
    assert measures().state == "done"
    of = json.loads((Path(study) / "measures" / "measure.json").read_text())["models"]
    assert all(
        one["wrong_share"]["value"] == pytest.approx(one["pixel_accuracy"]["value"], abs=1e-11)
        for one in of.values()
    )


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("own.py:absent", "holds no Metric called 'absent'"),
        ("own.py:broken", "gave an array of shape (3,)"),
        ("own.py:writer", "metric writer: ValueError: assignment destination is read-only"),
        (
            "own.py:below",
            (
                "metric below: gave -5; its values are NaN or finite numbers from 0 to 1; metric_of_maps(...,"
                " least=, most=) declares"
            ),
        ),
        ("own.py:infinite", "metric infinite: gave inf; its values are NaN or finite numbers from 0 to inf"),
        ("own.py:short", "metric short: gave 2.5; its values are NaN or finite numbers from 0 to 2"),
        ("own.py:over", "metric over: gave 3 / 2; its values are NaN or finite numbers from 0 to 1"),
        ("own.py:odd", "metric odd: gave 1 / 0; its values are NaN or finite numbers from 0 to 2"),
        ("own.py:lower", "metric lower: gave -1.5; its values are NaN or finite numbers from -1 to 1;"),
        ("own.py:leaver", "metric leaver: SystemExit: 3"),
        (
            "own.py:calibrated",
            (
                "'calibrated' is not a metric of your own; make one for label maps of classes with "
                "`fs.metrics.metric_of_maps`"
            ),
        ),
        (
            "own.py:gap_of_anomalies",
            "--metric gap_of_anomalies needs scores, and none were given; give --anomaly NAME=FOLDER",
        ),
        ("own.py:gap_of_doubt", "give --confidence or --doubt or --probabilities NAME=FOLDER"),
    ],
)
def test_what_is_no_metric_is_told_in_a_line(
    line: list[str], tmp_path: Path, metric: str, words: str
) -> None:
    assert words in refused_line(*line, "--metric", metric.replace("own.py", str(tmp_path / "own.py")))


def test_a_metric_may_lie_in_another_range_that_it_declares(line: list[str], tmp_path: Path) -> None:
    assert main([*line, "--metric", f"{tmp_path / 'own.py'}:wide"]) == 0
    for of in json.loads((tmp_path / "out" / "measure.json").read_text())["models"].values():
        assert 40 <= of["wide"]["low"] <= of["wide"]["value"] <= of["wide"]["high"]


def test_a_metric_may_be_negative(
    line: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*line, "--metric", f"{tmp_path / 'own.py'}:mcc"]) == 0
    found = json.loads((tmp_path / "out" / "measure.json").read_text())
    for of in found["models"].values():
        assert -1 <= of["mcc"]["low"] <= of["mcc"]["value"] < 0
        assert of["mcc"]["value"] <= of["mcc"]["high"]
    (row,) = [row for row in found["paired"] if row["metric"] == "mcc"]
    assert -2 <= row["low"] <= row["difference"] <= row["high"] <= 2
    model, of = next(iter(found["models"].items()))
    assert f"MCC {of['mcc']['value']:.3f}".replace("-0.", "-.") in capsys.readouterr().out, model
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"{1 - of['mcc']['value']:.3f}" in page  # its error


def test_the_interval_of_a_negative_metric_ends_where_its_range_does(line: list[str], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN.replace("least=-1.0)\nlower", "least=-1.0, most=0.0)\nlower"))
    assert main([*line, "--metric", f"{tmp_path / 'own.py'}:mcc"]) == 0
    of = json.loads((tmp_path / "out" / "measure.json").read_text())["models"]
    assert all(-1 <= one["mcc"]["low"] <= one["mcc"]["high"] <= 0 for one in of.values())


@pytest.mark.parametrize("least", [float("inf"), float("nan"), "0"])
def test_the_beginning_of_a_range_is_a_number(least: Any) -> None:
    with refused(MetricError, "least is the smallest possible value, a number or -math.inf; got"):
        fs.metrics.metric_of_scores(
            "x", lambda *_: 0, of="doubt", title="x", definition="x", better="low", least=least
        )


@pytest.mark.parametrize("most", [0, -1.0, float("nan"), "1"])
def test_the_end_of_a_range_is_a_number_above_0(most: Any) -> None:
    with refused(MetricError, "most is the largest possible value, a number above 0 or math.inf; got"):
        fs.metrics.metric_of_maps("x", lambda *_: 0, title="x", definition="x", better="low", most=most)


def test_the_metric_of_the_page_is_measured(line: list[str], tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "verbs" / "measure.md").read_text()
    (block,) = [
        block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "metric_of_maps" in block
    ]
    (tmp_path / "mine.py").write_text(block)
    assert (
        main([*line, "--metric", f"{tmp_path / 'mine.py'}:LOST", "--metric", f"{tmp_path / 'mine.py'}:EXTRA"])
        == 0
    )
    found = json.loads((tmp_path / "out" / "measure.json").read_text())["models"]
    assert all(0 <= of["lost"]["value"] <= 1 for of in found.values())
    assert all(of["extra"]["value"] >= 0 for of in found.values())


def test_a_metric_of_ones_own_may_call_those_that_are_there(line: list[str], tmp_path: Path) -> None:
    assert main([*line, "--metric", f"{tmp_path / 'own.py'}:regional"]) == 0


@pytest.fixture
def scored(tmp_path: Path) -> list[str]:
    """A line that measures the anomaly scores of one model."""
    (tmp_path / "own.py").write_text(OWN)
    rng = np.random.default_rng(0)
    for folder in ("masks", "scores"):
        (tmp_path / folder).mkdir()
    for k in range(7):
        mask = (rng.random((8, 9)) < 0.3).astype(np.uint8)
        Image.fromarray(mask).save(tmp_path / "masks" / f"{k}.png")
        np.save(tmp_path / "scores" / f"{k}.npy", rng.random((8, 9)).astype(np.float32))
    line = ["measure", str(tmp_path / "masks"), "--anomaly", f"a={tmp_path / 'scores'}", "--engine", "local"]
    return [*line, "--output", str(tmp_path / "out")]


def of_image(tmp_path: Path, k: int) -> float:
    score = np.load(tmp_path / "scores" / f"{k}.npy")
    mask = np.asarray(Image.open(tmp_path / "masks" / f"{k}.png"))
    return float(score[mask == 1].mean() - score[mask == 0].mean())


@pytest.mark.slow
def test_a_metric_of_scores_stands_beside_the_others(
    scored: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(scored) == 0  # measured without it before
    own = tmp_path / "own.py"
    assert main([*scored, "--metric", f"{own}:gap_of_anomalies"]) == 0
    assert "Gap " in capsys.readouterr().out
    of = json.loads((tmp_path / "out" / "measure.json").read_text())["models"]["a"]
    gaps = [of_image(tmp_path, k) for k in range(7)]
    assert of["gap_of_anomalies"]["value"] == pytest.approx(np.mean(gaps), rel=1e-6)
    assert of["gap_of_anomalies"]["low"] <= of["gap_of_anomalies"]["value"] < of["gap_of_anomalies"]["high"]
    assert of["gap_of_anomalies"]["definition"].startswith("difference of {mean} scores; mean over images")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<h3>Scores</h3>" in page
    assert "<h3>Maps</h3>" not in page
    assert "Gap error" in page
    table = pq.read_table(tmp_path / "out" / "per_image.parquet")
    assert np.allclose(table["gap_of_anomalies"], gaps)
    # is measured anew
    own.write_text(OWN.replace("score[label == 1].mean() - ", "2 * score[label == 1].mean() - "))
    assert main([*scored, "--metric", f"{own}:gap_of_anomalies"]) == 0
    again = json.loads((tmp_path / "out" / "measure.json").read_text())["models"]["a"]
    assert again["gap_of_anomalies"]["value"] > of["gap_of_anomalies"]["value"]
    assert again["auroc"] == of["auroc"]
    assert "metric failing: AttributeError" in refused_line(*scored, "--metric", f"{own}:failing")


@pytest.mark.slow
def test_a_metric_of_doubt_stands_beside_those_of_maps(line: list[str], tmp_path: Path) -> None:
    folder = Path(line[2].partition("=")[2])
    rng = np.random.default_rng(1)
    for path in sorted(folder.rglob("*.png")):
        out = tmp_path / "doubt" / path.relative_to(folder).with_suffix(".npy")
        out.parent.mkdir(parents=True, exist_ok=True)
        np.save(out, rng.random(np.asarray(Image.open(path)).shape[:2]).astype(np.float32))
    name, own = line[2].partition("=")[0], tmp_path / "own.py"
    own_words = [
        word for metric in ("gap_of_doubt", "wrong_share") for word in ("--metric", f"{own}:{metric}")
    ]
    assert main([*line, "--doubt", f"{name}={tmp_path / 'doubt'}", *own_words]) == 0
    of = json.loads((tmp_path / "out" / "measure.json").read_text())["models"]
    assert abs(of[name]["gap_of_doubt"]["value"]) < 0.1  # doubt says nothing here
    assert "no interval" in of[name]["gap_of_doubt"]["definition"]
    assert {model for model, found in of.items() if "gap_of_doubt" in found} == {name}
    assert all("wrong_share" in found for found in of.values())


def test_a_metric_of_maps_is_refused_where_there_are_scores_alone(scored: list[str], tmp_path: Path) -> None:
    line = scored
    assert "only scores were given" in refused_line(*line, "--metric", f"{tmp_path / 'own.py'}:wrong_share")
    assert not (tmp_path / "out").exists()
    assert main(line) == 0  # without it, the scores are measured
