"""A model that is an ONNX file: any network with logits or labels, of pixels or of whole images.

Conventions: one input with four axes; logits with classes first or last, or labels; for a classifier N x C or
N; an output named ``confidence`` is kept. Outputs named ``members`` (N x T x C x h x w, logits that are
averaged as probabilities) and ``variance`` (N x h x w, of logits) may accompany logits, and members may
replace them. The file may describe its input in its metadata: ``faultscape.mean``, ``.std`` (JSON lists, on
0..1), ``.size``, ``.window``, ``.stride`` (WxH), ``.multiple``, ``.layout`` (nchw | nhwc), ``.classes`` (JSON
list of names). The number of threads is fixed, so that results do not depend on the machine's load.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from faultscape.errors import ModelError, closest, counted, library_text
from faultscape.prediction import bounds
from faultscape.prediction.classifiers import as_pixel
from faultscape.prediction.inputs import inputs_of, size_of
from faultscape.prediction.network_files.onnx_files import weights_beside
from faultscape.prediction.network_files.unchanged_files import unchanged
from faultscape.prediction.sources.network import DOUBT, OUTLIER, Answer, Size
from faultscape.study.settings import CLASSIFICATION, ModelOptions

BATCH = 8
THREADS = 1
_WORDS = ("mean", "std", "classes", "multiple", "dirichlet")  # metadata that is JSON


class OnnxNetwork:
    """An open network; ``classes`` are plausible numbers of channels. ModelError if the file does not hold a
    suitable network.
    """

    marginal = False
    notes: tuple[str, ...] = ()
    weights = ""

    def __init__(
        self,
        path: str | Path,
        options: ModelOptions | None = None,
        classes: Sequence[int] = (),
        device: str = "cpu",
    ) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise ModelError(
                f"{path}: running ONNX models needs onnxruntime; install faultscape[onnx]"
            ) from None
        self.name = str(path)
        if not Path(path).is_file():
            raise ModelError(f"{path}: no such file")
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        given = cast(
            "ModelOptions",
            {key: value for key, value in (options or {}).items() if value not in (None, "", [])},
        )
        settings.intra_op_num_threads = int(given.get("threads", THREADS))
        settings.inter_op_num_threads = 1
        providers: list[Any] = ["CPUExecutionProvider"]
        if device.startswith("cuda"):
            providers.insert(0, ("CUDAExecutionProvider", {"device_id": int(device.partition(":")[2] or 0)}))
        try:
            self._run_options = onnxruntime.RunOptions
            with unchanged(self.name):
                weights_beside(path)  # refuses weights outside its folder
                file = _with_layers(self.name, given.get("layers", []))
                self._session = bounds.within(
                    bounds.SECONDS, lambda: onnxruntime.InferenceSession(file, settings, providers=providers)
                )
        except ModelError:
            raise
        except TimeoutError:
            raise ModelError(
                f"{path}: onnxruntime has not opened it within {bounds.SECONDS:.0f} s; check the file"
            ) from None
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public root
            raise ModelError(f"{path}: onnxruntime cannot load it: {library_text(error)}") from None
        said = {**self._metadata(), **given}
        self.device = device if "CUDAExecutionProvider" in self._session.get_providers() else "cpu"
        inputs = self._session.get_inputs()
        outputs = self._session.get_outputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4:
            takes = " and ".join(f"{i.name} of {len(i.shape)} axes" for i in inputs) or "nothing"
            raise ModelError(f"{path}: it takes {takes}; expected one image input with 4 axes, N x 3 x H x W")
        self._input = inputs[0]
        shape = inputs[0].shape
        self.layout = said.get("layout") or ("nhwc" if shape[3] == 3 and shape[1] != 3 else "nchw")
        if self.layout not in ("nchw", "nhwc"):
            raise ModelError(f"{path}: layout {self.layout!r} is not known; use nchw or nhwc")
        colours = shape[3 if self.layout == "nhwc" else 1]
        if isinstance(colours, int) and colours > 0 and colours != 3:
            raise ModelError(
                f"{path}: takes images of {counted(colours, 'channel')} ({_axes(shape)}); expected 3, red,"
                " green and blue: N x 3 x H x W or N x H x W x 3"
            )
        self._padded = shape[0] if isinstance(shape[0], int) and shape[0] > 1 else 0
        self.batch = shape[0] if isinstance(shape[0], int) and shape[0] > 0 else int(said.get("batch", BATCH))
        self.fixed = _fixed(shape[2:4] if self.layout == "nchw" else shape[1:3])
        self.inputs = inputs_of(said, self.name, size=self.fixed, whole=self._input.type == "tensor(uint8)")
        self.window, self.stride = (
            size_of(said[key], key) if said.get(key) else None for key in ("window", "stride")
        )
        if not isinstance(said.get("classes", []), list):
            raise ModelError(
                f"{path}: its metadata faultscape.classes is not a list of names:"
                f" {str(said['classes'])[:80]!r}"
            )
        self.class_names = [str(name) for name in said.get("classes", [])]
        self.dirichlet = said.get("dirichlet") is True
        self._names = [o.name for o in outputs]
        self._main = next((o for o in outputs if o.name in ("logits", "labels", "output", "out")), outputs[0])
        self._only_members = self._main.name in DOUBT
        self._channels_last = _last(self._main.shape, self.layout, [len(self.class_names), *classes])
        shape = self._main.shape
        self._classifies = given.get("task") == CLASSIFICATION
        number = (
            shape[3 if self._channels_last else 1]
            if len(shape) == 4 or (self._classifies and len(shape) == 2)
            else None
        )
        number = shape[2] if self._only_members and len(shape) == 5 else number
        self.channels = number if isinstance(number, int) and number > 1 else None

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return an image as the network's input; a size fixed in the network overrides any other."""
        return self.inputs.prepare(photo, target, size)

    def run(self, block: np.ndarray, embeddings: Sequence[str] = ()) -> list[Answer]:
        """Return an answer for each prepared image."""
        count = len(block)
        if self.layout == "nhwc":
            block = np.ascontiguousarray(block.transpose(0, 2, 3, 1))
        if self._input.type == "tensor(float16)":
            block = block.astype(np.float16)
        if count < self._padded:
            block = np.concatenate([block, np.repeat(block[-1:], self._padded - count, axis=0)])
        settings = self._run_options()
        try:
            given = bounds.within(
                bounds.SECONDS * count, lambda: self._session.run(None, {self._input.name: block}, settings)
            )
        except TimeoutError:
            settings.terminate = True  # takes effect between two nodes
            raise ModelError(
                f"{self.name}: gave no answer within {bounds.SECONDS:.0f} s an image; show it less with"
                " --input-size or --window"
            ) from None
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public root
            if "allocate memory" in str(error):
                raise MemoryError(str(error).splitlines()[0]) from None
            raise ModelError(f"{self.name}: the network failed: {library_text(error)}") from None
        named = dict(zip(self._names, given, strict=True))
        for name in {self._main.name, *embeddings, *({"confidence", *DOUBT} & named.keys())}:
            self._check(name, named[name], count)
        return [self._answer(named, row, embeddings) for row in range(count)]

    def _check(self, name: str, values: Any, count: int) -> None:
        """Raise ModelError unless an output is numeric with one entry per image on its first axis."""
        if (
            isinstance(values, np.ndarray)
            and values.dtype.kind in "fiub"
            and values.ndim
            and len(values) >= count
        ):
            return
        given = (
            f"{values.dtype} of shape {values.shape}"
            if isinstance(values, np.ndarray)
            else f"a {type(values).__name__}"
        )
        raise ModelError(
            f"{self.name}: its output {name!r} is {given}; expected numbers whose first axis is the"
            f" {counted(count, 'image')} of the batch"
        )

    def _answer(self, named: dict[str, Any], row: int, embeddings: Sequence[str]) -> Answer:
        members, variance, outlier = self._doubt(named, row)
        values = np.asarray(members[0] if self._only_members else named[self._main.name][row])
        values = as_pixel(values) if self._classifies else values
        if values.ndim == 3 and self._channels_last:
            values = values.transpose(2, 0, 1)
        doubt = named.get("confidence") if self._main.name != "confidence" else None
        confidence = None if doubt is None else np.asarray(doubt[row]).astype(np.float32)
        kept = {layer: np.asarray(named[layer][row]) for layer in embeddings}
        if values.ndim > 1 and (values.dtype.kind in "iub" or values.ndim == 2 or values.shape[0] == 1):
            return Answer(labels=_flat(values, self.name), confidence=confidence, embeddings=kept)
        if values.ndim != 3:
            raise ModelError(
                f"{self.name}: output {self._main.name!r} has shape {values.shape} per image;"
                " expected logits, classes x H x W, or labels, H x W"
            )
        scores = None if self._only_members else np.ascontiguousarray(values, np.float32)
        return Answer(
            scores,
            confidence=confidence,
            embeddings=kept,
            members=members,
            variance=variance,
            values={} if outlier is None else {OUTLIER: (outlier[None],)},
        )

    def _doubt(
        self, named: dict[str, Any], row: int
    ) -> tuple[tuple[np.ndarray, ...], np.ndarray | None, np.ndarray | None]:
        """Return the members (C, h, w), the variance (h, w) and the outlier logits (h, w) of one image, if
        the network has such outputs.
        """
        held = [np.asarray(named[key][row], np.float32) if key in named else None for key in DOUBT]
        for key, values in zip(DOUBT, held, strict=True):
            axes, wanted = (4, "N x T x C x h x w") if key == "members" else (2, "N x h x w")
            if values is not None and (values.ndim != axes or not values.size):
                raise ModelError(
                    f"{self.name}: its output {key!r} has shape {values.shape} per image; expected {wanted}"
                )
        members, variance, outlier = held
        if self._only_members and members is None:
            raise ModelError(f"{self.name}: has a variance but no logits")
        return () if members is None else tuple(members), variance, outlier

    def _metadata(self) -> dict[str, Any]:
        said = self._session.get_modelmeta().custom_metadata_map
        out: dict[str, Any] = {}
        for key in (*_WORDS, "size", "layout", "window", "stride"):
            text = said.get(f"faultscape.{key}")
            if text is None:
                continue
            try:
                out[key] = json.loads(text) if key in _WORDS else text
            except (ValueError, RecursionError):
                raise ModelError(
                    f"{self.name}: its metadata faultscape.{key} is not JSON: {text[:80]!r}"
                ) from None
        return out


def _with_layers(path: str, layers: Sequence[str]) -> str | bytes:
    """Return the file, or, if internal values are requested, the same network with these as outputs."""
    if not layers:
        return path
    try:
        import onnx
    except ImportError:
        raise ModelError(
            f"{path}: keeping a layer of an ONNX network needs the package onnx; install faultscape[onnx]"
        ) from None
    try:
        model = onnx.load(path)
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public root
        raise ModelError(f"{path}: onnx cannot read it: {library_text(error)}") from None
    known = {name for node in model.graph.node for name in node.output}
    if missing := [layer for layer in layers if layer not in known]:
        last = ", ".join([name for node in model.graph.node for name in node.output][-8:])
        raise ModelError(
            f"{path}: has no value named {missing[0]!r}.{closest(missing[0], sorted(known))} Its last values"
            f" are {last}"
        )
    there = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=layer) for layer in layers if layer not in there)
    return model.SerializeToString()


def _fixed(shape: Sequence[Any]) -> Size | None:
    """Return (width, height) if the network's shape fixes both."""
    height, width = shape
    return (
        (width, height)
        if isinstance(height, int) and isinstance(width, int) and height > 0 and width > 0
        else None
    )


def _flat(values: np.ndarray, path: str) -> np.ndarray:
    """Return an (H, W) label output without its axes of length one, uint16; floats are accepted if they are
    whole numbers.
    """
    flat = values.reshape(values.shape[-2:]) if values.size == values.shape[-1] * values.shape[-2] else values
    if flat.ndim != 2 or not flat.size or not (flat.min() >= 0 and flat.max() <= 65535):  # also refuses NaN
        raise ModelError(
            f"{path}: the label output must be H x W whole numbers from 0 to 65535; got shape"
            f" {values.shape}{_span(values)}"
        )
    if flat.dtype.kind == "f" and (flat != np.rint(flat)).any():
        raise ModelError(
            f"{path}: returned one channel of fractional numbers, whose largest is always class 0; return"
            " one channel per class, or labels"
        )
    return flat.astype(np.uint16)


def _axes(shape: Sequence[Any]) -> str:
    """Return a shape in words, axes of any length by their names.

    >>> _axes(["n", 4, 48, None])
    'n x 4 x 48 x any'
    """
    return " x ".join(str(axis or "any") for axis in shape)


def _span(values: np.ndarray) -> str:
    return f", {values.min()} to {values.max()}" if values.size else ""


def _last(shape: list[Any], layout: str, numbers: list[int]) -> bool:
    """Whether channels are the last axis of an output, N x C x H x W or N x H x W x C.

    Decided by which of the two axes has a plausible number of classes; else by whether only the last is
    fixed; else by the layout of the input.
    """
    if len(shape) != 4:
        return False
    for number in numbers:
        if (shape[1] == number) != (shape[3] == number):
            return shape[3] == number
    first, last = (isinstance(axis, int) and axis > 0 for axis in (shape[1], shape[3]))
    return layout == "nhwc" if first == last else last
