"""MC dropout: members are the same network with different values dropped, at named layers.

Conventions: in training, values are dropped at random as usual. In use, the masks of member t depend on the
seed and the shape of their input, and are the same for every image, so that results depend neither on the
batch nor on the machine; a member is a thinned network. Everything before the first of these layers runs once
per image, everything else once per member: modules that were done by then return their previous output.
Source: Gal and Ghahramani 2016; Blum et al. 2021, eq. 1 and 2. T = 8 is ours: the papers print none.
"""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import torch
from torch import Tensor, nn

from faultscape.errors import ModelError, OptionError, closest
from faultscape.uncertainty import tensors
from faultscape.uncertainty.heads.channels import Doubt
from faultscape.uncertainty.replace import DoubtNetwork, GivesDoubt, output_tensor

SAMPLES = 8
RATE = 0.1
_ONE_AT_A_TIME = threading.Lock()  # a pass sets the member number and the reused outputs of modules


class SeededDropout(nn.Module):
    """Dropout whose masks in use depend on the seed, the layer and the member number."""

    def __init__(self, rate: float, seed: int, layer: str) -> None:
        super().__init__()
        self.rate = rate
        self.seed = seed
        self.layer = layer
        self.member = 0
        self._kept: dict[tuple[object, ...], Tensor] = {}

    def forward(self, values: Tensor) -> Tensor:
        """Return the values (N, ...), a share of them 0 and the rest scaled up accordingly."""
        if self.training:
            return nn.functional.dropout(values, self.rate)
        return values * self._mask(tuple(values.shape[1:]), values.device) / (1 - self.rate)

    def _mask(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """Return which values stay, drawn once for each member and shape."""
        about = (self.member, self.rate, shape, device)
        if about not in self._kept:
            if any(known[2:] != about[2:] for known in self._kept):  # images of a different size
                self._kept = {}
            self._kept[about] = self._drawn(shape).to(device)
        return self._kept[about]

    def _drawn(self, shape: tuple[int, ...]) -> Tensor:
        key = hashlib.sha256(f"{self.seed}/{self.layer}/{self.member}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(key[:7], "little"))
        return torch.rand(shape, generator=generator) >= self.rate


class WithDropout(nn.Module):
    """A layer followed by dropout."""

    def __init__(self, layer: nn.Module, dropout: SeededDropout) -> None:
        super().__init__()
        self.layer = layer
        self.dropout = dropout

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Return the layer's output with dropout; only the first output if there are several."""
        given = self.layer(*inputs, **named)
        if isinstance(given, tuple):
            return (self.dropout(given[0]), *given[1:])
        return self.dropout(given)


class DropoutNetwork(GivesDoubt):
    """A network with dropout at some of its layers, which in use returns the output of its T members."""

    def __init__(self, net: nn.Module, dropouts: Sequence[SeededDropout], samples: int) -> None:
        super().__init__()
        self.net = net
        self.samples = samples
        self._dropouts = tuple(dropouts)
        # the modules that were done before any dropout in the last pass
        self._first: frozenset[nn.Module] = frozenset()

    def forward(self, *inputs: Any, **named: Any) -> Doubt:
        """Return `Doubt` with the members of the network; in training, that of one pass."""
        if self.training:
            return _as_doubt(self.net(*inputs, **named))
        said: list[Doubt] = []
        with _ONE_AT_A_TIME, Prefix(self.net, self._dropouts, self._first) as prefix:
            for member in range(self.samples):
                for dropout in self._dropouts:
                    dropout.member = member
                said.append(_as_doubt(self.net(*inputs, **named)))
                prefix.reuse()
            self._first = prefix.given_again
        members = torch.cat([one.own[:, None] if one.own is not None else one.members for one in said], dim=1)  # type: ignore[list-item]
        variances = [one.variance for one in said if one.variance is not None]
        outliers = [one.outlier for one in said if one.outlier is not None]
        means = [torch.stack(some).mean(0) if some else None for some in (variances, outliers)]
        return Doubt(None, members, *means)


class Prefix:
    """Outputs of modules from before the first of some layers ran, which are returned again after `reuse`.

    Outputs are copied when recorded and when returned, because a network may add to them in place. Only these
    ``modules`` are watched, as long as all of them still belong to the network: watching every module takes
    longer than a forward pass on a GPU.
    """

    def __init__(
        self, net: nn.Module, stops: Sequence[nn.Module], modules: frozenset[nn.Module] = frozenset()
    ) -> None:
        self._net, self._stops = net, set(stops)
        own = set(net.modules())
        self._watched = modules if modules and modules <= own else own - self._stops
        self._noted: list[tuple[nn.Module, Any]] = []
        self._begun: list[int] = []
        self._open = True
        self._hooks: list[Any] = []
        self._replaced: dict[nn.Module, _Again] = {}

    def __enter__(self) -> Self:
        self._hooks += [module.register_forward_pre_hook(self._stop) for module in self._stops]
        for module in self._watched:
            self._hooks.append(module.register_forward_pre_hook(self._begin))
            self._hooks.append(module.register_forward_hook(self._end))
        return self

    def __exit__(self, *_: object) -> None:
        self._unhook()
        for module, again in self._replaced.items():
            again.restore(module)

    @property
    def given_again(self) -> frozenset[nn.Module]:
        """The modules that return their recorded output."""
        return frozenset(self._replaced)

    def reuse(self) -> None:
        """Let the next pass return what was recorded in the first."""
        self._unhook()
        given: dict[nn.Module, list[Any]] = {}
        for module, output in self._noted:
            given.setdefault(module, []).append(output)
        self._noted = []
        for module, outputs in given.items():
            self._replaced[module] = _Again(module, outputs)
            module.forward = self._replaced[module]
        for again in self._replaced.values():
            again.begin()

    def _begin(self, *_: object) -> None:
        self._begun.append(len(self._noted))

    def _end(self, module: nn.Module, _inputs: Any, output: Any) -> None:
        first = self._begun.pop()
        if self._open:  # its inner modules need not be reused
            del self._noted[first:]
            self._noted.append((module, _copy(output)))

    def _stop(self, *_: object) -> None:
        self._open = False

    def _unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []


class _Again:
    """A module's forward that returns recorded outputs for its first calls in a pass, and then runs."""

    def __init__(self, module: nn.Module, outputs: list[Any]) -> None:
        self._forward = module.forward
        self._outputs = outputs
        self._own = vars(module).get("forward")  # a library may have replaced this module's forward
        self._next = 0

    def begin(self) -> None:
        """Begin a pass."""
        self._next = 0

    def restore(self, module: nn.Module) -> None:
        """Restore a module's original forward."""
        del module.forward
        if self._own is not None:
            module.forward = self._own

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        number = self._next
        self._next = self._next + 1
        return (
            _copy(self._outputs[number]) if number < len(self._outputs) else self._forward(*inputs, **named)
        )


def add_dropout(
    net: nn.Module, layers: Sequence[str], rate: float = RATE, samples: int = SAMPLES, seed: int = 0
) -> DropoutNetwork:
    """Return a network with dropout after the named layers, such as ``["decode_head.dropout"]``, which in use
    gives ``samples`` members. The network is changed in place.

    Errors: ModelError for a missing layer, with the nearest names; OptionError for a rate outside 0 to 1, or
    no layer.

    >>> net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 1)).eval()
    >>> add_dropout(net, ["1"], rate=0.5).eval()(torch.zeros(1, 3, 6, 6)).members.shape
    torch.Size([1, 8, 4, 4, 4])
    """
    if not 0 < rate < 1:
        raise OptionError(f"the dropout rate must be between 0 and 1; got {rate}")
    if not layers or samples < 1:
        raise OptionError("MC dropout needs at least one layer and one member")
    if isinstance(layers, str):
        raise OptionError(f"layers is a list of names; got {layers!r}")
    tensors.module(net)
    headed = isinstance(net, DoubtNetwork)
    inner = net.net if isinstance(net, DoubtNetwork) else net
    known = dict(net.named_modules())
    dropouts = []
    layers = [f"net.{layer}" if headed and layer not in known else layer for layer in layers]
    for layer in layers:
        called = layer.removeprefix("net.") if headed else layer
        if headed and f"{net.layer}.".startswith(f"{called}.") and called:
            what = "is the head itself" if called == net.layer else f"contains the head, {net.layer}"
            raise ModelError(f"{called!r} {what}; name a layer before it")
        if not called or layer not in known:
            able = [
                key
                for key, _ in inner.named_modules()
                if key and not (headed and f"{key}.".startswith(f"{net.layer}."))
            ]
            raise ModelError(
                f"{type(inner).__name__}: has no layer {called!r}.{closest(called, able)} Its last layers are"
                f" {', '.join(able[-8:]) or 'none with a name'}"
            )
        dropouts.append(SeededDropout(rate, seed, layer))
    deepest_first = sorted(zip(layers, dropouts, strict=True), key=lambda pair: -pair[0].count("."))
    for layer, dropout in deepest_first:
        net.set_submodule(layer, WithDropout(known[layer], dropout))
    return DropoutNetwork(net, dropouts, samples)


@contextmanager
def plain_passes(net: nn.Module) -> Iterator[None]:
    """Let a network with MC dropout run once, without dropout, while the block runs."""
    dropouts = [module for module in net.modules() if isinstance(module, SeededDropout)]
    rates = [dropout.rate for dropout in dropouts]
    for dropout in dropouts:
        dropout.rate = 0.0
    try:
        yield
    finally:
        for dropout, rate in zip(dropouts, rates, strict=True):
            dropout.rate = rate


def _as_doubt(given: Any) -> Doubt:
    return given if isinstance(given, Doubt) else Doubt(output_tensor(given))


def _copy(value: Any) -> Any:
    """Return a copy of tensors, including those in tuples, lists and dicts."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_copy(one) for one in value)
    if isinstance(value, list):
        return [_copy(one) for one in value]
    if isinstance(value, dict):
        out = copy.copy(value)
        for key, one in value.items():
            out[key] = _copy(one)
        return out
    return value
