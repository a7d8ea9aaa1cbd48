"""Fog as a camera sees it, on known pixels.

Conventions: depth in metres (H, W); without it, depth by row for a flat road seen by a level camera, and 80 m
above the horizon. The image is (H, W, 3) uint8.

``fog`` sets its density and the colour of its light. ``height`` is the number of rows; ``horizon`` is the row
of the horizon.

Source: Koschmieder 1924; Sakaridis, Dai and Van Gool 2018; Blum et al. 2021, section 3.1 (on in-distribution
pixels alone).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import ImageError, OptionError
from faultscape.maps import checked_arrays

_STEPS, _MOST = 1024, 12  # transmission is a table over optical depth, in steps of 1/1024 up to 12
_ONE = 1 << 16
_FOCAL, _CAMERA_HEIGHT = 2.2, 1.22  # in frame heights; in metres: the camera of Cityscapes
_FARTHEST = 300.0  # metres, for unknown depth (sky)
# Metres, by position: rows above the horizon show house fronts and trees more often than sky, and the road
# near it is hidden.
_FRONTS = 80.0
HORIZON = 0.42  # share of the frame's height: in Cityscapes near row 430 of 1,024


@dataclass(frozen=True)
class Fog:
    """Fog with an attenuation ``beta`` per metre (from 0.005, with a visibility of 600 m, to 0.03, with 100
    m) and the colour of its light, RGB grey levels.
    """

    beta: float
    light: tuple[int, int, int] = (210, 210, 210)  # RGB grey levels, 0 to 255

    def __post_init__(self) -> None:
        if not 0 <= self.beta <= 10:
            raise OptionError(f"beta of fog: expected 0 to 10 a metre; got {self.beta:g}")
        if np.shape(self.light) != (3,) or any(not 0 <= value <= 255 for value in self.light):
            raise OptionError(f"light of fog: expected three grey levels from 0 to 255; got {self.light}")


def add_fog(
    image: np.ndarray,
    fog: Fog,
    where: np.ndarray | None = None,
    depth: np.ndarray | None = None,
    *,
    horizon: int | None = None,
) -> np.ndarray:
    """Return the image (H, W, 3) uint8 with fog where ``where`` (H, W) is true; everywhere by default.

    I = J t + L (1 - t), t = exp(-beta d), with the scene's colour J, the fog's light L and the depth d (H, W)
    in metres. A depth that is not finite or not above 0 is unknown and counts as 300 m. ``depth`` is by
    default `depth_by_place` with the row ``horizon``, by default 0.42 of the height. Errors: ImageError for
    an invalid image, and for sizes that differ.

    >>> add_fog(np.zeros((1, 2, 3), np.uint8), Fog(0.01, (200, 200, 200)), depth=np.array([[0.001, 69.315]]))[
    ...     ..., 0
    ... ].tolist()
    [[0, 100]]
    """
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ImageError(f"fog: expected an image (H, W, 3) uint8; got {image.dtype} of shape {image.shape}")
    if horizon is None:
        horizon = int(HORIZON * image.shape[0])
    if depth is None:
        depth = np.broadcast_to(depth_by_place(image.shape[0], horizon)[:, None], image.shape[:2])
    depth = np.asarray(depth)
    where = None if where is None else np.asarray(where)
    if depth.shape != image.shape[:2] or (where is not None and where.shape != image.shape[:2]):
        raise ImageError(
            f"fog: the image has shape {image.shape[:2]}, depth"
            f" {depth.shape}{'' if where is None else f', labels {where.shape}'}; they must have the same"
            " size"
        )
    depth = checked_arrays.numbers(depth, "fog: the depth", ImageError)
    known = np.isfinite(depth) & (depth > 0)
    optical = np.where(known, depth, _FARTHEST).astype(np.float64) * fog.beta
    place = np.minimum(optical * _STEPS + 0.5, _STEPS * _MOST).astype(np.int64)
    through = _table()[place][..., None]
    light = np.array(fog.light, np.int32) * (_ONE - through)
    out = ((image * through + light + _ONE // 2) >> 16).astype(np.uint8)
    return out if where is None else np.where(where[..., None], out, image)


def depth_by_place(height: int, horizon: int) -> np.ndarray:
    """Return (H,) the depth in metres of each row of a flat road; rows at the horizon and above are 80 m
    away, the maximum.

    d = h f / (y - horizon), for a camera at h = 1.22 m with a focal length f of 2.2 frame heights.

    >>> depth_by_place(4, 1).round(2).tolist()
    [80.0, 80.0, 10.74, 5.37]
    """
    below = np.arange(height) - horizon
    return np.where(
        below > 0, np.minimum(_CAMERA_HEIGHT * _FOCAL * height / np.maximum(below, 1), _FRONTS), _FRONTS
    )


def _table() -> np.ndarray:
    """Return (steps,) int32: exp(-optical depth) in 2^-16, rounded, so that a math library's last bit does
    not matter.
    """
    return np.rint(np.round(np.exp(-np.arange(_STEPS * _MOST + 1) / _STEPS), 9) * _ONE).astype(np.int32)
