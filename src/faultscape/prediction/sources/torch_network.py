"""A network that is a torch module: one that a user's function built, an exported program (``.pt2``) or
TorchScript.

Conventions: it takes (N, 3, H, W) and gives logits (N, C, h, w), or a dict with ``out`` or ``logits``, an
object with ``.logits``, or the first of a tuple; whole numbers (N, H, W) are labels; of a classifier (N, C)
and (N,). Beside logits, or in their place, there may be ``members`` (N, T, C, h, w), logits that are averaged
as probabilities, and a ``variance`` (N, h, w) of logits. An archive says its own input in the extra file
``faultscape.json`` ({"mean": ..., "std": ..., "size": ..., "classes": ...}), a loaded module in attributes of
these names. Nothing is unpickled: an archive that holds pickled objects, or operators that do more than
compute, is refused.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from faultscape.errors import ModelError, OptionError, library_text
from faultscape.library_warnings import without_warnings
from faultscape.metrics.scorers import NONE, scorer_named
from faultscape.prediction.classifiers import as_pixel
from faultscape.prediction.devices import precision_of
from faultscape.prediction.inputs import KEYS, inputs_of, size_of
from faultscape.prediction.network_files import exported_files, scripted_files, weights
from faultscape.prediction.network_files.unchanged_files import unchanged
from faultscape.prediction.sources.network import DOUBT, OUTLIER, Answer, Size, padded_to
from faultscape.prediction.sources.torch_pass import running, watched
from faultscape.study.settings import CLASSIFICATION, ModelOptions

BATCH = 8
DRAWS = 8  # members that a head draws
_EXTRA = "faultscape.json"


class TorchNetwork:
    """A torch module that is ready to run; ``said`` is what it says about its own input, and options go
    before that.

    ``fixed`` is the shape (N, 3, H, W) of its input, None where an axis may have any length: what is fixed
    goes before both.
    """

    marginal = False
    notes: tuple[str, ...] = ()
    weights = ""

    def __init__(
        self,
        module: Any,
        name: str,
        said: dict[str, Any],
        options: ModelOptions,
        device: str = "cpu",
        fixed: Sequence[int | None] = (None,) * 4,
        channels: int | None = None,
    ) -> None:
        given = {key: value for key, value in options.items() if value not in (None, "", [])}
        said = {**said, **given}
        self.name = name
        self.device = device
        self.module = module
        self.fixed_batch = fixed[0] or 0
        self.batch = self.fixed_batch or int(said.get("batch", BATCH))
        self.fixed = (fixed[3], fixed[2]) if fixed[2] and fixed[3] else None
        self.inputs = inputs_of(said, name, size=self.fixed)
        self.window, self.stride = (_window(said, name, key) for key in ("window", "stride"))
        self.class_names = [str(word) for word in said.get("classes") or []]
        self.channels = channels or len(self.class_names) or None
        self._precision = precision_of(str(given.get("precision", "")), device)
        self._classifies = given.get("task") == CLASSIFICATION
        self.dirichlet = said.get("dirichlet") is True

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return an image as the network's input."""
        return self.inputs.prepare(photo, target, size)

    def call(self, pictures: Any) -> Any:
        """Return what the module gives for a tensor of prepared images."""
        return self.module(pictures)

    def run(self, block: np.ndarray, embeddings: Sequence[str] = ()) -> list[Answer]:
        """Return an answer for each prepared image."""
        import torch

        count = len(block)
        block = padded_to(block, self.fixed_batch)
        with (
            running(self.name, self.device, self._precision),
            watched(self.module, self.name, embeddings) as seen,
        ):
            given = self.call(torch.from_numpy(block).to(self.device))
            members, variance, outlier = doubt_of(given, self.name, len(block))
            values = (
                members[:, 0]
                if members is not None and not has_logits(given)
                else numbers_of(given, self.name)
            )
            kept = {layer: plain(value) for layer, value in seen.items()}
        if len(values) != len(block):
            raise ModelError(f"{self.name}: returned {len(values)} results for {len(block)} images")
        if self._classifies and values.ndim < 3:  # one answer a picture, as if it were of one pixel
            values = np.stack([as_pixel(value) for value in values])
        whole = values.dtype.kind in "iub"
        if values.ndim != (3 if whole else 4):
            wanted = "labels are N x H x W" if whole else "logits are N x C x H x W"
            raise ModelError(f"{self.name}: gave {values.dtype} of shape {values.shape}; {wanted}")
        if whole and (values.min() < 0 or values.max() > 65535):
            raise ModelError(
                f"{self.name}: gave labels from {values.min()} to {values.max()}; labels are 0 to 65535"
            )
        if not whole and values.shape[1] == 1:
            raise ModelError(
                f"{self.name}: returned one channel, whose largest is always class 0; return one channel"
                " per class"
            )
        layers = by_picture(kept, len(block), self.name)
        if whole:
            return [Answer(labels=values[k].astype(np.uint16), embeddings=layers[k]) for k in range(count)]
        own = members is None or has_logits(given)
        return [
            Answer(
                values[k] if own else None,
                embeddings=layers[k],
                members=() if members is None else tuple(members[k]),
                variance=None if variance is None else variance[k],
                values={} if outlier is None else {OUTLIER: (outlier[k][None],)},
            )
            for k in range(count)
        ]


def exported(path: str, options: ModelOptions, device: str = "cpu") -> TorchNetwork:
    """Open what ``torch.export.save`` wrote; ModelError when it is no such file or holds more than a graph
    with its weights.
    """
    torch = need_torch(path)
    _no_layers(path, options)
    extra = {_EXTRA: ""}
    try:
        # opened once, so that what is checked is what is read
        with unchanged(path), open(path, "rb") as file, only_weights():
            exported_files.check(path, file)
            file.seek(0)
            program = torch.export.load(file, extra_files=extra)
            module = program.module(check_guards=False)  # guards are code of the file
            fixed, channels = _shapes(program)
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged archive fails anywhere in torch
        raise ModelError(
            f"{path}: torch.export cannot load it: {library_text(error, first_line=True)}"
        ) from None
    if len(fixed) != 4 or fixed[1] not in (None, 3):
        raise ModelError(
            f"{path}: takes an input of {' x '.join(str(n or 'any') for n in fixed) or 'no shape'}; expected"
            " images, N x 3 x H x W"
        )
    return TorchNetwork(
        module.to(device), path, _extra(extra[_EXTRA], path), options, device, fixed, channels
    )


def scripted(path: str, options: ModelOptions, device: str = "cpu") -> TorchNetwork:
    """Open what ``torch.jit.save`` wrote; ModelError when it is something else, such as weights alone."""
    torch = need_torch(path)
    _no_layers(path, options)
    extra = {_EXTRA: ""}
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            is_script = any(name.endswith("constants.pkl") for name in archive.namelist())
            file.seek(0)
            is_script &= file.read(4) == b"PK\3\4"  # torch reads what begins in another way by other means
    except (OSError, zipfile.BadZipFile):
        is_script = False
    if not is_script:
        raise ModelError(
            f"{path}: is not a TorchScript file; a network cannot be built from weights alone: write a"
            " function that builds it and pass that as file.py:function, or save it with torch.export"
        )
    try:
        with unchanged(path), only_weights():
            scripted_files.check(path)
            module = torch.jit.load(path, map_location=device, _extra_files=extra)
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged archive fails anywhere in torch
        raise ModelError(
            f"{path}: torch.jit cannot load it: {library_text(error, first_line=True)}"
        ) from None
    return TorchNetwork(module.eval(), path, _extra(extra[_EXTRA], path), options, device)


def of_module(module: Any, name: str, options: ModelOptions, device: str = "cpu") -> TorchNetwork:
    """Take a module, or any callable on tensors, that a person's function returned; the weights that it holds
    are part of what it is.
    """
    said = {
        key: value
        for key in KEYS
        if (value := getattr(module, key, None)) is not None and not callable(value)
    }
    if hasattr(module, "eval"):
        module = module.eval()
    found, all_read = weights.digest(module)
    if hasattr(module, "eval"):
        module = module.to(device)
    _let_draw(module, options)
    network = TorchNetwork(module, name, said, options, device)
    network.weights, network.notes = found, weights.note(name, found, all_read)
    return network


def _let_draw(module: Any, options: ModelOptions) -> None:
    """Let heads that can draw members do so where a scorer asks how these differ; a head that was told how
    many keeps that.
    """
    if not any(scorer_named(word).needs == "members" for word in options.get("scorer", []) if word != NONE):
        return
    for layer in module.modules() if hasattr(module, "modules") else ():
        if getattr(layer, "draws", None) == 0:
            layer.draws = DRAWS


def _no_layers(path: str, options: ModelOptions) -> None:
    if options.get("layers"):
        raise ModelError(
            f"{path}: exported programs and TorchScript do not expose layers, so --keep embedding is not"
            " available; pass a function that returns the network as file.py:function, or export it to ONNX"
        )


def need_torch(name: str) -> Any:
    """Return torch; ModelError where it is not installed."""
    try:
        import torch
    except ImportError:
        raise ModelError(f"{name}: running it needs torch; install faultscape[torch]") from None
    return torch


def numbers_of(given: Any, name: str) -> np.ndarray:
    """Return the logits or labels within whatever a network gave."""
    for key in ("out", "logits"):
        if isinstance(given, dict) and key in given:
            given = given[key]
        elif hasattr(given, key):
            given = getattr(given, key)
    if isinstance(given, tuple | list) and given:
        given = given[0]
    if isinstance(given, dict):
        raise ModelError(
            f"{name}: gave a dict of {sorted(map(str, given))}; expected `out` or `logits` among them"
        )
    return plain(given)


def has_logits(given: Any) -> bool:
    """Whether what a network gave holds logits of its own, and not members alone."""
    if isinstance(given, dict):
        return bool({"out", "logits"} & given.keys())
    return getattr(given, "own", given) is not None


def doubt_of(given: Any, name: str, count: int) -> list[np.ndarray | None]:
    """Return the members (N, T, C, h, w), the variance (N, h, w) and the logits of outliers (N, h, w) within
    whatever a network gave, None where there are none; ModelError for other shapes.
    """
    found = given if isinstance(given, dict) else {key: getattr(given, key, None) for key in DOUBT}
    held = [None if found.get(key) is None else plain(found[key]) for key in DOUBT]
    for key, values in zip(DOUBT, held, strict=True):
        axes, wanted = (5, "N x T x C x h x w") if key == "members" else (3, "N x h x w")
        if values is not None and (values.ndim != axes or len(values) != count or not values.size):
            raise ModelError(
                f"{name}: gave {key} of shape {values.shape} for {count} images; expected {wanted}"
            )
    return held


def by_picture(kept: dict[str, np.ndarray], count: int, name: str) -> list[dict[str, np.ndarray]]:
    """Return what layers gave, for each of ``count`` images; ModelError where a layer does not give one value
    for each image.
    """
    for layer, value in kept.items():
        if not value.ndim or len(value) != count:
            raise ModelError(
                f"{name}: the layer {layer} returned shape {value.shape} for {count} images; expected one"
                " output per image"
            )
    return [{layer: value[k] for layer, value in kept.items()} for k in range(count)]


def is_classes_last(shape: Sequence[int], shown: Sequence[int]) -> bool:
    """Whether an output of three axes is h x w x C for an image shown with (H, W): its first two axes have
    the proportions of the image, and its last two do not.

    >>> is_classes_last((48, 64, 5), (48, 64)), is_classes_last((5, 24, 32), (48, 64))
    (True, False)
    """
    tall, wide = shown

    def fits(height: int, width: int) -> bool:
        return abs(tall * width - wide * height) <= max(tall, wide)  # a stride may round either side

    return fits(shape[0], shape[1]) and not fits(shape[1], shape[2])


def plain(value: Any) -> np.ndarray:
    """Return a tensor as an array, floats as float32."""
    if isinstance(value, tuple | list):
        value = value[0]
    if hasattr(value, "detach"):
        value = value.detach()
        value = (value.float() if value.is_floating_point() else value).cpu().numpy()
    array = np.asarray(value)
    return array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array


def _shapes(program: Any) -> tuple[list[int | None], int | None]:
    """Return the shape of an exported program's first input, None where an axis may have any length, and how
    many channels its only output has, None where its trial decides: it may have its classes last, or give one
    channel, which is refused there.
    """
    nodes = {node.name: node.meta.get("val") for node in program.graph.nodes}
    shapes = [
        (
            [n if isinstance(n, int) else None for n in getattr(nodes.get(names[0]), "shape", ())]
            if names
            else []
        )
        for names in (program.graph_signature.user_inputs, program.graph_signature.user_outputs)
    ]
    said = shapes[1]
    one = len(program.graph_signature.user_outputs) == 1 and len(said) in (2, 4) and said[1] != 1
    known = [n for n in (*said[1:], *shapes[0][2:]) if n is not None]
    odd = len(known) == 5 and is_classes_last(known[:3], known[3:])
    return shapes[0], said[1] if one and not odd else None


@contextmanager
def only_weights() -> Iterator[None]:
    """Make every load within torch refuse objects, whatever its caller says."""
    key = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    before = os.environ.get(key)
    os.environ[key] = "1"
    try:
        with without_warnings():
            yield
    finally:
        os.environ.pop(key) if before is None else os.environ.__setitem__(key, before)


def _window(said: dict[str, Any], name: str, key: str) -> Size | None:
    try:
        return size_of(said[key], key) if said.get(key) else None
    except OptionError as error:
        raise ModelError(f"{name}: invalid input settings: {error}") from None


def _extra(text: str | bytes, path: str) -> dict[str, Any]:
    try:
        said = json.loads(text) if text else {}
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise ModelError(f"{path}: its extra file {_EXTRA} is not a JSON object")
    return {key: said[key] for key in KEYS if key in said}
