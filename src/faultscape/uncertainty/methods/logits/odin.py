"""The method odin: 1 - the largest probability at a temperature, for an image first moved towards the
network's prediction.

Conventions: each value of the network's input moves by ``epsilon`` against the gradient of the mean over
pixels of -log max softmax(z / T). Nothing is fitted: temperature and epsilon are given, or searched on a
validation set with unknown objects. Blum et al. 2021 left both out of their benchmark (B.2: temperature
helped little, and the gradient did not fit into memory), so epsilon is 0 by default, which needs no second
pass.
Source: Liang et al. 2018, eq. 1 and 2; SegmentMeIfYouCan takes epsilon 1e-4 and temperature 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from faultscape.metrics.pixel_facts import facts_of
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.embeddings import Embeddings


class Odin:
    """A temperature and the length of a step."""

    def __init__(
        self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]
    ) -> None:
        del layers, tensors
        self.layers: tuple[str, ...] = ()
        self.temperature, self.epsilon = float(options["temperature"]), float(options["epsilon"])

    @classmethod
    def fit(
        cls,
        layers: Sequence[str],
        samples: Sequence[Embeddings],
        options: Mapping[str, Value],
        channels: np.ndarray,
    ) -> Odin:
        """Return the method; nothing is fitted."""
        del samples, channels
        return cls(layers, options, {})

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the logits at the temperature."""
        del features
        return (logits / self.temperature,)

    def objective(self, features: Sequence[Tensor], logits: Tensor) -> Tensor:
        """Return the mean of -log max softmax(z / T)."""
        del features
        return -(logits / self.temperature).log_softmax(1).amax(1).mean()

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return 1 - the largest probability, at a size."""
        return np.asarray(facts_of(values[0], size).others)

    def tensors(self) -> dict[str, Tensor]:
        """Return nothing."""
        return {}
