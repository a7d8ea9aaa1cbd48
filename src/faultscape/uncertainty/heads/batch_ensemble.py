"""BatchEnsemble: members share one weight, and each has its own two vectors and bias.

Conventions: y_e = ((x * alpha_e) W^T) * gamma_e + b_e. The vectors alpha and gamma are the *fast weights*;
they start as Normal(1, spread), or as random signs with a share ``spread`` of +1. Members are the channels of
the head, and are averaged as probabilities after up-sampling; the loss is the mean of the members' losses.
Source: Wen et al. 2020; Buchanan et al. 2022, section 2. The authors' code encodes the start as one number:
-.5 is Normal(1, .5), +.5 random signs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from faultscape.choices import FastStart
from faultscape.uncertainty.heads.channels import Channels, Head, Start
from faultscape.uncertainty.heads.linear import linear_parameters

MEMBERS = 3
SPREAD = 0.5


def fast_weights(
    members: int, width: int, start: FastStart, spread: float, generator: torch.Generator
) -> nn.Parameter:
    """Return (E, width) fast weights; those of a single member are 1, which makes it the linear layer.

    >>> fast_weights(1, 2, "normal", 0.5, torch.Generator()).tolist()
    [[1.0, 1.0]]
    """
    drawn = torch.ones(members, width)
    if members > 1 and start == "normal":
        drawn += spread * torch.randn(members, width, generator=generator)
    elif members > 1:
        drawn -= 2 * (torch.rand(members, width, generator=generator) >= spread).float()
    return nn.Parameter(drawn)


class BatchEnsembleHead(Head):
    """Members instead of logits: features (..., D) to channels (..., E x C).

    >>> BatchEnsembleHead(3, 2)(torch.zeros(5, 3)).shape
    torch.Size([5, 6])
    """

    def __init__(
        self,
        dimensions: int,
        classes: int,
        start: Start | None = None,
        seed: int = 0,
        *,
        members: int = MEMBERS,
        fast_start: FastStart = "normal",
        spread: float = SPREAD,
    ) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.classes = classes
        self.members = members
        self.weight, bias = linear_parameters(dimensions, classes, start, seed)
        generator = torch.Generator().manual_seed(seed + 1)
        self.alpha = fast_weights(members, dimensions, fast_start, spread, generator)
        self.gamma = fast_weights(members, classes, fast_start, spread, generator)
        self.bias = nn.Parameter(bias.detach().repeat(members, 1))

    @property
    def channels(self) -> Channels:
        """Only members, in training and in use."""
        return Channels(self.classes, logits=False, members=self.members)

    def fast_parameters(self) -> list[nn.Parameter]:
        """Return alpha and gamma."""
        return [self.alpha, self.gamma]

    def start(self) -> Start:
        """Return the shared weight of members, and their mean bias."""
        return self.weight, self.bias.mean(0)

    def folded(self) -> tuple[Tensor, Tensor]:
        """Return the weights and biases of all members with the vectors folded in, at the cost of one layer
        with E x C outputs.
        """
        weight = self.gamma[:, :, None] * self.weight[None] * self.alpha[:, None, :]  # (E, C, D)
        return weight.flatten(0, 1), self.bias.flatten()

    def forward(self, features: Tensor) -> Tensor:
        """Return the members' logits, member by member."""
        return nn.functional.linear(features, *self.folded())


class BatchEnsembleLinear(nn.Module):
    """A linear layer inside a network, for inputs repeated for each member: (E x N, ..., D), member by
    member.

    >>> BatchEnsembleLinear(nn.Linear(3, 2), members=2)(torch.zeros(4, 5, 3)).shape
    torch.Size([4, 5, 2])
    """

    def __init__(
        self,
        layer: nn.Linear,
        members: int = MEMBERS,
        fast_start: FastStart = "normal",
        spread: float = SPREAD,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.members = members
        self.weight = layer.weight
        generator = torch.Generator().manual_seed(seed)
        self.alpha = fast_weights(members, layer.in_features, fast_start, spread, generator)
        self.gamma = fast_weights(members, layer.out_features, fast_start, spread, generator)
        bias = layer.bias if layer.bias is not None else torch.zeros(layer.out_features)
        self.bias = nn.Parameter(bias.detach().repeat(members, 1))

    def fast_parameters(self) -> list[nn.Parameter]:
        """Return alpha and gamma."""
        return [self.alpha, self.gamma]

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the layer's output for each member's part of the batch."""
        parted = inputs.unflatten(0, (self.members, -1))
        alpha, gamma, bias = (
            self._beside(values, parted.ndim) for values in (self.alpha, self.gamma, self.bias)
        )
        return (nn.functional.linear(parted * alpha, self.weight) * gamma + bias).flatten(0, 1)

    def _beside(self, values: Tensor, axes: int) -> Tensor:
        return values.reshape(self.members, *[1] * (axes - 2), -1)
