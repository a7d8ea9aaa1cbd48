"""Every choice that the literature leaves open, in one place: a frozen dataclass, and named presets that
reproduce the choices of others.

Conventions: a preset changes only what it names. docs/reference/definitions.md explains each choice; results
carry the definition they were made with.

``preset`` is a name of ``PRESETS``, or None for the defaults; ``given`` are fields of ``Definitions`` by
name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypedDict, get_args

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
    """The choices behind a measurement; the defaults follow the source papers where these are sound.

    Parameters
    ----------
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    void
        cut (default: pixels void in the truth go before regions are made) or bridge (after).
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    all_unknown
        zero (default) or nan: ROM and RUM of a class whose regions are all below the confidence threshold, in
        their curves.
    scale
        tanh (default), sigmoid or none, in ROM and RUM.
    match
        iou (default) or dice: the overlap at which AP counts a region as found.
    per
        truth (default) or prediction: over which regions PE-OS and PE-US are means.
    over
        Classes that mIoU, Dice and MPA are means over: union (those of truth or prediction; default), truth,
        or all (an absent class counts 0). MPA has a value only for classes of the truth, so union and truth
        are the same there.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    fpr_rule
        first (default: the first threshold with recall of .95) or closest (the lowest of all thresholds
        closest to it).
    curve
        step (default) or trapezoid: the area under precision and recall.
    thresholds
        exact (default); keras200: 200 equal thresholds on 0..1; quantiles: each frame's own, as in
        SegmentMeIfYouCan. Set by presets.
    rounding
        float32 or float16: the type in which anomaly scores are compared; default: the type they come in. Set
        by presets.
    track
        anomaly or obstacle: size limits of SegmentMeIfYouCan's component metrics; default none.
    fpr_limit
        AUPRO: the false positive rate up to which the area is measured (default 0.3).
    alarm
        Recall of anomalous objects by size: the false positive rate of its
        threshold (default 0.05).
    covered
        The same: the share of an object's pixels above the threshold for it to count as found (default 0.5).
    tolerance
        Boundary F-score: pixels if 1 or more, else a share of the diagonal (default 0.0075).
    band
        Boundary IoU: width of the band, in the same units (default 0.02).
    bins
        Bins of ECE and the reliability diagram (default 15).
    window
        Side of PAvPU's windows, in pixels (default 2).
    certain
        PAvPU: a window is certain up to this mean doubt (default 0.5).
    accurate
        PAvPU: a window is accurate above this share of right pixels (default 0.5).
    """

    regions: RegionKind = "connected"
    connectivity: Connectivity = 8
    void: VoidRule = "cut"
    absent: Absent = "nan"
    all_unknown: Absent = "zero"  # S1 III-B
    scale: RegionScale = "tanh"  # S1 eq. 7 and 10
    match: Match = "iou"
    per: Per = "truth"
    over: Over = "union"
    pooling: Pooling = "pooled"
    fpr_rule: FprRule = "first"
    curve: Curve = "step"
    thresholds: Thresholds = "exact"
    rounding: Rounding = ""
    track: Track | Literal[""] = ""
    fpr_limit: float = 0.3
    alarm: float = 0.05
    covered: float = 0.5
    tolerance: float = 0.0075
    band: float = 0.02
    bins: int = 15
    window: int = 2
    certain: float = 0.5
    accurate: float = 0.5


class MapChoices(TypedDict, total=False):
    """Those of the choices that functions of label maps take by name, and a preset; ``void`` stands in their
    signatures, because a number there is the void id.
    """

    preset: Preset | None
    regions: RegionKind
    connectivity: Connectivity
    absent: Absent
    scale: RegionScale
    match: Match
    per: Per
    over: Over
    pooling: Pooling
    tolerance: float
    band: float


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
_ELSEWHERE = {  # {what other libraries call an option: our name}
    "ignore_index": "void",
    "ignore_label": "void",
    "ignore_class": "void",
    "num_classes": "classes",
    "average": "over",
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


def meant(name: str, known: Sequence[str]) -> str:
    """Return which of the ``known`` options was probably meant by one that is not, or nothing; what other
    libraries call it is known.

    >>> meant("ignore_index", ["void", "over"]), meant("ovr", ["void", "over"]), meant("x", ["void"])
    (". Did you mean 'void'?", ". Did you mean 'over'?", '')
    """
    other = _ELSEWHERE.get(name, "")
    found = f" Did you mean {other!r}?" if other in known else closest(name, [*known])
    return f".{found}" if found else ""


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
                f"{meant(name, sorted(known))}"
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
