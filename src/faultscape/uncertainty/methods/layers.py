"""The layers of a network that a method can tap: named layers, all that give a grid of features, or the input
of the last layer.

Conventions: names are those of ``named_modules``; ``LAYER:in`` is the input of a layer. For a network with a
replaced head (`replace_head`), layers may be named as in the original network.
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
_EITHER = 0.05  # at least this share of a layer's features before an activation has each sign


def penultimate(net: nn.Module) -> str:
    """Return the name of the input of a network's last layer.

    >>> penultimate(nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.Conv2d(8, 2, 1)))
    '2:in'
    """
    return f"{last_layer(net)[0]}{INPUT}"


def before_activation(net: nn.Module, run: Callable[[], object], size: tuple[int, int]) -> str:
    """Return the last layer, before the input of the last one, that gives a grid of features of either sign
    when ``run`` runs the network on an image of ``size``. After an activation, many features are equal and
    have no density (Blum et al. 2021, appendix B.6).
    """
    signed: set[str] = set()

    def look(name: str, value: torch.Tensor) -> None:
        if (value < 0).float().mean() > _EITHER and (value > 0).float().mean() > _EITHER:
            signed.add(name)

    found = [name for name in grid_layers(net, run, size, look) if name in signed]
    return found[-1] if found else penultimate(net)


def layers_of_scales(net: nn.Module, run: Callable[[], object], size: tuple[int, int]) -> list[str]:
    """Return a layer for each size of grid, the finest first, and the input of the last layer, when ``run``
    runs the network on an image of ``size``: the first of each size among layers as far out as all sizes
    allow, such as the stages of an encoder. Grids finer than that input are left out: they cost most, and end
    at its size.
    """
    sides: dict[str, tuple[int, ...]] = {}

    def look(name: str, value: torch.Tensor) -> None:
        sides[name] = tuple(as_grid(value, size).shape[2:])

    *names, last = grid_layers(net, run, size, look)
    names = [name for name in names if sides[name] <= sides[last]]
    first: dict[tuple[int, ...], str] = {}
    for depth in sorted({name.count(".") for name in names}):
        first = {}
        for name in names:
            if name.count(".") <= depth:
                first.setdefault(sides[name], name)
        if len(first) == len({sides[name] for name in names}):
            break
    return [*(first[of] for of in sorted(first, reverse=True)), last]


def outer_layers(names: Sequence[str], most: int) -> list[str]:
    """Return up to ``most`` names of layers, in order: the outermost, spread evenly, including the last.

    >>> outer_layers(["a", "a.x", "a.y", "b", "b.x", "c"], 3)
    ['a', 'b', 'c']
    >>> outer_layers(["a", "b", "c", "d", "e"], 3)
    ['a', 'c', 'e']
    """
    depths = sorted(name.count(".") for name in names)
    deepest = depths[min(most, len(names)) - 1]
    outer = [name for name in names if name.count(".") <= deepest or name == names[-1]]
    if len(outer) <= most:
        return outer
    return [outer[round(k * (len(outer) - 1) / (most - 1))] for k in range(most)]


def check_layers(net: nn.Module, layers: Sequence[str], name: str) -> None:
    """Raise ModelError for a layer that a network does not have, with similar names."""
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
    """Return the layers that give a grid of features when ``run`` runs the network on an image of ``size``
    (height, width), in the order in which they run, ending with the input of the last layer.

    Layers after the last one or in an auxiliary head are left out; among layers with equal outputs, only the
    last is kept. ``look_at`` receives each name and output.
    """
    head, last = last_layer(net)
    seen: dict[str, tuple[torch.Size, bytes]] = {}  # the shape and a digest of each layer's output
    done = list[bool]()
    hooks = []

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
