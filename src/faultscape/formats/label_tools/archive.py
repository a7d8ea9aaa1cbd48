"""A zip made by a tool, or the folder that it was unpacked to: its files by name, read within bounds.

Conventions: names are POSIX, relative to the folder of the file that identifies the archive, which may be
nested. A zip is checked before anything in it is unpacked: total size, number of files (as listed, whatever
its end claims), names that leave the folder or occur twice, files with a password.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

from faultscape.errors import FaultscapeError
from faultscape.formats.guard import decoding, read_bytes

MOST_BYTES = 4 << 30  # per zip
MOST_FILES = 65_535
MOST_LIST = 32 << 20  # bytes of a zip's list of files
MOST_UNPACKED = 16 << 30
_RATIO = 200  # maximum ratio of all files together to the zip, more than images reach
_FREE = 64 << 20  # bytes that a zip may unpack to at any ratio
_ENTRY = b"PK\x01\x02"
_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x07"
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Archive:
    """The files of an archive: ``names`` in order, and ``read(name, limit)``, which returns the bytes of one;
    a zip stays open as long as this object exists.
    """

    names: tuple[str, ...]
    read: Callable[[str, int], bytes]


def is_zip(path: Path) -> bool:
    """Whether a file begins like a zip."""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(4) in (b"PK\x03\x04", _END)
    except OSError:
        return False


def count_files(path: Path, error: type[FaultscapeError]) -> int:
    """Return how many files and folders a zip lists; ``error`` for a zip that `opened` would refuse before
    Python reads the list.
    """
    with decoding(path, error):
        return _look(path, error)


def opened(path: Path, known_by: str, error: type[FaultscapeError]) -> Archive:
    """Return the archive of a zip, or of the folder if the file ``known_by`` itself is given; ``error`` for
    faults, or if that file is missing.
    """
    if os.path.basename(path) == known_by:
        return _folder(os.path.dirname(os.path.abspath(path)), error)
    with decoding(path, error):
        _look(path, error)
        archive = zipfile.ZipFile(path)
    infos = [info for info in archive.infolist() if not info.is_dir()]
    _hold_bounds(infos, path, error)
    found = sorted(
        (info.filename for info in infos if PurePosixPath(info.filename).name == known_by),
        key=lambda name: name.count("/"),
    )
    if not found:
        raise error(f"{path}: does not hold {known_by}")
    above = found[0][: -len(known_by)]
    by_name = {info.filename[len(above) :]: info for info in infos if info.filename.startswith(above)}

    def read(name: str, limit: int) -> bytes:
        info = by_name[name]
        if info.file_size > limit:
            raise error(f"{path}: {name[:200]!r} has {info.file_size:,} bytes; at most {limit:,} are read")
        with decoding(f"{path}: {name[:200]!r}", error), archive.open(info) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise error(
                f"{path}: {name[:200]!r} has more than {limit:,} bytes, although its header says less"
            )
        return data

    return Archive(tuple(by_name), read)


def unpack(
    path: Path, folder: Path, endings: Collection[str], error: type[FaultscapeError], *, most: int
) -> int:
    """Unpack the files of a zip whose names end in one of the ``endings`` (small letters) to an empty folder,
    and return their number; ``error`` if together they exceed ``most`` bytes, and for a zip that `opened`
    would refuse.
    """
    with decoding(path, error):
        _look(path, error)
        archive = zipfile.ZipFile(path)
    with archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        _hold_bounds(infos, path, error)
        wanted = [info for info in infos if os.path.splitext(info.filename)[1].lower() in endings]
        left = most
        for info in wanted:
            where = os.path.join(folder, *PurePosixPath(info.filename).parts)
            with decoding(f"{path}: {info.filename[:200]!r}", error), archive.open(info) as file:
                os.makedirs(os.path.dirname(where), exist_ok=True)
                with open(where, "xb") as out:
                    while part := file.read(1 << 20):
                        left -= len(part)
                        if left < 0:
                            raise error(
                                f"{path}: would unpack to more than {most:,} bytes; export fewer images at"
                                " once"
                            )
                        out.write(part)
    return len(wanted)


def _folder(folder: str, error: type[FaultscapeError]) -> Archive:
    names = []
    for above, folders, files in os.walk(folder):
        folders.sort()
        names += [
            os.path.relpath(os.path.join(above, name), folder).replace(os.sep, "/") for name in sorted(files)
        ]
        if len(names) > MOST_FILES:
            raise error(f"{folder}: holds more than {MOST_FILES:,} files; at most this many are read")
    return Archive(
        tuple(names), lambda name, limit: read_bytes(os.path.join(folder, name), error, limit=limit)
    )


def _look(path: Path, error: type[FaultscapeError]) -> int:
    """Return how many files a zip lists; ``error`` if it is too large, or its list is, before Python reads
    that list, which takes 500 bytes of memory a file.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise error(f"{path}: is not a regular file")
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(max(size - (1 << 16) - 42, 0))
        tail = file.read()
    at = len(tail) - 22 if tail[-22:-18] == _END else tail.rfind(_END)
    if at < 0 or len(tail) - at < 22:
        raise error(f"{path}: is not a zip file, or is truncated")
    length = int.from_bytes(tail[at + 12 : at + 16], "little")
    claimed = int.from_bytes(tail[at + 10 : at + 12], "little")
    files = claimed
    too_large = size > MOST_BYTES or length > MOST_LIST or _END_64 in tail[max(at - 20, 0) : at]
    if not too_large:
        with open(path, "rb") as file:
            file.seek(max(size - len(tail) + at - length, 0))
            files = max(claimed, file.read(length).count(_ENTRY))
    if too_large or files >= MOST_FILES:
        raise error(
            f"{path}: has more than {MOST_BYTES:,} bytes or {MOST_FILES - 1:,} files, the most"
            " that is read; export fewer images at once"
        )
    return files


def _hold_bounds(infos: list[zipfile.ZipInfo], path: Path, error: type[FaultscapeError]) -> None:
    seen: set[str] = set()
    for info in infos:
        name = info.filename
        parts = name.split("/")
        if (
            ".." in parts
            or name.startswith("/")
            or "\\" in name
            or "\\" in info.orig_filename
            or ":" in parts[0][1:2]
        ):
            raise error(f"{path}: {name[:200]!r} leads out of the folder that the zip is unpacked to")
        if name in seen:
            raise error(f"{path}: holds {name[:200]!r} twice")
        seen.add(name)
        if info.flag_bits & 1:
            raise error(f"{path}: {name[:200]!r} is password-protected; export it without a password")
        if info.compress_type not in _PLAIN:
            raise error(f"{path}: {name[:200]!r} uses an unsupported compression; use deflate")
    unpacked = sum(info.file_size for info in infos)
    if unpacked > MOST_UNPACKED or unpacked > max(_FREE, _RATIO * os.path.getsize(path)):
        raise error(
            f"{path}: would unpack to {unpacked:,} bytes, too many for a zip of images of"
            f" {os.path.getsize(path):,} bytes"
        )
