"""What is kept beside labels: it is what the network gives, it changes no label, and it is told beforehand
how large it gets.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import ModelError, OptionError, StudyError
from faultscape.maps import runs
from faultscape.prediction import catalogue
from faultscape.prediction import keep as keeping
from faultscape.prediction.sources.onnx import OnnxNetwork
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import read_corpus, shards
from refusals import refused

ALL = ["confidence", "probabilities", "logits"]
TRIAL = 3  # images that the trial shows, one at a time


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=6, models=1)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> Path:
    return made.collected(corpus, tmp_path / "study", shard_size=4)


@pytest.fixture
def net(tmp_path: Path) -> Path:
    import onnx_networks

    return onnx_networks.small(tmp_path / "net.onnx")


@pytest.fixture
def function(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(
        "def load():\n    import torch_networks\n    return torch_networks.Small()\n"
    )
    return f"{tmp_path / 'mine.py'}:load"


def photos(corpus: made.Corpus) -> list[np.ndarray]:
    return [fs.formats.read_rgb(corpus.photos / f"{id_}.png") for id_ in corpus.ids]


def read(study: Path, kind: str, name: str = "net") -> dict[str, tuple[np.ndarray, ...]]:
    return {
        id_: values
        for number in shards(read_corpus(study))
        for id_, values in outputs.read_kept(study, name, kind, number)
    }


def labels(study: Path, name: str = "net") -> dict[str, np.ndarray]:
    folder = label_maps.predictions(study, name)
    return {
        m.id: runs.decode(m.runs)
        for number in shards(read_corpus(study))
        for m in label_maps.read_stored(folder, number)
    }


def label_bytes(study: Path) -> dict[str, bytes]:
    folder = study / "predictions" / "net"
    return {f.name: f.read_bytes() for f in folder.iterdir() if f.is_file() and not f.name.startswith(".")}


@pytest.mark.parametrize("kind", ["onnx", "torch"])
def test_what_is_read_back_is_what_the_network_gives(
    corpus: made.Corpus, study: Path, net: Path, function: str, kind: str
) -> None:
    source, layer = (str(net), "relu") if kind == "onnx" else (function, "first")
    keep = [*ALL, f"embedding={layer}"]
    fs.predict(str(study), {"net": source}, engine="local", keep=keep)
    assert outputs.kinds(study, "net") == sorted([*ALL, f"embedding-{layer}"])
    want = dict(zip(corpus.ids, catalogue.open_model(source, keep=keep).predict(photos(corpus)), strict=True))
    found = labels(study)
    assert set(found) == set(corpus.ids)
    for folder in outputs.kinds(study, "net"):
        back = read(study, folder)
        assert set(back) == set(corpus.ids)
        for id_, (values,) in back.items():
            (expected,) = want[id_].kept[folder]
            assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
            assert np.abs(values.astype(float) - expected.astype(float)).max() <= 1e-3 * max(
                1, np.abs(expected).max()
            )
    for id_, out in want.items():
        (shares,), (logits,), (sure,), (layer_values,) = (
            read(study, f)[id_] for f in (*ALL[1:], ALL[0], f"embedding-{layer}")
        )
        assert (found[id_] == out.labels).all()
        assert (shares.dtype, logits.dtype, sure.dtype, layer_values.dtype) == (
            np.float16,
            np.float32,
            np.uint8,
            np.float16,
        )
        assert (shares.shape, logits.shape, layer_values.shape) == ((5, 36, 48), (5, 18, 24), (8, 18, 24))
        assert np.abs(shares.astype(np.float32).sum(0) - 1).max() < 1e-2
        assert np.abs(sure / 255 - shares.max(0)).max() < 3e-3


def test_the_largest_are_kept_with_their_classes(corpus: made.Corpus, study: Path, net: Path) -> None:
    fs.predict(str(study), {"net": net}, engine="local", keep=["probabilities=3"])
    whole = catalogue.open_model(str(net), keep=["probabilities"]).predict(photos(corpus))
    found = labels(study)
    for id_, out in zip(corpus.ids, whole, strict=True):
        shares, classes = read(study, "probabilities")[id_]
        (all_shares,) = out.kept["probabilities"]
        assert (shares.shape, shares.dtype, classes.shape, classes.dtype) == (
            (3, 36, 48),
            np.float16,
            (3, 36, 48),
            np.uint8,
        )
        assert (classes[0] == found[id_]).all()
        assert (np.diff(shares.astype(np.float32), axis=0) <= 0).all()
        assert (np.take_along_axis(all_shares, classes.astype(int), 0) == shares).all()
        assert (np.sort(all_shares, axis=0)[::-1][:3] == shares).all()


def test_a_kind_that_is_added_to_a_finished_model_changes_no_byte_of_the_labels_and_makes_nothing_stale(
    corpus: made.Corpus, study: Path, net: Path
) -> None:
    fs.predict(str(study), {"net": net, **corpus.models}, engine="local")
    fs.compare(str(study), engine="local")
    before, states, pairs = label_bytes(study), made.states(str(study)), made.bytes_under(study, "pairs")
    assert pairs
    fs.predict(str(study), {"net": net}, engine="local", keep=["confidence", "logits"])
    assert label_bytes(study) == before
    assert made.states(str(study)) == states
    assert fs.compare(str(study), engine="local").parts_made == 0
    assert made.bytes_under(study, "pairs") == pairs
    assert outputs.kinds(study, "net") == ["confidence", "logits"]
    sure = made.bytes_under(study, "predictions/net/confidence")
    fs.predict(str(study), {"net": net}, engine="local", keep=["labels"])
    assert label_bytes(study) == before
    assert made.bytes_under(study, "predictions/net/confidence") == sure
    assert set(read(study, "confidence")) == set(corpus.ids)


def test_what_was_kept_of_a_network_that_is_another_now_is_gone(
    corpus: made.Corpus, study: Path, net: Path
) -> None:
    import onnx_networks

    fs.predict(str(study), {"net": net}, engine="local", keep=["confidence"])
    old = read(study, "confidence")
    onnx_networks.small(net, seed=8)
    fs.predict(str(study), {"net": net}, engine="local", keep=["labels"])
    assert not read(study, "confidence")
    assert not outputs.kinds(study, "net")
    assert not list((study / "predictions" / "net" / "confidence").glob("*.parquet"))
    fs.predict(str(study), {"net": net}, engine="local", keep=["confidence"])
    new = read(study, "confidence")
    assert set(new) == set(old) == set(corpus.ids)
    assert any((new[id_][0] != old[id_][0]).any() for id_ in new)


def test_the_size_is_told_beforehand_and_is_not_below_what_is_kept(
    corpus: made.Corpus, study: Path, net: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made.write(
        corpus.photos / "last, and larger.png",
        np.random.default_rng(1).integers(0, 256, (90, 70, 3), np.uint8),
    )
    fs.collect(str(study), str(corpus.photos))
    capsys.readouterr()
    fs.predict(str(study), {"net": net}, engine="local", keep=ALL)
    told = dict(
        re.findall(
            r"keeping (\w+): at most (\d+ kB) for 7 images, before compression", capsys.readouterr().out
        )
    )
    assert set(told) == set(ALL)
    for kind, words in told.items():
        held = sum(values.nbytes for arrays in read(study, kind).values() for values in arrays)
        assert held <= int(words.split()[0]) * 1000 < 12 * held


def test_more_than_is_free_is_noted() -> None:
    values = {"logits": (np.zeros((5, 100, 100), np.float32),)}
    assert keeping.told(values, 1000, 10**9) == [
        "keeping logits: at most 200 MB for 1000 images, before compression"
    ]
    # never rounded down
    assert keeping.told(values, 1001, 10**8)[0].startswith("keeping logits: at most 201 MB")
    assert keeping.told(values, 1000, 10**8)[1].startswith(
        "note: 200 MB are more than the 100 MB free on that disk"
    )


def test_more_classes_than_the_network_has_are_noted_with_what_all_of_them_take(
    study: Path, net: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.predict(str(study), {"net": net}, engine="local", keep=["probabilities=99"])
    out = capsys.readouterr().out
    # 3 bytes for each of 5 classes, 36 x 48 pixels
    assert "keeping probabilities: at most 156 kB for 6 images" in out
    assert (
        "note: the network has 5 classes, not 99; --keep probabilities keeps all of them, in 104 kB\n" in out
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["probabilities", "probabilities=3"],
            "--keep probabilities and --keep probabilities=3 exclude each other",
        ),
        (
            ["probabilities=2", "probabilities=3"],
            "--keep probabilities=2 and --keep probabilities=3 exclude each other",
        ),
        (["labels", "logits"], "--keep labels and --keep logits exclude each other; give one of them"),
    ],
)
def test_words_that_exclude_each_other_are_told(words: list[str], told: str) -> None:
    with refused(OptionError, f"^{told}"):
        keeping.parse(words)
    assert keeping.parse(words[1:] * 2).words == words[1:]  # what is said twice is said once


@pytest.mark.parametrize("keep", [["logits"], ["probabilities=2"], ["confidence"]])
def test_a_network_of_labels_alone_is_refused_before_the_study_learns_of_it(
    study: Path, tmp_path: Path, keep: list[str]
) -> None:
    import onnx_networks

    only = onnx_networks.small(tmp_path / "labels.onnx", labels=True)
    before = made.bytes_under(study, "*.toml", "predictions")
    with refused(
        ModelError,
        rf"labels.onnx: returns labels without logits, so {keep[0].partition('=')[0]} cannot be kept",
    ):
        fs.predict(str(study), {"net": only}, engine="local", keep=keep)
    assert made.bytes_under(study, "*.toml", "predictions") == before


def test_a_layer_that_the_network_has_not_is_named_with_those_it_has(study: Path, net: Path) -> None:
    with refused(
        ModelError, r"^[^:]*net\.onnx: has no value named 'depth'\. Its last values are first, relu, logits"
    ):
        fs.predict(str(study), {"net": net}, engine="local", keep=["embedding=depth"])


@pytest.mark.parametrize(
    "word", ["scores", "probabilities=0", "probabilities=x", "logits=2", "embedding", "embedding="]
)
def test_a_word_that_means_nothing_is_told(study: Path, net: Path, word: str) -> None:
    with refused(
        OptionError,
        f"--keep '{word}' is not known; use labels, confidence, probabilities, logits, embedding=LAYER",
    ):
        fs.predict(str(study), {"net": net}, engine="local", keep=[word])


def test_a_run_that_was_killed_in_the_middle_ends_with_the_same_bytes(
    corpus: made.Corpus, study: Path, net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    made.collected(corpus, whole, 4)
    fs.predict(str(whole), {"net": net}, engine="local", keep=ALL, hardware=fs.options.Hardware(batch=1))
    run, seen = OnnxNetwork.run, []

    def killed(self: OnnxNetwork, block: np.ndarray, embeddings: tuple[str, ...]) -> object:
        seen.append(len(block))
        if len(seen) == TRIAL + 3:
            raise KeyboardInterrupt
        return run(self, block, embeddings)

    monkeypatch.setattr(OnnxNetwork, "run", killed)
    with pytest.raises(KeyboardInterrupt):
        fs.predict(str(study), {"net": net}, engine="local", keep=ALL, hardware=fs.options.Hardware(batch=1))
    assert list((study / "predictions" / "net").glob(".spool-*"))
    seen[:] = [0] * 9
    fs.predict(str(study), {"net": net}, engine="local", keep=ALL, hardware=fs.options.Hardware(batch=1))
    assert len(seen) - 9 < TRIAL + 6  # fewer than all pictures
    assert made.bytes_under(study, "predictions") == made.bytes_under(whole, "predictions")
    assert not list((study / "predictions" / "net").glob(".spool-*"))


def test_a_part_that_was_lost_is_made_again_and_the_labels_stay(study: Path, net: Path) -> None:
    fs.predict(str(study), {"net": net}, engine="local", keep=["confidence", "logits"])
    before, place = made.bytes_under(study, "predictions"), study / "predictions" / "net" / "confidence"
    lost = min(place.glob("*.parquet"))
    lost.unlink()
    with refused(StudyError, "is missing or damaged; delete it, if it is there, and run predict again"):
        list(outputs.read_kept(study, "net", "confidence", 0))
    fs.predict(str(study), {"net": net}, engine="local", keep=["confidence", "logits"])
    assert made.bytes_under(study, "predictions") == before


@pytest.mark.slow
def test_two_processes_write_the_bytes_of_one(
    corpus: made.Corpus, study: Path, net: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    made.collected(corpus, other, 4)
    fs.predict(str(study), {"net": net}, engine="local", keep=ALL, hardware=fs.options.Hardware(threads=1))
    fs.predict(
        other, {"net": net}, engine="processes", workers=2, keep=ALL, hardware=fs.options.Hardware(threads=1)
    )
    assert made.bytes_under(other, "predictions") == made.bytes_under(study, "predictions")


def test_parts_stay_small_whatever_is_kept(study: Path, net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "_AT_ONCE", 1000)
    fs.predict(str(study), {"net": net}, engine="local", keep=["logits"])
    parts = sorted(p.name.rpartition("-")[0] for p in (study / "predictions/net/logits").glob("*.parquet"))
    assert parts == ["00000.000", "00000.001", "00000.002", "00000.003", "00001.000", "00001.001"]
    assert list(read(study, "logits")) == [image.id for image in read_corpus(study)]


@pytest.mark.parametrize("kind", keeping.KEPT, ids=lambda kind: kind.name)
def test_every_kind_that_can_be_kept_is_asked_for_stored_and_called_as_its_entry_says(
    kind: keeping.Kept,
) -> None:
    for written in kind.written:
        word = written.replace("=K", "=2").replace("LAYER", "head")
        asked = keeping.parse([word])
        assert asked == keeping.Keep(**{kind.field: getattr(asked, kind.field)}) != keeping.Keep()
        assert asked.words == [word]
        assert [folder.partition("-")[0] for folder in asked.folders] == [kind.name]
        # of a classifier, part of its answers
        assert bool(dataclasses.replace(asked, answers=True).folders) != kind.in_answers
        scores = np.random.default_rng(0).normal(size=(5, 4, 6)).astype(np.float32)
        made_ = asked.arrays(scores, (12, 8), marginal=False)
        assert bool(made_) == (kind.arrays is not None)
        for arrays in made_.values():
            assert kind.form.startswith(arrays[0].dtype.name)
            assert arrays[0].shape[-2:] == ((8, 12) if "size of the labels" in kind.form else (4, 6))
        assert not asked.arrays(scores, (12, 8), marginal=False, without=[kind.name])
