"""The method standardised-max-logit: how far the largest logit is below its mean for the predicted class.

Conventions: for each channel, the mean and the standard deviation of its logit where it is the largest, over
training images; a channel that is the largest in fewer than 100 sampled pixels uses those of all pixels. The
score is -(max z - mean) / deviation of the predicted channel, computed at the size of the labels. The paper's
smoothing and boundary treatment are left out.
Source: Jung et al. 2021, eq. 3 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from faultscape.maps.winners import labels
from faultscape.metrics.pixel_facts import facts_of
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.embeddings import Embeddings

_ENOUGH = 100  # pixels of a class needed for its own statistics


class StandardisedMaxLogit:
    """The mean and the standard deviation of the largest logit by channel, (C,) each."""

    epsilon = 0.0

    def __init__(
        self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]
    ) -> None:
        del layers, options
        self.layers: tuple[str, ...] = ()
        self.mean = tensors["mean"]
        self.deviation = tensors["deviation"]

    @classmethod
    def fit(
        cls,
        layers: Sequence[str],
        samples: Sequence[Embeddings],
        options: Mapping[str, Value],
        channels: np.ndarray,
    ) -> StandardisedMaxLogit:
        """Return the method with the statistics of these logits, a sample of pixels of training images."""
        del channels
        top, place = samples[0].values.double().max(1)
        count = samples[0].values.shape[1]
        mean = top.mean().repeat(count)
        deviation = top.std(correction=0).repeat(count)
        for channel in range(count):
            own = top[place == channel]
            if len(own) >= _ENOUGH and own.std(correction=0) > 0:
                mean[channel], deviation[channel] = own.mean(), own.std(correction=0)
        return cls(layers, options, {"mean": mean.float(), "deviation": deviation.clamp_min(1e-6).float()})

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the logits."""
        del features
        return (logits,)

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score at a size."""
        channel = labels(values[0], size)
        top = facts_of(values[0], size).top
        if channel is None or top is None:  # NaN among the logits
            return np.full(size[::-1], np.nan, np.float32)
        return (self.mean.numpy()[channel] - np.asarray(top)) / self.deviation.numpy()[channel]

    def tensors(self) -> dict[str, Tensor]:
        """Return the statistics."""
        return {"mean": self.mean, "deviation": self.deviation}
