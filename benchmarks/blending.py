"""Blending: how long it takes, how its frames compare with real FS Static frames, and how well a detector of
artefacts finds what was pasted.

``python benchmarks/blending.py speed | frames DATA | detector DATA [--development]``; DATA is the folder of
real data (camvid, objects, voc2012, anomaly).

Conventions: the detector sees patches of 16 x 16 pixels: gradients, second differences (noise), their ratio
(blur), local contrast, and how far the patch's colours are from those around it and from the frame's; nothing
of what is shown. It is a forest trained on known objects pasted the v1 way (cars, pedestrians and bicyclists
of one CamVid drive in frames of another) and asked for anomalies in frames of a third drive. A patch counts
as pasted from a quarter of its pixels on, as clean without one; others are left out. ``--development`` asks
on the drive that defaults were chosen on; its objects and frames are not those that are reported.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image

import faultscape as fs
from faultscape.stressors.composition import Blended
from faultscape.stressors.objects.cutout import Cutout
from faultscape.stressors.placement import Placement

PATCH = 16
VOC = {
    1: "aeroplane",
    3: "bird",
    4: "boat",
    5: "bottle",
    8: "cat",
    9: "chair",
    10: "cow",
    12: "dog",
    13: "horse",
    17: "sheep",
    18: "sofa",
    20: "tvmonitor",
}
CAMVID = {8: "car", 9: "pedestrian", 10: "bicyclist"}
CAMVID_VOID = 11
DRIVES = {"paste": "0006R0", "train": "0016E5", "development": "0001TP", "reported": "Seq05VD"}
stress = fs.stressors


def rgb(path: Path) -> np.ndarray:
    """Return an image (H, W, 3) uint8."""
    return np.array(Image.open(path).convert("RGB"))


def frames_of(data: Path, drive: str, every: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, image and labels of every so many-th CamVid frame of a drive, of both splits."""
    lines = [
        line.split()
        for split in ("train", "test")
        for line in (data / "camvid" / f"{split}.txt").read_text().splitlines()
    ]
    chosen = [(image, label) for image, label in lines if Path(image).name.startswith(drive)]
    for image, label in chosen[::every]:
        yield Path(image).stem, rgb(data / "camvid" / image), np.array(Image.open(data / "camvid" / label))


def anomalies(data: Path, part: int | None = None) -> list[Cutout]:
    """Return the horses and VOC objects that may be blended; ``part`` 0 is every other one, 1 the rest."""
    made = []
    horses = data / "objects" / "weizmann_horses"
    for path in sorted((horses / "images").iterdir()):
        mask = np.array(Image.open(horses / "masks" / f"{path.stem}.png").convert("L")) > 0
        made.append(stress.cutout_of_mask(rgb(path), mask, path.stem, "horse"))
    for path in sorted((data / "voc2012" / "JPEGImages").iterdir()):
        labels = np.array(Image.open(data / "voc2012" / "SegmentationClass" / f"{path.stem}.png"))
        made += stress.connected_cutouts(rgb(path), labels, VOC, path.stem, use="anomaly")
    usable, _ = stress.usable_cutouts(made)
    return usable if part is None else usable[part::2]


def known(data: Path) -> list[Cutout]:
    """Return the cars, pedestrians and bicyclists of the drive that known objects come from."""
    made = [
        c
        for name, image, labels in frames_of(data, DRIVES["paste"], 2)
        for c in stress.connected_cutouts(image, labels, CAMVID, name, smallest=250)
    ]
    return stress.usable_cutouts(made, smallest=250)[0]


def poisson(base: np.ndarray, cutout: Cutout, placement: Placement) -> np.ndarray:
    """Return the frame with the object's gradients under the frame's colours (Perez et al. 2003),
    OpenCV's.
    """
    import cv2

    x, y, width, height = placement.box
    pixels, alpha = (a[:, ::-1] if placement.flip else a for a in (cutout.pixels, cutout.alpha))
    pixels = cv2.resize(np.ascontiguousarray(pixels), (width, height), interpolation=cv2.INTER_AREA)
    mask = (
        cv2.resize(np.ascontiguousarray(alpha), (width, height), interpolation=cv2.INTER_AREA) >= 128
    ).astype(np.uint8) * 255
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    pixels, mask = (a[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] for a in (pixels, mask))
    centre = (x + int(columns[0]) + pixels.shape[1] // 2, y + int(rows[0]) + pixels.shape[0] // 2)
    wide = cv2.copyMakeBorder(base, 8, 8, 8, 8, cv2.BORDER_REPLICATE)
    return cv2.seamlessClone(pixels, wide, mask, (centre[0] + 8, centre[1] + 8), cv2.NORMAL_CLONE)[8:-8, 8:-8]


def features(image: np.ndarray) -> np.ndarray:
    """Return (rows, columns, features) of patches."""
    rows, columns = image.shape[0] // PATCH, image.shape[1] // PATCH
    part = image[: rows * PATCH, : columns * PATCH].astype(np.float32)

    def blocks(values: np.ndarray) -> np.ndarray:
        return (
            values.reshape(rows, PATCH, columns, PATCH, -1)
            .transpose(0, 2, 1, 3, 4)
            .reshape(rows, columns, PATCH * PATCH, -1)
        )

    wide = np.pad(part, ((1, 1), (1, 1), (0, 0)), mode="edge")
    across, down = np.abs(wide[1:-1, 2:] - wide[1:-1, :-2]), np.abs(wide[2:, 1:-1] - wide[:-2, 1:-1])
    lines = wide[:-2] - 2 * wide[1:-1] + wide[2:]
    second = np.abs(lines[:, :-2] - 2 * lines[:, 1:-1] + lines[:, 2:])
    edges, noise = blocks(across + down), blocks(second)
    grey = blocks(part.mean(2, keepdims=True))[..., 0]
    colours = blocks(part)
    mean = colours.mean(2)
    ring = np.pad(mean, ((1, 1), (1, 1), (0, 0)), mode="edge")
    around = (
        sum(ring[i : i + rows, j : j + columns] for i in range(3) for j in range(3) if (i, j) != (1, 1)) / 8
    )
    bins = (colours // 32).astype(int)
    own = np.stack([(bins == k).mean(2) for k in range(8)], -1)
    frame = own.mean((0, 1))
    wide_own = np.pad(own, ((1, 1), (1, 1), (0, 0), (0, 0)), mode="edge")
    near = (
        sum(wide_own[i : i + rows, j : j + columns] for i in range(3) for j in range(3) if (i, j) != (1, 1))
        / 8
    )
    distances = [np.abs(own - frame).sum(3), np.abs(own - near).sum(3)]
    quiet = np.quantile(noise.mean(3), 0.25, axis=2)[..., None]
    found = [
        edges.mean(2),
        edges.max(2),
        edges.std(2),
        noise.mean(2),
        noise.max(2),
        quiet,
        noise.mean(2) / (edges.mean(2) + 1),
        grey.std(2)[..., None],
        colours.std(2),
        np.abs(mean - around),
        mean - part.mean((0, 1)),
        (mean.max(2) - mean.min(2))[..., None],
        *distances,
    ]
    return np.concatenate(found, 2)


def patch_labels(pasted: np.ndarray) -> np.ndarray:
    """Return (rows, columns) 1 pasted, 0 clean, -1 left out, of a mask (H, W)."""
    rows, columns = pasted.shape[0] // PATCH, pasted.shape[1] // PATCH
    share = pasted[: rows * PATCH, : columns * PATCH].reshape(rows, PATCH, columns, PATCH).mean((1, 3))
    return np.where(share >= 0.25, 1, np.where(share == 0, 0, -1))


def pasted_pixels(cutout: Cutout, placement: Placement, frame: tuple[int, int]) -> np.ndarray:
    """Return (H, W) where an object lies, from its placement alone, so that all ways of blending are asked
    about the same pixels.
    """
    return stress.coverage([(cutout, placement)], frame) > 0


Patches = tuple[np.ndarray, np.ndarray, np.ndarray]  # features, labels, number of the frame
Way = Callable[[np.ndarray, Cutout, Placement, "fs.stressors.BlendPlan"], np.ndarray]


def by_preset(preset: str) -> Way:
    """Return what blends by a preset, with the placement's own numbers."""
    return lambda base, cutout, placement, plan: (
        stress.blend(base, [(cutout, placement)], replace(plan, preset=preset)).image
    )


def alpha_alone(
    base: np.ndarray, cutout: Cutout, placement: Placement, plan: fs.stressors.BlendPlan
) -> np.ndarray:
    """Blend with smoothing of alpha and nothing else."""
    bare = replace(placement, brightness=0.0, noise=0.0)
    return by_preset("fishyscapes-v1")(base, cutout, bare, plan)


WAYS: dict[str, Way] = {
    "alpha alone": alpha_alone,
    "Poisson": lambda base, cutout, placement, _: poisson(base, cutout, placement),
    "v1": by_preset("fishyscapes-v1"),
    "v2": by_preset("fishyscapes-v2"),
}


def pasted_frames(
    data: Path,
    drive: str,
    every: int,
    cutouts: list[Cutout],
    ways: dict[str, Way],
    seed: int,
    *,
    of_known: bool,
) -> dict[str, Patches]:
    """Return for each way all patches of a drive's frames with one object pasted into each."""
    found: dict[str, list[Patches]] = {way: [] for way in ways}
    for number, (name, image, _) in enumerate(frames_of(data, drive, every)):
        for draw in range(40):  # known objects: the first draw of v3 that is one
            plan = stress.plan_blend(
                image.shape[:2],
                cutouts,
                "fishyscapes-v3" if of_known else "fishyscapes-v2",
                seed=seed,
                key=name,
                draw=draw,
            )
            if not of_known or plan.objects[0].use == "known":
                break
        ((cutout, placement),) = plan.placed(cutouts)
        labels = patch_labels(pasted_pixels(cutout, placement, image.shape[:2]))
        for way, make in ways.items():
            rows = features(make(image, cutout, placement, plan))[labels >= 0]
            found[way].append((rows, labels[labels >= 0], np.full(len(rows), number)))
    return {
        way: tuple(np.concatenate(part) for part in zip(*parts, strict=True)) for way, parts in found.items()
    }


def differences(labels: np.ndarray, frames: np.ndarray, one: np.ndarray, other: np.ndarray) -> list[float]:
    """Return AUROC of one minus that of the other scores of the same patches, for 200 draws of stretches of
    ten frames, since neighbours are alike.
    """
    from sklearn.metrics import roc_auc_score

    rng, stretches = np.random.default_rng(0), frames // 10
    places = [np.flatnonzero(stretches == k) for k in range(int(stretches.max()) + 1)]
    found = []
    for _ in range(200):
        drawn = np.concatenate([places[k] for k in rng.integers(len(places), size=len(places))])
        found.append(roc_auc_score(labels[drawn], one[drawn]) - roc_auc_score(labels[drawn], other[drawn]))
    return found


def detector(data: Path, *, development: bool) -> None:
    """Train on pasted known objects, and print the AUROC of finding anomalies blended in each way."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    part, drive = (0, DRIVES["development"]) if development else (1, DRIVES["reported"])
    ours = anomalies(data, part)
    asked = pasted_frames(data, drive, 1, ours, WAYS, 7, of_known=False)
    pasted = known(data)
    # v3 draws one or the other; frames for which it draws the anomaly are drawn anew
    with_one = [*pasted, ours[0]]
    trained = pasted_frames(
        data, DRIVES["train"], 1, with_one, {way: WAYS[way] for way in ("v1", "v2")}, 3, of_known=True
    )
    print(
        f"{len(pasted)} known objects; {len(ours)} anomalies asked for in"
        f" {len(list(frames_of(data, drive, 1)))} frames of {drive}, {int(asked['v1'][1].sum())} patches of"
        f" {len(asked['v1'][1])} pasted"
    )
    print(f"{'trained on':12}" + "".join(f"{way:>14}" for way in WAYS))
    for way, (rows, labels, _) in trained.items():
        used = (labels == 1) | (np.random.default_rng(0).random(len(labels)) < 0.15)
        forest = RandomForestClassifier(
            150, min_samples_leaf=5, class_weight="balanced_subsample", random_state=0, n_jobs=2
        ).fit(rows[used], labels[used])
        scores = {of: forest.predict_proba(asked[of][0])[:, 1] for of in WAYS}
        print(
            f"{way + ' known':12}"
            + "".join(f"{roc_auc_score(asked[of][1], scores[of]):14.3f}" for of in WAYS)
        )
        low, high = np.quantile(
            differences(asked["v1"][1], asked["v1"][2], scores["v1"], scores["v2"]), [0.025, 0.975]
        )
        print(f"{'':12}v1 - v2, 95 % of draws of stretches of ten frames: {low:.3f} to {high:.3f}")


def real_frames(data: Path) -> None:
    """Print sizes and places of anomalies in real FS Static frames beside those of plans."""
    from scipy import ndimage

    print(
        f"{'':34}{'share of known + anomalous':>28}{'share of frame, with object':>30}{'middle, height':>20}{'middle, width':>16}"
    )
    rows = []
    for path in sorted((data / "anomaly" / "fs_static" / "masks").iterdir()):
        mask = np.array(Image.open(path))
        if (mask == 1).any():
            rows.append(
                (
                    (mask == 1).sum() / (mask != 255).sum(),
                    (mask == 1).mean(),
                    *(c / s for c, s in zip(ndimage.center_of_mass(mask == 1), mask.shape, strict=True)),
                )
            )
        else:
            rows.append((0.0, np.nan, np.nan, np.nan))
    show("real FS Static, 20 frames", np.array(rows))
    ego = np.zeros((1024, 2048), bool)
    ego[900:] = True  # as Cityscapes' own vehicle
    objects = {"horses and VOC": anomalies(data), "drawn": stress.drawn_cutouts(3)}
    evenness = []
    for what, cutouts in objects.items():
        rows, pairs = [], []
        for k in range(1000):
            plan = stress.plan_blend(
                (1024, 2048), cutouts, "fishyscapes-v2", seed=0, key=f"frame {k}", forbidden=ego
            )
            ((cutout, placed),) = plan.placed(cutouts)
            pairs.append((cutout, placed))
            share = cutout.area * (placed.width * placed.height) / cutout.alpha.size / (1024 * 2048)
            rows.append(
                (
                    share / 0.88,
                    share,
                    (placed.y + placed.height / 2) / 1024,
                    (placed.x + placed.width / 2) / 2048,
                )
            )
        show(f"plans, {what}, 1,000 frames", np.array(rows))
        counts = stress.coverage(pairs, (1024, 2048))[:896].reshape(7, 128, 16, 128).mean((1, 3))
        middle = counts[1:-1, 1:-1]
        evenness.append(
            f"{what}: a cell of 128 x 128 is covered {counts.mean():.1f} times; away from the border"
            f" {middle.min():.1f} to {middle.max():.1f}; in the corners"
            f" {counts[[0, 0, -1, -1], [0, -1, 0, -1]].mean():.1f}"
        )
    print("\n".join(evenness))


def show(name: str, rows: np.ndarray) -> None:
    """Print means, and quartiles of sizes and places."""
    low, middle, high = np.nanpercentile(rows, [25, 50, 75], axis=0)
    cells = [f"{np.mean(rows[:, 0]):.2%}"] + [
        f"{np.nanmean(rows[:, 1]):.2%} ({low[1]:.2%} {middle[1]:.2%} {high[1]:.2%})"
    ]
    cells += [f"{low[k]:.2f} {middle[k]:.2f} {high[k]:.2f}" for k in (2, 3)]
    print(f"{name:34}{cells[0]:>28}{cells[1]:>30}{cells[2]:>20}{cells[3]:>16}")


def speed() -> None:
    """Print how long one object takes in a frame of 1024 x 2048 with all steps of v2, processor time of one
    thread: the least and the largest of the default sizes, hard and soft borders.
    """
    import cv2

    cv2.setNumThreads(1)
    base = np.asarray(stress.words_at(0, 1024 * 2048 * 3) >> np.uint64(58), np.uint64).astype(
        np.uint8
    ).reshape(1024, 2048, 3) + np.uint8(90)
    base[:300] = 250
    soft = stress.drawn_cutout("horse")
    hard = replace(soft, alpha=((soft.alpha >= 128) * 255).astype(np.uint8))
    for name, cutout in (("soft", soft), ("hard", hard)):
        for area in (0.005, 0.0215, 0.041):
            plan = stress.plan_blend(
                (1024, 2048), [cutout], "fishyscapes-v2", seed=1, key="a", areas=(area, area)
            )
            placed = plan.placed([cutout])
            took = []
            for _ in range(6):
                start = time.process_time()
                made: Blended = stress.blend(base, placed, plan)
                took.append(time.process_time() - start)
            print(
                f"{name} border, {plan.objects[0].width} x {plan.objects[0].height}, {made.pixels[0]} pixels:"
                f" {1000 * median(took[1:]):.0f} ms"
            )


def main() -> None:
    """Read the command line and print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("speed", "frames", "detector"))
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--development", action="store_true")
    options = parser.parse_args()
    if options.what == "speed":
        speed()
    elif options.data is None:
        parser.error("name the folder of real data")
    elif options.what == "frames":
        real_frames(options.data)
    else:
        detector(options.data, development=options.development)


if __name__ == "__main__":
    main()
