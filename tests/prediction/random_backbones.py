"""Small random vision backbones of the transformers library, saved to a folder with an image processor of
the kind that their family uses: the architectures are real, the weights are not.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

_SMALL = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
_STAGES = {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 8, 16, 24]}
_TEXT = {**_SMALL, "vocab_size": 32}


def save(kind: str, folder: Path, **processor: Any) -> Path:
    """Write a backbone of this kind with its processor, and return the folder."""
    import torch
    import transformers as hf

    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network, size = _BUILD[kind](hf)
        network.eval().save_pretrained(folder)
        hf.BitImageProcessorPil(
            **{
                "size": size,
                "crop_size": {"height": 56, "width": 56},
                "image_mean": [0.4, 0.5, 0.6],
                "image_std": [0.2, 0.25, 0.3],
                **processor,
            }
        ).save_pretrained(folder)
    return folder


def _dinov2(hf: Any) -> Any:
    made = hf.Dinov2WithRegistersModel(
        hf.Dinov2WithRegistersConfig(**_SMALL, patch_size=14, image_size=56, num_register_tokens=4)
    )
    return made, {"shortest_edge": 64}


def _dinov3(hf: Any) -> Any:
    made = hf.DINOv3ViTModel(
        hf.DINOv3ViTConfig(**_SMALL, patch_size=16, image_size=64, num_register_tokens=4)
    )
    return made, {"height": 64, "width": 64}


def _siglip(hf: Any) -> Any:
    seeing = {**_SMALL, "patch_size": 16, "image_size": 64}
    made = hf.SiglipModel(hf.SiglipConfig(text_config=_TEXT, vision_config=seeing))
    return made, {"height": 64, "width": 64}


def _clip(hf: Any) -> Any:
    seeing = {**_SMALL, "patch_size": 16, "image_size": 64}
    made = hf.CLIPModel(hf.CLIPConfig(text_config=_TEXT, vision_config=seeing, projection_dim=8))
    return made, {"shortest_edge": 64}


def _vit(hf: Any) -> Any:
    return hf.ViTModel(hf.ViTConfig(**_SMALL, patch_size=16, image_size=64)), {"height": 64, "width": 64}


def _swin(hf: Any) -> Any:
    config = hf.SwinConfig(
        image_size=64, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=2
    )
    return hf.SwinModel(config), {"height": 64, "width": 96}


def _convnext(hf: Any) -> Any:
    return hf.ConvNextModel(hf.ConvNextConfig(**_STAGES)), {"shortest_edge": 64}


def _masked(hf: Any) -> Any:
    """A network that drops most of its patches at random."""
    config = hf.ViTMAEConfig(**_SMALL, patch_size=16, image_size=64, decoder_hidden_size=24)
    return hf.ViTMAEModel(config), {"height": 64, "width": 64}


def _bert(hf: Any) -> Any:
    return hf.BertModel(hf.BertConfig(**_TEXT)), {"height": 64, "width": 64}


_BUILD = {
    "dinov2": _dinov2,
    "dinov3": _dinov3,
    "siglip": _siglip,
    "clip": _clip,
    "vit": _vit,
    "swin": _swin,
    "convnext": _convnext,
    "masked": _masked,
    "bert": _bert,
}
SEEING = ("dinov2", "dinov3", "siglip", "clip", "vit", "swin", "convnext")
