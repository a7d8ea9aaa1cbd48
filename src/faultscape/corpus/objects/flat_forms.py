"""The simple forms of a folder of cut-outs: images with transparency, and images in one folder with masks in
another.

Conventions: an image with transparency is an object in any folder; the class is the name of its folder, '' at
the top level. Of two folders, the one with masks is recognised by its name (masks, labels, annotations, ...);
values above 0 are the object. In ``instances``, each value above 0 is an object. Subfolders are classes.
"""

from __future__ import annotations

import posixpath

from faultscape.corpus.objects.file_tree import FileTree, class_of_folder, is_image
from faultscape.corpus.objects.harvest import Harvest
from faultscape.corpus.objects.masks import maps_in, pairs_of_names, shared_names, take_mask
from faultscape.errors import ImageError
from faultscape.formats.rgba import rgba_of
from faultscape.stressors.objects.cutout import cutout_of_rgba

INSTANCES = "instances"
MASKS = frozenset(
    (
        "mask",
        "masks",
        "label",
        "labels",
        "annotation",
        "annotations",
        "gt",
        "ground_truth",
        "groundtruth",
        "matte",
        "mattes",
        "segmentation",
        "segmentations",
        INSTANCES,
    )
)


def take_rgba(harvest: Harvest, name: str) -> None:
    """Take an image with transparency as an object."""
    try:
        image = rgba_of(harvest.tree.read(name), name)
        harvest.take(name, cutout_of_rgba(image, name, class_of_folder(name)))
    except ImageError as error:
        harvest.leave(name, error)


def take_all_rgba(harvest: Harvest) -> None:
    """Take all images with transparency of a folder, searched all the way down."""
    for name in harvest.each(harvest.tree.files):
        if name in harvest.done:
            continue
        if is_image(name):
            take_rgba(harvest, name)
        else:
            harvest.leave(name, "is not an image; expected PNG, WebP or TIFF with transparency")


def mask_folders(tree: FileTree) -> tuple[str, str] | None:
    """Return the folders of images and of masks, each with a trailing ``/``; None if a tree has no
    such pair.

    If there are both masks and instances, instances count. The image folder is the one called ``images``, or
    the only other one. Two folders are images and masks if some of their files share a name, or if they are
    called so: a folder of cut-outs of the class `mask` does not count.
    """
    files = [name for name in tree.files if "/" in name and (is_image(name) or name.lower().endswith(".npy"))]
    folders = sorted({name.partition("/")[0] for name in files})
    masks = [name for name in folders if name.lower() in MASKS]
    images = [name for name in folders if name not in masks]
    if len(images) > 1:
        images = [name for name in images if name.lower() == "images"]
    if len(masks) > 1:
        masks = [name for name in masks if name.lower() == INSTANCES] or [
            name for name in masks if name.lower() == "masks"
        ]
    if len(images) != 1 or len(masks) != 1:
        return None
    both = f"{images[0]}/", f"{masks[0]}/"
    shared = shared_names(tree.images(both[0]), maps_in(tree, both[1]), both)
    return (
        both
        if shared or (images[0].lower() == "images" and masks[0].lower() in ("masks", INSTANCES))
        else None
    )


def take_pairs(harvest: Harvest, folders: tuple[str, str]) -> None:
    """Take the objects of images in one folder whose masks are in another."""
    value = value_of_folder(folders[1])
    pairs = pairs_of_names(
        harvest, harvest.tree.images(folders[0]), maps_in(harvest.tree, folders[1]), folders
    )
    for image, mask in harvest.each(pairs):
        take_mask(harvest, image, mask, class_of_folder(image.removeprefix(folders[0])), value)


def value_of_folder(mask: str) -> str:
    """Return ``*`` (one object per value) for a mask in a folder called instances, else ''.

    >>> value_of_folder("instances/a.png"), value_of_folder("masks/a.png")
    ('*', '')
    """
    return "*" if INSTANCES in posixpath.dirname(mask).lower().split("/") else ""
