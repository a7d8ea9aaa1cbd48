"""Real scenes in bad conditions with the labels of Cityscapes: Foggy Driving, Foggy Zurich, ACDC.

Conventions: labels are train ids 0-18, 255 void, from label ids where there are such files, else from train ids.
Sources: Sakaridis et al. 2018 (both sets; the readme files that come with them); Dai et al. 2020; Sakaridis et al. 2021 (ACDC).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from faultscape.corpus.layouts.layout import ROLES, Frame
from faultscape.corpus.layouts.trees import IMAGES, branch, files, first_file, inside, lines, without

CONDITIONS = ("fog", "night", "rain", "snow")


def find_foggy_driving(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames leftImg8bit/SPLIT/RECORD/*_leftImg8bit.png: ``test`` has fine labels, ``test_extra`` coarse ones, ``all`` is both."""
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
    """Yield the frames that lists_file_names/RGB_SPLIT_filenames.txt names; those of the splits testv1 and testv2 have labels."""
    for line in lines(root / "lists_file_names" / f"RGB_{split}_filenames.txt"):
        path = inside(root, line)
        below = line.strip("/").partition("/")[2]
        id_ = without(below)
        if not path.is_file():
            continue
        truth = first_file(root / kind / f"{id_}.png" for kind in ("gt_labelIds", "gt_labelTrainIds"))
        role = "test" if split.startswith("test") else "pool"
        yield Frame(id_, str(path), truth if role == "test" else "", group=id_.rpartition("/")[0], split=split, role=role)


def find_acdc(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames rgb_anon/CONDITION/SPLIT/SEQUENCE/*_rgb_anon.png; the labels of ``test`` are hidden."""
    folder, labels = branch(root, "rgb_anon"), branch(root, "gt")
    for condition, images in [(name, folder / name / split) for name in CONDITIONS] if folder else ():
        for path in files(images, "_rgb_anon.png"):
            stem, sequence = without(path.name, "_rgb_anon"), path.parent.name
            at = labels / condition / split / sequence if labels and split != "test" else None
            truth = first_file(at / f"{stem}_gt_{ids}.png" for ids in ("labelIds", "labelTrainIds")) if at else ""
            yield Frame(
                f"{condition}/{sequence}/{stem}", str(path), truth,
                group=f"{condition}/{sequence}", split=split, role=ROLES[split], condition=condition,
            )  # fmt: skip
