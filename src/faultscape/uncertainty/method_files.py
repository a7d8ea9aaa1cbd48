"""The file of a method fitted to a network: its name, its digest and its metadata, without loading torch.

Conventions: STUDY/methods/MODEL/NAME.safetensors holds tensors, a JSON object in its header metadata, and a
checksum of itself, which is compared when the tensors are read.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pydantic

from faultscape.errors import FaultscapeError, ModelError, library_text
from faultscape.study.settings import read_settings
from faultscape.terminal_lines import option_words
from faultscape.uncertainty import sealed_files

ENDING = ".safetensors"
_DIGITS = 12  # of a digest, as in a scorer's name


@dataclass(frozen=True)
class MethodAbout:
    """The metadata of a fitted method: the method, its options, the layers that it taps, the digest of the
    network that it was fitted to, its flags, the sets of its training images, the set used for the search and
    that of the unknown objects that taught it ('' for none), the family of these objects, the digest of the
    backbone whose patches it scores ('' for a method of the network's own layers; its source is then the
    layer), how images were shown, how it was made, further information, and the metadata of the methods that
    are its parts.
    """

    method: str
    options: dict[str, bool | int | float | str]
    layers: tuple[str, ...]
    network: str
    flags: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    validation: str = ""
    negatives: str = ""
    family: str = ""
    backbone: str = ""
    shown: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict)
    more: Mapping[str, object] = field(default_factory=dict)
    parts: tuple[MethodAbout, ...] = ()

    @property
    def families(self) -> tuple[str, ...]:
        """The families of the objects that taught it or its parts, each once."""
        return tuple(dict.fromkeys(one.family for one in (self, *self.parts) if one.family))


_READ = pydantic.TypeAdapter(MethodAbout)


def words_of(parts: str) -> list[str]:
    """Return the parts that an option names, separated by commas.

    >>> words_of("entropy, residual@3fa2c1b2d4e5")
    ['entropy', 'residual@3fa2c1b2d4e5']
    """
    return [word.strip() for word in parts.split(",")]


def fitted_parts(about: MethodAbout) -> list[str]:
    """Return the names of the fitted methods that a method joins."""
    found = [word.partition("@") for word in words_of(str(about.options.get("parts", "")))]
    return [name for name, at, _ in found if at]


def digest(path: Path) -> str:
    """Return a digest of the file of a fitted method."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]


def about_text(about: MethodAbout) -> str:
    """Return the metadata as the text stored in the file."""
    return json.dumps(_READ.dump_python(about, mode="json"), sort_keys=True)


def about_of(text: str, path: Path) -> MethodAbout:
    """Return the metadata in a text; ModelError, naming the file ``path``, if it is invalid."""
    try:
        return _READ.validate_json(text)
    except ValueError as error:
        raise not_a_method(path, error) from None


def read_about(path: Path) -> MethodAbout:
    """Return the metadata of a fitted method's file; ModelError if it is not such a file."""
    try:
        return _READ.validate_json(sealed_files.read_text(path))
    except FileNotFoundError:
        raise ModelError(f"{path}: fitted method not found") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:  # pydantic's are ValueErrors
        raise not_a_method(path, error) from None


def line_again(path: Path, about: MethodAbout) -> str:
    """Return the command that fits the method of a file again."""
    study = path.parents[2]
    known = list[str]()
    with suppress(FaultscapeError):  # a damaged study.toml has an error of its own
        known = [*read_settings(study).models]
    return fit_line(shlex.quote(str(study)), path.parent.name, about, known)


def fit_line(study: str, model: str, about: MethodAbout, known: Collection[str]) -> str:
    """Return the command that fits a method again to a model of a study, which is quoted for a shell; a model
    that is not one of the ``known`` ones is given with the source that was recorded.
    """
    given = about.provenance.get("arguments")
    source = about.provenance.get("source")
    named = f"{model}={source}" if source and model not in known else model
    words = option_words({"model": named, **(given if isinstance(given, dict) else {})})
    return " ".join(["faultscape fit", study, about.method, *words])


def not_a_method(path: Path, error: BaseException) -> ModelError:
    """Return the error for a file that does not hold a fitted method."""
    why = library_text(error, most=200)
    if isinstance(error, pydantic.ValidationError):  # its own words are about Python's types
        wrong = dict.fromkeys(str(one["loc"][0]) for one in error.errors() if one["loc"])
        why = (
            f"no valid {', '.join(wrong)} in its metadata" if wrong else "its metadata are not a JSON object"
        )
    return ModelError(f"{path}: not the file of a fitted method: {why}; fit it again")
