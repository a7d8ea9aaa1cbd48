"""The law of METRICS: void changes none, the order of images changes none, undefined is NaN, a perfect prediction is best, and images come together as the entry says."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import MetricError
from faultscape.metrics import calibration, image_statistics, selective
from faultscape.metrics.catalogue import GROUPS, METRICS, named
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.evidence import Means
from faultscape.metrics.metric import Metric, metric_of_maps
from faultscape.metrics.overlaps import components, regions
from faultscape.metrics.summary import Summary, of_images, summarise
from faultscape.reporting.measure import document
from refusals import refused

C = 3
CLASSES, DEFINITIONS = fs.classes.resolve(C), Definitions()
OF_MAPS = [metric for metric in METRICS if metric.needs & {"connected", "boundaries"}]
OF_SCORES = [metric for metric in METRICS if metric not in OF_MAPS]


def pairs(images: int = 6) -> list[tuple[np.ndarray, np.ndarray]]:
    """(truth, prediction) of places, with void in the truth."""
    rng = np.random.default_rng(5)
    truths = [np.minimum(made.blobs(rng, (24, 32)), C - 1).astype(np.uint8) for _ in range(images)]
    out = [(truth, np.minimum(made.disturbed(rng, truth, 3), C - 1).astype(np.uint8)) for truth in truths]
    out += [
        (truth, prediction.copy()) for truth, (prediction, _) in zip(truths, out[1:] + out[:1], strict=True)
    ]  # and quite other ones
    for truth, _ in out:
        truth[:4] = C
    return out


def statistics(of: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    rows = [image_statistics.of_maps(truth, prediction, CLASSES, DEFINITIONS)[0] for truth, prediction in of]
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def summary_of(metric: Metric, of: list[tuple[np.ndarray, np.ndarray]]) -> Summary:
    stats = statistics(of)
    return summarise(stats, DEFINITIONS, CLASSES.groups, np.ones(len(of), bool), [metric])[metric.name]


@pytest.mark.parametrize("metric", OF_MAPS, ids=lambda metric: metric.name)
def test_a_metric_of_maps_obeys_the_law(metric: Metric) -> None:
    of = pairs()
    value = summary_of(metric, of).value
    assert 0 < value < metric.most
    painted = [(truth, np.where(truth == C, 1, prediction).astype(np.uint8)) for truth, prediction in of]
    if metric.group != "boundaries" and not metric.name.endswith(
        "q"
    ):  # an edge or a region that void cuts is another edge or region
        assert (
            summary_of(metric, painted).value
            == summary_of(metric, [(t, np.where(t == C, 2, p).astype(np.uint8)) for t, p in of]).value
        )
    assert summary_of(metric, of[::-1]).value == pytest.approx(value, abs=1e-12)
    perfect = summary_of(metric, [(truth, truth) for truth, _ in of]).value
    assert perfect == pytest.approx(1.0 if metric.better == "high" else 0.0, abs=1e-12)
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
        assert value == pytest.approx(np.nanmean(regions.mean(metric.compute(stats, DEFINITIONS), 1)), abs=1e-12)
    else:
        assert value == pytest.approx(np.nanmean(metric.compute(stats, DEFINITIONS)), abs=1e-12)
    alone = of_images(stats, DEFINITIONS, groups, [metric])[metric.name]
    assert alone.shape == (len(of),)
    assert alone[0] == pytest.approx(summary_of(metric, of[:1]).value, abs=1e-12, nan_ok=True)


def pixels(kind: str = "noisy", *, positives: bool = True) -> dict[str, Any]:
    """What score metrics read, of one image: anomaly or doubt, the label, and the counts made of both; the best ranking tells apart, the best calibration is sure."""
    rng = np.random.default_rng(2)
    label = (rng.random((10, 15)) < 0.3 * positives).repeat(2, 0).repeat(2, 1).astype(np.uint8)  # mistakes fill windows
    noise = rng.random(label.shape)
    score = {"noisy": 0.3 * label + 0.7 * noise, "told apart": 0.6 * label + 0.4 * noise, "sure": label.astype(float)}[kind]
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
    return read


@pytest.mark.parametrize("metric", OF_SCORES, ids=lambda metric: metric.name)
def test_a_metric_of_scores_obeys_the_law(metric: Metric) -> None:
    value = float(metric.compute(pixels(), DEFINITIONS))
    best = float(metric.compute(pixels("sure" if metric.group == "calibration" else "told apart"), DEFINITIONS))
    assert 0 < value <= metric.most
    assert best > value if metric.better == "high" else best < value
    rank = {"average_precision", "auroc", "fpr95", "misclassification_ap", "calibration_auroc", "misclassification_fpr95"}
    if metric.name in rank:
        assert np.isnan(float(metric.compute(pixels(positives=False), DEFINITIONS)))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_an_entry_is_complete(metric: Metric) -> None:
    assert metric.group in GROUPS
    assert metric.title
    assert metric.says
    assert set(metric.options) <= {field.name for field in fields(Definitions)}
    assert "{" not in metric.text(DEFINITIONS)
    for option in metric.options:  # what changes it is what its definition names, or how regions and scores come about
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
    assert len({(metric.group, metric.place) for metric in METRICS}) == len(METRICS)
    with refused(MetricError, "there is one of this name"):
        named([replace(METRICS[0])])


def test_a_metric_that_no_entry_lists_is_not_written() -> None:
    odd = Summary(0.5, None, 0, "mean over images", Means(np.full((2, 1), 0.5)))
    with pytest.raises(KeyError, match="unlisted"):
        document.models({"a": {"unlisted": odd}}, DEFINITIONS, ("x",), None, named())


def test_what_ones_own_metric_must_say() -> None:
    say: dict[str, Any] = {"title": "t", "definition": "d", "better": "low"}
    for wrong in ({"better": "up"}, {"join": "sum"}):
        with refused(MetricError, "better is high or low"):
            metric_of_maps("mine", lambda *_: 0.0, **(say | wrong))
    with refused(MetricError, "letters, digits and underscores"):
        metric_of_maps("my metric", lambda *_: 0.0, **say)
