"""Fit a batch into memory: it goes through a network in parts if it does not fit as a whole.

Conventions: the parts give the gradients of the whole batch, because each is weighted by the pixels of all;
batch norm and random draws see each part separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from faultscape.choices import LossName, Smoothing
from faultscape.errors import ModelError, is_out_of_memory, library_text
from faultscape.uncertainty.heads.channels import Head
from faultscape.uncertainty.heads.gaussian_process import GaussianProcessHead
from faultscape.uncertainty.training.labels import IGNORED
from faultscape.uncertainty.training.losses import VOID_CLASS, counts_of, loss


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
        name: LossName,
        outside_weight: float,
        say: Callable[[str], None],
        smoothing: Smoothing = "each",
    ) -> float:
        """Fill the gradients of a batch and return its loss."""
        of = counts_of(labels, weights, name, _channels(net))

        def share(
            part: Tensor, said: Tensor
        ) -> float:  # a separate function, so that it releases everything when it fails
            for head in self._processes:
                head.counted = said >= 0 if name != VOID_CLASS else said != IGNORED
            with accelerator.autocast():
                given = net(part)
            value = loss(given, said, weights, name, outside_weight, of, smoothing)
            accelerator.backward(value)
            return float(value.detach())

        while True:
            optimiser.zero_grad()
            for head in self._processes:
                head.begin_batch()
            try:
                parts = zip(images.split(self.most), labels.split(self.most), strict=True)
                total = sum(share(part, said) for part, said in parts)
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


def _channels(net: nn.Module) -> int:
    return next(module.classes for module in net.modules() if isinstance(module, Head))
