"""Export of a trained network to one file, ONNX or .pt2, which `predict` accepts anywhere; its outputs are
logits, members and variance.

Conventions: the input is (N, 3, H, W), with N and, if the network allows it, H and W free. The network's
input settings are included. A head that can draw members draws them in the file, because the reader cannot
request them. MC dropout is exported with its masks, at one size.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from faultscape.choices import ExportForm
from faultscape.errors import ModelError, library_text
from faultscape.nouns import JsonObject
from faultscape.process.library_warnings import without_warnings
from faultscape.uncertainty import description as descriptions
from faultscape.uncertainty.heads.channels import Doubt, Head

DRAWS = 8
_EXTRA = "faultscape.json"


class Plain(nn.Module):
    """A network whose output is a dict of what it has: its own logits, members, variance, outliers."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, image: Tensor) -> dict[str, Tensor]:
        """Return the outputs by name."""
        return outputs(self.net(image))


def outputs(said: Doubt) -> dict[str, Tensor]:
    """Return a network's outputs by name: logits if it has them, members, variance."""
    held = {"logits": said.own, "members": said.members, "variance": said.variance, "outlier": said.outlier}
    return {name: value for name, value in held.items() if value is not None}


def export_network(folder: Path, form: ExportForm, *, own_code: bool = False) -> str:
    """Write the network of a folder as ``network.onnx`` or ``network.pt2`` into it, and return the path;
    ``own_code`` allows running the code of its backbone.

    Errors: ModelError if the network cannot be exported, its code may not run, or a library is missing.
    """
    if form == "onnx" and (lacking := [name for name in ("onnx", "onnxscript") if find_spec(name) is None]):
        raise ModelError(f"--export onnx needs {' and '.join(lacking)}; install faultscape[train]")
    about, net = descriptions.load(folder, own_code=own_code)
    for head in [module for module in net.modules() if isinstance(module, Head)]:
        head.draws = head.draws or DRAWS
    plain, (wide, tall) = Plain(net).eval(), _size(about)
    example = torch.zeros(2, 3, tall, wide)
    free = not about.dropout_at and not about.window
    path = folder / f"network.{form}"
    partial = folder / f"partial.{form}"
    said = descriptions.input_words(about)
    try:
        with without_warnings(), _quiet_exporter(), torch.no_grad():
            plain(example)  # draws that happen once happen now, and become constants in the file
            (_onnx if form == "onnx" else _exported)(plain, example, partial, said, free=free)
    except Exception as error:  # noqa: BLE001 - whatever torch's exporter raises
        raise ModelError(
            f"--export {form}: torch could not export {about.backbone}:"
            f" {library_text(error, first_line=True)}"
        ) from None
    partial.replace(path)
    return str(path)


@contextmanager
def _quiet_exporter() -> Iterator[None]:
    """Silence the messages of torch's exporter about libraries that it does not need."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _size(about: descriptions.Description) -> tuple[int, int]:
    """Return the (width, height) that a network is exported with: its window, else one that is not square,
    because some networks treat squares differently.
    """
    if about.window:
        return about.window, about.window
    if about.size is not None and about.dropout_at:  # masks have one size
        return tuple(-(-side // about.multiple) * about.multiple for side in about.size)  # type: ignore[return-value]
    wide, tall = (
        max(1, round(side / about.multiple)) * about.multiple for side in (about.image, 0.75 * about.image)
    )
    return (wide, tall) if wide != tall else (wide + about.multiple, tall)


def _exported(plain: Plain, example: Tensor, path: Path, said: JsonObject, *, free: bool) -> None:
    program = torch.export.export(plain, (example,), dynamic_shapes=_shapes(free))
    torch.export.save(program, path, extra_files={_EXTRA: json.dumps(said)})


def _onnx(plain: Plain, example: Tensor, path: Path, said: JsonObject, *, free: bool) -> None:
    import onnx

    names = [*plain(example)]
    program = torch.onnx.export(
        plain,
        (example,),
        dynamo=True,
        input_names=["image"],
        output_names=names,
        dynamic_shapes=_shapes(free),
        verbose=False,
    )
    assert program is not None
    model = program.model_proto
    for key, value in said.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = f"faultscape.{key}", value if isinstance(value, str) else json.dumps(value)
    onnx.save(model, path)


def _shapes(free: bool) -> tuple[dict[int, Any]]:
    """Return which axes of the input are free."""
    auto = torch.export.Dim.AUTO
    return ({0: auto, 2: auto, 3: auto},) if free else ({0: auto},)
