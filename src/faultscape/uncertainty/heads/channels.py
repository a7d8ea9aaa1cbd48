"""The output of a head for each pixel, laid out as channels, so that whatever a network does after its last
layer (reshape, bilinear up-sampling) applies to all of it.

Conventions: a head takes features (..., D) and returns channels (..., K): logits (C), then logits of members
(T x C, member by member), then the variance (1), as far as the head has them. `Doubt` holds the same
separately: logits (N, C, h, w), members (N, T, C, h, w), variance (N, h, w); without h and w for a network
that gives one answer per image. Where members replace logits, the prediction is the mean of their
probabilities, taken after up-sampling: log-mean-exp of their log-softmax (Buchanan et al. 2022,
BatchEnsemble).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from faultscape.errors import MetricError, ModelError
from faultscape.uncertainty import tensors

# weight (C, D) and bias (C,) of the layer that a head replaces
Start = tuple[Tensor, Tensor | None]


@dataclass(frozen=True)
class Channels:
    """The channels of a head: whether logits come first, how many ``members`` follow, and whether the
    ``variance`` is last.
    """

    classes: int
    logits: bool = True
    members: int = 0
    variance: bool = False

    @property
    def total(self) -> int:
        """The total number of channels."""
        return self.classes * (self.logits + self.members) + self.variance


@dataclass(frozen=True, eq=False)
class Doubt:
    """The output of a network with such a head for N images: ``own`` logits (N, C, h, w) if it has them,
    logits of ``members`` (N, T, C, h, w), the ``variance`` (N, h, w) of its logits, and, with an outlier
    head or a negative class, the logit (N, h, w) that a pixel is an ``outlier``.
    """

    own: Tensor | None
    members: Tensor | None = None
    variance: Tensor | None = None
    outlier: Tensor | None = None

    @property
    def logits(self) -> Tensor:
        """Logits (N, C, h, w): its own, else the logarithm of its members' mean probability."""
        return self.own if self.own is not None else mean_of_members(self._of_members)

    @property
    def _of_members(self) -> Tensor:
        assert self.members is not None  # without logits there are members
        return self.members


def some_logits(said: object, inner: str = ", h, w") -> Tensor:
    """Return the logits (N, C, h, w) of a network's output, or those of its first member; MetricError if it
    has none, or others. ``inner`` are the axes after the classes.
    """
    if not isinstance(said, Doubt):
        raise MetricError(
            f"said is the output of a network with a head; got {type(said).__name__}; of a tensor of logits,"
            " give fs.uncertainty.Doubt(logits)"
        )
    if said.own is None and said.members is None:
        raise MetricError("said has neither logits nor members; give fs.uncertainty.Doubt(logits)")
    if said.own is not None:
        logits = tensors.floats(said.own, "logits", f"(N, C{inner})")
    else:
        members = tensors.floats(said.members, "logits of members", f"(N, T, C{inner})")
        if not members.shape[1]:
            raise MetricError(f"logits of members are of 1 member or more; got {tuple(members.shape)}")
        logits = members[:, 0]
    if not logits.numel():
        raise MetricError(f"logits are of 1 image, class and pixel or more; got {tuple(logits.shape)}")
    return logits


class Head(nn.Module):
    """A last layer: features (..., D) in, `channels` out, which may differ between training and use.

    ``dimensions`` is D and ``classes`` C. ``in_whole_precision`` is set if a head always computes in float32.
    ``draws`` is the number of members that a head without its own members draws for scorers that compare
    members; 0 draws none.
    """

    dimensions: int
    classes: int
    draws: int = 0
    in_whole_precision: bool = False

    @property
    def channels(self) -> Channels:
        """The contents of the channels of the next output."""
        return Channels(self.classes)

    def fast_parameters(self) -> list[nn.Parameter]:
        """Return the parameters with their own learning rate (BatchEnsemble)."""
        return []

    def folded(self) -> Start | None:
        """Return the weight (K, D) and bias (K,) of this head as one linear map; None if it is not linear."""
        return None

    def start(self) -> Start | None:
        """Return the weight and bias that another head on the same features can start from; None if there are
        none.
        """
        return None


@contextmanager
def whole_precision(device: torch.device) -> Iterator[None]:
    """Disable mixed precision while the block runs, because variances and draws are sums of small squares,
    which half precision loses.
    """
    if torch.is_autocast_enabled(device.type):
        with torch.autocast(device.type, enabled=False):
            yield
    else:
        yield


def is_exporting() -> bool:
    """Whether a network is being exported to a file, which must work for images of any size."""
    return torch.compiler.is_compiling() or torch.onnx.is_in_onnx_export()


def mean_of_members(members: Tensor) -> Tensor:
    """Return the log of the mean of members' probabilities, (N, C, ...), from their logits (N, T, C, ...).

    >>> sure = torch.tensor([[[0.9, 0.1], [0.1, 0.9]]]).log()
    >>> mean_of_members(sure).exp()
    tensor([[0.5000, 0.5000]])
    """
    return torch.logsumexp(torch.log_softmax(members, dim=2), dim=1) - math.log(members.shape[1])


def split(values: Tensor, channels: Channels, name: str = "the network") -> Doubt:
    """Split the channels (N, K, h, w), or (N, K), of a head; ModelError if their number differs from the
    head's.

    >>> held = split(torch.zeros(1, 7, 2, 2), Channels(2, members=2, variance=True))
    >>> held.logits.shape[1], held.members.shape[1:3], held.variance.shape
    (2, torch.Size([2, 2]), torch.Size([1, 2, 2]))
    """
    if values.ndim not in (2, 4) or values.shape[1] != channels.total:
        raise ModelError(
            f"{name}: returned shape {tuple(values.shape)}, but the head produces {channels.total} channels:"
            " the replaced layer is not the one that produces the output; name that one with layer="
        )
    count = channels.classes
    parts = iter(values.split(_widths(channels), dim=1))
    own = next(parts) if channels.logits else None
    members = next(parts).unflatten(1, (channels.members, count)) if channels.members else None
    return Doubt(own, members, next(parts)[:, 0] if channels.variance else None)


def without_outlier(said: Doubt) -> Doubt:
    """Split off the last channel of the logits as the outlier logit; for members, the mean of theirs.

    >>> without_outlier(Doubt(torch.tensor([[1.0, 2.0, 5.0]]))).outlier
    tensor([5.])
    """
    own = None if said.own is None else said.own[:, :-1]
    members = None if said.members is None else said.members[:, :, :-1]
    outlier = said.own[:, -1] if said.own is not None else said.members[:, :, -1].mean(1)  # type: ignore[index]
    return Doubt(own, members, said.variance, outlier)


def without_negative(said: Doubt) -> Doubt:
    """Split off the last channel of the logits as the negative class, a class like the others: the outlier
    logit is the logarithm of its odds against all of them. For members, the mean of theirs.

    >>> without_negative(Doubt(torch.tensor([[1.0, 3.0, 2.0]]).log())).outlier.exp()
    tensor([0.5000])
    """
    logits = said.own if said.own is not None else said._of_members.movedim(2, 1)  # noqa: SLF001 - its own
    odds = logits[:, -1] - logits[:, :-1].logsumexp(1)
    return replace(without_outlier(said), outlier=odds if said.own is not None else odds.mean(1))


def _widths(channels: Channels) -> list[int]:
    wide = (channels.classes * channels.logits, channels.classes * channels.members, int(channels.variance))
    return [width for width in wide if width]
