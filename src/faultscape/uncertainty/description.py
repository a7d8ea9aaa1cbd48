"""The description of a trained network, and how to rebuild, save and load it: a folder with network.json and
weights.safetensors.

Conventions: the folder is self-contained on any machine: a backbone of the transformers library is described
by its configuration, a user-defined one by a copy of its file. Weights are only tensors, in a file with a
checksum of itself. The network's input settings (``mean``, ``std``, ``multiple``, ``window``, ``stride``,
classes) are attributes of the module built, as for any user-defined network.
"""

from __future__ import annotations

import importlib
import io
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pydantic
import torch
from torch import Tensor, nn

from faultscape import plug
from faultscape.errors import FaultscapeError, ModelError, library_text
from faultscape.nouns import JsonObject
from faultscape.study.folder import put
from faultscape.terminal_lines import option_words
from faultscape.uncertainty import sealed_files
from faultscape.uncertainty.catalogue import Value, head_named
from faultscape.uncertainty.dropout import RATE, SAMPLES, add_dropout
from faultscape.uncertainty.networks import transformers_networks
from faultscape.uncertainty.networks.catalogue import PLAIN, backbone_named
from faultscape.uncertainty.networks.segmenter import Segmenter
from faultscape.uncertainty.replace import DoubtNetwork, replace_head

Network = nn.Module
NETWORK = "network.json"
WEIGHTS = "weights.safetensors"
OWN_FILE = "backbone.py"
VOID_CLASS = "void"


@dataclass(frozen=True)
class Description:
    """A network: its backbone and head with their options, its classes in the order of its channels, and its
    input settings.

    ``config`` is a configuration of the transformers library, for a backbone that is not an entry of
    BACKBONES. ``void_class``: the last channel is for void pixels; ``outlier_head``: it is the logit of an
    outlier; ``negative_class``: it is for pixels of no class, and never a label; ``dirichlet``: logits are
    those of a prior network. ``member_blocks`` is the number of encoder blocks with fast weights. ``size`` is
    the size of whole images, None for that of the requested maps; ``window`` and ``stride`` are in pixels,
    for square windows, 0 for whole images.
    """

    backbone: str
    classes: tuple[str, ...]
    head: str = "linear"
    head_options: dict[str, Value] = field(default_factory=dict)
    layer: str = ""
    void_class: bool = False
    outlier_head: bool = False
    negative_class: bool = False
    dirichlet: bool = False
    dropout: float = 0.1
    dropout_at: tuple[str, ...] = ()
    dropout_rate: float = RATE
    dropout_samples: int = SAMPLES
    member_blocks: int = 0
    image: int = 768
    mean: tuple[float, ...] = PLAIN[0]
    std: tuple[float, ...] = PLAIN[1]
    multiple: int = 1
    size: tuple[int, int] | None = None
    window: int = 0
    stride: int = 0
    seed: int = 0
    config: Mapping[str, object] = field(default_factory=dict)

    @property
    def own_function(self) -> str:
        """The function in the user's file that builds the backbone, '' for other backbones."""
        return self.backbone.rpartition(":")[2] if not self.config and plug.is_own(self.backbone) else ""

    @property
    def channels(self) -> int:
        """The number of channels of the head, including void, an outlier's logit and the negative class."""
        return len(self.classes) + self.void_class + self.outlier_head + self.negative_class

    @property
    def channel_names(self) -> tuple[str, ...]:
        """The names of the channels."""
        return (*self.classes, *([VOID_CLASS] if self.void_class else []))


_READ = pydantic.TypeAdapter(Description)


def build(
    description: Description,
    folder: Path | None = None,
    start: nn.Module | None = None,
    *,
    keep_head: bool = False,
) -> nn.Module:
    """Return the network of a description, in evaluation mode; ``start`` is an existing backbone, whose head
    it may keep; ``folder`` contains the user's file.

    Errors: ModelError for a backbone that cannot be built or a missing layer; OptionError for unknown
    options.
    """
    with seeded(description.seed):
        net = start if start is not None else _backbone(description, folder)
        _set_dropout(net, description.dropout)
        if description.member_blocks:
            _use_members(net, description)
        kept = net.head.state_dict() if keep_head and isinstance(net, DoubtNetwork) else None
        told_head = (description.head, description.channels)
        # a Segmenter that is not wrapped yet is new: its decoder is not a trained layer to start from
        untrained = isinstance(net, Segmenter) and bool(description.head_options.get("wide_start"))
        made: nn.Module = replace_head(
            net,
            *told_head,
            layer=description.layer,
            seed=description.seed,
            fresh=description.dirichlet or untrained,
            **dict(description.head_options),
        )
        if kept is not None:
            cast("DoubtNetwork", made).head.load_state_dict(kept)
        cast("DoubtNetwork", made).outlier = description.outlier_head
        cast("DoubtNetwork", made).negative = description.negative_class
        if description.dropout_at:
            told = description.dropout_rate, description.dropout_samples, description.seed
            made = add_dropout(made, description.dropout_at, *told)
    _refuse_tied(made, description.backbone)
    made = made.eval()
    for key, value in input_words(description).items():
        setattr(made, key, value)
    return made


def _refuse_tied(net: nn.Module, name: str) -> None:
    """Raise ModelError for a network in which two weights share one tensor, because safetensors cannot store
    it and training would end without a file.
    """
    seen: dict[int, str] = {}
    for key, value in net.state_dict().items():
        if value.numel() and (other := seen.setdefault(value.data_ptr(), key)) != key:
            raise ModelError(
                f"{name}: {other} and {key} are the same tensor, which weights files cannot hold; give each"
                " layer its own"
            )


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed random draws while the block runs, without affecting later draws."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


def input_words(description: Description) -> JsonObject:
    """Return the network's input settings, with the names used for any user-defined network
    (``prediction.inputs``).
    """
    square = {
        key: f"{side}x{side}"
        for key, side in (("window", description.window), ("stride", description.stride))
        if side
    }
    classes = {"classes": list(description.channel_names)}
    if description.size is not None:
        square["size"] = "{}x{}".format(*description.size)
    prior = {"dirichlet": True} if description.dirichlet else {}
    return {
        "mean": list(description.mean),
        "std": list(description.std),
        "multiple": description.multiple,
        **square,
        **classes,
        **prior,
    }


def save(folder: Path, description: Description, net: nn.Module, more: JsonObject) -> None:
    """Write a network into a folder: its weights, and its description with ``more`` information."""
    folder.mkdir(parents=True, exist_ok=True)
    sealed_files.write(folder / WEIGHTS, net.state_dict())
    put(folder / NETWORK, description_text(description, more).encode())


def description_text(description: Description, more: JsonObject) -> str:
    """Return the JSON of a description and ``more`` information."""
    held = pydantic.TypeAdapter(dict[str, Any]).dump_json(
        {"network": _READ.dump_python(description, mode="json"), **more}, indent=1
    )
    return held.decode() + "\n"


def describe_again(folder: Path, more: JsonObject) -> None:
    """Replace parts of network.json other than the description."""
    held = pydantic.TypeAdapter(dict[str, Any]).validate_json((folder / NETWORK).read_bytes())
    put(folder / NETWORK, pydantic.TypeAdapter(dict[str, Any]).dump_json({**held, **more}, indent=1) + b"\n")


def load(folder: Path, *, own_code: bool = False) -> tuple[Description, nn.Module]:
    """Return the description and the network of a folder, with its weights; ModelError if they are damaged or
    do not match, or if the backbone is code and ``own_code`` does not allow running it.
    """
    description = read_description(folder)
    if description.own_function and not own_code:
        place = folder / OWN_FILE
        raise ModelError(
            f"{folder}: its backbone is Python code, which would run with your permissions; if you trust it,"
            f" name it as {place}:{description.own_function}"
        )
    net = build(description, folder)
    load_weights(net, folder / WEIGHTS)
    return description, net


def read_description(folder: Path) -> Description:
    """Return the description in a folder; ModelError if there is none."""
    path = folder / NETWORK
    try:
        held = pydantic.TypeAdapter(dict[str, Any]).validate_json(path.read_bytes())
        return _READ.validate_python(held["network"], strict=False)
    except FileNotFoundError:
        raise ModelError(f"{folder}: not a trained network: it has no {NETWORK}") from None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ModelError(
            f"{path}: not a valid network description: {where + ': ' if where else ''}{first['msg']}"
        ) from None
    except KeyError as error:
        raise ModelError(f"{path}: not a valid network description: it has no {error}") from None
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{path}: not a valid network description: {library_text(error, most=200)}"
        ) from None


def load_weights(net: nn.Module, path: Path) -> None:
    """Read weights into a network; ModelError if they are not as they were written, or names the tensors that
    differ.
    """
    from safetensors.torch import load as of_bytes

    try:
        data = path.read_bytes()
        fault = sealed_files.fault(io.BytesIO(data))
        state = {} if fault else of_bytes(data)
    except FileNotFoundError:
        raise ModelError(f"{path}: file not found; the weights of the network are missing") from None
    except Exception as error:  # noqa: BLE001 - safetensors raises an error of its own
        raise ModelError(f"{path}: not valid weights: {library_text(error, most=200)}") from None
    if fault:
        raise ModelError(f"{path}: {fault}; train the network again: `{_line_again(path.parent)}`")
    if why := differing(dict(net.state_dict()), state):
        raise ModelError(f"{path}: the weights do not match the network: {why}")
    net.load_state_dict(state)


def are_whole(folder: Path) -> bool:
    """Whether the weights in a folder are as they were written."""
    try:
        with (folder / WEIGHTS).open("rb") as file:
            return sealed_files.is_whole(file)
    except OSError:
        return False


def _line_again(folder: Path) -> str:
    """Return the command that trains the network of a folder again, with the options recorded there."""
    try:
        held = pydantic.TypeAdapter(dict[str, Any]).validate_json((folder / NETWORK).read_bytes())
        given = dict(held["provenance"]["arguments"])
    except (OSError, ValueError, KeyError, TypeError):
        given = {}
    study = shlex.quote(str(folder.parent.parent))
    return " ".join(["faultscape train", study, shlex.quote(folder.name), *option_words(given)])


def _backbone(description: Description, folder: Path | None) -> nn.Module:
    entry = None if description.config else backbone_named(description.backbone)
    if entry is not None:
        module, _, name = entry.place.partition(":")
        made = getattr(importlib.import_module(f"faultscape.uncertainty.networks.{module}"), name)
        told = {"image": description.image} if name == "segmenter" else {}
        return made(entry.size, description.channels, description.dropout, **told)
    if description.config:
        return transformers_networks.of_config(description.config, description.channels)
    file, _, function = description.backbone.rpartition(":")
    place = folder / OWN_FILE if folder is not None and (folder / OWN_FILE).is_file() else Path(file)
    return of_file(f"{place}:{function}")


def of_file(name: str) -> nn.Module:
    """Return the module that ``file.py:function`` returns; ModelError if it fails or returns
    something else.
    """
    try:
        made = plug.find("backbone", name, {})()
    except FaultscapeError as error:
        raise ModelError(str(error)) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a person's code raises
        raise ModelError(f"{name}: raised an error: {type(error).__name__}: {library_text(error)}") from None
    if not isinstance(made, nn.Module):
        raise ModelError(
            f"{name}: returned {type(made).__name__}; expected a torch module that ends in a linear layer or"
            " a 1x1 convolution"
        )
    return made


def _set_dropout(net: nn.Module, rate: float) -> None:
    """Set the rate of dropout layers: of all in a network trained here or a Segmenter, in others only of
    those with a rate above 0.
    """
    inner = net.net if isinstance(net, DoubtNetwork) else net
    for module in inner.modules():
        if isinstance(module, nn.Dropout) and (
            module.p > 0 or net is not inner or isinstance(inner, Segmenter)
        ):
            module.p = rate


def _use_members(net: nn.Module, description: Description) -> None:
    inner = net.net if isinstance(net, DoubtNetwork) else net
    if not isinstance(inner, Segmenter) or description.head != "batch-ensemble":
        raise ModelError("fast weights in encoder blocks need a Segmenter with the head batch-ensemble")
    told: dict[str, Any] = {**head_named(description.head).options, **description.head_options}
    inner.use_members(
        description.member_blocks, told["members"], told["fast_start"], told["spread"], description.seed
    )


def differing(mine: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> str:
    """Return a text that names the first tensors in which a network and weights differ."""
    if missing := sorted(mine.keys() - state.keys()):
        return f"{len(missing)} tensors are missing, such as {missing[0]}"
    if more := sorted(state.keys() - mine.keys()):
        return f"{len(more)} tensors are too many, such as {more[0]}"
    other = next((key for key in mine if mine[key].shape != state[key].shape), "")
    return (
        f"{other} is {tuple(state[other].shape)}, and the network's {tuple(mine[other].shape)}"
        if other
        else ""
    )
