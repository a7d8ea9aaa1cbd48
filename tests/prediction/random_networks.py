"""Small random networks of the transformers library, saved to a folder with their processors: the
architectures are real, the weights are not.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

CLASSES = 5
_FACTOR = {"mask2former": 3, "eomt": 3, "maskformer": 1}  # more, and the masks of all queries are 0 or 1
NAMES = dict(enumerate(("sky", "road", "car", "person", "tree")))


def save(kind: str, folder: Path, **processor: Any) -> Path:
    """Write a network of this kind, with the processor that its family uses, and return the folder."""
    import torch
    import transformers as hf

    about = {"num_labels": CLASSES, "id2label": NAMES, "label2id": {n: k for k, n in NAMES.items()}}
    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config, network, family, given = _BUILD[kind](hf, about)
        model = network(config).eval()
        with torch.no_grad():  # fresh weights are so small that all classes tie nearly everywhere
            for weight in model.parameters():
                if weight.ndim > 1 and kind == "mobilenet_v2":
                    torch.nn.init.kaiming_normal_(weight)
                elif weight.ndim > 1:
                    weight.mul_(_FACTOR.get(kind, 4))
        model.save_pretrained(folder)
        getattr(hf, f"{family}ImageProcessorPil")(**{**given, **processor}).save_pretrained(folder)
    return folder


def _segformer(hf: Any, about: dict[str, Any]) -> Any:
    config = hf.SegformerConfig(
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 16, 16, 24],
        decoder_hidden_size=16,
        num_attention_heads=[1, 1, 2, 2],
        **about,
    )
    return config, hf.SegformerForSemanticSegmentation, "Segformer", {"size": {"height": 96, "width": 128}}


def _upernet(hf: Any, about: dict[str, Any]) -> Any:
    backbone = hf.ConvNextConfig(
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 8, 16, 16],
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    config = hf.UperNetConfig(
        backbone_config=backbone,
        hidden_size=16,
        auxiliary_in_channels=16,
        auxiliary_channels=8,
        pool_scales=[1, 2],
        **about,
    )
    return config, hf.UperNetForSemanticSegmentation, "Segformer", {"size": {"height": 96, "width": 128}}


def _vit(**more: Any) -> dict[str, Any]:
    return {
        "hidden_size": 24,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "patch_size": 16,
        **more,
    }


def _beit(hf: Any, about: dict[str, Any]) -> Any:
    config = hf.BeitConfig(
        **_vit(image_size=96), out_indices=[1, 2, 3, 4], pool_scales=[1, 2], use_auxiliary_head=False, **about
    )
    return (
        config,
        hf.BeitForSemanticSegmentation,
        "Beit",
        {"size": {"height": 96, "width": 96}, "do_center_crop": False, "do_resize": True},
    )


def _dpt(hf: Any, about: dict[str, Any]) -> Any:
    config = hf.DPTConfig(
        **_vit(image_size=96),
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 16, 16],
        fusion_hidden_size=8,
        use_auxiliary_head=False,
        **about,
    )
    return config, hf.DPTForSemanticSegmentation, "DPT", {"size": {"height": 96, "width": 96}}


def _mobilenet(hf: Any, about: dict[str, Any]) -> Any:
    config = hf.MobileNetV2Config(depth_multiplier=0.35, **about)
    return (
        config,
        hf.MobileNetV2ForSemanticSegmentation,
        "MobileNetV2",
        {"size": {"shortest_edge": 104}, "crop_size": {"height": 96, "width": 96}},
    )


def _mobilevit(hf: Any, about: dict[str, Any]) -> Any:
    config = hf.MobileViTConfig(
        hidden_sizes=[16, 24, 32],
        neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 48],
        aspp_out_channels=16,
        num_attention_heads=2,
        image_size=96,
        **about,
    )
    return (
        config,
        hf.MobileViTForSemanticSegmentation,
        "MobileViT",
        {"size": {"shortest_edge": 104}, "crop_size": {"height": 96, "width": 96}},
    )


def _swin(hf: Any) -> Any:
    return hf.SwinConfig(
        image_size=96,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 2, 2],
        window_size=4,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )


def _mask2former(hf: Any, about: dict[str, Any]) -> Any:
    config = hf.Mask2FormerConfig(
        backbone_config=_swin(hf),
        feature_size=32,
        mask_feature_size=32,
        hidden_dim=32,
        encoder_feedforward_dim=32,
        encoder_layers=1,
        decoder_layers=2,
        num_attention_heads=2,
        dim_feedforward=32,
        num_queries=9,
        **about,
    )
    return (
        config,
        hf.Mask2FormerForUniversalSegmentation,
        "Mask2Former",
        {"size": {"shortest_edge": 96, "longest_edge": 192}, "size_divisor": 32},
    )


def _maskformer(hf: Any, about: dict[str, Any]) -> Any:
    decoder = hf.DetrConfig(
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        num_queries=9,
    )
    config = hf.MaskFormerConfig(
        backbone_config=_swin(hf), decoder_config=decoder, fpn_feature_size=32, mask_feature_size=32, **about
    )
    return (
        config,
        hf.MaskFormerForInstanceSegmentation,
        "MaskFormer",
        {"size": {"shortest_edge": 96, "longest_edge": 192}, "size_divisor": 32},
    )


def _eomt(hf: Any, about: dict[str, Any]) -> Any:
    config = hf.EomtConfig(
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=2,
        image_size=96,
        patch_size=16,
        num_blocks=1,
        num_queries=9,
        num_upscale_blocks=1,
        **about,
    )
    return (
        config,
        hf.EomtForUniversalSegmentation,
        "Eomt",
        {"size": {"shortest_edge": 96, "longest_edge": None}, "do_split_image": True, "do_pad": False},
    )


_BUILD = {
    "segformer": _segformer,
    "upernet": _upernet,
    "beit": _beit,
    "dpt": _dpt,
    "mobilenet_v2": _mobilenet,
    "mobilevit": _mobilevit,
    "mask2former": _mask2former,
    "maskformer": _maskformer,
    "eomt": _eomt,
}
KINDS = tuple(_BUILD)
