"""Labels and scores that are made where a network's logits lie equal those that the processor makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultscape.maps import winners
from faultscape.metrics.pixel_facts import facts_of
from faultscape.prediction import device_scores
from faultscape.prediction.device_scores import DeviceScores
from faultscape.prediction.inference import Inference, Way
from faultscape.prediction.keep import parse
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
    assert not there.problem
    assert np.array_equal(here.labels, there.labels)
    assert here.kept.keys() == there.kept.keys()
    for folder, arrays in here.kept.items():
        for value, other in zip(arrays, there.kept[folder], strict=True):
            assert np.allclose(value, other, rtol=1e-5, atol=1e-6), folder


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
