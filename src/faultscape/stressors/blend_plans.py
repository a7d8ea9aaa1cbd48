"""The plan of a blended frame: which objects, where, and all parameters of all steps, drawn from the seed and
the key of the frame.

Conventions: a plan consists of numbers and texts. A corpus keeps its JSON, and the same plan with the same
base and cut-outs gives the same bytes on any machine. All lengths scale with the frame's height; the values
given are for 1,024 rows.

``draw`` distinguishes frames made from the same base. ``text`` is the JSON of a plan.

Source: Blum et al. 2021, section 3.1; the ranges are ours, because the authors published none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import cast

import numpy as np
from pydantic import TypeAdapter, ValidationError

from faultscape.errors import CorpusError, OptionError
from faultscape.formats.guard import MAX_PIXELS
from faultscape.stressors.blend_steps.catalogue import BlendPreset, steps_of
from faultscape.stressors.blend_steps.steps import farness
from faultscape.stressors.fog import HORIZON, Fog
from faultscape.stressors.objects.cutout import Cutout, Use
from faultscape.stressors.placement import AREAS, Placement, draw_box, is_free, own_box
from faultscape.stressors.streams import Stream

_ROWS = 1024  # frame height that lengths are given for
_MOST_OBJECTS = 20
_LARGEST_NUMBER = 1000  # limit of a step's parameters read from a file
_BETAS, _LIGHTS = (0.005, 0.02), (190, 230)  # visibility of 600 to 150 m; grey levels


@dataclass(frozen=True)
class BlendPlan:
    """What is blended into one frame of (height, width) pixels; ``focus`` (x, y) is the point that the camera
    drives towards; ``fog`` is None without fog.
    """

    preset: BlendPreset  # decides which steps an object goes through
    height: int  # rows of the frame
    width: int  # columns of the frame
    focus: tuple[int, int]
    objects: tuple[Placement, ...]  # in the order in which they are blended: later ones cover earlier ones
    fog: Fog | None = None

    def text(self) -> str:
        """Return the plan as JSON on one line, which `plan_of_text` reads; default values are left out."""
        plan = asdict(self)
        defaults = {field.name: field.default for field in fields(Placement)}
        plan["objects"] = [
            {name: value for name, value in placed.items() if value != defaults[name]}
            for placed in plan["objects"]
        ]
        return json.dumps(plan, separators=(",", ":"))

    def placed(self, cutouts: Iterable[Cutout]) -> list[tuple[Cutout, Placement]]:
        """Return each placement with its cut-out from ``cutouts``, given in any order; CorpusError names one
        that is missing or has changed.
        """
        held = {cutout.digest: cutout for cutout in cutouts}
        for placement in self.objects:
            if placement.cutout not in held:
                raise CorpusError(
                    f"the plan uses {placement.name}, whose pixels ({placement.cutout}) are not among the"
                    f" {len(held)} cut-outs given; give the same objects again"
                )
        return [(held[placement.cutout], placement) for placement in self.objects]


def plan_blend(
    frame: tuple[int, int],
    cutouts: Sequence[Cutout],
    preset: BlendPreset,
    *,
    seed: int,
    key: str,
    draw: int = 0,
    objects_per_frame: int = 1,
    forbidden: np.ndarray | None = None,
    areas: tuple[float, float] = AREAS,
    horizon: float = HORIZON,
    fog_chance: float = 0.0,
    redrawn: Sequence[int] = (),
) -> BlendPlan:
    """Return the plan of a frame (height, width): the same for the same seed, key, draw, preset and set of
    cut-outs, in any order.

    With fishyscapes-v3 the frame gets at random EITHER anomalies OR known objects, and needs cut-outs of both
    uses; other presets use only anomalies. ``forbidden`` (H, W) is true where no object may go: an anomaly is
    placed elsewhere, and a known object, which stays at its own place, is replaced by one whose place is
    free. ``areas`` is the smallest and the largest share of the frame that an object covers; ``horizon`` is
    its row as a share of the height; ``fog_chance`` is the probability of fog. ``redrawn`` says how often
    each object is redrawn, with another cut-out, place and parameters: for those that `blend` flags.
    Errors: OptionError for an invalid frame, options out of range, no cut-out of a use that the preset needs,
    or no room.

    >>> box = Cutout(np.zeros((30, 40, 3), np.uint8), np.full((30, 40), 255, np.uint8), "a box", "box")
    >>> plan = plan_blend((360, 480), [box], "fishyscapes-v2", seed=0, key="digest of the frame")
    >>> [(placed.name, placed.x, placed.y, placed.width, placed.height) for placed in plan.objects]
    [('a box', 201, 284, 91, 68)]
    >>> plan_of_text(plan.text()) == plan, len(plan.text()) < 600
    (True, True)
    """
    _check(objects_per_frame, areas, horizon, fog_chance)
    height, width = _size(frame)
    if forbidden is not None:
        forbidden = np.asarray(forbidden, bool)
        if forbidden.shape != (height, width):
            raise OptionError(
                f"forbidden pixels have shape {forbidden.shape}, the frame {(height, width)}; they must have"
                " the same size"
            )
    stream = Stream(seed, key, "blend", draw)
    # Drawn even if the preset has no known objects, so that presets differ only in what they do.
    known = stream.uniform() < 0.5
    use: Use = "known" if preset == "fishyscapes-v3" and known else "anomaly"
    steps = {step.name for step in steps_of(preset, use)}
    uses: tuple[Use, ...] = ("anomaly", "known") if preset == "fishyscapes-v3" else ("anomaly",)
    for needed in uses:
        if all(cutout.use != needed for cutout in cutouts):
            raise OptionError(
                f"{preset} needs {'known objects' if needed == 'known' else 'anomalies'}, and none of the"
                f" {len(cutouts)} cut-outs has that use; give some with use {needed!r}"
            )
    pool = sorted((cutout for cutout in cutouts if cutout.use == use), key=lambda cutout: cutout.digest)
    focus = (width // 2, int(horizon * height))
    objects = []
    for count in range(objects_per_frame):
        first = stream.integer(len(pool))
        times = redrawn[count] if count < len(redrawn) else 0
        again = ("redrawn", times) if times else ()  # an object drawn once has the streams that it always had
        if times:
            first = Stream(seed, key, "blend", draw, "cut-out", count, *again).integer(len(pool))
        another = Stream(seed, key, "blend", draw, "another", count, *again)
        own = Stream(seed, key, "blend", draw, "object", count, *again)
        frame_size = (height, width)
        cutout = _with_room(pool, first, frame_size, forbidden, another)
        placed = _placement(cutout, frame_size, steps, own, forbidden, areas, focus[1])
        objects.append(replace(placed, redrawn=times))
    foggy = stream.uniform() < fog_chance
    beta = round(stream.uniform(*_BETAS), 6)
    light = _LIGHTS[0] + stream.integer(_LIGHTS[1] - _LIGHTS[0])
    fog = Fog(beta, (light, light, light)) if foggy else None
    return BlendPlan(preset, height, width, focus, tuple(objects), fog)


def plan_of_text(text: str) -> BlendPlan:
    """Return the plan that `BlendPlan.text` wrote; CorpusError for anything else.

    >>> plan_of_text("{}")
    Traceback (most recent call last):
    ...
    faultscape.errors.CorpusError: not a valid plan of a blended frame (preset: Field required); make the set
    again
    """
    try:
        plan = _PLANS.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "JSON"
        raise CorpusError(
            f"not a valid plan of a blended frame ({where}: {first['msg']}); make the set again"
        ) from None
    if not (
        0 < plan.height * plan.width <= MAX_PIXELS and all(_sound(placed, plan) for placed in plan.objects)
    ):
        raise CorpusError(
            "not a valid plan of a blended frame (a number is out of range); make the set again"
        )
    return plan


def _sound(placed: Placement, plan: BlendPlan) -> bool:
    """Return whether a placement's values could have been drawn, so that a file cannot use more memory than
    its frame.
    """
    steps = (
        placed.smooth,
        placed.brightness,
        placed.histogram,
        placed.motion,
        placed.depth,
        placed.noise,
        placed.glow,
        placed.glow_width,
    )
    fits = 0 < placed.width <= 2 * plan.width and 0 < placed.height <= 2 * plan.height
    drawn = 0 <= placed.noise_start < 2**64 and 0 <= placed.redrawn <= _LARGEST_NUMBER
    return fits and drawn and all(0 <= value <= _LARGEST_NUMBER for value in steps)


def _with_room(
    pool: Sequence[Cutout], first: int, frame: tuple[int, int], forbidden: np.ndarray | None, stream: Stream
) -> Cutout:
    """Return the object drawn ``first``, or, if it is a known one whose own place is forbidden, one drawn
    from those whose place is free; OptionError if there is none.
    """

    def free(cutout: Cutout) -> bool:
        return (
            forbidden is None or cutout.use != "known" or is_free(cutout, own_box(cutout, frame), forbidden)
        )

    if free(pool[first]):
        return pool[first]
    others = [cutout for cutout in pool if free(cutout)]
    if not others:
        raise OptionError(
            f"all {len(pool)} known objects are in forbidden pixels (the ego vehicle); give others, or a"
            " mask of only the ego vehicle"
        )
    return others[stream.integer(len(others))]


def _placement(
    cutout: Cutout,
    frame: tuple[int, int],
    steps: set[str],
    stream: Stream,
    forbidden: np.ndarray | None,
    areas: tuple[float, float],
    horizon: int,
) -> Placement:
    known = cutout.use == "known"
    scale = frame[0] / _ROWS
    flip = not known and stream.uniform() < 0.5
    box = (
        own_box(cutout, frame)
        if known
        else draw_box(cutout, frame, stream, forbidden=forbidden, areas=areas, flip=flip)
    )
    far = farness(box[1] + box[3], horizon, frame[0])

    def drawn(step: str, low: float, high: float, *, length: bool = False) -> float:
        # Drawn even if the preset lacks the step, so that presets differ only in their steps.
        value = stream.uniform(low, high)
        return round(value * (scale if length else 1.0), 6) if step in steps else 0.0

    return Placement(
        cutout.digest,
        cutout.name,
        cutout.class_,
        cutout.use,
        *box,
        flip,
        smooth=0.0 if cutout.soft else round(max(0.6, 1.2 * scale, 0.5 * box[3] / cutout.alpha.shape[0]), 6),
        brightness=drawn("brightness", 0.55, 0.85),
        histogram=drawn("histogram", 0.4, 0.7),
        motion=drawn("motion", 0.001, 0.006),
        depth=drawn("depth", 0.3 + 0.5 * far, 0.5 + 0.8 * far, length=True),
        noise=drawn("noise", 0.9, 1.1),
        glow=drawn("glow", 1.0, 3.0),
        glow_width=drawn("glow", 8.0, 16.0, length=True),
        noise_start=stream.bits() >> 11,
    )


def _size(frame: tuple[int, int]) -> tuple[int, int]:
    """Return height and width as plain integers, as a plan's text needs them; OptionError for anything other
    than two whole numbers above 0.
    """
    if len(frame) != 2 or any(not isinstance(side, int | np.integer) or side < 1 for side in frame):
        raise OptionError(f"frame: expected (height, width) in pixels, each 1 or more; got {frame}")
    return int(frame[0]), int(frame[1])


def _check(objects_per_frame: int, areas: tuple[float, float], horizon: float, fog_chance: float) -> None:
    if not 1 <= objects_per_frame <= _MOST_OBJECTS:
        raise OptionError(f"objects per frame: expected 1 to {_MOST_OBJECTS}; got {objects_per_frame}")
    if not 0 < areas[0] <= areas[1] <= 0.5:
        raise OptionError(
            f"areas: expected two shares of the frame, 0 < least <= largest <= 0.5; got {areas[0]:g} and"
            f" {areas[1]:g}"
        )
    if not 0 <= horizon < 1:
        raise OptionError(
            f"horizon: expected a share of the frame's height, 0 <= horizon < 1; got {horizon:g}"
        )
    if not 0 <= fog_chance <= 1:
        raise OptionError(f"fog chance: expected 0 to 1; got {fog_chance:g}")


_PLANS = cast("TypeAdapter[BlendPlan]", TypeAdapter(BlendPlan))
