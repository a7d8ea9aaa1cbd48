"""Scorers of a line that are methods fitted to a model: each becomes the word of the file that holds it,
``NAME@DIGEST``.

Conventions: a method that was fitted again has another digest, so that what was scored by the one before
counts no more. What a method's file said when it scored stays in STUDY/methods/MODEL/scored, so that its
flags follow its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from faultscape.errors import ModelError, OptionError, closest
from faultscape.metrics.scorers import is_fitted, split_fitted
from faultscape.study.folder import put
from faultscape.study.settings import Settings
from faultscape.uncertainty.method_files import ENDING, MethodAbout, about_of, about_text, digest, read_about

_SAID = "scored"


def methods_folder(root: Path, model: str) -> Path:
    """Return where the methods lie that were fitted to a model."""
    return root / "methods" / model


def methods_of_model(root: Path, settings: Settings, model: str) -> dict[str, MethodAbout]:
    """Return {scorer: what its file said when it scored} of the methods that score a model, of those of which
    that is known.
    """
    return {name: about for name, about, _ in _scored(root, settings, model) if about is not None}


def fitted_again(root: Path, settings: Settings, model: str) -> list[str]:
    """Return the methods of a model that were fitted again, in another way, since they scored."""
    found = []
    for name, about, path in _scored(root, settings, model):
        with suppress(ModelError):  # its file is gone or damaged
            if about is not None and read_about(path) != about:
                found.append(name)
    return found


def unknown_methods(root: Path, settings: Settings, model: str) -> list[str]:
    """Return the methods that score a model of which nothing is known any more."""
    return [name for name, about, _ in _scored(root, settings, model) if about is None]


def _scored(root: Path, settings: Settings, model: str) -> Iterator[tuple[str, MethodAbout | None, Path]]:
    """Yield (name, what its file said when it scored, where its file lies now) of each method that scores a
    model.
    """
    for word in cast("list[str]", settings.models[model].options.get("scorer", [])):
        if (parts := split_fitted(word)) is not None:
            (name, of), folder = parts, methods_folder(root, model)
            path, said = folder / f"{name}{ENDING}", folder / _SAID / f"{word}.json"
            about = None
            with suppress(ModelError, OSError, UnicodeDecodeError):  # gone or damaged: it is not known
                if said.is_file():
                    about = about_of(said.read_text(encoding="utf-8"), said)
                elif path.is_file() and digest(path) == of:
                    about = read_about(path)
            yield name, about, path


def keep_said(root: Path, model: str, words: Sequence[str]) -> None:
    """Keep what the files of methods among words say, so that it is known when the method is fitted again or
    deleted.
    """
    for word in words:
        if (parts := split_fitted(word)) is not None:
            folder = methods_folder(root, model)
            if not (said := folder / _SAID / f"{word}.json").is_file():
                said.parent.mkdir(parents=True, exist_ok=True)
                put(said, about_text(read_about(folder / f"{parts[0]}{ENDING}")).encode())


def with_digests(root: Path, model: str, words: Sequence[str], *, of_network: bool = True) -> list[str]:
    """Return words of scorers, those of methods with the digest of what was fitted to a model. OptionError
    where one was not fitted, or the model is not a network.
    """
    out = []
    for word in words:
        parts = split_fitted(word)
        name = parts[0] if parts else word
        if not is_fitted(name):
            out.append(word)
            continue
        if not of_network:
            raise OptionError(
                f"--scorer {name} is a method that is fitted to a network, which {model} is not; score"
                " networks with it"
            )
        path = methods_folder(root, model) / f"{name}{ENDING}"
        if not path.is_file():
            known = sorted(file.stem for file in path.parent.glob(f"*{ENDING}"))
            has = (
                f"{model} has {', '.join(known)}.{closest(name, known)}"
                if known
                else f"run `faultscape fit {root} {name} --model {model}` first"
            )
            if parts:
                has = f"fit it again, or name the scorers that stay with --scorer; {has}"
            why = f"scored {model}, and its file is gone" if parts else f"was not fitted to {model}"
            raise OptionError(f"--scorer {name} is a method that {why}; {has}")
        out.append(f"{name}@{digest(path)}")
    return out
