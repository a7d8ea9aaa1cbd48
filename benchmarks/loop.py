"""Which images should one label to train on? Five ways of choosing, round by round, on CamVid: the tables of
docs/benchmarks/loop.md.

    python benchmarks/loop.py run FOLDER [--seeds 0,1,2]    # an hour on one core; goes on where it was stopped
    python benchmarks/loop.py table FOLDER                  # docs/benchmarks/data/loop*.csv and the rows, of what is there

Conventions: of CamVid's training frames, one of each group of near-duplicates is in the pool (344). By a seed
24 of them are labelled first; each of three networks (loop_networks.py) learns these from random weights. Then
come rounds, as those of `faultscape loop`: 10, 10, 20 and 40 frames are chosen of what is left, the true masks
are their labels, and each network is continued on them, half of each batch new and half old, 12 epochs. What
is chosen, and how long is trained, follows from no test image. mIoU is over all pixels of the test frames
without void (232: one nearly equals a training frame), at 160 x 128, where networks are trained too.
``duels`` and ``draws`` compare the three networks and choose for all of them, ``uniform`` too; ``entropy`` and
``core-set`` choose for each network by itself. A job is a seed, a way and a round; what it found lies in
FOLDER/jobs, and one that is there is not done again. Needs FAULTSCAPE_DATA and the extra `doubt`.
Source: Yan et al. 2021, section 5; Sener and Savarese 2018, Algorithm 1, for core-set.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize, stats

import faultscape as fs
from faultscape.selection import proposals
from faultscape.ties import tie_order

if TYPE_CHECKING:
    from faultscape.uncertainty.replace import DoubtNetwork

DATA = Path(os.environ.get("FAULTSCAPE_DATA", Path(__file__).parents[2] / "shared" / "data")) / "camvid"
OUT = Path(__file__).parents[1] / "docs" / "benchmarks" / "data"
WAYS = ("uniform", "draws", "duels", "entropy", "core-set")
SIZES = (10, 20, 40, 80)
NETWORKS = ("unet", "dilated", "segformer")
CLASSES = 11
START = 24
SIZE = (160, 128)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FIRST_STEPS, FIRST_RATE = 400, 1e-3
EPOCHS, RATE = 12, 5e-4
RESAMPLES = 10_000


@dataclass(frozen=True)
class Frames:
    """Frames: their ids, their drives, photos (I, H, W, 3) uint8 and labels (I, H, W) int16, IGNORED where
    void.
    """

    ids: tuple[str, ...]
    drives: tuple[str, ...]
    photos: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class Seen:
    """What a network says about frames: maps (I, H, W), the mean entropy (I,) of its pixels, and its features
    before the last layer (I, D), mean over pixels.
    """

    maps: np.ndarray
    entropy: np.ndarray
    features: np.ndarray


def choose_uniform(images: int, number: int, seed: Sequence[int]) -> np.ndarray:
    """Return images (N,) drawn alike."""
    return fs.selection.draw(proposals.uniform(images), number, seed=seed).images


def choose_draws(maps: Mapping[str, np.ndarray], number: int, seed: Sequence[int]) -> np.ndarray:
    """Return images (N,) drawn in proportion to how far networks' maps (I, H, W) differ: `select --selector
    mad --temperature 1`.
    """
    both = fs.comparison.concordances(fs.comparison.count(maps, classes=CLASSES))
    first, second = np.triu_indices(len(maps), 1)
    apart = np.maximum(1 - (both[first, second] + both[second, first]) / 2, 0)
    facts = {"complete": np.ones(both.shape[2], bool), "discrepancy": apart}
    return fs.selection.draw(fs.selection.drawing_weights("mad", facts), number, seed=seed).images


def choose_duels(maps: Mapping[str, np.ndarray], number: int) -> np.ndarray:
    """Return the images (N,) on which networks' maps (I, H, W) differ most, of each ordered pair and class:
    first places before second ones, and of these the largest discrepancy first.
    """
    pairs = fs.comparison.count(maps, classes=CLASSES)
    rows = fs.selection.duels(pairs, per_class=number, spares=0).rows
    ordered = sorted(rows, key=lambda row: (row.place, row.concordance))
    place = {name: k for k, name in enumerate(pairs.images)}
    return np.array([*dict.fromkeys(place[row.image] for row in ordered)][:number])


def choose_entropy(entropy: np.ndarray, number: int) -> np.ndarray:
    """Return the images (N,) of largest entropy (I,)."""
    return proposals.top(entropy, number)


def choose_core_set(features: np.ndarray, held: np.ndarray, number: int) -> np.ndarray:
    """Return images (N,), each the farthest in features (I, D) from all that are ``held`` (K, D) and all that
    were chosen before it.
    """
    apart = np.linalg.norm(features[:, None] - held, axis=2).min(1)
    chosen: list[int] = []
    for _ in range(number):
        chosen.append(int(apart.argmax()))
        apart = np.minimum(apart, np.linalg.norm(features - features[chosen[-1]], axis=1))
    return np.array(chosen)


@cache
def frames(folder: Path) -> tuple[Frames, Frames]:
    """Return the pool, without near-duplicates, and the test frames, without those that nearly equal one of
    the pool.
    """
    from faultscape.reading.study import opened

    study = folder / "study"
    for split, role in (("train", "pool"), ("test", "test")):
        if split not in (opened(str(study)).sets if (study / "study.toml").exists() else ()):
            known = fs.options.KnownData(layout="camvid", split=split)
            fs.collect(str(study), str(DATA), set_=split, role=role, known=known)
    rows = [*opened(str(study)).image_rows.values()]
    pool = [row for row in rows if row.set == "train" and row.near_duplicate_of == row.id]
    test = [row for row in rows if row.set == "test" and row.near_duplicate_of.startswith("test/")]
    order = tie_order([row.digest for row in pool])
    return read([pool[k] for k in order]), read(test)


def read(rows: Sequence) -> Frames:
    """Return frames at the size of the networks."""
    import cv2

    from faultscape.corpus.photos import read_photo
    from faultscape.uncertainty.training.crops import resized
    from faultscape.uncertainty.training.labels import IGNORED

    photos, labels = [], []
    for row in rows:
        photo = Path(row.source)
        mask = cv2.imread(str(photo.parent.with_name(f"{photo.parent.name}annot") / f"{photo.stem}.png"), -1)
        seen, said = resized(read_photo(row)[0], mask.astype(np.int16), SIZE)
        photos.append(seen)
        labels.append(np.where(said < CLASSES, said, IGNORED).astype(np.int16))
    ids, drives = (tuple(getattr(row, name) for row in rows) for name in ("id", "group"))
    return Frames(ids, drives, np.stack(photos), np.stack(labels))


def network(name: str, seed: int, weights: Path | None = None) -> DoubtNetwork:
    """Return a network with random weights of a seed, or with those of a file."""
    import loop_networks

    from faultscape.uncertainty import description as descriptions

    with descriptions.seeded(seed):
        net = fs.uncertainty.replace_head(getattr(loop_networks, name)(), classes=CLASSES, seed=seed)
    if weights is not None:
        descriptions.load_weights(net, weights)
    return net


def learn(net: DoubtNetwork, pool: Frames, new: Sequence[int], old: Sequence[int], seed: int) -> float:
    """Train a network on frames of the pool, with those that it has learnt as the other half of each batch if
    there are any; return the mean loss of the last steps.
    """
    from faultscape.uncertainty.training.loop import Machine, Task, train
    from faultscape.uncertainty.training.plan import CompletePlan

    shown = [*new, *old]
    plan = {"batch": 8, "crop": SIZE, "scale": (0.75, 1.5), "seed": seed}
    plan |= {"epochs": EPOCHS, "rate": RATE} if old else {"steps": FIRST_STEPS, "rate": FIRST_RATE}
    task = Task(
        len(shown),
        lambda k: (pool.photos[shown[k]], pool.labels[shown[k]]),
        mean=MEAN,
        std=STD,
        new=len(new) if old else 0,
    )
    # without checkpoints: a job that is killed is done again
    machine = Machine(readers=1, every=float("inf"))
    losses = [step.loss for step in train(net, CompletePlan(**plan), task, Path("none"), "", machine)]
    return float(np.mean(losses[-20:]))


def look(net: DoubtNetwork, photos: np.ndarray) -> Seen:
    """Return what a network says about photos (I, H, W, 3)."""
    import torch

    from faultscape.uncertainty.training.crops import pixels
    from faultscape.uncertainty.training.validation import probabilities

    found, kept = [], []
    last = net.net.get_submodule(net.layer)
    hook = last.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0].mean((2, 3)).numpy()))
    net.eval()
    with torch.inference_mode():
        for first in range(0, len(photos), 16):
            shown = np.stack([pixels(photo, MEAN, STD) for photo in photos[first : first + 16]])
            shares = probabilities(net(torch.from_numpy(shown)), SIZE)
            entropy = torch.special.entr(shares).sum(1).mean((1, 2))
            found.append((shares.argmax(1).numpy().astype(np.uint8), entropy.double().numpy()))
    hook.remove()
    maps, entropy = (np.concatenate(part) for part in zip(*found, strict=True))
    return Seen(maps, entropy, np.concatenate(kept).astype(float))


def judge(net: DoubtNetwork, test: Frames) -> dict[str, list[list[int]]]:
    """Return {drive: for each class the pixels that are right, said and true}."""
    maps = look(net, test.photos).maps
    out = {}
    for drive in sorted(set(test.drives)):
        mine = np.array(test.drives) == drive
        known = test.labels[mine] >= 0
        cells = np.bincount(
            test.labels[mine][known].astype(int) * CLASSES + maps[mine][known], minlength=CLASSES**2
        ).reshape(CLASSES, CLASSES)
        out[drive] = np.stack([cells.diagonal(), cells.sum(0), cells.sum(1)], 1).tolist()
    return out


def miou(counts: Mapping[str, Sequence], drive: str | None = None) -> float:
    """Return the mean IoU over all pixels of the test frames, or those of a drive."""
    cells = np.sum([counts[name] for name in counts if drive in (None, name)], 0)
    right, said, true = cells.T
    return float(np.mean(right / (said + true - right)))


def start(folder: Path, seed: int) -> list[int]:
    """Return the frames that are labelled first."""
    return choose_uniform(len(frames(folder)[0].ids), START, (seed, 0)).tolist()


def begin(folder: Path, seed: int) -> None:
    """Train the networks of a seed on the frames that are labelled first."""
    pool, test = frames(folder)
    if (cell := folder / "jobs" / f"{seed}-start-0.json").exists():
        return
    held = start(folder, seed)
    nets = {name: network(name, seed) for name in NETWORKS}
    finish(cell, pool, test, nets, {name: ([], held) for name in NETWORKS}, seed)


def job(folder: Path, seed: int, way: str, size: int) -> None:
    """Choose images for one round, and continue the networks on them."""
    pool, test = frames(folder)
    if (cell := folder / "jobs" / f"{seed}-{way}-{size}.json").exists():
        return
    place = {id_: k for k, id_ in enumerate(pool.ids)}
    before = SIZES[SIZES.index(size) - 1] if size > SIZES[0] else 0
    stem = f"{seed}-{way if before else 'start'}-{before}"
    nets = {
        name: network(name, seed, folder / "networks" / f"{stem}-{name}.safetensors") for name in NETWORKS
    }
    held = {name: start(folder, seed) for name in NETWORKS}
    for earlier in SIZES[: SIZES.index(size)]:
        found = json.loads((folder / "jobs" / f"{seed}-{way}-{earlier}.json").read_text())
        held = {name: [*held[name], *(place[id_] for id_ in found["chosen"][name])] for name in NETWORKS}
    left = {name: np.setdiff1d(np.arange(len(pool.ids)), held[name]) for name in NETWORKS}
    number, seeds = size - before, (seed, size)
    if way == "uniform":
        same = choose_uniform(len(left[NETWORKS[0]]), number, seeds)
        chosen = {name: left[name][same] for name in NETWORKS}
    elif way in ("draws", "duels"):
        maps = {name: look(net, pool.photos[left[name]]).maps for name, net in nets.items()}
        same = choose_draws(maps, number, seeds) if way == "draws" else choose_duels(maps, number)
        chosen = {name: left[name][same] for name in NETWORKS}
    else:
        chosen = {}
        for name, net in nets.items():
            seen = look(net, pool.photos)
            if way == "entropy":
                mine = choose_entropy(seen.entropy[left[name]], number)
            else:
                mine = choose_core_set(seen.features[left[name]], seen.features[held[name]], number)
            chosen[name] = left[name][mine]
    finish(cell, pool, test, nets, {name: (held[name], chosen[name].tolist()) for name in NETWORKS}, seed)


def finish(
    cell: Path,
    pool: Frames,
    test: Frames,
    nets: Mapping[str, DoubtNetwork],
    shown: Mapping[str, tuple[list[int], list[int]]],
    seed: int,
) -> None:
    """Train networks on (old, new) frames, judge them, and write what was found."""
    from faultscape.uncertainty import sealed_files

    about: dict = {"chosen": {}, "loss": {}, "counts": {}}
    begun = time.process_time()
    for name, net in nets.items():
        old, new = shown[name]
        about["loss"][name] = learn(net, pool, new, old, seed)
        about["chosen"][name] = [pool.ids[k] for k in new]
        about["counts"][name] = judge(net, test)
        weights = cell.parent.with_name("networks") / f"{cell.stem}-{name}.safetensors"
        weights.parent.mkdir(parents=True, exist_ok=True)
        sealed_files.write(weights, net.state_dict())
    about |= {"seconds": round(time.process_time() - begun, 1), "load": round(os.getloadavg()[0], 1)}
    cell.parent.mkdir(parents=True, exist_ok=True)
    made = cell.with_suffix(".tmp")
    made.write_text(json.dumps(about) + "\n")
    made.rename(cell)
    said = ", ".join(f"{name} {miou(counts):.3f}" for name, counts in about["counts"].items())
    print(f"{cell.stem}: {said}; {about['seconds']} s", flush=True)


def run(folder: Path, seeds: Sequence[int]) -> None:
    """Do all jobs that are missing, a seed at a time."""
    import cv2
    import torch

    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    for seed in seeds:
        begin(folder, seed)
        for size in SIZES:
            for way in WAYS:
                job(folder, seed, way, size)


def curves(folder: Path) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the seeds that are complete, and mIoU (S, W, N, 1 + 4) by seed, way, network and number of
    images, the first being 0.
    """
    found, seeds = [], []
    for cell in sorted(
        (folder / "jobs").glob("*-start-0.json"), key=lambda path: int(path.name.split("-")[0])
    ):
        seed = int(cell.name.split("-")[0])
        cells = [[cell, *(cell.with_name(f"{seed}-{way}-{size}.json") for size in SIZES)] for way in WAYS]
        if all(path.exists() for row in cells for path in row):
            counts = [[json.loads(path.read_text())["counts"] for path in row] for row in cells]
            found.append([[[miou(one[name]) for one in row] for name in NETWORKS] for row in counts])
            seeds.append(seed)
    return tuple(seeds), np.array(found)


def needed(curve: np.ndarray, wanted: float) -> float:
    """Return after how many images a curve (1 + 4,) reaches a value: made monotone (isotonic regression), and
    linear between its numbers of images; infinite if it does not.

    >>> needed(np.array([0.1, 0.2, 0.4, 0.3, 0.5]), 0.35), needed(np.array([0.1, 0.2, 0.2, 0.3, 0.4]), 0.45)
    (20.0, inf)
    """
    rising = optimize.isotonic_regression(curve).x
    at = (0, *SIZES)
    after = int(np.searchsorted(rising, wanted - 1e-12))
    if after in (0, len(rising)):
        return float(at[0]) if after == 0 else float("inf")
    low, high = rising[after - 1], rising[after]
    return float(at[after - 1] + (at[after] - at[after - 1]) * (wanted - low) / (high - low))


def needed_by(found: np.ndarray) -> np.ndarray:
    """Return (W,) after how many images each way reaches the mIoU of ``uniform`` at the end, from curves (S,
    W, N, 5).
    """
    mean = found.mean((0, 2))
    wanted = optimize.isotonic_regression(mean[WAYS.index("uniform")]).x[-1]
    return np.array([needed(curve, wanted) for curve in mean])


def table(folder: Path, out: Path) -> None:
    """Write the curves and the numbers of images needed, and print both."""
    seeds, found = curves(folder)
    apart = found - found[:, [WAYS.index("uniform")]]
    cells = apart.shape[0] * apart.shape[2]
    rows = []
    for w, way in enumerate(WAYS):
        for k, size in enumerate((0, *SIZES)):
            mine = apart[:, w, :, k].ravel()
            half = stats.t.ppf(0.975, cells - 1) * mine.std(ddof=1) / np.sqrt(cells)
            numbers = (found[:, w, :, k].mean(), mine.mean(), mine.mean() - half, mine.mean() + half)
            rows.append([way, size, *(f"{number:.4f}" for number in numbers), int((mine > 0).sum()), cells])
    write(out / "loop.csv", ("way", "images", "miou", "difference", "low", "high", "above", "cells"), rows)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(seeds), (RESAMPLES, len(seeds)))
    nets = rng.integers(0, len(NETWORKS), (RESAMPLES, len(NETWORKS)))
    again = np.array([needed_by(found[s][:, :, n]) for s, n in zip(drawn, nets, strict=True)])
    low, high = np.quantile(again, (0.025, 0.975), axis=0, method="inverted_cdf")
    rows = [
        [way, *(f"{number:.0f}" for number in ends), f"{share:.3f}"]
        for way, *ends, share in zip(WAYS, needed_by(found), low, high, (again <= 50).mean(0), strict=True)
    ]
    write(out / "loop_needed.csv", ("way", "needed", "low", "high", "at most 50"), rows)
    print(f"\nseeds {', '.join(map(str, seeds))}")


def write(file: Path, columns: Sequence[str], rows: Sequence[Sequence]) -> None:
    """Write rows as CSV, and print them."""
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows([columns, *rows])
    for row in (columns, ["---"] * len(columns), *rows):
        print(f"| {' | '.join(map(str, row))} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", default="0,1,2")
    given = parser.parse_args()
    if given.what == "run":
        run(given.folder, [int(seed) for seed in given.seeds.split(",")])
    else:
        table(given.folder, OUT)


if __name__ == "__main__":
    main()
