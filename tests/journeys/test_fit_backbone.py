"""fit METHOD --backbone: features of a frozen vision network in place of a layer of the model, as a user
types it, and as predict then scores them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.errors import ModelError, OptionError
from faultscape.prediction.sources.backbone import Backbone
from faultscape.reading.study import Study
from faultscape.uncertainty.method_files import read_about
from faultscape.verbs.graph import nodes
from made_methods import QUICK, kept
from made_training import Trained
from refusals import refused, refused_text, told

sys.path.insert(0, str(Path(__file__).parents[1] / "prediction"))
import random_backbones

ALL = ["mahalanobis", "knn", "knn-class", "flow"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_backbones.save("dinov2", tmp_path_factory.mktemp("backbones") / "dinov2")


@pytest.fixture
def backbone(saved: Path, tmp_path: Path) -> str:
    return str(shutil.copytree(saved, tmp_path / "dinov2"))


def fit(trained: Trained, method: str, backbone: str, **more) -> fs.verbs.fit.FittedMethods:
    return fs.fit(
        trained.study,
        method,
        model="plain",
        data=fs.FitData(backbone=backbone, keep_embeddings=300),
        **{"method_options": QUICK.get(method, fs.MethodOptions()), **more},
    )


def predict(trained: Trained, scorers: list[str], **more) -> None:
    fs.predict(trained.study, {"plain": trained.source}, scorer=scorers, engine="local", **more)


def test_a_line_fits_and_the_line_that_it_names_scores(predicted: Trained, backbone: str) -> None:
    study = predicted.study
    lines = told("fit", study, "knn", "--model", "plain", "--backbone", backbone, "--as", "knn-dino")
    assert lines[0] == f"plain: knn-dino at {backbone}"
    assert "--scorer knn-dino --measure" in lines[-1]
    about = read_about(Path(study, "methods", "plain", "knn-dino.safetensors"))
    assert (about.layers, about.backbone, about.flags) == ((backbone,), Backbone(backbone).digest, ())
    told("predict", study, f"plain={predicted.source}", "--scorer", "knn-dino", "--engine", "local")
    assert np.isfinite(kept(predicted, "knn-dino")).all()


def test_the_score_is_the_density_of_the_backbones_patches(predicted: Trained, backbone: str) -> None:
    """Computed here in NumPy, from the photos and the training features in the file."""
    from faultscape.maps.winners import enlarged
    from faultscape.uncertainty.methods.method import read

    fit(predicted, "knn", backbone)
    predict(predicted, ["knn"])
    study = Path(predicted.study)
    keys = read(study / "methods" / "plain" / "knn.safetensors")[1]["keys"].numpy()
    net = Backbone(backbone)
    scores = []
    for path in sorted((predicted.folder / "main" / "images").glob("*.png")):
        grid = net.grid(net.prepare(np.asarray(Image.open(path).convert("RGB"))))
        unit = grid / np.linalg.norm(grid, axis=0)
        cosines = np.sort(np.tensordot(keys, unit, 1), axis=0)[-10:]
        scores.append(enlarged(-np.log(np.exp(cosines).mean(0))[None].astype(np.float32), (32, 24))[0])
    made_scores = kept(predicted, "knn")[: len(scores)]
    # how scores are kept: in steps of their range
    order = [np.corrcoef(mine.ravel(), wanted.ravel())[0, 1] for mine, wanted in zip(made_scores, scores)]
    assert min(order) > 0.999
    assert len(keys) == 300 or len(keys) < 300


def test_all_methods_share_one_run_of_the_backbone_and_change_no_label(
    predicted: Trained, backbone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = made.bytes_under(Path(predicted.study), "predictions/plain/labels")
    for method in ALL:
        fit(predicted, method, backbone)
    runs: list[tuple[int, ...]] = []
    grid = Backbone.grid
    monkeypatch.setattr(Backbone, "grid", lambda self, view: runs.append(view.shape) or grid(self, view))
    predict(predicted, ALL)
    photos = len(Study(Path(predicted.study)).image_rows)
    opened = 2  # each tries itself on a small photo
    assert len(runs) <= photos + opened + 1  # and the model is tried on one image
    assert made.bytes_under(Path(predicted.study), "predictions/plain/labels") == before
    for method in ALL:
        assert np.isfinite(kept(predicted, method)).all()


def test_the_backbone_sees_the_whole_photo_whatever_windows_the_model_sees(
    predicted: Trained, backbone: str
) -> None:
    fit(predicted, "knn", backbone)
    predict(predicted, ["knn"])
    whole = kept(predicted, "knn")
    windows = fs.Preparation(window="16x16", stride="8x8")
    predict(predicted, ["none"], prepare=windows)
    fit(predicted, "knn", backbone)
    predict(predicted, ["knn"], prepare=windows)
    np.testing.assert_array_equal(kept(predicted, "knn"), whole)


def test_a_backbone_that_changed_makes_its_methods_stale(
    predicted: Trained, backbone: str, capsys: pytest.CaptureFixture[str]
) -> None:
    study = predicted.study
    fit(predicted, "knn", backbone)
    fit(predicted, "knn", backbone)
    assert "knn: fitted before, and nothing has changed since" in capsys.readouterr().out
    random_backbones.save("dinov2", Path(backbone), image_mean=[0.5, 0.5, 0.5])
    with refused(ModelError, r"its method knn was fitted with other files of its backbone .*; run `faultsc"):
        predict(predicted, ["knn"])
    assert [node.state for node in nodes(Study(Path(study))) if node.name == "plain/knn"] == []
    fit(predicted, "knn", backbone)
    assert "fitted before" not in capsys.readouterr().out
    predict(predicted, ["knn"])
    shutil.rmtree(backbone)
    with refused(ModelError, r"there is no such folder; give a folder of the transformers library, or hf:"):
        predict(predicted, ["knn"])


def test_what_a_backbone_cannot_be_given_with_is_refused(predicted: Trained, backbone: str) -> None:
    for method, given, says in (
        ("knn", {"layer": ["mix"]}, "--backbone takes the place of the model's layers; leave --layer and"),
        ("flow", {"method_options": fs.MethodOptions(epsilon=0.1)}, "--epsilon moves the input of the model"),
        ("flow", {"sweep": "epsilon=0,0.1"}, "--epsilon moves the input of the model, which a backbone does"),
        ("neco", {}, "--backbone has no effect on method neco; leave it out"),
    ):
        with refused(OptionError, says):
            fit(predicted, method, backbone, **given)
    line = ["fit", predicted.study, "odin", "--model", "plain", "--backbone", backbone]
    assert refused_text(*line) == "--backbone has no effect on method odin; leave it out"
    with refused(ModelError, "--backbone nowhere: there is no such folder; give a folder of the transformers"):
        fit(predicted, "knn", "nowhere")


@pytest.mark.slow
def test_a_search_runs_on_the_patches_too(predicted: Trained, backbone: str) -> None:
    blended = fs.stress.blend(
        predicted.study, preset="fishyscapes-v2", set_="val", blending=fs.Blending(smallest=8), engine="local"
    ).sets[0]
    found = fit(predicted, "knn", backbone, validation=blended)
    assert [one.candidate for one in found.searches["k"]]
    assert found.methods[0].flags == ("tuned-with-ood",)
