"""What a network's own class names mean in a study: by name, by synonym, by a file; what finds no place is
named, all of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import faultscape as fs
import made
from faultscape.classes import mapping as label_names
from faultscape.classes.class_lists import allowed
from faultscape.errors import ClassesError
from faultscape.nouns import Classes
from faultscape.verbs.verb import group_options
from refusals import refused

NEVER_RENAMED = SimpleNamespace(first_name_of={})


def settings(*names: str) -> Any:
    colours = tuple((k, k, k) for k in range(len(names)))
    listed = Classes(names, tuple(range(len(names))), colours, (255,))
    return SimpleNamespace(class_list=listed, classes=NEVER_RENAMED, classifies=False)


STREET = settings("road", "traffic_light", "car;auto;motorcar", "person, individual", "wall")


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("traffic light", "traffic_light"),
        ("Traffic-Light", "traffic_light"),
        (" traffic  LIGHT ", "traffic_light"),
        ("car", "car;auto;motorcar"),
        ("auto", "car;auto;motorcar"),
        ("car;auto;motorcar", "car;auto;motorcar"),
        ("machine, Motorcar", "car;auto;motorcar"),
        ("individual", "person, individual"),
        ("person;somebody", "person, individual"),
        ("void", "void"),
        ("Unlabelled", "void"),
        ("ignore", "void"),
        ("traffic", None),
        ("cars", None),
        ("", None),
    ],
)
def test_names_differ_by_case_blanks_and_lists_of_words_only(word: str, place: str | None) -> None:
    assert label_names.by_name(word, STREET) == place


def test_a_class_that_is_called_so_goes_before_another_that_lists_the_word() -> None:
    assert label_names.by_name("auto", settings("car;auto", "auto")) == "auto"
    assert label_names.by_name("auto", settings("auto", "car;auto")) == "auto"
    assert label_names.by_name("void", settings("void", "car")) == "void"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    corpus = made.corpus(tmp_path / "corpus", images=2, models=1)
    fs.collect(str(tmp_path / "study"), str(corpus.photos), classes=str(corpus.classes))
    return tmp_path / "study"


def predicted(study: Path, names: list[str], **options: Any) -> dict[str, str]:
    import onnx_networks

    net = onnx_networks.small(study.parent / "net.onnx", classes=names)
    fs.predict(str(study), {"net": net}, engine="local", **group_options(fs.predict, options))
    return fs.study.settings.read_settings(study).models["net"].labels


def test_names_in_another_order_are_mapped_by_name(study: Path) -> None:
    names = ["Tree", "sky", "CAR; automobile", "road", "void"]
    assert predicted(study, names) == {"0": "tree", "1": "sky", "2": "car", "3": "road", "4": "void"}


def test_every_class_that_finds_no_place_is_named(study: Path) -> None:
    with refused(
        ClassesError, r"these classes of the network are not classes of the study: boat, zebra, tren\."
    ) as caught:
        predicted(study, ["boat", "sky", "zebra", "road", "tren"])
    assert "--unmapped void" in str(caught.value)
    many = SimpleNamespace(class_names=["road", *(f"thing {k}" for k in range(149))], channels=150)
    with refused(ClassesError) as caught:
        label_names.of_network("net", many, STREET, None, {})
    assert all(f"thing {k}," in str(caught.value) for k in range(148))
    assert "\n" not in str(caught.value)


def test_a_class_is_known_by_its_first_name_unless_another_is_called_so() -> None:
    renamed = settings("street", "wall", "car;auto")
    renamed.classes = SimpleNamespace(
        first_name_of={"street": "Road-way", "wall": "auto", "car;auto": "car;auto"}
    )
    assert [label_names.by_name(word, renamed) for word in ("road way", "auto", "street")] == [
        "street",
        "car;auto",
        "street",
    ]


def test_unmapped_void_makes_them_void_and_says_which(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mapping = predicted(study, ["boat", "sky", "zebra", "road", "tree"], unmapped="void")
    assert mapping == {"0": "void", "1": "sky", "2": "void", "3": "road", "4": "tree"}
    assert "net: mapped to void (not classes of the study): boat, zebra\n" in capsys.readouterr().out


def test_a_network_that_shares_no_class_is_refused_even_then(study: Path) -> None:
    with refused(ClassesError, r"none of the network's 5 classes \(a, b, c, d, e\) is a class of the study"):
        predicted(study, list("abcde"), unmapped="void")


def test_a_file_maps_names_or_numbers(study: Path, tmp_path: Path) -> None:
    names, file = ["boat", "sky", "zebra", "road", "tree"], tmp_path / "labels.json"
    file.write_text(json.dumps({"boat": "car", "zebra": "void", "road": "road", "sky": "sky", "4": "tree"}))
    want = {"0": "car", "1": "sky", "2": "void", "3": "road", "4": "tree"}
    assert predicted(study, names, labels=str(file)) == want
    assert predicted(study, names) == want  # it holds until another is given


def test_a_file_goes_first_and_names_mean_the_rest(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, file = ["boat", "sky", "zebra", "road", "tree"], tmp_path / "labels.json"
    file.write_text(json.dumps({"boat": "car", "zebra": "void", "tree": "person"}))
    assert predicted(study, names, labels=str(file)) == {
        "0": "car",
        "1": "sky",
        "2": "void",
        "3": "road",
        "4": "person",
    }
    file.write_text(json.dumps({"boat": "car"}))
    with refused(
        ClassesError,
        r"labels.json: does not map the network's class zebra, which is not a class of the study",
    ) as caught:
        predicted(study, names, labels=str(file))
    assert "--unmapped void" in str(caught.value)
    capsys.readouterr()
    want = {"0": "car", "1": "sky", "2": "void", "3": "road", "4": "tree"}
    assert predicted(study, names, labels=str(file), unmapped="void") == want
    assert "net: mapped to void (not classes of the study): zebra\n" in capsys.readouterr().out


def test_of_channels_without_names_those_that_a_file_leaves_out_are_void_where_that_is_asked_for(
    tmp_path: Path,
) -> None:
    net, file = SimpleNamespace(class_names=[], channels=4), tmp_path / "labels.json"
    file.write_text('{"1": "road"}')
    assert label_names.of_network("net", net, STREET, str(file), {}) == {"1": "road"}
    want = {"0": "void", "1": "road", "2": "void", "3": "void"}
    assert label_names.of_network("net", net, STREET, str(file), {}, "void") == want


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"0": "nosuch"}', "maps '0' to 'nosuch', which is not one of the classes (road, "),
        ('{"0": 5}', "maps '0' to '5', which is not one of the classes"),
        ('{"0": "raod"}', "Did you mean 'road'?"),
        (
            '{"shp": "road"}',
            (
                "'shp' is not a label, a number from 0 to 65535, nor a class of the network (ship, road). Did"
                " you mean 'ship'?"
            ),
        ),
        ('{"70000": "road"}', "'70000' is not a label, a number from 0 to 65535"),
        (
            '["road"]',
            'is not a label mapping; expected a class for each label, for example {"0": "road", "3": "void"}',
        ),
        ('{"labels": ["road"]}', "is not a label mapping; expected a class for each label"),
        ('{"0": null}', "is not a label mapping; expected a class for each label"),
        ("{", "cannot be read as a label mapping: "),
        (
            '{"ship": "void", "road": "void"}',
            "every label is mapped to void; map at least one to a class of the study (road, ",
        ),
        (None, "cannot be read as a label mapping: no such file or directory"),
    ],
)
def test_a_mapping_file_that_makes_no_sense_is_one_sentence(
    tmp_path: Path, text: str | None, words: str
) -> None:
    net, file = SimpleNamespace(class_names=["ship", "road"], channels=2), tmp_path / "labels.json"
    if text is not None:
        file.write_text(text)
    with refused(ClassesError) as caught:
        label_names.of_network("net", net, STREET, str(file), {})
    assert str(caught.value).startswith(f"{file}: ")
    assert words in str(caught.value)
    assert not any(odd in str(caught.value) for odd in ("\n", "Errno"))


def test_a_mapping_without_any_class_is_refused_of_names_and_of_folders_too(tmp_path: Path) -> None:
    net, file = SimpleNamespace(class_names=["void", "ship"], channels=2), tmp_path / "labels.json"
    with refused(
        ClassesError, "net: every label is mapped to void; map at least one to a class of the study"
    ):
        label_names.of_network("net", net, STREET, None, {}, "void")
    file.write_text('{"0": "void"}')
    with refused(ClassesError, "every label is mapped to void"):
        label_names.of_file(str(file), STREET.class_list, None)
    assert allowed(STREET.class_list, {"0": "void"}) == "255 (void)"


CODE = """
import numpy as np

def load():
    import torch_networks
    return torch_networks.Small()

def scores(photo):
    return np.stack([np.full(photo.shape[:2], float(k)) for k in range(5)])

def labels(photo):
    return np.full(photo.shape[:2], 4)
"""


def free_channels(path: Path) -> Path:
    """The small network as ONNX that does not say how many channels it has."""

    import onnx
    import onnx_networks

    model = onnx.load(onnx_networks.small(path))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "c"
    onnx.save(model, path)
    return path


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, str]:
    """The same five channels without names, as every kind of network, and a function that gives labels."""

    import onnx_networks
    import torch_networks

    code = tmp_path / "mine.py"
    code.write_text(CODE)
    files = {
        "onnx": onnx_networks.small(tmp_path / "net.onnx"),
        "free": free_channels(tmp_path / "free.onnx"),
        "exported": torch_networks.exported(tmp_path / "net.pt2"),
        "script": torch_networks.scripted(tmp_path / "net.ts"),
    }
    return {name: str(path) for name, path in files.items()} | {
        "load": f"{code}:load",
        "scores": f"{code}:scores",
        "answers": f"{code}:labels",
    }


def numbered(tmp_path: Path, ids: tuple[int, ...]) -> str:
    """A study of two photos whose classes have these ids."""
    corpus = made.corpus(tmp_path / "corpus", images=2, models=1)
    names, colours = tuple(f"class {k}" for k in ids), tuple((k, k, k) for k in ids)
    fs.collect(str(tmp_path / "study"), str(corpus.photos), classes=Classes(names, ids, colours, (255,)))
    return str(tmp_path / "study")


def test_channels_stand_in_the_order_of_the_class_list_for_every_kind_of_network(
    tmp_path: Path, sources: dict[str, str]
) -> None:
    study = numbered(tmp_path, (1, 2, 3, 4, 7))
    fs.predict(study, sources, engine="local")
    models = fs.study.settings.read_settings(Path(study)).models
    assert models.pop("answers").labels == {}  # labels are ids already
    want = {"0": "class 1", "1": "class 2", "2": "class 3", "3": "class 4", "4": "class 7"}
    assert {name: one.labels for name, one in models.items()} == dict.fromkeys(models, want)


@pytest.mark.parametrize("kind", ["onnx", "free", "exported", "script", "load", "scores"])
def test_another_number_of_channels_is_refused_whether_or_not_the_file_says_it(
    tmp_path: Path, sources: dict[str, str], kind: str
) -> None:
    study = numbered(tmp_path, (0, 1, 2))
    with refused(ClassesError, f"{kind}: the network has 5 classes, the study 3; give --labels FILE"):
        fs.predict(study, {kind: sources[kind]}, engine="local")
    assert not fs.study.settings.read_settings(Path(study)).models


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("cat", "cat"),
        ("Cat, house cat", "cat"),
        ("tabby; CAT", "cat"),
        ("cat,dog", None),
        ("cat;dog", None),
        ("zebra, dog", "dog"),
        ("cat\np2,zebra", None),
        ("zebra\np2,dog", None),
        ("zebra", None),
    ],
)
def test_words_of_two_classes_or_of_two_lines_are_no_class(word: str, meant: str | None) -> None:
    settings = SimpleNamespace(
        class_list=Classes(("cat", "dog"), (0, 1), ((0, 0, 0), (1, 1, 1))), classes=NEVER_RENAMED
    )
    assert label_names.by_name(word, settings) == meant


def test_classes_that_no_label_of_a_model_means_are_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    study, labels = str(tmp_path / "study"), tmp_path / "labels.json"
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    labels.write_text(json.dumps({"0": "sky", "1": "road", "2": "person", "3": "person", "4": "void"}))
    fs.predict(study, {"m": corpus.models["model-0"]}, labels=str(labels), engine="local")
    told = "note: m: cannot predict 2 of 5 classes, because none of its labels maps to them: car, tree"
    assert told in capsys.readouterr().out
    fs.predict(study, {"m": corpus.models["model-0"]}, engine="local")
    assert "never names" not in capsys.readouterr().out
    fs.predict(study, {"n": corpus.models["model-0"]}, engine="local")  # its labels are the classes' own ids
    assert "never names" not in capsys.readouterr().out
    assert label_names.never_named({}, settings("road", "car").class_list) == []
