r"""The files below a folder in the order of their ids, with one folder's names in memory at a time.

Conventions: an id is the path below the folder, without extension and with ``/`` between folders; bytes of a
name that are not UTF-8 are written as ``\xNN``. Folders whose names begin with a dot are left out. What lies
in a folder sorts as ``FOLDER/``, so that ids come in order without all of them being known.

``folder`` is the path of a folder. ``endings`` are those of the files that count, in lower case. ``suffix``
ends the name of every file and is not part of the ids.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from faultscape.corpus.records_aside import in_order
from faultscape.errors import CorpusError
from faultscape.study.folder import TEMPORARY

# suffixes of frame names in well-known data sets, for folders with one file or mixed kinds
_KNOWN = re.compile(
    r"_(leftImg8bit|gt(Fine|Coarse)_(labelIds|labelTrainIds|color|instanceIds)|train_id|labelIds|labelTrainIds)$"
)
_WITH_LETTER = re.compile(r"[_-](?=[^/]*[^\W\d_])[^/]*$")
Say = Callable[[str], None]


def walk(
    folder: str, endings: Collection[str], suffix: str = "", left_out: LeftOut | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (id, path) of the files below a folder, in order of ids and then of paths; what is ``left_out``
    is noted. CorpusError for a folder that cannot be read.
    """
    top = str(Path(folder))
    # the real folders above each, because a link to one of them is a cycle
    waiting = [_names("" if top == "." else top, "", {os.path.realpath(folder)}, endings, suffix, left_out)]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
        elif isinstance(entry, tuple):
            yield entry
        else:
            waiting.append(entry)


_Names = Iterator["tuple[str, str] | _Names"]


def _names(
    place: str,
    below: str,
    above: set[str],
    endings: Collection[str],
    suffix: str,
    left_out: LeftOut | None,
) -> _Names:
    """Yield (id, path) of each file of one folder, and such an iterator for each folder in it."""
    names = _unsorted(place, endings, suffix, left_out)
    before = ("", "", False)
    for key, name, is_folder in in_order(names):
        path = os.path.join(place, name)
        if is_folder and before[0] == key:
            raise CorpusError(
                f"two folders below {place or '.'} are both called {key!r}, one in bytes that are not UTF-8:"
                f" {before[1]!r} and {name!r}; rename one"
            )
        before = (key, name, is_folder)
        if not is_folder:
            yield below + key, path
        elif (real := os.path.realpath(path)) not in above:
            yield _names(path, below + key, above | {real}, endings, suffix, left_out)


def _unsorted(
    place: str, endings: Collection[str], suffix: str, left_out: LeftOut | None
) -> Iterator[tuple[str, str, bool]]:
    """Yield (what it is sorted by, name, whether it is a folder) of what counts in a folder."""
    try:
        with os.scandir(place or ".") as entries:
            for entry in entries:
                is_folder = _leads_to_folder(entry)
                if is_folder and entry.name.startswith("."):
                    if left_out is not None:
                        left_out.hidden.append(os.path.join(place, entry.name))
                elif is_folder:
                    yield f"{readable(entry.name)}/", entry.name, True
                elif not entry.name.startswith(TEMPORARY):
                    stem, ending = os.path.splitext(entry.name)
                    if without_name(entry.name, endings):
                        if left_out is not None:
                            left_out.nameless.append(os.path.join(place, entry.name))
                    elif ending.lower() in endings:
                        yield readable(stem).removesuffix(suffix), entry.name, False
    except OSError as error:
        raise CorpusError(f"{error.filename}: cannot be read: {error.strerror}") from None


def each_folder(top: str | os.PathLike[str]) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield (path, names of files) of a folder and then of those in it, in order, but names in no order and
    one at a time: there may be millions. Links to folders, and folders whose names begin with a dot, are left
    out.
    """
    folders = list[str]()

    def files() -> Iterator[str]:
        with suppress(OSError), os.scandir(top) as entries:
            for entry in entries:
                if not _leads_to_folder(entry):
                    yield entry.name
                elif not (entry.is_symlink() or entry.name.startswith(".")):
                    folders.append(entry.name)

    names = files()
    yield os.fspath(top), names
    deque(names, maxlen=0)  # what was not asked for, up to the last folder
    for name in sorted(folders):
        yield from each_folder(os.path.join(top, name))


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


class LeftOut:
    """What a walk leaves out: folders whose names begin with a dot, and files without a name before the
    ending.
    """

    def __init__(self) -> None:
        self.hidden = list[str]()
        self.nameless = list[str]()

    def hidden_files(self, endings: Collection[str]) -> list[str]:
        """Return the files with these endings in the folders that were left out."""
        return [
            os.path.join(where, name)
            for folder in sorted(self.hidden)
            for where, _, inside in os.walk(folder)
            for name in sorted(inside)
            if os.path.splitext(name)[1].lower() in endings
        ]


def without_name(name: str, endings: Collection[str]) -> bool:
    """Whether a file's name is only dots and an ending.

    >>> without_name("..png", {".png"}), without_name(".a.png", {".png"})
    (True, False)
    """
    return name.startswith(".") and f".{name.lstrip('.')}".lower() in endings


def readable(name: str) -> str:
    r"""Return a name with bytes that are not UTF-8 written as ``\xNN``."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def common_suffix(stems: Sequence[str]) -> str:
    """Return the suffix that all stems share, from ``_`` or ``-`` on, if it contains a letter; else ''.

    >>> common_suffix(["a/x_1_leftImg8bit", "b/x_2_leftImg8bit"])
    '_leftImg8bit'
    >>> common_suffix(["scene_1", "scene_2"]), common_suffix(["frame_b"])
    ('', '')
    """
    return SharedSuffix(stems).text


class SharedSuffix:
    """The suffix that names share, one name after the other."""

    def __init__(self, stems: Iterable[str] = ()) -> None:
        self.count = 0
        self._known = set[str]()  # of data sets; two tell as much as more
        self._shared = ""
        self._shortest = 0
        for stem in stems:
            self.add(stem)

    def add(self, stem: str) -> None:
        """Count one name, with its folders and without extension."""
        if len(self._known) < 2:
            self._known.add(match[0] if (match := _KNOWN.search(stem)) else "")
        length = len(stem) - stem.rfind("/") - 1
        if not self.count:
            self._shared, self._shortest = stem, length
        elif not stem.endswith(self._shared):
            pair = (self._shared[::-1], stem[::-1])
            self._shared = os.path.commonprefix(pair)[::-1]  # noqa: RUF071 - character by character is meant
        self._shortest = min(self._shortest, length)
        self.count += 1

    @property
    def text(self) -> str:
        """The suffix that all names so far share; '' if none."""
        if len(self._known) == 1 and (suffix := next(iter(self._known))):
            return suffix
        if self.count < 2:
            return ""
        match = _WITH_LETTER.search(self._shared)
        return match[0] if match and self._shortest > len(match[0]) else ""
