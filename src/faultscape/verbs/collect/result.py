"""What `collect` returns: the images of a study, or the result of a step that gets images from the web."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import counted, in_shards


@dataclass(frozen=True)
class Collected:
    """What `collect` found and stored."""

    study: str
    images: int  # images in the whole study, without those that `stress` made
    new: int  # images that this command added
    shards: int  # parts in which these images are processed
    near_duplicates: int  # images so similar to an earlier one that they count as the same
    failures: int  # files that cannot be used; failures.csv says why
    classes: str  # their number and first names, void and background, as text
    size: str  # the size at which maps are compared, WIDTHxHEIGHT or own, as text
    groups: str = ""  # how many groups of how many images, as text; '' without groups
    truths: str = ""  # names of the labels stored, each with its images; '' for images alone
    drawn_from: int | None = None  # images of the pool, near-duplicates once; None where it has none

    def __repr__(self) -> str:
        images = f"{counted(self.images, 'image')}{in_shards(self.shards)}"
        more = [
            f"{self.new} new" if 0 < self.new < self.images else "",
            (
                counted(self.near_duplicates, "near-duplicate of another", "near-duplicates of others")
                if self.near_duplicates
                else ""
            ),
            f"{self.failures} not usable (failures.csv)" if self.failures else "",
        ]
        lines = [f"{self.study}: {', '.join([images, *filter(None, more)])}", f"classes  {self.classes}"]
        lines += [] if self.size.startswith("own ") else [f"size     {self.size}"]
        lines += [f"groups   {self.groups}"] if self.groups else []
        if self.drawn_from is not None:
            lines.append(
                f"draws    from {counted(self.drawn_from, 'image')}: one of each near-duplicate group"
            )
        return "\n".join([*lines, *([f"truth    {self.truths}"] if self.truths else [])])


@dataclass(frozen=True)
class Queries:
    """What `collect --queries` wrote: how many search terms, how many of them are new, and how many of each
    kind.
    """

    study: str
    terms: int  # lines of queries.csv, kept ones included
    new: int  # terms that were not there before
    kinds: dict[str, int]  # {kind: terms}; '' for those that you added
    unknown: tuple[str, ...] = ()  # class names that --wordnet does not have as nouns

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
    """

    study: str
    came: int  # images that were downloaded now
    there: int  # images of earlier runs, kept or left out, that were not requested again
    left_out: int  # images that were downloaded now, but are duplicates or unfit
    failed: int  # URLs and searches that gave no image
    for_review: int  # images on the review page, earlier ones included
    stopped: str = ""  # why the API gave no more; '' if it was searched to the end
    first: str = ""  # why the first image could not be downloaded; '' without failures

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
