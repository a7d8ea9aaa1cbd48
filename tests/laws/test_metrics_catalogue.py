"""The law of METRICS: void changes none, the order of images changes none, undefined is NaN, a perfect
prediction is best, and images come together as the entry says.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import faultscape as fs
import made
from faultscape.errors import MetricError
from faultscape.metrics import calibration, image_statistics, selective
from faultscape.metrics.catalogue import GROUPS, METRICS, named
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.evidence import Means
from faultscape.metrics.metric import Groups, Metric, metric_of_maps, metric_of_scores
from faultscape.metrics.overlaps import components, recall_by_size, regions
from faultscape.metrics.scores.detection import detection
from faultscape.metrics.scores.region_overlap import region_shares
from faultscape.metrics.summary import Summary, of_images, summarise
from faultscape.reporting.measure import document
from faultscape.verbs.measure.scores import model_scores as scores
from refusals import refused, typed

C = 3
CLASSES, DEFINITIONS = fs.classes.resolve(C), Definitions()
OF_MAPS = [metric for metric in METRICS if metric.needs & {"connected", "boundaries"}]
OF_SCORES = [metric for metric in METRICS if metric not in OF_MAPS]


def pairs(images: int = 6) -> list[tuple[np.ndarray, np.ndarray]]:
    """(truth, prediction) of places, with void in the truth."""
    rng = np.random.default_rng(5)
    truths = [np.minimum(made.blobs(rng, (24, 32)), C - 1).astype(np.uint8) for _ in range(images)]
    out = [(truth, np.minimum(made.disturbed(rng, truth, 3), C - 1).astype(np.uint8)) for truth in truths]
    # and quite other ones
    out += [
        (truth, prediction.copy()) for truth, (prediction, _) in zip(truths, out[1:] + out[:1], strict=True)
    ]
    for truth, _ in out:
        truth[:4] = C
    return out


def statistics(of: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    also = {metric.reads for metric in METRICS if metric.on_request}
    rows = [
        image_statistics.of_maps(truth, prediction, CLASSES, DEFINITIONS, also=also)[0]
        for truth, prediction in of
    ]
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def summary_of(metric: Metric, of: list[tuple[np.ndarray, np.ndarray]]) -> Summary:
    stats = statistics(of)
    return summarise(stats, DEFINITIONS, CLASSES.groups, np.ones(len(of), bool), [metric])[metric.name]


@pytest.mark.parametrize("metric", OF_MAPS, ids=lambda metric: metric.name)
def test_a_metric_of_maps_obeys_the_law(metric: Metric) -> None:
    of = pairs()
    value = summary_of(metric, of).value
    assert metric.least < value < metric.most
    painted = [(truth, np.where(truth == C, 1, prediction).astype(np.uint8)) for truth, prediction in of]
    if metric.group != "boundaries" and not metric.name.endswith("q"):
        # an edge or a region that void cuts is another edge or region
        assert (
            summary_of(metric, painted).value
            == summary_of(metric, [(t, np.where(t == C, 2, p).astype(np.uint8)) for t, p in of]).value
        )
    assert summary_of(metric, of[::-1]).value == pytest.approx(value, abs=1e-12)
    perfect = summary_of(metric, [(truth, truth) for truth, _ in of]).value
    assert perfect == pytest.approx(metric.most if metric.better == "high" else 0.0, abs=1e-12)
    nothing = np.full((24, 32), C, np.uint8)
    assert np.isnan(summary_of(metric, [(nothing, nothing)] * 2).value)


@pytest.mark.parametrize("metric", OF_MAPS, ids=lambda metric: metric.name)
def test_images_come_together_as_the_entry_says(metric: Metric) -> None:
    of, groups = pairs(), CLASSES.groups
    stats = statistics(of)
    value = summary_of(metric, of).value
    if metric.join == "pooled":
        counts = {name: values.sum(0)[None] for name, values in stats.items() if values.ndim > 1}
        assert value == pytest.approx(float(metric.compute(counts, DEFINITIONS)[0]), abs=1e-12)
    elif metric.join == "cells":
        assert value == pytest.approx(
            np.nanmean(regions.mean(metric.compute(stats, DEFINITIONS), 1)), abs=1e-12
        )
    else:
        assert value == pytest.approx(np.nanmean(metric.compute(stats, DEFINITIONS)), abs=1e-12)
    alone = of_images(stats, DEFINITIONS, groups, [metric])[metric.name]
    assert alone.shape == (len(of),)
    assert alone[0] == pytest.approx(summary_of(metric, of[:1]).value, abs=1e-12, nan_ok=True)


def pixels(kind: str = "noisy", *, positives: bool = True) -> dict[str, Any]:
    """What score metrics read, of one image: anomaly or doubt, the label, and the counts made of both; the
    best ranking tells apart, the best calibration is sure.
    """
    rng = np.random.default_rng(2)
    # mistakes fill windows
    label = (rng.random((20, 30)) < 0.3 * positives).repeat(2, 0).repeat(2, 1).astype(np.uint8)
    noise = rng.random(label.shape)
    score = {
        "noisy": 0.3 * label + 0.7 * noise,
        "told apart": 0.6 * label + 0.4 * noise,
        "sure": label.astype(float),
    }[kind]
    label[:4] = 255
    score[:4] = 0.5
    return read_of(score, label)


def read_of(score: np.ndarray, label: np.ndarray) -> dict[str, Any]:
    valid, right = label != 255, label == 0
    truth = np.where(valid, right, 2).astype(np.uint8)  # class 1 was said, and is true where it is right
    probabilities = np.stack([score, 1 - score])
    read = {"score": score[valid], "label": label[valid], "judged": np.array(valid.sum())}
    read["windows"] = selective.window_counts(score, label)
    read |= calibration.calibration_counts(1 - score, right, valid)
    read |= calibration.probability_counts(probabilities, truth, valid)
    read["fine"] = calibration.fine_counts(1 - score, right, valid)
    read |= components.component_counts(score, label, 0.5)
    read["share"] = np.zeros(label.shape)
    read["share"][label == 1] = region_shares(label == 1)
    read["share"] = read["share"][valid]
    found = detection(score, label, alarm=DEFINITIONS.alarm)
    read["object_sizes"] = recall_by_size.object_size_counts(score, label, found.alarm_threshold)
    return read


@pytest.mark.parametrize("metric", OF_SCORES, ids=lambda metric: metric.name)
def test_a_metric_of_scores_obeys_the_law(metric: Metric) -> None:
    value = float(metric.compute(pixels(), DEFINITIONS))
    best = float(
        metric.compute(pixels("sure" if metric.group == "calibration" else "told apart"), DEFINITIONS)
    )
    assert metric.least < value <= metric.most
    assert best > value if metric.better == "high" else best < value
    rank = {
        "average_precision",
        "auroc",
        "fpr95",
        "aupro",
        "misclassification_ap",
        "calibration_auroc",
        "misclassification_fpr95",
    }
    if metric.name in rank or metric.reads == "object_sizes":
        assert np.isnan(float(metric.compute(pixels(positives=False), DEFINITIONS)))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_an_entry_is_complete(metric: Metric) -> None:
    assert metric.group in GROUPS
    assert metric.title
    assert metric.says
    assert metric.formula, "a catalogue's entry has its formula in LaTeX, for its page"
    assert set(metric.options) <= {field.name for field in fields(Definitions)}
    assert "{" not in metric.text(DEFINITIONS)
    for (
        option
    ) in metric.options:  # what changes it is what its definition names, or how regions and scores come about
        told = f"{{{option}" in metric.definition or any(
            f"{{{word}}}" in metric.definition
            for word in ("connected", "regional", "panoptic", "segments", "partition", "rule", "at")
        )
        assert told or option in (
            "pooling",
            "thresholds",
            "rounding",
            "window",
            "certain",
            "accurate",
            "fpr_rule",
            "regions",
            "connectivity",
            "void",
        ), option


def test_names_and_places_are_each_ones_own() -> None:
    assert len(named()) == len(METRICS)
    placed = [(metric.group, metric.place) for metric in METRICS if metric.place < np.inf]
    assert len(set(placed)) == len(placed)
    with refused(MetricError, "this name is already taken"):
        named([replace(METRICS[0])])


def test_a_metric_that_no_entry_lists_is_not_written() -> None:
    odd = Summary(0.5, None, 0, "mean over images", Means(np.full((2, 1), 0.5)))
    with pytest.raises(KeyError, match="unlisted"):
        document.models({"a": {"unlisted": odd}}, DEFINITIONS, ("x",), None, named())


ADDED = """
import sys
import numpy as np
from faultscape.metrics import catalogue
from faultscape.metrics.metric import Groups, Metric

def gap(stats, _):
    score, label = stats["score"], stats["label"]
    return score[label == 1].mean() - score[label == 0].mean()

def share(stats, _):
    return (stats["label"] == 1).mean()

def share_of_groups(groups: Groups, _):
    return groups.anomalous.sum(1) / (groups.anomalous + groups.known).sum(1)

ANOMALY = frozenset(["anomaly"])
catalogue.METRICS += (
    Metric("gap", "Gap error", "1 − gap", "anomaly scores", "high", "images", "mean gap; {curve}", "score", gap, needs=ANOMALY,
           place=6, main=True, column=17, short="gap error"),
    Metric("share", "Share", "share of anomalies", "anomaly scores", "low", "pooled", "share", "score", share, needs=ANOMALY,
           place=7, of_groups=share_of_groups, headline=-1),
    Metric("bare", "Bare", "share again", "anomaly scores", "low", "pooled", "share", "score", share, needs=ANOMALY, place=8),
    Metric("found", "Found", "true components", "anomaly scores", "low", "pooled", "true ones", "component_tp",
           lambda stats, _: stats["component_tp"][..., 0] / 100, needs=ANOMALY, place=9),
)
from faultscape.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_an_entry_of_scores_that_is_added_is_computed_and_shown(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    masks, scores = [], []
    for k in range(8):
        mask = (rng.random((10, 12)) < 0.2).astype(np.uint8)
        mask[:2] = 255
        score = (rng.random(mask.shape) * 0.8 + 0.2 * (mask == 1)).astype(np.float32)
        for name in ("a", "b"):
            (tmp_path / name).mkdir(exist_ok=True)
            np.save(tmp_path / name / f"{k}.npy", score if name == "a" else score[::-1].copy())
        made.write(tmp_path / "masks" / f"{k}.png", mask)
        masks.append(mask)
        scores.append(score)
    line = typed("measure masks --anomaly a=a --anomaly b=b --engine local --resamples 50 -o out")
    done = subprocess.run(
        [sys.executable, "-c", ADDED, *line], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "  gap " in done.stdout
    document = json.loads((tmp_path / "out" / "measure.json").read_text())
    found = document["models"]["a"]
    gaps = [float(s[m == 1].mean() - s[m == 0].mean()) for s, m in zip(scores, masks, strict=True)]
    judged = np.concatenate([mask[mask != 255] for mask in masks])
    assert found["gap"]["value"] == pytest.approx(np.mean(gaps), rel=1e-6)
    assert found["share"]["value"] == found["bare"]["value"] == pytest.approx((judged == 1).mean(), abs=1e-11)
    for name in ("gap", "share"):
        assert found[name]["low"] < found[name]["value"] < found[name]["high"]
    assert found["bare"]["low"] is None
    assert "no interval" in found["bare"]["definition"]
    assert found["gap"]["definition"].startswith("mean gap; step")
    assert {"gap", "share", "bare", "found"} <= {row["metric"] for row in document["paired"]}
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(title in page for title in ("Gap error", "Share", "Bare", "Found"))
    columns = pq.read_table(tmp_path / "out" / "per_image.parquet").filter(pc.field("model") == "a")
    assert np.allclose(columns["gap"].to_numpy(), gaps)


@pytest.mark.parametrize("metric", OF_SCORES, ids=lambda metric: metric.name)
def test_what_is_streamed_is_what_compute_makes_of_pixels(metric: Metric) -> None:
    assert (metric.reads == "score") == bool(metric.streamed)
    if metric.streamed in scores.COLUMNS or metric.reads != "score":
        return
    assert metric.of_groups is not None
    read = pixels()
    known, anomalous = selective.groups(read["score"], read["label"])
    at = np.unique(read["score"], return_inverse=True)[1]
    shares = np.bincount(at, read["share"])
    drawn = metric.of_groups(Groups(known[None], anomalous[None], shares=shares[None]), DEFINITIONS)
    assert drawn == pytest.approx(metric.compute(read, DEFINITIONS))


def test_what_ones_own_metric_must_say() -> None:
    say: dict[str, Any] = {"title": "t", "definition": "d", "better": "low"}
    for wrong in ({"better": "up"}, {"join": "sum"}):
        with refused(MetricError, "better is high or low"):
            metric_of_maps("mine", lambda *_: 0.0, **cast("Any", say | wrong))
    with refused(MetricError, "letters, digits and underscores"):
        metric_of_maps("my metric", lambda *_: 0.0, **say)
    with refused(MetricError, "join is pooled or images; got 'low' and 'cells'"):
        metric_of_scores("mine", lambda *_: 0.0, of="doubt", **cast("Any", say | {"join": "cells"}))
    with refused(MetricError, "of is anomaly or doubt; got 'pixels'"):
        metric_of_scores("mine", lambda *_: 0.0, of=cast("Any", "pixels"), **say)
