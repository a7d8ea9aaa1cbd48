"""A model that is an ONNX file: any segmentation network with logits or labels.

Conventions: photo (upright RGB) -> bilinear to the input size -> / 255 - mean, / std -> network. Logits (classes first) are brought to the
working size bilinearly, then arg-max, ties to the first class; label outputs by nearest neighbour. The file may say its own
input in its metadata: ``faultscape.mean``, ``.std`` (JSON lists, on 0..1), ``.size`` (WxH), ``.layout`` (nchw | nhwc), ``.classes`` (JSON list of names).
The number of threads is fixed, so that results do not depend on the machine's load.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import ModelError
from faultscape.maps.resize import nearest

DEFAULTS: dict[str, Any] = {"size": "", "mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0, 1.0], "layout": "", "batch": 8, "threads": 1}


_AT_ONCE = 64  # channels that every cv2 resizes: some know 128, some 512


@dataclass(frozen=True)
class Output:
    """One image's result: labels (H, W) at working size, or what went wrong."""

    labels: np.ndarray | None
    confidence: np.ndarray | None = None
    problem: str = ""


class OnnxModel:
    """An open network; ``classes`` are numbers of channels that it may well have. ModelError when the file is no network that segments."""

    def __init__(self, path: str | Path, options: dict[str, Any] | None = None, classes: Sequence[int] = ()) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise ModelError(f"{path}: running ONNX models needs onnxruntime; install faultscape[onnx]") from None
        self.path = str(path)
        if not Path(path).is_file():
            raise ModelError(f"{path}: no such file")
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        given = {key: value for key, value in (options or {}).items() if value not in (None, "", [])}
        settings.intra_op_num_threads = int(given.get("threads", DEFAULTS["threads"]))
        settings.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(self.path, settings, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public root
            raise ModelError(f"{path}: onnxruntime cannot load it: {str(error).splitlines()[0][:300]}") from None
        self.options = {**DEFAULTS, **self._metadata(), **given}
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4:
            raise ModelError(f"{path}: expected one input of four dimensions; got {[(i.name, i.shape) for i in inputs]}")
        self._input = inputs[0]
        shape = self._input.shape
        self.layout = self.options["layout"] or ("nhwc" if shape[3] == 3 and shape[1] != 3 else "nchw")
        if self.layout not in ("nchw", "nhwc"):
            raise ModelError(f"{path}: layout {self.layout!r} is not known; use nchw or nhwc")
        self.batch = shape[0] if isinstance(shape[0], int) and shape[0] > 0 else int(self.options["batch"])
        self._padded = isinstance(shape[0], int) and shape[0] > 1
        self.input_size = self._size(shape[2:4] if self.layout == "nchw" else shape[1:3])
        self._names = [o.name for o in self._session.get_outputs()]
        self._main = next(
            (o for o in self._session.get_outputs() if o.name in ("logits", "labels", "output", "out")),
            self._session.get_outputs()[0],
        )

        self._channels_last = _last(self._main.shape, self.layout, [len(self.class_names), *classes])

    @property
    def class_names(self) -> list[str]:
        """Names that the file gives its channels, in order; empty when it gives none."""
        return list(self.options.get("classes", []))

    @property
    def channels(self) -> int | None:
        """Number of logits a pixel where the file says it, else None."""
        shape = self._main.shape
        number = shape[3 if self._channels_last else 1] if len(shape) == 4 else None
        return number if isinstance(number, int) and number > 1 else None

    def predict(self, photos: list[np.ndarray], sizes: list[tuple[int, int]]) -> list[Output]:
        """Return one Output a photo (H, W, 3) at its (width, height); photos are run in groups of one input size."""
        import cv2

        outputs: list[Output | None] = [None] * len(photos)
        wanted = [self.input_size or size for size in sizes]
        mean, std = (np.asarray(self.options[key], np.float32) for key in ("mean", "std"))
        for size in dict.fromkeys(wanted):
            places = [place for place, w in enumerate(wanted) if w == size]
            pixels = np.stack([cv2.resize(photos[p], size, interpolation=cv2.INTER_LINEAR) for p in places])
            block = (pixels.astype(np.float32) / np.float32(255) - mean) / std
            if self._input.type == "tensor(uint8)":
                block = pixels
            if self.layout == "nchw":
                block = np.ascontiguousarray(block.transpose(0, 3, 1, 2))
            if self._input.type == "tensor(float16)":
                block = block.astype(np.float16)
            if self._padded and len(block) < self.batch:
                block = np.concatenate([block, np.repeat(block[-1:], self.batch - len(block), axis=0)])
            try:
                named = dict(zip(self._names, self._session.run(None, {self._input.name: block}), strict=True))
            except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public root
                raise ModelError(f"{self.path}: the network failed: {str(error).splitlines()[0][:300]}") from None
            for row, place in enumerate(places):
                outputs[place] = self._output(named, row, sizes[place])
        return [output for output in outputs if output is not None]

    def _output(self, named: dict[str, Any], row: int, size: tuple[int, int]) -> Output:
        import cv2

        values = named[self._main.name][row]
        if values.ndim == 3 and self._channels_last:
            values = values.transpose(2, 0, 1)
        confidence = named.get("confidence")
        doubt = None
        if confidence is not None and self._main.name != "confidence":
            raw = np.squeeze(confidence[row]).astype(np.float32)
            doubt = np.rint(np.clip(cv2.resize(raw, size, interpolation=cv2.INTER_LINEAR), 0, 1) * 255).astype(np.uint8)
        if values.dtype.kind in "iu":
            return Output(nearest(_flat(values, self.path).astype(np.uint16), size), doubt)
        if (values.ndim == 3 and values.shape[0] == 1) or values.ndim == 2:
            return Output(nearest(np.rint(_flat(values, self.path)).astype(np.uint16), size), doubt)
        if values.ndim != 3:
            raise ModelError(
                f"{self.path}: output {self._main.name!r} has shape {values.shape} an image; expected classes x H x W logits or H x W labels"
            )
        logits = np.ascontiguousarray(values.transpose(1, 2, 0), dtype=np.float32)
        if np.isnan(logits).any():
            return Output(None, problem="the network gave NaN")
        parts = [logits[..., k : k + _AT_ONCE] for k in range(0, logits.shape[2], _AT_ONCE)]
        whole = np.dstack([cv2.resize(np.ascontiguousarray(part), size, interpolation=cv2.INTER_LINEAR) for part in parts])
        return Output(whole.argmax(axis=2).astype(np.uint8 if logits.shape[2] < 256 else np.uint16), doubt)

    def _metadata(self) -> dict[str, Any]:
        """Return what the file says of its own input; other people's metadata is left alone."""
        said = self._session.get_modelmeta().custom_metadata_map
        try:
            return {
                key: said[f"faultscape.{key}"] if key in ("size", "layout") else json.loads(said[f"faultscape.{key}"])
                for key in ("size", "mean", "std", "layout", "classes")
                if f"faultscape.{key}" in said
            }
        except ValueError as error:
            raise ModelError(f"{self.path}: its faultscape metadata cannot be read: {error}") from None

    def _size(self, dimensions: list[Any]) -> tuple[int, int] | None:
        """Return (width, height) that the network wants, or None when it takes any."""
        height, width = dimensions
        if isinstance(height, int) and isinstance(width, int) and height > 0 and width > 0:
            return width, height
        if self.options["size"]:
            w, _, h = str(self.options["size"]).lower().partition("x")
            if w.isdecimal() and h.isdecimal() and int(w) and int(h):
                return int(w), int(h)
            raise ModelError(f"{self.path}: input size {self.options['size']!r} is not WIDTHxHEIGHT")
        return None


def _flat(values: np.ndarray, path: str) -> np.ndarray:
    """Return an (H, W) label output without its axes of length one."""
    flat = values.reshape(values.shape[-2:]) if values.size == values.shape[-1] * values.shape[-2] else values
    if flat.ndim != 2 or flat.min() < 0 or flat.max() > 65535:
        raise ModelError(f"{path}: the label output must be H x W whole numbers from 0 to 65535; got shape {values.shape}")
    return flat


def _last(shape: list[Any], layout: str, numbers: list[int]) -> bool:
    """Whether channels are the last axis of an output, N x C x H x W or N x H x W x C.

    A number of classes that one of both axes has decides; else that the last is fixed and the first is not; else the layout of the input.
    """
    if len(shape) != 4:
        return False
    for number in numbers:
        if (shape[1] == number) != (shape[3] == number):
            return shape[3] == number
    first, last = (isinstance(axis, int) and axis > 0 for axis in (shape[1], shape[3]))
    return layout == "nhwc" if first == last else last
