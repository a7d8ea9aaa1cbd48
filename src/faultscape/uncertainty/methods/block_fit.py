"""Train a small block beside a frozen network, on its features and logits for images with unknown objects.

Conventions: the network never runs here: a `Grids` holds its output for an image, and the images of a step
are drawn by the seed and the step, so that a killed fit goes on from its last checkpoint to the same block.
A cell of the logits is ``NEGATIVE`` where half of its pixels or more are of an unknown object, ``OPEN`` if it
has any void or withheld pixel and is not negative, and ``KNOWN`` otherwise; open cells count in no loss. A
loss is told how many cells of both kinds its batch has, so that the losses of the images of a batch add up to
that of the batch. Adam's rate falls linearly to 0. Nothing chooses a step by the negatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, interpolate

from faultscape.errors import MetricError, ModelError
from faultscape.maps.winners import enlarged
from faultscape.uncertainty.training import checkpoints

KNOWN, NEGATIVE, OPEN = 0, 1, 255
_LOOKS = 20  # checkpoints of a fit
_MEASURED = 16  # images that features are standardised by


@dataclass(frozen=True, eq=False)
class Grids:
    """The output of a frozen network for an image: the grids (D, h, w) of its layers and its logits (C, h,
    w), float16, and the label (h, w) uint8 of each cell of the logits.
    """

    features: tuple[Tensor, ...]
    logits: Tensor
    labels: Tensor

    @classmethod
    def of(cls, features: Sequence[Tensor], logits: np.ndarray, anomaly: np.ndarray) -> Grids:
        """Return an output, with the labels of the cells from anomaly labels (H, W)."""
        labels = cell_labels(anomaly, (logits.shape[1], logits.shape[2]))
        halves = tuple(grid.half() for grid in features)
        return cls(halves, torch.from_numpy(logits).half(), torch.from_numpy(labels))

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(one.element_size() * one.numel() for one in (*self.features, self.logits, self.labels))

    def shown(self, device: str) -> tuple[list[Tensor], Tensor, Tensor]:
        """Return features and logits of a batch of one in float32, and the labels (1, h, w), on a device."""
        features = [one[None].to(device).float() for one in self.features]
        return features, self.logits[None].to(device).float(), self.labels[None].to(device)


class Examples(Protocol):
    """Images to learn from."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def __call__(self, number: int) -> Sequence[Grids]:
        """Return the grids of an image, those of each window if it has several, none if it is unreadable."""
        ...


class Block(Protocol):
    """A module that is trained beside a network."""

    def measure(self, moments: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Take the means and deviations (D,) of the channels of each layer, and of the logits."""
        ...

    def loss(
        self, features: Sequence[Tensor], logits: Tensor, labels: Tensor, known: int, negative: int
    ) -> Tensor:
        """Return the share of these images in the loss of a batch with so many cells of both kinds."""
        ...


class Entrance(nn.Module):
    """A convolution of 1 x 1 over channels that it standardises: training sees channels of mean 0 and
    deviation 1, and use costs nothing more.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        made = nn.Linear(channels, width)
        self.weight = made.weight
        self.bias = made.bias
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("deviation", torch.ones(channels))

    def measure(self, mean: Tensor, deviation: Tensor) -> None:
        """Take the mean and the deviation (D,) of the channels."""
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)

    def forward(self, grid: Tensor) -> Tensor:
        """Return a grid (N, width, h, w) of a grid (N, D, h, w)."""
        weight = self.weight / self.deviation
        return conv2d(grid, weight[:, :, None, None], self.bias - weight @ self.mean)


class BlockMethod:
    """What fitted methods with a trained ``block`` share: their file holds the block, and a score on its grid
    (N, 1, h, w) is enlarged.
    """

    epsilon = 0.0

    def __init__(self, layers: Sequence[str], block: nn.Module, tensors: Mapping[str, Tensor]) -> None:
        self.layers = tuple(layers)
        block.load_state_dict(dict(tensors))
        block.eval().requires_grad_(requires_grad=False)
        self._trained = block

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the score resized bilinearly."""
        return np.array(enlarged(values[0], size)[0])

    def tensors(self) -> dict[str, Tensor]:
        """Return all that the block holds."""
        return {name: value.cpu() for name, value in self._trained.state_dict().items()}


@dataclass(frozen=True)
class BlockPlan:
    """How a block is trained."""

    steps: int  # training steps, one batch each
    rate: float  # Adam's learning rate in the first step
    batch: int  # images drawn for a step
    seed: int = 0  # determines the initial block and the batches


def cell_labels(anomaly: np.ndarray, sides: tuple[int, int]) -> np.ndarray:
    """Return the label of each cell of a grid (h, w) over anomaly labels (H, W).

    >>> cell_labels(np.array([[1, 0, 0, 255, 0, 0], [1, 1, 0, 0, 0, 1]]), (1, 3)).tolist()
    [[1, 255, 0]]
    """
    rows, columns = (np.arange(n) * side // n for n, side in zip(anomaly.shape, sides, strict=True))
    place = (rows[:, None] * sides[1] + columns).ravel()
    cells = sides[0] * sides[1]
    values = anomaly.ravel()
    objects = np.bincount(place[values == 1], minlength=cells)
    others = np.bincount(place[values > 1], minlength=cells)
    negative = (2 * objects >= np.bincount(place, minlength=cells)) & (objects > 0)
    found = np.where(negative, NEGATIVE, np.where(others > 0, OPEN, KNOWN))
    return found.astype(np.uint8).reshape(sides)


def shape_of(examples: Examples) -> tuple[list[int], int]:
    """Return the channels of each layer and of the logits; MetricError if no image can be read."""
    for number in range(len(examples)):
        for part in examples(number):
            return [len(grid) for grid in part.features], len(part.logits)
    raise MetricError("none of the images to learn from can be read")


def at_size(grid: Tensor, sides: Sequence[int]) -> Tensor:
    """Return a grid (N, D, h, w) bilinear at sides (h, w)."""
    if tuple(grid.shape[2:]) == tuple(sides):
        return grid
    return interpolate(grid, size=(sides[0], sides[1]), mode="bilinear", align_corners=False)


def train_block(
    block: nn.Module,
    examples: Examples,
    plan: BlockPlan,
    folder: Path | None = None,
    key: str = "",
    device: str = "cpu",
    tick: Callable[[int], None] = lambda _: None,
    *,
    negatives: bool = True,
) -> float:
    """Train a block (`Block`), leave it on the CPU in evaluation mode, and return its mean loss in the last
    twentieth of its steps.

    Checkpoints with this ``key`` are written to a folder, and removed at the end. Errors: MetricError if no
    image has a negative cell although ``negatives`` are asked for, ModelError if the loss is not finite.
    """
    learner: Any = block
    optimiser = torch.optim.Adam(block.parameters(), plan.rate)
    about: dict[str, Any] = checkpoints.read(folder, key, block, optimiser) if folder else {"step": 0}
    if not about["step"]:
        learner.measure(_moments(examples, plan.seed, negatives=negatives))
    block.to(device).train()
    for held in optimiser.state.values():  # of a checkpoint
        for name, value in held.items():
            if isinstance(value, Tensor) and name != "step":
                held[name] = value.to(device)
    losses = list[float](about.get("losses", []))
    every = max(1, plan.steps // _LOOKS)
    tick(int(about["step"]))
    for step in range(int(about["step"]), plan.steps):
        value = _step(learner, optimiser, examples, plan, step, device)
        if not np.isfinite(value):
            raise ModelError(f"the loss is {value} at step {step + 1}; lower --rate, or choose another layer")
        losses = [*losses, value][-every:]
        tick(1)
        if folder and (step + 1) % every == 0 and step + 1 < plan.steps:
            checkpoints.write(folder, step + 1, key, block, optimiser, {"losses": losses})
    if folder:
        checkpoints.remove(folder)
    block.cpu().eval().requires_grad_(requires_grad=False)
    return float(np.mean(losses))


def _step(
    learner: Any,
    optimiser: torch.optim.Optimizer,
    examples: Examples,
    plan: BlockPlan,
    step: int,
    device: str,
) -> float:
    """Take one step, and return its loss; 0 for a batch without an image that can be read."""
    drawn = np.random.default_rng([plan.seed, step]).integers(0, len(examples), plan.batch)
    parts = [part for number in drawn.tolist() for part in examples(number)]
    known, negative = (sum(int((part.labels == kind).sum()) for part in parts) for kind in (KNOWN, NEGATIVE))
    for group in optimiser.param_groups:
        group["lr"] = plan.rate * (1 - step / plan.steps)
    optimiser.zero_grad()
    total = 0.0
    for part in parts:
        value = learner.loss(*part.shown(device), max(known, 1), max(negative, 1))
        value.backward()
        total += float(value.detach())
    if parts:
        torch.nn.utils.clip_grad_norm_(learner.parameters(), 10.0)
        optimiser.step()
    return total


def _moments(examples: Examples, seed: int, *, negatives: bool) -> list[tuple[Tensor, Tensor]]:
    """Return the mean and the deviation of each channel of each layer, and of the logits, over some images;
    MetricError if ``negatives`` are asked for and none of all images has a negative cell.
    """
    parts = list[Grids]()
    found = not negatives
    for number in np.random.default_rng(seed).permutation(len(examples)).tolist():
        parts += examples(number) if len(parts) < _MEASURED else ()
        found = found or any(bool((part.labels == NEGATIVE).any()) for part in examples(number))
        if found and len(parts) >= _MEASURED:
            break
    if not found:
        raise MetricError("no cell of the network's output shows an unknown object; blend larger ones")
    layers = zip(*((*part.features, part.logits) for part in parts), strict=True)
    out = []
    for grids in layers:
        rows = torch.cat([grid.flatten(1).double() for grid in grids], 1)
        out.append((rows.mean(1).float(), rows.std(1, correction=0).clamp_min(1e-6).float()))
    return out
