"""fit resynthesis: an image against what is painted from its labels, learnt without unknown objects."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.uncertainty.method_files import digest, read_about
from faultscape.verbs import graph
from made_methods import fitted, kept, killed_at, scored
from made_training import Trained
from refusals import refused, told

QUICK = fs.options.MethodOptions(steps=12, width=4, batch=2)


def file_of(trained: Trained, name: str = "resynthesis") -> Path:
    return Path(trained.study, "methods", "plain", f"{name}.safetensors")


@pytest.mark.slow
def test_resynthesis_and_perceptual_are_scorers_and_parts_without_flags_and_change_no_label(
    blended: Trained,
) -> None:
    study = blended.study
    before = label_maps.content_digest(Path(study) / "predictions" / "plain")
    line = ["fit", study, "resynthesis", "--model", "plain", "--steps", 12, "--width", 4, "--batch", 2]
    assert "plain: resynthesis at the image" in told(*line)
    about = read_about(file_of(blended))
    assert (about.flags, about.sets, about.negatives) == ((), ("train",), "")
    scored(blended, "resynthesis")
    alone = kept(blended, "resynthesis")
    assert alone.std() > 0
    assert "plain: perceptual at net.body, net.head:in" in told(
        "fit", study, "perceptual", "--model", "plain"
    )
    word = f"resynthesis@{digest(file_of(blended))}"
    about = read_about(file_of(blended, "perceptual"))
    assert (about.flags, about.options, about.parts[0].method) == ((), {"parts": word}, "resynthesis")
    data = fs.options.FitData(negatives="val-fishyscapes-v2")
    (fusion,) = fitted(blended, "fusion", data=data, method_options=QUICK).methods
    assert fusion.layers == (":in", "net.body", "net.head:in")
    assert fusion.flags == ("trained-with-ood",)
    scored(blended, "fusion", "perceptual", "resynthesis")
    np.testing.assert_array_equal(kept(blended, "resynthesis"), alone)
    assert kept(blended, "perceptual").std() > 0
    assert kept(blended, "fusion").std() > 0
    assert label_maps.content_digest(Path(study) / "predictions" / "plain") == before


@pytest.mark.slow
def test_a_fit_that_was_killed_goes_on_to_the_same_bytes(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.fit import shown_labels

    def fit() -> bytes:
        fitted(predicted, "resynthesis", method_options=QUICK)
        return file_of(predicted).read_bytes()

    whole = fit()
    file_of(predicted).unlink()
    done = killed_at(9, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        fit()
    monkeypatch.setattr(shown_labels, "memory", lambda: 0)  # images that are read again teach the same
    assert fit() == whole
    assert done == [*range(10), 9, 10, 11]


def test_withheld_classes_teach_nothing(predicted: Trained) -> None:
    """Cars, the last class, are withheld: their pixels have no label."""
    from faultscape.verbs.fit.open_model import open_model
    from faultscape.verbs.fit.samples import meaning_of
    from faultscape.verbs.fit.shown_labels import ShownLabels
    from faultscape.verbs.train.labelled_images import find_labelled

    study = Study(Path(predicted.study))
    model = open_model(study, "plain", "cpu")
    rows = find_labelled(study, None, None, "train", "set")
    shown = ShownLabels(study, model, meaning_of(model, study), rows)
    seen = set()
    for number in range(len(shown)):
        ((image, labels),) = shown(number)
        assert image.shape == (3, *labels.shape)
        seen |= set(labels.ravel().tolist())
    places = {study.classes.names[place] for place in seen if place >= 0}
    assert "car" not in places
    assert -1 in seen
    assert len(places) >= 2


@pytest.mark.slow
def test_perceptual_needs_one_resynthesis_of_this_network(predicted: Trained) -> None:
    from faultscape.uncertainty.methods.method import read, write

    line = f"`faultscape fit {predicted.study} resynthesis --model plain`"
    with refused(OptionError, f"--parts resynthesis: is not fitted to plain; fit it first: {line}"):
        fitted(predicted, "perceptual")
    fitted(predicted, "resynthesis", method_options=QUICK)
    for words in ("entropy", "resynthesis,entropy"):
        says = f"--parts {words}: method perceptual needs one fitted resynthesis, and no more"
        with refused(OptionError, says):
            fitted(predicted, "perceptual", method_options=fs.options.MethodOptions(parts=words))
    with refused(ModelError, "has no layer 'body.7'"):
        fitted(predicted, "perceptual", layer=["body.7"])
    fitted(predicted, "perceptual", layer=["net.body.0"])
    fitted(predicted, "resynthesis", method_options=replace(QUICK, steps=2))
    (found,) = [one for one in graph.nodes(Study(Path(predicted.study))) if one.name == "plain/perceptual"]
    assert (found.state, found.why) == (
        "stale",
        ("a method that it is made of was fitted again or removed",),
    )
    path = file_of(predicted)
    about, tensors = read(path)
    write(path, replace(about, network="0" * 12), tensors)
    other = (
        "--parts resynthesis: plain's resynthesis was fitted to a different network, different weights or"
        " other options; fit it again$"
    )
    with refused(ModelError, other):
        fitted(predicted, "perceptual")


def test_what_resynthesis_cannot_use_is_refused_in_one_line(predicted: Trained) -> None:
    uses = "method resynthesis uses only image and logits; leave --layer and --select-layer out"
    with refused(OptionError, uses):
        fitted(predicted, "resynthesis", method_options=QUICK, layer=["net.head:in"])
    for option in ("images", "keep_embeddings"):
        with refused(OptionError, f"--{option.replace('_', '-')} has no effect on method resynthesis"):
            fitted(predicted, "resynthesis", method_options=QUICK, data=fs.options.FitData(**{option: 3}))
    shutil.rmtree(Path(predicted.study, "models", "plain"))
    with refused(ModelError, "models/plain: not a trained network: it has no network.json"):
        fitted(predicted, "resynthesis", method_options=QUICK)
