"""What fit METHOD and a method that was fitted refuse, and say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from made_methods import fitted
from made_training import FEW, Trained
from refusals import refused, refused_text


@pytest.mark.slow
def test_what_does_not_belong_to_the_model_is_refused(predicted: Trained) -> None:
    study, source = predicted.study, predicted.source
    with refused(
        OptionError,
        f"--scorer knn is a method that was not fitted to plain; run `faultscape fit {study} knn --model"
        " plain` first",
    ):
        fs.predict(study, {"plain": source}, scorer=["knn"], engine="local")
    fitted(predicted, "knn")
    with refused(
        OptionError,
        r"--scorer knn-k-5 is a method that was not fitted to plain; plain has knn\. Did you mean 'knn'\?",
    ):
        fs.predict(study, {"plain": source}, scorer=["knn-k-5"], engine="local")
    fs.train(study, "other", backbone=predicted.own, plan=FEW, seed=1)
    shutil.copytree(Path(study, "methods", "plain"), Path(study, "methods", "other"))
    with refused(
        ModelError,
        r".*its method knn was fitted to a different network or different weights; run `faultscape fit` for it again",
    ):
        fs.predict(study, {"other": f"{study}/models/other/backbone.py:net"}, scorer=["knn"], engine="local")


def test_what_a_method_cannot_be_fitted_to_is_said(predicted: Trained) -> None:
    study = predicted.study
    with refused(OptionError, r"--per-class has no effect on method knn; leave it out"):
        fitted(predicted, "knn", per_class=True)
    with refused(OptionError, r"--k has no effect on method temperature; leave it out"):
        fs.fit(study, "temperature", model="plain", method_options=fs.MethodOptions(k=3))
    with refused(OptionError, r"method mahalanobis has no option 'k'; it has shrink"):
        fs.fit(study, "mahalanobis", model="plain", method_options=fs.MethodOptions(k=3))
    assert "METHOD 'kn' is not known" in refused_text("fit", study, "kn", "--model", "plain")
    with refused(ModelError, "the study has no model 'plan'; it has plain.* Did you mean 'plain'?"):
        fs.fit(study, "knn", model="plan")
    with refused(ModelError, "the study has no model 'plan'"):  # and not first that it has no such images
        fs.fit(study, "knn", model="plan", data=fs.FitData(set_=["nowhere"]))


def test_names_and_options_that_clash_are_refused(predicted: Trained) -> None:
    with refused(OptionError, "--k and --sweep k=1,2 set the same option; leave one out"):
        fitted(predicted, "knn", sweep="k=1,2", method_options=fs.MethodOptions(k=3))
    for name in ("knn", "knn-", "knn-class", "flow-wide"):
        with refused(OptionError, f"--as '{name}': expected knn-NAME, and not the name of a method"):
            fitted(predicted, "knn", as_=name)


def test_images_that_are_shown_at_another_size_or_at_several_are_refused(predicted: Trained) -> None:
    fitted(predicted, "knn")
    for shown in (fs.Shown(input_size="64x48"), fs.Shown(scales=[0.5, 1.0])):
        with refused(ModelError, "its method knn was fitted with no options, but the model now uses "):
            fs.predict(
                predicted.study, {"plain": predicted.source}, scorer=["knn"], engine="local", shown=shown
            )


def test_options_that_change_nothing_are_refused(predicted: Trained) -> None:
    few = fs.FitData(images=3)
    for method in ("odin", "temperature"):
        with refused(OptionError, f"--images has no effect on method {method}; leave it out"):
            fs.fit(predicted.study, method, model="plain", data=few)
    with refused(OptionError, "--preset has no effect on method temperature; leave it out"):
        fs.fit(predicted.study, "temperature", model="plain", preset="s4")


def test_methods_are_fitted_to_networks_and_not_to_ensembles(predicted: Trained) -> None:
    study = predicted.study
    fs.predict(study, {"twin": predicted.source}, engine="local")
    fs.predict(study, {"both": "ensemble:plain,twin"}, engine="local")
    with refused(ModelError, "both is an ensemble; methods are fitted to networks; fit them to its members"):
        fs.fit(study, "knn", model="both")
    with refused(OptionError, "--scorer knn needs a network, and both is not one"):
        fs.predict(study, {"both": "ensemble:plain,twin"}, scorer=["knn"], engine="local")


def test_names_of_fitted_methods_are_those_of_their_method(predicted: Trained) -> None:
    assert [one.name for one in fitted(predicted, "knn", as_="knn-mine").methods] == ["knn-mine"]
    for name in ("knn-class", "knn-class-mine", "knn", "flow-mine"):
        with refused(OptionError, f"--as '{name}': expected knn-NAME, and not the name of a method"):
            fitted(predicted, "knn", as_=name)
    with refused(OptionError, "give either --as or --sweep, which names its methods itself"):
        fitted(predicted, "knn", as_="knn-mine", sweep="k=1,2")


def test_what_cannot_be_is_said_before_the_network_is_opened(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.fit import fit_method

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
        OptionError,
        "--validation val: it has no effect on method mahalanobis; leave it out, or give --select-layer",
    ):
        fitted(predicted, "mahalanobis", validation="val")
    with refused(OptionError, "--validation val: it has no effect on method knn"):
        fitted(predicted, "knn", validation="val", method_options=fs.MethodOptions(k=3))


def test_a_score_that_is_no_number_is_a_failure_of_its_image(predicted: Trained) -> None:
    from faultscape.uncertainty.methods.method import read, write

    study, path = predicted.study, Path(predicted.study, "methods", "plain", "mahalanobis.safetensors")
    fitted(predicted, "mahalanobis")
    about, tensors = read(path)
    write(path, about, {**tensors, "means": tensors["means"] * float("nan")})
    with refused(
        ModelError,
        "its method mahalanobis returned NaN or infinity: features are not finite or too far from those of training images",
    ):
        fs.predict(study, {"plain": predicted.source}, scorer=["mahalanobis"], engine="local")


def test_more_embeddings_than_memory_holds_are_refused_after_the_first_image(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.fit import samples

    # of eight images of 24 x 32 cells of 16 numbers
    monkeypatch.setattr(samples, "_MOST_BYTES", 8 * 24 * 32 * 16 * 4 - 1)
    says = (
        r"6,144 embeddings of 1 layer would take 0\.0 GB; keep fewer with --keep-embeddings, or name a layer"
        r" of a coarser grid with --layer"
    )
    with refused(OptionError, says):
        fitted(predicted, "knn", data=fs.FitData(keep_embeddings=0))
    fitted(predicted, "knn", data=fs.FitData(keep_embeddings=6000))


def test_methods_of_logits_are_refused_to_networks_that_give_sums_of_masks(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.prediction.sources.torch_network import TorchNetwork

    monkeypatch.setattr(TorchNetwork, "marginal", True)
    for method in ("odin", "standardised-max-logit"):
        with refused(
            ModelError,
            f"plain: has sums of masks instead of logits, which method {method} needs; fit a method that"
            " uses features, such as knn",
        ):
            fitted(predicted, method)
    assert fitted(predicted, "mahalanobis").methods[0].name == "mahalanobis"
