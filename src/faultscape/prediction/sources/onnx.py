"""A model that is an ONNX file: any network with logits or labels, of pixels or of whole images.

Conventions: one input with four axes; logits with classes first or last, or labels; for a classifier N x C or
N; an output named ``confidence`` is kept. Outputs named ``members`` (N x T x C x h x w, logits that are
averaged as probabilities) and ``variance`` (N x h x w, of logits) may accompany logits, and members may
replace them. The file may describe its input in its metadata: ``faultscape.mean``, ``.std`` (JSON lists, on
0..1), ``.size``, ``.window``, ``.stride`` (WxH), ``.multiple``, ``.layout`` (nchw | nhwc), ``.classes`` (JSON
list of names). The number of threads is fixed, so that results do not depend on the machine's load. Where
torch can use the network's device, logits stay there, bound as its output, and are scored there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import ModelError, closest, counted, library_text
from faultscape.prediction import bounds, devices
from faultscape.prediction.device_scores import DeviceScores, scores_or_array
from faultscape.prediction.network_files.onnx_files import weights_beside
from faultscape.prediction.sources.network import BESIDE, CONFIDENCE, MEMBERS, Network, Outputs, unchanged
from faultscape.study.settings import ModelOptions

THREADS = 1
_WORDS = ("mean", "std", "classes", "multiple", "dirichlet")  # metadata that is JSON


class OnnxNetwork(Network):
    """An open network; the option ``channels`` has plausible numbers of channels. ModelError if the file does
    not hold a suitable network.
    """

    float_labels = True

    def __init__(self, path: str | Path, options: ModelOptions | None = None, device: str = "cpu") -> None:
        try:
            import onnxruntime
        except ImportError:
            raise ModelError(
                f"{path}: running ONNX models needs onnxruntime; install faultscape[onnx]"
            ) from None
        self.name = str(path)
        options = options or {}
        if not Path(path).is_file():
            raise ModelError(f"{path}: no such file")
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        settings.intra_op_num_threads = int(options.get("threads") or THREADS)
        settings.inter_op_num_threads = 1
        providers: list[Any] = ["CPUExecutionProvider"]
        if device.startswith("cuda"):
            providers.insert(0, ("CUDAExecutionProvider", {"device_id": int(device.partition(":")[2] or 0)}))
        try:
            self._run_options = onnxruntime.RunOptions
            with unchanged(self.name):
                weights_beside(path)  # refuses weights outside its folder
                file = _with_layers(self.name, options.get("layers") or [])
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
        said = self._metadata()
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4:
            takes = " and ".join(f"{i.name} of {len(i.shape)} axes" for i in inputs) or "nothing"
            raise ModelError(f"{path}: it takes {takes}; expected one image input with 4 axes, N x 3 x H x W")
        self._input = inputs[0]
        shape = inputs[0].shape
        own = "nhwc" if shape[3] == 3 and shape[1] != 3 else "nchw"
        self.layout = options.get("layout") or said.get("layout") or own
        if self.layout not in ("nchw", "nhwc"):
            raise ModelError(f"{path}: layout {self.layout!r} is not known; use nchw or nhwc")
        channels_first = shape if self.layout == "nchw" else [shape[0], shape[3], shape[1], shape[2]]
        colours = channels_first[1]
        if isinstance(colours, int) and colours > 0 and colours != 3:
            raise ModelError(
                f"{path}: takes images of {counted(colours, 'channel')} ({_axes(shape)}); expected 3, red,"
                " green and blue: N x 3 x H x W or N x H x W x 3"
            )
        device = device if "CUDAExecutionProvider" in self._session.get_providers() else "cpu"
        whole = self._input.type == "tensor(uint8)"
        super().__init__(self.name, said, options, device, shape=channels_first, whole=whole)
        self.score_on = _scored_on(self.name, options.get("score_on"), device)
        outputs = self._session.get_outputs()
        self._names = [o.name for o in outputs]
        self._main = next((o for o in outputs if o.name in ("logits", "labels", "output", "out")), outputs[0])
        shape = self._main.shape
        likely = [len(self.class_names), *options.get("channels", [])]
        self._channels_last = _last(shape, self.layout, likely)
        number = (
            shape[3 if self._channels_last else 1]
            if len(shape) == 4 or (self.classifies and len(shape) == 2)
            else None
        )
        number = shape[2] if self._main.name in BESIDE and len(shape) == 5 else number
        self.channels = number if isinstance(number, int) and number > 1 else None

    def outputs(self, block: np.ndarray, embeddings: Sequence[str]) -> Outputs:
        """Return what the network gives for prepared images."""
        if self.layout == "nhwc":
            block = np.ascontiguousarray(block.transpose(0, 2, 3, 1))
        if self._input.type == "tensor(float16)":
            block = block.astype(np.float16)
        settings = self._run_options()
        try:
            given = bounds.within(
                bounds.SECONDS * len(block),
                lambda: self._given(block, settings),
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
        found = dict(zip(self._names, given, strict=True))
        main = self._main.name
        named = {name: found[name] for name in (main, CONFIDENCE, *BESIDE) if name in found}
        values = named[main]
        if self._channels_last and isinstance(values, np.ndarray | DeviceScores) and values.ndim == 4:
            named[main] = values.transpose(0, 3, 1, 2)
        return Outputs(main, named, {layer: found[layer] for layer in embeddings})

    def _given(self, block: np.ndarray, settings: Any) -> Sequence[Any]:
        """Return all outputs, of which logits stay on the device where they are scored."""
        if self.score_on == "processor":
            return self._session.run(None, {self._input.name: block}, settings)
        binding = self._session.io_binding()
        binding.bind_cpu_input(self._input.name, block)
        kind, _, number = self.device.partition(":")
        scored = {self._main.name, MEMBERS}
        for name in self._names:
            binding.bind_output(name, *((kind, int(number or 0)) if name in scored else ("cpu", 0)))
        self._session.run_with_iobinding(binding, settings)
        return [
            scores_or_array(value, -1 if name == self._main.name and self._channels_last else -3)
            if name in scored
            else value.numpy()
            for name, value in zip(self._names, binding.get_outputs(), strict=True)
        ]

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


def _scored_on(name: str, asked: str | None, device: str) -> str:
    """Return where logits are scored: where the network runs, if torch can use that device."""
    where = devices.scored_on(asked, device)
    if where == "processor" or (asked is None and not devices.count("torch")):
        return "processor"
    devices.need_torch(name, "--score-on device")
    return where


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


def _axes(shape: Sequence[Any]) -> str:
    """Return a shape in words, axes of any length by their names.

    >>> _axes(["n", 4, 48, None])
    'n x 4 x 48 x any'
    """
    return " x ".join(str(axis or "any") for axis in shape)


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
