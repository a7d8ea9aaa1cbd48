"""Blum et al. 2021, "The Fishyscapes benchmark", section 3.2: FS Lost and Found from the original Lost and
Found tree, top to bottom.

Conventions: LOST_AND_FOUND is the unpacked data set (leftImg8bit/ and gtCoarse/), LABELS the folder of the
published Fishyscapes labels (DDDD_NAME_labels.png), if available. OUT/SPLIT/images holds a link to each image
(a copy where links are not supported), OUT/SPLIT/labels-VARIANT its labels 0, 1, 255, OUT/selection.csv one
row per image. Without LABELS the variant is *on-road*: object 1, free space 0, everything else 255. The
authors labelled the background by hand, so numbers of the two variants are not comparable. Run as ``python -m
faultscape.recipes.fs_lost_and_found LOST_AND_FOUND OUT [LABELS]``.
Source: Blum et al. 2021.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from faultscape.corpus.layouts import fishyscapes, lost_and_found
from faultscape.corpus.layouts.catalogue import entry
from faultscape.corpus.layouts.layout import Frame, check, find_frames
from faultscape.errors import CorpusError


def original_frames(root: str) -> tuple[Frame, ...]:
    """Return all frames of Lost and Found; the paper selects by location from both of its splits."""
    layout = entry("lost-and-found")
    frames = [frame for split in layout.splits for frame in find_frames(layout, root, split)]
    if remark := check(layout, frames):
        print(f"note: {remark}")
    return tuple(frames)


def selection(root: str) -> tuple[Frame, ...]:
    """Return the frames selected in section 3.2: no children or bicycles, every sixth image, no image without
    an object, split by location.
    """
    chosen = lost_and_found.choose(original_frames(root))
    print(chosen)
    return chosen.frames


def published_selection(root: str, labels: str) -> tuple[Frame, ...]:
    """Return the frames of the published validation labels, with those labels as truth."""
    found = sorted(Path(labels).rglob("*_labels.png"))
    if not found:
        raise CorpusError(
            f"{labels}: holds no labels; expected DDDD_NAME_labels.png as Fishyscapes publishes them"
        )
    labelled = [Frame(path.name.removesuffix("_labels.png"), "", str(path)) for path in found]
    return lost_and_found.published(original_frames(root), labelled)


def write(frames: Sequence[Frame], out: str, variant: str) -> None:
    """Write OUT/SPLIT/images, OUT/SPLIT/labels-VARIANT and OUT/selection.csv."""
    read = fishyscapes.read_anomaly if variant == "fishyscapes" else lost_and_found.read_on_road
    rows = []
    for frame in frames:
        truth = read(frame)
        image = Path(out, frame.split, "images", f"{frame.id}{Path(frame.image).suffix}")
        labels = Path(out, frame.split, f"labels-{variant}", f"{frame.id}.png")
        for path in (image, labels):
            path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(truth).save(labels)
        if not image.exists():
            _link(Path(frame.image).absolute(), image)
        rows.append(
            (
                frame.id,
                frame.split,
                frame.group,
                variant,
                int(np.count_nonzero(truth == 1)),
                int(np.count_nonzero(truth == 255)),
            )
        )
    with Path(out, "selection.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [("id", "split", "group", "truth", "anomalous", "void"), *rows]
        )


def build(root: str, out: str, labels: str = "") -> tuple[Frame, ...]:
    """Do section 3.2: select, or take the published selection; write it; print what to do next."""
    frames = published_selection(root, labels) if labels else selection(root)
    if not frames:
        raise CorpusError(f"{root}: no frame is left after the selection; is this all of Lost and Found?")
    variant = "fishyscapes" if labels else "on-road"
    write(frames, out, variant)
    for split in sorted({frame.split for frame in frames}):
        number = sum(frame.split == split for frame in frames)
        print(
            f"{split}: {number} images ({variant}); next: faultscape measure"
            f" {Path(out, split, f'labels-{variant}')} --anomaly NAME=SCORES --preset fishyscapes"
        )
    return frames


def _link(source: Path, target: Path) -> None:
    try:
        os.symlink(source, target)
    except OSError:  # a system or disk without links
        shutil.copyfile(source, target)


def main(words: list[str]) -> None:
    """Run the recipe from the command line."""
    if len(words) not in (2, 3):
        sys.exit("usage: python -m faultscape.recipes.fs_lost_and_found LOST_AND_FOUND OUT [LABELS]")
    build(*words)


if __name__ == "__main__":
    main(sys.argv[1:])
