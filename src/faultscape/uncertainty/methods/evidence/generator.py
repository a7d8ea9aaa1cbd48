"""A network that paints an image from labels alone.

Conventions: labels are shares (N, C, h, w) of the classes, 0 where a pixel has none; sides are multiples of
``COARSEST``. It begins with the labels at 1/16 of the sides, and four blocks paint at 1/16, 1/8, 1/4 and 1/2.
In each block, the labels scale and shift every normalised channel, so that they are not lost by the
normalisation; the last convolution sees them at full size.
Source: Park et al. 2019, "Semantic Image Synthesis with Spatially-Adaptive Normalization" (SPADE), eq. 1.
They normalise over a batch, and have up to 1024 channels, an adversary and 93 million parameters; here it is
each image alone, and fewer than 5 million.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, interpolate, leaky_relu

COARSEST = 16
_SLOPE = 0.2
_LEAST = 1e-5  # added to variances


class Modulation(nn.Module):
    """Channels of mean 0 and deviation 1 over an image, scaled and shifted by the labels of each place."""

    def __init__(self, channels: int, classes: int, width: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(classes, width, 3, padding=1)
        self.leave = nn.Conv2d(width, 2 * channels, 3, padding=1)

    def forward(self, grid: Tensor, labels: Tensor) -> Tensor:
        """Return a grid (N, D, h, w), modulated by labels (N, C, h, w)."""
        spread, mean = torch.var_mean(grid, (2, 3), correction=0, keepdim=True)
        scale, shift = self.leave(self.enter(labels).relu()).chunk(2, 1)
        return (grid - mean) * (spread + _LEAST).rsqrt() * (1 + scale) + shift


class ModulatedBlock(nn.Module):
    """Two modulated convolutions beside a shortcut."""

    def __init__(self, given: int, made: int, classes: int, width: int) -> None:
        super().__init__()
        self.first = Modulation(given, classes, width)
        self.inner = nn.Conv2d(given, made, 3, padding=1)
        self.second = Modulation(made, classes, width)
        self.outer = nn.Conv2d(made, made, 3, padding=1)
        self.past = nn.Identity() if given == made else nn.Conv2d(given, made, 1, bias=False)

    def forward(self, grid: Tensor, labels: Tensor) -> Tensor:
        """Return a grid (N, made, h, w) of a grid (N, given, h, w) and labels (N, C, h, w)."""
        inner = self.inner(leaky_relu(self.first(grid, labels), _SLOPE))
        return self.past(grid) + self.outer(leaky_relu(self.second(inner, labels), _SLOPE))


class Generator(nn.Module):
    """An image (N, 3, h, w) from labels of some ``classes``, through up to four times ``width`` channels."""

    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        wide = [4 * width, 4 * width, 4 * width, 2 * width, width]
        self.start = nn.Conv2d(classes, wide[0], 3, padding=1)
        self.blocks = nn.ModuleList(
            [ModulatedBlock(given, made, classes, width) for given, made in pairwise(wide)]
        )
        self.leave = nn.Conv2d(wide[-1] + classes, 3, 3, padding=1)

    def forward(self, labels: Tensor) -> Tensor:
        """Return the image of labels (N, C, h, w)."""
        grid = self.start(avg_pool2d(labels, COARSEST))
        for number, block in enumerate(self.blocks):
            grid = block(grid, avg_pool2d(labels, COARSEST >> number))
            grid = interpolate(grid, scale_factor=2.0, mode="nearest")
        return self.leave(torch.cat([leaky_relu(grid, _SLOPE), labels], 1))
