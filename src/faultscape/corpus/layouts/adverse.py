"""Real scenes in adverse conditions with Cityscapes labels: Foggy Driving, Foggy Zurich, Dark
Zurich, ACDC.

Conventions: labels are train ids 0-18, 255 void, read from label id files if there are any, else from train
id files. A split SPLIT_ref shows the places of SPLIT in good conditions. Masks of invalid regions (invIds,
invGray) are not read: they mark uncertain content, which is neither void, since it is labelled, nor
anomalous. Sources: Sakaridis et al. 2018 (both sets; the readme files that come with them); Dai et al. 2020;
Sakaridis et al. 2019 and 2022 (Dark Zurich); Sakaridis et al. 2021 (ACDC).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from faultscape.corpus.layouts.layout import ROLES, Frame
from faultscape.corpus.layouts.trees import IMAGES, branch, files, first_file, inside, lines, without

CONDITIONS = ("fog", "night", "rain", "snow")
TIMES = ("night", "twilight", "day")


def find_foggy_driving(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames leftImg8bit/SPLIT/RECORD/*_leftImg8bit.png: ``test`` has fine labels, ``test_extra``
    coarse ones, ``all`` is both.
    """
    folder = branch(root, "leftImg8bit")
    for part, kind in (("test", "gtFine"), ("test_extra", "gtCoarse")):
        labels = branch(root, kind)
        if folder is None or split not in (part, "all"):
            continue
        for path in files(folder / part, tuple(f"_leftImg8bit{ending}" for ending in IMAGES)):
            stem = without(path.name, "_leftImg8bit")
            at = labels / part / path.parent.name if labels else None
            names = (f"{stem}_{kind}_{ids}.png" for ids in ("labelIds", "labelTrainIds"))
            truth = first_file(at / name for name in names) if at else ""
            yield Frame(f"{path.parent.name}/{stem}", str(path), truth, split=split, role="test")


def find_foggy_zurich(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames listed in lists_file_names/RGB_SPLIT_filenames.txt; those of the splits testv1 and
    testv2 have labels.
    """
    for line in lines(root / "lists_file_names" / f"RGB_{split}_filenames.txt"):
        path = inside(root, line)
        below = line.strip("/").partition("/")[2]
        id_ = without(below)
        if not path.is_file():
            continue
        truth = first_file(root / kind / f"{id_}.png" for kind in ("gt_labelIds", "gt_labelTrainIds"))
        role = "test" if split.startswith("test") else "pool"
        yield Frame(
            id_,
            str(path),
            truth if role == "test" else "",
            group=id_.rpartition("/")[0],
            split=split,
            role=role,
        )


def find_dark_zurich(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames rgb_anon/SPLIT/TIME/SEQUENCE/*_rgb_anon.png; only ``val`` has labels; those of
    ``test`` are hidden.
    """
    for time in TIMES:
        folder = branch(root, f"rgb_anon/{split}/{time}")
        labels = branch(root, f"gt/{split}/{time}")
        for path in files(folder, "_rgb_anon.png") if folder else ():
            stem = without(path.name, "_ref_rgb_anon", "_rgb_anon")
            sequence = path.parent.name
            truth = _labels(labels / sequence, f"{stem}_gt") if labels else ""
            yield Frame(
                f"{time}/{sequence}/{stem}", str(path), truth, group=f"{time}/{sequence}",
                split=split, role=ROLES[split.removesuffix("_ref")], condition=time,
            )  # fmt: skip


def find_acdc(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames rgb_anon/CONDITION/SPLIT/SEQUENCE/*_rgb_anon.png, of reference splits
    *_rgb_ref_anon.png; the labels of ``test`` and ``test_ref`` are hidden.
    """
    of, _, reference = split.partition("_")
    image, label = ("_rgb_ref_anon", "gt_ref") if reference else ("_rgb_anon", "gt")
    for condition in CONDITIONS:
        folder = branch(root, f"rgb_anon/{condition}/{split}")
        labels = branch(root, f"gt/{condition}/{split}")
        for path in files(folder, f"{image}.png") if folder else ():
            stem = without(path.name, image)
            sequence = path.parent.name
            truth = _labels(labels / sequence, f"{stem}_{label}") if labels else ""
            yield Frame(
                f"{condition}/{sequence}/{stem}", str(path), truth, group=f"{condition}/{sequence}",
                split=split, role=ROLES[of], condition="clean" if reference else condition,
            )  # fmt: skip


def _labels(folder: Path, stem: str) -> str:
    return first_file(folder / f"{stem}_{ids}.png" for ids in ("labelIds", "labelTrainIds"))
