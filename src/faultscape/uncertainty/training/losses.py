"""What training makes small: the cross-entropy of a network's logits at the size of its labels, of members
the mean of theirs.

Conventions: logits are up-sampled bilinearly to the labels (N, H, W); pixels whose label is ``IGNORED``
(-100) count nothing, which void and withheld pixels are. Classes may have weights. Where pixels are known to
be of no class (``OUTSIDE``, -1: void from the start, never withheld), the void class takes them as a class of
its own, the entropy loss asks for even probabilities there, an outlier head learns to tell them from all
others, and a Dirichlet is to be flat there.
Source: Buchanan et al. 2022, section 2 and its code (mean of member losses); Blum et al. 2021, section 5.1
and B.4 for void pixels; Bevandic et al. 2019 (outlier head).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor, nn

from faultscape.choices import LossName
from faultscape.errors import OptionError
from faultscape.uncertainty.dirichlet import WEIGHT, concentrations, divergence, sharp
from faultscape.uncertainty.heads.channels import Doubt
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE

LOSSES = get_args(LossName)
_, VOID_CLASS, _EVEN, OUTLIER_HEAD, DIRICHLET = LOSSES


@dataclass(frozen=True)
class Counts:
    """How much the pixels of a batch weigh: those of classes, and how many are outside of all, and of a
    class.
    """

    known: Tensor
    outside: Tensor
    seen: Tensor


def counts_of(
    labels: Tensor, weights: Tensor | None = None, name: LossName = "ce", channels: int = 0
) -> Counts:
    """Return what the labels of a whole batch weigh, so that its parts can be done one after another."""
    known = _known(labels, name, channels)
    seen = known[known != IGNORED]
    weight = (
        weights[seen].sum() if weights is not None else torch.tensor(float(len(seen)), device=labels.device)
    )
    return Counts(weight, (labels == OUTSIDE).sum(), (labels >= 0).sum())


def loss(
    said: Doubt,
    labels: Tensor,
    weights: Tensor | None = None,
    name: LossName = "ce",
    outside_weight: float = 1.0,
    of: Counts | None = None,
) -> Tensor:
    """Return the loss of what a network says about images whose labels are (N, H, W), or (N,) of one answer
    each.

    ``name`` is ce, void-class (the last class is that of void pixels), entropy (beside ce, ``outside_weight``
    times the cross-entropy to even probabilities on void pixels), outlier-head (beside ce, ``outside_weight``
    times the binary cross-entropy of the outlier's logit, of known and of void pixels half each) or dirichlet
    (beside ce, .1 times the divergence from sharp Dirichlets on known pixels, and ``outside_weight`` times .1
    times that from the flat one on void pixels: Blum et al. 2021, eq. 3). ``of`` are the counts of the batch
    that these images are a part of: the losses of its parts add up to its own. Errors: OptionError for
    another name.

    >>> said = Doubt(torch.zeros(1, 2, 2, 2))
    >>> round(float(loss(said, torch.tensor([[[0, 1], [IGNORED, 1]]]))), 4)
    0.6931
    """
    if name not in LOSSES:
        raise OptionError(f"loss {name!r} is not known; use {', '.join(LOSSES)}")
    each = [said.own] if said.own is not None else [] if said.members is None else said.members.unbind(1)
    of = of or counts_of(labels, weights, name, each[0].shape[1])
    made = torch.stack([_one(logits, labels, weights, name, outside_weight, of) for logits in each]).mean()
    if name == OUTLIER_HEAD:
        if said.outlier is None:
            raise OptionError("loss outlier-head needs a network with an outlier head")
        made = made + outside_weight * _of_outliers(said.outlier, labels, of)
    return made


def _known(labels: Tensor, name: LossName, channels: int) -> Tensor:
    """Return labels in which pixels outside of all classes are those of the last channel, or ignored."""
    return labels.masked_fill(labels == OUTSIDE, channels - 1 if name == VOID_CLASS else IGNORED)


def _one(
    logits: Tensor, labels: Tensor, weights: Tensor | None, name: LossName, outside_weight: float, of: Counts
) -> Tensor:
    if labels.ndim == 3 and logits.shape[2:] != labels.shape[1:]:
        logits = nn.functional.interpolate(
            logits, size=labels.shape[1:], mode="bilinear", align_corners=False
        )
    logits = logits.float()
    known = _known(labels, name, logits.shape[1])
    total = nn.functional.cross_entropy(logits, known, weights, ignore_index=IGNORED, reduction="sum")
    made = total / of.known.clamp_min(1e-12)
    if name == _EVEN:
        even = -torch.log_softmax(logits, dim=1).mean(1)
        made = made + outside_weight * (even * (labels == OUTSIDE)).sum() / of.outside.clamp_min(1)
    if name == DIRICHLET:
        alpha, seen, outside = concentrations(logits), known != IGNORED, labels == OUTSIDE
        to_sharp = divergence(sharp(known.clamp_min(0), logits.shape[1]), alpha)
        to_flat = divergence(torch.ones_like(alpha), alpha)
        made = made + WEIGHT * (to_sharp * seen).sum() / of.seen.clamp_min(1)
        made = made + WEIGHT * outside_weight * (to_flat * outside).sum() / of.outside.clamp_min(1)
    return made


def _of_outliers(outlier: Tensor, labels: Tensor, of: Counts) -> Tensor:
    if labels.ndim == 3 and outlier.shape[1:] != labels.shape[1:]:
        outlier = nn.functional.interpolate(
            outlier[:, None], size=labels.shape[1:], mode="bilinear", align_corners=False
        )[:, 0]
    outside = labels == OUTSIDE
    each = nn.functional.binary_cross_entropy_with_logits(outlier.float(), outside.float(), reduction="none")
    known = (each * (labels >= 0)).sum() / of.seen.clamp_min(1)
    return 0.5 * (known + (each * outside).sum() / of.outside.clamp_min(1))
