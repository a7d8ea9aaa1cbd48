"""Cityscapes and data sets made from it: Foggy Cityscapes, and corruptions in a tree CORRUPTION/SEVERITY.

Conventions: ids are CITY/CITY_SEQUENCE_FRAME, prefixed by what was done to the image; a group is a city, so
that all versions of an image stay together. Archives unpack into the root or into their own folders below it
(``leftImg8bit_trainvaltest/leftImg8bit``). The labels of the test split are placeholders and are ignored.
Sources: Cordts et al. 2016; Sakaridis et al. 2018; Hendrycks and Dietterich 2019.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from faultscape.corpus.layouts.layout import ROLES, Frame
from faultscape.corpus.layouts.trees import IMAGES, beside, branch, files, first_file, without

VAL_CITIES = frozenset(("frankfurt", "lindau", "munster"))
_NAME = re.compile(r"(?P<id>(?P<city>[^/]+?)_\d{6}_\d{6})(_leftImg8bit)?\.(png|jpg|jpeg|webp)$")
_FOGGY = re.compile(
    r"(?P<id>(?P<city>[^/]+?)_\d{6}_\d{6})_leftImg8bit_foggy_beta_(?P<beta>0\.\d+)\.(png|jpg|webp)$"
)
_SEVERITIES = frozenset("12345")


@dataclass(frozen=True)
class CityTree:
    """The branches of a Cityscapes tree; None for one that is missing."""

    labels: Path | None
    disparity: Path | None
    camera: Path | None

    def frame(self, id_: str, split: str, image: str, kind: str = "gtFine") -> Frame:
        """Return the frame of an image CITY/NAME: its labels (label ids before train ids), instances,
        disparity and camera where they are there.
        """
        city, _, stem = id_.rpartition("/")
        at = (
            self.labels / split / city if self.labels and not (split == "test" and kind == "gtFine") else None
        )
        return Frame(
            id_,
            image,
            truth=(
                first_file(at / f"{stem}_{kind}_{ids}.png" for ids in ("labelIds", "labelTrainIds"))
                if at
                else ""
            ),
            instances=beside(at, f"{stem}_{kind}_instanceIds", (".png",)) if at else "",
            depth=beside(self.disparity / split, f"{id_}_disparity", (".png",)) if self.disparity else "",
            camera=beside(self.camera / split, f"{id_}_camera", (".json",)) if self.camera else "",
            group=city,
            split=split,
            role=ROLES.get(split, "train"),
        )


def city_tree(root: Path, kind: str = "gtFine") -> CityTree:
    """Return the branches of a tree: labels of a kind, disparity, camera."""
    return CityTree(branch(root, kind), branch(root, "disparity"), branch(root, "camera"))


def find_cityscapes(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames leftImg8bit/SPLIT/CITY/*_leftImg8bit.png, of ``train_extra`` with coarse labels."""
    folder = branch(root, "leftImg8bit")
    kind = "gtCoarse" if split == "train_extra" else "gtFine"
    tree = city_tree(root, kind)
    for path in files(folder / split, tuple(f"_leftImg8bit{ending}" for ending in IMAGES)) if folder else ():
        id_ = f"{path.parent.name}/{without(path.name, '_leftImg8bit')}"
        yield tree.frame(id_, split, str(path), kind)


def find_foggy(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames leftImg8bit_foggy/SPLIT/CITY/*_leftImg8bit_foggy_beta_B.png (or leftImg8bit_foggyDBF),
    three densities an image.
    """
    folder = branch(root, "leftImg8bit_foggy", "leftImg8bit_foggyDBF")
    tree = _origin(root)
    for path in files(folder / split) if folder else ():
        if match := _FOGGY.fullmatch(path.name):
            yield _derived(tree, match, f"beta_{match['beta']}", f"fog-beta-{match['beta']}", split, path)


def find_corrupted(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames CORRUPTION/SEVERITY/.../CITY_SEQUENCE_FRAME[_leftImg8bit].png; without SPLIT in the
    path, the city says which split it is.
    """
    tree = _origin(root)
    for path in files(root):
        parts = path.relative_to(root).parts
        at = next((k for k in range(1, len(parts) - 1) if parts[k] in _SEVERITIES), 0)
        match = _NAME.fullmatch(path.name)
        if not at or not match:
            continue
        named = next(
            (part for part in parts if part in ("train", "val", "test")),
            "val" if match["city"] in VAL_CITIES else "train",
        )
        if named == split:
            done = f"{parts[at - 1]}/{parts[at]}"
            yield _derived(tree, match, done, done.replace("/", "-"), split, path)


def _derived(
    tree: CityTree, match: re.Match[str], before: str, condition: str, split: str, path: Path
) -> Frame:
    """Return the frame of an image made from a Cityscapes image, with the labels of that image."""
    parent = f"{match['city']}/{match['id']}"
    clean = tree.frame(parent, split, str(path))
    return Frame(
        f"{before}/{parent}", str(path), clean.truth, clean.instances, clean.depth, clean.camera,
        group=clean.group, split=split, role=clean.role, condition=condition, parent=parent,
    )  # fmt: skip


def _origin(root: Path) -> CityTree:
    """Return the Cityscapes tree that derived images belong to: in the root, in its folder ``cityscapes``, or
    beside it.
    """
    around = (root, root / "cityscapes", root.parent, root.parent / "cityscapes")
    return city_tree(next((folder for folder in around if (folder / "gtFine").is_dir()), root))
