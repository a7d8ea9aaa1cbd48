"""Scorers of a line that are methods fitted to a model: each becomes the word of the file that holds it, ``NAME@DIGEST``.

Conventions: a method that was fitted again has another digest, so that what was scored by the one before counts no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from faultscape.errors import OptionError, closest
from faultscape.metrics.scorers import is_fitted, split_fitted
from faultscape.study.settings import Settings
from faultscape.uncertainty.method_files import ENDING, MethodAbout, digest, read_about


def methods_folder(root: Path, model: str) -> Path:
    """Return where the methods lie that were fitted to a model."""
    return root / "methods" / model


def methods_of_model(root: Path, settings: Settings, model: str) -> dict[str, MethodAbout]:
    """Return {scorer: what its file says} of the methods that score a model, of those that are there as they scored."""
    words = cast("list[str]", settings.models[model].options.get("scorer", []))
    asked = {parts[0]: parts[1] for word in words if (parts := split_fitted(word)) is not None}
    paths = {name: methods_folder(root, model) / f"{name}{ENDING}" for name in asked}
    return {name: read_about(path) for name, path in paths.items() if path.is_file() and digest(path) == asked[name]}


def with_digests(root: Path, model: str, words: Sequence[str], *, of_network: bool = True) -> list[str]:
    """Return words of scorers, those of methods with the digest of what was fitted to a model. OptionError where one was not fitted, or the model is no network."""
    out = []
    for word in words:
        parts = split_fitted(word)
        name = parts[0] if parts else word
        if not is_fitted(name):
            out.append(word)
            continue
        if not of_network:
            raise OptionError(
                f"--scorer {name} is a method that is fitted to a network, which {model} is not; score networks with it"
            )
        path = methods_folder(root, model) / f"{name}{ENDING}"
        if not path.is_file():
            known = sorted(file.stem for file in path.parent.glob(f"*{ENDING}"))
            has = (
                f"{model} has {', '.join(known)}.{closest(name, known)}"
                if known
                else f"run `faultscape fit {root} {name} --model {model}` first"
            )
            raise OptionError(f"--scorer {name} is a method that was not fitted to {model}; {has}")
        out.append(f"{name}@{digest(path)}")
    return out
