"""The method mahalanobis and its parts: the distance to the nearest class, for Gaussians with a shared
covariance around the mean features of each class.

Conventions: features are (n, D); a feature counts for a class only if its whole patch has that class. The
covariance is within classes, with a small share of its mean variance added to its diagonal (``SHRINK``), so
that it can be inverted even if features are linearly dependent. Distances are squared, and to the nearest
class mean; the method's score is sqrt(distance / D): the root mean square per feature, in standard
deviations.
Source: Lee et al. 2018, eq. 1 and 2; a baseline of Blum et al. 2021's successors (SegmentMeIfYouCan).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from faultscape.errors import MetricError
from faultscape.maps.winners import enlarged
from faultscape.uncertainty import tensors
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.embeddings import Embeddings

SHRINK = 1e-4
_ROWS, _ROWS_OF_GPU = 512, 1 << 17  # features at once, to fit a CPU's cache


def class_gaussians(features: Tensor, classes: Tensor, shrink: float = SHRINK) -> tuple[Tensor, Tensor]:
    """Return the means (K, D) of the classes that have features, and W (D, D) such that W (z - mean) has
    identity covariance, from features (n, D) and their classes (n,), -1 for none. MetricError if no feature
    has a class, or for tensors of another kind or shape.

    >>> means, whiten = class_gaussians(
    ...     torch.tensor([[0.0, 1.0], [0.0, -1.0], [4.0, 1.0], [4.0, -1.0]]), torch.tensor([0, 0, 1, 1])
    ... )
    >>> means.tolist()
    [[0.0, 0.0], [4.0, 0.0]]
    """
    features = tensors.floats(features, "features", "(n, D)")
    classes = tensors.places(classes, "classes", "(n)")
    if len(features) != len(classes) or not features.shape[1]:
        raise MetricError(
            f"features are (n, D) and classes (n,), one per feature; got {tuple(features.shape)} and"
            f" {tuple(classes.shape)}"
        )
    known = classes >= 0
    if not known.any():
        raise MetricError(
            "no training embedding lies in a patch of a single class; use larger images, or a layer with a"
            " finer grid"
        )
    values = features[known].double()
    own = classes[known]
    if not torch.isfinite(values).all():
        raise MetricError("features hold NaN or infinity; expected finite numbers")
    there, place = own.unique(return_inverse=True)
    means = torch.zeros(len(there), values.shape[1], dtype=torch.float64).index_add_(0, place, values)
    means /= torch.bincount(place)[:, None]
    rest = values - means[place]
    covariance = rest.T @ rest / len(rest)
    covariance.diagonal().add_(shrink * covariance.diagonal().mean().clamp_min(1e-12))
    lower = torch.linalg.cholesky(covariance)
    whiten = torch.linalg.solve_triangular(lower, torch.eye(len(lower), dtype=torch.float64), upper=False)
    return means.float(), whiten.float()


def mahalanobis_distances(features: Tensor, means: Tensor, whiten: Tensor) -> Tensor:
    """Return the squared Mahalanobis distance (n,) of features (n, D) to the nearest of the means (K, D).
    MetricError for tensors of another kind or shape.

    >>> mahalanobis_distances(
    ...     torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.eye(2)
    ... ).tolist()
    [4.0]
    """
    wide = tensors.floats(features, "features", "(n, D)").shape[1]
    tensors.floats(means, "means", "(K, D)")
    tensors.floats(whiten, "whiten", "(D, D)")
    if means.shape[1] != wide or whiten.shape != (wide, wide) or not len(means):
        raise MetricError(
            "features are (n, D), means (K, D) and whiten (D, D), of the same D; got"
            f" {tuple(features.shape)}, {tuple(means.shape)} and {tuple(whiten.shape)}"
        )
    tensors.alike({"features": features, "means": means, "whiten": whiten})
    centres = means @ whiten.T
    parts = features.split(_ROWS if features.device.type == "cpu" else _ROWS_OF_GPU)
    return torch.cat([_to_nearest(part @ whiten.T, centres) for part in parts])


def _to_nearest(values: Tensor, centres: Tensor) -> Tensor:
    out = values.new_full((len(values),), torch.inf)
    for centre in centres:  # a difference of squares would lose the digits of small distances
        out = torch.minimum(out, (values - centre).square().sum(1))
    return out


class ClassDistance:
    """The means of the classes, and the whitening matrix of the covariance within them."""

    epsilon = 0.0

    def __init__(
        self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]
    ) -> None:
        del options
        self.layers = tuple(layers)
        self.means = tensors["means"]
        self.whiten = tensors["whiten"]

    @classmethod
    def fit(
        cls,
        layers: Sequence[str],
        samples: Sequence[Embeddings],
        options: Mapping[str, Value],
        channels: np.ndarray,
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
        """Return the score resized bilinearly."""
        return np.array(enlarged(values[0], size)[0])

    def tensors(self) -> dict[str, Tensor]:
        """Return the Gaussians."""
        return {"means": self.means, "whiten": self.whiten}
