"""`Measure.update` against torchmetrics' `MulticlassJaccardIndex.update` in a training loop, one batch: ``python
benchmarks/training_loop.py`` prints the table.

Conventions: a batch is eight pairs of uint8 tensors of 512 x 512, 21 classes, on the processor, made by
made_maps (``web``: as models disagree on web pictures; ``void``: the same with the left twentieth of the truth
255, which is ignored; ``hard`` and ``noise`` are adversarial). One thread.
torchmetrics is timed with and without ``validate_args``, its default being with. All three are timed in turns,
processor time of one update in this thread, five goes each, and the medians are compared; the load of the
machine stands beside them. Before, the confusion counts of both are held equal.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from statistics import median

import cv2
import numpy as np
import torch
import torchmetrics
from made_maps import maps
from torchmetrics.classification import MulticlassJaccardIndex

import faultscape as fs

C = 21
BATCH = 8
GOES = 5
KINDS = ("web", "void", "hard", "noise")
VOID = 255
TARGET = 3


def batch(kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (8, 512, 512) true and predicted maps."""
    pairs = np.stack([maps("web" if kind == "void" else kind, models=2, seed=seed) for seed in range(BATCH)])
    if kind == "void":
        pairs[:, 0, :, : pairs.shape[-1] // 20] = VOID
    truth, prediction = (torch.from_numpy(np.ascontiguousarray(pairs[:, k])) for k in (0, 1))
    return truth, prediction


def check(truth: torch.Tensor, prediction: torch.Tensor) -> None:
    """Hold the counts of both equal, and the mean over the classes present."""
    ours = fs.metrics.Measure(C, ["miou"], void=VOID)
    peer = MulticlassJaccardIndex(C, average="none", ignore_index=VOID)
    ours.update(truth, prediction)
    peer.update(prediction, truth)
    cells = peer.confmat.numpy()
    counted = ours.statistics()
    assert (counted["both"].sum(0) == cells.diagonal()).all()
    assert (counted["truth_pixels"].sum(0)[:C] == cells.sum(1)).all()
    assert (counted["predicted_pixels"].sum(0)[:C] == cells.sum(0)).all()
    present = cells.sum(0) + cells.sum(1) > 0
    assert np.isclose(ours.compute()["miou"].value, peer.compute().numpy()[present].mean(), rtol=1e-5)


def milliseconds(work: Callable[[], object]) -> float:
    """Return the processor time of one go."""
    start = time.thread_time()
    work()
    return 1000 * (time.thread_time() - start)


def medians(truth: torch.Tensor, prediction: torch.Tensor) -> list[float]:
    """Return the medians of ours, of the peer with its checks, and of the peer without them."""
    ours = fs.metrics.Measure(C, ["miou"], void=VOID)
    checks, plain = (MulticlassJaccardIndex(C, ignore_index=VOID, validate_args=how) for how in (True, False))
    work = (
        lambda: ours.update(truth, prediction),
        lambda: checks.update(prediction, truth),
        lambda: plain.update(prediction, truth),
    )
    taken = [[milliseconds(one) for one in work] for _ in range(GOES + 1)][1:]  # the first compiles
    return [median(column) for column in zip(*taken, strict=True)]


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    print(
        f"torch {torch.__version__}, torchmetrics {torchmetrics.__version__}, {platform.machine()}, one thread"
    )
    print(
        "\n| maps | `Measure.update`, ms | `validate_args=True`, ms | ratio | `validate_args=False`, ms | ratio | load |"
    )
    print("|---|---|---|---|---|---|---|")
    for kind in KINDS:
        truth, prediction = batch(kind)
        check(truth, prediction)
        ours, checks, plain = medians(truth, prediction)
        print(
            f"| {kind} | {ours:.1f} | {checks:.0f} | {checks / ours:.0f} | {plain:.0f} | {plain / ours:.0f}"
            f" | {os.getloadavg()[0]:.1f} |",
            flush=True,
        )
    print(f"\ntarget: {TARGET} or more in both columns")


if __name__ == "__main__":
    main()
