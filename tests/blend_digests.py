"""Prints digests of blended frames: run in processes with other processor features, other orders and without
numba.
"""

from __future__ import annotations

import functools
import hashlib
import sys

import numpy as np

from faultscape.stressors import Cutout, blend, drawn_cutout, plan_blend, words_at
from faultscape.stressors.blend_steps.catalogue import BlendPreset

PRESETS: tuple[BlendPreset, ...] = ("fishyscapes-v1", "fishyscapes-v2", "fishyscapes-v3")


def base_frame(height: int = 96, width: int = 160) -> np.ndarray:
    """A frame with a bright sky, a grey road and noise."""
    noise = (words_at(5, height * width * 3) >> np.uint64(60)).astype(np.uint8).reshape(height, width, 3)
    rows = np.where(np.arange(height) < height // 3, 238, 90).astype(np.uint8)[:, None, None]
    return rows + noise


@functools.cache
def small_cutouts() -> list[Cutout]:
    """A drawn object with a soft border, the same with a hard one, and a known object with a place of its
    own.
    """
    soft = drawn_cutout("cow")
    soft = Cutout(soft.pixels[::4, ::4].copy(), soft.alpha[::4, ::4].copy(), "cow", "cow")
    hard = Cutout(soft.pixels, ((soft.alpha > 127) * 255).astype(np.uint8), "hard cow", "cow")
    known = Cutout(
        soft.pixels[:30].copy(),
        hard.alpha[:30].copy(),
        "car",
        "car",
        use="known",
        corner=(40, 50),
        frame=(96, 160),
    )
    return [soft, hard, known]


def digests(keys: list[str]) -> dict[str, str]:
    """{preset and key: digest of image and labels}."""
    cutouts, base = small_cutouts(), base_frame()
    void = np.zeros(base.shape[:2], bool)
    void[-6:] = True
    found = {}
    for key in keys:
        for preset in PRESETS:
            plan = plan_blend(
                base.shape[:2], cutouts, preset, seed=1, key=key, objects_per_frame=2, fog_chance=0.5
            )
            made = blend(base, plan.placed(cutouts), plan, void)
            found[f"{preset} {key}"] = hashlib.blake2b(
                plan.text().encode() + made.image.tobytes() + made.labels.tobytes(), digest_size=8
            ).hexdigest()
    return found


if __name__ == "__main__":
    for name, digest in digests(sys.argv[1:]).items():
        print(name, digest)
