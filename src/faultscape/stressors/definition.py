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

    name, title  the word of options and folders, and what people read
    family       as in Hendrycks and Dietterich 2019: "noise", "blur", "weather" or "digital"
    means        what the numbers of ``parameters`` are, in their order
    parameters   five tuples of numbers, one a severity
    apply        (pixels, parameters, start) -> pixels; of one that is ``textured``
                 (pixels, parameters, start, textures)
    random       whether another seed gives another image
    move         None where pixels stay in their places, else (H, W, parameters, start) -> the row and the
                 column (H, W) from which each pixel came
    textured     whether ``apply`` takes your own textures
    source       where the definition stands
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

    name: str
    corruptions: tuple[tuple[str, tuple[int, ...]], ...]
    source: str
