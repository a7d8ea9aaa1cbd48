"""A model made by `train`: a folder with network.json and weights.safetensors, which is self-contained on any
machine.

Conventions: SOURCE is the folder, or FOLDER/backbone.py:FUNCTION for a network whose backbone is the user's
own code, so that no code runs unless it is named. The network is built from its description and never
unpickled. Checkpoints, logs and other files in the folder are not part of it.
"""

from __future__ import annotations

import os
from pathlib import Path

from faultscape.errors import ModelError
from faultscape.prediction.devices import need_torch
from faultscape.prediction.sources.torch_network import TorchNetwork, of_module
from faultscape.prediction.stamps import digest_of_files
from faultscape.study.settings import ModelOptions

OWN = "backbone.py"
PARTS = ("network.json", "weights.safetensors", OWN)


def parted(source: str) -> tuple[Path, str]:
    """Return the folder of a SOURCE, and the backbone function that it names, '' if none.

    >>> parted("net/backbone.py:build")[1], parted("./net/")[1]
    ('build', '')
    """
    file, colon, function = source.rpartition(":")
    return (Path(file).parent, function) if colon and Path(file).name == OWN else (Path(source), "")


def folder_of(source: str) -> Path:
    """Return the folder of a SOURCE, whether or not the code of its backbone is named.

    >>> folder_of("study/models/net/backbone.py:net") == folder_of("study/models/net")
    True
    """
    return parted(source)[0]


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is the folder of a trained network.

    >>> recognised("nowhere", "segmentation")
    False
    """
    del task
    return any((folder_of(source) / name).is_file() for name in ("begun.json", *PARTS[:2]))


def check(name: str, source: str) -> None:
    """Refuse the folder of an incomplete network."""
    folder = folder_of(source)
    if lost := next((part for part in PARTS[:2] if not (folder / part).is_file()), ""):
        begun = (folder / "begun.json").is_file()
        why = (
            "its training was interrupted; repeat the `faultscape train` command to resume it"
            if begun
            else f"{lost} is missing"
        )
        raise ModelError(f"{name}={source}: {why}")


def there(source: str) -> bool:
    """Whether the folder still holds a network."""
    return all((folder_of(source) / name).is_file() for name in PARTS[:2])


def kept_as(source: str) -> str:
    """Return a SOURCE with the absolute path of its folder."""
    folder, function = parted(source)
    return os.path.abspath(folder) + (f"/{OWN}:{function}" if function else "")


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of the network: its description, its weights, and the file of a user-defined
    backbone.
    """
    del options
    files = [path for name in PARTS if (path := folder_of(source) / name).is_file()]
    return digest_of_files(source, [(path, path.stat().st_size) for path in files])


def open_trained(source: str, options: ModelOptions, device: str = "cpu") -> TorchNetwork:
    """Open a network made by `train`; ModelError if its folder is damaged, or if its backbone is code that
    the source does not name.
    """
    need_torch(source)
    from faultscape.uncertainty import description

    folder, function = parted(source)
    held = description.read_description(folder)
    if function and function != held.own_function:
        raise ModelError(
            f"{source}: its backbone is {held.backbone}; pass it as {folder / OWN}:{held.own_function}"
            if held.own_function
            else f"{source}: its backbone is {held.backbone}, not code; pass the folder alone"
        )
    _, net = description.load(folder, own_code=bool(function))
    network = of_module(net, source, options, device)
    network.weights = ""  # they are in files of its source
    if function:
        network.notes = (f"note: runs the code of {folder / OWN}; make sure you trust it",)
    return network
