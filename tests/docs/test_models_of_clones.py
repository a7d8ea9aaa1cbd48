"""Networks of cloned repositories and frozen graphs, on clones made here that hold what was read in the
repositories, and no more.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from faultscape.errors import ModelError
from faultscape.plug import find
from refusals import refused

ROOT = Path(__file__).parents[2]

NET = """
import torch
class Net(torch.nn.Module):
    def __init__(self, channels=21):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, channels, 1)
    def forward(self, x):
        return self.layer(x)
"""
EDGE = (
    NET + "def {name}_seg({arguments}):\n    assert (args.weights, args.s, args.dataset) == ('', {scale},"
    " {data!r})\n    return Net({count})\n"
)


class Clone(NamedTuple):
    """A repository: its files, its file of weights and what that holds, and the channels of the network."""

    repository: str
    files: dict[str, str]
    weights: str
    holds: str = "bare"
    channels: int = 21


CLONES = {
    "fcn8s_voc": Clone(
        "pytorch-fcn",
        {
            "torchfcn/__init__.py": "",
            "torchfcn/models/__init__.py": "",
            "torchfcn/models/fcn8s.py": NET + "def FCN8s(n_class):\n    return Net(n_class)",
        },
        "fcn8s_from_caffe.pth",
    ),
    "refinenet101_voc": Clone(
        "refinenet-pytorch",
        {
            "models/resnet.py": (
                NET + "def rf101(num_classes, pretrained=True):\n    assert not pretrained\n    return"
                " Net(num_classes)"
            )
        },
        "rf101_voc.pth.tar",
    ),
    "light_weight_refinenet152_voc": Clone(
        "light-weight-refinenet",
        {
            "models/resnet.py": (
                NET + "def rf_lw152(num_classes, pretrained=True):\n    assert not pretrained\n    return"
                " Net(num_classes)"
            )
        },
        "rf_lw152_voc.pth.tar",
    ),
    "pspnet101_voc": Clone(
        "semseg",
        {
            "model/pspnet.py": NET
            + """
class PSPNet(Net):
    def __init__(self, layers, classes, zoom_factor, pretrained):
        assert (layers, zoom_factor, pretrained) == (101, 8, False)
        super().__init__(classes)
    def forward(self, x):
        assert (x.shape[2] - 1) % 8 == 0 and (x.shape[3] - 1) % 8 == 0
        return super().forward(x)
"""
        },
        "pspnet101_voc2012.pth",
        holds="parallel",
    ),
    "emanet101_voc": Clone(
        "EMANet",
        {
            "network.py": NET
            + """
Bottleneck = "bottleneck"
def ResNet(block, layers, stride):
    assert (block, layers, stride) == (Bottleneck, [3, 4, 23, 3], 8)
def resnet(n_layers, stride):
    raise AssertionError("reads a pickle of ImageNet weights")
class EMANet(Net):
    def __init__(self, n_classes, n_layers):
        super().__init__(n_classes)
        resnet(n_layers, 8)
"""
        },
        "final.pth",
        holds="net",
    ),
    "espnetv2_voc": Clone(
        "EdgeNets",
        {
            "model/segmentation/espnetv2.py": EDGE.format(
                name="espnetv2", arguments="args", scale=2.0, data="pascal", count="args.classes"
            )
        },
        "model/segmentation/model_zoo/espnetv2/espnetv2_s_2.0_pascal_384x384.pth",
    ),
    "espnetv2_cityscapes": Clone(
        "EdgeNets",
        {
            "model/segmentation/espnetv2.py": EDGE.format(
                name="espnetv2", arguments="args", scale=2.0, data="city", count="args.classes"
            )
        },
        "model/segmentation/model_zoo/espnetv2/espnetv2_s_2.0_city_1024x512.pth",
        channels=20,
    ),
    "dicenet_voc": Clone(
        "EdgeNets",
        {
            "model/segmentation/dicenet.py": EDGE.format(
                name="dicenet", arguments="args, classes", scale=1.75, data="pascal", count="classes"
            )
        },
        "model/segmentation/model_zoo/dicenet/dicenet_s_1.75_pascal_384x384.pth",
    ),
    "drn_d_38_cityscapes": Clone(
        "drn",
        {
            "drn.py": NET
            + """
class Trunk(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out_dim = 5
        self.layer = torch.nn.Conv2d(3, 5, 3, stride=8, padding=1)
        self.avgpool = torch.nn.AvgPool2d(28)
        self.fc = torch.nn.Conv2d(5, 1000, 1)
def drn_d_38(pretrained, num_classes):
    assert not pretrained
    return Trunk()
""",
            "segment.py": "x.cuda(async=True)",
        },
        "drn_d_38_cityscapes.pth",
        "drn",
        19,
    ),
    "dgcnet101_cityscapes": Clone(
        "GALD-DGCNet",
        {
            "libs/models/DualGCNNet.py": (
                NET
                + "class Listed(Net):\n    def forward(self, x):\n        return [super().forward(x)]\ndef"
                " DualSeg_res101(num_classes):\n    return Listed(num_classes)"
            )
        },
        "DualSeg_res101.pth",
        channels=19,
    ),
    "panoptic_deeplab_cityscapes": Clone(
        "panoptic-deeplab",
        {
            "configs/panoptic_deeplab_H48_os4_cityscapes.yaml": "",
            "segmentation/config.py": (
                "config = {}\ndef update_config(cfg, args):\n    open(args.cfg).close()\n   "
                " cfg.update(zip(args.opts[::2], args.opts[1::2]))"
            ),
            "segmentation/model.py": NET
            + """
class Panoptic(Net):
    def forward(self, x):
        return {"semantic": super().forward(x), "center": None}
def build_segmentation_model_from_cfg(config):
    assert config == {"MODEL.BACKBONE.PRETRAINED": False}
    return Panoptic(19)
""",
        },
        "panoptic_deeplab_H48_os4_cityscapes.pth",
        channels=19,
    ),
}
HOLDS = {
    "bare": lambda state: state,
    "net": lambda state: {"net": state, "iter_num": 30000},
    "parallel": lambda state: {
        "epoch": 50,
        "state_dict": {f"module.{name}": value for name, value in state.items()},
    },
}


def loader(name: str, file: str = "from_clones") -> Any:
    return find("model", f"{ROOT}/examples/models/{file}.py:{name}", {})


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("torch")


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAULTSCAPE_CLONES", str(tmp_path))
    return tmp_path


def clone(folder: Path, name: str) -> dict[str, Any]:
    """Make the clone that a function wants, with weights, and return the weights."""

    import torch

    repository, files, weights, holds, channels = CLONES[name]
    for file, text in files.items():
        path = folder / repository / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    generator = torch.Generator().manual_seed(7)
    if holds == "drn":
        state = {
            "base.0.weight": (5, 3, 3, 3),
            "base.0.bias": (5,),
            "seg.weight": (19, 5, 1, 1),
            "seg.bias": (19,),
            "up.weight": (19, 1, 16, 16),
        }
    else:
        state = {"layer.weight": (channels, 3, 1, 1), "layer.bias": (channels,)}
    state = {key: torch.randn(shape, generator=generator) for key, shape in state.items()}
    path = folder / repository / weights
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(HOLDS.get(holds, HOLDS["bare"])(state), path)
    return state


@pytest.mark.parametrize("name", CLONES)
def test_a_clone_and_its_weights_become_a_network(name: str, clones: Path) -> None:
    import torch

    state, channels = clone(clones, name), CLONES[name].channels
    path = list(sys.path)
    network = loader(name)()
    assert sys.path == path
    assert [n for n, module in sys.modules.items() if str(clones) in str(vars(module).get("__spec__"))] == []
    assert not network.training
    assert len(network.classes) == channels
    assert len(network.mean) == len(network.std) == 3
    held = {key.removeprefix("inner."): value for key, value in network.state_dict().items()}
    assert set(held) == {key for key in state if not key.startswith("up.")}
    assert all(torch.equal(held[key], state[key]) for key in held)
    out = network(torch.randn(2, 3, 16, 24))
    assert out.shape[:2] == (2, channels)
    assert out.shape[2:] == ((2, 3) if name.startswith("drn") else (16, 24))


def test_fcn_sees_blue_first_and_less_the_means_of_its_authors(clones: Path) -> None:
    import torch

    weights = clone(clones, "fcn8s_voc")
    network = loader("fcn8s_voc")()
    picture = torch.zeros(1, 3, 4, 4)
    picture[:, 2] = 1.0  # blue
    expected = weights["layer.weight"][:, 0, 0, 0] + weights["layer.bias"]
    assert torch.allclose(network(picture)[0, :, 0, 0], expected)
    red = (200 / 255 - network.mean[0]) / network.std[0]
    assert red == pytest.approx(200 - 122.67891434)


def test_clones_that_call_their_modules_alike_do_not_mix(clones: Path) -> None:
    for name in ("refinenet101_voc", "light_weight_refinenet152_voc", "refinenet101_voc"):
        clone(clones, name)
        assert type(loader(name)()).__module__ == "models.resnet"


def test_what_is_missing_is_said_with_where_it_belongs(clones: Path) -> None:
    with refused(ModelError, r"there is no such clone; git clone https://github\.com/fyu/drn "):
        loader("drn_d_38_cityscapes")()
    clone(clones, "drn_d_38_cityscapes")
    (clones / "drn" / "drn_d_38_cityscapes.pth").unlink()
    with refused(ModelError, r"drn_d_38_cityscapes\.pth: there are no weights"):
        loader("drn_d_38_cityscapes")()
    (clones / "drn" / "drn.py").write_text("target.cuda(async=True)")
    with refused(ModelError, "the clone's drn cannot be imported: SyntaxError: invalid syntax"):
        loader("drn_d_38_cityscapes")()
    (clones / "drn" / "drn.py").write_text("import a_library_of_theirs")
    with refused(
        ModelError,
        "ModuleNotFoundError: No module named 'a_library_of_theirs'; install what its README asks for",
    ):
        loader("drn_d_38_cityscapes")()


def test_weights_that_would_run_code_are_refused(clones: Path) -> None:
    import torch

    clone(clones, "refinenet101_voc")
    torch.save({"layer.weight": SimpleNamespace()}, clones / "refinenet-pytorch" / "rf101_voc.pth.tar")
    with refused(ModelError, "holds more than tensors") as caught:
        loader("refinenet101_voc")()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "archive", "height", "width", "seen"),
    [
        ("deeplabv3plus_xception65_voc", "deeplabv3_pascal_trainval_2018_01_04", 100, 200, (256, 513)),
        (
            "deeplabv3plus_mobilenet_v2_voc",
            "deeplabv3_mnv2_pascal_trainval_2018_01_29",
            1026,
            513,
            (513, 256),
        ),
        (
            "deeplabv3plus_xception71_cityscapes",
            "deeplab_cityscapes_xception71_trainfine_2018_09_08",
            100,
            200,
            (100, 200),
        ),
        (
            "deeplabv3plus_xception65_cityscapes",
            "deeplabv3_cityscapes_train_2018_02_06",
            2049,
            4098,
            (1024, 2049),
        ),
    ],
)
def test_frozen_graphs_return_labels_of_the_picture(
    name: str,
    archive: str,
    height: int,
    width: int,
    seen: tuple[int, int],
    clones: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[str, Any] = {}

    class Session:
        def __init__(self, graph: Any) -> None:
            given["graph"] = graph

        def run(self, fetch: str, feed: dict[str, Any]) -> Any:
            assert fetch == "SemanticPredictions:0"
            pictures = feed["ImageTensor:0"]
            given["seen"] = pictures.shape
            return (pictures[..., 0] > 100).astype(np.int64) * 15

    class Graph:
        def as_default(self) -> Any:
            return self

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    library = ModuleType("tensorflow")
    library.Graph = Graph
    library.import_graph_def = lambda definition, name: given.update(definition=name + definition)
    library.compat = SimpleNamespace(
        v1=SimpleNamespace(GraphDef=SimpleNamespace(FromString=lambda raw: raw.decode()), Session=Session)
    )
    monkeypatch.setitem(sys.modules, "tensorflow", library)
    image = np.zeros((height, width, 3), np.uint8)
    image[: height // 2] = 200
    function = loader(name, "from_tensorflow")
    with refused(ModelError, rf"unpack http://download\.tensorflow\.org/models/{archive}\.tar\.gz there"):
        function(image)
    (clones / "deeplab" / archive / "inner").mkdir(parents=True)
    (clones / "deeplab" / archive / "inner" / "frozen_inference_graph.pb").write_text(archive)
    labels = function(image)
    assert (given["definition"], given["seen"]) == (archive, (1, *seen, 3))
    assert (labels.shape, labels.dtype) == ((height, width), np.uint8)
    assert labels[: height // 2 - 2].min() == labels.max() == 15
    assert labels[height // 2 + 2 :].max() == 0
    assert len(function.classes) == (19 if "cityscapes" in name else 21)
