"""Corruptions against the packages imagecorruptions-imaug and corrupt_tta: ``python
benchmarks/corruptions.py`` prints the tables of docs/benchmarks/corruptions.md.

Conventions: a drawn scene, RGB; processor seconds of one process with one thread each (cv2.setNumThreads(1)),
ours and the peers in turns, median of five after one go that is not counted. A peer that is not installed is
left out. corrupt_tta returns floats, and the time to make them an image again is not counted; a ratio is
against the faster peer.
Agreement: pixels against imagecorruptions where nothing is random, else moments and the largest difference of
distribution functions of what was changed, over several images.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import io
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable

import cv2
import numpy as np
from PIL import Image

import faultscape as fs
from faultscape.scenes import scene

NAMES = [each.name for each in fs.stressors.CORRUPTIONS]
RANDOM = [each.name for each in fs.stressors.CORRUPTIONS if each.random]
GOES, SEVERITY, FRAMES, CORES = 5, 3, 20, 8
Corrupt = Callable[[np.ndarray, str, int], np.ndarray]


def peers() -> dict[str, Corrupt]:
    """The peers that are installed."""
    found: dict[str, Corrupt] = {}
    for module in ("imagecorruptions", "corrupt_tta"):
        try:
            corrupt = importlib.import_module(module).corrupt
        except ImportError:
            print(f"{module} is not installed; left out", file=sys.stderr)
            continue
        found[module] = lambda image, name, severity, corrupt=corrupt: corrupt(
            image, severity=severity, corruption_name=name
        )
    return found


def ours(image: np.ndarray, name: str, severity: int) -> np.ndarray:
    return fs.stressors.corrupt(image, name, severity)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turns(image: np.ndarray, name: str, everyone: dict[str, Corrupt]) -> dict[str, float]:
    """Median seconds of each, in turns."""
    for corrupt in everyone.values():
        corrupt(image, name, SEVERITY)
    taken: dict[str, list[float]] = {who: [] for who in everyone}
    for _ in range(GOES):
        for who, corrupt in everyone.items():
            taken[who].append(seconds(lambda corrupt=corrupt: corrupt(image, name, SEVERITY)))
    return {who: statistics.median(each) for who, each in taken.items()}


def speed(image: np.ndarray, names: list[str], others: dict[str, Corrupt]) -> float:
    """Print a table of milliseconds, and return our mean seconds an image."""
    print(
        f"\n{len(names)} corruptions at severity {SEVERITY}, {image.shape[0]} x {image.shape[1]}, load"
        f" {os.getloadavg()[0]:.1f}\n"
    )
    print(
        "| corruption | ours, ms |" + "".join(f" {who}, ms |" for who in others) + " times the faster peer |"
    )
    print("|---|---|" + "---|" * len(others) + "---|")
    totals = dict.fromkeys(["ours", *others], 0.0)
    best, worst = 0.0, (np.inf, "")
    for name in names:
        taken = in_turns(image, name, {"ours": ours, **others})
        faster = min((taken[who] for who in others), default=float("nan"))
        best, worst = best + faster, min(worst, (faster / taken["ours"], name))
        totals = {who: total + taken[who] for who, total in totals.items()}
        cells = " | ".join(f"{1000 * taken[who]:.1f}" for who in ("ours", *others))
        print(f"| {name} | {cells} | {faster / taken['ours']:.1f}x |", flush=True)
    cells = " | ".join(f"{1000 * total:.0f}" for total in totals.values())
    print(
        f"| sum | {cells} | {best / totals['ours']:.1f}x the best of each (target 15x); least {worst[0]:.2f}x,"
        f" {worst[1]} (target 1x) |"
    )
    print(f"\nPillow's own work on a JPEG file: {1000 * of_pillow(image):.1f} ms")
    return totals["ours"] / len(names)


def of_pillow(image: np.ndarray) -> float:
    """Return the median seconds in which Pillow encodes and decodes an image as jpeg_compression has it: what
    no caller can save.
    """
    taken = []
    for _ in range(GOES + 1):
        file = io.BytesIO()
        picture = Image.fromarray(image)

        def work(file: io.BytesIO = file, picture: Image.Image = picture) -> None:
            picture.save(file, "JPEG", quality=15, subsampling=2)
            Image.open(file).load()

        taken.append(seconds(work))
    return statistics.median(taken[1:])


def agreement(image: np.ndarray, peer: Corrupt) -> None:
    """Print the largest and mean difference where nothing is random."""
    print(
        "\n| corruption | image | largest difference, grey levels | mean difference | pixels alike"
        " |\n|---|---|---|---|---|"
    )
    for name in (name for name in NAMES if name not in RANDOM):
        for size in ((512, 512), (1024, 2048)):
            colour = cv2.resize(image, size[::-1])
            for words, of in (("RGB", colour), ("grey", np.ascontiguousarray(colour[..., 1]))):
                apart = []
                for severity in range(1, 6):
                    theirs = np.asarray(peer(of, name, severity)).astype(int)
                    theirs = theirs if of.ndim == 3 else theirs[..., 0]
                    apart.append(np.abs(theirs - ours(of, name, severity)))
                alike = np.mean([(each == 0).mean() for each in apart])
                row = f"| {name} | {size[0]} x {size[1]} {words} | {max(each.max() for each in apart)}"
                print(f"{row} | {np.mean(apart):.4f} | {100 * alike:.1f} % |", flush=True)


def distributions(image: np.ndarray, peer: Corrupt, images: int = 16) -> None:
    """Print moments of what random corruptions change, and how far apart their distribution functions are."""
    image = cv2.resize(image, (384, 256))
    print(f"\n{images} images of 256 x 384 each; in brackets the peer against itself with other numbers")
    print(
        "\n| corruption | severity | mean change, ours and peer | deviation, ours and peer | largest"
        " difference of the distribution functions |\n|---|---|---|---|---|"
    )
    for name in RANDOM:
        for severity in (1, 3, 5):
            np.random.seed(severity)  # noqa: NPY002 - the peer draws from it
            made = [
                fs.stressors.corrupt(image, name, severity, seed=seed).astype(int) - image
                for seed in range(images)
            ]
            theirs = [np.asarray(peer(image, name, severity)).astype(int) - image for _ in range(2 * images)]
            shares = [
                np.cumsum(np.bincount(np.ravel(each) + 255, minlength=511)) / np.size(each)
                for each in (made, theirs[:images], theirs[images:])
            ]
            apart, self = (
                np.abs(shares[0] - (shares[1] + shares[2]) / 2).max(),
                np.abs(shares[1] - shares[2]).max(),
            )
            moments = f"{np.mean(made):.2f}, {np.mean(theirs):.2f} | {np.std(made):.2f}, {np.std(theirs):.2f}"
            print(f"| {name} | {severity} | {moments} | {apart:.4f} ({self:.4f}) |", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")  # the peers' own
    cv2.setNumThreads(1)
    others = peers()
    image = scene(3, size=(2048, 1024)).image
    versions = {
        name: importlib.metadata.version(name)
        for name in ("numpy", "scipy", "numba", "pillow", "opencv-python-headless", "scikit-image")
    }
    print(
        f"Python {sys.version.split()[0]}, "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
    )
    mean = speed(image, NAMES[:15], others)
    speed(np.ascontiguousarray(cv2.resize(image, (512, 512))), NAMES, others)
    print(
        f"\nOn the fly: {1 / mean:.0f} images of 1024 x 2048 a second and core on average over the 15;"
        f" {CORES} cores make {CORES / mean:.0f}, a GPU reads {FRAMES}"
    )
    if "imagecorruptions" in others:
        agreement(image, others["imagecorruptions"])
        distributions(image, others["imagecorruptions"])


if __name__ == "__main__":
    main()
