"""The methods neco and energy-neco: how much of a feature lies in the principal space of training features,
and how high the network's logits are there.

Conventions: features are centred by the mean of training features. Their principal space has as few axes as
hold 90 % of the variance, and fewer than there are features. The share is |P (f - m)| / |f - m|, computed on
the grid of the layer and resized bilinearly; logits are used at the size of the labels. neco multiplies the
largest logit by the share. energy-neco adds up the energy and minus the share, each less its mean over
training features (or logits), in their standard deviations. Ours: the 90 %, since the paper sets the number
of axes for each network, and equal weights with statistics of training images, since the second paper weighs
the two by hand with statistics of a validation set.
Source: Ben Ammar et al. 2024, eq. 6 and the product with the largest logit; Zhang et al. 2026 (energy-neco).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import torch
from torch import Tensor

from faultscape.maps.winners import enlarged
from faultscape.metrics.pixel_facts import facts_of
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.embeddings import Embeddings

_VARIANCE = 0.9  # of training features within their principal space
_LEAST = 1e-12


def principal_axes(features: Tensor, variance: float = _VARIANCE) -> tuple[Tensor, Tensor]:
    """Return the mean (D,) of features (n, D), and as few of their principal axes (D, d) as hold this share
    of the variance, at most D - 1.

    >>> principal_axes(torch.tensor([[3.0, 0.0], [-3.0, 0.0], [0.0, 0.1], [0.0, -0.1]]))[1].abs().round()
    tensor([[1.],
            [0.]])
    """
    wide = features.double()
    mean = wide.mean(0)
    values, axes = torch.linalg.eigh((wide - mean).T @ (wide - mean) / len(wide))
    held = values.flip(0).clamp_min(0).cumsum(0)
    count = int((held < variance * held[-1]).sum()) + 1
    return mean.float(), axes.flip(1)[:, : max(1, min(count, len(axes) - 1))].float().contiguous()


def principal_share(features: Tensor, mean: Tensor, axes: Tensor) -> Tensor:
    """Return the share (n,) of the norm of centred features (n, D) that lies along axes (D, d).

    >>> principal_share(torch.tensor([[4.0, 3.0]]), torch.zeros(2), torch.tensor([[1.0], [0.0]]))
    tensor([0.8000])
    """
    centred = features - mean
    return (centred @ axes).norm(dim=1) / centred.norm(dim=1).clamp_min(_LEAST)


class Neco:
    """The mean (D,) of training features, and their principal axes (D, d)."""

    epsilon = 0.0

    def __init__(
        self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]
    ) -> None:
        del options
        self.layers = tuple(layers)
        self.mean = tensors["mean"]
        self.axes = tensors["axes"]

    @classmethod
    def fit(
        cls,
        layers: Sequence[str],
        samples: Sequence[Embeddings],
        options: Mapping[str, Value],
        channels: np.ndarray,
    ) -> Self:
        """Return the method with the principal space of these training features; logits follow them."""
        del channels
        mean, axes = principal_axes(samples[0].values)
        return cls(layers, options, {"mean": mean, "axes": axes})

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the share (N, 1, h, w) on the grid of the layer, and the logits."""
        grid = features[0]
        rows = grid.permute(0, 2, 3, 1).reshape(-1, grid.shape[1]).float()
        share = principal_share(rows, self.mean.to(rows), self.axes.to(rows))
        return share.reshape(len(grid), 1, *grid.shape[2:]), logits

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score at a size."""
        facts = facts_of(values[1], size)
        assert facts.top is not None
        assert facts.log_sum is not None
        return self.joined(enlarged(values[0], size)[0], facts.top, facts.log_sum)

    def joined(self, share: np.ndarray, top: np.ndarray, log_sum: np.ndarray) -> np.ndarray:
        """Return the score (H, W) of shares (H, W), the largest logits and log sum exp of all."""
        del log_sum
        return -share * np.asarray(top)

    def tensors(self) -> dict[str, Tensor]:
        """Return the principal space."""
        return {"mean": self.mean, "axes": self.axes}


class EnergyNeco(Neco):
    """The same, with the mean and the standard deviation of the energy and of minus the share over training
    images, (2,) each.
    """

    def __init__(
        self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]
    ) -> None:
        super().__init__(layers, options, tensors)
        self.centre = tensors["centre"]
        self.deviation = tensors["deviation"]

    @classmethod
    def fit(
        cls,
        layers: Sequence[str],
        samples: Sequence[Embeddings],
        options: Mapping[str, Value],
        channels: np.ndarray,
    ) -> Self:
        """Return the method with the statistics of these training features, and of the logits after them."""
        plain = Neco.fit(layers, samples, options, channels)
        share = principal_share(samples[0].values, plain.mean, plain.axes)
        parts = [-samples[1].values.double().logsumexp(1), -share.double()]
        centre = torch.stack([part.mean() for part in parts]).float()
        deviation = torch.stack([part.std(correction=0) for part in parts]).clamp_min(1e-6).float()
        return cls(layers, options, {**plain.tensors(), "centre": centre, "deviation": deviation})

    def joined(self, share: np.ndarray, top: np.ndarray, log_sum: np.ndarray) -> np.ndarray:
        """Return the sum of both parts, each in its standard deviations."""
        del top
        centre = self.centre.numpy()
        deviation = self.deviation.numpy()
        return (-np.asarray(log_sum) - centre[0]) / deviation[0] + (-share - centre[1]) / deviation[1]

    def tensors(self) -> dict[str, Tensor]:
        """Return the principal space and the statistics."""
        return {**super().tensors(), "centre": self.centre, "deviation": self.deviation}
