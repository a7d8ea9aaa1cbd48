"""The document boxes.json: what boxes around objects say about models, and the texts about it.

Conventions: a class of null is the mean over all classes with a box. Bounds are exact for the images with
boxes; intervals speak of data to come, and include what boxes leave open. What is undefined is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from faultscape.errors import counted
from faultscape.nouns import Json
from faultscape.results.table import text_lines
from faultscape.terminal_lines import wrapped

_FEW = 10  # settled pairs that are named


class BoundRow(TypedDict):
    """Bounds of a metric of one model, or of the difference of two (``second`` is then the other)."""

    model: str
    second: str | None
    metric: str
    low: float | None
    high: float | None
    interval_low: float | None
    interval_high: float | None


class ClassBoundRow(BoundRow):
    """The same, with its class; null for the mean over classes."""

    class_: str | None


class CertainRow(TypedDict):
    """What is wrong whatever the truth: shares of pixels of the class outside all boxes, and of boxes in
    which the model predicts no pixel of the class.
    """

    model: str
    class_: str
    outside: float | None
    missed: float | None


class BoxDocument(TypedDict):
    """The content of boxes.json."""

    models: list[str]
    images: int
    units: Mapping[str, Json]
    boxes: dict[str, int]
    bounds: list[ClassBoundRow]
    certain: list[CertainRow]
    pairs: list[ClassBoundRow]
    notes: list[str]
    provenance: Mapping[str, Json]


def is_settled(row: BoundRow) -> bool:
    """Whether the interval of a difference excludes 0; without one, whether its bounds do."""
    low, high = row["interval_low"], row["interval_high"]
    if low is None or high is None:
        low, high = row["low"], row["high"]
    return low is not None and high is not None and (low > 0 or high < 0)


def summary(path: str, document: BoxDocument) -> str:
    """Return what `measure --boxes` prints."""
    of_mean = {row["model"]: row for row in document["bounds"] if row["class_"] is None}
    order = sorted(document["models"], key=lambda name: -(of_mean[name]["high"] or 0))
    rows = [
        (name, _range(of_mean[name]), _interval(of_mean[name]), *_certain(document, name)) for name in order
    ]
    heads = ("model", "mIoU from boxes", "data to come", "outside boxes", "boxes missed")
    number = sum(document["boxes"].values())
    boxed = len(document["boxes"])
    lines = [
        *text_lines(heads, rows),
        *wrapped(
            f"{counted(number, 'box', 'boxes')} of {counted(boxed, 'class', 'classes')} in"
            f" {counted(document['images'], 'image')}; {settled_text(document)}"
        ),
    ]
    for note in document["notes"]:
        lines += wrapped(f"note: {note}")
    return "\n".join([*lines, f"{path}/boxes.json; -v prints every class"])


def told(path: str, document: BoxDocument) -> str:
    """Return what ``-v`` prints: the bounds of every class, too."""
    rows = [
        (row["class_"] or "mean", row["model"], row["metric"], _range(row), _interval(row))
        for row in document["bounds"]
    ]
    table = text_lines(("class", "model", "metric", "from boxes", "data to come"), rows)
    return "\n".join([*table, summary(path, document)])


def settled_text(document: BoxDocument) -> str:
    """Return which pairs of models boxes settle in mIoU."""
    pairs = [row for row in document["pairs"] if row["class_"] is None]
    found = [row for row in pairs if is_settled(row)]
    orders = [
        (row["model"], row["second"]) if (row["low"] or 0) > 0 else (row["second"], row["model"])
        for row in found
    ]
    better = [f"{best} above {other}" for best, other in orders]
    named = f" ({', '.join(better[:_FEW])}{', ...' if len(better) > _FEW else ''})" if better else ""
    return f"they settle {len(found)} of {counted(len(pairs), 'pair')} of models in mIoU{named}"


def _certain(document: BoxDocument, model: str) -> tuple[str, str]:
    """Return the mean shares of what is certainly wrong of a model."""
    rows = [row for row in document["certain"] if row["model"] == model]
    return _mean([row["outside"] for row in rows]), _mean([row["missed"] for row in rows])


def _mean(shares: Sequence[float | None]) -> str:
    known = [share for share in shares if share is not None]
    return f"{100 * sum(known) / len(known):.0f} %" if known else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def _range(row: BoundRow) -> str:
    return f"{_number(row['low'])} to {_number(row['high'])}"


def _interval(row: BoundRow) -> str:
    low, high = row["interval_low"], row["interval_high"]
    return "" if low is None or high is None else f"[{_number(low)}, {_number(high)}]"
