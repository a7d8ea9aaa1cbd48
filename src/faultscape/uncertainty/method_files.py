"""The file of a method that was fitted to a network: how it is called, its digest, and what it says about
itself. Light: nothing of torch is loaded.

Conventions: STUDY/methods/MODEL/NAME.safetensors: tensors, and in the metadata of its header a JSON object.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pydantic

from faultscape.errors import ModelError, library_text

ENDING = ".safetensors"
ABOUT = "about"  # the key of its metadata
_DIGITS = 12  # of a digest: as many as a scorer's word has
_MOST = 1 << 24  # bytes of a header


@dataclass(frozen=True)
class MethodAbout:
    """What the file of a fitted method says: the method, its options, the layers that it taps, the digest of
    the network that it was fitted to, its flags, the sets of its training images, and that which it was
    searched with, '' for none, how images were shown, how it was made, and what is to be known beside it.
    """

    method: str
    options: dict[str, bool | int | float | str]
    layers: tuple[str, ...]
    network: str
    flags: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    validation: str = ""
    shown: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict)
    more: Mapping[str, object] = field(default_factory=dict)


_READ = pydantic.TypeAdapter(MethodAbout)


def digest(path: Path) -> str:
    """Return a digest of the file of a fitted method."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]


def about_text(about: MethodAbout) -> str:
    """Return what a file says about itself, as its metadata holds it."""
    return json.dumps(_READ.dump_python(about, mode="json"), sort_keys=True)


def about_of(text: str, path: Path) -> MethodAbout:
    """Return what such a text says; ModelError where it is none, of the file ``path``."""
    try:
        return _READ.validate_json(text)
    except ValueError as error:
        raise not_a_method(path, error) from None


def read_about(path: Path) -> MethodAbout:
    """Return what the file of a fitted method says about itself; ModelError where it is none."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(min(int.from_bytes(file.read(8), "little"), _MOST)))
        return _READ.validate_json(header["__metadata__"][ABOUT])
    except FileNotFoundError:
        raise ModelError(f"{path}: fitted method not found") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:  # pydantic's are ValueErrors
        raise not_a_method(path, error) from None


def not_a_method(path: Path, error: BaseException) -> ModelError:
    """Return what to raise for a file that is none of a fitted method."""
    return ModelError(
        f"{path}: not the file of a fitted method: {library_text(error, most=200)}; fit it again"
    )
