"""Losses for images of which boxes around objects are known, and no mask.

Conventions: p_c(x) is the probability of class c at pixel x, at the size of the crop. Boxes cost three terms,
each a mean over its pixels, lines or pairs in a whole batch; for members, the mean of theirs.

**Outside.** The classes E(x) that were boxed and have no box at x are not there. The loss is what a label of
several possible classes costs: -log(1 - sum of p_c(x) over E(x)), which is the cross-entropy where one class
is left (Jin and Ghahramani 2002). It assumes nothing.

**Projection.** Each row and each column of a box holds a pixel of its class. The largest p_c in each of n
rows, m, costs 1 - 2 sum m / (sum m^2 + n), and in each column alike: the Dice loss of Tian et al. 2021, whose
target is 1 within the box; outside of all boxes the first term asks for more than their 0. Each box counts as
often as it has rows and columns, because pixels are judged here and not objects. A box guarantees
only that its four sides are touched. The rows between follow if the object is one connected piece, because a
path from the top to the bottom passes each of them; an object in two pieces, behind a pole, may miss some.

**Pairs.** Neighbours of similar colour show one class: -log sum_c p_c(x) p_c(y), which for an object and its
background is the loss of Tian et al. 2021. The pairs are theirs: 3 x 3 neighbours at dilation 2, exp(-|the
difference in CIE Lab| / 2) at least .3, one pixel or both in a box; pairs that boxes leave no class in common
are left out. The weight rises from 0 to 1 over the first 10,000 steps, as theirs does: a network that knows
little yet finds that one class everywhere satisfies all pairs.

Source: Tian, Shen, Wang and Chen 2021, BoxInst: High-performance instance segmentation with box annotations,
CVPR; the threshold, the dilation, the rise and equal weights of the terms are those of their code. They take
colours at a quarter of the size, we at that of the crop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from faultscape.uncertainty.heads.channels import Doubt
from faultscape.uncertainty.training.box_labels import STEPS, BoxTarget

RISE = 10_000  # steps over which the weight of pairs rises


@dataclass(frozen=True)
class BoxCounts:
    """How many pixels, rows and columns of boxes, and pairs of pixels of a whole batch say something, and the
    weight of pairs.
    """

    pixels: int
    lines: int
    pairs: int
    weight: float = 1.0


def box_counts_of(targets: Sequence[BoxTarget | None], weight: float = 1.0) -> BoxCounts:
    """Return the counts of a whole batch, so that its parts can be processed one after another."""
    rows = [one.counts for one in targets if one is not None]
    pixels, lines, pairs = map(sum, zip(*rows, strict=True)) if rows else (0, 0, 0)
    return BoxCounts(pixels, lines, pairs, weight)


def weight_at(step: int) -> float:
    """Return the weight of pairs at a step, counted from 0.

    >>> weight_at(0), weight_at(2_500), weight_at(20_000)
    (0.0, 0.25, 1.0)
    """
    return min(1.0, step / RISE)


def box_loss(said: Doubt, targets: Sequence[BoxTarget | None], of: BoxCounts) -> Tensor:
    """Return the loss of a network's output for images with boxes; those without, None, cost nothing. The
    losses of the parts of a batch with counts ``of`` it add up to its own.

    >>> import numpy as np
    >>> outside = np.array([[[False, True]], [[False, False]]])  # the second pixel is not of class 0
    >>> none = np.zeros((0, 5), int), np.zeros((0, 2), bool), np.zeros((4, 1, 2), bool)
    >>> target = BoxTarget(outside, *none)
    >>> logits = torch.log(torch.tensor([[[[0.5, 0.25]], [[0.5, 0.75]]]]))
    >>> round(float(box_loss(Doubt(logits), [target], box_counts_of([target])).exp()), 4)  # 1 / .75
    1.3333
    """
    each = [said.own] if said.own is not None else [] if said.members is None else said.members.unbind(1)
    losses = [
        _one(logits[number], target, of)
        for logits in each
        for number, target in enumerate(targets)
        if target is not None
    ]
    return torch.stack(losses).sum() / len(each) if losses else each[0].sum() * 0


def _one(logits: Tensor, target: BoxTarget, of: BoxCounts) -> Tensor:
    """Return the loss of one image from logits (C, h, w)."""
    excluded, alike = (torch.from_numpy(one).to(logits.device) for one in (target.excluded, target.alike))
    logits = logits.float()
    if logits.shape[1:] != excluded.shape[1:]:
        logits = nn.functional.interpolate(
            logits[None], size=excluded.shape[1:], mode="bilinear", align_corners=False
        )[0]
    shares = logits.log_softmax(0)
    left = shares.masked_fill(excluded, -torch.inf).logsumexp(0)
    made = -(left * excluded.any(0)).sum() / max(1, of.pixels)
    if len(target.boxes):
        made = made + _projection(shares.exp(), target) / max(1, of.lines)
    if of.weight:
        made = made + of.weight * _pairs(shares, alike) / max(1, of.pairs)
    return made


def _projection(shares: Tensor, target: BoxTarget) -> Tensor:
    """Return the sum over boxes of the Dice losses of both projections, each times the number of its lines,
    from probabilities (C, h, w).
    """
    found = list[Tensor]()
    for (channel, left, top, right, bottom), spans in zip(
        target.boxes.tolist(), target.spans.tolist(), strict=True
    ):
        within = shares[channel, top:bottom, left:right]
        for axis, spanned in zip((1, 0), spans, strict=True):
            if spanned:
                most = within.amax(axis)
                found.append(len(most) * (1 - 2 * most.sum() / ((most**2).sum() + len(most))))
    return torch.stack(found).sum()


def _pairs(shares: Tensor, alike: Tensor) -> Tensor:
    """Return the sum over pairs of -log of the probability that both pixels show one class, from logarithms
    of probabilities (C, h, w).
    """
    total = shares.new_zeros(())
    for (down, right), there in zip(STEPS, alike, strict=True):
        rows, columns = there.nonzero(as_tuple=True)
        first = shares[:, rows, columns]
        total = total - (first + shares[:, rows + down, columns + right]).logsumexp(0).sum()
    return total
