"""DeepLabv3+: a convolutional encoder of output stride 16, pooling at several rates with image-level
features, and a decoder that adds features of stride 4.

Conventions: pixels (N, 3, H, W) to logits (N, K, H / 4, W / 4). The encoder is a ResNet of the transformers
library whose last stage is dilated instead of strided. Blum et al. 2021 use an Xception-71 and a dense
prediction cell, for which no torch weights are available.
Source: Chen et al. 2018; Blum et al. 2021, appendix B.1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

SIZES = {
    "18": ("basic", (64, 128, 256, 512), (2, 2, 2, 2)),
    "50": ("bottleneck", (256, 512, 1024, 2048), (3, 4, 6, 3)),
    "101": ("bottleneck", (256, 512, 1024, 2048), (3, 4, 23, 3)),
}
STAGES = ("stage1", "stage4")  # at strides 4 and 16
RATES = (6, 12, 18)  # of the dilated convolutions, at output stride 16
WIDTH = 256
LOW = 48


class DeepLab(nn.Module):
    """An encoder, pooling at several rates, and a decoder that ends in a 1x1 convolution, ``head``."""

    def __init__(self, encoder: Any, low: int, high: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = Pooling(high, dropout)
        self.low = _convolution(low, LOW, 1)
        self.decoder = nn.Sequential(
            _convolution(WIDTH + LOW, WIDTH, 3), _convolution(WIDTH, WIDTH, 3), nn.Dropout(dropout)
        )
        self.head = nn.Conv2d(WIDTH, classes, 1)

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Return logits (N, K, H / 4, W / 4)."""
        low, high = self.encoder(pixel_values).feature_maps
        pooled = _enlarged(self.pooling(high), low)
        return self.head(self.decoder(torch.cat([pooled, self.low(low)], dim=1)))


class Pooling(nn.Module):
    """Features at several dilation rates, and those of the whole image, concatenated and reduced to 256
    channels.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        rates = [_convolution(width, WIDTH, 3, rate) for rate in RATES]
        self.branches = nn.ModuleList([_convolution(width, WIDTH, 1), *rates])
        # no batch norm: one pixel per image has no variance
        self.image = nn.Sequential(nn.Conv2d(width, WIDTH, 1), nn.ReLU())
        self.together = nn.Sequential(
            _convolution(WIDTH * (len(self.branches) + 1), WIDTH, 1), nn.Dropout(dropout)
        )

    def forward(self, features: Tensor) -> Tensor:
        """Return (N, 256, h, w)."""
        whole = self.image(features.mean((2, 3), keepdim=True)).expand(-1, -1, *features.shape[2:])
        return self.together(torch.cat([*(branch(features) for branch in self.branches), whole], dim=1))


def deeplab(size: str, classes: int, dropout: float) -> DeepLab:
    """Return a DeepLabv3+ on a ResNet of a size (18, 50 or 101), with random weights."""
    from transformers import ResNetBackbone, ResNetConfig

    layer, widths, depths = SIZES[size]
    told: dict[str, Any] = {"out_features": list(STAGES)}
    config = ResNetConfig(layer_type=layer, hidden_sizes=list(widths), depths=list(depths), **told)
    return of_encoder(ResNetBackbone(config), classes, dropout)


def of_encoder(encoder: Any, classes: int, dropout: float = 0.1) -> DeepLab:
    """Return a DeepLabv3+ on a ResNet of the library that outputs STAGES; the ResNet's last stage becomes
    dilated.
    """
    widths = encoder.config.hidden_sizes
    for module in encoder.encoder.stages[-1].modules():
        if isinstance(module, nn.Conv2d):
            module.stride = (1, 1)
            if module.kernel_size == (3, 3):
                module.dilation = module.padding = (2, 2)
    return DeepLab(encoder, widths[0], widths[-1], classes, dropout)


def _convolution(width: int, out: int, size: int, rate: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(width, out, size, padding=rate * (size // 2), dilation=rate, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(out), nn.ReLU())


def _enlarged(values: Tensor, like: Tensor) -> Tensor:
    return nn.functional.interpolate(values, size=like.shape[2:], mode="bilinear", align_corners=False)
