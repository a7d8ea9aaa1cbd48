"""What pages show of a selection of points: what was asked and answered, and the IoU of every class.

Conventions: from one data set's part of measure.json whose numbers are estimated from points (``points``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from faultscape.errors import counted
from faultscape.ranking.points.measures import FEW
from faultscape.reporting.measure.document import MetricEntry, PointsPart, SetDocument
from faultscape.reporting.view import Column, Mark, Table, TableRow, percent

_MANY = 30  # images that are named
_ROWS = 10  # of points by image


@dataclass(frozen=True)
class AskedPoints:
    """What was asked and answered: ``kinds`` [(kind of answer, points, CSS class)], points ``by_class``
    [(class, points, share of the largest)], how many images have how many points (``by_number``), the images
    with the most (``by_image``), and sentences on what is left open.
    """

    part: PointsPart
    kinds: tuple[tuple[str, int, str], ...]
    by_class: tuple[tuple[str, float, float], ...]
    by_number: tuple[tuple[str, int], ...]
    by_image: tuple[tuple[str, int], ...]
    left_open: tuple[str, ...]


def asked_points(one: SetDocument) -> AskedPoints | None:
    """Return what a page shows about the points; None if its numbers are not estimated from points."""
    part = one.get("points")
    if part is None:
        return None
    plain = part["answered"] - part["void"] - part["on_border"] - part["cannot_tell"]
    kinds = (
        ("one class", plain, "b4"),
        ("on a border", part["on_border"], "b3"),
        ("void", part["void"], "b2"),
        ("cannot tell", part["cannot_tell"], "b0"),
        ("in images with a mask", part["masked"], "one"),
        ("not answered yet", part["waiting"], "open"),
    )
    most = max([*part["by_class"].values(), 1.0])
    by_image = part["by_image"]
    return AskedPoints(
        part,
        tuple(kind for kind in kinds if kind[1]),
        tuple((name, number, number / most) for name, number in part["by_class"].items()),
        tuple(_by_number([*by_image.values()], part["images"])),
        tuple(by_image.items())[:_MANY],
        tuple(_left_open(part)),
    )


def _left_open(part: PointsPart) -> list[str]:
    """Return sentences on the range that answers other than a class leave open."""
    rows = (
        (
            part["cannot_tell"],
            "where nobody can tell are left out, as if missing at random; with any class",
            part["cannot_tell_leaves_open"],
        ),
        (
            part["on_border"],
            "on a border count half for each of their classes; if they were wholly of one of these",
            part["borders_leave_open"],
        ),
    )
    return [
        f"{counted(number, 'point')} ({percent(number, part['answered'])} of those answered) {how}, a model's"
        f" mIoU would change by {_points(min(low for low, _ in ends.values()))} to"
        f" {_points(max(high for _, high in ends.values()))} points."
        for number, how, ends in rows
        if number
    ]


def _by_number(by_image: Sequence[int], images: int) -> list[tuple[str, int]]:
    """Return how many of the ``images`` have how many points; numbers in ranges where there are many.

    >>> _by_number([2, 1, 1], 5), _by_number(range(1, 41), 40)[:2]
    ([('0', 2), ('1', 2), ('2', 1)], [('1–4', 4), ('5–8', 4)])
    """
    numbers = Counter([*by_image, *[0] * (images - len(by_image))])
    first = min(numbers)
    wide = 1 if len(numbers) <= _ROWS else math.ceil((max(numbers) - first + 1) / _ROWS)
    ranges = Counter[int]()
    for number, count in numbers.items():
        ranges[(number - first) // wide] += count
    starts = {k: first + wide * k for k in sorted(ranges)}
    return [(f"{low}" if wide == 1 else f"{low}–{low + wide - 1}", ranges[k]) for k, low in starts.items()]


def _points(value: float) -> str:
    """Return a difference in points of 100.

    >>> _points(0.0123), _points(-0.5)
    ('+1.2', '−50.0')
    """
    return f"{100 * value:+.1f}".replace("-", "−")


def class_table(one: SetDocument) -> Table | None:
    """Return the IoU of every class, a row each, and of every model, a column each; None without any. A class
    that few points decide says so and has no interval.
    """
    part = one.get("points")
    if part is None:
        return None
    entries = {model: of["miou"] for model, of in one["models"].items()}
    exact = part["masked_pixels"] == part["pixels"]
    rows = []
    for name, number in part["by_class"].items():
        few = {model: not exact and part["deciding"][model][name] < FEW for model in entries}
        marks = tuple(_mark(entry, name, few=few[model]) for model, entry in entries.items())
        note = "from masks" if exact else f"{number:g} {'point' if number == 1 else 'points'}"
        rows.append(TableRow(name, marks, note=note, kind="few" if all(few.values()) else ""))
    columns = tuple(Column(model, better="high") for model in entries)
    return Table(columns, tuple(rows), heads=("class",), name="classes")


def _mark(entry: MetricEntry, name: str, *, few: bool) -> Mark:
    value = entry["per_class"][name]
    low = entry["per_class_low"][name]
    high = entry["per_class_high"][name]
    return Mark(value, low, high, "few" if few else "")
