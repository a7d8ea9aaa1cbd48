"""Torch tensors among what was given: found without importing torch, and read as arrays.

Conventions: a tensor cannot exist before torch is imported, so torch is only looked for among the modules
that are loaded.
"""

from __future__ import annotations

import sys
from typing import Any

from faultscape.errors import FaultscapeError, LabelMapError


def is_tensor(values: Any) -> bool:
    """Whether this is a torch tensor.

    >>> is_tensor([1, 2])
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def on_processor(values: Any, name: str, error: type[FaultscapeError] = LabelMapError) -> Any:
    """Return a tensor as an array, without a copy where it is in memory, and all else as it is; an error for
    a tensor that no array can hold.
    """
    if not is_tensor(values):
        return values
    tensor = values.detach()
    try:
        # NumPy has no bfloat16, and what is done with floats says so by itself
        tensor = tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor
        return tensor.cpu().resolve_conj().resolve_neg().numpy()
    except (TypeError, RuntimeError, NotImplementedError):
        raise error(
            f"{name}: expected a dense tensor of numbers; got {str(values.dtype).removeprefix('torch.')},"
            f" {str(values.layout).removeprefix('torch.')} on {values.device}"
        ) from None
