"""What cannot be trained, and code that runs only where a line names it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import ModelError, StudyError
from made_training import FEW, ONE, Trained, image_of
from refusals import refused


@pytest.mark.slow
def test_a_whole_network_of_other_code_under_the_same_key_is_trained_anew(trained: Trained) -> None:
    """A study of somebody else's, whose network.json says what was asked for: none of its code runs."""
    study, folder = trained.study, Path(trained.study, "models", "plain")
    fs.train(
        study, "vit", backbone="segmenter-T/16", plan=fs.options.TrainingPlan(steps=1, batch=1, crop="16x16")
    )
    held = json.loads(Path(study, "models", "vit", "network.json").read_text())
    held["network"]["backbone"] = "backbone.py:net"
    Path(study, "models", "vit", "network.json").write_text(json.dumps(held))
    Path(study, "models", "vit", "backbone.py").write_text("raise SystemExit('ran')\n")
    words = {"plan": fs.options.TrainingPlan(steps=1, batch=1, crop="16x16"), "export": "pt2"}
    assert fs.train(study, "vit", backbone="segmenter-T/16", **words).new
    (folder / "backbone.py").write_text("raise SystemExit('ran')\n")
    assert fs.train(study, "plain", backbone=trained.own, plan=FEW, export="pt2").new
    (folder / "backbone.py").write_text("raise SystemExit('ran')\n")
    sweep = {
        "init": "start",
        "head": "gp",
        "head_options": {"features": 16},
        "sweep": "mean-field=0,1",
    }
    fs.train(study, "start", backbone=trained.own, plan=ONE)
    fs.train(study, "gp", backbone=trained.own, plan=ONE, **sweep)
    for name in ("gp-mean-field-0", "gp-mean-field-1"):
        Path(study, "models", name, "backbone.py").write_text("raise SystemExit('ran')\n")
    networks = fs.train(study, "gp", backbone=trained.own, plan=ONE, **sweep).networks
    assert all(network.new for network in networks.values())


def test_a_network_does_not_start_from_one_of_another_kind(trained: Trained) -> None:
    study = trained.study
    fs.train(
        study, "vit", backbone="segmenter-T/16", plan=fs.options.TrainingPlan(steps=1, batch=1, crop="16x16")
    )
    with refused(
        ModelError, "--init vit: is a segmenter-T/16, but --backbone is segformer-b0; both must be the same"
    ):
        fs.train(study, "net", init="vit", backbone="segformer-b0", plan=ONE)


def test_a_sweep_of_true_and_false_trains_both(trained: Trained) -> None:
    study, init = trained.study, {"init": "plain", "backbone": trained.own, "plan": ONE}
    told = {"features": 16}
    made = fs.train(study, "net", head="gp", head_options=told, sweep="scaled=true,false", **init).networks
    held = [
        json.loads(Path(one.folder, "network.json").read_text())["network"]["head_options"]["scaled"]
        for one in made.values()
    ]
    assert held == [True, False]


def test_a_study_without_labels_to_learn_from_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    Image.fromarray(image_of(0)[0]).save(tmp_path / "images" / "0.png")
    study = str(tmp_path / "study")
    fs.collect(study, str(tmp_path / "images"), classes=4, role="train")
    with refused(StudyError, "there are no labels yet"):
        fs.train(study, "net", backbone="segformer-b0")
    (tmp_path / "masks").mkdir()
    Image.fromarray(np.full((24, 32), 3, np.uint8)).save(tmp_path / "masks" / "0.png")
    fs.label.import_(study, str(tmp_path / "masks"))
    fs.stress.holdout(study, classes=["class-3"])
    with refused(StudyError, r"no training image has a labelled pixel of the classes to learn"):
        fs.train(study, "net", backbone="segformer-b0")


def test_the_folder_of_a_network_that_is_not_whole_is_no_model(trained: Trained) -> None:
    study = trained.study
    half, gone = Path(study, "models", "half"), Path(study, "models", "gone")
    half.mkdir()
    (half / "begun.json").write_text("{}")
    gone.mkdir()
    (gone / "network.json").write_text("{}")
    with refused(
        ModelError, "its training was interrupted; repeat the `faultscape train` command to resume it"
    ):
        fs.predict(study, {"half": str(half)})
    with refused(ModelError, "weights.safetensors is missing"):
        fs.predict(study, {"gone": str(gone)})


def test_code_that_a_folder_brings_runs_only_where_the_source_names_it(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study = trained.study
    held = Path(study, "models", "plain")
    (held / "backbone.py").write_text("raise SystemExit('ran')\n")
    with refused(
        ModelError,
        r"its backbone is Python code, which would run with your permissions; if you trust it, name it as"
        r" .*/plain/backbone\.py:net",
    ):
        fs.predict(study, {"net": str(held)}, engine="local")
    with refused(ModelError, "SystemExit: ran"):
        fs.predict(study, {"net": f"{held}/backbone.py:net"}, engine="local")
    assert "ran" not in capsys.readouterr().out


def test_code_within_a_study_runs_only_where_the_line_names_it(trained: Trained) -> None:
    study, own = trained.study, trained.own
    copy = Path(study, "models", "plain", "backbone.py")
    copy.write_text("raise SystemExit('ran')\n" + copy.read_text())
    with refused(
        ModelError,
        "--init plain: its backbone is Python code, which would run with your permissions; if you trust it,"
        " add --backbone .*plain/backbone.py:net",
    ):
        fs.train(study, "net", init="plain", plan=FEW)
    with refused(ModelError, "--init plain: was trained with another version of its backbone"):
        fs.train(study, "net", init="plain", backbone=own, plan=FEW)
