"""What is known about a model that `train` made, and about its fitted methods, for pages and flags.

Conventions: losses are means over equal stretches of steps, up to a maximum number. A folder that is gone or
damaged yields nothing. A scorer that is a fitted method is named ``NAME@DIGEST``, with the digest of its
file: refitting it changes the digest, so that its earlier scores no longer count. The description of a method
when it scored is stored in STUDY/methods/MODEL/scored, so that its flags stay with its numbers.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from faultscape.errors import FaultscapeError, ModelError, OptionError, closest
from faultscape.metrics.scorers import is_fitted, split_fitted
from faultscape.prediction.sources.network_folder import folder_of
from faultscape.reporting.reliability.document import RETRAINED, TRAINED_WITH_OOD, CardTraining
from faultscape.study.folder import put
from faultscape.study.json_text import read_object
from faultscape.study.settings import ModelSettings, Settings
from faultscape.uncertainty.method_files import ENDING, MethodAbout, about_of, about_text, digest, read_about
from faultscape.uncertainty.training.curves import Row, read_rows

POINTS = 120


def training_of(about: ModelSettings) -> CardTraining | None:
    """Return how a model was trained; None if `train` did not make it, or its folder has no record."""
    return read_training(folder_of(about.source)) if about.kind == "trained" else None


def read_training(folder: Path) -> CardTraining | None:
    """Return how the network in a folder of `train` was trained, or None without a record."""
    try:
        held = read_object((folder / "network.json").read_bytes())
        network, provenance, plan = (
            cast("dict[str, Any]", held[key]) for key in ("network", "provenance", "plan")
        )
        arguments = provenance["arguments"]
        rows = read_rows(folder)
        return {
            "backbone": str(network["backbone"]),
            "head": str(network["head"]),
            "loss": str(arguments.get("loss", "ce")),
            "images": int(provenance["images"]),
            "withheld": [str(name) for name in provenance["withheld"]],
            "steps": len(rows),
            "batch": int(plan["batch"]),
            "rate": float(plan["rate"]),
            "inherited": [str(flag) for flag in provenance.get("flags", [])],
            "losses": losses_of(rows),
            "watched": [
                [row.step, row.validation_miou, row.validation_nll]
                for row in rows
                if row.validation_miou == row.validation_miou
            ],
        }
    except (OSError, ValueError, KeyError, TypeError, FaultscapeError):
        return None


def flags_of(training: CardTraining | None) -> list[str]:
    """Return the flags of a model from how it, and the network that it started from, were trained: Table 1 of
    Blum et al. 2021 marks methods that need their own training, and those that saw unknown objects.
    """
    if training is None:
        return []
    own = training["head"] != "linear" or training["loss"] != "ce"
    mine = {
        *training["inherited"],
        *([RETRAINED] if own else []),
        *([TRAINED_WITH_OOD] if training["loss"] != "ce" else []),
    }
    return [flag for flag in (RETRAINED, TRAINED_WITH_OOD) if flag in mine]


def losses_of(rows: list[Row]) -> list[list[float]]:
    """Return [step, mean loss] of equal stretches of steps.

    >>> losses_of([Row(1, 4.0, 0.1, 1.0, 1.0), Row(2, 2.0, 0.1, 1.0, 1.0)])
    [[1, 4.0], [2, 2.0]]
    """
    count = min(POINTS, len(rows))
    out = []
    for k in range(count):
        part = rows[k * len(rows) // count : (k + 1) * len(rows) // count]
        out.append([part[-1].step, sum(row.loss for row in part) / len(part)])
    return out


_SAID = "scored"


def methods_folder(root: Path, model: str) -> Path:
    """Return the folder of the methods fitted to a model."""
    return root / "methods" / model


def methods_of_model(root: Path, settings: Settings, model: str) -> dict[str, MethodAbout]:
    """Return {scorer: description of its file when it scored} of the methods that score a model, if known."""
    return {name: about for name, about, _ in _scored(root, settings, model) if about is not None}


def fitted_again(root: Path, settings: Settings, model: str) -> list[str]:
    """Return the methods of a model that were refitted differently since they scored."""
    found = []
    for name, about, path in _scored(root, settings, model):
        with suppress(ModelError):  # its file is gone or damaged
            if about is not None and read_about(path) != about:
                found.append(name)
    return found


def unknown_methods(root: Path, settings: Settings, model: str) -> list[str]:
    """Return the methods that score a model and whose description is lost."""
    return [name for name, about, _ in _scored(root, settings, model) if about is None]


def _scored(root: Path, settings: Settings, model: str) -> Iterator[tuple[str, MethodAbout | None, Path]]:
    """Yield (name, what its file said when it scored, where its file is now) of each method that scores a
    model.
    """
    for word in cast("list[str]", settings.models[model].options.get("scorer", [])):
        if (parts := split_fitted(word)) is not None:
            (name, of), folder = parts, methods_folder(root, model)
            path, said = folder / f"{name}{ENDING}", folder / _SAID / f"{word}.json"
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
