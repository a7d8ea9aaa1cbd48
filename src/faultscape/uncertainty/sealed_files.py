"""Files of tensors that carry a checksum of themselves, so that a flipped bit is noticed before it counts.

Conventions: a safetensors file whose metadata is one text, ``sha256:DIGEST REST``: DIGEST is the SHA-256 of
the whole file with zeros instead of its own 64 digits. One text, since the library writes several in any
order. Weights, checkpoints and fitted methods are such files.
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

_ABOUT, _BLANK = "about", "0" * 64
_DIGEST = re.compile(rb'"__metadata__":\{"about":"sha256:([0-9a-f]{64}) ')
_MOST = 1 << 24  # bytes of a header
_PIECE = 1 << 22  # bytes


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


def is_whole(file: IO[bytes]) -> bool:
    """Whether a file opened at its start holds the checksum of its own bytes."""
    size = file.read(8)
    header = file.read(min(int.from_bytes(size, "little"), _MOST))
    found = _DIGEST.search(header)
    if found is None:
        return False
    start, end = found.span(1)
    digest = hashlib.sha256(size + header[:start] + _BLANK.encode() + header[end:])
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest().encode() == found[1]


def read_text(path: Path) -> str:
    """Return the text of a file without reading its tensors, and so without looking at its checksum; OSError,
    ValueError, KeyError or TypeError if it has none.
    """
    with path.open("rb") as file:
        header = json.loads(file.read(min(int.from_bytes(file.read(8), "little"), _MOST)))
    return str(header["__metadata__"][_ABOUT]).partition(" ")[2]
