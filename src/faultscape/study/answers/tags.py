"""Kinds of failure that people see: tags of an image, of a region of it, or of one model's prediction for
either (Yan et al. 2021, Fig. 11, Wang et al. 2020, Figs. 7-9).

Conventions: ``region`` is '' for the whole image, else `X,Y,WIDTH,HEIGHT` in pixels of the image; ``model``
is '' for a tag of the image itself. The latest row of an image, region, model, tag and annotator says whether
the tag is set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from faultscape.study.answers.database import Database
from faultscape.study.answers.new_rows import chains, new_rows
from faultscape.study.answers.question_table import stored
from faultscape.study.answers.schema import RENAMED, TAGS

_REGION = re.compile(r"([0-9]{1,6}),([0-9]{1,6}),([0-9]{1,6}),([0-9]{1,6})")
_COLUMNS = ("image", "region", "model", "tag", "given", "annotator", "key", "time")


@dataclass(frozen=True)
class Tag:
    """One tag that one person set, or removed if not ``given``."""

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
        """Who set which tag on what."""
        return self.image, self.region, self.model, self.tag, self.annotator


def region_within(text: str, size: tuple[int, int]) -> str:
    """Return a region of an image of (width, height) as it is stored; ValueError for an invalid one, or one
    that leaves the image. In an image of 0 x 0 pixels, whose size is unknown, any region fits.

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
        """Add one tag; returns False if one with its key exists."""
        return self._held.add_once(TAGS, _row(replace(tag, key=key), source))

    def add_all(self, tags: Iterable[Tag], source: str) -> int:
        """Add the tags of a file, without those already stored or without effect (`new_rows`). Returns how
        many are new.
        """
        new = new_rows(self.rows(), tags, lambda one: one.place, lambda one: one.given or None)
        self._held.add(TAGS, [_row(one, source) for one in new])
        return len(new)

    def tags(self) -> list[Tag]:
        """Return the tags that are set, in the order in which they were first set, with current names of
        models.
        """
        last = {one.place: one.given for one in self.rows()}
        return [
            Tag(image, tag, by, model, region)
            for (image, region, model, tag, by), given in last.items()
            if given
        ]

    def rows(self) -> list[Tag]:
        """Return all rows in order of arrival, including removals, with current names of models."""
        if not (rows := self._held.read(TAGS, "number", *_COLUMNS)):
            return []
        called = chains(self._held.read(RENAMED, "until", "was", "now", kind="model of a tag"))
        return [
            Tag(image, tag, annotator, called(model, number)[-1], region, bool(given), key, time)
            for number, image, region, model, tag, given, annotator, key, time in rows
        ]


def _row(tag: Tag, source: str) -> dict[str, object]:
    return {**stored(tag, source), "given": int(tag.given)}
