"""The method flow: the negative log-likelihood of features under a flow, for one layer or several together.

Conventions: each layer's NLL has its mean over the training embeddings subtracted (eq. 8), so that 0 is as
likely as their average. Several layers are joined at the size of the image: by their minimum, or weighted by
a logistic regression on a validation set with unknown objects. ``per_feature`` first divides each layer by
its number of features, which the paper does not: nats per feature, so that layers of different widths have
one unit. Within a layer the order is the same. With ``epsilon`` the input is first moved against the gradient
of the mean NLL (Blum et al. 2021, Table 9).
Source: Blum et al. 2021, section 4.2, eq. 6 to 8, B.6.

A trained flow in use: the same value as `RealNVP.nll`, with constant parts folded into fewer steps.

Conventions: features (n, D) in, the negative log-likelihood (n,) out; gradients pass through. The affine map
of each batch norm is folded into the coupling before it. On a CPU, features are processed in blocks of
``_ROWS``, which fit its cache; on a GPU, in blocks so large that launching kernels costs little. `RealNVP` is
its plain twin.
Source: Blum et al. 2021, section 4.2, eq. 7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from faultscape.maps.winners import enlarged
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.flow import LIMIT, RealNVP
from faultscape.uncertainty.methods.flow_fit import TrainedFlow

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


class FlowDensity:
    """A flow for each layer with its channels and the mean NLL of its training embeddings, and how layers are
    joined: ``weights`` of a logistic regression, or their minimum.
    """

    def __init__(
        self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]
    ) -> None:
        self.layers, self.epsilon = tuple(layers), float(options["epsilon"])
        self.per_feature = bool(options["per_feature"])
        self.flows: list[RealNVP] = []
        self.channels: list[Tensor] = []
        self._fixed: dict[tuple[int, str], FixedFlow] = {}
        for number in range(len(self.layers)):
            begin = f"flow{number}/"
            held = {
                name.removeprefix(begin): value for name, value in tensors.items() if name.startswith(begin)
            }
            self.channels.append(held.pop("channels"))
            flow = RealNVP(
                len(held["centre"]), int(options["blocks"]), int(options["width"]), int(options["depth"])
            )
            flow.load_state_dict(held)
            self.flows.append(flow.eval().requires_grad_(requires_grad=False))
        self.means, self.weights = tensors["means"], tensors.get("weights")

    @classmethod
    def of(
        cls,
        layers: Sequence[str],
        options: Mapping[str, Value],
        flows: Sequence[TrainedFlow],
        weights: np.ndarray | None = None,
    ) -> FlowDensity:
        """Return the method with trained flows, one per layer, and the weights (L,) that join them, None for
        their minimum.
        """
        tensors = {
            f"flow{k}/{name}": value
            for k, one in enumerate(flows)
            for name, value in (*one.flow.state_dict().items(), ("channels", one.channels))
        }
        tensors["means"] = torch.tensor([one.learnt for one in flows])
        if weights is not None:
            tensors["weights"] = torch.from_numpy(weights).float()
        return cls(layers, options, tensors)

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the normalised NLL per feature (N, 1, h, w) of each layer."""
        del logits
        return tuple(self._normalised(number, grid) for number, grid in enumerate(features))

    def _normalised(self, number: int, grid: Tensor) -> Tensor:
        key = number, str(grid.device)
        if key not in self._fixed:
            self._fixed[key] = FixedFlow.of(self.flows[number], grid.device)
        flow = self._fixed[key]
        channels = self.channels[number].to(grid.device)
        some = grid if len(channels) == grid.shape[1] else grid.index_select(1, channels)
        rows = some.permute(0, 2, 3, 1).reshape(-1, len(channels)).float()
        found = flow.nll(rows) - self.means[number].to(grid.device)
        if self.per_feature:
            found = found / flow.dimensions
        return found.reshape(len(grid), 1, *grid.shape[2:])

    def objective(self, features: Sequence[Tensor], logits: Tensor) -> Tensor:
        """Return the mean NLL of the image over all layers."""
        return torch.stack([value.mean() for value in self.values(features, logits)]).mean()

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score at a size: each layer resized bilinearly, then joined."""
        joined = np.array(enlarged(values[0], size)[0])
        if self.weights is not None:
            joined *= np.float32(self.weights[0])
        for number, value in enumerate(values[1:], 1):
            other = enlarged(value, size)[0]
            if self.weights is None:
                np.minimum(joined, other, out=joined)
            else:
                joined += np.float32(self.weights[number]) * other
        return joined

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights of the flows, and those that join them."""
        held = {
            f"flow{number}/{name}": value
            for number, flow in enumerate(self.flows)
            for name, value in (*flow.state_dict().items(), ("channels", self.channels[number]))
        }
        return held | {"means": self.means} | ({} if self.weights is None else {"weights": self.weights})
