"""What a change makes stale, read off the graph before and after it; for a dry run, after making the change
in a rehearsal copy of the study.

Conventions: a change is a function of the study that returns a text about what it did. A rehearsal
contains links to files that are only read, and copies of files that are changed in place, so that nothing
reaches the study; parts in a store are never written.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from faultscape.errors import DamagedSelectionError, FaultscapeError
from faultscape.process.made_aside import held_folder
from faultscape.reading.study import Study
from faultscape.study.folder import TEMPORARY, put
from faultscape.study.tables.logs import log
from faultscape.verbs.graph import ARTEFACTS, Node, is_stuck, next_line, nodes
from faultscape.verbs.status.change_result import Changed

_COPIED = (".sqlite", ".jsonl")  # files that are changed in place, not replaced
_HIDDEN = ("corpus", "discards", "answers", "joined labels", "loop", "open question")  # read off others


def change(
    study: Study, do: Callable[[Study], str], verb: str, *, dry_run: bool, readable: bool = True, **about: Any
) -> Changed:
    """Make a change to a study that no other process is writing to, or to a rehearsal of it; ``verb`` and
    ``about`` go into its log.

    A change that removes damage applies to a study that is not ``readable`` before it; then nothing is
    reported about what follows. Errors: those of ``do``.
    """
    look = nodes if readable else _nodes_if_readable
    place = study.called
    if not dry_run:
        with study.writing():
            before = look(study)
            done = do(study)
            log(study.root, verb, **about)
        after = look(study)
        return Changed(
            place, done, became_stale(before, after), _next_line(after, place), stuck=is_stuck(after)
        )
    before = look(study)
    with rehearsal(study.root) as copy, _named(copy, place):
        rehearsed = Study(copy, place)
        done = _with_place(do(rehearsed), copy, place)
        after = look(rehearsed.reread())
    return Changed(place, done, became_stale(before, after), _next_line(after, place), dry_run=True)


def _nodes_if_readable(study: Study) -> tuple[Node, ...]:
    """Return the nodes of a study; none if one of its selections is damaged."""
    try:
        return nodes(study)
    except DamagedSelectionError:
        return ()


def _next_line(found: Sequence[Node], place: str) -> str:
    """Return what to run next; if the study cannot be read, the command that shows what is wrong."""
    return next_line(found) if found else f"faultscape status {shlex.quote(place)}"


@contextmanager
def _named(copy: Path, place: str) -> Iterator[None]:
    """Make errors name the study, not the rehearsal, which is gone when they are read."""
    try:
        yield
    except FaultscapeError as error:
        error.args = tuple(
            _with_place(word, copy, place) if isinstance(word, str) else word for word in error.args
        )
        raise


def _with_place(words: str, copy: Path, place: str) -> str:
    """Return a text in which the study replaces its rehearsal, quoted in commands."""
    parts = words.replace(shlex.quote(str(copy)), str(copy)).split("`")
    return "`".join(
        part.replace(str(copy), shlex.quote(place) if k % 2 else place) for k, part in enumerate(parts)
    )


def followers(study: Study, done: str, of: str, why: str) -> Changed:
    """Return what the graph declares to depend on one kind of artefact, and exists: for a dry run of a change
    that is not tried out.
    """
    kinds = {of}
    for artefact in ARTEFACTS:  # inputs come before what depends on them
        if kinds & set(artefact.follows):
            kinds.add(artefact.name)
    found = nodes(study)
    mine = [node for node in found if node.artefact in kinds and node.state == "done"]
    stale = tuple(f"{node.artefact}{f' of {node.name}' if node.name else ''}: {why}" for node in mine)
    return Changed(study.called, done, stale, next_line(found), dry_run=True)


def became_stale(before: Iterable[Node], after: Iterable[Node]) -> tuple[str, ...]:
    """Return which artefacts that were done are no longer, or are stale for another reason, each with the
    reason.
    """
    held = {(node.artefact, node.name): node for node in before}
    out: list[str] = []
    for node in after:
        was = held.get((node.artefact, node.name))
        if (
            was is None
            or node.artefact in _HIDDEN
            or node.state == "done"
            or (node.state, node.why) == (was.state, was.why)
        ):
            continue
        if node.state == "stale" or was.state == "done":
            named = f"{node.artefact} of {node.name}" if node.name else node.artefact
            out.append(f"{named}: {', '.join(node.why) or node.words.removeprefix(f'{node.name}: ')}")
    return tuple(out)


@contextmanager
def rehearsal(root: Path) -> Iterator[Path]:
    """Yield a folder that reads like the study, and in which selections, labels and the corpus may be
    changed.
    """
    with held_folder() as folder:
        copy = Path(folder) / "study"
        copy.mkdir()
        for path in sorted(root.resolve().iterdir()):
            if path.name.startswith((TEMPORARY, ".lock")):
                continue
            if path.name in ("truth", "removed", "pairs"):  # labels may have to be counted first
                _mirror(path, copy / path.name)
            elif path.suffix in _COPIED:
                copy_file(path, copy / path.name)
            else:
                (copy / path.name).symlink_to(path, target_is_directory=path.is_dir())
        yield copy


def copy_file(file: Path, to: Path) -> None:
    """Copy a file; a database whole, with what a killed writer left beside it."""
    if file.suffix != ".sqlite":
        put(to, file.read_bytes())
        return
    with closing(sqlite3.connect(file)) as held, closing(sqlite3.connect(to)) as copy:
        held.backup(copy)


def _mirror(folder: Path, to: Path) -> None:
    """Make a folder whose files are links; a file put there replaces its link."""
    to.mkdir()
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            _mirror(path, to / path.name)
        else:
            (to / path.name).symlink_to(path)
