"""A method that was fitted to a network: what it asks of that, and the one file that holds it.

Conventions: a method taps ``layers`` of a network by their names. `values` runs beside the network, on its
device: it makes arrays (N, K, h, w) of the features of these layers and of the logits, of any size each.
`score` makes the (H, W) float32 score of one image's, large = more anomalous, at the size of its labels.
Where ``epsilon`` is above 0 the network sees the image a second time, each number of its input moved by that
much against the gradient of its `objective` (`MovesInput`), and the method scores what it says then. A file
is a safetensors file: tensors, and in its metadata a JSON object of what they are; nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from torch import Tensor

from faultscape.study.folder import put
from faultscape.uncertainty.method_files import ABOUT, MethodAbout, about_text, not_a_method, read_about


class Fitted(Protocol):
    """A method, fitted."""

    layers: tuple[str, ...]
    epsilon: float

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return arrays (N, K, h, w) of the grids (N, D, h, w) of the layers, in their order, and of the
        logits (N, C, h, w).
        """
        ...

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score (H, W) of one image's values (K, h, w), at a size (width, height)."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return all that is to be kept of it."""
        ...


class MovesInput(Fitted, Protocol):
    """A method whose epsilon may be above 0."""

    def objective(self, features: Sequence[Tensor], logits: Tensor) -> Tensor:
        """Return the number whose gradient moves the input: the anomaly of the whole image."""
        ...


def write(path: Path, about: MethodAbout, tensors: Mapping[str, Tensor]) -> None:
    """Put the file of a fitted method."""
    from safetensors.torch import save

    held = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, save(held, {ABOUT: about_text(about)}))


def read(path: Path) -> tuple[MethodAbout, dict[str, Tensor]]:
    """Return what the file of a fitted method says about itself, and its tensors. ModelError where it is
    none.
    """
    from safetensors import SafetensorError, safe_open

    about = read_about(path)
    try:
        with safe_open(path, "pt") as file:
            return about, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
    except (SafetensorError, OSError) as error:
        raise not_a_method(path, error) from None
