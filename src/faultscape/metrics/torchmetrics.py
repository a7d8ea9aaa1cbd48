"""`Measure` as a metric of torchmetrics, so that Lightning logs it, synchronises ranks and resets it:
``from faultscape.metrics.torchmetrics import MeasureMetric``.

Conventions: needs the extra ``torchmetrics``; nothing else in the package imports this file. Order of
arguments is torchmetrics' own: (predictions, targets). States are the statistics of each image, lists of
tensors that are joined over ranks in the order of ranks, so that sums are exact.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import torch

from faultscape.arguments import ClassList
from faultscape.choices import VoidRule
from faultscape.errors import OptionError
from faultscape.metrics.batches.measure import PIXELS, Interval, Measure
from faultscape.metrics.definitions import MapChoices

try:
    from torchmetrics import Metric
except ImportError:
    raise OptionError("torchmetrics is not installed: pip install 'faultscape[torchmetrics]'") from None

_ALONE = 0  # instead of the number of a group: an image that is one by itself


class MeasureMetric(Metric):
    """A `Measure` that torchmetrics and Lightning know: update(predictions, targets), compute, reset, sync.

    With the name of one metric, compute gives its value, as ``self.log("val_miou", metric)`` wants it. With
    several, it gives {name, name_low, name_high} of each, for ``self.log_dict(metric.compute())``. Values are
    float64. Metrics of pixels are counted on the device, others on the processor (see `Measure`). Errors are
    those of `Measure`.

    Parameters
    ----------
    classes
        Classes, a built-in name, names or a number.
    metrics
        The name of one metric of label maps, or names of several; default: those of pixels.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; a number names the void id, for classes given as a number or as names.
    definitions
        Those of `define` that concern label maps, by name.
    """

    full_state_update = False
    is_differentiable = False

    def __init__(
        self,
        classes: ClassList,
        metrics: str | Sequence[str] = PIXELS,
        *,
        background: int | None = None,
        void: VoidRule | int | tuple[int, ...] = "cut",
        **definitions: Unpack[MapChoices],
    ) -> None:
        super().__init__()
        names = [metrics] if isinstance(metrics, str) else [*metrics]
        self.measure = Measure(classes, names, background=background, void=void, **definitions)
        self.single = metrics if isinstance(metrics, str) else None
        for name in statistics_of(self.measure):
            self.add_state(name, default=[], dist_reduce_fx="cat")
        self.add_state("groups_of_images", default=[], dist_reduce_fx="cat")

    @property
    def higher_is_better(self) -> bool | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether large is good; None for several metrics."""
        return self.measure.metrics[0].better == "high" if self.single else None

    def update(self, predictions: Any, targets: Any, groups: Sequence[str] | str | None = None) -> None:
        """Count a batch of (N, H, W) maps of class ids.

        Parameters
        ----------
        predictions, targets
            (N, H, W) maps of class ids, or one (H, W): tensors or arrays of whole numbers.
        groups
            The group of each image (N), '' for none: images of one group are redrawn together.
        """
        batch, names = self.measure.counted(targets, predictions, groups)
        for name, values in batch.items():
            getattr(self, name).append(torch.as_tensor(values, device=self.device))
        numbers = torch.tensor([_number_of(name) for name in names], dtype=torch.int64, device=self.device)
        self.groups_of_images.append(numbers)

    def compute(self) -> torch.Tensor | dict[str, torch.Tensor]:
        """Return the value of one metric, or {name, name_low, name_high} of several; MetricError where there
        is no image.
        """
        stats = {name: _joined(getattr(self, name)) for name in statistics_of(self.measure)}
        numbers = _joined(self.groups_of_images)
        groups = [] if numbers is None else ["" if n == _ALONE else str(n) for n in numbers.tolist()]
        whole = Measure.like(self.measure)
        if groups:
            whole.add({name: values for name, values in stats.items() if values is not None}, groups)
        found = whole.compute()
        if self.single:
            return self._number(found[self.single].value)
        return {key: self._number(value) for key, value in _flat(found).items()}

    def _number(self, value: float) -> torch.Tensor:
        return torch.tensor(value, dtype=torch.float64, device=self.device)


def statistics_of(measure: Measure) -> list[str]:
    """Return the names of the statistics that a measure keeps of an image."""
    shape = (2, 2)
    like = Measure.like(measure)
    one = np.full(shape, like.classes.ids[0], np.int64)
    return [*like.counted(one, one)[0]]


def _flat(found: Mapping[str, Interval]) -> dict[str, float]:
    out = {}
    for name, (value, low, high) in found.items():
        out |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return out


def _joined(parts: Any) -> Any:
    """Return what ranks or batches hold, joined, as an array; None where there is nothing."""
    if isinstance(parts, torch.Tensor):  # after a sync
        return parts.cpu().numpy()
    return torch.cat(list(parts)).cpu().numpy() if len(parts) else None


def _number_of(group: str) -> int:
    """Return a number that no other group has: states are tensors, and names are not."""
    if not group:
        return _ALONE
    return int.from_bytes(hashlib.blake2b(group.encode(), digest_size=8).digest(), "big", signed=True)
