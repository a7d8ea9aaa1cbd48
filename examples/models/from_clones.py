"""Networks that live only in their authors' repositories: a clone and a weights file that you fetched, put
together.

    git clone https://github.com/sacmehta/EdgeNets clones/EdgeNets
    faultscape predict STUDY espnetv2=examples/models/from_clones.py:espnetv2_voc

Conventions: clones lie under the folder that FAULTSCAPE_CLONES names (``clones`` where it names none), each
under its repository's name. Each function returns a network in evaluation mode that takes float32 (N, 3, H,
W) RGB and gives logits (N, C, h, w); ``mean`` and ``std`` (on 0..1) and ``classes`` hang on it, ``size``
("WIDTHxHEIGHT") where it was trained for one. The code of a clone runs as it is; weights are read as tensors
only. Not one of these was run here, since neither clones nor weights are at hand: constructors, names of
files and pre-processing were read in the repositories.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from faultscape.classes.built_in import cityscapes, voc
from faultscape.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def fcn8s_voc() -> Any:
    """Load FCN-8s (VGG16) of wkentaro/pytorch-fcn with the weights that were ported from the authors' Caffe
    network.
    """
    with _clone("wkentaro/pytorch-fcn"):
        inner = _module("torchfcn.models.fcn8s").FCN8s(n_class=21)
    inner.load_state_dict(_weights("pytorch-fcn", "fcn8s_from_caffe.pth"))
    network = _wrapped(inner, lambda net, pictures: net(pictures[:, [2, 1, 0]]))  # it wants BGR
    return _told(
        network,
        voc().names,
        mean=(122.67891434 / 255, 116.66876762 / 255, 104.00698793 / 255),
        std=(1 / 255,) * 3,
    )


def refinenet101_voc() -> Any:
    with _clone("DrSleep/refinenet-pytorch"):
        inner = _module("models.resnet").rf101(num_classes=21, pretrained=False)
    inner.load_state_dict(
        _weights("refinenet-pytorch", "rf101_voc.pth.tar"), strict=False
    )  # the authors' own loading
    return _told(inner, voc().names)


def light_weight_refinenet152_voc() -> Any:
    with _clone("DrSleep/light-weight-refinenet"):
        inner = _module("models.resnet").rf_lw152(num_classes=21, pretrained=False)
    inner.load_state_dict(_weights("light-weight-refinenet", "rf_lw152_voc.pth.tar"))
    return _told(inner, voc().names)


def pspnet101_voc() -> Any:
    with _clone("hszhao/semseg"):
        inner = _module("model.pspnet").PSPNet(layers=101, classes=21, zoom_factor=8, pretrained=False)
    inner.load_state_dict(_bare(_weights("semseg", "pspnet101_voc2012.pth")["state_dict"]))

    def forward(net: Any, pictures: Any) -> Any:
        from torch.nn import functional

        height, width = pictures.shape[
            2:
        ]  # it takes sides of 8 k + 1 only, and returns the size it was given
        padded = functional.pad(pictures, (0, -(width - 1) % 8, 0, -(height - 1) % 8), mode="replicate")
        return net(padded)[:, :, :height, :width]

    return _told(_wrapped(inner, forward), voc().names, window="473x473")


def emanet101_voc() -> Any:
    with _clone("XiaLiPKU/EMANet"):
        module = _module("network")
        layers = {50: [3, 4, 6, 3], 101: [3, 4, 23, 3], 152: [3, 8, 36, 3]}
        module.resnet = lambda depth, stride: module.ResNet(
            module.Bottleneck, layers[depth], stride=stride
        )  # theirs unpickles
        inner = module.EMANet(21, 101)
    inner.load_state_dict(_weights("EMANet", "final.pth")["net"])
    return _told(inner, voc().names)


def espnetv2_voc() -> Any:
    return _edgenet(
        "espnetv2", "espnetv2/espnetv2_s_2.0_pascal_384x384.pth", 2.0, "pascal", list(voc().names), "384x384"
    )


def espnetv2_cityscapes() -> Any:
    classes = [*cityscapes().names, "void"]  # the last of its 20 channels is what the others are not
    return _edgenet("espnetv2", "espnetv2/espnetv2_s_2.0_city_1024x512.pth", 2.0, "city", classes, "1024x512")


def dicenet_voc() -> Any:
    return _edgenet(
        "dicenet", "dicenet/dicenet_s_1.75_pascal_384x384.pth", 1.75, "pascal", list(voc().names), "384x384"
    )


def drn_d_38_cityscapes() -> Any:
    """Load DRN-D-38 around the clone's ``drn.py``: its ``segment.py`` is no Python since 3.7, where ``async``
    became a word of the language.
    """
    with _clone("fyu/drn"):
        trunk = _module("drn").drn_d_38(pretrained=False, num_classes=1000)
    from torch import nn

    inner = nn.Module()
    inner.base = nn.Sequential(*list(trunk.children())[:-2])
    inner.seg = nn.Conv2d(trunk.out_dim, 19, kernel_size=1)
    held = _bare(_weights("drn", "drn_d_38_cityscapes.pth"))
    inner.load_state_dict(
        {name: value for name, value in held.items() if not name.startswith("up.")}
    )  # ``up`` is bilinear, as Faultscape's own
    network = _wrapped(inner, lambda net, pictures: net.seg(net.base(pictures)))
    return _told(
        network,
        cityscapes().names,
        mean=(0.290101, 0.328081, 0.286964),
        std=(0.182954, 0.186566, 0.184475),
        multiple=8,
    )


def dgcnet101_cityscapes() -> Any:
    with _clone("lxtGH/GALD-DGCNet"):
        inner = _module("libs.models.DualGCNNet").DualSeg_res101(num_classes=19)
    inner.load_state_dict(
        _weights("GALD-DGCNet", "DualSeg_res101.pth"), strict=False
    )  # the authors' own loading
    return _told(
        _wrapped(inner, lambda net, pictures: net(pictures)[0]), cityscapes().names, window="832x832"
    )


def panoptic_deeplab_cityscapes() -> Any:
    """Load Panoptic-DeepLab with HRNet-W48, whose semantic half has the 80.9 % mIoU that S0 prints."""
    with _clone("bowenc0221/panoptic-deeplab") as folder:
        settings = _module("segmentation.config")
        given = SimpleNamespace(
            cfg=str(folder / "configs" / "panoptic_deeplab_H48_os4_cityscapes.yaml"),
            opts=["MODEL.BACKBONE.PRETRAINED", False],
        )
        settings.update_config(settings.config, given)
        inner = _module("segmentation.model").build_segmentation_model_from_cfg(settings.config)
    held = _weights("panoptic-deeplab", "panoptic_deeplab_H48_os4_cityscapes.pth")
    inner.load_state_dict(held.get("state_dict", held))
    return _told(_wrapped(inner, lambda net, pictures: net(pictures)["semantic"]), cityscapes().names)


def _edgenet(kind: str, weights: str, scale: float, data: str, classes: list[str], size: str) -> Any:
    """Load a network of EdgeNets; its weights lie in the repository itself."""
    with _clone("sacmehta/EdgeNets") as folder:
        given = SimpleNamespace(
            s=scale,
            channels=3,
            num_classes=1000,
            model_width=224,
            model_height=224,
            weights="",
            dataset=data,
            classes=len(classes),
        )
        module = _module(f"model.segmentation.{kind}")
        inner = (
            module.espnetv2_seg(given)
            if kind == "espnetv2"
            else module.dicenet_seg(given, classes=len(classes))
        )
        inner.load_state_dict(_weights(folder.name, f"model/segmentation/model_zoo/{weights}"))
    return _told(inner, classes, size=size)


@contextmanager
def _clone(repository: str) -> Iterator[Path]:
    """Let modules of a clone be imported, and forget them after: many clones call theirs ``models`` or
    ``utils``.
    """
    folder = _folder() / repository.rpartition("/")[2]
    if not folder.is_dir():
        raise ModelError(
            f"{folder}: there is no such clone; git clone https://github.com/{repository} {folder}"
        )
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        new = {name: sys.modules[name] for name in set(sys.modules) - before}
        for name in [name for name, module in new.items() if _lies_in(module, folder)]:
            del sys.modules[name]


def _lies_in(module: Any, folder: Path) -> bool:
    places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", [])]
    return any(Path(place).is_relative_to(folder) for place in places if place)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:  # noqa: BLE001 - old code fails in many ways on a new Python
        reason = (str(error).splitlines() or [""])[0]
        raise ModelError(
            f"the clone's {name} cannot be imported: {type(error).__name__}: {reason}; install what its"
            " README asks for, or mend it there"
        ) from None


def _weights(clone: str, name: str) -> Any:
    """Read a weights file of a clone as tensors; ModelError when it is not there or holds more than
    tensors.
    """
    import pickle

    import torch

    path = _folder() / clone / name
    if not path.is_file():
        raise ModelError(
            f"{path}: there are no weights; docs/reference/models.md says where they are, or that they are gone"
        )
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        reason = str(error).splitlines()[0]
        raise ModelError(
            f"{path}: holds more than tensors ({reason}); convert it where you trust it, and save its"
            " state_dict alone"
        ) from None


def _bare(held: dict[str, Any]) -> dict[str, Any]:
    """Return weights by the names they have outside of DataParallel."""
    return {name.removeprefix("module."): value for name, value in held.items()}


def _folder() -> Path:
    return Path(os.environ.get("FAULTSCAPE_CLONES", "clones")).absolute()


def _wrapped(inner: Any, forward: Any) -> Any:
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, pictures: Any) -> Any:
            return forward(self.inner, pictures)

    return Network()


def _told(network: Any, classes: Any, *, mean: Any = MEAN, std: Any = STD, **more: Any) -> Any:
    """Hang on a network what predict reads off it, and put it into evaluation mode."""
    network.mean, network.std, network.classes = mean, std, list(classes)
    for name, value in more.items():
        setattr(network, name, value)
    return network.eval()
