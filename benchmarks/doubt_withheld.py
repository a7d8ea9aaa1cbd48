"""Why classes withheld from training are missed by scores of a network of benchmarks/doubt.py: what it takes
them for, which known pixels score higher, what a probe that is told of them finds, and a picture.

    python benchmarks/doubt_withheld.py FOLDER PICTURE [--model segformer-b0-linear-0]    # after `doubt.py run FOLDER`; ten minutes of one core

Conventions: frames are those of the study in which classes are withheld, AP and FPR95 are over every third
pixel. A probe is a logistic regression or a network of one hidden layer that sees the features of a cell; it
is taught which cells are withheld on half of the frames, and judged on the others, both ways: a bound that no
score without such labels can expect to pass. Halves are every other frame (which often show the same cars
again), or the first and the second half of each drive. Joined are `residual` and `energy`, each standardised
over known cells of validation images with blended objects. Photos are not shown: CamVid's are not ours to
give away.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from doubt import VALIDATION
from doubt_pictures import CAPTION, INK, MARGIN, OUTLINE, PAPER, WIDTH, outline
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import distance_transform_edt
from torch import nn

import faultscape as fs
from faultscape.corpus.photos import read_photo
from faultscape.maps.paint import colour
from faultscape.maps.resize import nearest
from faultscape.maps.winners import enlarged
from faultscape.prediction.doubt_methods import built
from faultscape.reading.image_truths import Judge, find_judged, with_labels
from faultscape.reading.study import Study
from faultscape.reporting.anomaly_frames import score_picture
from faultscape.uncertainty.methods.block_fit import KNOWN, NEGATIVE, cell_labels
from faultscape.uncertainty.methods.catalogue import IMAGE
from faultscape.uncertainty.methods.embeddings import grid_of
from faultscape.uncertainty.methods.layers import penultimate
from faultscape.uncertainty.methods.residual import energy_of
from faultscape.verbs.fit.open_model import open_model
from faultscape.verbs.fit.samples import meaning_of

PIXELS, BORDER, SURE = 3, 4, 0.9
STEPS, BATCH = 600, 4096
PROBES: dict[str, Callable[[int], nn.Module]] = {
    "linear": lambda wide: nn.Linear(wide, 1),
    "one hidden layer": lambda wide: nn.Sequential(
        nn.Linear(wide, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 1)
    ),
}


class Frames(NamedTuple):
    """Of each frame the features (D, h, w) of the last layer's input, the logits (C, h, w), two scores (h,
    w), the anomaly labels (H, W), the labels of classes (H, W), and the drive.
    """

    features: np.ndarray
    logits: np.ndarray
    residual: np.ndarray
    energy: np.ndarray
    anomaly: np.ndarray
    classes: np.ndarray
    drives: np.ndarray

    @property
    def cells(self) -> np.ndarray:
        """The labels (N, h, w) of cells, as `block_fit` has them."""
        return np.stack([cell_labels(one, self.energy.shape[1:]) for one in self.anomaly])

    def at_size(self, scores: np.ndarray) -> np.ndarray:
        """Return scores (N, H, W) of scores (N, h, w)."""
        size = (self.anomaly.shape[2], self.anomaly.shape[1])
        return np.stack([enlarged(np.ascontiguousarray(one[None], np.float32), size)[0] for one in scores])

    def judge(self, scores: np.ndarray, some: np.ndarray | bool = True) -> str:
        """Return AP and FPR95 of scores (N, H, W) over ``some`` pixels."""
        pixels = (self.anomaly < 2) & some
        truth = self.anomaly[pixels][::PIXELS]
        found = fs.metrics.detection(scores[pixels][::PIXELS], truth)
        return f"{found.average_precision:.3f} | {found.fpr95:.3f}"


def frames_of(folder: Path, model: str, study: str, name: str) -> Frames:
    """Return what a network makes of the frames of a set, and their labels."""
    learn, there = Study(folder / "learn"), Study(folder / study)
    inference = open_model(learn, model, "").inference
    residual = built(folder / "learn" / "methods" / model / "residual.safetensors")
    last = penultimate(inference.network.module)
    layers = list(dict.fromkeys([*(layer for layer in residual.layers if layer != IMAGE), last]))
    judge = Judge(there, with_labels(there, find_judged(there, there.image_rows, "labels")))
    rows = []
    for image in [image for image in there.image_rows.values() if image.set == name]:
        photo = read_photo(image)[0]
        size = photo.shape[1], photo.shape[0]
        views = judge.views(image.id, size)
        (anomaly,) = [view.anomaly for view in views if view.anomaly is not None]
        (classes,) = [view.semantic for view in views if not view.holdout and view.semantic is not None]
        shown = inference.prepare(photo, size).views[0]
        (answer,) = inference.network.run(shown[None], layers)
        grids = {layer: grid_of(answer.embeddings[layer], shown.shape[1:])[None] for layer in layers}
        grids[IMAGE] = torch.from_numpy(shown)[None]
        logits = torch.from_numpy(answer.scores)[None]
        (moved,) = residual.values([grids[layer] for layer in residual.layers], logits)
        drive = Path(image.id).name.partition("_")[0]
        frame = (
            grids[last][0].half().numpy(),
            answer.scores,
            moved[0, 0].numpy(),
            energy_of(logits)[0].numpy(),
        )
        rows.append((*frame, anomaly, classes, drive))
    return Frames(*(np.array(column) for column in zip(*rows, strict=True)))


def joined(frames: Frames, calibration: Frames) -> np.ndarray:
    """Return the mean of both scores (N, h, w), standardised over known cells of other frames."""
    known = calibration.cells == KNOWN
    pairs = [(frames.residual, calibration.residual[known]), (frames.energy, calibration.energy[known])]
    return np.mean([(score - of.mean()) / of.std() for score, of in pairs], 0)


def said_of(frames: Frames) -> tuple[np.ndarray, np.ndarray]:
    """Return the channel (N, H, W) that the network finds likeliest, and its probability."""
    size = (frames.anomaly.shape[2], frames.anomaly.shape[1])
    channels, shares = [], []
    for one in frames.logits:
        logits = enlarged(one, size)
        parts = np.exp(logits - logits.max(0))
        channels.append(parts.argmax(0))
        shares.append(parts.max(0) / parts.sum(0))
    return np.stack(channels), np.stack(shares)


def taken_for(frames: Frames, names: Sequence[str], place_of: np.ndarray) -> None:
    """Print what the network takes each withheld class for."""
    channels, shares = said_of(frames)
    energy, withheld = frames.at_size(frames.energy), frames.anomaly == 1
    print(
        f"| class | of withheld pixels | surer than {SURE} | taken for | AP | FPR95 |\n|---|---|---|---|---|---|"
    )
    for place in [*np.unique(frames.classes[withheld]), None]:
        mine = withheld if place is None else withheld & (frames.classes == place)
        counts = np.bincount(channels[mine], minlength=len(place_of)) / mine.sum()
        words = ", ".join(f"{names[place_of[k]]} {counts[k]:.2f}" for k in counts.argsort()[::-1][:3])
        row = f"{mine.sum() / withheld.sum():.2f} | {(shares[mine] > SURE).mean():.2f} | {words}"
        title = "all" if place is None else names[place]
        print(f"| {title} | {row} | {frames.judge(energy, mine | (frames.anomaly == 0))} |")


def false_alarms(frames: Frames, place_of: np.ndarray) -> None:
    """Print how well `energy` does without some of the pixels."""
    channels, shares = said_of(frames)
    energy, withheld = frames.at_size(frames.energy), frames.anomaly == 1
    right = place_of[channels] == frames.classes
    far = np.stack([distance_transform_edt(~edges(one)) for one in frames.classes]) > BORDER
    unsure = shares <= SURE
    kept: dict[str, np.ndarray | bool] = {
        "nothing": True,
        "known pixels that the network gets wrong": withheld | right,
        f"pixels within {BORDER} of a border of classes": far,
        "both": (withheld | right) & far,
        f"withheld pixels of which it is surer than {SURE}": ~withheld | unsure,
    }
    print("\n| `energy` without | AP | FPR95 |\n|---|---|---|")
    for title, some in kept.items():
        print(f"| {title} | {frames.judge(energy, some)} |")


def edges(classes: np.ndarray) -> np.ndarray:
    """Return the pixels (H, W) whose left or upper neighbour has another class."""
    found = np.zeros(classes.shape, bool)
    found[:, 1:] |= classes[:, 1:] != classes[:, :-1]
    found[1:] |= classes[1:] != classes[:-1]
    return found


def probes(frames: Frames) -> None:
    """Print what probes find that were told of the withheld classes."""
    count = len(frames.features)
    place = np.array([(frames.drives[:k] == drive).sum() for k, drive in enumerate(frames.drives)])
    length = np.array([(frames.drives == drive).sum() for drive in frames.drives])
    halves = {"every other frame": np.arange(count) % 2 == 0, "half of each drive": place < length // 2}
    print("\n| probe | taught with | AP | FPR95 |\n|---|---|---|---|")
    for title, half in halves.items():
        for kind, make in PROBES.items():
            first, second = (probed(frames, make, some) for some in (half, ~half))
            scores = np.where(half[:, None, None], second, first)
            print(f"| {kind} | {title} | {frames.judge(frames.at_size(scores))} |")


def probed(frames: Frames, make: Callable[[int], nn.Module], taught: np.ndarray) -> np.ndarray:
    """Return the scores (N, h, w) of a probe that is taught with some of the frames."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    count, wide = frames.features.shape[:2]
    rows = torch.from_numpy(frames.features[taught]).permute(0, 2, 3, 1).reshape(-1, wide)
    labels = torch.from_numpy(frames.cells[taught].ravel())
    mean, deviation = rows.float().mean(0), rows.float().std(0).clamp_min(1e-6)
    there = torch.nonzero(labels <= NEGATIVE)[:, 0]
    probe = make(wide)
    adam = torch.optim.Adam(probe.parameters(), 3e-3, weight_decay=1e-4)
    slower = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.02, STEPS)
    for _ in range(STEPS):
        drawn = there[torch.from_numpy(rng.integers(0, len(there), BATCH))]
        odds = probe((rows[drawn].float() - mean) / deviation)[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(odds, labels[drawn].float())
        adam.zero_grad()
        loss.backward()
        adam.step()
        slower.step()
    probe.eval()
    with torch.no_grad():
        grids = torch.from_numpy(frames.features).permute(0, 2, 3, 1)
        made = [probe((grids[k].float() - mean) / deviation)[..., 0].numpy() for k in range(count)]
    return np.stack(made)


def picture(frames: Frames, both: np.ndarray, study: Study, place_of: np.ndarray, target: Path) -> None:
    """Draw the frame with most withheld pixels of which the network is sure, and that on which `energy` finds
    most: its labels, and three scores.
    """
    channels, shares = said_of(frames)
    withheld = frames.anomaly == 1
    sure = (withheld & (shares > SURE)).sum((1, 2))
    scores = {
        name: frames.at_size(of)
        for name, of in (("energy", frames.energy), ("residual", frames.residual), ("their mean", both))
    }
    known = {name: np.sort(of[frames.anomaly == 0][::PIXELS]) for name, of in scores.items()}
    flagged = scores["energy"] >= known["energy"][int(0.95 * len(known["energy"]))]
    chosen = [int(sure.argmax()), int((withheld & flagged).sum((1, 2)).argmax())]
    size = WIDTH, round(WIDTH * withheld.shape[1] / withheld.shape[2])
    high = size[1] + MARGIN
    sheet = Image.new("RGB", (4 * (WIDTH + MARGIN) + MARGIN, 2 * high + CAPTION + MARGIN), PAPER)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for column, name in enumerate(("labels of the network", *scores)):
        pen.text((MARGIN + column * (WIDTH + MARGIN), 2), name, INK, font)
        for row, frame in enumerate(chosen):
            if column == 0:
                drawn = colour(nearest(place_of[channels[frame]], size), study.classes)
            else:
                of = known[name]
                drawn = score_picture(1 - np.searchsorted(of, scores[name][frame]) / len(of), size)
            drawn[outline(withheld[frame], size)] = OUTLINE
            at = (MARGIN + column * (WIDTH + MARGIN), CAPTION + MARGIN + row * high)
            sheet.paste(Image.fromarray(drawn), at)
    sheet.save(target, quality=80, method=6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--model", default="segformer-b0-linear-0")
    given = parser.parse_args()
    torch.set_num_threads(1)
    learn = Study(given.folder / "learn")
    place_of = meaning_of(open_model(learn, given.model, ""), learn).channels
    with torch.no_grad():
        frames = frames_of(given.folder, given.model, "open", "main")
        both = joined(frames, frames_of(given.folder, given.model, "learn", VALIDATION))
    taken_for(frames, learn.classes.names, place_of)
    false_alarms(frames, place_of)
    print("\n| score | AP | FPR95 |\n|---|---|---|")
    for name, score in (("energy", frames.energy), ("residual", frames.residual), ("their mean", both)):
        print(f"| {name} | {frames.judge(frames.at_size(score))} |")
    picture(frames, both, learn, place_of, given.picture)
    probes(frames)


if __name__ == "__main__":
    main()
