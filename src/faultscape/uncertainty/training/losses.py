"""What training makes small: the cross-entropy of a network's logits at the size of its labels, of members the mean of theirs.

Conventions: logits are up-sampled bilinearly to the labels (N, H, W); pixels whose label is ``IGNORED`` (-100) count nothing, which void and withheld pixels are. Classes may have weights. Where
pixels are known to be of no class (``OUTSIDE``, -1: void from the start, never withheld), the void class takes them as a class of its own, and the entropy loss asks for even probabilities there.
Source: S3 2 and its code (mean of member losses); S4 5.1 and B.2 for void pixels.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from faultscape.errors import OptionError
from faultscape.uncertainty.heads.channels import Doubt

LossName = Literal["ce", "void-class", "entropy"]
LOSSES = get_args(LossName)
IGNORED, OUTSIDE = -100, -1


def loss(
    said: Doubt, labels: Tensor, weights: Tensor | None = None, name: LossName = "ce", outside_weight: float = 1.0
) -> Tensor:
    """Return the loss of what a network says of images whose labels are (N, H, W), or (N,) of one answer each.

    ``name`` is ce, void-class (the last class is that of void pixels) or entropy (beside ce, ``outside_weight`` times the cross-entropy to even probabilities on void pixels). Errors: OptionError for
    another name.

    >>> said = Doubt(torch.zeros(1, 2, 2, 2))
    >>> round(float(loss(said, torch.tensor([[[0, 1], [IGNORED, 1]]]))), 4)
    0.6931
    """
    if name not in LOSSES:
        raise OptionError(f"loss {name!r} is not known; use {', '.join(LOSSES)}")
    if said.own is not None:
        return _one(said.own, labels, weights, name, outside_weight)
    assert said.members is not None
    each = [_one(member, labels, weights, name, outside_weight) for member in said.members.unbind(1)]
    return torch.stack(each).mean()


def _one(logits: Tensor, labels: Tensor, weights: Tensor | None, name: LossName, outside_weight: float) -> Tensor:
    if labels.ndim == 3 and logits.shape[2:] != labels.shape[1:]:
        logits = nn.functional.interpolate(logits, size=labels.shape[1:], mode="bilinear", align_corners=False)
    outside = labels == OUTSIDE
    known = labels.masked_fill(outside, logits.shape[1] - 1 if name == "void-class" else IGNORED)
    logits = logits.float()
    total = nn.functional.cross_entropy(logits, known, weights, ignore_index=IGNORED, reduction="sum")
    count = (known != IGNORED).sum() if weights is None else weights[known[known != IGNORED]].sum()
    made = total / count.clamp_min(1e-12)
    if name == "entropy":
        even = -torch.log_softmax(logits, dim=1).mean(1)
        made = made + outside_weight * (even * outside).sum() / outside.sum().clamp_min(1)
    return made
