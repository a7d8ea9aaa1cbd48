"""Every choice that the literature leaves open, in one place: a frozen dataclass, and named presets that
reproduce the choices of others.

Conventions: a preset changes only what it names. docs/reference/definitions.md explains each choice; results
carry the definition they were made with.

``preset`` is a name of ``PRESETS``, or None for the defaults; ``given`` are fields of ``Definitions`` by
name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from faultscape.choices import (
    Absent,
    Connectivity,
    Curve,
    FprRule,
    Match,
    Over,
    Per,
    Pooling,
    Preset,
    RegionKind,
    RegionScale,
    Rounding,
    Thresholds,
    Track,
    VoidRule,
)
from faultscape.errors import OptionError, closest


@dataclass(frozen=True)
class Definitions:
    """The choices behind a measurement; the defaults follow the source papers where these are sound."""

    regions: RegionKind = "connected"  # or given: the maps hold region ids
    connectivity: Connectivity = 8
    void: VoidRule = "cut"  # or bridge
    absent: Absent = "nan"  # or zero
    # or nan: ROM and RUM of a class whose regions are all below the confidence (S1 III-B)
    all_unknown: Absent = "zero"
    scale: RegionScale = "tanh"  # or sigmoid, none: S1 eq. 7 and 10
    match: Match = "iou"  # or dice: at which overlap AP counts a region as found
    per: Per = "truth"  # or prediction: the regions over which PE-OS and PE-US are means
    # or all, truth: the classes that mIoU, Dice and MPA are means over; MPA has only classes of the truth
    over: Over = "union"
    # or per_image, a mean over images, or cells, a mean over all (image, class) cells
    pooling: Pooling = "pooled"
    fpr_rule: FprRule = "first"  # or closest
    curve: Curve = "step"  # or trapezoid: the area under precision and recall
    # or keras200: 200 equal thresholds on 0..1; quantiles: each frame's own, as in SegmentMeIfYouCan
    thresholds: Thresholds = "exact"
    # or float32, float16: the type in which anomaly scores are compared; none is the type they come in
    rounding: Rounding = ""
    track: Track | Literal[""] = ""  # or anomaly, obstacle: size limits of SegmentMeIfYouCan's components
    fpr_limit: float = 0.3  # AUPRO: the false positive rate up to which the area is measured
    # anomalous objects are sought at the lowest score that at most this share of the known pixels reach
    alarm: float = 0.05
    covered: float = (
        0.5  # an anomalous object is found where at least this share of its pixels have that score
    )
    tolerance: float = 0.0075  # boundary F-score: pixels from 1 on, below 1 a share of the diagonal
    band: float = 0.02  # boundary IoU: width of the band, likewise
    bins: int = 15  # of ECE and the reliability diagram
    window: int = 2  # of PAvPU
    certain: float = 0.5  # PAvPU: doubt up to this is certain
    accurate: float = 0.5  # PAvPU: a window is accurate above this share of right pixels


MOST_BINS = 4096  # statistics hold every bin for every image and class
_CHOICES: dict[str, tuple[Any, ...]] = {
    "regions": get_args(RegionKind),
    "connectivity": get_args(Connectivity),
    "void": get_args(VoidRule),
    "absent": get_args(Absent),
    "all_unknown": get_args(Absent),
    "scale": get_args(RegionScale),
    "match": get_args(Match),
    "per": get_args(Per),
    "over": get_args(Over),
    "pooling": get_args(Pooling),
    "fpr_rule": get_args(FprRule),
    "curve": get_args(Curve),
    "thresholds": get_args(Thresholds),
    "rounding": get_args(Rounding),
    "track": ("", *get_args(Track)),
}
_SMIYC = {
    "pooling": "pooled",
    "fpr_rule": "first",
    "curve": "step",
    "thresholds": "quantiles",
    "rounding": "float16",
}
PRESETS: dict[Preset, dict[str, str]] = {
    "fishyscapes": {"pooling": "pooled", "fpr_rule": "first", "curve": "step", "rounding": "float32"},
    "smiyc": _SMIYC | {"track": "anomaly"},
    "smiyc-obstacle": _SMIYC | {"track": "obstacle"},
    "anomaly-seg": {"pooling": "per_image", "fpr_rule": "closest"},
    "pytorch-ood": {"curve": "trapezoid"},
    "keras200": {"thresholds": "keras200"},
    "torchmetrics": {"over": "union", "curve": "step"},
    "figure3": {"absent": "zero", "match": "dice"},
    "rom-rum": {"absent": "zero"},
    "s0-printed": {"over": "all", "pooling": "per_image"},
}


def define(preset: Preset | None = None, **given: Any) -> Definitions:
    """Return the definitions of a preset with ``given`` fields replaced (None keeps the preset's value);
    OptionError for an unknown value.

    >>> define("figure3", connectivity=4).match, define().absent
    ('dice', 'nan')
    """
    if preset is not None and preset not in PRESETS:
        raise OptionError(
            f"preset {preset!r} is not known; known are {', '.join(PRESETS)}.{closest(preset, list(PRESETS))}"
        )
    known = {f.name for f in fields(Definitions)}
    said = {
        **(PRESETS[preset] if preset else {}),
        **{name: value for name, value in given.items() if value is not None},
    }
    for name, value in said.items():
        if name not in known:
            raise OptionError(
                f"{name!r} is not a choice of a measurement; known are {', '.join(sorted(known))}"
            )
        if name in _CHOICES and value not in _CHOICES[name]:
            words = ", ".join(str(v) or "none" for v in _CHOICES[name])
            raise OptionError(f"{name}={value!r} is not known; use {words}")
    out = replace(Definitions(), **said)
    if out.thresholds == "quantiles" and (out.fpr_rule, out.curve) != ("first", "step"):
        raise OptionError(
            f"SegmentMeIfYouCan's curve has the step sum and the first threshold; got curve={out.curve},"
            f" fpr_rule={out.fpr_rule}; leave these or the preset out"
        )
    for name, fits, wanted in (
        ("bins", 1 <= out.bins <= MOST_BINS, f"are 1 to {MOST_BINS}"),
        ("window", out.window >= 1, "is 1 or more"),
        ("tolerance", not out.tolerance < 0, "is 0 or more"),
        ("band", not out.band <= 0, "is above 0"),
        *(
            (name, 0 < getattr(out, name) <= 1, "is above 0 and at most 1")
            for name in ("fpr_limit", "alarm", "covered")
        ),
    ):
        if not fits:
            raise OptionError(f"{name} {wanted}; got {getattr(out, name)}")
    for name in ("tolerance", "band", "certain", "accurate"):
        if not math.isfinite(getattr(out, name)):
            raise OptionError(f"{name} is a finite number; got {getattr(out, name)}")
    return out
