"""A network in a folder: built again from its description, on any machine, and refused where it is
damaged.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ModelError
from faultscape.prediction.catalogue import source_of
from refusals import refused

CLASSES = ("road", "sky", "car")
OWN = """
import torch
def net():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 3, 1))
"""


def described(**words):
    from faultscape.uncertainty.description import Description

    return Description("net.py:net", CLASSES, **words)


def made(folder: Path, **words) -> Path:
    from faultscape.uncertainty import description as d

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "backbone.py").write_text(OWN)
    about = described(**words)
    d.save(folder, about, d.build(about, folder), {"trained": {"steps": 3}})
    return folder


def photo() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)


@pytest.mark.parametrize("head", ["linear", "batch-ensemble", "gp", "heteroscedastic", "batch-ensemble+gp"])
def test_a_folder_is_all_that_a_network_needs_and_says_the_same_elsewhere(tmp_path: Path, head: str) -> None:
    here = made(tmp_path / "here", head=head, dropout_at=("1",) if head == "linear" else ())
    there = shutil.move(here, tmp_path / "there")
    assert source_of("m", str(there)).name == "trained"
    before, after = (fs.prediction.open_model(f"{there}/backbone.py:net", scorer=["msp"]) for _ in range(2))
    one, other = before.predict([photo()])[0], after.predict([photo()])[0]
    assert np.array_equal(one.labels, other.labels)
    assert before.network.class_names == list(CLASSES)
    for folder, values in one.kept.items():
        assert np.array_equal(values[0], other.kept[folder][0])


def test_windows_of_a_description_are_those_in_which_it_sees(tmp_path: Path) -> None:
    folder = made(tmp_path / "m", window=8, stride=4, multiple=4)
    way = fs.prediction.open_model(f"{folder}/backbone.py:net").way
    assert (way.window, way.stride) == ((8, 8), (4, 4))


def test_checkpoints_and_logs_are_no_part_of_what_a_network_is(tmp_path: Path) -> None:
    folder = made(tmp_path / "m")
    kind = source_of("m", str(folder))
    before = kind.digest(str(folder), {})
    (folder / "log.csv").write_text("step,loss\n")
    assert kind.digest(str(folder), {}) == before
    (folder / "network.json").write_text((folder / "network.json").read_text() + " ")
    assert kind.digest(str(folder), {}) != before


def test_a_damaged_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = made(tmp_path / "m")
    about = json.loads((folder / "network.json").read_text())
    about["network"]["classes"] = ["road", "sky"]
    (folder / "network.json").write_text(json.dumps(about))
    with refused(
        ModelError,
        r"weights.safetensors: the weights do not match the network: .* is \(3,.*, and the network's \(2,",
    ):
        fs.prediction.open_model(f"{folder}/backbone.py:net")
    (folder / "weights.safetensors").write_bytes(b"\x80\x04pickle")
    with refused(ModelError, r"weights.safetensors: is damaged \(its checksum is wrong\); train the network"):
        fs.prediction.open_model(f"{folder}/backbone.py:net")
    (folder / "network.json").write_text("{}")
    for text, why in (
        ("{}", "it has no 'network'$"),
        ("{", "Invalid JSON: EOF while parsing an object at line 1 column 1$"),
        (
            '{"network": {"backbone": "n.py:net", "classes": ["a"], "multiple": "four"}}',
            "multiple: Input should be a valid integer",
        ),
    ):
        (folder / "network.json").write_text(text)
        with refused(ModelError, f"network.json: not a valid network description: {why}"):
            fs.prediction.open_model(f"{folder}/backbone.py:net")


def test_a_backbone_of_ones_own_that_is_no_module_is_refused(tmp_path: Path) -> None:
    from faultscape.uncertainty.description import build

    (tmp_path / "backbone.py").write_text("def net():\n    return 3\n")
    with refused(ModelError, "backbone.py:net: returned int; expected a torch module"):
        build(described(), tmp_path)
    (tmp_path / "backbone.py").write_text("def net():\n    raise ValueError('no weights')\n")
    with refused(ModelError, "backbone.py:net: raised an error: ValueError: no weights"):
        build(described(), tmp_path)


@pytest.mark.parametrize("spelling", ["{0}/", "{0}//", "{0}/."])
def test_no_spelling_of_a_folder_names_the_code_in_it(
    tmp_path: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.prediction.sources import network_folder

    made(tmp_path / "m")
    monkeypatch.chdir(tmp_path)
    for folder in (spelling.format("m"), spelling.format("./m")):
        with refused(
            ModelError,
            "its backbone is Python code, which would run with your permissions; if you trust it, name it as"
            " .*backbone.py:net",
        ):
            fs.prediction.open_model(folder)
        assert network_folder.kept_as(folder) == str(tmp_path / "m")
    assert network_folder.kept_as("./m/backbone.py:net") == f"{tmp_path / 'm'}/backbone.py:net"
    with refused(ModelError, "its backbone is net.py:net; pass it as m/backbone.py:net"):
        fs.prediction.open_model("m/backbone.py:other")


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (
            {"model_type": "bert", "auto_map": {"AutoModelForSemanticSegmentation": "evil/repo--mod.Evil"}},
            "a configuration of kind 'bert' is not supported",
        ),
        (
            {
                "model_type": "segformer",
                "auto_map": {"AutoModelForSemanticSegmentation": "evil/repo--mod.Evil"},
            },
            "its configuration has 'auto_map', which loads code or weights from elsewhere",
        ),
        (
            {"model_type": "upernet", "backbone": "evil/x", "use_pretrained_backbone": True},
            "its configuration has 'backbone'",
        ),
        (
            {"model_type": "upernet", "backbone_config": {"model_type": "resnet", "use_timm_backbone": True}},
            "its configuration has 'use_timm_backbone'",
        ),
        ({"num_labels": 3}, "a configuration of kind '' is not supported"),
        (
            {"model_type": "segformer", "depths": "many"},
            "transformers cannot build a segformer of its configuration",
        ),
    ],
)
def test_a_description_from_elsewhere_loads_nothing_else(tmp_path: Path, config: dict, why: str) -> None:
    folder = made(tmp_path / "m")
    held = json.loads((folder / "network.json").read_text())
    held["network"] |= {"backbone": "hub/network", "config": config}
    (folder / "network.json").write_text(json.dumps(held))
    with refused(ModelError, why):
        fs.prediction.open_model(str(folder))


def test_two_weights_that_are_one_tensor_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    from faultscape.uncertainty import description as d

    (tmp_path / "backbone.py").write_text(
        "import torch\ndef net():\n    one = torch.nn.Conv2d(8, 8, 1)\n    return"
        " torch.nn.Sequential(torch.nn.Conv2d(3, 8, 1), one, one, torch.nn.Conv2d(8, 3, 1))\n"
    )
    with refused(
        ModelError, "net.1.weight and net.2.weight are the same tensor, which weights files cannot hold"
    ):
        d.build(described(), tmp_path)


def test_what_a_description_says_of_its_input_and_of_dropout_reaches_the_network(tmp_path: Path) -> None:
    from faultscape.uncertainty import description as d

    (tmp_path / "backbone.py").write_text(OWN.replace("torch.nn.ReLU()", "torch.nn.Dropout(0.3)"))
    about = described(multiple=4, size=(24, 16), mean=(0.1, 0.2, 0.3), std=(0.4, 0.5, 0.6), dropout=0.7)
    net = d.build(about, tmp_path)
    assert (net.multiple, net.size, list(net.mean), list(net.std)) == (
        4,
        "24x16",
        [0.1, 0.2, 0.3],
        [0.4, 0.5, 0.6],
    )
    assert [module.p for module in net.modules() if type(module).__name__ == "Dropout"] == [0.7]
    # what was trained without dropout can be trained on with it
    silent = d.build(replace(about, dropout=0.0), tmp_path)
    again = d.build(replace(about, dropout=0.2), tmp_path, silent)
    assert [module.p for module in again.modules() if type(module).__name__ == "Dropout"] == [0.2]
