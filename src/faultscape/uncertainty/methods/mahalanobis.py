"""The Mahalanobis distance to the nearest class: Gaussians of one covariance around the mean features of each class.

Conventions: features are (n, D); a feature counts for the one class that its whole patch has. The covariance is that within classes, with a small share of its mean variance added to its diagonal
(``SHRINK``), so that it can be inverted where features are linearly dependent. Distances are squared, and to the nearest class mean; the method's score is sqrt(distance / D).
Source: Lee et al. 2018, eq. 1 and 2; a baseline of S4's successors (SegmentMeIfYouCan).
"""

from __future__ import annotations

import torch
from torch import Tensor

from faultscape.errors import MetricError

SHRINK = 1e-4


def class_gaussians(features: Tensor, classes: Tensor, shrink: float = SHRINK) -> tuple[Tensor, Tensor]:
    """Return the means (K, D) of the classes that have features, and W (D, D) such that W (z - mean) has the covariance 1, of features (n, D) and the classes (n,) that they have, -1 of none. MetricError without any.

    >>> means, whiten = class_gaussians(torch.tensor([[0.0, 1.0], [0.0, -1.0], [4.0, 1.0], [4.0, -1.0]]), torch.tensor([0, 0, 1, 1]))
    >>> means.tolist()
    [[0.0, 0.0], [4.0, 0.0]]
    """
    known = classes >= 0
    if not known.any():
        raise MetricError("no training embedding lies in a patch of one class; give larger images, or a layer of a finer grid")
    values, own = features[known].double(), classes[known]
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

    >>> mahalanobis_distances(torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.eye(2)).tolist()
    [4.0]
    """
    at, centres = features @ whiten.T, means @ whiten.T
    out = at.new_full((len(at),), torch.inf)
    for centre in centres:  # a difference of squares would lose the digits of what is near
        out = torch.minimum(out, (at - centre).square().sum(1))
    return out
