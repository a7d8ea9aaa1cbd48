"""A trained flow in use: the same value as `RealNVP.nll`, with constant parts folded into fewer steps.

Conventions: features (n, D) in, the negative log-likelihood (n,) out; gradients pass through. The affine map
of each batch norm is folded into the coupling before it. On a CPU, features are processed in blocks of
``_ROWS``, which fit its cache; on a GPU, in blocks so large that launching kernels costs little. `RealNVP` is
its plain twin.
Source: Blum et al. 2021, section 4.2, eq. 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

from faultscape.uncertainty.methods.flow import LIMIT, RealNVP

_ROWS = 512
_ROWS_OF_GPU = 1 << 16


@dataclass(frozen=True, eq=False)
class _Block:
    """A coupling and the norm after it: weights and biases of its network, the scale and shift of the
    unchanged half, the term added to the log scale of the other half, and the permutation.
    """

    layers: tuple[tuple[Tensor, Tensor], ...]
    gain: Tensor
    shift: Tensor
    log_gain: Tensor
    order: Tensor


@dataclass(frozen=True, eq=False)
class FixedFlow:
    """A flow with fixed parameters; ``constant`` is the part of the log-determinant that all
    vectors share.
    """

    dimensions: int
    centre: Tensor
    spread: Tensor
    blocks: tuple[_Block, ...]
    constant: float

    @classmethod
    @torch.no_grad()
    def of(cls, flow: RealNVP, device: torch.device | str = "cpu") -> FixedFlow:
        """Return the current state of a flow, on a device."""
        blocks = []
        constant = -float(flow.spread.double().log().sum())
        for coupling, norm, order in flow.parts:
            factor = norm.log_scale - 0.5 * (norm.variance + norm.epsilon).log()
            gain = factor.exp()
            shift = norm.shift - norm.mean * gain
            first = coupling.first
            half = flow.dimensions - coupling.first
            *inner, (weight, bias) = [(layer.weight, layer.bias) for layer in coupling.linear_layers]
            weight = torch.cat([weight[:half] / LIMIT, weight[half:] * gain[first:, None]])
            bias = torch.cat([bias[:half] / LIMIT, bias[half:] * gain[first:] + shift[first:]])
            layers = tuple((one.to(device), two.to(device)) for one, two in [*inner, (weight, bias)])
            kept = gain[:first].to(device), shift[:first].to(device)
            blocks.append(_Block(layers, *kept, factor[first:].to(device), order.to(device)))
            constant += float(factor[:first].double().sum())
        return cls(flow.dimensions, flow.centre.to(device), flow.spread.to(device), tuple(blocks), constant)

    def nll(self, features: Tensor) -> Tensor:
        """Return the negative log-likelihood (n,) of features (n, D), in nats.

        >>> flow = RealNVP(2, blocks=2).eval()
        >>> bool(
        ...     torch.isclose(FixedFlow.of(flow).nll(torch.ones(1, 2)), flow.nll(torch.ones(1, 2)), atol=1e-4)
        ... )
        True
        """
        rows = _ROWS if features.device.type == "cpu" else _ROWS_OF_GPU
        return torch.cat([self._nll(part) for part in features.split(rows)])

    def _nll(self, features: Tensor) -> Tensor:
        values = (features - self.centre) / self.spread
        total = features.new_full((len(features),), self.constant)
        for block in self.blocks:
            first = len(block.gain)
            kept = values[:, :first]
            other = values[:, first:]
            hidden = kept
            for weight, bias in block.layers[:-1]:
                hidden = linear(hidden, weight, bias).relu()
            raw, shift = linear(hidden, *block.layers[-1]).chunk(2, dim=1)
            log_scale = torch.add(block.log_gain, raw.tanh(), alpha=LIMIT)
            total = total + log_scale.sum(1)
            halves = (
                torch.addcmul(block.shift, kept, block.gain),
                torch.addcmul(shift, other, log_scale.exp()),
            )
            values = torch.cat(halves, dim=1).index_select(1, block.order)
        return 0.5 * (values.square().sum(1) + self.dimensions * math.log(2 * math.pi)) - total
