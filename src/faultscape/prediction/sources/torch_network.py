"""A network that is a torch module: one that a user's function built, an exported program (``.pt2``) or
TorchScript.

Conventions: it takes (N, 3, H, W) and gives logits (N, C, h, w), or a dict with ``out`` or ``logits``, an
object with ``.logits``, or the first of a tuple; whole numbers (N, H, W) are labels; of a classifier (N, C)
and (N,). Beside logits, or in their place, there may be ``members`` (N, T, C, h, w), logits that are averaged
as probabilities, and a ``variance`` (N, h, w) of logits. An archive says its own input in the extra file
``faultscape.json`` ({"mean": ..., "std": ..., "size": ..., "classes": ...}), a loaded module in attributes of
these names. Nothing is unpickled: an archive that holds pickled objects, or operators that do more than
compute, is refused.

One pass of torch: what it raises in our words, and what layers give in it.

Conventions: layers are named as ``named_modules`` names them.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from faultscape.errors import ModelError, closest, is_out_of_memory, library_text
from faultscape.metrics.scorers import NONE, scorer_named
from faultscape.prediction.device_scores import DeviceScores, scores_or_array
from faultscape.prediction.devices import need_torch, precision_of, scored_on
from faultscape.prediction.inputs import KEYS
from faultscape.prediction.network_files import exported_files, scripted_files, weights
from faultscape.prediction.sources.network import BESIDE, Network, Outputs, unchanged
from faultscape.process.library_warnings import without_warnings
from faultscape.study.settings import ModelOptions

DRAWS = 8  # members that a head draws
_EXTRA = "faultscape.json"
INPUT = ":in"  # behind a layer's name: what it is given, instead of what it gives


class TorchNetwork(Network):
    """A torch module that is ready to run, of ``channels`` if that is known."""

    def __init__(
        self,
        module: Any,
        name: str,
        said: dict[str, Any],
        options: ModelOptions,
        device: str = "cpu",
        shape: Sequence[int | None] = (None,) * 4,
        channels: int | None = None,
    ) -> None:
        super().__init__(name, said, options, device, shape=shape)
        self.module = module
        self.channels = channels or len(self.class_names) or None
        self._precision = precision_of(str(options.get("precision") or ""), device)
        self.score_on = scored_on(options.get("score_on"), device)

    def call(self, pictures: Any) -> Any:
        """Return what the module gives for a tensor of prepared images."""
        return self.module(pictures)

    def outputs(self, block: np.ndarray, embeddings: Sequence[str]) -> Outputs:
        """Return what the module gives for prepared images."""
        import torch

        with (
            running(self.name, self.device, self._precision),
            watched(self.module, self.name, embeddings) as seen,
        ):
            given = self.call(torch.from_numpy(block).to(self.device))
            found = given if isinstance(given, dict) else {key: getattr(given, key, None) for key in BESIDE}
            named = {key: self._held(found[key]) for key in BESIDE if found.get(key) is not None}
            main = "logits" if "members" not in named or has_logits(given) else "members"
            if main == "logits":
                named[main] = self._held(self.logits_of(given))
            return Outputs(main, named, {layer: self._features(value) for layer, value in seen.items()})

    def _held(self, values: Any) -> np.ndarray | DeviceScores:
        """Return logits (..., C, h, w) where they are scored, and anything else as an array."""
        if self.score_on == "device" and hasattr(values, "detach") and values.ndim > 3:
            return scores_or_array(values.detach(), -3)
        return plain(values)

    def _features(self, value: Any) -> np.ndarray | DeviceScores:
        """Return what a layer gave where its network is scored, or as an array."""
        value = value[0] if isinstance(value, tuple | list) else value
        there = self.score_on == "device" and hasattr(value, "detach") and value.is_floating_point()
        return DeviceScores(value.detach().float()) if there else plain(value)

    def logits_of(self, given: Any) -> Any:
        """Return the logits or labels within whatever the module gave."""
        for key in ("out", "logits"):
            if isinstance(given, dict) and key in given:
                given = given[key]
            elif hasattr(given, key):
                given = getattr(given, key)
        if isinstance(given, tuple | list) and given:
            given = given[0]
        if isinstance(given, dict):
            raise ModelError(
                f"{self.name}: gave a dict of {sorted(map(str, given))}; expected `out` or `logits` among"
                " them"
            )
        return given


def exported(path: str, options: ModelOptions, device: str = "cpu") -> TorchNetwork:
    """Open what ``torch.export.save`` wrote; ModelError when it is no such file or holds more than a graph
    with its weights.
    """
    torch = need_torch(path)
    _no_layers(path, options)
    extra = {_EXTRA: ""}
    # opened once, so that what is checked is what is read
    with _loading(path, "torch.export"), open(path, "rb") as file:
        exported_files.check(path, file)
        file.seek(0)
        program = torch.export.load(file, extra_files=extra)
        module = program.module(check_guards=False)  # guards are code of the file
        fixed, channels = _shapes(program)
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
    with _loading(path, "torch.jit"):
        scripted_files.check(path)
        module = torch.jit.load(path, map_location=device, _extra_files=extra)
    return TorchNetwork(module.eval(), path, _extra(extra[_EXTRA], path), options, device)


@contextmanager
def _loading(path: str, library: str) -> Iterator[None]:
    """Read a file that stays the same, and nothing but weights from it; ModelError where a library cannot."""
    try:
        with unchanged(path), only_weights():
            yield
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged archive fails anywhere in torch
        raise ModelError(
            f"{path}: {library} cannot load it: {library_text(error, first_line=True)}"
        ) from None


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


def has_logits(given: Any) -> bool:
    """Whether what a network gave holds logits of its own, and not members alone."""
    if isinstance(given, dict):
        return bool({"out", "logits"} & given.keys())
    return getattr(given, "own", given) is not None


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


def _extra(text: str | bytes, path: str) -> dict[str, Any]:
    try:
        said = json.loads(text) if text else {}
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise ModelError(f"{path}: its extra file {_EXTRA} is not a JSON object")
    return {key: said[key] for key in KEYS if key in said}


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
