"""What a person may ask of `label export`, `label import` and `label remove`."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.stages.given_options import refuse_empty


@dataclass(frozen=True)
class ExportOptions:
    """Where to write what, of which selection: see `label export`. ``format`` None is the study's usual one, ``truth`` None the one that counts."""

    out: str
    format: str | None = None
    selection: str = "main"
    truth: str | None = None
    prefill: str | None = None
    again: bool = False
    anyway: bool = False
    outlines: bool = False

    def __post_init__(self) -> None:
        refuse_empty(self)


@dataclass(frozen=True)
class RemoveOptions:
    """Whose labels to take back: see `label remove`. ``truth`` None is the one that counts."""

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
    """What to read, and the name under which it is kept: see `label import`."""

    source: str
    truth: str = "labels"
    pattern: str | None = None
    format: str | None = None  # any built-in format of the task, as files show
    of_one: bool = False  # all of it is one person's, whomever a tool names

    def __post_init__(self) -> None:
        refuse_empty(self)
