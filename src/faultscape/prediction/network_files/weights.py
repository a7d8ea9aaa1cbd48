"""A digest of the weights in a loaded network, wherever its loader took them from.

Conventions: for a torch module, its state counts (tensors, and the packed weights of quantised layers). Any
other callable is searched for modules, tensors and arrays: in partials, bound methods, closures and defaults,
the globals of its file that its functions name, lists and dicts, and the attributes of objects, but not
objects within objects. The order is that of the code, so the same code with the same weights has the same
digest in every process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

import numpy as np


def digest(network: Any) -> tuple[str, bool]:
    """Return a digest of the weights in a network, '' if none were found, and whether all of them could be
    read.
    """
    import torch

    hashed = hashlib.sha256()
    any_found = False
    all_read = True
    seen: dict[int, Any] = {}  # kept alive, so that no two objects share an address
    todo = [network]
    while todo:
        thing = todo.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, torch.nn.Module):
            for name, value in [*thing.state_dict().items(), *_packed(thing)]:
                any_found = True
                all_read = _add(hashed, name, value) and all_read
        elif isinstance(thing, torch.Tensor | np.ndarray):
            any_found = True
            all_read = _add(hashed, "", thing) and all_read
        else:
            todo += reversed([*_within(thing)])
    return hashed.hexdigest() if any_found else "", all_read


def note(name: str, found: str, all_read: bool) -> tuple[str, ...]:
    """Return what the user of a network should know about the digest of its weights."""
    if found and all_read:
        return ()
    which = "some of its weights cannot be read" if found else "no weights were found in what it returns"
    return ((f"note: {name}: {which}, so changes to them go unnoticed; rename the model when they change"),)


def _within(thing: Any) -> Iterator[Any]:
    """Yield the contents of a callable, a container or an object."""
    import torch

    numbers = torch.nn.Module | torch.Tensor | np.ndarray
    if isinstance(thing, functools.partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, FunctionType):
        for cell in thing.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty closure cell
                yield cell.cell_contents
        yield from (*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values())
        named = (thing.__globals__.get(name) for name in thing.__code__.co_names)
        yield from (value for value in named if isinstance(value, numbers))
    elif isinstance(thing, list | tuple):
        yield from thing
    elif isinstance(thing, dict):
        yield from thing.values()
    elif not isinstance(thing, type):
        known = numbers | functools.partial | MethodType | FunctionType | list | tuple | dict
        yield from (value for value in getattr(thing, "__dict__", {}).values() if isinstance(value, known))
        yield from (
            kind.__dict__["__call__"]
            for kind in type(thing).__mro__
            if isinstance(kind.__dict__.get("__call__"), FunctionType)
        )


def _packed(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the packed weights within TorchScript, which its state leaves out."""
    import torch

    if isinstance(module, torch.jit.ScriptModule):
        for name, layer in module.named_modules():
            if isinstance(packed := getattr(layer, "_packed_params", None), torch.ScriptObject):
                yield f"{name}._packed_params", packed


def _add(hashed: Any, name: str, value: Any) -> bool:
    """Add a named value to a digest; False if it cannot be read or has no unique text."""
    import torch

    if isinstance(value, list | tuple | dict):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        unread = [key for key, one in inner if not _add(hashed, f"{name}.{key}", one)]
        return not unread
    if isinstance(value, torch.ScriptObject):
        return _add(hashed, name, _state(value))
    if isinstance(value, torch.Tensor):
        return _add_tensor(hashed, name, value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        hashed.update(
            f"{name} {value.dtype} {value.shape}\0".encode() + np.ascontiguousarray(value).tobytes()
        )
        return True
    if isinstance(value, str | bytes | bool | int | float | complex | torch.dtype | torch.device | None):
        hashed.update(f"{name} {value!r}\0".encode())
        return True
    return False


def _add_tensor(hashed: Any, name: str, value: Any) -> bool:
    import torch

    try:
        plain = value.detach().cpu()
        if plain.is_quantized:
            each = plain.qscheme() in (torch.per_channel_affine, torch.per_channel_affine_float_qparams)
            _add(hashed, f"{name} scale", plain.q_per_channel_scales() if each else plain.q_scale())
            _add(hashed, f"{name} zero", plain.q_per_channel_zero_points() if each else plain.q_zero_point())
            plain = plain.int_repr()
        plain = (
            (plain if plain.layout == torch.strided else plain.to_dense())
            .resolve_conj()
            .resolve_neg()
            .contiguous()
        )
        numbers = plain.reshape(-1).view(torch.uint8).numpy()
    except (RuntimeError, NotImplementedError, ValueError):
        # weights that are missing, or of a kind without a plain form
        return False
    hashed.update(f"{name} {value.dtype} {tuple(value.shape)}\0".encode())
    hashed.update(numbers.data)
    return True


def _state(packed: Any) -> Any:
    """Return the tensors of packed weights, or something that cannot be added if they cannot be read."""
    try:
        return packed.__getstate__()
    except (RuntimeError, NotImplementedError):
        return object()
