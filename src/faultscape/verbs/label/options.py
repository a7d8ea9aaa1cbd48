"""The options of `label export` that belong together."""

from __future__ import annotations

from dataclasses import dataclass, fields

from faultscape.errors import OptionError

MOST_IMAGES = 10_000


@dataclass(frozen=True)
class SessionRules:
    """Sessions of several annotators.

    Parameters
    ----------
    annotators
        Share the images among these people, separated by commas: ann,ben. OUT gets one folder per person,
        with one folder per session.
    overlap
        How many people label each image.
    session
        How many images one session has.
    training
        How many already labelled images everyone labels first, in a folder training/.
    seed
        Decides who labels which images, and in which order.
    """

    annotators: str | None = None
    overlap: int = 2
    session: int = 20
    training: int = 0
    seed: int = 0

    @property
    def people(self) -> tuple[str, ...]:
        """The people who share the images; empty if the images are not shared."""
        return tuple(word.strip() for word in (self.annotators or "").split(",") if word.strip())

    def check(self) -> None:
        """Raise OptionError for options without people, and for numbers out of range."""
        if self.annotators is None and (
            given := [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        ):
            raise OptionError(f"--{given[0]} needs --annotators, for example --annotators ann,ben")
        if self.annotators is not None and not self.people:
            raise OptionError(f"--annotators {self.annotators!r}: expected names, for example ann,ben")
        if not 1 <= self.session <= MOST_IMAGES:
            raise OptionError(f"--session must be 1 to {MOST_IMAGES:,} images; got {self.session}")
        if not 0 <= self.training <= MOST_IMAGES:
            raise OptionError(f"--training must be 0 to {MOST_IMAGES:,} images; got {self.training}")
