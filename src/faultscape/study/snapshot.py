"""The files of a study at one moment, each read when it is first asked for, and once.

Conventions: `reread` goes on to the present moment, and keeps what did not change on disk since. What is
computed from files is kept with them in ``computed``, and forgotten with any of them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from faultscape.errors import StudyError
from faultscape.nouns import JsonObject
from faultscape.study import lock
from faultscape.study.answers.database import Database
from faultscape.study.folder import file_version
from faultscape.study.json_text import read_object
from faultscape.study.part_folders import MANIFEST
from faultscape.study.parts import Part, read_manifest
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables.corpus import Corpus

# what a study knows before it reads anything
_OF_ITSELF = ("root", "called", "_skip_damaged", "_open_database")

Given = ParamSpec("Given")
Found = TypeVar("Found")
Holder = TypeVar("Holder", bound="Snapshot")


def once(method: Callable[Concatenate[Holder, Given], Found]) -> Callable[Concatenate[Holder, Given], Found]:
    """Make a method compute its result once for the same arguments, as a cached property does."""

    @wraps(method)
    def kept(self: Holder, *args: Given.args, **kwargs: Given.kwargs) -> Found:
        args = tuple(tuple(one) if isinstance(one, list) else one for one in args)  # type: ignore[assignment]
        which = method.__name__, args, tuple(kwargs.items())
        if which not in self.computed:
            self.computed[which] = method(self, *args, **kwargs)
        return self.computed[which]

    return kept


class Snapshot:
    """The files of the study in the folder ``root``, named ``called`` in commands. Damaged selections raise,
    or are left out where one only looks (``skip_damaged``). People's answers are read from a ``database``
    that is open already, if one is given.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        called: str = "",
        *,
        skip_damaged: bool = False,
        database: Database | None = None,
    ) -> None:
        if not isinstance(root, str | os.PathLike):
            raise StudyError(f"Study: expected the path of a study's folder; got {root!r:.60}")
        self.root = Path(root)
        self.called = called or os.fspath(root)
        self._skip_damaged = skip_damaged
        self._open_database = database
        self._files = dict[Path, tuple[object, Any]]()  # {file: its version when it was read, what it held}
        self.computed = dict[tuple[object, ...], Any]()

    @property
    def place(self) -> str:
        """The study as a command names it."""
        return shlex.quote(self.called)

    def __fspath__(self) -> str:
        return str(self.root)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), skip_damaged=self._skip_damaged), (str(self.root), self.called)

    def _file(self, file: Path, read: Callable[[], Found]) -> Found:
        if file not in self._files:
            # of parts in a store no version is known here
            version = file_version(file) if file.name != MANIFEST or not self._has_store else object()
            self._files[file] = version, read()
        return self._files[file][1]

    @property
    def exists(self) -> bool:
        """Whether there is a study in the folder."""
        return (self.root / "study.toml").exists()

    @property
    def _has_store(self) -> bool:
        return self.exists and bool(self.settings.store)

    def _again(self, files: dict[Path, tuple[object, Any]], *, skip_damaged: bool) -> Self:
        study = type(self)(self.root, self.called, skip_damaged=skip_damaged, database=self._open_database)
        vars(study).update(_files=files)
        return study

    def skipping_damaged(self) -> Self:
        """Return the same study, without selections that are damaged, to look at."""
        return self._again(self._files, skip_damaged=True)

    def now(self) -> Self:
        """Return the study as it is now, as an object of its own, which another thread may use: of the files
        that this one read it reads those again that changed since.
        """
        return self._again(self._unchanged(), skip_damaged=self._skip_damaged)

    def reread(self) -> Self:
        """Forget the files that changed since they were read, and all that was computed; return the study."""
        itself = {name: self.__dict__[name] for name in _OF_ITSELF}
        held = self._unchanged()
        self.__dict__.clear()
        self.__dict__.update(itself, _files=held, computed={})
        return self

    def _unchanged(self) -> dict[Path, tuple[object, Any]]:
        # of a copy, since the thread to which this study belongs may be reading
        files = self._files.copy().items()
        return {file: (version, found) for file, (version, found) in files if file_version(file) == version}

    @contextmanager
    def writing(self, *, array: str = "", change: bool = False) -> Iterator[Self]:
        """Hold the study exclusively (`study.lock.writing`), and yield it as it is under the lock."""
        held = lock.writing(
            self.root,
            array=array,
            change=change,
            check=lambda _: self.reread().settings,
            manifest=self.manifest,
        )
        with held:
            yield self
        self.reread()

    @property
    def settings(self) -> Settings:
        """What study.toml holds."""
        return self._file(self.root / "study.toml", lambda: read_settings(self.root))

    @property
    def corpus(self) -> Corpus:
        """The table of all images."""
        return self._file(self.root / "corpus.parquet", lambda: Corpus(self.root))

    def manifest(self, folder: Path) -> Mapping[str, Part]:
        """Return the parts that count of a folder of the study."""
        return self._file(folder / MANIFEST, lambda: read_manifest(folder))

    @once
    def document(self, path: Path) -> JsonObject | None:
        """Return the JSON object of a file of the study, or None if it cannot be read."""
        try:
            return self._file(path, lambda: read_object(path.read_bytes())) if path.exists() else None
        except (OSError, ValueError):
            return None
