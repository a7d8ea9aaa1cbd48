"""The contents of a folder from an untrusted source: its files by relative name, and what is left out and
why.

Conventions: names are relative, with ``/`` between folders, sorted by character. Links to a file in the
folder are followed; links that lead out of it, hidden files and linked folders are left out with a reason.
`shown` makes a name readable on one line.
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass
from pathlib import Path

from faultscape.corpus.sources import IMAGE_ENDINGS
from faultscape.errors import CorpusError, FaultscapeError, ImageError
from faultscape.formats.guard import read_bytes

MOST_BYTES = 1 << 30  # per pixel file


@dataclass(frozen=True)
class FileTree:
    """The files under ``root``, and (name, reason) of what is not read."""

    root: Path
    files: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]

    def read(self, name: str, limit: int = MOST_BYTES, error: type[FaultscapeError] = ImageError) -> bytes:
        """Return the content of a file; ``error`` if it cannot be read, or has more than ``limit`` bytes."""
        return read_bytes(self.root / name, error, limit=limit)

    def images(self, under: str = "") -> tuple[str, ...]:
        """Return the files with an image ending in a folder (``""``: in all), by name."""
        return tuple(name for name in self.files if name.startswith(under) and is_image(name))


def file_tree(place: str | os.PathLike[str]) -> FileTree:
    """Return the contents of a folder; CorpusError if it is not a folder or cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.png").write_text("")
    ...     Path(folder, "b.png").symlink_to("/dev/zero")
    ...     tree = file_tree(folder)
    >>> tree.files, tree.left_out
    (('a.png',), (('b.png', 'is a link that leads out of the folder; put the file itself there'),))
    """
    if not os.path.isdir(place):
        raise CorpusError(
            f"{place}: is not a folder on this machine; give the folder that holds the cut-outs"
        )
    root = Path(os.path.realpath(place))
    files = []
    left_out = []
    for where, folders, inside in os.walk(root, onerror=_refuse):
        at = Path(where).relative_to(root).as_posix()
        for name in folders:
            if name.startswith("."):
                left_out.append((posixpath.normpath(f"{at}/{name}"), "is a hidden folder"))
            elif os.path.islink(os.path.join(where, name)):
                left_out.append(
                    (
                        posixpath.normpath(f"{at}/{name}"),
                        "is a link to a folder, which is not followed; put the folder itself there",
                    )
                )
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and not os.path.islink(os.path.join(where, name))
        ]
        for name in inside:
            relative = posixpath.normpath(f"{at}/{name}")
            if why := _unread(root, os.path.join(where, name), name):
                left_out.append((relative, why))
            else:
                files.append(relative)
    return FileTree(root, tuple(sorted(files)), tuple(sorted(left_out)))


def is_image(name: str) -> bool:
    """Whether a name has an image ending.

    >>> is_image("a/b.PNG"), is_image("b.txt")
    (True, False)
    """
    return posixpath.splitext(name)[1].lower() in IMAGE_ENDINGS


def stem_of(name: str, under: str = "") -> str:
    """Return a name without its ending, relative to a folder.

    >>> stem_of("masks/dog/1.a.png", "masks/")
    'dog/1.a'
    """
    return posixpath.splitext(name.removeprefix(under))[0]


def class_of_folder(name: str) -> str:
    """Return the name of a file's folder, '' if there is none.

    >>> class_of_folder("animals/dog/1.png"), class_of_folder("1.png")
    ('dog', '')
    """
    return shown(posixpath.basename(posixpath.dirname(name)))


def shown(name: str) -> str:
    r"""Return a readable name on one line.

    >>> shown("a\nb"), shown("\udcff.png")
    ('a\\nb', '\\xff.png')
    """
    try:
        readable = os.fsencode(name).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a lone surrogate, which no file name contains
        readable = name.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in readable)


def _unread(root: Path, path: str, name: str) -> str:
    """Return why a file is left out, or ''."""
    if name.startswith("."):
        return "is a hidden file"
    if os.path.islink(path):
        real = os.path.realpath(path)
        if os.path.commonpath([real, root]) != os.fspath(root):
            return "is a link that leads out of the folder; put the file itself there"
        if not os.path.exists(real):
            return "is a link to a file that is not there"
    return "" if os.path.isfile(path) else "is not a regular file"


def _refuse(error: OSError) -> None:
    raise CorpusError(f"{error.filename}: cannot be read: {error.strerror}")
