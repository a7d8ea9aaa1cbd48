"""The interface of a method fitted to a network, and the file that holds it.

Conventions: a method taps ``layers`` of a network by their names. `values` runs beside the network, on its
device: it makes arrays (N, K, h, w), of any size each, from the features of these layers and the logits.
`score` makes the (H, W) float32 score of one image from them, large = more anomalous, at the size of its
labels. If ``epsilon`` is above 0, the network sees the image a second time, with each input value moved by
epsilon against the gradient of its `objective` (`MovesInput`), and the method scores that second output. A
file is a safetensors file: tensors, and in its metadata a checksum of the file and a JSON object that
describes them; nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from torch import Tensor

from faultscape.errors import ModelError
from faultscape.uncertainty import sealed_files
from faultscape.uncertainty.method_files import MethodAbout, about_text, line_again, not_a_method, read_about


class Fitted(Protocol):
    """A fitted method."""

    layers: tuple[str, ...]
    epsilon: float

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return arrays (N, K, h, w) from the grids (N, D, h, w) of the layers, in order, and the logits (N,
        C, h, w).
        """
        ...

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score (H, W) of one image's values (K, h, w), at a size (width, height)."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors to store."""
        ...


class MovesInput(Fitted, Protocol):
    """A method whose epsilon may be above 0."""

    def objective(self, features: Sequence[Tensor], logits: Tensor) -> Tensor:
        """Return the value whose gradient moves the input: the anomaly score of the whole image."""
        ...


class ShowsAgain(Fitted, Protocol):
    """A method that shows the network other images: ``show`` returns the grids (N, D, h, w) of the layers
    ``again`` for images (N, 3, H, W), and is set by the caller that runs the network.
    """

    again: tuple[str, ...]
    show: Callable[[Tensor], Sequence[Tensor]] | None


class Joins(Fitted, Protocol):
    """A method that joins the scores of other methods, its ``parts`` {word: method}."""

    parts: Mapping[str, Fitted]

    def joined(
        self, values: Mapping[str, tuple[Tensor, ...]], grids: Mapping[str, Tensor], logits: Tensor
    ) -> tuple[Tensor, ...]:
        """Return arrays (N, K, h, w) from the values of each part and the grids of the layers."""
        ...


def write(path: Path, about: MethodAbout, tensors: Mapping[str, Tensor]) -> None:
    """Write the file of a fitted method."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sealed_files.write(path, tensors, about_text(about))


def read(path: Path) -> tuple[MethodAbout, dict[str, Tensor]]:
    """Return the metadata and the tensors of a fitted method's file. ModelError if it is not such a file, or
    not as it was written.
    """
    from safetensors import SafetensorError, safe_open

    about = read_about(path)
    try:
        with path.open("rb") as stream:
            fault = sealed_files.fault(stream)
        if fault:
            raise ModelError(f"{path}: {fault}; fit it again: `{line_again(path, about)}`")
        with safe_open(path, "pt") as file:
            return about, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
    except (SafetensorError, OSError) as error:
        raise not_a_method(path, error) from None
