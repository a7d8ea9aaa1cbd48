"""What every artefact declares.

Conventions: ``made_from`` and ``made_from_now`` are {input: digest}; two that differ make an artefact stale,
and ``reasons`` says why in words. Of an artefact ``in_parts`` an input that was not there is a part still to
be made. ``method`` is raised whenever what is computed changes, so that numbers of an earlier version count
as stale.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Required, TypedDict, cast

from faultscape.nouns import JsonObject
from faultscape.stages.snapshot import Snapshot
from faultscape.study.parts import key_of

METHOD = "method"


class Provenance(TypedDict, total=False):
    """What a document of a study says of how it was made: of which inputs, with which options that differ
    from the defaults.
    """

    inputs: Required[dict[str, str]]
    arguments: JsonObject
    truth: str
    population: str


def provenance_of(held: JsonObject | None) -> Provenance | None:
    """Return what a document says of how it was made; None where there is none, or it says nothing."""
    found = held.get("provenance") if held is not None else None
    return (
        cast("Provenance", found)
        if isinstance(found, dict) and isinstance(found.get("inputs"), dict)
        else None
    )


def arguments_of(held: Provenance | None) -> JsonObject:
    """Return the options that something was made with, where they differ from the defaults."""
    found = (held or {}).get("arguments", {})
    return found if isinstance(found, dict) else {}


def files_key(place: str) -> str:
    """Return a digest of a file that is not part of the study, or of the names and sizes of the files in such
    a folder; '' where there is neither.
    """
    path = Path(place)
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    if not path.is_dir():
        return ""
    return key_of(
        [
            [file.relative_to(path).as_posix(), file.stat().st_size]
            for file in sorted(path.rglob("*"))
            if file.is_file()
        ]
    )


@dataclass(frozen=True)
class Again:
    """How something is made again: with which of the ``options`` that were given, what is said of those that
    are ``left_out`` since nothing has them any more, and what is ``in_the_way``, with what a person could do
    ('' where nothing is).
    """

    options: JsonObject
    left_out: tuple[str, ...] = ()
    in_the_way: str = ""


def gone_file(options: JsonObject, names: Sequence[str], do: str) -> str:
    """Return what to say of the first file or folder of a person's own that one of these options names by its
    whole path, and that is gone; '' where all are there. What a person could ``do`` is a verb, without the
    option.

    >>> gone_file({"benchmark": "/not/here.csv", "seed": 3}, ["ranking", "benchmark"], "rank")
    '/not/here.csv of --benchmark is gone; put it back, or rank without --benchmark'
    """
    for name in names:
        held = options.get(name)
        for one in [str(one) for one in held] if isinstance(held, list) else [str(held)]:
            file, colon, _ = one.rpartition(":")
            path = Path(file if colon and file.endswith(".py") else one)
            if path.is_absolute() and not path.exists():
                flag = f"--{name.replace('_', '-')}"
                return f"{path} of {flag} is gone; put it back, or {do} without {flag}"
    return ""


@dataclass(frozen=True)
class Artefact:
    """One kind of thing that a study holds.

    ``verb`` makes it, ``inputs`` are the artefacts that it follows from, ``options`` those of the verb that
    can change it. ``instances`` names those that a study has or should have ('' where there can be but one).
    ``describe`` says what there is, ``line`` what to type where it is not done, '' where nothing helps;
    ``again`` with which options, and what may be in the way; ``waits`` whether that line can wait for all
    others.
    """

    name: str
    verb: str
    inputs: tuple[str, ...]
    options: tuple[str, ...]
    reasons: Mapping[str, str]
    instances: Callable[[Snapshot], Sequence[str]]
    made_from: Callable[[Snapshot, str], Mapping[str, str] | None]
    made_from_now: Callable[[Snapshot, str], Mapping[str, str]]
    describe: Callable[[Snapshot, str], str]
    line: Callable[[Snapshot, str], str]
    again: Callable[[Snapshot, str], Again] = lambda _snapshot, _name: Again({})
    waits: Callable[[Snapshot, str], bool] = lambda _snapshot, _name: False
    method: int = 1
    in_parts: bool = False
