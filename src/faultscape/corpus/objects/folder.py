"""The cut-outs of a folder: its form is detected from its contents, objects are read, and each file that
gives no object gets a one-line reason.

Conventions: a folder has one of four forms, tried in this order: a PASCAL VOC tree, COCO instances, images
beside masks, images with transparency. Any of them may contain ``objects.csv``, which adds information about
files; the files that it names are read first. The result depends on pixels and classes, not on names or order
of files: cut-outs are in order of their digests.

``place`` is the folder. ``say`` receives why objects were left out.

Source: Blum et al. 2021, section 3.1 for which objects are dropped: those cut by their image's border, and
small ones.

The simple forms of a folder of cut-outs: images with transparency, and images in one folder with masks in
another.

Conventions: an image with transparency is an object in any folder; the class is the name of its folder, '' at
the top level. Of two folders, the one with masks is recognised by its name (masks, labels, annotations, ...);
values above 0 are the object. In ``instances``, each value above 0 is an object. Subfolders are classes.
"""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from faultscape.corpus.objects.coco_folder import coco_files, take_coco
from faultscape.corpus.objects.file_tree import FileTree, class_of_folder, file_tree, is_image
from faultscape.corpus.objects.harvest import Harvest
from faultscape.corpus.objects.masks import maps_in, pairs_of_names, shared_names, take_mask
from faultscape.corpus.objects.objects_csv import NAME, read_rows
from faultscape.corpus.objects.voc_tree import take_voc, voc_trees
from faultscape.errors import CorpusError, ImageError, counted
from faultscape.formats.pictures import rgba_of
from faultscape.stressors.objects.cutout import SMALLEST, Cutout, cutout_of_rgba
from faultscape.study import store

Kind = Literal["rgba", "masks", "voc", "coco", "csv"]
FORMS: dict[str, str] = {
    "rgba": "images with transparency",
    "masks": "images beside masks",
    "voc": "a PASCAL VOC tree",
    "coco": "COCO instances",
    "csv": NAME,
}
EXPECTED = (
    "images with transparency (PNG, WebP, TIFF), folders images and masks (or instances), a PASCAL VOC tree"
    " (JPEGImages, SegmentationClass), COCO instances (.json beside the images), or objects.csv"
)
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


@dataclass(frozen=True, eq=False)
class ObjectFolder:
    """The cut-outs of a folder, in the order of their digests; (file, reason) for all files that gave none;
    and the form of the folder.
    """

    cutouts: tuple[Cutout, ...]  # those that can be blended, in the order of their digests
    left_out: tuple[tuple[str, str], ...]  # (file, reason) of files and single objects, sorted
    kind: Kind  # the form of the folder; csv if it contains objects.csv

    def __repr__(self) -> str:
        classes = Counter(cutout.class_ or "no class" for cutout in self.cutouts)
        most = ", ".join(
            f"{name} {number}"
            for name, number in sorted(classes.items(), key=lambda one: (-one[1], one[0]))[:6]
        )
        more = f" and {counted(len(classes) - 6, 'more class', 'more classes')}" if len(classes) > 6 else ""
        return (
            f"{counted(len(self.cutouts), 'object')} from {FORMS[self.kind]}:"
            f" {most}{more}{f'; {len(self.left_out)} left out' if self.left_out else ''}"
        )


def read_cutouts(
    place: str | os.PathLike[str], *, smallest: int = SMALLEST, say: Callable[[str], object] = print
) -> ObjectFolder:
    """Return the cut-outs of a folder, and why others were left out; an object has at least ``smallest``
    pixels.

    Errors: CorpusError if the place is not a folder, has nothing usable, has an invalid objects.csv, or has
    an object that is both known and an anomaly.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> image = Image.new("RGBA", (40, 40))
    >>> image.paste((200, 0, 0, 255), (5, 5, 35, 35))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "box").mkdir()
    ...     image.save(Path(folder, "box", "red.png"))
    ...     image.convert("RGB").save(Path(folder, "opaque.png"))
    ...     found = read_cutouts(folder, say=lambda _: None)
    >>> found, found.cutouts[0].split, found.left_out
    (1 object from images with transparency: box 1; 1 left out, '', (('opaque.png', 'has no alpha channel;
    save it with transparency, as PNG, WebP or TIFF, or give a mask'),))
    """
    if store.is_address(os.fspath(place)):
        raise CorpusError(f"{place}: cut-outs are read from a local folder; copy them to this machine")
    tree = file_tree(place)
    rows = read_rows(tree)
    masked = [row for row in rows if row.mask]
    harvest = Harvest(tree, smallest, [NAME] if NAME in tree.files else [])
    for row in masked:
        harvest.done.add(row.mask)
        harvest.settled.add(row.file)
        harvest.say_of(row)
        take_mask(harvest, row.file, row.mask, "", row.value or value_of_folder(row.mask))
    plain = {row.file: row for row in rows if not row.mask}
    harvest.say_of(*plain.values())
    kind = _take(harvest)
    for name in sorted(plain.keys() - harvest.done):
        take_rgba(harvest, name)
    reasons = sorted(harvest.left_out, key=lambda one: (not is_image(one[0]), one))
    _rest(harvest)
    found = ObjectFolder(
        harvest.cutouts(), tuple(sorted(set(harvest.left_out))), "csv" if NAME in tree.files else kind
    )
    first = (reasons or found.left_out or (("", ""),))[0]
    if not found.cutouts:
        if inner := _folder_of_pairs(tree):
            raise CorpusError(
                f"{place}: holds no usable object, but its folder {inner} holds images and masks;"
                f" give {os.path.join(place, inner)}"
            )
        why = f"; {first[0]}: {first[1]}" if first[0] else ""
        raise CorpusError(f"{place}: holds no usable object; expected {EXPECTED}{why[:200]}")
    say(f"{place}: {found!r}" + (f", the first: {first[0]}: {first[1]}" if found.left_out else ""))
    return found


def _take(harvest: Harvest) -> Kind:
    """Take all objects of a folder according to its form, and return the form."""
    if trees := voc_trees(harvest.tree):
        for root in trees:
            take_voc(harvest, root)
        return "voc"
    if files := coco_files(harvest):
        for json in files:
            take_coco(harvest, json)
        return "coco"
    if folders := mask_folders(harvest.tree):
        take_pairs(harvest, folders)
        return "masks"
    take_all_rgba(harvest)
    return "rgba"


def _folder_of_pairs(tree: FileTree) -> str:
    """Return the first subfolder with images and masks, or ''."""
    for inner in sorted({name.partition("/")[0] for name in tree.files if "/" in name}):
        files = tuple(name.removeprefix(f"{inner}/") for name in tree.files if name.startswith(f"{inner}/"))
        if mask_folders(FileTree(tree.root / inner, files, ())):
            return inner
    return ""


def _rest(harvest: Harvest) -> None:
    """Note the files that no form used: each image, and other files once per folder."""
    others: Counter[str] = Counter()
    for name in harvest.tree.files:
        if name in harvest.done:
            continue
        if is_image(name):
            harvest.leave(
                name, f"does not belong to any object of the folder; list it in {NAME} if it is one"
            )
        else:
            others[f"{name.rpartition('/')[0]}/" if "/" in name else name] += 1
    for name, number in others.items():
        harvest.leave(
            name,
            (
                f"holds {counted(number, 'file')} from which no object is read"
                if name.endswith("/")
                else "holds no object"
            ),
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
