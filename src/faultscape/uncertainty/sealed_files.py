"""Files of tensors that carry a checksum of themselves, so that a flipped bit is noticed before it counts.

Conventions: a safetensors file whose metadata is one text, ``sha256:DIGEST REST``: DIGEST is the SHA-256 of
the whole file with zeros instead of its own 64 digits. One text, since the library writes several in any
order. Weights, checkpoints and fitted methods are such files; earlier versions wrote them without a checksum.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from faultscape.study.folder import put

if TYPE_CHECKING:
    from torch import Tensor

_ABOUT = "about"
_BLANK = "0" * 64
# where a bit of one half flipped, the other still tells such a file from one without a checksum
_SEAL = re.compile(rb"sha256:|[0-9a-f]{64} ")
_DIGEST = re.compile(rb'"__metadata__":\{"about":"sha256:([0-9a-f]{64}) ')
_MOST = 1 << 24  # bytes of a header
_PIECE = 1 << 22  # bytes
_DAMAGED = "is damaged (its checksum is wrong)"
_UNSEALED = "has no checksum, so an earlier version made it"


def write(path: Path, tensors: Mapping[str, Tensor], text: str = "") -> None:
    """Write a file of tensors with a text, and its checksum."""
    from safetensors.torch import save

    held = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    data = save(held, {_ABOUT: f"sha256:{_BLANK} {text}"})
    found = _DIGEST.search(data, 0, _MOST)
    assert found is not None
    view, start, end = memoryview(data), *found.span(1)
    digest = hashlib.sha256(data).hexdigest().encode()
    put(path, b"".join([view[:start], digest, view[end:]]))


def fault(file: IO[bytes]) -> str:
    """Return in words why a file opened at its start does not hold the checksum of its own bytes, '' if it
    does.
    """
    size = file.read(8)
    header = file.read(min(int.from_bytes(size, "little"), _MOST))
    found = _DIGEST.search(header)
    if found is None:
        return _DAMAGED if _SEAL.search(header) or not _is_object(header) else _UNSEALED
    start, end = found.span(1)
    digest = hashlib.sha256(size + header[:start] + _BLANK.encode() + header[end:])
    while piece := file.read(_PIECE):
        digest.update(piece)
    return "" if digest.hexdigest().encode() == found[1] else _DAMAGED


def is_whole(file: IO[bytes]) -> bool:
    """Whether a file opened at its start holds the checksum of its own bytes."""
    return not fault(file)


def _is_object(header: bytes) -> bool:
    try:
        return isinstance(json.loads(header), dict)
    except (ValueError, RecursionError):
        return False


def is_sealed(path: Path) -> bool:
    """Whether a file holds a checksum, right or wrong; OSError if it cannot be read."""
    with path.open("rb") as file:
        header = file.read(min(int.from_bytes(file.read(8), "little"), _MOST))
    return _SEAL.search(header) is not None


def read_text(path: Path) -> str:
    """Return the text of a file without reading its tensors, and so without looking at its checksum; OSError,
    ValueError, KeyError or TypeError if it has none.
    """
    with path.open("rb") as file:
        header = json.loads(file.read(min(int.from_bytes(file.read(8), "little"), _MOST)))
    # the text of an earlier version's file still says how to make it again
    return re.sub("^sha256:[0-9a-f]{64} ", "", str(header["__metadata__"][_ABOUT]))
