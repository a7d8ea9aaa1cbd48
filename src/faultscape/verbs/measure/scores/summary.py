"""Summarize the scores of a data set: metrics and curves of its models.

Conventions: a model's kind is anomaly, or the first of doubt, probabilities, confidence that it has. Point
estimates come from the exact scores. Intervals come from histograms of coarse scores, shifted by the
difference of the two, which is noted if it is not small. The catalogue defines the metrics and how each is
computed; one that is not streamed is computed from the pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultscape.metrics import calibration
from faultscape.metrics.catalogue import named
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.evidence import Drawn, Means, Ratios
from faultscape.metrics.intervals.slopes import of_sums
from faultscape.metrics.intervals.units import Draws
from faultscape.metrics.metric import Groups, Metric
from faultscape.metrics.scores import bootstrap
from faultscape.metrics.summary import Summary, weighed
from faultscape.verbs.measure.jobs import ScoreJob
from faultscape.verbs.measure.scores import model_scores as scores
from faultscape.verbs.measure.sets import DataSet

FROM = "the interval from histograms of scores in 65,536 steps"


@dataclass(eq=False)
class Scored:
    """The results from a data set's scores; empty if it has none."""

    data: DataSet
    definitions: Definitions
    found: dict[str, scores.Found] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    failures: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    metrics: Mapping[str, Metric] = field(default_factory=named)
    jobs: dict[str, ScoreJob] = field(default_factory=dict)

    @property
    def present(self) -> dict[str, np.ndarray]:
        """{NAME: (I,)}, which images of a model have scores."""
        return {name: _mask(found["usable"], len(self.data.ids)) for name, found in self.found.items()}

    @property
    def images(self) -> dict[str, dict[str, np.ndarray]]:
        """{NAME: {metric: (I,)}} of single images."""
        out = {}
        for name, found in self.found.items():
            if not len(found["usable"]):
                continue
            out[name] = {}
            for metric in self._reading(name, "score"):
                if metric.streamed in scores.COLUMNS:
                    alone = found["alone"][:, scores.COLUMNS.index(metric.streamed)]
                elif metric.streamed:
                    continue
                else:
                    alone = found[f"alone_{metric.name}"]
                out[name][metric.name] = _spread(alone, found["usable"], len(self.data.ids))
        return out

    @property
    def curves(self) -> dict[str, dict[str, Any]]:
        """{NAME: {precision_recall, roc, reliability}}, as points."""
        out: dict[str, dict[str, Any]] = {}
        for name, found in self.found.items():
            if not len(found["usable"]):
                continue
            out[name] = {
                curve: drawn
                for curve, x, y in (("precision_recall", "recall", "precision"), ("roc", "fpr", "tpr"))
                if (drawn := _points(found, x, y))
            }
            if "row_bin_count" in found:
                diagram = calibration.reliability(
                    {key: found[f"row_{key}"].sum(0) for key in ("bin_count", "bin_right", "bin_confidence")}
                )
                known = diagram.count > 0
                out[name]["reliability"] = {
                    "confidence": [float(f"{v:.6g}") for v in diagram.confidence[known]],
                    "accuracy": [float(f"{v:.6g}") for v in diagram.accuracy[known]],
                    "count": diagram.count[known].tolist(),
                }
        return out

    @property
    def anomalous(self) -> dict[str, float]:
        """{NAME: share of anomalous pixels} over the images with anomaly scores of a model: the average
        precision of a random score.
        """
        out = {}
        for name, found in self.found.items():
            if self.kinds[name] == "anomaly" and len(found["usable"]):
                anomalous, known = (int(found[key].sum(dtype=np.int64)) for key in ("anomalous", "known"))
                if anomalous + known:
                    out[name] = anomalous / (anomalous + known)
        return out

    def summaries(self, name: str, draws: Draws, *, whole: bool = True) -> dict[str, Summary]:
        """Return {metric: Summary} of a model over the images that count in ``draws``, in the order of the
        catalogue.
        """
        found = self.found.get(name)
        if found is None or not len(found["usable"]):
            return {}
        out = self._ranks(name, found, draws, whole=whole) | self._of_pixels(name, found, draws, whole=whole)
        out |= self._of_sums(found, draws) | self._of_fine(name, found, draws, whole=whole)
        return {metric: out[metric] for metric in self.metrics if metric in out}

    def _reading(self, name: str, reads: str) -> list[Metric]:
        """Return the metrics for a model's kind of scores that read a statistic."""
        return [
            metric
            for metric in self.metrics.values()
            if metric.reads == reads and self.kinds[name] in metric.needs
        ]

    def _rows(self, found: scores.Found) -> dict[str, np.ndarray]:
        """Return {statistic: (I, ...)} of the images, 0 for an image without scores."""
        out = {}
        for key in (key.removeprefix("row_") for key in found if key.startswith("row_")):
            held = found[f"row_{key}"]
            out[key] = np.zeros((len(self.data.ids), *held.shape[1:]), held.dtype)
            out[key][found["usable"]] = held
        return out

    def _used(self, found: scores.Found, draws: Draws) -> np.ndarray:
        """Return (I,), which images have scores and count."""
        return _mask(found["usable"], len(self.data.ids)) & draws.used

    def _ranks(self, name: str, found: scores.Found, draws: Draws, *, whole: bool) -> dict[str, Summary]:
        """Return the metrics that rank pixels; for a subset of images (not ``whole``) they come from the
        histograms, not from exact scores.
        """
        wanted = [metric for metric in self._reading(name, "score") if metric.streamed in scores.COLUMNS]
        images = scores.sparse_images(found, len(self.data.ids))
        drawn = bootstrap.replicates(images, draws.weights, fpr_rule=self.definitions.fpr_rule)
        exact = found["areas"]
        used = self._used(found, draws)
        if "correct_ap" in found:
            turned = [
                bootstrap.SparseHistogram(65535 - i.places[::-1], i.anomalous[::-1], i.known[::-1])
                for i in images
            ]
            drawn = np.column_stack([drawn, bootstrap.replicates(turned, draws.weights)[:, 0]])
            exact = np.append(exact, found["correct_ap"])
        out = {}
        for metric in wanted:
            k = scores.COLUMNS.index(metric.streamed)
            alone = found["alone"][:, k]
            shape = metric.shape
            if self.definitions.pooling != "pooled":  # over images with both kinds of pixels
                alone = np.where(np.isnan(found["alone"][:, 1]), np.nan, alone)
                out[metric.name] = self._mean_of_images(alone, found, draws)
                continue
            if not whole:
                out[metric.name] = _drawn(
                    drawn[:, k], draws, used, 0, "histograms of scores in 65,536 steps", shape=shape
                )
                continue
            out[metric.name] = _drawn(
                _moved(drawn[:, k], exact[k]),
                draws,
                used,
                int(np.isnan(alone).sum()),
                "all pixels pooled; " + FROM,
                shape=shape,
            )
            plain = self.definitions.curve == "step" and self.definitions.thresholds == "exact"
            if plain and abs(exact[k] - drawn[0, k]) > 1e-4:
                words = (
                    f"{metric.name} of the scores in 65,536 steps is {drawn[0, k]:.6f}, exact {exact[k]:.6f}"
                )
                self.notes.append((name, f"{words}; its interval is shifted by the difference"))
        return out

    def _mean_of_images(self, alone: np.ndarray, found: scores.Found, draws: Draws) -> Summary:
        """Return the mean over images of a per-image metric."""
        spread = _spread(alone, found["usable"], len(self.data.ids))
        means = Means(np.where(self._used(found, draws), spread, np.nan)[:, None])
        return Summary(means.value, None, int(np.isnan(alone).sum()), "mean over images with a value", means)

    def _of_pixels(self, name: str, found: scores.Found, draws: Draws, *, whole: bool) -> dict[str, Summary]:
        """Return the other score metrics: means over images, or values over all pixels, with an interval if
        they can be resampled.
        """
        wanted = [metric for metric in self._reading(name, "score") if metric.streamed not in scores.COLUMNS]
        drawn = self._of_groups([metric for metric in wanted if metric.of_groups], found, draws)
        used = self._used(found, draws)
        out = {}
        for metric in wanted:
            per_image = "pooling" in metric.options and self.definitions.pooling != "pooled"
            if metric.join == "images" or (per_image and not metric.streamed):
                out[metric.name] = self._mean_of_images(found[f"alone_{metric.name}"], found, draws)
                continue
            exact = float(found[metric.streamed or f"whole_{metric.name}"])
            undefined = 0 if metric.streamed else int(np.isnan(exact))
            if metric.name not in drawn:
                value = np.array([exact if whole else np.nan])
                out[metric.name] = _drawn(value, draws, used, undefined, "pooled over images; no interval")
            elif whole:
                moved = _moved(drawn[metric.name], exact)
                out[metric.name] = _drawn(
                    moved, draws, used, undefined, "all pixels pooled; " + FROM, shape=metric.shape
                )
            else:
                out[metric.name] = _drawn(
                    drawn[metric.name], draws, used, 0, "doubt in 65,536 steps", shape=metric.shape
                )
        return out

    def _of_groups(
        self, metrics: Sequence[Metric], found: scores.Found, draws: Draws, *, sure: bool = False
    ) -> dict[str, np.ndarray]:
        """Return {metric: (1 + B,)} from the histograms; with ``sure``, metrics also receive the confidence
        at each place.
        """
        if not metrics:
            return {}
        images = scores.sparse_images(found, len(self.data.ids))
        at = (
            bootstrap.confidence_at(images, bootstrap.Coarse(True, *found["coarse"].tolist()))
            if sure
            else None
        )
        columns = ("known", "anomalous", *(["shares"] if "shares" in found else []))
        parts = [
            [
                of(Groups(known, anomalous, at, *shares), self.definitions)
                for metric in metrics
                if (of := metric.of_groups)
            ]
            for known, anomalous, *shares in bootstrap.grouped(images, draws.weights, columns)
        ]
        return {metric.name: np.concatenate([part[k] for part in parts]) for k, metric in enumerate(metrics)}

    def _of_fine(self, name: str, found: scores.Found, draws: Draws, *, whole: bool) -> dict[str, Summary]:
        """Return the metrics of fine confidence bins: point estimates from the bins of all pixels, intervals
        from doubt in 65,536 steps if doubt is 1 - confidence.
        """
        if "row_bin_count" not in found:
            return {}
        wanted = [metric for metric in self.metrics.values() if metric.reads == "fine"]
        used = self._used(found, draws)
        out = {}
        # otherwise the histograms do not describe confidence
        of_confidence = self.kinds[name] != "doubt" and bool(found["logit"])
        drawable = [metric for metric in wanted if metric.of_groups and of_confidence]
        drawn = self._of_groups(drawable, found, draws, sure=True)
        for metric in wanted:
            exact = float(metric.compute(found, self.definitions))
            if metric.name not in drawn:
                value = np.array([exact if whole else np.nan])
                out[metric.name] = _drawn(
                    value, draws, used, int(np.isnan(exact)), "pooled over images; no interval"
                )
                continue
            values = _moved(drawn[metric.name], exact) if whole else drawn[metric.name]
            undefined = int(np.isnan(values[0]))
            out[metric.name] = _drawn(
                values, draws, used, undefined, "pooled over images; " + FROM, shape=metric.shape
            )
        return out

    def _of_sums(self, found: scores.Found, draws: Draws) -> dict[str, Summary]:
        """Return the metrics of sums over images; those that are not smooth functions of them, such as
        calibration errors, use draws.
        """
        rows = self._rows(found)
        used = self._used(found, draws)
        wanted = [metric for metric in self.metrics.values() if metric.reads in rows]
        smooth = [metric for metric in wanted if metric.shape == "smooth"]

        def made(sums: Any) -> dict[str, Any]:
            return {metric.name: (metric.compute(sums, self.definitions), None) for metric in smooth}

        pooled = of_sums(rows, made, used)
        out = {}
        for metric in smooth:
            number = pooled[metric.name][0]
            value = float(number.value)
            aggregate = _AGGREGATES.get(metric.reads, "pooled over images")
            out[metric.name] = Summary(value, None, int(np.isnan(value)), aggregate, Ratios(number, None))
        if others := [metric for metric in wanted if metric not in smooth]:
            sums = {key: weighed(draws.weights, values) for key, values in rows.items()}
            for metric in others:
                values = np.asarray(metric.compute(sums, self.definitions))
                out[metric.name] = _drawn(
                    values, draws, used, int(np.isnan(values[0])), "pooled over images", shape=metric.shape
                )
        return out


# how statistics that do not count pixels are aggregated
_AGGREGATES = {"component_tp": "sums over images", "object_sizes": "sums over images"}


def _points(found: scores.Found, x: str, y: str) -> dict[str, list[float]]:
    """Return the points of a curve where both coordinates are finite; {} if there are none."""
    known = np.isfinite(found[x]) & np.isfinite(found[y])
    return {key: [float(f"{v:.6g}") for v in found[key][known]] for key in (x, y)} if known.any() else {}


def _drawn(
    values: np.ndarray,
    draws: Draws,
    used: np.ndarray,
    undefined: int,
    aggregate: str,
    *,
    shape: str = "smooth",
) -> Summary:
    """Return the summary of a number with its values in all draws."""
    value, replicates, left_out = draws.split(values)
    return Summary(value, None, undefined, aggregate, Drawn(value, replicates, left_out, used, shape))


def _moved(drawn: np.ndarray, exact: float) -> np.ndarray:
    """Return replicates (1 + B,) shifted so that the first is the exact number, clipped to 0..1."""
    moved = np.clip(drawn + (exact - drawn[0]), 0, 1)
    moved[0] = exact
    return moved


def _mask(places: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros(n, bool)
    out[places] = True
    return out


def _spread(values: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    out = np.full(n, np.nan)
    out[places] = values
    return out
