"""predict --keep confidence, then measure; and predict --measure, which keeps labels and statistics alone:
the same numbers, byte for byte.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import StudyError
from faultscape.study.tables import outputs
from faultscape.verbs.predict import shard as predict_shard
from networks_of_tests import colour_network
from refusals import refused


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=7, models=1)


@pytest.fixture
def net(tmp_path: Path) -> Path:
    weights = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32) * 3
    return colour_network(tmp_path / "net.onnx", weights)


def study(folder: Path, corpus: made.Corpus) -> Path:
    made.collected(corpus, folder, shard_size=3)
    fs.label.import_(str(folder), str(corpus.truth), truth="masks")
    return folder


def numbers(folder: Path) -> dict:
    return json.loads((folder / "measures" / "measure.json").read_text())["models"]


@pytest.mark.slow
def test_confidence_that_a_study_keeps_is_measured_as_that_of_files(
    corpus: made.Corpus, net: Path, tmp_path: Path
) -> None:
    root = study(tmp_path / "study", corpus)
    fs.predict(str(root), {"net": net}, keep=["confidence"], engine="local")
    fs.measure(str(root), resamples=20, engine="local")
    for shard in range(3):
        for id_, (values,) in outputs.read_kept(root, "net", "confidence", shard):
            np.save(file_of(tmp_path / "confidence" / f"{id_}.npy"), values.astype(np.float32) / 255)
        for id_, code in fs.study.tables.label_maps.read_maps(
            fs.study.tables.label_maps.predictions(root, "net"), shard
        ).items():
            np.save(file_of(tmp_path / "maps" / f"{id_}.npy"), fs.maps.decode(code))
    where = {"net": str(tmp_path / "confidence")}
    plain = fs.measure(
        corpus.truth,
        {"net": tmp_path / "maps"},
        classes=corpus.classes,
        scores=fs.options.ScoreFolders(confidence=where),
        resamples=20,
        output=tmp_path / "out",
        files=fs.options.FileRules(images=str(corpus.photos)),
        engine="local",
    )
    mine = numbers(root)["net"]
    assert {"ece", "aurc", "rom", "mce", "misclassification_fpr95"} <= set(mine)
    assert mine == plain.models["net"]


@pytest.mark.slow
def test_statistics_made_beside_maps_are_those_of_kept_confidence_and_measure_finds_them_done(
    corpus: made.Corpus, net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long, short = study(tmp_path / "long", corpus), study(tmp_path / "short", corpus)
    fs.predict(str(long), {"net": net}, keep=["confidence"], engine="local")
    fs.measure(str(long), resamples=0, engine="local")
    fs.predict(str(short), {"net": net}, measure=True, engine="local")
    assert not outputs.kinds(short, "net")
    parts = "measures/statistics"
    before = made.bytes_under(short, parts)
    assert {p: d for p, d in before.items() if p.endswith(".parquet")} == {
        p: d for p, d in made.bytes_under(long, parts).items() if p.endswith(".parquet")
    }
    fs.measure(str(short), resamples=0, engine="local")
    assert made.bytes_under(short, parts) == before
    curves = [
        json.loads((root / "measures" / "measure.json").read_text())["curves"]["net"]["confidence"]
        for root in (long, short)
    ]
    assert curves[0] == curves[1]
    assert made.bytes_under(short, "predictions") == {
        p: d for p, d in made.bytes_under(long, "predictions").items() if "/confidence/" not in p
    }
    capsys.readouterr()
    fs.predict(str(short), {"net": net}, measure=True, engine="local")  # nothing is missing
    assert made.bytes_under(short, parts) == before


def test_a_model_without_statistics_runs_again_for_them_and_its_maps_stay(
    corpus: made.Corpus, net: Path, tmp_path: Path
) -> None:
    root = study(tmp_path / "study", corpus)
    fs.predict(str(root), {"net": net}, engine="local")
    maps = made.bytes_under(root, "predictions")
    fs.predict(str(root), {"net": net}, measure=True, engine="local")
    assert made.bytes_under(root, "predictions") == maps
    assert len(list((root / "measures" / "statistics" / "masks" / "net").glob("*.parquet"))) == 3


@pytest.mark.slow
def test_a_killed_run_keeps_the_statistics_of_all_shards_that_count(
    corpus: made.Corpus, net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, root = study(tmp_path / "whole", corpus), study(tmp_path / "study", corpus)
    fs.predict(str(whole), {"net": net}, measure=True, engine="local")
    enter = predict_shard.enter

    def killed(*given: Any) -> Any:
        rows = enter(*given)
        if given[2][-1][0].number == 1:
            raise KeyboardInterrupt
        return rows

    with monkeypatch.context() as patch:
        patch.setattr("faultscape.reading.fill.PAUSE", 0)
        patch.setattr("faultscape.reading.fill.SHARE", 0)
        patch.setattr(predict_shard, "enter", killed)
        with pytest.raises(KeyboardInterrupt):
            fs.predict(str(root), {"net": net}, measure=True, engine="local")
    done = shards_done(monkeypatch)
    fs.predict(str(root), {"net": net}, measure=True, engine="local")
    assert done == [2]
    for parts in ("measures/statistics", "predictions"):
        assert made.bytes_under(root, parts) == made.bytes_under(whole, parts)


def test_results_wait_on_the_disk_until_they_count(
    corpus: made.Corpus, net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.prediction.inference import Inference

    root, run, seen = study(tmp_path / "study", corpus), Inference.run, []

    def counted(self: Inference, items: Any) -> Any:
        seen.append(len(items))
        return run(self, items)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("faultscape.reading.fill.PAUSE", 0)
        patch.setattr("faultscape.reading.fill.SHARE", 0)
        patch.setattr(predict_shard, "enter", killed)
        with pytest.raises(KeyboardInterrupt):
            fs.predict(str(root), {"net": net}, measure=True, engine="local")
    monkeypatch.setattr(Inference, "run", counted)
    fs.predict(str(root), {"net": net}, measure=True, engine="local")
    assert sorted(seen) == [1, 1, 2, 3]  # the trial of 2 and 1, and the two shards that were not done
    assert not [*(root / "predictions" / "net").glob(".spool*")]


@pytest.mark.slow
def test_statistics_of_another_mapping_are_made_at_once_and_once(
    corpus: made.Corpus, net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, mapping = (
        study(tmp_path / "first", corpus),
        study(tmp_path / "second", corpus),
        tmp_path / "labels.json",
    )
    mapping.write_text(json.dumps({str(k): made.NAMES[(k + 1) % 5] for k in range(5)}))
    fs.predict(str(first), {"net": net}, measure=True, labels=str(mapping), engine="local")
    fs.predict(str(second), {"net": net}, measure=True, engine="local")
    done = shards_done(monkeypatch)
    fs.predict(str(second), {"net": net}, measure=True, labels=str(mapping), engine="local")
    assert done == [0, 1, 2]
    fs.predict(str(second), {"net": net}, measure=True, labels=str(mapping), engine="local")
    assert done == [0, 1, 2]
    assert made.bytes_under(second, "measures/statistics") == made.bytes_under(first, "measures/statistics")


def shards_done(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The shards that are made from now on."""
    done, shard = [], predict_shard.shard

    def counted(**call: Any) -> Any:
        done.append(call["job"]["number"])
        return shard(**call)

    monkeypatch.setattr(predict_shard, "shard", counted)
    counted.__signature__ = inspect.signature(shard)  # type: ignore[attr-defined] - the engine looks at it
    return done


def test_measuring_at_once_needs_a_truth(corpus: made.Corpus, net: Path, tmp_path: Path) -> None:
    root = tmp_path / "study"
    fs.collect(str(root), str(corpus.photos), classes=str(corpus.classes))
    with refused(StudyError, r"there are no labels yet; import some with `faultscape label import"):
        fs.predict(str(root), {"net": net}, measure=True, engine="local")
    fs.label.import_(str(root), str(corpus.truth), truth="one")
    fs.label.import_(str(root), str(corpus.truth), truth="two")
    with refused(
        StudyError,
        r"there are several truths \(one, two\), and none is called 'labels'; choose one with --truth",
    ):
        fs.predict(str(root), {"net": net}, measure=True, engine="local")


def file_of(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
