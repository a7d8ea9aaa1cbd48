"""The method perceptual: how far features of an image are from those of the image that a fitted resynthesis
paints from its labels, both as the frozen network itself sees them.

Conventions: features of the image are those of the pass that gives its labels; what is painted is shown to
the network at the size of painting, about 256 x 128 pixels, and its features are enlarged bilinearly. Each
channel has mean 0 and deviation 1 over both. The difference at a place is the mean absolute difference of a
layer's channels, enlarged to the grid of the logits and summed over layers. Nothing is learnt but the
resynthesis.
Source: Di Biase et al. 2021, "Pixel-wise Anomaly Detection in Complex Driving Scenes" (SynBoost), perceptual
difference. They take the features of a VGG network trained on ImageNet and do not normalise them; here they
are those of the segmentation, since no weights can be shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from faultscape.maps.winners import enlarged
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.block_fit import at_size
from faultscape.uncertainty.methods.catalogue import IMAGE
from faultscape.uncertainty.methods.evidence.resynthesis import Resynthesis
from faultscape.uncertainty.methods.method import Fitted

_LEAST = 1e-6  # of a deviation


def perceptual_difference(image: Sequence[Tensor], painted: Sequence[Tensor], sides: Sequence[int]) -> Tensor:
    """Return the difference (N, h, w), at sides (h, w), of the features (N, D, ., .) of each layer.

    >>> one, other = torch.tensor([0.0, 6.0]).view(1, 1, 1, 2), torch.tensor([6.0, 0.0]).view(1, 1, 1, 2)
    >>> perceptual_difference([one], [other], (1, 2)).tolist()  # of deviation 3
    [[[2.0, 2.0]]]
    """
    apart = [_apart(a.float(), at_size(b.float(), a.shape[2:])) for a, b in zip(image, painted, strict=True)]
    return torch.stack([at_size(grid, sides) for grid in apart]).sum(0)[:, 0]


def _apart(image: Tensor, painted: Tensor) -> Tensor:
    """Return the mean absolute difference (N, 1, h, w) of channels of deviation 1 over both; their mean
    cancels out.
    """
    deviation = torch.cat([image, painted], 3).std((2, 3), correction=0, keepdim=True)
    return ((image - painted) / deviation.clamp_min(_LEAST)).abs().mean(1, keepdim=True)


class Perceptual:
    """A fitted resynthesis, its only part, and the layers whose features are compared."""

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
        self.layers = (IMAGE, *layers)
        self.again = tuple(layers)
        self.show: Callable[[Tensor], Sequence[Tensor]] | None = None

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the difference (N, 1, h, w), at the grid of the logits, of the image, the first of
        ``features``, and its features.
        """
        assert self.show is not None  # prediction.doubt_methods.show_again
        image, *seen = features
        painted = self.show(self.painter.painted(image, logits))
        return (perceptual_difference(seen, painted, logits.shape[2:])[:, None],)

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score resized bilinearly."""
        return np.array(enlarged(values[0], size)[0])

    def tensors(self) -> dict[str, Tensor]:
        """Return nothing: the resynthesis has a file of its own."""
        return {}
