"""The scale statistics of a training set: first and third quartile of each class's share of pixels (Yan et
al. 2021, section 3.1.2).

Conventions: a share is taken of all pixels of a mask, void included; a class's quartiles are linear
percentiles (25, 75) over the masks that contain it; a class in no mask has NaN. The file form is
``{"classes": {name: {"n_images", "t_min", "t_max"}}}``.

``path`` is the scale file. ``masks`` are label maps (H, W) of ids.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.arguments import ClassList, Place
from faultscape.classes.class_lists import SAY_OTHERWISE, allowed, resolve, table
from faultscape.errors import ClassesError, LabelMapError, reason
from faultscape.maps import checked_arrays
from faultscape.nouns import UNKNOWN, Classes, Scale, ScaleEntry

_SHOWN = 8  # maximum number of classes that a message names


def scale(
    masks: Iterable[np.ndarray],
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
) -> Scale:
    """Return the quartiles over masks (H, W) of ids; LabelMapError for a value out of range.

    >>> masks = [np.array([[0, 1, 1, 1]]), np.array([[0, 0, 0, 1]])]
    >>> scale(masks, classes=2).t_max
    (0.625, 0.625)
    """
    classes = resolve(classes, background=background, void=void)
    places = table(classes)
    n = len(classes) + 1
    histograms = []
    for number, mask in enumerate(checked_arrays.each_image(masks, "masks")):
        labels = checked_arrays.whole_numbers(mask, f"mask {number}", LabelMapError, "H x W")
        if labels.size and labels.min() < 0:
            raise LabelMapError(
                f"mask {number}: holds the value {int(labels.min())}; allowed are"
                f" {allowed(classes)}{SAY_OTHERWISE}"
            )
        values = np.bincount(labels.ravel(), minlength=1)
        held = np.flatnonzero(values)
        if len(values) > len(places) or (places[held] == UNKNOWN).any():
            bad = next(v for v in held.tolist() if v >= len(places) or places[v] == UNKNOWN)
            raise LabelMapError(
                f"mask {number}: holds the value {bad}; allowed are {allowed(classes)}{SAY_OTHERWISE}"
            )
        histograms.append(np.bincount(places[held], weights=values[held], minlength=n))
    return scale_of(np.array(histograms).reshape(-1, n), classes)


def scale_of(histograms: np.ndarray, classes: Classes) -> Scale:
    """Return the quartiles from (I, C + 1) pixels per place of each mask."""
    share = histograms[:, :-1] / np.maximum(histograms.sum(1, keepdims=True), 1)
    low = []
    high = []
    number = []
    for column in share.T:
        there = column[column > 0]
        quartiles = np.percentile(there, [25, 75]) if len(there) else (math.nan, math.nan)
        low.append(float(quartiles[0]))
        high.append(float(quartiles[1]))
        number.append(len(there))
    return Scale(classes.names, tuple(number), tuple(low), tuple(high))


def to_json(scale: Scale) -> dict[str, dict[str, ScaleEntry]]:
    """Return the file form; a class without masks has null quartiles."""
    rows = zip(scale.names, scale.n_images, scale.t_min, scale.t_max, strict=True)
    nothing = lambda x: None if math.isnan(x) else x  # noqa: E731
    return {
        "classes": {name: {"n_images": n, "t_min": nothing(a), "t_max": nothing(b)} for name, n, a, b in rows}
    }


def from_json(raw: Any, classes: Classes, where: str) -> Scale:
    """Return the quartiles of these classes; ClassesError if a class that forms a group is missing or a bound
    is not a number.
    """
    entries = raw.get("classes") if isinstance(raw, dict) else None
    if not isinstance(entries, dict):
        raise ClassesError(
            f'{where}: expected {{"classes": {{name: {{"t_min", "t_max"}}}}}}, as `faultscape scale`'
            " writes it"
        )
    number = []
    low = []
    high = []
    for place, name in enumerate(classes.names):
        entry = entries.get(name)
        if entry is None and place in classes.groups:
            raise ClassesError(
                f"{where}: the usual sizes do not include class {name!r} (only {_listed(list(entries))});"
                " make a file for these classes with `faultscape scale`, and give it with --scale"
            )
        entry = {} if entry is None else entry
        if not isinstance(entry, dict) or not isinstance(entry.get("n_images", 0), int):
            raise ClassesError(f"{where}: {name!r} needs a table of n_images, t_min and t_max; got {entry!r}")
        bounds = [math.nan if entry.get(key) is None else entry[key] for key in ("t_min", "t_max")]
        if not all(isinstance(b, int | float) for b in bounds) or bounds[0] > bounds[1]:
            raise ClassesError(
                f"{where}: t_min and t_max of {name!r} must be numbers, t_min <= t_max; got {entry}"
            )
        low.append(float(bounds[0]))
        high.append(float(bounds[1]))
        number.append(int(entry.get("n_images", 0)))
    return Scale(classes.names, tuple(number), tuple(low), tuple(high))


def _listed(names: Sequence[str]) -> str:
    """Return some names in words, the first eight of many."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more if names else "none"


def read_scale(path: Place, classes: Classes) -> Scale:
    """Return the quartiles of a scale file; ClassesError names the file and what is wrong."""
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ClassesError(
            f"{path}: cannot be read as a scale file: {reason(error)}; `faultscape scale` writes one"
        ) from None
    return from_json(raw, classes, str(path))
