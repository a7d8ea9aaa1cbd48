"""Which images should one label to train on? Five ways of choosing, round by round, on CamVid: the tables of
docs/benchmarks/loop.md.

    python benchmarks/loop.py run FOLDER [--seeds 0,1,2]    # half an hour on one core; goes on where it was stopped
    python benchmarks/loop.py table FOLDER                  # docs/benchmarks/data/loop*.csv and the rows, of what is there

Conventions: of CamVid's training frames, one of each group of near-duplicates is in the pool (344). By a seed
24 of them are labelled first; each of three networks (loop_networks.py) learns these from random weights. Then
come rounds, as those of `faultscape loop`: 10, 10, 20 and 40 frames are chosen of what is left by the last
networks, the true masks are their labels, and each first network is continued on all frames chosen so far, half
of each batch new and half of the first ones (`train --init FIRST --set selection:1 --set selection:2 ...`), for
150 steps however many these are, so that only the frames differ; ``none`` are 150 steps without new ones. What
is chosen, and how long is trained, follows from no test image. mIoU is over all pixels of the test frames
without void (232: one nearly equals a training frame), at 96 x 64, where networks are trained too.
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
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from scipy import optimize, stats

import faultscape as fs
from faultscape.choices import Role
from faultscape.nouns import Slot
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
SIZE = (96, 64)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FIRST_STEPS, FIRST_RATE = 800, 2e-3
STEPS, RATE = 150, 5e-4
MOST = 50  # images in which a way should reach what `uniform` reaches at the end
DRIVES = ("0016E5", "0006R0", "0001TP")
TESTED = ("0001TP", "Seq05VD")
RARE = (2, 6, 7, 9, 10)  # poles, signs, fences, pedestrians, bicyclists


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
    ordered = sorted(
        (row for row in rows if isinstance(row, Slot)), key=lambda row: (row.place, row.concordance)
    )
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
    roles: dict[str, Role] = {"train": "pool", "test": "test"}
    for split, role in roles.items():
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
    from faultscape.corpus.photos import read_photo
    from faultscape.uncertainty.training.crops import resized
    from faultscape.uncertainty.training.labels import IGNORED

    photos, labels = [], []
    for row in rows:
        photo = Path(row.source)
        file = photo.parent.with_name(f"{photo.parent.name}annot") / f"{photo.stem}.png"
        mask = np.asarray(Image.open(file))
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


def learn(
    net: DoubtNetwork,
    pool: Frames,
    new: Sequence[int],
    old: Sequence[int],
    seed: int,
    steps: int,
    rate: float,
) -> float:
    """Train a network on frames of the pool, with ``old`` ones as the other half of each batch if there are
    new ones; return the mean loss of the last steps.
    """
    from faultscape.uncertainty.training.loop import Machine, Task, train
    from faultscape.uncertainty.training.plan import CompletePlan

    shown = [*new, *old]
    plan = CompletePlan(steps=steps, rate=rate, batch=8, crop=SIZE, scale=(0.75, 1.5), seed=seed)
    task = Task(
        len(shown),
        lambda k: (pool.photos[shown[k]], pool.labels[shown[k]]),
        mean=MEAN,
        std=STD,
        new=len(new),
    )
    # without checkpoints: a job that is killed is done again
    machine = Machine(readers=1, every=float("inf"))
    losses = [step.loss for step in train(net, plan, task, Path("none"), "", machine)]
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
    """Train the networks of a seed on the frames that are labelled first, and on these alone once more."""
    held = {name: (start(folder, seed), []) for name in NETWORKS}
    nets = {name: network(name, seed) for name in NETWORKS}
    finish(folder, f"{seed}-start-0", nets, held, seed, FIRST_STEPS, FIRST_RATE)
    finish(folder, f"{seed}-none-0", first_networks(folder, seed), held, seed)


def job(folder: Path, seed: int, way: str, size: int) -> None:
    """Choose images for one round, and continue the first networks on all that were chosen."""
    cell = f"{seed}-{way}-{size}"
    if (folder / "jobs" / f"{cell}.json").exists():
        return
    pool = frames(folder)[0]
    place = {id_: k for k, id_ in enumerate(pool.ids)}
    before = SIZES[SIZES.index(size) - 1] if size > SIZES[0] else 0
    first = start(folder, seed)
    new: dict[str, list[int]] = {name: [] for name in NETWORKS}
    nets = first_networks(folder, seed)
    if before:
        found = json.loads((folder / "jobs" / f"{seed}-{way}-{before}.json").read_text())["chosen"]
        new = {name: [place[id_] for id_ in found[name]] for name in NETWORKS}
        nets = {
            name: network(name, seed, weights(folder, f"{seed}-{way}-{before}", name)) for name in NETWORKS
        }
    chosen = choose(
        way, pool, nets, {name: [*first, *new[name]] for name in NETWORKS}, size - before, (seed, size)
    )
    shown = {name: (first, [*new[name], *chosen[name]]) for name in NETWORKS}
    finish(folder, cell, first_networks(folder, seed), shown, seed)


def choose(
    way: str,
    pool: Frames,
    nets: Mapping[str, DoubtNetwork],
    held: Mapping[str, Sequence[int]],
    number: int,
    seed: Sequence[int],
) -> dict[str, list[int]]:
    """Return the frames of the pool that a way chooses for each network, none that it ``held`` before."""
    left = {name: np.setdiff1d(np.arange(len(pool.ids)), held[name]) for name in NETWORKS}
    if way in ("entropy", "core-set"):
        out = {}
        for name, net in nets.items():
            seen = look(net, pool.photos)
            if way == "entropy":
                mine = choose_entropy(seen.entropy[left[name]], number)
            else:
                mine = choose_core_set(seen.features[left[name]], seen.features[held[name]], number)
            out[name] = left[name][mine].tolist()
        return out
    same = left[NETWORKS[0]]
    if way == "uniform":
        mine = choose_uniform(len(same), number, seed)
    else:
        maps = {name: look(net, pool.photos[same]).maps for name, net in nets.items()}
        mine = choose_draws(maps, number, seed) if way == "draws" else choose_duels(maps, number)
    return {name: same[mine].tolist() for name in NETWORKS}


def first_networks(folder: Path, seed: int) -> dict[str, DoubtNetwork]:
    """Return the networks of a seed that learnt the frames that were labelled first."""
    return {name: network(name, seed, weights(folder, f"{seed}-start-0", name)) for name in NETWORKS}


def weights(folder: Path, cell: str, name: str) -> Path:
    """Return the file of a trained network."""
    return folder / "networks" / f"{cell}-{name}.safetensors"


def finish(
    folder: Path,
    cell: str,
    nets: Mapping[str, DoubtNetwork],
    shown: Mapping[str, tuple[list[int], list[int]]],
    seed: int,
    steps: int = STEPS,
    rate: float = RATE,
) -> None:
    """Train networks on (first, new) frames, judge them, and write what was found."""
    from faultscape.uncertainty import sealed_files

    file = folder / "jobs" / f"{cell}.json"
    if file.exists():
        return
    for part in ("jobs", "networks"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    pool, test = frames(folder)
    about: dict = {"chosen": {}, "loss": {}, "counts": {}}
    begun = time.process_time()
    for name, net in nets.items():
        first, new = shown[name]
        about["loss"][name] = learn(net, pool, new, first, seed, steps, rate)
        about["chosen"][name] = [pool.ids[k] for k in new]
        about["counts"][name] = judge(net, test)
        sealed_files.write(weights(folder, cell, name), net.state_dict())
    about |= {"seconds": round(time.process_time() - begun, 1), "load": round(os.getloadavg()[0], 1)}
    made = file.with_suffix(".tmp")
    made.write_text(json.dumps(about) + "\n")
    made.rename(file)
    said = ", ".join(f"{name} {miou(counts):.3f}" for name, counts in about["counts"].items())
    print(f"{cell}: {said}; {about['seconds']} s", flush=True)


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
        (folder / "jobs").glob("*-none-0.json"), key=lambda path: int(path.name.split("-")[0])
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
    """Write the curves, the numbers of images needed, what was chosen and every network; print the rows of the
    page.
    """
    seeds, found = curves(folder)
    apart = (found - found[:, [WAYS.index("uniform")]]).swapaxes(0, 1).reshape(len(WAYS), -1, 1 + len(SIZES))
    rows = []
    for (w, way), (k, size) in product(enumerate(WAYS), enumerate((0, *SIZES))):
        numbers = (found[:, w, :, k].mean(), *interval(apart[w, :, k]))
        rows.append([way, size, *(f"{number:.4f}" for number in numbers)])
    write(out / "loop.csv", ("way", "images", "miou", "difference", "low", "high"), rows)
    each = np.array([needed_by(found[[s]]) for s in range(len(seeds))])
    rows = []
    for w, (way, all_seeds) in enumerate(zip(WAYS, needed_by(found), strict=True)):
        ends = f"{all_seeds:.0f}", f"{each[:, w].min():.0f}", f"{each[:, w].max():.0f}"
        mean = (f"{number:.4f}" for number in interval(apart[w, :, 1:].mean(1)))
        rows.append([way, *ends, int((each[:, w] <= MOST).sum()), *mean])
    columns = ("way", "needed", "least", "most", f"seeds within {MOST}", "difference", "low", "high")
    write(out / "loop_needed.csv", columns, rows)
    write(
        out / "loop_chosen.csv", ("way", "images", *DRIVES, "neighbours", "rare"), chosen_rows(folder, seeds)
    )
    write(
        out / "loop_runs.csv", ("seed", "way", "images", "network", "miou", *TESTED), run_rows(folder, seeds)
    )
    page(out)
    print(f"\nseeds {', '.join(map(str, seeds))}")


def interval(apart: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of differences (N,) and its 95 % interval, as if they were independent."""
    middle = float(apart.mean())
    half = float(stats.t.ppf(0.975, len(apart) - 1) * apart.std(ddof=1) / np.sqrt(len(apart)))
    return middle, middle - half, middle + half


def page(out: Path) -> None:
    """Print the rows of the page from what was written."""
    with (out / "loop.csv").open(encoding="utf-8") as file:
        curve = {(row["way"], int(row["images"])): row for row in csv.DictReader(file)}
    with (out / "loop_needed.csv").open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    print("| way | images needed |", " | ".join(map(str, SIZES)), "| mean of these |")
    print("|---|---|" + "---|" * (len(SIZES) + 1))
    for row in rows:
        ends = [row[name].replace("inf", "> 80") for name in ("needed", "least", "most")]
        if row["way"] == "uniform":
            points = [f"{100 * float(curve['uniform', size]['miou']):.1f} %" for size in SIZES] + [""]
        else:
            points = [as_points(one) for one in (*(curve[row["way"], size] for size in SIZES), row)]
        print(f"| {row['way']} | {ends[0]} ({ends[1]} to {ends[2]}) | {' | '.join(points)} |")


def as_points(row: Mapping[str, str]) -> str:
    """Return a difference with its interval, in points."""
    # 0.0 is added so that no zero has a sign of its own
    middle, low, high = (round(100 * float(row[name]), 1) + 0.0 for name in ("difference", "low", "high"))
    return f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]"


def run_rows(folder: Path, seeds: Sequence[int]) -> list[list[object]]:
    """Return a row a trained network: its mIoU over all test frames and over those of each drive."""
    rows = []
    for seed, (way, size) in product(seeds, [("start", 0), ("none", 0), *product(WAYS, SIZES)]):
        counts = json.loads((folder / "jobs" / f"{seed}-{way}-{size}.json").read_text())["counts"]
        for name in NETWORKS:
            numbers = [miou(counts[name], drive) for drive in (None, *TESTED)]
            rows.append([seed, way, size, name, *(f"{number:.4f}" for number in numbers)])
    return rows


def chosen_rows(folder: Path, seeds: Sequence[int]) -> list[list[object]]:
    """Return what each way chose in all rounds up to a number of images: the share of each drive, of frames
    whose neighbour in the drive was chosen too, and of pixels of rare classes; first of the whole pool.
    """
    pool = frames(folder)[0]
    place = {id_: k for k, id_ in enumerate(pool.ids)}
    ordered = np.argsort(pool.ids)  # by drive and time
    rank = np.argsort(ordered)
    drives = np.array(pool.drives)
    rare = np.array([np.isin(one[one >= 0], RARE).mean() for one in pool.labels])

    def row(way: str, size: int, groups: Sequence[Sequence[int]]) -> list[object]:
        numbers = []
        for mine in groups:
            at = {*rank[mine].tolist()}
            beside = [(k - 1 in at) or (k + 1 in at) for k in at]
            numbers.append(
                [*((drives[mine] == drive).mean() for drive in DRIVES), np.mean(beside), rare[mine].mean()]
            )
        return [way, size, *(f"{number:.3f}" for number in np.mean(numbers, 0))]

    rows = [row("pool", len(pool.ids), [range(len(pool.ids))])]
    for way, size in product(WAYS, SIZES):
        groups = []
        for seed, name in product(seeds, NETWORKS):
            file = folder / "jobs" / f"{seed}-{way}-{size}.json"
            groups.append([place[id_] for id_ in json.loads(file.read_text())["chosen"][name]])
        rows.append(row(way, size, groups))
    return rows


def write(file: Path, columns: Sequence[str], rows: Sequence[Sequence]) -> None:
    """Write rows as CSV."""
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows([columns, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
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
