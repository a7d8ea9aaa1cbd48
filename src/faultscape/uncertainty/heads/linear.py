"""A plain linear head: the network's own layer, or a new one with the requested number of classes.

Source: Buchanan et al. 2022, section 2 (the deterministic model).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from faultscape.uncertainty.heads.channels import Head, Start

_TRUNCATED = 0.87962566103423978  # deviation of Normal(0, 1) truncated at two standard deviations


class LinearHead(Head):
    """y = W x + b; with a ``start`` of the same number of classes, the weights of that layer.

    >>> LinearHead(3, 2)(torch.zeros(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, dimensions: int, classes: int, start: Start | None = None, seed: int = 0) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.classes = classes
        self.weight, self.bias = linear_parameters(dimensions, classes, start, seed)

    def folded(self) -> Start:
        """Return its weight and bias."""
        return self.weight, self.bias

    def start(self) -> Start:
        """Return its weight and bias."""
        return self.weight, self.bias

    def forward(self, features: Tensor) -> Tensor:
        """Return logits (..., C) of features (..., D)."""
        return nn.functional.linear(features, self.weight, self.bias)


def linear_parameters(
    dimensions: int, classes: int, start: Start | None, seed: int, *, wide: bool = False
) -> tuple[nn.Parameter, nn.Parameter]:
    """Return a weight (C, D) and a bias (C,): those of ``start`` if it has the same size, else new ones.

    New weights are Normal(0, sqrt(.02 / D)) truncated at two standard deviations, as in the decoder of
    Buchanan et al. 2022 (variance scaling of .02 by fan-in); biases are 0. ``wide`` weights have variance 1 /
    D after the truncation, as their code starts a Gaussian process and a heteroscedastic head.
    """
    if start is not None and tuple(start[0].shape) == (classes, dimensions):
        bias = start[1] if start[1] is not None else torch.zeros(classes)
        return nn.Parameter(start[0].detach().clone()), nn.Parameter(bias.detach().clone())
    drawn = torch.empty(classes, dimensions)
    spread = (1 / dimensions) ** 0.5 / _TRUNCATED if wide else (0.02 / dimensions) ** 0.5
    nn.init.trunc_normal_(
        drawn, std=spread, a=-2 * spread, b=2 * spread, generator=torch.Generator().manual_seed(seed)
    )
    return nn.Parameter(drawn), nn.Parameter(torch.zeros(classes))
