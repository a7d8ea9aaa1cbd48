"""What a network's own class names mean in a study: by name, by synonym, by a file; what finds no place is named, all of it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx_networks
import pytest

import faultscape as fs
import made
from faultscape.errors import ClassesError
from faultscape.nouns import Classes
from faultscape.prediction import label_names


def settings(*names: str) -> Any:
    colours = tuple((k, k, k) for k in range(len(names)))
    return SimpleNamespace(class_list=Classes(names, tuple(range(len(names))), colours, (255,)))


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
    net = onnx_networks.small(study.parent / "net.onnx", classes=names)
    fs.predict(str(study), {"net": net}, engine="local", **options)
    return fs.study.settings.read_settings(study).models["net"].labels


def test_names_in_another_order_are_mapped_by_name(study: Path) -> None:
    names = ["Tree", "sky", "CAR; automobile", "road", "void"]
    assert predicted(study, names) == {"0": "tree", "1": "sky", "2": "car", "3": "road", "4": "void"}


def test_every_class_that_finds_no_place_is_named(study: Path) -> None:
    with pytest.raises(
        ClassesError, match=r"these classes of the network are no class of the study: boat, zebra, tren\."
    ) as caught:
        predicted(study, ["boat", "sky", "zebra", "road", "tren"])
    assert "--unmapped void" in str(caught.value)
    many = SimpleNamespace(class_names=["road", *(f"thing {k}" for k in range(149))], channels=150)
    with pytest.raises(ClassesError) as caught:
        label_names.of_network("net", many, STREET, None, {})
    assert all(f"thing {k}," in str(caught.value) for k in range(148))
    assert "\n" not in str(caught.value)


def test_unmapped_void_makes_them_void_and_says_which(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mapping = predicted(study, ["boat", "sky", "zebra", "road", "tree"], unmapped="void")
    assert mapping == {"0": "void", "1": "sky", "2": "void", "3": "road", "4": "tree"}
    assert "net: void, since they are no classes of the study: boat, zebra\n" in capsys.readouterr().out


def test_a_network_that_shares_no_class_is_refused_even_then(study: Path) -> None:
    with pytest.raises(ClassesError, match=r"not one of the network's 5 classes \(a, b, c, d, e\) is a class of the study"):
        predicted(study, list("abcde"), unmapped="void")


def test_a_file_maps_names_or_numbers_and_leaves_none_out(study: Path, tmp_path: Path) -> None:
    names, file = ["boat", "sky", "zebra", "road", "tree"], tmp_path / "labels.json"
    file.write_text(json.dumps({"boat": "car", "zebra": "void", "road": "road", "sky": "sky", "4": "tree"}))
    want = {"0": "car", "1": "sky", "2": "void", "3": "road", "4": "tree"}
    assert predicted(study, names, labels=str(file)) == want
    assert predicted(study, names) == want  # it holds until another is given
    file.write_text(json.dumps({"boat": "car", "sky": "sky", "road": "road", "tree": "tree"}))
    with pytest.raises(
        ClassesError,
        match=r"labels.json: says nothing of the model's class 'zebra'; map every class, to void where there is none",
    ):
        predicted(study, names, labels=str(file))
    file.write_text(json.dumps(dict.fromkeys(names, "spaceship")))
    with pytest.raises(ClassesError, match="spaceship"):
        predicted(study, names, labels=str(file))
