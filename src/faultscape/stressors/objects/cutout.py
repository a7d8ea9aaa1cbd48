"""A cut-out: the pixels and alpha of one object, from an image and a mask, from an RGBA image, or from a
label map.

Conventions: pixels (h, w, 3) uint8 RGB, alpha (h, w) uint8 with 255 for only the object, cropped to where
alpha is above 0. ``corner`` (x, y) and ``frame`` (height, width) say where the object was in its original
image; ``border`` is the number of its pixels on that image's border. A known object has a class of the data
set (a car, a person); an anomaly does not.

``image`` is the image that the object is cut out of. ``mask`` is true where the object is. ``name`` is the
image's name. ``smallest`` is the minimum number of pixels of an object.

Source: Blum et al. 2021, section 3.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from faultscape.errors import ImageError, OptionError
from faultscape.maps import checked_arrays
from faultscape.maps.regions import bounding_box

Use = Literal["anomaly", "known"]
# where an object comes from: a score that learnt from one family may not find another
FAMILIES = {
    "drawn": "drawn objects",
    "cut-outs": "cut-outs of images",
    "noise": "noise shapes",
    "textures": "textures",
}
SMALLEST = 400  # pixels of an object: 20 x 20 pixels are visible
# an RGBA image may be cropped tightly: its border counts as cutting the object only if the object fills more
# than this share of a side
_CROPPED = 0.25


@dataclass(frozen=True, eq=False)
class Cutout:
    """One object, cut out of its image.

    >>> cutout = Cutout(np.zeros((2, 3, 3), np.uint8), np.full((2, 3), 255, np.uint8), "a box", "box")
    >>> cutout, cutout.area
    (Cutout('a box', box, anomaly, 3 x 2), 6)
    """

    pixels: np.ndarray  # (h, w, 3) uint8 RGB
    alpha: np.ndarray  # (h, w) uint8: 255 only the object, 0 none of it
    name: str  # a readable name, often its file and a number
    class_: str = ""  # the object's; '' if unknown
    split: str = ""  # validation or test; '' for either
    use: Use = "anomaly"  # known if the data set has its class, else anomaly
    corner: tuple[int, int] = (0, 0)  # (x, y) of its upper left pixel in its original image
    frame: tuple[int, int] = (0, 0)  # (height, width) of that image; (0, 0) if unknown
    border: int = 0  # its pixels on the border of that image
    family: str = ""  # one of FAMILIES; '' if unknown

    def __post_init__(self) -> None:
        pixels = np.asarray(self.pixels)
        alpha = np.asarray(self.alpha)
        if (
            pixels.dtype != np.uint8
            or alpha.dtype != np.uint8
            or pixels.shape != (*alpha.shape, 3)
            or not alpha.size
        ):
            raise ImageError(
                f"{self.name}: a cut-out must have (h, w, 3) uint8 pixels and (h, w) uint8 alpha; got"
                f" {pixels.dtype} of shape {pixels.shape} and {alpha.dtype} of shape {alpha.shape}"
            )
        if self.use not in ("anomaly", "known"):
            raise OptionError(f"{self.name}: use must be 'anomaly' or 'known'; got {self.use!r}")
        if self.family and self.family not in FAMILIES:
            raise OptionError(f"{self.name}: family must be {', '.join(FAMILIES)} or ''; got {self.family!r}")

    def __repr__(self) -> str:
        height, width = self.alpha.shape
        return f"Cutout({self.name!r}, {self.class_ or 'no class'}, {self.use}, {width} x {height})"

    @cached_property
    def area(self) -> int:
        """The number of pixels with alpha of at least 1/2."""
        return int((self.alpha >= 128).sum())

    @cached_property
    def soft(self) -> bool:
        """Whether alpha has values between 0 and 255, so that its border is already smooth."""
        return bool(((self.alpha > 0) & (self.alpha < 255)).any())

    @cached_property
    def digest(self) -> str:
        """BLAKE2b of size, pixels, alpha and, for a known object, its place; plans identify a
        cut-out by it.
        """
        own = (self.corner, self.frame) if self.use == "known" else ()
        hashed = hashlib.blake2b(
            repr((self.alpha.shape, self.use, self.class_, own)).encode(), digest_size=16
        )
        hashed.update(
            np.ascontiguousarray(self.pixels).tobytes() + np.ascontiguousarray(self.alpha).tobytes()
        )
        return hashed.hexdigest()


def cutout_of_mask(
    image: np.ndarray, mask: np.ndarray, name: str, class_: str = "", *, split: str = "", use: Use = "anomaly"
) -> Cutout:
    """Return the object in an image (H, W, 3) uint8 where a mask (H, W) is true or above 0, cropped
    tightly.

    Errors: ImageError for an empty mask, or one whose size differs from the image's.

    >>> mask = np.zeros((5, 6), bool)
    >>> mask[1:3, 2:6] = True
    >>> cutout = cutout_of_mask(np.zeros((5, 6, 3), np.uint8), mask, "a box")
    >>> cutout.alpha.shape, cutout.corner, cutout.border
    ((2, 4), (2, 1), 2)
    """
    image = np.asarray(image)
    mask = checked_arrays.numbers(mask, f"{name}: its mask", ImageError, "H x W") > 0
    if mask.shape != image.shape[:2]:
        raise ImageError(
            f"{name}: its mask has shape {mask.shape}, its image {image.shape[:2]}; they must have the same"
            " size"
        )
    if not mask.any():
        raise ImageError(f"{name}: its mask is empty; leave it out, or give the mask of an object")
    box = bounding_box(mask)
    edge = mask.copy()
    edge[1:-1, 1:-1] = False
    return Cutout(
        np.ascontiguousarray(image[box]),
        mask[box].astype(np.uint8) * np.uint8(255),
        name,
        class_,
        split,
        use,
        (box[1].start, box[0].start),
        image.shape[:2],
        int(edge.sum()),
    )


def cutout_of_rgba(
    image: np.ndarray, name: str, class_: str = "", *, split: str = "", use: Use = "anomaly"
) -> Cutout:
    """Return the object of an RGBA image (H, W, 4) uint8, cropped tightly; a tightly cropped image counts as
    cutting its object only where that fills more than a quarter of a side.

    Errors: ImageError for an image without alpha, or whose alpha is 0 or 255 everywhere.

    >>> image = np.zeros((4, 4, 4), np.uint8)
    >>> image[1:3, 1:3] = 255
    >>> cutout_of_rgba(image, "a box").alpha.tolist()
    [[255, 255], [255, 255]]
    """
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 4 or image.dtype != np.uint8:
        raise ImageError(
            f"{name}: has no alpha channel (expected (H, W, 4) uint8, got {image.dtype} of shape"
            f" {image.shape}); save it as RGBA, or give a mask"
        )
    alpha = image[..., 3]
    if (alpha == 255).all():
        raise ImageError(
            f"{name}: its alpha channel is opaque everywhere, so nothing is cut out; make its background"
            " transparent"
        )
    cut = cutout_of_mask(image[..., :3], alpha > 0, name, class_, split=split, use=use)
    (x, y), (height, width) = cut.corner, cut.alpha.shape
    sides = [alpha[0] >= 128, alpha[-1] >= 128, alpha[:, 0] >= 128, alpha[:, -1] >= 128]
    border = sum(int(side.sum()) for side in sides if side.mean() > _CROPPED)
    return Cutout(
        cut.pixels,
        np.ascontiguousarray(alpha[y : y + height, x : x + width]),
        name,
        class_,
        split,
        use,
        cut.corner,
        cut.frame,
        border,
    )


def connected_cutouts(
    image: np.ndarray,
    labels: np.ndarray,
    names: Mapping[int, str],
    name: str,
    *,
    split: str = "",
    use: Use = "known",
    smallest: int = SMALLEST,
) -> list[Cutout]:
    """Return the connected regions (8 neighbours) of some classes as cut-outs, by class and then by place;
    those with fewer than ``smallest`` pixels are left out.

    ``labels`` (H, W) holds a class or instance id for each pixel, ``names`` the class of each id that is
    wanted, ``name`` the image's name. If a data set has instances, pass their ids, so that touching objects
    are separated. Errors: ImageError for labels of the wrong size.

    >>> labels = np.array([[0, 0, 0, 0], [0, 7, 0, 7], [0, 7, 0, 0]])
    >>> connected_cutouts(np.zeros((3, 4, 3), np.uint8), labels, {7: "car"}, "frame 1", smallest=1)
    [Cutout('frame 1 car 1', car, known, 1 x 2), Cutout('frame 1 car 2', car, known, 1 x 1)]
    """
    from scipy import ndimage

    labels = np.asarray(labels)
    if labels.shape != np.asarray(image).shape[:2]:
        raise ImageError(
            f"{name}: its labels have shape {labels.shape}, its image {np.asarray(image).shape[:2]}; they"
            " must be of one size"
        )
    cutouts = []
    counts: dict[str, int] = {}
    for id_, class_ in names.items():
        regions = np.empty(labels.shape, np.int32)
        ndimage.label(labels == id_, np.ones((3, 3), bool), regions)
        sizes = np.bincount(regions.ravel())
        for region in np.flatnonzero(sizes >= smallest):
            if region:
                counts[class_] = counts.get(class_, 0) + 1
                cutouts.append(
                    cutout_of_mask(
                        image,
                        regions == region,
                        f"{name} {class_} {counts[class_]}",
                        class_,
                        split=split,
                        use=use,
                    )
                )
    return cutouts


def reason_to_drop(cutout: Cutout, smallest: int = SMALLEST) -> str:
    """Return in one line why an object cannot be blended: cut by its image's border, or smaller than
    ``smallest`` pixels; '' if it can.

    >>> reason_to_drop(Cutout(np.zeros((2, 3, 3), np.uint8), np.full((2, 3), 255, np.uint8), "a box"))
    'a box: has 6 pixels, fewer than 400'
    """
    if cutout.border:
        return f"{cutout.name}: cut off by the image border ({cutout.border} of its pixels touch it)"
    return f"{cutout.name}: has {cutout.area} pixels, fewer than {smallest}" if cutout.area < smallest else ""


def usable_cutouts(cutouts: Iterable[Cutout], smallest: int = SMALLEST) -> tuple[list[Cutout], list[str]]:
    """Return the cut-outs that can be blended, and a one-line reason for each other; duplicates
    count once.

    >>> usable_cutouts(
    ...     [Cutout(np.zeros((2, 3, 3), np.uint8), np.full((2, 3), 255, np.uint8), "a box")], smallest=7
    ... )
    ([], ['a box: has 6 pixels, fewer than 7'])
    """
    good: dict[str, Cutout] = {}
    dropped = []
    for cutout in cutouts:
        why = reason_to_drop(cutout, smallest)
        if not why and cutout.digest in good:
            why = f"{cutout.name}: is the same object as {good[cutout.digest].name}"
        if why:
            dropped.append(why)
        else:
            good[cutout.digest] = cutout
    return list(good.values()), dropped
