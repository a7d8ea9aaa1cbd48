"""What a study's artefacts are made from: each is data, and one algorithm over them says what an artefact was
made from, what it would be made from now, and which command makes it again.

Conventions: the file of an artefact records its inputs, {name: digest}, beside the truth and the options that
it was made with. A digest is a function of the study and of what is recorded, so that what a verb writes and
what `status` compares cannot diverge. An artefact with a different digest is stale, and the ``reason`` of the
input says why. Where an artefact differs from the others, it is a subclass that overrides a method.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from faultscape.nouns import MAIN, JsonObject
from faultscape.reading.study import LABELS, Study
from faultscape.study.parts import key_of
from faultscape.terminal_lines import flag_of, option_words

METHOD = "method"  # the input of what was computed differently before
_FILE = "file"  # the input of what cannot be read


@dataclass(frozen=True)
class Instance:
    """One artefact of a study, as it is recorded or will be: ``record`` has the ``truth`` and the
    ``arguments``, the options other than defaults.
    """

    study: Study
    name: str
    record: Mapping[str, object]

    @property
    def truth(self) -> str:
        """The truth that it is made with; '' for none."""
        return str(self.record.get("truth", ""))

    @property
    def options(self) -> JsonObject:
        """The options other than defaults."""
        return _mapping(self.record.get("arguments"))

    @property
    def recorded(self) -> JsonObject:
        """The inputs that were recorded; none of what is only to be made."""
        return _mapping(self.record.get("inputs"))

    def listed(self, option: str) -> list[str]:
        """Return the values of an option that may be repeated."""
        return texts(self.options.get(option))


@dataclass(frozen=True)
class Input:
    """Something that artefacts are made from: its ``name``, its ``digest`` now, and the ``reason`` to give if
    it changed.

    A digest of None means that this instance does not depend on it; a mapping stands for an input for each of
    its entries, named after both.
    """

    name: str
    digest: Callable[[Instance], str | Mapping[str, str] | None]
    reason: str = ""


def by_method(number: int, reason: str) -> Input:
    """Return the input that is raised when something is computed differently, so that numbers of an earlier
    version count as stale.
    """
    return Input(METHOD, lambda _: str(number), reason)


def texts(held: object) -> list[str]:
    """Return the entries of a JSON list as texts; none if it is something else."""
    return [str(one) for one in held] if isinstance(held, list) else []


def _mapping(held: object) -> JsonObject:
    return cast("JsonObject", held) if isinstance(held, dict) else {}


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


def gone_file(options: Mapping[str, object], names: Sequence[str], do: str) -> str:
    """Return a text about the first of your own files or folders that one of these options names by its full
    path and that is gone, or ''. ``do`` is the verb to run without the option.

    >>> gone_file({"benchmark": "/not/here.csv", "seed": 3}, ["ranking", "benchmark"], "rank")
    '/not/here.csv of --benchmark is gone; put it back, or rank without --benchmark'
    """
    for name in names:
        held = options.get(name)
        for one in texts(held if isinstance(held, list) else [held]):
            file, colon, _ = one.rpartition(":")
            path = Path(file if colon and file.endswith(".py") else one)
            if path.is_absolute() and not path.exists():
                flag = flag_of(name)
                return f"{path} of {flag} is gone; put it back, or {do} without {flag}"
    return ""


def named(selection: str = MAIN, truth: str = LABELS) -> JsonObject:
    """Return the options that name a selection and a truth, without those that are the defaults."""
    given = {"selection": (selection, MAIN), "truth": (truth, LABELS)}
    return {option: name for option, (name, usual) in given.items() if name not in ("", usual)}


def command(study: Study, verb: str, options: Mapping[str, object], *arguments: str) -> str:
    """Return the command that runs a verb on a study."""
    return " ".join([f"faultscape {verb} {study.place}", *arguments, *option_words(options)])


@dataclass(frozen=True)
class Again:
    """How something is made again: the recorded ``options`` that still apply, a text about those ``left_out``
    because they no longer do, and what is ``in_the_way``, with what to do about it ('' for nothing).
    """

    options: JsonObject
    left_out: tuple[str, ...] = ()
    in_the_way: str = ""


@dataclass(frozen=True)
class Artefact:
    """One kind of thing that a study contains, made by a ``verb``; it ``follows`` other artefacts.

    ``where`` is its file in the study, with NAME for the name of an instance ('' if there can be only one),
    and -NAME for that of a selection, which main does without. ``own_files`` are the options that may name
    your own files. ``reasons`` are those of inputs that it does not read. An artefact ``in_parts`` has an
    input for each part, and a new one is a part still to be made.
    """

    name: str
    verb: str
    follows: tuple[str, ...] = ()
    where: str = ""
    reads: tuple[Input, ...] = ()
    own_files: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    in_parts: bool = False

    def path(self, study: Study, name: str = "") -> Path:
        """Return its file."""
        of_selection = "" if name in ("", MAIN) else f"-{name}"
        return study.root / self.where.replace("-NAME", of_selection).replace("NAME", name)

    def instances(self, study: Study, /) -> Sequence[str]:
        """Return the names of those that a study has or should have."""
        return [""] if self.exists(study, "") else []

    def exists(self, study: Study, name: str, /) -> bool:
        """Whether it was made."""
        return self.path(study, name).exists()

    def read(self, study: Study, name: str, /) -> JsonObject | None:
        """Return what its file records about how it was made; None if that cannot be read."""
        return provenance_of(study.document(self.path(study, name)))

    def record(self, study: Study, name: str = "") -> JsonObject | None:
        """Return what it records about how it was made; None if there is none, or it cannot be read."""
        which = "record", self.name, name
        if which not in study.computed:  # many artefacts depend on one
            study.computed[which] = self.read(study, name) if self.exists(study, name) else None
        return cast("JsonObject | None", study.computed[which])

    def truth(self, study: Study, name: str = "") -> str:
        """Return the truth that it was made with, or ''."""
        return str((self.record(study, name) or {}).get("truth", ""))

    def options(self, study: Study, name: str = "") -> JsonObject:
        """Return the options that it was made with, without defaults."""
        return _mapping((self.record(study, name) or {}).get("arguments"))

    def inputs(self, study: Study, name: str, record: Mapping[str, object]) -> dict[str, str]:
        """Return what it is made from now, with the truth and the options of a record."""
        made = Instance(study, name, record)
        found = dict[str, str]()
        for read in self.reads:
            digest = read.digest(made)
            if isinstance(digest, str):
                found[read.name] = digest
            elif digest is not None:
                found |= {f"{read.name} {of}": one for of, one in digest.items()}
        return found

    def made_from(self, study: Study, name: str = "", /) -> dict[str, str] | None:
        """Return what it was made from; None if it does not exist."""
        if not self.exists(study, name):
            return None
        if not self.where:
            return {}
        record = self.record(study, name)
        if record is None:
            return {_FILE: "damaged"}
        return {str(of): str(digest) for of, digest in Instance(study, name, record).recorded.items()}

    def made_from_now(self, study: Study, name: str = "", /) -> dict[str, str]:
        """Return what it would be made from if it were made again."""
        record = self.record(study, name)
        return {} if record is None else self.inputs(study, name, record)

    def changed(self, study: Study, name: str = "") -> frozenset[str]:
        """Return its inputs that differ now."""
        which = "changed", self.name, name
        if which not in study.computed:
            held = self.made_from(study, name) or {}
            now = self.made_from_now(study, name)
            study.computed[which] = frozenset(of for of in {*held, *now} if held.get(of) != now.get(of))
        return cast("frozenset[str]", study.computed[which])

    def is_done(self, study: Study, name: str = "") -> bool:
        """Whether it exists and follows from the current study."""
        return self.made_from(study, name) is not None and not self.changed(study, name)

    def reason(self, input_: str) -> str:
        """Return why it is stale if this input changed; '' for a part."""
        known = {read.name: read.reason for read in self.reads if read.reason} | {**self.reasons}
        if input_ == _FILE:
            return f"{'its file' if 'NAME' in self.where else self.where} cannot be read"
        return known.get(input_, "" if self.in_parts else f"{input_} changed")

    def describe(self, study: Study, name: str, /) -> str:
        """Return a text about the current state."""
        file = self.path(study, name).relative_to(study.root).as_posix()
        return f"{name}: {file}" if name else file

    def options_again(self, study: Study, name: str, /) -> tuple[JsonObject, tuple[str, ...]]:
        """Return the recorded options that still apply, and a text about each that no longer does."""
        return self.options(study, name), ()

    def in_the_way(self, _study: Study, _name: str, options: Mapping[str, object], /) -> str:
        """Return what prevents that it is made with these options, and what to do about it, or ''."""
        return gone_file(options, self.own_files, self.verb)

    def again(self, study: Study, name: str = "") -> Again:
        """Return how it is made again."""
        options, left_out = self.options_again(study, name)
        return Again(options, left_out, self.in_the_way(study, name, options))

    def is_later(self, _study: Study, _name: str, /) -> bool:
        """Whether the command of something else comes first."""
        return False

    def line(self, study: Study, name: str = "", /) -> str:
        """Return the command that makes it; '' if none helps, or another comes first."""
        if self.is_later(study, name):
            return ""
        return command(study, self.verb, self.options_again(study, name)[0])

    def waits(self, _study: Study, _name: str, /) -> bool:
        """Whether its command can wait for all others."""
        return False


def provenance_of(held: JsonObject | None) -> JsonObject | None:
    """Return what a document records about how it was made, or None."""
    found = _mapping((held or {}).get("provenance"))
    return found if isinstance(found.get("inputs"), dict) else None
