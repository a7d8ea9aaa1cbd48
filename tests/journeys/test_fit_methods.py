"""fit METHOD: what training images look like, and scores of how unlike them a pixel is, by the command line and by Python."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import MetricError, ModelError, OptionError, StudyError
from faultscape.stages.graph import nodes
from faultscape.stages.snapshot import Snapshot
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from made_training import FEW, ONE, Trained, doubt_of, image_of
from refusals import refused, refused_text, told

QUICK = {
    "flow": fs.MethodOptions(steps=20, blocks=2, width=8, batch=64),
    "odin": fs.MethodOptions(epsilon=0.01, temperature=2.0),
}
LAYOUT = """
from pathlib import Path

import numpy as np
from PIL import Image

from faultscape.corpus.layouts.layout import Frame, Layout

def find(root, split):
    return [Frame(path.stem, str(path), str(Path(root, "labels", path.name)), split) for path in sorted(Path(root, "images").iterdir())]

def labels(frame):
    return np.asarray(Image.open(frame.truth))

def cars(frame):
    return np.where(labels(frame) == 9, 255, labels(frame) == 2).astype(np.uint8)

ODD = Layout("odd", "Odd", ("all",), "", "anomaly", find, "images, labels", "me", read_semantic=labels, read_anomaly=cars)
"""
TOKENS = """
import torch
from transformers import ViTConfig, ViTModel

from faultscape.uncertainty.networks.segmenter import Segmenter

def net():
    torch.manual_seed(0)
    config = ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=4)
    return Segmenter(ViTModel(config, add_pooling_layer=False), 4)
"""
METHODS = ["odin", "standardised-max-logit", "mahalanobis", "knn", "knn-class", "flow"]


def two_layers(path: Path) -> None:
    """Write an ONNX file of a convolution, hidden, and another to the logits of four classes."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    sizes = {"first": (8, 3, 3, 3), "second": (4, 8, 1, 1)}
    kernels = [numpy_helper.from_array(rng.normal(size=size).astype(np.float32), name) for name, size in sizes.items()]
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


@pytest.fixture
def predicted(trained: Trained) -> Trained:
    """The study with the network predicted under its own name."""
    fs.predict(trained.study, {"plain": trained.source}, engine="local")
    return trained


def fitted(trained: Trained, method: str, **more):
    return fs.fit(trained.study, method, model="plain", **{"method_options": QUICK.get(method, fs.MethodOptions()), **more})


def kept(trained: Trained, name: str) -> np.ndarray:
    """The doubt that the study holds now of a method of the network."""
    (word,) = [
        word for word in read_settings(Path(trained.study)).models["plain"].options["scorer"] if word.partition("@")[0] == name
    ]
    return doubt_of(trained.study, "plain", f"{name}-{word.partition('@')[2][:6]}")


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
    found = {cell["scorer"] for cell in card["cells"] if (cell["condition"], cell["metric"]) == ("cars", "average_precision")}
    assert found == {"random", "msp", *METHODS}
    errors = {cell["scorer"] for cell in card["cells"] if (cell["condition"], cell["metric"]) == ("main", "error_auroc")}
    assert errors == {"msp", *METHODS}
    page = Path(study, "reliability", "report.html").read_text()
    assert "Learned embedding density" in page
    assert "@" not in "".join(found)


def test_a_method_can_be_fitted_before_the_network_was_ever_predicted(trained: Trained) -> None:
    study = trained.study
    fs.train(study, "small", backbone="segformer-b0", schedules=fs.Schedules(steps=1, batch=2, crop="32x32", validate_every=0))
    out = told("fit", study, "mahalanobis", "--model", "small", "--layer", "segformer.stages.0")
    assert "small: mahalanobis at segformer.stages.0" in out
    assert out[-1] == f"next     faultscape predict {study} small={study}/models/small --scorer mahalanobis --measure"
    told(*out[-1].split()[2:], "--engine", "local")
    with refused(
        ModelError,
        f"plain is trained, but not predicted yet, and runs code; if you trust it, run `faultscape predict {study} plain={trained.source}` first",
    ):
        fs.fit(study, "knn", model="plain")


def test_the_same_line_fits_the_same_file_and_another_seed_another(predicted: Trained) -> None:
    path = Path(predicted.study, "methods", "plain", "knn.safetensors")
    few = fs.FitData(images=5, keep_embeddings=200)
    fitted(predicted, "knn", data=few)
    first = path.read_bytes()
    path.unlink()
    fitted(predicted, "knn", data=few)
    assert path.read_bytes() == first
    found = fitted(predicted, "knn", data=few, seed=1)
    assert path.read_bytes() != first
    assert (found.images, found.embeddings) == (5, 200)


def test_the_same_line_again_fits_nothing(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from faultscape.stages.fit import fit_method

    sweep = {"sweep": "k=1,2", "data": fs.FitData(images=5, keep_embeddings=200)}
    study = predicted.study
    first = fs.fit(study, "knn", model="plain", **sweep)
    draw, drawn = fit_method.draw_samples, []
    monkeypatch.setattr(fit_method, "draw_samples", lambda *given: drawn.append(1) or draw(*given))
    capsys.readouterr()
    assert fs.fit(study, "knn", model="plain", **sweep) == first
    assert "note: knn-k-1, knn-k-2: fitted before, and nothing has changed since" in capsys.readouterr().out
    assert not drawn
    path = Path(study, "methods", "plain", "knn-k-2.safetensors")
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])  # what its header says is there still, and its tensors are not whole
    fs.fit(study, "knn", model="plain", **sweep)
    assert path.read_bytes() == whole
    fs.fit(study, "knn", model="plain", **{**sweep, "data": fs.FitData(images=6, keep_embeddings=200)})
    fs.stress.holdout(study, classes=["tree"], as_="trees")
    fs.fit(study, "knn", model="plain", **{**sweep, "data": fs.FitData(images=6, keep_embeddings=200)})
    assert len(drawn) == 3


def test_flags_follow_what_was_scored(predicted: Trained) -> None:
    """A method that is fitted again, or whose file is deleted, leaves the numbers of before, and all that is known of them."""
    study, source = predicted.study, {"plain": predicted.source}
    blended = fs.stress.blend(study, preset="fishyscapes-v2", set_="val", blending=fs.Blending(smallest=8), engine="local").sets[
        0
    ]
    path = Path(study, "methods", "plain", "knn.safetensors")

    def flags() -> tuple[list[str], list[str]]:
        card = fs.reliability(study, worst=0, resamples=0).document
        return card["models"][0]["methods"][0]["flags"], [note for note in card["notes"] if "knn" in note]

    fs.fit(study, "knn", model="plain", validation=blended)
    fs.predict(study, source, scorer=["msp", "knn"], measure=True, engine="local")
    assert flags() == (
        ["tuned-with-ood"],
        [f"plain: knn was searched with {blended}, so that its numbers there are too good; judge it on other sets"],
    )
    assert [node.state for node in nodes(Snapshot(Path(study))) if node.artefact == "maps"] == ["done"]
    fitted(predicted, "knn")
    assert flags()[0] == ["tuned-with-ood"]
    assert (
        flags()[1][1]
        == "plain: knn scored before being fitted again; these are the numbers of then, until `faultscape predict` scores anew"
    )
    (node,) = [node for node in nodes(Snapshot(Path(study))) if node.artefact == "maps"]
    assert (node.state, node.line) == ("stale", f"faultscape predict {study} plain={predicted.source}")
    assert "or a fitted method changed since" in node.words
    path.unlink()
    assert flags()[0] == ["tuned-with-ood"]
    with refused(
        OptionError,
        "--scorer knn is a method that scored plain, and its file is gone; fit it again, or name the scorers that stay with --scorer; ",
    ):
        fs.predict(study, source, engine="local")
    fitted(predicted, "knn")
    fs.predict(study, source, measure=True, engine="local")
    assert flags() == ([], [])
    for said in (path.parent / "scored").iterdir():
        said.write_bytes(b"\xff{")
    path.unlink()
    assert [node.state for node in nodes(Snapshot(Path(study))) if node.artefact == "maps"] == ["done"]
    card = fs.reliability(study, worst=0, resamples=0).document
    assert "plain: the file of knn is gone, so that it is not known whether it was tuned with unknown objects" in card["notes"]


def test_methods_go_with_their_model(predicted: Trained) -> None:
    study = predicted.study
    fitted(predicted, "knn")
    fs.predict(study, {"plain": predicted.source}, scorer=["msp", "knn"], engine="local")
    fs.predict(study, rename={"plain": "other"})
    held = read_settings(Path(study)).models["other"]
    assert held.source == f"{study}/models/other/backbone.py:net"
    assert Path(study, "methods", "other", "knn.safetensors").is_file()
    assert all(node.state == "done" for node in nodes(Snapshot(Path(study))) if node.artefact in ("maps", "methods"))
    fs.fit(study, "mahalanobis", model="other")
    fs.predict(study, {"other": held.source}, scorer=["msp", "knn", "mahalanobis"], engine="local")
    fs.predict(study, remove=["other"])
    assert Path(study, "methods", "other", "knn.safetensors").is_file()  # beside the network, which stays too


def test_checkpoints_of_a_line_that_was_given_otherwise_go_and_those_of_another_name_stay(predicted: Trained) -> None:
    folder = Path(predicted.study, "methods", "plain")
    mine, other = (folder / f".flow-{name}-{'0' * 16}" for name in ("flow", "flow-wide"))
    for left in (mine, other):
        left.mkdir(parents=True)
    fitted(predicted, "flow")
    assert (mine.exists(), other.exists()) == (False, True)


def test_the_next_line_keeps_the_scorers_that_a_model_has(predicted: Trained) -> None:
    fs.predict(predicted.study, {"plain": predicted.source}, scorer=["msp", "entropy"], engine="local")
    out = told("fit", predicted.study, "odin", "--model", "plain")
    assert out[-1].endswith(" --scorer msp --scorer entropy --scorer odin --measure")


def test_methods_are_fitted_to_networks_of_other_heads(trained: Trained) -> None:
    """Their answers are those of several members, and their layers those of the network within."""
    study, source = trained.study, f"{trained.study}/models/other/backbone.py:net"
    head = {"head": "batch-ensemble+gp", "head_options": fs.HeadOptions(features=32)}
    fs.train(study, "other", backbone=trained.own, init="plain", schedules=ONE, **head)
    fs.predict(study, {"other": source}, engine="local")
    for method in METHODS:
        fs.fit(study, method, model="other", method_options=QUICK.get(method, fs.MethodOptions()))
    fs.predict(study, {"other": source}, scorer=METHODS, engine="local")
    check_scores(study, "other")


def test_methods_are_fitted_to_tokens(trained: Trained) -> None:
    study, source = trained.study, f"{trained.folder / 'tokens.py'}:net"
    (trained.folder / "tokens.py").write_text(TOKENS)
    fs.predict(study, {"tokens": source}, engine="local")
    for method in METHODS:
        fs.fit(study, method, model="tokens", method_options=QUICK.get(method, fs.MethodOptions()))
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


def test_a_method_that_is_fitted_again_makes_its_scores_anew_and_no_others(
    predicted: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study, source = predicted.study, predicted.source
    fitted(predicted, "knn")
    fs.predict(study, {"plain": source}, scorer=["msp", "knn"], engine="local")
    msp, before = doubt_of(study, "plain", "msp"), kept(predicted, "knn")
    fs.fit(study, "knn", model="plain", method_options=fs.MethodOptions(k=1))
    fs.predict(study, {"plain": source}, scorer=["msp", "knn"], engine="local")
    assert not np.array_equal(kept(predicted, "knn"), before)
    np.testing.assert_array_equal(doubt_of(study, "plain", "msp"), msp)
    capsys.readouterr()
    fs.predict(study, {"plain": source}, scorer=["msp", "knn"], engine="local")
    assert "changed" not in capsys.readouterr().out


def test_a_sweep_fits_a_method_for_each_value(predicted: Trained) -> None:
    study = predicted.study
    found = fitted(predicted, "knn", sweep="k=1,7")
    assert [one.name for one in found.methods] == ["knn-k-1", "knn-k-7"]
    fs.predict(study, {"plain": predicted.source}, scorer=["knn-k-1", "knn-k-7"], engine="local")
    assert not np.array_equal(kept(predicted, "knn-k-1"), kept(predicted, "knn-k-7"))
    fs.predict(study, {"plain": predicted.source}, scorer=["knn-k-1", "knn-k-7"], measure=True, engine="local")
    fs.reliability(study, worst=0, resamples=0)
    page = Path(study, "reliability", "report.html").read_text()
    assert "<dt>kNN density (k-7) <code>knn-k-7</code></dt><dd><code>-log mean exp(cos(f, f_i))" in page
    assert "a scorer of your own" not in page
    with refused(OptionError, r"--sweep 'j=1,2' is not valid; use OPTION=A,B,C of method knn, which has k, printed"):
        fitted(predicted, "knn", sweep="j=1,2")


def test_what_does_not_belong_to_the_model_is_refused(predicted: Trained) -> None:
    study, source = predicted.study, predicted.source
    with refused(
        OptionError,
        f"--scorer knn is a method that was not fitted to plain; run `faultscape fit {study} knn --model plain` first",
    ):
        fs.predict(study, {"plain": source}, scorer=["knn"], engine="local")
    fitted(predicted, "knn")
    with refused(OptionError, r"--scorer knn-k-5 is a method that was not fitted to plain; plain has knn\. Did you mean 'knn'\?"):
        fs.predict(study, {"plain": source}, scorer=["knn-k-5"], engine="local")
    fs.train(study, "other", backbone=predicted.own, schedules=FEW, seed=1)
    shutil.copytree(Path(study, "methods", "plain"), Path(study, "methods", "other"))
    with refused(
        ModelError, r".*its method knn was fitted to another network, or to other weights; run `faultscape fit` for it again"
    ):
        fs.predict(study, {"other": f"{study}/models/other/backbone.py:net"}, scorer=["knn"], engine="local")


def test_layers_are_tapped_by_name_and_near_names_are_said(predicted: Trained) -> None:
    from faultscape.uncertainty.methods.method import read

    assert fitted(predicted, "knn", layer=["mix"]).methods[0].layers == ("mix",)
    assert fitted(predicted, "knn").methods[0].layers == ("net.head:in",)
    assert fitted(predicted, "flow").methods[0].layers == ("net.mix",)  # before an activation
    assert fitted(predicted, "flow", layer=["body.0", "mix:in"]).methods[0].layers == ("body.0", "mix:in")
    _, tensors = read(Path(predicted.study, "methods", "plain", "flow.safetensors"))
    assert not np.allclose(tensors["flow0/centre"], tensors["flow1/centre"])  # a flow of its own for each layer
    with refused(ModelError, r"has no layer 'mixx'\. Did you mean 'mix'\?"):
        fitted(predicted, "knn", layer=["mixx"])
    with refused(OptionError, "method knn taps one layer; got mix, body"):
        fitted(predicted, "knn", layer=["mix", "body"])
    with refused(OptionError, "method odin sees logits alone; leave --layer and --select-layer out"):
        fitted(predicted, "odin", layer=["mix"])


def test_layer_and_options_are_searched_on_a_set_with_anomalies_and_the_method_is_flagged(predicted: Trained) -> None:
    study = predicted.study
    blended = fs.stress.blend(study, preset="fs-static", set_="val", frames=3, blending=fs.Blending(smallest=8), engine="local")
    name = blended.sets[0]
    found = fitted(predicted, "knn", select_layer=True, validation=name)
    assert [*found.searches] == ["layer", "k"]
    best = found.searches["layer"]
    assert best[0].average_precision == max(one.average_precision for one in best)
    assert found.methods[0].layers == (best[0].candidate,)
    assert found.methods[0].flags == ("tuned-with-ood",)
    joined = fs.fit(
        study,
        "flow",
        model="plain",
        layer=["mix", "body.0"],
        validation=name,
        method_options=fs.MethodOptions(steps=20, blocks=2, width=8, epsilon=0.0, join="logistic"),
    )
    assert joined.methods[0].flags == ("tuned-with-ood",)
    fs.predict(study, {"plain": predicted.source}, scorer=["msp", "knn"], measure=True, engine="local")
    card = fs.reliability(study, worst=0, resamples=0).document
    (about,) = card["models"]
    (method,) = about["methods"]
    assert method["options"] == {"k": int(found.searches["k"][0].candidate.removeprefix("k ")), "printed": False}
    del method["options"]
    assert method == {"scorer": "knn", "layers": [best[0].candidate], "flags": ["tuned-with-ood"], "validation": name}
    assert f"plain: knn was searched with {name}, so that its numbers there are too good; judge it on other sets" in card["notes"]
    table = Path(study, "reliability", "table-s4.md").read_text()
    assert "| model | scorer | flags |" in table
    assert "| plain | knn | tuned-with-ood |" in table
    assert "| plain | msp |  |" in table
    page = Path(study, "reliability", "report.html").read_text()
    assert f"knn at {best[0].candidate}, k {found.methods[0].options['k']}: tuned-with-ood" in page
    assert "<small>kNN density, tuned-with-ood</small>" in page
    assert "<small>Max probability</small>" in page
    with refused(
        StudyError,
        "no image of val has labels of anomaly, which a search needs; .*Classes that a holdout withholds are what the study judges, and are not searched with",
    ):
        fitted(predicted, "knn", select_layer=True, validation="val")
    with refused(OptionError, "--select-layer needs --validation SET, whose images have labels of anomaly"):
        fitted(predicted, "knn", select_layer=True)


def test_what_the_model_does_not_know_is_never_learnt_from(predicted: Trained, capsys: pytest.CaptureFixture[str]) -> None:
    from faultscape.uncertainty.methods.method import read

    fitted(predicted, "knn-class", data=fs.FitData(keep_embeddings=0))
    assert "note: patches with pixels of car are left out" in capsys.readouterr().out
    _, tensors = read(Path(predicted.study, "methods", "plain", "knn-class.safetensors"))
    assert tensors["classes"].sum(0).tolist()[2] == 0  # no patch with a car
    assert len(tensors["keys"]) < 8 * 24 * 32


def test_what_a_method_cannot_be_fitted_to_is_said(predicted: Trained) -> None:
    study = predicted.study
    with refused(OptionError, r"--per-class changes nothing for knn; leave it out"):
        fitted(predicted, "knn", per_class=True)
    with refused(OptionError, r"--k changes nothing for temperature; leave it out"):
        fs.fit(study, "temperature", model="plain", method_options=fs.MethodOptions(k=3))
    with refused(OptionError, r"method mahalanobis has no option 'k'; it has shrink"):
        fs.fit(study, "mahalanobis", model="plain", method_options=fs.MethodOptions(k=3))
    assert "METHOD 'kn' is not known" in refused_text("fit", study, "kn", "--model", "plain")
    with refused(ModelError, "the study has no model 'plan'; it has plain.* Did you mean 'plain'?"):
        fs.fit(study, "knn", model="plan")


def test_names_and_options_that_clash_are_refused(predicted: Trained) -> None:
    with refused(OptionError, "--k and --sweep k=1,2 say the same option; leave one out"):
        fitted(predicted, "knn", sweep="k=1,2", method_options=fs.MethodOptions(k=3))
    for name in ("knn", "knn-", "knn-class", "flow-wide"):
        with refused(
            OptionError, f"--as '{name}': the name is knn-NAME, and not that of a method itself, or of one of another method"
        ):
            fitted(predicted, "knn", as_=name)


def test_images_that_are_shown_at_another_size_or_at_several_are_refused(predicted: Trained) -> None:
    fitted(predicted, "knn")
    for shown in (fs.Shown(input_size="64x48"), fs.Shown(scales=[0.5, 1.0])):
        with refused(ModelError, "its method knn was fitted to images shown with no options, and now it is "):
            fs.predict(predicted.study, {"plain": predicted.source}, scorer=["knn"], engine="local", shown=shown)


def test_options_that_change_nothing_are_refused(predicted: Trained) -> None:
    few = fs.FitData(images=3)
    for method in ("odin", "temperature"):
        with refused(OptionError, f"--images changes nothing for {method}; leave it out"):
            fs.fit(predicted.study, method, model="plain", data=few)
    with refused(OptionError, "--preset changes nothing for temperature; leave it out"):
        fs.fit(predicted.study, "temperature", model="plain", preset="s4")


def test_methods_are_fitted_to_networks_and_not_to_ensembles(predicted: Trained) -> None:
    study = predicted.study
    fs.predict(study, {"twin": predicted.source}, engine="local")
    fs.predict(study, {"both": "ensemble:plain,twin"}, engine="local")
    with refused(ModelError, "both is an ensemble; methods are fitted to networks; fit them to its members"):
        fs.fit(study, "knn", model="both")
    with refused(OptionError, "--scorer knn is a method that is fitted to a network, which both is not; score networks with it"):
        fs.predict(study, {"both": "ensemble:plain,twin"}, scorer=["knn"], engine="local")


def test_a_search_never_sees_what_a_holdout_withholds(predicted: Trained) -> None:
    """A data set whose labels call cars anomalous, where cars are what the study judges."""
    study, folder = predicted.study, predicted.folder / "odd"
    (folder / "images").mkdir(parents=True)
    (folder / "labels").mkdir()
    for number in (70, 71):
        photo, labels = image_of(number)
        Image.fromarray(photo).save(folder / "images" / f"{number}.png")
        Image.fromarray(labels).save(folder / "labels" / f"{number}.png")
    (predicted.folder / "own.py").write_text(LAYOUT)
    known = fs.KnownData(layout=f"{predicted.folder / 'own.py'}:ODD", split="all")
    fs.collect(study, str(folder), set_="odd", role="validation", known=known)
    with refused(
        StudyError,
        "its anomalies are pixels of car, which a holdout of this study withholds: they are what it judges, and are not searched with",
    ):
        fitted(predicted, "odin", validation="odd", method_options=fs.MethodOptions())


def test_a_search_on_images_that_are_judged_says_so(predicted: Trained, capsys: pytest.CaptureFixture[str]) -> None:
    blended = {name: fs.stress.blend(predicted.study, preset="fishyscapes-v2", set_=name, blending=fs.Blending(smallest=8), engine="local").sets[0] for name in ("val", "main")}  # fmt: skip
    fitted(predicted, "odin", validation=blended["val"], method_options=fs.MethodOptions())
    assert "role test" not in capsys.readouterr().out
    fitted(predicted, "odin", validation=blended["main"], method_options=fs.MethodOptions())
    assert (
        "images to search with have role test, or were made of such; judge the method on other images" in capsys.readouterr().out
    )


def test_the_preset_of_s4_keeps_all_and_trains_long() -> None:
    from faultscape.stages.fit.options import FitOptions
    from faultscape.uncertainty.methods.catalogue import method_named

    options = FitOptions("study", "flow", "net", preset="s4")
    assert options.keep_embeddings == 0
    assert options.told(method_named("flow")) == {"steps": 200_000, "rate": 1e-4}
    assert options.told(method_named("knn")) == {}
    mine = FitOptions(
        "study", "flow", "net", preset="s4", data=fs.FitData(keep_embeddings=9), method_options=fs.MethodOptions(steps=5)
    )
    assert (mine.keep_embeddings, mine.told(method_named("flow"))["steps"]) == (9, 5)
    with refused(OptionError, "--preset 's5' is not known; use s4"):
        FitOptions("study", "flow", "net", preset="s5")


def test_status_says_what_a_method_follows_from_and_the_line_that_fits_it_again(predicted: Trained) -> None:
    study = predicted.study
    fitted(predicted, "knn", data=fs.FitData(images=5, keep_embeddings=200), seed=3)
    assert "  fit      done     plain: knn at net.head:in" in str(fs.status(study))
    folder = predicted.folder / "more"
    folder.mkdir()
    Image.fromarray(image_of(80)[0]).save(folder / "080.png")
    fs.collect(study, str(folder), set_="train", role="train")
    assert "  fit      stale    plain: knn at net.head:in; images of its sets changed" in str(fs.status(study))
    fs.predict(study, {"plain": predicted.source}, engine="local")
    (row,) = [node for node in nodes(Snapshot(Path(study), study)) if node.artefact == "methods"]
    assert row.line == f"faultscape fit {study} knn --model plain --images 5 --keep-embeddings 200 --seed 3"
    told(*row.line.split()[1:])
    assert "  fit      done     plain: knn at net.head:in" in str(fs.status(study))


def test_names_of_fitted_methods_are_those_of_their_method(predicted: Trained) -> None:
    assert [one.name for one in fitted(predicted, "knn", as_="knn-mine").methods] == ["knn-mine"]
    for name in ("knn-class", "knn-class-mine", "knn", "flow-mine"):
        with refused(
            OptionError, f"--as '{name}': the name is knn-NAME, and not that of a method itself, or of one of another method"
        ):
            fitted(predicted, "knn", as_=name)
    with refused(OptionError, "give either --as or --sweep, which names its methods itself"):
        fitted(predicted, "knn", as_="knn-mine", sweep="k=1,2")


def test_what_cannot_be_is_said_before_the_network_is_opened(predicted: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    from faultscape.stages.fit import fit_method

    def never(*_args, **_named) -> None:
        raise AssertionError

    monkeypatch.setattr(fit_method, "open_model", never)
    for given, says in (
        ({"sweep": "k=1,x"}, "--sweep k: 'x' is not a whole number"),
        ({"select_layer": True}, "--select-layer needs --validation SET"),
    ):
        with refused(OptionError, says):
            fitted(predicted, "knn", **given)
    logistic = fs.MethodOptions(join="logistic")
    for given in ({"layer": ["mix"], "validation": "val"}, {"layer": ["mix", "body.0"]}):
        with refused(OptionError, "--join logistic needs several layers .* and --validation SET"):
            fitted(predicted, "flow", method_options=logistic, **given)
    with refused(
        OptionError, "--validation val: nothing of mahalanobis would be chosen with it; leave it out, or give --select-layer"
    ):
        fitted(predicted, "mahalanobis", validation="val")
    with refused(OptionError, "--validation val: nothing of knn would be chosen with it"):
        fitted(predicted, "knn", validation="val", method_options=fs.MethodOptions(k=3))


def test_what_is_searched_is_what_is_fitted_and_what_is_given_stays(predicted: Trained) -> None:
    blended = fs.stress.blend(
        predicted.study, preset="fs-static", set_="val", frames=3, blending=fs.Blending(smallest=8), engine="local"
    ).sets[0]
    found = fitted(predicted, "knn", validation=blended)
    assert found.methods[0].options["k"] == int(found.searches["k"][0].candidate.split()[1])
    assert [one.average_precision for one in found.searches["k"]] == sorted(
        (one.average_precision for one in found.searches["k"]), reverse=True
    )
    assert f"k 10 {found.searches['k'][0].average_precision:6.3f}"[:4] in repr(found)
    few = fs.FitData(keep_embeddings=60)
    tried = {one.candidate for one in fitted(predicted, "knn", validation=blended, data=few).searches["k"]}
    assert tried == {f"k {k}" for k in (1, 2, 5, 10, 20, 50)}
    with refused(MetricError, "[0-9]+ training embeddings are fewer than any k that is tried; keep more, or give --k"):
        fitted(predicted, "knn-class", validation=blended, data=fs.FitData(keep_embeddings=10))
    swept = fitted(predicted, "odin", validation=blended, sweep="epsilon=0,0.01", method_options=fs.MethodOptions())
    assert [*swept.searches] == ["temperature"]
    with refused(OptionError, "has labels of anomaly, and a method must not learn what unknown objects look like"):
        fitted(predicted, "knn", data=fs.FitData(set_=["train", blended]))


def test_an_outlier_head_is_scored_beside_a_fitted_method(predicted: Trained) -> None:
    study = predicted.study
    fs.train(study, "net", backbone=predicted.own, init="plain", loss="outlier-head", schedules=FEW)
    source = f"{study}/models/net/backbone.py:net"
    fs.predict(study, {"net": source}, scorer=["outlier"], engine="local")
    alone = doubt_of(study, "net", "outlier")
    fs.fit(study, "knn", model="net")
    fs.predict(study, {"net": source}, scorer=["outlier", "knn"], engine="local")
    np.testing.assert_allclose(doubt_of(study, "net", "outlier"), alone, rtol=1e-5)


def test_a_score_that_is_no_number_is_a_failure_of_its_image(predicted: Trained) -> None:
    from faultscape.uncertainty.methods.method import read, write

    study, path = predicted.study, Path(predicted.study, "methods", "plain", "mahalanobis.safetensors")
    fitted(predicted, "mahalanobis")
    about, tensors = read(path)
    write(path, about, {**tensors, "means": tensors["means"] * float("nan")})
    with refused(
        ModelError, "its method mahalanobis gave a score that is no number, of features that are none or far from all others"
    ):
        fs.predict(study, {"plain": predicted.source}, scorer=["mahalanobis"], engine="local")


def test_an_input_that_is_moved_changes_what_is_scored(predicted: Trained) -> None:
    found = []
    for epsilon in (0.0, 0.2):
        fitted(predicted, "odin", method_options=fs.MethodOptions(epsilon=epsilon))
        fs.predict(predicted.study, {"plain": predicted.source}, scorer=["msp", "odin"], engine="local")
        found.append(kept(predicted, "odin"))
    np.testing.assert_allclose(found[0], doubt_of(predicted.study, "plain", "msp"), rtol=1e-4, atol=1e-6)
    assert found[1].mean() < found[0].mean()  # surer of what it says


@pytest.mark.parametrize("window", [None, "16x16"])
def test_a_method_taps_a_layer_of_an_onnx_file_whole_or_in_windows(trained: Trained, window: str | None) -> None:
    study, path = trained.study, trained.folder / "two.onnx"
    two_layers(path)
    view = fs.Shown(window=window) if window else fs.Shown()
    fs.predict(study, {"two": str(path)}, engine="local", shown=view)
    with refused(OptionError, "its layers cannot be listed; name the one to tap with --layer"):
        fs.fit(study, "knn", model="two")
    fs.fit(study, "knn", model="two", layer=["hidden"])
    fs.predict(study, {"two": str(path)}, scorer=["msp", "knn"], engine="local", shown=view)
    assert doubt_of(study, "two", "msp").std() > 0
    fs.fit(study, "odin", model="two", method_options=fs.MethodOptions(epsilon=0.1))
    with refused(ModelError, "input preprocessing needs gradients of logits, which only torch networks have"):
        fs.predict(study, {"two": str(path)}, scorer=["odin"], engine="local", shown=view)
    other = fs.Shown(window="8x8")
    with refused(
        ModelError, "its method knn was fitted to images shown with .*, and now it is window 8x8; predict without knn first"
    ):
        fs.predict(study, {"two": str(path)}, scorer=["knn"], engine="local", shown=other)


def test_more_embeddings_than_memory_holds_are_refused_after_the_first_image(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.stages.fit import samples

    monkeypatch.setattr(samples, "_MOST_BYTES", 8 * 24 * 32 * 16 * 4 - 1)  # of eight images of 24 x 32 cells of 16 numbers
    says = r"6,144 embeddings of 1 layer would take 0\.0 GB; keep fewer with --keep-embeddings, or name a layer of a coarser grid with --layer"
    with refused(OptionError, says):
        fitted(predicted, "knn", data=fs.FitData(keep_embeddings=0))
    fitted(predicted, "knn", data=fs.FitData(keep_embeddings=6000))


def test_status_sees_another_holdout_another_network_and_another_search_set(predicted: Trained) -> None:
    study = predicted.study
    blended = fs.stress.blend(
        study, preset="fs-static", set_="val", frames=3, blending=fs.Blending(smallest=8), engine="local"
    ).sets[0]
    fitted(predicted, "knn")
    fitted(predicted, "odin", validation=blended, method_options=fs.MethodOptions())
    before = str(fs.status(study))
    assert "  fit      done     plain: knn" in before
    assert "  fit      done     plain: odin" in before
    fs.collect(study, remove=[f"{blended}/*"])
    assert "  fit      stale    plain: odin; images of the set that it was searched with changed" in str(fs.status(study))
    assert "  fit      done     plain: knn" in str(fs.status(study))
    fs.stress.holdout(study, classes=["tree"], as_="trees")
    assert "  fit      stale    plain: knn at net.head:in; the classes that are withheld changed" in str(fs.status(study))
    again = replace(FEW, steps=2)
    fs.train(study, "plain", backbone=predicted.own, schedules=again, data=fs.TrainingData(withhold="cars"))
    assert "its network changed" in str(fs.status(study))
