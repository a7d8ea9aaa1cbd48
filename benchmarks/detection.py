"""Metrics of scores against named peers: ``python benchmarks/detection.py`` prints one row each of what,
ours, peer, ratio and target.

Conventions: made scores with .3 % anomalous pixels unless said otherwise; processor seconds of one thread,
best of several, in one run, numba's kernels loaded before. The peers: scikit-learn's average_precision_score,
roc_auc_score and roc_curve; an own plain copy of a loop over components, as SegmentMeIfYouCan's code has it;
np.bincount. Streams are made while they are read (0.2 ns a pixel, counted as ours), in a process of their own
that tells its own peak (VmHWM).
"""

from __future__ import annotations

import subprocess
import sys
import time

import cv2
import numpy as np
from clock import best
from scipy.ndimage import label
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from faultscape.metrics import calibration_counts, component_counts, detection, groups, histogram16
from faultscape.metrics.counts import aurc
from faultscape.metrics.overlaps.components import THRESHOLDS
from faultscape.metrics.scores.bootstrap import Coarse, replicates, sparse_histogram
from faultscape.metrics.scores.inputs import sort

Row = tuple[str, str, str, str, str]
PIXELS = 10_000_000
STREAM = """
import sys, time
import numpy as np
from faultscape.metrics import stream
chunks, share = int(sys.argv[1]), float(sys.argv[2])
rng = np.random.default_rng(0)
anomaly = (rng.random(2_000_000) < share).astype(np.uint8)
score = rng.standard_normal(2_000_000, dtype=np.float32) + 1.5 * anomaly.astype(np.float32)
out = np.empty_like(score)
passes = 0
def made(n=chunks):
    global passes
    passes += 1
    for k in range(n):
        np.multiply(score, np.float32(1 + k / 256), out=out)  # other scores in every chunk
        yield out, anomaly
stream(lambda: made(2))
taken = []
for _ in range(int(sys.argv[3])):
    passes, start = 0, time.process_time()
    stream(made)
    taken.append(time.process_time() - start)
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(min(taken), passes, peak)
"""


def made(pixels: int = PIXELS, share: float = 0.003) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    anomaly = (rng.random(pixels) < share).astype(np.uint8)
    return rng.standard_normal(pixels, dtype=np.float32) + 1.5 * anomaly.astype(np.float32), anomaly


def sklearn_numbers(score: np.ndarray, anomaly: np.ndarray) -> tuple[float, float, float]:
    fpr, tpr, _ = roc_curve(anomaly, score)
    return average_precision_score(anomaly, score), roc_auc_score(anomaly, score), fpr[tpr >= 0.95][0]


def in_memory(share: float, target: str) -> list[Row]:
    score, anomaly = made(share=share)
    ours = best(lambda: detection(score, anomaly))
    peer = sklearn_numbers(score, anomaly)
    peer_time = best(lambda: sklearn_numbers(score, anomaly), 2)
    # again: a machine that is slow for a while is slow for both
    ours = min(ours, best(lambda: detection(score, anomaly)))
    sorting = best(lambda: sort(score.copy()))
    d = detection(score, anomaly)
    far = max(abs(a - b) for a, b in zip(peer, (d.average_precision, d.auroc, d.fpr95), strict=True))
    what = (
        f"AP, AUROC, FPR95 of 10^7 float32, {share:.1%} anomalous, against scikit-learn (largest difference"
        f" {far:.0e})"
    )
    measured = f"{ours:.3f} s of which sorting {sorting:.3f} s"
    return [(what, measured, f"{peer_time:.1f} s", f"{peer_time / ours:.0f}x", target)]


def float16() -> list[Row]:
    score, anomaly = made()
    half, labels = score.astype(np.float16), anomaly.astype(bool)
    histogram16(half[:9], anomaly[:9])
    bits = half.view(np.uint16)
    ours = best(lambda: histogram16(half, anomaly))
    peer = best(
        lambda: (np.bincount(bits[labels], minlength=65536), np.bincount(bits[~labels], minlength=65536))
    )
    numbers = [f"{seconds / PIXELS * 1e9:.2f} ns a pixel" for seconds in (ours, peer)]
    return [
        (
            "float16 scores in one pass, against np.bincount",
            *numbers,
            f"{peer / ours:.1f}x",
            "<= 1.5 ns a pixel",
        )
    ]


def streamed(share: float, target: str, times: int = 3) -> list[Row]:
    words = [sys.executable, "-c", STREAM, "100", str(share), str(times)]
    seconds, passes, peak = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    what = f"2 x 10^8 float32 streamed, {share:.1%} anomalous: {passes} passes"
    buffer = made(16_000_000, share)[0]
    sorting = best(lambda: sort(buffer.copy())) / len(buffer) * 1e9
    measured = f"{float(seconds) * 5:.1f} ns a pixel (sorting {sorting:.1f})"
    return [(what, f"{measured}, {int(peak) / 1e6:.2f} GB", "", "", target)]


def loop(predicted: np.ndarray, anomaly: np.ndarray, least: tuple[int, int] = (500, 100)) -> np.ndarray:
    """TP, FN, FP at eleven thresholds, one component and one mask of the whole image at a time."""
    square = np.ones((3, 3))
    found, n_found = label(predicted & (anomaly != 255), square)
    true, n_true = label(anomaly == 1, square)
    judged = anomaly != 255
    for k in range(1, n_found + 1):
        if np.count_nonzero(found == k) < least[0]:
            found[found == k] = 0
    for k in range(1, n_true + 1):
        if np.count_nonzero(true == k) < least[1]:
            judged &= true != k
    found, true = found[judged], true[judged]
    siou = []
    for k in np.unique(true[true > 0]):
        mine = true == k
        touching = np.isin(found, np.unique(found[mine & (found > 0)]))
        siou.append(np.count_nonzero(touching & mine) / np.count_nonzero((touching & (true == 0)) | mine))
    ppv = [
        np.count_nonzero(true[found == k]) / np.count_nonzero(found == k) for k in np.unique(found[found > 0])
    ]
    high = np.array(siou)[:, None] >= THRESHOLDS
    return np.stack([high.sum(0), (~high).sum(0), (np.array(ppv)[:, None] < THRESHOLDS).sum(0)])


def component_loop() -> list[Row]:
    rng = np.random.default_rng(0)
    score = cv2.GaussianBlur(rng.random((1024, 2048)), (0, 0), 8).astype(np.float32)
    far = cv2.GaussianBlur(rng.random((1024, 2048)), (0, 0), 40)
    anomaly = (far > np.quantile(far, 0.98)).astype(np.uint8)
    threshold = float(np.quantile(score, 0.9))
    sums = component_counts(score, anomaly, threshold, track="anomaly")
    ours = best(lambda: component_counts(score, anomaly, threshold, track="anomaly"))
    start = time.thread_time()
    want = loop(score >= threshold, anomaly)
    peer = time.thread_time() - start
    assert (want == np.stack([sums["component_tp"], sums["component_fn"], sums["component_fp"]])).all()
    what = (
        f"components of 1024 x 2048, {sums['component_truths']} true, {sums['component_predictions']}"
        " predicted, against a loop over them (own plain copy)"
    )
    return [(what, f"{ours * 1e3:.0f} ms", f"{peer:.2f} s", f"{peer / ours:.0f}x", ">= 50x")]


def others() -> list[Row]:
    rng = np.random.default_rng(0)
    images = []
    for k in range(70):
        score, anomaly = made(500_000, 0.01)
        images.append(
            sparse_histogram(1 / (1 + np.exp(-np.roll(score, k) * rng.random())), anomaly, Coarse(logit=True))
        )
    weights = rng.multinomial(70, np.full(70, 1 / 70), size=1000)
    draws = best(lambda: replicates(images, weights.astype(float)), 2)
    score, anomaly = made(share=0.3)
    doubt = 1 / (1 + np.exp(-score))
    curves, sums = (
        best(lambda: aurc(*groups(doubt, anomaly)), 2),
        best(lambda: calibration_counts(doubt, anomaly == 0), 2),
    )
    return [
        ("1,000 bootstrap draws of 70 images, AP, AUROC, FPR95", f"{draws:.1f} s", "", "", "reported"),
        ("AURC of 10^7 float32 in memory", f"{curves:.2f} s", "", "", "reported"),
        (
            "sums for ECE, reliability diagram, Brier, 10^7 float32",
            f"{sums / PIXELS * 1e9:.0f} ns a pixel",
            "",
            "",
            "reported",
        ),
    ]


def rows() -> list[Row]:
    """Return every row; about two minutes."""
    return [
        *in_memory(0.02, ">= 150x"),
        *in_memory(0.3, ">= 100x"),
        *float16(),
        *streamed(0.003, "<= 5 ns a pixel, < 0.5 GB"),
        *streamed(0.3, "<= 20 ns a pixel", 1),
        *component_loop(),
        *others(),
    ]


if __name__ == "__main__":
    for row in rows():
        print(" | ".join(row), flush=True)
