"""The members of a tar (WebDataset's shards are tars), read where they lie; nothing is ever unpacked.

Conventions: the headers of a tar are read once, as long as its size and time stay the same; a member is then
read at its place. Only plain files count. A tar is refused as a whole if a name in it leads out of a folder,
or if it holds links, devices or sparse files, because none of them belongs into a data set. Compressed tars
have no places, so they are refused too.
"""

from __future__ import annotations

import os
import tarfile
from collections import OrderedDict
from threading import Lock

from faultscape.errors import FaultscapeError, library_text
from faultscape.formats.packed.names import is_inside

_MOST = 20_000_000  # members of one tar
_OPEN = 64  # tars whose headers are kept
_COMPRESSED = {b"\x1f\x8b": "gunzip", b"BZ": "bunzip2", b"\xfd7": "unxz", b"\x28\xb5": "unzstd"}
Places = dict[str, tuple[int, int]]  # {name: where its bytes begin, how many}
_kept: OrderedDict[str, tuple[tuple[int, int], Places]] = OrderedDict()
_lock = Lock()


def members(path: str, error: type[FaultscapeError]) -> Places:
    """Return {name of a member: (where its bytes begin, how many)} of a tar, in its order; ``error`` in one
    sentence for a file that is not a tar, or holds anything but plain files.
    """
    try:
        about = os.stat(path)
    except OSError as fault:
        raise error(f"{path}: {fault.strerror}") from None
    state = (about.st_size, about.st_mtime_ns)
    with _lock:
        if path in _kept and _kept[path][0] == state:
            _kept.move_to_end(path)
            return _kept[path][1]
    found = _read(path, about.st_size, error)
    with _lock:
        _kept[path] = (state, found)
        while len(_kept) > _OPEN:
            _kept.popitem(last=False)
    return found


def read_member(path: str, name: str, error: type[FaultscapeError]) -> bytes:
    """Return the bytes of a member; ``error`` if there is none."""
    place = members(path, error).get(name)
    if place is None:
        raise error(f"{path}#{name}: the tar has no such file; it has changed, so run collect again")
    start, size = place
    try:
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(size)
    except OSError as fault:
        raise error(f"{path}: {fault.strerror}") from None
    if len(data) != size:
        raise error(f"{path}#{name}: the tar ends within this file; copy or download it again")
    return data


def _read(path: str, size: int, error: type[FaultscapeError]) -> Places:
    found: Places = {}
    try:
        with open(path, "rb") as file:
            start = file.read(2)
        if tool := _COMPRESSED.get(start):
            raise error(f"{path}: is compressed, so its files cannot be found; unpack it first: {tool}")
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                _check(path, member, size, error)
                if not member.isdir():
                    found[member.name] = (member.offset_data, member.size)
                vars(archive)["members"] = []  # it keeps every header otherwise
                if len(found) > _MOST:
                    raise error(f"{path}: holds more than {_MOST:,} files; split it")
    except (tarfile.TarError, OSError, ValueError, EOFError, MemoryError) as fault:
        raise error(f"{path}: cannot be read as a tar: {library_text(fault)}") from None
    if not found:
        raise error(f"{path}: is an empty tar")
    return found


def _check(path: str, member: tarfile.TarInfo, size: int, error: type[FaultscapeError]) -> None:
    """Raise ``error`` unless a member is a plain file, or a folder, that stays inside."""
    name = member.name[:80]
    if not is_inside(member.name):
        raise error(f"{path}: refused, because the name of its file {name!r} leads out of a folder")
    if member.isdir():
        return
    if not member.isreg() or member.issparse():
        kind = "a link" if member.islnk() or member.issym() else "not a plain file"
        raise error(f"{path}: refused, because its file {name!r} is {kind}; make the tar of plain files")
    if member.offset_data + member.size > size:
        raise error(f"{path}: ends within its file {name!r}; copy or download it again")
