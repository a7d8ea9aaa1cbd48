"""The residual block: its loss against plain NumPy, where it starts, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import MetricError, ModelError
from made_methods import Listed
from refusals import refused


def grids(torch, count: int = 6, *, objects: bool = True):
    """Images of 6 x 8 cells, in whose middle an unknown object has other features."""
    from faultscape.uncertainty.methods.block_fit import Grids

    made = []
    for _ in range(count):
        anomaly = np.zeros((6, 8), np.uint8)
        anomaly[2:4, 3:5] = objects
        anomaly[0] = 255
        image = torch.randn(3, 24, 32)
        features = torch.randn(5, 3, 4) + 4 * torch.from_numpy(anomaly[::2, ::2] == 1)
        made.append(Grids.of([image, features], np.random.default_rng(0).normal(size=(3, 6, 8)), anomaly))
    return Listed(made)


def test_the_loss_is_that_of_its_definition(torch) -> None:
    from faultscape.uncertainty.methods.residual import residual_loss

    rng = np.random.default_rng(0)
    moved, frozen = rng.normal(0, 3, (2, 2, 4, 3, 5))
    labels = rng.choice([0, 0, 1, 255], (2, 3, 5))
    known, negative = np.count_nonzero(labels == 0), np.count_nonzero(labels == 1)
    total = {0: 0.0, 1: 0.0}
    for image, row, column in np.ndindex(labels.shape):
        kind = labels[image, row, column]
        if kind == 255:
            continue
        z, own = moved[image, :, row, column], frozen[image, :, row, column]
        p, q = np.exp(z) / np.exp(z).sum(), np.exp(own) / np.exp(own).sum()
        energy = -np.log(np.exp(z).sum())
        if kind == 0:
            total[0] += (q * np.log(q / p)).sum() + np.log(1 + np.exp(energy))
        else:
            total[1] += (np.log(1 / 4 / p) / 4).sum() + np.log(1 + np.exp(-energy))
    given = torch.from_numpy(moved), torch.from_numpy(frozen), torch.from_numpy(labels)
    found = residual_loss(*given, known, negative)
    assert float(found) == pytest.approx((total[0] + total[1]) / (known + negative), abs=1e-6)
    parts = [residual_loss(*(one[k : k + 1] for one in given), known, negative) for k in range(2)]
    assert float(sum(parts)) == pytest.approx(float(found), abs=1e-6)


def test_a_block_in_numpy_says_the_same(torch) -> None:
    """One cell, so that a convolution of 3 x 3 is its middle; of the image one pixel."""
    from faultscape.uncertainty.methods.residual import ResidualBlock

    block = ResidualBlock([4, 2], 3, 5, seed=1)
    features = [torch.randn(1, wide, 1, 1) for wide in (3, 4, 2)]
    logits = torch.randn(1, 3, 1, 1)
    assert torch.equal(block(features, logits), logits)  # before training nothing moves
    torch.nn.init.normal_(block.leave.weight)
    moments = [(torch.randn(wide), torch.rand(wide) + 0.5) for wide in (3, 4, 2, 3)]
    block.measure(moments)
    held = {name: value.detach().double().numpy() for name, value in block.state_dict().items()}
    seen = [
        (grid[0, :, 0, 0].double().numpy() - mean.numpy()) / deviation.numpy()
        for grid, (mean, deviation) in zip((*features, logits), moments, strict=True)
    ]
    fine = np.maximum(held["look.fine.weight"][:, :, 2, 2] @ seen[0] + held["look.fine.bias"], 0)
    inner = held["look.coarse.weight"][:, :, 1, 1] @ fine + held["look.coarse.bias"]
    for number, values in enumerate(seen[1:]):
        inner += held[f"enter.{number}.weight"] @ values + held[f"enter.{number}.bias"]
    for number in (1, 3, 5):
        inner = np.maximum(inner, 0)
        inner = held[f"mix.{number}.weight"][:, :, 1, 1] @ inner + held[f"mix.{number}.bias"]
    shift = held["leave.weight"][:, :, 0, 0] @ np.maximum(inner, 0) + held["leave.bias"]
    found = block(features, logits)[0, :, 0, 0].detach().numpy()
    np.testing.assert_allclose(found, logits[0, :, 0, 0].numpy() + shift, atol=1e-6)


def test_a_taught_block_raises_the_energy_of_objects_and_keeps_the_answer_elsewhere(torch) -> None:
    from faultscape.uncertainty.methods.block_fit import BlockPlan
    from faultscape.uncertainty.methods.residual import ResidualPattern, energy_of

    examples = grids(torch)
    plan = BlockPlan(60, 1e-2, 2)
    made, numbers = ResidualPattern.train(["layer"], {"width": 8}, examples, plan)
    (part,) = examples(0)
    features, logits, labels = part.shown("cpu")
    (energy,) = made.values(features, logits)
    assert float(energy[0, 0][labels[0] == 1].min()) > float(energy[0, 0][labels[0] == 0].max())
    moved = made.block(features, logits)
    gap = (moved.softmax(1) - logits.softmax(1)).abs().amax(1)[0]
    assert float(gap[labels[0] == 0].mean()) < 0.1
    assert numbers["loss"] < 1
    again = ResidualPattern(["layer"], {"width": 8}, made.tensors())
    assert torch.equal(again.values(features, logits)[0], energy)
    score = again.score([energy[0].numpy()], (8, 6))
    np.testing.assert_allclose(score, energy_of(moved)[0].numpy(), rtol=1e-6)


def test_cells_are_negative_by_half_of_their_pixels_and_open_by_any_void_one() -> None:
    from faultscape.uncertainty.methods.block_fit import KNOWN, NEGATIVE, OPEN, cell_labels

    anomaly = np.array([[1, 1, 1, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 255, 1, 255]])
    assert cell_labels(anomaly, (1, 4)).tolist() == [[NEGATIVE, KNOWN, OPEN, NEGATIVE]]


def test_a_block_needs_objects_and_finite_numbers(torch) -> None:
    from faultscape.uncertainty.methods.block_fit import BlockPlan
    from faultscape.uncertainty.methods.residual import ResidualPattern

    with refused(MetricError, "no cell of the network's output shows an unknown object; blend larger ones"):
        ResidualPattern.train(["a"], {"width": 4}, grids(torch, objects=False), BlockPlan(1, 1e-3, 1))
    with refused(ModelError, "the loss is nan at step 2; lower --rate, or choose another layer"):
        ResidualPattern.train(["a"], {"width": 4}, grids(torch), BlockPlan(3, float("inf"), 1))


def test_a_block_sees_every_scale_of_a_network_up_to_that_of_its_last_layer(torch) -> None:
    from faultscape.uncertainty.methods.layers import layers_of_scales

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = torch.nn.Conv2d(3, 4, 1)
            self.fine = torch.nn.Conv2d(4, 4, 2, 2)
            self.again = torch.nn.Conv2d(4, 4, 1)
            self.coarse = torch.nn.Conv2d(4, 4, 2, 2)
            self.head = torch.nn.Conv2d(4, 2, 1)

        def forward(self, image):
            fine = self.again(self.fine(self.stem(image)))
            coarse = torch.nn.functional.interpolate(self.coarse(fine), scale_factor=2)
            return self.head(fine + coarse)

    net = Net()
    found = layers_of_scales(net, lambda: net(torch.randn(1, 3, 32, 48)), (32, 48))
    assert found == ["fine", "coarse", "head:in"]
