"""What a GPU must do as a processor does. Without one these tests are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
from faultscape.prediction.device_scores import DeviceScores
from faultscape.prediction.inference import Inference, Output, Way
from faultscape.prediction.keep import parse
from faultscape.prediction.sources.ensembles import Ensemble
from faultscape.prediction.sources.torch_network import of_module
from faultscape.study.settings import ModelOptions
from made_methods import METHODS
from made_training import FEW, Trained, doubt_of

torch = pytest.importorskip("torch")
from faultscape.uncertainty.training.loop import Machine, Step, Task, train  # noqa: E402 - they import torch
from faultscape.uncertainty.training.plan import CompletePlan  # noqa: E402 - as above

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

HEADS = ("linear", "batch-ensemble", "gp", "heteroscedastic", "batch-ensemble+gp")
SCORERS = ["msp", "predictive-entropy", "mutual-information"]
PLAN = CompletePlan(steps=2, batch=8, rate=1e-3, crop=(256, 256), scale=(1.0, 1.0))


@pytest.fixture(autouse=True)
def _exact_products():
    """Let neither matrix products nor convolutions round to TF32, so that digits can be compared."""
    held = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = held
    torch.cuda.set_per_process_memory_fraction(1.0)


def network(head: str, **options):
    torch.manual_seed(3)
    body = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 3, 1))
    return fs.uncertainty.replace_head(body, head, **options).eval()


def read(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    return rng.integers(0, 256, (256, 256, 3), dtype=np.uint8), rng.integers(0, 3, (256, 256)).astype(
        np.int16
    )


@pytest.mark.parametrize("head", HEADS)
def test_a_head_says_on_a_gpu_what_it_says_on_a_processor(head: str) -> None:
    images = torch.rand(2, 3, 12, 16)
    seen = torch.ones(2, 12, 16, dtype=torch.bool)
    said = []
    for device in ("cpu", "cuda"):
        net = network(head).to(device)
        with torch.inference_mode():
            if "gp" in head:
                fs.uncertainty.fit_covariance(net, [(images.to(device), seen.to(device))])
            said.append(net(images.to(device)))
    for name in ("logits", "members", "variance"):
        one, other = (getattr(doubt, name) for doubt in said)
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(other.cpu(), one, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "no"])
@pytest.mark.parametrize("head", HEADS)
def test_a_network_trained_on_a_gpu_says_the_same_on_a_processor(
    trained: Trained, head: str, precision: str
) -> None:
    machine = fs.options.TrainingMachine(device="cuda", precision=precision)
    made = fs.train(trained.study, "net", backbone=trained.own, head=head, plan=FEW, machine=machine)
    assert made.found["nll"] < 0.7
    scorers = SCORERS[:1] if head == "linear" else SCORERS
    for device in ("cuda", "cpu"):
        hardware = fs.options.Hardware(device=device, precision="float32")
        fs.predict(trained.study, {device: made.source}, scorer=scorers, hardware=hardware, engine="local")
    for name in scorers:
        np.testing.assert_allclose(
            doubt_of(trained.study, "cuda", name), doubt_of(trained.study, "cpu", name), rtol=1e-2, atol=2e-3
        )


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_a_killed_run_goes_on_from_its_checkpoint_on_a_gpu(tmp_path: Path, precision: str) -> None:
    def steps(folder: str) -> Iterator[Step]:
        net = network("batch-ensemble")
        return train(
            net,
            replace(PLAN, steps=8),
            Task(8, read),
            tmp_path / folder,
            "key",
            Machine("cuda", precision, every=0.0),
        )

    whole = [step.loss for step in steps("whole")]
    killed = steps("killed")
    before = [next(killed).loss for _ in range(5)]
    killed.close()
    after = [*steps("killed")]
    assert after[0].step == 6
    assert before + [step.loss for step in after] == pytest.approx(whole, rel=1e-2)


def test_a_batch_that_a_gpu_cannot_hold_goes_through_in_parts(tmp_path: Path) -> None:
    def wide():
        torch.manual_seed(0)
        layers = torch.nn.Conv2d(3, 256, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(256, 3, 1)
        return fs.uncertainty.replace_head(torch.nn.Sequential(*layers), "linear")

    losses, said = [], []
    for folder, share in (("whole", 1.0), ("parts", 9e8 / torch.cuda.get_device_properties(0).total_memory)):
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(share)
        steps = train(wide(), PLAN, Task(8, read), tmp_path / folder, "key", Machine("cuda"), say=said.append)
        losses.append([step.loss for step in steps])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert said
    assert all("out of memory with" in line for line in said)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_that_was_fitted_on_a_gpu_scores_the_same_on_a_processor(
    trained: Trained, method: str
) -> None:
    from faultscape.study.settings import read_settings

    told = {
        "flow": fs.options.MethodOptions(steps=20, blocks=2, width=8, batch=64, epsilon=0.01),
        "odin": fs.options.MethodOptions(epsilon=0.01),
    }
    fs.predict(trained.study, {"net": trained.source}, engine="local")
    fs.fit(
        trained.study,
        method,
        model="net",
        device="cuda",
        method_options=told.get(method, fs.options.MethodOptions()),
    )
    found = []
    for device in ("cuda", "cpu"):
        hardware = fs.options.Hardware(device=device, precision="float32")
        fs.predict(trained.study, {"net": trained.source}, scorer=[method], hardware=hardware, engine="local")
        (word,) = read_settings(Path(trained.study)).models["net"].options["scorer"]
        found.append(doubt_of(trained.study, "net", f"{method}-{word.partition('@')[2][:6]}"))
    close = np.isclose(*found, rtol=1e-2, atol=2e-3)
    assert close.mean() > 0.99  # a neighbour, or the sign of a gradient, may be another at a tie


@pytest.mark.parametrize("way", [Way(), Way(flip=True), Way(window=(96, 96), stride=(64, 64))])
@pytest.mark.parametrize("head", ["linear", "batch-ensemble", "heteroscedastic", "gp"])
@pytest.mark.parametrize("temperature", [(), (1.0, 2.0, 0.5)])
def test_labels_and_scores_are_the_same_where_the_logits_lie_and_on_the_processor(
    way: Way, head: str, temperature: tuple[float, ...]
) -> None:
    photo, _ = read(0)
    words = ["confidence", "doubt=entropy", "doubt=gen", "doubt=margin"]
    words += ["doubt=mutual-information"] * (head == "batch-ensemble" or way.flip)
    keep = parse(words)
    module = network(head)

    def output(score_on: str) -> Output:
        options: ModelOptions = {"precision": "float32", "score_on": score_on}
        one = of_module(module, "net", options, "cuda")
        return Inference(one, way, keep, temperature).predict([photo])[0]

    there, here = output("device"), output("processor")
    assert there.labels is not None
    assert here.labels is not None
    assert (there.labels != here.labels).mean() < 1e-4  # two logits within a rounding
    for folder, (values,) in here.kept.items():
        step = 1 if folder == "confidence" else 1e-4
        assert np.allclose(values.astype(float), there.kept[folder][0], rtol=1e-4, atol=step), folder


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_scores_of_a_network_in_half_precision_are_made_in_float32_on_a_gpu(precision: str) -> None:
    photo, _ = read(1)
    module = network("linear")
    said = []
    for where in ("processor", "device"):
        options: ModelOptions = {"precision": precision, "score_on": where}
        one = Inference(of_module(module, "net", options, "cuda"), keep=parse(["doubt=entropy"]))
        said.append(one.predict([photo])[0])
    assert (said[0].labels == said[1].labels).mean() > 0.9999
    np.testing.assert_allclose(
        said[0].kept["doubt-entropy"][0], said[1].kept["doubt-entropy"][0], rtol=1e-4, atol=1e-5
    )


def test_an_ensemble_is_scored_on_a_gpu_and_nothing_but_its_scores_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    photo, _ = read(2)
    modules = [network("linear"), network("linear")]
    keep = parse(["doubt=mutual-information", "doubt=entropy"])

    def output(score_on: str) -> Output:
        options: ModelOptions = {"precision": "float32", "score_on": score_on}
        members = [Inference(of_module(module, "net", options, "cuda"), Way(flip=True)) for module in modules]
        return Ensemble("ensemble:a,b", members, keep).predict([photo])[0]

    here = output("processor")
    copied: list[tuple[int, ...]] = []
    plain = DeviceScores.__array__

    def array(self: DeviceScores, *given: Any, **named: Any) -> np.ndarray:
        copied.append(self.shape)
        return plain(self, *given, **named)

    monkeypatch.setattr(DeviceScores, "__array__", array)
    there = output("device")
    assert copied == [(256, 256)] * 2
    assert there.labels is not None
    assert here.labels is not None
    assert (there.labels != here.labels).mean() < 1e-4
    for folder, (values,) in here.kept.items():
        assert np.allclose(values, there.kept[folder][0], rtol=1e-4, atol=1e-5), folder


def test_an_onnx_file_scored_on_a_gpu_gives_the_labels_of_the_processor() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        pytest.skip("needs onnxruntime-gpu")
    from faultscape.prediction.sources.onnx import OnnxNetwork

    network = Path(fs.__file__).parent / "prediction" / "networks" / "unet.onnx"
    photo = np.random.default_rng(0).integers(0, 256, (160, 256, 3), dtype=np.uint8)
    said = []
    for where in ("processor", "device"):
        opened = OnnxNetwork(network, {"score_on": where}, "cuda:0")
        said.append(Inference(opened, Way(), parse(["confidence"]), ()).predict([photo])[0])
    assert (said[0].labels == said[1].labels).mean() > 0.9999
    np.testing.assert_allclose(said[0].kept["confidence"][0], said[1].kept["confidence"][0], rtol=1e-3)
