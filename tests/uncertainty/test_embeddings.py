"""Embeddings: layers as grids over the image, and the classes of patches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from faultscape.errors import ModelError
from refusals import refused


def test_patches_with_withheld_pixels_are_never_drawn(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import draw, patch_classes

    labels = np.random.default_rng(0).integers(0, 3, (12, 16)).astype(np.int16)
    labels[:4, :4], labels[8:, 12:] = -100, -1
    labels[5, 6] = -100  # one pixel among known ones
    has, may, _ = patch_classes(labels, (3, 4), 3)
    assert may.reshape(3, 4).tolist() == [
        [False, True, True, True],
        [True, False, True, True],
        [True, True, True, False],
    ]
    for place in range(12):
        y, x = divmod(place, 4)
        part = labels[4 * y : 4 * y + 4, 4 * x : 4 * x + 4]
        assert has[place].tolist() == [(part == k).any() for k in range(3)]
    grid = torch.arange(12.0).reshape(1, 3, 4)
    assert draw(grid, labels, 3, 99, "key").values[:, 0].tolist() == [1, 2, 3, 4, 6, 7, 8, 9, 10]
    some = draw(grid, labels, 3, 4, "key")
    assert torch.equal(some.values, draw(grid, labels, 3, 4, "key").values)
    assert len({tuple(draw(grid, labels, 3, 4, f"key {k}").values[:, 0].tolist()) for k in range(8)}) > 3
    with refused(ModelError, "the layer gave NaN or infinity"):
        draw(grid * math.nan, labels, 3, 4, "key")


@pytest.mark.parametrize(
    ("tokens", "size"), [(24, (64, 96)), (25, (64, 96)), (29, (64, 96)), (12, (50, 70)), (20, (50, 70))]
)
def test_tokens_are_a_grid_whatever_stands_before_them(torch, tokens: int, size: tuple[int, int]) -> None:
    from faultscape.uncertainty.methods.embeddings import as_grid

    values = torch.randn(2, tokens, 3)
    grid = as_grid(values, size)
    places = grid.shape[2] * grid.shape[3]
    torch.testing.assert_close(grid.flatten(2).transpose(1, 2), values[:, tokens - places :])
    assert abs(grid.shape[2] / grid.shape[3] - size[0] / size[1]) < 0.2


def test_what_is_no_grid_is_refused(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import as_grid

    for values in (torch.zeros(1, 8), torch.zeros(1, 8, 1, 1), torch.zeros(1, 23 * 5, 8)):
        with refused(
            ModelError, r"layer x: gave \(1, .*\) for an image of 96x64; expected features N x D x h x w"
        ):
            as_grid(values, (64, 96), "layer x")


def test_a_patch_with_void_pixels_is_of_no_single_class(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import draw

    labels = np.array([[0, 0, 1, 1], [0, 0, -1, 1]], np.int16)
    drawn = draw(torch.randn(3, 1, 2), labels, 2, 2, "key")
    assert drawn.classes.tolist() == [[True, False], [False, True]]
    assert drawn.only_class.tolist() == [0, -1]


def test_a_grid_whose_channels_come_last_is_turned_and_attention_is_none(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import as_grid

    assert as_grid(torch.zeros(1, 8, 12, 96), (32, 48)).shape == (1, 96, 8, 12)
    assert as_grid(torch.zeros(1, 96, 8, 12), (32, 48)).shape == (1, 96, 8, 12)
    with refused(ModelError, r"the layer: gave \(1, 3, 24, 24\) for an image of 48x32; expected features"):
        as_grid(torch.zeros(1, 3, 24, 24), (32, 48))


def test_an_activation_in_place_does_not_change_what_a_layer_is_said_to_give(torch) -> None:
    from faultscape.prediction.sources.torch_network import watched
    from faultscape.uncertainty.methods.layers import before_activation

    body = (
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(inplace=True),
        torch.nn.Conv2d(8, 2, 1),
    )
    net, image = torch.nn.Sequential(*body).eval(), torch.randn(1, 3, 8, 12)
    assert before_activation(net, lambda: net(image), (8, 12)) == "1"
    with torch.no_grad(), watched(net, "net", ["1", "2:in"]) as seen:
        net(image)
    assert float(seen["1"].min()) < 0
    assert torch.equal(seen["1"], seen["2:in"])


def test_layers_behind_the_classifier_and_auxiliary_heads_are_no_features(torch) -> None:
    """A network that enlarges its logits, and one that has an auxiliary head, before and behind the
    classifier.
    """
    from faultscape.uncertainty.methods.layers import before_activation, grid_layers

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU()
            )
            self.auxiliary_head = torch.nn.Conv2d(8, 2, 3, padding=1)
            self.classifier = torch.nn.Sequential(
                torch.nn.Conv2d(8, 8, 1), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Conv2d(8, 2, 1)
            )
            self.aux_classifier = torch.nn.Conv2d(8, 2, 1)
            self.enlarge = torch.nn.Upsample(scale_factor=2)

        def forward(self, image):
            features = self.body(image)
            self.auxiliary_head(features)
            out = self.enlarge(self.classifier(features))
            self.aux_classifier(features)
            return out

    net, image = Net().eval(), torch.randn(1, 3, 8, 12)
    run = lambda: net(image)  # noqa: E731
    # body.2 is body, and classifier.2 what the last is given
    assert grid_layers(net, run, (8, 12)) == ["body.0", "body.1", "body", "classifier.0", "classifier.3:in"]
    assert before_activation(net, run, (8, 12)) == "classifier.0"
