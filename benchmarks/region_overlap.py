"""The area under per-region overlap against what is usually written for it: ``python
benchmarks/region_overlap.py [FRAMES]`` prints one row each.

Conventions: made frames of 1024 x 2048 float32, 1 % anomalous in about 40 regions each; processor seconds of
one thread, best of three, numba's kernels loaded before. The peers are plain copies in NumPy of what public
code does: all pixels sorted at once (exact, all in memory), and the mean over regions at each of 200
thresholds between the least and the largest score.
"""

from __future__ import annotations

import sys

import cv2
import numpy as np
from clock import best
from scipy import ndimage

from faultscape.metrics import stream
from faultscape.metrics.scores.region_overlap import aupro

SHAPE, LIMIT = (1024, 2048), 0.3
Frames = list[tuple[np.ndarray, np.ndarray]]


def frame(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A score and a mask with void at its edge."""
    rng = np.random.default_rng(seed)
    field = cv2.GaussianBlur(rng.standard_normal(SHAPE, dtype=np.float32), (0, 0), 12)
    mask = (field > np.quantile(field, 0.99)).astype(np.uint8)
    score = rng.standard_normal(SHAPE, dtype=np.float32) + 1.5 * mask
    mask[:40] = 255
    return score, mask


def sorted_at_once(frames: Frames) -> float:
    """All pixels of all frames in one order of scores, ties joined; the curve is cut at the limit."""
    scores, false, overlap, regions = [], [], [], 0
    for score, mask in frames:
        numbers, count = ndimage.label(mask == 1, np.ones((3, 3), int))
        areas = np.bincount(numbers.ravel())
        judged = mask != 255
        scores.append(score[judged])
        false.append((mask == 0)[judged])
        overlap.append(np.where(numbers > 0, 1 / areas[numbers], 0)[judged])
        regions += count
    value, wrong, found = (np.concatenate(of) for of in (scores, false, overlap))
    order = np.argsort(-value, kind="stable")
    value, x, y = value[order], np.cumsum(wrong[order]), np.cumsum(found[order])
    last = np.r_[value[1:] != value[:-1], True]
    x, y = np.r_[0, x[last] / x[-1]], np.r_[0, y[last] / regions]
    k = int(np.searchsorted(x, LIMIT, "right"))
    end = y[k - 1] + (y[k] - y[k - 1]) * (LIMIT - x[k - 1]) / (x[k] - x[k - 1])
    return float(np.trapezoid(np.r_[y[:k], end], np.r_[x[:k], LIMIT]) / LIMIT)


def at_thresholds(frames: Frames, thresholds: int = 200) -> float:
    """The mean over regions of the share found, and the false positive rate, at equal steps of the score."""
    low, high = min(s.min() for s, _ in frames), max(s.max() for s, _ in frames)
    labelled = [ndimage.label(mask == 1, np.ones((3, 3), int)) for _, mask in frames]
    x, y = [], []
    for threshold in np.linspace(high, low, thresholds):
        wrong, known, shares = 0, 0, []
        for (score, mask), (numbers, count) in zip(frames, labelled, strict=True):
            predicted = score >= threshold
            wrong += np.count_nonzero(predicted & (mask == 0))
            known += np.count_nonzero(mask == 0)
            shares += [
                predicted[part][numbers[part] == k + 1].mean()
                for k, part in enumerate(ndimage.find_objects(numbers, count))
            ]
        x.append(wrong / known)
        y.append(np.mean(shares))
    inside = np.array(x) <= LIMIT
    return float(np.trapezoid(np.array(y)[inside], np.array(x)[inside]) / LIMIT)


def main(count: int) -> None:
    """Print what each takes a frame, and how far its number lies from ours."""
    frames = [frame(k) for k in range(count)]
    scores, masks = [f[0] for f in frames], [f[1] for f in frames]
    expected = aupro(scores[:1], masks[:1]), stream(lambda: iter(frames), connectivity=8).aupro
    print(
        f"{count} frames of {SHAPE[0]} x {SHAPE[1]}: AUPRO {expected[1]:.6f}; the first alone"
        f" {expected[0]:.6f}"
    )
    rows = {
        "aupro, in memory": lambda: aupro(scores, masks),
        "stream with AUPRO (AP, AUROC, FPR95 too)": (
            lambda: stream(lambda: iter(frames), connectivity=8).aupro
        ),
        "stream without": lambda: stream(lambda: iter(frames)).aupro,
        "peer: all pixels sorted at once": lambda: sorted_at_once(frames),
        "peer: 200 thresholds": lambda: at_thresholds(frames),
    }
    for what, work in rows.items():
        value = work()
        seconds = best(work, 1 if "200" in what else 3)
        apart = "" if np.isnan(value) else f", {value - expected[1]:+.1e} from ours"
        print(f"{what}: {seconds / count * 1e3:.0f} ms a frame{apart}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
