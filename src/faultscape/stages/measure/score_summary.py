"""What scores of a data set amount to: summaries and curves of its models.

Conventions: a model's kind is anomaly, or the first of doubt, probabilities, confidence that it has. Points come from the exact scores; intervals from the
histograms of coarse scores, moved by the difference of the two, which is noted where it is not small. Names: `auroc`, `average_precision`, `fpr95` for
anomalies, `calibration_auroc` and its kin for doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultscape.metrics import calibration, selective
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.evidence import Drawn, Means, Ratios
from faultscape.metrics.intervals.slopes import of_sums
from faultscape.metrics.intervals.units import Draws
from faultscape.metrics.overlaps import components
from faultscape.metrics.scores import bootstrap
from faultscape.metrics.summary import Summary, weighed
from faultscape.stages.measure import scores
from faultscape.stages.measure.sets import DataSet

RANKS = ("average_precision", "auroc", "fpr95")
OF_DOUBT = ("misclassification_ap", "calibration_auroc", "misclassification_fpr95", "correct_ap")
FROM = "the interval from histograms of scores in 65,536 steps"


@dataclass(eq=False)
class Scored:
    """What was found of a data set's scores; empty where it has none."""

    data: DataSet
    definitions: Definitions
    found: dict[str, scores.Found] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    failures: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def present(self) -> dict[str, np.ndarray]:
        """{NAME: (I,)} which images of a model have scores."""
        return {name: _mask(found["usable"], len(self.data.ids)) for name, found in self.found.items()}

    @property
    def images(self) -> dict[str, dict[str, np.ndarray]]:
        """{NAME: {metric: (I,)}} of each image by itself."""
        out = {}
        for name, found in self.found.items():
            if not len(found["usable"]):
                continue
            names = RANKS if self.kinds[name] == "anomaly" else OF_DOUBT
            out[name] = {
                metric: _spread(found["alone"][:, k], found["usable"], len(self.data.ids)) for k, metric in enumerate(names)
            }
        return out

    @property
    def curves(self) -> dict[str, dict[str, Any]]:
        """{NAME: {precision_recall, roc, reliability}}, points as numbers."""
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

    def summaries(self, name: str, draws: Draws, *, whole: bool = True) -> dict[str, Summary]:
        """Return {metric: Summary} of a model, of the images that count in ``draws``."""
        found = self.found.get(name)
        if found is None or not len(found["usable"]):
            return {}
        out = self._ranks(name, found, draws, whole=whole) | self._calibrated(found, draws)
        if "row_bin_count" in found:
            out["ece_equal_mass"] = self._equal_mass(name, found, draws, whole=whole)
        if "row_component_tp" in found:
            rows = self._rows(found, lambda key: key.startswith("component_"))
            pooled = of_sums(
                rows,
                lambda sums: {m: (v, None) for m, v in components.component_metrics(dict(sums)).items()},
                self._used(found, draws),
            )
            for metric, (number, _) in pooled.items():
                out[metric] = Summary(float(number.value), None, 0, "sums over images", Ratios(number, None))
        return out

    def _rows(self, found: scores.Found, wanted: Callable[[str], bool]) -> dict[str, np.ndarray]:
        """Return {statistic: (I, ...)} of the images, 0 where an image has no scores."""
        out = {}
        for key in (key.removeprefix("row_") for key in found if key.startswith("row_")):
            if wanted(key):
                held = found[f"row_{key}"]
                out[key] = np.zeros((len(self.data.ids), *held.shape[1:]), held.dtype)
                out[key][found["usable"]] = held
        return out

    def _used(self, found: scores.Found, draws: Draws) -> np.ndarray:
        """Return (I,) which images have scores and count."""
        return _mask(found["usable"], len(self.data.ids)) & draws.used

    def _ranks(self, name: str, found: scores.Found, draws: Draws, *, whole: bool) -> dict[str, Summary]:
        """Return what ranks pixels; of some images (not ``whole``) there are no exact numbers but those of the histograms."""
        of_doubt = self.kinds[name] != "anomaly"
        images = scores.sparse_images(found, len(self.data.ids))
        drawn = bootstrap.replicates(images, draws.weights, fpr_rule=self.definitions.fpr_rule)
        exact, used = found["areas"], self._used(found, draws)
        if of_doubt:
            turned = [bootstrap.SparseHistogram(65535 - i.places[::-1], i.anomalous[::-1], i.known[::-1]) for i in images]
            drawn = np.column_stack([drawn, bootstrap.replicates(turned, draws.weights)[:, 0]])
            exact = np.append(exact, found["correct_ap"])
        out = {}
        for k, metric in enumerate(OF_DOUBT if of_doubt else RANKS):
            alone, shape = found["alone"][:, k], "stepped" if "fpr95" in metric else "smooth"
            if self.definitions.pooling == "per_image":  # of images that have both kinds of pixels
                alone = np.where(np.isnan(found["alone"][:, 1]), np.nan, alone)
                means = Means(
                    np.where(self._used(found, draws), _spread(alone, found["usable"], len(self.data.ids)), np.nan)[:, None]
                )
                out[metric] = Summary(means.value, None, int(np.isnan(alone).sum()), "mean over images with a value", means)
                continue
            if not whole:
                out[metric] = _drawn(drawn[:, k], draws, used, 0, "histograms of scores in 65,536 steps", shape=shape)
                continue
            out[metric] = _drawn(
                _moved(drawn[:, k], exact[k]), draws, used, int(np.isnan(alone).sum()), "all pixels pooled; " + FROM, shape=shape
            )
            plain = self.definitions.curve == "step" and self.definitions.thresholds == "exact"
            if plain and abs(exact[k] - drawn[0, k]) > 1e-4:
                words = f"{metric} of the scores in 65,536 steps is {drawn[0, k]:.6f}, exact {exact[k]:.6f}"
                self.notes.append((name, f"{words}; its interval is moved by the difference"))
        return out | (self._areas_of_doubt(images, draws, self._used(found, draws), found if whole else None) if of_doubt else {})

    def _areas_of_doubt(
        self, images: list[bootstrap.SparseHistogram], draws: Draws, used: np.ndarray, found: scores.Found | None
    ) -> dict[str, Summary]:
        """Return AURC and AUGRC, their points exact where ``found`` holds them."""
        areas = [
            (selective.aurc(right, wrong), selective.augrc(right, wrong))
            for right, wrong in bootstrap.grouped(images, draws.weights)
        ]
        drawn = {metric: np.concatenate([part[k] for part in areas]) for k, metric in enumerate(("aurc", "augrc"))}
        if found is None:
            return {metric: _drawn(values, draws, used, 0, "doubt in 65,536 steps") for metric, values in drawn.items()}
        return {
            metric: _drawn(_moved(values, float(found[metric])), draws, used, 0, "all pixels pooled; " + FROM)
            for metric, values in drawn.items()
        }

    def _equal_mass(self, name: str, found: scores.Found, draws: Draws, *, whole: bool) -> Summary:
        """Return ECE in bins of equal mass: its point from the fine bins of all pixels, its interval from doubt in 65,536 steps, where doubt is 1 - confidence."""
        exact, used = calibration.ece_equal_mass(found["fine"], self.definitions.bins), self._used(found, draws)
        if self.kinds[name] == "doubt" or not found["logit"]:  # the histograms are not of confidence
            return _drawn(
                np.array([exact if whole else np.nan]), draws, used, int(np.isnan(exact)), "pooled over images; no interval"
            )
        images = scores.sparse_images(found, len(self.data.ids))
        sure = bootstrap.confidence_at(images, bootstrap.Coarse(True, *found["coarse"].tolist()))
        groups = ((right + wrong, right) for right, wrong in bootstrap.grouped(images, draws.weights))
        bins = self.definitions.bins
        drawn = np.concatenate([calibration.equal_mass_of_groups(count, right, count * sure, bins) for count, right in groups])
        drawn = _moved(drawn, exact) if whole else drawn
        return _drawn(drawn, draws, used, int(np.isnan(drawn[0])), "pooled over images; " + FROM, shape="bent")

    def _calibrated(self, found: scores.Found, draws: Draws) -> dict[str, Summary]:
        """Return what is made of sums over images; errors of calibration, which are no smooth function of them, by draws."""
        rows = self._rows(found, lambda key: not key.startswith("component"))

        def smooth(sums: Any) -> dict[str, Any]:
            made: dict[str, Any] = {}
            if "windows" in sums:
                windows = (selective.pavpu, selective.p_accurate_certain, selective.p_uncertain_inaccurate)
                made |= {of.__name__: of(sums["windows"]) for of in windows}
            if "bin_count" in sums:
                made["brier_top"] = calibration.brier_top(sums)
            if "brier_sum" in sums:
                made |= {"brier": calibration.brier(sums, sums["judged"]), "nll": calibration.nll(sums, sums["judged"])}
            return {metric: (values, None) for metric, values in made.items()}

        out = {
            metric: Summary(float(number.value), None, int(np.isnan(number.value)), "pooled over images", Ratios(number, None))
            for metric, (number, _) in of_sums(rows, smooth, self._used(found, draws)).items()
        }
        used = self._used(found, draws)
        for metric, needs in (("ece", "bin_count"), ("mce", "bin_count"), ("ece_classwise", "class_count")):
            if needs in rows:
                kind = needs.removesuffix("count")
                sums = {key: weighed(draws.weights, values) for key, values in rows.items() if key.startswith(kind)}
                values = np.asarray(_CALIBRATION[metric](sums))
                out[metric] = _drawn(values, draws, used, int(np.isnan(values[0])), "pooled over images", shape="bent")
        return out


_CALIBRATION = {"ece": calibration.ece, "mce": calibration.mce, "ece_classwise": calibration.ece_classwise}


def _points(found: scores.Found, x: str, y: str) -> dict[str, list[float]]:
    """Return the points of a curve that have both numbers, or nothing."""
    known = np.isfinite(found[x]) & np.isfinite(found[y])
    return {key: [float(f"{v:.6g}") for v in found[key][known]] for key in (x, y)} if known.any() else {}


def _drawn(
    values: np.ndarray, draws: Draws, used: np.ndarray, undefined: int, aggregate: str, *, shape: str = "smooth"
) -> Summary:
    """Return a number with its values in all draws."""
    value, replicates, left_out = draws.split(values)
    return Summary(value, None, undefined, aggregate, Drawn(value, replicates, left_out, used, shape))


def _moved(drawn: np.ndarray, exact: float) -> np.ndarray:
    """Return replicates (1 + B,) moved so that the first is the exact number, within 0..1."""
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
