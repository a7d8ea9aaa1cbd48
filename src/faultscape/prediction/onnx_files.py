"""Which files beside an ONNX file hold its weights, read from the file itself without the package onnx.

Conventions: an ONNX file is a message of protocol buffers: fields, each a number with how it is written, then its value; messages lie within messages. Numbers are
those of onnx.proto. Only what leads to tensors is followed, and the numbers of a tensor are stepped over.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from faultscape.errors import ModelError

Field = tuple[int, int, int]  # number of the field; where its bytes begin and end, or its value twice

WITHIN = {
    "ModelProto": {7: "GraphProto", 25: "FunctionProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "GraphProto": {1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {5: "TensorProto", 6: "GraphProto", 10: "TensorProto", 11: "GraphProto", 22: "SparseTensorProto", 23: "SparseTensorProto"},
    "SparseTensorProto": {1: "TensorProto", 2: "TensorProto"},
}  # fmt: skip
PLACES, WHERE, ELSEWHERE = (
    13,
    14,
    1,
)  # of a tensor: keys and values on where its numbers lie; whether that counts, and that it does


def weights_beside(path: str | Path) -> list[Path]:
    """Return the files that hold weights of an ONNX file, in the order of their names; none where it is no such file, which its reader says better.

    ModelError where one of them is not there, or is named outside the file's folder.
    """
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            named = sorted(set(_locations(data)))
    except (OSError, ValueError, IndexError):
        return []
    files = []
    for name in named:
        plain = Path(os.path.normpath(name))
        if plain.is_absolute() or plain.parts[:1] == ("..",):
            raise ModelError(
                f"{path}: names weights outside its folder, {name[:200]!r}; put them beside it, and save it with that name"
            )
        file = Path(path).parent / plain
        if not file.is_file():
            raise ModelError(f"{path}: its weights {name[:200]!r} are not beside it; put that file into its folder")
        files.append(file)
    return files


def _locations(data: mmap.mmap) -> Iterator[str]:
    """Yield where the numbers of tensors lie that are not in the file; IndexError or ValueError where it is torn or another."""
    todo = [("ModelProto", 0, len(data))]
    while todo:
        kind, first, last = todo.pop()
        if kind != "TensorProto":
            within = WITHIN[kind]
            todo += [(within[number], start, end) for number, start, end in _fields(data, first, last) if number in within]
            continue
        fields = list(_fields(data, first, last))
        if (WHERE, ELSEWHERE, ELSEWHERE) in fields:
            for number, start, end in fields:
                entry = {n: data[a:b] for n, a, b in _fields(data, start, end)} if number == PLACES else {}
                if entry.get(1) == b"location":
                    yield entry.get(2, b"").decode()


def _fields(data: mmap.mmap, at: int, last: int) -> Iterator[Field]:
    """Yield the fields of the message that lies from one byte to another."""
    while at < last:
        key, at = _number(data, at)
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
            case _:
                raise ValueError


def _number(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Return a number written in sevens of bits, lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError
