"""What is fitted to data after training: the covariance of a Gaussian process, and how far its variance counts.

Conventions: a network is given batches of its inputs, and is left in use (``eval``). The sum over the data is exact and does not depend on how they are cut into batches, but for rounding.
Source: Liu et al. 2020, Algorithm 1 (reset and one exact pass); the factor on validation NLL is ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from faultscape.errors import ModelError
from faultscape.uncertainty.heads.gaussian_process import GaussianProcessHead


def processes_of(net: nn.Module) -> list[GaussianProcessHead]:
    """Return the Gaussian processes within a network."""
    return [module for module in net.modules() if isinstance(module, GaussianProcessHead)]


@torch.no_grad()
def fit_covariance(net: nn.Module, batches: Iterable[Any]) -> None:
    """Forget what the covariance was, and sum it over batches of inputs (tensors, or dicts of a network's named inputs), each seen once.

    Errors: ModelError for a network without a Gaussian process, or without a batch.

    >>> head = GaussianProcessHead(3, 2, features=64).eval()
    >>> points = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    >>> before = head(points)[:, -1].mean()
    >>> fit_covariance(head, [points])
    >>> bool(head(points)[:, -1].mean() < before / 2)
    True
    """
    heads = processes_of(net)
    if not heads:
        raise ModelError(f"{type(net).__name__}: has no Gaussian process, whose covariance could be fitted")
    net.eval()
    for head in heads:
        head.reset_precision()
        head.gathering = True
    seen = 0
    try:
        for batch in batches:
            seen += 1
            net(**batch) if isinstance(batch, dict) else net(batch)
    finally:
        for head in heads:
            head.gathering = False
    if not seen:
        raise ModelError("no batch was given, from which the covariance could be fitted")
    for head in heads:
        head.invert_precision()


def best_mean_field(logits: Tensor, variance: Tensor, labels: Tensor, factors: Iterable[float]) -> tuple[float, dict[float, float]]:
    """Return the mean-field factor of the least NLL among some, of logits (n, C) without variance, the variance (n,) and labels (n,), and the NLL of each.

    >>> best_mean_field(torch.tensor([[8.0, 0.0], [8.0, 0.0]]), torch.ones(2), torch.tensor([0, 1]), [0.0, 1.0, 9.0])[0]
    9.0
    """
    scores = {}
    for factor in factors:
        shrunk = logits / torch.sqrt(1 + factor * variance)[:, None]
        scores[factor] = float(nn.functional.cross_entropy(shrunk.double(), labels))
    return min(scores, key=lambda factor: (scores[factor], factor)), scores
