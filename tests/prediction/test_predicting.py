"""What predict keeps: sources that changed are read again, confidence is stored, labels out of range are
refused, threads are fixed.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape import engine
from faultscape.corpus import photos
from faultscape.maps import runs
from faultscape.prediction.inference import Inference
from faultscape.prediction.sources import torch_network
from faultscape.prediction.sources.onnx import OnnxNetwork
from faultscape.study.parts import read_manifest
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables import outputs as kept
from faultscape.study.tables.corpus import read_corpus, shards
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.measure.shard import KeptScores

WEIGHTS = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32)


def network(
    path: Path, weights: np.ndarray = WEIGHTS, *, labels: bool = False, confidence: bool = False
) -> Path:
    """Colour times weights (classes, 3) a pixel, as logits or labels, beside it the largest softmax."""

    import onnx
    from onnx import TensorProto, helper, numpy_helper

    shape = ["n", 3, "h", "w"]
    nodes = [helper.make_node("Conv", ["image", "w"], ["logits"])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", len(weights), "h", "w"])]
    if labels:
        nodes.append(helper.make_node("ArgMax", ["logits"], ["labels"], axis=1, keepdims=0))
        outputs = [helper.make_tensor_value_info("labels", TensorProto.INT64, ["n", "h", "w"])]
    if confidence:
        nodes.append(helper.make_node("Softmax", ["logits"], ["shares"], axis=1))
        nodes.append(helper.make_node("ReduceMax", ["shares"], ["confidence"], axes=[1], keepdims=1))
        outputs.append(helper.make_tensor_value_info("confidence", TensorProto.FLOAT, ["n", 1, "h", "w"]))
    image = [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)]
    kernel = [numpy_helper.from_array(weights.astype(np.float32)[:, :, None, None], "w")]
    graph = helper.make_graph(nodes, "toy", image, outputs, kernel)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def opened(path: Path, options: dict | None = None, classes: tuple[int, ...] = ()) -> Inference:
    return Inference(OnnxNetwork(path, {**(options or {}), "channels": classes}))


def logits(photo: Path, weights: np.ndarray = WEIGHTS) -> np.ndarray:
    """(H, W, classes) by hand."""
    return fs.formats.read_rgb(photo).astype(np.float32) / 255 @ weights.T


def stored(study: Path, name: str) -> dict[str, label_maps.StoredMap]:
    folder = label_maps.predictions(study, name)
    return {m.id: m for number in shards(read_corpus(study)) for m in label_maps.read_stored(folder, number)}


def confidences(study: Path, name: str) -> dict[str, np.ndarray]:
    return {
        id_: values
        for s in shards(read_corpus(study))
        for id_, (values,) in kept.read_kept(study, name, "confidence", s)
    }


def checksums(study: Path, corpus: made.Corpus) -> dict[tuple[str, str], str]:
    """The checksum of every part by model and shard."""
    manifests = {name: read_manifest(label_maps.predictions(study, name)) for name in corpus.models}
    return {
        (name, number): part.sha256
        for name, manifest in manifests.items()
        for number, part in manifest.items()
    }


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=6, models=3)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> Path:
    return made.collected(corpus, tmp_path / "study", shard_size=2)


def test_a_map_that_was_replaced_is_read_again_and_only_its_shard_is_done_anew(
    corpus: made.Corpus, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.predict(str(study), corpus.models, engine="local")
    fs.compare(str(study), engine="local")
    before = checksums(study, corpus)
    others = {
        p: p.stat().st_mtime_ns
        for p in study.glob("predictions/*/0*.parquet")
        if not p.match("model-0/00001*")
    }
    id_ = sorted(corpus.ids)[3]  # in the second of three shards
    path = corpus.models["model-0"] / f"{id_}.png"
    time = path.stat().st_mtime_ns + 10**9
    new = np.full((36, 48), 3, np.uint8)
    made.write(path, new)
    os.utime(path, ns=(time, time))
    capsys.readouterr()
    fs.predict(str(study), corpus.models, engine="local")
    assert re.search(
        "model-0: its source.* changed; 1 of 3 shards are predicted again", capsys.readouterr().out
    )
    assert (runs.decode(stored(study, "model-0")[id_].runs) == new).all()
    assert [part for part, checksum in checksums(study, corpus).items() if checksum != before[part]] == [
        ("model-0", "00001")
    ]
    assert {p: p.stat().st_mtime_ns for p in others} == others
    assert len(others) == 8
    compared = fs.compare(str(study), engine="local")
    assert (compared.shards_counted, compared.parts_made) == (1, 3)
    capsys.readouterr()
    fs.predict(str(study), corpus.models, engine="local")
    assert "predicted again" not in capsys.readouterr().out


def test_a_map_that_comes_later_is_taken_in_and_its_failure_forgotten(
    corpus: made.Corpus, study: Path
) -> None:
    path = corpus.models["model-1"] / f"{corpus.ids[2]}.png"
    data = path.read_bytes()
    path.unlink()
    assert fs.predict(str(study), corpus.models, engine="local").models["model-1"] == (5, 1)
    path.write_bytes(data)
    assert fs.predict(str(study), corpus.models, engine="local").models["model-1"] == (6, 0)
    assert (runs.decode(stored(study, "model-1")[corpus.ids[2]].runs) == corpus.maps["model-1"][2]).all()
    assert not read_failures(study)


def test_a_network_that_was_replaced_is_run_again(corpus: made.Corpus, study: Path, tmp_path: Path) -> None:
    for weights in (WEIGHTS, WEIGHTS[::-1]):
        fs.predict(str(study), {"net": network(tmp_path / "net.onnx", weights)}, engine="local")
        for id_, one in stored(study, "net").items():
            want = logits(corpus.photos / f"{id_}.png", weights).argmax(-1)
            assert (runs.decode(one.runs) == want).mean() > 0.999


@pytest.mark.parametrize("labels", [False, True])
def test_the_confidence_of_a_network_is_stored_and_read_back(
    corpus: made.Corpus, study: Path, tmp_path: Path, labels: bool
) -> None:
    fs.predict(study, {"net": network(tmp_path / "net.onnx", labels=labels, confidence=True)}, engine="local")
    maps, confidence = stored(study, "net"), confidences(study, "net")
    assert set(maps) == set(confidence) == set(corpus.ids)
    for id_, one in maps.items():
        raw = np.exp(logits(corpus.photos / f"{id_}.png"))
        found = confidence[id_].astype(int)
        assert np.abs(found - 255 * raw.max(-1) / raw.sum(-1)).max() <= 1
        assert len(np.unique(found)) > 10
        assert (runs.decode(one.runs) == raw.argmax(-1)).mean() > 0.999


def test_a_network_without_confidence_has_none(corpus: made.Corpus, study: Path, tmp_path: Path) -> None:
    fs.predict(str(study), {"net": network(tmp_path / "net.onnx")}, engine="local")
    assert not kept.kinds(study, "net")
    assert len(stored(study, "net")) == len(corpus.ids)


def test_the_confidence_beside_a_folder_of_maps_is_stored_where_there_is_one(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    sure = {name: rng.integers(0, 256, (20, 24)).astype(np.uint8) for name in ("a", "deep/b")}
    for name in ("a", "deep/b", "c"):
        made.write(tmp_path / "photos" / f"{name}.png", rng.integers(0, 256, (20, 24, 3), np.uint8))
        made.write(tmp_path / "model" / "labels" / f"{name}.png", made.blobs(rng, (20, 24)))
        if name in sure:
            made.write(tmp_path / "model" / "confidence" / f"{name}.png", sure[name])
    fs.collect(str(tmp_path / "flat"), str(tmp_path / "photos"), classes=str(corpus.classes))
    fs.predict(str(tmp_path / "flat"), {"model": tmp_path / "model"}, engine="local")
    assert capsys.readouterr().out.count(f"{tmp_path / 'model'}: confidence found for 2 of 3 maps\n") == 1
    maps, confidence = stored(tmp_path / "flat", "model"), confidences(tmp_path / "flat", "model")
    assert set(maps) == {"a", "deep/b", "c"}
    assert set(confidence) == set(sure)
    assert all((confidence[name] == values).all() for name, values in sure.items())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of maps of two photos, a and b, collected into the study beside it."""
    for name in "ab":
        made.write(tmp_path / "photos" / f"{name}.png", np.full((20, 24, 3), ord(name), np.uint8))
        made.write(tmp_path / "model" / "labels" / f"{name}.png", np.ones((20, 24), np.uint8))
    fs.collect(str(tmp_path / "two"), str(tmp_path / "photos"), classes=3)
    return tmp_path / "model"


def sure_of(folder: Path) -> dict[str, float]:
    """What the study has as the confidence of each image, once the line is run (again)."""
    study = folder.parent / "two"
    fs.predict(str(study), {"model": folder}, engine="local")
    scores = KeptScores(study, "model", "confidence")
    parts = read_manifest(label_maps.predictions(study, "model") / "confidence").items()
    return {id_: float(scores.read([0, id_]).max()) for id_ in kept.ids(study, "model", "confidence", parts)}


def test_the_confidence_beside_a_folder_of_maps_is_read_again_when_it_changes(folder: Path) -> None:
    assert sure_of(folder) == {}
    made.write(folder / "confidence" / "a.png", np.full((20, 24), 51, np.uint8))
    assert sure_of(folder) == pytest.approx({"a": 0.2})
    made.write(folder / "confidence" / "a.png", np.full((20, 24), 255, np.uint8))
    made.write(folder / "confidence" / "b.png", np.full((20, 24), 102, np.uint8))
    assert sure_of(folder) == pytest.approx({"a": 1, "b": 0.4})
    (folder / "confidence" / "a.png").unlink()
    assert sure_of(folder) == pytest.approx({"b": 0.4})


@pytest.mark.parametrize(
    "values", [np.uint8(51), np.uint16(13107), np.float32(0.2), np.float64(0.2), np.float16(0.2)]
)
def test_confidence_comes_in_8_or_16_bits_or_as_numbers_of_0_to_1(folder: Path, values: np.generic) -> None:
    (folder / "labels" / "a.png").unlink()
    (folder / "confidence").mkdir()
    np.save(folder / "labels" / "a.npy", np.ones((20, 24), np.uint8))
    np.save(folder / "confidence" / "a.npy", np.full((20, 24), values))
    assert sure_of(folder) == pytest.approx({"a": 0.2})


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            np.full((3, 5), 60000, np.uint16),
            r"holds 5 x 3 pixels of 0\.915541 to 0\.915541; expected 24 x 20, as its map, with values from 0 to 1",
        ),
        (np.full((20, 24), 1.5), r"holds 24 x 20 pixels of 1\.5 to 1\.5; expected"),
        (np.full((20, 24), np.nan), r"480 of its 480 scores are NaN"),
    ],
)
def test_a_confidence_that_fits_no_map_is_a_failure_of_that_image_until_it_is_mended(
    folder: Path, values: np.ndarray, told: str
) -> None:
    (folder / "labels" / "a.png").unlink()
    (folder / "confidence").mkdir()
    np.save(folder / "labels" / "a.npy", np.ones((20, 24), np.uint8))
    np.save(folder / "confidence" / "a.npy", values)
    assert sure_of(folder) == {}
    (failure,) = read_failures(folder.parent / "two")
    assert failure.image == "a"
    assert re.search(rf"confidence/a\.npy: {told}", failure.reason)
    np.save(folder / "confidence" / "a.npy", np.full((20, 24), 1.0))
    assert sure_of(folder) == {"a": 1}
    assert read_failures(folder.parent / "two") == []


def test_a_label_that_is_no_class_is_a_failure_of_that_image_only(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    weights = -np.ones((7, 3))
    weights[1], weights[6] = (0, 1, 0), (1, 0, 0)  # green is class 1, red is 6, which the study has not
    for name, colour in (("green", (10, 200, 10)), ("moss", (90, 120, 10)), ("red", (200, 10, 10))):
        made.write(tmp_path / "photos" / f"{name}.png", np.full((20, 24, 3), colour, np.uint8))
    study = tmp_path / "colours"
    fs.collect(str(study), str(tmp_path / "photos"), classes=str(corpus.classes))
    path = network(tmp_path / "net.onnx", weights, labels=True)
    assert fs.predict(str(study), {"net": path}, engine="local").models["net"] == (2, 1)
    assert set(stored(study, "net")) == {"green", "moss"}
    (failure,) = read_failures(study)
    assert (failure.stage, failure.name, failure.image) == ("predict", "net", "red")
    assert "gave the label 6; allowed are 0-4, 255 (void)" in failure.reason


def test_threads_are_fixed_so_that_results_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    model = opened(network(tmp_path / "net.onnx"))
    options = model.network._session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
    asked = opened(tmp_path / "net.onnx", {"threads": 3})
    assert asked.network._session.get_session_options().intra_op_num_threads == 3


def test_cores_that_are_free_run_other_batches_at_the_same_time_and_change_nothing(
    corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, run, meet = network(tmp_path / "net.onnx"), OnnxNetwork.run, threading.Barrier(3)
    one, three = (made.collected(corpus, tmp_path / name, shard_size=6) for name in ("one", "three"))
    fs.predict(one, {"net": net}, engine="local", hardware=fs.options.Hardware(batch=1), keep=["confidence"])

    def together(self: OnnxNetwork, *given: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():  # where it is tried first
            meet.wait(30)
        return run(self, *given)

    monkeypatch.setattr(OnnxNetwork, "run", together)
    monkeypatch.setattr(engine, "cores", lambda: 3)
    fs.predict(
        three, {"net": net}, engine="local", hardware=fs.options.Hardware(batch=1), keep=["confidence"]
    )
    assert made.bytes_under(three, "predictions") == made.bytes_under(one, "predictions")


def test_networks_of_one_line_decode_an_image_once(
    corpus: made.Corpus, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = list[str]()
    real = photos.rgb_of

    def rgb_of(data: bytes, source: str) -> np.ndarray:
        decoded.append(source)
        return real(data, source)

    monkeypatch.setattr(photos, "rgb_of", rgb_of)
    several = {name: str(network(tmp_path / f"{name}.onnx", WEIGHTS * k)) for k, name in enumerate("abc", 1)}
    fs.predict(study, several, engine="local")
    # beside those that each network is tried on
    assert min(map(decoded.count, decoded)) == 1
    assert len(decoded) <= len(corpus.ids) + 2 * len(several)
    photo = photos.read_photo_again(read_corpus(study)[0])[0]
    assert decoded[-1] == read_corpus(study)[0].source  # none of them outlives the line
    assert photo.shape[2] == 3
    photos.DECODED.forget()


def test_what_would_follow_the_machine_is_kept_in_study_toml_and_used_on_any_other(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    import torch_networks as nets

    corpus, study, seen = made.corpus(tmp_path / "corpus", images=3, models=1), str(tmp_path / "study"), []
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    exported = nets.exported(tmp_path / "net.pt2")
    fs.predict(study, {"net": exported}, engine="local")
    assert {k: read_settings(Path(study)).models["net"].options[k] for k in ("precision", "threads")} == {
        "precision": "float32",
        "threads": 1,
    }
    with pytest.MonkeyPatch.context() as patch:  # the default is another here
        patch.setattr(
            torch_network, "precision_of", lambda asked, _device: seen.append(asked) or asked or "bfloat16"
        )
        fs.predict(study, {"net": exported}, engine="local", keep=["confidence"])
    assert set(seen) == {"float32"}
