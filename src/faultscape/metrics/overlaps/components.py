r"""Component metrics of anomalous objects: sIoU, component precision and F1 as SegmentMeIfYouCan defines
them, from one table of region overlaps.

Conventions: a pixel is predicted where its score is strictly greater than the threshold. Components are
connected by sides and corners. The steps, in order: predictions in void are removed; predicted components are
made, and those below their size limit dropped; true components below their limit become void, and so do the
predicted pixels in them (components are not recomputed). All pixels that are not anomalous count as one true
component: a frame with fewer of them than the limit has none left. With K' all predictions that touch a true
component k, and A their pixels in other true components, sIoU(k) = |k n K'| / |(k u K') \ A|; the precision
of a predicted component is its share in true ones. At each of 11 thresholds t, evenly from .25 to .75, a true
component with sIoU >= t is found, else missed, and a predicted one with precision < t is false. Counts add up
over images.

``threshold`` is the score above which a pixel is predicted. ``min_predicted`` and ``min_truth`` are the
minimum pixels of a component, and override those of the track. ``counts`` are those of ``component_counts``,
of one image or summed.

Source: Chan et al. 2021 (SegmentMeIfYouCan) and its road-anomaly-benchmark; Blum et al. 2021 for the setting.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import MetricError, OptionError
from faultscape.maps.regions import Overlaps, overlaps
from faultscape.metrics.scores.inputs import VOID, check_mask, flat

Counts = dict[str, np.ndarray | np.generic]
# of predicted and of true components, in pixels
LIMITS = {None: (0, 0), "anomaly": (500, 100), "obstacle": (50, 10)}
THRESHOLDS = np.linspace(0.25, 0.75, 11)  # .6 is .6000000000000001 here, as in their code
_ANOMALY = 1
_VOID = 2


def component_counts(
    score: np.ndarray,
    anomaly: np.ndarray,
    threshold: float,
    *,
    track: str | None = None,
    min_predicted: int | None = None,
    min_truth: int | None = None,
    void: int = VOID,
    where: str = "",
) -> Counts:
    """Return {component_tp, component_fn, component_fp: (11,), component_siou_sum, component_truths,
    component_ppv_sum, component_predictions} of an image.

    ``score`` and ``anomaly`` (0, 1, 255) are (H, W). ``track`` sets the size limits: anomaly 500 and 100,
    obstacle 50 and 10, None none.

    >>> truth, score = np.zeros((2, 10, 30))
    >>> truth[:, :10] = truth[:, 20:] = score[:] = 1
    >>> counts = component_counts(score, truth.astype(int), 0.5)
    >>> component_metrics(counts)["component_f1"].round(4), counts["component_siou_sum"] / 2
    (np.float64(0.5455), np.float64(0.5))
    """
    if track not in LIMITS:
        raise OptionError(f"track={track!r} is not known; use anomaly, obstacle or None")
    at_least = [
        given if given is not None else limit
        for given, limit in zip((min_predicted, min_truth), LIMITS[track], strict=True)
    ]
    flat(score, anomaly, where)  # refuses masked arrays and shapes that differ
    score = np.asarray(score)
    anomaly = np.asarray(anomaly)
    if score.ndim != 2:
        raise MetricError(
            f"{where + ': ' if where else ''}components need scores H x W; got shape {score.shape}"
        )
    check_mask(anomaly.ravel(), void, where)
    truth = np.where(anomaly == void, _VOID, anomaly == 1).astype(np.uint8)
    predicted = score > np.float64(threshold)  # float64, needed by a threshold between two narrower scores
    elsewhere = int(np.count_nonzero(anomaly != 1)) >= at_least[1]
    return _counts(overlaps(truth, predicted.astype(np.uint8), 2), *at_least, elsewhere=elsewhere)


def component_metrics(counts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return {component_siou, component_precision, component_f1} from counts, (..., 11) and (...), which may
    be summed over images; NaN where undefined.
    """
    tp, fn, fp = (np.asarray(counts[f"component_{what}"], float) for what in ("tp", "fn", "fp"))
    return {
        "component_siou": _share(counts["component_siou_sum"], counts["component_truths"]),
        "component_precision": _share(counts["component_ppv_sum"], counts["component_predictions"]),
        "component_f1": _share(2 * tp, 2 * tp + fn + fp).mean(-1),
    }


def _counts(table: Overlaps, least_predicted: int, least_true: int, *, elsewhere: bool) -> Counts:
    """Return the counts of one image; without ``elsewhere`` the pixels in no true component are void."""
    anomalous = table.truth_label == _ANOMALY
    true = anomalous & (table.truth_area >= least_true)
    kept = true | ~anomalous if elsewhere else true  # the regions of the truth that are not void
    area = np.bincount(
        table.prediction, weights=table.pixels * kept[table.truth], minlength=len(table.prediction_label)
    )
    predicted = (table.prediction_label == _ANOMALY) & (table.prediction_area >= least_predicted) & (area > 0)
    both = true[table.truth] & predicted[table.prediction]
    t = table.truth[both]
    p = table.prediction[both]
    pixels = table.pixels[both]
    # pixels of each prediction in any true component
    inside = np.bincount(p, weights=pixels, minlength=len(predicted))
    shared = np.bincount(t, weights=pixels, minlength=len(true))[true]
    # |(k u K') \ A| = |k| + sum over K' of what lies outside every true component
    outside = np.bincount(t, weights=area[p] - inside[p], minlength=len(true))[true]
    siou = shared / (table.truth_area[true] + outside)
    ppv = inside[predicted] / area[predicted]
    found = siou[:, None] >= THRESHOLDS
    return {
        "component_tp": found.sum(0),
        "component_fn": (~found).sum(0),
        "component_fp": (ppv[:, None] < THRESHOLDS).sum(0),
        "component_siou_sum": np.float64(siou.sum()),
        "component_truths": np.int64(len(siou)),
        "component_ppv_sum": np.float64(ppv.sum()),
        "component_predictions": np.int64(len(ppv)),
    }


def _share(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    out = np.full(np.broadcast_shapes(np.shape(above), np.shape(below)), np.nan)
    return np.divide(above, below, out=out, where=np.asarray(below) > 0)[()]
