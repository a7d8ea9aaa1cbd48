"""Segmentation networks of torchvision, trained on COCO images with the 20 classes of PASCAL VOC.

    faultscape predict STUDY fcn=examples/models/from_torchvision.py:fcn_resnet101

Conventions: each function returns a network in evaluation mode that takes float32 (N, 3, H, W) and gives a
dict whose ``out`` is the logits (N, 21, H, W); ``mean`` and ``std`` (on 0..1) and ``classes`` hang on it.
torchvision's own test resizes the shorter side to 520 pixels; give the study a working size near that.
Weights come from torchvision's own address when the function is run, and are read as tensors only. Checked in
pytorch/vision: torchvision/models/segmentation/fcn.py and deeplabv3.py.
"""

from __future__ import annotations

from typing import Any

from faultscape.errors import ModelError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def fcn_resnet50() -> Any:
    return _network("fcn_resnet50", "FCN_ResNet50_Weights")


def fcn_resnet101() -> Any:
    return _network("fcn_resnet101", "FCN_ResNet101_Weights")


def deeplabv3_resnet50() -> Any:
    return _network("deeplabv3_resnet50", "DeepLabV3_ResNet50_Weights")


def deeplabv3_resnet101() -> Any:
    return _network("deeplabv3_resnet101", "DeepLabV3_ResNet101_Weights")


def deeplabv3_mobilenet_v3_large() -> Any:
    return _network("deeplabv3_mobilenet_v3_large", "DeepLabV3_MobileNet_V3_Large_Weights")


def _network(name: str, weights_name: str) -> Any:
    try:
        import torch
        from torchvision.models import segmentation
    except ImportError as error:
        raise ModelError(f"{name} needs torchvision ({error}): python -m pip install torchvision") from None
    weights = getattr(segmentation, weights_name).COCO_WITH_VOC_LABELS_V1
    classes = [label.strip("_") for label in weights.meta["categories"]]  # torchvision writes __background__
    network = getattr(segmentation, name)(
        weights=None, weights_backbone=None, num_classes=len(classes), aux_loss=True
    )
    network.load_state_dict(
        torch.hub.load_state_dict_from_url(weights.url, map_location="cpu", weights_only=True)
    )
    network.mean, network.std, network.classes = MEAN, STD, classes
    return network.eval()
