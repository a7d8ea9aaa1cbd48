"""fit METHOD: what training images look like, and scores of how unlike them a pixel is, by the command line
and by Python.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import load_file, save_file

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from faultscape.reading.study import Study
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from faultscape.uncertainty.method_files import about_text, read_about
from faultscape.verbs import graph
from flipped_bits import flip
from made_methods import METHODS, QUICK, fitted, kept
from made_training import FEW, ONE, Trained, doubt_of
from refusals import refused, told

TOKENS = """
import torch
from transformers import ViTConfig, ViTModel

from faultscape.uncertainty.networks.segmenter import Segmenter

def net():
    torch.manual_seed(0)
    config = ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=4)
    return Segmenter(ViTModel(config, add_pooling_layer=False), 4)
"""

# answers differently each time
WAVERING = """
import torch

class Wavering(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 4, 1)

    def forward(self, images):
        return torch.nn.functional.dropout(self.layer(images), training=True)

def net():
    torch.manual_seed(0)
    return Wavering()
"""


def two_layers(path: Path) -> None:
    """Write an ONNX file of a convolution, hidden, and another to the logits of four classes."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    sizes = {"first": (8, 3, 3, 3), "second": (4, 8, 1, 1)}
    kernels = [
        numpy_helper.from_array(rng.normal(size=size).astype(np.float32), name)
        for name, size in sizes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["image", "first"], ["hidden"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["hidden", "second"], ["logits"]),
    ]
    image, logits = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", channels, "h", "w"])
        for name, channels in (("image", 3), ("logits", 4))
    )
    graph = helper.make_graph(nodes, "two", [image], [logits], kernels)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.mark.slow
def test_every_method_is_a_scorer_of_the_model_and_changes_none_of_its_labels(predicted: Trained) -> None:
    study, source = predicted.study, predicted.source
    before = label_maps.content_digest(Path(study) / "predictions" / "plain")
    for method in METHODS:
        assert [one.name for one in fitted(predicted, method).methods] == [method]
    fs.predict(study, {"plain": source}, scorer=["msp", *METHODS], engine="local")
    assert label_maps.content_digest(Path(study) / "predictions" / "plain") == before
    for method in METHODS:
        score = kept(predicted, method)
        assert np.isfinite(score).all()
        assert score.std() > 0
    fs.predict(study, {"plain": source}, scorer=["msp", *METHODS], measure=True, engine="local")
    card = fs.reliability(study, worst=1, resamples=0).document
    found = {
        cell["scorer"]
        for cell in card["cells"]
        if (cell["condition"], cell["metric"]) == ("cars", "average_precision")
    }
    assert found == {"random", "msp", *METHODS}
    errors = {
        cell["scorer"]
        for cell in card["cells"]
        if (cell["condition"], cell["metric"]) == ("main", "error_auroc")
    }
    assert errors == {"msp", *METHODS}
    page = Path(study, "reliability", "report.html").read_text()
    assert "Learned embedding density" in page
    assert "@" not in "".join(found)


@pytest.mark.slow
def test_a_method_can_be_fitted_before_the_network_was_ever_predicted(trained: Trained) -> None:
    study = trained.study
    fs.train(
        study,
        "small",
        backbone="segformer-b0",
        plan=fs.options.TrainingPlan(steps=1, batch=2, crop="32x32", validate_every=0),
    )
    out = told("fit", study, "mahalanobis", "--model", "small", "--layer", "segformer.stages.0")
    assert "small: mahalanobis at segformer.stages.0" in out
    assert (
        out[-1]
        == f"next: faultscape predict {study} small={study}/models/small --scorer mahalanobis --measure"
    )
    told(*out[-1].split()[2:], "--engine", "local")
    with refused(
        ModelError,
        "plain is trained, but not predicted yet, and runs code; if you trust it, give its source: --model"
        f" plain={trained.source}",
    ):
        fs.fit(study, "knn", model="plain")


def test_a_network_in_a_file_of_your_own_can_be_fitted_before_it_is_predicted(
    trained: Trained, tmp_path: Path
) -> None:
    study, source = trained.study, str(trained.folder / "tokens.py") + ":net"
    (trained.folder / "tokens.py").write_text(TOKENS)
    out = told("fit", study, "knn", "--model", f"mine={source}")
    assert any("runs the code of" in line for line in out)
    assert out[-1] == f"next: faultscape predict {study} mine={source} --scorer knn --measure"
    assert "mine" not in read_settings(Path(study)).models

    def methods() -> list[tuple[str, tuple[str, ...]]]:
        held = graph.nodes(Study(Path(study)))
        return [(one.state, one.why) for one in held if one.name == "mine/knn"]

    assert methods() == [("done", ())]
    path = Path(study, "methods", "mine", "knn.safetensors")
    whole = flip(path)
    says = r"knn\.safetensors: is damaged \(its checksum is wrong\); fit it again: `(.*)`$"
    with refused(ModelError, says) as caught:
        fs.predict(study, {"mine": source}, scorer=["knn"], engine="local")
    found = re.search(says, str(caught.value))
    assert found is not None
    assert f" --model mine={source} " in f"{found[1]} "
    told(*shlex.split(found[1])[1:])
    assert path.read_bytes() == whole
    save_file(load_file(path), path, {"about": about_text(read_about(path))})
    assert methods() == [("stale", ("an earlier version fitted it",))]
    path.write_bytes(whole)
    fs.predict(study, {"mine": source}, scorer=["knn"], engine="local")
    assert methods() == [("done", ())]
    again = fs.fit(study, "knn", model={"mine": source})
    assert [one.name for one in again.methods] == ["knn"]
    (tmp_path / "wavering.py").write_text(WAVERING)
    with refused(ModelError, "gives different answers for the same image"):
        fs.fit(study, "knn", model=f"wavering={tmp_path}/wavering.py:net")
    (tmp_path / "other.py").write_text(TOKENS)
    with refused(ModelError, f"--model mine={tmp_path}/other.py:net: the study has a model mine already, "):
        fs.fit(study, "knn", model=f"mine={tmp_path}/other.py:net")
    says = f"--model plain={source}: the study has a trained network plain already; give --model plain"
    with refused(ModelError, says):  # `status` would take one for the other
        fs.fit(study, "knn", model=f"plain={source}")
    with refused(
        ModelError, "late is not predicted yet, and a temperature is kept with a model of the study"
    ):
        fs.fit(study, "temperature", model={"late": source})
    with refused(OptionError, "--model: expected NAME, or NAME=SOURCE; got 'mine='"):
        fs.fit(study, "knn", model="mine=")
    fs.predict(study, remove=["mine"])


def test_a_model_of_another_file_than_the_trained_network_of_its_name_is_its_own(predicted: Trained) -> None:
    study, folder = predicted.study, predicted.folder
    for name in ("one", "other"):
        (folder / f"{name}.py").write_text(TOKENS)
    fs.predict(study, {"plain": f"{folder}/one.py:net"}, engine="local")
    fs.fit(study, "knn", model="plain", data=fs.options.FitData(images=5, keep_embeddings=200))
    states = []
    for name in ("one", "other"):
        fs.predict(study, {"plain": f"{folder}/{name}.py:net"}, engine="local")
        (node,) = [one for one in graph.nodes(Study(Path(study))) if one.name == "plain/knn"]
        states.append((node.state, node.why))
    assert states == [("done", ()), ("stale", ("its network changed",))]


def test_the_same_line_fits_the_same_file_and_another_seed_another(predicted: Trained) -> None:
    path = Path(predicted.study, "methods", "plain", "knn.safetensors")
    few = fs.options.FitData(images=5, keep_embeddings=200)
    fitted(predicted, "knn", data=few)
    first = path.read_bytes()
    path.unlink()
    fitted(predicted, "knn", data=few)
    assert path.read_bytes() == first
    found = fitted(predicted, "knn", data=few, seed=1)
    assert path.read_bytes() != first
    assert (found.images, found.embeddings) == (5, 200)


@pytest.mark.slow
def test_methods_are_fitted_to_networks_of_other_heads(trained: Trained) -> None:
    """Their answers are those of several members, and their layers those of the network within."""
    study, source = trained.study, f"{trained.study}/models/other/backbone.py:net"
    head = {"head": "batch-ensemble+gp", "head_options": {"features": 32}}
    fs.train(study, "other", backbone=trained.own, init="plain", plan=ONE, **head)
    fs.predict(study, {"other": source}, engine="local")
    for method in METHODS:
        fs.fit(study, method, model="other", method_options=QUICK.get(method, fs.options.MethodOptions()))
    fs.predict(study, {"other": source}, scorer=METHODS, engine="local")
    check_scores(study, "other")


@pytest.mark.slow
def test_methods_are_fitted_to_tokens(trained: Trained) -> None:
    study, source = trained.study, f"{trained.folder / 'tokens.py'}:net"
    (trained.folder / "tokens.py").write_text(TOKENS)
    fs.predict(study, {"tokens": source}, engine="local")
    for method in METHODS:
        fs.fit(study, method, model="tokens", method_options=QUICK.get(method, fs.options.MethodOptions()))
    fs.predict(study, {"tokens": source}, scorer=METHODS, engine="local")
    check_scores(study, "tokens")
    fs.predict(study, remove=["tokens"])
    assert not Path(study, "methods", "tokens").exists()


def check_scores(study: str, model: str) -> None:
    """All methods gave finite scores that differ from pixel to pixel, and nothing failed."""
    words = read_settings(Path(study)).models[model].options["scorer"]
    assert [word.partition("@")[0] for word in words] == METHODS
    for word in words:
        name, _, digest = word.partition("@")
        score = doubt_of(study, model, f"{name}-{digest[:6]}")
        assert np.isfinite(score).all(), name
        assert score.std() > 0, name
    assert len(Path(study, "failures.csv").read_text().splitlines()) == 1


@pytest.mark.slow
def test_a_sweep_fits_a_method_for_each_value(predicted: Trained) -> None:
    study = predicted.study
    found = fitted(predicted, "knn", sweep="k=1,7")
    assert [one.name for one in found.methods] == ["knn-k-1", "knn-k-7"]
    fs.predict(study, {"plain": predicted.source}, scorer=["knn-k-1", "knn-k-7"], engine="local")
    assert not np.array_equal(kept(predicted, "knn-k-1"), kept(predicted, "knn-k-7"))
    fs.predict(
        study, {"plain": predicted.source}, scorer=["knn-k-1", "knn-k-7"], measure=True, engine="local"
    )
    fs.reliability(study, worst=0, resamples=0)
    page = Path(study, "reliability", "report.html").read_text()
    assert "<dt>kNN density (k-7) <code>knn-k-7</code></dt><dd><code>-log mean exp(cos(f, f_i))" in page
    assert "a scorer of your own" not in page
    with refused(
        OptionError, r"--sweep 'j=1,2' is not valid; use OPTION=A,B,C of method knn, which has k, printed"
    ):
        fitted(predicted, "knn", sweep="j=1,2")


@pytest.mark.slow
def test_layers_are_tapped_by_name_and_near_names_are_said(predicted: Trained) -> None:
    from faultscape.uncertainty.methods.method import read

    assert fitted(predicted, "knn", layer=["mix"]).methods[0].layers == ("mix",)
    assert fitted(predicted, "knn").methods[0].layers == ("net.head:in",)
    assert fitted(predicted, "flow").methods[0].layers == ("net.mix",)  # before an activation
    assert fitted(predicted, "flow", layer=["body.0", "mix:in"]).methods[0].layers == ("body.0", "mix:in")
    _, tensors = read(Path(predicted.study, "methods", "plain", "flow.safetensors"))
    assert tensors["flow0/centre"].shape != tensors["flow1/centre"].shape  # a flow of its own for each layer
    # channels of this layer that never vary are left out
    assert len(tensors["flow1/centre"]) == len(tensors["flow1/channels"]) < 16
    with refused(ModelError, r"has no layer 'mixx'\. Did you mean 'mix'\?"):
        fitted(predicted, "knn", layer=["mixx"])
    with refused(OptionError, "method knn uses one layer; got mix, body"):
        fitted(predicted, "knn", layer=["mix", "body"])
    with refused(OptionError, "method odin uses only logits; leave --layer and --select-layer out"):
        fitted(predicted, "odin", layer=["mix"])


def test_what_the_model_does_not_know_is_never_learnt_from(
    predicted: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    from faultscape.uncertainty.methods.method import read

    fitted(predicted, "knn-class", data=fs.options.FitData(keep_embeddings=0))
    assert "note: patches with pixels of car are left out" in capsys.readouterr().out
    _, tensors = read(Path(predicted.study, "methods", "plain", "knn-class.safetensors"))
    assert tensors["classes"].sum(0).tolist()[2] == 0  # no patch with a car
    assert len(tensors["keys"]) < 8 * 24 * 32


def test_a_withheld_pixel_counts_also_where_the_network_sees_the_image_smaller(trained: Trained) -> None:
    """Thin things of a withheld class are lost when labels are brought to the size that the network sees;
    their patches must not be learnt from.
    """
    from faultscape.uncertainty.methods.embeddings import patch_classes
    from faultscape.uncertainty.methods.method import read
    from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE

    study = trained.study
    masks = trained.folder / "train" / "masks"
    allowed = 0
    for path in sorted(masks.iterdir()):
        labels = np.where(np.asarray(Image.open(path)) == 2, 1, np.asarray(Image.open(path)))
        labels[:, 4] = 2  # a car of one column, of which nothing is left at half the size
        Image.fromarray(labels).save(path)
        seen = labels.astype(np.int16)
        seen[labels == 2], seen[labels == 9] = IGNORED, OUTSIDE
        allowed += int(patch_classes(seen, (12, 16), 4)[1].sum())
    fs.label.import_(study, str(masks))
    fs.predict(study, {"plain": trained.source}, shown=fs.options.Shown(input_size="16x12"), engine="local")
    fitted(trained, "knn", data=fs.options.FitData(keep_embeddings=0))
    _, tensors = read(Path(study, "methods", "plain", "knn.safetensors"))
    assert len(tensors["keys"]) == allowed


def test_the_preset_of_s4_keeps_all_and_trains_long() -> None:
    from faultscape.verbs.fit.options import Request
    from faultscape.verbs.options import FitOptions

    def asked(method: str, **options) -> Request:
        return Request.of(FitOptions(study="study", method=method, model="net", preset="s4", **options))

    assert asked("flow").keep_embeddings == 0
    assert asked("flow").told == {"steps": 200_000, "rate": 1e-4}
    assert asked("knn").told == {}
    data, method_options = fs.options.FitData(keep_embeddings=9), fs.options.MethodOptions(steps=5)
    mine = asked("flow", data=data, method_options=method_options)
    assert (mine.keep_embeddings, mine.told["steps"]) == (9, 5)
    with refused(OptionError, "--preset 's5' is not known; use s4"):
        fs.fit("study", "flow", model="net", preset="s5")


@pytest.mark.slow
def test_an_outlier_head_is_scored_beside_a_fitted_method(predicted: Trained) -> None:
    study = predicted.study
    fs.train(study, "net", backbone=predicted.own, init="plain", loss="outlier-head", plan=FEW)
    source = f"{study}/models/net/backbone.py:net"
    fs.predict(study, {"net": source}, scorer=["outlier"], engine="local")
    alone = doubt_of(study, "net", "outlier")
    fs.fit(study, "knn", model="net")
    fs.predict(study, {"net": source}, scorer=["outlier", "knn"], engine="local")
    np.testing.assert_allclose(doubt_of(study, "net", "outlier"), alone, rtol=1e-5)


def test_pictures_are_moved_one_at_a_time(predicted: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient holds all that a network made of a picture: eight of them would take eight times the
    memory.
    """
    from faultscape.prediction import doubt_methods

    moved, shown = doubt_methods.moved, []

    def noted(network, block, method):
        shown.append(len(block))
        return moved(network, block, method)

    monkeypatch.setattr(doubt_methods, "moved", noted)
    fitted(predicted, "odin")
    fs.predict(predicted.study, {"plain": predicted.source}, scorer=["odin"], engine="local")
    assert set(shown) == {1}
    assert len(shown) >= 4


def test_an_input_that_is_moved_changes_what_is_scored(predicted: Trained) -> None:
    found = []
    for epsilon in (0.0, 0.2):
        fitted(predicted, "odin", method_options=fs.options.MethodOptions(epsilon=epsilon))
        fs.predict(predicted.study, {"plain": predicted.source}, scorer=["msp", "odin"], engine="local")
        found.append(kept(predicted, "odin"))
    np.testing.assert_allclose(found[0], doubt_of(predicted.study, "plain", "msp"), rtol=1e-4, atol=1e-6)
    assert found[1].mean() < found[0].mean()  # surer of what it says


@pytest.mark.slow
@pytest.mark.parametrize("window", [None, "16x16"])
def test_a_method_taps_a_layer_of_an_onnx_file_whole_or_in_windows(
    trained: Trained, window: str | None
) -> None:
    study, path = trained.study, trained.folder / "two.onnx"
    two_layers(path)
    view = fs.options.Shown(window=window) if window else fs.options.Shown()
    fs.predict(study, {"two": str(path)}, engine="local", shown=view)
    with refused(OptionError, "its layers cannot be listed; name the one to tap with --layer"):
        fs.fit(study, "knn", model="two")
    fs.fit(study, "knn", model="two", layer=["hidden"])
    fs.fit(study, "resynthesis", model="two", method_options=fs.options.MethodOptions(steps=2, width=4))
    fs.fit(study, "perceptual", model="two", layer=["hidden"])  # shows the network another image
    fs.predict(study, {"two": str(path)}, scorer=["msp", "knn", "perceptual"], engine="local", shown=view)
    for word in read_settings(Path(study)).models["two"].options["scorer"]:
        name, _, digest = word.partition("@")
        assert doubt_of(study, "two", f"{name}-{digest[:6]}" if digest else name).std() > 0
    fs.fit(study, "odin", model="two", method_options=fs.options.MethodOptions(epsilon=0.1))
    with refused(
        ModelError, "input preprocessing needs gradients of logits, which only torch networks provide"
    ):
        fs.predict(study, {"two": str(path)}, scorer=["odin"], engine="local", shown=view)
    other = fs.options.Shown(window="8x8")
    with refused(
        ModelError,
        "its method knn was fitted with .*, but the model now uses window 8x8; predict without knn first",
    ):
        fs.predict(study, {"two": str(path)}, scorer=["knn"], engine="local", shown=other)
