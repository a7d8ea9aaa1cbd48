"""The perceptual difference against plain NumPy, and what prediction shows the network for it."""

from __future__ import annotations

import numpy as np
import pytest


def bilinear(grid: np.ndarray, sides: tuple[int, int]) -> np.ndarray:
    """Return a grid (h, w) at sides, corners not aligned, by its definition."""
    for axis, side in enumerate(sides):
        at = np.clip((np.arange(side) + 0.5) * grid.shape[axis] / side - 0.5, 0, None)
        low = np.minimum(at.astype(int), grid.shape[axis] - 1)
        high = np.minimum(low + 1, grid.shape[axis] - 1)
        share = (at - low).reshape((-1, 1) if axis == 0 else (1, -1))
        grid = np.take(grid, low, axis) * (1 - share) + np.take(grid, high, axis) * share
    return grid


@pytest.fixture
def net(torch):
    """A small network with two grids of features, of which the second is half as fine."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 5, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(5, 7, 3, stride=2, padding=1),
        torch.nn.Conv2d(7, 4, 1),
    ).eval()


def painter_of(torch):
    from faultscape.uncertainty.methods.evidence.resynthesis import Resynthesis, ResynthesisBlock

    block = ResynthesisBlock(torch.arange(4), 4, 4)
    block.measure([(torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1.0, 2.0, 3.0]))])
    return Resynthesis([":in"], {"width": 4}, block.state_dict())


@pytest.mark.parametrize(("multiple", "shown"), [(1, (32, 48)), (64, (64, 64))])
def test_it_is_the_distance_of_what_the_network_makes_of_image_and_painting(
    torch, net, multiple: int, shown: tuple[int, int]
) -> None:
    from faultscape.prediction.doubt_methods import layers_of, show_again, with_values
    from faultscape.prediction.sources.torch_network import TorchNetwork
    from faultscape.uncertainty.methods.evidence.perceptual import Perceptual
    from faultscape.uncertainty.methods.evidence.resynthesis import shares_of

    painter = painter_of(torch)
    word = f"perceptual@{'0' * 12}"
    methods = {word: Perceptual(["0", "2"], {}, {}, {"resynthesis": painter})}
    network = TorchNetwork(net, "net", {}, {"multiple": multiple})
    show_again(methods, network)
    assert layers_of(methods) == ("0", "2")
    block = np.random.default_rng(0).normal(size=(1, 3, 40, 52)).astype(np.float32)
    (answer,) = with_values(network, methods, block, network.run(block, ("0", "2")), (), {})
    (found,) = answer.values[word]

    labels = torch.nn.functional.interpolate(  # at the nearest multiples of 16
        torch.from_numpy(answer.scores)[None], size=(32, 48), mode="bilinear", align_corners=False
    ).argmax(1)
    with torch.no_grad():
        made = painter.block.generator(shares_of(labels, 4))
    made = made * torch.tensor([1.0, 2.0, 3.0])[:, None, None] + torch.tensor([0.1, 0.2, 0.3])[:, None, None]
    expected = np.zeros((20, 26))
    for depth in (1, 3):
        seen = torch.nn.functional.interpolate(made, size=shown, mode="bilinear", align_corners=False)
        with torch.no_grad():
            image, painted = (net[:depth](one)[0].double().numpy() for one in (torch.from_numpy(block), seen))
        sides = image.shape[1:]
        painted = np.stack([bilinear(channel, sides) for channel in painted])
        both = np.stack([image, painted])
        mean, deviation = (way(both, axis=(0, 2, 3))[:, None, None] for way in (np.mean, np.std))
        apart = np.abs((image - mean) / deviation - (painted - mean) / deviation).mean(0)
        expected += bilinear(apart, (20, 26))
    np.testing.assert_allclose(found[0], expected, rtol=2e-6, atol=1e-6)
    assert found.std() > 0.01
    np.testing.assert_array_equal(methods[word].score([found], (26, 20)), found[0])
