"""train: from a study's labels to networks whose doubt is on the card."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.graph import nodes
from made_training import FEW, FEW_WORDS, NAMES, NETWORK, ONE, VOID, Trained, doubt_of, image_of
from refusals import refused, told


@pytest.mark.slow
def test_a_network_learns_what_is_not_withheld_and_its_doubt_is_on_the_card(trained: Trained) -> None:
    study, source = trained.study, f"{trained.study}/models/gp/backbone.py:net"
    words = ("--init", "plain", "--backbone", trained.own, "--head", "gp", "--head-option", "features=64")
    out = told("train", study, "gp", *words, *FEW_WORDS)
    assert "gp: net.py:net with head gp, 3 classes, without car" in " ".join(out)
    assert "mean-field factor" in " ".join(out)
    assert out[-1] == f"next: faultscape predict {study} gp={source}"
    scorers = ("msp", "variance", "mutual-information")
    told(
        "predict",
        study,
        f"gp={source}",
        *(word for name in scorers for word in ("--scorer", name)),
        "--measure",
    )
    card = fs.reliability(study, worst=0, resamples=0).document
    cells = {(c["condition"], c["metric"], c["scorer"]): c["value"] for c in card["cells"]}
    assert cells["cars", "miou", ""] > 0.8  # of the classes that it knows
    for scorer in scorers:
        assert 0 <= cells["cars", "auroc", scorer] <= 1
    assert np.isfinite(cells["main", "error_auroc", "msp"])
    (model,) = card["models"]
    assert model["flags"] == ["retrained"]
    assert (model["training"]["head"], model["training"]["withheld"], model["training"]["steps"]) == (
        "gp",
        ["car"],
        30,
    )
    assert len(model["training"]["losses"]) == 30
    page = Path(study, "reliability", "report.html").read_text()
    assert page.count('<section id="training">') == 1
    assert "Training loss" in page


@pytest.mark.slow
def test_the_card_says_which_networks_learnt_held_out_classes(trained: Trained) -> None:
    study, own = trained.study, trained.own
    fs.train(study, "all", backbone=own, plan=FEW, data=fs.options.TrainingData(withhold="none"))
    sources = {name: f"{study}/models/{name}/backbone.py:net" for name in ("plain", "all")}
    fs.predict(study, sources, scorer=["msp"], measure=True, engine="local")
    document = fs.reliability(study, worst=0, resamples=0).document
    (condition,) = [c for c in document["conditions"] if c["kind"] == "anomaly"]
    assert condition["withheld"] == ["car"]
    page = Path(study, "reliability", "report.html").read_text()
    assert "Trained without them: plain. <strong>Trained with some of them: all (car).</strong>" in page
    assert "the study does not know this for" not in page
    # test images, and not validation's
    assert [c["name"] for c in document["conditions"] if c["kind"] == "clean"] == ["main"]


@pytest.mark.slow
def test_status_names_networks_that_were_not_predicted_yet(trained: Trained) -> None:
    study = trained.study
    fs.train(study, "small", backbone="segformer-b0", plan=replace(ONE, crop="32x32"))
    (node,) = [node for node in nodes(Study(Path(study))) if node.artefact == "maps"]
    assert node.line == f"faultscape predict {study} plain={trained.source} small={study}/models/small"
    told(*node.line.split()[1:], "--engine", "local")
    (node,) = [node for node in nodes(Study(Path(study))) if node.artefact == "maps"]
    assert node.state == "done"


def test_made_images_have_the_role_of_what_they_were_made_of(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study = trained.study
    fs.stress.corrupt(study, set_="train", corruption=["gaussian_noise"], severities="1", engine="local")
    sets = [
        name
        for name in dict.fromkeys(image.set for image in read_corpus(Path(study)))
        if name.startswith("train")
    ]
    assert len(sets) == 2
    fs.train(study, "both", backbone=trained.own, plan=ONE, data=fs.options.TrainingData(set_=sets))
    assert "role test" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_card_says_which_networks_have_seen_the_images_that_it_judges_them_on(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study, own = trained.study, trained.own
    fs.train(study, "seen", backbone=own, plan=ONE, data=fs.options.TrainingData(set_=["main"]))
    assert (
        "note: 4 of 4 training images have role test; judge the network on other images"
        in capsys.readouterr().out
    )
    fs.train(study, "later", init="seen", backbone=own, plan=ONE)
    fs.stress.corrupt(study, set_="main", corruption=["gaussian_noise"], severities="1", engine="local")
    sources = {name: f"{study}/models/{name}/backbone.py:net" for name in ("plain", "seen", "later")}
    fs.predict(study, sources, scorer=["msp"], measure=True, engine="local")
    card = fs.reliability(study, worst=0, resamples=0).document
    judged = {cell["model"] for cell in card["cells"] if cell["value"] is not None}
    assert judged == {"plain", "random"}
    notes = card["notes"]
    said = "4 images trained {0} or resemble images that did: they do not judge {0}"
    assert [note for note in notes if "trained" in note] == [said.format("seen"), said.format("later")]


def test_a_model_from_elsewhere_may_have_learnt_held_out_classes() -> None:
    from faultscape.reporting.reliability.questions import trained_on

    models = [{"name": "mine", "training": {"withheld": ["car"]}}, {"name": "given"}]
    assert trained_on({"models": models}, ["car"]) == {"with": {}, "without": ["mine"], "unknown": ["given"]}  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("head", ["batch-ensemble", "heteroscedastic", "batch-ensemble+gp"])
def test_every_head_brings_entropies_and_mutual_information(trained: Trained, head: str) -> None:
    study = trained.study
    small = {"heteroscedastic": {"samples": 20}, "batch-ensemble+gp": {"features": 32}}
    made = fs.train(
        study,
        "net",
        init="plain",
        backbone=trained.own,
        head=head,
        head_options=small.get(head),
        plan=FEW,
    )
    scorers = ["predictive-entropy", "expected-entropy", "mutual-information"]
    fs.predict(study, {"net": made.source}, scorer=scorers, engine="local")
    held = {name: doubt_of(study, "net", name) for name in scorers}
    np.testing.assert_allclose(held[scorers[0]], held[scorers[1]] + held[scorers[2]], atol=1e-5)
    assert held["mutual-information"].max() > 0


def test_dropout_at_a_layer_gives_members(trained: Trained) -> None:
    study = trained.study
    made = fs.train(study, "net", init="plain", backbone=trained.own, dropout_at=["mix"], plan=FEW)
    assert json.loads((Path(made.folder) / "network.json").read_text())["network"]["dropout_at"] == ["mix"]
    fs.predict(study, {"net": made.source}, scorer=["mutual-information"], engine="local")
    with refused(ModelError, r"Net: has no layer 'mixx'\. Did you mean 'mix'\?"):
        fs.train(study, "other", init="plain", backbone=trained.own, dropout_at=["mixx"], plan=FEW)


def test_a_trained_network_says_the_same_in_another_folder(trained: Trained, tmp_path: Path) -> None:
    study = trained.study
    moved = shutil.copytree(Path(study) / "models" / "plain", tmp_path / "elsewhere" / "net")
    fs.predict(study, {"here": trained.source, "there": f"{moved}/backbone.py:net"}, engine="local")
    here, there = (
        label_maps.content_digest(Path(study) / "predictions" / name) for name in ("here", "there")
    )
    assert here == there


def test_a_sweep_is_a_network_for_each_value_and_trains_once_where_only_use_differs(trained: Trained) -> None:
    study = trained.study
    words = (
        "--init",
        "plain",
        "--backbone",
        trained.own,
        "--head",
        "gp",
        "--head-option",
        "features=32",
        "--sweep",
        "mean-field=0,4",
    )
    out = " ".join(told("train", study, "gp", *words, *FEW_WORDS))
    assert "gp-mean-field-0" in out
    assert "gp-mean-field-4" in out
    networks = [Path(study, "models", f"gp-mean-field-{k}") for k in (0, 4)]
    held = [json.loads((folder / "network.json").read_text()) for folder in networks]
    assert [of["network"]["head_options"]["mean_field"] for of in held] == [0, 4]
    one, other = ((folder / "weights.safetensors").read_bytes() for folder in networks)
    assert one == other
    one, other = (of["training"]["found"]["nll"] for of in held)
    assert one != other


@pytest.mark.slow
def test_seeds_in_one_line_are_a_deep_ensemble(trained: Trained) -> None:
    study = trained.study
    lines = told("train", study, "deep", "--backbone", trained.own, "--sweep", "seed=0,1", *FEW_WORDS)
    for line in (next(line for line in lines if line.startswith(word)) for word in ("next: ", "then: ")):
        told(*line.split()[2:], "--engine", "local")
    one, other = (Path(study, "models", f"deep-seed-{k}", "weights.safetensors").read_bytes() for k in (0, 1))
    assert one != other
    fs.predict(
        study, {"deep": "ensemble:deep-seed-0,deep-seed-1"}, scorer=["mutual-information"], engine="local"
    )
    assert doubt_of(study, "deep", "mutual-information").max() > 0
    with refused(
        OptionError, "--sweep 'ridge=1' is not valid; give at least two different values: ridge=1,3,5"
    ):
        fs.train(study, "deep", init="plain", backbone=trained.own, head="gp", sweep="ridge=1")
    with refused(OptionError, r"--sweep members must be a whole number; got '2\.5'"):
        fs.train(
            study, "deep", init="plain", backbone=trained.own, head="batch-ensemble", sweep="members=2,2.5"
        )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["onnx", "pt2"])
def test_an_exported_network_says_the_same_with_its_doubt(trained: Trained, form: str) -> None:
    study = trained.study
    made = fs.train(
        study, "net", init="plain", backbone=trained.own, head="batch-ensemble", plan=FEW, export=form
    )
    assert made.exported.endswith(f"network.{form}")
    scorers = ["msp", "mutual-information"]
    fs.predict(
        study,
        {"net": made.source, "file": made.exported},
        scorer=scorers,
        engine="local",
        hardware=fs.options.Hardware(device="cpu"),
    )
    for scorer in scorers:
        np.testing.assert_allclose(
            doubt_of(study, "file", scorer), doubt_of(study, "net", scorer), rtol=1e-3, atol=1e-5
        )


def test_a_void_class_is_learnt_weighed_and_predicted_as_void(trained: Trained) -> None:
    study = trained.study
    told = fs.options.TrainingPlan(
        steps=30,
        batch=4,
        rate=0.02,
        crop="24x16",
        scale="1,1",
        validate_every=0,
        class_weights="median-frequency",
    )
    made = fs.train(study, "net", backbone=trained.own, loss="void-class", plan=told)
    fs.predict(study, {"net": made.source}, engine="local")
    from faultscape.study.settings import read_settings

    assert list(read_settings(Path(study)).models["net"].labels.values()) == ["sky", "road", "tree", "void"]
    (output,) = fs.prediction.open_model(made.source).predict([np.zeros((24, 32, 3), np.uint8)])
    assert output.labels.max() <= 3


@pytest.mark.slow
def test_a_head_of_the_same_kind_is_trained_on_and_not_drawn_anew(trained: Trained) -> None:
    study, none = (
        trained.study,
        fs.options.TrainingPlan(steps=1, batch=4, rate=1e-9, crop="24x16", scale="1,1", validate_every=0),
    )
    own, few = trained.own, {"features": 16}
    first = fs.train(study, "gp", init="plain", backbone=own, head="gp", head_options=few, plan=FEW)
    again = fs.train(study, "more", init="gp", backbone=own, head="gp", head_options=few, plan=none)
    assert abs(first.found["nll"] - again.found["nll"]) < 1e-3  # though its mean-field factor was tuned
    noisy = {"samples": 20}
    first = fs.train(
        study, "h", init="plain", backbone=own, head="heteroscedastic", head_options=noisy, plan=FEW
    )
    again = fs.train(
        study, "g", init="h", backbone=own, head="heteroscedastic", head_options=noisy, plan=none, seed=5
    )
    assert first.found["nll"] != again.found["nll"]  # the noise is that of its own seed
    assert abs(first.found["nll"] - again.found["nll"]) < 0.1


def test_a_network_that_starts_from_one_with_a_void_class_has_channels_of_its_own(trained: Trained) -> None:
    study, own = trained.study, trained.own
    fs.train(study, "void", init="plain", backbone=own, loss="void-class", plan=FEW)
    made = fs.train(study, "more", init="void", backbone=own, plan=FEW)
    model = fs.prediction.open_model(f"{made.folder}/backbone.py:net")
    assert model.network.class_names == ["sky", "road", "tree"]


def test_the_covariance_is_of_training_images_and_of_what_is_learnt_on_them(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.train import train_network

    held: list[tuple[tuple[int, ...], np.ndarray]] = []

    def noted(_, batches) -> None:
        held.extend((tuple(image.shape), counted) for image, counted in batches)

    monkeypatch.setattr(train_network, "fit_covariance", noted)
    study, own = trained.study, trained.own
    fs.train(
        study,
        "gp",
        init="plain",
        backbone=own,
        head="gp",
        head_options={"features": 16},
        plan=FEW,
    )
    assert len(held) == 8  # images of role train
    for number, (shape, counted) in enumerate(held):
        labels = image_of(4 + number)[1]
        assert shape == (1, 3, 24, 32)
        assert (counted[0] == ((labels != VOID) & (labels != NAMES.index("car")))).all()


def test_a_network_that_starts_from_another_sees_images_as_it_did(trained: Trained) -> None:
    study, own = trained.study, trained.own
    small = fs.options.TrainingPlan(steps=1, batch=2, size="16x24", crop="24x16", validate_every=0)
    fs.train(study, "first", backbone=own, preset="s3-paper", plan=small)
    fs.train(study, "second", backbone=own, init="first", plan=ONE)
    first, second = (
        json.loads(Path(study, "models", name, "network.json").read_text()) for name in ("first", "second")
    )
    for key in ("size", "window", "stride", "mean", "std"):
        assert second["network"][key] == first["network"][key]
    assert second["plan"]["size"] == [16, 24]
    (trained.folder / "net.py").write_text(
        NETWORK.replace("    return Net()\n", "")
        + "    made = Net()\n    made.mean, made.std = (0.4, 0.5, 0.6), (0.2, 0.2, 0.2)\n    return made\n"
    )
    fs.train(study, "third", backbone=own, plan=ONE)
    # its pixels stay what it learnt
    fs.train(study, "fourth", backbone=own, init="third", preset="s3-paper", plan=small)
    fs.train(study, "fifth", backbone=own, preset="s3-paper", plan=small)
    means = [
        json.loads(Path(study, "models", name, "network.json").read_text())["network"]["mean"]
        for name in ("third", "fourth", "fifth")
    ]
    assert means == [[0.4, 0.5, 0.6], [0.4, 0.5, 0.6], [0, 0, 0]]


def test_a_network_learns_from_several_sets(trained: Trained) -> None:
    study = trained.study
    (told,) = (
        fs.train(
            study,
            "both",
            backbone=trained.own,
            plan=ONE,
            data=fs.options.TrainingData(set_=["train", "main"]),
        ),
    )
    assert told.images == 12


def test_weights_of_classes_are_by_median_frequency(trained: Trained) -> None:
    from faultscape.verbs.train.examples import class_weights, find_examples
    from faultscape.verbs.train.withheld import find_withheld

    study = fs.Study(trained.study)
    withheld = find_withheld(study.stress, study.classes, None)
    examples, _ = find_examples(study, fs.options.TrainingData(), withheld)
    learnt = {NAMES.index(name): k for k, name in enumerate(("sky", "road", "tree"))}
    pixels, of_images, void = np.zeros(4), np.zeros(4), 0
    for number in range(4, 12):
        labels = image_of(number)[1]
        counts = np.array([(labels == place).sum() for place in learnt] + [(labels == VOID).sum()])
        pixels += counts
        of_images[:3] += (counts[:3] > 0) * counts[:3].sum()
        void += counts.sum()
    shares = pixels[:3] / of_images[:3]
    assert class_weights(examples, 3) == pytest.approx(np.median(shares) / shares, rel=1e-4)
    with_void = pixels / void  # all of these images have every class
    assert class_weights(examples, 3, void=True) == pytest.approx(np.median(with_void) / with_void, rel=1e-4)
    assert class_weights(examples, 5)[3:] == (0.0, 0.0)  # that no image has
    # a share is of the images that have a class
    assert class_weights(FewLabels(), 2) == pytest.approx((0.5625 / 0.875, 0.5625 / 0.25))


class FewLabels:
    """Labels of two images, of which one has no pixel of the second class."""

    def __len__(self) -> int:
        return 2

    def labels(self, number: int) -> np.ndarray:
        return np.array([[0, 0, 0, 1], [0, 0, 0, 0]])[number]


def test_a_size_counts_under_a_preset_with_windows(trained: Trained) -> None:
    study, own = trained.study, trained.own
    small = fs.options.TrainingPlan(steps=1, batch=2, size="24x16", crop="24x16", validate_every=0)
    made = fs.train(study, "w", backbone=own, preset="s3-paper", plan=small)
    about = json.loads(Path(made.folder, "network.json").read_text())["network"]
    assert (about["size"], about["window"], about["stride"]) == ([24, 16], 768, 512)
