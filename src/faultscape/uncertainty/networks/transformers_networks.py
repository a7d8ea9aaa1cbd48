"""Networks of the transformers library: SegFormer of any size, and any folder of the library with a
segmentation network or an encoder.

Conventions: the weights in a folder are the start of a network, with a new last layer if the classes differ.
A semantic network is kept; a ViT becomes the encoder of a `Segmenter`, a ResNet that of a `DeepLab`. A
network is described by its configuration, so that it can be rebuilt without the folder.
Source: Xie et al. 2021 (SegFormer).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from torch import nn

from faultscape.errors import ModelError, library_text
from faultscape.nouns import JsonObject
from faultscape.process.library_warnings import without_warnings
from faultscape.uncertainty.networks import deeplab, folder_weights
from faultscape.uncertainty.networks.segmenter import Segmenter

SEGFORMERS = {  # widths of the stages, their blocks, width of the decoder
    "b0": ((32, 64, 160, 256), (2, 2, 2, 2), 256),
    "b1": ((64, 128, 320, 512), (2, 2, 2, 2), 256),
    "b2": ((64, 128, 320, 512), (3, 4, 6, 3), 768),
    "b3": ((64, 128, 320, 512), (3, 4, 18, 3), 768),
    "b4": ((64, 128, 320, 512), (3, 8, 27, 3), 768),
    "b5": ((64, 128, 320, 512), (3, 6, 40, 3), 768),
}
ENCODERS = ("vit", "resnet")  # of a Segmenter and a DeepLab
MULTIPLE = 32  # for both sides of the input of a hub network
# keys that load code or weights from elsewhere
_ELSEWHERE = ("auto_map", "backbone", "use_pretrained_backbone", "use_timm_backbone")


def segformer(size: str, classes: int, dropout: float) -> nn.Module:
    """Return a SegFormer of a size (b0 to b5), with random weights."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    widths, depths, decoder = SEGFORMERS[size]
    told: dict[str, Any] = {"num_labels": classes, "classifier_dropout_prob": dropout}
    config = SegformerConfig(
        hidden_sizes=list(widths), depths=list(depths), decoder_hidden_size=decoder, **told
    )
    return SegformerForSemanticSegmentation(config)


def of_folder(folder: str, classes: int) -> tuple[nn.Module, tuple[str, ...]]:
    """Return the network in a folder of the library, with its weights, and notes on how these fit it;
    ModelError if it neither segments by class nor is one of ENCODERS, or lacks weights of its encoder.
    """
    import transformers

    config = _config(folder)
    told: dict[str, Any] = {}
    match config.model_type:
        case "vit":
            auto = transformers.ViTModel
            told = {"add_pooling_layer": False}
        case "resnet":
            auto = transformers.ResNetBackbone
            told = {"out_features": list(deeplab.STAGES)}
        case _:
            auto = transformers.AutoModelForSemanticSegmentation
    safe = any(Path(folder).glob("*.safetensors"))
    if not safe:
        raise ModelError(
            f"{folder}: has no safetensors weights; other formats are not read because they can run code:"
            " save it again with save_pretrained of transformers"
        )
    made, fit = folder_weights.load(auto, folder, folder, use_safetensors=True, **told)
    return _with_decoder(config.model_type, made, classes), _new_parts(folder, made, fit)


def _new_parts(folder: str, made: Any, fit: folder_weights.Fit) -> tuple[str, ...]:
    """Return notes on the tensors of a network that are new, because its files have only an encoder, and on
    those that are not used; ModelError if the encoder itself is not whole.
    """
    prefix = next((word for word in (made.base_model_prefix, "backbone") if word and hasattr(made, word)), "")
    inside = f"{prefix}." if prefix else ""
    if lost := [key for key in fit.missing if key.startswith(inside)]:
        raise ModelError(
            f"{folder}: its files lack {folder_weights.some(lost)} of the encoder, which would start at"
            " random; copy the whole network, or train an architecture from scratch, such as --backbone"
            " segformer-b0"
        )
    new = (
        (f"note: {folder}: its files lack {folder_weights.some(fit.missing)}, which start at random",)
        if fit.missing
        else ()
    )
    return new + folder_weights.unused_note(
        folder, [key for key in fit.unused if prefix and key.startswith(inside)]
    )


def config_of(net: Any) -> tuple[JsonObject, int]:
    """Return the configuration of a network of the library, or of its encoder, and the multiple to which both
    sides of its input are raised.
    """
    if isinstance(net, Segmenter):
        return net.vit.config.to_dict(), net.patch
    if isinstance(net, deeplab.DeepLab):
        return net.encoder.config.to_dict(), 16
    return net.config.to_dict(), MULTIPLE


def _with_decoder(kind: str, net: Any, classes: int) -> nn.Module:
    """Return an encoder with a decoder added; other networks unchanged."""
    match kind:
        case "vit":
            return Segmenter(net, classes)
        case "resnet":
            return deeplab.of_encoder(net, classes)
        case _:
            return net


def of_config(config: Mapping[str, object], classes: int) -> nn.Module:
    """Return a network from a configuration of the library, with random weights; ModelError for one that
    cannot be built, or that would load code or weights from elsewhere.
    """
    import transformers

    kind = str(config.get("model_type", ""))
    if kind not in supported():
        raise ModelError(
            f"a configuration of kind {kind!r} is not supported; supported kinds: {', '.join(supported())}"
        )
    if unsafe := from_elsewhere(config):
        raise ModelError(f"its configuration has {unsafe!r}, which loads code or weights from elsewhere")
    try:
        with without_warnings():
            held: Any = cast("Any", transformers.AutoConfig).for_model(
                kind, **{key: value for key, value in config.items() if key != "model_type"}
            )
            match kind:
                case "vit":
                    made: Any = transformers.ViTModel(held, add_pooling_layer=False)
                case "resnet":
                    made = transformers.ResNetBackbone(held)
                case _:
                    made = transformers.AutoModelForSemanticSegmentation.from_config(
                        held, trust_remote_code=False
                    )
            return _with_decoder(kind, made, classes)
    except Exception as error:  # noqa: BLE001 - a damaged folder fails anywhere in the library
        raise ModelError(
            f"transformers cannot build a {kind} of its configuration: {library_text(error)}"
        ) from None


def supported() -> tuple[str, ...]:
    """Return the supported kinds of configurations: the library's networks that segment by class, and
    encoders.
    """
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES as SEMANTIC,
    )

    return tuple(sorted([*SEMANTIC, *ENCODERS]))


def from_elsewhere(config: Mapping[str, object]) -> str:
    """Return the first key of a configuration, or of a nested one, that loads code or weights from
    elsewhere.
    """
    for key, value in config.items():
        if key in _ELSEWHERE and value:
            return key
        if isinstance(value, Mapping) and (found := from_elsewhere(cast("Mapping[str, object]", value))):
            return found
    return ""


def _config(folder: str) -> Any:
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # noqa: BLE001 - a damaged folder fails anywhere in the library
        raise ModelError(
            f"{folder}: transformers cannot read its config.json: {library_text(error)}"
        ) from None
    if unsafe := from_elsewhere(config.to_dict()):
        raise ModelError(
            f"{folder}: its configuration has {unsafe!r}, which loads code or weights from elsewhere"
        )
    if config.model_type not in supported():
        known = ", ".join(supported())
        raise ModelError(
            f"{folder}: is of kind {config.model_type!r}, which train does not support; supported kinds:"
            f" {known}"
        )
    return config
