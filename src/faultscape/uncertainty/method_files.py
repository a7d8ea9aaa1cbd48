"""The file of a method that was fitted to a network: how it is called, and its digest. Light: nothing of torch is loaded.

Conventions: STUDY/methods/MODEL/NAME.safetensors.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

ENDING = ".safetensors"
_DIGITS = 12  # of a digest: as many as a scorer's word has


def digest(path: Path) -> str:
    """Return a digest of the file of a fitted method."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]
