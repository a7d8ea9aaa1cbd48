"""The method perceptual: how far features of an image are from those of the image that a fitted resynthesis
paints from its labels, both shown to the frozen network itself.

Conventions: both are shown small, at the size of painting, so that the same features are compared at the same
scale; this takes two forward passes at about 256 x 128 pixels. Features of each layer are normalised to
length 1 at each place. The difference at a place is the mean absolute difference of a layer's channels,
enlarged bilinearly to the grid of the logits and summed over layers. Nothing is learnt but the resynthesis.
Source: Di Biase et al. 2021, "Pixel-wise Anomaly Detection in Complex Driving Scenes" (SynBoost), perceptual
difference. They take the features of a VGG network trained on ImageNet and do not normalise them; here they
are those of the segmentation, since no weights can be shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
from torch import Tensor
from torch.nn.functional import normalize

from faultscape.maps.winners import enlarged
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.block_fit import at_size
from faultscape.uncertainty.methods.catalogue import IMAGE
from faultscape.uncertainty.methods.evidence.resynthesis import Resynthesis
from faultscape.uncertainty.methods.method import Fitted


def perceptual_difference(image: Sequence[Tensor], painted: Sequence[Tensor], sides: Sequence[int]) -> Tensor:
    """Return the difference (N, h, w), at sides (h, w), of the features (N, D, ., .) of each layer.

    >>> import torch
    >>> one, other = torch.tensor([3.0, 4.0]).view(1, 2, 1, 1), torch.tensor([1.0, 0.0]).view(1, 2, 1, 1)
    >>> round(float(perceptual_difference([one, one], [other, one], (1, 1))), 4)  # (.4 + .8) / 2 + 0
    0.6
    """
    apart = [
        at_size((normalize(a, dim=1) - normalize(b, dim=1)).abs().mean(1, keepdim=True), sides)
        for a, b in zip(image, painted, strict=True)
    ]
    return sum(apart[1:], apart[0])[:, 0]


class Perceptual:
    """A fitted resynthesis, its only part, and the layers ``again`` that compare what it paints."""

    layers = (IMAGE,)
    epsilon = 0.0

    def __init__(
        self,
        layers: Sequence[str],
        options: Mapping[str, Value],
        tensors: Mapping[str, Tensor],
        parts: Mapping[str, Fitted],
    ) -> None:
        del options, tensors
        (painter,) = parts.values()
        self.painter = cast("Resynthesis", painter)
        self.again = tuple(layers)
        self.show: Callable[[Tensor], Sequence[Tensor]] | None = None

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the difference (N, 1, h, w) of the image, the only one of ``features``, at the grid of the
        logits.
        """
        assert self.show is not None  # prediction.doubt_methods.show_again
        image, painted = map(self.show, self.painter.painted(features[0], logits))
        return (perceptual_difference(image, painted, logits.shape[2:])[:, None],)

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score resized bilinearly."""
        return np.array(enlarged(values[0], size)[0])

    def tensors(self) -> dict[str, Tensor]:
        """Return nothing: the resynthesis has a file of its own."""
        return {}
