"""The command that a replaced model is told with brings back all that it was, options too."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from faultscape.verbs.reliability.counts import line_that_counts
from made_training import Trained
from networks_of_tests import colour_network

WEIGHTS = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)


def printed(said: str, verb: str) -> list[str]:
    """The words of the first command of a verb in backticks."""
    return shlex.split(re.findall(rf"`faultscape ({verb} [^`]*)`", said)[0])


def test_the_options_of_the_former_source_come_back_with_it(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "my nets"
    folder.mkdir()
    old, new = colour_network(folder / "old.onnx", WEIGHTS), colour_network(folder / "new.onnx", -WEIGHTS)
    names = read_settings(Path(study)).class_list.names
    mapping = {str(k): names[-1 - k % len(names)] for k in range(4)} | {"4": "void"}
    (tmp_path / "labels.json").write_text(json.dumps(mapping))
    fs.predict(
        study,
        {"net": old},
        labels=str(tmp_path / "labels.json"),
        scorer=["entropy", "msp"],
        keep=["confidence"],
        shown=fs.options.Shown(scales=[0.5, 1.0], flip=True, input_size="64x48", mean=[0.1, 0.2, 0.3]),
        hardware=fs.options.Hardware(threads=2),
        engine="local",
    )
    before = read_settings(Path(study)).models["net"]
    digest = label_maps.content_digest(Path(study, "predictions", "net"))
    (tmp_path / "labels.json").unlink()
    other = {**mapping, "0": "void"}
    (tmp_path / "other.json").write_text(json.dumps(other))
    capsys.readouterr()
    fs.predict(study, {"net": new}, labels=str(tmp_path / "other.json"), engine="local")
    said = capsys.readouterr().out
    assert "(the study does not store --device, --engine and --workers)" in said
    words = printed(said, "predict")
    assert words[:3] == ["predict", study, f"net={old}"]
    assert main([*words, "--engine", "local"]) == 0
    assert read_settings(Path(study)).models["net"] == before
    assert label_maps.content_digest(Path(study, "predictions", "net")) == digest
    words = printed(capsys.readouterr().out, "predict")  # and forth again
    assert main([*words, "--engine", "local"]) == 0
    assert read_settings(Path(study)).models["net"].labels == other


def test_a_temperature_of_the_former_source_is_told_with_its_options(
    predicted: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, source = predicted.study, predicted.source
    fs.fit(study, "temperature", model="plain", validation="val", pixels=50, seed=3, per_class=True)
    fs.predict(study, {"plain": source}, engine="local")
    before = read_settings(Path(study)).models["plain"]
    maps = tmp_path / "maps"
    for image in fs.study.tables.corpus.read_corpus(Path(study)):
        made.write(maps / f"{image.id}.png", np.zeros((image.height, image.width), np.uint8))
    capsys.readouterr()
    fs.predict(study, {"plain": str(maps)}, engine="local")
    said = capsys.readouterr().out
    assert "the first again" in said
    for verb, more in (("predict", ["--engine", "local"]), ("fit", []), ("predict", ["--engine", "local"])):
        assert main([*printed(said, verb), *more]) == 0
    assert read_settings(Path(study)).models["plain"] == before


def test_a_line_that_finishes_a_change_has_the_options_of_what_it_predicts(
    corpus: made.Corpus, study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.predict import changed_models

    fs.predict(study, {"a": corpus.models["model-0"]}, engine="local")
    net = colour_network(tmp_path / "net.onnx", WEIGHTS)
    labels = tmp_path / "labels.json"
    labels.write_text("{}")

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(changed_models, "_apply", dies)
    with pytest.raises(KeyboardInterrupt):
        fs.predict(
            study,
            {"net": net},
            rename={"a": "b"},
            labels=str(labels),
            scorer=["msp"],
            measure=True,
            shown=fs.options.Shown(scales=[0.5, 1.0], input_size="64x48"),
        )
    line = shlex.split(json.loads(Path(study, ".change.json").read_text())["line"])
    assert line[:6] == ["faultscape", "predict", study, f"net={net}", "--rename", "a=b"]
    asked = [("--labels", str(labels)), ("--scorer", "msp"), ("--input-size", "64x48"), ("--scales", "1.0")]
    assert {*asked} <= {*pairwise(line)}
    assert "--measure" in line


def test_a_line_that_measures_names_its_truth_where_another_would_be_taken(
    corpus: made.Corpus, study: str
) -> None:
    fs.predict(study, {"a": corpus.models["model-0"]}, engine="local")
    lines = []
    for truth in ("ann", "bob", "labels"):
        fs.label.import_(study, str(corpus.truth), truth=truth)
        lines.append([line_that_counts(fs.Study(study), "a", one) for one in ("ann", "labels")])
    line = f"faultscape predict {study} a={corpus.models['model-0']} --measure"
    plain, other, third = line, f"{line} --truth ann", f"{line} --truth labels"
    assert lines == [[plain, third], [other, third], [other, plain]]
