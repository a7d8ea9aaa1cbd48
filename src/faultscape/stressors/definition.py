"""The definition of a corruption, and of a preset of several.

Conventions: pixels are (H, W, C) with C = 1 or 3, uint8 or uint16, C-contiguous; ``apply`` returns new pixels
of the same shape and type and leaves its input unchanged. ``start`` is the start of the random stream; a
corruption that is not ``random`` ignores it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Parameters = tuple[float, ...]
Family = Literal["noise", "blur", "weather", "digital"]
Move = Callable[[int, int, Parameters, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Corruption:
    """One way to corrupt an image, with five severities.

    ``name`` is used in options and folders. ``title`` is the readable name. ``family`` is as in Hendrycks and
    Dietterich 2019: "noise", "blur", "weather" or "digital". ``means`` describes the parameters, in order.
    ``parameters`` are five tuples of numbers, one for each severity. ``apply`` takes (pixels, parameters,
    start), and textures if ``textured``, and returns pixels of the same shape and type. ``random`` says
    whether the result depends on the seed. ``move`` takes (H, W, parameters, start) and returns the row and
    the column (H, W) from which each pixel came; None if pixels stay in place. ``textured`` says whether
    `apply` accepts your own textures. ``source`` is where the definition is published.
    """

    name: str
    title: str
    family: Family
    means: tuple[str, ...]
    parameters: tuple[Parameters, ...]
    apply: Callable[..., np.ndarray]
    random: bool
    move: Move | None = None
    textured: bool = False
    source: str = "Hendrycks and Dietterich 2019"


@dataclass(frozen=True)
class Preset:
    """A named list of corruptions, (name, severities) each, and its source."""

    name: str  # the name for `stress corrupt --preset`
    corruptions: tuple[tuple[str, tuple[int, ...]], ...]  # (name of a corruption, its severities) each
    source: str  # the source of the list
