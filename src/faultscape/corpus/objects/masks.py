"""Objects by masks: read an integer mask, and cut out of an image what is above 0, or one object
per value.

Conventions: a mask is (H, W) whole numbers, of its image's size. A colour mask is accepted if its three
channels are equal. The image is upright, as displayed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import numpy as np

from faultscape.corpus.objects.file_tree import FileTree, stem_of
from faultscape.corpus.objects.harvest import MOST_OBJECTS, Harvest
from faultscape.corpus.sources import MAP_ENDINGS
from faultscape.corpus.walks import common_suffix
from faultscape.errors import FaultscapeError, ImageError, LabelMapError, counted
from faultscape.formats.label_maps import read_map
from faultscape.formats.pictures import rgb_of
from faultscape.stressors.objects.cutout import cutout_of_mask


def mask_of_file(tree: FileTree, name: str) -> np.ndarray:
    """Return the values of a mask, (H, W); LabelMapError if it is not a mask."""
    try:
        return read_map(tree.root / name)
    except LabelMapError as error:
        if "three channels" not in str(error):
            raise
    rgb = rgb_of(tree.read(name), name)
    if (rgb != rgb[..., :1]).any():
        raise LabelMapError(f"{name}: is a colour mask; save it as grey or palette values")
    return np.ascontiguousarray(rgb[..., 0])


def image_and_mask(harvest: Harvest, image: str, mask: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return an image (H, W, 3) and its mask (H, W), or None if one of them cannot be read or they do not
    fit, which is noted for the image.
    """
    try:
        pixels = rgb_of(harvest.tree.read(image), image)
    except FaultscapeError as error:
        harvest.leave(image, error)
        return None
    try:
        ids = mask_of_file(harvest.tree, mask)
    except FaultscapeError as error:
        reason = str(error)
        for known in (str(harvest.tree.root / mask), mask):
            reason = reason.removeprefix(f"{known}: ")
        harvest.leave(image, f"its mask {mask}: {reason}")
        return None
    if ids.shape != pixels.shape[:2]:
        harvest.leave(
            image,
            f"its mask {mask} is {ids.shape[1]} x {ids.shape[0]} pixels, the image {pixels.shape[1]} x"
            f" {pixels.shape[0]}; they must have the same size",
        )
        return None
    return pixels, ids


def take_mask(harvest: Harvest, image: str, mask: str, class_: str, value: str = "") -> None:
    """Take what a mask cuts out of an image: what is above 0, what equals ``value``, or with ``*`` one object
    per value.
    """
    both = image_and_mask(harvest, image, mask)
    if both is None:
        return
    pixels, ids = both
    if value == "*":
        values = [int(v) for v in np.unique(ids) if v]
        if not values or len(values) > MOST_OBJECTS:
            harvest.leave(
                image,
                f"its mask {mask} "
                + (
                    f"holds {len(values):,} values; at most {MOST_OBJECTS:,} objects are read"
                    if values
                    else "is empty"
                ),
            )
            return
        wanted = [(f"object {v}", ids == v) for v in values]
    else:
        wanted = [(f"object {value}", ids == int(value))] if value else [("", ids > 0)]
    for which, inside in wanted:
        try:
            harvest.take(image, cutout_of_mask(pixels, inside, image, class_), which)
        except ImageError:
            harvest.leave(
                image, f"its mask {mask} " + (f"has no pixel with the value {value}" if value else "is empty")
            )


def pairs_of_names(
    harvest: Harvest, images: Sequence[str], masks: Sequence[str], folders: tuple[str, str]
) -> list[tuple[str, str]]:
    """Return the images and masks of two folders that share a name; for all others, note what is missing.

    A suffix that all masks share (``_mask``) is not part of a name.
    """
    of_image = _by_stem(harvest, images, [stem_of(name, folders[0]) for name in images])
    of_mask = _by_stem(harvest, masks, _stems_of_masks(masks, folders[1], of_image))
    for stem in of_image.keys() - of_mask.keys():
        harvest.leave(of_image[stem], f"has no mask {folders[1]}{stem}.png")
    for stem in of_mask.keys() - of_image.keys():
        harvest.leave(of_mask[stem], f"is a mask without an image {folders[0]}{stem}")
    both = [(of_image[stem], of_mask[stem]) for stem in sorted(of_image.keys() & of_mask.keys())]
    harvest.done.update(name for pair in both for name in pair)
    return both


def shared_names(images: Iterable[str], masks: Sequence[str], folders: tuple[str, str]) -> set[str]:
    """Return the names, without endings, that images and masks share.

    >>> shared_names(
    ...     ["images/a.jpg", "images/b.jpg"], ["masks/a_mask.png", "masks/c_mask.png"], ("images/", "masks/")
    ... )
    {'a'}
    """
    of_images = {stem_of(name, folders[0]) for name in images}
    return of_images & set(_stems_of_masks(masks, folders[1], of_images))


def maps_in(tree: FileTree, folder: str) -> list[str]:
    """Return the files of a folder that may be masks."""
    return [
        name
        for name in tree.files
        if name.startswith(folder) and name[name.rfind(".") :].lower() in MAP_ENDINGS
    ]


def _stems_of_masks(masks: Sequence[str], folder: str, images: Container[str]) -> list[str]:
    """Return the names of masks without endings; if none of them matches an image, also without the suffix
    that all share.
    """
    stems = [stem_of(name, folder) for name in masks]
    suffix = "" if any(stem in images for stem in stems) else common_suffix(stems)
    return [stem.removesuffix(suffix) for stem in stems]


def _by_stem(harvest: Harvest, names: Iterable[str], stems: Iterable[str]) -> dict[str, str]:
    """Return {name without ending: file}; files that share a name are left out."""
    found: dict[str, list[str]] = {}
    for name, stem in zip(names, stems, strict=True):
        if name not in harvest.done:
            found.setdefault(stem, []).append(name)
    for several in found.values():
        if len(several) > 1:
            for name in several:
                other = several[0] if name != several[0] else several[1]
                harvest.leave(
                    name,
                    f"has the same name as {other}; rename or remove one of {counted(len(several), 'file')}",
                )
    return {stem: several[0] for stem, several in found.items() if len(several) == 1}
