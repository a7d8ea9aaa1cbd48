"""Kinds of failure that people see: tags of an image, or of a region of it, or of what one model makes of either (S0 Fig. 11, S2 Figs. 7-9).

Conventions: ``region`` is '' for the whole image, else `X,Y,WIDTH,HEIGHT` in pixels of the photo; ``model`` is '' where the tag is of the image itself. The latest row of an image, region, model, tag and annotator says whether it is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from faultscape.study.answers.database import Database
from faultscape.study.answers.renames import chains
from faultscape.study.answers.schema import RENAMED, TAGS

_COLUMNS = ("image", "region", "model", "tag", "given", "annotator")


@dataclass(frozen=True)
class Tag:
    """One tag that one person gave, or took back where it is not ``given``."""

    image: str
    tag: str
    annotator: str
    model: str = ""
    region: str = ""
    given: bool = True


class Tags:
    """The tags of one study."""

    def __init__(self, root: Path, database: Database | None = None) -> None:
        self._held = database or Database(root)

    def add(self, tag: Tag, source: str, key: str) -> bool:
        """Take one tag; returns False for one that was taken before, by its key."""
        return self._held.add_once(TAGS, {**_row(tag, source), "key": key})

    def add_all(self, tags: Iterable[Tag], source: str) -> int:
        """Take tags of a file; those that say nothing new are left out. Returns how many are new."""
        held, new = {(one.image, one.region, one.model, one.tag, one.annotator) for one in self.tags()}, list[Tag]()
        for one in tags:
            key = (one.image, one.region, one.model, one.tag, one.annotator)
            if (key in held) != one.given:
                new.append(one)
                held ^= {key}
        self._held.add(TAGS, [_row(one, source) for one in new])
        return len(new)

    def tags(self) -> list[Tag]:
        """Return the tags that are given, in the order in which they were given first, of models by what they are called now."""
        rows = self._held.read(TAGS, "number", *_COLUMNS)
        last: dict[tuple[str, ...], bool] = {}
        called = chains(self._held.read(RENAMED, "until", "was", "now", kind="model of a tag")) if rows else None
        for number, image, region, model, tag, given, annotator in rows:
            assert called is not None
            last[image, region, called(model, number)[-1], tag, annotator] = bool(given)
        return [Tag(image, tag, by, model, region) for (image, region, model, tag, by), given in last.items() if given]


def _row(tag: Tag, source: str) -> dict[str, object]:
    return {
        "image": tag.image, "region": tag.region, "model": tag.model, "tag": tag.tag, "given": int(tag.given), "annotator": tag.annotator,
        "source": source,
    }  # fmt: skip
