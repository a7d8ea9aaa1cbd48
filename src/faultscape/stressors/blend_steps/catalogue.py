"""BLEND_STEPS: every step in the paper's order, and the presets that have it.

Conventions: an entry applies its step to a layer with the parameters of a placement. Histogram matching is
not applied to known objects.
Source: Blum et al. 2021, section 3.1: steps without a star are v1 (March 2019), all are v2 (June 2019), v3
(January 2020) adds known objects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from faultscape.errors import OptionError, closest
from faultscape.stressors.blend_steps.layer import Layer, widened
from faultscape.stressors.blend_steps.steps import (
    add_colour_noise,
    add_glow,
    blur_depth,
    blur_motion,
    match_brightness,
    match_histogram,
    smooth_alpha,
)
from faultscape.stressors.placement import Placement

BlendPreset = Literal["fishyscapes-v1", "fishyscapes-v2", "fishyscapes-v3"]


@dataclass(frozen=True, eq=False)
class FrameFacts:
    """What steps need from the whole frame: the image (H, W, 3) so far, and the focus (x, y) of its
    motion.
    """

    image: np.ndarray
    focus: tuple[int, int]


@dataclass(frozen=True)
class BlendStep:
    """One step: its name, its purpose, which of its parameters are ours, the presets that have it, whether it
    applies to known objects, its function, and what is recorded about it.
    """

    name: str
    says: str
    ours: str
    presets: frozenset[BlendPreset]
    known: bool
    apply: Callable[[Layer, FrameFacts, Placement], tuple[Layer, float]]
    noted: str


def _glow(layer: Layer, frame: FrameFacts, at: Placement) -> tuple[Layer, float]:
    """Apply glow to a widened layer, because light reaches farther than blurs."""
    return add_glow(widened(layer, frame.image, int(3 * at.glow_width) + 4), at.glow_width, at.glow)


_ALL: frozenset[BlendPreset] = frozenset(["fishyscapes-v1", "fishyscapes-v2", "fishyscapes-v3"])
_LATER: frozenset[BlendPreset] = frozenset(["fishyscapes-v2", "fishyscapes-v3"])

BLEND_STEPS: tuple[BlendStep, ...] = (
    BlendStep(
        "alpha",
        "a hard mask gets a smooth border; soft masks stay as they are",
        "Gaussian, 1.2 pixels at 1,024 rows; border colours from inside",
        _ALL,
        True,
        lambda layer, _, at: smooth_alpha(layer, at.smooth),
        "sigma, pixels",
    ),
    BlendStep(
        "brightness",
        "the mean moves towards that of the covered pixels",
        "55 to 85 % of the way",
        _ALL,
        True,
        lambda layer, _, at: match_brightness(layer, at.brightness),
        "change of the mean, grey levels",
    ),
    BlendStep(
        "histogram",
        "each channel moves towards the distribution of the frame in the object's box, through its inverse"
        " cumulated histogram",
        "40 to 70 % of the way",
        _LATER,
        False,
        lambda layer, _, at: match_histogram(layer, at.histogram),
        "mean change, grey levels",
    ),
    BlendStep(
        "motion",
        "blur along the rays from the point that the camera drives to",
        ".1 to .6 % of the distance from it; centre column, row .42",
        _LATER,
        True,
        lambda layer, frame, at: blur_motion(layer, frame.focus, at.motion),
        "longest, pixels",
    ),
    BlendStep(
        "depth",
        "what stands far is less sharp",
        "Gaussian, .3 to 1.3 pixels at 1,024 rows, by the row that the object stands on",
        _LATER,
        True,
        lambda layer, _, at: blur_depth(layer, at.depth),
        "sigma, pixels",
    ),
    BlendStep(
        "noise",
        "as noisy as the frame around it, each channel by itself",
        "estimated, times .9 to 1.1",
        _ALL,
        True,
        lambda layer, _, at: add_colour_noise(layer, at.noise_start, at.noise),
        "sigma, grey levels",
    ),
    BlendStep(
        "glow",
        "pixels above 225 shed light over the border, both ways",
        "Gaussian, 8 to 16 pixels at 1,024 rows, times 1 to 3",
        _LATER,
        True,
        _glow,
        "most, grey levels",
    ),
)


def steps_of(preset: str, use: str) -> tuple[BlendStep, ...]:
    """Return the steps of a preset for an object with a use, in order.

    >>> [step.name for step in steps_of("fishyscapes-v1", "anomaly")]
    ['alpha', 'brightness', 'noise']
    """
    if preset not in get_args(BlendPreset):
        raise OptionError(
            f"preset must be one of {', '.join(get_args(BlendPreset))}; got"
            f" {preset!r}.{closest(preset, get_args(BlendPreset))}"
        )
    return tuple(step for step in BLEND_STEPS if preset in step.presets and (step.known or use != "known"))
