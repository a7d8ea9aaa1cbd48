"""What cannot be trained, and code that runs only where a line names it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import ModelError, OptionError, StudyError
from made_training import FEW, ONE, Trained, image_of
from refusals import refused


def test_what_cannot_be_trained_is_said_in_one_line(trained: Trained, tmp_path: Path) -> None:
    study, own = trained.study, trained.own
    with refused(OptionError, "name a network to train: --backbone NAME, or --init NETWORK"):
        fs.train(study, "net")
    with refused(OptionError, r"backbone 'segformer-b9' is not known; .* Did you mean 'segformer-b"):
        fs.train(study, "net", backbone="segformer-b9")
    with refused(
        ModelError,
        r"--init plan: the study has no trained network with this name; it has plain\. Did you mean"
        r" 'plain'\?",
    ):
        fs.train(study, "net", init="plan")
    with refused(OptionError, "head linear has no option 'features'; it has no options"):
        fs.train(study, "net", backbone=own, head_options={"features": 3})
    with refused(
        OptionError,
        r"--set 'trian': the study has no such set; it has main, train, val\. Did you mean 'train'\?",
    ):
        fs.train(study, "net", backbone=own, data=fs.TrainingData(set_=["trian"]))
    with refused(OptionError, "3 images would be in both training and validation"):
        fs.train(study, "net", backbone=own, data=fs.TrainingData(set_=["val"], validation="val"))
    with refused(OptionError, "the study has no holdout 'bikes'; it has cars"):
        fs.train(study, "net", backbone=own, data=fs.TrainingData(withhold="bikes"))
    with refused(
        ModelError,
        r"has 3 classes, but 4 are to be learnt \(also car\); --withhold says which holdout is withheld",
    ):
        fs.train(study, "net", init="plain", backbone=trained.own, data=fs.TrainingData(withhold="none"))
    with refused(
        OptionError, "--seed must be a whole number from 0 to 4294967295; got 100000000000000000000"
    ):
        fs.train(study, "net", backbone=own, seed=10**20)
    with refused(OptionError, "--steps must be 1 or more; got 0"):
        fs.train(study, "net", backbone=own, plan=fs.TrainingPlan(steps=0))
    with refused(OptionError, r"'labels' is already the name of a truth \(a set of labels\)"):
        fs.train(study, "labels", backbone=own)
    with refused(OptionError, "--init plain: a network cannot start from itself"):
        fs.train(study, "plain", init="plain", backbone=own)
    with refused(OptionError, "give either --steps or --epochs, not both"):
        fs.train(study, "net", backbone=own, plan=fs.TrainingPlan(steps=3, epochs=2))
    with refused(
        OptionError,
        "--preset camvid-small starts this head from a trained linear network: name it with --init, or use"
        " --from-scratch to train everything",
    ):
        fs.train(study, "net", backbone=own, head="gp", preset="camvid-small")
    (tmp_path / "none.py").write_text(
        "import torch\ndef net():\n    return torch.nn.Sequential(torch.nn.ReLU())\n"
    )
    with refused(ModelError, "Sequential: has no linear layer or 1x1 convolution as a classifier"):
        fs.train(study, "net", backbone=f"{tmp_path / 'none.py'}:net")
    with refused(ModelError, "backbone nowhere.py:net: there is no file nowhere.py"):
        fs.train(study, "net", backbone="nowhere.py:net")
    with refused(OptionError, "--from-scratch is for presets that start heads from a trained network"):
        fs.train(study, "net", backbone=own, from_scratch=True)
    with refused(OptionError, "--precision fp16 needs a GPU; use bf16 or no on a CPU"):
        fs.train(study, "net", backbone=own, machine=fs.TrainingMachine(device="cpu", precision="fp16"))


@pytest.mark.slow
def test_a_whole_network_of_other_code_under_the_same_key_is_trained_anew(trained: Trained) -> None:
    """A study of somebody else's, whose network.json says what was asked for: none of its code runs."""
    study, folder = trained.study, Path(trained.study, "models", "plain")
    fs.train(study, "vit", backbone="segmenter-T/16", plan=fs.TrainingPlan(steps=1, batch=1, crop="16x16"))
    held = json.loads(Path(study, "models", "vit", "network.json").read_text())
    held["network"]["backbone"] = "backbone.py:net"
    Path(study, "models", "vit", "network.json").write_text(json.dumps(held))
    Path(study, "models", "vit", "backbone.py").write_text("raise SystemExit('ran')\n")
    words = {"plan": fs.TrainingPlan(steps=1, batch=1, crop="16x16"), "export": "pt2"}
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


def test_what_does_not_fit_the_network_is_said(trained: Trained) -> None:
    study, own = trained.study, trained.own
    vit = {"backbone": "segmenter-T/16", "plan": ONE}
    with refused(OptionError, "--crop 24x16: both sides must be multiples of 16 for segmenter-T/16"):
        fs.train(study, "net", **vit)
    with refused(
        OptionError,
        "--head-option member-blocks needs a Segmenter and --head batch-ensemble; got segmenter-T/16 and linear: leave"
        " it out",
    ):
        fs.train(study, "net", head_options={"member_blocks": 2}, **vit)
    with refused(
        OptionError,
        "--head-option member-blocks needs a Segmenter and --head batch-ensemble; got net.py:net and batch-ensemble:"
        " leave it out",
    ):
        told = {"member_blocks": 2}
        fs.train(study, "net", backbone=own, head="batch-ensemble", head_options=told, plan=ONE)
    fs.train(study, "vit", backbone="segmenter-T/16", plan=fs.TrainingPlan(steps=1, batch=1, crop="16x16"))
    with refused(
        ModelError, "--init vit: is a segmenter-T/16, but --backbone is segformer-b0; both must be the same"
    ):
        fs.train(study, "net", init="vit", backbone="segformer-b0", plan=ONE)


def test_no_network_of_a_sweep_is_trained_where_one_cannot_be(trained: Trained) -> None:
    study, init = trained.study, {"init": "plain", "backbone": trained.own, "plan": ONE}
    with refused(OptionError, "head batch-ensemble: members is a whole number, 1 or more; got 0"):
        fs.train(study, "net", head="batch-ensemble", sweep="members=3,0", **init)
    with refused(OptionError, "--sweep scaled: 'maybe' is not true or false"):
        fs.train(study, "net", head="gp", sweep="scaled=true,maybe", **init)
    assert sorted(path.name for path in Path(study, "models").iterdir()) == ["plain"]
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


def test_a_line_that_is_refused_leaves_no_folder_behind(trained: Trained) -> None:
    study = trained.study
    with refused(ModelError, "has no layer"):
        fs.train(study, "other", init="plain", backbone=trained.own, dropout_at=["nowhere"], plan=ONE)
    assert not Path(study, "models", "other").exists()


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
