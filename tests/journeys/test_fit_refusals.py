"""What fit METHOD and a method that was fitted refuse, and say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from made_methods import fitted
from made_training import FEW, Trained
from refusals import refused


@pytest.mark.slow
def test_a_method_that_was_fitted_to_another_network_is_refused(predicted: Trained) -> None:
    study = predicted.study
    fitted(predicted, "knn")
    fs.train(study, "other", backbone=predicted.own, plan=FEW, seed=1)
    shutil.copytree(Path(study, "methods", "plain"), Path(study, "methods", "other"))
    with refused(
        ModelError,
        r".*its method knn was fitted to a different network or different weights; run `faultscape fit` for it again",
    ):
        fs.predict(study, {"other": f"{study}/models/other/backbone.py:net"}, scorer=["knn"], engine="local")


def test_methods_are_fitted_to_networks_and_not_to_ensembles(predicted: Trained) -> None:
    study = predicted.study
    fs.predict(study, {"twin": predicted.source}, engine="local")
    fs.predict(study, {"both": "ensemble:plain,twin"}, engine="local")
    with refused(ModelError, "both is an ensemble; methods are fitted to networks; fit them to its members"):
        fs.fit(study, "knn", model="both")
    with refused(OptionError, "--scorer knn needs a network, and both is not one"):
        fs.predict(study, {"both": "ensemble:plain,twin"}, scorer=["knn"], engine="local")


def test_a_fitted_method_has_the_name_that_it_is_given(predicted: Trained) -> None:
    assert [one.name for one in fitted(predicted, "knn", as_="knn-mine").methods] == ["knn-mine"]


def test_what_cannot_be_is_said_before_the_network_is_opened(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.fit import fit_method

    def never(*_args, **_named) -> None:
        raise AssertionError

    monkeypatch.setattr(fit_method, "open_model", never)
    for given, says in (
        ({"sweep": "k=1,x"}, "--sweep k must be a whole number; got 'x'"),
        ({"select_layer": True}, "--select-layer needs --validation SET"),
    ):
        with refused(OptionError, says):
            fitted(predicted, "knn", **given)
    logistic = fs.options.MethodOptions(join="logistic")
    for given in ({"layer": ["mix"], "validation": "val"}, {"layer": ["mix", "body.0"]}):
        with refused(OptionError, "--join logistic needs several layers .* and --validation SET"):
            fitted(predicted, "flow", method_options=logistic, **given)
    with refused(
        OptionError,
        "--validation val: it has no effect on method mahalanobis; leave it out, or give --select-layer",
    ):
        fitted(predicted, "mahalanobis", validation="val")
    with refused(OptionError, "--validation val: it has no effect on method knn"):
        fitted(predicted, "knn", validation="val", method_options=fs.options.MethodOptions(k=3))


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
        fitted(predicted, "knn", data=fs.options.FitData(keep_embeddings=0))
    fitted(predicted, "knn", data=fs.options.FitData(keep_embeddings=6000))


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
