"""train and fit: from a study's labels to a network whose doubt is on the card, by the command line and by Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.cli import main
from faultscape.errors import ModelError, OptionError, StudyError
from made_training import NAMES, VOID, image_of, make_study
from refusals import refused

FEW = fs.Schedules(steps=30, batch=4, rate=0.02, crop="24x16", scale="1,1", validate_every=0)
ONE = fs.Schedules(steps=1, batch=2, crop="24x16", validate_every=0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study in which a network was trained that learns no cars."""
    folder = tmp_path_factory.mktemp("trained")
    study = make_study(folder)
    fs.stress.holdout(study, classes=["car"], as_="cars")
    fs.train(study, "plain", backbone=f"{folder / 'net.py'}:net", schedules=FEW)
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "here")
    return tmp_path / "here"


def schedule_words() -> list[str]:
    return ["--steps", "30", "--batch", "4", "--rate", "0.02", "--crop", "24x16", "--scale", "1,1", "--validate-every", "0"]


def test_a_network_learns_what_is_not_withheld_and_its_doubt_is_on_the_card(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(folder / "study")
    assert (
        main(
            [
                "train",
                study,
                "gp",
                "--init",
                "plain",
                "--backbone",
                f"{folder / 'net.py'}:net",
                "--head",
                "gp",
                "--features",
                "64",
                *schedule_words(),
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert "gp: net.py:net with head gp, 3 classes, without car" in out
    assert "mean-field factor" in out
    source = f"{study}/models/gp/backbone.py:net"
    assert out.rstrip().endswith(f"next     faultscape predict {study} gp={source}")
    assert (
        main(
            [
                "predict",
                study,
                f"gp={source}",
                "--scorer",
                "msp",
                "--scorer",
                "variance",
                "--scorer",
                "mutual-information",
                "--measure",
            ]
        )
        == 0
    )
    card = fs.reliability(study, worst=0, resamples=0).document
    cells = {(c["condition"], c["metric"], c["scorer"]): c["value"] for c in card["cells"]}
    assert cells["cars", "miou", ""] > 0.8  # of the classes that it knows
    for scorer in ("msp", "variance", "mutual-information"):
        assert 0 <= cells["cars", "auroc", scorer] <= 1
    assert np.isfinite(cells["main", "error_auroc", "msp"])
    (model,) = card["models"]
    assert model["flags"] == ["retrained"]
    assert (model["training"]["head"], model["training"]["withheld"], model["training"]["steps"]) == ("gp", ["car"], 30)
    assert len(model["training"]["losses"]) == 30
    page = Path(study, "reliability", "report.html").read_text()
    assert page.count('<section id="training">') == 1
    assert "Training loss" in page


def test_the_card_says_which_networks_learnt_held_out_classes(folder: Path) -> None:
    study, backbone = str(folder / "study"), f"{folder / 'net.py'}:net"
    fs.train(study, "all", backbone=backbone, schedules=FEW, data=fs.TrainingData(withhold="none"))
    fs.predict(study, {n: f"{study}/models/{n}/backbone.py:net" for n in ("plain", "all")}, scorer=["msp"], measure=True)
    document = fs.reliability(study, worst=0, resamples=0).document
    (condition,) = [c for c in document["conditions"] if c["kind"] == "anomaly"]
    assert condition["withheld"] == ["car"]
    page = Path(study, "reliability", "report.html").read_text()
    assert "Trained without them: plain. <strong>Trained with some of them: all (car).</strong>" in page
    assert "which the study does not know" not in page
    assert [c["name"] for c in document["conditions"] if c["kind"] == "clean"] == ["main"]  # test images, and not validation's


def test_a_model_from_elsewhere_may_have_learnt_held_out_classes() -> None:
    from faultscape.reporting.reliability.views import _trained

    models = [{"name": "mine", "training": {"withheld": ["car"]}}, {"name": "given"}]
    assert _trained({"models": models}, ["car"]) == {"without": ["mine"], "with": [], "others": True}  # type: ignore[arg-type]


@pytest.mark.parametrize("head", ["batch-ensemble", "heteroscedastic", "batch-ensemble+gp"])
def test_every_head_brings_entropies_and_mutual_information(folder: Path, head: str) -> None:
    study = str(folder / "study")
    told = (
        fs.HeadOptions(samples=20)
        if head == "heteroscedastic"
        else fs.HeadOptions(features=32)
        if head.endswith("gp")
        else fs.HeadOptions()
    )
    made = fs.train(study, "net", init="plain", backbone=f"{folder / 'net.py'}:net", head=head, head_options=told, schedules=FEW)
    scorers = ["predictive-entropy", "expected-entropy", "mutual-information"]
    fs.predict(study, {"net": made.source}, scorer=scorers, engine="local")
    held = {name: doubt(study, "net", name) for name in scorers}
    np.testing.assert_allclose(held[scorers[0]], held[scorers[1]] + held[scorers[2]], atol=1e-5)
    assert held["mutual-information"].max() > 0


def doubt(study: str, model: str, scorer: str) -> np.ndarray:
    from faultscape.study.tables import outputs

    return np.stack([arrays[0] for _, arrays in outputs.read_kept(Path(study), model, f"doubt-{scorer}", 0)])


def test_dropout_at_a_layer_gives_members(folder: Path) -> None:
    study = str(folder / "study")
    made = fs.train(study, "net", init="plain", backbone=f"{folder / 'net.py'}:net", dropout_at=["mix"], schedules=FEW)
    assert json.loads((Path(made.folder) / "network.json").read_text())["network"]["dropout_at"] == ["mix"]
    fs.predict(study, {"net": made.source}, scorer=["mutual-information"], engine="local")
    with refused(ModelError, r"Net: has no layer 'mixx'\. Did you mean 'mix'\?"):
        fs.train(study, "other", init="plain", backbone=f"{folder / 'net.py'}:net", dropout_at=["mixx"], schedules=FEW)


def test_the_same_line_trains_nothing_again_and_another_one_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, backbone = str(folder / "study"), f"{folder / 'net.py'}:net"
    weights = Path(study, "models", "plain", "weights.safetensors").read_bytes()
    again = fs.train(study, "plain", backbone=backbone, schedules=FEW)
    assert not again.new
    assert "(trained before, with the same options)" in repr(again)
    capsys.readouterr()
    other = fs.train(study, "plain", backbone=backbone, schedules=FEW, seed=1)
    assert other.new
    assert "options or data changed; retraining" in capsys.readouterr().out
    assert Path(study, "models", "plain", "weights.safetensors").read_bytes() != weights
    back = fs.train(study, "plain", backbone=backbone, schedules=FEW)
    assert back.new
    assert Path(study, "models", "plain", "weights.safetensors").read_bytes() == weights  # the same seed, the same bytes


def test_a_trained_network_says_the_same_in_another_folder(folder: Path, tmp_path: Path) -> None:
    study = str(folder / "study")
    moved = shutil.copytree(Path(study) / "models" / "plain", tmp_path / "elsewhere" / "net")
    fs.predict(study, {"here": f"{study}/models/plain/backbone.py:net", "there": f"{moved}/backbone.py:net"}, engine="local")
    from faultscape.study.tables import label_maps

    assert label_maps.content_digest(Path(study) / "predictions" / "here") == label_maps.content_digest(
        Path(study) / "predictions" / "there"
    )


def test_a_sweep_is_a_network_for_each_value_and_trains_once_where_only_use_differs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(folder / "study")
    words = [
        "train",
        study,
        "gp",
        "--init",
        "plain",
        "--backbone",
        f"{folder / 'net.py'}:net",
        "--head",
        "gp",
        "--features",
        "32",
        "--sweep",
        "mean-field=0,4",
        *schedule_words(),
    ]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "gp-mean-field-0" in out
    assert "gp-mean-field-4" in out
    held = [
        json.loads(Path(study, "models", f"gp-mean-field-{k}", "network.json").read_text())["network"]["head_options"]
        for k in (0, 4)
    ]
    assert [of["mean_field"] for of in held] == [0, 4]
    one, other = (Path(study, "models", f"gp-mean-field-{k}", "weights.safetensors").read_bytes() for k in (0, 4))
    assert one == other
    found = [
        json.loads(Path(study, "models", f"gp-mean-field-{k}", "network.json").read_text())["training"]["found"]["nll"]
        for k in (0, 4)
    ]
    assert found[0] != found[1]


def test_seeds_in_one_line_are_a_deep_ensemble(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = str(folder / "study")
    assert main(["train", study, "deep", "--backbone", f"{folder / 'net.py'}:net", "--sweep", "seed=0,1", *schedule_words()]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line in (next(line for line in lines if line.startswith(word)) for word in ("next ", "then ")):
        assert main(line.split()[2:]) == 0
    one, other = (Path(study, "models", f"deep-seed-{k}", "weights.safetensors").read_bytes() for k in (0, 1))
    assert one != other
    fs.predict(study, {"deep": "ensemble:deep-seed-0,deep-seed-1"}, scorer=["mutual-information"], engine="local")
    assert doubt(study, "deep", "mutual-information").max() > 0
    with refused(OptionError, "--sweep 'ridge=1' is not valid; give at least two different values: ridge=1,3,5"):
        fs.train(study, "deep", init="plain", backbone=f"{folder / 'net.py'}:net", head="gp", sweep="ridge=1")
    with refused(OptionError, r"--sweep members: '2\.5' is no whole number"):
        fs.train(study, "deep", init="plain", backbone=f"{folder / 'net.py'}:net", head="batch-ensemble", sweep="members=2,2.5")


@pytest.mark.parametrize("form", ["onnx", "pt2"])
def test_an_exported_network_says_the_same_with_its_doubt(folder: Path, form: str) -> None:
    study = str(folder / "study")
    made = fs.train(
        study, "net", init="plain", backbone=f"{folder / 'net.py'}:net", head="batch-ensemble", schedules=FEW, export=form
    )
    assert made.exported.endswith(f"network.{form}")
    scorers = ["msp", "mutual-information"]
    fs.predict(study, {"net": made.source, "file": made.exported}, scorer=scorers, engine="local")
    for scorer in scorers:
        np.testing.assert_allclose(doubt(study, "file", scorer), doubt(study, "net", scorer), rtol=1e-3, atol=1e-5)


def test_fit_brings_a_temperature_that_lowers_the_likelihood_and_changes_no_label(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from faultscape.study.tables import label_maps

    study, source = str(folder / "study"), str(folder / "study" / "models" / "plain" / "backbone.py:net")
    fs.predict(study, {"net": source, "fitted": source}, engine="local")
    capsys.readouterr()
    assert main(["status", study]) == 0
    assert "fitted: the working size" not in capsys.readouterr().out
    assert main(["fit", study, "temperature", "--model", "fitted"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("fitted: temperature ")
    about = json.loads(Path(study, "methods", "fitted", "temperature.json").read_text())
    assert about["nll"][1] <= about["nll"][0]
    assert main(["status", study]) == 0  # whose maps are those of before
    assert "fitted: the working size, photos, the network or its temperature changed since" in capsys.readouterr().out
    fs.predict(study, {"net": source, "fitted": source}, scorer=["msp", "max-logit"], engine="local")
    assert main(["status", study]) == 0
    assert "fitted: the working size" not in capsys.readouterr().out
    one, other = (label_maps.content_digest(Path(study) / "predictions" / name) for name in ("net", "fitted"))
    assert one == other
    np.testing.assert_allclose(
        doubt(study, "fitted", "max-logit") * about["values"][0], doubt(study, "net", "max-logit"), rtol=1e-4
    )
    assert fs.fit(study, "temperature", model="fitted", per_class=True).values.keys() <= {*NAMES}


def test_fit_takes_labelled_pixels_of_known_classes_and_finds_the_same_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.stages.fit import fit_temperature
    from faultscape.uncertainty.temperature import Temperature

    study, source = str(folder / "study"), str(folder / "study" / "models" / "plain" / "backbone.py:net")
    fs.predict(study, {"net": source}, engine="local")
    every = fs.fit(study, "temperature", model="net", pixels=10**6)
    labels = [image_of(number)[1] for number in (12, 13, 14)]
    assert every.pixels == sum(int(((one != VOID) & (one != NAMES.index("car"))).sum()) for one in labels)
    some = fs.fit(study, "temperature", model="net", pixels=50)
    assert fs.fit(study, "temperature", model="net", pixels=50).values == some.values  # not of logits that were divided
    assert fs.fit(study, "temperature", model="net", pixels=50, seed=1).values != some.values
    alike = Temperature((0.02,), 0.1, 0.0, 3)
    monkeypatch.setattr(fit_temperature, "fit_temperature", lambda *_, **__: alike)
    capsys.readouterr()
    fs.fit(study, "temperature", model="net", pixels=1)
    assert "note: the best temperature is at the bound of the search, 0.02 to 50" in capsys.readouterr().out


def test_the_folder_of_a_network_that_is_not_whole_is_no_model(folder: Path) -> None:
    study = str(folder / "study")
    half, gone = Path(study, "models", "half"), Path(study, "models", "gone")
    half.mkdir()
    (half / "begun.json").write_text("{}")
    gone.mkdir()
    (gone / "network.json").write_text("{}")
    with refused(ModelError, "its training was interrupted; repeat the line of `faultscape train`, which goes on"):
        fs.predict(study, {"half": str(half)})
    with refused(ModelError, "weights.safetensors is missing"):
        fs.predict(study, {"gone": str(gone)})


def test_fit_on_training_images_and_an_unknown_method_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, source = str(folder / "study"), str(folder / "study" / "models" / "plain" / "backbone.py:net")
    fs.predict(study, {"net": source}, engine="local")
    fs.fit(study, "temperature", model="net", validation="train")
    assert (
        "note: 8 of 8 images have role train; a temperature fitted to images that the model learned from is too low"
        in capsys.readouterr().out
    )
    assert main(["fit", study, "temprature", "--model", "net"]) == 2
    assert "METHOD 'temprature' is not known; use temperature" in capsys.readouterr().err


def test_fit_takes_fewer_pixels_than_memory_holds_and_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from faultscape.stages.fit import fit_temperature

    study, source = str(folder / "study"), str(folder / "study" / "models" / "plain" / "backbone.py:net")
    fs.predict(study, {"few": source}, engine="local")
    whole = fs.fit(study, "temperature", model="few", pixels=50)
    monkeypatch.setattr(fit_temperature, "_MOST", 10 * whole.images * 3)  # three classes are learnt
    capsys.readouterr()
    assert fs.fit(study, "temperature", model="few", pixels=50).pixels == 10 * whole.images
    assert "note: using 10 pixels per image instead of 50 to limit memory" in capsys.readouterr().out


def test_a_temperature_of_other_weights_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, backbone = str(folder / "study"), f"{folder / 'net.py'}:net"
    source = {"net": str(folder / "study" / "models" / "plain" / "backbone.py:net")}
    fs.predict(study, source, engine="local")
    fs.fit(study, "temperature", model="net")
    capsys.readouterr()
    fs.predict(study, source, engine="local")
    assert "its temperature" not in capsys.readouterr().out
    fs.train(study, "plain", backbone=backbone, schedules=FEW, seed=5)
    fs.predict(study, source, engine="local")
    assert (
        f"note: net: its temperature was fitted to other weights; run `faultscape fit {study} temperature --model net` again"
        in capsys.readouterr().out
    )


def test_what_cannot_be_trained_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    study, backbone = str(folder / "study"), f"{folder / 'net.py'}:net"
    with refused(OptionError, "name a network to train: --backbone NAME, or --init NETWORK"):
        fs.train(study, "net")
    with refused(OptionError, r"backbone 'segformer-b9' is not known; .* Did you mean 'segformer-b"):
        fs.train(study, "net", backbone="segformer-b9")
    with refused(
        ModelError, r"--init plan: the study has no trained network with this name; it has plain\. Did you mean 'plain'\?"
    ):
        fs.train(study, "net", init="plan")
    with refused(OptionError, "head linear has no option 'features'; it has none"):
        fs.train(study, "net", backbone=backbone, head_options=fs.HeadOptions(features=3))
    with refused(OptionError, r"--set 'trian': the study has no such set; it has main, train, val\. Did you mean 'train'\?"):
        fs.train(study, "net", backbone=backbone, data=fs.TrainingData(set_=["trian"]))
    with refused(OptionError, "3 images would be in both training and validation"):
        fs.train(study, "net", backbone=backbone, data=fs.TrainingData(set_=["val"], validation="val"))
    with refused(OptionError, "the study has no holdout 'bikes'; it has cars"):
        fs.train(study, "net", backbone=backbone, data=fs.TrainingData(withhold="bikes"))
    with refused(ModelError, r"has 3 classes, but 4 are to be learnt \(also car\); --withhold says which holdout is withheld"):
        fs.train(study, "net", init="plain", backbone=f"{folder / 'net.py'}:net", data=fs.TrainingData(withhold="none"))
    with refused(OptionError, "--seed is a whole number from 0 to 4294967295; got 100000000000000000000"):
        fs.train(study, "net", backbone=backbone, seed=10**20)
    with refused(OptionError, "--steps must be 1 or more; got 0"):
        fs.train(study, "net", backbone=backbone, schedules=fs.Schedules(steps=0))
    with refused(OptionError, "'labels' is the name of a truth, under which labels are kept"):
        fs.train(study, "labels", backbone=backbone)
    with refused(OptionError, "--init plain: a network cannot start from itself"):
        fs.train(study, "plain", init="plain", backbone=backbone)
    with refused(OptionError, "give either --steps or --epochs, not both"):
        fs.train(study, "net", backbone=backbone, schedules=fs.Schedules(steps=3, epochs=2))
    with refused(
        OptionError,
        "--preset camvid-small starts this head from a trained linear network: name it with --init, or use --from-scratch to train everything",
    ):
        fs.train(study, "net", backbone=backbone, head="gp", preset="camvid-small")
    (tmp_path / "none.py").write_text("import torch\ndef net():\n    return torch.nn.Sequential(torch.nn.ReLU())\n")
    with refused(ModelError, "Sequential: has no linear layer or 1x1 convolution to replace"):
        fs.train(study, "net", backbone=f"{tmp_path / 'none.py'}:net")
    with refused(ModelError, "there is no file|backbone .*: there is no file"):
        fs.train(study, "net", backbone="nowhere.py:net")
    with refused(ModelError, "the study has no model 'plain'; it has none"):
        fs.fit(study, "temperature", model="plain")


def test_a_study_without_labels_to_learn_from_says_what_to_do(tmp_path: Path) -> None:
    from PIL import Image

    from made_training import image_of

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


def state_of(study: str, name: str) -> tuple[str, tuple[str, ...], str]:
    from faultscape.stages import graph
    from faultscape.stages.snapshot import Snapshot

    (node,) = (node for node in graph.nodes(Snapshot(Path(study))) if (node.artefact, node.name) == ("networks", name))
    return node.state, node.why, node.line


def test_status_says_when_a_network_was_trained_on_something_else_and_how_to_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.uncertainty.training import loop

    study, backbone = str(folder / "study"), f"{folder / 'net.py'}:net"
    assert state_of(study, "plain")[:2] == ("done", ())
    fs.train(
        study,
        "gp",
        init="plain",
        backbone=f"{folder / 'net.py'}:net",
        head="gp",
        head_options=fs.HeadOptions(features=16),
        schedules=FEW,
    )
    fs.stress.holdout(study, classes=["tree"], as_="trees")
    state, why, line = state_of(study, "plain")
    assert (state, why) == ("stale", ("the classes that are withheld changed",))
    assert line.startswith(f"faultscape train {study} plain --backbone /")
    assert " --steps 30 --batch 4 " in line
    fs.stress.holdout(study, remove="trees")
    (folder / "train" / "masks" / "004.png").write_bytes((folder / "train" / "masks" / "005.png").read_bytes())
    fs.label.import_(study, str(folder / "train" / "masks"))
    assert state_of(study, "plain")[:2] == ("stale", ("labels changed",))
    fs.train(study, "plain", backbone=backbone, schedules=FEW)
    assert state_of(study, "plain")[0] == "done"
    assert "the network that it started from changed" in state_of(study, "gp")[1]

    real = loop.train

    def killed(*args, **kwargs):
        for step in real(*args, **kwargs):
            if step.step == 3:
                raise KeyboardInterrupt
            yield step

    monkeypatch.setattr("faultscape.stages.train.train_network.train", killed)
    with pytest.raises(KeyboardInterrupt):
        fs.train(study, "new", backbone=backbone, schedules=FEW)
    state, _, line = state_of(study, "new")
    assert state == "missing"
    assert line.startswith(f"faultscape train {study} new --backbone ")


def test_code_that_a_folder_brings_runs_only_where_the_source_names_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = str(folder / "study")
    held = Path(study, "models", "plain")
    (held / "backbone.py").write_text("raise SystemExit('ran')\n")
    with refused(
        ModelError,
        r"its backbone is Python code, which would run with your permissions; if you trust it, name it as .*/plain/backbone\.py:net",
    ):
        fs.predict(study, {"net": str(held)}, engine="local")
    with refused(ModelError, "SystemExit: ran"):
        fs.predict(study, {"net": f"{held}/backbone.py:net"}, engine="local")
    assert "ran" not in capsys.readouterr().out


def test_a_backbone_whose_code_changed_is_trained_anew(folder: Path) -> None:
    study, file = str(folder / "study"), folder / "net.py"
    assert not fs.train(study, "plain", backbone=f"{file}:net", schedules=FEW).new
    file.write_text(file.read_text() + "\n# another remark\n")
    assert fs.train(study, "plain", backbone=f"{file}:net", schedules=FEW).new


def test_a_void_class_is_learnt_weighed_and_predicted_as_void(folder: Path) -> None:
    study = str(folder / "study")
    told = fs.Schedules(
        steps=30, batch=4, rate=0.02, crop="24x16", scale="1,1", validate_every=0, class_weights="median-frequency"
    )
    made = fs.train(study, "net", backbone=f"{folder / 'net.py'}:net", loss="void-class", schedules=told)
    fs.predict(study, {"net": made.source}, engine="local")
    from faultscape.study.settings import read_settings

    assert list(read_settings(Path(study)).models["net"].labels.values()) == ["sky", "road", "tree", "void"]
    (output,) = fs.prediction.open_model(made.source).predict([np.zeros((24, 32, 3), np.uint8)])
    assert output.labels.max() <= 3


def test_a_head_of_the_same_kind_is_trained_on_and_not_drawn_anew(folder: Path) -> None:
    study, none = str(folder / "study"), fs.Schedules(steps=1, batch=4, rate=1e-9, crop="24x16", scale="1,1", validate_every=0)
    own, few = f"{folder / 'net.py'}:net", fs.HeadOptions(features=16)
    first = fs.train(study, "gp", init="plain", backbone=own, head="gp", head_options=few, schedules=FEW)
    again = fs.train(study, "more", init="gp", backbone=own, head="gp", head_options=few, schedules=none)
    assert abs(first.found["nll"] - again.found["nll"]) < 1e-3  # though its mean-field factor was tuned
    noisy = fs.HeadOptions(samples=20)
    first = fs.train(study, "h", init="plain", backbone=own, head="heteroscedastic", head_options=noisy, schedules=FEW)
    again = fs.train(study, "g", init="h", backbone=own, head="heteroscedastic", head_options=noisy, schedules=none, seed=5)
    assert first.found["nll"] != again.found["nll"]  # the noise is that of its own seed
    assert abs(first.found["nll"] - again.found["nll"]) < 0.1


def test_a_network_that_starts_from_one_with_a_void_class_has_channels_of_its_own(folder: Path) -> None:
    study, own = str(folder / "study"), f"{folder / 'net.py'}:net"
    fs.train(study, "void", init="plain", backbone=own, loss="void-class", schedules=FEW)
    made = fs.train(study, "more", init="void", backbone=own, schedules=FEW)
    model = fs.prediction.open_model(f"{made.folder}/backbone.py:net")
    assert model.network.class_names == ["sky", "road", "tree"]


def test_code_within_a_study_runs_only_where_the_line_names_it(folder: Path) -> None:
    study, own = str(folder / "study"), f"{folder / 'net.py'}:net"
    copy = Path(study, "models", "plain", "backbone.py")
    copy.write_text("raise SystemExit('ran')\n" + copy.read_text())
    with refused(
        ModelError,
        "--init plain: its backbone is Python code, which would run with your permissions; if you trust it, add --backbone .*plain/backbone.py:net",
    ):
        fs.train(study, "net", init="plain", schedules=FEW)
    with refused(ModelError, "--init plain: was trained with another version of its backbone"):
        fs.train(study, "net", init="plain", backbone=own, schedules=FEW)


def test_what_a_network_follows_from_is_its_key(folder: Path) -> None:
    study, own = str(folder / "study"), f"{folder / 'net.py'}:net"
    assert fs.train(study, "one", backbone=own, schedules=ONE).new
    assert not fs.train(study, "one", backbone=own, schedules=ONE).new
    assert fs.train(study, "one", backbone=own, schedules=ONE, loss="entropy").new
    assert fs.train(study, "two", init="one", backbone=own, schedules=ONE).new
    assert not fs.train(study, "two", init="one", backbone=own, schedules=ONE).new
    fs.train(study, "one", backbone=own, schedules=ONE)
    assert fs.train(study, "two", init="one", backbone=own, schedules=ONE).new


def test_the_covariance_is_of_training_images_and_of_what_is_learnt_on_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.stages.train import train_network

    held: list[tuple[tuple[int, ...], np.ndarray]] = []

    def noted(_, batches) -> None:
        held.extend((tuple(image.shape), counted) for image, counted in batches)

    monkeypatch.setattr(train_network, "fit_covariance", noted)
    study, own = str(folder / "study"), f"{folder / 'net.py'}:net"
    fs.train(study, "gp", init="plain", backbone=own, head="gp", head_options=fs.HeadOptions(features=16), schedules=FEW)
    assert len(held) == 8  # images of role train
    for number, (shape, counted) in enumerate(held):
        labels = image_of(4 + number)[1]
        assert shape == (1, 3, 24, 32)
        assert (counted[0] == ((labels != VOID) & (labels != NAMES.index("car")))).all()


def test_a_killed_run_has_its_own_log_and_the_network_keeps_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from faultscape.stages.train import train_network

    study, own = str(folder / "study"), f"{folder / 'net.py'}:net"
    made = fs.train(study, "one", backbone=own, schedules=ONE)
    before = Path(made.folder, "log.csv").read_bytes()

    def fails(*_: object, **__: object) -> None:
        raise OSError("disk")

    with monkeypatch.context() as patch:
        patch.setattr(train_network, "_finish", fails)
        with pytest.raises(OSError, match="disk"):
            fs.train(study, "one", backbone=own, schedules=ONE, seed=3)
    assert Path(made.folder, "log.csv").read_bytes() == before
    (log,) = Path(made.folder, "checkpoint").glob("log-*.csv")
    assert len(log.read_text().splitlines()) == 2
    fs.train(study, "one", backbone=own, schedules=ONE, seed=3)
    assert not Path(made.folder, "checkpoint").exists()
    assert len(Path(made.folder, "log.csv").read_text().splitlines()) == 2


def test_a_line_that_is_refused_leaves_no_folder_behind(folder: Path) -> None:
    study = str(folder / "study")
    with refused(ModelError, "has no layer"):
        fs.train(study, "other", init="plain", backbone=f"{folder / 'net.py'}:net", dropout_at=["nowhere"], schedules=ONE)
    assert not Path(study, "models", "other").exists()


def test_a_size_counts_under_a_preset_with_windows(folder: Path) -> None:
    study, own = str(folder / "study"), f"{folder / 'net.py'}:net"
    small = fs.Schedules(steps=1, batch=2, size="24x16", crop="24x16", validate_every=0)
    made = fs.train(study, "w", backbone=own, preset="s3-paper", schedules=small)
    about = json.loads(Path(made.folder, "network.json").read_text())["network"]
    assert (about["size"], about["window"], about["stride"]) == ([24, 16], 768, 512)
