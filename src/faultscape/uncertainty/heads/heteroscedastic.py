"""A heteroscedastic head: logits are Gaussian, with a low-rank plus diagonal covariance computed from the
features; probabilities are the mean softmax of draws.

Conventions: z = mu(x) + V(x) eps_K + d(x) eps_C, with V (C, K) for K factors and d = softplus + .001; p =
mean over draws of softmax(z / T), at least 1e-7, and the output is log p. Noise is independent for each class
and the same at all pixels. In training it is redrawn at every step, or V and d would fit the draws; in use it
comes from the seed, so that results do not depend on the batch. ``shared_noise`` is the authors' form: one
number per draw for the whole diagonal, which cancels in the softmax where the diagonal is equal.
``efficient`` has one V (C, K) for all features, whose rows are scaled by v(x) (C,): D C + C K weights instead
of D C K. The authors' layer of this form adds a bias to V eps_K; the paper does not, and so this does not. V
starts at variance 1 / K, or both factors of the product would start near 0. Computation goes in blocks of
pixels, so that memory does not grow with the image; in training, blocks are recomputed in the backward pass.
Source: Collier et al. 2021; Buchanan et al. 2022, section 2.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from faultscape.uncertainty.heads.channels import Channels, Head, Start, is_exporting, whole_precision
from faultscape.uncertainty.heads.linear import linear_parameters

FACTORS = 5
SAMPLES = 1000
TEMPERATURE = 1.0
FLOOR = 1e-7
_LEAST_SCALE = 1e-3
# logits of all draws held at once on a CPU: more than its cache holds is slower
_AT_ONCE = 1 << 17
_AT_ONCE_ON_GPU = 1 << 26  # 256 MiB: a GPU would idle between small blocks
_DRAWS = 25  # draws of all pixels held at once in an exported file


def mean_softmax(
    location: Tensor,
    factors: Tensor,
    scale: Tensor,
    of_factors: Tensor,
    of_classes: Tensor,
    temperature: float = TEMPERATURE,
    floor: float = FLOOR,
) -> Tensor:
    """Return the log of the mean softmax (n, C) over draws of logits with a location (n, C), factors (n, C,
    K) and a scale (n, C); noise is (S, K) and (S, C), or (S, 1) where classes share it.

    >>> noise = torch.randn(20_000, 3, generator=torch.Generator().manual_seed(0))
    >>> mean_softmax(
    ...     torch.tensor([[2.0, 1.0, 0.0]]),
    ...     torch.zeros(1, 3, 1),
    ...     torch.full((1, 3), 1.5),
    ...     noise[:, :1],
    ...     noise,
    ... ).exp().round(decimals=2)
    tensor([[0.5500, 0.3000, 0.1500]])
    """
    drawn = draws(location, factors, scale, of_factors, of_classes)
    return torch.softmax(drawn / temperature, dim=-1).mean(1).clamp_min(floor).log()


def draws(location: Tensor, factors: Tensor, scale: Tensor, of_factors: Tensor, of_classes: Tensor) -> Tensor:
    """Return draws of logits (n, S, C)."""
    return (
        location[:, None]
        + torch.einsum("nck,sk->nsc", factors, of_factors)
        + scale[:, None] * of_classes[None]
    )


class HeteroscedasticHead(Head):
    """Logits whose noise depends on the features: features (..., D) to the log of the mean probability (...,
    C), followed by ``draws`` members if requested.

    >>> HeteroscedasticHead(3, 2, samples=10).eval()(torch.zeros(5, 3)).shape
    torch.Size([5, 2])
    """

    in_whole_precision = True
    of_factors: Tensor
    of_classes: Tensor

    def __init__(
        self,
        dimensions: int,
        classes: int,
        start: Start | None = None,
        seed: int = 0,
        *,
        factors: int = FACTORS,
        samples: int = SAMPLES,
        temperature: float = TEMPERATURE,
        shared_noise: bool = False,
        efficient: bool = False,
        wide_start: bool = False,
    ) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.classes = classes
        self.factors = factors
        self.temperature = temperature
        self.location, self.location_bias = linear_parameters(
            dimensions, classes, start, seed, wide=wide_start
        )
        of_inputs = classes if efficient else classes * factors
        self.factor, self.factor_bias = linear_parameters(
            dimensions, of_inputs, None, seed + 1, wide=wide_start
        )
        self.shared_factor = (
            linear_parameters(factors, classes, None, seed + 4, wide=True)[0] if efficient else None
        )
        self.scale, self.scale_bias = linear_parameters(dimensions, classes, None, seed + 2, wide=wide_start)
        generator = torch.Generator().manual_seed(seed + 3)
        self.register_buffer(
            "of_factors", torch.randn(samples, factors, generator=generator), persistent=False
        )
        shared = 1 if shared_noise else classes
        self.register_buffer(
            "of_classes", torch.randn(samples, shared, generator=generator), persistent=False
        )

    @property
    def channels(self) -> Channels:
        """The logarithm of the mean probability, and in use the requested members."""
        return Channels(self.classes, members=0 if self.training else min(self.draws, len(self.of_factors)))

    def start(self) -> Start:
        """Return the weight and the bias of the location."""
        return self.location, self.location_bias

    def noise(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the location (n, C), the factors (n, C, K) and the scale (n, C) of the logits of features
        (n, D).
        """
        location = nn.functional.linear(features, self.location, self.location_bias)
        factors = nn.functional.linear(features, self.factor, self.factor_bias)
        factors = (
            factors.unflatten(-1, (self.classes, self.factors))
            if self.shared_factor is None
            else factors[..., None] * self.shared_factor
        )
        scale = (
            nn.functional.softplus(nn.functional.linear(features, self.scale, self.scale_bias)) + _LEAST_SCALE
        )
        return location, factors, scale

    def forward(self, features: Tensor) -> Tensor:
        """Return the channels of features (..., D), in full precision."""
        with whole_precision(features.device):
            return self._channels_of(features.float())

    def _channels_of(self, features: Tensor) -> Tensor:
        flat = features.reshape(-1, features.shape[-1])
        location, factors, scale = self.noise(flat)
        made = self._mean(location, factors, scale)
        if count := self.channels.members:
            members = draws(location, factors, scale, self.of_factors[:count], self.of_classes[:count])
            made = torch.cat([made, (members / self.temperature).flatten(1)], dim=1)
        return made.reshape(*features.shape[:-1], -1)

    def _mean(self, location: Tensor, factors: Tensor, scale: Tensor) -> Tensor:
        """Return the log of the mean probability (n, C), in blocks of pixels, or, in an exported file, where
        the number of pixels is free, in blocks of draws.
        """
        if is_exporting():
            return self._mean_of_draws(location, factors, scale)
        at_once = _AT_ONCE if location.device.type == "cpu" else _AT_ONCE_ON_GPU
        step = max(1, at_once // (len(self.of_factors) * self.classes))
        blocks = zip(location.split(step), factors.split(step), scale.split(step), strict=True)
        told = (*self._noise(), self.temperature)
        if self.training and torch.is_grad_enabled():
            return torch.cat(
                [checkpoint(mean_softmax, *block, *told, use_reentrant=False) for block in blocks]
            )
        # small results between large blocks would prevent memory from being reused
        made = torch.empty_like(location)
        for place, block in zip(range(0, len(location), step), blocks, strict=True):
            made[place : place + step] = mean_softmax(*block, *told)
        return made

    def _noise(self) -> tuple[Tensor, Tensor]:
        """Return the noise of the factors (S, K) and of the classes (S, C)."""
        if self.training:
            return torch.randn_like(self.of_factors), torch.randn_like(self.of_classes)
        return self.of_factors, self.of_classes

    def _mean_of_draws(self, location: Tensor, factors: Tensor, scale: Tensor) -> Tensor:
        total = torch.zeros_like(location)
        for of_factors, of_classes in zip(
            self.of_factors.split(_DRAWS), self.of_classes.split(_DRAWS), strict=True
        ):
            drawn = draws(location, factors, scale, of_factors, of_classes)
            total = total + torch.softmax(drawn / self.temperature, dim=-1).sum(1)
        return (total / len(self.of_factors)).clamp_min(FLOOR).log()
