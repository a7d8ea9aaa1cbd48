"""Measurable tags, proposed for a person to confirm: an image's light and sharpness, an object's size and
position, an image's group.

Conventions: images are (H, W, 3) uint8 RGB, label maps (H, W) hold places 0..C-1, and C or more for void. A
proposal is never a tag by itself. Dark, bright and blurred are relative to the pool: `thresholds` computes
its quantiles. Light is the mean luminance, 0 to 1, with the weights of ITU-R BT.601. Sharpness is the
variance of the Laplacian of the luminance relative to the variance of the luminance itself, so that it does
not fall with contrast or light, at a longer side of at most 256, so that it does not depend on the number of
pixels; NaN for an image of a single tone.
Source: Pertuz, Puig and Garcia 2013 (variance of the Laplacian as a measure of focus); Yan et al. 2021,
section 3.1.2 (scale of a class); the rest is ours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from faultscape.errors import OptionError
from faultscape.maps import regions
from faultscape.nouns import Classes, Scale

SIDE = 256  # longer side at which sharpness is measured
SHARE = 0.05  # share of the pool that counts as dark, or bright, or blurred
FEW = 5  # with fewer maps that hold a class, it is unknown how often it is cut
CUT = 0.5  # length along the border, in sides of a square as large as the object
_LUMA = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class Proposal:
    """A tag that may fit, the number that supports it, and the reason in a sentence."""

    tag: str
    measure: float
    reason: str


@dataclass(frozen=True)
class Light:
    """The light of an image, 0 to 1, and its sharpness, NaN for a single tone."""

    light: float
    sharpness: float


@dataclass(frozen=True)
class Thresholds:
    """Light below which an image is dark, above which it is bright, sharpness below which it is blurred; NaN
    if the pool does not determine it.
    """

    dark: float
    bright: float
    blurred: float


def light_of(photo: np.ndarray) -> Light:
    """Return the light and the sharpness of an image (H, W, 3) uint8.

    >>> light_of(np.full((4, 4, 3), 255, np.uint8))
    Light(light=1.0, sharpness=nan)
    """
    import cv2

    height, width = photo.shape[:2]
    shrink = min(1.0, SIDE / max(height, width))
    size = max(1, round(width * shrink)), max(1, round(height * shrink))
    small = (
        photo
        if size == (width, height)
        else cv2.resize(np.ascontiguousarray(photo), size, interpolation=cv2.INTER_AREA)
    )
    luminance = (small @ _LUMA) / 255
    spread = float(luminance.var())
    if spread < 1e-6 or min(luminance.shape) < 3:
        return Light(round(float(luminance.mean()), 12), math.nan)
    inner = luminance[1:-1, 1:-1]
    laplacian = (
        luminance[:-2, 1:-1] + luminance[2:, 1:-1] + luminance[1:-1, :-2] + luminance[1:-1, 2:] - 4 * inner
    )
    return Light(round(float(luminance.mean()), 12), float(laplacian.var()) / spread)


def thresholds(
    pool: Iterable[Light], *, dark: float = SHARE, bright: float = SHARE, blurred: float = SHARE
) -> Thresholds:
    """Return the thresholds of the darkest, brightest and least sharp shares of a pool; NaN without any
    number. OptionError for a share outside 0 to 1/2.

    >>> thresholds([Light(k / 10, 1.0 + k) for k in range(11)], dark=0.1, bright=0.2, blurred=0.5)
    Thresholds(dark=0.1, bright=0.8, blurred=6.0)
    """
    for name, share in (("dark", dark), ("bright", bright), ("blurred", blurred)):
        if not 0 <= share <= 0.5:
            raise OptionError(f"{name} must be a share of the pool from 0 to 0.5; got {share}")
    found = list(pool)
    light = np.array([one.light for one in found])
    sharpness = np.array([one.sharpness for one in found])
    return Thresholds(_quantile(light, dark), _quantile(light, 1 - bright), _quantile(sharpness, blurred))


def propose_light(found: Light, ends: Thresholds) -> list[Proposal]:
    """Return dark, bright and blurred, if an image is beyond the thresholds of its pool.

    >>> propose_light(Light(0.04, 0.3), Thresholds(0.1, 0.9, 0.2))
    [Proposal(tag='dark', measure=0.04, reason='mean luminance 0.04, below 0.1 of the darkest images of the
    pool')]
    """
    out = []
    if found.light < ends.dark:
        out.append(_beyond("dark", found.light, "mean luminance", "below", ends.dark, "darkest"))
    if found.light > ends.bright:
        out.append(_beyond("bright", found.light, "mean luminance", "above", ends.bright, "brightest"))
    if found.sharpness < ends.blurred:
        out.append(_beyond("blurred", found.sharpness, "sharpness", "below", ends.blurred, "least sharp"))
    return out


def propose_scale(
    label_map: np.ndarray, classes: Classes, scale: Scale, of: Collection[str] | None = None
) -> dict[str, Proposal]:
    """Return {class: extreme scale} of the classes in a map (H, W) whose share of its pixels is outside of
    their quartiles; ``of`` are the classes to check, by default all except the background.

    >>> few = Classes(("sky", "car"), (0, 1), ((0, 0, 0), (1, 1, 1)), background=0)
    >>> usual = Scale(("sky", "car"), (9, 9), (0.2, 0.1), (0.9, 0.3))
    >>> propose_scale(np.array([[0, 1], [1, 1]]), few, usual)["car"].reason
    'car takes 75 % of the image, usually 10 to 30 %'
    """
    count = np.bincount(np.minimum(label_map, len(classes)).ravel(), minlength=len(classes) + 1)
    out = {}
    for place in _looked_at(classes, of):
        name = classes.names[place]
        share = float(count[place] / label_map.size)
        if name in scale.names and share:
            low, high = (ends[scale.names.index(name)] for ends in (scale.t_min, scale.t_max))
            if share < low or share > high:  # never true without quartiles from masks
                usual = f"usually {100 * low:.3g} to {100 * high:.3g} %"
                out[name] = Proposal(
                    "extreme scale", share, f"{name} takes {100 * share:.3g} % of the image, {usual}"
                )
    return out


def propose_cut(
    label_map: np.ndarray, classes: Classes, of: Collection[str] | None = None, least: float = CUT
) -> dict[str, Proposal]:
    """Return {class: cut by the border} of the classes whose largest region in a map (H, W) runs along the
    border.

    The measure is the number of its pixels on the border, in sides of a square with as many pixels as the
    region: about 1 if half of a compact object is in view, near 0 if it merely touches. Classes that are not
    objects (sky, road) nearly always touch the border: leave those of `often_cut` out. ``of`` are the classes
    to check, by default all except the background.

    >>> few = Classes(("sky", "car"), (0, 1), ((0, 0, 0), (1, 1, 1)), background=0)
    >>> propose_cut(np.array([[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]), few)["car"].measure
    1.0
    """
    place_of = np.minimum(label_map, len(classes)).astype(np.int32)
    out = {}
    numbers, labels, areas = regions.number(place_of, none=len(classes))
    edge = (
        np.concatenate([numbers[0], numbers[-1], numbers[1:-1, 0], numbers[1:-1, -1]])
        if min(numbers.shape) > 1
        else numbers.ravel()
    )
    along = np.bincount(edge[edge >= 0], minlength=len(areas))
    for place in _looked_at(classes, of):
        mine = np.flatnonzero(labels == place)
        if len(mine):
            largest = int(mine[np.argmax(areas[mine])])
            measure = float(along[largest] / math.sqrt(areas[largest]))
            if measure >= least:
                name = classes.names[place]
                out[name] = Proposal(
                    "cut by the border",
                    measure,
                    f"{along[largest]} of {areas[largest]} pixels of the largest region of {name} lie on the"
                    " border",
                )
    return out


def often_cut(label_maps: Iterable[np.ndarray], classes: Classes) -> frozenset[str]:
    """Return the classes that the border cuts on half or more of the maps (H, W) that hold them, if five or
    more do: for these a cut says nothing about one image (sky, road).

    >>> often_cut(
    ...     [np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]])] * 5,
    ...     Classes(("sky", "car"), (0, 1), ((0, 0, 0), (1, 1, 1))),
    ... )
    frozenset({'sky'})
    """
    held = Counter[str]()
    cut = Counter[str]()
    for label_map in label_maps:
        held.update(classes.names[place] for place in np.unique(label_map).tolist() if place < len(classes))
        cut.update(propose_cut(label_map, classes, classes.names).keys())
    return frozenset(name for name, number in held.items() if number >= FEW and 2 * cut[name] >= number)


def propose_group(group: str, images: int) -> list[Proposal]:
    """Return the name of an image's group as a tag; empty for an image without a group. ``images`` is the
    size of the group.

    >>> propose_group("night drive", 40)
    [Proposal(tag='night drive', measure=40.0, reason='one of 40 images of group night drive')]
    """
    return [Proposal(group, float(images), f"one of {images} images of group {group}")] if group else []


def _looked_at(classes: Classes, of: Collection[str] | None) -> list[int]:
    if of is None:
        return [place for place in range(len(classes)) if place in classes.groups]
    return [place for place, name in enumerate(classes.names) if name in of]


def _quantile(values: np.ndarray, share: float) -> float:
    known = values[~np.isnan(values)] if len(values) else values
    return float(np.round(np.quantile(known, share), 12)) if len(known) else math.nan


def _beyond(tag: str, measure: float, what: str, side: str, end: float, which: str) -> Proposal:
    return Proposal(tag, measure, f"{what} {measure:.3g}, {side} {end:.3g} of the {which} images of the pool")
