"""Where the parts of a folder of the study are stored: in that folder, or in the study's store.

Conventions: callers name a folder of parts by its path in the study (``STUDY/pairs/NAME``). If study.toml
names a ``store``, the parts and manifests of predictions, truth, pairs, measures and reliability are stored
there under the same names, and nothing else is. Either way, a file is written whole or not at all.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from faultscape.errors import StudyError
from faultscape.study import store
from faultscape.study.folder import cannot_write, put
from faultscape.study.store import Address

ROOMS = ("predictions", "truth", "pairs", "measures", "reliability")
_LEVELS = (
    ("predictions", 1),
    ("predictions", 2),
    ("pairs", 1),
    ("truth", 1),
    ("statistics", 2),
    ("measures/statistics", 2),
    ("reliability/counts", 2),
)
MANIFEST = "manifest.json"
# {a version of study.toml, by its path, time and size: the store that it names}
_known_stores = dict[tuple[Path, int, int], Address | None]()


class Files(Protocol):
    """The files of one folder of parts; a missing file raises FileNotFoundError, all other failures
    StudyError.
    """

    def read(self, name: str) -> bytes: ...
    def open(self, name: str) -> Any: ...
    def has(self, name: str) -> bool: ...
    def names(self) -> set[str]: ...
    def put(self, name: str, data: bytes) -> None: ...
    def delete(self, name: str) -> None: ...
    def where(self, name: str) -> str: ...


class LocalFiles:
    """The files of a local folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes:
        try:
            return (self._folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileNotFoundError(*error.args) from None
        except OSError as error:
            raise StudyError(f"{self.where(name)}: cannot be read: {error.strerror}") from None

    def open(self, name: str) -> Any:
        return self._folder / name

    def has(self, name: str) -> bool:
        return (self._folder / name).exists()

    def names(self) -> set[str]:
        return {path.name for path in self._folder.glob("*.parquet")}

    def put(self, name: str, data: bytes) -> None:
        put(self._folder / name, data)

    def delete(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def where(self, name: str) -> str:
        return str(self._folder / name)


class StoreFiles:
    """The files under one prefix of a store."""

    def __init__(self, prefix: Address) -> None:
        self._prefix = prefix

    def read(self, name: str) -> bytes:
        with self._told(name):
            return store.read(self._prefix / name)

    def open(self, name: str) -> Any:
        with self._told(name):
            return store.open_object(self._prefix / name).file

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StudyError(store.sentence(self._prefix / name, error)) from None

    def has(self, name: str) -> bool:
        with store.told(self._prefix / name):
            return store.exists(self._prefix / name)

    def names(self) -> set[str]:
        with store.told(self._prefix):
            return {name for name in store.listed(self._prefix) if name.endswith(".parquet")}

    def put(self, name: str, data: bytes) -> None:
        with store.told(self._prefix / name):
            store.put(self._prefix / name, data)

    def delete(self, name: str) -> None:
        with store.told(self._prefix / name):
            store.delete(self._prefix / name)

    def where(self, name: str) -> str:
        return str(self._prefix / name)


def files(folder: Path) -> Files:
    """Return the files of a folder of parts, wherever they are stored."""
    for root, name in zip(folder.parents, folder.parts[:-5:-1], strict=False):  # it is `name` in `root`
        if name in ROOMS and (address := _store(root)) is not None:
            return StoreFiles(_place(address, root, folder))
    return LocalFiles(folder)


def made(root: Path, room: str = "") -> list[Path]:
    """Return the study's folders of parts (of one room), by their paths in the study, wherever the parts are
    stored.
    """
    out: list[Path] = []
    address = _store(root)
    for name, levels in _LEVELS:
        if room and name.split("/")[0] != room:
            continue
        if address is None or name.split("/")[0] not in ROOMS:
            out += [path for path in sorted(root.glob(f"{name}/{'*/' * levels}")) if path.is_dir()]
            continue
        found = [name]
        for _ in range(levels):
            found = [f"{above}/{below}" for above in found for below in _folders(address, above)]
        out += [root / path for path in found]
    return out


def move(root: Path, folder: Path, to: Path) -> None:
    """Move a folder of parts, and its subfolders, to another path, wherever the parts are stored; repeating
    the call finishes a move that was killed.
    """
    if (address := _store_of(root, folder)) is not None:
        before = _place(address, root, folder)
        after = _place(address, root, to)
        with store.told(before):
            names = store.listed(before, deep=True)
            for name in sorted(names, key=_is_manifest):  # a manifest never names a missing part
                store.copy(before / name, after / name)
            for name in filter(_is_manifest, names):
                store.delete(before / name)
            store.delete_folder(before)
    try:  # with a store, this folder holds only notes
        if folder.is_symlink() or folder.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(to)
    except OSError as error:
        raise cannot_write(to, error) from None


def remove(root: Path, folder: Path) -> None:
    """Remove a folder of parts, and its subfolders, wherever the parts are stored."""
    if (address := _store_of(root, folder)) is not None:
        place = _place(address, root, folder)
        with store.told(place):
            for name in filter(_is_manifest, store.listed(place, deep=True)):
                store.delete(place / name)
            store.delete_folder(place)
    try:
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise cannot_write(folder, error) from None


def held(root: Path) -> bool:
    """Return whether a study has any manifest: parts that cannot be left behind."""
    return any(files(folder).has(MANIFEST) for folder in made(root))


def _folders(address: Address, below: str) -> list[str]:
    place = address
    for name in below.split("/"):
        place = place / name
    with store.told(place):
        return store.listed(place, folders=True)


def _store_of(root: Path, folder: Path) -> Address | None:
    """Return the store of this folder's parts, or None if they are in the folder."""
    return _store(root) if folder.relative_to(root).parts[0] in ROOMS else None


def _place(address: Address, root: Path, folder: Path) -> Address:
    for name in folder.relative_to(root).parts:
        address = address / name
    return address


def _is_manifest(name: str) -> bool:
    return name.rpartition("/")[2] == MANIFEST


def _store(root: Path) -> Address | None:
    """Return the store of the study in this folder, or None if it is not a study or keeps its parts
    locally.
    """
    try:
        about = os.stat(root / "study.toml")
    except OSError:
        return None
    return _named(root / "study.toml", about)


def remember_store(path: Path, about: os.stat_result, name: str) -> None:
    """Remember which store a study.toml that was just read names, so that it is not opened again."""
    _known_stores[path, about.st_mtime_ns, about.st_size] = store.parse(name) if name else None


def _named(path: Path, about: os.stat_result) -> Address | None:
    version = path, about.st_mtime_ns, about.st_size
    if version in _known_stores:
        return _known_stores[version]
    try:
        name = tomllib.loads(path.read_text(encoding="utf-8")).get("store", "")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"{path} is not TOML: {error}") from None
    remember_store(path, about, str(name))
    return _known_stores[version]


def claim(root: Path, text: str) -> None:
    """Mark a store as used by this study, which also checks that it is writable; StudyError if it belongs to
    another study.
    """
    note = root / ".store"
    mark = store.parse(text) / ".faultscape"
    mine = note.read_bytes() if note.exists() else secrets.token_hex(16).encode()
    put(note, mine)
    with store.told(mark):
        if not store.exists(mark):
            store.put(mark, mine)
        elif store.read(mark) != mine:
            raise StudyError(
                f"{text}: contains the parts of another study; use a separate prefix for each study"
            )
