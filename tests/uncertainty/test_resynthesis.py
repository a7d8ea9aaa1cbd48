"""Resynthesis: its losses and layers against plain NumPy, what is swapped, and what it learns without unknown
objects.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import MetricError, ModelError
from refusals import refused


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("seed", range(5))
def test_whole_instances_are_swapped_for_other_classes(seed: int) -> None:
    from faultscape.maps.regions import number
    from faultscape.uncertainty.methods.evidence.swapped_labels import swap

    rng = np.random.default_rng(seed)
    labels = rng.choice([0, 1, 3, -1], (6, 8)).astype(np.int16).repeat(4, 0).repeat(4, 1)
    other, changed = swap(labels, np.array([0, 1, 3]), rng)
    assert changed.any()
    assert (other[changed] != labels[changed]).all()
    np.testing.assert_array_equal(other[~changed], labels[~changed])
    assert not changed[labels < 0].any()
    assert set(np.unique(other[changed])) <= {0, 1, 3}
    regions, _, areas = number((labels + 1).astype(np.uint16))
    for region, area in enumerate(areas):
        inside = changed[regions == region]
        assert inside.all() or not inside.any()
        assert area <= 0.2 * labels.size or not inside.any()


@pytest.mark.usefixtures("torch")
def test_an_image_of_one_class_has_nothing_to_swap() -> None:
    from faultscape.uncertainty.methods.evidence.swapped_labels import swap

    labels = np.zeros((8, 8), np.int16)
    other, changed = swap(labels, np.array([0, 1]), np.random.default_rng(0))
    assert other.tolist() == labels.tolist()
    assert not changed.any()


def test_the_painting_loss_is_that_of_its_definition(torch) -> None:
    from faultscape.uncertainty.methods.evidence.resynthesis import painting_loss

    rng = np.random.default_rng(0)
    made, image = rng.normal(size=(2, 2, 3, 8, 12))
    kept = rng.choice([0, 1], (2, 8, 12))
    expected = 0.0
    for number in range(2):
        apart = (made[number] - image[number]) * kept[number]
        expected += np.abs(apart).mean(0).sum()
        for row, column in np.ndindex(2, 3):
            square = apart[:, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
            expected += 16 * np.abs(square.mean((1, 2))).mean()
    count = int(kept.sum())
    found = painting_loss(*map(torch.from_numpy, (made, image, kept)), count)
    assert float(found) == pytest.approx(expected / count, abs=1e-6)


def test_labels_scale_and_shift_what_is_normalised(torch) -> None:
    """Park et al. 2019, eq. 1, on one image; labels are even, so that a convolution sees its padding alone."""
    from faultscape.uncertainty.methods.evidence.generator import Modulation

    layer = Modulation(2, 3, 4).double()
    grid = torch.randn(1, 2, 5, 6, dtype=torch.float64)
    labels = torch.zeros(1, 3, 5, 6, dtype=torch.float64)
    labels[:, 1] = 1
    held = {name: value.detach().numpy() for name, value in layer.state_dict().items()}
    inner = held["enter.bias"] + held["enter.weight"][:, 1].sum((1, 2))  # away from the border
    both = held["leave.bias"] + held["leave.weight"].sum((2, 3)) @ np.maximum(inner, 0)
    values = grid[0].numpy()
    standard = (values - values.mean((1, 2), keepdims=True)) / np.sqrt(
        values.var((1, 2), keepdims=True) + 1e-5
    )
    expected = standard * (1 + both[:2, None, None]) + both[2:, None, None]
    found = layer(grid, labels)[0].detach().numpy()
    np.testing.assert_allclose(found[:, 2, 2:4], expected[:, 2, 2:4], atol=1e-6)


def test_the_networks_are_small(torch) -> None:
    from faultscape.uncertainty.methods.evidence.resynthesis import ResynthesisBlock

    block = ResynthesisBlock(torch.arange(19), 19, 32)
    assert sum(value.numel() for value in block.parameters()) < 5e6


class Drawn:
    """Images whose colour follows from their labels: squares on a ground."""

    def __init__(self, torch, count: int = 8) -> None:
        self.parts = []
        rng = np.random.default_rng(0)
        colours = rng.normal(size=(3, 3))
        for _ in range(count):
            labels = np.zeros((16, 32), np.int16)
            for class_ in (1, 2):
                row, column = rng.integers(0, 10), rng.integers(0, 10) + 14 * (class_ - 1)
                labels[row : row + 5, column : column + 6] = class_
            image = colours[labels].transpose(2, 0, 1) + rng.normal(0, 0.1, (3, 16, 32))
            self.parts.append((torch.from_numpy(image).half(), labels))

    def __len__(self) -> int:
        return len(self.parts)

    def __call__(self, number: int):
        return [self.parts[number]]


@pytest.mark.slow
def test_labels_that_do_not_fit_the_image_are_found(torch) -> None:
    from faultscape.uncertainty.methods.block_fit import BlockPlan
    from faultscape.uncertainty.methods.evidence.resynthesis import Resynthesis, shares_of

    plan = BlockPlan(120, 5e-3, 2)
    channels = np.array([2, 1, 0, -1])  # those of the network, in another order, and one without a class
    made, _ = Resynthesis.train([":in"], {"width": 4}, Drawn(torch), plan, channels=channels, classes=3)
    image, labels = Drawn(torch).parts[0]
    wrong = labels.copy()
    wrong[labels == 1] = 2
    logits = shares_of(torch.from_numpy(2 - wrong)[None], 4) * 10
    (odds,) = made.values([image[None].float()], logits)
    assert odds.shape == (1, 1, 16, 32)
    assert float(odds[0, 0][labels == 1].mean()) > float(odds[0, 0][labels != 1].mean()) + 1
    right = shares_of(torch.from_numpy(2 - labels)[None], 4) * 10
    (of_right,) = made.values([image[None].float()], right)
    assert float(odds[0, 0][labels == 1].mean()) > float(of_right[0, 0][labels == 1].mean()) + 1
    again = Resynthesis([":in"], {"width": 4}, made.tensors())
    assert torch.equal(again.values([image[None].float()], logits)[0], odds)
    np.testing.assert_array_equal(again.score([odds[0].numpy()], (32, 16)), odds[0, 0].numpy())
    with refused(ModelError, "learnt to paint from 4 channels, and the network gives 3; fit it again"):
        made.values([image[None].float()], logits[:, :3])


def test_a_network_of_one_class_has_nothing_to_swap(torch) -> None:
    from faultscape.uncertainty.methods.block_fit import BlockPlan
    from faultscape.uncertainty.methods.evidence.resynthesis import Resynthesis

    with refused(MetricError, "resynthesis needs a network of two classes or more, to swap them"):
        Resynthesis.train(
            [":in"],
            {"width": 4},
            Drawn(torch),
            BlockPlan(1, 1e-3, 1),
            channels=np.array([0, -1]),
            classes=3,
        )
