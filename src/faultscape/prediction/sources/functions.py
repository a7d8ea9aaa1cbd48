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
from faultscape.prediction.classifiers import as_pixel
from faultscape.prediction.inputs import KEYS, resized
from faultscape.prediction.source import Source
from faultscape.prediction.sources.network import Answer, Network, Size
from faultscape.prediction.sources.torch_network import of_module
from faultscape.study.settings import CLASSIFICATION, ModelOptions


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
    if not _without_arguments(function):
        return PredictorNetwork(function, source, classifies=options.get("task") == CLASSIFICATION)
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
    given = cast("ModelOptions", {**said, **{k: v for k, v in options.items() if v not in (None, "", [])}})
    return of_module(loaded, source, given, device)


class PredictorNetwork:
    """A function that predicts one image at a time."""

    batch = 1
    device = "cpu"
    marginal = False
    channels: int | None = None
    notes: tuple[str, ...] = ()
    weights = ""

    def __init__(self, function: Callable[[np.ndarray], Any], name: str, *, classifies: bool = False) -> None:
        self._function = function
        self.name = name
        self._classifies = classifies
        self.class_names = [str(word) for word in getattr(function, "classes", [])]

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return the image unchanged, or resized to ``size`` if given."""
        del target
        photo = photo if size is None else resized(photo, size)
        return photo.transpose(2, 0, 1)

    def run(self, block: np.ndarray, embeddings: Sequence[str] = ()) -> list[Answer]:
        """Return the function's answer for each image."""
        if embeddings:
            raise ModelError(
                f"{self.name}: a function of one image has no layers to keep; return a network instead"
            )
        return [self._of(np.ascontiguousarray(picture.transpose(1, 2, 0))) for picture in block]

    def _of(self, photo: np.ndarray) -> Answer:
        try:
            given = self._function(photo)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a person's code raises
            raise ModelError(f"{self.name}: the function failed: {said_by(error)}") from None
        if given is None:
            raise ModelError(
                f"{self.name}: the function returned None; expected labels, logits, or a dict of them"
            )
        said = given if isinstance(given, dict) else {}
        if isinstance(given, dict) and not {"logits", "labels"} & set(given):
            raise ModelError(
                f"{self.name}: the function returned a dict of {sorted(map(str, given))}; expected `logits`"
                " or"
                " `labels` among them"
            )
        values = _array(said.get("logits", said.get("labels")) if said else given)
        given_as = _described(values)
        values = as_pixel(values) if self._classifies else values
        confidence = said.get("confidence")
        confidence = None if confidence is None else _numbers(confidence, self.name)
        if values.ndim == 3 and values.dtype.kind == "f" and values.size:
            if len(values) == 1:
                raise ModelError(
                    f"{self.name}: the function returned one channel, whose largest is always class 0;"
                    " return one channel per class, or labels"
                )
            with np.errstate(over="ignore"):
                return Answer(values.astype(np.float32), confidence=confidence)
        if values.ndim == 2 and values.dtype.kind in "iub" and values.size:
            if values.min() < 0 or values.max() > 65535:
                raise ModelError(
                    f"{self.name}: the function returned labels from {values.min()} to {values.max()};"
                    " labels are"
                    " 0 to 65535"
                )
            return Answer(labels=values.astype(np.uint16), confidence=confidence)
        expected = (
            "one label (a whole number 0 to 65535) or logits (C numbers, one per class)"
            if self._classifies
            else "labels (whole numbers 0 to 65535, H x W) or logits (C x H x W)"
        )
        raise ModelError(f"{self.name}: the function returned {given_as}; expected {expected}")


def _described(values: np.ndarray) -> str:
    """Return a readable description of what a function returned.

    >>> _described(np.asarray("cat")), _described(np.zeros(3))
    ("'cat'", 'float64 of shape (3,)')
    """
    return (
        repr(values.item())
        if values.ndim == 0 and values.dtype.kind in "US"
        else f"{values.dtype} of shape {values.shape}"
    )


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
