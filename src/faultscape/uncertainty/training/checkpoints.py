"""Checkpoints: everything that training needs to resume as if it had never stopped, as tensors in
one file.

Conventions: a checkpoint is ``step-N-KEY.safetensors``, where KEY is the first digits of the training's key.
It holds weights under ``model/``, the optimiser's tensors under ``optimiser/NAME/PARAMETER``, the step, the
key, the seconds of training so far and the state of mixed precision in its metadata, and a checksum of itself
(`sealed_files`). Random state is not part of it, because that depends on the seed and the step. The last two
are kept; one is written only if all weights are finite.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from faultscape.errors import ModelError, library_text
from faultscape.uncertainty import sealed_files
from faultscape.uncertainty.description import differing

_NAME = re.compile(r"step-(\d+)-(\w+)\.safetensors")
KEPT = 2


def write(
    folder: Path, step: int, key: str, net: nn.Module, optimiser: torch.optim.Optimizer, more: dict[str, Any]
) -> None:
    """Write the checkpoint of a step, and remove all but the last ones."""
    tensors = {f"model/{name}": value for name, value in net.state_dict().items()}
    if not all(torch.isfinite(value).all() for value in tensors.values() if value.is_floating_point()):
        return
    for number, held in optimiser.state_dict()["state"].items():
        for name, value in held.items():
            tensors[f"optimiser/{number}/{name}"] = torch.as_tensor(value)
    folder.mkdir(parents=True, exist_ok=True)
    sealed_files.write(
        folder / f"step-{step:08d}-{_short(key)}.safetensors",
        tensors,
        json.dumps({"step": step, "key": key, **more}),
    )
    for path in set(found(folder)) - set(found(folder, key)[-KEPT:]):  # those with another key are leftovers
        path.unlink()


def found(folder: Path, key: str = "") -> list[Path]:
    """Return the checkpoints in a folder, for one key or all, the earliest first."""
    held = [(path, _NAME.fullmatch(path.name)) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(
        (path for path, name in held if name and (not key or name[2] == _short(key))),
        key=lambda path: path.name,
    )


def read(
    folder: Path,
    key: str,
    net: nn.Module,
    optimiser: torch.optim.Optimizer,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Restore a network and its optimiser from the last whole checkpoint with this key; return its metadata,
    {"step": 0} if there is none. A damaged one is reported and passed over.

    Errors: ModelError if a checkpoint belongs to a different network than its key says.
    """
    from safetensors import SafetensorError, safe_open

    for path in reversed(found(folder, key)):
        fault = ""
        about = dict[str, Any]()
        tensors = dict[str, torch.Tensor]()
        try:
            with path.open("rb") as stream:
                fault = sealed_files.fault(stream)
            if not fault:
                about = json.loads(sealed_files.read_text(path))
                with safe_open(path, "pt") as file:
                    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
        except (SafetensorError, OSError, ValueError) as error:
            fault = fault or f"cannot be read ({library_text(error)})"
        if fault:
            say(f"note: {path} {fault}; going on from the checkpoint before it")
            continue
        if about.get("key") != key:
            continue
        weights = {
            name.removeprefix("model/"): value for name, value in tensors.items() if name.startswith("model/")
        }
        if why := differing(dict(net.state_dict()), weights):
            raise ModelError(f"{path}: does not match the network: {why}; delete {folder} to start over")
        net.load_state_dict(weights)
        _restore(optimiser, tensors)
        return about
    return {"step": 0}


def _restore(optimiser: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    held: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimiser/"):
            _, number, key = name.split("/", 2)
            held.setdefault(int(number), {})[key] = value
    whole = optimiser.state_dict()
    optimiser.load_state_dict({"state": held, "param_groups": whole["param_groups"]})


def _short(key: str) -> str:
    return key[:12]


def remove(folder: Path) -> None:
    """Remove all checkpoints in a folder and their logs, once the trained result exists."""
    for path in [*found(folder), *folder.glob("log-*.csv")]:
        path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
