"""The method mahalanobis: the distance of a feature to the nearest class, of Gaussians of one covariance.

Conventions: see `mahalanobis`. The score is the root mean square distance per feature, in standard deviations.
Source: Lee et al. 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from faultscape.maps.winners import enlarged
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.embeddings import Embeddings
from faultscape.uncertainty.methods.mahalanobis import class_gaussians, mahalanobis_distances


class ClassDistance:
    """The means of the classes, and what makes the covariance within them 1."""

    epsilon = 0.0

    def __init__(self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]) -> None:
        del options
        self.layers, self.means, self.whiten = tuple(layers), tensors["means"], tensors["whiten"]

    @classmethod
    def fit(
        cls, layers: Sequence[str], samples: Sequence[Embeddings], options: Mapping[str, Value], channels: np.ndarray
    ) -> ClassDistance:
        """Return the method with the Gaussians of these training features."""
        del channels
        means, whiten = class_gaussians(samples[0].values, samples[0].only_class, float(options["shrink"]))
        return cls(layers, options, {"means": means, "whiten": whiten})

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the distance (N, 1, h, w) on the grid of the layer."""
        del logits
        grid = features[0]
        rows = grid.permute(0, 2, 3, 1).reshape(-1, grid.shape[1]).float()
        found = mahalanobis_distances(rows, self.means.to(rows), self.whiten.to(rows)) / grid.shape[1]
        return (found.sqrt().reshape(len(grid), 1, *grid.shape[2:]),)

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score at a size, bilinearly."""
        return np.array(enlarged(values[0], size)[0])

    def tensors(self) -> dict[str, Tensor]:
        """Return the Gaussians."""
        return {"means": self.means, "whiten": self.whiten}
