"""Where people say that objects of some classes lie in images: boxes (``label import --boxes``).

Conventions: a row is one person's boxes of one image, all of them: ``said`` is JSON, {"boxed": the classes
that the person was to box, "boxes": [class, left, top, right, bottom, whole] of each (`maps.boxes`)}; ''
withdraws the person's previous row. A boxed class without a box is not in the image. The latest row of a
truth, image and annotator counts. Rows store the class names of their time; readers get the current names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from faultscape.maps.boxes import Box, fault_of
from faultscape.study.answers.question_table import ClassTable
from faultscape.study.answers.schema import BOXES, LABELS

Named = tuple[str, Box]


@dataclass(frozen=True)
class BoxAnswer:
    """One person's boxes of an image, as text (`text_of`)."""

    image: str
    said: str
    annotator: str
    truth: str = LABELS
    key: str | None = None
    time: float = 0.0

    @property
    def boxed(self) -> tuple[str, ...]:
        """The classes that were boxed."""
        return tuple(json.loads(self.said)["boxed"])

    @property
    def boxes(self) -> tuple[Named, ...]:
        """(class, box) of each box."""
        return _boxes(self.said)


class BoxQuestion(NamedTuple):
    """What a row answers, and who."""

    image: str
    annotator: str


def text_of(boxed: Iterable[str], boxes: Iterable[Named]) -> str:
    """Return the text of boxes, the same for the same boxes in another order.

    >>> text_of(["car"], [("car", Box(0, 1, 2, 3))])
    '{"boxed":["car"],"boxes":[["car",0,1,2,3,true]]}'
    """
    rows = sorted((name, *box) for name, box in set(boxes))
    return json.dumps({"boxed": sorted(set(boxed)), "boxes": rows}, ensure_ascii=False, separators=(",", ":"))


def fault_of_text(said: str, classes: Collection[str], size: tuple[int, int]) -> str:
    """Return what is wrong with the text of boxes in an image of (width, height), '' for nothing.

    >>> fault_of_text('{"boxed":["cat"],"boxes":[]}', ["car"], (4, 4)), fault_of_text("", [], (4, 4))
    ("'cat' is not a class of the study", '')
    """
    if not said:
        return ""
    try:
        names = sorted(_names(said))
        boxes = _boxes(said)
        whole = all(type(side) is int for _, box in boxes for side in box[:4])
    except (ValueError, TypeError, LookupError, RecursionError):
        names, boxes, whole = [], (), False
    if not whole:
        return "its boxes are not as `label answers` writes them"
    if other := next((name for name in names if name not in classes), ""):
        return f"{str(other)[:80]!r} is not a class of the study"
    return next((f"its box {fault}" for _, box in boxes if (fault := fault_of(box, size))), "")


def joined(answers: Collection[BoxAnswer]) -> dict[str, list[Box]]:
    """Return {class that anybody boxed: its boxes} of an image, by what several people leave open together: a
    box that someone drew otherwise, or not at all, is an area in which the class may lie.

    >>> one = BoxAnswer("a", text_of(["car"], [("car", Box(0, 0, 2, 2)), ("car", Box(4, 0, 6, 2))]), "ann")
    >>> other = BoxAnswer("a", text_of(["car"], [("car", Box(0, 0, 2, 2))]), "ben")
    >>> [box.whole for box in joined([one, other])["car"]]
    [True, False]
    """
    out = dict[str, list[Box]]()
    for name in sorted({name for one in answers for name in one.boxed}):
        mine = [{box for of, box in one.boxes if of == name} for one in answers if name in one.boxed]
        same = set[Box].intersection(*mine)
        out[name] = sorted(box if box in same else box._replace(whole=False) for box in set().union(*mine))
    return out


def _boxes(said: str) -> tuple[Named, ...]:
    rows = json.loads(said)["boxes"]
    return tuple(
        (name, Box(left, top, right, bottom, whole)) for name, left, top, right, bottom, whole in rows
    )


def _names(said: str) -> set[str]:
    held = json.loads(said) if said else {"boxed": [], "boxes": []}
    return {*held["boxed"], *(row[0] for row in held["boxes"])}


def _renamed(said: str, now: Callable[[str], str]) -> str:
    names = {name: now(name) for name in _names(said)}
    if all(name == new for name, new in names.items()):
        return said
    boxed = json.loads(said)["boxed"]
    return text_of([names[name] for name in boxed], [(names[name], box) for name, box in _boxes(said)])


class BoxAnswers(ClassTable[BoxAnswer]):
    """The boxes of one study."""

    table = BOXES
    row = BoxAnswer
    says = "said"
    kind = "class of a box"
    question = staticmethod(lambda row: BoxQuestion(row.image, row.annotator))
    meaning = staticmethod(lambda row: row.said or None)
    words = staticmethod(_names)
    renamed = staticmethod(_renamed)
