"""Blend objects into a frame according to a plan.

Conventions: base and image (H, W, 3) uint8 RGB, labels (H, W) uint8 (`anomaly_labels`). Pixels away from
objects and their glow are unchanged, unless there is fog. All arithmetic is on integers.

``plan`` is a result of `plan_blend`.

Source: Blum et al. 2021, section 3.1.

Flags of blended objects that nearly vanish in their frame, or that fell into pieces.

Conventions: an object's pixels are those labelled as it at the end, so that what later objects cover does not
count. It is *faint* if fewer than ``LEAST_SEEN`` of them differ by ``DIFFERENCE`` grey levels in some channel
from what was there before, and in *pieces* if its largest connected part (8 neighbours) has less than
``LEAST_WHOLE`` of them. No object is left out for a flag. Fog is not considered, because it does not cover
objects.
Source: ours; the limits were chosen by eye on CamVid, where a few in a hundred objects are flagged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from faultscape.errors import ImageError
from faultscape.stressors.anomaly_labels import ANOMALY, KNOWN, VOID, count_labels, labels_of_base
from faultscape.stressors.blend_plans import BlendPlan
from faultscape.stressors.blend_steps.catalogue import FrameFacts, steps_of
from faultscape.stressors.blend_steps.layer import GREY, WHITE, WHOLE, Layer, layer_of
from faultscape.stressors.blend_steps.steps import longest_motion
from faultscape.stressors.fog import add_fog
from faultscape.stressors.objects.cutout import Cutout
from faultscape.stressors.placement import Placement

DIFFERENCE = 16
LEAST_SEEN = 0.25
LEAST_WHOLE = 0.9


@dataclass(frozen=True)
class BlendFlag:
    """A flag of one object (its number in the plan): *faint* with the share of its pixels that differ from
    the frame, or *pieces* with the share of its largest part.
    """

    object: int
    flag: Literal["faint", "pieces"]
    value: float


def flags_of(owner: np.ndarray, differs: np.ndarray, objects: Sequence[int]) -> tuple[BlendFlag, ...]:
    """Return the flags of objects, from the number of the object that each pixel (H, W) belongs to, -1 for
    none, and where pixels (H, W) differ from what was there before.

    >>> owner = np.array([[0, 0, 0, -1, 0], [0, 0, 0, -1, -1]])
    >>> flags_of(owner, owner < 0, [0])
    (BlendFlag(object=0, flag='faint', value=0.0), BlendFlag(object=0, flag='pieces', value=0.857143))
    """
    found = []
    for number in objects:
        own = owner == number
        pixels = int(own.sum())
        seen = int((own & differs).sum()) / max(pixels, 1)
        if seen < LEAST_SEEN:
            found.append(BlendFlag(number, "faint", round(seen, 6)))
        _, _, parts, _ = cv2.connectedComponentsWithStats(own.astype(np.uint8), connectivity=8)
        whole = int(parts[1:, cv2.CC_STAT_AREA].max(initial=0)) / max(pixels, 1)
        if pixels and whole < LEAST_WHOLE:
            found.append(BlendFlag(number, "pieces", round(whole, 6)))
    return tuple(found)


@dataclass(frozen=True)
class StepValue:
    """What one step did to one object (its number in the plan): the factor, sigma or change described in its
    entry of BLEND_STEPS.
    """

    object: int
    step: str
    value: float


@dataclass(frozen=True, eq=False)
class Blended:
    """A blended frame: image (H, W, 3) uint8, labels (H, W) uint8, ``objects`` (H, W), the labels on objects
    and void elsewhere, what each step did, and the flags of objects that nearly vanish or fell into pieces.
    """

    image: np.ndarray  # (H, W, 3) uint8 RGB, with objects and fog
    labels: np.ndarray  # (H, W) uint8: 1 anomalous, 0 known, 255 void
    objects: np.ndarray
    steps: tuple[StepValue, ...]  # object by object, in the order of the plan
    flags: tuple[BlendFlag, ...] = ()  # objects that nearly vanish or fell into pieces

    def __repr__(self) -> str:
        height, width = self.labels.shape
        anomalous, known, void = self.pixels
        return f"Blended({width} x {height}: {anomalous:,} anomalous, {known:,} known, {void:,} void pixels)"

    @property
    def pixels(self) -> tuple[int, int, int]:
        """How many pixels are anomalous, known and void."""
        return count_labels(self.labels)


def blend(
    base: np.ndarray,
    placed: Sequence[tuple[Cutout, Placement]],
    plan: BlendPlan,
    void: np.ndarray | None = None,
    depth: np.ndarray | None = None,
) -> Blended:
    """Return a frame (H, W, 3) uint8 with the objects of a plan blended in, and its labels; ``placed`` is
    what `BlendPlan.placed` returns.

    ``void`` (H, W) is true where the base has no class; ``depth`` (H, W) in metres is for the plan's fog.
    Errors: ImageError for a base of the wrong type or size, or void or depth of the wrong size.

    >>> cutout = Cutout(np.full((9, 9, 3), 90, np.uint8), np.full((9, 9), 255, np.uint8), "a box")
    >>> from faultscape.stressors import plan_blend
    >>> plan = plan_blend((64, 96), [cutout], "fishyscapes-v2", seed=0, key="digest of the frame")
    >>> made = blend(np.full((64, 96, 3), 100, np.uint8), plan.placed([cutout]), plan)
    >>> made, [step.step for step in made.steps]
    (Blended(96 x 64: 225 anomalous, 5,919 known, 0 void pixels), ['alpha', 'brightness', 'histogram',
    'motion', 'depth', 'noise', 'glow'])
    """
    base = np.asarray(base)
    if base.dtype != np.uint8 or base.ndim != 3 or base.shape[2] != 3:
        raise ImageError(
            f"blending: expected an image (H, W, 3) uint8; got {base.dtype} of shape {base.shape}"
        )
    if base.shape[:2] != (plan.height, plan.width):
        raise ImageError(
            f"blending: the plan is for {plan.width} x {plan.height} pixels, the image has {base.shape[1]} x"
            f" {base.shape[0]}; make a new plan for this image"
        )
    labels = labels_of_base(void, (plan.height, plan.width))
    objects = np.full((plan.height, plan.width), VOID, np.uint8)
    image = base.copy()
    frame = FrameFacts(image, plan.focus)
    owner = np.full((plan.height, plan.width), -1, np.int16)
    differs = np.zeros((plan.height, plan.width), bool)
    values = []
    for number, (cutout, placement) in enumerate(placed):
        layer = layer_of(
            cutout, image, placement.box, flip=placement.flip, margin=_margin(placement, base.shape[:2])
        )
        for step in steps_of(plan.preset, placement.use):
            layer, value = step.apply(layer, frame, placement)
            values.append(StepValue(number, step.name, value))
        own, changed = _compose(image, layer)
        objects[own] = KNOWN if placement.use == "known" else ANOMALY
        owner[own], differs[own] = number, changed[own]
    labels = np.where(objects == VOID, labels, objects)
    if plan.fog is not None:
        image = add_fog(image, plan.fog, labels == KNOWN, depth, horizon=plan.focus[1])
    return Blended(image, labels, objects, tuple(values), flags_of(owner, differs, range(len(placed))))


def _margin(placement: Placement, shape: tuple[int, ...]) -> int:
    """Return how far beyond its box an object's blurs may reach; glow extends farther."""
    blurs = int(3 * placement.smooth + 0.5) + int(3 * placement.depth + 0.5)
    moved = longest_motion((shape[0], shape[1]), placement.motion) if placement.motion else 0
    return 2 + blurs + moved


def _compose(image: np.ndarray, layer: Layer) -> tuple[np.ndarray, np.ndarray]:
    """Compose a layer over an image in place: image (1 - alpha) + colour alpha, with the layer's light around
    it. Return which pixels (H, W) are the object's, and which of them now differ from what was there.
    """
    x, y = layer.corner
    height, width = layer.alpha.shape
    rows = slice(max(0, y), min(image.shape[0], y + height))
    columns = slice(max(0, x), min(image.shape[1], x + width))
    own = slice(rows.start - y, rows.stop - y), slice(columns.start - x, columns.stop - x)
    alpha = layer.alpha[own][..., None]
    under = image[rows, columns].astype(np.int32) * GREY
    if layer.light is not None:
        under = np.minimum(under + layer.light[own], WHITE)
    mixed = under * (WHOLE - alpha) + layer.colour[own] * alpha
    before = image[rows, columns].astype(np.int32)
    image[rows, columns] = (mixed + GREY * WHOLE // 2) >> 20
    covered, changed = np.zeros((2, *image.shape[:2]), bool)
    covered[rows, columns] = alpha[..., 0] * 2 >= WHOLE
    changed[rows, columns] = (np.abs(image[rows, columns] - before) >= DIFFERENCE).any(2)
    return covered, changed
