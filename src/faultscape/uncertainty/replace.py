"""Replace the last layer of a network in one line: any torch module that ends in a linear layer or a 1x1
convolution.

Conventions: the network is changed in place and wrapped: `DoubtNetwork` is called as the network was, and
returns `Doubt`. Whatever the network does after its last layer applies to all channels of the head, so it may
reshape and up-sample but not interpret the classes. A new linear head with the same number of classes keeps
the layer's weights, and BatchEnsemble and the heteroscedastic head start from them.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from faultscape.errors import ModelError, OptionError, closest
from faultscape.uncertainty import tensors
from faultscape.uncertainty.catalogue import Value, head_named
from faultscape.uncertainty.heads.channels import Doubt, Head, split, without_negative, without_outlier


class HeadOfConvolution(nn.Module):
    """A head that replaces a 1x1 convolution: (N, D, h, w) to (N, K, h, w)."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head

    def forward(self, features: Tensor) -> Tensor:
        """Return the head's channels at every pixel, computed by a convolution if the head is one
        linear map.
        """
        if (folded := self.head.folded()) is not None:
            return nn.functional.conv2d(features, folded[0][:, :, None, None], folded[1])
        return self.head(features.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class HeadOfLinear(nn.Module):
    """A head that replaces a linear layer: (..., D) to (..., K)."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head

    def forward(self, features: Tensor) -> Tensor:
        """Return the head's channels."""
        return self.head(features)


class GivesDoubt(nn.Module):
    """A network that returns `Doubt`."""


class DoubtNetwork(GivesDoubt):
    """A network whose last layer is one of our heads; called like the original network, it returns `Doubt`.
    ``layer`` is the name of its head; with ``outlier``, the head's last channel is an outlier logit, with
    ``negative``, the logit of the negative class.
    """

    def __init__(self, net: nn.Module, layer: str) -> None:
        super().__init__()
        self.net = net
        self.layer = layer
        self.outlier = False
        self.negative = False

    @property
    def head(self) -> Head:
        """The head within the network."""
        head = self.net.get_submodule(self.layer).head
        assert isinstance(head, Head)
        return head

    def forward(self, *inputs: Any, **named: Any) -> Doubt:
        """Return the network's output for its inputs."""
        said = split(output_tensor(self.net(*inputs, **named)), self.head.channels, type(self.net).__name__)
        if self.negative:
            return without_negative(said)
        return without_outlier(said) if self.outlier else said


def replace_head(
    net: nn.Module,
    head: str = "linear",
    classes: int | None = None,
    *,
    layer: str = "",
    seed: int = 0,
    fresh: bool = False,
    **options: Value,
) -> DoubtNetwork:
    """Return a network with its last layer replaced by one of HEADS. The network is changed in place; copy it
    first (``copy.deepcopy``) to keep it.

    ``fresh`` initializes the head at random even if it could start from the layer's weights. ``options`` are
    the head's own; ``classes`` is by default the layer's number. The head has the layer's device and
    precision; a Gaussian process and a heteroscedastic head compute in float32. ``layer`` names the layer to
    replace if it is not the last linear layer or 1x1 convolution of the network. Errors: ModelError for a
    network without such a layer, OptionError for an unknown head or option.

    >>> import torch
    >>> net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))
    >>> replace_head(net, "batch-ensemble", members=2)(torch.zeros(1, 3, 6, 6)).members.shape
    torch.Size([1, 2, 4, 6, 6])
    """
    kind = head_named(head)
    kind.check(options)
    tensors.module(net)
    if classes is not None and (not isinstance(classes, int) or classes < 1):
        raise OptionError(f"classes must be a whole number, 1 or more; got {classes!r}")
    if isinstance(net, DoubtNetwork):
        net, layer = net.net, layer or net.layer
    if isinstance(net, GivesDoubt):
        raise ModelError(
            "the network has MC dropout already; replace its head first, then call add_dropout on the result"
        )
    name, old = last_layer(net, layer)
    if isinstance(old, HeadOfConvolution | HeadOfLinear):
        width = old.head.dimensions
        count = old.head.classes
        start = old.head.start()
        place = type(old)
    elif isinstance(old, nn.Conv2d):
        width = old.in_channels
        count = old.out_channels
        start = (old.weight[:, :, 0, 0], old.bias)
        place = HeadOfConvolution
    else:
        width = old.in_features
        count = old.out_features
        start = (old.weight, old.bias)
        place = HeadOfLinear
    like = next(old.parameters())
    whole = kind.build.in_whole_precision
    if whole and start is not None:
        start = start[0].float(), None if start[1] is None else start[1].float()
    made = kind.build(width, classes or count, None if fresh else start, seed, **{**kind.options, **options})
    made = made.to(like.device) if whole else made.to(like)
    if name:
        net.set_submodule(name, place(made).train(net.training))
        return DoubtNetwork(net, name)
    raise ModelError("the network is a single layer; wrap it in a module, such as torch.nn.Sequential")


def last_layer(net: nn.Module, name: str = "") -> tuple[str, Any]:
    """Return (name, layer) of the layer that gives a network's classes: the last linear layer or 1x1
    convolution outside auxiliary heads, or an already replaced head.

    Errors: ModelError if there is none, or none with this name.

    >>> last_layer(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    ('0', Linear(in_features=3, out_features=2, bias=True))
    """
    found = {key: module for key, module in tensors.module(net).named_modules() if _replaceable(module)}
    inside = {key for key in found for place in found if place and key.startswith(f"{place}.")}
    found = {key: module for key, module in found.items() if key not in inside}
    called = type(net).__name__
    if name:
        if name in found:
            return name, found[name]
        known = dict(net.named_modules())
        if name in known:
            raise ModelError(
                f"{called}: layer {name!r} is {type(known[name]).__name__}; only linear layers and 1x1"
                " convolutions can be replaced"
            )
        raise ModelError(
            f"{called}: has no layer {name!r}.{closest(name, [*known])} Replaceable layers:"
            f" {', '.join([*found][-8:]) or 'none'}"
        )
    main = {key: module for key, module in found.items() if "aux" not in key.lower()}
    if not main:
        raise ModelError(
            f"{called}: has no linear layer or 1x1 convolution as a classifier; its last layers are"
            f" {_last_words(net)}"
        )
    labels = getattr(getattr(net, "config", None), "num_labels", None)
    fitting = {key: module for key, module in main.items() if labels and _outputs(module) == labels}
    return list((fitting or main).items())[-1]


def output_tensor(given: Any) -> Tensor:
    """Return the logits in a network's output: the output itself, ``out`` or ``logits``, or the first of a
    tuple.
    """
    for key in ("logits", "out"):
        if isinstance(given, dict) and key in given:
            return output_tensor(given[key])
        if not isinstance(given, Tensor) and hasattr(given, key):
            return output_tensor(getattr(given, key))
    if isinstance(given, tuple | list) and given:
        return output_tensor(given[0])
    if not isinstance(given, Tensor):
        raise ModelError(
            f"the network returned {type(given).__name__}; expected a tensor, or an output with `logits` or"
            " `out`"
        )
    return given


def _replaceable(module: nn.Module) -> bool:
    if isinstance(module, nn.Conv2d):
        plain = module.kernel_size == (1, 1) and module.stride == (1, 1) and module.groups == 1
        return plain and module.padding in ((0, 0), "valid", "same")
    return isinstance(module, nn.Linear | HeadOfConvolution | HeadOfLinear)


def _outputs(module: Any) -> int:
    if isinstance(module, HeadOfConvolution | HeadOfLinear):
        return module.head.classes
    return module.out_channels if isinstance(module, nn.Conv2d) else module.out_features


def _last_words(net: nn.Module) -> str:
    return (
        ", ".join([f"{name} ({type(module).__name__})" for name, module in net.named_modules() if name][-4:])
        or "none with a name"
    )
