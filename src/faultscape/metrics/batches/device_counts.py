"""The pixel counts of a batch of label maps on the device where its tensors are, by torch.

Conventions: nothing is read back to the processor, so a value that is not a class is counted (``unknown``)
and refused later, by `Measure.compute`. Counts are int64 and equal to those of the kernels of ``maps``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from faultscape.classes.class_lists import table
from faultscape.errors import LabelMapError
from faultscape.nouns import UNKNOWN, Classes

if TYPE_CHECKING:
    import torch


def of_batch(truth: Any, prediction: Any, classes: Classes) -> dict[str, torch.Tensor]:
    """Return {both (N, C), truth_pixels (N, C + 1), predicted_pixels (N, C + 1), unknown (N, 2)} of tensors
    (N, H, W), of lists of (H, W), or of one map (H, W); LabelMapError for tensors that do not fit each other.
    """
    import torch

    if not all(isinstance(maps, torch.Tensor) for maps in (truth, prediction)):
        return _of_lists(truth, prediction, classes)
    for maps, what in ((truth, "truth"), (prediction, "prediction")):
        check_tensor(maps, what)
    if truth.device != prediction.device:
        raise LabelMapError(
            f"truth is on {truth.device} and prediction on {prediction.device}; move one to the other"
        )
    if truth.shape != prediction.shape:
        raise LabelMapError(
            f"prediction: has the shape {tuple(prediction.shape)} and the truth {tuple(truth.shape)}; give"
            " one for one, of one size"
        )
    count = 1 if truth.ndim == 2 else len(truth)
    if not truth.numel():
        raise LabelMapError(f"truth: expected whole numbers, N x H x W; got shape {tuple(truth.shape)}")
    c = len(classes)
    sides = c + 2  # classes, void, and values that are no class
    places = torch.from_numpy(table(classes).astype("int64")).clamp_(max=c + 1).to(truth.device)
    first = torch.arange(count, device=truth.device)[:, None] * sides
    row = first + _places(truth, places).reshape(count, -1)
    cell = row * sides + _places(prediction, places).reshape(count, -1)
    cells = torch.bincount(cell.reshape(-1), minlength=count * sides * sides).reshape(count, sides, sides)
    judged = cells[:, :c, : c + 1]
    # as of_reads has it: pixels void in the truth are nobody's
    of_truth = torch.nn.functional.pad(judged.sum(2), (0, 1))
    return {
        "both": judged.diagonal(dim1=1, dim2=2).contiguous(),
        "truth_pixels": of_truth,
        "predicted_pixels": judged.sum(1),
        "unknown": torch.stack([cells[:, c + 1].sum(1), cells[:, :, c + 1].sum(1)], 1),
    }


def _of_lists(truth: Any, prediction: Any, classes: Classes) -> dict[str, torch.Tensor]:
    import torch

    for maps, what in ((truth, "truth"), (prediction, "prediction")):
        if not isinstance(maps, list | tuple | torch.Tensor):
            raise LabelMapError(
                f"{what}: expected a tensor as the other is; got {type(maps).__name__}, which is not on its"
                " device"
            )
    true, predicted = ([maps] if getattr(maps, "ndim", 0) == 2 else [*maps] for maps in (truth, prediction))
    if not true or len(true) != len(predicted):
        raise LabelMapError(
            f"there are {len(true)} true maps and {len(predicted)} predicted ones; give one for one"
        )
    for maps, what in ((true, "truth"), (predicted, "prediction")):
        for k, one in enumerate(maps):
            if not isinstance(one, torch.Tensor):
                raise LabelMapError(f"{what}, image {k}: expected a tensor; got {type(one).__name__}")
    rows = [of_batch(one, other, classes) for one, other in zip(true, predicted, strict=True)]
    return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}


def check_tensor(maps: torch.Tensor, what: str) -> None:
    """Raise LabelMapError unless a tensor holds whole numbers, (N, H, W) or (H, W)."""
    kind = str(maps.dtype).removeprefix("torch.")
    if maps.is_floating_point() or maps.is_complex() or maps.is_quantized or maps.ndim not in (2, 3):
        cure = ""
        if maps.is_floating_point():
            cure = (
                "; convert labels with .long()"
                if maps.ndim in (2, 3)
                else "; of scores, give the class of the largest: .argmax over the axis of classes"
            )
        elif maps.ndim == 4 and 1 in maps.shape:
            cure = f"; .squeeze({[*maps.shape].index(1)}) removes the axis of length 1"
        raise LabelMapError(
            f"{what}: expected whole numbers, N x H x W; got {kind} of shape {tuple(maps.shape)}{cure}"
        )


def _places(maps: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return the place of each pixel, C + 1 for values that are not classes."""
    import torch

    if maps.dtype in (torch.uint8, torch.bool):
        return places[maps.long()]
    values = maps.long()
    return places[torch.where((values < 0) | (values > UNKNOWN), UNKNOWN, values)]
