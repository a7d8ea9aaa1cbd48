"""Check what a public function is given instead of a tensor, so that an error says what was expected.

Conventions: only types and shapes are looked at, never values, so that no computation on a GPU is waited for.
Axes are written as in docstrings: ``(n, D)``, or ``(N, C, ...)`` for as many as there are.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from faultscape.errors import MetricError, ModelError


def floats(value: object, what: str, axes: str) -> Tensor:
    """Return a tensor of floating-point numbers with these axes; MetricError for anything else.

    >>> import torch
    >>> floats(torch.ones(2), "features", "(n, D)")
    Traceback (most recent call last):
    faultscape.errors.MetricError: features are (n, D); got (2,)
    """
    tensor = _tensor(value, what, axes)
    if not tensor.is_floating_point():
        raise MetricError(
            f"{what} are floating-point numbers {axes}; got {_kind(tensor)}; convert them with .float()"
        )
    return tensor


def places(value: object, what: str, axes: str) -> Tensor:
    """Return a tensor of whole numbers with these axes as int64; MetricError for anything else."""
    tensor = _tensor(value, what, axes)
    if tensor.is_floating_point() or tensor.is_complex():
        raise MetricError(f"{what} are whole numbers {axes}; got {_kind(tensor)}; convert them with .long()")
    return tensor.long()


def alike(given: Mapping[str, Tensor]) -> None:
    """Raise MetricError unless tensors, by their names, have one type and lie on one device."""
    kinds = {name: f"{_kind(tensor)} on {tensor.device}" for name, tensor in given.items()}
    if len({*kinds.values()}) > 1:
        each = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        raise MetricError(f"{', '.join(kinds)} have one type and device; got {each}")


def module(value: object) -> nn.Module:
    """Return a torch module; ModelError for anything else."""
    if not isinstance(value, nn.Module):
        raise ModelError(f"expected a torch module; got {type(value).__name__}")
    return value


def _tensor(value: object, what: str, axes: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise MetricError(
            f"{what} are a tensor {axes}; got {type(value).__name__}; make one with torch.as_tensor"
        )
    names = axes.strip("()").split(", ")
    enough = value.ndim >= len(names) - 1 if names[-1] == "..." else value.ndim == len([*filter(None, names)])
    if not enough:
        raise MetricError(f"{what} are {axes}; got {tuple(value.shape)}")
    return value


def _kind(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
