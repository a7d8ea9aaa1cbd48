"""Fits after training: the covariance of a Gaussian process, and its mean-field factor.

Conventions: a network receives batches of its inputs, with a mask if not all pixels count, and is left in
evaluation mode. The sum over the data is exact and, up to rounding, independent of the batches.
Source: Liu et al. 2020, Algorithm 1 (reset and one exact pass); the factor on validation NLL is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from faultscape.errors import MetricError, ModelError
from faultscape.uncertainty import tensors
from faultscape.uncertainty.dropout import DropoutNetwork, plain_passes
from faultscape.uncertainty.heads.gaussian_process import processes_of
from faultscape.uncertainty.training.losses import in_memory
from faultscape.uncertainty.training.validation import Images, Pairs, validate

# candidates for the mean-field factor
FACTORS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)


@torch.no_grad()
def fit_covariance(net: nn.Module, batches: Iterable[Any]) -> None:
    """Reset the covariance, and sum it over batches of inputs (tensors, or dicts of a network's named
    inputs), each seen once.

    A batch may be a pair (inputs, counted), as a DataLoader gives it: counted (N, H, W), boolean, is true
    where a pixel has a label that the network learnt (it is not the labels themselves). Leave out pixels of
    unknown objects, or the network will treat them as known. On failure the covariance is unchanged. Errors:
    ModelError for a network without a Gaussian process, or if there are no batches.

    >>> from faultscape.uncertainty.heads.gaussian_process import GaussianProcessHead
    >>> head = GaussianProcessHead(3, 2, features=64).eval()
    >>> points = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    >>> before = head(points)[:, -1].mean()
    >>> fit_covariance(head, [points])
    >>> bool(head(points)[:, -1].mean() < before / 2)
    True
    """
    heads = processes_of(tensors.module(net))
    if not heads:
        raise ModelError(
            f"{type(net).__name__}: has no Gaussian process head, so there is no covariance to fit"
        )
    if isinstance(batches, Tensor):
        raise ModelError("batches is a list of batches; got one tensor")
    net.eval()
    inner = net.net if isinstance(net, DropoutNetwork) else net  # otherwise each member would add its own
    before = [head.precision.clone() for head in heads]
    for head in heads:
        head.precision.zero_().diagonal(dim1=-2, dim2=-1).fill_(head.ridge)
        head.gathering = True
    seen = 0
    whole = False
    try:
        with plain_passes(inner):
            for given in batches:
                batch, counted = (
                    (given[0], given[1] if len(given) > 1 else None)
                    if isinstance(given, tuple | list)
                    else (given, None)
                )
                image = next(iter(batch.values()), None) if isinstance(batch, dict) else batch
                if not isinstance(image, Tensor):
                    raise ModelError(
                        "a batch is a tensor, a dict of a network's named inputs, or a pair of one and what"
                        f" counted; got {type(image).__name__}"
                    )
                if counted is not None and not isinstance(counted, Tensor | np.ndarray):
                    raise ModelError(f"counted is a tensor (N, H, W) of bools; got {type(counted).__name__}")
                if counted is not None and torch.as_tensor(counted).dtype != torch.bool:
                    raise ModelError(
                        "counted is true where a pixel has a label that counts; got"
                        f" {torch.as_tensor(counted).dtype}: give labels >= 0"
                    )
                seen += 1
                for head in heads:
                    head.counted = (
                        None if counted is None else _at_size(torch.as_tensor(counted).float(), image)
                    )
                with in_memory(image):
                    inner(**batch) if isinstance(batch, dict) else inner(batch)
        if not seen:
            raise ModelError("no batches given; the covariance needs at least one")
        whole = True
    finally:
        for head, old in zip(heads, before, strict=True):
            head.gathering = False
            head.counted = None
            if not whole:
                head.precision.copy_(old)
    for head in heads:
        head.invert_precision()


def _at_size(counted: Tensor, image: Tensor) -> Tensor:
    """Return the shares (N, h, w) of pixels (N, H, W) that count, at the size of the network's images (N, 3,
    h, w), over which tokens form a grid. ModelError if they do not fit its images.
    """
    if image.ndim == 4 and (counted.ndim != 3 or len(counted) != len(image) or not counted.numel()):
        raise ModelError(
            f"counted is (N, H, W), of the {len(image)} images of its batch; got shape {tuple(counted.shape)}"
        )
    return (
        nn.functional.interpolate(counted[:, None], image.shape[2:], mode="area")[:, 0]
        if image.ndim == 4
        else counted
    )


@torch.no_grad()
def tune_mean_field(
    net: nn.Module,
    images: Images | Pairs,
    device: str | torch.device = "cpu",
    factors: Iterable[float] = FACTORS,
    most: int = 24,
) -> dict[float, float]:
    """Set the mean-field factor of a network's Gaussian processes to the one with the lowest negative
    log-likelihood over validation images, and return the value for each factor.

    ``images`` are iterated once per factor: a list or a DataLoader of (images (N, 3, H, W), labels (N, H, W),
    below 0 where they do not count), or an `Images`, of which at most ``most`` are used. Errors: ModelError
    for a network without a Gaussian process; MetricError, with the factor unchanged, if no pixel is labelled.
    """
    heads = processes_of(tensors.module(net))
    if not heads:
        raise ModelError(
            f"{type(net).__name__}: has no Gaussian process head, so there is no mean-field factor to tune"
        )
    if isinstance(images, Iterator):
        raise ModelError(
            "images are iterated once per factor, and an iterator is empty after the first; give list(images)"
        )
    found = dict[float, float]()
    before = [head.mean_field for head in heads]
    for factor in factors:
        for head in heads:
            head.mean_field = factor
        found[factor] = validate(net, images, device, most)["nll"]
    if not any(np.isfinite(value) for value in found.values()):
        for head, factor in zip(heads, before, strict=True):
            head.mean_field = factor
        raise MetricError("no labelled pixel in the images to tune the mean-field factor on")
    best = min(found, key=lambda factor: (found[factor], factor))
    for head in heads:
        head.mean_field = best
    return found
