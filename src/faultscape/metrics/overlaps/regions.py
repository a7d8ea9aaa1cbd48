"""All region metrics of maps in memory: `regions(truth, prediction, classes)`.

Conventions: maps are (H, W) or (I, H, W) of the class list's ids. The headline numbers are means over images
of the mean over the classes defined there (Zhang et al. 2021's Table I); ``per_image`` keeps every cell,
``counts`` the counts behind them. Pixels void in the truth change nothing; the background forms no region.
Source: Zhang et al. 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from faultscape.arguments import ClassList
from faultscape.choices import Absent, Connectivity, Match, Per, RegionKind, RegionScale, VoidRule
from faultscape.classes.class_lists import SAY_OTHERWISE, allowed, resolve, table
from faultscape.errors import LabelMapError, OptionError
from faultscape.maps import checked_arrays
from faultscape.maps.regions import VOID, Overlaps, overlaps
from faultscape.metrics.overlaps import over_under, region_counts
from faultscape.nouns import UNKNOWN, Classes

Maps = np.ndarray | Sequence[np.ndarray]


@dataclass(frozen=True, eq=False)
class Regions:
    """Region metrics of some images: mean values, ``per_class`` {metric: (C,)}, ``per_image`` {metric: (I,
    C)}, ``counts`` {name: (I, C)}.

    A value is the mean over images of the mean over the classes defined there; ``undefined`` gives, for each
    metric, how many cells (an image and a class it has on either side) have no value. ``definition`` records
    the options.
    """

    rom: float
    rum: float
    ror: float
    rur: float
    pe_os: float
    pe_us: float
    ap50: float
    ap75: float
    ap: float
    pq: float
    sq: float
    rq: float
    per_class: dict[str, np.ndarray] = field(repr=False)
    per_image: dict[str, np.ndarray] = field(repr=False)
    counts: dict[str, np.ndarray] = field(repr=False)
    undefined: dict[str, int] = field(repr=False)
    definition: dict[str, Any] = field(repr=False)


def regions(
    truth: Maps,
    prediction: Maps,
    classes: ClassList | None = None,
    *,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    void: VoidRule | int | tuple[int, ...] = "cut",
    absent: Absent = "nan",
    scale: RegionScale = "tanh",
    match: Match = "iou",
    per: Per = "truth",
    background: int | None = None,
    divisor: int | None = None,
) -> Regions:
    """Return ROR, ROM, RUR, RUM (Zhang et al. 2021, eq. 5-10), PE-OS, PE-US, AP and PQ of predicted maps
    against true ones.

    Parameters
    ----------
    truth, prediction
        (H, W) or (I, H, W) maps of class ids; with ``regions="given"`` of region ids.
    classes
        Classes, a built-in name or a number; None, with regions given, for regions that have no class.
    regions
        connected (regions are made from classes) or given (each id is a region; its class is id // divisor,
        where a divisor is given).
    connectivity
        4 (sides) or 8 (sides and corners).
    void
        cut (pixels void in the truth go before regions are made) or bridge (after); a number names the void
        id, for classes given as a number.
    absent
        nan or zero: ROR, ROM, RUR, RUM and AP of a class without regions on one side.
    scale
        tanh, sigmoid or none, in eq. 7 and 10.
    match
        iou or dice, the overlap at which AP counts a region as found.
    per
        truth or prediction: over which regions PE-OS and PE-US are means.
    background
        The id that forms no regions, for classes given as a number.
    divisor
        Of given regions with classes: class = id // divisor, an id below it being a class itself; None: the
        id is the class.

    >>> r = regions(np.array([[1, 1, 1]]), np.array([[1, 0, 1]]), classes=2, background=0)
    >>> round(r.rom, 4), r.rum, int(r.counts["extra_pieces"][0, 1])
    (0.7616, 0.0, 1)
    """
    rule = void if isinstance(void, str) else "cut"
    if rule not in VOID:
        raise OptionError(f"void={void!r} is not known; use {', '.join(VOID)}, or the id that is void")
    ids = () if isinstance(void, str) else void
    known = resolve(1 if classes is None else classes, background=background, void=ids)
    if regions not in ("connected", "given"):
        raise OptionError(f"regions={regions!r} is not known; use connected or given")
    if divisor is not None and divisor < 1:
        raise OptionError(f"divisor is a whole number, 1 or more; got {divisor}")
    if classes is None and regions == "connected":
        raise OptionError(
            "regions are made from classes: give classes, or regions='given' for maps of region ids"
        )
    images = (
        [np.asarray(m) if not np.ma.isMaskedArray(m) else m for m in checked_arrays.images(truth, "truth")],
        checked_arrays.images(prediction, "prediction"),
    )
    if len(images[0]) != len(images[1]):
        raise LabelMapError(
            f"there are {len(images[0])} true maps and {len(images[1])} predicted ones; give one for one"
        )
    if not images[0]:
        raise LabelMapError("there is no map; give one image or more")
    rows = []
    for k, (one, other) in enumerate(zip(*images, strict=True)):
        if regions == "given":
            tables = [
                given(one, other, known, divisor=divisor if classes is not None else 0, void=known.void)
            ] * 2
        else:
            placed = [
                place(m, known, f"{what}, image {k}") for m, what in ((one, "truth"), (other, "prediction"))
            ]
            tables = connected(placed[0], placed[1], len(known), connectivity, rule)
        rows.append(count(tables, len(known), match))
    counts = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    cells = measure(counts, absent=absent, scale=scale, per=per, groups=known.groups)
    there = (counts["truth_regions"] + counts["predicted_regions"] > 0)[:, list(known.groups)]
    undefined = {name: int((np.isnan(c[:, list(known.groups)]) & there).sum()) for name, c in cells.items()}
    definition = {
        "aggregate": "mean over images of the mean over classes defined there",
        "regions": regions,
        "connectivity": connectivity,
    }
    definition |= {"void": rule, "absent": absent, "scale": scale, "match": match, "per": per}
    means = {name: mean(mean(c, 1), 0) for name, c in cells.items()}
    per_class = {name: mean(c, 0) for name, c in cells.items()}
    fields = {name: float(value) for name, value in means.items() if name in Regions.__dataclass_fields__}
    return Regions(
        **fields,
        per_class=per_class,
        per_image=cells,
        counts=counts,
        undefined=undefined,
        definition=definition,
    )


def connected(
    truth: np.ndarray,
    prediction: np.ndarray,
    classes: int,
    connectivity: int,
    void: str,
    confidence: np.ndarray | None = None,
) -> list[Overlaps]:
    """Return the tables of overlaps of two maps of places: by the rule for void, and of predicted regions as
    the model gave them (for PQ).
    """
    first = overlaps(truth, prediction, classes, connectivity=connectivity, void=void, confidence=confidence)
    if void == "bridge" or int(truth.max()) < classes:
        return [first, first]
    return [first, overlaps(truth, prediction, classes, connectivity=connectivity, void="bridge")]


def given(
    truth: np.ndarray,
    prediction: np.ndarray,
    classes: Classes,
    *,
    divisor: int | None,
    void: tuple[int, ...] = (),
    meanings: tuple[Mapping[str, str] | None, Mapping[str, str] | None] = (None, None),
) -> Overlaps:
    """Return the table of overlaps of two maps of region ids; class = id // divisor (None: the id itself; 0:
    all regions have the same class).

    ``meanings`` give, for truth and prediction, the class of each number, where it is not the class list's
    id.
    """
    numbered = []
    labels = []
    for label_map, what, names in ((truth, "truth", meanings[0]), (prediction, "prediction", meanings[1])):
        places = table(classes, names)
        label_map = np.asarray(label_map) if not np.ma.isMaskedArray(label_map) else label_map  # noqa: PLW2901 - masked arrays are refused below
        if (
            np.ma.isMaskedArray(label_map)
            or label_map.ndim != 2
            or label_map.dtype.kind not in "iub"
            or not label_map.size
        ):
            raise LabelMapError(
                f"{what}: expected whole numbers, H x W, without a mask; got {label_map.dtype} of shape"
                f" {label_map.shape}"
            )
        ids, inverse = np.unique(label_map, return_inverse=True)
        ids = ids.astype(np.int64)
        if divisor == 0:
            label = np.where(np.isin(ids, void), len(classes), 0)
        else:
            # below the divisor an id is a class, as in Cityscapes
            of = np.where(ids >= (divisor or 1), ids // (divisor or 1), ids)
            of = np.where(np.isin(ids, void), ids, of)
            label = np.where((of >= 0) & (of < UNKNOWN), places[np.clip(of, 0, UNKNOWN)], UNKNOWN).astype(
                np.int64
            )
            if (label == UNKNOWN).any():
                bad = int(ids[label == UNKNOWN][0])
                raise LabelMapError(
                    f"{what}: the region id {bad} belongs to no class; allowed classes are"
                    f" {allowed(classes, names)}"
                )
        numbered.append(inverse.reshape(label_map.shape).astype(np.int32))
        labels.append(label.astype(np.int32))
    n = max(len(labels[0]), len(labels[1]))
    one = np.where(labels[0][numbered[0]] == len(classes), n, numbered[0]).astype(np.int32)
    found = overlaps(one, numbered[1], n, given=True)
    return replace(
        found, truth_label=labels[0][found.truth_label], prediction_label=labels[1][found.prediction_label]
    )


def count(tables: Sequence[Overlaps], classes: int, match: Match) -> dict[str, np.ndarray]:
    """Return every count of one image from its two tables of overlaps: one by the rule for void, one with the
    regions as the model gave them.
    """
    counts = region_counts.count_regions(tables[0], classes)
    return (
        counts
        | region_counts.count_matches(tables[0], classes, match=match)
        | region_counts.count_quality(tables[1], classes)
    )


def measure(
    counts: dict[str, np.ndarray],
    *,
    absent: Absent = "nan",
    scale: RegionScale = "tanh",
    per: Per = "truth",
    groups: Sequence[int] | None = None,
) -> dict[str, np.ndarray]:
    """Return {metric: (..., C)} from counts; classes not in ``groups`` (the background) have no value."""
    precision = over_under.average_precision_of_regions
    cells = {
        "rom": over_under.rom(counts, absent=absent, scale=scale),
        "rum": over_under.rum(counts, absent=absent, scale=scale),
        "ror": over_under.ror(counts, absent=absent),
        "rur": over_under.rur(counts, absent=absent),
        "m_o": counts["extra_pieces"].astype(float),
        "m_u": counts["extra_merges"].astype(float),
        "pe_os": over_under.pe_os(counts, per=per),
        "pe_us": over_under.pe_us(counts, per=per),
        "ap50": precision(counts, 0.5, absent=absent),
        "ap75": precision(counts, 0.75, absent=absent),
        "ap": precision(counts, absent=absent),
        "pq": over_under.panoptic_quality(counts),
        "sq": over_under.segmentation_quality(counts),
        "rq": over_under.recognition_quality(counts),
        "missed": over_under.missed(counts),
        "invented": over_under.invented(counts),
    }
    if groups is not None:
        for values in cells.values():
            values[..., [c for c in range(values.shape[-1]) if c not in set(groups)]] = np.nan
    return cells


def mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Return the mean over an axis of the defined values; NaN where there are none."""
    known = ~np.isnan(values)
    number = known.sum(axis)
    out = np.full(np.shape(number), np.nan)
    return np.divide(np.where(known, values, 0.0).sum(axis), number, out=out, where=number > 0)


def place(label_map: np.ndarray, classes: Classes, where: str) -> np.ndarray:
    """Return a map of places; LabelMapError for masked arrays, wrong shapes and unknown values."""
    label_map = checked_arrays.label_map(label_map, where)
    low = 0 if label_map.dtype == np.uint8 else int(label_map.min())  # bytes are not negative
    high = int(label_map.max())
    if low < 0 or high > UNKNOWN:
        wrong = low if low < 0 else high
        raise LabelMapError(
            f"{where}: holds the value {wrong}; allowed are {allowed(classes)}{SAY_OTHERWISE}"
        )
    places = table(classes)
    if high < 256 and len(classes) < 254:
        if high < len(classes) and (places[: high + 1] == np.arange(high + 1)).all():
            return np.ascontiguousarray(label_map, np.uint8)  # ids are places already
        import cv2

        # a table of bytes, 255 for UNKNOWN: as fast as copying, and a hundredth of indexing
        small = np.minimum(places[:256], 255).astype(np.uint8)
        placed = cv2.LUT(np.ascontiguousarray(label_map, np.uint8), small)
        unknown = placed == 255 if placed.max() == 255 else None
    else:
        placed = places[label_map]
        unknown = placed == UNKNOWN if placed.max() == UNKNOWN else None
    if unknown is not None:
        raise LabelMapError(
            f"{where}: holds the value {int(label_map[unknown][0])}; allowed are"
            f" {allowed(classes)}{SAY_OTHERWISE}"
        )
    return placed.astype(np.uint8, copy=False) if len(classes) < 254 else placed
