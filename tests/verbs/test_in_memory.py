"""Where a folder or a table may stand, arrays, tensors, PIL images, functions and modules may: the study is then
the same, to the byte, as from files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import golden
import made
import made_answers
from faultscape.errors import FaultscapeError, LabellingError, LabelMapError, ModelError, OptionError
from faultscape.prediction.catalogue import IN_MEMORY, source_of
from faultscape.prediction.in_memory import HeldAnswers, HeldFunction, HeldMaps, holding
from faultscape.study.settings import read_settings
from faultscape.testing import check_source
from refusals import refused


@pytest.fixture
def world(tmp_path: Path) -> tuple[str, made.Corpus]:
    """A study with three models, and what it was made of."""
    return golden.copied("made and compared", made.compared, tmp_path / golden.STUDY)


def parts(study: str, model: str) -> list[bytes]:
    """The parts of a model's predictions, as bytes."""
    return [path.read_bytes() for path in sorted(Path(study, "predictions", model).glob("*.parquet"))]


def by_id(corpus: made.Corpus, maps: Any) -> dict[str, Any]:
    return dict(zip(corpus.ids, maps, strict=True))


def in_order(study: str, corpus: made.Corpus, maps: np.ndarray) -> np.ndarray:
    """Maps in the order of the study's images, which is not that in which they were made."""
    return np.stack([maps[corpus.ids.index(id_)] for id_ in fs.Study(study).images])


def test_arrays_are_stored_as_their_files_are_however_they_come(world: tuple[str, made.Corpus]) -> None:
    study, corpus = world
    maps = corpus.maps["model-1"]
    images = [Image.fromarray(one) for one in in_order(study, corpus, maps)]
    made.predicted(
        study,
        {
            "array": in_order(study, corpus, maps).astype(np.int64),
            "ids": by_id(corpus, maps),
            "pairs": ((id_, one.tolist()) for id_, one in by_id(corpus, maps).items()),
            "images": images,
        },
    )
    expected = parts(study, "model-1")
    assert len(expected) == 1
    assert [parts(study, name) for name in ("array", "ids", "pairs", "images")] == [expected] * 4


def test_what_was_in_memory_is_kept_and_its_source_is_gone(
    world: tuple[str, made.Corpus], capsys: pytest.CaptureFixture[str]
) -> None:
    study, corpus = world
    other = by_id(corpus, corpus.maps["model-0"])
    made.predicted(study, {"model-1": other})
    assert "model-1: its source, options or images changed" in capsys.readouterr().out
    source = read_settings(Path(study)).models["model-1"].source
    assert source.startswith("memory:model-1:")
    made.predicted(study, {"model-1": other})
    assert capsys.readouterr().out == ""  # the same arrays are not read again
    assert read_settings(Path(study)).models["model-1"].source == source
    said = repr(fs.status(study))
    assert "model-1: the source is no longer there (it was in memory): predictions are kept" in said
    with refused(
        ModelError, "was in the memory of Python, which is no longer there; what it predicted is kept"
    ):
        made.predicted(study, {"again": source})
    (study_toml := Path(study, "study.toml")).write_text(
        study_toml.read_text().replace('size = "own"', 'size = "24x18"')
    )
    made.predicted(study, {"model-1": {**other, corpus.ids[0]: other[corpus.ids[0]] * 0}})
    assert "1 of 1 shards are predicted again" in capsys.readouterr().out


@pytest.mark.slow
def test_a_model_in_memory_that_lacks_images_names_no_command_that_cannot_run(
    world: tuple[str, made.Corpus], tmp_path: Path
) -> None:
    study, corpus = world
    made.predicted(study, {"model-1": by_id(corpus, corpus.maps["model-1"])})
    made.write(
        tmp_path / "more" / "new.png", np.random.default_rng(0).integers(0, 256, (36, 48, 3), np.uint8)
    )
    fs.collect(study, tmp_path / "more")
    said = repr(fs.status(study))
    assert 'model-1 was in memory: fs.predict(STUDY, {"model-1": ...})' in said
    assert "memory:model-1" not in said
    assert "model-1=SOURCE" in said


@pytest.mark.slow
def test_functions_and_modules_are_asked_as_those_of_a_file_are(
    world: tuple[str, made.Corpus], tmp_path: Path
) -> None:
    import torch

    study, _ = world
    (tmp_path / "own.py").write_text(
        "import torch\n"
        "def reds(photo):\n    return photo[..., 0] // 52\n"
        "def net():\n    torch.manual_seed(0)\n    return torch.nn.Conv2d(3, 5, 3, padding=1)\n"
    )
    made.predicted(study, {"reds": f"{tmp_path / 'own.py'}:reds", "net": f"{tmp_path / 'own.py'}:net"})
    torch.manual_seed(0)
    module = torch.nn.Conv2d(3, 5, 3, padding=1).train()
    made.predicted(study, {"own-reds": lambda photo: photo[..., 0] // 52, "own-net": module})
    assert parts(study, "own-reds") == parts(study, "reds")
    assert parts(study, "own-net") == parts(study, "net")
    assert module.training

    def broken(photo: np.ndarray) -> np.ndarray:
        raise ValueError(f"no {photo.ndim}")

    with refused(ModelError, "broken: the function failed: .*no 3"):
        made.predicted(study, {"broken": broken})


WRONG: dict[str, tuple[Any, type[FaultscapeError], str]] = {
    "fewer": (
        np.zeros((3, 36, 48), int),
        ModelError,
        r"got 3 maps for 24 images; give one for each, in the order",
    ),
    "floats": (
        np.zeros((24, 36, 48)),
        LabelMapError,
        r"m, image 0: expected whole numbers, H x W; got float64",
    ),
    "logits": (np.zeros((24, 5, 36, 48)), LabelMapError, r"\.argmax over the axis of classes"),
    "an id": (
        {"x": np.zeros((36, 48), int)},
        ModelError,
        r"m: 'x' is not an image of the study; it has 'part0/",
    ),
    "below 0": (
        np.full((24, 36, 48), -1),
        LabelMapError,
        r"m, image 0: holds the value -1; class ids are 0 to",
    ),
    "no class": (
        np.full((24, 36, 48), 9),
        ModelError,
        r"the map of part0/photo 000: holds the value 9; allowed",
    ),
    "twice": ([("a", np.zeros((2, 2), int))] * 2, LabelMapError, r"m: the image 'a' is given twice"),
    "a number": (5, OptionError, r"models must be NAME=SOURCE, or \{NAME: SOURCE\}; got \{'m': 5\}"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_model_is_refused_before_the_study_changes(
    case: str, world: tuple[str, made.Corpus]
) -> None:
    study, _ = world
    given, kind, text = WRONG[case]
    before = made.bytes_under(Path(study), "predictions"), read_settings(Path(study))
    with refused(kind, text):
        made.predicted(study, {"m": given})
    after = made.bytes_under(Path(study), "predictions"), read_settings(Path(study))
    assert after == before


def test_masks_in_memory_are_labels_as_files_are(world: tuple[str, made.Corpus], tmp_path: Path) -> None:
    study, corpus = world
    masks = by_id(corpus, corpus.truths)
    some = corpus.ids[3:6]
    for id_ in some:
        made.write(tmp_path / "masks" / f"{id_}.png", masks[id_])
    fs.label.import_(study, tmp_path / "masks", truth="files")
    fs.label.import_(study, {id_: masks[id_].astype(np.int64) for id_ in some}, truth="arrays")
    held = [sorted(Path(study, "truth", name).glob("*.parquet")) for name in ("files", "arrays")]
    assert [[path.read_bytes() for path in paths] for paths in held[:1]] == [
        [path.read_bytes() for path in paths] for paths in held[1:]
    ]
    assert len(held[0]) == 1
    whole = fs.label.import_(study, in_order(study, corpus, corpus.truths), truth="whole")
    assert (whole.new, whole.failures) == (24, 0)
    assert '"source": "memory://labels"' in Path(study, "log.jsonl").read_text()
    for given, text in (
        ({"x": masks[some[0]]}, "labels: 'x' is not an image of the study"),
        (corpus.truths[:2], "labels: got 2 masks for 24 images"),
        (corpus.truths * 0.5, "labels, image 0: expected whole numbers"),
        ({}, "labels: got no mask"),
        (len, "expected a file, a folder or labels in memory"),
        ({some[0]: masks[some[0]][:5]}, "memory://labels/part.*png: is 48 x 5 pixels, its image 48 x 36"),
    ):
        with refused(LabellingError, text):
            fs.label.import_(study, given)
    with refused(OptionError, "source must be the name of a file or folder, .* or maps in memory; got None"):
        fs.label.import_(study, None)


def test_classes_in_memory_are_answers_and_labels_of_classifiers(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made")
    labels = dict(zip(it.images, it.labels["model-1"].tolist(), strict=True))
    order = [labels[image] for image in fs.Study(it.study).images]
    made.predicted(it.study, {"array": np.array(order), "ids": labels})
    assert parts(it.study, "array") == parts(it.study, "ids") == parts(it.study, "model-1")
    truth = dict(zip(it.images, it.truth.tolist(), strict=True))
    fs.label.import_(it.study, truth)
    assert fs.labels(it.study) == {image: made_answers.NAMES[k] for image, k in truth.items()}
    with refused(LabellingError, "labels: 9 is not the id of a class; ids are 0 to 4"):
        fs.label.import_(it.study, {it.images[0]: 9})
    with refused(ModelError, r"one class id an image, \(I,\) or \{id: class\}; of probabilities"):
        made.predicted(it.study, {"m": np.zeros((60, 5))})


def test_arrays_are_measured_as_their_folders_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = made.corpus(tmp_path / "corpus", images=12, models=1)
    maps = corpus.maps["model-0"]
    of = {"classes": str(corpus.classes), "engine": "local"}
    files = fs.measure(corpus.truth, {"m": corpus.models["model-0"]}, output="files", **of)
    arrays = fs.measure(by_id(corpus, corpus.truths), {"m": by_id(corpus, maps)}, output="arrays", **of)
    order = np.argsort(corpus.ids)
    plain = fs.measure(corpus.truths[order].tolist(), {"m": maps[order]}, output="plain", **of)
    assert repr(files.models) == repr(arrays.models) == repr(plain.models)
    for text in Path("arrays").iterdir():
        assert text.suffix == ".parquet" or text.is_dir() or "faultscape-measured" not in text.read_text()
    for truth, given, text in (
        (corpus.truths, {"m": maps[:3]}, "m: has 3 maps, and truth 12; give one for each image"),
        (
            corpus.truths,
            {"m": by_id(corpus, maps)},
            "truth has no ids, and m has; give all as {id: map}, or none",
        ),
        (
            corpus.truths,
            {"m": corpus.models["model-0"]},
            "truth: maps without ids do not show which file of m",
        ),
        (corpus.truth, {"m": maps}, "m: maps without ids do not show which file of truth"),
        (corpus.truths, {"m": maps * 0.5}, "m, image 0: expected whole numbers, H x W; got float64"),
        (corpus.truths, {"m": len}, "m: measure takes maps; ask a function or module with `fs.predict`"),
        ({"../x": corpus.truths[0]}, {"m": {"../x": maps[0]}}, "the id '../x' leads out of its folder"),
    ):
        with refused(FaultscapeError, text):
            fs.measure(truth, given, output="wrong", **of)
    with refused(ModelError, "--anomaly: m: expected the name of a folder; got array"):
        fs.measure(corpus.truth, scores=fs.options.ScoreFolders(anomaly={"m": maps * 0.5}))


def held_maps(_study: str, corpus: made.Corpus, root: Path) -> Iterator[str]:
    files = {id_: str(root / f"{k}.png") for k, id_ in enumerate(corpus.ids)}
    for maps in (corpus.maps["model-0"], corpus.truths):
        for path, one in zip(files.values(), maps, strict=True):
            made.write(Path(path), one)
        digests = {path: str(one.sum()) for path, one in zip(files.values(), maps, strict=True)}
        with holding({"memory:m:0": HeldMaps(root, files, digests)}):
            yield "memory:m:0"


def held_function(_study: str, _corpus: made.Corpus, _root: Path) -> Iterator[str]:
    for mark in ("a", "b"):
        with holding({"memory:m:0": HeldFunction(lambda photo: photo[..., 0] // 52, mark)}):
            yield "memory:m:0"


def held_answers(study: str, _corpus: made.Corpus, root: Path) -> Iterator[str]:
    table = root / "answers.csv"
    for class_ in (0, 1):
        table.write_text("image,label\n" + "".join(f"{id_},{class_}\n" for id_ in fs.Study(study).images))
        with holding({"memory:m:0": HeldAnswers(table)}):
            yield "memory:m:0"


HELD = {"memory": held_maps, "memory_network": held_function, "memory_answers": held_answers}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [source.name for source in IN_MEMORY])
def test_every_kind_in_memory_keeps_what_predict_counts_on(
    kind: str, world: tuple[str, made.Corpus], tmp_path: Path
) -> None:
    study, corpus = world
    if kind == "memory_answers":
        study = made_answers.study(tmp_path / "answers").study
    (root := tmp_path / "held").mkdir()
    place = HELD[kind](study, corpus, root)
    task = fs.Study(study).settings.task
    assert source_of("m", next(place), task).name == kind
    check_source(study, "memory:m:0", change=lambda: next(place) and None)
    place.close()
    with refused(ModelError, "was in the memory of Python"):
        source_of("m", "memory:m:0", task)
