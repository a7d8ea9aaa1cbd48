"""Networks in files that say one thing and do another, made by code: weights that do not fit the network,
networks exported while they were in training, and ones that take or give other shapes than images and classes.

Conventions: each function writes a file, or changes a folder, and returns it. Every network takes images of 48
rows and 64 columns, and gives five classes where it gives classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

CLASSES = 5
ROWS, COLUMNS = 48, 64
_AT_LEAST = 4  # images that a batch norm sees before it is exported


# -- weights that do not fit -------------------------------------------------------------------------------


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> Path:
    """Change the tensors in a folder of the transformers library, by name."""
    file = folder / "model.safetensors"
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file, {"format": "pt"})
    return folder


def drop(folder: Path, *beginnings: str) -> Path:
    """Remove the tensors of a folder whose names begin in one of these ways."""

    def without(tensors: dict[str, torch.Tensor]) -> None:
        for key in [key for key in tensors if key.startswith(beginnings)]:
            del tensors[key]

    return change_weights(folder, without)


# -- exported in training mode ------------------------------------------------------------------------------


class Trained(nn.Module):
    """Two convolutions with dropout, or with a batch norm, between them."""

    def __init__(self, between: str) -> None:
        super().__init__()
        torch.manual_seed(3)
        inner = nn.Dropout(0.5) if between == "dropout" else nn.BatchNorm2d(8)
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), inner, nn.ReLU(), nn.Conv2d(8, CLASSES, 1))
        for _ in range(_AT_LEAST):
            self.layers(torch.rand(2, 3, ROWS, COLUMNS))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.layers(image)


class TrainedClassifier(Trained):
    """The same, with one answer an image: that of a pixel in its middle."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return 10 * self.layers(image)[:, :, ROWS // 2, COLUMNS // 2]


def exported(path: Path, module: nn.Module, channels: int = 3) -> Path:
    """Write a module as it is, by the ending: .pt2 with torch.export, .pt as TorchScript (traced), .onnx."""
    shown = torch.rand(2, channels, ROWS, COLUMNS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match path.suffix:
            case ".pt2":
                free = ({0: torch.export.Dim("n")},)
                torch.export.save(torch.export.export(module, (shown,), dynamic_shapes=free), path)
            case ".pt":
                torch.jit.save(torch.jit.trace(module, shown, check_trace=False), path)
            case _:
                mode = torch.onnx.TrainingMode.PRESERVE
                axes = {"image": {0: "n"}}
                torch.onnx.export(
                    module,
                    (shown,),
                    str(path),
                    training=mode,
                    do_constant_folding=False,
                    dynamo=False,
                    input_names=["image"],
                    dynamic_axes=axes,
                )
    return path


# -- other shapes -------------------------------------------------------------------------------------------


def of_channels(taken: int, given: int) -> nn.Module:
    """Return a convolution from a number of colours to a number of classes."""
    torch.manual_seed(3)
    return nn.Conv2d(taken, given, 3, padding=1).eval()


class ClassesLast(nn.Module):
    """Gives logits N x H x W x C."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = of_channels(3, CLASSES)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.inner(image).permute(0, 2, 3, 1)
