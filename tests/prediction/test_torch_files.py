"""Networks of torch in a file: exported programs and TorchScript give the module's own labels; what would run
when it is read is refused unread.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faultscape.errors import ModelError, OptionError
from faultscape.maps import winners
from faultscape.prediction import catalogue
from faultscape.prediction.network_files import exported_files
from refusals import refused

NAMES = ["sky", "road", "car", "person", "tree"]
ENDINGS = {"exported": "net.pt2", "scripted": "net.ts"}
SAID = {"mean": [0.4], "std": [0.3], "classes": NAMES}


@pytest.fixture
def photo() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (11, 15, 3), np.uint8).repeat(4, 0).repeat(4, 1)


class _Creates:
    """Unpickling this creates a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.path),))


@pytest.mark.parametrize("write", ["exported", "scripted"])
def test_labels_equal_the_modules_own_at_any_size_and_number(
    tmp_path: Path, photo: np.ndarray, write: str
) -> None:
    import torch_networks as nets

    path = getattr(nets, write)(tmp_path / ENDINGS[write], said=SAID)
    model = catalogue.open_model(str(path))
    assert model.network.class_names == NAMES
    assert model.network.channels == 5
    pictures = [photo, photo[:32, :40], photo[::-1].copy()]
    for picture, out in zip(pictures, model.predict(pictures), strict=True):
        want = winners.labels(nets.logits(nets.Small(), picture, 0.4, 0.3), picture.shape[1::-1])
        assert (out.labels == want).all()
        assert len(np.unique(want)) > 2


@pytest.mark.parametrize("batch", [1, 3])
def test_a_program_of_fixed_shape_gets_pictures_of_its_size_and_its_number(
    tmp_path: Path, photo: np.ndarray, batch: int
) -> None:
    import cv2
    import torch_networks as nets

    model = catalogue.open_model(
        str(nets.exported(tmp_path / "fixed.pt2", (batch, 24, 32))), batch=8, input_size="64x64"
    )
    assert model.network.batch == batch
    small = [cv2.resize(p, (32, 24), interpolation=cv2.INTER_LINEAR) for p in (photo, photo[::-1])]
    for out, picture in zip(model.predict([photo, photo[::-1].copy()]), small, strict=True):
        assert (out.labels == winners.labels(nets.logits(nets.Small(), picture), (60, 44))).all()


def test_what_the_file_says_of_its_input_gives_way_to_what_is_asked_for(
    tmp_path: Path, photo: np.ndarray
) -> None:
    import torch_networks as nets

    path = str(nets.exported(tmp_path / "net.pt2", said={**SAID, "size": "40x36"}))
    assert catalogue.open_model(path).prepare(photo, (60, 44)).views[0].shape == (3, 36, 40)
    asked = (
        catalogue.open_model(path, input_size="20x16", mean=[0.1, 0.2, 0.3], std=[0.5])
        .prepare(photo, (60, 44))
        .views[0]
    )
    assert asked.shape == (3, 16, 20)
    assert abs(asked.min() - (0 - 0.3) / 0.5) < 0.2


@pytest.mark.parametrize("module", ["Dict", "Labels", "Tuple"])
def test_a_dict_a_tuple_and_labels_are_understood(tmp_path: Path, photo: np.ndarray, module: str) -> None:
    import torch_networks as nets

    out = catalogue.open_model(
        str(nets.exported(tmp_path / "net.pt2", module=getattr(nets, module)()))
    ).predict([photo])[0]
    scores = nets.logits(nets.Small(), photo)
    want = (
        scores.argmax(0).repeat(2, 0).repeat(2, 1) if module == "Labels" else winners.labels(scores, (60, 44))
    )
    assert (out.labels == want).all()


def test_one_channel_is_refused_since_its_largest_is_always_the_first(
    tmp_path: Path, photo: np.ndarray
) -> None:
    import torch_networks as nets

    (out,) = catalogue.open_model(str(nets.exported(tmp_path / "net.pt2", module=nets.One()))).predict(
        [photo]
    )
    assert out.problem.endswith(
        "returned one channel of fractional numbers, whose largest is always class 0; return one channel per"
        " class, or labels"
    )


@pytest.mark.parametrize("write", ["exported", "scripted"])
def test_files_of_torch_keep_no_layers_and_that_is_said(tmp_path: Path, write: str) -> None:
    import torch_networks as nets

    path = getattr(nets, write)(tmp_path / ENDINGS[write])
    with refused(
        ModelError,
        "exported programs and TorchScript do not expose layers, so --keep embedding is not available",
    ):
        catalogue.open_model(str(path), keep=["embedding=first"])


@pytest.mark.parametrize("write", ["exported", "scripted"])
def test_a_size_in_the_extra_file_may_be_a_pair(tmp_path: Path, photo: np.ndarray, write: str) -> None:
    import torch_networks as nets

    path = getattr(nets, write)(tmp_path / ENDINGS[write], said={"size": [40, 36]})
    assert catalogue.open_model(str(path)).prepare(photo, (60, 44)).views[0].shape == (3, 36, 40)


def test_a_program_of_one_size_is_shown_no_other(tmp_path: Path, photo: np.ndarray) -> None:
    import torch_networks as nets

    path = str(nets.exported(tmp_path / "fixed.pt2", (1, 24, 32)))
    with refused(OptionError, r"fixed.pt2: only takes images of 32x24; leave out --scales"):
        catalogue.open_model(path, scales=[1.0, 2.0])
    assert catalogue.open_model(path, flip=True).predict([photo])[0].labels is not None


def test_an_extra_file_that_is_no_object_is_told(tmp_path: Path) -> None:
    import torch_networks as nets

    with refused(ModelError, r"net.pt2: its extra file faultscape.json is not a JSON object"):
        catalogue.open_model(str(nets.exported(tmp_path / "net.pt2", said=[1])))
    with refused(ModelError, r"net.ts: invalid input settings"):
        catalogue.open_model(str(nets.scripted(tmp_path / "net.ts", said={"mean": "grey"})))


@pytest.mark.parametrize("ending", [".pt", ".pth"])
@pytest.mark.parametrize("kind", ["weights", "module", "evil", "old evil", "noise"])
def test_a_file_of_weights_or_of_a_pickled_module_is_refused_and_nothing_of_it_runs(
    tmp_path: Path, kind: str, ending: str
) -> None:
    import torch
    import torch_networks as nets

    path, victim = tmp_path / f"net{ending}", tmp_path / "created"
    if kind == "weights":
        torch.save(nets.Small().state_dict(), path)
    if kind == "module":
        torch.save(nets.Small(), path)
    if kind == "evil":
        torch.save({"weight": _Creates(victim)}, path)
    if kind == "old evil":
        path.write_bytes(pickle.dumps(_Creates(victim)))
    if kind == "noise":
        path.write_bytes(b"PK\x03\x04 and nothing more")
    with refused(
        ModelError,
        "is not a TorchScript file; a network cannot be built from weights alone: write a function that builds it",
    ):
        catalogue.open_model(str(path))
    assert not victim.exists()


def test_a_script_whose_data_is_another_pickle_is_refused_and_nothing_of_it_runs(tmp_path: Path) -> None:
    import torch_networks as nets

    victim = tmp_path / "created"
    path = nets.forged(
        nets.scripted(tmp_path / "whole.ts"),
        tmp_path / "net.ts",
        {"data.pkl": pickle.dumps(_Creates(victim), 2)},
    )
    with refused(ModelError, r"net\.ts: its data\.pkl names 'posix mkdir'; only tensors, plain values and"):
        catalogue.open_model(str(path))
    assert not victim.exists()


def test_a_function_that_meets_a_pickle_says_so_in_words_of_ours(tmp_path: Path) -> None:
    import torch

    torch.save({"weight": _Creates(tmp_path / "created")}, tmp_path / "weights.pth")
    (tmp_path / "net.py").write_text(
        f"import torch\ndef build():\n    return torch.load({str(tmp_path / 'weights.pth')!r})\n"
    )
    with refused(ModelError, "loading failed: UnpicklingError: it contains more than weights") as caught:
        catalogue.open_model(f"{tmp_path / 'net.py'}:build")
    assert "weights_only" not in str(caught.value)
    assert not (tmp_path / "created").exists()


def evil_pickle(victim: Path) -> bytes:
    return pickle.dumps(_Creates(victim), 2)


def saved_evil(victim: Path) -> bytes:
    import torch

    stream = io.BytesIO()
    torch.save(_Creates(victim), stream)
    return stream.getvalue()


def names_opaque(path_name: str) -> Callable[[Any], None]:
    def change(config: Any) -> None:
        config["config"]["thing"] = {
            "path_name": path_name,
            "is_param": False,
            "use_pickle": True,
            "tensor_meta": None,
        }

    return change


def pickled_weight(config: Any) -> None:
    next(iter(config["config"].values()))["use_pickle"] = True


def attacks(victim: Path) -> dict[str, dict[str, Any]]:
    """Members that make torch's own reader run code, each in another way."""
    opens = f"__import__('os').mkdir({str(victim)!r})"
    node = {
        "target": "torch.os.mkdir",
        "inputs": [{"name": "a", "arg": {"as_string": str(victim)}, "kind": 1}],
        "outputs": [],
        "metadata": {},
    }

    def graph(change: Callable[[Any], Any]) -> dict[str, Any]:
        return {"models/model.json": change}

    def symbol(whole: Any) -> None:
        inputs = next(
            v
            for v in whole["graph_module"]["graph"]["tensor_values"].values()
            if any("as_expr" in s for s in v["sizes"])
        )
        next(s for s in inputs["sizes"] if "as_expr" in s)["as_expr"]["expr_str"] = opens

    def rename(whole: Any) -> None:
        text = json.dumps(whole["graph_module"]).replace('"image"', json.dumps(f"image=({opens})"))
        whole["graph_module"] = json.loads(text)

    def maps_a_file(whole: Any) -> None:
        within = whole["graph_module"]["graph"]
        given = [
            ({"as_string": str(victim)}, "filename"),
            ({"as_bool": True}, "shared"),
            ({"as_int": 64}, "size"),
        ]
        inputs = [{"name": name, "arg": arg, "kind": 1} for arg, name in given]
        out = [{"as_tensor": {"name": "mapped"}}]
        within["nodes"].insert(
            0,
            {"target": "torch.ops.aten.from_file.default", "inputs": inputs, "outputs": out, "metadata": {}},
        )
        within["tensor_values"]["mapped"] = next(iter(within["tensor_values"].values()))

    constants = "data/constants/model_constants_config.json"
    return {
        "opaque object": {
            constants: names_opaque("opaque_obj_0"),
            "data/constants/opaque_obj_0": evil_pickle(victim),
        },
        "opaque object in a folder": {
            constants: names_opaque("opaque_obj_x/0"),
            "data/constants/opaque_obj_x/0": evil_pickle(victim),
        },
        "opaque object in capitals": {
            constants: names_opaque("opaque_obj_0"),
            "data/constants/OPAQUE_obj_0": evil_pickle(victim),
        },
        "pickled weight": {
            "data/weights/model_weights_config.json": pickled_weight,
            "data/weights/weight_0": saved_evil(victim),
        },
        "pickled inputs": {"data/sample_inputs/model.pt": saved_evil(victim)},
        "old weights": {"data/weights/model.pt": saved_evil(victim)},
        "size": graph(symbol),
        "name": graph(rename),
        "function": graph(lambda whole: whole["graph_module"]["graph"]["nodes"].insert(0, node)),
        "file": graph(maps_a_file),
        "library": {"data/aotinductor/model/net.so": b"\x7fELF"},
    }


ATTACKS = (
    "opaque object",
    "opaque object in a folder",
    "opaque object in capitals",
    "pickled weight",
    "pickled inputs",
    "old weights",
    "size",
    "name",
    "function",
    "file",
    "library",
)
SAID_OF = {
    "opaque object": "which only unpickling could read; export the network without it",
    "size": "has the size \"__import__('os').mkdir(",
    "name": "has the name \"image=(__import__('os').mkdir(",
    "function": "calls 'torch.os.mkdir'; only graphs of torch's own operators are run",
    "file": "calls 'torch.ops.aten.from_file.default'; only graphs of torch's own operators are run",
    "library": "which is not part of a graph with its weights",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch_networks as nets

    return nets.exported(tmp_path_factory.mktemp("pt2") / "net.pt2")


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_exported_program_that_would_run_something_is_refused_and_nothing_runs(
    tmp_path: Path, whole: Path, attack: str
) -> None:
    import torch_networks as nets

    victim = tmp_path / "created"
    assert (*attacks(victim),) == ATTACKS
    path = nets.forged(whole, tmp_path / "net.pt2", attacks(victim)[attack])
    with refused(ModelError, r"net\.pt2: ") as caught:
        catalogue.open_model(str(path)).predict([np.zeros((32, 32, 3), np.uint8)])
    assert "\n" not in str(caught.value)
    assert SAID_OF.get(attack, "") in str(caught.value)
    assert not victim.exists()


def test_guards_which_are_code_of_the_file_are_never_run(tmp_path: Path, whole: Path) -> None:
    import torch_networks as nets

    victim = tmp_path / "created"
    guard = f"__import__('os').mkdir({str(victim)!r})"
    path = nets.forged(
        whole,
        tmp_path / "net.pt2",
        {"models/model.json": lambda program: program["guards_code"].append(guard)},
    )
    out = catalogue.open_model(str(path)).predict([np.zeros((32, 32, 3), np.uint8)])
    assert out[0].labels.shape == (32, 32)
    assert not victim.exists()


@pytest.mark.parametrize("attack", ["opaque object", "size", "file"])
def test_the_attacks_are_real_where_nothing_looks(
    tmp_path: Path, whole: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch_networks as nets

    monkeypatch.setattr(exported_files, "check", lambda _path, _file: None)
    victim = tmp_path / "created"
    path = nets.forged(whole, tmp_path / "net.pt2", attacks(victim)[attack])
    with contextlib.suppress(ModelError):
        catalogue.open_model(str(path)).predict([np.zeros((32, 32, 3), np.uint8)])
    assert victim.exists()


@pytest.mark.parametrize("data", [b"", b"no archive", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_exported_program_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "net.pt2").write_bytes(data)
    with refused(ModelError, r"net.pt2: (is not an|contains no) exported program") as caught:
        catalogue.open_model(str(tmp_path / "net.pt2"))
    assert "\n" not in str(caught.value)


def test_a_torn_program_is_one_sentence(tmp_path: Path, whole: Path) -> None:
    data = whole.read_bytes()
    for part in (0.3, 0.99):
        (tmp_path / "net.pt2").write_bytes(data[: int(len(data) * part)])
        with refused(ModelError, r"net.pt2: is not an exported program: .") as caught:
            catalogue.open_model(str(tmp_path / "net.pt2"))
        assert "\n" not in str(caught.value)
