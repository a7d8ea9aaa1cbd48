"""METRICS: every metric that `measure` knows, each a complete entry; what says that a metric exists is read off it.

Conventions: ``compute(stats, definitions)`` makes the metric of statistics {name: array} as image_statistics and scores make them, NaN where undefined. How images are
brought together is its ``join``:

    pooled       counts of all images are added, then divided: stats (..., C) are sums, the result is (...)
    cells        mean over images of the mean over the classes defined there (S1 Table I): stats (I, ...), the result (I, C)
    images       mean over images: stats (I, ...), the result (I,)

``per_class`` gives (..., C) of pooled metrics, of the others (I, C), where a class has a number of its own. Pooled score metrics read {"score", "label"}, all pixels of a
data set, label 1 anomalous (or wrong), 0 not, 255 void; `measure` streams the same numbers. Entries stand in the order in which measure.json has those of maps.
Source: S0, S1, S3, S4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics import boundary, calibration, pixel, selective
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.metric import Compute, Metric, Stats
from faultscape.metrics.overlaps import components, over_under, regions
from faultscape.metrics.scores.detection import detection

GROUPS = ("pixels", "regions", "partitions", "boundaries", "anomaly scores", "confidence", "calibration")
CONNECTED, BOUNDARIES, MAPS = frozenset(["connected"]), frozenset(["boundaries"]), frozenset(["connected", "given"])
ANOMALY, PROBABILITIES = frozenset(["anomaly"]), frozenset(["probabilities"])
DOUBT, CONFIDENCE = frozenset(["doubt", "confidence", "probabilities"]), frozenset(["confidence", "probabilities"])


def _pixel(of: Callable[..., np.ndarray]) -> Compute:
    return lambda s, d: of(s["both"], s["truth_pixels"], s["predicted_pixels"], over=d.over)


def _of_classes(of: Callable[..., np.ndarray]) -> Compute:
    return lambda s, _: of(s["both"], s["truth_pixels"], s["predicted_pixels"])


def _absent(of: Callable[..., np.ndarray]) -> Compute:
    return lambda s, d: of(s, absent=d.absent)


def _scaled(of: Callable[..., np.ndarray]) -> Compute:
    return lambda s, d: of(s, absent=d.absent, scale=d.scale)


def _per(of: Callable[..., np.ndarray]) -> Compute:
    return lambda s, d: of(s, per=d.per)


def _precision(overlap: float | None) -> Compute:
    return lambda s, d: over_under.average_precision_of_regions(dict(s), overlap, absent=d.absent)


def _boundary(of: Callable[[np.ndarray], np.ndarray]) -> Compute:
    return lambda s, _: of(s["boundary"])


def _mean(by_class: Compute) -> Compute:
    return lambda s, d: regions.mean(by_class(s, d), -1)


def _held(name: str) -> Compute:
    return lambda s, _: np.asarray(s[name], float)


def _detected(area: str, sign: int = 1) -> Compute:
    def of(s: Stats, d: Definitions) -> np.ndarray:
        label = s["label"] if sign > 0 else np.where(s["label"] == 255, 255, s["label"] == 0).astype(np.uint8)
        return np.asarray(getattr(detection(sign * s["score"], label, fpr_rule=d.fpr_rule), area))

    return of


def _selective(of: Callable[..., np.ndarray]) -> Compute:
    def area(s: Stats, _: Definitions) -> np.ndarray:
        judged = s["label"] != 255
        return of(*selective.groups(s["score"][judged], s["label"][judged] == 1))

    return area


def _windows(of: Callable[[np.ndarray], np.ndarray]) -> Compute:
    return lambda s, _: of(s["windows"])


def _component(name: str) -> Compute:
    return lambda s, _: components.component_metrics(dict(s))[name]


def _sums(of: Callable[..., np.ndarray]) -> Compute:
    return lambda s, _: of(dict(s))


def _judged(of: Callable[..., np.ndarray]) -> Compute:
    return lambda s, _: of(s, s["judged"])


def _equal_mass(s: Stats, d: Definitions) -> np.ndarray:
    return np.asarray(calibration.ece_equal_mass(s["fine"], d.bins))


_PQ, _SQ, _RQ = (
    _sums(of) for of in (over_under.panoptic_quality, over_under.segmentation_quality, over_under.recognition_quality)
)
_BAND = _boundary(boundary.boundary_iou)

# fmt: off
METRICS: tuple[Metric, ...] = (
    Metric(
        "miou", title="mIoU error", says="1 − mean IoU", group="pixels", place=0, better="high", join="pooled", short="IoU error", needs=CONNECTED,
        options=("over", "pooling"), reads="both", of_pair=pixel.miou, compute=_pixel(pixel.miou), per_class=_of_classes(pixel.iou_of_classes), source="S0 eq. 7",
        definition="mean over classes of intersection over union (S0 eq. 7); over={over}",
    ),
    Metric(
        "fwiou", title="FWIoU error", says="1 − frequency-weighted IoU", group="pixels", place=4, better="high", join="pooled", needs=CONNECTED,
        options=("pooling",), reads="both", of_pair=pixel.fwiou, compute=_pixel(pixel.fwiou), source="S0 eq. 9",
        definition="intersection over union weighted by the truth's class frequency (S0 eq. 9 with the frequency)",
    ),
    Metric(
        "mpa", title="MPA error", says="1 − mean pixel accuracy", group="pixels", place=3, better="high", join="pooled", needs=CONNECTED,
        options=("over", "pooling"), reads="both", of_pair=pixel.mpa, compute=_pixel(pixel.mpa), per_class=_of_classes(pixel.accuracy_of_classes),
        source="S0 eq. 10",
        definition="mean over classes of N_yy / N_y. (S0 eq. 10); over={over}",
    ),
    Metric(
        "pixel_accuracy", title="Pixel error", says="1 − pixel accuracy", group="pixels", place=2, better="high", join="pooled", needs=CONNECTED,
        options=("pooling",), reads="both", of_pair=pixel.pixel_accuracy, compute=_pixel(pixel.pixel_accuracy),
        definition="share of the truth's pixels that the prediction calls alike",
    ),
    Metric(
        "dice", title="Dice error", says="1 − mean Dice", group="pixels", place=1, better="high", join="pooled", needs=CONNECTED,
        options=("over", "pooling"), reads="both", of_pair=pixel.dice, compute=_pixel(pixel.dice), per_class=_of_classes(pixel.dice_of_classes),
        definition="mean over classes of 2 N_yy / (N_y. + N_.y); over={over}",
    ),
    Metric(
        "pq", title="PQ error", says="1 − panoptic quality", group="regions", place=11, better="high", join="pooled", short="PQ error", needs=MAPS,
        options=("regions", "connectivity", "pooling"), reads="pq_found", compute=_mean(_PQ), per_class=_PQ,
        source="Kirillov et al. 2019",
        definition="panoptic quality, the reference rule for void; {panoptic}",
    ),
    Metric(
        "sq", title="SQ error", says="1 − segmentation quality", group="regions", place=12, better="high", join="pooled", needs=MAPS,
        options=("regions", "connectivity", "pooling"), reads="pq_found", compute=_mean(_SQ),
        per_class=_SQ, source="Kirillov et al. 2019",
        definition="segmentation quality, the mean IoU of matched regions; {panoptic}",
    ),
    Metric(
        "rq", title="RQ error", says="1 − recognition quality", group="regions", place=13, better="high", join="pooled", needs=MAPS,
        options=("regions", "connectivity", "pooling"), reads="pq_found", compute=_mean(_RQ),
        per_class=_RQ, source="Kirillov et al. 2019",
        definition="recognition quality, the F1 score of regions at IoU > .5; {panoptic}",
    ),
    Metric(
        "boundary_iou", title="Boundary IoU error", says="1 − boundary IoU", group="boundaries", place=1, better="high", join="pooled",
        needs=BOUNDARIES, options=("band", "pooling"), reads="boundary", compute=_mean(_BAND), per_class=_BAND,
        source="Cheng et al. 2021",
        definition="intersection over union of the bands inside the edges, width {band:g} (pixels from 1 on, else of the diagonal)",
    ),
    Metric(
        "rom", title="ROM", says="regions torn apart", group="regions", place=0, better="low", join="cells", short="ROM", needs=MAPS,
        options=("regions", "connectivity", "void", "absent", "scale"), bounded=("tanh", "sigmoid"), reads="torn_truth",
        compute=_scaled(over_under.rom), source="S1 eq. 6 and 7",
        definition="region-wise over-segmentation measure, {scale}(ROR m_o) (S1 eq. 7); {regional}",
    ),
    Metric(
        "rum", title="RUM", says="regions run together", group="regions", place=1, better="low", join="cells", short="RUM", needs=MAPS,
        options=("regions", "connectivity", "void", "absent", "scale"), bounded=("tanh", "sigmoid"), reads="torn_truth",
        compute=_scaled(over_under.rum), source="S1 eq. 9 and 10",
        definition="region-wise under-segmentation measure, {scale}(RUR m_u) (S1 eq. 10); {regional}",
    ),
    Metric(
        "ror", title="ROR", says="share of regions torn apart", group="regions", place=2, better="low", join="cells", short="ROR", needs=MAPS,
        options=("regions", "connectivity", "void", "absent"), reads="torn_truth", compute=_absent(over_under.ror), source="S1 eq. 5",
        definition="region-wise over-segmentation ratio (S1 eq. 5); {regional}",
    ),
    Metric(
        "rur", title="RUR", says="share of regions run together", group="regions", place=3, better="low", join="cells", short="RUR", needs=MAPS,
        options=("regions", "connectivity", "void", "absent"), reads="torn_truth", compute=_absent(over_under.rur), source="S1 eq. 8",
        definition="region-wise under-segmentation ratio (S1 eq. 8); {regional}",
    ),
    Metric(
        "pe_os", title="PE-OS", says="Persello's over-segmentation error", group="regions", place=6, better="low", join="cells", short="PE-OS",
        needs=MAPS, options=("regions", "connectivity", "void", "per"), reads="torn_truth", compute=_per(over_under.pe_os),
        source="Persello and Bruzzone 2010 (S1)",
        definition="Persello's over-segmentation error, mean over regions of the {per}; {connected}",
    ),
    Metric(
        "pe_us", title="PE-US", says="Persello's under-segmentation error", group="regions", place=7, better="low", join="cells", short="PE-US",
        needs=MAPS, options=("regions", "connectivity", "void", "per"), reads="torn_truth", compute=_per(over_under.pe_us),
        source="Persello and Bruzzone 2010 (S1)",
        definition="Persello's under-segmentation error, mean over regions of the {per}; {connected}",
    ),
    Metric(
        "ap50", title="AP50 error", says="1 − AP of regions at .50", group="regions", place=9, better="high", join="cells", needs=MAPS,
        options=("regions", "connectivity", "void", "match", "absent"), reads="torn_truth", compute=_precision(0.5), source="S1",
        definition="TP / (TP + FP) of predicted regions at {match} >= .50, of an image and class, without scores; {connected}, absent={absent}",
    ),
    Metric(
        "ap75", title="AP75 error", says="1 − AP of regions at .75", group="regions", place=10, better="high", join="cells", needs=MAPS,
        options=("regions", "connectivity", "void", "match", "absent"), reads="torn_truth", compute=_precision(0.75), source="S1",
        definition="TP / (TP + FP) of predicted regions at {match} >= .75, of an image and class, without scores; {connected}, absent={absent}",
    ),
    Metric(
        "ap", title="AP error", says="1 − AP of regions, .50:.05:.95, without scores", group="regions", place=8, better="high", join="cells",
        short="AP error", needs=MAPS, options=("regions", "connectivity", "void", "match", "absent"), reads="torn_truth", compute=_precision(None),
        source="S1",
        definition="mean of TP / (TP + FP) at {match} >= .50:.05:.95, of an image and class, without scores; {connected}, absent={absent}",
    ),
    Metric(
        "missed", title="Missed", says="true regions without any of their class upon them", group="regions", place=4, better="low", join="cells",
        needs=MAPS, options=("regions", "connectivity", "void"), reads="torn_truth", compute=_sums(over_under.missed),
        definition="share of true regions that no predicted region of their class touches; {connected}",
    ),
    Metric(
        "invented", title="Invented", says="predicted regions where the truth has none of their class", group="regions", place=5, better="low",
        join="cells", needs=MAPS, options=("regions", "connectivity", "void"), reads="torn_truth", compute=_sums(over_under.invented),
        definition="share of predicted regions that touch no true region of their class; {connected}",
    ),
    Metric(
        "boundary_f", title="Boundary F error", says="1 − boundary F-score", group="boundaries", place=0, better="high", join="cells",
        needs=BOUNDARIES, options=("tolerance",), reads="boundary", compute=_boundary(boundary.boundary_f), source="Csurka et al. 2013",
        definition="boundary F-score at a tolerance of {tolerance:g} (pixels from 1 on, else of the diagonal)",
    ),
    Metric(
        "gce", title="GCE", says="global consistency error", group="partitions", place=0, better="low", join="images", short="GCE", needs=MAPS,
        options=("regions", "connectivity", "void"), reads="gce", compute=_held("gce"), per_class=_held("gce_of_classes"), source="S1 eq. 1 and 2",
        definition="global consistency error (S1 eq. 2) of the partition into {partition}; per class: of the class against all else",
    ),
    Metric(
        "lce", title="LCE", says="local consistency error", group="partitions", place=1, better="low", join="images", needs=MAPS,
        options=("regions", "connectivity", "void"), reads="lce", compute=_held("lce"), per_class=_held("lce_of_classes"),
        source="Martin et al. 2001",
        definition="local consistency error of the partition into {partition}; per class: of the class against all else",
    ),
    Metric(
        "gce_regions", title="GCE, regions", says="global consistency error of connected regions", group="partitions", place=2, better="low",
        join="images", needs=MAPS, options=("regions", "connectivity", "void"), reads="gce_regions", compute=_held("gce_regions"),
        definition="global consistency error of the partition into {segments}",
    ),
    Metric(
        "lce_regions", title="LCE, regions", says="local consistency error of connected regions", group="partitions", place=3, better="low",
        join="images", needs=MAPS, options=("regions", "connectivity", "void"), reads="lce_regions", compute=_held("lce_regions"),
        definition="local consistency error of the partition into {segments}",
    ),
    Metric(
        "partition_distance", title="Part. distance", says="partition distance", group="partitions", place=4, better="low", join="images",
        needs=MAPS, options=("regions", "connectivity", "void"), reads="partition_distance", compute=_held("partition_distance"),
        definition="share of pixels to be moved until the partitions into {segments} are equal (optimal assignment)",
    ),
    Metric(
        "variation_of_information", title="VI", says="variation of information, bits", group="partitions", place=5, better="low", join="images",
        needs=MAPS, options=("regions", "connectivity", "void"), most=math.inf, reads="variation_of_information",
        compute=_held("variation_of_information"),
        definition="H(T|P) + H(P|T) in bits, of the partitions into {segments}",
    ),
    Metric(
        "adapted_rand", title="ARand error", says="adapted Rand error", group="partitions", place=6, better="low", join="images", needs=MAPS,
        options=("regions", "connectivity", "void"), reads="adapted_rand", compute=_held("adapted_rand"),
        definition="1 - F score of pairs of pixels in one segment, of the partitions into {segments}",
    ),
    Metric(
        "average_precision", title="AP error", says="1 − average precision of anomalous pixels", group="anomaly scores", place=0, better="high",
        join="pooled", short="AP error", needs=ANOMALY, options=("curve", "thresholds", "rounding", "pooling"), reads="score",
        compute=_detected("average_precision"), source="S4 5",
        definition="area under precision and recall of anomalous pixels, {curve}, {thresholds} thresholds",
    ),
    Metric(
        "auroc", title="AUROC error", says="1 − AUROC of anomalous pixels", group="anomaly scores", place=1, better="high", join="pooled",
        short="AUROC error", needs=ANOMALY, options=("thresholds", "rounding", "pooling"), reads="score", compute=_detected("auroc"), source="S4 5",
        definition="area under the ROC curve of anomalous pixels, {thresholds} thresholds",
    ),
    Metric(
        "fpr95", title="FPR95", says="false positive rate at 95 % recall", group="anomaly scores", place=2, better="low", join="pooled",
        short="FPR95", needs=ANOMALY, options=("fpr_rule", "thresholds", "rounding", "pooling"), reads="score", compute=_detected("fpr95"),
        source="S4 5",
        definition="false positive rate of anomalous pixels at the {rule} recall of .95, {thresholds} thresholds",
    ),
    Metric(
        "misclassification_ap", title="AP error, incorrect", says="1 − average precision of incorrect pixels", group="confidence", place=1,
        better="high", join="pooled", needs=DOUBT, options=("curve", "thresholds", "pooling"), reads="score", compute=_detected("average_precision"),
        source="S3 3",
        definition="area under precision and recall of incorrect pixels by doubt, {curve}, {thresholds} thresholds; not comparable between models of unequal accuracy",
    ),
    Metric(
        "calibration_auroc", title="CalibrationAUC error", says="1 − AUROC of incorrect pixels against doubt", group="confidence", place=0,
        better="high", join="pooled", short="calib. error", needs=DOUBT, options=("thresholds", "pooling"), reads="score",
        compute=_detected("auroc"), source="S3 3",
        definition="AUROC of incorrect pixels against doubt (S3), {thresholds} thresholds",
    ),
    Metric(
        "misclassification_fpr95", title="FPR95, incorrect", says="correct pixels doubted when 95 % of the incorrect are found", group="confidence",
        place=2, better="low", join="pooled", needs=DOUBT, options=("fpr_rule", "thresholds", "pooling"), reads="score", compute=_detected("fpr95"),
        source="S3 3",
        definition="share of correct pixels at or above the doubt that is the {rule} recall of .95 of the incorrect",
    ),
    Metric(
        "correct_ap", title="AP error, correct", says="1 − average precision of correct pixels", group="confidence", place=3, better="high",
        join="pooled", needs=DOUBT, options=("curve", "thresholds", "pooling"), reads="score", compute=_detected("average_precision", -1), source="S3 3",
        definition="area under precision and recall of correct pixels by confidence, {curve}, {thresholds} thresholds; not comparable between models of unequal accuracy",
    ),
    Metric(
        "component_siou", title="sIoU error", says="1 − mean sIoU of components", group="anomaly scores", place=3, better="high", join="pooled",
        needs=ANOMALY, options=("track", "thresholds", "rounding"), reads="component_tp", compute=_component("component_siou"),
        source="Chan et al. 2021",
        definition="mean sIoU of true components, SegmentMeIfYouCan; {at}; size limits: {track}",
    ),
    Metric(
        "component_precision", title="PPV error", says="1 − mean precision of components", group="anomaly scores", place=4, better="high",
        join="pooled", needs=ANOMALY, options=("track", "thresholds", "rounding"), reads="component_tp", compute=_component("component_precision"),
        source="Chan et al. 2021",
        definition="mean precision of predicted components, SegmentMeIfYouCan; size limits: {track}",
    ),
    Metric(
        "component_f1", title="F1 error", says="1 − mean F1 of components", group="anomaly scores", place=5, better="high", join="pooled",
        short="F1 error", needs=ANOMALY, options=("track", "thresholds", "rounding"), reads="component_tp", compute=_component("component_f1"),
        source="Chan et al. 2021",
        definition="F1 of components, mean over sIoU thresholds .25:.05:.75, SegmentMeIfYouCan; size limits: {track}",
    ),
    Metric(
        "ece", title="ECE", says="expected calibration error", group="calibration", place=0, better="low", join="pooled", short="ECE",
        needs=CONFIDENCE, options=("bins",), reads="bin_count", compute=_sums(calibration.ece), source="S3 3",
        definition="expected calibration error, {bins} bins of equal width, the last closed",
    ),
    Metric(
        "mce", title="MCE", says="largest calibration error of a bin", group="calibration", place=1, better="low", join="pooled", needs=CONFIDENCE,
        options=("bins",), reads="bin_count", compute=_sums(calibration.mce), source="S3 3",
        definition="largest gap of any of {bins} bins of equal width",
    ),
    Metric(
        "ece_equal_mass", title="ECE, equal mass", says="expected calibration error, bins of equal mass", group="calibration", place=2, better="low",
        join="pooled", needs=CONFIDENCE, options=("bins",), reads="fine", compute=_equal_mass, source="S3 3",
        definition="expected calibration error, {bins} bins of equal mass, cut between 65,536 fine bins",
    ),
    Metric(
        "ece_classwise", title="ECE, class-wise", says="mean over classes of the calibration error", group="calibration", place=3, better="low",
        join="pooled", needs=PROBABILITIES, options=("bins",), reads="class_count", compute=_sums(calibration.ece_classwise), source="S3 3",
        definition="mean over classes of each class's calibration error, {bins} bins of equal width",
    ),
    Metric(
        "brier", title="Brier", says="Brier score", group="calibration", place=4, better="low", join="pooled", needs=PROBABILITIES, most=2.0,
        reads="brier_sum", compute=_judged(calibration.brier), source="S3 3",
        definition="mean over pixels of the sum over classes of (p - y)^2",
    ),
    Metric(
        "brier_top", title="Brier, top class", says="Brier score of the predicted class alone", group="calibration", place=5, better="low",
        join="pooled", needs=CONFIDENCE, reads="bin_count", compute=_sums(calibration.brier_top), source="S3 3",
        definition="mean over pixels of (confidence - right)^2",
    ),
    Metric(
        "nll", title="NLL", says="negative log-likelihood, nats", group="calibration", place=6, better="low", join="pooled", needs=PROBABILITIES,
        most=math.inf, reads="brier_sum", compute=_judged(calibration.nll), source="S3 3",
        definition="mean of -log p of the true class, p not below 2^-149",
    ),
    Metric(
        "aurc", title="AURC", says="area under risk and coverage", group="confidence", place=4, better="low", join="pooled", needs=DOUBT,
        reads="score", compute=_selective(selective.aurc), source="Geifman and El-Yaniv 2017",
        definition="area under risk against coverage, ties as one group",
    ),
    Metric(
        "augrc", title="AUGRC", says="area under generalised risk and coverage", group="confidence", place=5, better="low", join="pooled",
        needs=DOUBT, reads="score", compute=_selective(selective.augrc), source="Traub et al. 2024",
        definition="area under generalised risk against coverage",
    ),
    Metric(
        "pavpu", title="PAvPU error", says="1 − share of windows accurate and certain, or neither", group="confidence", place=6, better="high",
        join="pooled", needs=DOUBT, options=("window", "certain", "accurate"), reads="windows", compute=_windows(selective.pavpu),
        source="S3 3; Mukhoti and Gal 2018",
        definition="share of windows accurate and certain, or inaccurate and uncertain; {window} x {window} pixels, doubt <= {certain:g}, right > {accurate:g}",
    ),
    Metric(
        "p_accurate_certain", title="p(acc. | certain) error", says="1 − p(accurate | certain)", group="confidence", place=7, better="high",
        join="pooled", needs=DOUBT, options=("window", "certain", "accurate"), reads="windows", compute=_windows(selective.p_accurate_certain),
        source="S3 3; Mukhoti and Gal 2018",
        definition="p(accurate | certain) of the same windows",
    ),
    Metric(
        "p_uncertain_inaccurate", title="p(unc. | inacc.) error", says="1 − p(uncertain | inaccurate)", group="confidence", place=8, better="high",
        join="pooled", needs=DOUBT, options=("window", "certain", "accurate"), reads="windows", compute=_windows(selective.p_uncertain_inaccurate),
        source="S3 3; Mukhoti and Gal 2018",
        definition="p(uncertain | inaccurate) of the same windows",
    ),
)
# fmt: on
CONCORDANCES = {metric.name: metric.of_pair for metric in METRICS if metric.of_pair}  # what `select --concordance` takes by name


def named(metrics: Sequence[Metric] = ()) -> dict[str, Metric]:
    """Return {name: entry} of all metrics, those of one's own behind; MetricError for a name that stands twice."""
    out: dict[str, Metric] = {}
    for metric in (*METRICS, *metrics):
        if metric.name in out:
            raise MetricError(f"metric {metric.name!r}: there is one of this name; give yours another")
        out[metric.name] = metric
    return out
