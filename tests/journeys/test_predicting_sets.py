"""predict --set: the images of some sets alone, and what is said where a set has no maps to measure."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape import cli
from faultscape.errors import OptionError
from faultscape.study.parts import read_manifest
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import read_corpus
from networks_of_tests import colour_network
from refusals import refused, refused_line

WEIGHTS = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32) * 3


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    found = made.corpus(tmp_path / "corpus", images=5, models=1)
    for name, weights in (("net", WEIGHTS), ("other", WEIGHTS[::-1].copy())):
        colour_network(found.root / f"{name}.onnx", weights)
    return found


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    return stressed(corpus, tmp_path / "study")


def stressed(corpus: made.Corpus, folder: Path) -> str:
    """A labelled study with one corruption at two severities, and a holdout."""
    study = str(made.collected(corpus, folder, shard_size=3))
    fs.label.import_(study, str(corpus.truth))
    fs.stress.corrupt(study, corruption=["contrast"], severities="2,5", engine="local")
    fs.stress.holdout(study, classes="car", as_="few")
    return study


def predicted_sets(study: str, name: str) -> set[str]:
    held = read_manifest(label_maps.predictions(Path(study), name))
    return {image.set for image in read_corpus(Path(study)) if f"{image.shard:05d}" in held}


def test_only_the_named_sets_are_predicted_and_the_rest_later_gives_the_same(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    net = {"net": str(corpus.root / "net.onnx")}
    fs.predict(study, net, part=fs.options.PredictPart(set_=["main", "contrast-5"]), engine="local")
    assert predicted_sets(study, "net") == {"main", "contrast-5"}
    assert made.states(study)["predict"] == "missing"
    fs.predict(study, net, engine="local")
    assert predicted_sets(study, "net") == {"main", "contrast-2", "contrast-5"}
    whole = stressed(corpus, tmp_path / "whole")
    fs.predict(whole, net, engine="local")
    digest = label_maps.content_digest
    where = [Path(place) / "predictions" / "net" for place in (study, whole)]
    assert digest(where[0]) == digest(where[1])


def test_a_set_that_the_study_lacks_and_a_network_that_changed_are_refused(
    study: str, corpus: made.Corpus
) -> None:
    net, other = ({"net": str(corpus.root / f"{name}.onnx")} for name in ("net", "other"))
    with refused(
        OptionError, "--set contrast-3: the study has no such set; it has main, contrast-2, contrast-5."
    ):
        fs.predict(study, net, part=fs.options.PredictPart(set_=["contrast-3"]), engine="local")
    assert "--set needs NAME=SOURCE" in refused_line("predict", study, "--set", "main", "--remove", "net")
    fs.predict(study, net, engine="local")
    with refused(
        OptionError, "--set main: the source, options or images of net changed, and 4 of 6 shards, of"
    ):
        fs.predict(study, other, part=fs.options.PredictPart(set_=["main"]), engine="local")


def test_made_images_that_are_counted_wait_for_the_maps_of_what_they_were_made_from(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    net = {"net": str(corpus.root / "net.onnx")}
    with pytest.raises(fs.errors.ModelError):
        fs.predict(study, net, part=fs.options.PredictPart(set_=["contrast-5"]), measure=True, engine="local")
    assert (
        "made images wait for maps of the images they were made from: name that set"
        in capsys.readouterr().out
    )
    fs.predict(
        study, net, part=fs.options.PredictPart(set_=["main", "contrast-5"]), measure=True, engine="local"
    )
    assert predicted_sets(study, "net") == {"main", "contrast-5"}


@pytest.mark.slow
@pytest.mark.parametrize("unreadable", [False, True], ids=["all readable", "one unreadable in each shard"])
def test_a_set_whose_maps_were_counted_and_dropped_is_measured_after_the_line_that_is_printed(
    study: str, corpus: made.Corpus, unreadable: bool
) -> None:
    net = {"net": str(corpus.root / "net.onnx")}
    for photo in sorted(corpus.photos.rglob("*.png"))[::3] if unreadable else ():
        photo.write_bytes(b"no picture")
    fs.predict(study, net, scorer=["msp"], measure=True, engine="local")
    line = f"faultscape predict {study} net={net['net']} --set contrast-5 --keep labels --measure"
    said = refused_line("measure", study, "--set", "contrast-5", "--holdout", "few")
    assert (
        f"--set contrast-5: maps of net were counted and not kept (predict --measure); run `{line}`" in said
    )
    assert cli.main([*shlex.split(line)[1:], "--engine", "local"]) == 0
    part = fs.options.StudyPart(set_=["contrast-5"], holdout="few")
    measured = fs.measure(study, part=part, resamples=0, engine="local").document["datasets"][
        "contrast-5.few"
    ]
    card = fs.reliability(study, engine="local", worst=0, resamples=0).document
    assert card["gaps"] == []
    cell = next(
        cell
        for cell in card["cells"]
        if (cell["condition"], cell["metric"], cell.get("holdout")) == ("contrast-5", "miou", "few")
    )
    assert measured["models"]["net"]["miou"]["value"] == cell["value"]
    fs.predict(
        study,
        {"other": corpus.root / "other.onnx"},
        part=fs.options.PredictPart(set_=["main"]),
        engine="local",
    )
    notes = fs.measure(study, part=part, resamples=0, engine="local").document["datasets"]["contrast-5.few"][
        "notes"
    ]
    other = f"faultscape predict {study} other={corpus.root / 'other.onnx'} --set contrast-5"
    assert any(note.endswith(f"other: no map of set contrast-5; left out; run `{other}`") for note in notes)
