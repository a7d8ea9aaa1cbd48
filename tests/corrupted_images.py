"""What tests of corruptions share: drawn images, loops without numba, and digests; run as a program it prints
the digests of all corruptions.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest

import faultscape as fs
from faultscape.stressors import kernels
from faultscape.stressors.streams import words_at

NAMES = tuple(each.name for each in fs.stressors.CORRUPTIONS)
# of 37 x 45 pixels: colour at severities 1, 3 and 5, grey at 3
GOLDEN = {
    "gaussian_noise": "83063cc0 cff47448 daa5f285 0cb5f62c",
    "shot_noise": "dc8f0414 d40ac8d6 84544733 449b9c97",
    "impulse_noise": "8139cd40 4ccace63 0f0abc10 cf60772a",
    "defocus_blur": "4829bbd2 4b7ccf8b 5aa9a763 b53212f3",
    "glass_blur": "5d7a08d6 26543ea2 2847755c d5e5bcf5",
    "motion_blur": "14a63ee9 0a951904 b3223dad a1b7ebdd",
    "zoom_blur": "518c6641 5ea3ad3f 0dc98142 be589e7f",
    "snow": "510921ec 103da4e0 3ceffc24 1150bc29",
    "frost": "e2c4f9e4 e5ba3031 fd1a2db2 e2ad87a9",
    "fog": "ac6003fe 3e6341e5 17c01efe bdacb7d6",
    "brightness": "c27a31f9 a1345c33 44094bc4 e733e1d0",
    "contrast": "92a688ed 78472dcd 1551a72e 02b3c134",
    "elastic_transform": "bc5d5ec4 9d9049ac aa4198af 96de130e",
    "pixelate": "23e171b5 df3486fc 8caa1fad d311170f",
    "jpeg_compression": "ad443efb f8060076 4b36158f 7ac7ee26",
    "speckle_noise": "51634642 0bf17f7f f958add8 5e3267f7",
    "gaussian_blur": "fc13375d 4727c91c b4955c0f f309946e",
    "spatter": "1767c684 fda8a631 3e000560 819a65ac",
    "saturate": "efc75bea f7f68bea d5fd0abb f1a64714",
}
PUBLISHED = tuple(GOLDEN)  # by Hendrycks and Dietterich 2019; other entries have no digest to be held to
COMPILED = ("noise", "filters", "geometry", "weather", "colour")


def drawn_image(high: int, wide: int, channels: int = 3, kind: type = np.uint8) -> np.ndarray:
    """A picture of slopes, a bright square and some noise, in whole numbers; (H, W) for one channel."""
    y, x, c = np.ogrid[:high, :wide, :channels]
    noise = (
        (words_at(1, high * wide * channels) % np.uint64(40)).astype(np.int64).reshape(high, wide, channels)
    )
    square = ((y - high // 2) ** 2 < high) & ((x - wide // 3) ** 2 < wide)
    image = (3 * y + (2 + c) * x + 30 * c + 90 * square) % 216 + noise
    image = (image * (257 if kind is np.uint16 else 1)).astype(kind)
    return image[..., 0] if channels == 1 else image


def digest(image: np.ndarray) -> str:
    return hashlib.blake2b(image.astype(image.dtype.newbyteorder("<")).tobytes(), digest_size=4).hexdigest()


def digests(names: Sequence[str] = NAMES) -> dict[str, str]:
    """Digests of a colour image of 37 x 45 at severities 1, 3 and 5, and of a grey one at severity 3."""
    colour, grey = drawn_image(37, 45), drawn_image(37, 45, 1)
    found = {}
    for name in names:
        images = [fs.stressors.corrupt(colour, name, severity, seed=7, key="a") for severity in (1, 3, 5)]
        images.append(fs.stressors.corrupt(grey, name, 3, seed=7, key="a"))
        found[name] = " ".join(map(digest, images))
    return found


@contextmanager
def without_numba() -> Iterator[None]:
    """Have the plain twins serve, as where there is no numba."""
    with pytest.MonkeyPatch.context() as patch:
        for name in COMPILED:
            patch.delattr(kernels, name, raising=False)
            patch.setitem(sys.modules, f"{kernels.__name__}.{name}", None)
        yield


if __name__ == "__main__":
    print(digests(NAMES[::-1]))
