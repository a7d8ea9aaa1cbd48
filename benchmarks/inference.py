"""How much of a bare model's throughput `predict` keeps: the same network, the same pictures, the same cores.

    python benchmarks/inference.py            # about five minutes on two cores; needs the extra torch
    python benchmarks/inference.py --images 32

Bare: pictures are prepared tensors in memory, nothing is written, and of all ways to share the cores (one run
on all, or one run each) the faster counts.
Ours: `faultscape predict` from JPEG files on the disk to label maps in the store. Start-up (imports, loading
weights) is measured apart: the throughput is that of the images by which a long run exceeds a short one. The
network is random and of the size of SegFormer-b0 (3.8 million weights, 150 classes, 512 x 512); the five
networks of the demo are told beside it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np

import faultscape as fs
from faultscape.verbs.demo.scenes import scene_classes

CORES = os.cpu_count() or 1
NETWORKS = Path(fs.__file__).parent / "prediction" / "networks"


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


def photos(folder: Path, count: int, size: tuple[int, int]) -> Path:
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for k in range(count):
        coarse = rng.integers(0, 256, (24, 32, 3), np.uint8)
        cv2.imwrite(str(folder / f"{k:04d}.jpg"), cv2.resize(coarse, size, interpolation=cv2.INTER_CUBIC))
    return folder


def bare(source: str, size: tuple[int, int], batch: int, seconds: float) -> float:
    """Return frames a second of the network alone, the better of one run on all cores and one run on each."""
    import torch

    from faultscape.prediction.catalogue import open_model

    best = 0.0
    for lanes in (1, CORES):
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


def ours(
    folder: Path, source: str, size: tuple[int, int], classes: object, batch: int, images: int
) -> tuple[float, float]:
    """Return frames a second of `predict`, and the seconds it takes to start."""
    times = []
    for count in (images, 3 * images):
        study, pictures = folder / f"study-{count}", photos(folder / f"photos-{count}", count, size)
        fs.collect(
            str(study),
            str(pictures),
            classes=classes,
            storage=fs.options.Storage(shard_size=-(-count // CORES)),
        )
        words = [
            sys.executable,
            "-m",
            "faultscape",
            "predict",
            str(study),
            f"net={source}",
            "--batch",
            str(batch),
        ]
        start = time.perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    rate = 2 * images / (times[1] - times[0])
    return rate, times[0] - images / rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--images", type=int, default=48, help="images of the short run; the long one has three times as many"
    )
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    print(f"{CORES} cores; frames a second: bare, predict, share; seconds to start")
    with tempfile.TemporaryDirectory() as folder:
        cases = [
            (
                "SegFormer-b0 size, 512 x 512",
                str(segformer(Path(folder, "segformer"))),
                (512, 512),
                150,
                2,
                given.images,
            )
        ]
        cases += [
            (f"demo: {p.stem}", str(p), (256, 160), scene_classes(), 8, 10 * given.images)
            for p in sorted(NETWORKS.glob("*.onnx"))
        ]
        for place, (name, source, size, classes, batch, images) in enumerate(cases):
            if given.only not in name:
                continue
            first = bare(source, size, batch, given.seconds)
            rate, start = ours(Path(folder, str(place)), source, size, classes, batch, images)
            # before and after: the machine may have changed its mind
            again = bare(source, size, batch, given.seconds)
            best = max(first, again)
            print(f"{name:<30} {best:8.2f} {rate:8.2f} {rate / best:6.1%} {start:6.1f}", flush=True)


if __name__ == "__main__":
    main()
