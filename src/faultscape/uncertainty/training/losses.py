"""Training losses: the cross-entropy of a network's logits at the size of its labels; for members, the mean
of theirs.

Conventions: logits are up-sampled bilinearly to the labels (N, H, W); pixels whose label is ``IGNORED``
(-100), such as void and withheld pixels, do not count. Classes may have weights. On pixels known to be of no
class (``OUTSIDE``, -1: void from the start, never withheld), the void-class loss treats void as a separate
class, the entropy loss asks for uniform probabilities, an outlier head learns to distinguish them from all
others, a Dirichlet should be flat, and UNO has a negative class for them, which is never predicted.
Source: Buchanan et al. 2022, section 2 and its code (mean of member losses); Blum et al. 2021, section 4.1
and B.4 for void pixels; Bevandic et al. 2019 (outlier head); Delic et al. 2024 (UNO: K + 1 classes; their
K + 2 of masks also count "no object", which a network that classifies pixels does not have).

Fit a batch into memory: it goes through a network in parts if it does not fit as a whole.

Conventions: the parts give the gradients of the whole batch, because each is weighted by the pixels of all;
batch norm and random draws see each part separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, get_args

import torch
from torch import Tensor, nn

from faultscape.choices import LossName, Smoothing
from faultscape.errors import MetricError, ModelError, OptionError, is_out_of_memory, library_text
from faultscape.uncertainty import tensors
from faultscape.uncertainty.dirichlet import WEIGHT, concentrations, divergence_of, sharp
from faultscape.uncertainty.heads.channels import Doubt, Head, some_logits
from faultscape.uncertainty.heads.gaussian_process import GaussianProcessHead
from faultscape.uncertainty.training.box_labels import BoxTarget
from faultscape.uncertainty.training.box_losses import box_counts_of, box_loss
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE

LOSSES = get_args(LossName)
_, VOID_CLASS, _EVEN, OUTLIER_HEAD, DIRICHLET, UNO = LOSSES


@dataclass(frozen=True)
class Counts:
    """The weight of the pixels of a batch that have a class, and the numbers of pixels outside all classes
    and of a class.
    """

    known: Tensor
    outside: Tensor
    seen: Tensor


def counts_of(
    labels: Tensor, weights: Tensor | None = None, name: LossName = "ce", channels: int = 0
) -> Counts:
    """Return the counts of a whole batch's labels, so that its parts can be processed one after another."""
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
    smoothing: Smoothing = "each",
) -> Tensor:
    """Return the loss of a network's output for images with labels (N, H, W), or (N,) for one answer each.

    ``name`` is ce, void-class (the last class is for void pixels), entropy (ce plus ``outside_weight`` times
    the cross-entropy to uniform probabilities on void pixels), outlier-head (ce plus ``outside_weight`` times
    the binary cross-entropy of the outlier's logit, with half the weight each on known and void pixels), uno
    (the cross-entropy over the classes and a negative one: the mean over known pixels plus ``outside_weight``
    times the mean over void pixels, which are negative; the outlier's logit is its log-odds) or
    dirichlet (ce plus .1 times the divergence from sharp Dirichlets on known pixels, and ``outside_weight``
    times .1 times that from the flat one on void pixels: Blum et al. 2021, eq. 3; ``smoothing`` says who gets
    the share that its labels are smoothed by, each other class or all of them together). ``of`` are the
    counts of the whole batch if these images are a part of it: the losses of the parts add up to that of the
    batch.
    Errors: OptionError for an unknown name, MetricError for tensors of another kind or shape.

    >>> said = Doubt(torch.zeros(1, 2, 2, 2))
    >>> round(float(loss(said, torch.tensor([[[0, 1], [IGNORED, 1]]]))), 4)
    0.6931
    """
    if name not in LOSSES:
        raise OptionError(f"loss {name!r} is not known; use {', '.join(LOSSES)}")
    labels = _checked(said, labels, weights, name)
    each = [said.own] if said.own is not None else [] if said.members is None else said.members.unbind(1)
    weights = None if weights is None else weights.float()
    try:
        of = of or counts_of(labels, weights, name, each[0].shape[1])
        told = (weights, name, outside_weight, of, smoothing)
        made = torch.stack([_one(logits, labels, *told) for logits in each]).mean()
    except IndexError:  # of a GPU, torch says so at a later call
        raise _strange(labels, each[0].shape[1]) from None
    if name in (OUTLIER_HEAD, UNO):
        if said.outlier is None:
            has = "an outlier head" if name == OUTLIER_HEAD else "a negative class"
            raise OptionError(f"loss {name} needs a network with {has}")
        outlier = _at_labels(said.outlier, labels)
        made = made + (
            outside_weight * _of_outliers(outlier, labels, of)
            if name == OUTLIER_HEAD
            else _of_negatives(outlier, labels, weights, outside_weight, of)
        )
    return made


def _strange(labels: Tensor, channels: int) -> MetricError:
    """Return the error about labels that lie outside the channels of a network."""
    return MetricError(
        f"labels are channels 0 to {channels - 1}, {OUTSIDE} for void and {IGNORED} for what does not count;"
        f" got {int(labels.min())} to {int(labels.max())}"
    )


def _checked(said: Doubt, labels: Tensor, weights: Tensor | None, name: LossName) -> Tensor:
    """Return labels as int64; MetricError for anything that does not fit."""
    labels = tensors.places(labels, "labels", "(N, ...)")
    axes = {1: "", 3: ", h, w"}.get(labels.ndim)
    if axes is None:
        raise MetricError(f"labels are (N, H, W), or (N,); got shape {tuple(labels.shape)}")
    logits = some_logits(said, axes)
    if len(logits) != len(labels) or not labels.numel():
        raise MetricError(
            f"logits and labels are of as many images, 1 or more; got {tuple(logits.shape)} and"
            f" {tuple(labels.shape)}"
        )
    if axes and labels.shape[1:] == logits.shape[1:3] != logits.shape[2:]:
        raise MetricError(f"logits have their classes second, (N, C, h, w); got {tuple(logits.shape)}")
    if weights is not None and len(tensors.floats(weights, "weights", "(C)")) != logits.shape[1]:
        raise MetricError(f"weights are one per class; got {len(weights)} for {logits.shape[1]}")
    if weights is not None and weights.requires_grad:
        raise MetricError("weights are fixed numbers; give weights.detach()")
    if name in (OUTLIER_HEAD, UNO) and said.outlier is not None:
        outlier = tensors.floats(said.outlier, "outlier logits", f"(N{axes})")
        if len(outlier) != len(labels) or not outlier.numel():
            raise MetricError(f"outlier logits are of {len(labels)} images; got {tuple(outlier.shape)}")
    return labels


def _known(labels: Tensor, name: LossName, channels: int) -> Tensor:
    """Return labels in which pixels outside all classes belong to the last channel, or are ignored."""
    return labels.masked_fill(labels == OUTSIDE, channels - 1 if name == VOID_CLASS else IGNORED)


def _one(
    logits: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    name: LossName,
    outside_weight: float,
    of: Counts,
    smoothing: Smoothing,
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
        alpha = concentrations(logits)
        seen = known != IGNORED
        outside = labels == OUTSIDE
        to_sharp = divergence_of(sharp(known.clamp_min(0), logits.shape[1], smoothing), alpha)
        to_flat = divergence_of(torch.ones_like(alpha), alpha)
        made = made + WEIGHT * (to_sharp * seen).sum() / of.seen.clamp_min(1)
        made = made + WEIGHT * outside_weight * (to_flat * outside).sum() / of.outside.clamp_min(1)
    return made


def _at_labels(outlier: Tensor, labels: Tensor) -> Tensor:
    """Return outlier logits (N, h, w) at the size of labels (N, H, W), float32."""
    if labels.ndim == 3 and outlier.shape[1:] != labels.shape[1:]:
        outlier = nn.functional.interpolate(
            outlier[:, None], size=labels.shape[1:], mode="bilinear", align_corners=False
        )[:, 0]
    return outlier.float()


def _of_negatives(
    odds: Tensor, labels: Tensor, weights: Tensor | None, outside_weight: float, of: Counts
) -> Tensor:
    """Return what the negative class adds to the cross-entropy over the others: -log of the probability that
    a known pixel is not negative, weighted by its class, and that a void pixel is.
    """
    outside = labels == OUTSIDE
    counts = labels >= 0
    each = counts if weights is None else weights[labels.clamp_min(0)] * counts
    known = (nn.functional.softplus(odds) * each).sum() / of.known.clamp_min(1e-12)
    negative = (nn.functional.softplus(-odds) * outside).sum() / of.outside.clamp_min(1)
    return known + outside_weight * negative


def _of_outliers(outlier: Tensor, labels: Tensor, of: Counts) -> Tensor:
    outside = labels == OUTSIDE
    each = nn.functional.binary_cross_entropy_with_logits(outlier, outside.float(), reduction="none")
    known = (each * (labels >= 0)).sum() / of.seen.clamp_min(1)
    return 0.5 * (known + (each * outside).sum() / of.outside.clamp_min(1))


@contextmanager
def in_memory(image: Tensor) -> Iterator[None]:
    """Run a network on an image (1, 3, h, w) outside training steps; ModelError if it does not fit into
    memory, or the network does not take it.
    """
    try:
        yield
    except (MemoryError, RuntimeError, TypeError, ValueError) as error:
        if not is_out_of_memory(error):
            raise ModelError(
                f"the network does not take images of shape {tuple(image.shape)} and type"
                f" {str(image.dtype).removeprefix('torch.')}: {library_text(error)}"
            ) from error
        raise ModelError(
            f"an image of {'x'.join(map(str, image.shape[:1:-1]))} does not fit into memory for validation"
            " or the covariance, which use whole images; use a smaller --size"
        ) from error


@dataclass(frozen=True)
class LossOptions:
    """Which loss is trained with, as `loss` takes it, and the weight of ``pairs`` in images with boxes."""

    name: LossName = "ce"
    outside_weight: float = 1.0
    smoothing: Smoothing = "each"
    pairs: float = 1.0


class Shares:
    """How many images of a batch go through the network at once: all, or half as many whenever memory is too
    short, with the same gradients.
    """

    def __init__(self, most: int, processes: Sequence[GaussianProcessHead] = ()) -> None:
        self.most = most
        self._processes = processes

    def gradients(
        self,
        net: nn.Module,
        optimiser: Any,
        accelerator: Any,
        images: Tensor,
        labels: Tensor,
        weights: Tensor | None,
        options: LossOptions,
        say: Callable[[str], None],
        boxes: Sequence[BoxTarget | None] = (),
    ) -> float:
        """Fill the gradients of a batch and return its loss: that of its labels, and of what ``boxes`` say
        where they are all that is known of an image.
        """
        name = options.name
        of = counts_of(labels, weights, name, channels_of(net))
        boxes = boxes or [None] * len(images)
        boxed = box_counts_of(boxes, options.pairs)

        def share(
            part: Tensor, said: Tensor, shown: Sequence[BoxTarget | None]
        ) -> float:  # a separate function, so that it releases everything when it fails
            for head in self._processes:
                head.counted = said >= 0 if name != VOID_CLASS else said != IGNORED
            with accelerator.autocast():
                given = net(part)
            value = loss(given, said, weights, name, options.outside_weight, of, options.smoothing)
            if any(shown):
                value = value + box_loss(given, shown, boxed)
            accelerator.backward(value)
            return float(value.detach())

        while True:
            optimiser.zero_grad()
            for head in self._processes:
                head.begin_batch()
            try:
                split = [boxes[k : k + self.most] for k in range(0, len(boxes), self.most)]
                parts = zip(images.split(self.most), labels.split(self.most), split, strict=True)
                total = sum(share(*part) for part in parts)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                if min(self.most, len(images)) <= 1:
                    raise ModelError(
                        "out of memory with a single image; use a smaller --crop, or --checkpoint-activations"
                    ) from error
            else:
                for head in self._processes:
                    head.end_batch()
                    head.counted = None
                return total
            self._halve(len(images), say)  # here the error, and everything its frames held, is released

    def _halve(self, batch: int, say: Callable[[str], None]) -> None:
        at_once = min(self.most, batch)
        self.most = (at_once + 1) // 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        say(
            f"note: out of memory with {at_once} images at once; continuing with {self.most} at a time (a"
            f" step still averages {batch})"
        )


def channels_of(net: nn.Module) -> int:
    """Return how many classes the head of a network has."""
    return next(module.classes for module in net.modules() if isinstance(module, Head))
