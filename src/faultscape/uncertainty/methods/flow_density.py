"""The method flow: the negative log-likelihood of features under a flow, for one layer or several
together.

Conventions: each layer's NLL has its mean over the training embeddings subtracted (eq. 8), so that 0 is as
likely as their average. Several layers are joined at the size of the image: by their minimum, or weighted by
a logistic regression on a validation set with unknown objects. ``per_feature`` first divides each layer by
its number of features, which the paper does not: nats per feature, so that layers of different widths have
one unit. Within a layer the order is the same. With ``epsilon`` the input is first moved against the gradient
of the mean NLL (Blum et al. 2021, Table 9).
Source: Blum et al. 2021, section 4.2, eq. 6 to 8, B.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from faultscape.maps.winners import enlarged
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.fixed_flow import FixedFlow
from faultscape.uncertainty.methods.flow import RealNVP
from faultscape.uncertainty.methods.flow_fit import TrainedFlow


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
