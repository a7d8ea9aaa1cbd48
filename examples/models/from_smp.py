"""Networks of segmentation-models-pytorch: those with published weights, and your own.

    faultscape predict STUDY segformer=examples/models/from_smp.py:segformer_b5_ade20k
    FAULTSCAPE_SMP=runs/pspnet faultscape predict STUDY pspnet=examples/models/from_smp.py:own

Conventions: each function returns a network in evaluation mode that takes float32 (N, 3, H, W), both sides a
multiple of 32, and gives logits (N, C, H, W); ``mean`` and ``std`` (on 0..1), ``size`` ("WIDTHxHEIGHT" of its
training), ``multiple`` and ``classes`` hang on it where they are known. Weights are the hub's safetensors,
fetched by the library. It publishes weights for SegFormer, UPerNet and DPT only: its PSPNet and DeepLabV3+
are architectures that you train yourself, save with ``save_pretrained`` and load with ``own``.
"""

from __future__ import annotations

import os
from typing import Any

from faultscape.classes.built_in import ade20k, cityscapes
from faultscape.errors import ModelError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def segformer_b5_ade20k() -> Any:
    return _network("smp-hub/segformer-b5-640x640-ade-160k", "640x640", list(ade20k().names))


def segformer_b1_cityscapes() -> Any:
    return _network("smp-hub/segformer-b1-1024x1024-city-160k", "1024x1024", list(cityscapes().names))


def segformer_b0_cityscapes() -> Any:
    return _network("smp-hub/segformer-b0-640x1280-city-160k", "1280x640", list(cityscapes().names))


def own() -> Any:
    """Load what ``save_pretrained`` wrote into the folder that the variable FAULTSCAPE_SMP names."""
    folder = os.environ.get("FAULTSCAPE_SMP")
    if not folder:
        raise ModelError("set FAULTSCAPE_SMP to the folder that the network's save_pretrained wrote")
    if not os.path.isfile(os.path.join(folder, "model.safetensors")):
        raise ModelError(
            f"FAULTSCAPE_SMP={folder}: there is no model.safetensors; save the network with its"
            " save_pretrained first"
        )
    return _network(folder, None, None)


def _network(source: str, size: str | None, classes: list[str] | None) -> Any:
    try:
        import segmentation_models_pytorch as library
    except ImportError as error:
        raise ModelError(
            f"{source} needs segmentation-models-pytorch ({error}): python -m pip install"
            " segmentation-models-pytorch"
        ) from None
    try:
        network = library.from_pretrained(source).eval()
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ModelError(
            f"{source}: cannot be fetched or read ({type(error).__name__}: {reason}); a copy of its files in"
            " a folder runs as own, see FAULTSCAPE_SMP"
        ) from None
    network.mean, network.std, network.size, network.multiple = MEAN, STD, size, 32
    if classes is not None:
        network.classes = classes
    return network
