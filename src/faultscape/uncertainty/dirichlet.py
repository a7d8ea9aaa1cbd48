"""Prior networks: logits are log concentrations of a Dirichlet distribution over a pixel's class
probabilities.

Conventions: logits are (N, C, ...), concentrations exp(logits). On known pixels the target is a sharp
Dirichlet: smoothed labels times ``ALPHA0``. Blum et al. 2021 give e = .01 and 100, but not who gets e.
``each`` follows Malinin and Gales: e for each other class and 1 - (C - 1) e for the class, so that the others
have concentration 1, as in the flat Dirichlet, which is the target on pixels of no class. ``shared`` is label
smoothing as it is usual: e is shared by all C classes, e / C for each other and 1 - e + e / C for the class.
For 19 classes these are 82 and 1, or 99.05 and .05. The divergence is KL(target || network), as in
Malinin and Gales 2018; the reverse direction of their 2019 paper is not offered. Logits are kept below
``_MOST``, where exp stays finite in float32.
Source: Blum et al. 2021, section 4.1, eq. 3 and B.4 (both divergences weighted by .1); Malinin and Gales
2018, eq. 12 to 14. Our copy of Blum et al. 2021 does not show eq. 3.
"""

from __future__ import annotations

import torch
from torch import Tensor

from faultscape.choices import Smoothing
from faultscape.errors import MetricError
from faultscape.uncertainty import tensors

SMOOTHING = 0.01
ALPHA0 = 100.0
WEIGHT = 0.1
_MOST = 30.0
MOST_CLASSES = 50  # up to here a target with .01 for each class is still sharp: 51 against 1


def concentrations(logits: Tensor) -> Tensor:
    """Return the concentrations (N, C, ...) of logits."""
    return logits.float().clamp(-_MOST, _MOST).exp()


def divergence(first: Tensor, second: Tensor) -> Tensor:
    """Return KL(Dir(first) || Dir(second)), (N, ...), of concentrations (N, C, ...). MetricError unless all
    are above 0.

    >>> round(float(divergence(torch.tensor([[2.0, 1.0]]), torch.tensor([[1.0, 1.0]]))[0]), 4)
    0.1931
    """
    for what, alpha in (("first", first), ("second", second)):
        if (tensors.floats(alpha, what, "(N, C, ...)") <= 0).any():
            raise MetricError(f"{what} are concentrations above 0; got {float(alpha.min()):g}")
    if first.shape != second.shape or first.dtype != second.dtype:
        raise MetricError(
            f"first and second have one shape and type; got {tuple(first.shape)} {first.dtype} and"
            f" {tuple(second.shape)} {second.dtype}"
        )
    return divergence_of(first, second)


def divergence_of(first: Tensor, second: Tensor) -> Tensor:
    """Return `divergence` of concentrations that are known to be right."""
    whole = first.sum(1)
    other = second.sum(1)
    spread = ((first - second) * (torch.digamma(first) - torch.digamma(whole).unsqueeze(1))).sum(1)
    return (
        torch.lgamma(whole)
        - torch.lgamma(other)
        - (torch.lgamma(first) - torch.lgamma(second)).sum(1)
        + spread
    )


def sharp(labels: Tensor, classes: int, smoothing: Smoothing = "each") -> Tensor:
    """Return the target concentrations (N, C, ...) of labels (N, ...) from 0 to C - 1.

    >>> sharp(torch.tensor([1]), 3).round(decimals=2).tolist()
    [[1.0, 98.0, 1.0]]
    >>> sharp(torch.tensor([1]), 4, "shared").round(decimals=2).tolist()
    [[0.25, 99.25, 0.25, 0.25]]
    """
    one = torch.nn.functional.one_hot(labels, classes).movedim(-1, 1).float()
    other = SMOOTHING if smoothing == "each" else SMOOTHING / classes
    return ALPHA0 * (other + (1 - classes * other) * one)


def differential_entropy(logits: Tensor) -> Tensor:
    """Return the differential entropy (N, ...) of the Dirichlet with logits (N, C, ...): large where it is
    flat.

    >>> float(differential_entropy(torch.zeros(1, 2))[0])  # even over all probabilities
    0.0
    """
    tensors.floats(logits, "logits", "(N, C, ...)")
    alpha = concentrations(logits)
    whole = alpha.sum(1)
    count = alpha.shape[1]
    spread = (whole - count) * torch.digamma(whole) - ((alpha - 1) * torch.digamma(alpha)).sum(1)
    return torch.lgamma(alpha).sum(1) - torch.lgamma(whole) + spread
