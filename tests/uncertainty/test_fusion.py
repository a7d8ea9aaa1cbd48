"""Fusion: its loss and its join against plain NumPy, and what it learns from its parts."""

from __future__ import annotations

import numpy as np
import pytest

from made_methods import Listed


class Shifted:
    """A part that scores a cell by its first feature."""

    layers = ("layer",)
    epsilon = 0.0
    asked = 0

    def values(self, features, _logits):
        self.asked += 1
        return (features[0][:, :1],)

    def score(self, values, size):
        from faultscape.maps.winners import enlarged

        return np.array(enlarged(values[0], size)[0])


WORD = "residual@0123456789ab"
OPTIONS = {"parts": f"entropy,{WORD}", "equal_weights": False, "spatial": True, "width": 4}


def examples_of(torch, count: int = 6):
    """Images of 6 x 8 cells, in whose middle an unknown object has another first feature."""
    from faultscape.uncertainty.methods.block_fit import Grids

    made = []
    for number in range(count):
        anomaly = np.zeros((6, 8), np.uint8)
        anomaly[2:4, 3:5] = 1
        anomaly[0] = 255
        features = torch.randn(2, 6, 8)
        features[0] += 4 * torch.from_numpy(anomaly == 1)
        made.append(Grids.of([features], np.random.default_rng(number).normal(size=(3, 6, 8)), anomaly))
    return Listed(made)


def test_the_loss_is_that_of_its_definition(torch) -> None:
    from faultscape.uncertainty.methods.evidence.fusion import odds_loss

    rng = np.random.default_rng(0)
    fused = rng.normal(0, 3, (2, 3, 5))
    labels = rng.choice([0, 0, 1, 255], (2, 3, 5))
    share = 1 / (1 + np.exp(-fused))
    expected = -np.log(1 - share)[labels == 0].mean() - np.log(share)[labels == 1].mean()
    counts = int((labels == 0).sum()), int((labels == 1).sum())
    found = odds_loss(torch.from_numpy(fused), torch.from_numpy(labels), *counts)
    assert float(found) == pytest.approx(expected, abs=1e-6)


def test_a_join_in_numpy_says_the_same(torch) -> None:
    """One cell, so that a convolution of 3 x 3 is its middle; before training the mean of the parts."""
    from faultscape.uncertainty.methods.evidence.fusion import FusionBlock

    block = FusionBlock(3, 4, seed=1)
    scores = torch.randn(1, 3, 1, 1)
    assert block(scores).item() == pytest.approx(scores.mean().item(), abs=1e-6)
    torch.nn.init.normal_(block.leave.weight)
    torch.nn.init.normal_(block.weight)
    torch.nn.init.constant_(block.bias, 0.7)
    block.measure([(torch.randn(3), torch.rand(3) + 0.5)])
    held = {name: value.detach().double().numpy() for name, value in block.state_dict().items()}
    standard = (scores[0, :, 0, 0].double().numpy() - held["mean"]) / held["deviation"]
    inner = standard
    for number in (0, 2, 4):
        inner = held[f"around.{number}.weight"][:, :, 1, 1] @ inner + held[f"around.{number}.bias"]
        inner = np.maximum(inner, 0)
    expected = held["weight"] @ standard + held["bias"] + held["leave.weight"][0, :, 0, 0] @ inner
    assert block(scores).item() == pytest.approx(float(expected + held["leave.bias"][0]), abs=1e-6)
    alone = FusionBlock(3, 0)
    alone.load_state_dict({key: value for key, value in block.state_dict().items() if "." not in key})
    assert alone(scores).item() == pytest.approx(float(held["weight"] @ standard + 0.7), abs=1e-6)


@pytest.mark.parametrize("spatial", [True, False])
def test_a_fusion_weighs_the_part_that_sees_objects_and_finds_them(torch, spatial: bool) -> None:
    from faultscape.metrics.pixel_facts import facts_of
    from faultscape.uncertainty.methods.block_fit import BlockPlan
    from faultscape.uncertainty.methods.evidence.fusion import Fusion

    options = {**OPTIONS, "spatial": spatial}
    parts = {WORD: Shifted()}
    examples = examples_of(torch)
    made, numbers = Fusion.train(["layer"], options, examples, BlockPlan(60, 2e-2, 2), parts=parts)
    assert parts[WORD].asked == len(examples)  # each image once
    assert numbers["weights"][WORD] > 2 * abs(numbers["weights"]["entropy"])
    (part,) = examples(0)
    features, logits, labels = part.shown("cpu")
    (fused,) = made.values(features, logits)
    assert float(fused[0, 0][labels[0] == 1].mean()) > float(fused[0, 0][labels[0] == 0].mean()) + 1
    entropy = facts_of(logits[0].numpy(), (8, 6)).entropy
    scores = torch.from_numpy(np.stack([entropy, features[0][0, 0].numpy()]))[None]
    assert torch.allclose(fused[:, 0], made.block(scores), atol=1e-6)
    again = Fusion(["layer"], options, made.tensors(), parts)
    assert torch.equal(again.values(features, logits)[0], fused)
    np.testing.assert_array_equal(again.score([fused[0].numpy()], (8, 6)), fused[0, 0].numpy())


def test_with_equal_weights_it_is_the_mean_of_parts_standardised_over_known_cells(torch) -> None:
    from faultscape.metrics.pixel_facts import facts_of
    from faultscape.uncertainty.methods.block_fit import BlockPlan
    from faultscape.uncertainty.methods.evidence.fusion import Fusion

    options = {**OPTIONS, "spatial": False, "equal_weights": True}
    examples = examples_of(torch)
    parts = {WORD: Shifted()}
    made, numbers = Fusion.train(["layer"], options, examples, BlockPlan(60, 2e-2, 2), parts=parts)
    assert numbers == {"weights": {"entropy": 0.5, WORD: 0.5}}
    scores, labels = [], []
    for number in range(len(examples)):
        (part,) = examples(number)
        features, logits, own = part.shown("cpu")
        scores.append(np.stack([facts_of(logits[0].numpy(), (8, 6)).entropy, features[0][0, 0].numpy()]))
        labels.append(own[0].numpy())
    rows = np.stack(scores, 1).astype(float)
    known = rows[:, np.stack(labels) == 0]
    standard = (rows - known.mean(1)[:, None, None, None]) / known.std(1)[:, None, None, None]
    (part,) = examples(3)
    features, logits, _ = part.shown("cpu")
    (fused,) = made.values(features, logits)
    np.testing.assert_allclose(fused[0, 0].numpy(), standard[:, 3].mean(0), atol=1e-5)


@pytest.mark.usefixtures("torch")
def test_prediction_computes_each_part_once() -> None:
    from faultscape.prediction.doubt_methods import with_values
    from faultscape.prediction.sources.network import Answer, Network
    from faultscape.uncertainty.methods.evidence.fusion import Fusion, FusionBlock

    part = Shifted()
    tensors = FusionBlock(2, 4).state_dict()
    methods = {
        f"fusion@{'0' * 12}": Fusion(["layer"], OPTIONS, tensors, {WORD: part}),
        WORD: part,
        f"fusion-b@{'0' * 12}": Fusion(["layer"], OPTIONS, tensors, {WORD: part}),
    }
    network = Network("net", {}, {})
    block = np.zeros((2, 3, 6, 8), np.float32)
    rng = np.random.default_rng(0)
    answers = [
        Answer(
            rng.normal(size=(3, 6, 8)).astype(np.float32),
            embeddings={"layer": rng.normal(size=(2, 6, 8)).astype(np.float32)},
        )
        for _ in block
    ]
    made = with_values(network, methods, block, answers, (), {})
    assert part.asked == 2
    for answer, found in zip(answers, made, strict=True):
        assert list(found.values) == [*methods]
        np.testing.assert_array_equal(found.values[WORD][0], answer.embeddings["layer"][:1])
