"""What every artefact declares.

Conventions: ``made_from`` and ``made_from_now`` are {input: digest}; an artefact with a different digest is
stale, and ``reasons`` gives the text. For an artefact ``in_parts``, a new input is a part still to be made.
``method`` is raised whenever the computation changes, so that numbers of an earlier version count as stale.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Required, TypedDict, cast

from faultscape.nouns import JsonObject
from faultscape.reading.study import Study
from faultscape.study.parts import key_of

METHOD = "method"


class Provenance(TypedDict, total=False):
    """What a document of a study records about how it was made: its inputs, and its options other than
    defaults.
    """

    inputs: Required[dict[str, str]]
    arguments: JsonObject
    truth: str
    population: str


def provenance_of(held: JsonObject | None) -> Provenance | None:
    """Return what a document records about how it was made, or None."""
    found = held.get("provenance") if held is not None else None
    return (
        cast("Provenance", found)
        if isinstance(found, dict) and isinstance(found.get("inputs"), dict)
        else None
    )


def arguments_of(held: Provenance | None) -> JsonObject:
    """Return the options that something was made with, without defaults."""
    found = (held or {}).get("arguments", {})
    return found if isinstance(found, dict) else {}


def files_key(place: str) -> str:
    """Return a digest of a file outside the study, or of the names and sizes of the files in such a folder,
    or ''.
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
    """How something is made again: the recorded ``options`` that still apply, a text about those ``left_out``
    because they no longer do, and what is ``in_the_way``, with what to do about it ('' for nothing).
    """

    options: JsonObject
    left_out: tuple[str, ...] = ()
    in_the_way: str = ""


def gone_file(options: JsonObject, names: Sequence[str], do: str) -> str:
    """Return a text about the first of your own files or folders that one of these options names by its full
    path and that is gone, or ''. ``do`` is the verb to run without the option.

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
    """One kind of thing that a study contains.

    ``verb`` makes it, ``inputs`` are the artefacts that it depends on. ``instances`` names those that a study
    has or should have ('' if there can be only one). ``describe`` returns a text about the current state,
    ``line`` the command to run if it is not done, '' if none helps; ``again`` the options for that, and what
    may prevent it; ``waits`` whether that command can wait for all others.
    """

    name: str
    verb: str
    inputs: tuple[str, ...]
    reasons: Mapping[str, str]
    instances: Callable[[Study], Sequence[str]]
    made_from: Callable[[Study, str], Mapping[str, str] | None]
    made_from_now: Callable[[Study, str], Mapping[str, str]]
    describe: Callable[[Study, str], str]
    line: Callable[[Study, str], str]
    again: Callable[[Study, str], Again] = lambda _study, _name: Again({})
    waits: Callable[[Study, str], bool] = lambda _study, _name: False
    method: int = 1
    in_parts: bool = False
