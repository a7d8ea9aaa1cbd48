"""The method resynthesis: an image is painted again from the labels that the network gave it; where a
second network sees that the two differ, something is not what its label says.

Conventions: the image is that which the network sees (`catalogue.IMAGE`), standardised, at about 256 x 128
pixels and its own proportions; labels are places of the study's class list. Both networks learn at once, from
training images beside labels of which some instances were swapped (`swapped_labels`): the generator paints
what is labelled truly, as near to the image as it can; the discrepancy network finds the swapped instances,
and teaches the generator nothing. No unknown object is needed. The score is the log-odds of a discrepancy.
Source: Lis et al. 2019, "Detecting the Unexpected via Image Resynthesis". They train the generator first,
with an adversary (pix2pixHD); the loss here is the absolute difference of pixels and of means over 4 x 4,
because an adversary needs more time than the network itself. Sizes, weights (all 1) and that both learn at
once are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, interpolate, one_hot

from faultscape.errors import MetricError, ModelError
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.block_fit import KNOWN, BlockMethod, BlockPlan, at_size, train_block
from faultscape.uncertainty.methods.evidence.discrepancy import Discrepancy
from faultscape.uncertainty.methods.evidence.fusion import odds_loss
from faultscape.uncertainty.methods.evidence.generator import COARSEST, Generator
from faultscape.uncertainty.methods.evidence.swapped_labels import Shown, Swapped

PIXELS = 256 * 128
_MEANS = 4  # side of the squares whose means are compared


def sides_of(shown: Sequence[int]) -> tuple[int, int]:
    """Return the sides (h, w) at which an image of ``shown`` (height, width) is painted.

    >>> sides_of((1024, 2048)), sides_of((720, 960)), sides_of((24, 32))
    ((128, 256), (160, 208), (32, 32))
    """
    scale = min(1.0, math.sqrt(PIXELS / (shown[0] * shown[1])))
    tall, wide = (max(1, round(side * scale / COARSEST)) * COARSEST for side in shown[:2])
    return tall, wide


def shrunk(image: Tensor, sides: tuple[int, int]) -> Tensor:
    """Return images (N, 3, H, W) at sides (h, w), smoothed where they become smaller."""
    return interpolate(image, size=sides, mode="bilinear", antialias=True, align_corners=False)


def small_image(block: np.ndarray) -> Tensor:
    """Return a prepared image (3, H, W) at the sides at which it is painted, float16."""
    image = torch.from_numpy(np.ascontiguousarray(block, np.float32))[None]
    return shrunk(image, sides_of(block.shape[1:]))[0].half()


def shares_of(labels: Tensor, classes: int) -> Tensor:
    """Return labels (N, h, w), -1 for none, as shares (N, C, h, w).

    >>> shares_of(torch.tensor([[[1, -1]]]), 2).squeeze().tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    return one_hot(labels.long() + 1, classes + 1)[..., 1:].movedim(3, 1).float()


def painting_loss(made: Tensor, image: Tensor, kept: Tensor, count: int) -> Tensor:
    """Return how far painted images (N, 3, h, w) are from images, on cells that are ``kept`` (N, h, w), in a
    batch with a ``count`` of them: the absolute difference, and that of means over 4 x 4 cells.

    >>> one = torch.ones(1, 3, 4, 4)
    >>> float(painting_loss(one, 0 * one, torch.ones(1, 4, 4), 16))
    2.0
    """
    apart = (made - image) * kept[:, None]
    means = avg_pool2d(apart, _MEANS) * _MEANS**2
    return (apart.abs().mean(1).sum() + means.abs().mean(1).sum()) / count


class ResynthesisBlock(nn.Module):
    """The generator and the discrepancy network for labels of some ``classes``."""

    mean: Tensor
    deviation: Tensor
    channels: Tensor

    def __init__(self, channels: Tensor, classes: int, width: int, seed: int = 0) -> None:
        super().__init__()
        self.classes = classes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.generator = Generator(classes, width)
            self.discrepancy = Discrepancy(classes, width)
        self.register_buffer("channels", channels.clone())  # the class of each channel of the network
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("deviation", torch.ones(3))

    def measure(self, moments: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Take the means and deviations (3,) of images; those of labels mean nothing."""
        mean, deviation = moments[0]
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)

    def standard(self, image: Tensor) -> Tensor:
        """Return images (N, 3, h, w) with channels of mean 0 and deviation 1."""
        return (image - self.mean[:, None, None]) / self.deviation[:, None, None]

    def forward(self, image: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the painted images (N, 3, h, w), standardised, and the log-odds (N, h, w) that images are
        not what their labels (N, h, w) say.
        """
        shares = shares_of(labels, self.classes)
        made = self.generator(shares)
        return made, self.discrepancy(self.standard(image), made.detach(), shares)

    def loss(
        self, features: Sequence[Tensor], logits: Tensor, labels: Tensor, known: int, negative: int
    ) -> Tensor:
        """Return the loss of images, the only ``features``, beside swapped labels (N, 1, h, w), which stand
        in the place of logits; negative cells are those that were swapped.
        """
        (image,) = features
        made, odds = self(image, logits[:, 0])
        painted = painting_loss(made, self.standard(image), (labels == KNOWN).float(), known)
        return painted + odds_loss(odds, labels, known, negative)


class Resynthesis(BlockMethod):
    """A trained generator and discrepancy network."""

    def __init__(
        self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]
    ) -> None:
        classes = tensors["generator.start.weight"].shape[1]
        self.block = ResynthesisBlock(tensors["channels"], classes, int(options["width"]))
        super().__init__(layers, self.block, tensors)

    @classmethod
    def train(
        cls,
        layers: Sequence[str],
        options: Mapping[str, Value],
        shown: Shown,
        plan: BlockPlan,
        folder: Path | None = None,
        key: str = "",
        device: str = "cpu",
        tick: Callable[[int], None] = lambda _: None,
        *,
        channels: np.ndarray,
        classes: int,
    ) -> tuple[Resynthesis, dict[str, float]]:
        """Return the method with both networks trained on images with their labels, and its last loss.
        ``channels`` are the classes of the network's channels, -1 for none.
        """
        known = np.unique(channels[channels >= 0])
        if len(known) < 2:
            raise MetricError("resynthesis needs a network of two classes or more, to swap them")
        block = ResynthesisBlock(torch.from_numpy(channels), classes, int(options["width"]), plan.seed)
        examples = Swapped(shown, known.tolist(), plan.seed)
        loss = train_block(block, examples, plan, folder, key, device, tick)
        return cls(layers, options, block.state_dict()), {"loss": loss}

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the log-odds (N, 1, h, w) of the image, the only one of ``features``, beside the labels of
        the logits. ModelError if it learnt from another number of channels.
        """
        (image,) = features
        labels = self._labels(image, logits)
        return (self.block(shrunk(image.float(), sides_of(image.shape[2:])), labels)[1][:, None],)

    def painted(self, image: Tensor, logits: Tensor) -> Tensor:
        """Return what is painted (N, 3, h, w) from the labels of the logits of images (N, 3, H, W)."""
        made = self.block.generator(shares_of(self._labels(image, logits), self.block.classes))
        return made * self.block.deviation[:, None, None] + self.block.mean[:, None, None]

    def _labels(self, image: Tensor, logits: Tensor) -> Tensor:
        """Return the labels (N, h, w) of the logits at the size of painting."""
        channels = self.block.channels
        if logits.shape[1] != len(channels):
            raise ModelError(
                f"its method resynthesis learnt to paint from {len(channels)} channels, and the network gives"
                f" {logits.shape[1]}; fit it again"
            )
        self.block.to(logits.device)
        sides = sides_of(image.shape[2:])
        return self.block.channels[at_size(logits.float(), sides).argmax(1)]
