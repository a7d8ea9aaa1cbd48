"""fit: a temperature from labelled images, by the command line and by Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import ModelError, StudyError
from faultscape.study.tables import label_maps
from made_training import FEW, NAMES, VOID, Trained, doubt_of, image_of
from refusals import refused, refused_text, told


@pytest.mark.slow
def test_fit_brings_a_temperature_that_lowers_the_likelihood_and_changes_no_label(trained: Trained) -> None:
    study, source = trained.study, trained.source
    fs.predict(study, {"net": source, "fitted": source}, engine="local")
    changed = (
        "fitted: the working size, images, the network, its temperature or a fitted method changed since"
    )
    assert changed not in " ".join(told("status", study))
    assert told("fit", study, "temperature", "--model", "fitted")[0].startswith("fitted: temperature ")
    about = json.loads(Path(study, "methods", "fitted", "temperature.json").read_text())
    assert about["nll"][1] <= about["nll"][0]
    assert changed in " ".join(told("status", study))  # the maps are those of before
    fs.predict(study, {"net": source, "fitted": source}, scorer=["msp", "max-logit"], engine="local")
    assert changed not in " ".join(told("status", study))
    one, other = (label_maps.content_digest(Path(study) / "predictions" / name) for name in ("net", "fitted"))
    assert one == other
    np.testing.assert_allclose(
        doubt_of(study, "fitted", "max-logit") * about["values"][0],
        doubt_of(study, "net", "max-logit"),
        rtol=1e-4,
    )
    assert fs.fit(study, "temperature", model="fitted", per_class=True).values.keys() <= {*NAMES}


def test_fit_takes_labelled_pixels_of_known_classes_and_finds_the_same_again(
    trained: Trained, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.uncertainty.temperature import Temperature
    from faultscape.verbs.fit import fit_temperature

    study, source = trained.study, trained.source
    fs.predict(study, {"net": source}, engine="local")
    every = fs.fit(study, "temperature", model="net", pixels=10**6)
    labels = [image_of(number)[1] for number in (12, 13, 14)]
    assert every.pixels == sum(int(((one != VOID) & (one != NAMES.index("car"))).sum()) for one in labels)
    some = fs.fit(study, "temperature", model="net", pixels=50)
    # not of logits that were divided
    assert fs.fit(study, "temperature", model="net", pixels=50).values == some.values
    assert fs.fit(study, "temperature", model="net", pixels=50, seed=1).values != some.values
    alike = Temperature((0.02,), 0.1, 0.0, 3)
    monkeypatch.setattr(fit_temperature, "fit_temperature", lambda *_, **__: alike)
    capsys.readouterr()
    fs.fit(study, "temperature", model="net", pixels=1)
    assert "note: the best temperature is at the bound of the search, 0.02 to 50" in capsys.readouterr().out


def test_fit_on_training_images_and_an_unknown_method_are_said(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study, source = trained.study, trained.source
    fs.predict(study, {"net": source}, engine="local")
    fs.fit(study, "temperature", model="net", validation="train")
    assert (
        "note: 8 of 8 images have role train; a temperature fitted to images that the model learned from is"
        " too low" in capsys.readouterr().out
    )
    assert "METHOD 'temprature' is not known; use temperature" in refused_text(
        "fit", study, "temprature", "--model", "net"
    )


def test_what_a_temperature_cannot_be_fitted_to_is_said(trained: Trained) -> None:
    study, source = trained.study, trained.source
    with refused(
        ModelError,
        f"plain is trained, but not predicted yet; run `faultscape predict {study} plain={source}` first",
    ):
        fs.fit(study, "temperature", model="plain")
    with refused(ModelError, "the study has no model 'unet'; it has none"):
        fs.fit(study, "temperature", model="unet")
    fs.predict(study, {"one": source, "two": source}, engine="local")
    fs.predict(study, {"both": "ensemble:one,two"}, engine="local")
    with refused(
        ModelError, r"both \(ensemble.*\) has no logits of its own; fit its members instead: one, two"
    ):
        fs.fit(study, "temperature", model="both")
    (trained.folder / "bare").mkdir()
    Image.fromarray(image_of(77)[0]).save(trained.folder / "bare" / "new.png")
    fs.collect(study, str(trained.folder / "bare"), set_="bare")
    with refused(StudyError, "nothing to fit to: no image of bare has labels"):
        fs.fit(study, "temperature", model="one", validation="bare")


@pytest.mark.slow
def test_the_card_says_which_models_have_a_temperature_and_whether_it_was_fitted_to_what_is_judged(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study, source = trained.study, trained.source
    models = {"raw": source, "fair": source, "peeked": source}
    fs.predict(study, models, scorer=["msp"], measure=True, engine="local")
    fair = fs.fit(study, "temperature", model="fair").values[""]
    assert "role test" not in capsys.readouterr().out
    peeked = fs.fit(study, "temperature", model="peeked", validation="main").values[""]
    assert (
        "note: 4 of 4 images have role test; judge the calibration of the model on other images"
        in capsys.readouterr().out
    )

    def notes() -> list[str]:
        return [
            note
            for note in fs.reliability(study, worst=0, resamples=0).document["notes"]
            if "temperature" in note
        ]

    before = "its maps were made before its temperature was fitted; predict it again"
    assert notes() == [f"fair: {before}", f"peeked: {before}"]
    fs.predict(study, models, scorer=["msp"], measure=True, engine="local")
    also = ", fitted to 4 of the 4 images it is evaluated on; its calibration there is too good"
    assert notes() == [
        f"fair: its logits are divided by a temperature of {fair:.3g}",
        f"peeked: its logits are divided by a temperature of {peeked:.3g}{also}",
    ]


def test_fit_takes_fewer_pixels_than_memory_holds_and_says_so(
    trained: Trained, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from faultscape.verbs.fit import fit_temperature

    study, source = trained.study, trained.source
    fs.predict(study, {"few": source}, engine="local")
    whole = fs.fit(study, "temperature", model="few", pixels=50)
    monkeypatch.setattr(fit_temperature, "_MOST", 10 * whole.images * 3)  # three classes are learnt
    capsys.readouterr()
    assert fs.fit(study, "temperature", model="few", pixels=50).pixels == 10 * whole.images
    assert "note: using 10 pixels per image instead of 50 to limit memory" in capsys.readouterr().out


def test_a_temperature_of_other_weights_is_said(trained: Trained, capsys: pytest.CaptureFixture[str]) -> None:
    study, own = trained.study, trained.own
    source = {"net": trained.source}
    fs.predict(study, source, engine="local")
    fs.fit(study, "temperature", model="net")
    capsys.readouterr()
    fs.predict(study, source, engine="local")
    assert "its temperature" not in capsys.readouterr().out
    fs.train(study, "plain", backbone=own, plan=FEW, seed=5)
    fs.predict(study, source, engine="local")
    assert (
        f"note: net: its temperature was fitted to other weights; run `faultscape fit {study} temperature"
        " --model net` again" in capsys.readouterr().out
    )
