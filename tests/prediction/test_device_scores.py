"""Labels and scores that are made where a network's logits lie equal those that the processor makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faultscape.maps import winners
from faultscape.metrics.pixel_facts import facts_of
from faultscape.prediction import device_scores
from faultscape.prediction.device_scores import DeviceScores
from faultscape.prediction.inference import Inference, Way
from faultscape.prediction.keep import parse
from faultscape.prediction.sources.onnx import OnnxNetwork
from faultscape.prediction.sources.torch_network import of_module

SIZES = [(40, 24), (10, 6), (23, 17), (5, 3)]  # width, height: larger, the same, odd, smaller


def logits(kind: str) -> np.ndarray:
    """Logits (5, 6, 10) of a kind: any, with many ties, or with classes that are ruled out."""
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 4, (5, 6, 10)).astype(np.float32)
    if kind == "tied":
        scores = np.rint(scores / 4)
    if kind == "infinite":
        scores[1, :3] = -np.inf
        scores[2, 4, 5] = np.inf
    return scores


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["any", "tied", "infinite"])
@pytest.mark.parametrize("at_once", [1 << 25, 300])
def test_labels_are_the_same_to_the_bit_and_sums_up_to_rounding(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], kind: str, at_once: int
) -> None:
    import torch

    monkeypatch.setattr(device_scores, "_AT_ONCE", at_once)
    scores = logits(kind)
    there = DeviceScores(torch.from_numpy(scores))
    labels = winners.labels(there, size)
    assert labels is not None
    assert labels.dtype == np.uint8
    assert np.array_equal(labels, winners.labels(scores, size))
    for marginal in (False, True):
        told, plain = (
            facts_of(given, size, marginal=marginal)
            for given in (DeviceScores(torch.from_numpy(np.abs(scores))), np.abs(scores))
        )
        for name in ("winner", "second", "others", "entropy"):
            assert np.allclose(getattr(told, name), getattr(plain, name), rtol=2e-5, atol=1e-7), name
        assert told.generalised is not None
        assert plain.generalised is not None
        assert np.array_equal(told.generalised(), plain.generalised())


def test_logits_that_are_no_numbers_have_no_labels_and_many_classes_have_wide_ones() -> None:
    import torch

    broken = logits("any")
    broken[0, 0, 0] = np.nan
    assert winners.labels(DeviceScores(torch.from_numpy(broken)), (10, 6)) is None
    many = np.random.default_rng(0).normal(size=(300, 2, 3)).astype(np.float32)
    labels = winners.labels(DeviceScores(torch.from_numpy(many)), (7, 5))
    assert labels is not None
    assert labels.dtype == np.uint16
    assert np.array_equal(labels, winners.labels(many, (7, 5)))


def assert_alike(here: Any, there: Any) -> None:
    """Equal labels, and scores that differ by rounding alone."""
    assert not there.problem
    assert np.array_equal(here.labels, there.labels)
    assert here.kept.keys() == there.kept.keys()
    for folder, arrays in here.kept.items():
        for value, other in zip(arrays, there.kept[folder], strict=True):
            assert np.allclose(value, other, rtol=1e-5, atol=1e-6), folder


@pytest.mark.parametrize("way", [Way(), Way(flip=True), Way(window=(16, 16), stride=(8, 8))])
@pytest.mark.parametrize("temperature", [(), (2.0,)])
def test_a_network_scored_on_its_device_answers_as_one_scored_on_the_processor(
    way: Way, temperature: tuple[float, ...]
) -> None:
    import torch
    from torch import nn

    module = nn.Conv2d(3, 4, 3, stride=2, padding=1)
    with torch.no_grad():
        module.weight.normal_(generator=torch.Generator().manual_seed(0))
    photo = np.random.default_rng(1).integers(0, 255, (24, 32, 3), np.uint8)
    words = ["confidence", "probabilities=2", "logits", "doubt=entropy", "doubt=max-logit", "doubt=gen"]

    def output(score_on: str) -> Any:
        network = of_module(module, "net", {"score_on": score_on})
        return Inference(network, way, parse(words), temperature).predict([photo])[0]

    here, there = output("processor"), output("device")
    assert_alike(here, there)


def onnx_network(path: Path, kind: str) -> None:
    """A convolution with four classes at half the size of its input: logits of a kind, or labels."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype(np.float32)
    last = {"nhwc": ["n", "h", "w", 4]}.get(kind, ["n", 4, "h", "w"])
    outputs = [("logits", TensorProto.FLOAT16 if kind == "half" else TensorProto.FLOAT, last)]
    nodes = [helper.make_node("Conv", ["image", "weights"], ["raw"], strides=[2, 2], pads=[1, 1, 1, 1])]
    if kind == "nhwc":
        nodes.append(helper.make_node("Transpose", ["raw"], ["logits"], perm=[0, 2, 3, 1]))
    elif kind == "half":
        nodes.append(helper.make_node("Cast", ["raw"], ["logits"], to=TensorProto.FLOAT16))
    elif kind == "labels":
        nodes.append(helper.make_node("ArgMax", ["raw"], ["logits"], axis=1, keepdims=0))
        outputs = [("logits", TensorProto.INT64, ["n", "h", "w"])]
    else:
        nodes.append(helper.make_node("Identity", ["raw"], ["logits"]))
    if kind == "with-variance":
        nodes.append(helper.make_node("ReduceMean", ["raw"], ["spread"], axes=[1], keepdims=0))
        nodes.append(helper.make_node("Abs", ["spread"], ["variance"]))
        outputs.append(("variance", TensorProto.FLOAT, ["n", "h", "w"]))
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "H", "W"])],
        [helper.make_tensor_value_info(*output) for output in outputs],
        [numpy_helper.from_array(weights, "weights")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


@pytest.mark.parametrize("made_of", ["nchw", "nhwc", "half", "with-variance"])
def test_logits_of_an_onnx_file_stay_where_the_network_ran(tmp_path: Path, made_of: str) -> None:
    """Bound as its output, and read by torch without a copy."""
    path = tmp_path / "net.onnx"
    onnx_network(path, made_of)
    photo = np.random.default_rng(1).integers(0, 255, (24, 32, 3), np.uint8)
    words = ["confidence", "logits", "doubt=entropy", "doubt=max-logit"]

    def output(score_on: str) -> Any:
        network = OnnxNetwork(path, {"score_on": score_on})
        return Inference(network, Way(), parse(words), ()).predict([photo])[0]

    network = OnnxNetwork(path, {"score_on": "device"})
    block = np.stack([network.prepare(photo, (32, 24), None)])
    assert isinstance(network.outputs(block, ()).named["logits"], DeviceScores)
    here, there = output("processor"), output("device")
    assert_alike(here, there)


def test_labels_of_an_onnx_file_are_those_of_the_file_wherever_it_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx_network(path, "labels")
    photo = np.random.default_rng(1).integers(0, 255, (24, 32, 3), np.uint8)
    said = [
        Inference(OnnxNetwork(path, {"score_on": where}), Way(), parse([]), ()).predict([photo])[0].labels
        for where in ("processor", "device")
    ]
    assert said[0] is not None
    assert said[1] is not None
    assert np.array_equal(said[0], said[1])


def test_a_device_that_is_short_of_memory_leaves_the_image_to_the_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    def short(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(DeviceScores, "_strips", short)
    scores = logits("any")
    there = DeviceScores(torch.from_numpy(scores))
    assert np.array_equal(winners.labels(there, (40, 24)), winners.labels(scores, (40, 24)))
    assert np.array_equal(facts_of(there, (40, 24)).entropy, facts_of(scores, (40, 24)).entropy)
