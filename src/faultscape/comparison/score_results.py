"""What scores of a data set amount to: summaries and curves of its models.

Conventions: a model's kind is anomaly, or the first of doubt, probabilities, confidence that it has. Points come from the exact scores; intervals from the
histograms of coarse scores, moved by the difference of the two, which is noted where it is not small. Names: `auroc`, `average_precision`, `fpr95` for
anomalies, `calibration_auroc` and its kin for doubt.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from faultscape.comparison import scoring
from faultscape.comparison.measure_plan import DataSet
from faultscape.metrics import calibration, components, score_bootstrap, selective
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.summary import Summary, weighed

RANKS = ("average_precision", "auroc", "fpr95")
OF_DOUBT = ("misclassification_ap", "calibration_auroc", "misclassification_fpr95", "correct_ap")
FROM = "the interval from histograms of scores in 65,536 steps"
DEFINED = {
    "average_precision": "area under precision and recall of anomalous pixels, {curve}, {thresholds} thresholds",
    "auroc": "area under the ROC curve of anomalous pixels, {thresholds} thresholds",
    "fpr95": "false positive rate of anomalous pixels at the {rule} recall of .95",
    "misclassification_ap": "area under precision and recall of incorrect pixels by doubt, {curve}, {thresholds} thresholds; not comparable between models of unequal accuracy",
    "calibration_auroc": "AUROC of incorrect pixels against doubt (S3), {thresholds} thresholds",
    "misclassification_fpr95": "share of correct pixels at or above the doubt that is the {rule} recall of .95 of the incorrect",
    "correct_ap": "area under precision and recall of correct pixels by confidence, {curve}, {thresholds} thresholds; not comparable between models of unequal accuracy",
    "component_siou": "mean sIoU of true components, SegmentMeIfYouCan; threshold of the best pixel F1; size limits: {track}",
    "component_precision": "mean precision of predicted components, SegmentMeIfYouCan; size limits: {track}",
    "component_f1": "F1 of components, mean over sIoU thresholds .25:.05:.75, SegmentMeIfYouCan; size limits: {track}",
    "ece": "expected calibration error, {bins} bins of equal width, the last closed",
    "mce": "largest gap of any of {bins} bins of equal width",
    "ece_equal_mass": "expected calibration error, {bins} bins of equal mass, cut between 65,536 fine bins",
    "ece_classwise": "mean over classes of each class's calibration error, {bins} bins of equal width",
    "brier": "mean over pixels of the sum over classes of (p - y)^2",
    "brier_top": "mean over pixels of (confidence - right)^2",
    "nll": "mean of -log p of the true class, p not below 2^-149",
    "aurc": "area under risk against coverage, ties as one group",
    "augrc": "area under generalised risk against coverage",
    "pavpu": "share of windows accurate and certain, or inaccurate and uncertain; {window} x {window} pixels, doubt <= {certain:g}, right > {accurate:g}",
    "p_accurate_certain": "p(accurate | certain) of the same windows",
    "p_uncertain_inaccurate": "p(uncertain | inaccurate) of the same windows",
}


@dataclass(eq=False)
class Scored:
    """What was found of a data set's scores; empty where it has none."""

    data: DataSet
    definitions: Definitions
    found: dict[str, scoring.Found] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    failures: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def present(self) -> dict[str, np.ndarray]:
        """{NAME: (I,)} which images of a model have scores."""
        return {name: _mask(found["usable"], len(self.data.ids)) for name, found in self.found.items()}

    @property
    def texts(self) -> dict[str, str]:
        """{metric: its definition}."""
        rule = "first threshold with" if self.definitions.fpr_rule == "first" else "threshold closest to"
        words = asdict(self.definitions) | {"track": self.definitions.track or "none", "rule": rule}
        return {name: text.format(**words) for name, text in DEFINED.items()}

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

    def summaries(self, name: str, weights: np.ndarray, *, whole: bool = True) -> dict[str, Summary]:
        """Return {metric: Summary} of a model; ``weights`` (1 + B, I), ones first."""
        found = self.found.get(name)
        if found is None or not len(found["usable"]):
            return {}
        out = self._ranks(name, found, weights, whole=whole) | self._calibrated(found, weights[:, found["usable"]])
        if "row_bin_count" in found:
            out["ece_equal_mass"] = self._equal_mass(name, found, weights, whole=whole)
        if "row_component_tp" in found:
            sums = {
                k.removeprefix("row_"): weighed(weights[:, found["usable"]], found[k])
                for k in found
                if k.startswith("row_component_")
            }
            for metric, values in components.component_metrics(sums).items():
                out[metric] = Summary(np.asarray(values), None, 0, "sums over images")
        return out

    def _ranks(self, name: str, found: scoring.Found, weights: np.ndarray, *, whole: bool) -> dict[str, Summary]:
        """Return what ranks pixels; of some images (not ``whole``) there are no exact numbers but those of the histograms."""
        of_doubt = self.kinds[name] != "anomaly"
        images = scoring.sparse_images(found, len(self.data.ids))
        drawn = score_bootstrap.replicates(images, weights, fpr_rule=self.definitions.fpr_rule)
        exact = found["areas"]
        if of_doubt:
            turned = [score_bootstrap.SparseHistogram(65535 - i.places[::-1], i.anomalous[::-1], i.known[::-1]) for i in images]
            drawn = np.column_stack([drawn, score_bootstrap.replicates(turned, weights)[:, 0]])
            exact = np.append(exact, found["correct_ap"])
        out = {}
        for k, metric in enumerate(OF_DOUBT if of_doubt else RANKS):
            alone = found["alone"][:, k]
            if self.definitions.pooling == "per_image":
                out[metric] = _mean_of_images(alone, weights[:, found["usable"]])
                continue
            if not whole:
                out[metric] = Summary(drawn[:, k], None, 0, "histograms of scores in 65,536 steps")
                continue
            out[metric] = Summary(_moved(drawn[:, k], exact[k]), None, int(np.isnan(alone).sum()), "all pixels pooled; " + FROM)
            plain = self.definitions.curve == "step" and self.definitions.thresholds == "exact"
            if plain and abs(exact[k] - drawn[0, k]) > 1e-4:
                words = f"{metric} of the scores in 65,536 steps is {drawn[0, k]:.6f}, exact {exact[k]:.6f}"
                self.notes.append((name, f"{words}; its interval is moved by the difference"))
        return out | (self._areas_of_doubt(images, weights, found if whole else None) if of_doubt else {})

    def _areas_of_doubt(
        self, images: list[score_bootstrap.SparseHistogram], weights: np.ndarray, found: scoring.Found | None
    ) -> dict[str, Summary]:
        """Return AURC and AUGRC, their points exact where ``found`` holds them."""
        areas = [
            (selective.aurc(right, wrong), selective.augrc(right, wrong))
            for right, wrong in score_bootstrap.grouped(images, weights)
        ]
        drawn = {metric: np.concatenate([part[k] for part in areas]) for k, metric in enumerate(("aurc", "augrc"))}
        if found is None:
            return {metric: Summary(values, None, 0, "doubt in 65,536 steps") for metric, values in drawn.items()}
        return {
            metric: Summary(_moved(values, float(found[metric])), None, 0, "all pixels pooled; " + FROM)
            for metric, values in drawn.items()
        }

    def _equal_mass(self, name: str, found: scoring.Found, weights: np.ndarray, *, whole: bool) -> Summary:
        """Return ECE in bins of equal mass: its point from the fine bins of all pixels, its interval from doubt in 65,536 steps, where doubt is 1 - confidence."""
        exact = calibration.ece_equal_mass(found["fine"], self.definitions.bins)
        if self.kinds[name] == "doubt" or not found["logit"]:  # the histograms are not of confidence
            return Summary(np.array([exact if whole else np.nan]), None, int(np.isnan(exact)), "pooled over images; no interval")
        images = scoring.sparse_images(found, len(self.data.ids))
        sure = score_bootstrap.confidence_at(images, score_bootstrap.Coarse(True, *found["coarse"].tolist()))
        groups = ((right + wrong, right) for right, wrong in score_bootstrap.grouped(images, weights))
        bins = self.definitions.bins
        drawn = np.concatenate([calibration.equal_mass_of_groups(count, right, count * sure, bins) for count, right in groups])
        drawn = _moved(drawn, exact) if whole else drawn
        return Summary(drawn, None, int(np.isnan(drawn[0])), "pooled over images; " + FROM)

    def _calibrated(self, found: scoring.Found, weights: np.ndarray) -> dict[str, Summary]:
        out: dict[str, Summary] = {}

        def put(metric: str, values: np.ndarray) -> None:
            out[metric] = Summary(np.asarray(values), None, int(np.isnan(np.asarray(values)[0])), "pooled over images")

        rows = {
            key.removeprefix("row_"): values
            for key, values in found.items()
            if key.startswith("row_") and not key.startswith("row_component")
        }
        sums = {key: weighed(weights, values) for key, values in rows.items()}
        if "windows" in sums:
            put("pavpu", selective.pavpu(sums["windows"]))
            put("p_accurate_certain", selective.p_accurate_certain(sums["windows"]))
            put("p_uncertain_inaccurate", selective.p_uncertain_inaccurate(sums["windows"]))
        if "bin_count" in sums:
            put("ece", calibration.ece(sums))
            put("mce", calibration.mce(sums))
            put("brier_top", calibration.brier_top(sums))
        if "brier_sum" in sums:
            put("brier", calibration.brier(sums, sums["judged"]))
            put("nll", calibration.nll(sums, sums["judged"]))
            put("ece_classwise", calibration.ece_classwise(sums))
        return out


def _points(found: scoring.Found, x: str, y: str) -> dict[str, list[float]]:
    """Return the points of a curve that have both numbers, or nothing."""
    known = np.isfinite(found[x]) & np.isfinite(found[y])
    return {key: [float(f"{v:.6g}") for v in found[key][known]] for key in (x, y)} if known.any() else {}


def _mean_of_images(alone: np.ndarray, weights: np.ndarray) -> Summary:
    """Return the mean over the images that have a value."""
    known = ~np.isnan(alone)
    number = weighed(weights, known)
    values = np.divide(weighed(weights, np.nan_to_num(alone)), number, out=np.full(len(number), np.nan), where=number > 0)
    return Summary(values, None, int((~known).sum()), "mean over images with a value")


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
