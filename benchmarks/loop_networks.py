"""The three small networks of loop.py, as backbones: ``faultscape train STUDY NAME --backbone
benchmarks/loop_networks.py:unet``.

Conventions: pixels (N, 3, H, W), both sides multiples of 32, to logits (N, 11, H / 2, W / 2) of ``unet`` and
(N, 11, H / 4, W / 4) of the others; weights are random. They differ in design, as those of a zoo do: skips at
every size, wide kernels at one size, attention.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

CLASSES = 11


def unet() -> nn.Module:
    """Return a U-Net of five sizes, .4 million weights."""
    return Unet((12, 24, 48, 64, 96))


def dilated() -> nn.Module:
    """Return a network with ever wider kernels at an eighth of the size, .2 million weights."""
    return Dilated(32, 64)


def segformer() -> nn.Module:
    """Return transformers' SegFormer with one block a stage, .5 million weights."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    config = SegformerConfig(
        num_labels=CLASSES,
        hidden_sizes=[16, 32, 80, 128],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 2, 5, 8],
        decoder_hidden_size=64,
    )
    return SegformerForSemanticSegmentation(config)


class Unet(nn.Module):
    """Down in steps of two and up again, with every size's maps carried across."""

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.down = nn.ModuleList(
            nn.Sequential(block(inward, width, stride=2), block(width, width))
            for inward, width in pairwise((3, *widths))
        )
        self.up = nn.ModuleList(block(fine + coarse, fine) for fine, coarse in pairwise(widths))
        self.head = nn.Conv2d(widths[0], CLASSES, 1)

    def forward(self, pixels: Tensor) -> Tensor:
        """Return logits (N, K, H / 2, W / 2)."""
        kept, x = [], pixels
        for step in self.down:
            x = step(x)
            kept.append(x)
        for step, fine in zip(reversed(self.up), kept[-2::-1], strict=True):
            x = step(torch.cat([fine, doubled(x)], 1))
        return self.head(x)


class Dilated(nn.Module):
    """A stem to a quarter of the size, wider and wider kernels at an eighth, and both together."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            block(3, low // 2, stride=2), block(low // 2, low, stride=2), block(low, low)
        )
        wider = [block(high, high, rate=rate) for rate in (1, 2, 4, 8)]
        self.trunk = nn.Sequential(block(low, high, stride=2), *wider)
        self.both = block(low + high, low)
        self.head = nn.Conv2d(low, CLASSES, 1)

    def forward(self, pixels: Tensor) -> Tensor:
        """Return logits (N, K, H / 4, W / 4)."""
        low = self.stem(pixels)
        return self.head(self.both(torch.cat([low, doubled(self.trunk(low))], 1)))


def block(inward: int, outward: int, *, stride: int = 1, rate: int = 1) -> nn.Sequential:
    """Return a convolution of 3 x 3, a batch norm and a ReLU."""
    convolution = nn.Conv2d(inward, outward, 3, stride, rate, rate, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outward), nn.ReLU())


def doubled(maps: Tensor) -> Tensor:
    """Return maps (N, D, h, w) at twice their size."""
    return nn.functional.interpolate(maps, scale_factor=2, mode="bilinear", align_corners=False)
