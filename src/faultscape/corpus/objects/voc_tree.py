"""Objects from a PASCAL VOC tree: JPEGImages, SegmentationClass, SegmentationObject if present, and the lists
in ImageSets/Segmentation.

Conventions: ids are VOC's own; 0 is background, and 255 is the band around objects and unlabelled pixels,
never an object. Without SegmentationObject, the connected regions (8 neighbours) of a class are objects, so
objects that touch are merged. An object also counts as cut by its image's border if only its band of 255, at
most `BAND` pixels wide, is in between. Images in val.txt (or validation.txt) are for validation, those in
test.txt for test, all others for both.
Source: Everingham et al. 2010, and the development kit's description of the masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from faultscape.classes.built_in import voc
from faultscape.corpus.objects.file_tree import FileTree, stem_of
from faultscape.corpus.objects.harvest import MOST_OBJECTS, Harvest
from faultscape.corpus.objects.masks import image_and_mask, maps_in, mask_of_file, pairs_of_names
from faultscape.errors import CorpusError, FaultscapeError, ImageError, counted
from faultscape.maps.regions import bounding_box
from faultscape.stressors.objects.cutout import Cutout, connected_cutouts, cutout_of_mask

VOID = 255
BAND = 5  # pixels: at borders of images of the 2012 set, bands are at most 4 wide
_LISTS = {"val.txt": "validation", "validation.txt": "validation", "test.txt": "test"}
_MOST_BYTES = 64 << 20  # per list
_DEEP = 2  # levels above a tree: VOCdevkit/VOC2012


def voc_trees(tree: FileTree) -> list[str]:
    """Return the folders with JPEGImages and SegmentationClass, each with a trailing ``/`` (``""``: the place
    itself).
    """
    folders = {name.rpartition("/")[0] for name in tree.files}
    above = {folder[: -len("JPEGImages")] for folder in folders if f"/{folder}".endswith("/JPEGImages")}
    return sorted(
        root for root in above if f"{root}SegmentationClass" in folders and root.count("/") <= _DEEP
    )


def take_voc(harvest: Harvest, root: str) -> None:
    """Take the objects of one tree; note images without a mask and masks without an image."""
    tree = harvest.tree
    folders = f"{root}JPEGImages/", f"{root}SegmentationClass/"
    of_object = {
        stem_of(name, f"{root}SegmentationObject/"): name
        for name in maps_in(tree, f"{root}SegmentationObject/")
    }
    harvest.done.update(of_object.values())
    splits = _splits(harvest, root)
    for image, mask in harvest.each(
        pairs_of_names(harvest, tree.images(folders[0]), maps_in(tree, folders[1]), folders)
    ):
        if (both := image_and_mask(harvest, image, mask)) is None:
            continue
        pixels, labels = both
        stem = stem_of(image, folders[0])
        before = len(harvest.left_out)
        try:
            objects = list(_objects(harvest, image, pixels, labels, of_object.get(stem, "")))
        except FaultscapeError as error:
            harvest.leave(image, error)
            continue
        counts: dict[str, int] = {}
        for cutout, inside in objects:
            counts[cutout.class_] = counts.get(cutout.class_, 0) + 1
            border = cutout.border + band_at_border(inside, labels == VOID)
            harvest.take(
                image,
                replace(cutout, border=border, split=splits.get(stem, "")),
                f"{cutout.class_} {counts[cutout.class_]}",
            )
        if not objects and len(harvest.left_out) == before:
            harvest.leave(image, f"its mask {mask} holds no object")


def band_at_border(inside: np.ndarray, void: np.ndarray) -> int:
    """Return how many pixels of an object's void band, at most `BAND` from it, are on the image's border.

    >>> inside, void = np.zeros((9, 9), bool), np.zeros((9, 9), bool)
    >>> inside[4, 2:5], void[4, :2] = True, True
    >>> band_at_border(inside, void)
    1
    """
    from scipy import ndimage

    edge = void.copy()
    edge[1:-1, 1:-1] = False
    rows, columns = bounding_box(inside)
    height, width = inside.shape
    near = min(rows.start, columns.start, height - rows.stop, width - columns.stop) <= BAND
    if not near or not edge.any():
        return 0
    reached = ndimage.binary_dilation(inside, np.ones((3, 3), bool), BAND, mask=inside | void)
    return int((reached & edge).sum())


def _objects(
    harvest: Harvest, image: str, pixels: np.ndarray, labels: np.ndarray, instances: str
) -> Iterator[tuple[Cutout, np.ndarray]]:
    """Yield the objects of an image and where they are (H, W); note what cannot be an object."""
    names = {id_: name for id_, name in zip(voc().ids, voc().names, strict=True) if id_}
    if odd := [int(v) for v in np.unique(labels) if v not in names and v not in (0, VOID)]:
        raise ImageError(
            f"{image}: its mask holds {odd[0]}, which is not a PASCAL VOC class; expected 0 to 20, or 255"
        )
    if not instances:
        yield from _regions(harvest, image, pixels, labels, names)
        return
    ids = mask_of_file(harvest.tree, instances)
    if ids.shape != labels.shape:
        raise ImageError(
            f"{image}: its SegmentationObject is {ids.shape[1]} x {ids.shape[0]} pixels, its"
            f" SegmentationClass {labels.shape[1]} x {labels.shape[0]}"
        )
    values = [int(v) for v in np.unique(ids) if v not in (0, VOID)]
    if len(values) > MOST_OBJECTS:
        raise ImageError(
            f"{image}: its SegmentationObject holds {len(values):,} objects; at most {MOST_OBJECTS:,} are"
            " read"
        )
    for value in values:
        inside = ids == value
        under = np.bincount(labels[inside], minlength=VOID + 1)
        under[[0, VOID]] = 0
        if under.any():
            yield cutout_of_mask(pixels, inside, image, names[int(under.argmax())]), inside
        else:
            harvest.leave(image, f"object {value}: has no class in SegmentationClass")


def _regions(
    harvest: Harvest, image: str, pixels: np.ndarray, labels: np.ndarray, names: dict[int, str]
) -> Iterator[tuple[Cutout, np.ndarray]]:
    """Yield the connected regions of each class; note the number of regions that are too small in
    one line.
    """
    from scipy import ndimage

    there = {id_: names[id_] for id_ in names if (labels == id_).any()}
    for id_, class_ in there.items():
        regions = np.empty(labels.shape, np.int32)
        ndimage.label(labels == id_, np.ones((3, 3), bool), regions)
        sizes = np.bincount(regions.ravel())[1:]
        small = int((sizes < harvest.smallest).sum())
        if len(sizes) - small > MOST_OBJECTS:
            raise ImageError(
                f"{image}: has {len(sizes) - small:,} regions of {class_}; at most {MOST_OBJECTS:,} are read"
            )
        if small:
            harvest.leave(
                image, f"{class_}: {counted(small, 'region')} of fewer than {harvest.smallest} pixels"
            )
    for cutout in connected_cutouts(pixels, labels, there, image, use="anomaly", smallest=harvest.smallest):
        (x, y), (height, width) = cutout.corner, cutout.alpha.shape
        inside = np.zeros(labels.shape, bool)
        inside[y : y + height, x : x + width] = cutout.alpha > 0
        yield cutout, inside


def _splits(harvest: Harvest, root: str) -> dict[str, str]:
    """Return {image name: split} from the lists; CorpusError for an image in the lists of both splits."""
    splits: dict[str, str] = {}
    folder = f"{root}ImageSets/Segmentation/"
    for list_, split in _LISTS.items():
        if f"{folder}{list_}" not in harvest.tree.files:
            continue
        harvest.done.add(f"{folder}{list_}")
        text = harvest.tree.read(f"{folder}{list_}", _MOST_BYTES, CorpusError).decode("utf-8", "replace")
        for id_ in (line.split()[0] for line in text.splitlines() if line.strip()):
            if splits.setdefault(id_, split) != split:
                raise CorpusError(
                    f"{harvest.tree.root / folder / list_}: {id_[:80]!r} is a validation image too;"
                    " list it in only one of them"
                )
    return splits
