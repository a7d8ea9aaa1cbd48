"""Scores that stay on the device where a network computed them: labels and facts of pixels are made there,
and only these, at the size of the labels, reach the CPU.

Conventions: those of `faultscape.maps.winners` and `faultscape.metrics.pixel_facts`, whose kernels this
follows: it interpolates with the same float32 operations in the same order, so that on a CPU labels are equal
to the bit; sums of softmax are equal up to rounding. Where the device is short of memory, the kernels do it.
To whatever else asks for them, scores are an array, copied from the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faultscape.errors import is_out_of_memory
from faultscape.maps import winners
from faultscape.maps.winners import INFINITE, between

_TINY = 1.2e-38
_LEAST = -87.0  # exp of less is not a normal float32
_AT_ONCE = 1 << 25  # interpolated scores on the device at once


class DeviceScores:
    """Scores (..., C, h, w) float32 of a network, on its device; an index gives those of one image."""

    dtype = np.dtype(np.float32)

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.shape = tuple(tensor.shape)
        self.ndim = tensor.ndim
        self.size = tensor.numel()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, place: Any) -> Any:
        return DeviceScores(self._tensor[place])

    def transpose(self, *axes: int) -> DeviceScores:
        """Return the scores with their axes in another order, as those of an array."""
        return DeviceScores(self._tensor.permute(*axes))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self._tensor.cpu().numpy()
        return found if dtype in (None, found.dtype) else found.astype(dtype, copy=copy is not False)

    def labels(self, size: tuple[int, int]) -> np.ndarray | None:
        """Return what `winners.labels` returns of scores (C, h, w)."""
        try:
            return self._labels(size)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        return winners.labels(np.asarray(self), size)

    def _labels(self, size: tuple[int, int]) -> np.ndarray | None:
        import torch

        with torch.inference_mode():
            if bool(self._tensor.isnan().any()):
                return None
            kind = torch.uint8 if len(self) <= 256 else torch.int32
            out = torch.empty((size[1], size[0]), dtype=kind, device=self._tensor.device)
            for rows, scores in self._strips(size):
                out[rows] = scores.argmax(0).to(kind)
            found = out.cpu().numpy()
        return found if len(self) <= 256 else found.astype(np.uint16)

    def softmax_sums(self, size: tuple[int, int], *, marginal: bool) -> np.ndarray | None:
        """Return (4, H, W) what the kernel `softmax_sums` fills from scores (C, h, w): the largest logit, e
        of the second, the sum of e over all but the winner, and the sum there of e (top - logit). None where
        the device is short of memory.
        """
        try:
            return self._sums(size, marginal=marginal)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        return None

    def _sums(self, size: tuple[int, int], *, marginal: bool) -> np.ndarray:
        import torch

        with torch.inference_mode():
            out = torch.empty((4, size[1], size[0]), device=self._tensor.device)
            for rows, strip in self._strips(size):
                scores = strip.clamp_min(_TINY).log() if marginal else strip
                top, best = scores.max(0)
                gap = scores - top
                e = gap.clamp_min(_LEAST).exp()
                e.scatter_(0, best[None], 0.0)
                second = e.amax(0) if len(e) > 1 else torch.full_like(top, _LEAST).exp()
                out[:, rows] = torch.stack([top, second, e.sum(0), -(e * gap).sum(0)])
            return out.cpu().numpy()

    def _strips(self, size: tuple[int, int]) -> Any:
        """Yield some rows of a result of a size, (width, height), and the scores (C, rows, W) there."""
        import torch

        scores = self._tensor.clamp(-INFINITE, INFINITE)
        if (scores.shape[2], scores.shape[1]) == tuple(size):
            yield slice(None), scores
            return
        down, right = (
            [torch.from_numpy(values).to(scores.device) for values in between(old, new)]
            for old, new in zip(scores.shape[1:], (size[1], size[0]), strict=True)
        )
        strip = max(1, _AT_ONCE // max(1, len(scores) * size[0]))
        for y in range(0, size[1], strip):
            rows = slice(y, min(y + strip, size[1]))
            upper, lower, share = (values[rows] for values in down)
            share = share[:, None]
            lines = (1 - share) * scores[:, upper] + share * scores[:, lower]
            left, other, weight = right
            yield rows, (1 - weight) * lines[..., left] + weight * lines[..., other]


def scores_or_array(value: Any, axis: int) -> np.ndarray | DeviceScores:
    """Return logits of four axes, with classes on an ``axis``, where another library left them (DLPack), and
    anything else as an array.
    """
    import torch

    tensor = torch.from_dlpack(value)
    scored = tensor.ndim == 4 and tensor.is_floating_point() and tensor.shape[axis] > 1
    return DeviceScores(tensor.float()) if scored else tensor.cpu().numpy()
