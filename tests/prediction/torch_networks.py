"""Small torch networks with random weights, written as torch.export and TorchScript write them, for the tests
of this folder.
"""

from __future__ import annotations

import copy
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

CLASSES = 5


class Small(nn.Module):
    """A 3x3 convolution at half size and a 1x1 to classes: logits (N, 5, H/2, W/2)."""

    def __init__(self, seed: int = 3) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.head = nn.Conv2d(8, CLASSES, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.first(image)))


class Dict(Small):
    def forward(self, image: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"aux": image, "out": super().forward(image)}


class Labels(Small):
    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return super().forward(image).argmax(1)


class Tuple(Small):
    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return super().forward(image), image


class One(Small):
    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return super().forward(image)[:, :1]


class Saves(torch.nn.Module):
    """Writes a file whenever it runs."""

    def __init__(self, to: Path) -> None:
        super().__init__()
        self.to, self.small = str(to), Small()

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        torch.save(image, self.to)
        return self.small(image)


class Within(torch.nn.Module):
    """Holds a network that writes a file."""

    def __init__(self, to: Path) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(Saves(to))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.layers(image)


class Careful(torch.nn.Module):
    """Uses what ordinary networks use: texts of all kinds, words that are also operators, layers by number,
    profiling.
    """

    def __init__(self) -> None:
        super().__init__()
        self.small, self.save, self.ops = Small(), [1, 2], torch.nn.Identity()
        self.layers = torch.nn.ModuleDict({"a-b": torch.nn.Sequential(torch.nn.Identity())})

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        if image.dim() != 4:
            raise ValueError("a \"quoted\" 'text' \\ of é # torch.save(x)\n")
        with torch.profiler.record_function("all of it"):
            for layer in self.layers.values():
                image = layer(self.ops(image))
            return self.small(image)


def exported(
    path: Path,
    shape: tuple[int, int, int] | None = None,
    said: dict[str, Any] | None = None,
    module: nn.Module | None = None,
) -> Path:
    """Write a module with torch.export: for any shape, or one (N, H, W)."""
    n, h, w = shape or (2, 32, 32)
    size = torch.export.Dim
    free = None if shape else ({0: size("n"), 2: size("h", min=4), 3: size("w", min=4)},)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(
            (module or Small()).eval(), (torch.zeros(n, 3, h, w),), dynamic_shapes=free
        )
        torch.export.save(
            program, path, extra_files={"faultscape.json": json.dumps(said)} if said is not None else None
        )
    return path


def scripted(path: Path, said: dict[str, Any] | None = None, module: nn.Module | None = None) -> Path:
    """Write a module as TorchScript."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.script((module or Small()).eval())
        torch.jit.save(
            script, path, _extra_files={"faultscape.json": json.dumps(said)} if said is not None else None
        )
    return path


def logits(module: nn.Module, picture: np.ndarray, mean: float = 0, std: float = 1) -> np.ndarray:
    """What a module itself says of a photo (H, W, 3)."""
    with torch.inference_mode():
        pixels = (
            (picture.astype(np.float32) / np.float32(255) - np.float32(mean)) / np.float32(std)
        ).transpose(2, 0, 1)
        return module.eval()(torch.from_numpy(np.ascontiguousarray(pixels))[None])[0].numpy()


def exact_logits(module: nn.Module, picture: np.ndarray) -> np.ndarray:
    """What a module says of a photo (H, W, 3) in float64, in which no order of summing matters."""
    with torch.inference_mode():
        pixels = torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1)))[None].double() / 255
        return copy.deepcopy(module).double().eval()(pixels)[0].numpy()


def forged(source: Path, to: Path, change: dict[str, bytes | Callable[[Any], None]]) -> Path:
    """The same archive with members replaced or added: bytes, or what changes the JSON of one."""
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as after:
        root = before.namelist()[0].partition("/")[0]
        left = dict(change)
        for name in before.namelist():
            data, new = before.read(name), left.pop(name.partition("/")[2], None)
            if callable(new):
                value = json.loads(data)
                new(value)
                new = json.dumps(value).encode()
            after.writestr(name, data if new is None else new)
        for name, new in left.items():
            after.writestr(f"{root}/{name}", new)
    return to
