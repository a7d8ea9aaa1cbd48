"""How much of a bare model's throughput `predict` keeps: the same network, the same pictures, the same cores.

    python benchmarks/inference.py            # about ten minutes on two cores; needs the extra torch
    python benchmarks/inference.py --images 32 --only demo

Bare: pictures are prepared tensors in memory, nothing is written, and of all ways to share the cores (one run
on all, or one run each) the faster counts.
Ours: `faultscape predict` from JPEG files on the disk to label maps in the store. Start-up (imports, loading
weights) is measured apart: the throughput is that of the images by which a long run exceeds a short one.
The most: what is left of the bare throughput if nothing but decoding the same JPEG files, by Pillow, is added
on the same cores.
Bare, decoding and predict take turns; medians. Pictures are drawn street scenes. The network is random and of
the size of SegFormer-b0 (3.8 million weights, 150 classes, 512 x 512); the five networks of the demo are told
beside it.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from PIL import Image

import faultscape as fs
from faultscape.scenes.street import scene
from faultscape.verbs.demo.scenes import scene_classes

CORES = os.cpu_count() or 1
NETWORKS = Path(fs.__file__).parent / "prediction" / "networks"
SCENES = 60


class Case(NamedTuple):
    """A network, the size of its pictures, (width, height), and how many of them the short run has."""

    name: str
    source: str
    size: tuple[int, int]
    classes: object
    batch: int
    images: int


def segformer(folder: Path) -> Path:
    import torch
    import transformers

    torch.manual_seed(0)
    names = {k: f"class-{k}" for k in range(150)}
    config = transformers.SegformerConfig(
        num_labels=150, id2label=names, label2id={n: k for k, n in names.items()}
    )
    transformers.SegformerForSemanticSegmentation(config).save_pretrained(folder)
    transformers.SegformerImageProcessorPil(size={"height": 512, "width": 512}).save_pretrained(folder)
    return folder


def scenes(size: tuple[int, int]) -> list[bytes]:
    """Return some drawn streets as JPEG files."""
    drawn = (scene(k, light="mixed", size=size).image for k in range(SCENES))
    return [cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))[1].tobytes() for image in drawn]


def bare(source: str, size: tuple[int, int], batch: int, seconds: float) -> float:
    """Return frames a second of the network alone, the better of one run on all cores and one run on each."""
    import torch

    from faultscape.prediction.catalogue import open_model

    best = 0.0
    for lanes in {1, CORES}:
        model = open_model(source, threads=CORES // lanes, batch=batch)
        item = model.prepare(np.full((size[1], size[0], 3), 127, np.uint8), size).views[0]
        block = np.stack([item] * batch)
        torch.set_num_threads(CORES // lanes)
        with ThreadPoolExecutor(lanes) as pool:
            list(pool.map(lambda _, m=model, b=block: m.network.run(b, ()), range(lanes)))
            start, done = time.perf_counter(), 0
            while time.perf_counter() - start < seconds:
                done += len(
                    list(pool.map(lambda _, m=model, b=block: len(m.network.run(b, ())), range(2 * lanes)))
                )
            best = max(best, done * batch / (time.perf_counter() - start))
    return best


def decoding(files: list[bytes], seconds: float) -> float:
    """Return frames a second of decoding alone, on all cores."""

    def decode(_: int) -> int:
        for data in files:
            Image.open(io.BytesIO(data)).load()
        return len(files)

    start, done = time.perf_counter(), 0
    with ThreadPoolExecutor(CORES) as pool:
        while time.perf_counter() - start < seconds:
            done += sum(pool.map(decode, range(CORES)))
    return done / (time.perf_counter() - start)


def collected(folder: Path, files: list[bytes], classes: object, images: int) -> str:
    """Return a study of so many pictures, one shard a core."""
    pictures = folder / f"photos-{images}"
    pictures.mkdir(parents=True)
    for k in range(images):
        (pictures / f"{k:05d}.jpg").write_bytes(files[k % len(files)])
    study = str(folder / f"study-{images}")
    fs.collect(
        study, str(pictures), classes=classes, storage=fs.options.Storage(shard_size=-(-images // CORES))
    )
    return study


def predicted(study: str, source: str, batch: int) -> float:
    """Return the seconds of `predict` on a study."""
    shutil.rmtree(Path(study, "predictions"), ignore_errors=True)
    words = [sys.executable, "-m", "faultscape", "predict", study, f"net={source}", "--batch", str(batch)]
    start = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measured(folder: Path, case: Case, seconds: float, times: int) -> list[float]:
    """Return medians: frames a second bare, at most, and of `predict`; and the seconds that it takes to
    start.
    """
    files = scenes(case.size)
    few, many = (collected(folder, files, case.classes, count) for count in (case.images, 3 * case.images))
    predicted(few, case.source, case.batch)  # what is compiled once is not told here
    alone, most, ours, start = [], [], [], []
    for _ in range(times):
        alone.append(bare(case.source, case.size, case.batch, seconds))
        most.append(1 / (1 / alone[-1] + 1 / decoding(files, seconds / 4)))
        short, long = (predicted(study, case.source, case.batch) for study in (few, many))
        ours.append(2 * case.images / (long - short))
        start.append(short - case.images / ours[-1])
    return [statistics.median(values) for values in (alone, most, ours, start)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--images", type=int, default=48, help="images of the short run; the long one has three times as many"
    )
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    given = parser.parse_args()
    print(f"{CORES} cores, load {os.getloadavg()[0]:.1f}")
    print(
        "| network | bare, frames a second | and decoding | `predict` | share with decoding | share"
        " | seconds to start |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        drawn = scene_classes()
        names = [p.stem for p in sorted(NETWORKS.glob("*.onnx"))]
        cases = [
            Case(
                "SegFormer-b0 size, 512 x 512",
                str(segformer(Path(folder, "segformer"))),
                (512, 512),
                150,
                2,
                given.images,
            )
        ] + [
            Case(f"demo: {name}", str(NETWORKS / f"{name}.onnx"), (256, 160), drawn, 8, 20 * given.images)
            for name in names
        ]
        for place, case in enumerate(cases):
            if given.only in case.name:
                alone, most, ours, start = measured(
                    Path(folder, str(place)), case, given.seconds, given.times
                )
                print(
                    f"| {case.name} | {alone:.1f} | {most:.1f} | {ours:.1f} | {most / alone:.0%} |"
                    f" {ours / alone:.0%} | {start:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
