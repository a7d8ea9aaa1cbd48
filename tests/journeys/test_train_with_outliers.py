"""train --loss on pixels of no class: what each loss learns, how it is scored, and that nothing withheld is
learnt.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.stats import rankdata

import faultscape as fs
from faultscape.errors import OptionError
from made_training import ONE, VOID, Trained, image_of
from refusals import refused

LONGER = fs.options.TrainingPlan(steps=80, batch=4, rate=0.02, crop="32x24", scale="1,1", validate_every=0)
SCORERS = {
    "void-class": "void",
    "entropy": "entropy",
    "outlier-head": "outlier",
    "dirichlet": "differential-entropy",
    "uno": "uno",
}
VIOLET = np.array([150, 40, 190])


def odd_image(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a photo with some violet squares, its labels, in which these are void, and where they are."""
    photo, labels = image_of(seed)
    rng = np.random.default_rng(seed)
    odd = (rng.uniform(size=(labels.shape[0] // 4, labels.shape[1] // 4)) < 0.2).repeat(4, 0).repeat(4, 1)
    photo[odd] = np.clip(VIOLET + rng.normal(0, 12, (odd.sum(), 3)), 0, 255).astype(np.uint8)
    labels[odd] = VOID
    return photo, labels, odd


@pytest.fixture
def shown(trained: Trained) -> Trained:
    """The study with a set of training images that have violet squares of no class."""
    folder = trained.folder / "odd"
    for number in range(100, 108):
        photo, labels, _ = odd_image(number)
        for kind, pixels in (("images", photo), ("masks", labels)):
            path = folder / kind / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
    fs.collect(
        trained.study,
        str(folder / "images"),
        classes=str(trained.folder / "classes.json"),
        set_="odd",
        role="train",
    )
    fs.label.import_(trained.study, str(folder / "masks"))
    return trained


@pytest.mark.slow
@pytest.mark.parametrize("loss", SCORERS)
def test_a_network_that_was_shown_pixels_of_no_class_finds_others(shown: Trained, loss: str) -> None:
    study, scorer = shown.study, SCORERS[loss]
    data = fs.options.TrainingData(set_=["train", "odd"])
    made = fs.train(study, "net", backbone=shown.own, init="plain", loss=loss, plan=LONGER, data=data)
    model = fs.prediction.open_model(f"{made.folder}/backbone.py:net", scorer=[scorer])
    for seed in (200, 201, 202):
        photo, labels, odd = odd_image(seed)
        (output,) = model.predict([photo])
        ranks = rankdata(output.kept[f"doubt-{scorer}"][0][labels != 2])
        violet = odd[labels != 2]
        area = (ranks[violet].sum() - violet.sum() * (violet.sum() + 1) / 2) / (
            violet.sum() * (~violet).sum()
        )
        assert area > 0.9
        known = (labels < VOID) & (labels != 2)  # of classes that were learnt
        names = np.array(["sky", "road", "car", "tree", "void"])
        said = names[[0, 1, 3, 4]][output.labels]
        assert (said[known] == names[np.minimum(labels, 4)][known]).mean() > 0.8


@pytest.mark.slow
def test_withheld_pixels_are_no_pixels_of_no_class(shown: Trained) -> None:
    """Cars are withheld: a void class that is shown red squares in plenty must not come to name them."""
    study = shown.study
    data = fs.options.TrainingData(set_=["train", "odd"])
    made = fs.train(study, "net", backbone=shown.own, loss="void-class", plan=LONGER, data=data)
    model = fs.prediction.open_model(f"{made.folder}/backbone.py:net", scorer=["void"])
    photo, labels, odd = odd_image(200)
    (output,) = model.predict([photo])
    score = output.kept["doubt-void"][0]
    assert score[odd].mean() > 0.9
    assert score[(labels == 2) & ~odd].mean() < 0.5


def test_an_outlier_head_is_for_heads_whose_channels_are_logits(trained: Trained) -> None:
    for loss, head in (("outlier-head", "gp"), ("outlier-head", "heteroscedastic"), ("uno", "gp")):
        with refused(
            OptionError, f"--loss {loss} is for the heads linear and batch-ensemble, .*; got {head}"
        ):
            fs.train(trained.study, "net", backbone=trained.own, head=head, loss=loss, plan=ONE)


def test_a_prior_network_starts_from_all_but_the_last_layer_of_another(trained: Trained) -> None:
    """S4 B.4."""
    from safetensors.numpy import load_file

    none = fs.options.TrainingPlan(steps=1, batch=4, rate=1e-12, crop="24x16", scale="1,1", validate_every=0)
    made = fs.train(trained.study, "net", backbone=trained.own, init="plain", loss="dirichlet", plan=none)
    before, after = (
        load_file(Path(trained.study, "models", name, "weights.safetensors")) for name in ("plain", "net")
    )
    assert made.new
    for name, value in before.items():
        same = np.allclose(value, after[name], atol=1e-6)
        assert same == ("head" not in name), name


def test_the_reading_of_smoothing_is_recorded_with_the_network_and_another_is_trained_again(
    trained: Trained,
) -> None:
    """S4 B.4."""

    def train(**told) -> bool:
        told = {"backbone": trained.own, "init": "plain", "loss": "dirichlet", **told}
        return fs.train(trained.study, "net", plan=ONE, **told).new

    assert train()
    path = Path(trained.study, "models", "net", "network.json")
    assert "smoothing" not in json.loads(path.read_text())["provenance"]["arguments"]
    assert train(smoothing="shared")
    assert json.loads(path.read_text())["provenance"]["arguments"]["smoothing"] == "shared"
    assert not train(smoothing="shared")
    with refused(OptionError, "--smoothing has no effect on --loss ce; leave it out, or give --loss dirich"):
        train(loss="ce", smoothing="each")


@pytest.mark.slow
def test_dropout_in_the_middle_is_where_the_backbone_says(trained: Trained) -> None:
    small = fs.options.TrainingPlan(steps=1, batch=2, crop="32x32", validate_every=0)
    fs.train(trained.study, "net", backbone="segformer-b0", dropout_at=["middle"], plan=small)
    about = json.loads(Path(trained.study, "models", "net", "network.json").read_text())["network"]
    assert about["dropout_at"] == ["segformer.stages.2.blocks.0", "segformer.stages.2.blocks.1"]
    with refused(
        OptionError,
        "--dropout-at middle: works only for built-in backbones .*; name the layers of net.py:net",
    ):
        fs.train(trained.study, "own", backbone=trained.own, dropout_at=["middle"], plan=small)


@pytest.mark.slow
def test_a_convolutional_network_is_trained_on_crops_of_any_size_as_s4_does(trained: Trained) -> None:
    """S4 B.3: crops of 513 x 513."""
    from faultscape.uncertainty.training.presets import preset_named

    plan = preset_named("s4-bayesian").plan
    assert (plan.steps, plan.batch, plan.rate, plan.schedule, plan.crop) == (
        90_000,
        16,
        7e-3,
        "polynomial",
        (513, 513),
    )
    odd = fs.options.TrainingPlan(steps=1, batch=2, crop="33x33", validate_every=0)
    made = fs.train(trained.study, "net", backbone="deeplabv3plus-18", preset="s4-bayesian", plan=odd)
    assert made.new
    with refused(OptionError, "--crop 33x33: both sides must be multiples of 32 for segformer-b0"):
        fs.train(trained.study, "other", backbone="segformer-b0", plan=odd)


@pytest.mark.slow
def test_flags_pass_to_what_starts_from_a_network_and_to_ensembles(shown: Trained) -> None:
    study, data = shown.study, fs.options.TrainingData(set_=["train", "odd"])
    fs.train(study, "void", backbone=shown.own, loss="void-class", plan=ONE, data=data)
    fs.train(study, "again", backbone=shown.own, init="void", plan=ONE)
    fs.train(study, "third", backbone=shown.own, init="again", plan=ONE)
    sources = {name: f"{study}/models/{name}/backbone.py:net" for name in ("void", "again", "third", "plain")}
    fs.predict(study, sources, scorer=["msp"], measure=True, engine="local")
    fs.predict(study, {"all": "ensemble:plain,third"}, scorer=["msp"], measure=True, engine="local")
    flags = {
        model["name"]: model["flags"]
        for model in fs.reliability(study, worst=0, resamples=0).document["models"]
    }
    both = ["retrained", "trained-with-ood"]
    assert flags == {"void": both, "again": both, "third": both, "plain": [], "all": both}


def test_a_temperature_is_no_part_of_the_dirichlet_distribution(shown: Trained) -> None:
    from faultscape.prediction.inference import Inference

    made = fs.train(shown.study, "net", backbone=shown.own, init="plain", loss="dirichlet", plan=ONE)
    model = fs.prediction.open_model(f"{made.folder}/backbone.py:net", scorer=["differential-entropy", "msp"])
    divided = Inference(model.network, model.way, model.keep, temperature=[3.0])
    photo, _, _ = odd_image(200)
    (before,), (after,) = model.predict([photo]), divided.predict([photo])
    np.testing.assert_allclose(
        after.kept["doubt-differential-entropy"][0],
        before.kept["doubt-differential-entropy"][0],
        rtol=1e-4,
        atol=1e-4,
    )
    assert not np.allclose(after.kept["doubt-msp"][0], before.kept["doubt-msp"][0], atol=1e-3)
