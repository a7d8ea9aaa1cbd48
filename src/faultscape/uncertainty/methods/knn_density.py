"""The methods knn and knn-class: the density of a feature among those of training images, and the share of it
that has the predicted class.

Conventions: see `neighbours`. The prediction is reduced to the grid of the layer by the mean probabilities of
each place's patch. For knn-class, a neighbour has all classes of its patch.
Source: Blum et al. 2021, section 4.1, eq. 4 and 5, B.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from faultscape.errors import MetricError, OptionError
from faultscape.maps.winners import enlarged
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.embeddings import Embeddings
from faultscape.uncertainty.methods.neighbours import Neighbours, class_score, density_score


class KnnDensity:
    """Training features of one layer, of length 1."""

    epsilon = 0.0
    by_class = False

    def __init__(
        self,
        layers: Sequence[str],
        options: Mapping[str, Value],
        tensors: Mapping[str, Tensor],
        neighbours: Neighbours | None = None,
    ) -> None:
        self.layers = tuple(layers)
        self.k, self.printed = int(options["k"]), bool(options["printed"])
        self.neighbours = neighbours or Neighbours(tensors["keys"])
        self.classes, self.channels = (
            (tensors["classes"], tensors["channels"]) if self.by_class else (None, None)
        )
        if self.k > len(self.neighbours.keys):
            raise MetricError(
                f"k is {self.k}, and there are {len(self.neighbours.keys)} training embeddings; lower k, or"
                " keep more"
            )

    @classmethod
    def fit(
        cls,
        layers: Sequence[str],
        samples: Sequence[Embeddings],
        options: Mapping[str, Value],
        channels: np.ndarray,
    ) -> KnnDensity:
        """Return the method with these training features; ``channels`` (C,) is the class of each channel of
        the network, -1 for none.
        """
        tensors = dict[str, Tensor]()
        if cls.by_class:
            tensors = {"classes": samples[0].classes, "channels": torch.from_numpy(channels)}
            if len(samples[0].classes[0]) < 2:
                raise OptionError("knn-class needs at least two classes")
        return cls(layers, options, tensors, samples[0].neighbours)

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the score (N, 1, h, w) on the grid of the layer."""
        grid = features[0]
        cosines, places = self.neighbours.of(grid, self.k)
        if self.classes is None or self.channels is None:
            score = density_score(cosines, printed=self.printed)
        else:
            shares = torch.nn.functional.adaptive_avg_pool2d(
                logits.float().softmax(1), (grid.shape[2], grid.shape[3])
            )
            said = self.channels.to(shares.device)[shares.argmax(1)].reshape(-1, 1)
            own = self.classes.to(shares.device)[places, said.clamp_min(0)] & (said >= 0)
            score = class_score(cosines, own, printed=self.printed)
        return (score.reshape(len(grid), 1, *grid.shape[2:]),)

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score resized bilinearly: Blum et al. 2021 up-sample the density."""
        return np.array(enlarged(values[0], size)[0])

    def tensors(self) -> dict[str, Tensor]:
        """Return the training features and their classes."""
        held = {"keys": self.neighbours.keys, "classes": self.classes, "channels": self.channels}
        return {name: value for name, value in held.items() if value is not None}


class KnnClassDensity(KnnDensity):
    """`KnnDensity` with the classes (m, K) of the patches of training features and the class of
    each channel.
    """

    by_class = True


def share_neighbours(methods: Iterable[object]) -> None:
    """Let methods of one layer with the same training features share one search per grid, with the
    largest k.
    """
    found = [method for method in methods if isinstance(method, KnnDensity)]
    for method in found:
        method.neighbours.most = 0
    for number, method in enumerate(found):
        for other in found[:number]:
            mine = method.neighbours
            theirs = other.neighbours
            if method.layers == other.layers and (mine is theirs or torch.equal(mine.keys, theirs.keys)):
                method.neighbours, theirs.most = theirs, max(theirs.most, other.k, method.k)
                break


def forget_neighbours(methods: Iterable[object]) -> None:
    """Discard the methods' results for the last grid."""
    for method in methods:
        if isinstance(method, KnnDensity):
            method.neighbours.forget()
