"""A model that `train` made: a folder with network.json and weights.safetensors, which is all that it needs, on any machine.

Conventions: it is built from its description and never unpickled. Checkpoints, logs and whatever else lies in the folder are no part of what it is.
"""

from __future__ import annotations

from pathlib import Path

from faultscape.prediction.sources.torch_network import TorchNetwork, need_torch, of_module
from faultscape.prediction.stamps import digest_of_files
from faultscape.study.settings import ModelOptions

PARTS = ("network.json", "weights.safetensors", "backbone.py")


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is the folder of a trained network.

    >>> recognised("nowhere", "segmentation")
    False
    """
    del task
    return all(Path(source, name).is_file() for name in PARTS[:2])


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of what the network is: its description, its weights, and the file of a backbone of one's own."""
    del options
    files = [path for name in PARTS if (path := Path(source, name)).is_file()]
    return digest_of_files(source, [(path, path.stat().st_size) for path in files])


def open_trained(source: str, options: ModelOptions, device: str = "cpu") -> TorchNetwork:
    """Open a network that `train` made; ModelError where its folder is damaged."""
    need_torch(source)
    from faultscape.uncertainty import description

    _, net = description.load(Path(source))
    network = of_module(net, source, options, device)
    network.weights = ""  # they are files of its source
    return network
