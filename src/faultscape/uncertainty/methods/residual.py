"""The method residual: a small block beside a frozen network that learns to move its logits where unknown
objects lie, and nowhere else; the score is the energy of the moved logits.

Conventions: the block sees the image as the network sees it, through two convolutions that bring it to 1/4
of its sides, grids of layers (N, D, h, w) and the logits, all standardised. Each is brought to ``width``
channels and the size of the logits; their sum goes through three convolutions of 3 x 3, of dilation 1, 2 and
4, to a shift of each logit, which is 0 before training. The network's own labels are never touched: moved
logits are used for the score alone.
Source: Liu et al. 2023, "Residual Pattern Learning": a frozen network, a residual block that is trained with
pasted objects, and an objective of two parts that do not mix: known pixels keep the network's answer, unknown
ones get a positive energy. Left out is the contrast of contexts, which needs a second data set. The paper
moves features before the last layer; here logits are moved, which needs no knowledge of the network. The
shape of the block, the look at the image (a network forgets what it need not know, and with it AP on
validation objects rose from .31 to .47), the logistic form of the energy's part and the weights are ours:
every cell counts alike, which found more objects than means over the cells of each kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.block_fit import (
    KNOWN,
    NEGATIVE,
    BlockMethod,
    BlockPlan,
    Entrance,
    Examples,
    at_size,
    shape_of,
    train_block,
)
from faultscape.uncertainty.methods.catalogue import IMAGE

_DILATIONS = (1, 2, 4)
_FINE = 16  # channels at 1/2 of the image's sides


def energy_of(logits: Tensor) -> Tensor:
    """Return the energy (N, h, w) of logits (N, C, h, w), -log sum exp.

    >>> round(float(energy_of(torch.zeros(1, 2, 1, 1))), 4)
    -0.6931
    """
    return -torch.logsumexp(logits, 1)


def residual_loss(moved: Tensor, frozen: Tensor, labels: Tensor, known: int, negative: int) -> Tensor:
    """Return the loss of moved logits (N, C, h, w) beside those of the frozen network, and the labels (N, h,
    w) of their cells, in a batch with so many ``known`` and ``negative`` cells.

    On known cells, the divergence of the moved probabilities from the frozen ones and a low energy, log(1 +
    exp E); on negative cells, the divergence from even probabilities and a high energy, log(1 + exp -E). It
    is the mean over all these cells.

    >>> logits = torch.zeros(1, 2, 1, 2)
    >>> made = residual_loss(logits, logits, torch.tensor([[[0, 1]]]), 1, 1)
    >>> round(float(made), 4)  # (log(1 + 1 / 2) + log(1 + 2)) / 2
    0.752
    """
    energy = energy_of(moved)
    log_shares = moved.log_softmax(1)
    own = frozen.log_softmax(1)
    kept = (own.exp() * (own - log_shares)).sum(1)
    even = -log_shares.mean(1) - math.log(moved.shape[1])
    of_known = (kept + softplus(energy))[labels == KNOWN].sum()
    return (of_known + (even + softplus(-energy))[labels == NEGATIVE].sum()) / (known + negative)


class Look(nn.Module):
    """What the block sees of the standardised image: two convolutions, each to half the sides."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("deviation", torch.ones(3))
        self.fine = nn.Conv2d(3, _FINE, 5, stride=2, padding=2)
        self.coarse = nn.Conv2d(_FINE, width, 3, stride=2, padding=1)

    def measure(self, mean: Tensor, deviation: Tensor) -> None:
        """Take the mean and the deviation (3,) of the channels."""
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)

    def forward(self, image: Tensor) -> Tensor:
        """Return a grid (N, width, H / 4, W / 4) of images (N, 3, H, W)."""
        standardised = (image - self.mean[:, None, None]) / self.deviation[:, None, None]
        return self.coarse(self.fine(standardised).relu())


class ResidualBlock(nn.Module):
    """The shift of the logits of C ``classes`` from the image, from layers with these ``widths`` and from the
    logits themselves, through ``width`` channels.
    """

    def __init__(self, widths: Sequence[int], classes: int, width: int, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.look = Look(width)
            self._entrances = [Entrance(wide, width) for wide in (*widths, classes)]
            self.enter = nn.ModuleList(self._entrances)
            mixed = [nn.Conv2d(width, width, 3, padding=wide, dilation=wide) for wide in _DILATIONS]
            self.mix = nn.Sequential(*(part for conv in mixed for part in (nn.ReLU(), conv)), nn.ReLU())
            self.leave = nn.Conv2d(width, classes, 1)
        for value in self.leave.parameters():
            nn.init.zeros_(value)

    def measure(self, moments: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Let the first layers standardise what they see, by the means and deviations (D,) of channels."""
        for layer, (mean, deviation) in zip((self.look, *self._entrances), moments, strict=True):
            layer.measure(mean, deviation)

    def forward(self, features: Sequence[Tensor], logits: Tensor) -> Tensor:
        """Return the moved logits (N, C, h, w); ``features`` are the images (N, 3, H, W) and the grids of the
        layers.
        """
        sides = logits.shape[2:]
        image, *seen = features
        grids = [layer(grid) for layer, grid in zip(self.enter, (*seen, logits), strict=True)]
        return logits + self.leave(self.mix(sum(at_size(grid, sides) for grid in (self.look(image), *grids))))

    def loss(
        self, features: Sequence[Tensor], logits: Tensor, labels: Tensor, known: int, negative: int
    ) -> Tensor:
        """Return `residual_loss` of the moved logits."""
        return residual_loss(self(features, logits), logits, labels, known, negative)


class ResidualPattern(BlockMethod):
    """A trained block, and the layers that it taps."""

    def __init__(
        self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]
    ) -> None:
        widths = [tensors[f"enter.{number}.weight"].shape[1] for number in range(len(layers) + 1)]
        self.block = ResidualBlock(widths[:-1], widths[-1], int(options["width"]))
        super().__init__((IMAGE, *layers), self.block, tensors)

    @classmethod
    def train(
        cls,
        layers: Sequence[str],
        options: Mapping[str, Value],
        examples: Examples,
        plan: BlockPlan,
        folder: Path | None = None,
        key: str = "",
        device: str = "cpu",
        tick: Callable[[int], None] = lambda _: None,
    ) -> tuple[ResidualPattern, dict[str, float]]:
        """Return the method with a block trained on examples, whose first layer is the image, and its last
        loss.
        """
        (_, *widths), classes = shape_of(examples)
        block = ResidualBlock(widths, classes, int(options["width"]), plan.seed)
        loss = train_block(block, examples, plan, folder, key, device, tick)
        return cls(layers, options, block.state_dict()), {"loss": loss}

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the energy (N, 1, h, w) of the moved logits."""
        self.block.to(logits.device)
        return (energy_of(self.block([grid.float() for grid in features], logits.float()))[:, None],)
