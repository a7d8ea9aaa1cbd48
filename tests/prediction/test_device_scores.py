"""Labels and scores that are made where a network's logits lie equal those that the processor makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faultscape.errors import MetricError
from faultscape.maps import winners
from faultscape.metrics.pixel_facts import PixelFacts, facts_of, facts_of_members
from faultscape.metrics.scorers import Scorer, score_pixels
from faultscape.metrics.scores.trained_doubt import class_share, differential_entropy
from faultscape.prediction import device_scores
from faultscape.prediction.device_scores import DeviceScores
from faultscape.prediction.inference import Inference, Way
from faultscape.prediction.keep import parse
from faultscape.prediction.sources.ensembles import Ensemble
from faultscape.prediction.sources.onnx import OnnxNetwork
from faultscape.prediction.sources.torch_network import of_module


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of what is copied to the processor."""
    shapes: list[tuple[int, ...]] = []
    plain = DeviceScores.__array__

    def array(self: DeviceScores, *given: Any, **named: Any) -> np.ndarray:
        shapes.append(self.shape)
        return plain(self, *given, **named)

    monkeypatch.setattr(DeviceScores, "__array__", array)
    return shapes


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
@pytest.mark.parametrize("at_once", [1 << 19, 300])
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
    assert_equal(labels, winners.labels(scores, size))
    for marginal in (False, True):
        told, plain = (
            facts_of(given, size, marginal=marginal)
            for given in (DeviceScores(torch.from_numpy(np.abs(scores))), np.abs(scores))
        )
        assert_same_facts(told, plain, ["winner", "second", "others", "entropy"])
        shares, steps = (
            winners.confidence(given, size, marginal=marginal).astype(int)
            for given in (DeviceScores(torch.from_numpy(scores)), scores)
        )
        assert abs(shares - steps).max() <= 1  # a share that lies between two steps


def assert_equal(found: Any, wanted: Any) -> None:
    """Equal to the bit, both arrays."""
    assert isinstance(found, np.ndarray)
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted)


def assert_same_facts(there: PixelFacts, here: PixelFacts, names: Sequence[str]) -> None:
    """Equal up to rounding, the generalised entropy too."""
    for name in names:
        assert np.allclose(getattr(there, name), getattr(here, name), rtol=2e-5, atol=1e-7), name
    assert there.generalised is not None
    assert here.generalised is not None
    assert np.allclose(there.generalised(), here.generalised(), rtol=2e-5)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["any", "tied", "infinite"])
@pytest.mark.parametrize("at_once", [1 << 19, 300])
def test_facts_of_members_are_the_same_up_to_rounding(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], kind: str, at_once: int
) -> None:
    import torch

    monkeypatch.setattr(device_scores, "_AT_ONCE", at_once)
    rng = np.random.default_rng(5)
    members = [logits(kind), np.abs(logits(kind)[::-1]), logits("any")[:, ::-1, ::2].copy()]
    members.append((members[0] + rng.normal(0, 1e-3, members[0].shape)).astype(np.float32))  # nearly the same
    kinds = [False, True, False, False]
    on_device = [DeviceScores(torch.from_numpy(scores)) for scores in members]
    here = facts_of_members(members, size, marginal=kinds)
    names = ["winner", "second", "others", "entropy", "predictive", "expected", "information"]
    for given in (on_device, [*on_device[:2], *members[2:]], [members[0], *on_device[1:]]):
        there = facts_of_members(given, size, marginal=kinds)
        assert there.members == 4
        assert_same_facts(there, here, names)
        assert there.labels is not None
        assert here.labels is not None
        assert there.labels.dtype == here.labels.dtype
        other = there.labels != here.labels
        assert not other.any() or (here.winner - here.second)[other].max() < 1e-6
        assert other.mean() < 0.01
    with pytest.raises(MetricError, match="members have 5, 4 classes"):
        facts_of_members([on_device[0], on_device[0][:4]], size)


def test_a_single_class_and_marginal_scores_of_nothing_have_facts_too() -> None:
    import torch

    for scores in (np.ones((1, 2, 3), np.float32), np.zeros((4, 2, 3), np.float32)):
        there = DeviceScores(torch.from_numpy(scores))
        names = ["winner", "second", "others", "entropy"]
        for marginal in (False, True):
            told, plain = (facts_of(given, (6, 4), marginal=marginal) for given in (there, scores))
            assert_same_facts(told, plain, names)
            both = [facts_of_members([given] * 2, (6, 4), marginal=marginal) for given in (there, scores)]
            assert_same_facts(both[0], both[1], [*names, "information"])
            shares = [winners.confidence(given, (6, 4), marginal=marginal) for given in (there, scores)]
            assert_equal(*shares)


def test_logits_that_are_no_numbers_have_no_labels_and_many_classes_have_wide_ones() -> None:
    import torch

    broken = logits("any")
    broken[0, 0, 0] = np.nan
    there = DeviceScores(torch.from_numpy(broken))
    assert winners.labels(there, (10, 6)) is None
    assert [winners.holds_nan(given) for given in (there, there[1:])] == [True, False]
    many = np.random.default_rng(0).normal(size=(300, 2, 3)).astype(np.float32)
    labels = winners.labels(DeviceScores(torch.from_numpy(many)), (7, 5))
    assert labels is not None
    assert labels.dtype == np.uint16
    assert_equal(labels, winners.labels(many, (7, 5)))


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


@pytest.mark.parametrize("way", [Way(flip=True), Way(window=(16, 16), stride=(8, 8), scales=(1.0, 1.5))])
@pytest.mark.parametrize("own", ["logits", "members", "both"])
@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("temperature", [(), (1.0, 2.0, 0.5, 1.5)])
def test_views_and_members_are_scored_where_they_lie(
    copied: list[tuple[int, ...]], way: Way, own: str, precision: str, temperature: tuple[float, ...]
) -> None:
    """In float32, whatever the network computes in, and without a copy of its logits."""
    import torch

    weights = torch.randn(12, 3, 3, 3, generator=torch.Generator().manual_seed(0)).to(
        getattr(torch, precision)
    )

    def module(pictures: Any) -> Any:
        values = torch.nn.functional.conv2d(pictures.to(weights.dtype), weights, stride=2, padding=1)
        members = values.unflatten(1, (3, 4))
        variance = values.float().var(1)
        held = {"logits": values[:, :4], "members": members, "variance": variance}
        return {name: held[name] for name in (held if own == "both" else (own, "variance"))}

    photos = [np.random.default_rng(k).integers(0, 255, (23, 32, 3), np.uint8) for k in range(3)]
    words = ["doubt=entropy", "doubt=variance", "doubt=gen", "confidence"]
    words += ["doubt=mutual-information"] * (own != "logits" or way.flip or len(way.scales) > 1)

    def outputs(score_on: str) -> list[Any]:
        network = of_module(module, "net", {"score_on": score_on, "batch": 2})
        return Inference(network, way, parse(words), temperature).predict(photos)

    here = outputs("processor")
    there = outputs("device")
    scored = [word for word in words if word not in ("confidence", "doubt=gen", "doubt=variance")]
    most = len(photos) * (len(scored) + (own == "members"))  # a member's winner is the confidence too
    assert len(copied) <= most
    assert {*copied} == {(23, 32)}  # scores alone, not what they are made from
    for one, other in zip(here, there, strict=True):
        assert not one.problem
        assert not other.problem
        assert (one.labels == other.labels).mean() > 0.999
        for folder, (values,) in one.kept.items():
            assert np.allclose(
                values, other.kept[folder][0], rtol=1e-4, atol=1 if folder == "confidence" else 1e-5
            )


def test_an_ensemble_is_scored_where_its_members_lie_or_on_the_processor_with_some_that_do_not() -> None:
    import torch

    modules = [torch.nn.Conv2d(3, 4, 3, stride=k + 1, padding=1) for k in range(3)]
    photo = np.random.default_rng(1).integers(0, 255, (24, 32, 3), np.uint8)
    keep = parse(["doubt=mutual-information", "doubt=gen", "confidence", "probabilities=2"])

    def output(*score_on: str) -> Any:
        members = [
            Inference(of_module(module, "net", {"score_on": where}), Way(flip=True))
            for module, where in zip(modules, score_on, strict=True)
        ]
        return Ensemble("ensemble:a,b,c", members, keep).predict([photo])[0]

    here = output(*["processor"] * 3)
    for where in (["device"] * 3, ["processor", "device", "device"], ["device", "processor", "device"]):
        assert_alike(here, output(*where))


def test_doubt_that_a_network_was_trained_for_is_made_where_its_logits_lie(
    copied: list[tuple[int, ...]],
) -> None:
    import torch

    scores = logits("any")
    wanted = class_share(scores, 2, (23, 17)), differential_entropy(scores, (23, 17))
    there = DeviceScores(torch.from_numpy(scores))
    found = class_share(there, 2, (23, 17)), differential_entropy(there, (23, 17))
    assert not copied
    for one, other in zip(wanted, found, strict=True):
        assert other.dtype == np.float32
        assert np.allclose(one, other, rtol=1e-5, atol=1e-5)


def onnx_network(path: Path, kind: str) -> None:
    """A convolution with four classes at half the size of its input: logits of a kind, or labels."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype(np.float32)
    last = {"nhwc": ["n", "h", "w", 4]}.get(kind, ["n", 4, "h", "w"])
    constants = [numpy_helper.from_array(weights, "weights")]
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
    if kind == "members":
        nodes.append(helper.make_node("Neg", ["raw"], ["other"]))
        nodes.append(helper.make_node("Concat", ["raw", "other"], ["both"], axis=1))
        constants.append(numpy_helper.from_array(np.array([0, 2, 4, 12, 16]), "shape"))
        nodes.append(helper.make_node("Reshape", ["both", "shape"], ["members"]))
        outputs.append(("members", TensorProto.FLOAT, ["n", "t", "c", "h", "w"]))
    if kind == "with-variance":
        nodes.append(helper.make_node("ReduceMean", ["raw"], ["spread"], axes=[1], keepdims=0))
        nodes.append(helper.make_node("Abs", ["spread"], ["variance"]))
        outputs.append(("variance", TensorProto.FLOAT, ["n", "h", "w"]))
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "H", "W"])],
        [helper.make_tensor_value_info(*output) for output in outputs],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


@pytest.mark.parametrize("made_of", ["nchw", "nhwc", "half", "with-variance", "members"])
def test_logits_of_an_onnx_file_stay_where_the_network_ran(tmp_path: Path, made_of: str) -> None:
    """Bound as its output, and read by torch without a copy."""
    path = tmp_path / "net.onnx"
    onnx_network(path, made_of)
    photo = np.random.default_rng(1).integers(0, 255, (24, 32, 3), np.uint8)
    words = ["confidence", "logits", "doubt=entropy", "doubt=max-logit"]
    words += ["doubt=mutual-information"] * (made_of == "members")

    def output(score_on: str) -> Any:
        network = OnnxNetwork(path, {"score_on": score_on})
        return Inference(network, Way(), parse(words), ()).predict([photo])[0]

    network = OnnxNetwork(path, {"score_on": "device"})
    block = np.stack([network.prepare(photo, (32, 24), None)])
    named = network.outputs(block, ()).named
    assert all(isinstance(named[name], DeviceScores) for name in {"logits", "members"} & named.keys())
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

    monkeypatch.setattr(device_scores, "_stretched", short)
    monkeypatch.setattr(DeviceScores, "_beside", short)
    scores = logits("any")
    there = DeviceScores(torch.from_numpy(scores))
    size = (40, 24)

    def generalised(facts: Any) -> np.ndarray:
        return facts.generalised()

    functions: Sequence[Callable[[Any, Any], Any]] = (
        winners.labels,
        winners.enlarged,
        winners.confidence,
        lambda given, size: facts_of(given, size).entropy,
        lambda given, size: generalised(facts_of(given, size)),
        lambda given, size: facts_of_members([given] * 2, size).information,
        lambda given, size: generalised(facts_of_members([given] * 2, size)),
        lambda given, size: class_share(given, 2, size),
        differential_entropy,
        lambda given, _: given / np.float32(2),
        lambda given, _: given * np.arange(5, dtype=np.float32)[:, None, None],
    )
    for function in functions:
        assert_equal(function(there, size), function(scores, size))


@pytest.mark.parametrize("way", [Way(), Way(flip=True), Way(window=(16, 16), stride=(8, 8))])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_fitted_methods_score_from_features_and_logits_where_they_lie(
    copied: list[tuple[int, ...]], way: Way, precision: str
) -> None:
    import torch

    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.knn_density import KnnClassDensity, KnnDensity
    from faultscape.uncertainty.methods.logits.odin import Odin
    from faultscape.uncertainty.methods.logits.standardised_logit import StandardisedMaxLogit
    from faultscape.uncertainty.methods.mahalanobis import ClassDistance
    from faultscape.uncertainty.methods.neco import EnergyNeco, Neco

    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 6, 3, stride=2, padding=1), torch.nn.Conv2d(6, 4, 1)
    module = torch.nn.Sequential(*layers)
    photos = [np.random.default_rng(k).integers(0, 255, (23, 32, 3), np.uint8) for k in range(3)]
    of_layer, of_logits = (
        Embeddings(torch.randn(200, wide), torch.nn.functional.one_hot(torch.arange(200) % 4).bool())
        for wide in (6, 4)
    )
    few: dict[str, Any] = {"k": 5, "printed": False}
    methods: dict[str, Any] = {
        "knn": KnnDensity.fit(["0"], [of_layer], few, np.arange(4)),
        "knn-class": KnnClassDensity.fit(["0"], [of_layer], few, np.arange(4)),
        "mahalanobis": ClassDistance.fit(["0"], [of_layer], {"shrink": 1e-4}, np.arange(4)),
        "neco": Neco.fit(["0"], [of_layer], {}, np.arange(4)),
        "energy-neco": EnergyNeco.fit(["0"], [of_layer, of_logits], {}, np.arange(4)),
        "odin": Odin.fit([], [], {"temperature": 3.0, "epsilon": 0.0}, np.arange(4)),
        "standardised-max-logit": StandardisedMaxLogit.fit([], [of_logits], {}, np.arange(4)),
    }
    words = [*methods, *(["embedding=0"] if way.plain else [])]

    def outputs(score_on: str) -> list[Any]:
        options: Any = {"score_on": score_on, "batch": 2, "precision": precision}
        keep = parse([word if "=" in word else f"doubt={word}" for word in words])
        return Inference(of_module(module, "net", options), way, keep, (2.0,), methods).predict(photos)

    here = outputs("processor")
    there = outputs("device")
    assert {*copied} == {(23, 32), *([(6, 12, 16)] if way.plain else [])}  # scores and what is kept
    for one, other in zip(here, there, strict=True):
        assert_alike(one, other)
        assert len(other.kept) == len(words)


def own_doubt(facts: PixelFacts) -> np.ndarray:
    """A scorer of one's own, which knows arrays of NumPy alone."""
    assert isinstance(facts.winner, np.ndarray)
    return facts.winner.clip(0, 0.5).astype(np.float32)


def test_scorers_of_ones_own_are_given_arrays(copied: list[tuple[int, ...]]) -> None:
    import torch

    scores = logits("any")
    own = Scorer("own", "Own", "", own_doubt)
    here, there = (
        score_pixels(own, facts_of(given, (23, 17)))
        for given in (scores, DeviceScores(torch.from_numpy(scores)))
    )
    assert np.allclose(here, there, rtol=1e-5)
    assert copied == [(17, 23)] * 6


def test_arithmetic_stays_on_the_device_and_other_functions_of_arrays_do_not(
    copied: list[tuple[int, ...]],
) -> None:
    import torch

    scores = logits("any")
    there = DeviceScores(torch.from_numpy(scores))
    for function in (
        lambda a: -a / 2 + 1 - np.log1p(np.exp(np.minimum(a, 2))),
        lambda a: np.float32(3) * a - scores,
        lambda a: scores - np.maximum(a, scores[0]),
    ):
        made = function(there)
        assert isinstance(made, DeviceScores)
        assert not copied
        assert np.allclose(made.tensor.numpy(), function(scores), rtol=1e-6, atol=1e-6)
    total = there.copy()
    total += scores
    total /= 2
    assert isinstance(total, DeviceScores)
    assert not copied
    assert_equal(total.tensor.numpy(), scores)
    assert_equal(np.asarray(there), logits("any"))  # the copy alone was changed
    assert_equal(np.sqrt(np.abs(there)), np.sqrt(np.abs(scores)))
    assert_equal(there > 0, scores > 0)
    assert_equal(np.add.reduce(there), np.add.reduce(scores))
    held = scores.copy()
    held += there
    assert_equal(held, scores * 2)


@pytest.mark.parametrize("fits", [0, 3, 8])
def test_windows_and_views_go_on_with_the_processor_when_the_device_runs_out_of_memory(
    monkeypatch: pytest.MonkeyPatch, fits: int
) -> None:
    import torch

    torch.manual_seed(0)
    module = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1)
    photo = np.random.default_rng(1).integers(0, 255, (24, 32, 3), np.uint8)
    way = Way(window=(16, 16), stride=(8, 8), flip=True, scales=(1.0, 1.5))
    keep = parse(["doubt=entropy", "doubt=mutual-information"])

    def output(score_on: str) -> Any:
        return Inference(of_module(module, "net", {"score_on": score_on}), way, keep).predict([photo])[0]

    here = output("processor")
    calls = []

    def until_full(plain: Callable[..., Any], *, counts: bool) -> Callable[..., Any]:
        def limited(*given: Any) -> Any:
            calls.extend([given] * counts)
            if len(calls) > fits:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return plain(*given)

        return limited

    monkeypatch.setattr(device_scores, "_stretched", until_full(device_scores._stretched, counts=True))
    upload = until_full(torch.tensor, counts=False)
    monkeypatch.setattr(torch, "tensor", upload)
    assert_alike(here, output("device"))
    assert len(calls) > fits
