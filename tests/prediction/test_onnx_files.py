"""Weights that an ONNX file keeps in files beside it, whatever their names: they are part of the network."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import hostile_archives as hostile
import made
from faultscape.errors import ModelError
from faultscape.maps import runs
from faultscape.prediction import catalogue
from faultscape.prediction.network_files import onnx_files
from faultscape.study.tables import label_maps
from refusals import refused


def external(path: Path, location: str, seed: int = 3) -> Path:
    """The small network with all its weights in another file of its folder."""

    import onnx
    import onnx_networks

    model = onnx.load(onnx_networks.small(path, seed=seed))
    (path.parent / location).parent.mkdir(exist_ok=True)
    (path.parent / location).unlink(missing_ok=True)
    onnx.save(model, path, save_as_external_data=True, location=location, size_threshold=0)
    return path


def naming(path: Path, location: str) -> Path:
    """The same with another name written for that file."""

    import onnx

    model = onnx.load(external(path, "weights.bin"), load_external_data=False)
    for tensor in model.graph.initializer:
        next(entry for entry in tensor.external_data if entry.key == "location").value = location
    path.write_bytes(model.SerializeToString())
    return path


def test_the_numbers_of_fields_are_those_of_onnx() -> None:
    import onnx
    from onnx import TensorProto

    for kind, within in onnx_files.WITHIN.items():
        fields = getattr(onnx, kind).DESCRIPTOR.fields
        found = {field.number: field.message_type.name for field in fields if field.message_type is not None}
        followed = {
            "GraphProto",
            "NodeProto",
            "AttributeProto",
            "TensorProto",
            "SparseTensorProto",
            "FunctionProto",
            "TrainingInfoProto",
        }
        assert within == {number: name for number, name in found.items() if name in followed}
        once = tuple(field.number for field in fields if field.number in within and not field.is_repeated)
        assert once == onnx_files.ONCE.get(kind, ())
    of_tensor = TensorProto.DESCRIPTOR.fields_by_name
    assert of_tensor["external_data"].number == onnx_files.PLACES
    assert of_tensor["data_location"].number == onnx_files.WHERE
    assert onnx_files.ELSEWHERE == TensorProto.EXTERNAL


@pytest.mark.parametrize("location", ["net.onnx.data", "net.onnx_data", "weights.bin", "parts/Größe 1"])
def test_a_network_is_another_when_weights_beside_it_are(tmp_path: Path, location: str) -> None:
    seen = []
    for seed in (3, 4):
        path = external(tmp_path / "net.onnx", location, seed)
        assert [*onnx_files.weights_beside(path)] == [tmp_path / location]
        seen.append(onnx_files.digest(str(path), {}))
    assert seen[0] != seen[1]


def test_a_file_that_the_network_does_not_name_is_no_part_of_it(tmp_path: Path) -> None:
    import onnx_networks

    path = external(tmp_path / "net.onnx", "weights.bin")
    before = onnx_files.digest(str(path), {})
    (tmp_path / "net.onnx.data").write_bytes(b"of another network")
    assert onnx_files.digest(str(path), {}) == before
    assert onnx_files.weights_beside(onnx_networks.small(tmp_path / "whole.onnx")) == {}


def test_weights_within_constants_and_branches_are_found(tmp_path: Path) -> None:
    import onnx
    from onnx import AttributeProto, TensorProto, helper, numpy_helper

    tensors = []
    for name in ("one", "two", "three"):
        tensor = numpy_helper.from_array(np.zeros(2, np.float32), name)
        onnx.external_data_helper.set_external_data(tensor, location=f"{name}.bin")
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        (tmp_path / f"{name}.bin").write_bytes(bytes(8))
        tensors.append(tensor)
    constant = helper.make_node("Constant", [], ["c"], value=tensors[0])
    branch = helper.make_graph(
        [], "branch", [], [helper.make_tensor_value_info("three", TensorProto.FLOAT, [2])], tensors[2:]
    )
    choice = helper.make_node("If", ["c"], ["i"])
    choice.attribute.append(AttributeProto(name="then_branch", type=AttributeProto.GRAPH, g=branch))
    function = helper.make_function(
        "mine", "f", [], ["c"], [helper.make_node("Constant", [], ["c"], value=tensors[1])], []
    )
    graph = helper.make_graph([constant, choice], "whole", [], [])
    (tmp_path / "net.onnx").write_bytes(helper.make_model(graph, functions=[function]).SerializeToString())
    assert [file.name for file in onnx_files.weights_beside(tmp_path / "net.onnx")] == [
        "one.bin",
        "three.bin",
        "two.bin",
    ]


def test_weights_that_are_replaced_make_the_maps_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    for seed in (3, 4):
        path = external(tmp_path / "net.onnx", "weights.bin", seed)
        fs.predict(study, {"net": path}, engine="local")
        photo = fs.formats.read_rgb(corpus.photos / f"{corpus.ids[0]}.png")
        (want,) = catalogue.open_model(str(path)).predict([photo])
        stored = label_maps.read_maps(label_maps.predictions(Path(study), "net"), 0)
        assert (runs.decode(stored[corpus.ids[0]]) == want.labels).all()
    assert (
        "its source, options or images changed; 1 of 1 shards are predicted again" in capsys.readouterr().out
    )


@pytest.mark.parametrize("location", ["../weights.bin", "parts/../../weights.bin", "/weights.bin"])
def test_weights_outside_the_folder_are_refused(tmp_path: Path, location: str) -> None:
    path = naming(tmp_path / "net.onnx", location)
    for way in (lambda: onnx_files.digest(str(path), {}), lambda: catalogue.open_model(str(path))):
        with refused(
            ModelError, r"net\.onnx: names weights outside its folder, '.*'; put them next to it"
        ) as caught:
            way()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("location", ["gone.bin", "*/_ORT_MEM_ADDR_/*"])
def test_weights_that_are_not_there_are_named(tmp_path: Path, location: str) -> None:
    with refused(ModelError, r"net\.onnx: its weights '.*' are missing; put that file into its folder"):
        catalogue.open_model(str(naming(tmp_path / "net.onnx", location)))


def test_what_is_no_network_is_left_to_its_reader(tmp_path: Path) -> None:
    whole = external(tmp_path / "net.onnx", "weights.bin").read_bytes()
    rng = np.random.default_rng(0)
    for data in (
        b"",
        b"no network",
        b"\xff" * 40,
        whole[: len(whole) // 2],
        rng.bytes(3000),
        b"\x3a\x05\x2a\x03\x6a\x01\xff",
    ):
        (tmp_path / "torn.onnx").write_bytes(data)
        assert onnx_files.weights_beside(tmp_path / "torn.onnx") == {}
        with refused(ModelError, "onnxruntime cannot load it"):
            catalogue.open_model(str(tmp_path / "torn.onnx"))


def external_tensors(message: Any) -> Iterator[str]:
    """The files that hold data of tensors anywhere in a message, found by the library's own reader."""
    from onnx import TensorProto

    if isinstance(message, TensorProto) and message.data_location == TensorProto.EXTERNAL:
        yield from (entry.value for entry in message.external_data if entry.key == "location")
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                yield from external_tensors(inner)


@pytest.mark.parametrize("form", hostile.HIDDEN_WEIGHTS)
def test_weights_are_found_in_whatever_form_a_reader_accepts(tmp_path: Path, form: str) -> None:
    path, whole = tmp_path / "net.onnx", external(tmp_path / "whole.onnx", "weights.bin")
    path.write_bytes(hostile.HIDDEN_WEIGHTS[form](whole.read_bytes()))
    assert [*onnx_files.weights_beside(path)] == [tmp_path / "weights.bin"]
    assert catalogue.open_model(str(path)).network.channels == 5


def test_weights_in_training_information_are_found(tmp_path: Path) -> None:
    import onnx

    model = onnx.load(external(tmp_path / "whole.onnx", "weights.bin"), load_external_data=False)
    model.training_info.add().algorithm.initializer.extend(model.graph.initializer)
    del model.graph.initializer[:]
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    assert [*onnx_files.weights_beside(tmp_path / "net.onnx")] == [tmp_path / "weights.bin"]


def test_a_graph_that_stands_twice_is_refused(tmp_path: Path) -> None:
    data = external(tmp_path / "whole.onnx", "weights.bin").read_bytes()
    (tmp_path / "net.onnx").write_bytes(data + b"\x3a\x00")
    for way in (onnx_files.weights_beside, lambda path: catalogue.open_model(str(path))):
        with refused(ModelError, r"net\.onnx: has field 7 of a ModelProto twice; it is forged"):
            way(tmp_path / "net.onnx")


def test_whatever_a_reader_accepts_no_weights_escape_the_check(tmp_path: Path) -> None:
    import onnx
    from google.protobuf.message import DecodeError

    whole = external(tmp_path / "whole.onnx", "weights.bin").read_bytes()
    rng, accepted = np.random.default_rng(5), 0
    for _ in range(400):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), rng.integers(1, 4)):
            data[place] = rng.integers(0, 256)
        (tmp_path / "net.onnx").write_bytes(data)
        try:
            named = {*external_tensors(onnx.ModelProto.FromString(bytes(data)))}
        except DecodeError:
            continue
        accepted += 1
        with contextlib.suppress(ModelError):  # refused: nothing escapes
            found = onnx_files.weights_beside(tmp_path / "net.onnx")
            assert {tmp_path / name for name in named} <= {*found}
    assert accepted > 100


@pytest.mark.parametrize(
    ("domain", "operator"), [("mine", "Relu"), ("com.microsoft", "PythonOp"), ("", "Mine")]
)
def test_operators_that_are_not_built_in_are_named(tmp_path: Path, domain: str, operator: str) -> None:
    import onnx
    import onnx_networks

    model = onnx.load(onnx_networks.small(tmp_path / "net.onnx"))
    model.graph.node[1].domain, model.graph.node[1].op_type = domain, operator
    model.opset_import.append(onnx.helper.make_opsetid(domain or "mine", 1))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    with refused(ModelError, rf"net\.onnx: onnxruntime cannot load it: .*{operator}"):
        catalogue.open_model(str(tmp_path / "net.onnx"))
