"""What the evaluations behind `fishyscapes`, `anomaly-seg` and `smiyc` compute, step by step in plain NumPy,
from their public code as it was read; slow on purpose.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

Frames = list[tuple[np.ndarray, np.ndarray]]  # (score, mask of 0, 1, 255)
EIGHT = np.ones((3, 3), int)


def curve(score: np.ndarray, anomalous: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """True and false positives at every distinct score, descending."""
    order = np.argsort(-score.astype(float), kind="stable")
    score, anomalous = score[order], anomalous[order]
    ends = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    tp = np.cumsum(anomalous)[ends]
    return tp, 1 + ends - tp


def fishyscapes(frames: Frames) -> tuple[float, float, float]:
    """AP, AUROC and FPR95 of all pixels together, scores rounded to float32."""
    score = np.concatenate([s[m <= 1] for s, m in frames]).astype(np.float32)
    anomalous = np.concatenate([m[m <= 1] == 1 for _, m in frames])
    return areas(*curve(score, anomalous))


def areas(tp: np.ndarray, fp: np.ndarray) -> tuple[float, float, float]:
    """Step sum up to full recall, trapezia, and the rate at the first recall of .95."""
    stop = np.searchsorted(tp, tp[-1]) + 1
    precision, recall = (tp / (tp + fp))[:stop], (tp / tp[-1])[:stop]
    ap = float(np.sum(np.diff(np.append(0, recall)) * precision))
    tpr, fpr = np.append(0, tp) / tp[-1], np.append(0, fp) / fp[-1]
    return ap, float(np.trapezoid(tpr, fpr)), float(fpr[np.searchsorted(tpr, 0.95)])


def anomaly_seg(frames: Frames) -> tuple[float, float, float]:
    """Means over the frames that have both kinds of pixels; FPR at the lowest of all thresholds whose recall
    is closest to .95.
    """
    found = []
    for score, mask in frames:
        judged = mask <= 1
        anomalous = mask[judged] == 1
        if anomalous.all() or not anomalous.any():
            continue
        tp, fp = curve(score[judged], anomalous)
        ap, auroc, _ = areas(tp, fp)
        stop = np.searchsorted(tp, tp[-1]) + 1  # thresholds below that of full recall are cut off
        recall, rate = (tp / tp[-1])[:stop][::-1], fp[:stop][::-1] / fp[-1]  # lowest threshold first
        found.append((ap, auroc, float(rate[np.argmin(np.abs(recall - 0.95))])))
    return tuple(np.mean(found, 0).tolist())


def smiyc_pixels(frames: Frames) -> tuple[float, float, float, float, float]:
    """AP, AUROC, FPR95, the threshold of the best F1 and the one that the code looks up, from bins between
    768 quantiles a frame of scores stored as float16.
    """
    thresholds, found, mistaken = [], [], []
    for given, mask in frames:
        score = given.astype(np.float16)
        anomalous, known = score[mask == 1], score[mask == 0]
        some = [values for values in (anomalous, known) if values.size]
        quantiles = [np.quantile(values, np.linspace(0, 1, min(384, values.size))) for values in some]
        edges = np.unique(np.concatenate([[0, 1], *quantiles]))
        for counts, values in ((found, anomalous), (mistaken, known)):
            inside = np.searchsorted(edges, values, "right") - 1
            counts.append(np.bincount(np.minimum(inside, len(edges) - 2), minlength=len(edges) - 1)[::-1])
        thresholds.append(edges[:-1][::-1])
    at = np.concatenate(thresholds)
    order = np.argsort(at, kind="stable")[::-1]  # theirs leaves the order of equal thresholds to the sort
    at, tp, fp = (
        at[order],
        np.cumsum(np.concatenate(found)[order]),
        np.cumsum(np.concatenate(mistaken)[order]),
    )
    positives, negatives = tp[-1], fp[-1]
    keep = [0, *(k for k in range(len(at) - 1) if at[k] != at[k + 1]), len(at) - 1]
    tp, fp = tp[keep], fp[keep]
    if tp[0] != 0 or fp[0] != 0:
        tp, fp, keep = np.append(0, tp), np.append(0, fp), [-1, *keep]
    precision = np.array([t / (t + f) if t + f else 1.0 for t, f in zip(tp, fp, strict=True)])
    recall, rate = tp / positives, fp / negatives
    f1 = 2 * tp / (2 * tp + fp + (positives - tp))
    best = int(np.nanargmax(f1))
    place = min(best, len(at) - 1)  # among all thresholds, not among those kept; theirs may run past the end
    ap = float(np.sum(np.diff(recall) * precision[1:]))
    return (
        ap,
        float(np.trapezoid(recall, rate)),
        float(rate[np.searchsorted(recall, 0.95)]),
        *(float(np.float16(at[k])) for k in (keep[best], place)),
    )


def smiyc_components(
    frames: Frames, threshold: float, least_predicted: int, least_true: int
) -> dict[str, float]:
    """Mean sIoU, mean precision and mean F1, from every component by itself."""
    siou, precision = [], []
    for given, mask in frames:
        score = given.astype(np.float16)
        predicted = (score > threshold) & (mask != 255)
        truth, n = ndimage.label(mask == 1, EIGHT)
        pieces, m = ndimage.label(predicted, EIGHT)
        for k in range(1, m + 1):
            if (pieces == k).sum() < least_predicted:
                pieces = np.where(pieces == k, 0, pieces)
        inside = mask < 255
        for k in range(n + 1):  # 0 is all that is not anomalous
            if (truth == k).sum() < least_true:
                inside &= truth != k
        truth, pieces = truth[inside], pieces[inside]
        for k in np.unique(truth[truth > 0]):
            touching = np.unique(pieces[(truth == k) & (pieces > 0)])
            union = np.isin(pieces, touching)
            shared = ((truth == k) & union).sum()
            elsewhere = (union & (truth > 0) & (truth != k)).sum()
            siou.append(shared / (union.sum() + (truth == k).sum() - shared - elsewhere))
        precision += [(truth[pieces == k] > 0).mean() for k in np.unique(pieces[pieces > 0])]
    found, named = np.array(siou), np.array(precision)
    f1 = []
    for t in np.linspace(0.25, 0.75, 11):
        tp, fn, fp = (found >= t).sum(), (found < t).sum(), (named < t).sum()
        f1.append(2 * tp / (2 * tp + fn + fp) if tp + fn + fp else np.nan)
    return {
        "component_siou": float(found.mean()) if len(found) else np.nan,
        "component_precision": float(named.mean()) if len(named) else np.nan,
        "component_f1": float(np.mean(f1)),
    }
