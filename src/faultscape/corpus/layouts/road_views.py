"""Road scenes from many places and cameras: WildDash 1 and 2, Mapillary Vistas 1.2 and 2.0, BDD100K.

Conventions: WildDash and BDD100K give Cityscapes train ids, Mapillary its own ids
(`classes.road_scenes.mapillary_to_cityscapes` maps them to Cityscapes). Images are not grouped. WildDash 2
has five labels besides the 34 of Cityscapes, mapped as by its authors: pick-ups to truck, vans to car, road
markings to road, billboards and street lights to void. Sources: Zendel et al. 2018 and 2022; Neuhold et al.
2017; Yu et al. 2020.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultscape.corpus.layouts.layout import ROLES, Frame
from faultscape.corpus.layouts.masks import cityscapes_meaning, translate
from faultscape.corpus.layouts.trees import IMAGES, base, beside, files
from faultscape.errors import LabelMapError
from faultscape.formats.label_maps import read_map

WILDDASH2 = ((34, "truck"), (35, "car"), (36, "void"), (37, "void"), (38, "road"))
_THINGS = ("animal--", "human--", "object--vehicle--")


def find_wilddash1(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames *_100000.png that have *_100000_labelIds.png beside them, in the root or in
    wd_val_01/.
    """
    root = base(root, "wd_val_01")
    for path in files(root, tuple(f"_100000{ending}" for ending in IMAGES)):
        truth = beside(path.parent, f"{path.stem}_labelIds", (".png",))
        if truth:
            yield Frame(
                path.stem,
                str(path),
                truth,
                beside(path.parent, f"{path.stem}_instanceIds", (".png",)),
                split=split,
                role="validation",
            )


def find_wilddash2(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames images/*.jpg with labels/*.png of the public part, in the root or in wd_public_02/."""
    root = base(root, "wd_public_02", "wd_public_v2p0")
    for path in files(root / "images"):
        yield Frame(path.stem, str(path), beside(root / "labels", path.stem, (".png",)), split=split)


def find_mapillary_v12(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames SPLIT/images/*.jpg with labels in SPLIT/v1.2/labels, or in SPLIT/labels as in the
    first release.
    """
    yield from _mapillary(root, split, ("v1.2", ""))


def find_mapillary_v20(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames SPLIT/images/*.jpg with labels in SPLIT/v2.0/labels."""
    yield from _mapillary(root, split, ("v2.0",))


def _mapillary(root: Path, split: str, versions: tuple[str, ...]) -> Iterator[Frame]:
    inner = next(
        (folder for version in versions if (folder := root / split / version / "labels").is_dir()), None
    )
    for path in files(root / split / "images"):
        truth = beside(inner, path.stem, (".png",)) if inner and split != "testing" else ""
        instances = beside(inner.parent / "instances", path.stem, (".png",)) if truth and inner else ""
        if inner or split == "testing":
            yield Frame(path.stem, str(path), truth, instances, split=split, role=ROLES.get(split, "test"))


def find_bdd100k(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames images/10k/SPLIT/*.jpg with labels/sem_seg/masks/SPLIT/*.png, or seg/images with
    seg/labels/SPLIT/*_train_id.png as in the first release.
    """
    new = root / "labels" / "sem_seg" / "masks" / split
    old = base(root, "seg") / "labels" / split
    images = root / "images" / "10k" / split
    for path in files(images if images.is_dir() else base(root, "seg") / "images" / split):
        truth = beside(new, path.stem, (".png",)) or beside(old, f"{path.stem}_train_id", (".png",))
        yield Frame(path.stem, str(path), truth if split != "test" else "", split=split, role=ROLES[split])


def read_wilddash2(frame: Frame) -> np.ndarray:
    """Return (H, W) train ids of a frame of WildDash 2."""
    return translate(frame.truth, cityscapes_meaning(WILDDASH2), "WildDash 2")


def vistas_instances(frame: Frame, names: tuple[str, ...]) -> np.ndarray:
    """Return (H, W) int32 instances of people, riders, vehicles and animals, by the ``names`` of the labels,
    from a 16-bit file of label x 256 + number.
    """
    values = read_map(frame.instances).astype(np.int64)
    labels = values >> 8
    if int(labels.max(initial=0)) >= len(names):
        raise LabelMapError(
            f"{frame.instances}: holds the label {labels.max()}; labels are 0-{len(names) - 1}"
        )
    thing = np.array([name.startswith(_THINGS) for name in names])
    return np.where(thing[labels], values + 1, 0).astype(np.int32)
