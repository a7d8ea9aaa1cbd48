"""What `collect` returns: the images of a study, or the result of a step that gets images from the web."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import counted


@dataclass(frozen=True)
class Collected:
    """What `collect` found and stored."""

    study: str
    images: int
    new: int
    shards: int
    near_duplicates: int
    failures: int
    classes: str
    size: str
    groups: str = ""
    truths: str = ""

    def __repr__(self) -> str:
        images = f"{counted(self.images, 'image')} in {counted(self.shards, 'shard')}"
        more = [
            f"{self.new} new" if 0 < self.new < self.images else "",
            (
                counted(self.near_duplicates, "near-duplicate of another", "near-duplicates of others")
                if self.near_duplicates
                else ""
            ),
            f"{self.failures} not usable (failures.csv)" if self.failures else "",
        ]
        lines = [
            f"{self.study}: {', '.join([images, *filter(None, more)])}",
            f"classes  {self.classes}",
        ]
        lines += [] if self.size.startswith("own ") else [f"size     {self.size}"]
        lines += [f"groups   {self.groups}"] if self.groups else []
        return "\n".join([*lines, *([f"truth    {self.truths}"] if self.truths else [])])


@dataclass(frozen=True)
class Queries:
    """What `collect --queries` wrote: how many search terms, how many of them are new, and how many of each
    kind.
    """

    study: str
    terms: int
    new: int
    kinds: dict[str, int]
    unknown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kinds = ", ".join(f"{number} {kind or 'of your own'}" for kind, number in self.kinds.items())
        missing = f"\nWordNet has no noun {', '.join(map(repr, self.unknown))}" if self.unknown else ""
        return (
            f"{self.study}/queries.csv: {self.terms} search terms ({self.new} new): {kinds}{missing}\nnext:"
            f" strike out what you do not want, then run: faultscape collect {self.study} --api openverse"
            " --contact YOU@EXAMPLE.ORG (or flickr, wikimedia)"
        )


@dataclass(frozen=True)
class Downloaded:
    """What a download brought: images that came now, were there before, were left out, or failed; and how
    many are ready for review.

    ``first`` is the reason for the first failure.
    """

    study: str
    came: int
    there: int
    left_out: int
    failed: int
    for_review: int
    stopped: str = ""
    first: str = ""

    def __repr__(self) -> str:
        parts = [
            f"{counted(self.came, 'new image')}",
            f"{self.there} already there" if self.there else "",
            f"{self.left_out} left out as duplicates or unfit" if self.left_out else "",
            f"{self.failed} could not be downloaded (failures.csv); the first: {self.first}"
            if self.failed
            else "",
        ]
        review = (
            f"open {self.study}/web/review.html ({counted(self.for_review, 'image')}), then run: faultscape"
            f" collect {self.study} --accept accept.csv"
        )
        lines = [
            f"{self.study}/web: {', '.join(filter(None, parts))}",
            f"stopped: {self.stopped}" if self.stopped else "",
        ]
        return "\n".join(filter(None, [*lines, f"next: {review}" if self.for_review else ""]))
