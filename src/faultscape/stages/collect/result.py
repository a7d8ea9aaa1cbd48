"""What `collect` returns: the images that a study holds, or what a step of pictures from the web brought."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import counted


@dataclass(frozen=True)
class Collected:
    """What `collect` found and fixed."""

    study: str
    images: int
    new: int
    shards: int
    near_duplicates: int
    failures: int
    classes: str
    size: str
    groups: str = ""

    def __repr__(self) -> str:
        return (
            f"{self.study}: {counted(self.images, 'image')} ({self.new} new) in {counted(self.shards, 'shard')}, "
            f"{counted(self.near_duplicates, 'near-duplicate of another', 'near-duplicates of others')}, "
            f"{self.failures} not usable (failures.csv)\nclasses  {self.classes}\nsize     {self.size}"
            + (f"\ngroups   {self.groups}" if self.groups else "")
        )


@dataclass(frozen=True)
class Queries:
    """What `collect --queries` wrote: lines of queries.csv, how many of them are new, how many of each kind."""

    study: str
    terms: int
    new: int
    kinds: dict[str, int]
    unknown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kinds = ", ".join(f"{number} {kind or 'of your own'}" for kind, number in self.kinds.items())
        missing = f"\nWordNet has no noun {', '.join(map(repr, self.unknown))}" if self.unknown else ""
        return f"{self.study}/queries.csv: {self.terms} search terms ({self.new} new): {kinds}{missing}\nnext: strike out what you do not want, then faultscape collect {self.study} --api openverse --contact YOU@EXAMPLE.ORG (or flickr, wikimedia)"


@dataclass(frozen=True)
class Downloaded:
    """What a download brought: pictures that came now, that were there, that were left out and that did not come; how many are for review."""

    study: str
    came: int
    there: int
    left_out: int
    failed: int
    for_review: int
    stopped: str = ""

    def __repr__(self) -> str:
        stopped = f"\nstopped: {self.stopped}" if self.stopped else ""
        return (
            f"{self.study}/web: {counted(self.came, 'picture')} came, {self.there} {'was' if self.there == 1 else 'were'} there, {self.left_out} left out as duplicates or unfit, "
            f"{self.failed} could not be had (failures.csv){stopped}\n"
            f"next: open {self.study}/web/review.html ({counted(self.for_review, 'picture')}), then collect {self.study} --accept accept.csv"
        )
