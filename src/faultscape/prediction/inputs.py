"""How an image becomes the input of a network without its own processor.

Conventions: image (upright RGB) -> bilinear to the input size -> / 255, - mean, / std -> (3, H, W) float32.
The input size is the one given, else the size at which maps are wanted; ``multiple`` rounds both sides up to
a multiple of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.errors import ModelError, OptionError

Size = tuple[int, int]  # (width, height)
# what a network's file or loader may say about its input
KEYS = ("size", "mean", "std", "multiple", "window", "stride", "classes", "dirichlet")
# limits of options, the same on every machine; far more threads than cores make no progress
MOST = {"multiple": 4096, "batch": 4096, "threads": 64}
MOST_PIXELS = 16_384  # per side


@dataclass(frozen=True)
class Inputs:
    """The input that a network expects; ``whole`` keeps integers 0..255."""

    size: Size | None = None
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    multiple: int = 1
    whole: bool = False

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return an image (H, W, 3) uint8 as (3, H, W), float32 or uint8."""
        width, height = size or self.size or target
        width = -(-width // self.multiple) * self.multiple
        height = -(-height // self.multiple) * self.multiple
        pixels: Any = photo if photo.shape[1::-1] == (width, height) else resized(photo, (width, height))
        if self.whole:
            return np.ascontiguousarray(pixels.transpose(2, 0, 1))
        import cv2

        # computed once per value, not per pixel, and looked up without an index of 8 bytes for each
        steps = np.arange(256, dtype=np.float32) / np.float32(255)
        try:
            out = np.empty((3, height, width), np.float32)
            planes = cv2.split(np.ascontiguousarray(pixels))
        except (cv2.error, MemoryError):
            raise ModelError(_too_large((width, height))) from None
        for k, plane in enumerate(planes):
            mean, std = (np.float32(values[k % len(values)]) for values in (self.mean, self.std))
            cv2.LUT(plane, (steps - mean) / std, dst=out[k])
        return out


def inputs_of(
    said: Mapping[str, Any], where: str, *, size: Size | None = None, whole: bool = False
) -> Inputs:
    """Return the input that options or a network's metadata ask for; ``size`` is fixed in the network.
    ModelError names an invalid value.

    >>> inputs_of({"size": "32x16", "mean": [0.5]}, "net.onnx")
    Inputs(size=(32, 16), mean=(0.5,), std=(1.0,), multiple=1, whole=False)
    """
    try:
        mean, std = (
            tuple(float(v) for v in _listed(said.get(key, default)))
            for key, default in (("mean", 0.0), ("std", 1.0))
        )
        multiple = int(said.get("multiple") or 1)
        wanted = size or (size_of(said["size"]) if said.get("size") else None)
    except (TypeError, ValueError, OptionError) as error:
        raise ModelError(f"{where}: invalid input settings: {error}") from None
    if (
        wrong := wrong_colours("mean", mean)
        or wrong_colours("std", std)
        or wrong_number("multiple", multiple)
    ):
        raise ModelError(f"{where}: invalid input settings: {wrong}")
    return Inputs(wanted, mean, std, 1 if size else multiple, whole)


def size_of(value: Any, what: str = "size") -> Size | None:
    """Return (width, height) of ``WIDTHxHEIGHT`` or of a pair, None for ``own``; OptionError otherwise.

    >>> size_of("256x160"), size_of((256, 160)), size_of("[256, 160]"), size_of("own")
    ((256, 160), (256, 160), (256, 160), None)
    """
    text = str(list(value) if isinstance(value, tuple) else value).strip()
    if text == "own":
        return None
    sides = re.fullmatch(r"(\d+)[xX×](\d+)|[\[(]\s*(\d+)\s*,\s*(\d+)\s*[\])]", text)
    width, height = (int(side[:9]) for side in sides.groups() if side) if sides else (0, 0)
    if width < 1 or height < 1:
        raise OptionError(f"{what} {value!r} is invalid; expected WIDTHxHEIGHT, for example 512x512")
    if max(width, height) > MOST_PIXELS:
        raise OptionError(f"{what} {value!r} is too large; a side has at most {MOST_PIXELS} pixels")
    return width, height


def wrong_colours(key: str, values: Sequence[float]) -> str:
    """Return why these numbers are not a valid mean or std, or '' if they are.

    >>> wrong_colours("std", [0.5]), wrong_colours("std", [0.0])
    ('', 'std must be above 0; got 0')
    """
    got = ", ".join(f"{value:g}" for value in values)
    if len(values) not in (1, 3):
        return f"{key} must be one number, or one each for red, green and blue; got {got or 'none'}"
    if not all(map(math.isfinite, values)):
        return f"{key} must be finite; got {got}"
    return f"{key} must be above 0; got {got}" if key == "std" and min(values) <= 0 else ""


def wrong_number(key: str, value: int) -> str:
    """Return why a number cannot be the ``multiple``, ``batch`` or ``threads``, or '' if it can."""
    if value < 1:
        return f"{key} must be 1 or more; got {value}"
    return f"{key} is at most {MOST[key]}; got {value}" if value > MOST[key] else ""


def resized(photo: np.ndarray, size: Size) -> np.ndarray:
    """Return an image resized bilinearly; ModelError if that fails."""
    import cv2

    try:
        return cv2.resize(photo, size, interpolation=cv2.INTER_LINEAR)
    except (cv2.error, MemoryError):
        raise ModelError(_too_large(size)) from None


def _too_large(size: Size) -> str:
    return (
        f"the image cannot be resized to {size[0]} x {size[1]} pixels; make --input-size, --multiple or"
        " --scales smaller"
    )


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
