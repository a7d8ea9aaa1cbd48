"""A method that was fitted to a network: what it asks of that, and the one file that holds it.

Conventions: a method taps ``layers`` of a network by their names. `values` runs beside the network, on its device: it makes arrays (N, K, h, w) of the features of these layers and of the logits, of any size each. `score` makes the (H, W) float32
score of one image's, large = more anomalous, at the size of its labels. Where ``epsilon`` is above 0 the network sees the image a second time, each number of its input moved by that much against the gradient of `objective`, and the method scores
what it says then. A file is a safetensors file: tensors, and in its metadata a JSON object of what they are; nothing is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pydantic
from torch import Tensor

from faultscape.errors import ModelError, library_text
from faultscape.study.folder import put
from faultscape.uncertainty.catalogue import Value


class Fitted(Protocol):
    """A method, fitted."""

    layers: tuple[str, ...]
    epsilon: float

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return arrays (N, K, h, w) of the grids (N, D, h, w) of the layers, in their order, and of the logits (N, C, h, w)."""
        ...

    def objective(self, features: Sequence[Tensor], logits: Tensor) -> Tensor:
        """Return the number whose gradient moves the input: the anomaly of the whole image."""
        ...

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score (H, W) of one image's values (K, h, w), at a size (width, height)."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return all that is to be kept of it."""
        ...


@dataclass(frozen=True)
class FittedAbout:
    """What a file of a fitted method says: the method, its options, the layers that it taps, the digest of the network that it was fitted to, and what is to be known beside it: images, numbers, searches, flags."""

    method: str
    options: dict[str, Value]
    layers: tuple[str, ...]
    network: str
    flags: tuple[str, ...] = ()
    more: Mapping[str, object] = field(default_factory=dict)


_READ = pydantic.TypeAdapter(FittedAbout)


def write(path: Path, about: FittedAbout, tensors: Mapping[str, Tensor]) -> None:
    """Put the file of a fitted method."""
    from safetensors.torch import save

    held = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, save(held, {"about": json.dumps(_READ.dump_python(about, mode="json"), sort_keys=True)}))


def read_about(path: Path) -> FittedAbout:
    """Return what the file of a fitted method says, without its tensors. ModelError where it is none."""
    return _opened(path, tensors=False)[0]


def read(path: Path) -> tuple[FittedAbout, dict[str, Tensor]]:
    """Return what the file of a fitted method says, and its tensors. ModelError where it is none."""
    return _opened(path, tensors=True)


def _opened(path: Path, *, tensors: bool) -> tuple[FittedAbout, dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            about = _READ.validate_json((file.metadata() or {}).get("about", ""))
            return about, {name: file.get_tensor(name) for name in file.keys()} if tensors else {}  # noqa: SIM118 - no dict
    except FileNotFoundError:
        raise ModelError(f"{path}: there is no such fitted method") from None
    except (SafetensorError, OSError, pydantic.ValidationError) as error:
        raise ModelError(f"{path}: not the file of a fitted method: {library_text(error, most=200)}; fit it again") from None
