"""fit METHOD --backbone: features of a frozen vision network in place of a layer of the model, as a user
types it, and as predict then scores them.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import random_backbones
from PIL import Image

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from faultscape.maps.winners import enlarged
from faultscape.prediction.sources.backbone import Backbone
from faultscape.study.tables import label_maps
from faultscape.verbs.fit.fusion_parts import parts_asked
from faultscape.verbs.fit.options import Request
from faultscape.verbs.options import FitOptions
from made_methods import QUICK, blended_set, kept, scored
from made_training import Trained
from refusals import refused, refused_text, told

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backbones") / "dinov2"
    return random_backbones.save("dinov2", folder, size={"shortest_edge": 112})


@pytest.fixture
def backbone(saved: Path, tmp_path: Path) -> str:
    return str(shutil.copytree(saved, tmp_path / "dinov2"))


def fit(trained: Trained, method: str, backbone: str, **more):
    return fs.fit(
        trained.study,
        method,
        model="plain",
        data=fs.options.FitData(backbone=backbone, keep_embeddings=300),
        **{"method_options": QUICK.get(method, fs.options.MethodOptions()), **more},
    )


def test_a_line_fits_and_predict_scores_the_patches_beside_the_model(
    predicted: Trained, backbone: str
) -> None:
    """The density is computed here again in NumPy, from the photos and the features in the file."""
    from faultscape.uncertainty.methods.method import read

    study = predicted.study
    before = label_maps.content_digest(Path(study) / "predictions" / "plain")
    lines = told("fit", study, "knn", "--model", "plain", "--backbone", backbone, "--as", "knn-dino")
    assert f"plain: knn-dino at {backbone}" in lines
    about, tensors = read(Path(study, "methods", "plain", "knn-dino.safetensors"))
    assert (about.layers, about.backbone, about.flags) == ((backbone,), Backbone(backbone).digest, ())
    fit(predicted, "mahalanobis", backbone)
    fit(predicted, "flow", backbone)
    fit(predicted, "knn-class", backbone, method_options=fs.options.MethodOptions(k=20))
    scored(predicted, "knn-dino", "mahalanobis", "knn-class", "flow")
    assert label_maps.content_digest(Path(study) / "predictions" / "plain") == before
    net = Backbone(backbone)
    found = kept(predicted, "knn-dino")
    for number, path in enumerate(sorted((predicted.folder / "main" / "images").glob("*.png"))):
        grid = net.grid(net.prepare(np.asarray(Image.open(path).convert("RGB"))))
        cosines = np.tensordot(tensors["keys"].numpy(), grid / np.linalg.norm(grid, axis=0), 1)
        density = np.exp(np.sort(cosines, axis=0)[-10:]).mean(0)
        wanted = enlarged(-np.log(density)[None].astype(np.float32), (32, 24))[0]
        # float16 are kept
        np.testing.assert_allclose(found[number], wanted, atol=2e-3)
    assert np.isfinite(kept(predicted, "mahalanobis")).all()
    assert "  fit      done     plain: knn-dino at" in str(fs.status(study))


def test_a_backbone_that_changed_makes_its_methods_stale(
    predicted: Trained, backbone: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fit(predicted, "knn", backbone)
    fit(predicted, "knn", backbone)
    assert "knn: fitted before, and nothing has changed since" in capsys.readouterr().out
    random_backbones.save("dinov2", Path(backbone), image_mean=[0.5, 0.5, 0.5])
    assert "; its backbone changed" in str(fs.status(predicted.study))
    with refused(ModelError, r"its method knn was fitted with other files of its backbone .*; run `faultsc"):
        scored(predicted, "knn")
    fit(predicted, "knn", backbone)
    assert "fitted before" not in capsys.readouterr().out
    assert "its backbone changed" not in str(fs.status(predicted.study))
    shutil.rmtree(backbone)
    with refused(ModelError, r"there is no such folder; give a folder of the transformers library, or hf:"):
        scored(predicted, "knn")


def test_what_a_backbone_cannot_be_given_with_is_refused(predicted: Trained, backbone: str) -> None:
    for method, given, says in (
        ("knn", {"layer": ["mix"]}, "--backbone takes the place of the model's layers; leave --layer and"),
        (
            "flow",
            {"method_options": fs.options.MethodOptions(epsilon=0.1)},
            "--epsilon moves the input of the model",
        ),
        ("flow", {"sweep": "epsilon=0,0.1"}, "--epsilon moves the input of the model, which a backbone does"),
        ("neco", {}, "--backbone has no effect on method neco; leave it out"),
    ):
        with refused(OptionError, says):
            fit(predicted, method, backbone, **given)
    line = ["fit", predicted.study, "odin", "--model", "plain", "--backbone", backbone]
    assert refused_text(*line) == "--backbone has no effect on method odin; leave it out"
    with refused(
        ModelError, "--backbone nowhere: there is no such folder; give a folder of the transformers"
    ):
        fit(predicted, "knn", "nowhere")


def test_a_fusion_does_not_join_a_method_on_a_backbone(predicted: Trained, backbone: str) -> None:
    fit(predicted, "mahalanobis", backbone)
    options = FitOptions(study=predicted.study, method="fusion", model="plain")
    found = parts_asked(Path(predicted.study), Request.of(options))
    assert found is not None
    assert found.words == ("entropy", "margin")
    named = replace(options, method_options=fs.options.MethodOptions(parts="mahalanobis,entropy"))
    with refused(
        OptionError, "--parts mahalanobis: it scores the patches of a backbone, which a fusion does"
    ):
        parts_asked(Path(predicted.study), Request.of(named))


def test_a_search_runs_on_the_patches_too(predicted: Trained, backbone: str) -> None:
    blended = blended_set(predicted)
    found = fit(predicted, "knn", backbone, validation=blended)
    assert len(found.searches["k"]) > 1
    assert found.methods[0].flags == ("tuned-with-ood",)
