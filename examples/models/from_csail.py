"""The three ADE20K networks of S1, from the repository that S1's numbers fit: MIT CSAIL's
semantic-segmentation-pytorch.

    python -m pip install git+https://github.com/CSAILVision/semantic-segmentation-pytorch
    faultscape predict STUDY psp=examples/models/from_csail.py:pspnet_resnet18

Conventions: each function returns a network in evaluation mode that takes float32 (N, 3, H, W) and gives
logits (N, 150, H/8, W/8); ``mean`` and ``std`` (on 0..1), ``multiple`` and ``classes`` hang on it. Weights
come from the authors' address when the function is run, and are read as tensors only. The encoder and the
head are built here and not by the library's ModelBuilder, which would fetch ImageNet weights, or load the
checkpoint with torch's default. Checked in the repository: mit_semseg/models/models.py, config/*.yaml; the
channel order (RGB) is that of its present code, its first README spoke of BGR.
"""

from __future__ import annotations

from typing import Any

from faultscape.classes.built_in import ade20k
from faultscape.errors import ModelError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ADDRESS = "http://sceneparsing.csail.mit.edu/model/pytorch"


def pspnet_resnet18() -> Any:
    return _network("ade20k-resnet18dilated-ppm_deepsup", 20, 512)


def pspnet_resnet101() -> Any:
    return _network("ade20k-resnet101dilated-ppm_deepsup", 25, 2048)


def mobilenet_v2() -> Any:
    return _network("ade20k-mobilenetv2dilated-c1_deepsup", 20, 320)


def _network(name: str, epoch: int, channels: int) -> Any:
    try:
        import torch
        from mit_semseg.models import mobilenet, models, resnet
    except ImportError as error:
        raise ModelError(
            f"{name} needs mit_semseg ({error}): python -m pip install"
            " git+https://github.com/CSAILVision/semantic-segmentation-pytorch"
        ) from None
    if "mobilenetv2" in name:
        encoder = models.MobileNetV2Dilated(mobilenet.mobilenetv2(pretrained=False), dilate_scale=8)
        head = models.C1DeepSup(num_class=150, fc_dim=channels)
    else:
        trunk = resnet.resnet18 if "resnet18" in name else resnet.resnet101
        encoder = models.ResnetDilated(trunk(pretrained=False), dilate_scale=8)
        head = models.PPMDeepsup(num_class=150, fc_dim=channels)
    for part, module in (("encoder", encoder), ("decoder", head)):
        held = torch.hub.load_state_dict_from_url(
            f"{ADDRESS}/{name}/{part}_epoch_{epoch}.pth",
            map_location="cpu",
            weights_only=True,
            file_name=f"{name}-{part}.pth",  # all models' files bear the same names
        )
        module.load_state_dict(
            held, strict=False
        )  # the authors' own loading: counters of batch normalisation are not in the files

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = encoder, head

        def forward(self, pictures: Any) -> Any:
            out = self.head(self.encoder(pictures, return_feature_maps=True))
            return (
                out["logits"] if isinstance(out, dict) else out[0]
            )  # later versions: log-probabilities first, the helper's second

    network = Network().eval()
    network.mean, network.std, network.multiple, network.classes = MEAN, STD, 8, list(ade20k().names)
    return network
