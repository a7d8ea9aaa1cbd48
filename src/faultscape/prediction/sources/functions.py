"""A model that is your own function, ``file.py:function``.

Conventions: a function that can be called without arguments is a loader: it returns a torch module, or any
callable from (N, 3, H, W) float32 tensors to logits, which may describe its input in attributes (``mean``,
``std``, ``size``, ``multiple``, ``classes``; attributes of the function itself also count). Any other
function is a predictor: it takes one (H, W, 3) uint8 image and returns labels (integers, H x W), logits (C x
h x w) (a classifier: one label, or C logits), or a dict with ``logits`` or ``labels`` and optionally
``confidence``. The file is run unchecked: it is the user's own code.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np

from faultscape import plug
from faultscape.errors import ModelError, OptionError, said_by
from faultscape.prediction.inputs import KEYS, Size, resized
from faultscape.prediction.source import Source
from faultscape.prediction.sources.network import CONFIDENCE, Network, Outputs
from faultscape.prediction.sources.torch_network import of_module
from faultscape.study.settings import ModelOptions


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is a function in a file.

    >>> recognised("own.py:load", "segmentation"), recognised("own.py", "segmentation")
    (True, False)
    """
    del task
    file, colon, _ = source.rpartition(":")
    return bool(colon) and file.endswith(".py")


def check(name: str, source: str) -> None:
    """Raise ModelError if there is no such file, or what follows it is not a name."""
    file, _, function = source.rpartition(":")
    if not Path(file).is_file():
        raise ModelError(f"{name}={source}: there is no file {file}")
    if not function.isidentifier():
        raise ModelError(f"{name}={source}: name a function of {file}, for example {file}:load")


def there(source: str) -> bool:
    """Whether the file of a function exists."""
    return Path(source.rpartition(":")[0]).exists()


def kept_as(source: str) -> str:
    """Return the SOURCE of a function with an absolute path."""
    file, _, function = source.rpartition(":")
    return f"{os.path.abspath(file)}:{function}"


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of the file of a function, and of its name."""
    del options
    return hashlib.sha256(f"{plug.digest(source)}:{source.rpartition(':')[2]}".encode()).hexdigest()


def of_function(source: str, options: ModelOptions, device: str = "cpu") -> Network:
    """Open ``file.py:function``; ModelError if it does not exist or its loader fails."""
    try:
        function = plug.find("model", source, {})
    except OptionError as error:
        with suppress(OptionError):
            if isinstance(plug.load("model", source), Source):
                raise ModelError(
                    f"{source}: is a kind of model; name what it should read as well: {source}:PLACE"
                ) from None
        raise ModelError(str(error)) from None
    return network_of(function, source, options, device)


def network_of(
    function: Callable[..., Any], source: str, options: ModelOptions, device: str = "cpu"
) -> Network:
    """Return the network that a function is, or loads if it takes no arguments; ModelError if loading
    fails.
    """
    if not _without_arguments(function):
        return PredictorNetwork(function, source, options)
    try:
        loaded = function()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a person's code raises
        hint = plug.import_hint(Path(source.rpartition(":")[0]), error)
        raise ModelError(f"{source}: loading failed: {said_by(error)}{hint}") from None
    if not callable(loaded):
        raise ModelError(
            f"{source}: a function without arguments must return a network; it returned"
            f" {type(loaded).__name__}"
        )
    said = {key: getattr(function, key) for key in KEYS if hasattr(function, key)}
    return module_of(loaded, source, said, options, device)


def module_of(
    module: Any, source: str, said: dict[str, Any], options: ModelOptions, device: str = "cpu"
) -> Network:
    """Return a torch module, or a callable on tensors, as a network; ``said`` describes its input where no
    option does.
    """
    given = cast("ModelOptions", {**said, **{k: v for k, v in options.items() if v not in (None, "", [])}})
    return of_module(module, source, given, device)


class PredictorNetwork(Network):
    """A function that predicts one image at a time."""

    def __init__(self, function: Callable[[np.ndarray], Any], name: str, options: ModelOptions) -> None:
        self._function = function
        said = {"classes": getattr(function, "classes", [])}
        super().__init__(name, said, {"task": options.get("task", ""), "batch": 1})

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return the image unchanged, or resized to ``size`` if given."""
        del target
        photo = photo if size is None else resized(photo, size)
        return photo.transpose(2, 0, 1)

    def outputs(self, block: np.ndarray, embeddings: Sequence[str]) -> Outputs:
        """Return the function's answer for the one image of a block."""
        if embeddings:
            raise ModelError(
                f"{self.name}: a function of one image has no layers to keep; return a network instead"
            )
        try:
            given = self._function(np.ascontiguousarray(block[0].transpose(1, 2, 0)))
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a person's code raises
            raise ModelError(f"{self.name}: the function failed: {said_by(error)}") from None
        if given is None:
            raise ModelError(
                f"{self.name}: the function returned None; expected labels, logits, or a dict of them"
            )
        said = given if isinstance(given, dict) else {"logits": given}
        main = next((word for word in ("logits", "labels") if word in said), "")
        if not main:
            raise ModelError(
                f"{self.name}: the function returned a dict of {sorted(map(str, given))}; expected `logits`"
                " or `labels` among them"
            )
        values = _array(said[main])
        if values.dtype.kind not in "fiub":
            raise self.refused(values)
        named = {main: values[None]}
        if said.get(CONFIDENCE) is not None:
            named[CONFIDENCE] = _numbers(said[CONFIDENCE], self.name)[None]
        return Outputs(main, named)


def _array(value: Any) -> np.ndarray:
    if hasattr(value, "detach"):
        value = value.detach().float().cpu() if value.is_floating_point() else value.detach().cpu()
    return np.asarray(value)


def _numbers(confidence: Any, name: str) -> np.ndarray:
    try:
        return _array(confidence).astype(np.float32)
    except (TypeError, ValueError):
        raise ModelError(
            f"{name}: the function returned a confidence that is not an array of numbers; expected 0 to 1"
            " per pixel, H x W"
        ) from None


def _without_arguments(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True
