"""Corrupt an image, and move its labels along with its pixels.

Conventions: images are (H, W) or (H, W, 3), uint8 or uint16, of any size from 1 x 1 on; results have the same
shape and type. Randomness depends only on (seed, key, name, severity), where the key is by default the
SHA-256 of the image's bytes: results have the same bytes in any order, process and machine.
Source: Hendrycks and Dietterich 2019.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from faultscape.errors import ImageError, LabelMapError, OptionError
from faultscape.stressors.catalogue import entry
from faultscape.stressors.definition import Corruption
from faultscape.stressors.streams import stream_start


def corrupt(
    image: np.ndarray,
    name: str | Corruption,
    severity: int,
    *,
    seed: int = 0,
    key: str | None = None,
    textures: Sequence[np.ndarray] | None = None,
) -> np.ndarray:
    """Return the image, (H, W) or (H, W, 3) of uint8 or uint16, corrupted with severity 1 to 5.

    ``key`` identifies the image for random numbers; pass the same one to `move_labels`. ``textures`` are
    images of ice, (h, w) or (h, w, 3) uint8, that frost uses instead of drawn ones. Errors: OptionError for
    an unknown name or severity and for a seed that is not a whole number, ImageError for an invalid image or
    texture.

    >>> corrupt(np.full((2, 3), 100, np.uint8), "brightness", 3)
    array([[176, 176, 176],
           [176, 176, 176]], dtype=uint8)
    """
    pixels = _checked(image)
    corruption, parameters = _chosen(name, severity)
    if textures is not None and not corruption.textured:
        raise OptionError(f"{corruption.name} does not take textures; leave them out, or use frost")
    if key is None:
        # no hash needed without randomness
        key = hashlib.sha256(pixels.data).hexdigest() if corruption.random else ""
    start = stream_start(seed, key, corruption.name, severity)
    more = (textures,) if corruption.textured else ()
    planes = pixels.reshape(*pixels.shape[:2], -1)
    out = np.asarray(corruption.apply(planes, parameters, start, *more))
    if out.shape not in (planes.shape, pixels.shape) or out.dtype != pixels.dtype:
        raise OptionError(
            f"corruption {corruption.name} returned {out.dtype} {out.shape} for {pixels.dtype}"
            f" {pixels.shape}; it must keep shape and type"
        )
    return out.reshape(pixels.shape)


def move_labels(
    labels: np.ndarray,
    name: str | Corruption,
    severity: int,
    *,
    seed: int = 0,
    key: str,
    fill: int | None = None,
) -> np.ndarray:
    """Return the labels (H, W) of an image moved as a corruption with the same seed and key moves its pixels;
    if pixels stay in place, the labels themselves.

    A pixel from beyond the border shows the mirrored image, and so does its label, unless ``fill`` is given.
    Errors: OptionError as in `corrupt`, LabelMapError for labels that are not whole numbers (H, W) or cannot
    hold ``fill``.

    >>> labels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    >>> move_labels(labels, "fog", 3, key="a") is labels
    True
    """
    labels = np.asarray(labels)
    if labels.ndim != 2 or not labels.size or labels.dtype.kind not in "iub":
        raise LabelMapError(f"labels are {labels.dtype} {labels.shape}; expected whole numbers (H, W)")
    if (
        fill is not None
        and labels.dtype.kind in "iu"
        and not np.iinfo(labels.dtype).min <= fill <= np.iinfo(labels.dtype).max
    ):
        raise LabelMapError(
            f"labels of {labels.dtype} cannot hold the fill {fill}; give labels of a larger type, or another"
            " fill"
        )
    corruption, parameters = _chosen(name, severity)
    if corruption.move is None:
        return labels
    high, wide = labels.shape
    rows, columns = corruption.move(
        high, wide, parameters, stream_start(seed, key, corruption.name, severity)
    )
    moved = labels[_mirrored(rows, high), _mirrored(columns, wide)]
    if fill is not None:
        moved[(rows < 0) | (rows >= high) | (columns < 0) | (columns >= wide)] = fill
    return moved


def _mirrored(places: np.ndarray, count: int) -> np.ndarray:
    places = places % (2 * count)
    return np.where(places >= count, 2 * count - 1 - places, places)


def _chosen(name: str | Corruption, severity: int) -> tuple[Corruption, tuple[float, ...]]:
    corruption = name if isinstance(name, Corruption) else entry(name)
    if (
        isinstance(severity, bool)
        or not isinstance(severity, int | np.integer)
        or not 1 <= severity <= len(corruption.parameters)
    ):
        raise OptionError(
            f"severity {severity!r} of {corruption.name}: give a whole number from 1 to"
            f" {len(corruption.parameters)}"
        )
    return corruption, corruption.parameters[int(severity) - 1]


def _checked(image: np.ndarray) -> np.ndarray:
    pixels = np.asarray(image)
    if pixels.dtype not in (np.uint8, np.uint16):
        raise ImageError(f"the image is {pixels.dtype}; expected uint8 (0..255) or uint16 (0..65535)")
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] != 3):
        raise ImageError(f"the image has the shape {pixels.shape}; expected (H, W) or (H, W, 3)")
    if not pixels.size:
        raise ImageError(
            f"the image has the shape {pixels.shape}, which is empty; expected 1 x 1 pixel or more"
        )
    return np.ascontiguousarray(pixels)
