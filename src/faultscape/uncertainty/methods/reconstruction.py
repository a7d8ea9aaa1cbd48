"""The method reconstruction: a small decoder makes the features of a fine layer of a frozen network from
those of a coarse one; where it fails, the image shows something that it did not learn. The score couples this
error with the logits.

Conventions: of two layers, the coarse one comes first. Features of both are standardised by channel. The
decoder has a bottleneck of ``width`` channels at the coarse grid. The error of a cell is (1 - SSIM) / 2 over
windows of 5 x 5 cells at the fine grid, the mean over channels: 0 where the structure is the same, 1 where it
is opposite. SSIM is the mean of its two terms, of means and of deviations, instead of their product, since
features have signs: the product takes the opposite for the same. With negatives, two convolutions couple the
error with the standardised logits, and the score is the logit of an unknown object; without, it is the sum of
the error and of the energy, each standardised over the known cells of the training images.
Source: Vojir et al. 2021 (JSRNet): a frozen network, a decoder without a generator, the error low on what is
known and high elsewhere, and a coupling with the network's logits learnt together with it. The paper
reconstructs the image of one class, road, against everything else; here features of all known classes are
reconstructed, since a network for many classes keeps little of the image's colours in its coarse layers. The
sum for training without negatives, the shapes and the equal weights of the losses are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, softplus

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
from faultscape.uncertainty.methods.residual import energy_of

WINDOW = 5  # cells
_RANGE = 6.0  # of standardised features: three deviations to either side
_C1, _C2 = (0.01 * _RANGE) ** 2, (0.03 * _RANGE) ** 2  # as in Wang et al. 2004
_COUPLED = 16  # channels of the coupling


def error_of(made: Tensor, given: Tensor) -> Tensor:
    """Return the error (N, h, w) of features made for the given ones (N, D, h, w): (1 - SSIM) / 2 over
    windows of 5 x 5 cells (fewer at the border), the mean over channels.

    >>> given = torch.randn(1, 2, 6, 6, generator=torch.Generator().manual_seed(0))
    >>> float(error_of(given, given).amax()) < 1e-6, float(error_of(-given, given).mean()) > 0.8
    (True, True)
    """
    m, g = _local(made), _local(given)
    spread = _local(made * made) - m * m + _local(given * given) - g * g
    together = _local(made * given) - m * g
    of_means = (2 * m * g + _C1) / (m * m + g * g + _C1)
    of_deviations = (2 * together + _C2) / (spread + _C2)
    return (2 - (of_means + of_deviations).mean(1)) / 4


def _local(values: Tensor) -> Tensor:
    """Return the mean over the window of each cell, rows first: two passes of 5 cost less than one of 25."""
    down = avg_pool2d(values, (WINDOW, 1), 1, (WINDOW // 2, 0), count_include_pad=False)
    return avg_pool2d(down, (1, WINDOW), 1, (0, WINDOW // 2), count_include_pad=False)


def reconstruction_loss(
    error: Tensor, coupled: Tensor | None, labels: Tensor, known: int, negative: int
) -> Tensor:
    """Return the loss of errors and coupled scores (N, h, w), and the labels (N, h, w) of their cells, in a
    batch with so many ``known`` and ``negative`` cells: the mean error on known cells, the mean of 1 - error
    on negative ones, and the mean cross-entropy of the coupled scores over all of these. Without ``coupled``
    scores only the error on known cells counts.

    >>> zero = torch.zeros(1, 1, 2)
    >>> round(float(reconstruction_loss(zero, zero, torch.tensor([[[0, 1]]]), 1, 1)), 4)  # 1 + log 2
    1.6931
    """
    on_known, on_negative = labels == KNOWN, labels == NEGATIVE
    total = error[on_known].sum() / known
    if coupled is None:
        return total
    total = total + (1 - error)[on_negative].sum() / negative
    entropy = softplus(coupled)[on_known].sum() + softplus(-coupled)[on_negative].sum()
    return total + entropy / (known + negative)


class ReconstructionBlock(nn.Module):
    """A decoder from a coarse layer to a fine one of these ``widths``, and its coupling with the logits of C
    ``classes``, if negatives teach it.
    """

    moments: Tensor
    mean: Tensor
    deviation: Tensor

    def __init__(
        self, widths: Sequence[int], classes: int, width: int, *, coupled: bool, seed: int = 0
    ) -> None:
        super().__init__()
        coarse, fine = widths
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.enter = Entrance(coarse, width)
            self.inner = nn.Conv2d(width, width, 3, padding=1)
            self.outer = nn.Conv2d(width, width, 3, padding=1)
            self.leave = nn.Conv2d(width, fine, 1)
            self.of_logits = Entrance(classes, _COUPLED) if coupled else None
            self.of_error = nn.Conv2d(1, _COUPLED, 3, padding=1) if coupled else None
            self.join = nn.Conv2d(_COUPLED, 1, 3, padding=1) if coupled else None
        self.register_buffer("mean", torch.zeros(fine))
        self.register_buffer("deviation", torch.ones(fine))
        # of error and energy over known cells: means and deviations
        self.register_buffer("moments", torch.tensor([[0.0, 1.0], [0.0, 1.0]]))

    def measure(self, moments: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Take the means and deviations (D,) of the channels of both layers, and of the logits."""
        coarse, (mean, deviation), logits = moments
        self.enter.measure(*coarse)
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)
        if self.of_logits is not None:
            self.of_logits.measure(*logits)

    def error(self, features: Sequence[Tensor], logits: Tensor) -> Tensor:
        """Return the error (N, h, w) at the size of the logits."""
        coarse, fine = features
        given = (fine - self.mean[:, None, None]) / self.deviation[:, None, None]
        inner = self.inner(self.enter(coarse).relu()).relu()
        made = self.leave(self.outer(at_size(inner, given.shape[2:])).relu())
        return at_size(error_of(made, given)[:, None], logits.shape[2:])[:, 0]

    def coupled(self, error: Tensor, logits: Tensor) -> Tensor | None:
        """Return the score (N, h, w) that couples an error with the logits; None without negatives."""
        if self.of_logits is None or self.of_error is None or self.join is None:
            return None
        return self.join((self.of_logits(logits) + self.of_error(error[:, None])).relu())[:, 0]

    def forward(self, features: Sequence[Tensor], logits: Tensor) -> Tensor:
        """Return the score (N, h, w)."""
        error = self.error(features, logits)
        coupled = self.coupled(error, logits)
        if coupled is not None:
            return coupled
        means, deviations = self.moments.unbind(1)
        return (error - means[0]) / deviations[0] + (energy_of(logits) - means[1]) / deviations[1]

    def loss(
        self, features: Sequence[Tensor], logits: Tensor, labels: Tensor, known: int, negative: int
    ) -> Tensor:
        """Return `reconstruction_loss` of the errors and coupled scores."""
        error = self.error(features, logits)
        return reconstruction_loss(error, self.coupled(error, logits), labels, known, negative)


class Reconstruction(BlockMethod):
    """A trained decoder with its coupling, and the two layers that it taps."""

    def __init__(
        self, layers: Sequence[str], options: Mapping[str, Value], tensors: Mapping[str, Tensor]
    ) -> None:
        coupled = "join.weight" in tensors
        widths = tensors["enter.weight"].shape[1], len(tensors["mean"])
        classes = tensors["of_logits.weight"].shape[1] if coupled else 0
        self.block = ReconstructionBlock(widths, classes, int(options["width"]), coupled=coupled)
        super().__init__(layers, self.block, tensors)

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
        *,
        negatives: bool = True,
    ) -> tuple[Reconstruction, dict[str, float]]:
        """Return the method with a decoder trained on examples, coupled if ``negatives`` are among them, and
        its last loss.
        """
        widths, classes = shape_of(examples)
        block = ReconstructionBlock(widths, classes, int(options["width"]), coupled=negatives, seed=plan.seed)
        loss = train_block(block, examples, plan, folder, key, device, tick, negatives=negatives)
        if not negatives:
            block.moments.copy_(_moments(block, examples))
        return cls(layers, options, block.state_dict()), {"loss": loss}

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the score (N, 1, h, w) on the grid of the logits."""
        self.block.to(logits.device)
        return (self.block([grid.float() for grid in features], logits.float())[:, None],)


@torch.no_grad()
def _moments(block: ReconstructionBlock, examples: Examples) -> Tensor:
    """Return the means and deviations (2, 2) of error and energy over the known cells of some images."""
    rows = []
    for number in range(min(len(examples), 64)):
        for part in examples(number):
            features, logits, labels = part.shown("cpu")
            both = torch.stack([block.error(features, logits), energy_of(logits)])
            rows.append(both[:, labels == KNOWN].double())
    values = torch.cat(rows, 1)
    deviations = values.std(1, correction=0).clamp_min(1e-6)
    return torch.stack([values.mean(1), deviations], 1).float()
