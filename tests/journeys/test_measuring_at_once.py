"""predict --keep confidence, then measure; and predict --measure, which keeps labels and statistics alone: the same numbers, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import StudyError
from faultscape.study import kept
from networks_of_tests import colour_network


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=7, models=1)


@pytest.fixture
def net(tmp_path: Path) -> Path:
    weights = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32) * 3
    return colour_network(tmp_path / "net.onnx", weights)


def study(folder: Path, corpus: made.Corpus) -> Path:
    fs.collect(str(folder), str(corpus.photos), classes=str(corpus.classes), shard_size=3)
    fs.label.import_(str(folder), str(corpus.truth), truth="masks")
    return folder


def numbers(folder: Path) -> dict:
    return json.loads((folder / "measures" / "measure.json").read_text())["models"]


def test_confidence_that_a_study_keeps_is_measured_as_that_of_files(corpus: made.Corpus, net: Path, tmp_path: Path) -> None:
    root = study(tmp_path / "study", corpus)
    fs.predict(str(root), {"net": net}, keep=["confidence"], engine="local")
    fs.measure(str(root), resamples=20, engine="local")
    for shard in range(3):
        for id_, (values,) in kept.read_kept(root, "net", "confidence", shard):
            np.save(file_of(tmp_path / "confidence" / f"{id_}.npy"), values.astype(np.float32) / 255)
        for id_, code in fs.study.label_maps.read_maps(fs.study.label_maps.predictions(root, "net"), shard).items():
            np.save(file_of(tmp_path / "maps" / f"{id_}.npy"), fs.maps.decode(code))
    where = {"net": str(tmp_path / "confidence")}
    plain = fs.measure(
        str(corpus.truth), {"net": str(tmp_path / "maps")}, classes=str(corpus.classes), confidence=where, resamples=20, output=str(tmp_path / "out"),
        engine="local",
    )  # fmt: skip
    mine = numbers(root)["net"]
    assert {"ece", "aurc", "rom"} <= {name.lower() for name in mine}
    assert mine == plain.models["net"]


def test_statistics_made_beside_maps_are_those_of_kept_confidence_and_measure_finds_them_done(
    corpus: made.Corpus, net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long, short = study(tmp_path / "long", corpus), study(tmp_path / "short", corpus)
    fs.predict(str(long), {"net": net}, keep=["confidence"], engine="local")
    fs.measure(str(long), resamples=0, engine="local")
    fs.predict(str(short), {"net": net}, measure=True, engine="local")
    assert not kept.kinds(short, "net")
    parts = "measures/statistics"
    before = made.bytes_under(short, parts)
    assert {p: d for p, d in before.items() if p.endswith(".parquet")} == {
        p: d for p, d in made.bytes_under(long, parts).items() if p.endswith(".parquet")
    }
    fs.measure(str(short), resamples=0, engine="local")
    assert made.bytes_under(short, parts) == before
    curves = [
        json.loads((root / "measures" / "measure.json").read_text())["curves"]["net"]["confidence"] for root in (long, short)
    ]
    assert curves[0] == curves[1]
    assert made.bytes_under(short, "predictions") == {
        p: d for p, d in made.bytes_under(long, "predictions").items() if "/confidence/" not in p
    }
    capsys.readouterr()
    fs.predict(str(short), {"net": net}, measure=True, engine="local")  # nothing is missing
    assert made.bytes_under(short, parts) == before


def test_a_model_without_statistics_runs_again_for_them_and_its_maps_stay(corpus: made.Corpus, net: Path, tmp_path: Path) -> None:
    root = study(tmp_path / "study", corpus)
    fs.predict(str(root), {"net": net}, engine="local")
    maps = made.bytes_under(root, "predictions")
    fs.predict(str(root), {"net": net}, measure=True, engine="local")
    assert made.bytes_under(root, "predictions") == maps
    assert len(list((root / "measures" / "statistics" / "masks" / "net").glob("*.parquet"))) == 3


def test_measuring_at_once_needs_a_truth(corpus: made.Corpus, net: Path, tmp_path: Path) -> None:
    root = tmp_path / "study"
    fs.collect(str(root), str(corpus.photos), classes=str(corpus.classes))
    with pytest.raises(
        StudyError, match="--measure needs a truth of the study; it has none: bring one with `faultscape label import`"
    ):
        fs.predict(str(root), {"net": net}, measure=True, engine="local")
    fs.label.import_(str(root), str(corpus.truth), truth="one")
    fs.label.import_(str(root), str(corpus.truth), truth="two")
    with pytest.raises(StudyError, match="it has one, two: say which with --truth"):
        fs.predict(str(root), {"net": net}, measure=True, engine="local")


def file_of(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
