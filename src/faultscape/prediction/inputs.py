"""How a photo becomes the input of a network that does not bring a processor of its own.

Conventions: photo (upright RGB) -> bilinear to the input size -> / 255, - mean, / std -> (3, H, W) float32. The input size is the one given, else the size at
which maps are wanted; with ``multiple`` both sides are raised to the next multiple of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.errors import ModelError, StudyError
from faultscape.prediction.network import Size
from faultscape.study.settings import parse_size

KEYS = ("size", "mean", "std", "multiple", "window", "classes")  # what a network's file or loader may say of its input


@dataclass(frozen=True)
class Inputs:
    """The input that a network wants; ``whole`` keeps whole numbers 0..255."""

    size: Size | None = None
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    multiple: int = 1
    whole: bool = False

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return a photo (H, W, 3) uint8 as (3, H, W), float32 or uint8."""
        import cv2

        width, height = size or self.size or target
        width, height = -(-width // self.multiple) * self.multiple, -(-height // self.multiple) * self.multiple
        same = photo.shape[1::-1] == (width, height)
        pixels: Any = photo if same else cv2.resize(photo, (width, height), interpolation=cv2.INTER_LINEAR)
        if self.whole:
            return np.ascontiguousarray(pixels.transpose(2, 0, 1))
        steps = np.arange(256, dtype=np.float32) / np.float32(255)  # the arithmetic is done once for each value, not each pixel
        out = np.empty((3, height, width), np.float32)
        for k in range(3):
            mean, std = (np.float32(values[k % len(values)]) for values in (self.mean, self.std))
            out[k] = ((steps - mean) / std)[pixels[..., k]]
        return out


def inputs_of(said: Mapping[str, Any], where: str, *, size: Size | None = None, whole: bool = False) -> Inputs:
    """Return the input that options or a network's own words ask for; ``size`` is fixed in the network. ModelError names what makes no sense.

    >>> inputs_of({"size": "32x16", "mean": [0.5]}, "net.onnx")
    Inputs(size=(32, 16), mean=(0.5,), std=(1.0,), multiple=1, whole=False)
    """
    try:
        mean, std = (tuple(float(v) for v in _listed(said.get(key, default))) for key, default in (("mean", 0.0), ("std", 1.0)))
        multiple = int(said.get("multiple") or 1)
        wanted = size or (parse_size(str(said["size"])) if said.get("size") else None)
    except (TypeError, ValueError, StudyError) as error:
        raise ModelError(f"{where}: what it says of its input makes no sense: {error}") from None
    if len(mean) not in (1, 3) or len(std) not in (1, 3) or min(std) <= 0 or multiple < 1 or not np.isfinite([*mean, *std]).all():
        raise ModelError(
            f"{where}: mean and std are one or three numbers, std above 0, multiple 1 or more; got {mean}, {std}, {multiple}"
        )
    return Inputs(wanted, mean, std, multiple, whole)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
