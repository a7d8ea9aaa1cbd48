"""The method fusion: scores of a pixel, joined into one by weights that images with unknown objects taught,
and, on request, by a small network that sees the scores around it.

Conventions: a part is a scorer of logits (``entropy``, ``margin``, ...) or a method fitted to the same
network, named by the digest of its file (``residual@3fa2c1b2d4e5``). Scorers of a network's own outlier head
read it from the layer ``:outlier``. Parts are scored at the grid of the logits, standardised over the images
that teach, and joined there: sum w s + g(s). The network g, with ``spatial``, has three convolutions of 3 x
3, of dilation 1, 2 and 4, and is 0 before training. The score is the log-odds of an unknown object where
known and unknown cells are equally frequent. With ``equal_weights`` it is the mean of the parts instead,
each standardised over the known cells, and no unknown object teaches it: weights that are learnt trust a part
taught with such objects and nearly forget the others, which find what these objects are unlike.
Source: Di Biase et al. 2021, "Pixel-wise Anomaly Detection in Complex Driving Scenes" (SynBoost): softmax
entropy, softmax distance and perceptual difference join a dissimilarity network, as inputs and by weights
found afterwards. They also show the image, resynthesis and labels to the joining network; here only scores
are joined, so that each part is a method of its own and can be left out. Loss, standardisation and shape are
ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from faultscape.errors import MetricError
from faultscape.metrics.pixel_facts import facts_of
from faultscape.metrics.scorers import score_pixels, scorer_named
from faultscape.metrics.scores.trained_doubt import outlier_share
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.method_files import words_of
from faultscape.uncertainty.methods.block_fit import (
    KNOWN,
    NEGATIVE,
    BlockMethod,
    BlockPlan,
    Examples,
    Grids,
    shape_of,
    train_block,
)
from faultscape.uncertainty.methods.catalogue import OUTLIER_LOGIT
from faultscape.uncertainty.methods.method import Fitted

_DILATIONS = (1, 2, 4)
_MOST_BYTES = 1 << 30  # of scores kept while learning


def odds_loss(odds: Tensor, labels: Tensor, known: int, negative: int) -> Tensor:
    """Return the cross-entropy of log-odds (N, h, w) and the labels (N, h, w) of their cells, in a batch with
    so many ``known`` and ``negative`` cells: a mean over the cells of each kind.

    >>> round(float(odds_loss(torch.zeros(1, 1, 2), torch.tensor([[[0, 1]]]), 1, 1)), 4)  # 2 log 2
    1.3863
    """
    on_known = softplus(odds)[labels == KNOWN].sum() / known
    return on_known + softplus(-odds)[labels == NEGATIVE].sum() / negative


def _network(parts: int, width: int) -> nn.Sequential:
    wide = [parts, *[width] * (len(_DILATIONS) - 1)]
    convs = [
        nn.Conv2d(one, width, 3, padding=far, dilation=far) for one, far in zip(wide, _DILATIONS, strict=True)
    ]
    return nn.Sequential(*(layer for conv in convs for layer in (conv, nn.ReLU())))


class FusionBlock(nn.Module):
    """The join of the scores of some ``parts``: a weight for each, and, where ``width`` is above 0, a network
    of that many channels.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, parts: int, width: int, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.around = _network(parts, width) if width else None
            self.leave = nn.Conv2d(width, 1, 1) if width else None
        if self.leave is not None:
            for numbers in self.leave.parameters():
                nn.init.zeros_(numbers)
        self.weight = nn.Parameter(torch.full((parts,), 1 / parts))
        self.bias = nn.Parameter(torch.zeros(()))
        self.register_buffer("mean", torch.zeros(parts))
        self.register_buffer("deviation", torch.ones(parts))

    def measure(self, moments: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Take the means and deviations (P,) of the parts' scores."""
        ((mean, deviation),) = moments
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)

    def forward(self, scores: Tensor) -> Tensor:
        """Return the fused score (N, h, w) of scores (N, P, h, w)."""
        standard = (scores - self.mean[:, None, None]) / self.deviation[:, None, None]
        fused = (self.weight[:, None, None] * standard).sum(1) + self.bias
        if self.around is None or self.leave is None:
            return fused
        return fused + self.leave(self.around(standard))[:, 0]

    def loss(
        self, features: Sequence[Tensor], logits: Tensor, labels: Tensor, known: int, negative: int
    ) -> Tensor:
        """Return `odds_loss` of scores, which stand in the place of logits; there are no features."""
        del features
        return odds_loss(self(logits), labels, known, negative)


class Fusion(BlockMethod):
    """A trained join, and its fitted parts {word: method}; ``layers`` are all that these tap."""

    def __init__(
        self,
        layers: Sequence[str],
        options: Mapping[str, Value],
        tensors: Mapping[str, Tensor],
        parts: Mapping[str, Fitted],
    ) -> None:
        self.parts = dict(parts)
        self._scores = _Scores(words_of(str(options["parts"])), parts)
        width = int(options["width"]) if options["spatial"] else 0
        self.block = FusionBlock(len(self._scores.words), width)
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
        parts: Mapping[str, Fitted],
    ) -> tuple[Fusion, dict[str, object]]:
        """Return the method with a join learnt from examples, its last loss and the weights of its parts."""
        words = words_of(str(options["parts"]))
        scored = _Scored(examples, _Scores(words, parts), layers, device)
        numbers: dict[str, object] = {}
        block = FusionBlock(
            shape_of(scored)[1], int(options["width"]) if options["spatial"] else 0, plan.seed
        )
        if options["equal_weights"]:
            block.measure([_known_moments(scored)])
        else:
            numbers["loss"] = train_block(block, scored, plan, folder, key, device, tick)
        numbers["weights"] = dict(zip(words, block.weight.tolist(), strict=True))
        return cls(layers, options, block.state_dict(), parts), numbers

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the fused score (N, 1, h, w), from what the parts make of the same features."""
        grids = dict(zip(self.layers, features, strict=True))
        return self.joined(self._scores.values_of(grids, logits), grids, logits)

    def joined(
        self, values: Mapping[str, tuple[Tensor, ...]], grids: Mapping[str, Tensor], logits: Tensor
    ) -> tuple[Tensor, ...]:
        """Return the fused score (N, 1, h, w) of the values of each part and the grids of the layers."""
        self.block.to(logits.device)
        return (self.block(self._scores(values, grids, logits))[:, None],)


def _known_moments(scored: Examples) -> tuple[Tensor, Tensor]:
    """Return the mean and the deviation (P,) of the scores of known cells; MetricError if there are none."""
    cells = 0
    total = squares = torch.zeros((), dtype=torch.float64)
    for number in range(len(scored)):
        for part in scored(number):
            known = part.logits[:, part.labels == KNOWN].double()
            cells += known.shape[1]
            total = total + known.sum(1)
            squares = squares + known.square().sum(1)
    if not cells:
        raise MetricError("no cell of the network's output is known; blend smaller objects")
    mean = total / cells
    deviation = (squares / cells - mean.square()).clamp_min(0).sqrt()
    return mean.float(), deviation.clamp_min(1e-6).float()


class _Scores:
    """The scores of parts at the grid of the logits."""

    def __init__(self, words: Sequence[str], parts: Mapping[str, Fitted]) -> None:
        self.words = tuple(words)
        self.parts = parts
        self._plain = {word: scorer_named(word) for word in words if word not in parts}

    def values_of(self, grids: Mapping[str, Tensor], logits: Tensor) -> dict[str, tuple[Tensor, ...]]:
        """Return the values {word: arrays} of the fitted parts, from the grids of all their layers."""
        return {
            word: part.values([grids[layer] for layer in part.layers], logits)
            for word, part in self.parts.items()
        }

    def __call__(
        self, values: Mapping[str, tuple[Tensor, ...]], grids: Mapping[str, Tensor], logits: Tensor
    ) -> Tensor:
        """Return the scores (N, P, h, w) from the values of each fitted part, the grids of the layers, and
        logits (N, C, h, w).
        """
        held = logits.float().cpu().numpy()
        outlier = grids[OUTLIER_LOGIT].float().cpu().numpy() if OUTLIER_LOGIT in grids else None
        size = (held.shape[3], held.shape[2])
        made = np.empty((len(held), len(self.words), *held.shape[2:]), np.float32)
        for image, own in enumerate(held):
            facts = facts_of(own, size) if self._plain else None
            if facts is not None and outlier is not None:
                facts = replace(facts, outlier=outlier_share(outlier[image], size))
            for place, word in enumerate(self.words):
                if word in self.parts:
                    arrays = [value[image].float().cpu().numpy() for value in values[word]]
                    made[image, place] = self.parts[word].score(arrays, size)
                else:
                    assert facts is not None
                    made[image, place] = score_pixels(self._plain[word], facts, classes=len(own))
        return torch.from_numpy(made).to(logits.device)


class _Scored:
    """Examples whose logits are the scores of parts."""

    def __init__(self, examples: Examples, scores: _Scores, layers: Sequence[str], device: str) -> None:
        self._examples = examples
        self._scores = scores
        self._layers = layers
        self._device = device
        self._kept = dict[int, list[Grids]]()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._examples)

    def __call__(self, number: int) -> Sequence[Grids]:
        """Return the scores of an image, kept in memory as long as there is room."""
        if number in self._kept:
            return self._kept[number]
        made = [self._made(part) for part in self._examples(number)]
        size = sum(part.size for part in made)
        if self._bytes + size <= _MOST_BYTES:
            self._kept[number] = made
            self._bytes += size
        return made

    def _made(self, part: Grids) -> Grids:
        features, logits, _ = part.shown(self._device)
        with torch.no_grad():
            grids = dict(zip(self._layers, features, strict=True))
            scores = self._scores(self._scores.values_of(grids, logits), grids, logits)
        return Grids((), scores[0].cpu(), part.labels)
