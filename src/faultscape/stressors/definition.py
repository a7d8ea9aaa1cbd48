"""What a corruption is, and a preset of several.

Conventions: pixels are (H, W, C) with C = 1 or 3, uint8 or uint16, C-contiguous; ``apply`` returns others of
the same shape and type and leaves its input as it is. ``start`` begins the stream from which everything
random is drawn; a corruption that is not ``random`` never looks at it.
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
    """One way to corrupt an image, of five severities.

    ``name`` is the word of options and folders. ``title`` is what people read. ``family`` is as in Hendrycks
    and Dietterich 2019: "noise", "blur", "weather" or "digital". ``means`` says what the numbers of
    parameters are, in their order. ``parameters`` are five tuples of numbers, one for each severity.
    ``apply`` takes (pixels, parameters, start), of a textured one also textures, and returns pixels of the
    same shape and type. ``random`` says whether another seed gives another image. ``move`` takes (H, W,
    parameters, start) and returns the row and the column (H, W) from which each pixel came; None where pixels
    stay in their places. ``textured`` says whether `apply` takes your own textures. ``source`` is where the
    definition is published.
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
    """A named list of corruptions: (name, severities) each, and whose list it is."""

    name: str  # what `stress corrupt --preset` takes
    corruptions: tuple[tuple[str, tuple[int, ...]], ...]  # (name of a corruption, its severities) each
    source: str  # whose list it is
