"""Scores that stay on the device where a network computed them: labels and facts of pixels are made there,
and only these, at the size of the labels, reach the CPU.

Conventions: those of `faultscape.maps.winners` and `faultscape.metrics.pixel_facts`, whose kernels this
follows: it interpolates with the same float32 operations in the same order, so that on a CPU labels are equal
to the bit; sums of softmax are equal up to rounding, and so are labels of members, which are classes of such
sums. Where the device is short of memory, the kernels do it. To whatever else asks for them, scores are an
array, copied from the device; arithmetic of arrays stays on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from faultscape.errors import is_out_of_memory
from faultscape.maps import winners
from faultscape.maps.winners import INFINITE, between
from faultscape.metrics.pixel_facts import EXPONENT

_TINY = 1.2e-38
_LEAST = -87.0  # exp of less is not a normal float32
_AT_ONCE, _AT_ONCE_ON_GPU = 1 << 19, 1 << 25  # interpolated scores at once, to fit a CPU's cache
_MOST = 30.0  # of a Dirichlet's logit, as in trained_doubt
_NEAR = 0.1  # below this, a series loses less precision than a difference
_SERIES = (1 / 56, 1 / 42, 1 / 30, 1 / 20, 1 / 12, 1 / 6, 1 / 2)

# functions of arrays that torch has under the same names
_OF_TORCH = {"add", "subtract", "multiply", "divide", "negative", "exp", "log", "log1p", "minimum", "maximum"}


class DeviceScores(NDArrayOperatorsMixin):
    """Scores (..., C, h, w) float32 of a network, on its device; an index gives those of one image. What is
    made of them for each pixel, (H, W), may stay there in the same form.

    What is made of pixels is None where the device is short of memory, unless it is then made elsewhere.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.shape = tuple(tensor.shape)
        self.ndim = tensor.ndim
        self.size = tensor.numel()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, place: Any) -> DeviceScores:
        if place == (..., slice(None, None, -1)):  # torch has no steps back
            return DeviceScores(self.tensor.flip(-1))
        return DeviceScores(self.tensor[place])

    def __iter__(self) -> Iterator[DeviceScores]:
        return map(DeviceScores, self.tensor)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.tensor.cpu().numpy()
        return found if dtype in (None, found.dtype) else found.astype(dtype, copy=copy is not False)

    def transpose(self, *axes: int) -> DeviceScores:
        """Return the scores with their axes in another order, as those of an array."""
        return DeviceScores(self.tensor.permute(*axes))

    def copy(self) -> Any:
        """Return a copy, as that of an array."""
        made = _there(self.tensor.clone)
        return np.array(self) if made is None else DeviceScores(made)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any
    ) -> Any:
        """Return what a function of arrays gives: on the device where torch has it too."""
        there = method == "__call__" and ufunc.__name__ in _OF_TORCH and not options
        if there and all(isinstance(one, DeviceScores) for one in out):
            import torch

            function = getattr(torch, ufunc.__name__)
            into = {"out": out[0].tensor} if out else {}
            made = _there(lambda: function(*map(self._beside, inputs), **into))
            if made is not None:
                return DeviceScores(made)
        arrays = tuple(one for one in out if isinstance(one, np.ndarray))
        return getattr(ufunc, method)(
            *map(np.asarray, inputs), **options, **({"out": arrays} if arrays else {})
        )

    def _beside(self, other: Any) -> Any:
        """Return other scores, or numbers, as a tensor on this device."""
        import torch

        held = (
            other.tensor if isinstance(other, DeviceScores) else torch.tensor(np.asarray(other, np.float32))
        )
        return held.to(self.tensor.device)

    def zeros(self, size: tuple[int, int]) -> Any:
        """Return what `winners.zeros` returns of scores (C, h, w)."""
        made = _there(lambda: self.tensor.new_zeros((len(self), size[1], size[0])))
        return winners.zeros(np.asarray(self), size) if made is None else DeviceScores(made)

    def enlarged(self, size: tuple[int, int], rows: slice) -> Any:
        """Return what `winners.enlarged` returns of scores (C, h, w)."""
        made = _there(lambda: _stretched(self.tensor, size)(rows))
        return winners.enlarged(np.asarray(self), size, rows) if made is None else DeviceScores(made)

    def holds_nan(self) -> bool:
        """Return what `winners.holds_nan` returns."""
        found = _there(lambda: bool(self.tensor.isnan().any()))
        return winners.holds_nan(np.asarray(self)) if found is None else found

    def labels(self, size: tuple[int, int]) -> np.ndarray | None:
        """Return what `winners.labels` returns of scores (C, h, w)."""
        if self.holds_nan():
            return None
        found = self._made(size, lambda scores: [_as_labels(scores.argmax(0), len(self))])
        return winners.labels(np.asarray(self), size) if found is None else _few(found[0], len(self))

    def confidence(self, size: tuple[int, int], *, marginal: bool) -> np.ndarray:
        """Return what `winners.confidence` returns of scores (C, h, w)."""

        def steps(scores: Any) -> list[Any]:
            return [(_probabilities(scores, marginal=marginal).amax(0) * 255).round().byte()]

        found = self._made(size, steps)
        return winners.confidence(np.asarray(self), size, marginal=marginal) if found is None else found[0]

    def softmax_sums(self, size: tuple[int, int], *, marginal: bool) -> Sequence[Any] | None:
        """Return (H, W), on the device, what the kernel `softmax_sums` fills from scores (C, h, w): the
        largest logit, e of the second, the sum of e over all but the winner, and the sum there of e (top -
        logit).
        """

        def sums(scores: Any) -> list[Any]:
            top, _, gap, _, rest = _exponentials(scores, marginal=marginal)
            # of one class the second is as far as can be
            second = rest.amax(0) if len(rest) > 1 else rest[0] + np.exp(np.float32(_LEAST)).item()
            return [top, second, rest.sum(0), -(rest * gap).sum(0)]

        found = _there(lambda: self._made_there(size, sums))
        return None if found is None else list(map(DeviceScores, found))

    def generalised(self, size: tuple[int, int], *, marginal: bool) -> np.ndarray | None:
        """Return the generalised entropy (H, W) of scores (C, h, w)."""
        found = self._made(size, lambda scores: [_generalised(scores, marginal=marginal)])
        return None if found is None else found[0]

    def class_share(self, channel: int, size: tuple[int, int]) -> np.ndarray | None:
        """Return the probability (H, W) of one channel of logits (C, h, w)."""
        found = self._made(size, lambda scores: [_probabilities(scores, marginal=False)[channel]])
        return None if found is None else found[0]

    def differential_entropy(self, size: tuple[int, int]) -> np.ndarray | None:
        """Return the differential entropy (H, W) of the Dirichlet of logits (C, h, w)."""
        found = self._made(size, lambda scores: [_differential_entropy(scores)])
        return None if found is None else found[0]

    def member_sums(
        self, others: Sequence[Any], size: tuple[int, int], kinds: Sequence[bool]
    ) -> Sequence[Any] | None:
        """Return (H, W) the facts of the mean probability of these scores and those of other members: the
        label and, on the device, the winner, the second, the sum of all others, the entropy, the mean of the
        members' entropies and the mean divergence of the members from their mean. ``kinds`` says which
        members are marginal.
        """

        def sums(*members: Any) -> list[Any]:
            return _of_mean(*_mean(members, kinds))

        found = _there(lambda: self._made_there(size, sums, others))
        if found is None:
            return None
        return [_few(found[0].cpu().numpy(), len(self)), *map(DeviceScores, found[1:])]

    def generalised_of_members(
        self, others: Sequence[Any], size: tuple[int, int], kinds: Sequence[bool]
    ) -> np.ndarray | None:
        """Return the generalised entropy (H, W) of the mean probability of these scores and others."""
        found = self._made(
            size, lambda *members: [_generalised(_mean(members, kinds)[0], marginal=True)], others
        )
        return None if found is None else found[0]

    def _made(
        self, size: tuple[int, int], make: Callable[..., Sequence[Any]], others: Sequence[Any] = ()
    ) -> list[np.ndarray] | None:
        """Return arrays (H, W) that are made from the scores at a size (width, height), some rows at a time:
        from these (C, rows, W) and those of others.
        """
        return _there(lambda: [held.cpu().numpy() for held in self._made_there(size, make, others)])

    def _made_there(
        self, size: tuple[int, int], make: Callable[..., Sequence[Any]], others: Sequence[Any] = ()
    ) -> list[Any]:
        members = [self.tensor, *map(self._beside, others)]
        stretched = [_stretched(scores, size) for scores in members]
        most = _AT_ONCE_ON_GPU if self.tensor.is_cuda else _AT_ONCE
        step = max(1, most // max(1, sum(map(len, members)) * size[0]))
        out: list[Any] = []
        for y in range(0, size[1], step):
            rows = slice(y, min(y + step, size[1]))
            found = make(*(scores(rows) for scores in stretched))
            out = out or [values.new_empty((size[1], size[0])) for values in found]
            for whole, values in zip(out, found, strict=True):
                whole[rows] = values
        return out


def _there(make: Callable[[], Any]) -> Any:
    """Return what torch makes on a device, or None where that is short of memory."""
    import torch

    try:
        with torch.inference_mode():
            return make()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    return None


def _stretched(scores: Any, size: tuple[int, int]) -> Callable[[slice], Any]:
    """Return a function that returns some rows of scores (C, h, w), all finite, at a size."""
    import torch

    scores = scores.clamp(-INFINITE, INFINITE)
    if (scores.shape[2], scores.shape[1]) == tuple(size):
        return lambda rows: scores[:, rows]
    down, (left, right, weight) = (
        [torch.from_numpy(values).to(scores.device) for values in between(old, new)]
        for old, new in zip(scores.shape[1:], (size[1], size[0]), strict=True)
    )

    def stretch(rows: slice) -> Any:
        upper, lower, share = (values[rows] for values in down)
        share = share[:, None]
        lines = (1 - share) * scores[:, upper] + share * scores[:, lower]
        return (1 - weight) * lines[..., left] + weight * lines[..., right]

    return stretch


def _as_labels(best: Any, classes: int) -> Any:
    """Return labels in the fewest bytes that torch has for them."""
    return best.byte() if classes <= 256 else best.int()


def _few(labels: np.ndarray, classes: int) -> np.ndarray:
    return labels if classes <= 256 else labels.astype(np.uint16)


def _exponentials(scores: Any, *, marginal: bool) -> tuple[Any, Any, Any, Any, Any]:
    """Return the largest logit and its class (1, rows, W), (logit - it), the exponential of that, and this
    with 0 for the largest.
    """
    logits = scores.clamp_min(_TINY).log() if marginal else scores
    top, best = logits.max(0, keepdim=True)
    gap = logits - top
    e = gap.clamp_min(_LEAST).exp()
    return top[0], best, gap, e, e.scatter(0, best, 0.0)


def _probabilities(scores: Any, *, marginal: bool) -> Any:
    """Return the probabilities (C, rows, W) of scores; equal ones where all marginal scores are 0."""
    if not marginal:
        e = (scores - scores.amax(0)).exp()
        return e / e.sum(0)
    shares = scores.clamp_min(0)
    total = shares.sum(0)
    return (shares / total).where(total > 0, 1 / len(shares))


def _generalised(scores: Any, *, marginal: bool) -> Any:
    """Return the sum over classes of (p (1 - p)) ^ EXPONENT."""
    _, best, gap, e, rest = _exponentials(scores, marginal=marginal)
    others = rest.sum(0, keepdim=True)
    total = 1 + others
    beside = (total - e).scatter(0, best, others).clamp_min(_TINY)  # 1 - p of the winner is not a difference
    powers = (EXPONENT * (gap + beside.log() - 2 * total.log())).clamp_min(_LEAST)
    return powers.exp().sum(0)


def _differential_entropy(logits: Any) -> Any:
    import torch

    alpha = logits.clamp(-_MOST, _MOST).double().exp()
    whole = alpha.sum(0)
    entropy = torch.lgamma(alpha).sum(0) - torch.lgamma(whole) + (whole - len(alpha)) * torch.digamma(whole)
    return (entropy - ((alpha - 1) * torch.digamma(alpha)).sum(0)).float()


def _mean(members: Sequence[Any], kinds: Sequence[bool]) -> tuple[Any, list[Any], Any]:
    """Return the mean of members' probabilities, (C, rows, W), these of each, and the mean of their
    entropies.
    """
    shares, entropies = [], []
    for scores, marginal in zip(members, kinds, strict=True):
        _, _, gap, e, rest = _exponentials(scores, marginal=marginal)
        others = rest.sum(0)
        part = 1 / (1 + others)
        shares.append(e * part)
        entropies.append(others.log1p() - (rest * gap).sum(0) * part)
    return sum(shares) * (1 / len(shares)), shares, sum(entropies) / len(entropies)


def _of_mean(mean: Any, shares: Sequence[Any], own: Any) -> list[Any]:
    """Return the facts of members' mean probability that `DeviceScores.member_sums` returns."""
    winner, best = mean.max(0, keepdim=True)
    rest = mean.scatter(0, best, 0.0)
    others = rest.sum(0)
    held = mean.clamp_min(_TINY)
    entropy = winner[0] * (others / winner[0]).log1p() - (rest * held.log()).sum(0)
    information = sum((held * _divergence((share - mean) / held)).sum(0) for share in shares) / len(shares)
    return [_as_labels(best[0], len(mean)), winner[0], rest.amax(0), others, entropy, own, information]


def _divergence(away: Any) -> Any:
    """Return r log r - r + 1 of r = 1 + ``away``, without a difference where these are close."""
    series = _SERIES[0]
    for factor in _SERIES[1:]:
        series = factor - away * series
    ratio = (away + 1).clamp_min(_TINY)
    return (away * away * series).where(away.abs() < _NEAR, ratio * ratio.log() - away)


def tensor_of(values: np.ndarray | DeviceScores, device: str) -> Any:
    """Return scores or an array as a tensor on a device, without a copy where they lie there."""
    import torch

    held = values.tensor if isinstance(values, DeviceScores) else torch.from_numpy(values)
    return held.to(device)


def scores_or_array(value: Any, axis: int) -> np.ndarray | DeviceScores:
    """Return logits of four axes or more, with classes on an ``axis``, where another library left them
    (DLPack), and anything else as an array.
    """
    import torch

    tensor = torch.from_dlpack(value)
    scored = tensor.ndim > 3 and tensor.is_floating_point() and tensor.shape[axis] > 1
    tensor = tensor.float() if tensor.is_floating_point() else tensor
    return DeviceScores(tensor) if scored else tensor.cpu().numpy()
