"""The ONNX adapter: any network with logits or labels, in either layout, with the input it says or is
told.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import ClassesError, ModelError, OptionError
from faultscape.prediction.catalogue import open_model
from faultscape.prediction.inference import Inference
from faultscape.prediction.sources.onnx import OnnxNetwork
from faultscape.reading.study import Study
from faultscape.verbs.verb import group_options
from refusals import refused


def network(
    path: Path,
    *,
    classes: int = 5,
    layout: str = "nchw",
    size: tuple[int, int] | None = None,
    batch: int | None = None,
    labels: bool = False,
    weights: np.ndarray | None = None,
    metadata: dict[str, str] | None = None,
) -> Path:
    """A 1x1 convolution from colour to classes, written as a real ONNX file."""

    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(4)
    weights = rng.normal(size=(classes, 3, 1, 1)).astype(np.float32) if weights is None else weights
    height, width = (size[1], size[0]) if size else ("h", "w")
    shape = [batch or "n", 3, height, width] if layout == "nchw" else [batch or "n", height, width, 3]
    nodes = [] if layout == "nchw" else [helper.make_node("Transpose", ["image"], ["chw"], perm=[0, 3, 1, 2])]
    nodes.append(helper.make_node("Conv", ["image" if layout == "nchw" else "chw", "w"], ["logits"]))
    kind, name = TensorProto.FLOAT, "logits"
    out_shape: list = [batch or "n", classes, "h2", "w2"]
    if labels:
        nodes.append(helper.make_node("ArgMax", ["logits"], ["labels"], axis=1, keepdims=0))
        kind, name, out_shape = TensorProto.INT64, "labels", [batch or "n", "h2", "w2"]
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, kind, out_shape)],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    for key, value in (metadata or {}).items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, path)
    return path


def opened(path: Path, options: dict | None = None, classes: tuple[int, ...] = ()) -> Inference:
    return Inference(OnnxNetwork(path, {**(options or {}), "channels": classes}))


def by_hand(photo: np.ndarray, weights: np.ndarray, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    pixels = (photo.astype(np.float32) / 255 - mean) / std
    return np.einsum("hwc,kc->hwk", pixels, weights[:, :, 0, 0]).argmax(-1)


@pytest.fixture
def photo() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (7, 9, 3), np.uint8).repeat(4, 0).repeat(4, 1)


WEIGHTS = np.random.default_rng(4).normal(size=(5, 3, 1, 1)).astype(np.float32)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("labels", [False, True])
def test_logits_and_labels_in_both_layouts_equal_the_arithmetic(
    tmp_path: Path, photo: np.ndarray, layout: str, labels: bool
) -> None:
    model = opened(network(tmp_path / "m.onnx", layout=layout, labels=labels))
    out = model.predict([photo, photo[::-1].copy()], [(36, 28), (36, 28)])
    assert (out[0].labels == by_hand(photo, WEIGHTS)).all()
    assert (out[1].labels == by_hand(photo[::-1], WEIGHTS)).all()


def test_mean_std_and_size_are_read_from_the_file_or_given(tmp_path: Path, photo: np.ndarray) -> None:
    said = {"faultscape.mean": "[0.4,0.4,0.4]", "faultscape.std": "[0.2,0.2,0.2]", "faultscape.size": "36x28"}
    model = opened(network(tmp_path / "m.onnx", metadata=said))
    assert model.network.inputs.size == (36, 28)
    assert (model.predict([photo], [(36, 28)])[0].labels == by_hand(photo, WEIGHTS, 0.4, 0.2)).all()
    given = opened(tmp_path / "m.onnx", {"mean": [0.1] * 3, "std": [0.5] * 3})
    assert (given.predict([photo], [(36, 28)])[0].labels == by_hand(photo, WEIGHTS, 0.1, 0.5)).all()


def test_logits_are_brought_to_the_working_size_before_the_arg_max(tmp_path: Path, photo: np.ndarray) -> None:
    import cv2

    model = opened(network(tmp_path / "m.onnx", size=(18, 14)))
    small = cv2.resize(photo, (18, 14), interpolation=cv2.INTER_LINEAR).astype(np.float32) / 255
    logits = np.einsum("hwc,kc->hwk", small, WEIGHTS[:, :, 0, 0]).astype(np.float32)
    want = cv2.resize(np.ascontiguousarray(logits), (36, 28), interpolation=cv2.INTER_LINEAR).argmax(-1)
    got = model.predict([photo], [(36, 28)])[0].labels
    assert got is not None
    assert np.mean(got == want) > 0.999


@pytest.mark.parametrize(
    "options", [{"window": "32x24"}, {"scales": [0.5]}, {"scales": [1.0, 2.0], "flip": True}]
)
def test_a_network_of_one_size_is_refused_windows_and_scales_before_it_runs(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    net = str(network(tmp_path / "m.onnx", size=(18, 14)))
    words = (
        r"m.onnx: only takes images of 18x14; leave out --scales, and leave out --window or set it to 18x14"
    )
    with refused(OptionError, words):
        open_model(net, **options)


def test_a_network_of_one_size_sees_larger_pictures_in_windows_of_that_size(
    tmp_path: Path, photo: np.ndarray
) -> None:
    model = open_model(
        str(network(tmp_path / "m.onnx", size=(18, 14))),
        window="18x14",
        stride="9x7",
        scales=[1.0, 2.0],
        flip=True,
    )
    assert (model.predict([photo])[0].labels == by_hand(photo, WEIGHTS)).mean() > 0.9
    with refused(ModelError, r"only takes images of 18x14, and no window of an image of 10x28 has that size"):
        model.predict([photo[:, :10].copy()])


def test_a_size_that_is_fixed_goes_before_a_multiple(tmp_path: Path, photo: np.ndarray) -> None:
    model = open_model(str(network(tmp_path / "m.onnx", size=(18, 14))), multiple=32)
    assert model.predict([photo])[0].labels is not None


def test_what_the_runtime_says_is_told_whole_on_one_line(tmp_path: Path) -> None:
    net = OnnxNetwork(network(tmp_path / "m.onnx", size=(18, 14)))
    with refused(ModelError, r"the network failed: .*index: 3 Got: 12 Expected: 18") as caught:
        net.run(np.zeros((1, 3, 14, 12), np.float32))
    assert "\n" not in str(caught.value)


def test_a_network_of_something_else_than_pictures_is_told_what_it_takes(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    ids = helper.make_tensor_value_info("ids", TensorProto.FLOAT, ["n", "l"])
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", "l"])
    graph = helper.make_graph([helper.make_node("Relu", ["ids"], ["out"])], "text", [ids], [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "text.onnx")
    with refused(ModelError, r"text.onnx: it takes ids of 2 axes; expected one image input with 4 axes"):
        open_model(str(tmp_path / "text.onnx"))


def test_a_fixed_batch_is_filled_up_and_photos_of_any_size_go_together(
    tmp_path: Path, photo: np.ndarray
) -> None:
    model = opened(network(tmp_path / "m.onnx", batch=3))
    assert model.network.batch == 3
    other = photo[:20, :24].copy()
    out = model.predict([photo, other], [(36, 28), (24, 20)])
    assert (out[0].labels == by_hand(photo, WEIGHTS)).all()
    assert (out[1].labels == by_hand(other, WEIGHTS)).all()


@pytest.mark.slow
def test_a_study_with_networks_keeps_their_own_channels_and_maps_them_by_name(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=5, models=1)
    order = ["tree", "person", "car", "road", "sky"]
    network(tmp_path / "named.onnx", metadata={"faultscape.classes": json.dumps(order)})
    network(tmp_path / "plain.onnx")
    study = str(tmp_path / "study")
    made.collected(corpus, study, 2)
    fs.predict(study, {"named": tmp_path / "named.onnx", "plain": tmp_path / "plain.onnx"})
    fs.compare(study, engine="local")
    from faultscape.reading.pairs import read_block
    from faultscape.study.settings import read_settings
    from faultscape.study.tables.corpus import read_corpus, shards

    root = Path(study)
    settings = read_settings(root)
    assert settings.models["named"].labels == {str(k): n for k, n in enumerate(order)}
    pairs = read_block(Study(root), shards(read_corpus(root))[0], ["named", "plain"])
    assert (pairs.totals[0][:, :5] == pairs.totals[1][:, 4::-1]).all()  # the same pixels under turned names


@pytest.mark.slow
def test_a_network_that_does_not_fit_the_classes_is_refused_with_what_to_do(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    network(tmp_path / "seven.onnx", classes=7)
    with refused(ClassesError, "the network has 7 classes, the study 5; give --labels FILE"):
        fs.predict(study, {"m": tmp_path / "seven.onnx"})
    network(
        tmp_path / "other.onnx",
        metadata={"faultscape.classes": json.dumps(["sky", "rode", "car", "person", "tree"])},
    )
    with refused(ClassesError, r"is not a class of the study: rode\..*Did you mean 'road'"):
        fs.predict(study, {"m": tmp_path / "other.onnx"})
    (tmp_path / "bad.onnx").write_bytes(b"no network")
    with refused(ModelError, "onnxruntime cannot load it"):
        fs.predict(study, {"m": tmp_path / "bad.onnx"})
    mapping = tmp_path / "map.toml"
    mapping.write_text("".join(f'{k} = "{n}"\n' for k, n in enumerate([*made.NAMES, "car", "void"])))
    assert fs.predict(study, {"m": tmp_path / "seven.onnx"}, labels=str(mapping)).models["m"] == (3, 0)


def test_nan_logits_are_a_failure_of_that_image_only(tmp_path: Path, photo: np.ndarray) -> None:
    weights = WEIGHTS.copy()
    weights[0, 0] = np.nan
    out = opened(network(tmp_path / "m.onnx", weights=weights)).predict([photo], [(36, 28)])
    assert out[0].labels is None
    assert out[0].problem == "the network gave NaN"


@pytest.mark.slow
def test_a_working_size_applies_to_networks_when_they_run_and_to_folders_when_they_are_read(
    tmp_path: Path,
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    network(tmp_path / "m.onnx")
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes), size="24x24")
    fs.predict(study, {"net": tmp_path / "m.onnx", "maps": corpus.models["model-0"]})
    from faultscape.maps import runs
    from faultscape.study.tables import label_maps

    stored = {
        n: {runs.shape(c) for c in label_maps.read_maps(label_maps.predictions(Path(study), n), 0).values()}
        for n in ("net", "maps")
    }
    assert stored == {"net": {(24, 24)}, "maps": {(36, 48)}}
    fs.compare(study, engine="local")
    assert fs.select(study, maps=fs.options.MapRules(constraints="none")).images


def channels_last(path: Path, source: Path, height: object = "h2", width: object = "w2") -> Path:
    """The same network with its logits as N x H x W x C."""

    import onnx
    from onnx import TensorProto, helper

    model = onnx.load(source)
    classes = model.graph.output[0].type.tensor_type.shape.dim[1].dim_value
    model.graph.node.append(helper.make_node("Transpose", ["logits"], ["last"], perm=[0, 2, 3, 1]))
    del model.graph.output[:]
    model.graph.output.append(
        helper.make_tensor_value_info("last", TensorProto.FLOAT, ["n", height, width, classes])
    )
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("shape", [("h2", "w2"), (24, 32)])
def test_logits_with_channels_last_give_the_same_labels(tmp_path: Path, shape: tuple[object, object]) -> None:
    photo = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
    first = network(tmp_path / "first.onnx", size=(32, 24))
    last = opened(channels_last(tmp_path / "last.onnx", first, *shape), classes=(5,))
    assert last.network.channels == 5
    want = opened(first).predict([photo], [(32, 24)])[0].labels
    assert (last.predict([photo], [(32, 24)])[0].labels == want).all()


def test_more_classes_than_columns_do_not_turn_the_axes(tmp_path: Path) -> None:
    weights = np.zeros((40, 3, 1, 1), np.float32)
    weights[37] = 1
    path = network(tmp_path / "many.onnx", classes=40, weights=weights, size=(16, 12))
    photo = np.full((12, 16, 3), 200, np.uint8)
    for model in (opened(path), opened(path, classes=(40,))):
        assert model.network.channels == 40
        assert (model.predict([photo], [(16, 12)])[0].labels == 37).all()


def test_more_channels_than_cv2_resizes_at_once(tmp_path: Path) -> None:
    weights = np.zeros((700, 3, 1, 1), np.float32)
    weights[650] = 1
    model = opened(network(tmp_path / "wide.onnx", classes=700, weights=weights))
    out = model.predict([np.full((8, 8, 3), 200, np.uint8)], [(8, 8)])[0].labels
    assert out.dtype == np.uint16
    assert (out == 650).all()


def test_what_a_network_was_given_holds_until_something_else_is_said(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    path = network(tmp_path / "net.onnx", classes=3)
    (tmp_path / "labels.json").write_text('{"0": "sky", "1": "road", "2": "void"}')
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    said = {
        "labels": str(tmp_path / "labels.json"),
        "input_size": "24x24",
        "mean": [0.5],
        "std": [0.25],
        "threads": 1,
    }
    fs.predict(study, {"net": path}, engine="local", **group_options(fs.predict, said))
    before = made.bytes_under(Path(study), "predictions", "study.toml")
    fs.predict(study, corpus.models, engine="local")
    fs.run(study, engine="local")
    after = made.bytes_under(Path(study), "predictions/net")
    assert after == {name: data for name, data in before.items() if name.startswith("predictions/net")}
    settings = fs.study.settings.read_settings(Path(study)).models["net"]
    assert settings.options == {
        "threads": 1,
        "labels": "given",
        "size": "24x24",
        "mean": [0.5],
        "std": [0.25],
    }
    assert settings.labels == {"0": "sky", "1": "road", "2": "void"}


def test_maps_made_at_another_working_size_are_stale_and_compare_says_so(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    path, study = network(tmp_path / "net.onnx"), str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, {"net": path} | corpus.models, engine="local")
    fs.collect(study, str(corpus.photos), size="24x18")
    assert {stage: state for stage, state, _ in fs.status(study).stages}["predict"] == "stale"
    with refused(fs.errors.StudyError, "maps of net were made at another working size"):
        fs.compare(study, engine="local")
    fs.predict(study, {"net": path}, engine="local")
    assert fs.compare(study, engine="local").parts_made == 2


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"std": [0.0]}, {"mean": [0.1, 0.2]}, {"layout": "chwn"}])
def test_options_that_no_network_can_have_leave_the_study_as_it_was(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    before = made.bytes_under(Path(study), "*.toml")
    with refused(fs.errors.OptionError):
        fs.predict(
            study, {"net": network(tmp_path / "net.onnx")}, engine="local", **group_options(fs.predict, wrong)
        )
    with refused(ModelError):
        fs.predict(
            study,
            {"net": network(tmp_path / "fixed.onnx", size=(48, 36))},
            shown=fs.options.Shown(layout="nhwc"),
            engine="local",
        )
    assert made.bytes_under(Path(study), "*.toml") == before


def one_channel(path: Path, weight: float, bias: float, op: str = "Round") -> Path:
    """Red times a weight and a bias, as one channel of floats."""

    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = [helper.make_node("Conv", ["image", "w", "b"], ["raw"]), helper.make_node(op, ["raw"], ["out"])]
    kernel = np.array([weight, 0, 0], np.float32).reshape(1, 3, 1, 1)
    graph = helper.make_graph(
        nodes,
        "one",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", 1, "h", "w"])],
        [numpy_helper.from_array(kernel, "w"), numpy_helper.from_array(np.array([bias], np.float32), "b")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_one_channel_of_whole_numbers_is_labels(tmp_path: Path) -> None:
    photo = np.zeros((4, 6, 3), np.uint8)
    photo[:, 3:, 0] = 255
    out = opened(one_channel(tmp_path / "m.onnx", 3.0, 1.0)).predict([photo])[0].labels
    assert (out == np.where(photo[..., 0] > 0, 4, 1)).all()


@pytest.mark.parametrize(
    ("weight", "bias", "op", "words"),
    [
        (
            3.0,
            0.3,
            "Identity",
            "returned one channel of fractional numbers, whose largest is always class 0; return one",
        ),
        (
            np.nan,
            0.0,
            "Round",
            "returned float32 of shape (1, 4, 6), nan to nan; expected labels (whole numbers 0 to 65535, H x W)",
        ),
        (0.0, np.inf, "Round", "returned float32 of shape (1, 4, 6), inf to inf; expected labels"),
    ],
)
def test_one_channel_of_anything_else_is_refused_and_never_made_into_classes(
    tmp_path: Path, weight: float, bias: float, op: str, words: str
) -> None:
    photo = np.full((4, 6, 3), 200, np.uint8)
    (out,) = opened(one_channel(tmp_path / "m.onnx", weight, bias, op)).predict([photo])
    assert out.labels is None
    assert words in out.problem
    assert "\n" not in out.problem
