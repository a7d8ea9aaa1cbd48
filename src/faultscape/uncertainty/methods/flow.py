"""RealNVP: an invertible network with Gaussian output, which gives the likelihood of a feature vector.

Conventions: features (n, D) in, the latent vector (n, D) and log |det| (n,) out. A step is an affine
coupling, a batch norm and a fixed permutation, as in Blum et al. 2021; the first is preceded by a fixed
affine map that brings the training features to mean 0 and variance 1. Couplings start as the identity. Log
scales are kept within ``LIMIT`` by a tanh, which the paper does not have: otherwise a coupling may overflow
far from all training features, where it matters most. In use, features are processed in blocks of ``_ROWS``,
which fit a CPU's cache.
Source: Blum et al. 2021, section 4.2, eq. 6 and 7, B.6; Dinh et al. 2017; Kingma and Dhariwal 2018 (identity
start). Width and depth of the couplings are ours: the paper prints none.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from faultscape.errors import MetricError
from faultscape.uncertainty import tensors

BLOCKS, WIDTH, DEPTH = 32, 256, 1  # blocks as in S4, which calls them steps
LIMIT = 2.0  # limit of a coupling's log scale
_ROWS = 512


class Coupling(nn.Module):
    """An affine coupling: the second half of a vector is scaled and shifted by the output of a small network
    on the first half.
    """

    def __init__(self, dimensions: int, width: int, depth: int) -> None:
        super().__init__()
        self.first = dimensions // 2
        second = dimensions - dimensions // 2
        layers: list[nn.Module] = [nn.Linear(self.first, width), nn.ReLU()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.ReLU()]
        last = nn.Linear(width, 2 * second)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.net = nn.Sequential(*layers, last)

    @property
    def linear_layers(self) -> list[nn.Linear]:
        """The layers of its small network, in order."""
        return [layer for layer in self.net if isinstance(layer, nn.Linear)]

    def _scale_and_shift(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        raw, shift = self.net(kept).chunk(2, dim=1)
        return LIMIT * torch.tanh(raw / LIMIT), shift

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return the values and log |det|."""
        kept = values[:, : self.first]
        other = values[:, self.first :]
        scale, shift = self._scale_and_shift(kept)
        return torch.cat([kept, other * scale.exp() + shift], dim=1), scale.sum(1)

    def inverse(self, values: Tensor) -> Tensor:
        """Return the input that gives these values."""
        kept = values[:, : self.first]
        other = values[:, self.first :]
        scale, shift = self._scale_and_shift(kept)
        return torch.cat([kept, (other - shift) * (-scale).exp()], dim=1)


class FlowNorm(nn.Module):
    """Invertible batch norm: by the batch in training, by running means in use, with a learnt scale and
    shift.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, dimensions: int, momentum: float = 0.1, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.momentum = momentum
        self.epsilon = epsilon
        self.log_scale, self.shift = (
            nn.Parameter(torch.zeros(dimensions)),
            nn.Parameter(torch.zeros(dimensions)),
        )
        self.register_buffer("mean", torch.zeros(dimensions))
        self.register_buffer("variance", torch.ones(dimensions))

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return the values and log |det|, which is the same for every row."""
        mean = self.mean
        variance = self.variance
        if self.training:
            mean = values.mean(0)
            variance = values.var(0, correction=0)
            with torch.no_grad():
                self.mean.lerp_(mean, self.momentum)
                self.variance.lerp_(variance, self.momentum)
        factor = self.log_scale - 0.5 * (variance + self.epsilon).log()
        return (values - mean) * factor.exp() + self.shift, factor.sum().expand(len(values))

    def inverse(self, values: Tensor) -> Tensor:
        """Return the input that gives these values in use."""
        factor = self.log_scale - 0.5 * (self.variance + self.epsilon).log()
        return (values - self.shift) * (-factor).exp() + self.mean


class RealNVP(nn.Module):
    """A flow of ``blocks`` blocks over vectors of ``dimensions``; its permutations depend on the seed.

    Called with features (n, D) it returns their latent vectors (n, D) and log |det| (n,); `nll` gives the
    negative log-likelihood (n,) of Blum et al. 2021, eq. 7. Errors: MetricError for features of the wrong
    width.

    >>> flow = RealNVP(4, blocks=2).eval()
    >>> flow.nll(torch.zeros(3, 4)).shape
    torch.Size([3])
    """

    orders: Tensor  # (blocks, D) int64: the permutation at the end of each block
    centre: Tensor  # (D,) subtracted first: the mean of the training features
    spread: Tensor  # (D,) divided by next: their standard deviation

    def __init__(
        self, dimensions: int, blocks: int = BLOCKS, width: int = WIDTH, depth: int = DEPTH, seed: int = 0
    ) -> None:
        super().__init__()
        self.dimensions = dimensions
        generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.couplings = nn.ModuleList(Coupling(dimensions, width, depth) for _ in range(blocks))
        self.norms = nn.ModuleList(FlowNorm(dimensions) for _ in range(blocks))
        orders = torch.stack([torch.randperm(dimensions, generator=generator) for _ in range(blocks)])
        self.register_buffer("orders", orders)
        self.register_buffer("centre", torch.zeros(dimensions))
        self.register_buffer("spread", torch.ones(dimensions))

    @property
    def parts(self) -> list[tuple[Coupling, FlowNorm, Tensor]]:
        """Its blocks: a coupling, a norm and a permutation each."""
        return cast(
            "list[tuple[Coupling, FlowNorm, Tensor]]",
            list(zip(self.couplings, self.norms, self.orders, strict=True)),
        )

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return the latent vectors (n, D) and log |det| (n,) of features (n, D)."""
        values = (features - self.centre) / self.spread
        total = -self.spread.log().sum().expand(len(values))
        for coupling, norm, order in self.parts:
            values, more = coupling(values)
            values, of_norm = norm(values)
            values = values[:, order]
            total = total + more + of_norm
        return values, total

    def inverse(self, latent: Tensor) -> Tensor:
        """Return the features (n, D) of latent vectors (n, D), in use."""
        values = latent
        for coupling, norm, order in reversed(self.parts):
            values = coupling.inverse(norm.inverse(values[:, torch.argsort(order)]))
        return values * self.spread + self.centre

    def nll(self, features: Tensor) -> Tensor:
        """Return the negative log-likelihood (n,) of features (n, D), in nats (Blum et al. 2021, eq. 7).

        >>> flow = RealNVP(2, blocks=2).eval()
        >>> bool(
        ...     torch.isclose(flow.nll(torch.zeros(1, 2))[0], torch.tensor(math.log(2 * math.pi)), atol=1e-4)
        ... )
        True
        """
        tensors.floats(features, "features", "(n, D)")
        if features.shape[1] != self.dimensions:
            raise MetricError(f"this flow is of features (n, {self.dimensions}); got {tuple(features.shape)}")
        tensors.alike({"features": features, "the flow": self.centre})
        return torch.cat(
            [self._nll(part) for part in (features.split(_ROWS) if not self.training else [features])]
        )

    def _nll(self, features: Tensor) -> Tensor:
        latent, total = self(features)
        return 0.5 * (latent.square().sum(1) + self.dimensions * math.log(2 * math.pi)) - total
