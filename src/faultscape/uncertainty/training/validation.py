"""Validation during training: mean IoU and negative log-likelihood over whole images.

Conventions: images are resized to the size of the plan (None: their own), rounded up to the network's
multiple, and its logits, or its members', are up-sampled bilinearly to their labels (H, W). A network with
windows sees each image in windows side by side, so that memory is bounded by one window. IGNORED and OUTSIDE
pixels do not count. Mean IoU is over the classes that occur in truth or prediction. Validation is only for
monitoring: the network is always that of the last step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from faultscape.errors import MetricError
from faultscape.uncertainty import tensors
from faultscape.uncertainty.heads.channels import Doubt, some_logits
from faultscape.uncertainty.training.crops import pixels, resized
from faultscape.uncertainty.training.labels import IGNORED
from faultscape.uncertainty.training.losses import in_memory
from faultscape.uncertainty.training.plan import Size

Pairs = Iterable[Sequence[Tensor]]  # of images (N, 3, H, W) and labels (N, H, W), such as a DataLoader gives


@dataclass(frozen=True)
class Images:
    """Whole images: their number, how one is read (image (H, W, 3) uint8, labels (H, W) int16), the size at
    which they are shown, and how pixels are normalised; ``window`` is the side of square windows, 0 for whole
    images.
    """

    count: int
    read: Callable[[int], tuple[np.ndarray, np.ndarray]]
    size: Size | None = None
    multiple: int = 1
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    window: int = 0

    def tensors(
        self, device: str | torch.device, numbers: Sequence[int] | None = None
    ) -> Iterator[tuple[Tensor, np.ndarray]]:
        """Yield (image (1, 3, h, w), labels (H, W)) for all images, or some; with windows, each with the
        labels that no window before it had.
        """
        for number in range(self.count) if numbers is None else numbers:
            photo, labels = self.read(number)
            width, height = self.size or (photo.shape[1], photo.shape[0])
            size = (-(-width // self.multiple) * self.multiple, -(-height // self.multiple) * self.multiple)
            photo, at_size = resized(photo, labels, size)
            at_size = at_size.copy()  # do not change the reader's array
            for rows, columns in side_by_side(size, self.window):
                shown = torch.from_numpy(pixels(photo[rows, columns], self.mean, self.std))[None].to(device)
                if not self.window:
                    yield shown, labels
                    continue
                yield shown, at_size[rows, columns].copy()
                at_size[rows, columns] = IGNORED


def side_by_side(size: Size, window: int) -> list[tuple[slice, slice]]:
    """Return the windows (rows, columns) that cover an image of (width, height), the last of a row or column
    moved back to end with it; the whole image if ``window`` is 0.

    >>> [columns.start for _, columns in side_by_side((10, 4), 4)]
    [0, 4, 6]
    """
    sides = [min(window or length, length) for length in size]
    starts = [
        [min(at, length - side) for at in range(0, length, side)]
        for length, side in zip(size, sides, strict=True)
    ]
    return [
        (slice(top, top + sides[1]), slice(left, left + sides[0])) for top in starts[1] for left in starts[0]
    ]


def some_of(count: int, most: int) -> list[int]:
    """Return at most this many image numbers, evenly spread.

    >>> some_of(10, 3), some_of(2, 3)
    ([0, 3, 6], [0, 1])
    """
    return [k * count // most for k in range(most)] if count > most else [*range(count)]


def probabilities(said: Doubt, size: Size) -> Tensor:
    """Return a network's probabilities (N, C, H, W) at a size (width, height); for members, the mean of
    theirs after up-sampling. MetricError for logits or a size of another kind.
    """
    some_logits(said)
    if len(size) != 2 or min(size) < 1:
        raise MetricError(f"size is (width, height), each 1 or more; got {tuple(size)}")
    if said.own is not None:
        return _at_size(said.own, size).softmax(1)
    assert said.members is not None
    members = said.members.unbind(1)
    total = _at_size(members[0], size).softmax(1)
    for member in members[1:]:  # one after another, because all of them at this size take gigabytes
        total += _at_size(member, size).softmax(1)
    return total / len(members)


@torch.no_grad()
def validate(
    net: nn.Module,
    images: Images | Pairs,
    device: str | torch.device,
    most: int | None = None,
    classes: int | None = None,
) -> dict[str, float]:
    """Return the mean IoU (``miou``) and the negative log-likelihood per pixel (``nll``) of a network over
    images (at most ``most``, evenly spread, of an `Images`); NaN if no pixel is labelled. MetricError for
    images or labels of another kind.

    ``classes`` is the number of first channels that the mean is over: a channel for void pixels is not among
    them.
    """
    was = net.training
    net.eval()
    surprise = 0.0
    seen = 0
    counts = np.zeros((0, 0), np.int64)
    for image, labels in _shown(images, device, most):
        with in_memory(image):
            shares = probabilities(net(image), (labels.shape[1], labels.shape[0]))[0].float().cpu().numpy()
        counts = counts if counts.size else np.zeros((len(shares), len(shares)), np.int64)
        known = labels >= 0
        truth = labels[known].astype(np.int64)
        if truth.size and truth.max() >= len(shares):
            raise MetricError(f"a label is {truth.max()}; the network has channels 0 to {len(shares) - 1}")
        of_truth = np.take_along_axis(shares[:, known], truth[None], 0)[0]
        surprise -= float(np.log(np.maximum(of_truth, 1e-12), dtype=np.float64).sum())
        seen += len(truth)
        counts += np.bincount(
            truth * len(shares) + shares[:, known].argmax(0), minlength=counts.size
        ).reshape(counts.shape)
    net.train(was)
    shared = np.diag(counts)
    union = counts.sum(0) + counts.sum(1) - np.diag(counts)
    there = (union > 0) & (np.arange(len(union)) < (len(union) if classes is None else classes))
    return {
        "miou": float((shared[there] / union[there]).mean()) if there.any() else float("nan"),
        "nll": surprise / seen if seen else float("nan"),
    }


def _shown(
    images: Images | Pairs, device: str | torch.device, most: int | None
) -> Iterator[tuple[Tensor, np.ndarray]]:
    """Yield (image (1, 3, h, w), labels (H, W)) for images; at most ``most`` of an `Images`."""
    if isinstance(images, Images):
        yield from images.tensors(device, some_of(images.count, images.count if most is None else most))
        return
    for batch, given in images:
        tensors.floats(batch, "images", "(N, 3, H, W)")
        labels = tensors.places(given, "labels", "(N, H, W)")
        if len(batch) != len(labels) or not batch.numel() or not labels.numel():
            raise MetricError(
                f"images (N, 3, H, W) and labels (N, H, W) are of as many images, 1 or more; got"
                f" {tuple(batch.shape)} and {tuple(labels.shape)}"
            )
        yield from zip(batch.to(device).split(1), labels.cpu().numpy(), strict=True)


def _at_size(logits: Tensor, size: Size) -> Tensor:
    return nn.functional.interpolate(
        logits.float(), size=(size[1], size[0]), mode="bilinear", align_corners=False
    )
