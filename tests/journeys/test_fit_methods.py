"""fit METHOD: what training images look like, and scores of how unlike them a pixel is, by the command line and by Python."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError, StudyError
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from made_training import FEW, Trained, doubt_of
from refusals import refused, refused_text, told

QUICK = {
    "flow": fs.MethodOptions(steps=20, blocks=2, width=8, batch=64),
    "odin": fs.MethodOptions(epsilon=0.01, odin_temperature=2.0),
}
METHODS = ["odin", "standardised-max-logit", "mahalanobis", "knn", "knn-class", "flow"]


@pytest.fixture
def predicted(trained: Trained) -> Trained:
    """The study with the network predicted under its own name."""
    fs.predict(trained.study, {"plain": trained.source}, engine="local")
    return trained


def fitted(trained: Trained, method: str, **more):
    return fs.fit(trained.study, method, model="plain", method_options=QUICK.get(method, fs.MethodOptions()), **more)


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
    fitted(predicted, "knn", data=few)
    assert path.read_bytes() == first
    found = fitted(predicted, "knn", data=few, seed=1)
    assert path.read_bytes() != first
    assert (found.images, found.embeddings) == (5, 200)


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
    with refused(OptionError, r"--sweep 'j=1,2' is not valid; use OPTION=A,B,C of method knn, which has k, printed, by-class"):
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
    assert fitted(predicted, "knn", layer=["mix"]).methods[0].layers == ("mix",)
    assert fitted(predicted, "flow", layer=["body.0", "mix:in"]).methods[0].layers == ("body.0", "mix:in")
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
