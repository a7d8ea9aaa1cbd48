"""One pass of torch: what it raises in our words, and what layers give in it.

Conventions: layers are named as ``named_modules`` names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from faultscape.errors import ModelError, closest, is_out_of_memory, library_text
from faultscape.library_warnings import without_warnings

INPUT = ":in"  # behind a layer's name: what it is given, instead of what it gives


@contextmanager
def running(name: str, device: str, precision: str, *, gradients: bool = False) -> Iterator[None]:
    """Run torch at this precision, without gradients where they are not asked for; what it raises becomes
    ModelError, or MemoryError when memory is short.
    """
    import torch

    kind = device.partition(":")[0]
    try:
        with (
            torch.inference_mode(not gradients),
            torch.set_grad_enabled(gradients),
            torch.autocast(kind, getattr(torch, precision), enabled=precision != "float32"),
            without_warnings(),  # a person's network may warn; its result is what counts
        ):
            yield
    except ModelError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a network raises
        if is_out_of_memory(error):
            torch.cuda.empty_cache()  # nothing where there is no GPU
            raise MemoryError(library_text(error, first_line=True)) from None
        raise ModelError(f"{name}: the network failed: {type(error).__name__}: {_said(error)}") from None


def _said(error: BaseException) -> str:
    """Return what torch says in one line; that of TorchScript is its last, behind a trace of its code."""
    lines = str(error).strip().splitlines()
    if len(lines) > 1 and "TorchScript interpreter" in lines[0]:
        return library_text(RuntimeError(lines[-1].removeprefix("RuntimeError: ")), first_line=True)
    return library_text(error, first_line=True)


@contextmanager
def watched(module: Any, name: str, layers: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Keep what these layers of a module give while the block runs; ``LAYER:in`` is what a layer is given."""
    seen: dict[str, Any] = {}
    hooks = []
    known = dict(module.named_modules()) if layers and hasattr(module, "named_modules") else {}
    for word in layers:
        layer = word.removesuffix(INPUT)
        # of a network with another head
        layer = f"net.{layer}" if layer not in known and f"net.{layer}" in known else layer
        if layer not in known:
            some = ", ".join([key for key in known if key][-8:]) or "no layers with names"
            raise ModelError(
                f"{name}: has no layer {layer!r}.{closest(layer, [*known])} Its last layers are {some}"
            )
        if word.endswith(INPUT):
            hooks.append(
                known[layer].register_forward_pre_hook(
                    lambda _m, given, word=word: seen.__setitem__(word, _copied(given[0]))
                )
            )
        else:
            hooks.append(
                known[layer].register_forward_hook(
                    lambda _m, _i, out, word=word: seen.__setitem__(word, _copied(out))
                )
            )
    try:
        yield seen
        if silent := [layer for layer in layers if layer not in seen]:
            raise ModelError(
                f"{name}: its layer {silent[0]!r} is not called by the network, so it has no output to keep"
            )
    finally:
        for hook in hooks:
            hook.remove()


def _copied(value: Any) -> Any:
    """Return what a layer gave as it is now: an activation in place would overwrite it."""
    if hasattr(value, "clone"):
        return value.clone()
    if type(value) in (tuple, list):
        return type(value)(_copied(one) for one in value)
    return value
