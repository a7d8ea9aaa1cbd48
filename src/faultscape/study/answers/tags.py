"""Kinds of failure that people see: tags of an image, or of a region of it, or of what one model makes of
either (Yan et al. 2021, Fig. 11, Wang et al. 2020, Figs. 7-9).

Conventions: ``region`` is '' for the whole image, else `X,Y,WIDTH,HEIGHT` in pixels of the image; ``model``
is '' where the tag is of the image itself. The latest row of an image, region, model, tag and annotator says
whether it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from faultscape.study.answers.database import Database
from faultscape.study.answers.new_rows import new_rows
from faultscape.study.answers.renames import chains
from faultscape.study.answers.schema import RENAMED, TAGS

_REGION = re.compile(r"([0-9]{1,6}),([0-9]{1,6}),([0-9]{1,6}),([0-9]{1,6})")
_COLUMNS = ("image", "region", "model", "tag", "given", "annotator", "key", "time")


@dataclass(frozen=True)
class Tag:
    """One tag that one person gave, or took back where it is not ``given``."""

    image: str
    tag: str
    annotator: str
    model: str = ""
    region: str = ""
    given: bool = True
    key: str | None = field(default=None, compare=False, repr=False)
    time: float = field(default=0.0, compare=False, repr=False)

    @property
    def place(self) -> tuple[str, ...]:
        """Who gave which tag to what."""
        return self.image, self.region, self.model, self.tag, self.annotator


def region_within(text: str, size: tuple[int, int]) -> str:
    """Return a region of an image of (width, height) as it is kept; ValueError for one that is none, or that
    leaves the image. No region leaves an image of 0 x 0 pixels: its size is not known.

    >>> region_within(" 1,02,3,4", (9, 9)), region_within("", (9, 9))
    ('1,2,3,4', '')
    """
    if not text:
        return ""
    found = _REGION.fullmatch(text.strip())
    x, y, wide, tall = map(int, found.groups()) if found else (0, 0, 0, 0)
    known = size != (0, 0)
    if not wide or not tall or (known and (x + wide > size[0] or y + tall > size[1])):
        within = f" within the image, {size[0]} x {size[1]} pixels" if known else " in pixels of the image"
        raise ValueError(f"a region is X,Y,WIDTH,HEIGHT{within}; got {text[:40]!r}")
    return f"{x},{y},{wide},{tall}"


class Tags:
    """The tags of one study."""

    def __init__(self, root: Path, database: Database | None = None) -> None:
        self._held = database or Database(root)

    def add(self, tag: Tag, source: str, key: str) -> bool:
        """Take one tag; returns False for one that was taken before, by its key."""
        return self._held.add_once(TAGS, _row(replace(tag, key=key), source))

    def add_all(self, tags: Iterable[Tag], source: str) -> int:
        """Take tags of a file; those that stand already, or say nothing new, are left out (`new_rows`).
        Returns how many are new.
        """
        new = new_rows(self.rows(), tags, lambda one: one.place, lambda one: one.given or None)
        self._held.add(TAGS, [_row(one, source) for one in new])
        return len(new)

    def tags(self) -> list[Tag]:
        """Return the tags that are given, in the order in which they were given first, of models by what they
        are called now.
        """
        last = {one.place: one.given for one in self.rows()}
        return [
            Tag(image, tag, by, model, region)
            for (image, region, model, tag, by), given in last.items()
            if given
        ]

    def rows(self) -> list[Tag]:
        """Return all rows in the order in which they came, those that take back too, of models by what they
        are called now.
        """
        if not (rows := self._held.read(TAGS, "number", *_COLUMNS)):
            return []
        called = chains(self._held.read(RENAMED, "until", "was", "now", kind="model of a tag"))
        return [
            Tag(image, tag, annotator, called(model, number)[-1], region, bool(given), key, time)
            for number, image, region, model, tag, given, annotator, key, time in rows
        ]


def _row(tag: Tag, source: str) -> dict[str, object]:
    return {
        "image": tag.image,
        "region": tag.region,
        "model": tag.model,
        "tag": tag.tag,
        "given": int(tag.given),
        "annotator": tag.annotator,
        "source": source,
        "key": tag.key,
        **({"time": tag.time} if tag.time else {}),
    }
