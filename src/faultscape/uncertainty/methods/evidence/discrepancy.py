"""A network that says where an image is not the one that its labels and their resynthesis show.

Conventions: image and resynthesis (N, 3, h, w) go through the same convolutions, to 1/2 and 1/4 of their
sides, and are compared there channel by channel: both, and their absolute difference, beside the labels (N,
C, h, w). The output (N, h, w) is the log-odds of a discrepancy, large where there is one.
Source: Lis et al. 2019, "Detecting the Unexpected via Image Resynthesis", section 3.2: features of image,
resynthesis and labels, correlated at several scales and decoded to a map. They take the features of a VGG
network; here they are learnt, since no weights can be shipped.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

from faultscape.uncertainty.methods.block_fit import at_size


class Discrepancy(nn.Module):
    """The comparison of images with labels of some ``classes``, through ``width`` channels at 1/2 and twice
    as many at 1/4.
    """

    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self.fine = nn.Conv2d(3, width, 5, stride=2, padding=2)
        self.coarse = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.at_coarse = nn.Sequential(
            nn.Conv2d(6 * width + classes, 2 * width, 1),
            nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, padding=2, dilation=2),
            nn.ReLU(),
        )
        self.at_fine = nn.Sequential(
            nn.Conv2d(5 * width + classes, width, 1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
        )
        self.leave = nn.Conv2d(width, 1, 1)

    def forward(self, image: Tensor, made: Tensor, labels: Tensor) -> Tensor:
        """Return the log-odds (N, h, w)."""
        shown = self._features(image)
        painted = self._features(made)
        fine, coarse = (
            torch.cat([a, b, (a - b).abs(), avg_pool2d(labels, side)], 1)
            for a, b, side in zip(shown, painted, (2, 4), strict=True)
        )
        # the fine comparison again, beside what the coarse one found
        shares = fine[:, : 3 * self.fine.out_channels], fine[:, 3 * self.fine.out_channels :]
        wide = at_size(self.at_coarse(coarse), fine.shape[2:])
        found = self.leave(self.at_fine(torch.cat([shares[0], wide, shares[1]], 1)))
        return at_size(found, image.shape[2:])[:, 0]

    def _features(self, image: Tensor) -> tuple[Tensor, Tensor]:
        fine = self.fine(image).relu()
        return fine, self.coarse(fine).relu()
