"""Models of the Hugging Face hub that docs/reference/models.md names: their architectures are built here, small and
random, without the hub.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "models.md").read_text()
# read on the hub's pages; the classes stand in transformers' own lists
HUB = {
    "google/deeplabv3_mobilenet_v2_1.0_513": (
        "mobilenet_v2",
        {"depth_multiplier": 0.1, "min_depth": 8, "image_size": 64},
    ),
    "apple/deeplabv3-mobilevit-small": (
        "mobilevit",
        {
            "hidden_sizes": [8, 8, 8],
            "neck_hidden_sizes": [8] * 7,
            "num_attention_heads": 2,
            "aspp_out_channels": 8,
            "image_size": 64,
        },
    ),
    "nvidia/segformer-b5-finetuned-cityscapes-1024-1024": (
        "segformer",
        {"hidden_sizes": [8] * 4, "depths": [1] * 4, "decoder_hidden_size": 8},
    ),
    "nvidia/segformer-b5-finetuned-ade-640-640": (
        "segformer",
        {"hidden_sizes": [8] * 4, "depths": [1] * 4, "decoder_hidden_size": 8},
    ),
    "openmmlab/upernet-convnext-base": (
        "upernet",
        {"hidden_size": 8, "auxiliary_in_channels": 8, "auxiliary_channels": 8},
    ),
    "facebook/mask2former-swin-large-cityscapes-semantic": (
        "mask2former",
        {
            "feature_size": 32,
            "mask_feature_size": 32,
            "hidden_dim": 32,
            "encoder_layers": 1,
            "decoder_layers": 2,
            "num_attention_heads": 2,
        }
        | {"num_queries": 5, "encoder_feedforward_dim": 8, "dim_feedforward": 8},
    ),
}


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")


@pytest.mark.slow
@pytest.mark.parametrize("model", HUB)
def test_architectures_of_the_hub_are_known_to_transformers(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    import transformers

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    kind, options = HUB[model]
    stages = {"out_features": ["stage1", "stage2", "stage3", "stage4"], "depths": [1] * 4}
    backbones = {
        "upernet": transformers.ConvNextConfig(hidden_sizes=[8] * 4, **stages),
        "mask2former": transformers.SwinConfig(
            image_size=64, embed_dim=8, num_heads=[1] * 4, window_size=4, **stages
        ),
    }
    if kind in backbones:
        options = {**options, "backbone_config": backbones[kind]}
    settings = transformers.AutoConfig.for_model(kind, num_labels=4, **options)
    kinds = (
        transformers.AutoModelForUniversalSegmentation
        if kind == "mask2former"
        else transformers.AutoModelForSemanticSegmentation
    )
    network = kinds.from_config(settings).eval()
    with torch.no_grad():
        out = network(pixel_values=torch.zeros(2, 3, 64, 96))
    if kind == "mask2former":  # queries: a class, or none, and a mask each
        assert (out.class_queries_logits.shape, out.masks_queries_logits.shape[:2]) == ((2, 5, 4 + 1), (2, 5))
        return
    assert out.logits.shape[:2] == (2, 4)
    assert out.logits.shape[2] * 96 == out.logits.shape[3] * 64


def test_models_of_the_hub_on_the_page_are_those_that_are_built_here() -> None:
    assert set(re.findall(r"`hf:([^`]+)`", PAGE)) == set(HUB)
