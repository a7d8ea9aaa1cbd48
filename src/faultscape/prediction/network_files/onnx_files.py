"""The files beside an ONNX file that hold its weights, found by reading the file without the onnx package.

Conventions: an ONNX file is a protocol buffer message: fields, each a number with its wire type, then its
value; messages are nested. Numbers are those of onnx.proto. Only fields that lead to tensors are followed,
and the data of a tensor is skipped. Everything that a reader of protocol buffers accepts is accepted, so that
none finds weights which this one does not; a single field that is given twice is refused, since readers
merge the two. Operators that onnxruntime does not have are left to it: it names them. The size that a
tensor declares is compared with the file that holds it, before that is read.
"""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from faultscape.errors import ModelError
from faultscape.prediction.stamps import digest_of_files
from faultscape.study.settings import ModelOptions

# limits of an ONNX file: protocol buffers hold no more bytes; the largest networks have some 100,000 fields
MOST_BYTES = 1 << 31
MOST_FIELDS = 5_000_000
Field = tuple[int, int, int]  # field number; begin and end of its bytes, or its value twice

WITHIN = {
    "ModelProto": {7: "GraphProto", 20: "TrainingInfoProto", 25: "FunctionProto"},
    "TrainingInfoProto": {1: "GraphProto", 2: "GraphProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "GraphProto": {1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {
        5: "TensorProto",
        6: "GraphProto",
        10: "TensorProto",
        11: "GraphProto",
        22: "SparseTensorProto",
        23: "SparseTensorProto",
    },
    "SparseTensorProto": {1: "TensorProto", 2: "TensorProto"},
}
# those of these fields that may stand once in their message
ONCE = {
    "ModelProto": (7,),
    "TrainingInfoProto": (1, 2),
    "AttributeProto": (5, 6, 22),
    "SparseTensorProto": (1, 2),
}
# fields of a tensor: where its data is stored; whether that is external, and the value for external
PLACES = 13
WHERE = 14
ELSEWHERE = 1
_BITS = (1 << 32) - 1  # what readers keep of the number of a key or of a choice


_REST = 1 << 26  # bytes after the last tensor data that still count as the network's


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of a network's file and of the files beside it that hold its weights."""
    del options
    files = [(Path(source), Path(source).stat().st_size)]
    for file, end in weights_beside(source).items():
        # bytes far after the last tensor data do not belong to this network
        size = file.stat().st_size
        files.append((file, end if end and size > end + _REST else size))
    return digest_of_files(source, files)


def weights_beside(path: str | Path) -> dict[Path, int]:
    """Return the files that hold weights of an ONNX file, in order of name, with the number of bytes from the
    start of each that it uses (0: all); empty if it is not an ONNX file, which its reader reports better.

    ModelError if one of them is missing, is shorter than that, or lies outside the file's folder, or if the
    ONNX file itself is larger than one can be.
    """
    try:
        size = os.stat(path).st_size
        if size > MOST_BYTES:
            raise ModelError(
                f"{path}: has {size:,} bytes; an ONNX file has at most {MOST_BYTES:,}; larger weights"
                " belong in separate files next to it"
            )
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            named: dict[str, int] = {}
            for name, end in _weights(data, str(path)):
                named[name] = max(end, named.get(name, 0)) if end and named.get(name, end) else 0
    except (OSError, ValueError, IndexError):
        return {}
    files = {}
    for name, end in sorted(named.items()):
        plain = Path(os.path.normpath(name))
        if plain.is_absolute() or plain.parts[:1] == ("..",):
            raise ModelError(
                f"{path}: names weights outside its folder, {name[:200]!r}; put them next to it and save it"
                " with that name"
            )
        file = Path(path).parent / plain
        if not file.is_file():
            raise ModelError(f"{path}: its weights {name[:200]!r} are missing; put that file into its folder")
        if (size := file.stat().st_size) < end:
            raise ModelError(
                f"{path}: its weights {name[:200]!r} have {size:,} bytes, but {end:,} are expected; copy"
                " that file again"
            )
        files[file] = end
    return files


def _weights(data: mmap.mmap, path: str) -> Iterator[tuple[str, int]]:
    """Yield the files of external tensor data, and where the data ends there; IndexError or ValueError if the
    ONNX file is truncated or something else.
    """
    todo = [("ModelProto", 0, len(data))]
    left = MOST_FIELDS
    while todo:
        kind, first, last = todo.pop()
        fields = list(itertools.islice(_fields(data, first, last), left + 1))
        left -= len(fields)
        if left < 0:
            raise ModelError(f"{path}: has more than {MOST_FIELDS:,} fields, which no network has")
        for once in ONCE.get(kind, ()):
            if sum(number == once for number, _, _ in fields) > 1:
                raise ModelError(f"{path}: has field {once} of a {kind} twice; it is forged")
        if kind != "TensorProto":
            todo += [
                (WITHIN[kind][number], start, end) for number, start, end in fields if number in WITHIN[kind]
            ]
        elif any(number == WHERE and value & _BITS == ELSEWHERE for number, value, _ in fields):
            places = []
            said = {}
            for number, start, end in fields:
                if number == PLACES:
                    entry = {n: _text(data[a:b]) for n, a, b in _fields(data, start, end)}
                    said[entry.get(1, "")] = entry.get(2, "")
                    places += [entry.get(2, "")] if entry.get(1, "") == "location" else []
            for place in places:
                yield place, _end_of(said)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _end_of(said: dict[str, str]) -> int:
    """Return where external data ends in its file, 0 (all of it counts) where that is not said in numbers."""
    try:
        return int(said.get("offset") or 0) + int(said["length"])
    except (KeyError, ValueError):
        return 0


def _fields(data: mmap.mmap, at: int, last: int) -> Iterator[Field]:
    """Yield the fields of the message between two byte positions."""
    while at < last:
        key, at = _key(data, at)
        if key < 8:  # no field has the number 0
            raise ValueError
        match key & 7:
            case 0:
                value, at = _number(data, at)
                yield key >> 3, value, value
            case 2:
                length, at = _number(data, at)
                if at + length > last:
                    raise ValueError
                yield key >> 3, at, at + length
                at += length
            case 1 | 5 as fixed:
                at += 8 if fixed == 1 else 4
            case 3:
                at = _after_group(data, at, last, key >> 3)
            case _:
                raise ValueError


def _after_group(data: mmap.mmap, at: int, last: int, number: int) -> int:
    """Return where a group ends: fields up to an end with its number, groups within it among them."""
    open_groups = [number]
    while open_groups:
        if at >= last:
            raise ValueError
        key, at = _key(data, at)
        match key & 7:
            case 0:
                _, at = _number(data, at)
            case 2:
                length, at = _number(data, at)
                at += length
            case 1 | 5 as fixed:
                at += 8 if fixed == 1 else 4
            case 3:
                open_groups.append(key >> 3)
            case 4 if open_groups[-1] == key >> 3:
                open_groups.pop()
            case _:
                raise ValueError
    return at


def _key(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Return the key of a field, of which readers keep 32 bits, and where it ends."""
    key, at = _number(data, at)
    return key & _BITS, at


def _number(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Return a varint (groups of seven bits, lowest first) and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value = value | (byte & 127) << shift
        shift = shift + 7
        at = at + 1
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError
