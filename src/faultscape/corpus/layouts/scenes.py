"""General scenes: ADE20K as distributed by the scene parsing benchmark (150 classes), COCO-Stuff, PASCAL VOC
2012.

Conventions: a listed image that does not exist is left out, so that samples work. Images of all three sets
are not grouped. Sources: Zhou et al. 2017; Caesar et al. 2018; Everingham et al. 2010.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from faultscape.corpus.layouts.layout import ROLES, Frame
from faultscape.corpus.layouts.trees import base, beside, branch, files, inside, lines, without

_PREFIX = {"training": "ADE_train_", "validation": "ADE_val_", "test": "ADE_test_"}


def find_ade20k(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames images/SPLIT/*.jpg with annotations/SPLIT/*.png; for samples, images/ADE_train_*.jpg
    and ADE_val_*.jpg without split folders; for ``test``, release_test/testing/*.jpg.
    """
    inner = base(root, "ADEChallengeData2016")
    hidden = split == "test"
    images = base(root, "release_test") / "testing" if hidden else inner / "images"
    for path in files(images, (".jpg", ".jpeg")):
        folder = path.parent.relative_to(images).as_posix()
        if path.name.startswith(_PREFIX[split]) and folder in (".", split):
            truth = "" if hidden else beside(inner / "annotations" / folder, path.stem, (".png",))
            yield Frame(path.stem, str(path), truth, split=split, role=ROLES[split])


def find_coco_stuff(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames images/SPLIT/*.jpg (or SPLIT/*.jpg) with the label maps of stuffthingmaps/SPLIT/*.png,
    which the data set's own readme file unpacks as annotations/.
    """
    images = branch(root, f"images/{split}", split)
    labels = branch(
        root,
        *(f"{name}/{split}" for name in ("stuffthingmaps", "stuffthingmaps_trainval2017", "annotations")),
    )
    for path in files(images, ".jpg") if images else ():
        truth = beside(labels, path.stem, (".png",)) if labels else ""
        yield Frame(path.stem, str(path), truth, split=split, role=ROLES[split.removesuffix("2017")])


def find_voc(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames listed in ImageSets/Segmentation/SPLIT.txt: JPEGImages/ID.jpg,
    SegmentationClass/ID.png, SegmentationObject/ID.png.
    """
    root = next(
        (inner for inner in (root / "VOCdevkit" / "VOC2012", root / "VOC2012") if inner.is_dir()), root
    )
    for line in lines(root / "ImageSets" / "Segmentation" / f"{split}.txt"):
        id_ = without(line) if line.lower().endswith(".jpg") else line
        image = inside(root / "JPEGImages", f"{id_}.jpg")
        if image.is_file():
            truth = beside(root / "SegmentationClass", id_, (".png",))
            yield Frame(
                id_,
                str(image),
                truth,
                beside(root / "SegmentationObject", id_, (".png",)),
                split=split,
                role=ROLES.get(split, "pool"),
            )
