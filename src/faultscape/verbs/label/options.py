"""The options of `label export`, `label import`, `label consensus` and `label remove`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from faultscape.errors import OptionError, closest
from faultscape.verbs.given_options import refuse_empty

MOST_IMAGES = 10_000
TIES = ("void", "skill")  # as in labelling.people.mask_consensus, which is too heavy to import here


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

    def __post_init__(self) -> None:
        refuse_empty(self)
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

    @property
    def people(self) -> tuple[str, ...]:
        """The people who share the images; empty if the images are not shared."""
        return tuple(word.strip() for word in (self.annotators or "").split(",") if word.strip())


@dataclass(frozen=True)
class ExportOptions:
    """What to write where, and of which selection: see `label export`. ``format`` None is the study's default
    format, ``truth`` None the truth that counts.
    """

    out: str
    format: str | None = None
    selection: str = "main"
    truth: str | None = None
    prefill: str | None = None
    again: bool = False
    anyway: bool = False
    outlines: bool = False
    sessions: SessionRules = SessionRules()
    done: bool = False

    def __post_init__(self) -> None:
        refuse_empty(self)


@dataclass(frozen=True)
class RemoveOptions:
    """The labels to take back: see `label remove`. ``truth`` None is the one that counts."""

    images: tuple[str, ...] = ()
    selection: str | None = None
    truth: str | None = None
    class_: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    discards: bool = False
    all_: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        refuse_empty(self)


@dataclass(frozen=True)
class ImportOptions:
    """What to read, and the name to keep it under: see `label import`.

    Files that are only kept for reading appear in failures.csv and log.jsonl as ``called`` instead of under
    the path of ``source``.
    """

    source: str
    truth: str = "labels"
    pattern: str | None = None
    format: str | None = None  # None: any built-in format of the task, detected from the files
    labels: str | None = None  # what values of masks mean: a file, pairs, or one of Cityscapes' codings
    of_one: bool = False  # everything is from one person, even if the tool names others
    called: str | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)

    def named(self, text: str) -> str:
        """Return a text with files called by their later names.

        >>> ImportOptions("/tmp/x/unpacked", called="sent by ann").named(
        ...     "/tmp/x/unpacked/mine/a.png: is torn"
        ... )
        'sent by ann/mine/a.png: is torn'
        """
        return text.replace(self.source, self.called) if self.called else text


@dataclass(frozen=True)
class ConsensusOptions:
    """The labels to merge, into which truth, and how: see `label consensus`."""

    of: tuple[str, ...]
    truth: str = "labels"
    tie: str = "void"
    least: int = 2

    def __post_init__(self) -> None:
        refuse_empty(self)
        if self.tie not in TIES:
            raise OptionError(
                f"--tie {self.tie!r} is not known; use {' or '.join(TIES)}.{closest(self.tie, TIES)}"
            )
        if self.least < 1:
            raise OptionError(f"--least must be 1 or more people; got {self.least}")
