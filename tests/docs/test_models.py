"""docs/reference/models.md names functions that exist, ask for what is missing, and call their libraries by names that
these libraries have.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultscape.errors import ModelError
from faultscape.plug import find
from refusals import refused

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "models.md").read_text()
SOURCES = sorted(set(re.findall(r"examples/models/\w+\.py:\w+", PAGE)))
HEAVY = (
    "torch",
    "torchvision",
    "timm",
    "segmentation_models_pytorch",
    "mmengine",
    "mit_semseg",
    "tensorflow",
    "pretrainedmodels",
    "transformers",
)

# read in pytorch/vision: torchvision/models/segmentation/{fcn,deeplabv3}.py
SEGMENTATION = {
    "fcn_resnet50": ("FCN_ResNet50_Weights", "fcn_resnet50_coco-1167a1af.pth"),
    "fcn_resnet101": ("FCN_ResNet101_Weights", "fcn_resnet101_coco-7ecb50ca.pth"),
    "deeplabv3_resnet50": ("DeepLabV3_ResNet50_Weights", "deeplabv3_resnet50_coco-cd0a2569.pth"),
    "deeplabv3_resnet101": ("DeepLabV3_ResNet101_Weights", "deeplabv3_resnet101_coco-586e9e4e.pth"),
    "deeplabv3_mobilenet_v3_large": (
        "DeepLabV3_MobileNet_V3_Large_Weights",
        "deeplabv3_mobilenet_v3_large-fc3c493d.pth",
    ),
}
# read in torchvision/models/{vgg,resnet}.py: the enumerations and that each has a member IMAGENET1K_V1
CLASSIFICATION = {
    "vgg16_bn": "VGG16_BN_Weights",
    "resnet34": "ResNet34_Weights",
    "resnet101": "ResNet101_Weights",
    "wide_resnet101_2": "Wide_ResNet101_2_Weights",
}
# those that timm 1.0.31 has both weights and a network for
TIMM = {
    "se_resnet101": "legacy_seresnet101.in1k",
    "senet154": "legacy_senet154.in1k",
    "nasnet_a_large": "nasnetalarge.tf_in1k",
    "pnasnet_5_large": "pnasnet5large.tf_in1k",
    "efficientnet_b7": "tf_efficientnet_b7.aa_in1k",
    "resnext101_32x4d_gluon": "resnext101_32x4d.gluon_in1k",
}
# read on the hub's pages of smp-hub
SMP = {
    "segformer_b5_ade20k": ("smp-hub/segformer-b5-640x640-ade-160k", 150, "640x640"),
    "segformer_b1_cityscapes": ("smp-hub/segformer-b1-1024x1024-city-160k", 19, "1024x1024"),
    "segformer_b0_cityscapes": ("smp-hub/segformer-b0-640x1280-city-160k", 19, "1280x640"),
}
# read in open-mmlab/mmsegmentation: files under configs/, and the metafile.yaml beside each
MMSEG = {
    "pspnet_voc": ("pspnet/pspnet_r101-d8_4xb4-40k_voc12aug-512x512.py", 21),
    "psanet_voc": ("psanet/psanet_r101-d8_4xb4-40k_voc12aug-512x512.py", 21),
    "deeplabv3plus_voc": ("deeplabv3plus/deeplabv3plus_r101-d8_4xb4-40k_voc12aug-512x512.py", 21),
    "danet_voc": ("danet/danet_r101-d8_4xb4-40k_voc12aug-512x512.py", 21),
    "danet_cityscapes": ("danet/danet_r101-d8_4xb2-80k_cityscapes-769x769.py", 19),
    "emanet_cityscapes": ("emanet/emanet_r101-d8_4xb2-80k_cityscapes-769x769.py", 19),
    "deeplabv3plus_cityscapes": ("deeplabv3plus/deeplabv3plus_r101-d8_4xb2-80k_cityscapes-769x769.py", 19),
    "pspnet_ade20k": ("pspnet/pspnet_r101-d8_4xb4-160k_ade20k-512x512.py", 150),
    "mobilenet_v2_ade20k": ("mobilenet_v2/mobilenet-v2-d8_deeplabv3_4xb4-160k_ade20k-512x512.py", 150),
    "segmenter_ade20k": ("segmenter/segmenter_vit-l_mask_8xb1-160k_ade20k-512x512.py", 150),
}
# read in CSAILVision/semantic-segmentation-pytorch: mit_semseg/models/models.py and config/*.yaml
CSAIL = {
    "pspnet_resnet18": ("ade20k-resnet18dilated-ppm_deepsup", 20, 512),
    "pspnet_resnet101": ("ade20k-resnet101dilated-ppm_deepsup", 25, 2048),
    "mobilenet_v2": ("ade20k-mobilenetv2dilated-c1_deepsup", 20, 320),
}


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("torch")


def loader(file: str, name: str) -> Callable[..., Any]:
    return find("model", f"{ROOT}/examples/models/{file}.py:{name}", {})


def tiny(channels: int) -> Any:
    import torch

    return torch.nn.Conv2d(3, channels, 1)


def present(monkeypatch: pytest.MonkeyPatch, **modules: dict[str, Any]) -> None:
    """Put modules that hold nothing but what is given into the place of libraries; ``__`` in a name stands
    for a dot.
    """
    made: dict[str, Any] = {}
    for name, content in modules.items():
        dotted = name.replace("__", ".")
        made[dotted] = ModuleType(dotted)
        vars(made[dotted]).update(content)
        monkeypatch.setitem(sys.modules, dotted, made[dotted])
    for dotted, module in made.items():
        outer, _, inner = dotted.rpartition(".")
        if outer:
            setattr(made[outer], inner, module)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, dict[str, Any]]]:
    """What was asked for at torch's hub; the weights of a network of so many channels come back."""

    import torch

    asked: dict[str, dict[str, Any]] = {}
    answers: dict[str, Any] = {"state": {}}

    def from_url(url: str, **options: Any) -> Any:
        asked[url] = options
        return answers["state"]

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", from_url)
    asked["answers"] = answers
    yield asked
    for options in (o for url, o in asked.items() if url != "answers"):
        assert options["weights_only"] is True
        assert options["map_location"] == "cpu"


def test_the_page_names_every_function_and_every_function_is_named() -> None:
    held = set()
    for file in sorted((ROOT / "examples" / "models").glob("*.py")):
        names = re.findall(r"^def ([a-z]\w*)\(", file.read_text(), re.MULTILINE)
        assert names
        held |= {f"examples/models/{file.name}:{name}" for name in names}
    assert set(SOURCES) == held
    assert len(held) > 40


@pytest.mark.parametrize(
    "paper",
    [
        "Yan et al. 2021: ten",
        "Yan et al. 2021: four",
        "Zhang et al. 2021: five",
        "Wang et al. 2020: eleven",
        "Buchanan et al. 2022",
        "Blum et al. 2021: DeepLabv3+",
    ],
)
def test_the_page_has_every_paper_and_its_models(paper: str) -> None:
    models = {
        "Yan et al. 2021: ten": "DeepLabv3+ EMANet PSANet PSPNet LRefineNet RefineNet BlitzNet ESPNetv2 DiCENet FCN",
        "Yan et al. 2021: four": "HANet DGCNet DANet Panoptic-DeepLab",
        "Zhang et al. 2021: five": "DeepLabv3 ESPNetv2 MobileNetv2 DRN PSPNet",
        "Wang et al. 2020: eleven": (
            "VGG16BN ResNet34 ResNet101 WRN101-2 ResNeXt101-32x4 SE-ResNet-101 SENet154 NASNet-A-Large"
            " PNASNet-5-Large EfficientNet-B7 WSL-ResNeXt101-32x48"
        ),
        "Buchanan et al. 2022": "",
        "Blum et al. 2021: DeepLabv3+": "DeepLabv3+",
    }[paper].split()
    section = PAGE.partition(f"\n## {paper}")[2].partition("\n## ")[0]
    rows = [re.split(r"[ ,(|]", line[2:])[0] for line in section.splitlines() if line.startswith("| ")]
    assert [name for name in dict.fromkeys(rows) if name in models] == models
    assert "`examples/models/" in section


@pytest.mark.parametrize("source", SOURCES)
def test_without_its_library_a_function_says_in_one_line_what_to_install(
    source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in HEAVY:
        monkeypatch.setitem(sys.modules, name, None)  # the import of it fails
    monkeypatch.setenv("FAULTSCAPE_CLONES", str(tmp_path))
    monkeypatch.setenv("FAULTSCAPE_SMP", str(tmp_path))
    (tmp_path / "model.safetensors").touch()
    function = find("model", f"{ROOT}/{source}", {})
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    assert [p.name for p in needed] == (["image"] if "from_tensorflow" in source else [])
    with refused(ModelError) as caught:
        function(*[np.zeros((8, 8, 3), np.uint8)] * len(needed))
    message = str(caught.value)
    assert "\n" not in message
    assert re.search(r"python -m pip install [\w+-]+|git clone https://github\.com/\w+/", message), message


@pytest.mark.parametrize("name", SEGMENTATION)
def test_networks_of_torchvision(name: str, monkeypatch: pytest.MonkeyPatch, fetched: dict[str, Any]) -> None:
    import torch

    enumeration, file = SEGMENTATION[name]
    labels = ["__background__", *"abcdefghijklmnopqrst"]
    weights = SimpleNamespace(url=f"https://download.pytorch.org/models/{file}", meta={"categories": labels})

    def build(*, weights: Any, weights_backbone: Any, num_classes: int, aux_loss: bool) -> Any:
        assert (weights, weights_backbone, aux_loss) == (None, None, True)
        return tiny(num_classes)

    fetched["answers"]["state"] = tiny(21).state_dict()
    content = {name: build, enumeration: SimpleNamespace(COCO_WITH_VOC_LABELS_V1=weights)}
    present(monkeypatch, torchvision={}, torchvision__models={}, torchvision__models__segmentation=content)
    network = loader("from_torchvision", name)()
    assert weights.url in fetched
    assert not network.training
    assert network.classes[:2] == ["background", "a"]
    assert (network.mean, network.std) == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    assert torch.equal(network.weight, fetched["answers"]["state"]["weight"])


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_classifiers_of_torchvision_are_those_that_s2_had(
    name: str, monkeypatch: pytest.MonkeyPatch, fetched: dict[str, Any]
) -> None:
    first = SimpleNamespace(
        url="https://download.pytorch.org/models/first.pth", meta={"categories": ["tench"] * 1000}
    )
    fetched["answers"]["state"] = tiny(4).state_dict()
    content = {
        name: lambda weights: tiny(4) if weights is None else None,
        CLASSIFICATION[name]: SimpleNamespace(IMAGENET1K_V1=first),
    }
    present(monkeypatch, torchvision={}, torchvision__models=content)
    network = loader("classifiers", name)()
    assert first.url in fetched
    assert (network.size, network.crop, len(network.classes), network.training) == (
        "224x224",
        0.875,
        1000,
        False,
    )


@pytest.mark.parametrize("name", TIMM)
def test_classifiers_of_timm_bring_their_own_preprocessing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create_model(model_name: str, *, pretrained: bool) -> Any:
        assert (model_name, pretrained) == (TIMM[name], True)
        return tiny(4).train()

    told = {
        "input_size": (3, 331, 332),
        "mean": (0.5,) * 3,
        "std": (0.25,) * 3,
        "crop_pct": 0.911,
        "interpolation": "bicubic",
    }
    information = SimpleNamespace(label_descriptions=lambda: ["tench"] * 1000)
    data = {
        "resolve_model_data_config": lambda model: None if model.training else told,
        "ImageNetInfo": lambda subset: {"imagenet-1k": information}[subset],
    }
    present(monkeypatch, timm={"create_model": create_model}, timm__data=data)
    network = loader("classifiers", name)()
    assert (network.mean, network.std, network.size, network.crop) == (
        (0.5,) * 3,
        (0.25,) * 3,
        "332x331",
        0.911,
    )
    assert len(network.classes) == 1000
    assert not network.training


def test_the_resnext_of_s2_comes_from_its_port(
    monkeypatch: pytest.MonkeyPatch, fetched: dict[str, Any]
) -> None:
    settings = {
        "url": "http://data.lip6.fr/cadene/pretrainedmodels/resnext101_32x4d-29e315fa.pth",
        "mean": [0.1] * 3,
        "std": [0.2] * 3,
    }
    fetched["answers"]["state"] = tiny(1000).state_dict()

    def build(*, num_classes: int, pretrained: None) -> Any:
        assert pretrained is None
        return tiny(num_classes)

    content = {"pretrained_settings": {"resnext101_32x4d": {"imagenet": settings}}, "resnext101_32x4d": build}
    present(monkeypatch, pretrainedmodels=content)
    network = loader("classifiers", "resnext101_32x4d")()
    assert settings["url"] in fetched
    assert (network.mean, network.std, network.size) == ((0.1,) * 3, (0.2,) * 3, "224x224")


def test_the_weakly_supervised_resnext_is_built_as_its_authors_do(
    monkeypatch: pytest.MonkeyPatch, fetched: dict[str, Any]
) -> None:
    def build(block: str, layers: list[int], *, groups: int, width_per_group: int) -> Any:
        assert (block, layers, groups, width_per_group) == ("bottleneck", [3, 4, 23, 3], 32, 48)
        return tiny(1000)

    fetched["answers"]["state"] = tiny(1000).state_dict()
    known = SimpleNamespace(IMAGENET1K_V1=SimpleNamespace(meta={"categories": ["tench"] * 1000}))
    resnet = {"ResNet": build, "Bottleneck": "bottleneck"}
    present(
        monkeypatch,
        torchvision={},
        torchvision__models={"ResNet34_Weights": known},
        torchvision__models__resnet=resnet,
    )
    network = loader("classifiers", "wsl_resnext101_32x48d")()
    assert "https://download.pytorch.org/models/ig_resnext101_32x48-3e41cc8a.pth" in fetched
    assert (network.size, len(network.classes), network.training) == ("224x224", 1000, False)


@pytest.mark.parametrize("name", SMP)
def test_networks_of_smp(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, channels, size = SMP[name]
    present(
        monkeypatch,
        segmentation_models_pytorch={"from_pretrained": lambda given: {source: tiny(channels)}[given]},
    )
    network = loader("from_smp", name)()
    assert (network.size, network.multiple, len(network.classes)) == (size, 32, network.out_channels)


def test_a_hub_out_of_reach_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_pretrained(given: str) -> Any:
        raise FileNotFoundError(f"no {given} here\nand more lines")

    present(monkeypatch, segmentation_models_pytorch={"from_pretrained": from_pretrained})
    with refused(
        ModelError, r"FileNotFoundError: no smp-hub/\S+ here\); a copy .* runs as own, see FAULTSCAPE_SMP$"
    ):
        loader("from_smp", "segformer_b0_cityscapes")()


def test_ones_own_network_of_smp_lies_in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    present(
        monkeypatch,
        segmentation_models_pytorch={"from_pretrained": lambda given: {str(tmp_path): tiny(3)}[given]},
    )
    monkeypatch.delenv("FAULTSCAPE_SMP", raising=False)
    with refused(ModelError, "set FAULTSCAPE_SMP to the folder"):
        loader("from_smp", "own")()
    monkeypatch.setenv("FAULTSCAPE_SMP", str(tmp_path))
    with refused(ModelError, r"there is no model\.safetensors"):
        loader("from_smp", "own")()
    (tmp_path / "model.safetensors").touch()
    network = loader("from_smp", "own")()
    assert (network.size, hasattr(network, "classes")) == (None, False)


@pytest.mark.parametrize("name", MMSEG)
def test_networks_of_mmsegmentation(
    name: str, monkeypatch: pytest.MonkeyPatch, fetched: dict[str, Any]
) -> None:
    import torch

    path, channels = MMSEG[name]

    class Inner(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = tiny(channels)

        def encode_decode(self, inputs: Any, batch_img_metas: list[dict[str, Any]]) -> Any:
            assert [m["img_shape"] for m in batch_img_metas] == [tuple(inputs.shape[2:])] * len(inputs)
            return self.layer(inputs)

    window = (
        {"mode": "slide", "crop_size": (512, 640), "stride": (341, 341)}
        if "segmenter" in name
        else {"mode": "whole"}
    )
    settings = SimpleNamespace(
        model_path="https://download.openmmlab.com/weights.pth",
        model=SimpleNamespace(data_preprocessor={"mean": [127.5] * 3, "std": [51.0] * 3}, test_cfg=window),
    )
    fetched["answers"]["state"] = {"state_dict": Inner().state_dict(), "meta": {}}
    hub = {
        "get_config": lambda given, pretrained: {(f"mmseg::{path}", True): settings}[given, pretrained],
        "get_model": lambda given: {f"mmseg::{path}": Inner()}[given],
    }
    present(monkeypatch, mmengine={}, mmengine__hub=hub)
    network = loader("from_mmseg", name)()
    assert settings.model_path in fetched
    assert network(torch.zeros(2, 3, 5, 7)).shape == (2, channels, 5, 7)
    assert (len(network.classes), network.mean, network.std) == (channels, (0.5,) * 3, (0.2,) * 3)
    assert network.window == ("640x512" if "segmenter" in name else None)
    assert torch.equal(network.inner.layer.bias, fetched["answers"]["state"]["state_dict"]["layer.bias"])


@pytest.mark.parametrize("answer", [dict, tuple])
@pytest.mark.parametrize("name", CSAIL)
def test_networks_of_csail(
    name: str, answer: type, monkeypatch: pytest.MonkeyPatch, fetched: dict[str, Any]
) -> None:
    import torch

    folder, epoch, width = CSAIL[name]

    class Encoder(torch.nn.Module):
        def __init__(self, trunk: str, dilate_scale: int) -> None:
            super().__init__()
            assert dilate_scale == 8
            self.trunk = trunk

        def forward(self, pictures: Any, return_feature_maps: bool) -> Any:
            return [pictures] if return_feature_maps else None

    class Head(torch.nn.Module):
        def __init__(self, num_class: int, fc_dim: int) -> None:
            super().__init__()
            assert fc_dim == width
            self.layer = tiny(num_class)

        def forward(self, features: Any) -> Any:
            logits = self.layer(features[-1])
            return {"logits": logits, "deepsup_logits": None} if answer is dict else (logits, None)

    kept = (
        {"MobileNetV2Dilated": Encoder, "C1DeepSup": Head}
        if "mobile" in name
        else {"ResnetDilated": Encoder, "PPMDeepsup": Head}
    )
    trunks = {
        trunk: lambda pretrained, trunk=trunk: None if pretrained else trunk
        for trunk in ("resnet18", "resnet101")
    }
    mobile = {"mobilenetv2": lambda pretrained: None if pretrained else "mobilenetv2"}
    present(
        monkeypatch,
        mit_semseg={},
        mit_semseg__models={},
        mit_semseg__models__models=kept,
        mit_semseg__models__resnet=trunks,
        mit_semseg__models__mobilenet=mobile,
    )
    network = loader("from_csail", name)()
    address = f"http://sceneparsing.csail.mit.edu/model/pytorch/{folder}"
    assert {f"{address}/encoder_epoch_{epoch}.pth", f"{address}/decoder_epoch_{epoch}.pth"} <= set(fetched)
    assert {o["file_name"] for url, o in fetched.items() if url != "answers"} == {
        f"{folder}-encoder.pth",
        f"{folder}-decoder.pth",
    }
    assert network.encoder.trunk in folder
    assert network(torch.zeros(1, 3, 8, 16)).shape == (1, 150, 8, 16)
    assert (len(network.classes), network.multiple) == (150, 8)
