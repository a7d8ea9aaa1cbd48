"""Label maps like those of real networks, made by code: one smooth scene, and each model's own errors.

Conventions: (J, H, W) uint8. ``web`` agrees about as models do on web pictures, ``easy`` more, ``hard``
hardly; ``speckle`` has 2 % of pixels at random, ``noise`` is nothing else.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter, zoom

KINDS = {
    "web": {},
    "easy": {"jitter": 0.05, "flips": 0.02},
    "hard": {"jitter": 0.5, "fine": 0.25, "flips": 0.1},
    "speckle": {"speckle": 0.02},
    "noise": {"speckle": 1.0},
}


def maps(kind: str, models: int = 10, size: int = 512, classes: int = 21, seed: int = 0) -> np.ndarray:
    """Return one image's maps."""
    options = {"jitter": 0.1, "flips": 0.03, "fine": 0.01, "speckle": 0.0} | KINDS[kind]
    rng = np.random.default_rng(seed)
    shown = np.concatenate([[0], 1 + rng.permutation(classes - 1)[:4]]).astype(np.uint8)
    scene = np.stack([field(rng, size, 40) for _ in shown])
    scene[0] += 0.6
    out = np.empty((models, size, size), np.uint8)
    for j in range(models):
        logits = scene + options["jitter"] * np.stack([field(rng, size, 10) for _ in shown])
        logits += options["fine"] * np.stack([field(rng, size, 2) for _ in shown])
        labels = shown[logits.argmax(0)]
        wrong = field(rng, size, 40)
        other = rng.permutation(classes)[:3].astype(np.uint8)[np.digitize(field(rng, size, 20), [-0.4, 0.4])]
        labels = np.where(wrong > np.quantile(wrong, 1 - options["flips"]), other, labels)
        dots = rng.random((size, size)) < options["speckle"]
        out[j] = np.where(dots, rng.integers(0, classes, (size, size)), labels)
    return out


def field(rng: np.random.Generator, size: int, sigma: float) -> np.ndarray:
    """Return a smooth random field of unit spread; wide ones are made small and enlarged."""
    step = max(1, int(sigma // 2))
    small = gaussian_filter(rng.standard_normal((size // step + 3,) * 2).astype(np.float32), sigma / step)
    whole = zoom(small, step, order=1) if step > 1 else small
    whole = whole[:size, :size]
    return whole / whole.std()
