"""The eleven ImageNet classifiers of S2, from the libraries that keep them today.

Conventions: each function returns a network in evaluation mode that takes float32 (N, 3, H, W) and gives
logits (N, 1000) in ImageNet's order; ``mean`` and ``std`` (on 0..1), ``size`` ("WIDTHxHEIGHT" of the centre
crop), ``crop`` (the crop's share of the resized shorter side) and ``classes`` hang on it. torchvision's
``IMAGENET1K_V1`` weights are asked for by name: its ``DEFAULT`` has since become another, stronger network
than S2 compared. Weights are read as tensors only: here for torchvision and pretrainedmodels, by timm itself
for its own (safetensors where it has them). Built, with random weights, by torchvision 0.29, timm 1.0 and
pretrainedmodels 0.7; the published weights were not at hand.
"""

from __future__ import annotations

from typing import Any

from faultscape.errors import ModelError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def vgg16_bn() -> Any:
    return _torchvision("vgg16_bn", "VGG16_BN_Weights")


def resnet34() -> Any:
    return _torchvision("resnet34", "ResNet34_Weights")


def resnet101() -> Any:
    return _torchvision("resnet101", "ResNet101_Weights")


def wide_resnet101_2() -> Any:
    return _torchvision("wide_resnet101_2", "Wide_ResNet101_2_Weights")


def resnext101_32x4d() -> Any:
    """Load the port of the first authors' weights, 78.188 % in its own table, where S2 prints 78.19."""
    try:
        import pretrainedmodels
        import torch
    except ImportError as error:
        raise ModelError(
            f"resnext101_32x4d needs pretrainedmodels ({error}): python -m pip install pretrainedmodels"
        ) from None
    settings = pretrainedmodels.pretrained_settings["resnext101_32x4d"]["imagenet"]
    network = pretrainedmodels.resnext101_32x4d(num_classes=1000, pretrained=None)
    network.load_state_dict(
        torch.hub.load_state_dict_from_url(settings["url"], map_location="cpu", weights_only=True)
    )
    network.mean, network.std, network.size, network.crop = (
        tuple(settings["mean"]),
        tuple(settings["std"]),
        "224x224",
        0.875,
    )
    return network.eval()


def resnext101_32x4d_gluon() -> Any:
    """Load the same architecture from another training: the nearest that needs no pretrainedmodels."""
    return _timm("resnext101_32x4d.gluon_in1k")


def se_resnet101() -> Any:
    return _timm("legacy_seresnet101.in1k")


def senet154() -> Any:
    return _timm("legacy_senet154.in1k")


def nasnet_a_large() -> Any:
    return _timm("nasnetalarge.tf_in1k")


def pnasnet_5_large() -> Any:
    return _timm("pnasnet5large.tf_in1k")


def efficientnet_b7() -> Any:
    return _timm("tf_efficientnet_b7.aa_in1k")


def wsl_resnext101_32x48d() -> Any:
    """Load what facebookresearch/WSL-Images' hubconf.py builds: timm lists the weights, but holds no such
    network any more.
    """
    try:
        import torch
        from torchvision.models import ResNet34_Weights, resnet
    except ImportError as error:
        raise ModelError(
            f"wsl_resnext101_32x48d needs torchvision ({error}): python -m pip install torchvision"
        ) from None
    network = resnet.ResNet(resnet.Bottleneck, [3, 4, 23, 3], groups=32, width_per_group=48)
    address = "https://download.pytorch.org/models/ig_resnext101_32x48-3e41cc8a.pth"
    network.load_state_dict(
        torch.hub.load_state_dict_from_url(address, map_location="cpu", weights_only=True)
    )
    network.mean, network.std, network.size, network.crop = MEAN, STD, "224x224", 0.875
    network.classes = list(
        ResNet34_Weights.IMAGENET1K_V1.meta["categories"]
    )  # ImageNet's, for any network of torchvision
    return network.eval()


def _torchvision(name: str, weights_name: str) -> Any:
    try:
        import torch
        from torchvision import models
    except ImportError as error:
        raise ModelError(f"{name} needs torchvision ({error}): python -m pip install torchvision") from None
    weights = getattr(models, weights_name).IMAGENET1K_V1
    network = getattr(models, name)(weights=None)
    network.load_state_dict(
        torch.hub.load_state_dict_from_url(weights.url, map_location="cpu", weights_only=True)
    )
    network.mean, network.std, network.size, network.crop = MEAN, STD, "224x224", 0.875
    network.classes = list(weights.meta["categories"])
    return network.eval()


def _timm(name: str) -> Any:
    try:
        import timm
        from timm.data import ImageNetInfo, resolve_model_data_config
    except ImportError as error:
        raise ModelError(f"{name} needs timm ({error}): python -m pip install timm") from None
    network = timm.create_model(name, pretrained=True).eval()
    told = resolve_model_data_config(network)
    _, height, width = told["input_size"]
    network.mean, network.std, network.size, network.crop = (
        tuple(told["mean"]),
        tuple(told["std"]),
        f"{width}x{height}",
        told["crop_pct"],
    )
    network.classes = ImageNetInfo("imagenet-1k").label_descriptions()
    return network
