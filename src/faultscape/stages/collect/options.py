"""What a line of `collect` asks for, as its verb hands it to the stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faultscape.nouns import Classes


@dataclass(frozen=True)
class Grouping:
    """Which images belong together: a pattern, a .csv file or {id: group}, and into how long runs groups are cut."""

    group: str | Mapping[str, str] | None = None
    block: int | None = None

    @property
    def asked(self) -> bool:
        """Whether either of the two is given."""
        return self.group is not None or self.block is not None


@dataclass(frozen=True)
class WebOptions:
    """The steps of pictures from the web, of which a line asks for one, and what is told to it."""

    queries: bool = False
    wordnet: str | None = None
    hyponyms: bool = False
    urls: str | None = None
    api: str | None = None
    accept: str | None = None
    contact: str | None = None
    rate: float | None = None
    per_query: int | None = None
    after: str | None = None
    before: str | None = None
    min_size: str | tuple[int, int] | None = None
    transparent: bool = False
    licence: str | None = None


@dataclass(frozen=True)
class CollectOptions:
    """All that a line of `collect` says; None is what it leaves open."""

    study: str
    images: tuple[str, ...]
    task: str | None = None
    classes: str | int | Classes | None = None
    only_classes: str | None = None
    size: str | None = None
    not_in: tuple[str, ...] = ()
    shard_size: int | None = None
    set_name: str | None = None
    role: str | None = None
    pattern: str | None = None
    store: str | None = None
    probe: bool | None = None
    grouping: Grouping = field(default_factory=Grouping)
    web: WebOptions = field(default_factory=WebOptions)

    @property
    def speaks_of_groups_alone(self) -> bool:
        """Whether groups are all that the line speaks of."""
        others = (
            self.classes, self.only_classes, self.size, self.shard_size, self.set_name, self.role, self.pattern, self.store, self.probe,
        )  # fmt: skip
        return self.grouping.asked and not self.images and not self.not_in and all(value is None for value in others)
