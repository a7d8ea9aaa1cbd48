"""Networks of OpenMMLab's MMSegmentation 1.x, trained there anew after the papers.

    faultscape predict STUDY psanet=examples/models/from_mmseg.py:psanet_voc

Conventions: each function returns a network in evaluation mode that takes float32 (N, 3, H, W) and gives
logits (N, C, H, W); ``mean`` and ``std`` (on 0..1) and ``classes`` hang on it, and ``window``
("WIDTHxHEIGHT") where it was tested with a sliding one: the first two and the last are read off mmseg's
configuration, since they differ. A network is named by its file under mmseg's ``configs``; the address of its
weights stands in mmseg's own metafile, they are fetched by torch and read as tensors only. ADE20K's channels
are its 150 classes, without the void 0.
mmsegmentation 1.2.2 wants ftfy without saying so, mmcv below 2.2, and mmengine 0.10 a setuptools that still
has pkg_resources. Checked in open-mmlab: mmengine/hub/hub.py, mmseg/models/segmentors/encoder_decoder.py, and
the metafile.yaml of each configuration.
"""

from __future__ import annotations

from typing import Any

from faultscape.classes.built_in import ade20k, cityscapes, voc
from faultscape.errors import ModelError


def pspnet_voc() -> Any:
    return _network("pspnet/pspnet_r101-d8_4xb4-40k_voc12aug-512x512.py", list(voc().names))


def psanet_voc() -> Any:
    return _network("psanet/psanet_r101-d8_4xb4-40k_voc12aug-512x512.py", list(voc().names))


def deeplabv3plus_voc() -> Any:
    return _network("deeplabv3plus/deeplabv3plus_r101-d8_4xb4-40k_voc12aug-512x512.py", list(voc().names))


def danet_voc() -> Any:
    return _network("danet/danet_r101-d8_4xb4-40k_voc12aug-512x512.py", list(voc().names))


def danet_cityscapes() -> Any:
    return _network("danet/danet_r101-d8_4xb2-80k_cityscapes-769x769.py", list(cityscapes().names))


def emanet_cityscapes() -> Any:
    return _network("emanet/emanet_r101-d8_4xb2-80k_cityscapes-769x769.py", list(cityscapes().names))


def deeplabv3plus_cityscapes() -> Any:
    return _network(
        "deeplabv3plus/deeplabv3plus_r101-d8_4xb2-80k_cityscapes-769x769.py", list(cityscapes().names)
    )


def pspnet_ade20k() -> Any:
    return _network("pspnet/pspnet_r101-d8_4xb4-160k_ade20k-512x512.py", list(ade20k().names))


def mobilenet_v2_ade20k() -> Any:
    return _network(
        "mobilenet_v2/mobilenet-v2-d8_deeplabv3_4xb4-160k_ade20k-512x512.py", list(ade20k().names)
    )


def segmenter_ade20k() -> Any:
    return _network("segmenter/segmenter_vit-l_mask_8xb1-160k_ade20k-512x512.py", list(ade20k().names))


def _network(name: str, classes: list[str]) -> Any:
    try:
        import torch
        from mmengine.hub import get_config, get_model

        told = get_config(f"mmseg::{name}", pretrained=True)
        inner = get_model(f"mmseg::{name}")  # imports mmseg and mmcv
    except ImportError as error:
        raise ModelError(
            f"{name} needs mmsegmentation ({error}): python -m pip install openmim ftfy, then mim install"
            " mmengine mmcv mmsegmentation"
        ) from None
    held = torch.hub.load_state_dict_from_url(told.model_path, map_location="cpu", weights_only=True)
    inner.load_state_dict(held["state_dict"])

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, pictures: Any) -> Any:
            size = tuple(pictures.shape[2:])
            sizes = {"ori_shape": size, "img_shape": size, "pad_shape": size, "padding_size": [0, 0, 0, 0]}
            return self.inner.encode_decode(pictures, [sizes] * len(pictures))

    network = Network().eval()
    network.mean = tuple(value / 255 for value in told.model.data_preprocessor["mean"])
    network.std = tuple(value / 255 for value in told.model.data_preprocessor["std"])
    height, width = told.model.test_cfg.get("crop_size") or (0, 0)
    network.classes, network.window = classes, f"{width}x{height}" if height else None
    return network
