"""Who may write to a study, and the cleanup after killed writers.

Conventions: one writer at a time, or the jobs of one array (all of one verb, each with its own shards), by
locks that the system releases when a process ends. A single writer first sweeps: files of parts that neither
a manifest nor a receipt names do not count. Jobs of an array never sweep, and change shared files
(study.toml, manifests, failures.csv, timings, log) only inside `changing`, where they read them again first.
A change of models takes many steps: until all are done its note stays in the study, and only the process that
finishes it may write.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TypedDict, cast

from faultscape.errors import FaultscapeError, StudyError
from faultscape.study.folder import TEMPORARY, cannot_write
from faultscape.study.json_text import read_object
from faultscape.study.part_folders import made
from faultscape.study.parts import ManifestReader, read_manifest, sweep
from faultscape.study.receipts import checksums
from faultscape.study.settings import read_settings

CHANGE = ".change.json"
_VERBS = ".lock-"


class Asked(TypedDict):
    """The request of a change of models: {old: new}, names, and {NAME: SOURCE} to predict after it."""

    rename: dict[str, str]
    remove: list[str]
    models: dict[str, str]


class Right(TypedDict, total=False):
    """What was valid before a change: {name: {part: others}} of counts, and names of selections."""

    pairs: dict[str, dict[str, list[str]]]
    selections: list[str]


class ChangeNote(TypedDict):
    """A change of models under way: ``names`` {before: after} of the models that stay, and the counts and
    selections that were valid before (``right``).
    """

    line: str
    asked: Asked
    done: bool
    names: dict[str, str]
    right: Right


def noted(root: Path) -> ChangeNote | None:
    """Return the note of a change of models: the request, how to repeat it, and whether it is ``done``; None
    if there is none.
    """
    try:
        note = read_object((root / CHANGE).read_bytes())
        kinds = {"done": bool, "line": str, "asked": dict, "names": dict, "right": dict}
        if odd := next((key for key, kind in kinds.items() if not isinstance(note.get(key), kind)), ""):
            raise ValueError(f"{odd} is {str(note.get(odd))[:40]}")  # noqa: TRY301 - as any other damage
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StudyError(
            f"{root / CHANGE} is damaged ({error}); put it back from a copy, or delete it"
        ) from None
    return cast("ChangeNote", note)


def unfinished(root: Path) -> str:
    """Return the command that finishes an interrupted change of models, or ''."""
    note = noted(root)
    return "" if note is None or note["done"] else note["line"]


@contextmanager
def writing(
    root: Path,
    *,
    array: str = "",
    change: bool = False,
    check: Callable[[Path], object] = read_settings,
    manifest: ManifestReader = read_manifest,
) -> Iterator[None]:
    """Hold the study exclusively, or together with the other jobs of an ``array`` (the verb they run).

    StudyError if another process is writing to it, or if a change of models was interrupted (except for the
    process that makes the ``change``). ``check`` refuses a study of another version, before anything of it is
    changed; ``manifest`` reads which parts count.
    """
    with _unless_refused(root), _file(root, ".lock") as file, ExitStack() as held:
        if not _take(file, shared=bool(array)):
            if not array and _take(file, shared=True):
                raise StudyError(
                    f"jobs of an array (--shard) are running in {root}; wait until all of them have finished"
                )
            raise StudyError(f"another faultscape is writing to {root}; wait until it has finished")
        if (root / "study.toml").exists():
            check(root)
        if not change and (line := unfinished(root)):
            raise StudyError(f"a change of models was interrupted in {root}; finish it first: {line}")
        if array:
            _join(root, array, held)
        else:
            tidy(root, manifest)
        yield


@contextmanager
def holding(folder: Path, busy: str) -> Iterator[None]:
    """Hold one folder of a study for a long time, while others may write to the rest of it; StudyError with
    the text ``busy`` if another process holds it.
    """
    with _unless_refused(folder), _file(folder, ".lock") as file:
        if not _take(file, shared=False):
            raise StudyError(busy)
        yield


@contextmanager
def _unless_refused(root: Path) -> Iterator[None]:
    """Remove a folder that was created for a command that was then refused, and that holds only locks."""
    new = not root.exists()
    try:
        yield
    except FaultscapeError:
        if new and root.is_dir() and all(path.name.startswith(".lock") for path in root.iterdir()):
            shutil.rmtree(root, ignore_errors=True)
        raise


@contextmanager
def changing(root: Path) -> Iterator[None]:
    """Briefly hold what jobs of an array share, while others wait; cannot be nested."""
    with _file(root, ".lock.tables") as file:
        _take(file, shared=False, wait=True)
        yield


def _join(root: Path, verb: str, held: ExitStack) -> None:
    """Join the jobs of a verb; StudyError while jobs of another verb are running, which may read what these
    write.
    """
    with changing(root):
        for other in sorted(root.glob(f"{_VERBS}*")):
            with _file(root, other.name) as file:
                if other.name != _VERBS + verb and not _take(file, shared=False):
                    raise StudyError(
                        f"jobs of `{other.name.removeprefix(_VERBS)} --shard` are running in {root}; start"
                        f" those of {verb} when they have finished"
                    )
        _take(held.enter_context(_file(root, _VERBS + verb)), shared=True)


def tidy(root: Path, manifest: ManifestReader = read_manifest) -> None:
    """Remove what killed writers left; needs an exclusive hold of the study. Withdrawn labels and removed
    selections stay: an undo needs them.
    """
    rooms = (
        "predictions/*/",
        "predictions/*/*/",
        "pairs/*/",
        "truth/*/",
        "truth/*/removed/",
        "removed/*/",
        "stress/*/",
        "stress/*/*/",
        "objects/",
        "statistics/*/*/",
        "measures/",
        "measures/statistics/*/*/",
        "reliability/",
        "reliability/counts/*/*/",
        "reliability/guards/*/",
    )
    folders = [root, *(folder for room in rooms for folder in root.glob(room))]
    for folder in folders:
        for left in folder.glob(f"{TEMPORARY}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    waiting = checksums(root)
    for folder in {*folders[1:], *made(root)}:
        sweep(folder, waiting, manifest)


def _file(root: Path, name: str) -> IO[str]:
    """Open a lock file; StudyError if that is not allowed."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        return (root / name).open("a+")
    except OSError as error:
        raise cannot_write(root, error) from None


def _take(file: IO[str], *, shared: bool, wait: bool = False) -> bool:
    """Lock a file until it is closed, and return whether that was possible."""
    try:
        import fcntl
    except ImportError:  # no fcntl on Windows: a study there is not locked
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True
