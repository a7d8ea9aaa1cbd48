"""Every kind of model keeps what `predict` counts on: one law over all entries of the catalogue, and over one
that a person adds.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import submitted_programs

import faultscape as fs
import made
import made_answers
from faultscape.errors import ModelError, StudyError
from faultscape.prediction import catalogue
from faultscape.prediction.batches import Batch
from faultscape.prediction.catalogue import SOURCES
from faultscape.prediction.source import OpenModel
from faultscape.reading.answers import read_predictions
from faultscape.reading.study import Study
from faultscape.study.settings import read_settings
from faultscape.study.tables.logs import read_failures
from faultscape.testing import check_source
from faultscape.verbs.verb import group_options
from refusals import refused

IMAGES = 5
CLASSIFIERS = ("table",)
FUNCTION = "def segment(photo):\n    return photo[..., {0}] // 52\n"
PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from PIL import Image
for path in sorted(Path(sys.argv[1]).iterdir()):
    photo = np.asarray(Image.open(path).convert("RGB"))
    Image.fromarray((photo[..., {0}] > 127).astype(np.uint8)).save(Path(sys.argv[2], path.stem + ".png"))
"""
STACK = """
import numpy as np
from faultscape.prediction import Batch, OpenModel, Source, row_of_map

class Stack(OpenModel):
    def __init__(self, opening, settings):
        self.maps = np.load(opening.source)
    def batches(self, batches, part):
        for batch in batches:
            yield Batch([row_of_map(image.id, self.maps[image.id]) for image in batch])

STACK = Source("stack", "stack of maps", "an .npz file of maps", Stack)
"""
# leaves no file open when it fails
READ = STACK.replace("np.load(opening.source)", "dict(np.load(opening.source))")

Made = tuple[str, Callable[[], None]]  # a SOURCE, and what changes what it reads


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=IMAGES, models=1)


def folder(corpus: made.Corpus, root: Path) -> Made:
    del root
    maps = corpus.models["model-0"]
    return (
        str(maps),
        lambda: [made.write(maps / f"{id_}.png", np.ones((36, 48), np.uint8)) for id_ in corpus.ids] and None,
    )


def scores(corpus: made.Corpus, root: Path) -> Made:
    def write(largest: int) -> None:
        logits = np.zeros((5, 18, 24), np.float32)
        logits[largest] = 4
        for id_ in corpus.ids:
            file = root / "logits" / f"{id_}.npy"
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, logits)

    write(1)
    return str(root / "logits"), lambda: write(2)


def coco(corpus: made.Corpus, root: Path) -> Made:
    file = root / "results.json"

    def write(category: int) -> None:
        everything = {"size": [36, 48], "counts": [0, 36 * 48]}
        masks = [{"image_id": id_, "category_id": category, "segmentation": everything} for id_ in corpus.ids]
        file.write_text(json.dumps(masks))

    write(1)
    return str(file), lambda: write(2)


def yolo(corpus: made.Corpus, root: Path) -> Made:
    def write(class_: int) -> None:
        for id_ in corpus.ids:
            file = root / "run" / "labels" / f"{id_}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{class_} 0 0 1 0 1 1 0 1 0.9\n")

    write(1)
    return str(root / "run"), lambda: write(2)


def table(corpus: made.Corpus, root: Path) -> Made:
    file = root / "said.csv"

    def write(place: int) -> None:
        file.write_text("".join(["image,label\n", *(f"{id_},{made.NAMES[place]}\n" for id_ in corpus.ids)]))

    write(1)
    return str(file), lambda: write(2)


def written(file: Path, text: str, source: str) -> Made:
    file.write_text(text.format(0))
    return source, lambda: file.write_text(text.format(1)) and None


def function(corpus: made.Corpus, root: Path) -> Made:
    del corpus
    return written(root / "own.py", FUNCTION, f"{root / 'own.py'}:segment")


def program(corpus: made.Corpus, root: Path) -> Made:
    del corpus
    return written(root / "program.py", PROGRAM, f"exec:{sys.executable} {root / 'program.py'}")


def submission(corpus: made.Corpus, root: Path) -> Made:
    del corpus
    code = "for number, size in shown.items(): answer(number, *size, label={0})\n"
    command = f"submission:{submitted_programs.writes(root / 'handed', '')} {{input}} {{output}}"
    program = root / "handed" / "program.py"
    start = program.read_text().rpartition("exec(")[0]

    def write(label: int) -> None:
        program.write_text(start + code.format(label))

    write(0)
    return command, lambda: write(1)


def own(corpus: made.Corpus, root: Path) -> Made:
    (root / "stack.py").write_text(STACK)

    def write(maps: np.ndarray) -> None:
        np.savez(root / "maps.npz", **dict(zip(corpus.ids, maps, strict=True)))

    write(corpus.maps["model-0"])
    return f"{root / 'stack.py'}:STACK:{root / 'maps.npz'}", lambda: write(corpus.truths)


def onnx(corpus: made.Corpus, root: Path) -> Made:
    import onnx_networks

    del corpus
    return (
        str(onnx_networks.small(root / "net.onnx")),
        lambda: onnx_networks.small(root / "net.onnx", seed=4) and None,
    )


def ensemble(corpus: made.Corpus, root: Path) -> Made:
    import onnx_networks

    del corpus
    for name, seed in (("a", 1), ("b", 2)):
        onnx_networks.small(root / f"{name}.onnx", seed=seed)
    return "ensemble:a,b", lambda: onnx_networks.small(root / "b.onnx", seed=4) and None


def exported(corpus: made.Corpus, root: Path) -> Made:
    import torch_networks

    del corpus
    path = root / "net.pt2"
    return (
        str(torch_networks.exported(path)),
        lambda: torch_networks.exported(path, module=torch_networks.Small(4)) and None,
    )


def script(corpus: made.Corpus, root: Path) -> Made:
    import torch_networks

    del corpus
    path = root / "net.ts"
    return (
        str(torch_networks.scripted(path)),
        lambda: torch_networks.scripted(path, module=torch_networks.Small(4)) and None,
    )


def transformers(corpus: made.Corpus, root: Path) -> Made:
    import random_networks

    del corpus
    where = random_networks.save("segformer", root / "segformer")
    return str(where), lambda: (where / "notes.txt").write_text("another file") and None


def hub(corpus: made.Corpus, root: Path) -> Made:
    import random_networks
    from huggingface_hub import constants

    del corpus
    cache, patch = root / "cache", pytest.MonkeyPatch()
    patch.setattr(constants, "HF_HUB_OFFLINE", True)
    patch.setattr(constants, "HF_HUB_CACHE", str(cache))
    refs = cache / "models--some--model" / "refs"
    refs.mkdir(parents=True)
    for commit in ("e" * 40, "f" * 40):
        random_networks.save("segformer", cache / "models--some--model" / "snapshots" / commit)
    (refs / "main").write_text("e" * 40)
    return "hf:some/model", lambda: (refs / "main").write_text("f" * 40) and None


def trained(corpus: made.Corpus, root: Path) -> Made:
    from faultscape.uncertainty import description

    del corpus
    where = root / "net"
    where.mkdir()
    (where / "backbone.py").write_text(
        "import torch\ndef net():\n    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1),"
        " torch.nn.ReLU(), torch.nn.Conv2d(4, 5, 1))\n"
    )

    def write(seed: int) -> None:
        about = description.Description("net.py:net", made.NAMES, seed=seed)
        description.save(where, about, description.build(about, where), {})

    write(0)
    return f"{where}/backbone.py:net", lambda: write(1)


MAKERS = {
    make.__name__: make
    for make in (
        table,
        hub,
        ensemble,
        program,
        submission,
        own,
        function,
        transformers,
        coco,
        yolo,
        scores,
        folder,
        onnx,
        exported,
        script,
        trained,
    )
}


@pytest.fixture
def offline() -> object:
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE, constants.HF_HUB_CACHE
    yield
    constants.HF_HUB_OFFLINE, constants.HF_HUB_CACHE = before


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("kind", [source.name for source in SOURCES])
def test_every_kind_of_model_keeps_what_predict_counts_on(
    kind: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    place, change = MAKERS[kind](corpus, tmp_path)
    more = {"task": "classification"} if kind in CLASSIFIERS else {}
    fs.collect(
        tmp_path / "study",
        corpus.photos,
        classes=corpus.classes,
        **group_options(fs.collect, {"shard_size": 3, **more}),
    )
    assert catalogue.source_of("m", place, more.get("task", "segmentation")).name == kind
    members = {name: str(tmp_path / f"{name}.onnx") for name in ("a", "b")} if kind == "ensemble" else {}
    if members:
        fs.predict(str(tmp_path / "study"), members, engine="local")
    check_source(str(tmp_path / "study"), place, change=change)
    there = tmp_path / "study" / "predictions"
    # it changed nothing
    assert sorted(path.name for path in there.iterdir()) == [*members] if members else not there.exists()


def test_entries_are_complete_and_told_apart() -> None:
    assert len({source.name for source in SOURCES}) == len(SOURCES) == len(MAKERS)
    for source in SOURCES:
        assert all(
            getattr(source, field.name) is not None
            for field in fields(source)
            if field.name not in ("load", "revision")
        )
        assert (source.load is None) == (source.runtime == "")
        assert source.tasks


def test_what_lists_kinds_of_models_is_read_off_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "what.xyz").touch()
    with refused(ModelError) as error:
        catalogue.source_of("m", str(tmp_path / "what.xyz"))
    # of classifiers alone
    assert [source.name for source in SOURCES if source.written not in str(error.value)] == ["table"]
    with refused(
        StudyError,
        "models of kind 'new' are not known; known are hub, ensemble, program, submission, own, table, ",
    ):
        catalogue.kind_named("new")


class Wrong(OpenModel):
    """A model that does what a test says instead of what it should."""

    def __init__(self, model: OpenModel, fault: str) -> None:
        self.model, self.fault, self.calls = model, fault, 0

    def batches(self, batches, part):
        for batch in self.model.batches(batches, part):
            rows = batch.rows
            if self.fault == "order":
                rows = rows[::-1]
            if self.fault == "joined":
                yield Batch(rows[:1])
                rows = rows[1:]
            if self.fault == "label":
                rows = [replace(row, runs=fs.maps.encode(np.full((36, 48), 77, np.uint8))) for row in rows]
            if self.fault == "size":
                rows = [replace(row, runs=fs.maps.encode(np.ones((7, 48), np.uint8))) for row in rows]
            if self.fault == "empty":
                rows = [replace(row, runs=None) for row in rows]
            yield Batch(rows)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("order", "yields rows of"),
        ("joined", "yields 4 batches where 2 were asked for|yields 2 batches where 1"),
        ("label", "holds the label 77"),
        ("size", "is 48 x 7 pixels, its image 48 x 36"),
        ("empty", "neither an answer nor a problem"),
        ("digest", "are said to follow from the same as before"),
        ("chance", "answers otherwise when it is asked again"),
    ],
)
def test_the_check_finds_what_is_wrong(
    fault: str, told: str, corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, change = own(corpus, tmp_path)
    made.collected(corpus, tmp_path / "study", 3)
    entry = catalogue.source_of("m", place)
    times = iter(range(1000))

    def opened(opening, settings):
        if fault == "chance":
            label = next(times) % 5
            np.savez(tmp_path / "maps.npz", **{id_: np.full((36, 48), label, np.uint8) for id_ in corpus.ids})
            monkeypatch.setattr("faultscape.prediction.sources.own.digest", lambda *_: opening.digest)
        return Wrong(entry.open(opening, settings), fault)

    broken = replace(entry, open=opened, **({"digest": lambda *_: "0" * 32} if fault == "digest" else {}))
    if fault == "digest":
        monkeypatch.setattr("faultscape.prediction.sources.own.digest", lambda *_: "0" * 32)
    monkeypatch.setattr(catalogue, "SOURCES", (broken,))
    with pytest.raises((AssertionError, ModelError, fs.errors.FaultscapeError), match=told):
        check_source(str(tmp_path / "study"), place, change=change)


@pytest.mark.slow
def test_a_kind_of_ones_own_goes_the_whole_way(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, change = own(corpus, tmp_path)
    study = str(tmp_path / "study")
    made.collected(corpus, study, 3)
    assert fs.predict(study, {"own": place, "folder": corpus.models["model-0"]}, workers=2).models == {
        "own": (5, 0),
        "folder": (5, 0),
    }
    assert "runs the code of" in capsys.readouterr().out
    read = fs.study.settings.read_settings(Path(study)).models["own"]
    assert (read.kind, read.source) == ("own", place)
    maps = [
        {name: runs for shard in range(2) for name, runs in fs.study.tables.label_maps.read_maps(
            fs.study.tables.label_maps.predictions(Path(study), model), shard
        ).items()}
        for model in ("own", "folder")
    ]  # fmt: skip
    assert maps[0] == maps[1]
    before = made.bytes_under(Path(study), "predictions")
    fs.predict(study, {"own": place}, engine="local")
    assert made.bytes_under(Path(study), "predictions") == before
    change()
    fs.predict(study, {"own": place}, engine="local")
    assert (
        "own: its source, options or images changed; 2 of 2 shards are predicted again"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("task", ["segmentation", "classification"])
@pytest.mark.parametrize(
    "place",
    ["maps.csv", "maps.tsv.gz", "maps.parquet", "maps.npz", "maps.npz:key", "maps.onnx", "maps.txt", "maps"],
)
def test_a_source_that_names_its_kind_is_of_that_kind_whatever_its_place_is_called(
    task: str, place: str
) -> None:
    named = {"own": f"mine.py:STACK:{place}", "program": f"exec:cat {place}"}
    assert {
        kind: next(source.name for source in SOURCES if source.of(place, task))
        for kind, place in named.items()
    } == {kind: kind for kind in named}


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verbs" / "predict.md"
ANSWERS = next(
    block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "ANSWERS" in block
)
ROW = "row_of_answer(image, [label], [sure])"


def test_a_kind_of_ones_own_says_what_a_table_of_the_same_answers_says(tmp_path: Path) -> None:
    made = made_answers.study(tmp_path / "made", images=12, sure=True)
    (tmp_path / "own.py").write_text(ANSWERS)
    place = f"{tmp_path / 'own.py'}:ANSWERS:{made.tables['model-1']}"
    check_source(made.study, place)
    assert fs.predict(made.study, {"own": place}, engine="local").models["own"] == (12, 0)
    settings, ids = read_settings(Path(made.study)), made.images
    assert settings.models["own"].kind == "own"
    said = read_predictions(Study(Path(made.study)), ["own", "model-1"], ids)
    assert said.labels[0].tolist() == said.labels[1].tolist() == made.labels["model-1"].tolist()
    assert said.probabilities[0].tolist() == said.probabilities[1].tolist()


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("row_of_map(image, np.zeros((3, 4), np.uint8))", ": the code of a classifier's answer is damaged"),
        (
            "row_of_answer(image, 77 if image == 'set0/000' else label)",
            "the answer for .*: holds the value 77; allowed are",
        ),
        ("row_of_answer(image, [label, -7])", "the answer for .*: holds the value -7; allowed are"),
        ("row_of_answer(image, [label, 70000])", "the answer for .*: holds the value 70000; allowed are"),
        (
            "Row(image, None, problem='away')",
            "has an answer to none of the study's images; the first problem: away",
        ),
        (
            "row_of_answer(image, 0.5)",
            "the labels of an answer are ids of classes, whole numbers; got float64",
        ),
        ("row_of_answer(image, label, 1.5)", "probabilities lie between 0 and 1; got 1.5"),
        (
            "row_of_answer(image, [label], [0.5, 0.5])",
            "an answer has 1 to 255 labels, with a probability each or none",
        ),
    ],
)
def test_the_check_finds_what_is_wrong_with_answers_of_classifiers(
    row: str, told: str, tmp_path: Path
) -> None:
    made = made_answers.study(tmp_path / "made", images=12, errors=(0.2,), sure=True)
    imports = "import numpy as np\nfrom faultscape.prediction import row_of_map\n"
    (tmp_path / "own.py").write_text(imports + ANSWERS.replace(ROW, row))
    with pytest.raises((AssertionError, ModelError), match=told):
        check_source(made.study, f"{tmp_path / 'own.py'}:ANSWERS:{made.tables['model-0']}")


@pytest.mark.parametrize(
    "row",
    [
        "row_of_answer(image, -1)",
        "row_of_answer(image, [label, -1], [sure, 0])",
        "row_of_answer(image, label)",
    ],
)
def test_an_answer_may_be_none_of_the_classes_and_need_not_say_how_sure_it_is(
    row: str, tmp_path: Path
) -> None:
    made = made_answers.study(tmp_path / "made", images=12, errors=(0.2,), sure=True)
    (tmp_path / "own.py").write_text(ANSWERS.replace(ROW, row))
    place = f"{tmp_path / 'own.py'}:ANSWERS:{made.tables['model-0']}"
    check_source(made.study, place)
    assert fs.predict(made.study, {"own": place}, engine="local").models["own"] == (12, 0)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("np.full((36, 48), 77)", "the answer for .*: holds the value 77; allowed are"),
        ("np.ones((5, 48), int)", "the map of .*: is 48 x 5 pixels, its image 48 x 36"),
    ],
)
def test_the_check_finds_maps_that_predict_would_refuse(
    wrong: str, told: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    place, _ = own(corpus, tmp_path)
    (tmp_path / "stack.py").write_text(READ.replace("self.maps[image.id]", wrong))
    fs.collect(str(tmp_path / "study"), str(corpus.photos), classes=str(corpus.classes))
    with pytest.raises(AssertionError, match=told):
        check_source(str(tmp_path / "study"), place)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("STACK = 1\n", "holds no Source called 'STACK'"),
        (
            STACK.replace("self.maps[image.id]", "np.full((36, 48), 9)"),
            r"the answer for .*: holds the value 9; allowed are",
        ),
        (
            STACK.replace("self.maps[image.id]", "np.ones((5, 48), int)"),
            r"the map of .*: is 48 x 5 pixels, its image 48 x 36",
        ),
        (STACK.replace("for image in batch", "for image in batch[::-1]"), "expected a row for each of"),
        (
            READ.replace("self.maps[image.id]", "self.maps['none']"),
            r"stack\.py:STACK:.*: its code failed: KeyError: ",
        ),
        (
            STACK.replace("np.load(opening.source)", "open('none')"),
            r"stack\.py:STACK:.*: its code failed: FileNotFoundError",
        ),
        (
            READ.replace("self.maps[image.id]", "self.maps[image.id] / 2"),
            r"stack\.py:STACK:.*: expected a label map of whole numbers",
        ),
        (
            READ.replace("yield Batch(", "yield list("),
            r"its code failed: AttributeError: 'list' object has no attribute 'rows'",
        ),
        (
            READ.replace(
                "def batches", "def batch_size(self, images):\n        raise SystemExit(3)\n\n    def batches"
            ),
            "its code failed: SystemExit: 3",
        ),
    ],
)
def test_what_a_kind_of_ones_own_does_wrong_is_told(
    text: str, told: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    place, _ = own(corpus, tmp_path)
    (tmp_path / "stack.py").write_text(text)
    fs.collect(str(tmp_path / "study"), str(corpus.photos), classes=str(corpus.classes))
    with refused(ModelError, told):
        fs.predict(str(tmp_path / "study"), {"own": place}, engine="local")
    assert not read_settings(tmp_path / "study").models, (
        "it is not a model of the study, which can go on without it"
    )


def test_an_image_that_code_of_ones_own_fails_on_costs_no_other(corpus: made.Corpus, tmp_path: Path) -> None:
    place, _ = own(corpus, tmp_path)
    (tmp_path / "stack.py").write_text(READ)
    study, lost = str(tmp_path / "study"), corpus.ids[-1]
    with np.load(tmp_path / "maps.npz") as held:
        rest = {id_: held[id_] for id_ in held if id_ != lost}
    np.savez(tmp_path / "maps.npz", **rest)
    made.collected(corpus, study, 3)
    assert fs.predict(study, {"own": place}, engine="local").models == {"own": (4, 1)}
    (row,) = read_failures(Path(study))
    assert row.image == lost
    assert "its code failed: KeyError" in row.reason


def test_a_kind_of_ones_own_needs_a_place(corpus: made.Corpus, tmp_path: Path) -> None:
    place, _ = own(corpus, tmp_path)
    fs.collect(str(tmp_path / "study"), str(corpus.photos), classes=str(corpus.classes))
    with refused(
        ModelError,
        r"stack\.py:STACK: is a kind of model; name what it should read as well: .*stack\.py:STACK:PLACE",
    ):
        fs.predict(str(tmp_path / "study"), {"own": place.rpartition(":")[0]}, engine="local")


def test_a_table_of_an_earlier_version_is_read_once_more_to_the_same_bytes_without_a_word(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, change = table(corpus, tmp_path)
    study = tmp_path / "study"
    fs.collect(
        study,
        corpus.photos,
        classes=corpus.classes,
        task="classification",
        storage=fs.options.Storage(shard_size=3),
    )
    fs.predict(str(study), {"m": place})
    before = made.bytes_under(study, "predictions")
    (study / "predictions" / "m" / ".stamps.json").unlink()
    capsys.readouterr()
    fs.predict(str(study), {"m": place})
    assert made.bytes_under(study, "predictions") == before
    assert "changed" not in capsys.readouterr().out
    change()
    fs.predict(str(study), {"m": place})
    assert (
        "m: its source, options or images changed; 2 of 2 shards are predicted again"
        in capsys.readouterr().out
    )
