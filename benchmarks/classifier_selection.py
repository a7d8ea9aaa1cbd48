"""What a competition of classifiers costs: ``python benchmarks/classifier_selection.py`` prints the table of
docs/how-to/classifiers.md.

Conventions: 11 made classifiers and 168,000 images, the size of S2; the models agree on about three images of
four and name their five likeliest classes with probabilities. Tables are CSV files and parts lie on this
machine's disk. Elapsed time, since a person waits for it; best of three.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import faultscape as fs
from faultscape.verbs.verb import group_options

MODELS, IMAGES, CLASSES = 11, 168_000, 1000


def answers(rng: np.random.Generator, truth: np.ndarray, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Five labels of each image, the first right with the probability given, and how sure the model is of
    them.
    """
    near = (
        truth[:, None] + rng.integers(1, 30, (len(truth), 5))
    ) % CLASSES  # wrong answers are mostly neighbours
    far = rng.integers(0, CLASSES, (len(truth), 5))
    labels = np.where(rng.random((len(truth), 5)) < 0.9, near, far)
    labels[:, 0] = np.where(rng.random(len(truth)) < right, truth, labels[:, 0])
    first = np.where(labels[:, 0] == truth, rng.beta(6, 1, len(truth)), rng.beta(3, 2, len(truth)))
    shares = np.c_[first, (1 - first)[:, None] * [0.5, 0.25, 0.125, 0.0625]]
    return labels, -np.sort(-shares, axis=1).round(6)


def write(path: Path, labels: np.ndarray, shares: np.ndarray) -> None:
    """Write a table of answers as CSV."""
    import pyarrow as pa
    import pyarrow.csv as pc

    columns: dict[str, Any] = {"image": [f"photo {k:06d}" for k in range(len(labels))]}
    for k in range(5):
        behind = f"_{k + 1}" if k else ""
        columns |= {f"label{behind}": labels[:, k], f"probability{behind}": shares[:, k]}
    pc.write_csv(pa.table(columns), path)


def best(work: Callable[[], object], times: int = 3) -> float:
    """Elapsed seconds, the best of several."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            work()
        took.append(time.perf_counter() - start)
    return min(took)


def row(what: str, seconds: float, target: str) -> None:
    print(f"| {what} | {seconds:.2f} s | {target} |", flush=True)


def main() -> None:
    rng = np.random.default_rng(0)
    print("| what | measured | target |\n|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        root, study = Path(folder), f"{folder}/study"
        truth = rng.integers(0, CLASSES, IMAGES)
        sources = {f"model-{m:02d}": root / f"model-{m:02d}.csv" for m in range(MODELS)}
        for m, path in enumerate(sources.values()):
            write(path, *answers(rng, truth, 0.75 + 0.01 * m))
        with contextlib.redirect_stdout(io.StringIO()):
            fs.collect(study, str(sources["model-00"]), task="classification", classes="imagenet1k")
        name, first = next(iter(sources.items()))
        row(
            "predict: one table of 168,000 lines, five labels each",
            best(lambda: fs.predict(study, f"{name}={first}")),
            "reported",
        )
        with contextlib.redirect_stdout(io.StringIO()):
            fs.predict(study, {n: str(path) for n, path in sources.items()})
        number = iter(range(99))
        row(
            "select: 55 pairs of 11 models, 168,000 images",
            best(lambda: fs.select(study, as_=f"s{next(number)}")),
            "< 5 s",
        )
        many = {"confidence": 0.0, "discrepancy": "expected"}
        row(
            "the same, every image, expected distance",
            best(lambda: fs.select(study, as_=f"s{next(number)}", **group_options(fs.select, many)), 1),
            "reported",
        )
        row(
            "label export: the questions of that selection",
            best(lambda: fs.label.export(study, f"{folder}/q{next(number)}.csv", selection="s0")),
            "reported",
        )


if __name__ == "__main__":
    main()
