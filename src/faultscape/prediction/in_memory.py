"""Models that are in the memory of this process: maps or answers in arrays, and functions or torch modules.

Conventions: only Python can give them, and `predict` holds them while it runs, under a SOURCE of its own:
``memory:NAME:DIGEST``, which study.toml keeps. Afterwards the source is gone, as a folder that was deleted:
what was predicted stays. Maps and answers wait in files of a temporary folder and are read as a folder or a
table is, so that what they mean and what is refused is the same; their digest is that of their content, so
that the same arrays are not read again. A function's content is unknown: it is asked again each time. All of
them run in this process, whatever the engine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from faultscape.corpus.shard_files import ShardFiles
from faultscape.errors import ModelError
from faultscape.prediction.source import Opening, Origin, Request, Source
from faultscape.prediction.sources import folder, table_answers
from faultscape.prediction.sources.functions import module_of, network_of
from faultscape.prediction.sources.network import Network
from faultscape.study.settings import MEMORY, ModelOptions, Settings
from faultscape.study.tables.corpus import Image


@dataclass(frozen=True)
class HeldMaps:
    """Label maps that wait in files of a folder: {image id: file} and {file: digest of its map}."""

    folder: Path
    files: Mapping[str, str]
    digests: Mapping[str, str]


@dataclass(frozen=True)
class HeldAnswers:
    """Answers of a classifier that wait in a table."""

    table: Path


@dataclass(frozen=True)
class HeldFunction:
    """A function or a torch module, and a word that no other one has."""

    function: Callable[..., Any] = field(repr=False)
    mark: str


Held = HeldMaps | HeldAnswers | HeldFunction
_held: dict[str, Held] = {}  # {SOURCE: what it is}, while a verb runs


@contextmanager
def holding(models: Mapping[str, Held]) -> Iterator[None]:
    """Hold some models {SOURCE: what it is}; modules of torch are given back as they were."""
    states = [state for held in models.values() if (state := _state_of(held)) is not None]
    _held.update(models)
    try:
        yield
    finally:
        for source in models:
            _held.pop(source, None)
        for state in states:
            state()


def are_maps(source: str, _task: str) -> bool:
    """Whether a SOURCE is maps in memory; one that is gone counts as maps too."""
    return source.startswith(MEMORY) and isinstance(_held.get(source), HeldMaps | None)


def are_answers(source: str, _task: str) -> bool:
    """Whether a SOURCE is the answers of a classifier in memory."""
    return isinstance(_held.get(source), HeldAnswers)


def is_function(source: str, _task: str) -> bool:
    """Whether a SOURCE is a function or a module in memory."""
    return isinstance(_held.get(source), HeldFunction)


def there(source: str) -> bool:
    """Whether a SOURCE is still in memory: only while the verb runs to which it was given."""
    return source in _held


def check(name: str, source: str) -> None:
    """Raise ModelError for a SOURCE that is in memory no more."""
    if not there(source):
        raise ModelError(
            f"{name}={source}: was in the memory of Python, which is no longer there; what it predicted is"
            f' kept; to predict with it again: fs.predict(STUDY, {{"{name}": ...}})'
        )


def _kept(source: str) -> Any:
    check(source.split(":")[1], source)
    return _held[source]


def digest_of_maps(source: str, options: ModelOptions) -> str:
    """Return a digest of all maps of a SOURCE."""
    del options
    held = _kept(source)
    return digest_of({id_: held.digests[file] for id_, file in held.files.items()})


def digest_of_answers(source: str, options: ModelOptions) -> str:
    """Return a digest of the answers of a SOURCE."""
    return table_answers.digest(str(_kept(source).table), options)


def digest_of_function(source: str, options: ModelOptions) -> str:
    """Return a digest of a function, which is another one each time that it is given."""
    del options
    return hashlib.sha256(_kept(source).mark.encode()).hexdigest()


def digest_of(rows: Mapping[str, str]) -> str:
    """Return a digest of images and the digests of what belongs to them.

    >>> digest_of({"a": "0"}) == digest_of({"a": "1"})
    False
    """
    return hashlib.sha256(
        "\n".join(f"{id_}\0{row}" for id_, row in sorted(rows.items())).encode()
    ).hexdigest()


def origin_of_maps(source: Source, request: Request) -> Origin:
    """Return what the maps of a SOURCE depend on: the content of each."""
    held = _kept(request.source)

    def mark(files: Sequence[str]) -> str:
        return digest_of({str(place): held.digests.get(file, "") for place, file in enumerate(files)})[:32]

    files = ShardFiles.of(held.files, request.shards)
    return folder.origin_of_files(source, request, files, str(held.folder), mark, [])


def origin_of_answers(source: Source, request: Request) -> Origin:
    """Return what the answers of a SOURCE depend on."""
    table = str(_kept(request.source).table)
    digest = replace(source, digest=table_answers.digest)
    return replace(table_answers.origin(digest, replace(request, source=table)), source=table)


class MapsInMemory(folder.OpenFolder):
    """Maps of a temporary folder, whose files no message names."""

    def told(self, image: Image, path: str, problem: str) -> str:
        """Return what is wrong with the map of an image."""
        return problem.replace(path, f"the map of {image.id}")


def open_answers(opening: Opening, settings: Settings) -> table_answers.AnswerTable:
    """Return answers in memory as a table."""
    return table_answers.AnswerTable(opening, settings)


def of_function(source: str, options: ModelOptions, device: str = "cpu") -> Network:
    """Return a function or a module in memory as a network; ModelError if it is one no more."""
    function = _kept(source).function
    called = source.split(":")[1]
    return (
        module_of(function, called, {}, options, device)
        if _is_module(function)
        else network_of(function, called, options, device)
    )


def _is_module(function: Any) -> bool:
    return hasattr(function, "named_parameters") and hasattr(function, "train")


def _state_of(held: Held) -> Callable[[], None] | None:
    """Return what gives a module of torch back as it was: its modes of training, and its device."""
    module: Any = held.function if isinstance(held, HeldFunction) else None
    if module is None or not _is_module(module):
        return None
    modes = [(part, part.training) for part in module.modules()]
    devices = {value.device for value in (*module.parameters(), *module.buffers())}

    def give_back() -> None:
        for part, training in modes:
            part.training = training
        if len(devices) == 1:
            module.to(devices.pop())

    return give_back
