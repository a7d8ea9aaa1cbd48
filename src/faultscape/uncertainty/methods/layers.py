"""The layers of a network that a method can tap: by name, all that give a grid of features, or what the last
layer is given.

Conventions: names are those of ``named_modules``; ``LAYER:in`` is what a layer is given. Of a network with
another head (`replace_head`) a layer may be named as in the network itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import torch
from torch import nn

from faultscape.errors import ModelError, closest
from faultscape.uncertainty.methods.embeddings import as_grid
from faultscape.uncertainty.replace import last_layer

INPUT = ":in"
_EITHER = 0.05  # of features of a layer before an activation are of each sign


def penultimate(net: nn.Module) -> str:
    """Return the word for what the last layer of a network is given.

    >>> penultimate(nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.Conv2d(8, 2, 1)))
    '2:in'
    """
    return f"{last_layer(net)[0]}{INPUT}"


def before_activation(net: nn.Module, run: Callable[[], object], size: tuple[int, int]) -> str:
    """Return the last layer that gives a grid of features of either sign when ``run`` shows the network an
    image of ``size``, before what the last layer is given: behind an activation many features are the same
    number, and have no density (Blum et al. 2021, appendix B.6).
    """
    signed: set[str] = set()

    def look(name: str, value: torch.Tensor) -> None:
        if (value < 0).float().mean() > _EITHER and (value > 0).float().mean() > _EITHER:
            signed.add(name)

    found = [name for name in grid_layers(net, run, size, look) if name in signed]
    return found[-1] if found else penultimate(net)


def check_layers(net: nn.Module, layers: Sequence[str], name: str) -> None:
    """ModelError for a layer that a network does not have, with the near ones."""
    known = [key for key, _ in net.named_modules() if key]
    for layer in layers:
        plain = layer.removesuffix(INPUT)
        if plain not in known and f"net.{plain}" not in known:
            raise ModelError(
                f"{name}: has no layer"
                f" {plain!r}.{closest(plain, [*known, *(key.removeprefix('net.') for key in known)])} Its"
                f" last layers are {', '.join(known[-8:])}"
            )


def grid_layers(
    net: nn.Module,
    run: Callable[[], object],
    size: tuple[int, int],
    look_at: Callable[[str, torch.Tensor], None] = lambda *_: None,
) -> list[str]:
    """Return the layers that give a grid of features over an image of ``size`` (height, width) when ``run``
    shows the network one, in the order in which they run, up to what the last layer is given, which is the
    last of them.

    Left out is what runs after the last layer, or in an auxiliary head; of layers that give the same numbers
    the last is there. ``look_at`` sees each with what it gave.
    """
    head, last = last_layer(net)
    seen: dict[str, tuple[torch.Size, bytes]] = {}  # the shape and a digest of what layers gave
    done, hooks = list[bool](), []

    def note(name: str, value: object) -> None:
        value = value[0] if isinstance(value, tuple | list) and value else value
        if isinstance(value, torch.Tensor) and value.ndim in (3, 4) and name not in seen and not done:
            try:
                as_grid(value, size)
            except ModelError:
                return
            held = value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
            seen[name] = value.shape, hashlib.sha256(held).digest()
            look_at(name, value)

    def begin(_module: nn.Module, given: object) -> None:
        note(f"{head}{INPUT}", given)
        done.append(True)

    hooks.append(last.register_forward_pre_hook(begin))
    for name, layer in net.named_modules():
        if name and layer is not last and "aux" not in name.lower():
            hooks.append(layer.register_forward_hook(lambda _module, _given, out, name=name: note(name, out)))
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    latest = {given: name for name, given in seen.items()}
    names = [name for name, given in seen.items() if latest[given] == name and name != f"{head}{INPUT}"]
    return [*names, f"{head}{INPUT}"]
