"""Scorers that are fitted methods: each name becomes ``NAME@DIGEST``, with the digest of its file.

Conventions: refitting a method changes its digest, so that its earlier scores no longer count. The
description of a method when it scored is stored in STUDY/methods/MODEL/scored, so that its flags stay with
its numbers.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from faultscape.errors import ModelError, OptionError, closest
from faultscape.metrics.scorers import is_fitted, split_fitted
from faultscape.study.folder import put
from faultscape.uncertainty.method_files import ENDING, MethodAbout, about_of, about_text, digest, read_about

if TYPE_CHECKING:
    from faultscape.reading.study import Study

_SAID = "scored"


def methods_folder(root: Path, model: str) -> Path:
    """Return the folder of the methods fitted to a model."""
    return root / "methods" / model


def methods_of_model(study: Study, model: str) -> dict[str, MethodAbout]:
    """Return {scorer: description of its file when it scored} of the methods that score a model, if known."""
    return {name: about for name, about, _ in _scored(study, model) if about is not None}


def fitted_again(study: Study, model: str) -> list[str]:
    """Return the methods of a model that were refitted differently since they scored."""
    found = []
    for name, about, path in _scored(study, model):
        with suppress(ModelError):  # its file is gone or damaged
            if about is not None and read_about(path) != about:
                found.append(name)
    return found


def unknown_methods(study: Study, model: str) -> list[str]:
    """Return the methods that score a model and whose description is lost."""
    return [name for name, about, _ in _scored(study, model) if about is None]


def _scored(study: Study, model: str) -> Iterator[tuple[str, MethodAbout | None, Path]]:
    """Yield (name, what its file said when it scored, where its file is now) of each method that scores a
    model.
    """
    for word in cast("list[str]", study.settings.models[model].options.get("scorer", [])):
        if (parts := split_fitted(word)) is not None:
            name, of = parts
            folder = methods_folder(study.root, model)
            path = folder / f"{name}{ENDING}"
            said = folder / _SAID / f"{word}.json"
            about = None
            with suppress(ModelError, OSError, UnicodeDecodeError):  # gone or damaged: unknown
                if said.is_file():
                    about = about_of(said.read_text(encoding="utf-8"), said)
                elif path.is_file() and digest(path) == of:
                    about = read_about(path)
            yield name, about, path


def keep_said(root: Path, model: str, words: Sequence[str]) -> None:
    """Store the descriptions of the methods among the scorers, so that they survive a refit or deletion."""
    for word in words:
        if (parts := split_fitted(word)) is not None:
            folder = methods_folder(root, model)
            if not (said := folder / _SAID / f"{word}.json").is_file():
                said.parent.mkdir(parents=True, exist_ok=True)
                put(said, about_text(read_about(folder / f"{parts[0]}{ENDING}")).encode())


def with_digests(root: Path, model: str, words: Sequence[str], *, of_network: bool = True) -> list[str]:
    """Return the scorers, methods with the digest of their file. OptionError if one was not fitted, or the
    model is not a network.
    """
    out = []
    for word in words:
        parts = split_fitted(word)
        name = parts[0] if parts else word
        if not is_fitted(name):
            out.append(word)
            continue
        if not of_network:
            raise OptionError(f"--scorer {name} needs a network, and {model} is not one")
        path = methods_folder(root, model) / f"{name}{ENDING}"
        if not path.is_file():
            known = sorted(file.stem for file in path.parent.glob(f"*{ENDING}"))
            has = (
                f"{model} has {', '.join(known)}.{closest(name, known)}"
                if known
                else f"run `faultscape fit {shlex.quote(str(root))} {name} --model {shlex.quote(model)}`"
                " first"
            )
            if parts:
                has = f"fit it again, or list the scorers to keep with --scorer; {has}"
            why = f"scored {model}, and its file is gone" if parts else f"was not fitted to {model}"
            raise OptionError(f"--scorer {name} is a method that {why}; {has}")
        out.append(f"{name}@{digest(path)}")
    return out
